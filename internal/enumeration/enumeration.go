// Package enumeration is the type of columns whose values are labels: what CREATE TYPE … AS ENUM makes.
//
//	label     code   column of a table: uint8    code  ─┐
//	sad       0      ENUM of DuckDB: uint8       place  ├─ of the same value, by what stands here
//	ok        2      result: text                label ─┘
//	happy     1
//	<mark>
//
// The place of a label is its position in the order of labels. It changes when a label is added before it. Its code
// never changes. So labels can be added and renamed while the rows of tables stay as they are. The ENUM that DuckDB
// gets has one more word behind the labels, the mark, which no value has. By the mark DuckDB distinguishes two types
// with the same labels, and the type of an expression's result says which user-defined type it is.
//
// # Invariants
//
//   - EN1: a code means the same label in whatever state of its type has it.
//   - EN2: no label is a mark: those have more bytes than a label may have.
package enumeration

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
)

const (
	// LabelsMost is how many labels a type may have: with the mark they are counted in a byte.
	LabelsMost = 254
	// LabelBytes is how long one may be, as in PostgreSQL.
	LabelBytes = 63
	// Extension names the type among Arrow's extension types.
	Extension = "csm.enum"
)

// Label is one of a type's values.
type Label struct {
	Text string
	Code uint8
	// Order is PostgreSQL's enumsortorder: labels are in the order of theirs.
	Order float32
	// ID is a number of the catalog's that nothing else has.
	ID uint64
}

// Type is one state of a type, and an extension type of Arrow's over bytes: codes. Immutable.
type Type struct {
	arrow.ExtensionBase
	id           uint64
	schema, name string
	labels       []Label
	places       [256]uint8 // by code
	texts        map[string]uint8
}

// New is a type by its number in the catalog; labels are in their order.
func New(id uint64, schema, name string, labels []Label) (*Type, error) {
	t := &Type{
		ExtensionBase: arrow.ExtensionBase{Storage: arrow.PrimitiveTypes.Uint8},
		id:            id, schema: schema, name: name, labels: slices.Clone(labels), texts: map[string]uint8{},
	}
	for i := range t.places {
		t.places[i] = uint8(len(labels)) // the mark's: what damaged bytes say is no label
	}
	if id == 0 || name == "" || len(labels) > LabelsMost {
		return nil, fmt.Errorf("a type %q of number %d with %d labels", name, id, len(labels))
	}
	seen := [256]bool{}
	for i, l := range labels {
		if _, twice := t.texts[l.Text]; twice || seen[l.Code] || len(l.Text) > LabelBytes ||
			strings.IndexByte(l.Text, 0) >= 0 || !utf8.ValidString(l.Text) || i > 0 && !(l.Order > labels[i-1].Order) {
			return nil, fmt.Errorf("type %q: label %d, %q of code %d", name, i+1, l.Text, l.Code)
		}
		seen[l.Code] = true
		t.places[l.Code], t.texts[l.Text] = uint8(i), l.Code
	}
	return t, nil
}

// Number is the type's in the catalog.
func (t *Type) Number() uint64 { return t.id }

// Schema and TypeName are what the type is called.
func (t *Type) Schema() string   { return t.schema }
func (t *Type) TypeName() string { return t.name }

// Labels in their order; the slice is shared.
func (t *Type) Labels() []Label { return t.labels }

// Code is that of a label; false: there is none of that text.
func (t *Type) Code(text string) (uint8, bool) {
	code, ok := t.texts[text]
	return code, ok
}

// Places are those of labels by their codes, and of codes that none has that of the mark.
func (t *Type) Places() *[256]uint8 { return &t.places }

// Text is the label of a code; false: none has it.
func (t *Type) Text(code uint8) (string, bool) {
	at := int(t.places[code])
	if at >= len(t.labels) {
		return "", false
	}
	return t.labels[at].Text, true
}

// Stored is how values of a type lie in chunks: codes of a user-defined one.
func Stored(t arrow.DataType) arrow.DataType {
	if t, ok := t.(*Type); ok {
		return t.Storage
	}
	return t
}

// Refusal is what PostgreSQL says of a text that is no label (22P02).
func (t *Type) Refusal(text string) string {
	return fmt.Sprintf("invalid input value for enum %s: \"%s\"", t.name, text)
}

// Object IDs of PostgreSQL's that a type may have, as everything that users make; those of arrays are so much higher.
const (
	FirstOID  = 16384
	LastOID   = 1<<30 - 1
	ArraysOID = 3221225472
)

