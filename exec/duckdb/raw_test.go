package duckdb_test

import (
	"fmt"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/exec/duckdb/normal"
)

// rawCases are types that results show as others, with values at their edges.
var rawCases = []typeCase{
	{"HUGEINT", []string{"'-170141183460469231731687303715884105728'", "-1", "0", "1", "'170141183460469231731687303715884105727'"}, ""},
	{"UHUGEINT", []string{"0", "1", "'18446744073709551615'", "'18446744073709551616'", "'340282366920938463463374607431768211455'"}, ""},
	{"TIMETZ", []string{"'00:00:00-15:59:59'", "'12:34:56.5+05:30'", "'24:00:00+00'", "'10:00:00+02'", "'23:59:59.999999+15:59:59'", "'10:00:00.000001-00:00:01'"}, ""},
	{"BIT", []string{"'0'", "'1'", "'10110'", "'1011011'", "'10110111'", "'101101110'", "'1111111111111111'"}, ""},
	{"BIGNUM", []string{"'-99999999999999999999999999999999999999999999999999'", "'-256'", "'-255'", "'-1'", "'0'", "'1'", "'255'", "'256'", "'65536'", "'123456789012345678901234567890123456789012345678901234567890'"}, ""},
	{"HUGEINT[]", []string{"[1, NULL, -12345678901234567890123]", "[]"}, ""},
	{"STRUCT(a BIT, b STRUCT(c UHUGEINT)[])", []string{"{'a': '101'::BIT, 'b': [{'c': 5}, NULL]}", "{'a': NULL, 'b': NULL}"}, ""},
	{"MAP(HUGEINT, TIMETZ)", []string{"MAP {5: '10:00:00+02'::TIMETZ}", "MAP {}", "MAP {-1: NULL}"}, ""},
	{"BIGNUM[2]", []string{"['1', NULL]"}, ""},
	{"UNION(h HUGEINT, b BOOLEAN, s VARCHAR)", []string{"union_value(h := 5)", "union_value(b := true)", "union_value(s := 'x')"}, ""},
}

// NO3: what results show, made raw again, is to DuckDB what it wrote: of the same type, equal, and in the same order.
func TestRawAgain(t *testing.T) {
	_, c := open(t)
	for _, k := range rawCases {
		t.Run(k.name, func(t *testing.T) {
			makeTable(t, c, k)
			s, err := c.Prepare("SELECT i, v FROM literal ORDER BY i")
			require.NoError(t, err)
			schema, err := s.Stored(true)
			require.NoError(t, err)
			s.Close()
			_, batches := fetch(t, c, "SELECT i, v FROM literal ORDER BY i")
			var raw []arrow.RecordBatch
			for _, b := range oddSlices(t, batches) {
				v, err := normal.Raw(offHeap, b.Column(1), schema.Field(1))
				require.NoError(t, err)
				require.NoError(t, normal.CheckValues(v.Data(), schema.Field(1)))
				again, err := normal.Raw(offHeap, v, schema.Field(1))
				require.NoError(t, err)
				raw = append(raw, array.NewRecordBatch(schema, []arrow.Array{b.Column(0), again}, b.NumRows()))
				v.Release()
				again.Release()
			}
			number := c.Register(scanOf(schema, raw...))
			defer c.Forget(number)
			scan := fmt.Sprintf("csm_scan(%d)", number)
			for _, q := range []string{
				"SELECT DISTINCT typeof(v) FROM %s", "SELECT i FROM %s ORDER BY v, i LIMIT 3000",
				"SELECT count(*) FROM (SELECT * FROM %s EXCEPT ALL SELECT * FROM literal)",
				"SELECT count(*) FROM %s a JOIN literal b ON a.i = b.i AND a.v IS NOT DISTINCT FROM b.v",
			} {
				require.Equal(t, ask(t, c, fmt.Sprintf(q, "literal")), ask(t, c, fmt.Sprintf(q, scan)), q)
			}
		})
	}
}

// oneOf are the offsets of a list of one value.
var oneOf = memory.NewBufferBytes(arrow.Int32Traits.CastToBytes([]int32{0, 1}))

// Texts that are none of DuckDB's are errors, and bytes that DuckDB must not see are found.
func TestRawOfNothingOfTheKind(t *testing.T) {
	_, c := open(t)
	for name, texts := range map[string][]string{
		"TIMETZ": {"", "10:00:00", "10:00:00+", "x+00", "10:00:00.1234567+00", "10:00:00+16", "25:00:00+00", "10:00:00+00:00:00:00", "-10:00:00+00"},
		"BIT":    {"", "2", "01x"}, "BIGNUM": {"", "1.5", "x", "- 1"},
	} {
		s, err := c.Prepare("SELECT NULL::" + name)
		require.NoError(t, err)
		schema, err := s.Stored(true)
		require.NoError(t, err)
		s.Close()
		for _, text := range texts {
			b := array.NewStringBuilder(offHeap)
			b.Append(text)
			a := b.NewArray()
			_, err := normal.Raw(offHeap, a, schema.Field(0))
			require.Error(t, err, "%s: %q", name, text)
			a.Release()
			b.Release()
		}
		if name == "TIMETZ" {
			continue
		}
		for _, bytes := range map[string][][]byte{"BIT": {{}, {0}, {8, 1}, {255, 1, 2}}, "BIGNUM": {{}, {0}, {0, 0, 1}}}[name] {
			b := array.NewBinaryBuilder(offHeap, arrow.BinaryTypes.Binary)
			b.Append(bytes)
			a := b.NewArray()
			require.Error(t, normal.CheckValues(a.Data(), schema.Field(0)), "%s: %v", name, bytes)
			list := array.NewData(arrow.ListOfField(schema.Field(0)), 1, []*memory.Buffer{nil, oneOf}, []arrow.ArrayData{a.Data()}, 0, 0)
			require.Error(t, normal.CheckValues(list, arrow.Field{Name: "l", Type: list.DataType()}), "in a list")
			list.Release()
			a.Release()
			b.Release()
		}
	}
}
