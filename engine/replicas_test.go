package engine_test

import (
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/engine"
	"github.com/csmsql/csmsql/engine/ingest"
	"github.com/csmsql/csmsql/internal/faults"
	"github.com/csmsql/csmsql/memregion"
)

// requireReplicas: every chunk of a table has so many replicas, each on another node that is there.
func (c *cluster) requireReplicas(s *engine.Session, table string, replicas int) {
	for _, row := range rows(c.t, s, "SELECT chunk, replicas, node || coalesce(', ' || others, '') FROM csm.chunks WHERE name = '"+table+"'") {
		cells := strings.Split(row, "|")
		nodes := strings.Split(cells[2], ", ")
		slices.Sort(nodes)
		require.Equal(c.t, fmt.Sprint(replicas), cells[1], "table %s, chunk %s", table, cells[0])
		require.Len(c.t, slices.Compact(nodes), replicas, "table %s, chunk %s", table, row)
		require.NotContains(c.t, row, "(", "table %s, chunk %s", table, row)
	}
	require.Equal(c.t, []string{fmt.Sprintf("%d|0", replicas)}, rows(c.t, s, "SELECT replicas, incomplete FROM csm.tables WHERE name = '"+table+"'"))
}

func (c *cluster) requireGone(name string) {
	for i, e := range c.nodes {
		if e != nil {
			s := c.session(i)
			waitUntil(c.t, name+" is gone", func() bool { return rows(c.t, s, "SELECT count(*) FROM csm.nodes WHERE name = '"+name+"'")[0] == "0" })
		}
	}
}

// Every placement and every way to write: two replicas of each chunk on two nodes, the same rows from each node, and from those that are left
// when one is gone; afterwards nothing unused is held.
func TestReplicas(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 3)
	s := c.session(0)
	exec(t, s, "CREATE TABLE plain AS "+fmt.Sprintf(someRows, 0, 12000))
	exec(t, s, "DELETE FROM plain WHERE a % 7 = 0")
	want := sumOf(t, s, "plain")
	tables := []string{"local", "node(n2)", "rows", "rows(n2, n1)", "hash(a)", "hash(b, d) on (n2, n0)"}
	for i, p := range tables {
		name := fmt.Sprintf("t%d", i)
		exec(t, c.session(i%3), fmt.Sprintf("CREATE TABLE %s WITH (placement = '%s', replicas = 2) AS %s", name, p, fmt.Sprintf(someRows, 0, 6000)))
		exec(t, c.session((i+1)%3), "INSERT INTO "+name+" "+fmt.Sprintf(someRows, 6000, 12000))
		if i%2 == 0 { // the others keep the chunks of the inserts
			exec(t, s, "DELETE FROM "+name+" WHERE a % 7 = 0")
		} else {
			exec(t, s, "CREATE VIEW v"+name+" AS SELECT * FROM "+name+" WHERE a % 7 <> 0")
		}
		c.requireReplicas(s, name, 2)
	}
	exec(t, s, "BEGIN")
	exec(t, s, "CREATE TABLE no WITH (replicas = 3) AS SELECT * FROM plain")
	exec(t, s, "SAVEPOINT a")
	exec(t, s, "INSERT INTO t2 SELECT * FROM plain")
	exec(t, s, "ROLLBACK TO a")
	exec(t, s, "INSERT INTO t4 SELECT * FROM plain")
	exec(t, s, "ROLLBACK")
	exec(t, s, "CREATE TABLE x WITH (placement = 'hash(a)', replicas = 2) AS SELECT a, d FROM plain")
	exec(t, s, "CREATE TABLE y WITH (placement = 'hash(a)') AS SELECT a, d FROM plain")
	ask := func(at int) {
		one := c.session(at)
		for _, how := range []string{"off", "always"} {
			exec(t, one, "SET csm.distribute = '"+how+"'")
			for i, p := range tables {
				name := fmt.Sprintf("t%d", i)
				if i%2 == 1 {
					name = "v" + name
				}
				require.Equal(t, want, sumOf(t, one, name), "%s at n%d, %s", p, at, how)
			}
			require.Equal(t, []string{"12000"}, rows(t, one, "SELECT count(*) FROM t1 x JOIN t5 y ON x.a = y.a"))
			require.Equal(t, []string{"10285"}, rows(t, one, "SELECT count(x.d) FROM t4 x JOIN t3 y ON x.a = y.a"))
		}
	}
	for at := range 3 {
		ask(at)
	}
	c.requireSpace()
	c.stop(2)
	c.requireGone("n2")
	ask(0)
	ask(1)
	for at := range 2 { // rows of y are missing, and no join may be computed without them, on any node
		one := c.session(at)
		exec(t, one, "SET csm.distribute = 'always'")
		for _, q := range []string{"SELECT count(*), count(y.d) FROM x LEFT JOIN y ON x.a = y.a", "SELECT count(*) FROM x JOIN y ON x.a = y.a", "SELECT count(*) FROM x WHERE NOT EXISTS (SELECT 1 FROM y WHERE x.a = y.a)"} {
			_, err := tryRows(one, q)
			require.ErrorContains(t, err, "node n2, which is not there", q)
			require.Equal(t, "58000", state(t, err))
		}
	}
	for i := 1; i < len(tables); i++ { // the first one lies on n0 and n1
		incomplete := rows(t, s, fmt.Sprintf("SELECT incomplete FROM csm.tables WHERE name = 't%d'", i))
		require.NotEqual(t, []string{"0"}, incomplete, "%s lies on n2, too", tables[i])
	}
	c.requireSpace()
	c.nodes[2] = c.open(2)
	ask(2)
	c.requireSpace()
	for i := range tables {
		exec(t, s, fmt.Sprintf("DROP TABLE t%d CASCADE", i))
	}
	exec(t, s, "DROP TABLE plain")
	exec(t, s, "DROP TABLE x")
	exec(t, s, "DROP TABLE y")
	c.requireSpace()
	for i, e := range c.nodes {
		require.Zero(t, e.RegionStats().Used, "n%d", i)
	}
}

