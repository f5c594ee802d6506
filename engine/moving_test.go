package engine_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/cluster/noderpc"
	"github.com/csmsql/csmsql/engine"
	"github.com/csmsql/csmsql/internal/faults"
)

// From every placement to every other: the rows stay the same, lie where the placement says, and nothing is left behind.
func TestSetPlacement(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 3)
	s := c.session(0)
	exec(t, s, "CREATE TABLE t AS "+fmt.Sprintf(someRows, 0, 3000))
	for i := range 5 {
		exec(t, c.session(i%2), "INSERT INTO t "+fmt.Sprintf(someRows, 3000+i*1000, 4000+i*1000))
	}
	want := sumOf(t, s, "t")
	random := rand.New(rand.NewPCG(uint64(rand.Uint32()), 1))
	all := []struct{ text, nodes string }{
		{"node(n2)", "n2"}, {"rows", "n0 n1 n2"}, {"rows(n1)", "n1"}, {"hash(a)", "n0 n1 n2"}, {"rows(n2, n0)", "n0 n2"}, {"hash(b) on (n1, n2)", "n1 n2"}, {"node(n0)", "n0"},
	}
	replicas := 1
	for range 12 {
		p := all[random.IntN(len(all))]
		at := random.IntN(3)
		switch random.IntN(3) {
		case 0:
			replicas = 1 + random.IntN(3)
			exec(t, c.session(at), fmt.Sprintf("ALTER TABLE t SET (replicas = %d)", replicas))
			c.requireReplicas(s, "t", replicas)
			exec(t, c.session(at), "ALTER TABLE t SET PLACEMENT '"+p.text+"'")
		case 1:
			replicas = 1 + random.IntN(3)
			exec(t, c.session(at), fmt.Sprintf("ALTER TABLE t SET (placement = '%s', replicas = %d)", p.text, replicas))
		default:
			exec(t, c.session(at), "ALTER TABLE t SET PLACEMENT '"+p.text+"'")
		}
		c.requireReplicas(s, "t", replicas)
		require.Equal(t, want, sumOf(t, s, "t"), p.text)
		nodes := rows(t, s, "SELECT string_agg(DISTINCT node, ' ' ORDER BY node) FROM csm.chunks WHERE name = 't'")[0]
		if strings.HasPrefix(p.text, "rows") && strings.Count(p.nodes, " ") > 0 { // a table of few chunks may not reach all
			for _, n := range strings.Fields(nodes) {
				require.Contains(t, p.nodes, n, p.text)
			}
		} else {
			require.Equal(t, p.nodes, nodes, "%s by n%d", p.text, at)
		}
	}
	exec(t, s, "ALTER TABLE t SET PLACEMENT 'local'")
	require.Equal(t, want, sumOf(t, s, "t"))
	for text, state := range map[string]string{"ALTER TABLE t SET PLACEMENT 'node(n9)'": "42704", "ALTER TABLE u SET PLACEMENT 'rows'": "42P01", "ALTER TABLE t SET PLACEMENT 'hash(q)'": "42703"} {
		_, err := s.Exec(t.Context(), text)
		requireRefused(t, state, err)
	}
	exec(t, s, "ALTER TABLE IF EXISTS u SET PLACEMENT 'rows'")
	exec(t, s, "BEGIN")
	_, err := s.Exec(t.Context(), "ALTER TABLE t SET PLACEMENT 'rows'")
	requireRefused(t, "25001", err)
	exec(t, s, "ROLLBACK")
	c.requireSpace()
}

func requireRefused(t testing.TB, want string, err error) {
	t.Helper()
	require.Error(t, err)
	require.Equal(t, want, state(t, err), "%v", err)
}

