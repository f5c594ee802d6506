package duckdb_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/exec/duckdb"
)

// typeCase is a SQL type with literals of it; scanned, when it comes back from a scan as another type.
type typeCase struct {
	name     string
	literals []string
	scanned  string
}

func stringLiterals() (out []string) {
	for n := range 41 { // around string_t's 12 inline bytes
		out = append(out, "'"+strings.Repeat("äb", n)[:n-n%3]+strings.Repeat("z", n%3)+"'")
	}
	for i, l := range out {
		out[i] = strings.ToValidUTF8(l, "?")
	}
	return append(out, "'it''s'")
}

var typeCases = []typeCase{
	{"BOOLEAN", []string{"true", "false"}, ""},
	{"TINYINT", []string{"-128", "0", "127"}, ""},
	{"SMALLINT", []string{"-32768", "0", "32767"}, ""},
	{"INTEGER", []string{"-2147483648", "0", "2147483647"}, ""},
	{"BIGINT", []string{"-9223372036854775808", "0", "9223372036854775807"}, ""},
	{"UTINYINT", []string{"0", "255"}, ""},
	{"USMALLINT", []string{"0", "65535"}, ""},
	{"UINTEGER", []string{"0", "4294967295"}, ""},
	{"UBIGINT", []string{"0", "18446744073709551615"}, ""},
	{"HUGEINT", []string{"-12345678901234567890123456789", "0", "99999999999999999999999999999999999999"}, "DECIMAL(38,0)"},
	{"FLOAT", []string{"1.5", "'nan'", "'-inf'", "-0.0"}, ""},
	{"DOUBLE", []string{"1.5", "'nan'", "'inf'", "1e308"}, ""},
	{"DECIMAL(4,1)", []string{"-999.9", "0", "999.9"}, ""},
	{"DECIMAL(9,2)", []string{"-9999999.99", "0.01"}, ""},
	{"DECIMAL(18,3)", []string{"-999999999999999.999", "0.001"}, ""},
	{"DECIMAL(38,5)", []string{"-999999999999999999999999999999999.99999", "0.00001"}, ""},
	{"VARCHAR", stringLiterals(), ""},
	{"BLOB", []string{`''`, `'\x00\xFF'`, `'\x00\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0A\x0B\x0C'`}, ""},
	{"DATE", []string{"'1969-12-31'", "'0044-03-15 (BC)'", "'9999-12-31'"}, ""},
	{"TIME", []string{"'00:00:00'", "'23:59:59.999999'"}, ""},
	{"TIMESTAMP", []string{"'1969-12-31 23:59:59.999999'", "'2024-02-29 12:00:00'"}, ""},
	{"TIMESTAMP_S", []string{"'1969-12-31 23:59:59'"}, ""},
	{"TIMESTAMP_MS", []string{"'1969-12-31 23:59:59.999'"}, ""},
	{"TIMESTAMP_NS", []string{"'1969-12-31 23:59:59.999999999'"}, ""},
	{"TIMESTAMPTZ", []string{"'1969-12-31 23:59:59.999999+00'", "'2024-02-29 12:00:00+05:30'"}, ""},
	{"INTERVAL", []string{"'1 year 2 months 3 days 4 seconds'", "'-5 microseconds'"}, ""},
	{"UUID", []string{"'00000000-0000-0000-0000-000000000000'", "'f47ac10b-58cc-4372-a567-0e02b2c3d479'"}, ""},
	{"ENUM('low','mid','a value of more than twelve bytes')", []string{"'mid'", "'low'", "'a value of more than twelve bytes'"}, "VARCHAR"},
	{"INTEGER[]", []string{"[]", "[1]", "[1,NULL,3]"}, ""},
	{"VARCHAR[]", []string{"[]", "['short','a string of more than twelve bytes',NULL]"}, ""},
	{"INTEGER[3]", []string{"[1,2,3]", "[4,NULL,6]"}, ""},
	{"DECIMAL(15,2)[]", []string{"[1.25,NULL]", "[-3.5]"}, ""},
	{"BOOLEAN[]", []string{"[true,NULL,false]", "[]"}, ""},
	{"HUGEINT[]", []string{"[1,NULL,-12345678901234567890123]"}, "DECIMAL(38,0)[]"},
	{"STRUCT(a INTEGER, b VARCHAR)", []string{"{'a':1,'b':'x'}", "{'a':NULL,'b':'a string of more than twelve bytes'}"}, ""},
	{"STRUCT(a STRUCT(b INTEGER[3], c VARCHAR), d STRUCT(e STRUCT(f DATE)))", []string{"{'a':{'b':[1,2,3],'c':'x'},'d':{'e':{'f':'2020-01-01'}}}", "{'a':NULL,'d':{'e':NULL}}"}, ""},
	{"UNION(n INTEGER, s VARCHAR)", []string{"union_value(n := 1)", "union_value(s := 'a string of more than twelve bytes')"}, ""},
	{"STRUCT(u UNION(n INTEGER, s VARCHAR))", []string{"{'u': union_value(n := 1)}", "{'u': union_value(s := 'x')}"}, ""},
	{"STRUCT(a BOOLEAN, b STRUCT(c DATE, d UUID)[])[]", []string{"[{'a':true,'b':[{'c':'2020-01-01','d':'f47ac10b-58cc-4372-a567-0e02b2c3d479'},NULL]},NULL]", "[]"}, ""},
	{"MAP(VARCHAR, INTEGER)", []string{"MAP {'a':1,'a key of more than twelve bytes':NULL}", "MAP {}"}, ""},
	{"MAP(INTEGER, VARCHAR[])", []string{"MAP {1:['x',NULL],2:NULL}"}, ""},
	{"TIMESTAMPTZ[]", []string{"['2024-02-29 12:00:00+05:30',NULL]"}, ""},
	{"INTERVAL[]", []string{"[INTERVAL '1 month 2 days', NULL]"}, ""},
}

