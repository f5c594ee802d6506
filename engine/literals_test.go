package engine_test

import (
	"context"
	"io"
	"testing"

	"github.com/stretchr/testify/require"
)

// What PostgreSQL's clients write must not become other bytes on its way.
func TestLiteralsOfPostgreSQL(t *testing.T) {
	s := session(t, open(t))
	require.Equal(t, []string{"0001FF"}, rows(t, s, `SELECT hex('\x0001ff'::bytea)`))
	require.Equal(t, []string{"0001FF"}, rows(t, s, `SELECT hex(E'\\x0001ff'::bytea)`))
	require.Equal(t, []string{"0001FF"}, rows(t, s, `SELECT hex('\x00\x01\xFF'::BLOB)`), "DuckDB's own spelling")
	require.Equal(t, []string{`\x0001ff`}, rows(t, s, `SELECT '\x0001ff'`), "no bytes without a cast")
	require.Equal(t, []string{"3"}, rows(t, s, `SELECT sum(x)::int FROM unnest('{1,2}'::int[]) u(x)`))
	require.Equal(t, []string{"true"}, rows(t, s, `SELECT 2 = ANY('{1,2}'::int[])`))
	require.Equal(t, []string{"2"}, rows(t, s, `SELECT len('{"a,b",c}'::text[])`))
	for sql, want := range map[string]string{ // as PostgreSQL 15 answers
		`SELECT count(*) FROM range(10) r(i) WHERE i = ANY ('{3, "4" ,55,NULL}')`:                      "2",
		`SELECT count(*) FROM range(10) r(i) WHERE i <> ALL ('{3,4}') AND i = /* c */ SOME('{3,4,5}')`: "1",
		`SELECT count(*) FROM range(10) r(i) WHERE i <> ALL ('{3,NULL}')`:                              "0",
		`SELECT 'a' = ANY ('{}'), 'a' <> ALL ('{ }'), 1 + 1 = ANY ('{2}') AND NOT 3 = ANY ('{2}')`:     "false|true|true",
		`SELECT 'it''s "x", {y}' = ANY (E'{z,"it''s \\"x\\", {y}"}'), 'null' = ANY ('{"null"}')`:       "true|true",
		`SELECT date '2020-01-02' = ANY ('{2020-01-01,2020-01-02}'), 'a b' = SOME ('{a b , c}')`:       "true|true",
	} {
		require.Equal(t, []string{want}, rows(t, s, sql), sql)
	}
	exec(t, s, "CREATE TABLE t (b bytea, l int[])")
	exec(t, s, `INSERT INTO t VALUES ('\xdeadbeef', '{1,2,3}'), (NULL, '[4]')`)
	require.Equal(t, []string{"DEADBEEF|3", "(null)|1"}, rows(t, s, "SELECT hex(b), len(l) FROM t ORDER BY len(l) DESC"))
}

func TestCopyReadsBytesAndArrays(t *testing.T) {
	s := session(t, open(t))
	exec(t, s, "CREATE TABLE t (b bytea, l int[], v text)")
	st, err := s.Prepare(context.Background(), "COPY t FROM STDIN")
	require.NoError(t, err)
	defer st.Close()
	lines := [][][]byte{{[]byte(`\x00ff10`), []byte("{1,2}"), []byte(`\x41`)}, {nil, []byte("{}"), []byte("{a}")}}
	tag, err := st.CopyIn(context.Background(), func() ([][]byte, error) {
		if len(lines) == 0 {
			return nil, io.EOF
		}
		line := lines[0]
		lines = lines[1:]
		return line, nil
	})
	require.NoError(t, err)
	require.Equal(t, "COPY 2", tag)
	require.Equal(t, []string{`00FF10|2|\x41`, "(null)|0|{a}"}, rows(t, s, "SELECT hex(b), len(l), v FROM t ORDER BY len(l) DESC"))
}