// Readers see the same rows all the time, on every node, while chunks move under them.
func TestReadersWhileChunksMove(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 3)
	s := c.session(0)
	exec(t, s, "CREATE TABLE t AS "+fmt.Sprintf(someRows, 0, 4000))
	for i := range 4 {
		exec(t, s, "INSERT INTO t "+fmt.Sprintf(someRows, 4000+i*1000, 5000+i*1000))
	}
	want := sumOf(t, s, "t")
	reading, stop := context.WithCancel(t.Context())
	var group sync.WaitGroup
	failures := make(chan error, 3)
	for i := range 3 {
		reader := c.session(i)
		group.Go(func() {
			for reading.Err() == nil {
				got, err := tryRows(reader, "SELECT count(*), sum(hash(a, b, d, l)::HUGEINT)::VARCHAR FROM t")
				if err == nil && got[0] != want {
					err = fmt.Errorf("n%d read %s, want %s", i, got[0], want)
				}
				if err != nil {
					failures <- err
					return
				}
			}
		})
	}
	for _, p := range []string{"node(n1)", "rows", "hash(a)", "node(n0)", "rows(n1, n2)"} {
		exec(t, s, "ALTER TABLE t SET PLACEMENT '"+p+"'")
	}
	stop()
	group.Wait()
	close(failures)
	for err := range failures {
		require.NoError(t, err)
	}
	c.requireSpace()
}

// A session that writes to the table between the copy and its commit wins. What it appends and changes goes together with
// chunks that move, and with rows that are divided: there the copy is made once more.
func TestWriterDuringMove(t *testing.T) {
	t.Parallel()
	insert := "INSERT INTO t " + fmt.Sprintf(someRows, 4000, 4100)
	for _, m := range []struct {
		placement string
		point     faults.Point
		write     string
		rows      string
	}{
		{"node(n1)", faults.MoveCopied, insert, "4100"},
		{"node(n1)", faults.MoveCopied, "UPDATE t SET a = a WHERE a % 2 = 0", "4000"},
		{"hash(a)", faults.CommitBegin, insert, "4100"},
		{"hash(a)", faults.DivideCopied, insert, "4100"},
		{"hash(a)", faults.DivideCopied, "UPDATE t SET a = a WHERE a % 2 = 0", "4000"},
		{"hash(a)", faults.DivideCopied, "DELETE FROM t WHERE a < 1000", "3000"},
		{"hash(a)", faults.DivideCopied, "TRUNCATE t", "0"},
	} {
		c := newCluster(t, 2)
		s, writer := c.session(0), c.session(1)
		exec(t, s, "CREATE TABLE t AS "+fmt.Sprintf(someRows, 0, 4000))
		once := false
		c.onFault(func(_ int, point faults.Point) {
			if point == m.point && !once {
				once = true
				exec(t, writer, m.write)
			}
		})
		_, err := s.Exec(t.Context(), "ALTER TABLE t SET PLACEMENT '"+m.placement+"'")
		c.onFault(nil)
		require.True(t, once)
		require.NoError(t, err)
		require.Equal(t, []string{m.rows}, rows(t, s, "SELECT count(*) FROM t"))
		if m.placement == "node(n1)" {
			require.Equal(t, []string{"n1"}, rows(t, s, "SELECT DISTINCT node FROM csm.chunks WHERE name = 't'"))
		} else {
			requireDivided(t, c, "t", "a", "hash(a) on (n0, n1)")
		}
		c.requireSpace()
	}
}

