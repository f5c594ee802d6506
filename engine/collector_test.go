package engine_test

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/csmsql/csmsql/engine"
	"github.com/csmsql/csmsql/internal/faults"
	"github.com/csmsql/csmsql/internal/testsuite"
)

// insertFrom has sessions of every node insert into a table m at once, with other values each, until a node has handed
// over; it gives how many rows there are then, at least.
func (c *cluster) insertFrom(first int64, rounds int, until func() bool) (inserted int64) {
	var group errgroup.Group
	var next atomic.Int64
	next.Store(first)
	for i := range 2 * len(c.nodes) {
		s := c.session(i % len(c.nodes))
		group.Go(func() error {
			for n := 0; n < rounds || !until() && n < 1000; n++ {
				if _, err := s.Exec(c.t.Context(), "INSERT INTO m VALUES (?, 'x')", next.Add(1)); err != nil {
					return err
				}
			}
			return nil
		})
	}
	require.NoError(c.t, group.Wait())
	return next.Load() - first
}

// handsOver is a node that has handed rows of m over, and the one that it did to; both are found by trying.
func (c *cluster) handsOver() (from int) {
	for i, e := range c.nodes {
		if handed, _ := e.HandedOver(); handed > 0 {
			return i
		}
	}
	return -1
}

// Sessions of three nodes insert into one table: all rows are there once, none is refused, and nodes hand over.
func TestRowsOfSeveralNodesMeet(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 3)
	s := c.session(0)
	exec(t, s, "CREATE TABLE m (a bigint, b text)")
	count := c.insertFrom(0, 30*testsuite.Effort(), func() bool { return c.handsOver() >= 0 })
	require.GreaterOrEqual(t, c.handsOver(), 0, "no node has handed over")
	for i := range c.nodes {
		require.Equal(t, []string{fmt.Sprintf("%d|%[1]d|1|%[1]d", count)},
			rows(t, c.session(i), "SELECT count(*), count(DISTINCT a), min(a), max(a) FROM m"))
	}
	c.requireSpace()
}

// HN1: the node that commits stops at some point; what the other one has handed over is there once, and acknowledged.
func TestAHandOverIsSettled(t *testing.T) {
	t.Parallel()
	for _, point := range []faults.Point{faults.CommitBegin, faults.CommitPublished, faults.CommitStored} {
		t.Run(fmt.Sprint(point), func(t *testing.T) {
			t.Parallel()
			stopped(t, point, nil)
		})
	}
}

// RC1: the collector goes on when the other node has found out that it will not commit, and before that does it itself.
func TestAHandOverThatWasSettledDoesNotHappen(t *testing.T) {
	t.Parallel()
	stopped(t, faults.CommitPublished, func(stored <-chan struct{}) {
		select {
		case <-stored:
			t.Error("it has happened")
		case <-time.After(300 * time.Millisecond): // it does not; the longer, the surer
		}
	})
}

