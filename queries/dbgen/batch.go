package dbgen

import (
	"context"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// batchWriter builds one record batch column by column, in the order of the
// table's declaration. After the first error every further call does nothing,
// and finish reports it; so the writers of the tables read as plain sequences.
type batchWriter struct {
	ctx     context.Context
	mem     memory.Allocator
	table   Table
	text    []byte // the text pool
	buffers []*memory.Buffer
	columns []arrow.Array
	rows    int
	err     error
}

// finish returns the batch, or the first error.
func (w *batchWriter) finish() (arrow.RecordBatch, error) {
	if w.err != nil {
		return nil, fmt.Errorf("dbgen: making %s: %w", w.table, w.err)
	}
	return array.NewRecordBatch(PhysicalSchema(w.table), w.columns, int64(w.rows)), nil
}

// release drops the writer's own references. A finished batch holds others, an
// unfinished one none, so this is right on every way out, a panic included.
func (w *batchWriter) release() {
	for _, c := range w.columns {
		c.Release()
	}
	for _, b := range w.buffers {
		b.Release()
	}
}

// allocate returns a buffer of exactly size bytes, or nil after an error.
// An allocator is never asked for nothing: whether that is a valid request,
// and whether it must be freed, is not the same everywhere.
func (w *batchWriter) allocate(size int) *memory.Buffer {
	if w.err == nil {
		w.err = w.ctx.Err()
	}
	if w.err != nil {
		return nil
	}
	if size == 0 {
		return memory.NewBufferBytes(nil)
	}
	bytes := w.mem.Allocate(size)
	buffer := memory.NewBufferWithAllocator(bytes, w.mem)
	w.buffers = append(w.buffers, buffer)
	if len(bytes) < size {
		w.err = fmt.Errorf("%w: it gave %d of %d bytes", ErrNoMemory, len(bytes), size)
		return nil
	}
	return buffer
}

// kind returns the declared kind of the column that comes next.
func (w *batchWriter) kind() columnKind {
	return tableColumns[w.table][len(w.columns)].kind
}

// add appends a column that lies in the given buffers.
func (w *batchWriter) add(rows int, buffers []*memory.Buffer, dictionary *array.Data) {
	data := array.NewDataWithDictionary(physicalTypes[w.kind()], rows, buffers, 0, 0, dictionary)
	w.columns = append(w.columns, array.MakeFromData(data))
	w.rows = rows
	data.Release()
}

// addFixed appends a column of fixed width; fill writes its values in place.
func addFixed[T int32 | int64](w *batchWriter, rows int, fill func(values []T)) {
	var zero T
	if buffer := w.allocate(rows * binary.Size(zero)); buffer != nil {
		fill(arrow.GetData[T](buffer.Bytes()))
		w.add(rows, []*memory.Buffer{nil, buffer}, nil)
	}
}

// addDrawn appends a column of fixed width whose rows are successive draws,
// each multiplied by scale.
func addDrawn[T int32 | int64](w *batchWriter, rows int, s stream, b bounds, scale T) {
	addFixed(w, rows, func(values []T) {
		for i := range values {
			s = s.next()
			values[i] = scale * T(b.draw(s))
		}
	})
}

// addCategory appends a dictionary column; fill writes codes into d.sorted.
func (w *batchWriter) addCategory(rows int, d *sharedDomain, fill func(codes []uint8)) {
	if buffer := w.allocate(rows); buffer != nil {
		fill(buffer.Bytes())
		w.add(rows, []*memory.Buffer{nil, buffer}, d.dictionary)
	}
}

// addDrawnCategory appends a dictionary column whose rows are successive
// draws, all values being equally likely.
func (w *batchWriter) addDrawnCategory(rows int, s stream, d *sharedDomain) {
	w.addCategory(rows, d, func(codes []uint8) {
		for i := range codes {
			s = s.next()
			codes[i] = d.codes[uniform(uint64(s), uint64(len(d.codes)))]
		}
	})
}

// sharedDomain is a domain with its Arrow dictionary, which all batches of the
// process share. The package's reference is never released.
type sharedDomain struct {
	domain
	dictionary *array.Data
}

func newSharedDomain(official []string) *sharedDomain {
	d := &sharedDomain{domain: newDomain(official)}
	builder := array.NewStringBuilder(memory.NewGoAllocator())
	defer builder.Release()
	builder.AppendValues(d.sorted, nil)
	d.dictionary = builder.NewStringArray().Data().(*array.Data)
	return d
}

// Sizes of the string view layout of the Arrow columnar format.
const (
	viewSize      = 16
	viewInlineMax = 12
)

// addText appends a column of substrings of the text pool.
// Preconditions: every length is at least 4 (the shortest comment has 5), and
// 16 bytes may be read from every offset.
//
// The rows are taken in blocks: the first loop's loads do not depend on one
// another, so that their cache misses overlap; the second loop copies from
// lines that have arrived.
func (w *batchWriter) addText(excerpts []excerpt) {
	views, data := w.allocateViews(len(excerpts), outOfLineSize(excerpts))
	if w.err != nil {
		return
	}
	const block = 64
	viewBytes, dataBytes := views.Bytes(), data.Bytes()
	position := 0
	for begin := 0; begin < len(excerpts); begin += block {
		rows := excerpts[begin:min(begin+block, len(excerpts))]
		w.writeHeaders(viewBytes[begin*viewSize:], rows, position)
		for _, row := range rows {
			if row.length > viewInlineMax {
				position += copy(dataBytes[position:position+int(row.length)], w.text[row.offset:])
			}
		}
	}
	w.addViews(len(excerpts), views, data)
}

// excerpt is a substring of the text pool.
type excerpt struct {
	offset, length uint32
}

// outOfLineSize returns how many bytes do not fit into the views.
func outOfLineSize(excerpts []excerpt) int {
	size := 0
	for _, row := range excerpts {
		if row.length > viewInlineMax {
			size += int(row.length)
		}
	}
	return size
}

// writeHeaders writes the views of rows whose out-of-line bytes begin at
// position of the data buffer.
func (w *batchWriter) writeHeaders(views []byte, rows []excerpt, position int) {
	for i, row := range rows {
		source := w.text[row.offset : row.offset+viewSize : row.offset+viewSize]
		prefix := uint64(binary.LittleEndian.Uint32(source))
		var tail uint64
		if row.length > viewInlineMax {
			tail = uint64(position) << 32 // data buffer 0
			position += int(row.length)
		} else {
			// Bytes behind the string must be zero: readers compare views.
			tail = binary.LittleEndian.Uint64(source[4:]) & (1<<(8*(row.length-4)) - 1)
		}
		view := views[i*viewSize : i*viewSize+viewSize]
		binary.LittleEndian.PutUint64(view, uint64(row.length)|prefix<<32)
		binary.LittleEndian.PutUint64(view[8:], tail)
	}
}

// packedStrings are strings that a writer formed, one behind the other.
type packedStrings struct {
	bytes []byte
	ends  []int // where each string ends in bytes
}

func newPackedStrings(rows, sizeHint int) *packedStrings {
	return &packedStrings{bytes: make([]byte, 0, rows*sizeHint), ends: make([]int, 0, rows)}
}

// endString ends the string that was appended to bytes.
func (p *packedStrings) endString() { p.ends = append(p.ends, len(p.bytes)) }

// addStrings appends a column of formed strings.
func (w *batchWriter) addStrings(p *packedStrings) {
	size, begin := 0, 0
	for _, end := range p.ends {
		if end-begin > viewInlineMax {
			size += end - begin
		}
		begin = end
	}
	views, data := w.allocateViews(len(p.ends), size)
	if w.err != nil {
		return
	}
	headers := arrow.ViewHeaderTraits.CastFromBytes(views.Bytes())
	position, begin := 0, 0
	for i, end := range p.ends {
		value := p.bytes[begin:end]
		headers[i] = arrow.ViewHeader{} // lent memory need not be zero
		headers[i].SetBytes(value)
		if len(value) > viewInlineMax {
			headers[i].SetIndexOffset(0, int32(position))
			position += copy(data.Bytes()[position:], value)
		}
		begin = end
	}
	w.addViews(len(p.ends), views, data)
}

// allocateViews allocates the two buffers of a string column. Offsets into the
// data fit into 32 bits because of MaxBatchUnits.
func (w *batchWriter) allocateViews(rows, dataSize int) (views, data *memory.Buffer) {
	views = w.allocate(rows * viewSize)
	data = w.allocate(dataSize)
	return views, data
}

// addViews appends a string column; one without out-of-line bytes has no data
// buffer.
func (w *batchWriter) addViews(rows int, views, data *memory.Buffer) {
	buffers := []*memory.Buffer{nil, views, data}
	w.add(rows, slices.Clip(buffers[:2+min(1, data.Len())]), nil)
}

// drawExcerpts fills target with the comments that a stream of two draws per
// row makes.
func drawExcerpts(target []excerpt, s stream, l textLength) {
	for i := range target {
		first := multiplyMod(uint64(s), multiplier)
		second := multiplyMod(uint64(s), multiplier2)
		target[i] = l.excerpt(first, second)
		s = stream(second)
	}
}

// textLength bounds the comments of a column.
type textLength struct {
	low        uint32
	span       uint64
	offsetSpan uint64
}

// variableLength returns the lengths of a string whose average is given:
// 0.4 to 1.6 times it, truncated.
func variableLength(average float64) (low, high int64) {
	return int64(average * 0.4), int64(average * 1.6)
}

func newTextLength(average float64) textLength {
	low, high := variableLength(average)
	return textLength{low: uint32(low), span: uint64(high - low + 1), offsetSpan: uint64(textPoolSize - high + 1)}
}

func (l textLength) excerpt(offsetSeed, lengthSeed uint64) excerpt {
	return excerpt{
		offset: uint32(uniformWide(offsetSeed, l.offsetSpan)),
		length: l.low + uint32(uniform(lengthSeed, l.span)),
	}
}