// A node is emptied, by another or by itself: it holds nothing, takes nothing, and everything is where it can be.
func TestDrain(t *testing.T) {
	t.Parallel()
	for _, by := range []int{0, 2} {
		t.Run(fmt.Sprintf("by n%d", by), func(t *testing.T) {
			c := newCluster(t, 3)
			s, on := c.session(0), c.session(2)
			tables := map[string][2]string{
				"l": {"local", ""}, "n": {"node(n2)", "node(n0)"}, "r": {"rows", "rows"}, "x": {"rows(n1, n2)", "rows(n1)"},
				"h": {"hash(a)", "hash(a) on (n0, n1)"}, "k": {"hash(a) on (n0, n1)", "hash(a) on (n0, n1)"},
			}
			replicated := map[string]string{"r": ", replicas = 2", "n": ", replicas = 2", "h": ", replicas = 2", "k": ", replicas = 2"}
			want := map[string]string{}
			for name, p := range tables {
				exec(t, on, "CREATE TABLE "+name+" WITH (placement = '"+p[0]+"'"+replicated[name]+") AS "+fmt.Sprintf(someRows, 0, 5000))
				want[name] = sumOf(t, s, name)
			}
			exec(t, on, "CREATE TABLE three WITH (replicas = 3) AS SELECT 1 AS a")
			requireRefused(t, "55000", c.nodes[by].Drain(t.Context(), "n2", nil))
			exec(t, on, "ALTER TABLE three SET (replicas = 2)")
			conflicts := 0
			c.onFault(func(_ int, point faults.Point) { // another session writes meanwhile
				if point == faults.MoveCopied && conflicts < 2 {
					conflicts++
					exec(t, s, "INSERT INTO r SELECT a + 100000, b, d, l FROM l WHERE a < 10")
				}
			})
			steps := 0
			require.NoError(t, c.nodes[by].Drain(t.Context(), "n2", func(noderpc.Progress) { steps++ }))
			c.onFault(nil)
			require.Positive(t, steps)
			require.Equal(t, []string{"0"}, rows(t, s, "SELECT count(*) FROM csm.chunks WHERE node = 'n2' OR others LIKE '%n2%'"))
			for name := range replicated {
				c.requireReplicas(s, name, 2)
			}
			exec(t, s, "DELETE FROM r WHERE a >= 100000")
			for name, p := range tables {
				require.Equal(t, want[name], sumOf(t, on, name), name)
				require.Equal(t, []string{p[1]}, rows(t, s, "SELECT coalesce(placement, '') FROM csm.tables WHERE name = '"+name+"'"), name)
			}
			require.Equal(t, []string{"n0|online", "n1|online", "n2|draining"}, rows(t, s, "SELECT name, state FROM csm.nodes ORDER BY name"))
			c.requireSpace()
			require.Zero(t, c.nodes[2].RegionStats().Used, "the node holds nothing")
			for _, name := range []string{"l", "n", "r", "x", "h"} { // new rows go elsewhere, from every writer
				exec(t, on, "INSERT INTO "+name+" "+fmt.Sprintf(someRows, 5000, 5100))
			}
			require.Equal(t, []string{"0"}, rows(t, s, "SELECT count(*) FROM csm.chunks WHERE node = 'n2'"))
			_, err := s.Exec(t.Context(), "CREATE TABLE no (a INTEGER) WITH (placement = 'node(n2)')")
			requireRefused(t, "55000", err)
			require.Equal(t, []string{"0"}, rows(t, s, "SELECT count(*) FROM csm.chunks WHERE others LIKE '%n2%'"))
			require.NoError(t, c.nodes[by].Drain(t.Context(), "n2", nil), "again")
			require.NoError(t, c.nodes[0].Undrain(t.Context(), "n2"))
			exec(t, s, "CREATE TABLE yes WITH (placement = 'node(n2)') AS SELECT 1 AS a")
			require.Equal(t, "n2|1", spread(t, s, "yes"))
			requireRefused(t, "42704", c.nodes[0].Drain(t.Context(), "n7", nil))
			c.requireSpace()
		})
	}
}

func TestDrainAlone(t *testing.T) {
	t.Parallel()
	alone, err := engine.Open(t.Context(), engine.Config{RegionBytes: 8 << 20, MemoryBytes: 256 << 20, Threads: 1})
	require.NoError(t, err)
	defer alone.Close()
	requireRefused(t, "55000", alone.Drain(t.Context(), "x", nil))
	c := newCluster(t, 1)
	requireRefused(t, "55000", c.nodes[0].Drain(t.Context(), "n0", nil))
}
