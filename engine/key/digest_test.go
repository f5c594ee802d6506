package key_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/engine/key"
)

func one(t *testing.T, typ arrow.DataType, value string) arrow.Array {
	t.Helper()
	if d, ok := typ.(*arrow.DictionaryType); ok {
		words := one(t, d.ValueType, value)
		index := one(t, d.IndexType, "0")
		return array.NewDictionaryArray(d, index, words)
	}
	text := `["` + value + `"]`
	if value == "null" {
		text = "[null]"
	}
	a, _, err := array.FromJSON(memory.DefaultAllocator, typ, strings.NewReader(text))
	if err != nil { // JSON has no quotes around this type's values
		a, _, err = array.FromJSON(memory.DefaultAllocator, typ, strings.NewReader("["+value+"]"))
	}
	require.NoError(t, err, "%v %s", typ, value)
	return a
}

// KY1: one value has one digest, in whichever layout it lies, and another value another one.
func TestDigestsAreOfValues(t *testing.T) {
	words := &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Uint8, ValueType: arrow.BinaryTypes.String}
	p := arrow.PrimitiveTypes
	for _, same := range [][]arrow.Array{
		{one(t, p.Int8, "-7"), one(t, p.Int16, "-7"), one(t, p.Int32, "-7"), one(t, p.Int64, "-7")},
		{one(t, p.Uint8, "7"), one(t, p.Uint64, "7"), one(t, p.Int8, "7")},
		{one(t, p.Float32, "0"), one(t, p.Float64, "-0"), one(t, p.Float64, "0")},
		{one(t, p.Float32, "0.5"), one(t, p.Float64, "0.5")},
		{
			one(t, &arrow.Decimal32Type{Precision: 4, Scale: 1}, "-1.5"), one(t, &arrow.Decimal64Type{Precision: 4, Scale: 1}, "-1.5"),
			one(t, &arrow.Decimal128Type{Precision: 4, Scale: 1}, "-1.5"),
		},
		{
			one(t, arrow.BinaryTypes.String, "word"), one(t, arrow.BinaryTypes.LargeString, "word"),
			one(t, arrow.BinaryTypes.StringView, "word"), one(t, words, "word"),
		},
	} {
		want, there, err := key.Digest(false, same[0])
		require.NoError(t, err)
		require.True(t, there)
		for _, a := range same[1:] {
			got, _, err := key.Digest(false, a)
			require.NoError(t, err)
			require.Equal(t, want, got, "%v %v", a.DataType(), a)
		}
	}
	text := arrow.BinaryTypes.String
	seen := map[[2]uint64]string{}
	for _, columns := range [][]arrow.Array{
		{one(t, text, "ab"), one(t, text, "c")}, {one(t, text, "a"), one(t, text, "bc")}, {one(t, text, "abc"), one(t, text, "")},
		{one(t, text, ""), one(t, text, "null")}, {one(t, text, "null"), one(t, text, "")}, {one(t, text, "null"), one(t, text, "null")},
		{one(t, p.Int64, "0"), one(t, p.Int64, "1")}, {one(t, p.Int64, "1"), one(t, p.Int64, "0")}, {one(t, p.Int64, "256"), one(t, p.Int64, "0")},
	} {
		got, there, err := key.Digest(true, columns...)
		require.NoError(t, err)
		require.True(t, there)
		require.NotContains(t, seen, got, "%v is taken for %s", columns, seen[got])
		seen[got] = fmt.Sprint(columns)
	}
	_, there, err := key.Digest(false, one(t, text, "x"), one(t, text, "null"))
	require.NoError(t, err)
	require.False(t, there, "a NULL makes no key")
	_, _, err = key.Digest(false, array.NewNull(1))
	require.Error(t, err)
}
