package enginetest

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/cluster/noderpc"
)

// typeCase is a type with literals; stored is the type that the engine's table has, when it is another one; refused: it
// cannot be stored. unread: not all file formats bring it.
type typeCase struct {
	name     string
	literals []string
	stored   string
	refused  bool
	unread   bool
}

var typeCases = []typeCase{
	{name: "BOOLEAN", literals: []string{"true", "false"}},
	{name: "TINYINT", literals: []string{"-128", "0", "127"}},
	{name: "SMALLINT", literals: []string{"-32768", "32767"}},
	{name: "INTEGER", literals: []string{"-2147483648", "2147483647"}},
	{name: "BIGINT", literals: []string{"-9223372036854775808", "9223372036854775807"}},
	{name: "UTINYINT", literals: []string{"0", "255"}},
	{name: "USMALLINT", literals: []string{"65535"}},
	{name: "UINTEGER", literals: []string{"4294967295"}},
	{name: "UBIGINT", literals: []string{"0", "18446744073709551615"}},
	{name: "HUGEINT", literals: []string{"-12345678901234567890123456789", "99999999999999999999999999999999999999"}, stored: "DECIMAL(38,0)"},
	{name: "UHUGEINT", literals: []string{"340282366920938463463374607431768211455", "0"}, unread: true},
	{name: "FLOAT", literals: []string{"1.5", "'nan'", "'-inf'", "-0.0"}},
	{name: "DOUBLE", literals: []string{"1.5", "'nan'", "'inf'", "1e308"}},
	{name: "DECIMAL(4,1)", literals: []string{"-999.9", "999.9"}},
	{name: "DECIMAL(9,2)", literals: []string{"-9999999.99", "0.01"}},
	{name: "DECIMAL(18,3)", literals: []string{"-999999999999999.999", "0.001"}},
	{name: "DECIMAL(38,5)", literals: []string{"-999999999999999999999999999999999.99999", "0.00001"}},
	{name: "VARCHAR", literals: []string{"''", "'twelve bytes'", "'thirteen byte'", "'it''s äöü € 🦆'"}},
	{name: "BLOB", literals: []string{`''`, `'\x00\xFF'`, `'\x00\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0A\x0B\x0C'`}},
	{name: "DATE", literals: []string{"'1969-12-31'", "'0044-03-15 (BC)'", "'9999-12-31'", "'infinity'"}},
	{name: "TIME", literals: []string{"'00:00:00'", "'23:59:59.999999'"}},
	{name: "TIMETZ", literals: []string{"'12:00:00+05:30'", "'23:59:59.999999-08'"}},
	{name: "TIMESTAMP", literals: []string{"'1969-12-31 23:59:59.999999'", "'2024-02-29 12:00:00'", "'infinity'"}},
	{name: "TIMESTAMP_S", literals: []string{"'1969-12-31 23:59:59'"}},
	{name: "TIMESTAMP_MS", literals: []string{"'1969-12-31 23:59:59.999'"}},
	{name: "TIMESTAMP_NS", literals: []string{"'1969-12-31 23:59:59.999999999'"}},
	{name: "TIMESTAMPTZ", literals: []string{"'1969-12-31 23:59:59.999999+00'", "'2024-02-29 12:00:00+05:30'"}},
	{name: "INTERVAL", literals: []string{"'1 year 2 months 3 days 4 seconds'", "'-5 microseconds'"}},
	{name: "UUID", literals: []string{"'00000000-0000-0000-0000-000000000000'", "'f47ac10b-58cc-4372-a567-0e02b2c3d479'"}},
	{name: "JSON", literals: []string{`'{"a": [1, null]}'`, `'null'`}},
	{name: "BITSTRING", literals: []string{"'0101'", "'1'"}},
	{name: "BIGNUM", literals: []string{"'-99999999999999999999999999999999999999999999'", "'0'"}},
	{name: "TIME_NS", literals: []string{"'23:59:59.999999999'"}},
	{name: "ENUM('low','mid','a value of more than twelve bytes')", literals: []string{"'mid'", "'low'"}, refused: true},
	{name: "INTEGER[]", literals: []string{"[]", "[1]", "[1,NULL,3]"}},
	{name: "VARCHAR[]", literals: []string{"[]", "['short','a string of more than twelve bytes',NULL]"}},
	{name: "INTEGER[3]", literals: []string{"[1,2,3]", "[4,NULL,6]"}},
	{name: "DECIMAL(15,2)[]", literals: []string{"[1.25,NULL]", "[-3.5]"}},
	{name: "DECIMAL(4,2)[]", literals: []string{"[1.25,NULL]"}},
	{name: "BOOLEAN[]", literals: []string{"[true,NULL,false]", "[]"}},
	{name: "BLOB[]", literals: []string{"['a'::BLOB, NULL]"}},
	{name: "INTEGER[][]", literals: []string{"[[1],NULL,[]]"}},
	{name: "HUGEINT[]", literals: []string{"[1,NULL]"}, stored: "DECIMAL(38,0)[]"},
	{name: "STRUCT(a INTEGER, b VARCHAR)", literals: []string{"{'a':1,'b':'x'}", "{'a':NULL,'b':'a string of more than twelve bytes'}"}},
	{name: "STRUCT(a STRUCT(b INTEGER[3], c VARCHAR), d DATE)", literals: []string{"{'a':{'b':[1,2,3],'c':'x'},'d':'2020-01-01'}", "{'a':NULL,'d':NULL}"}},
	{name: "STRUCT(a INTEGER)[]", literals: []string{"[{'a':1},NULL]"}},
	{name: "UNION(n INTEGER, s VARCHAR)", literals: []string{"union_value(n := 1)", "union_value(s := 'x')"}, unread: true},
	{name: "MAP(VARCHAR, INTEGER)", literals: []string{"MAP {'a':1,'a key of more than twelve bytes':NULL}", "MAP {}"}},
	{name: "MAP(INTEGER, VARCHAR[])", literals: []string{"MAP {1:['x',NULL],2:NULL}"}},
	{name: "UUID[]", literals: []string{"['f47ac10b-58cc-4372-a567-0e02b2c3d479', NULL]"}},
	{name: "TIMESTAMPTZ[]", literals: []string{"['2024-02-29 12:00:00+05:30',NULL]"}},
	{name: "INTERVAL[]", literals: []string{"[INTERVAL '1 month 2 days', NULL]"}},
}

