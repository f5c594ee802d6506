package ingest

import (
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/csmsql/csmsql/exec/duckdb/normal"
	"github.com/csmsql/csmsql/internal/enumeration"
	"github.com/csmsql/csmsql/sql/sqlerror"
)

// Labels come as text, or as dictionaries of it, and are stored as the codes that they have in their type; bytes are
// codes already, of chunks that are rewritten. Types that results show as others (exec/duckdb/normal) come as those,
// and are stored as DuckDB has them. Both are done before anything else is done to the rows, so that a hash and a key
// see what chunks have.

// Coded is an array as it is stored in a column. The caller releases it.
func Coded(a arrow.Array, f arrow.Field) (arrow.Array, error) {
	if t, ok := f.Type.(*enumeration.Type); ok {
		return codesOf(a, t)
	}
	if normal.IsOpaque(f) {
		raw, err := normal.Raw(memory.DefaultAllocator, a, f)
		if err != nil {
			return nil, sqlerror.New("22000", "column %q: %v", f.Name, err)
		}
		return raw, nil
	}
	a.Retain()
	return a, nil
}

// coded is a batch of what is stored, nil: it is one. The caller releases it.
func coded(batch arrow.RecordBatch, table *arrow.Schema) (arrow.RecordBatch, error) {
	var columns []arrow.Array
	defer func() {
		for _, c := range columns {
			c.Release()
		}
	}()
	if !enumeration.Has(table) && !normal.HasOpaque(table) {
		return nil, nil
	}
	fields := batch.Schema().Fields()
	for i, c := range batch.Columns() {
		codes, err := Coded(c, table.Field(i))
		if err != nil {
			return nil, err
		}
		columns = append(columns, codes)
		if codes != c {
			fields[i] = arrow.Field{Name: fields[i].Name, Type: codes.DataType(), Nullable: true}
		}
	}
	return array.NewRecordBatch(arrow.NewSchema(fields, nil), columns, batch.NumRows()), nil
}

// codesOf are the codes of an array's labels; one that the type does not have is an error (22P02).
func codesOf(a arrow.Array, t *enumeration.Type) (arrow.Array, error) {
	if a.DataType().ID() == arrow.UINT8 {
		a.Retain()
		return a, nil
	}
	b := array.NewUint8Builder(memory.DefaultAllocator)
	defer b.Release()
	b.Reserve(a.Len())
	if a.NullN() == a.Len() {
		b.AppendNulls(a.Len())
		return b.NewArray(), nil
	}
	texts, row := a, func(i int) int { return i }
	if d, ok := a.(*array.Dictionary); ok {
		texts, row = d.Dictionary(), d.GetValueIndex
	}
	labels, ok := texts.(interface{ Value(int) string })
	if !ok || kindOf(texts.DataType()) != text {
		return nil, sqlerror.New("42804", "a value of Arrow type %s is no label of type %s", a.DataType(), t.TypeName())
	}
	known := map[int]uint8{} // by the word of a dictionary
	for i := range a.Len() {
		if a.IsNull(i) || texts.IsNull(row(i)) {
			b.AppendNull()
			continue
		}
		at := row(i)
		code, ok := known[at]
		if !ok {
			if code, ok = t.Code(labels.Value(at)); !ok {
				return nil, sqlerror.New("22P02", "%s", t.Refusal(labels.Value(at)))
			}
			if texts != a {
				known[at] = code
			}
		}
		b.Append(code)
	}
	return b.NewArray(), nil
}
