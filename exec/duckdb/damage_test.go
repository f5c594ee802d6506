package duckdb_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/exec/duckdb"
)

// offHeapBytes copies bytes to C memory (D2).
func offHeapBytes(t testing.TB, b []byte) *memory.Buffer {
	buffer := memory.NewResizableBuffer(offHeap)
	buffer.Resize(len(b))
	copy(buffer.Bytes(), b)
	t.Cleanup(buffer.Release)
	return buffer
}

func int32s(values ...int32) (out []byte) {
	for _, v := range values {
		out = binary.LittleEndian.AppendUint32(out, uint32(v))
	}
	return out
}

// scanOfData shows raw array data, however wrong, as a table's only chunk.
func scanOfData(schema *arrow.Schema, data arrow.ArrayData) *duckdb.Scan {
	return &duckdb.Scan{Schema: schema, Chunks: 1, Rows: int64(data.Len()), Open: func(int, []int) (arrow.RecordBatch, error) {
		column := array.MakeFromData(data)
		defer column.Release()
		stored := arrow.NewSchema([]arrow.Field{{Name: "v", Type: column.DataType(), Nullable: true}}, nil)
		return array.NewRecordBatch(stored, []arrow.Array{column}, int64(data.Len())), nil
	}}
}

func longView(length, buffer, offset int32) []byte {
	return append(append(int32s(length), "a st"...), int32s(buffer, offset)...)
}

func concat(parts ...[]byte) (out []byte) {
	for _, p := range parts {
		out = append(out, p...)
	}
	return out
}

// D3: whatever a damaged chunk says, the statement fails with XX001 and the process lives.
func TestDamagedChunks(t *testing.T) {
	_, c := open(t)
	text := []byte("a string of more than twelve bytes")
	view, list := arrow.BinaryTypes.StringView, arrow.ListOf(arrow.PrimitiveTypes.Int32)
	dictionary := &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Uint8, ValueType: arrow.BinaryTypes.String}
	wide := &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int32, ValueType: arrow.BinaryTypes.String}
	values := array.NewData(arrow.BinaryTypes.String, 2, []*memory.Buffer{nil, offHeapBytes(t, int32s(0, 1, 2)), offHeapBytes(t, []byte("xy"))}, nil, 0, 0)
	numbers := array.NewData(arrow.PrimitiveTypes.Int32, 3, []*memory.Buffer{nil, offHeapBytes(t, int32s(1, 2, 3))}, nil, 0, 0)
	views := func(v ...[]byte) arrow.ArrayData {
		return array.NewData(view, len(v), []*memory.Buffer{nil, offHeapBytes(t, concat(v...)), offHeapBytes(t, text)}, nil, 0, 0)
	}
	inList := func(typ arrow.DataType, child arrow.ArrayData, offsets ...int32) arrow.ArrayData {
		return array.NewData(typ, len(offsets)-1, []*memory.Buffer{nil, offHeapBytes(t, int32s(offsets...))}, []arrow.ArrayData{child}, 0, 0)
	}
	for name, data := range map[string]arrow.ArrayData{
		"view beyond the end of its buffer":   views(longView(20, 0, 30)),
		"view into a buffer that is missing":  views(longView(20, 1, 0)),
		"view with a negative buffer":         views(longView(20, -1, 0)),
		"view with a negative offset":         views(longView(20, 0, -5)),
		"view of negative length":             views(longView(-20, 0, 0)),
		"view in a list":                      inList(arrow.ListOf(view), views(longView(20, 0, 30)), 0, 1),
		"fewer views than rows":               array.NewData(view, 5, []*memory.Buffer{nil, offHeapBytes(t, longView(20, 0, 0)), offHeapBytes(t, text)}, nil, 0, 0),
		"list beyond its values":              inList(list, numbers, 0, 4),
		"list that goes backwards":            inList(list, numbers, 0, 2, 1),
		"list before its values":              inList(list, numbers, -1, 1),
		"fewer numbers than rows":             array.NewData(arrow.PrimitiveTypes.Int32, 4, numbers.Buffers(), nil, 0, 0),
		"fewer bits than rows":                array.NewData(arrow.FixedWidthTypes.Boolean, 100, []*memory.Buffer{nil, offHeapBytes(t, text[:2])}, nil, 0, 0),
		"fewer validity bits than rows":       array.NewData(arrow.PrimitiveTypes.Int32, 3, []*memory.Buffer{offHeapBytes(t, nil), numbers.Buffers()[1]}, nil, 1, 0),
		"code outside of the dictionary":      array.NewDataWithDictionary(dictionary, 3, []*memory.Buffer{nil, offHeapBytes(t, []byte{0, 1, 2})}, 0, 0, values),
		"wide code outside of the dictionary": array.NewDataWithDictionary(wide, 1, []*memory.Buffer{nil, offHeapBytes(t, int32s(-1))}, 0, 0, values),
	} {
		t.Run(name, func(t *testing.T) {
			typ := data.DataType()
			if typ.ID() == arrow.DICTIONARY && typ != arrow.DataType(wide) || typ.ID() == arrow.STRING_VIEW {
				typ = arrow.BinaryTypes.String
			}
			schema := arrow.NewSchema([]arrow.Field{{Name: "v", Type: typ, Nullable: true}}, nil)
			number := c.Register(scanOfData(schema, data))
			defer c.Forget(number)
			_, err := tryAsk(c, fmt.Sprintf("SELECT v FROM csm_scan(%d)", number))
			requireState(t, "XX001", err)
		})
	}
	require.Equal(t, []string{"1"}, ask(t, c, "SELECT 1"), "the connection lives")
}