// values of a case as rows (i, v), with NULLs.
func (k typeCase) values() string {
	var rows []string
	for i, l := range append([]string{"NULL"}, append(k.literals, "NULL")...) {
		rows = append(rows, fmt.Sprintf("(%d, CAST(%s AS %s))", i, l, k.name))
	}
	return strings.Join(rows, ", ")
}

const readBack = "SELECT i, CAST(v AS VARCHAR) AS v FROM t ORDER BY i"

// Every type of DuckDB's comes back with equal values or is refused with 0A000 before anything is stored: E4, X1.
func TestTypesComeBack(t *testing.T) {
	e := openEngine(t)
	s := openSession(t, e)
	twin := openNative(t, 2)
	for _, k := range typeCases {
		t.Run(k.name, func(t *testing.T) {
			twin.exec("DROP TABLE IF EXISTS t")
			require.Empty(t, twin.exec("CREATE TABLE t (i INTEGER, v "+k.name+")").message)
			require.Empty(t, twin.exec("INSERT INTO t VALUES "+k.values()).message)
			ways := map[string][]string{
				"as":     {"CREATE TABLE t AS SELECT * FROM (VALUES " + k.values() + ") AS rows(i, v)"},
				"insert": {"CREATE TABLE t (i INTEGER, v " + k.name + ")", "INSERT INTO t VALUES " + k.values()},
				"twice":  {"CREATE TABLE o AS SELECT * FROM (VALUES " + k.values() + ") AS rows(i, v)", "CREATE TABLE t AS SELECT * FROM o WHERE i < 2", "INSERT INTO t SELECT * FROM o WHERE i >= 2"},
			}
			for way, script := range ways {
				s.must(t, "DROP TABLE IF EXISTS t, o")
				var got outcome
				for _, sql := range script {
					if got = s.exec(sql); got.state != "" {
						break
					}
				}
				if k.refused {
					require.Equal(t, "0A000", got.state, "%s: %s", way, got.message)
					s.fails(t, "42P01", "SELECT * FROM t") // E4: not even a name is left
					continue
				}
				require.Empty(t, got.message, way)
				require.Empty(t, s.query(readBack, nil).differs(twin.query(readBack, nil), true), way)
				raw := "SELECT v FROM t ORDER BY i"
				if k.stored != "" {
					raw = "SELECT CAST(v AS VARCHAR) AS v FROM t ORDER BY i"
				}
				require.Empty(t, s.query(raw, nil).differs(twin.query(raw, nil), true), way)
				require.Empty(t, s.query("SELECT * FROM t", nil).message, way)
			}
		})
	}
}

