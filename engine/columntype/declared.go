package columntype

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
)

// key marks a field with what was declared.
const key = "csm.type"

// Declared is what a column of text keeps of its type. Its zero value is text.
type Declared struct {
	// Name is "varchar" or "char".
	Name string
	// Length is the most characters; 0: any.
	Length int
}

// Object IDs of PostgreSQL's types.
const (
	oidChar, oidVarchar = 1042, 1043
	// modifierHead is what PostgreSQL adds to a length.
	modifierHead = 4
)

// Fixed reports whether it is char(n), in which blanks at the end mean nothing.
func (d Declared) Fixed() bool { return d.Name == "char" && d.Length > 0 }

// OID is the type's object ID in PostgreSQL.
func (d Declared) OID() uint32 {
	if d.Name == "char" {
		return oidChar
	}
	return oidVarchar
}

// Modifier is what PostgreSQL's atttypmod says; -1: nothing.
func (d Declared) Modifier() int32 {
	if d.Length == 0 {
		return -1
	}
	return int32(d.Length) + modifierHead
}

// String is the type as PostgreSQL's messages have it.
func (d Declared) String() string {
	switch {
	case d.Name == "char" && d.Length == 0:
		return "bpchar"
	case d.Name == "char":
		return fmt.Sprintf("character(%d)", d.Length)
	case d.Length == 0:
		return "character varying"
	}
	return fmt.Sprintf("character varying(%d)", d.Length)
}

// Of is what a field keeps; ok is false if nothing.
func Of(f arrow.Field) (d Declared, ok bool) {
	text, ok := f.Metadata.GetValue(key)
	if !ok {
		return d, false
	}
	name, rest, _ := strings.Cut(text, "(")
	length, _ := strconv.Atoi(strings.TrimSuffix(rest, ")")) // 0 on error: any
	return Declared{Name: name, Length: max(length, 0)}, true
}

// Declares is what a type of PostgreSQL's says that a column keeps; ok is false if nothing.
func Declares(oid uint32, modifier int32) (d Declared, ok bool) {
	switch oid {
	case oidChar:
		d.Name = "char"
	case oidVarchar:
		d.Name = "varchar"
	default:
		return d, false
	}
	d.Length = max(int(modifier)-modifierHead, 0)
	return d, true
}

// Extension is what a field's metadata says of the type of its values, without what was declared of a table's column.
func Extension(f arrow.Field) arrow.Metadata {
	kept := map[string]string{}
	for _, k := range []string{"ARROW:extension:name", "ARROW:extension:metadata"} {
		if v, ok := f.Metadata.GetValue(k); ok {
			kept[k] = v
		}
	}
	if len(kept) == 0 {
		return arrow.Metadata{}
	}
	return arrow.MetadataFrom(kept)
}

// Mark gives a field what was declared; the zero value leaves it as it is.
func (d Declared) Mark(f arrow.Field) arrow.Field {
	if d == (Declared{}) {
		return f
	}
	f.Metadata = arrow.NewMetadata(append(f.Metadata.Keys(), key), append(f.Metadata.Values(), fmt.Sprintf("%s(%d)", d.Name, d.Length)))
	return f
}
