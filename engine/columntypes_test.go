package engine_test

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/cluster/noderpc"
	"github.com/csmsql/csmsql/engine"
)

// shownType is what \d shows of a column.
func shownType(t testing.TB, s *engine.Session, table, column string) string {
	t.Helper()
	return rows(t, s, "SELECT format_type(atttypid, atttypmod) FROM pg_attribute WHERE attrelid = '"+table+"'::regclass AND attname = '"+column+"'")[0]
}

// standsFor are the types that are shown as others: those of DuckDB's that PostgreSQL has no name for, and the aliases that T1 of columntype
// names.
var standsFor = map[string]string{
	"jsonb": "json", "character varying": "text", "numeric": "numeric(18,3)", "character": "character(1)", "float": "real", "double": "double precision", "float4": "real", "float8": "double precision",
	"bool": "boolean", "logical": "boolean", "int": "integer", "int4": "integer", "int32": "integer", "signed": "integer", "integral": "integer", "long": "bigint", "int8": "bigint", "int64": "bigint",
	"int2": "smallint", "int16": "smallint", "short": "smallint", "int1": "smallint", "tinyint": "smallint", "utinyint": "smallint", "uint8": "smallint",
	"usmallint": "integer", "uint16": "integer", "uinteger": "bigint", "uint32": "bigint", "ubigint": "numeric", "uint64": "numeric",
	"decimal": "numeric(18,3)", "dec": "numeric(18,3)", "varchar": "text", "string": "text", "nvarchar": "text", "char": "character(1)",
	"blob": "bytea", "binary": "bytea", "varbinary": "bytea", "guid": "uuid", "datetime": "timestamp without time zone", "timestamp": "timestamp without time zone",
	"timestamp_us": "timestamp without time zone", "timestamp_ns": "timestamp without time zone", "timestamp_s": "timestamp(0) without time zone", "timestamp_ms": "timestamp(3) without time zone",
	"timestamptz": "timestamp with time zone", "time": "time without time zone", "time_ns": "time without time zone", "timetz": "time with time zone",
	"hugeint": "numeric", "int128": "numeric", "uhugeint": "numeric", "uint128": "numeric", "bignum": "numeric", "varint": "numeric", "bitstring": "bit varying", "varbit": "bit varying",
}

// Every type of PostgreSQL's and of DuckDB's: a column of it is shown as that type, or as the alias above, or is an error that names it (T1).
func TestEveryTypeIsKeptOrRefused(t *testing.T) {
	t.Parallel()
	s := session(t, open(t))
	types := rows(t, s, "SELECT DISTINCT format_type(oid, NULL) FROM pg_type WHERE typtype IN ('b', 'p', 'r', 'm', 'd', 'e') AND typnamespace = 11 AND typname NOT IN (SELECT '_' || relname FROM pg_class) ORDER BY 1")
	known := len(types) // each of them, if only to be refused
	require.Greater(t, known, 150)
	types = append(types, rows(t, s, "SELECT DISTINCT lower(type_name) FROM duckdb_types() ORDER BY 1")...)
	require.Greater(t, len(types), 200)
	kept := 0
	for i, name := range types {
		_, err := s.Exec(t.Context(), "CREATE TABLE walk (c "+name+")")
		if err != nil {
			require.Contains(t, []string{"0A000", "42704", "42P16", "42601", "42P10"}, state(t, err), "%s: %v", name, err)
			require.False(t, i < known && state(t, err) == "42704", "%s: %v", name, err)
			if state(t, err) == "0A000" {
				require.NotEmpty(t, hintOf(err), "%s: %v", name, err)
			}
			continue
		}
		kept++
		want, alias := standsFor[strings.TrimSuffix(name, "[]")]
		if !alias {
			want = strings.TrimSuffix(name, "[]")
		}
		shown := shownType(t, s, "walk", "c")
		require.Equal(t, want, strings.TrimSuffix(shown, "[]"), name)
		require.Equal(t, strings.HasSuffix(name, "[]"), strings.HasSuffix(shown, "[]"), name)
		exec(t, s, "DROP TABLE walk")
	}
	require.Greater(t, kept, 60)
}

