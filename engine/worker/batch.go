package worker

import (
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// A batch in the window is its buffers one after the other, each at a multiple of 64; its shape is what else there
// is to say:
//
//	array   length, nulls, offset, buffers n, n × (bytes or -1), children m, m × array, dictionary 0 or 1, array
//
// Arrow's IPC format says the same and more, but arrow-go makes extension types of UUID and JSON when it reads it,
// which no other code here knows.

// shapeDepthMax bounds nested types; DuckDB's own parser stops before.
const shapeDepthMax = 256

const bufferAlignment = 64

// shapeOf describes the columns of a batch, and gives the buffers in the order in which they lie in the window.
func shapeOf(batch arrow.RecordBatch) (shape []int64, buffers [][]byte, size int64) {
	var add func(d arrow.ArrayData)
	add = func(d arrow.ArrayData) {
		shape = append(shape, int64(d.Len()), int64(d.NullN()), int64(d.Offset()), int64(len(d.Buffers())))
		for _, b := range d.Buffers() {
			if b == nil {
				shape = append(shape, -1)
				continue
			}
			shape = append(shape, int64(b.Len()))
			buffers = append(buffers, b.Bytes())
			size += aligned(int64(b.Len()))
		}
		shape = append(shape, int64(len(d.Children())))
		for _, child := range d.Children() {
			add(child)
		}
		dictionary := d.Dictionary()
		if d.DataType().ID() != arrow.DICTIONARY || dictionary == nil {
			shape = append(shape, 0)
			return
		}
		shape = append(shape, 1)
		add(dictionary)
	}
	for _, c := range batch.Columns() {
		add(c.Data())
	}
	return shape, buffers, size
}

func aligned(n int64) int64 { return (n + bufferAlignment - 1) / bufferAlignment * bufferAlignment }

// shapeReader makes arrays of a shape over bytes that are the reader's own. What the shape says is not trusted.
type shapeReader struct {
	shape []int64
	bytes []byte
	at    int64 // of the next buffer
}

// batchOf is the batch that lies in bytes, which it keeps.
func batchOf(schema *arrow.Schema, rows int64, shape []int64, bytes []byte) (arrow.RecordBatch, error) {
	r := &shapeReader{shape: shape, bytes: bytes}
	columns := make([]arrow.Array, 0, schema.NumFields())
	defer func() {
		for _, c := range columns {
			c.Release()
		}
	}()
	if rows < 0 {
		return nil, fmt.Errorf("a batch of %d rows", rows)
	}
	for _, f := range schema.Fields() {
		data, err := r.array(f.Type, 0)
		if err != nil {
			return nil, fmt.Errorf("column %q: %w", f.Name, err)
		}
		column, err := arrayOf(data)
		data.Release()
		if err != nil {
			return nil, fmt.Errorf("column %q: %w", f.Name, err)
		}
		columns = append(columns, column)
		if int64(column.Len()) != rows {
			return nil, fmt.Errorf("column %q has %d rows, not %d", f.Name, column.Len(), rows)
		}
	}
	if len(r.shape) > 0 {
		return nil, fmt.Errorf("the shape says more than the columns")
	}
	return array.NewRecordBatch(schema, columns, rows), nil
}

// arrayOf makes an array of data, and looks it through. arrow-go panics at some that make no sense, in either step.
func arrayOf(data arrow.ArrayData) (a arrow.Array, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%v", p)
		}
	}()
	a = array.MakeFromData(data)
	return a, array.ValidateFull(a)
}

func (r *shapeReader) next() (int64, error) {
	if len(r.shape) == 0 {
		return 0, fmt.Errorf("the shape is too short")
	}
	n := r.shape[0]
	r.shape = r.shape[1:]
	return n, nil
}

// count is the next number, which has at least least and counts what follows.
func (r *shapeReader) count(least int64) (int64, error) {
	n, err := r.next()
	if err == nil && (n < least || n > int64(len(r.shape))) {
		err = fmt.Errorf("%d things in a shape of %d", n, len(r.shape))
	}
	return n, err
}

func (r *shapeReader) array(t arrow.DataType, depth int) (data *array.Data, err error) {
	if depth > shapeDepthMax {
		return nil, fmt.Errorf("types are nested too deep")
	}
	var head [3]int64
	for i := range head {
		if head[i], err = r.next(); err != nil {
			return nil, err
		}
	}
	length, nulls, offset := head[0], head[1], head[2]
	const most = 1 << 40
	if length < 0 || offset < 0 || length > most || offset > most || nulls < -1 || nulls > length {
		return nil, fmt.Errorf("%d values from %d on, of which %d are NULL", length, offset, nulls)
	}
	buffers, err := r.buffers()
	if err != nil {
		return nil, err
	}
	children, err := r.children(t, depth)
	defer func() {
		for _, c := range children {
			c.Release()
		}
	}()
	if err != nil {
		return nil, err
	}
	dictionary, err := r.dictionary(t, depth)
	if err != nil {
		return nil, err
	}
	if dictionary != nil {
		defer dictionary.Release()
		return array.NewDataWithDictionary(t, int(length), buffers, int(nulls), int(offset), dictionary), nil
	}
	return array.NewData(t, int(length), buffers, children, int(nulls), int(offset)), nil
}

func (r *shapeReader) buffers() ([]*memory.Buffer, error) {
	n, err := r.count(0)
	if err != nil {
		return nil, err
	}
	buffers := make([]*memory.Buffer, n)
	for i := range buffers {
		size, err := r.next()
		if err != nil {
			return nil, err
		}
		if size < 0 {
			continue
		}
		if size > int64(len(r.bytes))-r.at {
			return nil, fmt.Errorf("a buffer of %d bytes at %d of %d", size, r.at, len(r.bytes))
		}
		buffers[i] = memory.NewBufferBytes(r.bytes[r.at : r.at+size : r.at+size])
		r.at += aligned(size)
	}
	return buffers, nil
}

func (r *shapeReader) children(t arrow.DataType, depth int) (children []arrow.ArrayData, err error) {
	n, err := r.count(0)
	if err != nil {
		return nil, err
	}
	var fields []arrow.Field
	if nested, ok := t.(arrow.NestedType); ok {
		fields = nested.Fields()
	}
	if int(n) != len(fields) {
		return nil, fmt.Errorf("a %s of %d parts", t, n)
	}
	for _, f := range fields {
		child, err := r.array(f.Type, depth+1)
		if err != nil {
			return children, err
		}
		children = append(children, child)
	}
	return children, nil
}

func (r *shapeReader) dictionary(t arrow.DataType, depth int) (*array.Data, error) {
	has, err := r.next()
	if err != nil {
		return nil, err
	}
	d, is := t.(*arrow.DictionaryType)
	if is != (has == 1) {
		return nil, fmt.Errorf("a %s with %d dictionaries", t, has)
	}
	if !is {
		return nil, nil
	}
	return r.array(d.ValueType, depth+1)
}