// Bytes and text in one VALUES, as PostgreSQL's clients and DuckDB's users write them.
func TestBytesInValues(t *testing.T) {
	s := openSession(t, openEngine(t))
	s.must(t, `CREATE TABLE t (i INTEGER, v BLOB); INSERT INTO t VALUES (1, 'ab'), (2, '\x00ff'), (3, '\x'), (4, NULL), (5, 'a\x01b')`)
	require.Equal(t, []string{"1 | 6162", "2 | 00FF", "3 | ", "4 | NULL", "5 | 610162"}, s.ask(t, "SELECT i, hex(v) AS h FROM t ORDER BY i"))
}

// Files of every format bring the values that DuckDB reads from them.
func TestFilesComeIn(t *testing.T) {
	e := openEngine(t)
	s := openSession(t, e)
	twin := openNative(t, 2)
	dir := t.TempDir()
	for at, k := range typeCases {
		t.Run(k.name, func(t *testing.T) {
			twin.exec("DROP TABLE IF EXISTS t")
			require.Empty(t, twin.exec("CREATE TABLE t AS SELECT * FROM (VALUES "+k.values()+") AS rows(i, v)").message)
			for _, format := range []string{"parquet", "arrow", "csv"} {
				path := filepath.Join(dir, fmt.Sprintf("%d.%s", at, format))
				want := twin.query(readBack, nil)
				switch format {
				case "arrow":
					writeArrow(t, twin, path)
				default:
					if twin.exec(fmt.Sprintf("COPY t TO '%s' (FORMAT %s)", path, format)).state != "" {
						continue // DuckDB cannot write that type there
					}
					want = twin.query(strings.Replace(readBack, "FROM t", fmt.Sprintf("FROM '%s'", path), 1), nil)
				}
				name := catalog.TableName{Schema: "public", Name: "t"}
				_, err := e.Load(context.Background(), noderpc.LoadRequest{Table: name, Files: []string{path}, Options: noderpc.LoadOptions{Mode: noderpc.LoadReplace}}, nil)
				if err != nil {
					require.Equal(t, "0A000", failed(err).state, "%s: %v", format, err)
					require.True(t, k.refused || k.unread, "%s: %v", format, err)
					continue
				}
				require.Empty(t, s.query(readBack, nil).differs(want, true), format)
			}
		})
	}
}

// writeArrow writes the twin's table t as an Arrow IPC file.
func writeArrow(t *testing.T, twin *native, path string) {
	st, err := twin.conn.Prepare("SELECT * FROM t")
	require.NoError(t, err)
	defer st.Close()
	rows, err := st.Execute(context.Background())
	require.NoError(t, err)
	defer rows.Close()
	f, err := os.Create(path)
	require.NoError(t, err)
	defer f.Close()
	w, err := ipc.NewFileWriter(f, ipc.WithSchema(rows.Schema()))
	require.NoError(t, err)
	for {
		b, err := rows.Next()
		if err != nil {
			break
		}
		require.NoError(t, w.Write(b))
		b.Release()
	}
	require.NoError(t, w.Close())
}