// A node goes when its part of a query is worked out and not yet read: the query runs again without it, and its rows are right.
func TestNodeGoesInTheMiddleOfAQuery(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 3)
	s := c.session(0)
	exec(t, s, "SET csm.distribute = 'always'")
	for _, p := range []string{"rows", "hash(k)"} {
		exec(t, s, "CREATE OR REPLACE TABLE t WITH (placement = '"+p+"', replicas = 2) AS SELECT range % 1000 AS k, range AS a FROM range(20000)")
		require.Contains(t, strings.Join(rows(t, s, "EXPLAIN SELECT k, count(*) FROM t GROUP BY k"), "\n"), "on n2")
		prepared, err := s.Prepare(t.Context(), "SELECT count(*), sum(n)::BIGINT FROM (SELECT k, count(*) AS n FROM t GROUP BY k) AS g")
		require.NoError(t, err)
		ask := func() []string {
			reader, err := prepared.Query(t.Context())
			require.NoError(t, err)
			got, err := linesOf(reader)
			require.NoError(t, err)
			return got
		}
		require.Equal(t, []string{"1000|20000"}, ask())
		ran := 0
		c.onFault(func(_ int, point faults.Point) {
			if point == faults.StageRan {
				if ran++; ran == 1 {
					c.stop(2)
				}
			}
		})
		require.Equal(t, []string{"1000|20000"}, ask())
		c.onFault(nil)
		require.NotZero(t, ran)
		require.Equal(t, []string{"1000|20000"}, ask())
		require.NoError(t, prepared.Close())
		exec(t, s, "BEGIN")
		require.Equal(t, []string{"20000"}, rows(t, s, "SELECT count(*) FROM t"))
		c.nodes[2] = c.open(2)
		exec(t, s, "COMMIT")
		require.Equal(t, []string{"1000|20000"}, rows(t, s, "SELECT count(*), sum(n)::BIGINT FROM (SELECT k, count(*) AS n FROM t GROUP BY k) AS g"))
		c.requireSpace()
	}
}

