package duckdb_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/exec/duckdb"
	"github.com/csmsql/csmsql/internal/testsuite"
)

// edges are values of every type, as SQL.
var edges = map[string][]string{
	"BOOLEAN": {"true", "false", "NULL::BOOLEAN"}, "TINYINT": {"(-128)::TINYINT", "127::TINYINT"}, "SMALLINT": {"(-32768)::SMALLINT", "1::SMALLINT"},
	"INTEGER": {"(-2147483648)::INTEGER", "2147483647", "0", "NULL::INTEGER", "2"}, "BIGINT": {"(-9223372036854775808)::BIGINT", "9223372036854775807", "0::BIGINT", "NULL::BIGINT", "(-1)::BIGINT", "3::BIGINT"},
	"UTINYINT": {"255::UTINYINT"}, "USMALLINT": {"65535::USMALLINT"}, "UINTEGER": {"4294967295::UINTEGER", "0::UINTEGER"}, "UBIGINT": {"18446744073709551615::UBIGINT", "0::UBIGINT"},
	"HUGEINT": {"(-170141183460469231731687303715884105728)::HUGEINT", "170141183460469231731687303715884105727::HUGEINT", "0::HUGEINT"}, "UHUGEINT": {"340282366920938463463374607431768211455::UHUGEINT"},
	"BIGNUM": {"1::BIGNUM", "(repeat('9', 60))::BIGNUM"}, "FLOAT": {"'nan'::FLOAT", "'-inf'::FLOAT", "1.5::FLOAT"}, "DOUBLE": {"'nan'::DOUBLE", "'inf'::DOUBLE", "-0.0::DOUBLE", "1e308::DOUBLE", "NULL::DOUBLE", "0.5::DOUBLE"},
	"DECIMAL": {"(-99999999999999.9999)::DECIMAL(18,4)", "1.5::DECIMAL(4,1)", "0.0000000001::DECIMAL(38,10)"},
	"VARCHAR": {"''", "'a'", "'ä😀'", "repeat('xy', 9000)", "'[]'", "'{}'", `'{"a": [1, null]}'`, "'%Y-%m-%d'", "'$.a'", "'UTC'", "'2020-01-01'", "'day'", "chr(0)", "'('", "NULL::VARCHAR", "'1'", "'\\'"},
	"BLOB":    {"''::BLOB", `'\x00\xFF'::BLOB`, "NULL::BLOB", "repeat('z', 5000)::BLOB"}, "BIT": {"'1'::BIT", "'010101010'::BIT"}, "UUID": {"'00000000-0000-0000-0000-000000000000'::UUID"},
	"DATE": {"'infinity'::DATE", "'-infinity'::DATE", "'1970-01-01'::DATE", "'5881580-07-10'::DATE", "'5877642-06-25 (BC)'::DATE", "NULL::DATE"},
	"TIME": {"'00:00:00'::TIME", "'24:00:00'::TIME"}, "TIME WITH TIME ZONE": {"'12:00:00+15:59:59'::TIMETZ"}, "TIME_NS": {"'12:30:00.123456789'::TIME_NS"},
	"TIMESTAMP": {"'infinity'::TIMESTAMP", "'294247-01-10 04:00:54.775806'::TIMESTAMP", "'290309-12-22 (BC) 00:00:00'::TIMESTAMP", "'2020-01-01'::TIMESTAMP"}, "TIMESTAMP_S": {"'2020-01-01'::TIMESTAMP_S"},
	"TIMESTAMP_MS": {"'2020-01-01'::TIMESTAMP_MS"}, "TIMESTAMP_NS": {"'1677-09-22 00:00:00'::TIMESTAMP_NS", "'2262-04-11'::TIMESTAMP_NS"}, "TIMESTAMP WITH TIME ZONE": {"'-infinity'::TIMESTAMPTZ", "'2020-01-01'::TIMESTAMPTZ"},
	"INTERVAL": {"INTERVAL 0 DAY", "INTERVAL (-2147483648) MONTH", "INTERVAL 9223372036854775807 MICROSECOND", "INTERVAL '1 month -1 day'"}, "JSON": {"'{}'::JSON", `'[1, {"a": null}]'::JSON`, "'null'::JSON", "NULL::JSON"},
	"ENUM": {"'a'::ENUM('a', 'b')", "NULL::ENUM('a')"}, "BIGINT[]": {"[]::BIGINT[]", "[1, NULL, -1]::BIGINT[]", "NULL::BIGINT[]", "range(3000)"}, "BOOLEAN[]": {"[true]", "[NULL, false]::BOOLEAN[]", "[]::BOOLEAN[]"},
	"VARCHAR[]": {"[]::VARCHAR[]", "['a', NULL, repeat('q', 99)]", "['$.a', '$[0]']"}, "DOUBLE[]": {"[1.5::DOUBLE, 'nan'::DOUBLE]", "[]::DOUBLE[]"}, "ANY[]": {"[]", "[NULL]", "[[]]", "[[1], NULL, []]", "[{'a': 1}]", "[map{1: NULL}]"},
	"ARRAY": {"[1, 2, 3]::INTEGER[3]", "['a', NULL]::VARCHAR[2]", "[1.0, 2.0, 3.0]::FLOAT[3]", "NULL::DOUBLE[3]"}, "STRUCT": {"{'a': 1, 'b': 'x'}", "ROW(1, 'a')", "{'a': NULL}", "{'a': [{'b': map{1: 2}}]}", "NULL::STRUCT(a INTEGER)"},
	"MAP": {"map{1: NULL}", "map{}", "map{'a': [1]}", "map{[1]: {'a': 1}}", "NULL::MAP(INTEGER, VARCHAR)"}, "UNION": {"union_value(k := 1)", "union_value(k := NULL)", "1::UNION(i INTEGER, s VARCHAR)"}, "\"NULL\"": {"NULL"},
	"VARIANT": {"1::VARIANT", "{'a': [1]}::VARIANT"}, "LAMBDA": {"lambda x: x", "lambda x, y: x", "lambda x: NULL", "lambda x, i: i > 1", "lambda x: [x]", "lambda x: error('e')"},
}