// stopped has a node hand over, and the one that it hands over to stop at a point until it was settled, or, with
// settled, until the other one is about to commit itself: it is called then, with a channel that is closed if it went
// on.
func stopped(t *testing.T, point faults.Point, settled func(stored <-chan struct{})) {
	c := startCluster(&cluster{t: t, change: func(_ int, config *engine.Config) {
		config.NoCompaction = true // whose commits would be taken for others
	}}, 2)
	exec(t, c.session(0), "CREATE TABLE m (a bigint, b text)")
	count := c.insertFrom(0, 5, func() bool { return c.handsOver() >= 0 })
	from := c.handsOver()
	require.GreaterOrEqual(t, from, 0, "no node has handed over")
	s, collector := c.session(from), c.session(1-from)
	counted := func() int64 {
		_, n := c.nodes[from].HandedOver()
		return n
	}
	goOn, stored := make(chan struct{}), make(chan struct{})
	for before := counted(); counted() == before; {
		// They still meet: the collector's own rows are among the last ones.
		count += c.insertFrom(count, 2, func() bool { return true })
		var stops, goesOn, stores atomic.Bool
		c.onFault(func(node int, at faults.Point) {
			switch {
			case node != from && at == point && stops.CompareAndSwap(false, true):
				<-goOn
			case node != from && at == faults.CommitStored && stops.Load() && stores.CompareAndSwap(false, true):
				close(stored)
			case node == from && at == faults.CommitBegin && settled != nil && stops.Load():
				if goesOn.CompareAndSwap(false, true) {
					close(goOn)
					settled(stored)
				}
			}
		})
		count++
		exec(t, s, "INSERT INTO m VALUES (?, 'settled')", count)
		if settled == nil && stops.Load() {
			close(goOn)
		}
		c.onFault(nil)
	}
	require.Equal(t, []string{fmt.Sprintf("%d|%[1]d", count)}, rows(t, s, "SELECT count(*), count(DISTINCT a) FROM m"))
	count++
	exec(t, collector, "INSERT INTO m VALUES (?, 'after')", count) // behind the one that was stopped
	require.Equal(t, []string{fmt.Sprintf("%d|%[1]d", count)},
		rows(t, collector, "SELECT count(*), count(DISTINCT a) FROM m"))
}

// GA6: a node that has not heard yet what a name means inserts into no other table.
func TestANameIsConfirmedBeforeItsRowsAreCommitted(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 2)
	a, b := c.session(0), c.session(1)
	exec(t, a, "CREATE SCHEMA s1; CREATE SCHEMA s2; CREATE TABLE s2.m (n int)")
	exec(t, b, "SET search_path = s1, s2")
	p, err := b.Prepare(t.Context(), "INSERT INTO m VALUES (?)")
	require.NoError(t, err)
	t.Cleanup(func() { p.Close() })
	insert := func(n int) {
		t.Helper()
		_, err := p.Exec(t.Context(), n)
		require.NoError(t, err)
	}
	rounds := 40 * testsuite.Effort()
	for i := range rounds {
		exec(t, a, "CREATE TABLE s1.m (n int)")
		insert(i)
		require.Equal(t, []string{fmt.Sprint(i)}, rows(t, a, "SELECT n FROM s1.m"))
		exec(t, a, "DROP TABLE s1.m")
		insert(i)
	}
	require.Equal(t, []string{fmt.Sprintf("%d|%[1]d", rounds)},
		rows(t, a, "SELECT count(*), count(DISTINCT n) FROM s2.m"))
}

// GA6: nor into the table that had the name until it was renamed, or that a schema of the search path hides that has come
// meanwhile. Here the commit finds it out.
func TestANameIsWhatItIsWhenItsRowsAreCommitted(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 2)
	a, b := c.session(0), c.session(1)
	exec(t, a, "CREATE TABLE m (n int); CREATE TABLE former (n int)")
	exec(t, b, "SET search_path = s1, public")
	insert := func(n int) { exec(t, b, "INSERT INTO m VALUES (?)", n) }
	rounds := 20 * testsuite.Effort()
	for i := range rounds {
		exec(t, a, "ALTER TABLE former RENAME TO other; ALTER TABLE m RENAME TO former; ALTER TABLE other RENAME TO m")
		insert(i)
		require.Equal(t, []string{fmt.Sprint(i)}, rows(t, a, "SELECT n FROM m"))
		exec(t, a, "CREATE SCHEMA s1; CREATE TABLE s1.m (n int)")
		insert(i)
		require.Equal(t, []string{fmt.Sprint(i)}, rows(t, a, "SELECT n FROM s1.m"))
		exec(t, a, "DROP SCHEMA s1 CASCADE; DELETE FROM m")
		insert(i)
		require.Equal(t, []string{fmt.Sprint(i)}, rows(t, a, "SELECT n FROM m"))
		exec(t, a, "DELETE FROM m")
	}
}