// ObjectID is what the catalog's number of a relation or a type is in PostgreSQL: those have 32 bits, and the first
// billion of the catalog's are unique there.
func ObjectID(number uint64) uint32 { return uint32(FirstOID + number%(LastOID-FirstOID)) }

// NameOfOID is NameOf of the type that has an object ID, as far as those are numbers; empty: no user's has it.
func NameOfOID(oid uint32) string {
	if oid < FirstOID || oid > LastOID {
		return ""
	}
	return NameOf(uint64(oid - FirstOID))
}

// NamePrefix begins the names of types in texts for DuckDB. DuckDB has no such names: its caller replaces them with
// what they stand for. A type's number follows, so that stored texts keep their type when it is renamed.
const NamePrefix = "csm_type__"

// NameOf is what a type is called in such a text.
func NameOf(number uint64) string { return NamePrefix + strconv.FormatUint(number, 10) }

// Named is the number of the type that a word names so; false: it names none.
func Named(word string) (number uint64, ok bool) {
	digits, ok := strings.CutPrefix(word, NamePrefix)
	if !ok {
		return 0, false
	}
	number, err := strconv.ParseUint(digits, 10, 64)
	return number, err == nil
}

// Calls reports whether a text has a type's name in it; call is NameOf, or empty: no text has that.
func Calls(text, call string) bool {
	for call != "" {
		_, behind, found := strings.Cut(text, call)
		if !found {
			return false
		}
		if behind == "" || behind[0] < '0' || behind[0] > '9' { // the name of one with more digits
			return true
		}
		text = behind
	}
	return false
}

// MarkHead begins marks (EN2).
const MarkHead = "This is no label: it tells DuckDB which of the user-defined types it is. "

// Words are what DuckDB is given: the labels, and the mark.
func (t *Type) Words() []string {
	words := make([]string, 0, len(t.labels)+1)
	for _, l := range t.labels {
		words = append(words, l.Text)
	}
	return append(words, t.mark())
}

// IsMark reports whether a word is the mark of a type.
func IsMark(word string) bool { return strings.HasPrefix(word, MarkHead) }

func (t *Type) mark() string {
	return MarkHead + strconv.FormatUint(t.id, 10) + " " + strconv.Quote(t.schema) + " " + strconv.Quote(t.name)
}

// SQL is the type as DuckDB reads it.
func (t *Type) SQL() string {
	var b strings.Builder
	b.WriteString("ENUM(")
	for i, w := range t.Words() {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString("'" + strings.ReplaceAll(w, "'", "''") + "'")
	}
	return b.String() + ")"
}

// OfWords is the type that an ENUM of DuckDB's is; nil: another one than ours. Its codes are the places of the labels:
// it is a type of values, and not of a table's column.
func OfWords(words []string) *Type {
	if len(words) == 0 {
		return nil
	}
	rest, ours := strings.CutPrefix(words[len(words)-1], MarkHead)
	if !ours {
		return nil
	}
	number, names, _ := strings.Cut(rest, " ")
	schema, err := strconv.QuotedPrefix(names)
	if err != nil {
		return nil
	}
	id, err := strconv.ParseUint(number, 10, 64)
	if err != nil {
		return nil
	}
	name, err := strconv.Unquote(strings.TrimPrefix(names[len(schema):], " "))
	if err != nil {
		return nil
	}
	if schema, err = strconv.Unquote(schema); err != nil {
		return nil
	}
	labels := make([]Label, len(words)-1)
	for i := range labels {
		labels[i] = Label{Text: words[i], Code: uint8(i), Order: float32(i + 1)}
	}
	t, err := New(id, schema, name, labels)
	if err != nil {
		return nil
	}
	return t
}

// Of is the type of a field: of a table's column, or of a result's by its mark; nil: it is another one.
func Of(f arrow.Field) *Type {
	if t, ok := f.Type.(*Type); ok {
		return t
	}
	if name, _ := f.Metadata.GetValue("ARROW:extension:name"); name != Extension {
		return nil
	}
	text, _ := f.Metadata.GetValue("ARROW:extension:metadata")
	t, err := Decode(text)
	if err != nil {
		return nil
	}
	return t
}

