package engine_test

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/csmsql/csmsql/catalog/store"
	"github.com/csmsql/csmsql/engine"
	"github.com/csmsql/csmsql/sql/sqlerror"
)

// Rows of one-row INSERTs become few chunks together, in the order in which they came.
func TestRowsOfManyInsertsShareChunks(t *testing.T) {
	t.Parallel()
	e := open(t, func(c *engine.Config) { c.NoCompaction = true })
	s, other := session(t, e), session(t, e)
	exec(t, s, "CREATE TABLE t (i int, s text DEFAULT 'none')")
	for i := range 100 {
		exec(t, s, "INSERT INTO t VALUES ($1, 'row')", i)
		exec(t, other, fmt.Sprintf("INSERT INTO t (i) VALUES (%d), (%d)", 1000+2*i, 1001+2*i))
	}
	require.LessOrEqual(t, chunksOf(t, s, "t"), 10, "200 INSERTs, and no statement read between them")
	require.Equal(t, []string{"300|224850"}, rows(t, s, "SELECT count(*), sum(i) FROM t"))
	require.Equal(t, []string{"0|1000|1001|1"}, rows(t, s, "SELECT string_agg(i, '|') FROM (SELECT i FROM t LIMIT 4)"))
	require.NoError(t, e.CheckSpace(t.Context()))
}

// Whatever reads or changes a table finds the rows that wait, and each statement finds them once. What began before
// does not see them.
func TestRowsThatWaitAreFound(t *testing.T) {
	t.Parallel()
	e := open(t, func(c *engine.Config) { c.NoCompaction = true })
	borrower := session(t, attached(t, e, filepath.Join(t.TempDir(), "socket"))())
	s, reads := session(t, e), session(t, e)
	frozen := session(t, e)
	for _, test := range []struct{ sql, want string }{
		{"SELECT 1", "2|3"},
		{"EXPLAIN SELECT * FROM t", "2|3"},
		{"UPDATE t SET i = i * 10", "2|30"},
		{"DELETE FROM t WHERE i = 2", "1|1"},
		{"TRUNCATE t", "0|(null)"},
		{"INSERT INTO t SELECT i + 10 FROM t", "4|26"},
		{"INSERT INTO t VALUES (10), (20)", "4|33"},
		{"MERGE INTO t USING (SELECT 2 AS k) s ON t.i = s.k WHEN MATCHED THEN UPDATE SET i = 7 WHEN NOT MATCHED THEN INSERT VALUES (0)", "2|8"},
		{"CREATE OR REPLACE TABLE t AS SELECT i + 1 AS i FROM t", "2|5"},
		{"ALTER TABLE t ADD COLUMN more int DEFAULT 7", "2|3"},
		{"ALTER TABLE t ALTER COLUMN i TYPE bigint", "2|3"},
		{"ALTER TABLE t ADD CONSTRAINT c CHECK (i > 0)", "2|3"},
		{"ALTER TABLE t ADD PRIMARY KEY (i)", "2|3"},
		{"CREATE UNIQUE INDEX x ON t (i)", "2|3"},
		{"VACUUM t", "2|3"},
		{"DROP TABLE IF EXISTS c; CREATE TABLE c CLONE t; DROP TABLE t; ALTER TABLE c RENAME TO t", "2|3"},
		{"BEGIN; INSERT INTO t VALUES (5); SAVEPOINT x; INSERT INTO t VALUES (6); ROLLBACK TO x; COMMIT", "3|8"},
		{"BEGIN; INSERT INTO t VALUES (5); SELECT count(*) FROM t; ROLLBACK", "2|3"},
		{"CREATE TABLE IF NOT EXISTS other (i int); INSERT INTO other VALUES (1); DROP TABLE other", "2|3"},
	} {
		exec(t, s, "DROP TABLE IF EXISTS t; CREATE TABLE t (i int)")
		exec(t, s, "INSERT INTO t VALUES (1)")
		exec(t, frozen, "BEGIN ISOLATION LEVEL REPEATABLE READ")
		require.Equal(t, []string{"1"}, rows(t, frozen, "SELECT count(*) FROM t"))
		exec(t, reads, "BEGIN") // READ COMMITTED: each statement sees what was committed
		require.Equal(t, []string{"1"}, rows(t, reads, "SELECT count(*) FROM t"))
		exec(t, s, "INSERT INTO t VALUES (2)")
		require.Equal(t, []string{"1"}, rows(t, frozen, "SELECT count(*) FROM t"), test.sql)
		exec(t, frozen, "COMMIT")
		exec(t, session(t, e), test.sql)
		for who, s := range map[string]*engine.Session{"the writer": s, "a transaction": reads, "another process": borrower} {
			require.Equal(t, []string{test.want}, rows(t, s, "SELECT count(*), sum(i) FROM t"), "%s: %s", test.sql, who)
		}
		exec(t, reads, "COMMIT")
	}
	for _, wrong := range []string{"ALTER TABLE t ADD CONSTRAINT c CHECK (i > 1)", "CREATE UNIQUE INDEX x ON t ((i))", "ALTER TABLE t ADD UNIQUE (i)"} {
		exec(t, s, "DROP TABLE IF EXISTS t; CREATE TABLE t (i int)")
		exec(t, s, "INSERT INTO t VALUES (1)")
		exec(t, s, "INSERT INTO t VALUES (1)")
		require.Error(t, failing(session(t, e), wrong), wrong)
	}
	require.NoError(t, e.CheckSpace(t.Context()))
}

