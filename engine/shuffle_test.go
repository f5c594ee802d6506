package engine_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/cluster/noderpc"
	"github.com/csmsql/csmsql/engine"
	"github.com/csmsql/csmsql/internal/faults"
	"github.com/csmsql/csmsql/memregion"
)

// shuffling asks for statements to be split, and for tables to be shuffled, however small they are.
func shuffling(t testing.TB, s *engine.Session) {
	exec(t, s, "SET csm.distribute = 'always'")
	exec(t, s, "SET csm.shuffle = 'always'")
}

// alone runs a statement on one node.
func alone(t testing.TB, s *engine.Session, sql string, args ...any) []string {
	exec(t, s, "SET csm.distribute = 'off'")
	defer exec(t, s, "SET csm.distribute = 'always'")
	return sorted(rows(t, s, sql, args...))
}

func sorted(list []string) []string {
	slices.Sort(list)
	return list
}

func explain(t testing.TB, s *engine.Session, sql string, args ...any) string {
	return strings.Join(rows(t, s, "EXPLAIN "+sql, args...), "\n")
}

// keyTypes are what a table can be split by, each with an expression that gives some values of the type, and NULL, for r(i). Halves of the
// values meet in two tables.
var keyTypes = map[string]string{
	"BOOLEAN": "i % 2 = 0", "TINYINT": "i % 100", "SMALLINT": "i", "INTEGER": "i - 500", "BIGINT": "i * 1000000007", "UBIGINT": "18446744073709551615 - i",
	"DECIMAL(38,0)": "i::HUGEINT", "DECIMAL(9,2)": "i / 4", "DECIMAL(18,3)": "i * -1.125", "DECIMAL(38,4)": "i * 1e20::DECIMAL(38,4)",
	"VARCHAR": "CASE WHEN i % 3 = 0 THEN 'k' || i ELSE 'a key that is longer than twelve bytes ' || i END", "DATE": "DATE '1999-12-01' + i::INTEGER",
	"TIME": "TIME '00:00:01' + to_seconds(i)", "TIMESTAMP": "TIMESTAMP '1969-12-31 23:00:00' + to_minutes(i)", "TIMESTAMPTZ": "TIMESTAMPTZ '1969-12-31 23:00:00+00' + to_minutes(i)",
	"BLOB": "('k' || i)::BLOB", "UUID": "('00000000-0000-0000-0000-' || lpad(i::VARCHAR, 12, '0'))::UUID",
}

// Two tables that lie any way, joined by a key of any type: what is shuffled meets what is shuffled, and what was split by hash when it was
// written.
func TestShuffledKeys(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 3)
	s := c.session(0)
	shuffling(t, s)
	both := 0
	for name, value := range keyTypes {
		exec(t, s, "CREATE OR REPLACE TABLE a (k "+name+", n BIGINT) WITH (placement = 'rows')")
		exec(t, s, "CREATE OR REPLACE TABLE b (k "+name+", m BIGINT) WITH (placement = 'rows')")
		exec(t, s, "CREATE OR REPLACE TABLE h (k "+name+", m BIGINT) WITH (placement = 'hash(k) on (n2, n1, n0)')")
		fill := func(table string, first, last int) {
			exec(t, s, fmt.Sprintf("INSERT INTO %s SELECT CASE WHEN i %% 11 = 5 THEN NULL ELSE %s END, i FROM range(%d, %d) r(i)", table, value, first, last))
		}
		fill("a", 0, 6000)
		fill("b", 3000, 9000)
		fill("h", 3000, 9000)
		for _, other := range []string{"b", "h"} {
			sql := fmt.Sprintf("SELECT count(*), sum(n)::VARCHAR, sum(m)::VARCHAR, max(a.k)::VARCHAR FROM a JOIN %s ON a.k = %[1]s.k", other)
			if strings.Contains(explain(t, s, sql), "written in 3 partitions") {
				both++
			}
			require.Equal(t, alone(t, s, sql), sorted(rows(t, s, sql)), "%s: %s", name, sql)
		}
		sql := "SELECT k::VARCHAR, count(*), min(n) FROM a GROUP BY k HAVING count(*) > 0 ORDER BY max(n) DESC, k LIMIT 50"
		require.Equal(t, alone(t, s, sql), sorted(rows(t, s, sql)), "%s: %s", name, sql)
	}
	require.Greater(t, both, len(keyTypes), "nothing is shuffled, so nothing was tested")
	c.requireSpace()
}

