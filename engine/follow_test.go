package engine_test

import (
	"context"
	"fmt"
	"iter"
	"log/slog"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/engine"
)

// following is a loop over versions, a turn at a time.
type following struct {
	t    *testing.T
	next func() (*engine.TableVersion, error, bool)
	stop func()
}

func follow(t *testing.T, e *engine.Engine, table string) *following {
	t.Helper()
	f := &following{t: t}
	f.next, f.stop = iter.Pull2(e.Follow(t.Context(), table))
	t.Cleanup(f.stop)
	return f
}

// version is the loop's next one.
func (f *following) version() *engine.TableVersion {
	f.t.Helper()
	v, err, ok := f.next()
	require.True(f.t, ok)
	require.NoError(f.t, err)
	return v
}

// ends is the error that the loop ends with.
func (f *following) ends() error {
	f.t.Helper()
	v, err, ok := f.next()
	require.True(f.t, ok)
	require.Nil(f.t, v)
	require.Error(f.t, err)
	_, _, ok = f.next()
	require.False(f.t, ok, "after its error the loop is over")
	return err
}

func attachedConfig() engine.Config {
	return engine.Config{MemoryBytes: 256 << 20, Log: slog.New(slog.DiscardHandler)}
}

// in gives the rows of a query in a version.
func in(t *testing.T, v *engine.TableVersion, sql string, args ...any) []string {
	t.Helper()
	r, err := v.Query(t.Context(), sql, args...)
	require.NoError(t, err)
	lines, err := linesOf(r)
	require.NoError(t, err)
	return lines
}

// The present version comes first, then each that is committed; one that is asked late is still the one that was given.
func TestFollow(t *testing.T) {
	t.Parallel()
	e := open(t)
	s := session(t, e)
	exec(t, s, `CREATE TABLE t AS SELECT 1 AS a`)
	f := follow(t, e, "t")
	first := f.version()
	require.Equal(t, `"public"."t"`, first.Table())
	exec(t, s, "INSERT INTO t VALUES (2)")
	exec(t, s, "CREATE TABLE later AS SELECT 1 AS a")
	require.Equal(t, []string{"1"}, in(t, first, "SELECT a FROM t"), "it is held as it was")
	_, err := first.Query(t.Context(), "SELECT * FROM later")
	require.Equal(t, "42P01", sqlState(err), "and so is everything else")
	_, err = first.Query(t.Context(), "INSERT INTO t VALUES (9)")
	require.Equal(t, "25006", sqlState(err))
	require.Equal(t, []string{"1"}, in(t, first, "SELECT a FROM t"), "which cost no other statement anything")
	_, err = first.Query(t.Context(), "SELECT 1/0 FROM nowhere")
	require.Equal(t, "42P01", sqlState(err))
	require.Equal(t, []string{"1"}, in(t, first, "SELECT sum(a) FROM t"))

	second := f.version()
	require.Greater(t, second.Number(), first.Number())
	require.Equal(t, []string{"1", "2"}, in(t, second, "SELECT a FROM t WHERE a >= $1 ORDER BY a", 0))
	_, err = first.Query(t.Context(), "SELECT 1")
	require.Equal(t, "55000", sqlState(err), "its turn is over")

	exec(t, s, "INSERT INTO later VALUES (2)") // another table's commits are no news
	exec(t, s, "INSERT INTO t VALUES (3); DELETE FROM t WHERE a = 1; UPDATE t SET a = a * 10")
	third := f.version()
	require.Equal(t, []string{"20", "30"}, in(t, third, "SELECT a FROM t ORDER BY a"), "the newest, whatever came between")
	exec(t, s, "TRUNCATE t")
	require.Empty(t, in(t, f.version(), "SELECT a FROM t"))
	exec(t, s, "ALTER TABLE t ADD COLUMN b int DEFAULT 7; INSERT INTO t VALUES (1)")
	require.Equal(t, []string{"1|7"}, in(t, f.version(), "SELECT * FROM t"))
}