// Every reader passes over a replica whose bytes are damaged for one that is whole, and the log says so once; if none
// is whole, the error names a node; a table that is checked as a whole is fine as long as each chunk has a whole
// replica.
func TestDamagedReplicas(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 2)
	log := &logLines{}
	s := c.session(0)
	exec(t, s, "CREATE TABLE t WITH (placement = 'node(n1)', replicas = 2) AS "+fmt.Sprintf(someRows, 0, 3000))
	want := sumOf(t, s, "t")
	places := map[string]int64{}
	extents, err := c.nodes[0].LiveExtents(t.Context())
	require.NoError(t, err)
	require.Zero(t, len(extents)%2, "two replicas of one chunk")
	path, longest := map[string]string{}, map[string]int64{}
	for i, e := range c.nodes {
		for _, x := range extents {
			if name := fmt.Sprintf("n%d", i); x.Region == e.RegionSpec().ID && x.Seal.Length > longest[name] {
				longest[name] = x.Seal.Length
				places[fmt.Sprintf("n%d", i)] = x.Range.Offset
				path[fmt.Sprintf("n%d", i)] = e.RegionSpec().Path
			}
		}
	}
	damage := func(name string) {
		file, err := os.OpenFile(path[name], os.O_RDWR, 0)
		require.NoError(t, err)
		defer file.Close()
		for at := range int64(8) {
			flip(t, file, places[name]+at*128, 3)
		}
	}
	restart := func() {
		c.stop(1)
		c.stop(0)
		c.log = slog.New(slog.NewTextHandler(log, nil))
		c.nodes[0] = c.open(0)
		c.nodes[1] = c.open(1)
	}
	damage("n1")
	restart()
	const line = "a replica is damaged; another one is read"
	require.Equal(t, want, sumOf(t, c.session(0), "t"))
	require.Zero(t, log.count(line), "n0 reads what lies in its own memory")
	used, err := c.nodes[1].RegionsOf(t.Context(), "t")
	require.NoError(t, err)
	require.Equal(t, []memregion.RegionID{c.nodes[0].RegionSpec().ID}, used, "nothing of what is damaged is in an answer")
	require.Equal(t, want, sumOf(t, c.session(1), "t"))
	require.Equal(t, 1, log.count(line), "n1 tries that, too")
	for at := range 2 {
		require.NoError(t, c.nodes[at].VerifyChecksums(t.Context()))
	}
	require.Equal(t, want, sumOf(t, c.session(1), "t"))
	require.Equal(t, 2, log.count(line), "each node says it once:\n%s", log)
	require.Contains(t, log.String(), "node=n1")
	require.Equal(t, []string{"n1|2|n0"}, rows(t, c.session(1), "SELECT node, replicas, others FROM csm.chunks WHERE name = 't'"))
	damage("n0")
	restart()
	for at := range 2 {
		_, err := tryRows(c.session(at), "SELECT sum(hash(a, b, d, l)::HUGEINT)::VARCHAR FROM t")
		require.Equal(t, "XX001", state(t, err), "%v", err)
		require.ErrorContains(t, err, "on node n")
		require.Equal(t, "XX001", state(t, c.nodes[at].VerifyChecksums(t.Context())))
	}
	c.stop(1)
	c.requireGone("n1")
	_, err = tryRows(c.session(0), "SELECT sum(a) FROM t")
	require.Equal(t, "XX001", state(t, err), "damage says more than absence")
	exec(t, c.session(0), "DROP TABLE t")
	c.nodes[1] = c.open(1)
	c.requireSpace()
}

// logLines collects a log. Safe for concurrent use.
type logLines struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *logLines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *logLines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

func (l *logLines) count(text string) int { return strings.Count(l.String(), text) }

