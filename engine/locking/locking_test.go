package locking

import (
	"fmt"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/engine/snapshot"
	"github.com/csmsql/csmsql/sql/dialect"
	"github.com/csmsql/csmsql/sql/statement"
)

// FU3, FU5: which text gives the rows with their numbers.
func TestText(t *testing.T) {
	version, err := catalog.Collect(catalog.TableName{Schema: "public", Name: "t"},
		arrow.NewSchema([]arrow.Field{{Name: "k", Type: arrow.PrimitiveTypes.Int32}}, nil), nil)
	require.NoError(t, err)
	for written, want := range map[string]string{
		"SELECT k FROM t FOR UPDATE":                                   `SELECT k , "t"."csm_row0" FROM "csm_numbered0"."t" AS "t"`,
		"SELECT * FROM t AS a LIMIT 1 FOR SHARE OF a SKIP LOCKED":      `SELECT * , "a"."csm_row0" FROM "csm_numbered0"."t" AS "a" LIMIT 1`,
		"SELECT 1 FROM T x, public.t FOR UPDATE OF t LIMIT 1":          `SELECT 1 , "t"."csm_row0" FROM T x, "csm_numbered0"."t" AS "t" LIMIT 1`,
		"SELECT k IS DISTINCT FROM 1 FROM t FOR UPDATE":                `SELECT k IS DISTINCT FROM 1 , "t"."csm_row0" FROM "csm_numbered0"."t" AS "t"`,
		"SELECT public.t.k FROM public.t FOR NO KEY UPDATE FOR SHARE":  `SELECT t.k , "t"."csm_row0" FROM "csm_numbered0"."t" AS "t"`,
		"TABLE t FOR KEY SHARE NOWAIT":                                 `SELECT *, "t"."csm_row0" FROM "csm_numbered0"."t" AS "t"`,
		"SELECT k AS csm_row FROM t FOR UPDATE":                        `SELECT k AS csm_row , "t"."csm_row_0" FROM "csm_numbered0"."t" AS "t"`,
		"SELECT a.k FROM t a JOIN t b USING (k) FOR UPDATE":            `SELECT a.k , "a"."csm_row0", "b"."csm_row1" FROM "csm_numbered0"."t" AS "a" JOIN "csm_numbered1"."t" AS "b" USING (k)`,
		"WITH w AS (SELECT 1 FROM t) SELECT 'for' FROM w, t FOR SHARE": `WITH w AS (SELECT 1 FROM t) SELECT 'for' , "t"."csm_row0" FROM w, "csm_numbered0"."t" AS "t"`,
	} {
		st, err := statement.Parse(written)
		require.NoError(t, err, written)
		q, err := Of(st)
		require.NoError(t, err, written)
		require.Len(t, q.Plain, len(written))
		list, err := q.wanted()
		require.NoError(t, err, written)
		var targets []*target
		for _, w := range list {
			if !q.isCTE(w.relation) {
				targets = append(targets, &target{wanted: w, numbers: &snapshot.Numbers{Version: version}})
			}
		}
		p, err := q.planOf(targets)
		require.NoError(t, err, written)
		require.Equal(t, want, strings.Join(strings.Fields(p.Text), " "), written)
	}
	st, err := statement.Parse("SELECT k FROM t")
	require.NoError(t, err)
	q, err := Of(st)
	require.NoError(t, err)
	require.Nil(t, q)
}

// FU4: of several clauses about a table the strongest counts, and the one that waits least.
func TestCommand(t *testing.T) {
	for written, want := range map[string]string{
		"SELECT 1": "", "SELECT 1 FOR KEY SHARE": "SELECT FOR KEY SHARE", "SELECT * FROM t FOR SHARE FOR NO KEY UPDATE": "SELECT FOR NO KEY UPDATE",
		"SELECT * FROM (SELECT 1 FOR UPDATE) s FOR SHARE": "SELECT FOR SHARE", "INSERT INTO t SELECT 1 FOR UPDATE": "",
	} {
		st, err := statement.Parse(written)
		require.NoError(t, err, written)
		require.Equal(t, want, Command(st), written)
	}
}

