package compute

import (
	"fmt"
	"math"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/bitutil"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// Memory is an allocator that may refuse. Allocate cannot fail, and arrow-go calls it in goroutines of its own (X5), so
// that what it was refused is looked for after each step, none of which makes more than some bytes for each row of a
// morsel. What can be larger is asked for before it is made (X9).
type Memory interface {
	memory.Allocator
	// Try allocates, or says why not.
	Try(bytes int) ([]byte, error)
	// Fits says why so many bytes could not be allocated now.
	Fits(bytes int64) error
	// Refused says why something could not, nil if nothing was refused.
	Refused() error
}

// limitless is an allocator that never refuses.
type limitless struct{ memory.Allocator }

func (m limitless) Try(bytes int) ([]byte, error) { return m.Allocate(bytes), nil }
func (limitless) Fits(int64) error                { return nil }
func (limitless) Refused() error                  { return nil }

// limited is an allocator as one that may refuse.
func limited(mem memory.Allocator) Memory {
	switch mem := mem.(type) {
	case nil:
		return limitless{memory.DefaultAllocator}
	case Memory:
		return mem
	default:
		return limitless{mem}
	}
}

// inlineText is the longest text that lies in a view itself.
const inlineText = arrow.ViewHeaderSizeBytes - 4

// textColumn makes a text for each row whose bit in valid is set, and so many NULLs; without valid, for all. Bytes are
// counted before they are copied: a morsel of long texts is larger than all else that a query has.
func (e *evaluator) textColumn(t arrow.DataType, valid *memory.Buffer, nulls int,
	at func(row int) string) (arrow.Array, error) {
	null := func(row int) bool { return valid != nil && !bitutil.BitIsSet(valid.Bytes(), row) }
	total, views := int64(0), t.ID() == arrow.STRING_VIEW
	for row := range e.rows {
		if null(row) {
			continue
		}
		if n := len(at(row)); !views || n > inlineText {
			total += int64(n)
		}
	}
	if total > math.MaxInt32 && t.ID() != arrow.LARGE_STRING {
		return nil, &Error{ErrTooLarge, "54000", fmt.Sprintf("%d rows have %d bytes of text, where a batch holds %d",
			e.rows, total, math.MaxInt32)}
	}
	bytes, err := e.mem.Try(int(total))
	if err != nil {
		return nil, err
	}
	texts := memory.NewBufferWithAllocator(bytes, e.mem)
	defer texts.Release()
	places, place := e.places(t)
	defer places.Release()
	end := 0
	for row := range e.rows {
		s := ""
		if !null(row) {
			s = at(row)
		}
		if !place(row, s, end) {
			continue
		}
		if copy(bytes[end:], s) != len(s) {
			panic(fmt.Sprintf("texts grew while they were copied: %d bytes", len(bytes))) // X5: they lie in lent memory
		}
		end += len(s)
	}
	data := array.NewData(t, e.rows, []*memory.Buffer{valid, places, texts}, nil, nulls, 0)
	defer data.Release()
	return e.keep(array.MakeFromData(data)), nil
}

// places makes the buffer that says where the texts of a column lie. What it returns with it notes the next text, and
// reports whether its bytes go behind the others', at end.
func (e *evaluator) places(t arrow.DataType) (*memory.Buffer, func(row int, s string, end int) bool) {
	out := memory.NewResizableBuffer(e.mem)
	switch t.ID() {
	case arrow.STRING_VIEW:
		out.Resize(e.rows * arrow.ViewHeaderSizeBytes)
		views := arrow.ViewHeaderTraits.CastFromBytes(out.Bytes())
		return out, func(row int, s string, end int) bool {
			views[row] = arrow.ViewHeader{}
			if views[row].SetString(s); views[row].IsInline() {
				return false
			}
			views[row].SetIndexOffset(0, int32(end))
			return true
		}
	case arrow.LARGE_STRING:
		out.Resize((e.rows + 1) * arrow.Int64SizeBytes)
		return out, endsOf[int64](out)
	}
	out.Resize((e.rows + 1) * arrow.Int32SizeBytes)
	return out, endsOf[int32](out)
}

func endsOf[T int32 | int64](out *memory.Buffer) func(row int, s string, end int) bool {
	ends := arrow.GetData[T](out.Bytes())
	ends[0] = 0
	return func(row int, s string, end int) bool {
		ends[row+1] = T(end + len(s))
		return true
	}
}

// Bytes is about what a copy of an array takes under a type of the same values: of a slice, only its rows.
func Bytes(a arrow.Array, under arrow.DataType) int64 {
	if from, ok := loadTexts(a); ok && (isText(under) || a.DataType().ID() != arrow.DICTIONARY) {
		bytes := int64(a.Len() * arrow.ViewHeaderSizeBytes)
		for i := range a.Len() {
			if !a.IsNull(i) {
				bytes += int64(len(from.at(i)))
			}
		}
		return bytes
	}
	rows := int64(a.Len())
	switch a := a.(type) {
	case array.ListLike:
		from, to := int64(math.MaxInt64), int64(0)
		for i := range a.Len() {
			if start, end := a.ValueOffsets(i); end > start {
				from, to = min(from, start), max(to, end)
			}
		}
		bytes := rows * offsetBytes
		if from < to {
			part := array.NewSlice(a.ListValues(), from, to)
			defer part.Release()
			bytes += Bytes(part, part.DataType())
		}
		return bytes
	case *array.Struct:
		bytes := rows
		for i := range a.NumField() {
			bytes += Bytes(a.Field(i), a.Field(i).DataType())
		}
		return bytes
	case interface { // binary
		arrow.Array
		ValueLen(i int) int
	}:
		bytes := rows * valueBytes
		for i := range a.Len() {
			if a.IsValid(i) {
				bytes += int64(a.ValueLen(i))
			}
		}
		return bytes
	}
	if _, ok := a.DataType().(arrow.FixedWidthDataType); ok && len(a.Data().Children()) == 0 {
		return rows * valueBytes
	}
	return int64(a.Data().SizeInBytes())
}

const (
	valueBytes  = int64(arrow.Decimal128SizeBytes) // of the widest values, and views
	offsetBytes = int64(arrow.Int64SizeBytes)
)
