package engine_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/cluster/noderpc"
	"github.com/csmsql/csmsql/engine"
	"github.com/csmsql/csmsql/engine/ingest"
	"github.com/csmsql/csmsql/internal/faults"
)

const someRows = `SELECT range::INTEGER AS a, CASE WHEN range %% 10 = 3 THEN NULL ELSE 'word ' || (range %% 700) END AS b, (range * 7 %% 1000)::DECIMAL(10,2) AS d,
	[range, range + 1] AS l FROM range(%d, %d)`

func sumOf(t testing.TB, s *engine.Session, table string) string {
	return rows(t, s, "SELECT count(*), sum(hash(a, b, d, l)::HUGEINT)::VARCHAR FROM "+table)[0]
}

// spread says how many rows of a table each node has, by csm.chunks.
func spread(t testing.TB, s *engine.Session, table string) string {
	return strings.Join(rows(t, s, "SELECT node, sum(rows)::BIGINT FROM csm.chunks WHERE name = '"+table+"' GROUP BY node ORDER BY node"), " ")
}

func state(t testing.TB, err error) string {
	var s interface{ SQLState() string }
	require.ErrorAs(t, err, &s)
	return s.SQLState()
}

// requireSpace: every node's region holds what the catalog needs, once what is on its way has arrived.
func (c *cluster) requireSpace() {
	for i, e := range c.nodes {
		if e != nil {
			require.NoError(c.t, e.CheckSpace(context.Background()), "n%d", i)
		}
	}
}

func waitUntil(t testing.TB, what string, ok func() bool) {
	require.Eventually(t, ok, 20*time.Second, 10*time.Millisecond, what)
}

// Every placement and every way to write: the same rows as in a table of one node, where the placement says.
func TestPlacements(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 3)
	s, other := c.session(0), c.session(2)
	exec(t, s, "CREATE TABLE plain AS "+fmt.Sprintf(someRows, 0, 10000))
	exec(t, s, "INSERT INTO plain "+fmt.Sprintf(someRows, 10000, 19000))
	exec(t, s, "INSERT INTO plain "+fmt.Sprintf(someRows, 19000, 20000))
	exec(t, s, "UPDATE plain SET d = d + 1 WHERE a % 3 = 0")
	exec(t, s, "DELETE FROM plain WHERE a % 7 = 0")
	want := sumOf(t, s, "plain")
	for i, p := range []struct{ text, record, nodes string }{
		{"local", "", "n0"}, {"node(n1)", "node(n1)", "n1"}, {"rows", "rows", "n0 n1 n2"}, {"rows(n2, n1)", "rows(n2, n1)", "n1 n2"},
		{"hash(A)", "hash(a) on (n0, n1, n2)", "n0 n1 n2"}, {"hash(b, d) on (n2, n0)", "hash(b, d) on (n2, n0)", "n0 n2"},
	} {
		name := fmt.Sprintf("t%d", i)
		exec(t, s, fmt.Sprintf("CREATE TABLE %s WITH (placement = '%s') AS %s", name, p.text, fmt.Sprintf(someRows, 0, 10000)))
		exec(t, s, "INSERT INTO "+name+" "+fmt.Sprintf(someRows, 10000, 19000))
		if p.text == "local" {
			exec(t, s, "INSERT INTO "+name+" "+fmt.Sprintf(someRows, 19000, 20000))
		} else {
			exec(t, other, "INSERT INTO "+name+" "+fmt.Sprintf(someRows, 19000, 20000))
		}
		exec(t, s, "UPDATE "+name+" SET d = d + 1 WHERE a % 3 = 0")
		exec(t, s, "DELETE FROM "+name+" WHERE a % 7 = 0")
		require.Equal(t, []string{p.nodes}, rows(t, s, "SELECT string_agg(DISTINCT node, ' ' ORDER BY node) FROM csm.chunks WHERE name = '"+name+"'"), p.text)
		for k := range 3 {
			require.Equal(t, want, sumOf(t, c.session(k), name), "%s at n%d", p.text, k)
		}
		require.Equal(t, []string{p.record}, rows(t, s, "SELECT coalesce(placement, '') FROM csm.tables WHERE name = '"+name+"'"))
		require.Equal(t, []string{"0"}, rows(t, s, `SELECT count(*) FROM (SELECT first_row - lag(first_row + rows, 1, 0) OVER (ORDER BY chunk) AS gap
			FROM csm.chunks WHERE name = '`+name+`') WHERE gap <> 0`), "rows are contiguous")
	}
	// A hash does what it promises: equal values on one node, whatever was written when and by whom.
	exec(t, other, "SET csm.distribute = 'always'")
	exec(t, s, "CREATE TABLE h (k BIGINT, v INTEGER) WITH (placement = 'hash(k)')")
	exec(t, s, "INSERT INTO h SELECT range % 500, range FROM range(5000)")
	exec(t, other, "INSERT INTO h SELECT range % 700, range FROM range(7000)")
	require.Equal(t, []string{"700|12000|0"}, rows(t, other, "SELECT count(*), sum(n)::BIGINT, sum(wrong)::BIGINT FROM (SELECT k, count(*) AS n, CASE WHEN count(*) = CASE WHEN k < 500 THEN 20 ELSE 10 END THEN 0 ELSE 1 END AS wrong FROM h GROUP BY k)"))
	plan := strings.Join(rows(t, other, "EXPLAIN SELECT k, count(*) FROM h GROUP BY k"), "\n")
	require.Contains(t, plan, "on n1", plan)
	exec(t, s, "DROP TABLE h")
	// Few rows at a time go round, too: to the node that has least.
	exec(t, s, "CREATE TABLE z (a INTEGER) WITH (placement = 'rows')")
	for i := range 3 {
		exec(t, c.session(i), "INSERT INTO z VALUES (1), (2)")
	}
	require.Equal(t, "n0|2 n1|2 n2|2", spread(t, s, "z"))
	c.requireSpace()
}