// fuzzer makes calls of functions with edge values.
type fuzzer struct {
	r         *rand.Rand
	functions [][]string // name, types of parameters
	types     []string
}

func newFuzzer(t *testing.T, seed uint64) *fuzzer {
	_, c := open(t)
	f := &fuzzer{r: rand.New(rand.NewPCG(seed, 1))}
	for _, row := range ask(t, c, `SELECT function_name || chr(9) || coalesce(array_to_string(parameter_types, chr(9)), '') || CASE WHEN varargs IS NOT NULL THEN chr(9) || varargs || chr(9) || varargs ELSE '' END
		FROM duckdb_functions() WHERE function_type = 'scalar' AND function_name NOT LIKE 'icu_collate%' AND function_name NOT IN ('sleep_ms', 'csm_set_config') GROUP BY ALL ORDER BY ALL`) {
		f.functions = append(f.functions, strings.Split(row, "\t"))
	}
	for name := range edges {
		f.types = append(f.types, name)
	}
	slices.Sort(f.types)
	return f
}

// value is one of a type that a function wants; now and then of another one.
func (f *fuzzer) value(want string) string {
	if at := strings.IndexByte(want, '('); at > 0 {
		want = want[:at]
	}
	list := edges[want]
	if list == nil || f.r.IntN(12) == 0 {
		if strings.HasSuffix(want, "[]") {
			want = []string{"BIGINT[]", "VARCHAR[]", "ANY[]", "BOOLEAN[]", "DOUBLE[]"}[f.r.IntN(5)]
		} else {
			want = f.types[f.r.IntN(len(f.types))]
		}
		list = edges[want]
	}
	return list[f.r.IntN(len(list))]
}

// statement calls a function with constants, with columns, or with both, over rows as they come or picked out.
func (f *fuzzer) statement() string {
	function := f.functions[f.r.IntN(len(f.functions))]
	var args, columns, others []string
	for i, want := range function[1:] {
		if want == "" {
			continue
		}
		v := f.value(want)
		if strings.HasPrefix(v, "lambda") || f.r.IntN(2) == 0 {
			args = append(args, v)
			continue
		}
		name := fmt.Sprintf("c%d", i)
		args, columns, others = append(args, name), append(columns, v+" AS "+name), append(others, f.value(want))
	}
	call := fmt.Sprintf(`"%s"(%s)`, function[0], strings.Join(args, ", "))
	switch {
	case len(columns) == 0:
		return []string{"SELECT " + call, "SELECT " + call + " FROM range(3000)"}[f.r.IntN(2)]
	case f.r.IntN(3) == 0:
		return "SELECT " + call + " FROM (SELECT " + strings.Join(columns, ", ") + " FROM range(2100) r(i))"
	}
	where := []string{"", " WHERE hash(i) % 3 = 0", " ORDER BY i DESC"}[f.r.IntN(3)]
	return "SELECT " + call + " FROM (SELECT i, " + strings.Join(columns, ", ") + " FROM range(5) r(i) UNION ALL SELECT 7, " + strings.Join(others, ", ") + " FROM range(3))" + where
}

