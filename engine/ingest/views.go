package ingest

import (
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/csmsql/csmsql/sql/sqlerror"
)

const (
	viewSize  = 16
	inlineMax = 12 // bytes that a view holds itself
	// viewBytesMax bounds one data buffer: views have 31-bit offsets.
	viewBytesMax = 1<<31 - 1
)

// encodeViews writes the columns as one view array: 16 bytes a row, and one data buffer for what does not fit in 12.
func encodeViews(mem memory.Allocator, parts []*cells, rows int, kind stringKind) (arrow.Array, error) {
	var long int64
	for _, c := range parts {
		if kind == text {
			if err := c.check(); err != nil {
				return nil, err
			}
		}
		long += c.long()
	}
	if long > viewBytesMax {
		return nil, sqlerror.New("54000", "the strings of one chunk take %d bytes, more than 2 GiB", long)
	}
	views := memory.NewResizableBuffer(mem)
	defer views.Release()
	views.Resize(viewSize * rows)
	data := memory.NewResizableBuffer(mem)
	defer data.Release()
	data.Resize(int(long))
	fillViews(parts, arrow.ViewHeaderTraits.CastFromBytes(views.Bytes()), data.Bytes())
	validity, nulls := joinValidity(mem, parts, rows)
	if validity != nil {
		defer validity.Release()
	}
	var t arrow.DataType = arrow.BinaryTypes.StringView
	if kind == bytes {
		t = arrow.BinaryTypes.BinaryView
	}
	d := array.NewData(t, rows, []*memory.Buffer{validity, views, data}, nil, nulls, 0)
	defer d.Release()
	return array.MakeFromData(d), nil
}

// fillViews writes every byte of views: of NULLs and behind short values zeros.
func fillViews(parts []*cells, views []arrow.ViewHeader, data []byte) {
	row, at := 0, 0
	for _, c := range parts {
		for i := range c.rows {
			h := &views[row]
			row++
			*h = arrow.ViewHeader{}
			if !c.valid(i) {
				continue
			}
			v := c.at(i)
			h.SetBytes(v)
			if len(v) > inlineMax {
				h.SetIndexOffset(0, int32(at))
				at += copy(data[at:], v)
			}
		}
	}
}
