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

// Type is a user-defined type.
type Type struct {
	ID        hugetable.TableID
	Name      hugetable.TableName
	Labels    []enumeration.Label // in their order
	Domain    *arrow.Schema       // of a domain: one column, with all that is declared of it; nil: it is enumerated
	Comment   string
	CreatedAt time.Time

	of     *enumeration.Type
	domain []byte // encoded
}

// typeFormat is the number that a type's record carries: an enumerated one, or a domain. A program that does not know
// those would store values that they do not allow.
const typeFormat, typeFormatDomain = 1, 2

// Field numbers of Type and Label in catalog.proto.
const (
	typeFieldFormat, typeID, typeSchema, typeName, typeLabels, typeComment, typeCreated = 1, 2, 3, 4, 5, 6, 7
	typeDomain                                                                          = 8
	labelText, labelCode, labelOrder, labelID                                           = 1, 2, 3, 4
)

// Of is the enumerated type of columns that have it; nil: it is a domain, or the record makes none. Preconditions: the
// record is whole, and does not change any more.
func (t *Type) Of() *enumeration.Type {
	if t.of == nil && t.Domain == nil {
		made, err := enumeration.New(uint64(t.ID), t.Name.Schema, t.Name.Name, t.Labels)
		if err != nil {
			return nil
		}
		t.of = made
	}
	return t.of
}

// Check is the error of a record that makes no type. Whoever hands a record to others has called it, or DecodeType.
func (t *Type) Check() error {
	if t.Domain != nil {
		if t.Domain.NumFields() != 1 || len(t.Labels) > 0 || t.ID == 0 || t.Name.Name == "" {
			return fmt.Errorf("domain %q, number %d, of %d columns, with %d labels", t.Name.Name, t.ID,
				t.Domain.NumFields(), len(t.Labels))
		}
		var err error
		t.domain, err = descriptor.AppendSchema(nil, t.Domain)
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
	if t.Domain != nil {
		w.Uint(typeFieldFormat, typeFormatDomain)
	} else {
		w.Uint(typeFieldFormat, typeFormat)
	}
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
	if t.Domain != nil {
		w.Bytes(typeDomain, t.domain)
	}
	return w.Buf
}

// DecodeType is the inverse of Encode.
func DecodeType(data []byte) (*Type, error) {
	t := &Type{}
	r := message.NewReader(data)
	format := uint64(0)
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
		case typeDomain:
			schema, err := descriptor.DecodeSchema(r.Bytes())
			r.Fail(err)
			t.Domain = schema
		default:
			r.Skip()
		}
	}
	if err := r.Err(); err != nil {
		return nil, err
	}
	switch {
	case format != typeFormat && format != typeFormatDomain:
		return nil, fmt.Errorf("a type of format %d, this program knows %d and %d", format, typeFormat,
			typeFormatDomain)
	case (t.Domain != nil) != (format == typeFormatDomain):
		return nil, fmt.Errorf("a type of format %d that is a domain, or not", format)
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
