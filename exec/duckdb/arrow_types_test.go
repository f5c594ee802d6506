package duckdb_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/stretchr/testify/require"
)

// arrowCase is an Arrow type that DuckDB never writes but may be given: five values as JSON, the last NULL, and as DuckDB's text.
type arrowCase struct {
	typ  arrow.DataType
	json string
	text []string
}

const long, longer = "a string of more than 12 bytes", "another string of more than 12 bytes"

var arrowCases = []arrowCase{
	{arrow.BinaryTypes.LargeString, `["", "short", "` + long + `", "` + longer + `", null]`, []string{"", "short", long, longer}},
	{arrow.BinaryTypes.StringView, `["", "short", "` + long + `", "` + longer + `", null]`, []string{"", "short", long, longer}},
	{arrow.BinaryTypes.String, `["", "twelve bytes", "thirteen byte", "` + longer + `", null]`, []string{"", "twelve bytes", "thirteen byte", longer}},
	{arrow.BinaryTypes.Binary, `["", "AP8=", "AAECAwQFBgcICQoLDA0=", "YQ==", null]`, []string{"", `\x00\xFF`, `\x00\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0A\x0B\x0C\x0D`, "a"}},
	{arrow.BinaryTypes.LargeBinary, `["", "AP8=", "YQ==", "YQ==", null]`, []string{"", `\x00\xFF`, "a", "a"}},
	{arrow.BinaryTypes.BinaryView, `["", "AP8=", "YQ==", "YQ==", null]`, []string{"", `\x00\xFF`, "a", "a"}},
	{&arrow.FixedSizeBinaryType{ByteWidth: 2}, `["AP8=", "YWE=", "YWI=", "YWM=", null]`, []string{`\x00\xFF`, "aa", "ab", "ac"}},
	{arrow.FixedWidthTypes.Date64, `["2020-01-01", "1969-12-31", "1970-01-01", "2000-02-29", null]`, []string{"2020-01-01", "1969-12-31", "1970-01-01", "2000-02-29"}},
	{arrow.FixedWidthTypes.Time32s, `["00:00:00", "23:59:59", "01:02:03", "12:00:00", null]`, []string{"00:00:00", "23:59:59", "01:02:03", "12:00:00"}},
	{arrow.FixedWidthTypes.Time32ms, `["00:00:00", "23:59:59.999", "01:02:03", "12:00:00", null]`, []string{"00:00:00", "23:59:59.999", "01:02:03", "12:00:00"}},
	{arrow.FixedWidthTypes.Time64us, `["00:00:00", "23:59:59.999999", "01:02:03", "12:00:00", null]`, []string{"00:00:00", "23:59:59.999999", "01:02:03", "12:00:00"}},
	{&arrow.TimestampType{Unit: arrow.Second, TimeZone: "UTC"}, `["2020-01-01 00:00:00Z", "1969-12-31 23:59:59Z", "1970-01-01 00:00:00Z", "2000-02-29 12:00:00Z", null]`, []string{"2020-01-01 00:00:00+00", "1969-12-31 23:59:59+00", "1970-01-01 00:00:00+00", "2000-02-29 12:00:00+00"}},
	{&arrow.TimestampType{Unit: arrow.Millisecond, TimeZone: "UTC"}, `["2020-01-01 00:00:00Z", "1969-12-31 23:59:59Z", "1970-01-01 00:00:00Z", "2000-02-29 12:00:00Z", null]`, []string{"2020-01-01 00:00:00+00", "1969-12-31 23:59:59+00", "1970-01-01 00:00:00+00", "2000-02-29 12:00:00+00"}},
	{&arrow.TimestampType{Unit: arrow.Nanosecond, TimeZone: "UTC"}, `["2020-01-01 00:00:00Z", "1969-12-31 23:59:59Z", "1970-01-01 00:00:00Z", "2000-02-29 12:00:00Z", null]`, []string{"2020-01-01 00:00:00+00", "1969-12-31 23:59:59+00", "1970-01-01 00:00:00+00", "2000-02-29 12:00:00+00"}},
	{&arrow.Decimal32Type{Precision: 9, Scale: 2}, `["1.25", "-1.25", "0.01", "9999999.99", null]`, []string{"1.25", "-1.25", "0.01", "9999999.99"}},
	{&arrow.Decimal64Type{Precision: 4, Scale: 2}, `["1.25", "-1.25", "0.01", "99.99", null]`, []string{"1.25", "-1.25", "0.01", "99.99"}},
	{&arrow.Decimal128Type{Precision: 15, Scale: 2}, `["1.25", "-1.25", "0.01", "99.99", null]`, []string{"1.25", "-1.25", "0.01", "99.99"}},
	{arrow.FixedWidthTypes.MonthInterval, `[{"months":1}, {"months":-1}, {"months":12}, {"months":0}, null]`, []string{"1 month", "-1 month", "1 year", "00:00:00"}},
	{arrow.FixedWidthTypes.MonthDayNanoInterval, `[{"months":1,"days":2,"nanoseconds":3000}, {"months":-1,"days":0,"nanoseconds":0}, {"months":12,"days":0,"nanoseconds":0}, {"months":0,"days":0,"nanoseconds":0}, null]`, []string{"1 month 2 days 00:00:00.000003", "-1 month", "1 year", "00:00:00"}},
	{arrow.FixedWidthTypes.Duration_s, `["1s", "60s", "3600s", "0s", null]`, []string{"00:00:01", "00:01:00", "01:00:00", "00:00:00"}},
	{arrow.LargeListOf(arrow.BinaryTypes.String), `[[], ["x"], ["` + long + `", null], ["y", "z"], null]`, []string{"[]", "[x]", "[" + long + ", NULL]", "[y, z]"}},
	{arrow.ListViewOf(arrow.PrimitiveTypes.Int64), `[[], [1], [2, null], [3, 4], null]`, []string{"[]", "[1]", "[2, NULL]", "[3, 4]"}},
	{arrow.ListOf(arrow.BinaryTypes.StringView), `[[], ["x"], ["` + long + `", null], ["y", "z"], null]`, []string{"[]", "[x]", "[" + long + ", NULL]", "[y, z]"}},
	{arrow.StructOf(arrow.Field{Name: "p", Type: arrow.FixedWidthTypes.Boolean, Nullable: true}, arrow.Field{Name: "q", Type: arrow.BinaryTypes.StringView, Nullable: true}),
		`[{"p":true,"q":"x"}, {"p":false,"q":"` + long + `"}, {"p":null,"q":null}, {"p":true,"q":""}, null]`,
		[]string{"{'p': true, 'q': x}", "{'p': false, 'q': " + long + "}", "{'p': NULL, 'q': NULL}", "{'p': true, 'q': ''}"}},
	{arrow.StructOf(arrow.Field{Name: "p", Type: arrow.StructOf(arrow.Field{Name: "q", Type: arrow.PrimitiveTypes.Int16, Nullable: true}), Nullable: true}),
		`[{"p":{"q":1}}, {"p":{"q":2}}, {"p":{"q":null}}, {"p":null}, null]`, []string{"{'p': {'q': 1}}", "{'p': {'q': 2}}", "{'p': {'q': NULL}}", "{'p': NULL}"}},
	{arrow.StructOf(arrow.Field{Name: "p", Type: arrow.StructOf(arrow.Field{Name: "q", Type: arrow.StructOf(arrow.Field{Name: "r", Type: arrow.ListOf(arrow.PrimitiveTypes.Int16), Nullable: true}), Nullable: true}), Nullable: true}),
		`[{"p":{"q":{"r":[1]}}}, {"p":{"q":{"r":[2,3]}}}, {"p":{"q":null}}, {"p":{"q":{"r":null}}}, null]`,
		[]string{"{'p': {'q': {'r': [1]}}}", "{'p': {'q': {'r': [2, 3]}}}", "{'p': {'q': NULL}}", "{'p': {'q': {'r': NULL}}}"}},
	{&arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int32, ValueType: arrow.PrimitiveTypes.Int64}, `[1, 2, 1, 3, null]`, []string{"1", "2", "1", "3"}},
	{&arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int16, ValueType: arrow.BinaryTypes.String}, `["x", "` + long + `", "x", "", null]`, []string{"x", long, "x", ""}},
	{arrow.FixedWidthTypes.Boolean, `[true, false, true, true, null]`, []string{"true", "false", "true", "true"}},
	{arrow.Null, `[null, null, null, null, null]`, []string{"(null)", "(null)", "(null)", "(null)"}},
}

