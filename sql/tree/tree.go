package tree

import (
	"iter"
	"sync"

	"google.golang.org/protobuf/reflect/protoreflect"
)

// Children are the messages directly in a message.
func Children(m protoreflect.Message) iter.Seq[protoreflect.Message] {
	return func(yield func(protoreflect.Message) bool) { eachChild(m, yield) }
}

// All are a message and the messages in it, at every depth (tree.T1).
func All(m protoreflect.Message) iter.Seq[protoreflect.Message] {
	return func(yield func(protoreflect.Message) bool) { visit(m, yield) }
}

func visit(m protoreflect.Message, yield func(protoreflect.Message) bool) bool {
	return yield(m) && eachChild(m, func(child protoreflect.Message) bool { return visit(child, yield) })
}

// holders are the fields of one kind of message that can hold messages. Most of a message's fields hold none, and
// asking each of them takes most of a walk.
type holders struct {
	fields  []protoreflect.FieldDescriptor
	choices []protoreflect.OneofDescriptor
}

// holdersOf keeps what was found: *holders by the message's descriptor.
var holdersOf sync.Map

func holdersIn(d protoreflect.MessageDescriptor) *holders {
	if known, ok := holdersOf.Load(d); ok {
		return known.(*holders)
	}
	h := &holders{}
	for i := range d.Fields().Len() {
		if f := d.Fields().Get(i); f.Kind() == protoreflect.MessageKind && f.ContainingOneof() == nil {
			h.fields = append(h.fields, f)
		}
	}
	for i := range d.Oneofs().Len() {
		h.choices = append(h.choices, d.Oneofs().Get(i))
	}
	holdersOf.Store(d, h)
	return h
}

func eachChild(m protoreflect.Message, yield func(protoreflect.Message) bool) bool {
	h := holdersIn(m.Descriptor())
	for _, choice := range h.choices {
		f := m.WhichOneof(choice)
		if f != nil && f.Kind() == protoreflect.MessageKind && !yield(m.Get(f).Message()) {
			return false
		}
	}
	for _, f := range h.fields {
		switch {
		case !m.Has(f):
		case !f.IsList():
			if !yield(m.Get(f).Message()) {
				return false
			}
		default:
			list := m.Get(f).List()
			for i := range list.Len() {
				if !yield(list.Get(i).Message()) {
					return false
				}
			}
		}
	}
	return true
}