// COPY, load, and a block that is rolled back.
func TestPlacedLoads(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 3)
	s := c.session(0)
	dir := t.TempDir()
	file := filepath.Join(dir, "some.csv")
	var text strings.Builder
	text.WriteString("a,b\n")
	for i := range 20000 {
		fmt.Fprintf(&text, "%d,word %d\n", i, i%300)
	}
	require.NoError(t, os.WriteFile(file, []byte(text.String()), 0o600))
	replicas := 0
	load := func(table, placement string, mode noderpc.LoadMode) error {
		_, err := c.nodes[1].Load(t.Context(), noderpc.LoadRequest{Table: catalog.TableName{Name: table}, Files: []string{file},
			Options: noderpc.LoadOptions{Mode: mode, Placement: placement, Replicas: replicas}}, nil)
		return err
	}
	require.NoError(t, load("plain", "", noderpc.LoadCreate))
	sum := "SELECT count(*), sum(hash(a, b)::HUGEINT)::VARCHAR FROM "
	want := rows(t, s, sum+"plain")
	require.Equal(t, "n1|20000", spread(t, s, "plain"))
	for i, p := range []string{"rows", "hash(a)", "node(n2)"} {
		name := fmt.Sprintf("t%d", i)
		replicas = i
		require.NoError(t, load(name, p, noderpc.LoadCreate))
		c.requireReplicas(s, name, max(i, 1))
		if replicas > 0 {
			requireRefused(t, "22023", load(name, "", noderpc.LoadAppend))
			replicas = 0
		}
		require.Equal(t, want, rows(t, s, sum+name))
		if p != "node(n2)" {
			require.Equal(t, []string{"3"}, rows(t, s, "SELECT count(DISTINCT node) FROM csm.chunks WHERE name = '"+name+"'"))
		}
		require.NoError(t, load(name, "", noderpc.LoadAppend))
		require.Equal(t, []string{"40000"}, rows(t, s, "SELECT count(*) FROM "+name))
		err := load(name, "rows", noderpc.LoadAppend)
		require.Equal(t, "22023", state(t, err), "%v", err)
		exec(t, s, "BEGIN")
		exec(t, s, "INSERT INTO "+name+" SELECT a, b FROM plain")
		exec(t, s, "ROLLBACK")
	}
	c.requireSpace()
}

