package distribute

import (
	"google.golang.org/protobuf/reflect/protoreflect"
)

// forgetPlaces clears everything in a tree that says where in the text it stands.
func forgetPlaces(m protoreflect.Message) {
	m.Range(func(field protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		switch {
		case field.Name() == "location":
			m.Clear(field)
		case field.Kind() != protoreflect.MessageKind:
		case field.IsList():
			for i := range v.List().Len() {
				forgetPlaces(v.List().Get(i).Message())
			}
		default:
			forgetPlaces(v.Message())
		}
		return true
	})
}
