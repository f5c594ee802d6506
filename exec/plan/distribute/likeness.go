package distribute

import (
	"google.golang.org/protobuf/reflect/protoreflect"

	syntaxtree "github.com/csmsql/csmsql/sql/tree"
)

// forgetPlaces clears everything in a tree that says where in the text it stands.
func forgetPlaces(whole protoreflect.Message) {
	for m := range syntaxtree.All(whole) {
		if place := m.Descriptor().Fields().ByName("location"); place != nil {
			m.Clear(place)
		}
	}
}
