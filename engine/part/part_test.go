package part

import (
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/sql/statement"
)

func found(t *testing.T, text string) (*Parts, error) {
	st, err := statement.Parse(text)
	require.NoError(t, err, text)
	return Find(st, func() (*statement.Statement, error) { return st, nil })
}

// PT1, PT3: which pieces of a statement run before it, as what, and what it reads in their places.
func TestFind(t *testing.T) {
	for _, c := range []struct {
		text  string
		parts []string
		over  string // n is the number of a part
	}{
		{"SELECT * FROM t FOR UPDATE", nil, ""},
		{"SELECT substring(k for 2), 'for update', 'with insert' FROM (SELECT k FROM t) s", nil, ""},
		{"EXPLAIN SELECT * FROM (SELECT 1 FROM t FOR UPDATE) s", nil, ""},
		{"DELETE FROM t WHERE k = (SELECT k FROM t LIMIT 1 FOR UPDATE SKIP LOCKED) RETURNING k",
			[]string{"SELECT k FROM t LIMIT 1 FOR UPDATE SKIP LOCKED"},
			`DELETE FROM t WHERE k = (SELECT c0 AS "a""b" FROM csm_scan(0)) RETURNING k`},
		{"SELECT * FROM ((SELECT substring(k FOR (2)) FROM t FOR UPDATE)) s FOR SHARE",
			[]string{"SELECT substring(k FOR (2)) FROM t FOR UPDATE"}, `SELECT * FROM ((SELECT c0 AS "a""b" FROM csm_scan(0))) s FOR SHARE`},
		{"WITH a AS (SELECT 1) INSERT INTO \"select\" (k) SELECT k FROM t JOIN u ON true FOR UPDATE OF t ON CONFLICT DO NOTHING; ",
			[]string{"SELECT k FROM t JOIN u ON true FOR UPDATE OF t "},
			`WITH a AS (SELECT 1) INSERT INTO "select" (k) SELECT c0 AS "a""b" FROM csm_scan(0)ON CONFLICT DO NOTHING; `},
		{"INSERT INTO t SELECT $3 FROM t WHERE k > $1 FOR UPDATE LIMIT $3;",
			[]string{"SELECT $2 FROM t WHERE k > $1 FOR UPDATE LIMIT $2"}, `INSERT INTO t SELECT c0 AS "a""b" FROM csm_scan(0);`},
		{"WITH a AS (SELECT 3 AS k), b AS (SELECT t.k FROM t, a FOR UPDATE), c AS (SELECT 2) SELECT * FROM b, a WHERE k IN (SELECT k FROM c, b FOR SHARE OF b)",
			[]string{"WITH a AS (SELECT 3 AS k) SELECT t.k FROM t, a FOR UPDATE",
				`WITH a AS (SELECT 3 AS k), b AS (SELECT c0 AS "a""b" FROM csm_scan(0)), c AS (SELECT 2) SELECT k FROM c, b FOR SHARE OF b`},
			`WITH a AS (SELECT 3 AS k), b AS (SELECT c0 AS "a""b" FROM csm_scan(0)), c AS (SELECT 2) SELECT * FROM b, a WHERE k IN (SELECT c0 AS "a""b" FROM csm_scan(1))`},
		{"WITH RECURSIVE d (x) AS MATERIALIZED (DELETE FROM q WHERE k IN (SELECT k FROM q FOR UPDATE) RETURNING k), i AS (INSERT INTO z SELECT $2 FROM d RETURNING *) SELECT $1 FROM i",
			[]string{"DELETE FROM q WHERE k IN (SELECT k FROM q FOR UPDATE) RETURNING k",
				`WITH RECURSIVE d (x) AS MATERIALIZED (SELECT c0 AS "a""b" FROM csm_scan(0)) INSERT INTO z SELECT $1 FROM d RETURNING *`},
			`WITH RECURSIVE d (x) AS MATERIALIZED (SELECT c0 AS "a""b" FROM csm_scan(0)), i AS (SELECT c0 AS "a""b" FROM csm_scan(1)) SELECT $1 FROM i`},
		{"WITH a AS (SELECT 1), t AS (WITH b AS (TABLE a) DELETE FROM t USING b, a RETURNING 1) TABLE t",
			[]string{"WITH a AS (SELECT 1),  b AS (TABLE a) DELETE FROM t USING b, a RETURNING 1"},
			`WITH a AS (SELECT 1), t AS (SELECT c0 AS "a""b" FROM csm_scan(0)) TABLE t`},
		{"WITH u AS (UPDATE t SET k = 1) SELECT 1", []string{"UPDATE t SET k = 1"}, "WITH u AS (SELECT NULL WHERE false) SELECT 1"},
	} {
		parts, err := found(t, c.text)
		require.NoError(t, err, c.text)
		require.Len(t, parts.list(), len(c.parts), c.text)
		for i, p := range parts.list() {
			parsed, err := parts.Parse(p)
			require.NoError(t, err, c.text)
			require.Equal(t, c.parts[i], parsed.Text)
			p.number = uint64(i)
			if c.over[len(c.over)-1] != '1' || i > 0 || !p.Changes {
				p.columns = arrow.NewSchema([]arrow.Field{{Name: `a"b`, Type: arrow.PrimitiveTypes.Int32}}, nil)
			}
		}
		if parts != nil {
			over, _, _ := parts.Over()
			require.Equal(t, c.over, over)
		}
	}
}

// PT3: what a part cannot be given is refused.
func TestRefused(t *testing.T) {
	for text, words := range map[string]string{
		"SELECT * FROM (SELECT 1 FROM (SELECT 1 FROM t FOR UPDATE) s FOR SHARE) s":                    "in a query within one",
		"SELECT * FROM (WITH a AS (SELECT 1) SELECT * FROM (SELECT 1 FROM t, a FOR UPDATE) s) s":      `the WITH query "a"`,
		"WITH RECURSIVE a AS (SELECT 1 FROM t, b FOR UPDATE), b AS (SELECT 1) SELECT 1":               `the WITH query "b"`,
		"(SELECT 1 FROM t FOR UPDATE) UNION (SELECT 2)":                                               "UNION",
		"SELECT * FROM (WITH a AS (DELETE FROM t RETURNING 1) TABLE a) s":                             "must be at the top level",
		"WITH a AS (DELETE FROM t) TABLE a":                                                           `"a" does not have a RETURNING clause`,
		"WITH a AS (DELETE FROM t RETURNING k) MERGE INTO u USING a ON true WHEN MATCHED THEN DELETE": "MERGE",
	} {
		_, err := found(t, text)
		require.ErrorContains(t, err, words, text)
	}
	parts, err := found(t, "WITH a AS (DELETE FROM t), b AS (INSERT INTO u SELECT * FROM a RETURNING 1) SELECT * FROM b")
	require.NoError(t, err)
	_, err = parts.Parse(parts.List[1])
	require.ErrorContains(t, err, `"a" does not have a RETURNING clause`)
	parts, err = found(t, "WITH a AS (SELECT random() AS r), b AS (INSERT INTO t SELECT r FROM a RETURNING *) SELECT * FROM a, b")
	require.NoError(t, err)
	_, err = parts.Parse(parts.List[0])
	require.ErrorContains(t, err, "random()")
}