// shuffles are statements that are run over partitions of two tables of 30,000 rows each, by rows on three nodes, and one by hash.
var shuffles = []string{
	"SELECT a.g, count(*), sum(b.v)::VARCHAR FROM a JOIN b ON a.k = b.k GROUP BY a.g",
	"SELECT a.g, count(b.v) FROM a LEFT JOIN b ON a.k = b.k AND b.v > 5000 GROUP BY a.g",
	"SELECT count(*), count(a.k), count(b.k) FROM a FULL JOIN b ON a.k = b.k",
	"SELECT count(*) FROM a WHERE EXISTS (SELECT 1 FROM b WHERE b.k = a.k AND b.w LIKE 'word 1%')",
	"SELECT count(*), min(a.w) FROM a WHERE a.k NOT IN (SELECT b.k FROM b WHERE b.k IS NOT NULL)",
	"SELECT a.k, sum(a.v)::VARCHAR AS s FROM a GROUP BY a.k HAVING count(*) > 1 ORDER BY sum(a.v) DESC, a.k LIMIT 20",
	"SELECT a.w, count(DISTINCT a.k), avg(v), stddev(v) > 0 FROM a GROUP BY a.w HAVING count(*) > 2 ORDER BY 2 DESC, 1 LIMIT 20",
	"SELECT count(*), sum(n)::VARCHAR FROM (SELECT k, count(*) AS n FROM a GROUP BY k) AS q",
	"SELECT h.w, a.w FROM a JOIN h ON a.k = h.k WHERE h.v < 100 ORDER BY 1, 2 LIMIT 30",
	"SELECT a.k, a.w, b.w FROM a JOIN b ON a.k = b.k WHERE a.v < 300 AND b.v < 20000 ORDER BY a.k, a.v, b.v LIMIT 40",
	"SELECT k, median(v), list(w ORDER BY w, v) FROM a GROUP BY k ORDER BY k LIMIT 25",
	"SELECT k, v, row_number() OVER (PARTITION BY k ORDER BY v) AS r, max(w) OVER (PARTITION BY k) FROM a WHERE v < 20000",
	"WITH q AS (SELECT k, max(v) AS m FROM b GROUP BY k) SELECT count(*), sum(m)::VARCHAR FROM a JOIN q ON a.k = q.k",
}

func makeShuffled(t testing.TB, s *engine.Session) {
	const some = " AS SELECT CASE WHEN i %% 50 = 7 THEN NULL ELSE (i * 7919) %% %d END AS k, i %% 7 AS g, i AS v, 'word ' || (i %% 3000) AS w FROM range(%d) r(i)"
	exec(t, s, "CREATE TABLE a WITH (placement = 'rows')"+fmt.Sprintf(some, 20011, 30000))
	exec(t, s, "CREATE TABLE b WITH (placement = 'rows(n1, n0)')"+fmt.Sprintf(some, 20011, 30000))
	exec(t, s, "CREATE TABLE h WITH (placement = 'hash(k)')"+fmt.Sprintf(some, 20011, 30000))
}

// Statements over partitions give the single node's answers, from every node, and leave nothing behind.
func TestShuffles(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 3)
	s := c.session(0)
	makeShuffled(t, s)
	for i := range 3 {
		s := c.session(i)
		shuffling(t, s)
		shuffled := 0
		for k, sql := range shuffles {
			if strings.Contains(explain(t, s, sql), "one partition") {
				shuffled++
			}
			if k%3 != i {
				continue
			}
			want := alone(t, s, sql)
			for range 2 { // planned, and as it was planned
				require.Equal(t, want, sorted(rows(t, s, sql)), sql)
			}
			for limit := range min(len(want), 2) { // rows that are not read to the end
				r, err := s.Query(t.Context(), sql)
				require.NoError(t, err)
				for range limit {
					r.Next()
				}
				r.Release()
			}
		}
		require.GreaterOrEqual(t, shuffled, len(shuffles)-1)
	}
	c.requireSpace()
}

