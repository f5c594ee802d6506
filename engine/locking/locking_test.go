package locking

import (
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/engine/snapshot"
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