// Statements that were prepared find the rows that wait in all that they read, however they name it; those that read
// nothing of it leave the rows where they are.
func TestRowsThatWaitAreFoundByPlans(t *testing.T) {
	t.Parallel()
	e := open(t, func(c *engine.Config) { c.NoCompaction = true })
	s := session(t, e)
	exec(t, s, `CREATE TABLE t (i int); CREATE TABLE other AS SELECT 1 AS i; CREATE VIEW v AS SELECT i FROM t;
		CREATE VIEW w AS SELECT count(*) AS n FROM v;
		CREATE SCHEMA x; CREATE TABLE x.u (i int); INSERT INTO x.u VALUES (1); INSERT INTO t VALUES (1)`)
	var finds, reads []*engine.Statement
	for _, sql := range []string{
		"SELECT count(*) FROM t", "SELECT count(*) || '' FROM t", "SELECT count(i + $1::int) FROM v", "SELECT n FROM w",
		"SELECT (SELECT count(*) FROM t) FROM other", "WITH q AS (SELECT * FROM v) SELECT count(*) FROM q, other",
		"SELECT rows FROM csm.tables WHERE name = 't'", "SELECT sum(rows) FROM csm.chunks WHERE name = 't'",
		"SELECT reltuples::int FROM pg_class WHERE relname = 't'", "SELECT count(*) FROM (SELECT 1 FROM other UNION ALL SELECT i FROM t) - 1",
		"SELECT count(*) FILTER (EXISTS (SELECT 1 FROM other)) FROM public.t",
	} {
		st, err := s.Prepare(t.Context(), strings.Replace(sql, "UNION ALL SELECT i FROM t) - 1", "UNION ALL SELECT i FROM t OFFSET 1) q", 1))
		require.NoError(t, err, sql)
		finds = append(finds, st)
	}
	for _, sql := range []string{"SELECT 1", "SELECT i FROM other", "SELECT i FROM x.u WHERE i = 1", "SELECT upper('a') FROM other"} {
		st, err := s.Prepare(t.Context(), sql)
		require.NoError(t, err)
		reads = append(reads, st)
	}
	run := func(st *engine.Statement) string {
		got, err := st.Query(t.Context(), []any{1}[:len(st.Parameters())]...)
		require.NoError(t, err)
		lines, err := linesOf(got)
		require.NoError(t, err)
		require.Len(t, lines, 1)
		return lines[0]
	}
	want := 1
	for range 3 {
		for _, st := range finds {
			exec(t, s, "INSERT INTO t VALUES (7)")
			want++
			require.Equal(t, fmt.Sprint(want), run(st), st.Text())
		}
	}
	before := chunksOf(t, s, "t")
	for range 20 {
		for _, st := range reads {
			exec(t, s, "INSERT INTO t VALUES (7)")
			run(st)
		}
	}
	require.LessOrEqual(t, chunksOf(t, s, "t"), before+10, "none of 80 statements had to have a chunk made")
}