// FU6: which queries within a statement run before it, and what it reads in their places.
func TestWithin(t *testing.T) {
	asIs := func(st *statement.Statement) func() (*statement.Statement, error) {
		return func() (*statement.Statement, error) { return st, nil }
	}
	for written, want := range map[string][]string{
		"SELECT * FROM t FOR UPDATE": nil, "SELECT substring(k for 2), 'for update' FROM (SELECT k FROM t) s": nil,
		"DELETE FROM t WHERE k = (SELECT k FROM t LIMIT 1 FOR UPDATE SKIP LOCKED) RETURNING k":                                    {"SELECT k FROM t LIMIT 1 FOR UPDATE SKIP LOCKED"},
		"WITH a AS (TABLE t FOR SHARE), b AS (SELECT (1)) SELECT * FROM a WHERE k IN (SELECT k FROM t FOR KEY SHARE OF t)":        {"TABLE t FOR SHARE", "SELECT k FROM t FOR KEY SHARE OF t"},
		"SELECT * FROM ((SELECT substring(k FOR (2)) FROM t FOR UPDATE)) s FOR SHARE":                                             {"SELECT substring(k FOR (2)) FROM t FOR UPDATE"},
		"WITH a AS (SELECT 1) INSERT INTO \"select\" (k) SELECT k FROM t JOIN u ON true FOR UPDATE OF t ON CONFLICT DO NOTHING; ": {"SELECT k FROM t JOIN u ON true FOR UPDATE OF t "},
		"INSERT INTO t SELECT $3 FROM t WHERE k > $1 FOR UPDATE LIMIT $3;":                                                        {"SELECT $2 FROM t WHERE k > $1 FOR UPDATE LIMIT $2"},
		"INSERT INTO t (SELECT k FROM t FOR UPDATE) RETURNING k":                                                                  {"SELECT k FROM t FOR UPDATE"},
		"EXPLAIN SELECT * FROM (SELECT 1 FROM t FOR UPDATE) s":                                                                    nil,
	} {
		st, err := statement.Parse(written)
		require.NoError(t, err, written)
		parts, err := Within(st, asIs(st))
		require.NoError(t, err, written)
		require.Len(t, parts, len(want), written)
		over := written
		for i, p := range parts {
			text, _ := dialect.Dense(written[p.from:p.to])
			require.Equal(t, want[i], text, written)
			p.columns = arrow.NewSchema([]arrow.Field{{Name: `a"b`, Type: arrow.PrimitiveTypes.Int32}}, nil)
			p.number = uint64(i)
			over = strings.Replace(over, written[p.from:p.to], fmt.Sprintf(`SELECT c0 AS "a""b" FROM csm_scan(%d)`, i), 1)
		}
		if over, _ = dialect.Dense(over); parts != nil {
			made, _, _ := parts.Over(written)
			require.Equal(t, over, made)
		}
	}
	for written, words := range map[string]string{
		"SELECT * FROM (SELECT 1 FROM (SELECT 1 FROM t FOR UPDATE) s FOR SHARE) s":   "in a query within one",
		"WITH a AS (SELECT 1), b AS (SELECT 1 FROM t, a FOR UPDATE) SELECT * FROM b": `the WITH query "a"`,
		"(SELECT 1 FROM t FOR UPDATE) UNION (SELECT 2)":                              "UNION",
		"SELECT * FROM (SELECT DISTINCT k FROM t FOR UPDATE) s":                      "DISTINCT",
	} {
		st, err := statement.Parse(written)
		require.NoError(t, err, written)
		_, err = Within(st, asIs(st))
		require.ErrorContains(t, err, words, written)
	}
}
