package duckdb_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/exec/duckdb"
)

// words lie around the lengths at which a view's layout changes: 4 bytes of head, 12 bytes inside of the view. Some differ
// only behind the head or in the last byte; some have a zero byte, or characters of several bytes.
func words() (out []string) {
	const alphabet = "abcdefghijklmnopqrstuvwxyz"
	for _, length := range []int{0, 1, 3, 4, 5, 11, 12, 13, 14, 26} {
		out = append(out, alphabet[:length])
		if length > 0 {
			out = append(out, alphabet[:length-1]+"X", alphabet[:length-1]+"\x00")
		}
	}
	return append(out, "é", "éa", "e\u0301a", "日本", "日本語日本語", "\x00")
}

// numbered is a table of all words twice, with a NULL before each, in a column s of the given storage; column n numbers the rows.
func numbered(t *testing.T, storage arrow.DataType) (*arrow.Schema, arrow.RecordBatch, []string) {
	fields := []arrow.Field{{Name: "n", Type: arrow.PrimitiveTypes.Int64}, {Name: "s", Type: storage, Nullable: true}}
	b := array.NewRecordBuilder(offHeap, arrow.NewSchema(fields, nil))
	defer b.Release()
	all := append(words(), words()...)
	for i, w := range all {
		b.Field(0).(*array.Int64Builder).AppendValues([]int64{-1, int64(i)}, nil)
		b.Field(1).AppendNull()
		switch s := b.Field(1).(type) {
		case *array.BinaryDictionaryBuilder:
			require.NoError(t, s.AppendString(w))
		case *array.StringViewBuilder:
			s.Append(w)
		}
	}
	batch := b.NewRecordBatch()
	t.Cleanup(batch.Release)
	fields[1].Type = arrow.BinaryTypes.String
	return arrow.NewSchema(fields, nil), batch, all
}

// Every word, as itself and as a beginning, finds exactly the rows that it fits, in both ways in which strings are stored.
func TestWordsFindExactlyTheirRows(t *testing.T) {
	for _, storage := range []arrow.DataType{arrow.BinaryTypes.StringView, dictionaryType} {
		schema, batch, all := numbered(t, storage)
		for _, word := range words() {
			for _, list := range [][]duckdb.Word{{{Text: word}}, {{Text: word, Prefix: true}}, {{Text: "nothing has this"}, {Text: word}, {Text: "éa", Prefix: true}}} {
				s := scanOf(schema, batch)
				s.Filters = []duckdb.Filter{{Column: 1, Words: list}}
				keys, err := duckdb.BuildKeySet(t.Context(), s, 0, 1000)
				require.NoError(t, err)
				count := 0
				for i, value := range all {
					fits := false
					for _, w := range list {
						fits = fits || value == w.Text || w.Prefix && strings.HasPrefix(value, w.Text)
					}
					require.Equal(t, fits, keys.Contains(int64(i)), "%s: %q in %q", storage, value, list)
					if fits {
						count++
					}
				}
				require.Equal(t, count, keys.Len(), "a row of a NULL: %s: %q", storage, list)
			}
		}
	}
}

// A pattern finds exactly the rows that a regular expression does, in both ways in which strings are stored.
func TestPatternsFindExactlyTheirRows(t *testing.T) {
	pieces := []string{"", "a", "b", "cd", "k", "klm", "X", "\x00", "é", "日本", "mnopqrstuvwxyz", "語"}
	for _, storage := range []arrow.DataType{arrow.BinaryTypes.StringView, dictionaryType} {
		schema, batch, all := numbered(t, storage)
		for _, first := range pieces {
			for _, second := range pieces {
				for _, pattern := range []string{"%" + first + "%" + second, "%" + first + "%%" + second + "%", "%" + first + second} {
					s := scanOf(schema, batch)
					s.Filters = []duckdb.Filter{{Column: 1, Words: []duckdb.Word{{Text: "nothing has this"}, {Text: pattern, Like: true}}}}
					keys, err := duckdb.BuildKeySet(t.Context(), s, 0, 1000)
					require.NoError(t, err)
					same := regexp.MustCompile("(?s)^" + strings.ReplaceAll(regexp.QuoteMeta(pattern), "%", ".*") + "$")
					for i, value := range all {
						require.Equal(t, same.MatchString(value), keys.Contains(int64(i)), "%s: %q like %q", storage, value, pattern)
					}
				}
			}
		}
	}
}