// What DuckDB never writes comes out right too, from slices with every small offset.
func TestForeignArrowTypes(t *testing.T) {
	_, c := open(t)
	for _, k := range arrowCases {
		t.Run(k.typ.String(), func(t *testing.T) {
			values, _, err := array.FromJSON(offHeap, k.typ, strings.NewReader(k.json))
			require.NoError(t, err)
			defer values.Release()
			schema := arrow.NewSchema([]arrow.Field{{Name: "v", Type: k.typ, Nullable: true}}, nil)
			want := append(append([]string{}, k.text...), "(null)")
			for from := range 5 {
				slice := array.NewSlice(values, int64(from), 5)
				batch := array.NewRecordBatch(schema, []arrow.Array{slice}, int64(5-from))
				number := c.Register(scanOf(schema, batch))
				require.Equal(t, want[from:], ask(t, c, fmt.Sprintf("SELECT v::VARCHAR FROM csm_scan(%d)", number)), "from row %d", from)
				c.Forget(number)
				batch.Release()
				slice.Release()
			}
		})
	}
}

// Types that DuckDB cannot hold are refused when the statement is planned, by name.
func TestUnknownArrowTypesAreRefused(t *testing.T) {
	_, c := open(t)
	for _, typ := range []arrow.DataType{&arrow.Decimal256Type{Precision: 50, Scale: 2}, arrow.FixedWidthTypes.Float16} {
		values := array.MakeArrayOfNull(offHeap, typ, 1)
		schema := arrow.NewSchema([]arrow.Field{{Name: "v", Type: typ, Nullable: true}}, nil)
		batch := array.NewRecordBatch(schema, []arrow.Array{values}, 1)
		number := c.Register(scanOf(schema, batch))
		_, err := tryAsk(c, fmt.Sprintf("SELECT v FROM csm_scan(%d)", number))
		require.Error(t, err, typ)
		c.Forget(number)
		batch.Release()
		values.Release()
	}
}
