// Package tree visits the messages of a statement's syntax tree, whatever they are: nodes, and what is in them.
//
//	for m := range tree.All(parsed.ProtoReflect()) {
//		if call, ok := m.Interface().(*pg.FuncCall); ok { … }
//	}
//
// # Invariants
//
//   - tree.T1: All gives the message itself and then everything in it, each once; what is around comes before what is inside.
//
// # What it does not do
//
// It keeps no order among the fields of a message, and knows nothing of SQL: who wants scopes reads the nodes by their
// types.
// It imports nothing of ours, and anything may import it.
package tree

import (
	"iter"

	"google.golang.org/protobuf/reflect/protoreflect"
)

// Children are the messages directly in a message.
func Children(m protoreflect.Message) iter.Seq[protoreflect.Message] {
	return func(yield func(protoreflect.Message) bool) {
		m.Range(func(field protoreflect.FieldDescriptor, value protoreflect.Value) bool {
			switch {
			case field.Kind() != protoreflect.MessageKind:
				return true
			case !field.IsList():
				return yield(value.Message())
			}
			list := value.List()
			for i := range list.Len() {
				if !yield(list.Get(i).Message()) {
					return false
				}
			}
			return true
		})
	}
}

// All are a message and the messages in it, at every depth (tree.T1).
func All(m protoreflect.Message) iter.Seq[protoreflect.Message] {
	return func(yield func(protoreflect.Message) bool) { visit(m, yield) }
}

func visit(m protoreflect.Message, yield func(protoreflect.Message) bool) bool {
	if !yield(m) {
		return false
	}
	for child := range Children(m) {
		if !visit(child, yield) {
			return false
		}
	}
	return true
}
