package hugetable_test

import (
	"bytes"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/zeebo/xxh3"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/csmsql/csmsql/catalog/chunk"
	"github.com/csmsql/csmsql/catalog/descriptor"
	"github.com/csmsql/csmsql/catalog/hugetable"
	"github.com/csmsql/csmsql/catalog/internal/message"
)

// fields writes what is to stand behind the fields of a message: of a number that stands there twice, the last counts.
func fields(write func(w *message.Writer)) []byte {
	var w message.Writer
	write(&w)
	return w.Buf
}

// number is a message of one number.
func number(field int, v int64) []byte {
	return fields(func(w *message.Writer) { w.Uint(field, uint64(v)) })
}

// amend puts more behind the fields of the message that the field is, where it occurs the nth time; nil removes it.
func amend(t *testing.T, data []byte, field, nth int, more []byte) (out []byte) {
	for len(data) > 0 {
		tag, kind, n := protowire.ConsumeField(data)
		require.NoError(t, protowire.ParseError(n))
		one := data[:n]
		data = data[n:]
		if int(tag) != field {
			out = append(out, one...)
			continue
		}
		if nth--; nth != -1 {
			out = append(out, one...)
			continue
		}
		require.Equal(t, protowire.BytesType, kind)
		if more != nil {
			_, _, head := protowire.ConsumeTag(one)
			inner, _ := protowire.ConsumeBytes(one[head:])
			out = protowire.AppendBytes(protowire.AppendTag(out, tag, kind), append(bytes.Clone(inner), more...))
		}
	}
	require.Negative(t, nth, "no such field")
	return out
}

// H1: a record of what cannot be is refused, and says what that is.
func TestRecordsThatAreRefused(t *testing.T) {
	v, _ := build(t, 600, 1, 0) // three pages, one column, no origins
	record, err := v.Encode()
	require.NoError(t, err)
	with := func(more []byte) []byte { return append(bytes.Clone(record), more...) }
	page := func(nth int, more []byte) []byte { return amend(t, record, 9, nth, more) }
	origin := func(first, chunks int64) []byte {
		return with(fields(func(w *message.Writer) {
			start := w.Begin(13)
			w.Uint(1, uint64(first))
			w.Uint(2, uint64(chunks))
			w.End(start)
		}))
	}
	summaries := record
	for range descriptor.MaxNodes {
		summaries = append(summaries[:len(summaries):cap(summaries)], 10<<3|2, 0)
	}
	origins := record
	for i := range hugetable.OriginsMax + 1 {
		origins = append(origins[:len(origins):cap(origins)], fields(func(w *message.Writer) {
			start := w.Begin(13)
			w.Uint(1, uint64(i))
			w.Uint(2, 1)
			w.End(start)
		})...)
	}
	long := amend(t, page(0, number(4, descriptor.MaxRows)), 9, 1, fields(func(w *message.Writer) {
		w.Int(3, descriptor.MaxRows)
		w.Int(4, descriptor.MaxRows)
	}))
	for says, data := range map[string][]byte{
		"of format 11":                     with(number(1, 11)),
		"has format 10 and shares":         with(number(1, 10)),
		"has format 9 and the query":       with(number(1, 9)),
		"without identity":                 with(number(2, 0)),
		"without identity, name":           with(fields(func(w *message.Writer) { w.Bytes(4, nil) })),
		"name or columns":                  amend(t, record, 5, 0, nil),
		"malformed":                        amend(t, record, 5, 0, []byte{0}),
		"0 summaries for 1":                amend(t, record, 10, 0, nil),
		"2 summaries for 1":                with([]byte{10<<3 | 2, 0}),
		"more than 65536 columns":          summaries,
		"field 3 has wire type 2":          amend(t, record, 10, 0, []byte{3<<3 | 2, 0}), // a summary's rows
		"field 1 has wire type 2":          amend(t, record, 10, 0, []byte{1<<3 | 2, 2, 1<<3 | 2, 0}),
		"a page of 257 chunks":             page(0, number(2, hugetable.PageChunks+1)),
		"without chunks or size":           page(0, number(2, 0)),
		"chunks or size":                   page(0, number(5, -1)),
		"field 5 has wire type 2":          page(2, []byte{5<<3 | 2, 0}),
		"page 0 has rows [0, +-1)":         page(0, number(4, -1)),
		"+1099511627777)":                  page(0, number(4, descriptor.MaxRows+1)),
		"page 2 has rows [2199023255552":   amend(t, long, 9, 2, number(3, 2*descriptor.MaxRows)),
		"rows -1 to -1 are there twice":    page(0, number(3, -1)),
		"an origin of 0 chunks":            origin(0, 0),
		"from 9223372036854775807 on":      origin(math.MaxInt64, 1),
		"an origin of 9223372036854775808": origin(0, math.MinInt64),
		"field 3 has wire type 0":          with([]byte{13<<3 | 2, 6, 1 << 3, 0, 2 << 3, 1, 3 << 3, 0}),
		"257 origins":                      origins,
	} {
		_, err := hugetable.Decode(data, nil)
		require.ErrorContains(t, err, says, says)
	}
	again, err := hugetable.Decode(amend(t, record, 10, 0, fields(func(w *message.Writer) { w.Bytes(2, []byte{1}) })), nil)
	require.NoError(t, err)
	encoded, err := again.Encode()
	require.NoError(t, err)
	require.Equal(t, record, encoded, "a sketch of another size is passed over")
}