// OnlyOne is the type whose ENUM stands in a text for DuckDB; nil: there is none, or more than one. It has no labels.
func OnlyOne(sql string) *Type {
	var found *Type
	for {
		_, behind, ok := strings.Cut(sql, MarkHead)
		if !ok {
			return found
		}
		mark, rest, _ := strings.Cut(strings.ReplaceAll(behind, "''", "\x00"), "'")
		t := OfWords([]string{MarkHead + strings.ReplaceAll(mark, "\x00", "'")})
		if t == nil || found != nil && found.id != t.id {
			return nil
		}
		found, sql = t, strings.ReplaceAll(rest, "\x00", "''")
	}
}

// Any reports whether a type is one, or has one in it.
func Any(t arrow.DataType) bool {
	switch t := t.(type) {
	case *Type:
		return true
	case arrow.NestedType:
		return slices.ContainsFunc(t.Fields(), func(f arrow.Field) bool { return Of(f) != nil || Any(f.Type) })
	}
	return false
}

// Mark says in a field's metadata of which type its values are.
func (t *Type) Mark() arrow.Metadata {
	return arrow.NewMetadata([]string{"ARROW:extension:name", "ARROW:extension:metadata"},
		[]string{Extension, t.Serialize()})
}

// Array is of the type.
type Array struct{ array.ExtensionArrayBase }

// ValueStr is a label.
func (a *Array) ValueStr(i int) string {
	codes, ok := a.Storage().(*array.Uint8)
	if a.IsNull(i) || !ok {
		return array.NullValueStr
	}
	text, _ := a.DataType().(*Type).Text(codes.Value(i))
	return text
}

func (*Type) ArrayType() reflect.Type { return reflect.TypeFor[Array]() }

func (*Type) ExtensionName() string { return Extension }

func (t *Type) String() string { return "extension<" + Extension + " " + t.name + ">" }

// ExtensionEquals compares types, whatever state they are in.
func (t *Type) ExtensionEquals(o arrow.ExtensionType) bool {
	other, ok := o.(*Type)
	return ok && other.id == t.id
}

// encoded is a type as it is stored.
type encoded struct {
	ID     uint64  `json:"id"`
	Schema string  `json:"schema"`
	Name   string  `json:"name"`
	Labels []label `json:"labels"`
}

type label struct {
	Text  string  `json:"text"`
	Code  uint8   `json:"code"`
	Order float32 `json:"order"`
	ID    uint64  `json:"id,omitempty"`
}

// Serialize is the type as Decode reads it.
func (t *Type) Serialize() string {
	e := encoded{t.id, t.schema, t.name, make([]label, len(t.labels))}
	for i, l := range t.labels {
		e.Labels[i] = label(l)
	}
	text, _ := json.Marshal(e) // strings and numbers
	return string(text)
}

// Decode is the inverse of Serialize.
func Decode(text string) (*Type, error) {
	var e encoded
	if err := json.Unmarshal([]byte(text), &e); err != nil {
		return nil, fmt.Errorf("a user-defined type: %w", err)
	}
	labels := make([]Label, len(e.Labels))
	for i, l := range e.Labels {
		labels[i] = Label(l)
	}
	return New(e.ID, e.Schema, e.Name, labels)
}

// Deserialize is Decode for Arrow.
func (*Type) Deserialize(storage arrow.DataType, data string) (arrow.ExtensionType, error) {
	if !arrow.TypeEqual(storage, arrow.PrimitiveTypes.Uint8) {
		return nil, fmt.Errorf("a user-defined type over %v", storage)
	}
	return Decode(data)
}

// SameStates reports whether the columns of two tables that have the same types have them in the same states.
func SameStates(a, b *arrow.Schema) bool {
	if a == b || a.NumFields() != b.NumFields() {
		return a == b
	}
	for i := range a.NumFields() {
		x, y := a.Field(i).Type, b.Field(i).Type
		if s, ok := x.(*Type); ok && x != y {
			if t, ok := y.(*Type); !ok || s.Serialize() != t.Serialize() {
				return false
			}
		}
	}
	return true
}

// Has reports whether a column of a table has such a type.
func Has(columns *arrow.Schema) bool {
	return slices.ContainsFunc(columns.Fields(), func(f arrow.Field) bool { return Any(f.Type) })
}

// HasMarked is Has of the columns of a result.
func HasMarked(columns *arrow.Schema) bool {
	return slices.ContainsFunc(columns.Fields(), func(f arrow.Field) bool { return Of(f) != nil || Any(f.Type) })
}