// DuckDB adds decimals and HUGEINTs up in 128 bits, without regard to their digits: what one step hands to the next has 39 of them.
func TestSumsOfManyDigitsInSteps(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 3)
	s := c.session(0)
	exec(t, s, "CREATE TABLE a (k INTEGER, d DECIMAL(38,0), e DECIMAL(38,10)) WITH (placement = 'hash(k)')")
	exec(t, s, `INSERT INTO a SELECT i % 5, CASE i % 100 WHEN 7 THEN 99999999999999999999999999999999999999 ELSE i END::DECIMAL(38,0),
		CASE i % 100 WHEN 8 THEN -9999999999999999999999999999.9999999999 ELSE i END::DECIMAL(38,10)
		FROM range(300) r(i) WHERE i % 100 NOT IN (7, 8) OR i < 100`)
	for i := range 3 {
		s := c.session(i)
		shuffling(t, s)
		for _, sql := range []string{
			"SELECT sum(d) AS s FROM a WHERE k >= 0",
			"SELECT sum(e) AS s, min(e), max(e) FROM a",
			"SELECT sum(x.s) AS t, max(x.s) AS m FROM (SELECT k, sum(d) AS s FROM a GROUP BY k) AS x",
			"SELECT k, sum(d) AS s, sum(e) AS t FROM a GROUP BY k",
			"SELECT k, s, s::VARCHAR AS t FROM (SELECT k, sum(d) AS s FROM a GROUP BY k) AS x ORDER BY s DESC LIMIT 3",
			"SELECT k, sum(d::HUGEINT) AS s, min(d::HUGEINT + 1) AS t FROM a GROUP BY k",
		} {
			require.Contains(t, explain(t, s, sql), "stage", sql)
			require.Equal(t, alone(t, s, sql), sorted(rows(t, s, sql)), sql)
		}
	}
	c.requireSpace()
}

// A part's plan that reads results is used again, for the results that there are then.
func TestKeptPlansOfResults(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 2)
	s := c.session(0)
	exec(t, s, "CREATE TABLE h WITH (placement = 'hash(k)') AS SELECT i AS k, i % 50 AS g FROM range(15000) r(i)")
	exec(t, s, "CREATE TABLE a WITH (placement = 'rows') AS SELECT i % 15000 AS k, i AS v FROM range(20000) r(i)")
	exec(t, s, "CREATE TABLE b WITH (placement = 'rows') AS SELECT i AS v, i * 3 AS x FROM range(40000) r(i)")
	shuffling(t, s)
	const sql = "SELECT count(*), sum(x) FROM h, a, b WHERE h.k = a.k AND a.v = b.v AND g = 3 AND a.v < $1"
	require.Contains(t, explain(t, s, sql, 0), "one partition")
	for _, bound := range []int{5000, 5000, 20000, 300} {
		count, sum := 0, 0
		for v := 3; v < bound; v += 50 {
			count, sum = count+1, sum+3*v
		}
		require.Equal(t, []string{fmt.Sprintf("%d|%d", count, sum)}, rows(t, s, sql, bound))
	}
}

// What nodes were asked to do is asked again only where it is the same: not after a commit on another node, nor with other settings.
func TestKeptRequests(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 2)
	s, other := c.session(0), c.session(1)
	exec(t, s, "CREATE TABLE t WITH (placement = 'rows') AS SELECT i AS a, TIMESTAMPTZ '2024-05-05 12:00:00+00' AS moment FROM range(20000) r(i)")
	shuffling(t, s)
	const sql = "SELECT extract(hour FROM moment), count(*), sum(a) FROM t WHERE a < 10 GROUP BY 1"
	require.Contains(t, explain(t, s, sql), "distributed")
	exec(t, s, "SET TimeZone = 'UTC'")
	for range 3 {
		require.Equal(t, []string{"12|10|45"}, rows(t, s, sql))
	}
	for i := range 5 {
		exec(t, other, "INSERT INTO t SELECT 9, TIMESTAMPTZ '2024-05-05 12:00:00+00'")
		for range 2 {
			require.Equal(t, []string{fmt.Sprintf("12|%d|%d", 11+i, 45+9*(i+1))}, rows(t, s, sql))
		}
	}
	exec(t, s, "SET TimeZone = 'Asia/Tokyo'")
	for range 2 {
		require.Equal(t, []string{"21|15|90"}, rows(t, s, sql))
	}
	c.requireSpace()
}