// A statement that was prepared is planned again when its names have come to mean something else, and finds the rows that
// wait in what it reads now (K16).
func TestRowsThatWaitAreFoundByOtherPlans(t *testing.T) {
	t.Parallel()
	e := open(t, func(c *engine.Config) { c.NoCompaction = true })
	other := session(t, e)
	for _, test := range []struct{ before, sql, change, table string }{
		{"CREATE VIEW w AS SELECT i FROM other", "SELECT count(*) FROM w", "CREATE OR REPLACE VIEW w AS SELECT i FROM t", "t"},
		{"CREATE VIEW w AS SELECT i FROM other", "SELECT count(*) FROM w", "DROP VIEW w; CREATE TABLE w (i int)", "w"},
		{"SET search_path = x, public", "SELECT count(*) FROM r", "SET search_path = y, public", "y.r"},
		{"SET search_path = z, x", "SELECT count(*) FROM r", "CREATE TABLE z.r (i int)", "z.r"},
		{"", "SELECT count(*) FROM public.other", "ALTER TABLE other RENAME TO t2; ALTER TABLE t RENAME TO other", "other"},
	} {
		s := session(t, e)
		exec(t, s, `DROP SCHEMA IF EXISTS x CASCADE; DROP SCHEMA IF EXISTS y CASCADE; DROP SCHEMA IF EXISTS z CASCADE;
			DROP SCHEMA public CASCADE; CREATE SCHEMA public; CREATE SCHEMA x; CREATE SCHEMA y; CREATE SCHEMA z;
			CREATE TABLE t (i int); CREATE TABLE other (i int); CREATE TABLE x.r (i int); CREATE TABLE y.r (i int)`)
		exec(t, s, test.before)
		exec(t, other, "INSERT INTO t VALUES (0); DELETE FROM t")
		st, err := s.Prepare(t.Context(), test.sql)
		require.NoError(t, err, test.sql)
		run := func() []string {
			got, err := st.Query(t.Context())
			require.NoError(t, err)
			lines, err := linesOf(got)
			require.NoError(t, err)
			return lines
		}
		require.Equal(t, []string{"0"}, run())
		require.Equal(t, []string{"0"}, run())
		exec(t, s, test.change)
		exec(t, other, "INSERT INTO "+test.table+" VALUES (1)")
		require.Equal(t, []string{"1"}, run(), "%s; %s", test.before, test.change)
	}
}

// Rows do not wait where each commit is a version that is kept, or that a follower hears of (DL3).
func TestRowsThatMakeVersionsDoNotWait(t *testing.T) {
	t.Parallel()
	e := open(t, func(c *engine.Config) { c.NoCompaction = true })
	s := session(t, e)
	exec(t, s, "CREATE TABLE kept (i int) WITH (retention = '1 hour')")
	for i := range 5 {
		exec(t, s, fmt.Sprintf("INSERT INTO kept VALUES (%d)", i))
	}
	require.Equal(t, []string{"3"}, rows(t, s, "SELECT count(*) FROM kept AT (VERSION => 4)"))
	exec(t, s, "CREATE TABLE later (i int)")
	sessions := []*engine.Session{session(t, e), session(t, e), session(t, e)}
	for i, of := range sessions {
		of.BeginImplicit()
		exec(t, of, "INSERT INTO later VALUES ($1)", i)
	}
	exec(t, s, "ALTER TABLE later SET (retention = '1 hour')")
	versions := rows(t, s, "SELECT version FROM csm.tables WHERE name = 'later'")
	for _, of := range sessions {
		require.NoError(t, of.EndImplicit(t.Context(), false))
	}
	require.Equal(t, rows(t, s, "SELECT "+versions[0]+" + 3"), rows(t, s, "SELECT version FROM csm.tables WHERE name = 'later'"))
	columns := make([]string, 300) // more than memory is set aside for
	for i := range columns {
		columns[i] = fmt.Sprintf("c%d int", i)
	}
	exec(t, s, "CREATE TABLE wide ("+strings.Join(columns, ", ")+")")
	versions = rows(t, s, "SELECT version FROM csm.tables WHERE name = 'wide'")
	for range 3 {
		exec(t, s, "INSERT INTO wide (c0) VALUES (1)")
	}
	require.Equal(t, rows(t, s, "SELECT "+versions[0]+" + 3"), rows(t, s, "SELECT version FROM csm.tables WHERE name = 'wide'"))
	exec(t, s, "CREATE TABLE heard (i int)")
	exec(t, s, "INSERT INTO heard VALUES (0)")
	f := follow(t, e, "heard")
	first := f.version()
	number := first.Number()
	require.Equal(t, []string{"1"}, in(t, first, "SELECT count(*) FROM heard"))
	for i := range 5 {
		exec(t, s, fmt.Sprintf("INSERT INTO heard VALUES (%d)", i))
	}
	last := f.version()
	require.Equal(t, []string{"6"}, in(t, last, "SELECT count(*) FROM heard"))
	require.Equal(t, number+5, last.Number(), "none waited for another one, or for a look")
}

