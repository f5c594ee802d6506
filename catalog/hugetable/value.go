package hugetable

import (
	"bytes"
	"encoding/base64"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/csmsql/csmsql/internal/concatenation"
)

// encodeValue writes an array as text: a stream of Arrow IPC in base64.
func encodeValue(value arrow.Array) (string, error) {
	var out bytes.Buffer
	schema := arrow.NewSchema([]arrow.Field{{Name: "v", Type: value.DataType(), Nullable: true}}, nil)
	w := ipc.NewWriter(&out, ipc.WithSchema(schema))
	batch := array.NewRecordBatch(schema, []arrow.Array{value}, int64(value.Len()))
	defer batch.Release()
	if err := w.Write(batch); err != nil {
		return "", fmt.Errorf("a value of %v: %w", value.DataType(), err)
	}
	if err := w.Close(); err != nil {
		return "", err
	}
	return base64.StdEncoding.EncodeToString(out.Bytes()), nil
}

// decodeValue reads what encodeValue wrote: an array of one value.
func decodeValue(text string) (value arrow.Array, err error) {
	defer func() { // arrow-go may panic at bytes that make no sense
		if p := recover(); p != nil {
			value, err = nil, fmt.Errorf("%v", p)
		}
	}()
	data, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return nil, err
	}
	r, err := ipc.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	defer r.Release()
	batch, err := r.Read()
	if err != nil {
		return nil, err
	}
	if batch.NumCols() != 1 || batch.NumRows() != 1 {
		return nil, fmt.Errorf("%d columns of %d rows", batch.NumCols(), batch.NumRows())
	}
	value = batch.Column(0)
	value.Retain()
	value = stored(value)
	return value, array.ValidateFull(value)
}

// Repeat is an array that has a value, an array of it alone, in each of some rows, all of it in memory of mem.
func Repeat(value arrow.Array, rows int64, mem memory.Allocator) (arrow.Array, error) {
	if d, ok := value.(*array.Dictionary); ok {
		return repeatCode(d, rows, mem)
	}
	if rows == 0 {
		return concatenation.Arrays([]arrow.Array{array.NewSlice(value, 0, 0)}, mem)
	}
	out, err := copied(value, mem)
	for err == nil && int64(out.Len()) < rows {
		more := array.NewSlice(out, 0, min(int64(out.Len()), rows-int64(out.Len())))
		var twice arrow.Array
		if twice, err = concatenation.Arrays([]arrow.Array{out, more}, mem); err == nil {
			twice = changed(twice, halveViews)
		}
		more.Release()
		out.Release()
		out = twice
	}
	if err != nil {
		return nil, fmt.Errorf("a value of %v: %w", value.DataType(), err)
	}
	return out, nil
}

// copied is an array in memory of mem. Concatenate shares the bytes that views point to.
func copied(a arrow.Array, mem memory.Allocator) (arrow.Array, error) {
	out, err := concatenation.Arrays([]arrow.Array{a}, mem)
	if err != nil {
		return nil, err
	}
	return changed(out, func(buffers []*memory.Buffer) []*memory.Buffer {
		own := append([]*memory.Buffer(nil), buffers[:viewBytes]...)
		for _, b := range buffers[:viewBytes] {
			if b != nil {
				b.Retain()
			}
		}
		for _, b := range buffers[viewBytes:] {
			mine := memory.NewResizableBuffer(mem)
			mine.Resize(b.Len())
			copy(mine.Bytes(), b.Bytes())
			own = append(own, mine)
		}
		return own
	}), nil
}

// viewBytes is the number of the first of a view's buffers that headers point to; before it are validity and headers.
const viewBytes = 2

// halveViews takes out the second half of the buffers that headers point to, which are the first half again: else each
// doubling would double them. The headers are this array's alone.
func halveViews(buffers []*memory.Buffer) []*memory.Buffer {
	half := (len(buffers) - viewBytes) / 2
	headers := arrow.ViewHeaderTraits.CastFromBytes(buffers[1].Bytes())
	for i := range headers {
		if h := &headers[i]; !h.IsInline() && int(h.BufferIndex()) >= half {
			h.SetIndexOffset(h.BufferIndex()-int32(half), h.BufferOffset())
		}
	}
	kept := append([]*memory.Buffer(nil), buffers[:viewBytes+half]...)
	for _, b := range kept {
		if b != nil {
			b.Retain()
		}
	}
	return kept
}

// changed is an array, which it releases, with other buffers for the views in it: change gives those, with a reference
// each.
func changed(a arrow.Array, change func([]*memory.Buffer) []*memory.Buffer) arrow.Array {
	defer a.Release()
	data := changedData(a.Data(), change)
	defer data.Release()
	return array.MakeFromData(data)
}

func changedData(d arrow.ArrayData, change func([]*memory.Buffer) []*memory.Buffer) arrow.ArrayData {
	buffers := d.Buffers()
	if _, view := d.DataType().(arrow.BinaryViewDataType); view {
		buffers = change(buffers)
		defer func() {
			for _, b := range buffers {
				if b != nil {
					b.Release()
				}
			}
		}()
	}
	children := make([]arrow.ArrayData, len(d.Children()))
	for i, c := range d.Children() {
		children[i] = changedData(c, change)
		defer children[i].Release()
	}
	return array.NewData(d.DataType(), d.Len(), buffers, children, d.NullN(), d.Offset())
}

// repeatCode is Repeat of a dictionary's word: its code in each row.
func repeatCode(d *array.Dictionary, rows int64, mem memory.Allocator) (arrow.Array, error) {
	codes, err := Repeat(d.Indices(), rows, mem)
	if err != nil {
		return nil, err
	}
	defer codes.Release()
	words, err := copied(d.Dictionary(), mem)
	if err != nil {
		return nil, err
	}
	defer words.Release()
	data := array.NewDataWithDictionary(d.DataType(), int(rows), codes.Data().Buffers(), codes.NullN(),
		codes.Data().Offset(), words.Data().(*array.Data))
	defer data.Release()
	return array.NewDictionaryData(data), nil
}
