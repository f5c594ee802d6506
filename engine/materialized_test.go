package engine_test

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/cluster/noderpc"
	"github.com/csmsql/csmsql/engine"
)

// What a materialized view shows is what its query gave, until it is refreshed: also to others, to a block that began
// before, and behind a restart. internal/clienttest holds its words against PostgreSQL's.
func TestMaterializedViews(t *testing.T) {
	t.Parallel()
	directory, memory := t.TempDir(), shmDirectory(t)
	again := func(c *engine.Config) { c.Directory, c.RegionDirectory = directory, memory }
	e := open(t, again)
	s, other := session(t, e), session(t, e)
	exec(t, s, "CREATE TABLE t AS SELECT i AS a, i % 7 AS b FROM range(10000) r(i)")
	exec(t, s, "CREATE MATERIALIZED VIEW m (key, total) WITH (retained_versions = 3) AS SELECT b, sum(a)::bigint FROM t GROUP BY b")
	exec(t, s, "CREATE MATERIALIZED VIEW n AS SELECT * FROM m WHERE key < 3 WITH NO DATA; CREATE INDEX mi ON m (key)")
	total := "SELECT sum(total)::bigint FROM m"
	exec(t, other, "BEGIN ISOLATION LEVEL REPEATABLE READ")
	require.Equal(t, []string{"49995000"}, rows(t, other, total))
	exec(t, s, "INSERT INTO t VALUES (5000, 1)")
	require.Equal(t, []string{"49995000"}, rows(t, s, total))
	exec(t, s, "REFRESH MATERIALIZED VIEW m")
	require.Equal(t, []string{"50000000"}, rows(t, s, total))
	require.Equal(t, []string{"49995000"}, rows(t, other, total), "of its snapshot")
	exec(t, other, "COMMIT")
	require.Equal(t, []string{"50000000"}, rows(t, other, total))
	require.Equal(t, []string{"49995000"}, rows(t, s, "SELECT sum(total)::bigint FROM m AT (VERSION => 2)"))
	requireRefused(t, "55000", failing(s, "SELECT * FROM n"))

	exec(t, s, "BEGIN; INSERT INTO t VALUES (1, 1); REFRESH MATERIALIZED VIEW m; REFRESH MATERIALIZED VIEW n")
	require.Equal(t, []string{"50000001"}, rows(t, s, total))
	require.Equal(t, []string{"3"}, rows(t, s, "SELECT count(*) FROM n"))
	exec(t, s, "ROLLBACK")
	require.Equal(t, []string{"50000000"}, rows(t, s, total))
	requireRefused(t, "55000", failing(s, "SELECT * FROM n"))
	require.NoError(t, e.Close())

	s = session(t, open(t, again))
	require.Equal(t, []string{"50000000"}, rows(t, s, total))
	requireRefused(t, "55000", failing(s, "SELECT * FROM n"))
	requireRefused(t, "42809", failing(s, "INSERT INTO m VALUES (1, 1)"))
	exec(t, s, "INSERT INTO t VALUES (7, 1); REFRESH MATERIALIZED VIEW m; REFRESH MATERIALIZED VIEW n")
	require.Equal(t, []string{"50000007"}, rows(t, s, total))
	require.Equal(t, []string{"0", "1", "2"}, rows(t, s, "SELECT key FROM n ORDER BY key"))
	requireRefused(t, "2BP01", failing(s, "DROP TABLE t"))
	exec(t, s, "CREATE MATERIALIZED VIEW named AS SELECT relname FROM pg_class WHERE relkind = 'm'; CREATE TEMP TABLE m (a int)")
	requireRefused(t, "42P01", failing(s, "DROP MATERIALIZED VIEW m"))
	exec(t, s, "DROP TABLE m; REFRESH MATERIALIZED VIEW named")
	require.Equal(t, []string{"m", "n", "named"}, rows(t, s, "SELECT relname FROM named ORDER BY relname"))
	exec(t, s, "DROP TABLE t CASCADE")
	requireRefused(t, "42P01", failing(s, total))
}