// However a statement ends, nothing of its results stays on any node: an error in the parts or behind them, a cancellation at any time.
func TestShufflesThatFail(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 3)
	s := c.session(1)
	makeShuffled(t, s)
	shuffling(t, s)
	for _, sql := range []string{
		"SELECT sum(a.v), max(a.w::INTEGER) FROM a JOIN b ON a.k = b.k",                                        // before rows are shuffled
		"SELECT sum((a.w || b.w)::INTEGER) FROM a JOIN b ON a.k = b.k",                                         // by those who read partitions
		"SELECT k, max(w)::INTEGER FROM a GROUP BY k HAVING count(*) > 1",                                      // by those who finish groups
		"SELECT max(m)::INTEGER FROM (SELECT a.k, max(b.w) AS m FROM a JOIN b ON a.k = b.k GROUP BY a.k) AS q", // at the end
	} {
		require.Contains(t, explain(t, s, sql), "one partition", sql)
		_, err := tryRows(s, sql)
		require.ErrorContains(t, err, "word", sql)
		require.Equal(t, "22P02", state(t, err), sql)
	}
	c.requireSpace()
	for _, at := range []struct {
		point faults.Point
		node  int
		hit   int32
	}{{faults.FragmentPublished, 2, 2}, {faults.FragmentPublished, 1, 2}, {faults.StageRan, 1, 1}, {faults.StageRan, 1, 2}} {
		ctx, cancel := context.WithCancel(t.Context())
		var hits atomic.Int32
		c.onFault(func(node int, point faults.Point) {
			if node == at.node && point == at.point && hits.Add(1) == at.hit {
				cancel()
			}
		})
		_, err := s.Query(ctx, shuffles[0])
		c.onFault(nil)
		require.Error(t, err, "%v", at)
		require.Equal(t, "57014", state(t, err), "%v", err)
		cancel()
		c.requireSpace()
	}
	require.Equal(t, alone(t, s, shuffles[0]), sorted(rows(t, s, shuffles[0])))
}

// A node dies with partitions in its memory, before it has reported them or after: the statement is answered without
// it, or says whose chunks are missing; and nothing stays with the others.
func TestNodeDiesDuringShuffle(t *testing.T) {
	t.Parallel()
	for at, table := range map[faults.Point]string{faults.FragmentPublished: "b", faults.StageRan: "mine"} { // of mine nothing lies on the node that dies
		t.Run(at.String(), func(t *testing.T) {
			c := newCluster(t, 3)
			s := c.session(0)
			makeShuffled(t, s)
			exec(t, s, "CREATE TABLE mine WITH (placement = 'rows(n0, n1)') AS FROM b")
			exec(t, s, "CREATE TABLE yours WITH (placement = 'rows(n0, n1)') AS FROM a")
			shuffling(t, s)
			sql := strings.ReplaceAll("SELECT x.w, count(*), sum(y.v)::VARCHAR FROM x FULL JOIN y ON x.k = y.k GROUP BY x.w HAVING count(*) > 3 ORDER BY 2 DESC, 1 LIMIT 20", "y", table)
			sql = strings.ReplaceAll(sql, "x", map[string]string{"b": "a", "mine": "yours"}[table])
			want := alone(t, s, sql)
			require.Contains(t, explain(t, s, sql), "one partition")
			require.Contains(t, explain(t, s, sql), "distributed: 3 stages")
			ran := 0
			dead := make(chan struct{})
			die := sync.OnceFunc(func() {
				go func() {
					defer close(dead)
					c.stop(2)
				}()
			})
			c.onFault(func(node int, point faults.Point) {
				switch {
				case point != at || at == faults.FragmentPublished && node != 2:
				case at == faults.FragmentPublished:
					die() // which waits for this very fragment
				default:
					if ran++; ran == 3 {
						die()
						<-dead
					}
				}
			})
			got, err := tryRows(s, sql)
			if table == "mine" || err == nil {
				require.NoError(t, err)
				require.Equal(t, want, sorted(got))
			} else {
				require.ErrorContains(t, err, "n2")
			}
			<-dead
			waitUntil(t, "n2 is gone", func() bool { return rows(t, s, "SELECT count(*) FROM csm.nodes")[0] == "2" })
			c.requireSpace()
		})
	}
}