// Rows that were made for a table as it was go into no other one (GA3).
func TestRowsOfFormerColumnsAreRefused(t *testing.T) {
	t.Parallel()
	e := open(t)
	s, other := session(t, e), session(t, e)
	for _, change := range []string{
		"ALTER TABLE t ADD COLUMN more int DEFAULT 7", "ALTER TABLE t ALTER COLUMN i TYPE text", "ALTER TABLE t ADD CONSTRAINT c CHECK (i > 1)",
		"DROP TABLE t; CREATE TABLE t (i int)", "DROP TABLE t",
	} {
		exec(t, other, "DROP TABLE IF EXISTS t; CREATE TABLE t (i int)")
		s.BeginImplicit()
		exec(t, s, "INSERT INTO t VALUES (1)")
		exec(t, other, change)
		require.Equal(t, "40001", sqlerror.State(s.EndImplicit(t.Context(), false)), change)
		if change != "DROP TABLE t" {
			require.Equal(t, []string{"0"}, rows(t, other, "SELECT count(*) FROM t"), change)
		}
	}
}

// Rows that wait become a chunk although the region is full by then, and what finds no room is refused and nothing of
// it is there (DL1).
func TestRowsThatWaitHaveTheirMemory(t *testing.T) {
	t.Parallel()
	e := open(t, func(c *engine.Config) { c.RegionBytes, c.NoCompaction = 8<<20, true })
	s, fills := session(t, e), session(t, e)
	exec(t, s, "CREATE TABLE t (i int, s text); CREATE TABLE big (i bigint)")
	exec(t, fills, "BEGIN ISOLATION LEVEL REPEATABLE READ")
	exec(t, fills, "SELECT count(*) FROM big") // later statements take no snapshot
	began := time.Now()
	exec(t, s, "INSERT INTO t VALUES (0, 'first')")
	exec(t, fills, "SAVEPOINT x")
	for size := 400_000; size > 0; size /= 4 {
		for {
			_, err := fills.Exec(t.Context(), fmt.Sprintf("INSERT INTO big SELECT i * 7919 FROM range(%d) r(i)", size))
			if err != nil {
				require.Equal(t, "53200", sqlerror.State(err))
				exec(t, fills, "ROLLBACK TO x")
				break
			}
			exec(t, fills, "RELEASE x; SAVEPOINT x")
		}
	}
	soon := time.Since(began) < time.Second/2 // rows that wait longer are sealed, and their memory is taken, too
	acknowledged, refused := 1, 0
	for i := range 3000 {
		_, err := s.Exec(t.Context(), fmt.Sprintf("INSERT INTO t VALUES (%d, 'a text of some length, so that a delta is full soon')", i))
		if err == nil {
			acknowledged++
			continue
		}
		require.Equal(t, "53200", sqlerror.State(err), err)
		refused++
	}
	require.Positive(t, refused, "or the region was not full")
	require.True(t, !soon || acknowledged > 100, "or none of them waited")
	require.Equal(t, []string{fmt.Sprintf("%d|%d", acknowledged, acknowledged)}, rows(t, s, "SELECT count(*), count(s) FROM t"))
	exec(t, fills, "ROLLBACK")
	exec(t, s, "INSERT INTO t VALUES (-1, 'last')")
	require.Equal(t, []string{fmt.Sprint(acknowledged + 1)}, rows(t, s, "SELECT count(*) FROM t"))
	require.NoError(t, e.CheckSpace(t.Context()))
}