// A version that was asked for a row is held until its reader is done, although its turn is over.
func TestFollowedRowsOutliveTheirTurn(t *testing.T) {
	t.Parallel()
	e := open(t)
	s := session(t, e)
	exec(t, s, `CREATE TABLE t AS SELECT range AS a FROM range(100000)`)
	f := follow(t, e, "t")
	r, err := f.version().Query(t.Context(), "SELECT a FROM t")
	require.NoError(t, err)
	require.True(t, r.Next())
	exec(t, s, "DELETE FROM t WHERE a > 0")
	f.stop()
	lines, err := linesOf(r)
	if err == nil {
		require.Less(t, len(lines), 100000)
	} else { // the session that the version was read in has ended
		require.Equal(t, "08003", sqlState(err))
	}
}

// The table is followed, not its name: it may be called otherwise; and it ends when it is dropped.
func TestFollowARenamedAndADroppedTable(t *testing.T) {
	t.Parallel()
	e := open(t)
	s := session(t, e)
	exec(t, s, `CREATE SCHEMA other; CREATE TABLE "A b" AS SELECT 1 AS a`)
	f := follow(t, e, `public."A b"`)
	require.Equal(t, `"public"."A b"`, f.version().Table())
	exec(t, s, `ALTER TABLE "A b" RENAME TO c; CREATE TABLE "A b" (a int)`)
	require.Equal(t, `"public"."c"`, f.version().Table(), "and not the new one of its name")
	exec(t, s, `ALTER TABLE c SET SCHEMA other`)
	v := f.version()
	require.Equal(t, `"other"."c"`, v.Table())
	require.Equal(t, []string{"1"}, in(t, v, "SELECT * FROM "+v.Table()))
	exec(t, s, `DROP SCHEMA other CASCADE`)
	err := f.ends()
	require.Equal(t, "42P01", sqlState(err))
	require.ErrorContains(t, err, "other.c")

	again := follow(t, e, `"A b"`)
	again.version()
	exec(t, s, `CREATE OR REPLACE TABLE "A b" AS SELECT 'text' AS b`)
	require.Equal(t, "42P01", sqlState(again.ends()), "the new one is another table")
}

// What cannot be followed says why.
func TestFollowRefuses(t *testing.T) {
	t.Parallel()
	e := open(t)
	s := session(t, e)
	exec(t, s, `CREATE TABLE t (a int); CREATE VIEW v AS SELECT * FROM t`)
	for name, state := range map[string]string{
		"nothing": "42P01", "v": "42809", "t x": "42601", "": "42601", "a.b.c.d": "42601", "csm.versions": "42P01",
		"pg_temp.t": "0A000", "elsewhere.public.t": "42P01",
	} {
		require.Equal(t, state, sqlState(follow(t, e, name).ends()), name)
	}
}

// A materialized view is followed as a table: a refresh is its news, its tables' commits are not.
func TestFollowAMaterializedView(t *testing.T) {
	t.Parallel()
	e := open(t)
	s := session(t, e)
	exec(t, s, `CREATE TABLE t AS SELECT 1 AS a; CREATE MATERIALIZED VIEW m AS SELECT sum(a)::int AS s FROM t`)
	f := follow(t, e, "m")
	require.Equal(t, []string{"1"}, in(t, f.version(), "SELECT * FROM m"))
	exec(t, s, "INSERT INTO t VALUES (2)")
	exec(t, s, "REFRESH MATERIALIZED VIEW m")
	require.Equal(t, []string{"3"}, in(t, f.version(), "SELECT * FROM m"))
}

// Chunks that are folded are no news: no follower has a new row to read.
func TestFollowHearsNothingOfFolds(t *testing.T) {
	t.Parallel()
	e := open(t, func(c *engine.Config) { c.NoCompaction, c.Disable = true, aChunkEach })
	s := session(t, e)
	exec(t, s, `CREATE TABLE t (a int)`)
	for range 20 {
		exec(t, s, "INSERT INTO t VALUES (1)")
	}
	f := follow(t, e, "t")
	v := f.version()
	exec(t, s, "VACUUM t")
	exec(t, s, "INSERT INTO t VALUES (2)")
	next := f.version()
	require.Equal(t, []string{"21"}, in(t, next, "SELECT count(*) FROM t"))
	require.Greater(t, next.Number(), v.Number()+1, "VACUUM has made a version, which no follower heard of")
}