// memberArguments of a child that is a node of a cluster, asks one statement, and dies when its results lie on all nodes.
type memberArguments struct {
	Directory, RegionDirectory, Etcd, Query, Point string
	Hit                                            int32
	Fabric                                         memregion.FabricKind
}

func memberRole(c *childSide) error {
	var a memberArguments
	if err := c.decode(&a); err != nil {
		return err
	}
	hits := atomic.Int32{}
	socket := filepath.Join(a.Directory, "csmsql.sock")
	e, err := engine.Open(context.Background(), engine.Config{
		Directory: a.Directory, RegionDirectory: a.RegionDirectory, Fabric: a.Fabric, Node: filepath.Base(a.Directory), RegionBytes: 64 << 20, MemoryBytes: 512 << 20, Log: slog.New(slog.DiscardHandler),
		Fault: func(point faults.Point) {
			if point.String() == a.Point && hits.Add(1) == a.Hit {
				c.say("dying")
				_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
				select {}
			}
		},
		Cluster: &engine.Cluster{Endpoints: []string{a.Etcd}, Address: socket, SessionTTL: 2 * time.Second},
	})
	if err != nil {
		return err
	}
	listener, err := noderpc.ListenUnix(socket)
	if err != nil {
		return err
	}
	go func() {
		_ = noderpc.NewServer(e.Service(noderpc.Frontend{}), e.ServerOptions()).Serve(context.Background(), listener) // until the process dies
	}()
	s, err := e.Session(engine.SessionOptions{})
	if err != nil {
		return err
	}
	c.say("ready")
	c.hear()
	_, err = s.Exec(context.Background(), "SET csm.distribute = 'always'; SET csm.shuffle = 'always'; "+a.Query)
	return errors.Join(errors.New("it did not die"), err)
}

// The node that was asked dies when the others hold results for it: they let them go when they have heard nothing of it for long enough.
// The same of one that held results for another.
func TestCoordinatorDiesDuringShuffle(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 2)
	s := c.session(0)
	makeShuffled(t, s)
	dir := filepath.Join(c.dir, "dying")
	require.NoError(t, os.Mkdir(dir, 0o700))
	for point, hit := range map[faults.Point]int32{faults.StageRan: 2, faults.FragmentPublished: 1} {
		p := spawn(t, "member", memberArguments{dir, c.memory, c.etcd.Endpoint(), shuffles[0], point.String(), hit, ""})
		p.expect("ready")
		waitUntil(t, "it is there", func() bool { return len(rows(t, s, "SELECT name FROM csm.nodes")) == 3 })
		p.tell("ask")
		p.expect("dying")
		p.wait()
		held := c.nodes[0].RegionStats().Owners["csm.fragment"]
		waitUntil(t, "it is gone", func() bool { return len(rows(t, s, "SELECT name FROM csm.nodes")) == 2 })
		c.requireSpace()
		if point == faults.StageRan {
			require.Positive(t, held, "there was nothing to let go")
		}
	}
	last, err := engine.Open(t.Context(), engine.Config{
		Directory: dir, RegionDirectory: c.memory, Node: "dying", RegionBytes: 64 << 20, MemoryBytes: 512 << 20, Log: slog.New(slog.DiscardHandler),
		Cluster: &engine.Cluster{Endpoints: []string{c.etcd.Endpoint()}, Address: filepath.Join(dir, "csmsql.sock"), SessionTTL: 2 * time.Second},
	})
	require.NoError(t, err)
	require.NoError(t, last.CheckSpace(t.Context()), "what its former life held is free")
	require.NoError(t, last.Close())
}
