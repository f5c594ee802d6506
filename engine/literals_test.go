package engine_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// What PostgreSQL's clients write must not become other bytes on its way.
func TestLiteralsOfPostgreSQL(t *testing.T) {
	s := session(t, open(t))
	require.Equal(t, []string{"0001FF"}, rows(t, s, `SELECT hex('\x0001ff'::bytea)`))
	require.Equal(t, []string{"0001FF"}, rows(t, s, `SELECT hex('\x00\x01\xFF'::BLOB)`), "DuckDB's own spelling")
	require.Equal(t, []string{`\x0001ff`}, rows(t, s, `SELECT '\x0001ff'`), "no bytes without a cast")
	require.Equal(t, []string{"3"}, rows(t, s, `SELECT sum(x)::int FROM unnest('{1,2}'::int[]) u(x)`))
	require.Equal(t, []string{"true"}, rows(t, s, `SELECT 2 = ANY('{1,2}'::int[])`))
	require.Equal(t, []string{"2"}, rows(t, s, `SELECT len('{"a,b",c}'::text[])`))
	exec(t, s, "CREATE TABLE t (b bytea, l int[])")
	exec(t, s, `INSERT INTO t VALUES ('\xdeadbeef', '{1,2,3}'), (NULL, '[4]')`)
	require.Equal(t, []string{"DEADBEEF|3", "(null)|1"}, rows(t, s, "SELECT hex(b), len(l) FROM t ORDER BY len(l) DESC"))
}