// Where there are fewer nodes than replicas, nothing is made and nothing written, and the error says how many there are.
func TestReplicasThatCannotBe(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 2)
	s := c.session(0)
	for text, want := range map[string]string{"3": "55000", "0": "22023", "-1": "22023", "17": "22023", "x": "22023", "1.5": "22023"} {
		_, err := s.Exec(t.Context(), "CREATE TABLE t (a INTEGER) WITH (replicas = "+text+")")
		require.Error(t, err, text)
		require.Equal(t, want, state(t, err), "%s: %v", text, err)
	}
	_, err := s.Exec(t.Context(), "CREATE TABLE t (a INTEGER) WITH (replicas = 3)")
	require.ErrorContains(t, err, "2 of the cluster's nodes take rows: n0, n1")
	exec(t, s, "CREATE TABLE t (a INTEGER) WITH (replicas = 2)")
	exec(t, s, "INSERT INTO t VALUES (1)")
	for text, want := range map[string]string{"(replicas = 3)": "55000", "(replicas = 0)": "22023", "()": "42601", "(fillfactor = 70)": "22023", "(placement = 'nowhere')": "22023"} {
		_, err := s.Exec(t.Context(), "ALTER TABLE t SET "+text)
		requireRefused(t, want, err)
	}
	exec(t, s, "BEGIN")
	_, err = s.Exec(t.Context(), "ALTER TABLE t SET (replicas = 1)")
	requireRefused(t, "25001", err)
	exec(t, s, "ROLLBACK")
	c.stop(1)
	c.requireGone("n1")
	_, err = s.Exec(t.Context(), "INSERT INTO t VALUES (2)")
	requireRefused(t, "55000", err)
	_, err = s.Exec(t.Context(), "CREATE TABLE u (a INTEGER) WITH (replicas = 2)")
	requireRefused(t, "55000", err)
	exec(t, s, "ALTER TABLE t SET (replicas = 1)")
	exec(t, s, "INSERT INTO t VALUES (2)")
	require.Equal(t, []string{"2|3"}, rows(t, s, "SELECT count(*), sum(a) FROM t"))
	c.nodes[1] = c.open(1)
	c.requireSpace()
	alone, err := engine.Open(t.Context(), engine.Config{RegionBytes: 8 << 20, MemoryBytes: 256 << 20, Threads: 1})
	require.NoError(t, err)
	defer alone.Close()
	one, err := alone.Session(engine.SessionOptions{})
	require.NoError(t, err)
	_, err = one.Exec(t.Context(), "CREATE TABLE t (a INTEGER) WITH (replicas = 2)")
	requireRefused(t, "55000", err)
	exec(t, one, "CREATE TABLE t (a INTEGER) WITH (replicas = 1)")
	exec(t, one, "ALTER TABLE t SET (replicas = 1)")
}

// The node that a replica is being written to dies: the statement fails and says which, nothing is held, and the same works without it.
func TestNodeDiesWhileReplicasAreMade(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 3)
	s := c.session(0)
	exec(t, s, "CREATE TABLE t (a BIGINT) WITH (replicas = 3)")
	times := 0
	c.onFault(func(node int, point faults.Point) {
		if point == faults.ReplicaBegin {
			if times++; times == 2 {
				c.stop(2) // after the one on n1 is made
			}
		}
	})
	_, err := s.Exec(t.Context(), "INSERT INTO t SELECT range FROM range("+fmt.Sprint(ingest.RowsPerChunkMax*3)+")")
	c.onFault(nil)
	require.ErrorContains(t, err, "n2")
	c.requireGone("n2")
	require.Equal(t, []string{"0"}, rows(t, s, "SELECT count(*) FROM t"))
	c.requireSpace()
	_, err = s.Exec(t.Context(), "INSERT INTO t VALUES (1)")
	requireRefused(t, "55000", err)
	exec(t, s, "ALTER TABLE t SET (replicas = 2)")
	exec(t, s, "INSERT INTO t SELECT range FROM range(5000)")
	require.Equal(t, []string{"n0|n1"}, rows(t, s, "SELECT node, others FROM csm.chunks WHERE name = 't'"))
	c.nodes[2] = c.open(2)
	c.requireSpace()
}

// A replica is a copy of what was acquired: the caches of the node that copies may have what lay there before, or nothing.
func TestReplicasOnIncoherentMemory(t *testing.T) {
	t.Parallel()
	eachIncoherent(t, func(t *testing.T, fabric memregion.FabricKind) {
		c := startCluster(&cluster{t: t, change: func(_ int, config *engine.Config) { config.Fabric = fabric }}, 3)
		writer, copier, other := c.session(0), c.session(1), c.session(2)
		for round := range 6 {
			want := written(t, writer, round)
			if round%2 == 0 { // some of the memory is in its caches then
				require.Equal(t, want, rows(t, copier, "SELECT sum(a)::VARCHAR FROM m")[0])
			}
			exec(t, copier, "ALTER TABLE m SET (replicas = 2)")
			require.Equal(t, []string{"true"}, rows(t, copier, "SELECT bool_and(coalesce(others, '') <> '' AND others NOT LIKE '%damaged%') FROM csm.chunks WHERE name = 'm'"))
			require.Equal(t, want, rows(t, other, "SELECT sum(a)::VARCHAR FROM m")[0])
		}
	})
}
