package constantrows

import (
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/sql/statement"
)

// everyKind has a column of each kind that rows are made of here.
var everyKind = arrow.NewSchema([]arrow.Field{
	{Name: "b", Type: arrow.FixedWidthTypes.Boolean, Nullable: true}, {Name: "i1", Type: arrow.PrimitiveTypes.Int8, Nullable: true},
	{Name: "i8", Type: arrow.PrimitiveTypes.Int64, Nullable: true}, {Name: "u4", Type: arrow.PrimitiveTypes.Uint32, Nullable: true},
	{Name: "f4", Type: arrow.PrimitiveTypes.Float32, Nullable: true}, {Name: "f8", Type: arrow.PrimitiveTypes.Float64, Nullable: true},
	{Name: "n", Type: &arrow.Decimal128Type{Precision: 30, Scale: 2}, Nullable: true}, {Name: "s", Type: arrow.BinaryTypes.String, Nullable: true},
	{Name: "d", Type: arrow.FixedWidthTypes.Date32, Nullable: true}, {Name: "t", Type: &arrow.TimestampType{Unit: arrow.Microsecond}, Nullable: true},
}, nil)

func rowsOf(t testing.TB, list string) *Rows {
	source := Of(&statement.Insert{Name: statement.Name{Name: "t"}, Query: "VALUES " + list}, everyKind)
	require.NotNil(t, source, list)
	rows, ok := source.Rows(nil, nil)
	require.True(t, ok, list)
	return rows
}

const (
	someRows = "(true, -128, -999999999999999999, 4294967295, -7, 0.25, -123456789.12, 'ä''\n', '1969-12-31', '1969-12-31 23:59:59.999999')," +
		"(NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL), (false, 0, 0, 0, 0, 1e300, 0, '', '2026-11-30', '9999-12-31 00:00:00')"
	otherRow = "(NULL, 7, 8, 9, 1, 2, 3.5, 'text', NULL, NULL)"
)

// What was appended comes back: the same rows in the same order, of several INSERTs.
func TestStoredRowsComeBack(t *testing.T) {
	first, second := rowsOf(t, someRows), rowsOf(t, otherRow)
	stored := second.Append(first.Append(nil))
	list, err := Decode(everyKind, stored)
	require.NoError(t, err)
	require.Len(t, list, 2)
	require.Equal(t, first.Bytes()+second.Bytes(), list[0].Bytes()+list[1].Bytes())
	want, got := Batch(first, second), Batch(list...)
	defer want.Release()
	defer got.Release()
	require.Equal(t, int64(4), got.NumRows())
	require.True(t, array.RecordEqual(want, got), "%v\n%v", want, got)

	for n := range stored { // cut off anywhere it is an error, or fewer rows
		list, err := Decode(everyKind, stored[:n])
		require.True(t, err != nil || len(list) < 2, n)
	}
	_, err = Decode(arrow.NewSchema([]arrow.Field{{Name: "l", Type: arrow.ListOf(arrow.PrimitiveTypes.Int8)}}, nil), stored)
	require.ErrorIs(t, err, errStored)
}

// FuzzStoredRows: no bytes end the process, and what can be read is written again as rows that are equal.
func FuzzStoredRows(f *testing.F) {
	f.Add(rowsOf(f, someRows).Append(nil))
	f.Add(rowsOf(f, otherRow).Append(rowsOf(f, otherRow).Append(nil)))
	f.Add([]byte{})
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, 0x0f, 1})
	f.Add([]byte{1, 1, 2, 1, 0xff})
	f.Fuzz(func(t *testing.T, data []byte) {
		list, err := Decode(everyKind, data)
		if err != nil {
			require.ErrorIs(t, err, errStored)
			return
		}
		var again []byte
		for _, r := range list {
			again = r.Append(again)
		}
		twice, err := Decode(everyKind, again)
		require.NoError(t, err)
		require.Len(t, twice, len(list))
		var third []byte
		for _, r := range twice {
			third = r.Append(third)
		}
		require.Equal(t, again, third)
	})
}