// MV1: by whatever way one that is not populated is read.
func TestUnpopulated(t *testing.T) {
	t.Parallel()
	e := open(t)
	s := session(t, e)
	socket := filepath.Join(t.TempDir(), "csmsql.sock")
	borrower := attached(t, e, socket)
	exec(t, s, "CREATE TABLE t AS SELECT i AS a FROM range(300000) r(i); CREATE MATERIALIZED VIEW m AS SELECT a FROM t WITH NO DATA; CREATE TEMP TABLE own (a bigint)")
	exec(t, s, "CREATE VIEW v AS SELECT * FROM m; CREATE VIEW w AS FROM m; CREATE MATERIALIZED VIEW d AS SELECT * FROM t JOIN m USING (a) WITH NO DATA")
	prepared, err := s.Prepare(t.Context(), "SELECT count(*) FROM m")
	require.NoError(t, err)
	defer prepared.Close()
	empty := func(s *engine.Session, by string, wants ...string) {
		t.Helper()
		for _, text := range wants {
			err := failing(s, text)
			require.Error(t, err, "%s: %s", by, text)
			require.Equal(t, "55000", state(t, err), "%s: %s: %v", by, text, err)
			require.ErrorContains(t, err, "has not been populated", text)
		}
	}
	reads := []string{
		"SELECT * FROM m", "SELECT count(*) FROM m", "FROM m", "TABLE m", "SELECT * FROM v", "FROM w", "SELECT a FROM m WHERE a = 5", "SELECT max(a) FROM m",
		"SELECT count(*) FROM t JOIN m USING (a) WHERE t.a < 10", "SELECT * FROM t WHERE a IN (SELECT a FROM m)", "PIVOT m ON a IN (1) USING count(*)",
		"SELECT * FROM t WHERE EXISTS (SELECT 1 FROM m WHERE m.a = t.a)", "WITH x AS (SELECT * FROM m) SELECT * FROM x",
	}
	for _, backend := range []string{"auto", "duckdb", "compute"} {
		exec(t, s, "SET csm.backend = '"+backend+"'")
		if backend != "compute" {
			empty(s, backend, reads...)
		}
		empty(s, backend, "SELECT a FROM m", "SELECT count(*) FROM m")
	}
	exec(t, s, "RESET csm.backend")
	exec(t, s, "EXPLAIN SELECT a FROM m")
	empty(s, "writing", "CREATE TABLE c AS SELECT * FROM m", "INSERT INTO t SELECT * FROM m", "CREATE TEMP TABLE c AS SELECT * FROM m", "INSERT INTO own SELECT * FROM m",
		"UPDATE t SET a = m.a FROM m WHERE m.a = t.a", "DELETE FROM t USING m WHERE m.a = t.a", "MERGE INTO t USING m ON t.a = m.a WHEN MATCHED THEN DELETE", "REFRESH MATERIALIZED VIEW d",
		"COPY (SELECT * FROM m) TO STDOUT", "CREATE MATERIALIZED VIEW c AS SELECT * FROM m")
	_, err = prepared.Execute(t.Context(), nil)
	requireRefused(t, "55000", err)
	b := session(t, borrower())
	empty(b, "borrower", reads...)
	requireRefused(t, "25006", failing(b, "REFRESH MATERIALIZED VIEW m"))
	exec(t, s, "CREATE TABLE c AS SELECT * FROM m WITH NO DATA; DROP TABLE c; REFRESH MATERIALIZED VIEW m; REFRESH MATERIALIZED VIEW d")
	got, err := prepared.Execute(t.Context(), nil)
	require.NoError(t, err)
	got.Close()
	require.Equal(t, []string{"300000"}, rows(t, s, "SELECT count(*) FROM v"))
	require.Equal(t, []string{"300000"}, rows(t, b, "SELECT count(*) FROM d"))
}