// The length of varchar(n) and char(n), on every way in. What is too long is refused, spaces that are too many are cut.
func TestLengthsAreKept(t *testing.T) {
	t.Parallel()
	e := open(t)
	s := session(t, e)
	exec(t, s, "CREATE TABLE t (a varchar(3), b character(2), c varchar)")
	require.Equal(t, "character varying(3)", shownType(t, s, "t", "a"))
	require.Equal(t, "character(2)", shownType(t, s, "t", "b"))
	require.Equal(t, []string{"3|2|(null)"}, rows(t, s, "SELECT max(character_maximum_length) FILTER (WHERE column_name = 'a'), max(character_maximum_length) FILTER (WHERE column_name = 'b'), max(character_maximum_length) FILTER (WHERE column_name = 'c') FROM information_schema.columns WHERE table_name = 't'"))
	exec(t, s, "INSERT INTO t VALUES ('äöü', 'xy', 'long enough'), ('ab   ', 'x    ', NULL), (NULL, NULL, NULL)")
	require.Equal(t, []string{"äöü|xy", "ab |x", "(null)|(null)"}, rows(t, s, "SELECT a, b FROM t"))
	require.Equal(t, []string{"1|1|x."}, rows(t, s, "SELECT count(*), max(length(b)), max(b || '.') FROM t WHERE b = 'x'"), "blanks at the end of a char mean nothing")
	require.Equal(t, []string{"q"}, rows(t, s, "UPDATE t SET b = 'q ' WHERE b = 'x' RETURNING b"))
	exec(t, s, "UPDATE t SET b = 'x' WHERE b = 'q'")
	require.Equal(t, []string{"z  "}, rows(t, s, "INSERT INTO t (a) VALUES ('z      ') RETURNING a"))
	require.Equal(t, []string{"y  "}, rows(t, s, "UPDATE t SET a = 'y     ' WHERE a = 'z  ' RETURNING a"))
	exec(t, s, "DELETE FROM t WHERE a = 'y  '")

	dir := t.TempDir()
	csv := filepath.Join(dir, "x.csv")
	require.NoError(t, os.WriteFile(csv, []byte("a,b,c\nlonger,x,y\n"), 0o600))
	tooLong := func(what string, err error) {
		t.Helper()
		require.Error(t, err, what)
		require.Equal(t, "22001", state(t, err), "%s: %v", what, err)
		require.ErrorContains(t, err, "value too long for type character", what)
	}
	for _, text := range []string{
		"INSERT INTO t (a) VALUES ('abcd')", "INSERT INTO t (b) VALUES ('abc')", "INSERT INTO t (a) SELECT 'abcd' FROM range(3)", "UPDATE t SET a = 'abcd'",
		"UPDATE t SET b = c WHERE c IS NOT NULL", "INSERT INTO t (a) VALUES ('ab  c') RETURNING a", "WITH q AS (SELECT 'abcd' AS x) INSERT INTO t (a) SELECT x FROM q",
	} {
		_, err := s.Exec(t.Context(), text)
		tooLong(text, err)
	}
	_, err := s.Exec(t.Context(), "INSERT INTO t (a) VALUES ($1)", "abcd")
	tooLong("a parameter", err)
	st, err := s.Prepare(t.Context(), "COPY t (a) FROM STDIN")
	require.NoError(t, err)
	defer st.Close()
	fields := [][]byte{[]byte("abcd")}
	_, err = st.CopyIn(t.Context(), func() ([][]byte, error) {
		if fields == nil {
			return nil, io.EOF
		}
		row := fields
		fields = nil
		return row, nil
	})
	tooLong("COPY", err)
	_, err = e.Load(t.Context(), noderpc.LoadRequest{Table: catalog.TableName{Schema: "public", Name: "t"}, Files: []string{csv}, Options: noderpc.LoadOptions{Mode: noderpc.LoadAppend}}, nil)
	tooLong("load", err)
	tooLong("Arrow", assembleOne(t, e, "t", [3]string{"abcd", "x", "y"}))
	require.NoError(t, assembleOne(t, e, "t", [3]string{"abc ", "x", "y"}))
	require.Equal(t, []string{"4|äöü"}, rows(t, s, "SELECT count(*), max(a) FROM t"))

	// A table of such columns has them, too, as with PostgreSQL; of what is computed it has not.
	exec(t, s, "CREATE TABLE u AS SELECT a, b, a || b AS ab FROM t")
	require.Equal(t, "character varying(3)", shownType(t, s, "u", "a"))
	require.Equal(t, "text", shownType(t, s, "u", "ab"))
	_, err = s.Exec(t.Context(), "INSERT INTO u (a) VALUES ('abcd')")
	tooLong("CREATE TABLE AS", err)
	exec(t, s, "ALTER TABLE t RENAME TO w")
	_, err = s.Exec(t.Context(), "INSERT INTO w (a) VALUES ('abcd')")
	tooLong("a renamed table", err)
	_, err = s.Exec(t.Context(), "CREATE TABLE x (a varchar(2) DEFAULT 'abc'); INSERT INTO x DEFAULT VALUES")
	tooLong("a default", err)
}

