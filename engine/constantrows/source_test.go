package constantrows_test

import (
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/engine/columntype"
	"github.com/csmsql/csmsql/engine/constantrows"
	"github.com/csmsql/csmsql/exec/duckdb"
	"github.com/csmsql/csmsql/sql/statement"
)

// table has a column of each kind.
var table = arrow.NewSchema([]arrow.Field{
	{Name: "i", Type: arrow.PrimitiveTypes.Int32, Nullable: true},
	{Name: "n", Type: arrow.PrimitiveTypes.Int64},
	{Name: "d", Type: &arrow.Decimal64Type{Precision: 5, Scale: 2}, Nullable: true},
	{Name: "f", Type: arrow.PrimitiveTypes.Float64, Nullable: true},
	columntype.Declared{Name: "varchar", Length: 4}.Mark(arrow.Field{Name: "v", Type: arrow.BinaryTypes.String, Nullable: true}),
	columntype.Declared{Name: "char", Length: 4}.Mark(arrow.Field{Name: "c", Type: arrow.BinaryTypes.String, Nullable: true}),
	{Name: "day", Type: arrow.FixedWidthTypes.Date32, Nullable: true},
	{Name: "at", Type: &arrow.TimestampType{Unit: arrow.Microsecond}, Nullable: true},
}, nil)

// insert is one of a value into a column, and one into the column that must not be NULL.
func insert(column, value string) *statement.Insert {
	return &statement.Insert{
		Name: statement.Name{Name: "t"}, Columns: []string{column, "n"}, Query: "VALUES (" + value + ", 1)",
	}
}

// What is certain is made here, and as what; the rest is not. That both ways agree says a test of package engine.
func TestWhatIsCertain(t *testing.T) {
	for _, c := range []struct{ column, value, is string }{
		{"i", "7", "7"}, {"i", "-2147483648", "-2147483648"}, {"i", "2147483648", ""}, {"i", "'7'", ""}, {"i", "1.0", ""}, {"i", "1 + 1", ""},
		{"d", "999.99", "999.99"}, {"d", "-0.1", "-0.1"}, {"d", "1000", ""}, {"d", "0.001", ""}, {"d", "1e2", ""},
		{"f", "0.1", "0.1"}, {"f", "-0.0", "0"}, {"f", "1e300", "1e+300"}, {"f", "1234567890123456", ""}, {"f", "1e400", ""},
		{"v", "'abcd'", "abcd"}, {"v", "'abcde'", ""}, {"v", "5", ""}, {"c", "'ab'", "ab"}, {"c", "'ab '", ""},
		{"day", "'2024-02-29'", "2024-02-29"}, {"day", "'2023-02-29'", ""}, {"day", "'1969-12-31'", "1969-12-31"},
		{"day", "'2024-2-29'", ""}, {"day", "current_date", ""},
		{"at", "'1969-12-31 23:59:59.5'", "1969-12-31T23:59:59.5"}, {"at", "'2024-05-17'", ""}, {"at", "'2024-05-17 24:00:00'", ""},
		{"i", "NULL", "(null)"}, {"i", "DEFAULT", "(null)"},
	} {
		source := constantrows.Of(insert(c.column, c.value), table)
		var rows *constantrows.Rows
		ok := source != nil
		if ok {
			rows, ok = source.Rows(nil, nil)
		}
		require.Equal(t, c.is != "", ok, "%s in column %s", c.value, c.column)
		if !ok {
			continue
		}
		batch := constantrows.Batch(rows)
		got := batch.Column(table.FieldIndices(c.column)[0]).ValueStr(0)
		require.Equal(t, c.is, strings.TrimSuffix(got, "Z"), "%s in column %s", c.value, c.column)
		batch.Release()
	}
}

// CR3, and what parameters may be.
func TestParametersMustFit(t *testing.T) {
	head := &statement.Insert{Name: statement.Name{Name: "t"}, Columns: []string{"n", "v", "d"}, Query: "VALUES ($2, $1, $3), (5, 'x', 1)"}
	source := constantrows.Of(head, table)
	require.NotNil(t, source)
	require.Equal(t, []duckdb.ParameterType{duckdb.TypeText, duckdb.TypeInt64, duckdb.TypeNumeric}, source.Parameters())
	for _, c := range []struct {
		args []any
		ok   bool
	}{
		{[]any{"abcd", int64(1), duckdb.Decimal("1.25")}, true}, {[]any{nil, int16(1), nil}, true}, {[]any{"a", nil, nil}, false},
		{[]any{"abcde", 1, nil}, false}, {[]any{"a", "1", nil}, false}, {[]any{"a", 1, 1.5}, false},
		{[]any{"a", 1, duckdb.Decimal("1.255")}, false}, {[]any{"a", 1}, false}, {[]any{"a\x00", 1, nil}, false},
	} {
		rows, ok := source.Rows(c.args, nil)
		require.Equal(t, c.ok, ok, "%v", c.args)
		if ok {
			require.Equal(t, int64(2), rows.Len())
		}
	}
	for _, list := range []string{"VALUES ($1, $1, 1)", "VALUES ($2, 'a', 1)", "VALUES (1, 'a'), (1, 'a', 1)", "VALUES (1, 'a', 1) LIMIT 1", "SELECT 1, 'a', 1"} {
		head.Query = list
		require.Nil(t, constantrows.Of(head, table), list)
	}
	head.Query = "VALUES (1, 'a', 1)" + strings.Repeat(", (1, 'a', 1)", 100)
	require.NotNil(t, constantrows.Of(head, table))
	head.Query = "VALUES (1, 'a', 1)" + strings.Repeat(", (1, 'a', 1)", 2000)
	require.Nil(t, constantrows.Of(head, table), "that is a load")
}