// D3: a view that points outside of its buffers is not followed; the string's reader finds the damage.
func TestWordsDoNotFollowDamagedViews(t *testing.T) {
	for _, place := range []int{8, 12} { // the buffer's number, the offset in it
		schema, batch, _ := numbered(t, arrow.BinaryTypes.StringView)
		views := batch.Column(1).Data().Buffers()[1].Bytes()
		for row := range int(batch.NumRows()) {
			if !batch.Column(1).IsNull(row) && len(batch.Column(1).(*array.StringView).Value(row)) == 26 {
				copy(views[row*16+place:], []byte{0xff, 0xff, 0xff, 0x7f})
			}
		}
		_, c := open(t)
		for _, word := range []duckdb.Word{{Text: "abcdefgh", Prefix: true}, {Text: "%nothing has this%", Like: true}} {
			s := scanOf(schema, batch)
			s.Filters = []duckdb.Filter{{Column: 1, Words: []duckdb.Word{word}}}
			number := c.Register(s)
			_, err := tryAsk(c, fmt.Sprintf("SELECT s FROM csm_scan(%d)", number))
			require.ErrorContains(t, err, "the chunk is damaged")
			c.Forget(number)
		}
	}
}

func TestTwoColumnsAreCompared(t *testing.T) {
	for _, typ := range []arrow.DataType{arrow.PrimitiveTypes.Int64, arrow.PrimitiveTypes.Int32} {
		fields := []arrow.Field{{Name: "n", Type: arrow.PrimitiveTypes.Int64}, {Name: "a", Type: typ, Nullable: true}, {Name: "b", Type: typ, Nullable: true}}
		schema := arrow.NewSchema(fields, nil)
		b := array.NewRecordBuilder(offHeap, schema)
		values := []any{nil, int64(-5), int64(-4), int64(0), int64(1 << 30)}
		var rows [][2]any
		for _, left := range values {
			for _, right := range values {
				b.Field(0).(*array.Int64Builder).Append(int64(len(rows)))
				rows = append(rows, [2]any{left, right})
				for i, v := range []any{left, right} {
					switch column := b.Field(i + 1).(type) {
					case *array.Int64Builder:
						if n, ok := v.(int64); ok {
							column.Append(n)
							continue
						}
						column.AppendNull()
					case *array.Int32Builder:
						if n, ok := v.(int64); ok {
							column.Append(int32(n))
							continue
						}
						column.AppendNull()
					}
				}
			}
		}
		batch := b.NewRecordBatch()
		b.Release()
		t.Cleanup(batch.Release)
		for _, comparison := range comparisons {
			s := scanOf(schema, batch)
			s.Filters = []duckdb.Filter{{Column: 1, Compare: comparison, Other: 2}}
			keys, err := duckdb.BuildKeySet(t.Context(), s, 0, 1000)
			require.NoError(t, err)
			for i, row := range rows {
				holds := row[0] != nil && row[1] != nil && related(comparison, row[0].(int64), row[1].(int64))
				require.Equal(t, holds, keys.Contains(int64(i)), "%v %d %v", row[0], comparison, row[1])
			}
		}
	}
	schema, batch := numbers(t, 10)
	s := scanOf(schema, batch)
	s.Filters = []duckdb.Filter{{Column: 0, Compare: duckdb.Less, Other: 99}}
	_, err := duckdb.BuildKeySet(t.Context(), s, 0, 1000)
	require.ErrorContains(t, err, "column 99")
}