// Every type that DuckDB gives as Arrow can be scanned as the same type, with the same values: D6, D3 and normalize.go.
func TestTypesRoundTrip(t *testing.T) {
	_, c := open(t)
	for _, k := range typeCases {
		t.Run(k.name, func(t *testing.T) {
			makeTable(t, c, k)
			schema, batches := fetch(t, c, "SELECT i, v FROM literal ORDER BY i")
			s := scanOf(schema, oddSlices(t, batches)...)
			number := c.Register(s)
			defer c.Forget(number)
			scanned, want := k.scanned, k.name
			if scanned == "" {
				scanned = want
			}
			scan := fmt.Sprintf("(SELECT i, v::%s AS v FROM csm_scan(%d))", k.name, number)
			require.Equal(t, []string{"0"}, ask(t, c, "SELECT count(*) FROM (SELECT * FROM "+scan+" EXCEPT ALL SELECT * FROM literal)"))
			require.Equal(t, ask(t, c, "SELECT count(*), count(v) FROM literal"), ask(t, c, "SELECT count(*), count(v) FROM "+scan))
			require.Equal(t, ask(t, c, "SELECT DISTINCT typeof(NULL::"+scanned+")"), ask(t, c, fmt.Sprintf("SELECT DISTINCT typeof(v) FROM csm_scan(%d)", number)))
			require.Equal(t, ask(t, c, "SELECT v FROM literal WHERE i % 700 = 3 ORDER BY i"), ask(t, c, "SELECT v FROM "+scan+" WHERE i % 700 = 3 ORDER BY i"))
			gathered(t, c, s, k)
		})
	}
}

// gathered reads the same through filters that leave few rows (D6).
func gathered(t *testing.T, c *duckdb.Connection, s *duckdb.Scan, k typeCase) {
	keys, err := duckdb.NewKeySet([]int64{0, 1, 3, 5, 1999, 2048, 4001, 4004})
	require.NoError(t, err)
	few := *s
	few.Filters = []duckdb.Filter{{Column: 0, Keys: keys}}
	number := c.Register(&few)
	defer c.Forget(number)
	require.Equal(t, ask(t, c, "SELECT i, v FROM literal WHERE i IN (0, 1, 3, 5, 1999, 2048, 4001, 4004) ORDER BY i"),
		ask(t, c, fmt.Sprintf("SELECT i, v::%s AS v FROM csm_scan(%d) ORDER BY i", k.name, number)))
}

