package record

import (
	"errors"
	"fmt"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/csmsql/csmsql/catalog/descriptor"
	"github.com/csmsql/csmsql/catalog/hugetable"
	"github.com/csmsql/csmsql/catalog/internal/message"
)

// CounterID names a counter for ever.
type CounterID uint64

// View is a named query.
type View struct {
	ID      hugetable.TableID
	Name    hugetable.TableName
	SQL     string
	Columns *arrow.Schema
	// CreatedAt is when.
	CreatedAt time.Time
	// Counter is the counter of a view that is a sequence, which goes with it; 0: it has none.
	Counter CounterID
}

// Field numbers of View in catalog.proto.
const (
	viewID, viewSchema, viewName, viewSQL, viewColumns, viewCreated = 1, 2, 3, 4, 5, 6
	viewCounter                                                     = 7
)

// Encode writes the record.
func (v *View) Encode() ([]byte, error) {
	w := message.Writer{}
	w.Uint(viewID, uint64(v.ID))
	w.OptionalString(viewSchema, v.Name.Schema)
	w.OptionalString(viewName, v.Name.Name)
	w.OptionalString(viewSQL, v.SQL)
	w.Int(viewCreated, v.CreatedAt.UnixMicro())
	w.OptionalUint(viewCounter, uint64(v.Counter))
	if v.Columns == nil {
		return w.Buf, nil
	}
	columns, err := descriptor.AppendSchema(nil, v.Columns)
	if err != nil {
		return nil, fmt.Errorf("columns of view %v: %w", v.Name, err)
	}
	w.Bytes(viewColumns, columns)
	return w.Buf, nil
}

// DecodeView is the inverse of Encode.
func DecodeView(data []byte) (*View, error) {
	v := &View{}
	r := message.NewReader(data)
	for r.Next() {
		switch r.Field() {
		case viewID:
			v.ID = hugetable.TableID(r.Uint())
		case viewSchema:
			v.Name.Schema = r.String()
		case viewName:
			v.Name.Name = r.String()
		case viewSQL:
			v.SQL = r.String()
		case viewCreated:
			v.CreatedAt = time.UnixMicro(r.Int()).UTC()
		case viewCounter:
			v.Counter = CounterID(r.Uint())
		case viewColumns:
			columns, err := descriptor.DecodeSchema(r.Bytes())
			r.Fail(err)
			v.Columns = columns
		default:
			r.Skip()
		}
	}
	if r.Err() == nil && (v.ID == 0 || v.Name.Name == "") {
		return nil, errors.New("no identity or name")
	}
	return v, r.Err()
}