// A loop ends with its context, also while it waits, and with the engine, which waits for none of it.
func TestFollowEnds(t *testing.T) {
	t.Parallel()
	e := open(t)
	s := session(t, e)
	exec(t, s, `CREATE TABLE t (a int)`)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	turns := 0
	var last error
	for v, err := range e.Follow(ctx, "t") {
		if last = err; v != nil {
			turns++
			cancel()
		}
	}
	require.Equal(t, 1, turns)
	require.ErrorIs(t, last, context.Canceled)

	waiting, began := make(chan error, 1), make(chan struct{})
	go func() {
		for v, err := range e.Follow(context.Background(), "t") {
			if v == nil {
				waiting <- err
				return
			}
			close(began)
		}
	}()
	<-began
	held := follow(t, e, "t")
	v := held.version()
	require.NoError(t, e.Close())
	err := <-waiting
	require.ErrorIs(t, err, engine.ErrClosed)
	_, err = v.Query(t.Context(), "SELECT 1")
	require.ErrorIs(t, err, engine.ErrClosed, "a version that is held does not hold up Close")
	require.ErrorIs(t, held.ends(), engine.ErrClosed)
	require.ErrorIs(t, follow(t, e, "t").ends(), engine.ErrClosed)
}

// While a loop waits it keeps nothing in place.
func TestFollowHoldsNothingWhileItWaits(t *testing.T) {
	t.Parallel()
	e := open(t)
	s := session(t, e)
	exec(t, s, `CREATE TABLE t AS SELECT range AS a FROM range(100000); CREATE TABLE dead AS SELECT * FROM t`)
	seen, more := make(chan uint64), make(chan struct{})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var loop sync.WaitGroup
	loop.Go(func() {
		for v, err := range e.Follow(ctx, "t") {
			if err != nil {
				return
			}
			seen <- v.Number()
			<-more
		}
	})
	<-seen
	exec(t, s, "DROP TABLE dead")
	held := e.RegionStats().Used
	more <- struct{}{}
	exec(t, s, "INSERT INTO t VALUES (1)")
	<-seen // so the loop has let go of what it saw first
	require.Less(t, e.RegionStats().Used, held)
	close(more)
	cancel()
	loop.Wait()
}

