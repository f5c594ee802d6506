package conform

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/compute"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/csmsql/csmsql/internal/concatenation"
)

// Batch takes over batch and returns it with exactly the schema's types.
func Batch(batch arrow.RecordBatch, schema *arrow.Schema) (arrow.RecordBatch, error) {
	same := true
	for i, c := range batch.Columns() {
		same = same && arrow.TypeEqual(c.DataType(), schema.Field(i).Type)
	}
	if same {
		return batch, nil
	}
	defer batch.Release()
	columns := make([]arrow.Array, batch.NumCols())
	for i, c := range batch.Columns() {
		out, err := shown(memory.DefaultAllocator, c, schema.Field(i).Type)
		if err != nil {
			return nil, err
		}
		columns[i] = out
		defer out.Release()
	}
	return array.NewRecordBatch(schema, columns, batch.NumRows()), nil
}

// shown is an array of the same values under a type. The caller releases it; a stays the caller's.
func shown(mem memory.Allocator, a arrow.Array, want arrow.DataType) (arrow.Array, error) {
	if arrow.TypeEqual(a.DataType(), want) {
		a.Retain()
		return a, nil
	}
	kernels := compute.WithAllocator(context.Background(), mem)
	if d, ok := a.(*array.Dictionary); ok {
		if d.Dictionary().Len() == 0 { // NULLs only; arrow-go's kernel panics at such a dictionary, in a goroutine of its own
			return array.MakeArrayOfNull(mem, want, d.Len()), nil
		}
		decoded, err := compute.TakeArray(kernels, d.Dictionary(), d.Indices())
		if err != nil || arrow.TypeEqual(decoded.DataType(), want) {
			return decoded, err
		}
		defer decoded.Release()
		return compute.CastArray(kernels, decoded, compute.SafeCastOptions(want))
	}
	if d := as64(mem, a, want); d != nil {
		return d, nil
	}
	if v, ok := a.(*array.StringView); ok && want.ID() == arrow.STRING {
		return plain[string](v, array.NewStringBuilder(mem)), nil
	}
	if v, ok := a.(*array.BinaryView); ok && want.ID() == arrow.BINARY {
		return plain[[]byte](v, array.NewBinaryBuilder(mem, arrow.BinaryTypes.Binary)), nil
	}
	return compute.CastArray(kernels, a, compute.SafeCastOptions(want))
}

// plain copies a view's values: arrow-go's cast kernels do not know views. It releases the builder.
func plain[V string | []byte](v interface {
	arrow.Array
	Value(int) V
}, b interface {
	array.Builder
	Append(V)
}) arrow.Array {
	defer b.Release()
	b.Reserve(v.Len())
	for i := range v.Len() {
		if v.IsNull(i) {
			b.AppendNull()
			continue
		}
		b.Append(v.Value(i))
	}
	return b.NewArray()
}

// Detach takes a batch over and gives one that outlives the lease under which it was read: a copy. A borrower's client
// may be stopped before it looks at the values, and checks no lease. In the node itself no lease runs out while a batch
// is in use (package lease), and rows go out in place. What the session's own transaction wrote does not: no lease
// keeps that.
func Detach(ctx context.Context, mem memory.Allocator, batch arrow.RecordBatch,
	schema *arrow.Schema) (arrow.RecordBatch, error) {
	defer batch.Release()
	copied, err := Copy(mem, batch, schema)
	if err == nil {
		err = ctx.Err()
	}
	return copied, err
}

// Copy has schema's types and shares no byte with batch.
func Copy(mem memory.Allocator, batch arrow.RecordBatch, schema *arrow.Schema) (arrow.RecordBatch, error) {
	columns := make([]arrow.Array, batch.NumCols())
	for i, c := range batch.Columns() {
		copied, err := copyOf(mem, c, schema.Field(i).Type)
		if err != nil {
			return nil, err
		}
		columns[i] = copied
		defer copied.Release()
	}
	return array.NewRecordBatch(arrow.NewSchema(schema.Fields(), nil), columns, batch.NumRows()), nil
}

// copyOf shares no byte with a.
func copyOf(mem memory.Allocator, a arrow.Array, want arrow.DataType) (arrow.Array, error) {
	if !arrow.TypeEqual(a.DataType(), want) {
		return shown(mem, a, want) // another layout is another array
	}
	switch v := a.(type) { // of these Concatenate shares the texts
	case *array.StringView:
		return plain[string](v, array.NewStringViewBuilder(mem)), nil
	case *array.BinaryView:
		return plain[[]byte](v, array.NewBinaryViewBuilder(mem)), nil
	case *array.Dictionary:
		return copyOfDictionary(mem, v)
	}
	return concatenation.Arrays([]arrow.Array{a}, mem)
}

func copyOfDictionary(mem memory.Allocator, d *array.Dictionary) (arrow.Array, error) {
	words, err := copyOf(mem, d.Dictionary(), d.Dictionary().DataType())
	if err != nil {
		return nil, err
	}
	defer words.Release()
	codes, err := concatenation.Arrays([]arrow.Array{d.Indices()}, mem)
	if err != nil {
		return nil, err
	}
	defer codes.Release()
	return array.NewDictionaryArray(d.DataType(), codes, words), nil
}

// Bytes is how much memory a batch refers to.
func Bytes(batch arrow.RecordBatch) (size int64) {
	for _, c := range batch.Columns() {
		size += int64(c.Data().SizeInBytes())
	}
	return size
}

// Schema hides how strings are laid out: an ENUM is text.
func Schema(schema *arrow.Schema) *arrow.Schema {
	fields := schema.Fields()
	for i, f := range fields {
		if d, ok := f.Type.(*arrow.DictionaryType); ok {
			fields[i].Type = d.ValueType
		}
		fields[i].Type = decimalsOfResult(fields[i].Type)
	}
	return arrow.NewSchema(fields, nil)
}

// Names are those of a schema's columns; none if there is no schema.
func Names(schema *arrow.Schema) []string {
	names := make([]string, Width(schema))
	for i := range names {
		names[i] = schema.Field(i).Name
	}
	return names
}

// Width is how many columns a schema has; none if there is no schema.
func Width(schema *arrow.Schema) int {
	if schema == nil {
		return 0
	}
	return schema.NumFields()
}