// makeTable fills the temporary table literal with the case's values and NULLs, more than two slices of them.
func makeTable(t *testing.T, c *duckdb.Connection, k typeCase) {
	require.NoError(t, c.Exec("CREATE OR REPLACE TEMP TABLE one (k INTEGER, v "+k.name+")"))
	for i, l := range k.literals {
		require.NoError(t, c.Exec(fmt.Sprintf("INSERT INTO one VALUES (%d, %s)", i, l)))
	}
	require.NoError(t, c.Exec(fmt.Sprintf("INSERT INTO one VALUES (%d, NULL)", len(k.literals))))
	require.NoError(t, c.Exec(fmt.Sprintf("CREATE OR REPLACE TEMP TABLE literal AS SELECT i::INTEGER AS i, v FROM range(5000) r(i) JOIN one ON k = i %% %d ORDER BY i", len(k.literals)+1)))
}

// fetch runs a query and gives its batches in C memory (D2).
func fetch(t testing.TB, c *duckdb.Connection, sql string) (*arrow.Schema, []arrow.RecordBatch) {
	s, err := c.Prepare(sql)
	require.NoError(t, err)
	defer s.Close()
	rows, err := s.Execute(context.Background())
	require.NoError(t, err)
	defer rows.Close()
	var out []arrow.RecordBatch
	for {
		b, err := rows.Next()
		if errors.Is(err, io.EOF) {
			return rows.Schema(), out
		}
		require.NoError(t, err)
		out = append(out, offHeapCopy(t, b))
		b.Release()
	}
}

func offHeapCopy(t testing.TB, b arrow.RecordBatch) arrow.RecordBatch {
	var buffer bytes.Buffer
	w := ipc.NewWriter(&buffer, ipc.WithSchema(b.Schema()))
	require.NoError(t, w.Write(b))
	require.NoError(t, w.Close())
	r, err := ipc.NewReader(&buffer, ipc.WithAllocator(offHeap))
	require.NoError(t, err)
	defer r.Release()
	require.True(t, r.Next(), r.Err())
	out := r.RecordBatch()
	out.Retain()
	t.Cleanup(out.Release)
	return out
}

// oddSlices cuts batches so that arrays start at offsets that are no multiples of 8, and some are empty.
func oddSlices(t testing.TB, batches []arrow.RecordBatch) (out []arrow.RecordBatch) {
	for i, b := range batches {
		n := b.NumRows()
		for _, cut := range [][2]int64{{0, 1}, {1, min(4, n)}, {min(4, n), min(4, n)}, {min(4, n), n - n%7}, {n - n%7, n}} {
			if i == 0 && cut[0] == 1 && n < 4 {
				continue
			}
			s := b.NewSlice(cut[0], cut[1])
			t.Cleanup(s.Release)
			out = append(out, s)
		}
	}
	return out
}

// Types that Arrow lacks leave as what people can read, also inside of others.
func TestOpaqueTypesAreReadable(t *testing.T) {
	_, c := open(t)
	for _, k := range []struct{ typ, literal, want string }{
		{"TIMETZ", "12:34:56.123456+05:30", "12:34:56.123456+05:30"},
		{"TIMETZ", "00:00:00-15:59:59", "00:00:00-15:59:59"},
		{"TIMETZ", "23:59:59.5+00", "23:59:59.5+00"},
		{"BIT", "10110", "10110"},
		{"BIT", "101101111", "101101111"},
		{"BIT", "0000000000000000000000000000000000000000000000000000000000000000000000001", "0000000000000000000000000000000000000000000000000000000000000000000000001"},
		{"UHUGEINT", "340282366920938463463374607431768211455", "340282366920938463463374607431768211455"},
		{"UHUGEINT", "0", "0"},
		{"HUGEINT", "-99999999999999999999999999999999999999", "-99999999999999999999999999999999999999"},
		{"BIGNUM", "-123456789012345678901234567890", "-123456789012345678901234567890"},
		{"BIGNUM", "123456789012345678901234567890123456789012345678901234567890", "123456789012345678901234567890123456789012345678901234567890"},
		{"BIGNUM", "0", "0"},
		{"BIGNUM", "-1", "-1"},
	} {
		value := fmt.Sprintf("'%s'::%s", k.literal, k.typ)
		require.Equal(t, []string{k.want, "(null)"}, ask(t, c, "SELECT "+value+" UNION ALL SELECT NULL"), k.typ)
		nested := ask(t, c, "SELECT {'a': ["+value+", NULL]} FROM range(2)")
		require.Len(t, nested, 2)
		require.Contains(t, nested[1], k.want, k.typ)
	}
}