// MV2: the query keeps its dialect, and what its names meant.
func TestRefreshedQueriesMeanWhatTheyMeant(t *testing.T) {
	t.Parallel()
	e := open(t)
	s := session(t, e)
	exec(t, s, "CREATE SCHEMA aside; CREATE TABLE t AS SELECT 'public' AS a; CREATE TABLE aside.t AS SELECT 'aside' AS a; CREATE TYPE mood AS ENUM ('sad', 'happy')")
	exec(t, s, "SET csm.dialect = 'postgres'")
	exec(t, s, "CREATE MATERIALIZED VIEW p AS SELECT 7 / 2 AS half, a FROM t; CREATE MATERIALIZED VIEW e AS SELECT 'happy'::mood AS m, 'happy'::mood > 'sad' AS above")
	exec(t, s, "SET csm.dialect = 'duckdb'")
	exec(t, s, "CREATE MATERIALIZED VIEW aside.d AS SELECT 7 / 2 AS half, a FROM t")
	check := func(s *engine.Session) {
		t.Helper()
		exec(t, s, "REFRESH MATERIALIZED VIEW public.p; REFRESH MATERIALIZED VIEW aside.d; REFRESH MATERIALIZED VIEW public.e")
		require.Equal(t, []string{"3|public"}, rows(t, s, "SELECT * FROM public.p"))
		require.Equal(t, []string{"3.5|public"}, rows(t, s, "SELECT * FROM aside.d"))
		require.Equal(t, []string{"true"}, rows(t, s, "SELECT above FROM public.e"))
	}
	check(s)
	other := session(t, e)
	exec(t, other, "SET search_path = aside; CREATE TEMP TABLE t AS SELECT 'own' AS a")
	check(other)
	exec(t, other, "SET csm.dialect = 'postgres'")
	check(other)
	exec(t, s, "ALTER TABLE t RENAME TO u; CREATE TABLE t AS SELECT 'later' AS a; ALTER TABLE u RENAME a TO b; ALTER TABLE u ADD COLUMN a text DEFAULT 'added'")
	check(s)
	exec(t, s, "ALTER TYPE mood RENAME VALUE 'happy' TO 'glad'")
	check(s)
	require.Equal(t, []string{"glad"}, rows(t, s, "SELECT m FROM e"))
	requireRefused(t, "2BP01", failing(s, "DROP TYPE mood"))
	requireRefused(t, "2BP01", failing(s, "ALTER TABLE u DROP COLUMN b"))
	requireRefused(t, "0A000", failing(s, "ALTER TABLE u ALTER b TYPE varchar(3)"))
	exec(t, s, "ALTER TABLE u DROP COLUMN b CASCADE")
	requireRefused(t, "42P01", failing(s, "SELECT * FROM p"))
	requireRefused(t, "42P01", failing(s, "SELECT * FROM aside.d"))
}

// FM1.
func TestOtherColumnsDoNotFill(t *testing.T) {
	directory := t.TempDir()
	e := open(t, func(c *engine.Config) { c.Files = engine.FileAccess{Directories: []string{directory}} })
	s := session(t, e)
	file := filepath.Join(directory, "f.csv")
	exec(t, s, "COPY (SELECT 1 AS a) TO '"+file+"' (FORMAT csv, HEADER)")
	exec(t, s, "CREATE MATERIALIZED VIEW m AS SELECT * FROM read_csv('"+file+"')")
	exec(t, s, "COPY (SELECT 1 AS a, 2 AS b) TO '"+file+"' (FORMAT csv, HEADER)")
	err := failing(s, "REFRESH MATERIALIZED VIEW m")
	requireRefused(t, "0A000", err)
	require.ErrorContains(t, err, "other columns")
	require.Equal(t, []string{"1"}, rows(t, s, "SELECT * FROM m"))
}

// Nothing else puts rows into one, or takes any.
func TestOnlyRefreshFillsMaterializedViews(t *testing.T) {
	e := open(t)
	s := session(t, e)
	exec(t, s, "CREATE TABLE t AS SELECT 1 AS a; CREATE MATERIALIZED VIEW m AS SELECT a FROM t")
	for _, mode := range []noderpc.LoadMode{noderpc.LoadAppend, noderpc.LoadReplace} {
		_, err := e.Load(context.Background(), noderpc.LoadRequest{
			Table: catalog.TableName{Schema: "public", Name: "m"}, Files: []string{"none.csv"}, Options: noderpc.LoadOptions{Mode: mode},
		}, nil)
		require.Error(t, err)
	}
	_, err := e.Assemble(context.Background(), engine.AssembleOptions{Table: catalog.TableName{Name: "m"}})
	requireRefused(t, "42809", err)
	_, err = e.Assemble(context.Background(), engine.AssembleOptions{
		Table: catalog.TableName{Name: "m"}, Columns: arrow.NewSchema([]arrow.Field{{Name: "a", Type: arrow.PrimitiveTypes.Int32}}, nil),
	})
	requireRefused(t, "42P07", err)
	for text, want := range map[string]string{
		"INSERT INTO m VALUES (2)": "42809", "INSERT INTO m VALUES ($1)": "42809", "CREATE OR REPLACE TABLE m (a int)": "42809", "CREATE OR REPLACE TABLE m AS SELECT 1 AS a": "42809", "CREATE OR REPLACE VIEW m AS SELECT 1 AS a": "42P07",
		"MERGE INTO m USING t ON m.a = t.a WHEN MATCHED THEN DELETE": "42809", "WITH d AS (DELETE FROM m RETURNING *) SELECT * FROM d": "42809", "COPY m FROM 'none.csv'": "42809",
		"ALTER TABLE m RESTORE TO (VERSION => 1)": "42809", "ALTER TABLE m ALTER a TYPE bigint": "42809",
	} {
		_, err := s.Exec(t.Context(), text)
		require.Error(t, err, text)
		require.Equal(t, want, state(t, err), "%s: %v", text, err)
	}
	require.Equal(t, []string{"1"}, rows(t, s, "SELECT * FROM m"))
}

