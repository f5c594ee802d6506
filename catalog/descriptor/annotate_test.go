package descriptor_test

import (
	"fmt"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// annotate prints every byte of a message with the field it belongs to.
func annotate(data []byte, m protoreflect.MessageDescriptor, indent string) string {
	var b strings.Builder
	for len(data) > 0 {
		number, kind, tag := protowire.ConsumeTag(data)
		value := protowire.ConsumeFieldValue(number, kind, data[tag:])
		field := m.Fields().ByNumber(number)
		if kind == protowire.BytesType && field.Message() != nil {
			inner, length := protowire.ConsumeBytes(data[tag:])
			fmt.Fprintf(&b, "%-46s %s%s\n", fmt.Sprintf("%x", data[:tag+length-len(inner)]), indent, field.Name())
			b.WriteString(annotate(inner, field.Message(), indent+"  "))
		} else {
			fmt.Fprintf(&b, "%-46s %s%s = %s\n", fmt.Sprintf("%x", data[:tag+value]), indent, field.Name(), text(kind, field, data[tag:tag+value]))
		}
		data = data[tag+value:]
	}
	return b.String()
}

func text(kind protowire.Type, field protoreflect.FieldDescriptor, value []byte) string {
	switch kind {
	case protowire.VarintType:
		v, _ := protowire.ConsumeVarint(value)
		if field.Kind() == protoreflect.EnumKind {
			return string(field.Enum().Values().ByNumber(protoreflect.EnumNumber(v)).Name())
		}
		if field.Kind() == protoreflect.Sint64Kind || field.Kind() == protoreflect.Sint32Kind {
			return fmt.Sprint(protowire.DecodeZigZag(v))
		}
		return fmt.Sprint(v)
	case protowire.BytesType:
		v, _ := protowire.ConsumeBytes(value)
		return fmt.Sprintf("%q", v)
	default:
		v, _ := protowire.ConsumeFixed64(value)
		return fmt.Sprintf("%#016x", v)
	}
}
