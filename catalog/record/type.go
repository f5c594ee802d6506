package record

import (
	"fmt"
	"math"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/csmsql/csmsql/catalog/descriptor"
	"github.com/csmsql/csmsql/catalog/hugetable"
	"github.com/csmsql/csmsql/catalog/internal/message"
	"github.com/csmsql/csmsql/internal/enumeration"
)

// Type is a user-defined type, enumerated or a domain, or a function.
type Type struct {
	ID        hugetable.TableID
	Name      hugetable.TableName
	Labels    []enumeration.Label // in their order
	Domain    *arrow.Schema       // of a domain: one column, with all that is declared of it; nil: it is none
	Function  *arrow.Schema       // of a function: its parameters and its result behind them; nil: it is none
	Comment   string
	CreatedAt time.Time

	of     *enumeration.Type
	schema []byte // of a domain or a function, encoded
}

// typeFormat is the number that a type's record carries: enumerated, a domain, a function. A program that does
// not know domains would store values that they do not allow.
const typeFormat, typeFormatDomain, typeFormatFunction = 1, 2, 3

// FunctionName is what a function is called by among the names of types and tables, of which it hides none.
func FunctionName(schema, name string) hugetable.TableName {
	return hugetable.TableName{Schema: schema, Name: name + "()"}
}

// Field numbers of Type and Label in catalog.proto.
const (
	typeFieldFormat, typeID, typeSchema, typeName, typeLabels, typeComment, typeCreated = 1, 2, 3, 4, 5, 6, 7
	typeDeclared                                                                        = 8
	labelText, labelCode, labelOrder, labelID                                           = 1, 2, 3, 4
)

// Of is the enumerated type of columns that have it; nil: it is none. Preconditions: the
// record is whole, and does not change any more.
func (t *Type) Of() *enumeration.Type {
	if t.of == nil && t.declared() == nil {
		made, err := enumeration.New(uint64(t.ID), t.Name.Schema, t.Name.Name, t.Labels)
		if err != nil {
			return nil
		}
		t.of = made
	}
	return t.of
}

// format is what the record carries as its first number.
func (t *Type) format() uint64 {
	switch {
	case t.Domain != nil:
		return typeFormatDomain
	case t.Function != nil:
		return typeFormatFunction
	}
	return typeFormat
}

// declared is what is said of a domain or a function.
func (t *Type) declared() *arrow.Schema {
	if t.Domain != nil {
		return t.Domain
	}
	return t.Function
}

// Check is the error of a record that makes no type. A caller that hands a record to others has called it, or
// DecodeType.
func (t *Type) Check() error {
	if schema := t.declared(); schema != nil {
		if fields := schema.NumFields(); fields == 0 || t.Domain != nil && (fields > 1 || t.Function != nil) ||
			len(t.Labels) > 0 || t.ID == 0 || t.Name.Name == "" {
			return fmt.Errorf("domain or function %q, number %d, of %d columns, with %d labels", t.Name.Name, t.ID,
				schema.NumFields(), len(t.Labels))
		}
		var err error
		t.schema, err = descriptor.AppendSchema(nil, schema)
		return err
	}
	if t.Of() == nil {
		_, err := enumeration.New(uint64(t.ID), t.Name.Schema, t.Name.Name, t.Labels)
		return err
	}
	return nil
}

// Encode writes the record.
func (t *Type) Encode() []byte {
	w := message.Writer{}
	w.Uint(typeFieldFormat, t.format())
	w.Uint(typeID, uint64(t.ID))
	w.OptionalString(typeSchema, t.Name.Schema)
	w.OptionalString(typeName, t.Name.Name)
	for _, l := range t.Labels {
		start := w.Begin(typeLabels)
		w.OptionalString(labelText, l.Text)
		w.OptionalUint(labelCode, uint64(l.Code))
		w.Uint(labelOrder, uint64(math.Float32bits(l.Order)))
		w.OptionalUint(labelID, l.ID)
		w.End(start)
	}
	w.OptionalString(typeComment, t.Comment)
	w.Int(typeCreated, t.CreatedAt.UnixMicro())
	if t.declared() != nil {
		w.Bytes(typeDeclared, t.schema)
	}
	return w.Buf
}

// DecodeType is the inverse of Encode.
func DecodeType(data []byte) (*Type, error) {
	t := &Type{}
	r := message.NewReader(data)
	format, declared := uint64(0), (*arrow.Schema)(nil)
	for r.Next() {
		switch r.Field() {
		case typeFieldFormat:
			format = r.Uint()
		case typeID:
			t.ID = hugetable.TableID(r.Uint())
		case typeSchema:
			t.Name.Schema = r.String()
		case typeName:
			t.Name.Name = r.String()
		case typeLabels:
			if len(t.Labels) >= enumeration.LabelsMost {
				r.Fail(fmt.Errorf("more than %d labels", enumeration.LabelsMost))
				break
			}
			l, err := readLabel(r.Sub())
			r.Fail(err)
			t.Labels = append(t.Labels, l)
		case typeComment:
			t.Comment = r.String()
		case typeCreated:
			t.CreatedAt = time.UnixMicro(r.Int()).UTC()
		case typeDeclared:
			schema, err := descriptor.DecodeSchema(r.Bytes())
			r.Fail(err)
			declared = schema
		default:
			r.Skip()
		}
	}
	if err := r.Err(); err != nil {
		return nil, err
	}
	switch format {
	case typeFormat:
	case typeFormatDomain:
		t.Domain = declared
	case typeFormatFunction:
		t.Function = declared
	default:
		return nil, fmt.Errorf("a type of format %d, this program knows %d to %d", format, typeFormat,
			typeFormatFunction)
	}
	if (declared != nil) != (format != typeFormat) {
		return nil, fmt.Errorf("a type of format %d that is a domain or a function, or is not", format)
	}
	if err := t.Check(); err != nil {
		return nil, err
	}
	return t, nil
}

func readLabel(r message.Reader) (l enumeration.Label, err error) {
	for r.Next() {
		switch r.Field() {
		case labelText:
			l.Text = r.String()
		case labelCode:
			code := r.Uint()
			if code > math.MaxUint8 {
				return l, fmt.Errorf("a label of code %d", code)
			}
			l.Code = uint8(code)
		case labelOrder:
			l.Order = math.Float32frombits(uint32(r.Uint()))
		case labelID:
			l.ID = r.Uint()
		default:
			r.Skip()
		}
	}
	return l, r.Err()
}