// Every row that was acknowledged is there after the process has ended anywhere, also while the log is moved into the
// catalog's file, and once; and after the machine has.
func TestRowsThatWaitSurvive(t *testing.T) {
	t.Parallel()
	directory := t.TempDir()
	o := &outlet{t: t, r: rand.New(rand.NewPCG(30, 11)), config: engine.Config{
		Directory: directory, RegionDirectory: directory, Fabric: "file", RegionBytes: 64 << 20, NoCompaction: true,
	}}
	e := o.open()
	s := session(t, e)
	exec(t, s, "CREATE TABLE t (id bigint, v text); CREATE TABLE u (id bigint)")
	require.NoError(t, e.Close())
	o.base = o.read(o.path())
	next, want := 0, map[string][]string{}
	for round := range 4 {
		e = o.open()
		s = session(t, e)
		for range 1 + o.r.IntN(300) {
			exec(t, s, fmt.Sprintf("INSERT INTO t VALUES (%d, 'row %d')", next, next))
			exec(t, s, fmt.Sprintf("INSERT INTO u VALUES (%d)", next))
			if next++; o.r.IntN(200) == 0 {
				exec(t, s, "SELECT count(*) FROM t")
			}
		}
		o.cut(e)
		for table, distinct := range map[string]string{"t": "v", "u": "id"} {
			want[fmt.Sprintf("SELECT count(*), count(DISTINCT %s), sum(id), max(id) FROM %s", distinct, table)] =
				[]string{fmt.Sprintf("%d|%d|%d|%d", next, next, next*(next-1)/2, next-1)}
		}
		for _, share := range []int{0, 50, 100} {
			o.restore(share)
			require.NoError(t, o.holds(want, fmt.Sprintf("round %d, %d of 100 pages", round, share)).Close())
			require.NoError(t, o.holds(want, "after an end in order").Close())
		}
		o.base = o.read(o.path())
	}

	e = o.open()
	exec(t, session(t, e), "INSERT INTO u VALUES (0)")
	require.NoError(t, e.Close())
	bolt, err := store.OpenBolt(directory)
	require.NoError(t, err)
	_, err = bolt.Scan(t.Context(), []string{"table/"}, func(item store.Item) error {
		require.Equal(t, 1, strings.Count(item.Key, "/"), "an end in order leaves no note, which older programs refuse: %s", item.Key)
		return nil
	})
	require.NoError(t, err)
	require.NoError(t, bolt.Close())
}

// Notes of several tables are one record of the log, also where the delta of one of them is full, or one too many.
func TestRowsOfManyTablesWait(t *testing.T) {
	t.Parallel()
	e := open(t, func(c *engine.Config) { c.NoCompaction = true })
	s := session(t, e)
	const tables, sessions, each = 24, 6, 200
	for i := range tables {
		exec(t, s, fmt.Sprintf("CREATE TABLE t%d (w int, k int, s text)", i))
	}
	long := strings.Repeat("x", 20_000) // so that a delta is full after a few rows
	var writers errgroup.Group
	for w := range sessions {
		s := session(t, e)
		writers.Go(func() error {
			for k := range each {
				text := long[:max(1, k*w%len(long))]
				_, err := s.Exec(t.Context(), fmt.Sprintf("INSERT INTO t%d VALUES ($1, $2, $3)", (k+5*w)%tables), w, k, text)
				if err != nil {
					return err
				}
			}
			return nil
		})
	}
	require.NoError(t, writers.Wait())
	var all []string
	for i := range tables {
		all = append(all, fmt.Sprintf("SELECT w, k FROM t%d", i))
	}
	query := "SELECT count(*), count(DISTINCT (w, k)) FROM (" + strings.Join(all, " UNION ALL ") + ") q"
	require.Equal(t, []string{fmt.Sprintf("%d|%d", sessions*each, sessions*each)}, rows(t, s, query))
	require.NoError(t, e.CheckSpace(t.Context()))
}