// Every follower sees versions in their order, the last one for sure, whatever it does meanwhile; and each version
// whole: transactions write rows that belong together.
func TestFollowersSeeVersionsInOrder(t *testing.T) {
	t.Parallel()
	e := open(t)
	s := session(t, e)
	exec(t, s, `CREATE TABLE t (writer int, n int); CREATE TABLE noise (a int)`)
	const writers, commits, followers = 4, 25, 6
	var followed, written sync.WaitGroup
	for i := range followers {
		followed.Go(func() {
			last, rows := uint64(0), 0
			for v, err := range e.Follow(context.Background(), "t") {
				if err != nil {
					t.Error(err)
					return
				}
				if v.Number() <= last {
					t.Errorf("version %d after %d", v.Number(), last)
				}
				last = v.Number()
				counts := in(t, v, `SELECT count(*), coalesce(bool_and(c = 2), true)
					FROM (SELECT count(*) AS c FROM t GROUP BY writer, n)`)
				var pairs int
				var whole bool
				if _, err := fmt.Sscanf(counts[0], "%d|%t", &pairs, &whole); err != nil || !whole || pairs < rows {
					t.Errorf("%v pairs after %d: %v", counts, rows, err)
				}
				if rows = pairs; rows == writers*commits {
					return
				}
				if i == 0 && last%3 == 0 {
					in(t, v, "SELECT count(*) FROM range(300000)") // a slow one
				}
			}
		})
	}
	for w := range writers {
		own := session(t, e)
		written.Go(func() {
			for n := range commits {
				pair := fmt.Sprintf("INSERT INTO t VALUES (%d, %d);", w, n)
				_, err := own.Exec(context.Background(), "BEGIN;"+pair+pair+"COMMIT; INSERT INTO noise VALUES (1)")
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	written.Wait()
	followed.Wait()
}

// An engine that is attached follows what the node commits, over one call for all that it follows.
func TestFollowAttached(t *testing.T) {
	t.Parallel()
	node, socket := lend(t)
	s := session(t, node)
	exec(t, s, `CREATE TABLE t AS SELECT 1 AS a; CREATE TABLE u (a int); CREATE VIEW v AS SELECT * FROM t`)
	e, err := engine.AttachWith(t.Context(), socket, attachedConfig())
	require.NoError(t, err)
	defer func() { require.NoError(t, e.Close()) }()
	f, g, second := follow(t, e, "t"), follow(t, e, "u"), follow(t, e, "t")
	first := f.version()
	require.Equal(t, []string{"1"}, in(t, first, "SELECT * FROM t"))
	g.version()
	second.version()
	exec(t, s, "INSERT INTO t VALUES (2)")
	require.Equal(t, []string{"1"}, in(t, first, "SELECT * FROM t"))
	require.Equal(t, []string{"1", "2"}, in(t, f.version(), "SELECT * FROM t ORDER BY a"))
	require.Equal(t, []string{"1", "2"}, in(t, second.version(), "SELECT * FROM t ORDER BY a"))
	exec(t, s, "INSERT INTO u VALUES (5)")
	require.Equal(t, []string{"5"}, in(t, g.version(), "SELECT * FROM u"))
	require.Equal(t, "42809", sqlState(follow(t, e, "v").ends()))
	exec(t, s, "ALTER TABLE u RENAME TO w")
	require.Equal(t, `"public"."w"`, g.version().Table())
	exec(t, s, "DROP VIEW v; DROP TABLE t")
	require.Equal(t, "42P01", sqlState(f.ends()))
	require.Equal(t, "42P01", sqlState(second.ends()))
	ended := make(chan error, 1)
	go func() {
		_, err, _ := g.next()
		ended <- err
	}()
	require.NoError(t, e.Close())
	require.ErrorIs(t, <-ended, engine.ErrClosed)
	require.ErrorIs(t, follow(t, e, "w").ends(), engine.ErrClosed)
}

// Its node dies: the loop ends with an error that says so. Its node is started again: the loop goes on.
func TestFollowWhenTheNodeDies(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	n := spawn(t, "node", nodeArguments{Directory: dir})
	n.expect("ready")
	n.insist("CREATE TABLE t AS SELECT 1 AS a", "done")
	socket := nodeArguments{Directory: dir}.socket()
	e, err := engine.AttachWith(t.Context(), socket, attachedConfig())
	require.NoError(t, err)
	defer func() { require.NoError(t, e.Close()) }()
	f := follow(t, e, "t")
	f.version()
	n.insist("INSERT INTO t VALUES (2)", "done")
	require.Equal(t, []string{"1", "2"}, in(t, f.version(), "SELECT a FROM t ORDER BY a"))
	n.kill()
	require.True(t, leaseError(sqlState(f.ends())))

	n = spawn(t, "node", nodeArguments{Directory: dir})
	n.expect("ready")
	f = follow(t, e, "t")
	f.version()
	n.insist("INSERT INTO t VALUES (3)", "done")
	require.Equal(t, []string{"1", "2", "3"}, in(t, f.version(), "SELECT a FROM t ORDER BY a"))

	n.kill() // while the loop's turn lasts
	n = spawn(t, "node", nodeArguments{Directory: dir})
	n.expect("ready")
	n.insist("INSERT INTO t VALUES (4)", "done")
	require.Equal(t, []string{"4"}, in(t, f.version(), "SELECT count(*) FROM t"), "it goes on with the node's next process")
	n.insist("INSERT INTO t VALUES (5)", "done")
	require.Equal(t, []string{"5"}, in(t, f.version(), "SELECT count(*) FROM t"))
}

// Every node of a cluster hears of the others' commits. One that the cluster gives up says so.
func TestFollowInACluster(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 2)
	s := c.session(0)
	exec(t, s, "CREATE TABLE t AS SELECT 1 AS a")
	f := follow(t, c.nodes[1], "t")
	f.version()
	exec(t, s, "INSERT INTO t VALUES (2)")
	require.Equal(t, []string{"2"}, in(t, f.version(), "SELECT count(*) FROM t"))
	exec(t, c.session(1), "INSERT INTO t VALUES (3)")
	require.Equal(t, []string{"3"}, in(t, f.version(), "SELECT count(*) FROM t"))
	exec(t, s, "DROP TABLE t")
	require.Equal(t, "42P01", sqlState(f.ends()))
}