// assembleOne adds a row of three strings.
func assembleOne(t testing.TB, e *engine.Engine, table string, row [3]string) error {
	ctx := context.Background()
	a, err := e.Assemble(ctx, engine.AssembleOptions{Table: catalog.TableName{Schema: "public", Name: table}})
	require.NoError(t, err)
	defer a.Abort()
	p, err := a.Part(ctx, "", 0)
	require.NoError(t, err)
	columns := make([]arrow.Array, len(row))
	for i, v := range row {
		b := array.NewStringBuilder(memory.DefaultAllocator)
		b.Append(v)
		columns[i] = b.NewArray()
	}
	batch := array.NewRecordBatch(a.Schema(), columns, 1)
	if err := p.Add(ctx, batch); err != nil {
		return err
	}
	return a.Commit(ctx)
}

// The length outlives the process, and every node of a cluster keeps it.
func TestLengthsInACluster(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 2)
	exec(t, c.session(0), "CREATE TABLE t (a varchar(3)) WITH (placement = 'node(n0)')")
	for k := range 2 {
		s := c.session(k)
		_, err := s.Exec(t.Context(), "INSERT INTO t VALUES ('abcd')")
		require.Error(t, err)
		require.Equal(t, "22001", state(t, err), err)
		require.Equal(t, "character varying(3)", shownType(t, s, "t", "a"))
		exec(t, s, "INSERT INTO t VALUES ('abc')")
	}
}

// Temporary tables are DuckDB's, which forgets lengths: they are checks there.
func TestLengthsOfTemporaryTables(t *testing.T) {
	t.Parallel()
	s := session(t, open(t))
	exec(t, s, `CREATE TEMP TABLE t (a varchar(3), "b c" char(2) NOT NULL DEFAULT 'x', n int CHECK (n > 0), s text)`)
	exec(t, s, "INSERT INTO t VALUES ('abc', 'xy', 1, 'long enough'), (NULL, 'x', NULL, NULL)")
	for _, text := range []string{"INSERT INTO t (a) VALUES ('abcd')", `INSERT INTO t ("b c") VALUES ('abc')`, "UPDATE t SET a = 'abcd'", "INSERT INTO t (a) SELECT 'abcd' FROM range(3)"} {
		_, err := s.Exec(t.Context(), text)
		require.Error(t, err, text)
		require.Equal(t, "22001", state(t, err), "%s: %v", text, err)
	}
	for _, text := range []string{"CREATE TEMP TABLE u (a varchar(3)[])", "CREATE TEMP TABLE u (a STRUCT (x CHAR(3)))", "CREATE TEMP TABLE u (a varchar(3), b int GENERATED ALWAYS AS (1))", "CREATE TEMP TABLE u (a text(3))"} {
		_, err := s.Exec(t.Context(), text)
		require.Error(t, err, text)
	}
	exec(t, s, "CREATE TEMP TABLE kept (a varchar(3)) ON COMMIT PRESERVE ROWS")
	_, err := s.Exec(t.Context(), "INSERT INTO kept VALUES ('abcd')")
	require.Error(t, err)
	require.Equal(t, "22001", state(t, err))
	exec(t, s, "CREATE TEMP TABLE v (a int, b decimal(4,2)); INSERT INTO v VALUES (1, 2.5)")
	require.Equal(t, []string{"2"}, rows(t, s, "SELECT count(*) FROM t"))
}