// Every node reads one, refreshes it, and hears what depends on it; readers beside see the rows of one refresh.
func TestMaterializedViewsOverThreeNodes(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 3)
	s := []*engine.Session{c.session(0), c.session(1), c.session(2)}
	exec(t, s[0], "CREATE TABLE t WITH (placement = 'rows') AS SELECT i AS a, 0 AS made FROM range(30000) r(i)")
	exec(t, s[1], "CREATE MATERIALIZED VIEW m WITH (placement = 'rows', replicas = 2) AS SELECT a, made FROM t WITH NO DATA")
	for _, s := range s {
		for _, how := range []string{"auto", "always"} {
			exec(t, s, "SET csm.distribute = '"+how+"'")
			requireRefused(t, "55000", failing(s, "SELECT count(*) FROM m"))
			requireRefused(t, "55000", failing(s, "SELECT count(*) FROM t JOIN m USING (a)"))
		}
		requireRefused(t, "2BP01", failing(s, "DROP TABLE t"))
		requireRefused(t, "42809", failing(s, "DELETE FROM m"))
	}
	exec(t, s[2], "REFRESH MATERIALIZED VIEW m")
	const refreshes = 8
	over := make(chan struct{})
	var group errgroup.Group
	for i := range s {
		reader := c.session(i)
		group.Go(func() error {
			for {
				got, err := tryRows(reader, "SELECT count(*), min(made) = max(made) FROM m")
				if err != nil || got[0] != "30000|true" {
					return fmt.Errorf("node %d: %v, %w", i, got, err)
				}
				select {
				case <-over:
					return nil
				default:
				}
			}
		})
	}
	for i := range refreshes {
		exec(t, s[i%3], fmt.Sprintf("UPDATE t SET made = %d", i+1))
		exec(t, s[(i+1)%3], "REFRESH MATERIALIZED VIEW m")
		require.Equal(t, []string{fmt.Sprint(i + 1)}, rows(t, s[(i+2)%3], "SELECT max(made) FROM m"))
	}
	close(over)
	require.NoError(t, group.Wait())
	exec(t, s[1], "DROP TABLE t CASCADE")
	requireRefused(t, "42P01", failing(s[0], "SELECT * FROM m"))
}

// Concurrent refreshes do not wait in vain: each is done, one after the other.
func TestRefreshesAtOnce(t *testing.T) {
	e := open(t)
	s := session(t, e)
	exec(t, s, "CREATE TABLE t AS SELECT i AS a FROM range(1000) r(i); CREATE MATERIALIZED VIEW m AS SELECT a FROM t")
	var group errgroup.Group
	for i := range 4 {
		s := session(t, e)
		group.Go(func() error {
			for n := range 5 {
				if err := failing(s, fmt.Sprintf("INSERT INTO t VALUES (%d)", 1000+i*5+n)); err != nil {
					return err
				}
				if err := failing(s, "REFRESH MATERIALIZED VIEW m"); err != nil {
					return err
				}
			}
			return nil
		})
	}
	require.NoError(t, group.Wait())
	exec(t, s, "REFRESH MATERIALIZED VIEW m")
	require.Equal(t, []string{"1020|1020"}, rows(t, s, "SELECT count(*), count(DISTINCT a) FROM m"))
}