func TestPlacementsThatCannotBe(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 2)
	s := c.session(0)
	for text, want := range map[string]string{
		"nowhere": "22023", "hash(x)": "42703", "node(n7)": "42704", "rows(n0, n7)": "42704", "hash(l)": "0A000", "hash(a) on (n7)": "42704",
	} {
		_, err := s.Exec(t.Context(), "CREATE TABLE t (a INTEGER, l INTEGER[]) WITH (placement = '"+text+"')")
		require.Error(t, err, text)
		require.Equal(t, want, state(t, err), "%s: %v", text, err)
	}
	alone, err := engine.Open(t.Context(), engine.Config{RegionBytes: 8 << 20, MemoryBytes: 256 << 20, Threads: 1})
	require.NoError(t, err)
	defer alone.Close()
	one, err := alone.Session(engine.SessionOptions{})
	require.NoError(t, err)
	_, err = one.Exec(t.Context(), "CREATE TABLE t (a INTEGER) WITH (placement = 'rows')")
	require.ErrorContains(t, err, "this node is alone")
	require.Equal(t, "55000", state(t, err))
	exec(t, one, "CREATE TABLE t (a INTEGER) WITH (placement = 'local')")
}

// The TPC-H tables over nodes: the same rows as on one, and hash-split tables where they say.
func TestPlacedTPCH(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 3)
	s := c.session(0)
	tables := []string{"lineitem", "orders", "partsupp", "part", "customer", "supplier", "nation", "region"}
	sums := func(schema string) (list []string) {
		for _, name := range tables {
			list = append(list, rows(t, s, "SELECT count(*), sum(hash(COLUMNS(*))::HUGEINT)::VARCHAR FROM "+schema+"."+name)...)
		}
		return list
	}
	load := func(schema, placement string) {
		request := noderpc.TPCHRequest{ScaleFactor: 0.01, Schema: schema, Placement: placement}
		if schema == "r" || schema == "h2" {
			request.Replicas = 2
		}
		require.NoError(t, c.nodes[1].LoadTPCH(t.Context(), request, nil))
		for _, name := range tables {
			require.Equal(t, []string{fmt.Sprintf("true|%d", max(request.Replicas, 1))},
				rows(t, s, fmt.Sprintf("SELECT bool_and(replicas = %d AND coalesce(others, '') <> node), max(replicas) FROM csm.chunks WHERE schema = '%s' AND name = '%s'", max(request.Replicas, 1), schema, name)))
		}
	}
	load("plain", "")
	want := sums("plain")
	for schema, p := range map[string]struct{ text, nodes string }{"r": {"rows", "3"}, "h": {"hash", "3"}, "n": {"node(n2)", "1"}, "h2": {"hash on (n2, n0)", "2"}} {
		load(schema, p.text)
		require.Equal(t, want, sums(schema), p.text)
		require.Equal(t, []string{p.nodes}, rows(t, s, "SELECT count(DISTINCT node) FROM csm.chunks WHERE schema = '"+schema+"' AND name = 'lineitem'"), p.text)
	}
	require.Equal(t, []string{"hash(o_orderkey) on (n0, n1, n2)"}, rows(t, s, "SELECT placement FROM csm.tables WHERE schema = 'h' AND name = 'orders'"))
	c.requireSpace()
}

// A node dies while rows are put into its memory: nothing is there afterwards, nothing is held, the error names the
// node, and the same works again without it.
func TestNodeDiesDuringPlacedWrites(t *testing.T) {
	t.Parallel()
	for _, placement := range []string{"rows", "hash(a)"} {
		for _, point := range []faults.Point{faults.StoreBatch, faults.StoreSealed} {
			t.Run(placement+" "+point.String(), func(t *testing.T) {
				c := newCluster(t, 3)
				s := c.session(0)
				exec(t, s, "CREATE TABLE t (a BIGINT, s VARCHAR) WITH (placement = '"+placement+"')")
				exec(t, s, "INSERT INTO t SELECT range, 'x' FROM range(5000)")
				batches := 0
				c.onFault(func(node int, at faults.Point) {
					if at == point {
						if batches++; at == faults.StoreSealed || batches == 150 {
							c.stop(2)
						}
					}
				})
				_, err := s.Exec(t.Context(), "INSERT INTO t SELECT range, 'y' FROM range("+fmt.Sprint(ingest.RowsPerChunk*3)+")")
				c.onFault(nil)
				require.ErrorContains(t, err, "n2")
				waitUntil(t, "n2 is gone", func() bool { return rows(t, s, "SELECT count(*) FROM csm.nodes")[0] == "2" })
				exec(t, s, "CREATE TABLE u (a BIGINT) WITH (placement = '"+placement+"')")
				exec(t, s, "INSERT INTO u SELECT range FROM range(5000)")
				require.Equal(t, []string{"5000"}, rows(t, s, "SELECT count(*) FROM u"))
				_, err = tryRows(s, "SELECT sum(a) FROM t")
				require.ErrorContains(t, err, "node n2, which is not there")
				c.requireSpace()
				c.nodes[2] = c.open(2) // it has what it had, and nothing of what failed
				require.Equal(t, []string{"5000"}, rows(t, s, "SELECT count(a) FROM t WHERE s = 'x'"))
				require.Equal(t, []string{"0"}, rows(t, s, "SELECT count(a) FROM t WHERE s = 'y'"))
				exec(t, s, "INSERT INTO t SELECT range, 'y' FROM range(5000)")
				require.Equal(t, []string{"10000"}, rows(t, s, "SELECT count(a) FROM t"))
				c.requireSpace()
			})
		}
	}
}