// TestNoFunctionCrashes calls every scalar function with edge values of all types, in a process of its own: what ends it, or its database, must
// be refused (crashing.go).
func TestNoFunctionCrashes(t *testing.T) {
	seed := uint64(1)
	if given := os.Getenv("CSMSQL_SEED"); given != "" {
		n, err := strconv.ParseUint(given, 10, 64)
		require.NoError(t, err)
		seed = n
	}
	f, child := newFuzzer(t, seed), &fuzzed{t: t}
	defer child.end()
	known := []string{ // each was seen to crash
		`SELECT switch(js, map{1: NULL}, ROW(1, 'a')) FROM (VALUES ('{}'::JSON)) t(js)`, "SELECT list_where([]::BIGINT[], [true]) FROM range(5)",
	}
	for n := range 400*testsuite.Effort() + len(known) {
		sql := f.statement()
		if n < len(known) {
			sql = known[n]
		}
		if died := child.run(sql); died != "" {
			t.Errorf("CSMSQL_SEED=%d, statement %d: %s\n%s", seed, n, sql, died)
		}
	}
}

// fuzzed is the process that runs the statements.
type fuzzed struct {
	t       *testing.T
	command *exec.Cmd
	in      io.WriteCloser
	out     *bufio.Reader
	errors  *strings.Builder
}

const fuzzedVariable = "CSMSQL_TEST_FUZZED"

func (p *fuzzed) start() {
	p.command = exec.Command(os.Args[0], "-test.run", "^TestFuzzedProcess$")
	p.command.Env = append(os.Environ(), fuzzedVariable+"=1")
	p.errors = &strings.Builder{}
	p.command.Stderr = p.errors
	in, err := p.command.StdinPipe()
	require.NoError(p.t, err)
	out, err := p.command.StdoutPipe()
	require.NoError(p.t, err)
	require.NoError(p.t, p.command.Start())
	p.in, p.out = in, bufio.NewReader(out)
}

// run returns how a statement ended the process; "": it did not.
func (p *fuzzed) run(sql string) string {
	if p.command == nil {
		p.start()
	}
	_, err := fmt.Fprintln(p.in, sql)
	if err == nil {
		var answer string
		if answer, err = p.out.ReadString('\n'); err == nil && !strings.HasPrefix(answer, "FATAL") {
			return ""
		}
		if err == nil {
			err = errors.New(answer)
		}
	}
	p.end()
	said, _, _ := strings.Cut(p.errors.String(), "\n\n")
	return fmt.Sprintf("%v: %.600s", err, said)
}

func (p *fuzzed) end() {
	if p.command != nil {
		p.in.Close()
		_ = p.command.Wait()
		p.command = nil
	}
}

// TestFuzzedProcess is that process.
func TestFuzzedProcess(t *testing.T) {
	if os.Getenv(fuzzedVariable) == "" {
		t.Skip("it is a part of TestNoFunctionCrashes")
	}
	db, err := duckdb.Open(duckdb.Options{Threads: 1, MemoryBytes: 256 << 20, ProcessBytes: 600 << 20, PostgresText: true})
	require.NoError(t, err)
	c, err := db.Connect(nil)
	require.NoError(t, err)
	lines := bufio.NewReader(os.Stdin)
	for {
		sql, err := lines.ReadString('\n')
		if err != nil {
			return
		}
		fmt.Println(outcome(db, c, sql))
	}
}

func outcome(db *duckdb.Database, c *duckdb.Connection, sql string) string {
	limit := time.AfterFunc(2*time.Second, c.Interrupt) // what takes long is no crash
	defer limit.Stop()
	s, err := c.Prepare(sql)
	if err == nil {
		defer s.Close()
		var rows *duckdb.Rows
		if rows, err = s.Execute(context.Background()); err == nil {
			defer rows.Close()
			for err == nil {
				var batch interface{ Release() }
				if batch, err = rows.Next(); err == nil {
					batch.Release()
				}
			}
		}
	}
	select {
	case <-db.Failed():
		return "FATAL " + strings.ReplaceAll(err.Error(), "\n", " ")
	default:
	}
	var e *duckdb.Error
	if errors.As(err, &e) && e.Kind == "FATAL" {
		return "FATAL " + strings.ReplaceAll(e.Message, "\n", " ")
	}
	return "done"
}