// H1, H2: a page that is not what its name and the record say is refused, whether it is read or was read for another version.
func TestPagesThatAreRefused(t *testing.T) {
	v, store := build(t, 4, 1, 0)
	record, err := v.Encode()
	require.NoError(t, err)
	id := v.Pages()[0].ID
	page := store.data[id]
	with := func(more []byte) []byte { return append(bytes.Clone(page), more...) }
	for says, altered := range map[string][]byte{
		"has format 9":              with(number(1, 9)),
		"malformed":                 with([]byte{0}),
		"field 1 has wire type 2":   amend(t, page, 2, 3, []byte{1<<3 | 2, 0}),
		"field 3 has wire type 2":   amend(t, page, 3, 0, []byte{3<<3 | 2, 0}),
		"3 chunks, want 4":          amend(t, page, 2, 3, nil),
		"5 chunks, want 4":          with(fields(func(w *message.Writer) { w.Bytes(2, number(1, 4)) })),
		"rows 1 to 1 are missing":   amend(t, page, 2, 1, number(1, 2)),
		"chunk 2 has rows [2, +-1)": amend(t, page, 2, 2, number(2, -1)),
		"ends at row 5, want 4":     amend(t, page, 2, 3, number(2, 2)),
		"is listed with 0":          amend(t, amend(t, page, 2, 2, number(2, 0)), 2, 3, fields(func(w *message.Writer) { w.Uint(1, 2); w.Uint(2, 2) })),
	} {
		name := hugetable.PageID(xxh3.Hash128(altered).Bytes())
		store.data[name] = altered
		v, err := hugetable.Decode(amend(t, record, 9, 0, fields(func(w *message.Writer) { w.Bytes(1, name[:]) })), hugetable.NewSource(store, 0))
		require.NoError(t, err, says)
		_, err = v.Chunk(ctx, 2)
		require.ErrorContains(t, err, says)
		store.data[id] = altered
		v, err = hugetable.Decode(record, hugetable.NewSource(store, 0))
		require.NoError(t, err)
		_, err = v.Chunk(ctx, 2)
		require.ErrorIs(t, err, hugetable.ErrCorrupt)
		require.ErrorContains(t, err, "has the content of "+name.String())
	}
	store.data[id] = page
	source := hugetable.NewSource(store, 0)
	v, err = hugetable.Decode(record, source)
	require.NoError(t, err)
	_, err = v.Chunk(ctx, 2)
	require.NoError(t, err)
	for says, more := range map[string][]byte{"4 chunks, want 5": number(2, 5), "ends at row 4, want 5": number(4, 5)} {
		v, err := hugetable.Decode(amend(t, record, 9, 0, more), source)
		require.NoError(t, err)
		_, err = v.Chunk(ctx, 2)
		require.ErrorContains(t, err, says)
	}
}

// A page that sums up other columns than the table has is not written on: a chunk has no statistics of a column more.
func TestPagesThatAreNotWrittenOn(t *testing.T) {
	v, store := build(t, 4, 1, 0)
	record, err := v.Encode()
	require.NoError(t, err)
	c, err := v.Chunk(ctx, 0)
	require.NoError(t, err)
	page := store.data[v.Pages()[0].ID]
	for says, altered := range map[string][]byte{
		"2 summaries for 1 columns": append(bytes.Clone(page), 3<<3|2, 0),
		"0 summaries for 1 columns": amend(t, page, 3, 0, nil),
		"malformed":                 amend(t, page, 2, 1, fields(func(w *message.Writer) { w.Bytes(3, []byte{0}) })),
		"is missing":                nil,
	} {
		name := hugetable.PageID(xxh3.Hash128(altered).Bytes())
		if altered != nil {
			store.data[name] = altered
		}
		v, err := hugetable.Decode(amend(t, record, 9, 0, fields(func(w *message.Writer) { w.Bytes(1, name[:]) })), hugetable.NewSource(store, 0))
		require.NoError(t, err)
		v, err = v.Append([]*chunk.Chunk{c, c, c, c}) // as many as there are: the page is opened
		require.NoError(t, err)
		_, _, err = v.Seal(ctx, 2)
		require.ErrorContains(t, err, says)
	}
}

func TestPageIDsThatAreRefused(t *testing.T) {
	id, err := hugetable.ParsePageID("000102030405060708090a0b0c0d0e0f")
	require.NoError(t, err)
	require.Equal(t, "000102030405060708090a0b0c0d0e0f", id.String())
	for _, text := range []string{"", "00", "000102030405060708090a0b0c0d0e0fx", id.String() + "00"} {
		_, err := hugetable.ParsePageID(text)
		require.ErrorContains(t, err, "is no page identifier")
	}
}