// A statement that is cancelled while it writes into other nodes' memory leaves nothing there.
func TestPlacedWriteIsCancelled(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 3)
	s := c.session(0)
	for i, placement := range []string{"rows", "hash(a)"} {
		exec(t, s, fmt.Sprintf("CREATE OR REPLACE TABLE t (a BIGINT, s VARCHAR) WITH (placement = '%s', replicas = %d)", placement, 2-i))
		for _, at := range []int{1, 150, 300, -1, -2} { // a batch, or what n1 and n2 grant
			ctx, cancel := context.WithCancel(t.Context())
			batches := 0
			c.onFault(func(_ int, point faults.Point) {
				switch {
				case point == faults.StoreBatch && at > 0:
					batches++
				case point == faults.BorrowGranted && at < 0:
					batches--
				default:
					return
				}
				if batches == at {
					cancel()
				}
			})
			_, err := s.Exec(ctx, "INSERT INTO t SELECT range, 'y' FROM range("+fmt.Sprint(ingest.RowsPerChunk*4)+")")
			c.onFault(nil)
			cancel()
			require.Error(t, err)
			require.Equal(t, []string{"0"}, rows(t, s, "SELECT count(*) FROM t"))
			c.requireSpace()
		}
	}
}

// A node of a table's list is not there: a write says what to do about it, and then it can be done; when the node comes back, nothing of it is
// missing or there twice.
func TestWritesWithoutANode(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 3)
	s := c.session(0)
	for name, with := range map[string]string{"h": "hash(a)", "r": "rows(n2, n1)", "l": "node(n2)"} {
		exec(t, s, "CREATE TABLE "+name+" WITH (placement = '"+with+"', replicas = 2) AS "+fmt.Sprintf(someRows, 0, 3000))
	}
	c.stop(2)
	c.requireGone("n2")
	for name, hint := range map[string]string{
		"h": `ALTER TABLE "public"."h" SET PLACEMENT 'hash(a) on (n0, n1)'`, "r": `ALTER TABLE "public"."r" SET PLACEMENT 'rows(n1)'`, "l": `ALTER TABLE "public"."l" SET PLACEMENT 'node(n0)'`,
	} {
		more := "INSERT INTO " + name + " " + fmt.Sprintf(someRows, 3000, 6000)
		_, err := s.Exec(t.Context(), more)
		require.Equal(t, "58000", state(t, err))
		require.EqualError(t, err, `node "n2" is not there`)
		require.Equal(t, "Start it, or leave it out: "+hint+".", hintOf(err))
		exec(t, s, hint)
		exec(t, s, more)
	}
	exec(t, s, "CREATE TABLE plain AS "+fmt.Sprintf(someRows, 0, 6000))
	want := sumOf(t, s, "plain")
	ask := func(i int) {
		one := c.session(i)
		exec(t, one, "SET csm.distribute = 'always'")
		for _, name := range []string{"h", "r", "l"} {
			require.Equal(t, want, sumOf(t, one, name), "%s at n%d", name, i)
		}
		require.Equal(t, []string{"6000"}, rows(t, one, "SELECT count(*) FROM h x JOIN h y ON x.a = y.a"))
	}
	ask(1)
	c.nodes[2] = c.open(2)
	ask(2)
	c.requireSpace()
}