// What lies under a NULL may be anything.
func TestNothingUnderNullMatters(t *testing.T) {
	_, c := open(t)
	data := array.NewData(arrow.BinaryTypes.StringView, 2, []*memory.Buffer{offHeapBytes(t, []byte{2}), offHeapBytes(t, concat(longView(1<<30, 77, -9), longView(20, 0, 0))), offHeapBytes(t, []byte("a string of more than twelve bytes"))}, nil, 1, 0)
	schema := arrow.NewSchema([]arrow.Field{{Name: "v", Type: arrow.BinaryTypes.String, Nullable: true}}, nil)
	number := c.Register(scanOfData(schema, data))
	defer c.Forget(number)
	require.Equal(t, []string{"(null)", "a string of more tha"}, ask(t, c, fmt.Sprintf("SELECT v FROM csm_scan(%d)", number)))
}

func requireState(t testing.TB, state string, err error) {
	t.Helper()
	require.Error(t, err)
	var stated interface{ SQLState() string }
	require.ErrorAs(t, err, &stated, err.Error())
	require.Equal(t, state, stated.SQLState(), err.Error())
}

// D7: a scan that finds nothing stops soon when its statement is cancelled, and the connection goes on.
func TestCancelStopsFruitlessScan(t *testing.T) {
	_, c := open(t)
	schema, batch := numbers(t, 200_000)
	s := scanOf(schema, batch)
	ctx, cancel := context.WithCancel(context.Background())
	opened, inner := 0, s.Open
	s.Chunks, s.Rows = 1<<40, 1<<40
	s.Open = func(_ int, columns []int) (arrow.RecordBatch, error) {
		if opened++; opened == 20 {
			cancel()
		}
		return inner(0, columns)
	}
	none := int64(-1)
	s.Filters = []duckdb.Filter{{Column: 0, High: &none}}
	number := c.Register(s)
	defer c.Forget(number)
	statement, err := c.Prepare(fmt.Sprintf("SELECT sum(a) FROM csm_scan(%d)", number))
	require.NoError(t, err)
	defer statement.Close()
	start := time.Now()
	_, err = statement.Execute(ctx)
	requireState(t, "57014", err)
	require.Less(t, time.Since(start), 5*time.Second)
	require.Equal(t, []string{"1"}, ask(t, c, "SELECT 1"))
}

func TestBuildKeySetStopsWhenCancelled(t *testing.T) {
	schema, batch := numbers(t, 1000)
	s := scanOf(schema, batch)
	ctx, cancel := context.WithCancel(context.Background())
	opened, inner := 0, s.Open
	s.Chunks = 1 << 40
	s.Open = func(_ int, columns []int) (arrow.RecordBatch, error) {
		if opened++; opened == 20 {
			cancel()
		}
		return inner(0, columns)
	}
	_, err := duckdb.BuildKeySet(ctx, s, 0, 1<<20)
	requireState(t, "57014", err)
}

// An error of Scan.Open is the statement's, with its state.
func TestOpenFailsWithItsOwnState(t *testing.T) {
	_, c := open(t)
	schema, batch := numbers(t, 10)
	s := scanOf(schema, batch)
	s.Open = func(int, []int) (arrow.RecordBatch, error) {
		return nil, fmt.Errorf("opening: %w", &duckdb.Error{Message: "chunk 7 of node b is lost", State: "58030", Byte: -1})
	}
	number := c.Register(s)
	defer c.Forget(number)
	_, err := tryAsk(c, fmt.Sprintf("SELECT sum(a) FROM csm_scan(%d)", number))
	requireState(t, "58030", err)
	require.Contains(t, err.Error(), "chunk 7 of node b is lost")
}

// A panic in a callback is the statement's error, not the end of the process.
func TestOpenPanics(t *testing.T) {
	_, c := open(t)
	schema, batch := numbers(t, 10)
	s := scanOf(schema, batch)
	s.Open = func(int, []int) (arrow.RecordBatch, error) { panic("a bug") }
	number := c.Register(s)
	defer c.Forget(number)
	_, err := tryAsk(c, fmt.Sprintf("SELECT sum(a) FROM csm_scan(%d)", number))
	requireState(t, "XX000", err)
}
