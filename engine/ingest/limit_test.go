package ingest_test

import (
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/engine/ingest"
)

// fitted is what becomes of values within a limit, as text and as codes of a dictionary that has other words, too. nil is NULL.
func fitted(t *testing.T, l ingest.Limit, unused string, values ...any) (got [2][]string, failed [2]error) {
	plain := array.NewStringBuilder(memory.DefaultAllocator)
	coded := array.NewDictionaryBuilder(memory.DefaultAllocator, &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: arrow.BinaryTypes.String}).(*array.BinaryDictionaryBuilder)
	require.NoError(t, coded.AppendString(unused))
	for _, v := range values {
		if text, ok := v.(string); ok {
			plain.Append(text)
			require.NoError(t, coded.AppendString(text))
		} else {
			plain.AppendNull()
			coded.AppendNull()
		}
	}
	all := coded.NewArray()
	for i, a := range []arrow.Array{plain.NewArray(), array.NewSlice(all, 1, int64(all.Len()))} {
		batch := array.NewRecordBatch(arrow.NewSchema([]arrow.Field{{Name: "c", Type: a.DataType(), Nullable: true}}, nil), []arrow.Array{a}, int64(a.Len()))
		fit, err := ingest.Fit(t.Context(), batch, []ingest.Limit{l})
		if failed[i] = err; err != nil {
			continue
		}
		for k := range a.Len() {
			if fit.Column(0).IsNull(k) {
				got[i] = append(got[i], "NULL")
			} else {
				got[i] = append(got[i], fit.Column(0).ValueStr(k))
			}
		}
	}
	return got, failed
}

// Values are held to a limit in every layout: by characters, blanks beyond it cut, unused words of a dictionary left
// alone.
func TestLimits(t *testing.T) {
	three, char := ingest.Limit{Characters: 3, Type: "x"}, ingest.Limit{Characters: 3, Blanks: true, Type: "x"}
	for _, c := range []struct {
		limit   ingest.Limit
		unused  string
		values  []any
		want    []string
		refused bool
	}{
		{limit: three, unused: "a", values: []any{"abc", "äöü", nil, ""}, want: []string{"abc", "äöü", "NULL", ""}},
		{limit: three, unused: "far too long", values: []any{"ab", nil}, want: []string{"ab", "NULL"}},
		{limit: three, unused: "a", values: []any{"ab   ", "a ", nil}, want: []string{"ab ", "a ", "NULL"}},
		{limit: three, unused: "too long", values: []any{nil, "abc    "}, want: []string{"NULL", "abc"}},
		{limit: three, unused: "a", values: []any{"abc", "abcd"}, refused: true},
		{limit: three, unused: "a", values: []any{"äöüß"}, refused: true},
		{limit: three, unused: "a", values: []any{"ab  c"}, refused: true},
		{limit: char, unused: "a ", values: []any{"ab   ", "a ", " a", "   ", nil, "äöü "}, want: []string{"ab", "a", " a", "", "NULL", "äöü"}},
		{limit: char, unused: "a", values: []any{"abcd "}, refused: true},
	} {
		got, failed := fitted(t, c.limit, c.unused, c.values...)
		for i := range got {
			if c.refused {
				require.ErrorContains(t, failed[i], "value too long for type x", "%q", c.values)
				continue
			}
			require.NoError(t, failed[i], "%q", c.values)
			require.Equal(t, c.want, got[i], "%q", c.values)
		}
	}
}
