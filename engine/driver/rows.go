package driver

import (
	"database/sql/driver"
	"io"
	"math"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/csmsql/csmsql/engine"
	"github.com/csmsql/csmsql/wire/pgformat"
)

// rows walks the batches of a reader.
type rows struct {
	reader array.RecordReader
	texts  *pgformat.Columns // writes the values that database/sql has no type for; nil: there are none
	batch  arrow.RecordBatch
	next   int
}

func newRows(s *engine.Session, reader array.RecordReader) (*rows, error) {
	r := &rows{reader: reader}
	fields := reader.Schema().Fields()
	types, plain := make([]pgformat.Type, len(fields)), true
	for i, f := range fields {
		types[i] = pgformat.TypeOf(f)
		plain = plain && native(f.Type)
	}
	if plain {
		return r, nil
	}
	texts, err := pgformat.NewColumns(types, nil, zone(s))
	if err != nil {
		reader.Release()
		return nil, err
	}
	r.texts = texts
	return r, nil
}

// zone is where the session shows instants that stand in lists and structs.
func zone(s *engine.Session) *time.Location {
	name, err := s.Setting("TimeZone")
	if err != nil {
		return nil
	}
	location, err := pgformat.LoadZone(name)
	if err != nil {
		return nil
	}
	return location
}

func (r *rows) Columns() []string {
	names := make([]string, r.reader.Schema().NumFields())
	for i, f := range r.reader.Schema().Fields() {
		names[i] = f.Name
	}
	return names
}

// ColumnTypeDatabaseTypeName is the Arrow type's name.
func (r *rows) ColumnTypeDatabaseTypeName(i int) string {
	return strings.ToUpper(r.reader.Schema().Field(i).Type.String())
}

func (r *rows) Close() error {
	r.reader.Release()
	return nil
}

func (r *rows) Next(dest []driver.Value) error {
	for r.batch == nil || r.next >= int(r.batch.NumRows()) {
		if !r.reader.Next() {
			if err := r.reader.Err(); err != nil {
				return err
			}
			return io.EOF
		}
		r.batch, r.next = r.reader.RecordBatch(), 0
		if r.texts != nil {
			if err := r.texts.Bind(r.batch); err != nil {
				return err
			}
		}
	}
	for i := range dest {
		dest[i] = r.value(i)
	}
	r.next++
	if r.texts != nil {
		return r.texts.Failure()
	}
	return nil
}

// value copies one value (V2).
func (r *rows) value(column int) driver.Value {
	a, row := r.batch.Column(column), r.next
	if a.IsNull(row) {
		return nil
	}
	if !native(a.DataType()) {
		if r.texts.Null(column, row) { // of a union
			return nil
		}
		return string(r.texts.AppendValue(nil, column, row))
	}
	switch a := a.(type) {
	case *array.Date32:
		switch a.Value(row) {
		case math.MaxInt32:
			return "infinity"
		case -math.MaxInt32:
			return "-infinity"
		}
		return a.Value(row).ToTime()
	case *array.Timestamp:
		switch a.Value(row) {
		case math.MaxInt64:
			return "infinity"
		case -math.MaxInt64:
			return "-infinity"
		}
		return a.Value(row).ToTime(a.DataType().(*arrow.TimestampType).Unit)
	}
	return simpleValue(a, row)
}

// native reports whether a type has a driver.Value of its own.
func native(t arrow.DataType) bool {
	switch t.ID() {
	case arrow.BOOL, arrow.INT8, arrow.INT16, arrow.INT32, arrow.INT64, arrow.UINT8, arrow.UINT16, arrow.UINT32, arrow.FLOAT32, arrow.FLOAT64,
		arrow.STRING, arrow.BINARY, arrow.BINARY_VIEW, arrow.DATE32, arrow.TIMESTAMP:
		return true
	}
	return false
}

func simpleValue(a arrow.Array, i int) driver.Value {
	switch a := a.(type) {
	case *array.Boolean:
		return a.Value(i)
	case *array.Int8:
		return int64(a.Value(i))
	case *array.Int16:
		return int64(a.Value(i))
	case *array.Int32:
		return int64(a.Value(i))
	case *array.Int64:
		return a.Value(i)
	case *array.Uint8:
		return int64(a.Value(i))
	case *array.Uint16:
		return int64(a.Value(i))
	case *array.Uint32:
		return int64(a.Value(i))
	case *array.Float32:
		return float64(a.Value(i))
	case *array.Float64:
		return a.Value(i)
	case *array.String:
		return strings.Clone(a.Value(i))
	case *array.Binary:
		return append([]byte{}, a.Value(i)...)
	case *array.BinaryView:
		return append([]byte{}, a.Value(i)...)
	}
	return a.ValueStr(i)
}
