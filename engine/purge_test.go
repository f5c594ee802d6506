package engine_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/engine"
)

// owner is a writer and the naive twin of its rows, which no other writer changes.
type owner struct {
	t    *testing.T
	s    *engine.Session
	rng  *rand.Rand
	w    int
	next int
	rows map[int]int // v by i
}

func (o *owner) exec(text string) error {
	_, err := o.s.Exec(context.Background(), text)
	return err
}

// step does one random statement, in words and to the twin.
func (o *owner) step(twin map[int]int) (text string, becomes map[int]int) {
	becomes = map[int]int{}
	for i, v := range twin {
		becomes[i] = v
	}
	some := func() int { // mostly one that is there
		if len(twin) == 0 || o.rng.IntN(10) == 0 {
			return o.next + 1
		}
		list := make([]int, 0, len(twin))
		for i := range twin {
			list = append(list, i)
		}
		slices.Sort(list)
		return list[o.rng.IntN(len(list))]
	}
	i := some()
	change := func(hit func(i int) bool, to func(i, v int) (int, bool)) {
		for i, v := range twin {
			if hit(i) {
				if v, stays := to(i, v); stays {
					becomes[i] = v
				} else {
					delete(becomes, i)
				}
			}
		}
	}
	gone := func(int, int) (int, bool) { return 0, false }
	plus := func(_, v int) (int, bool) { return v + 1, true }
	switch op := o.rng.IntN(12); {
	case op < 5 || len(twin) < 10:
		text = "INSERT INTO t VALUES "
		for k := range 1 + o.rng.IntN(3) {
			if o.next++; k > 0 {
				text += ", "
			}
			text += fmt.Sprintf("(%d, %d, %d, 's%d')", o.w, o.next, o.next*7, o.next%5)
			becomes[o.next] = o.next * 7
		}
	case op < 7:
		text = fmt.Sprintf("DELETE FROM t WHERE w = %d AND i = %d", o.w, i)
		change(func(k int) bool { return k == i }, gone)
	case op < 10:
		text = fmt.Sprintf("UPDATE t SET v = v + 1 WHERE w = %d AND i = %d", o.w, i)
		change(func(k int) bool { return k == i }, plus)
	case op < 11:
		text = fmt.Sprintf("DELETE FROM t WHERE w = %d AND i %% 7 = %d", o.w, i%7)
		change(func(k int) bool { return k%7 == i%7 }, gone)
	default:
		text = fmt.Sprintf("UPDATE t SET v = v + 1 WHERE w = %d AND i %% 3 = %d", o.w, i%3)
		change(func(k int) bool { return k%3 == i%3 }, plus)
	}
	return text, becomes
}

// run changes rows in transactions of one statement or several, of which some are rolled back. Nothing of that is a
// conflict.
func (o *owner) run(steps int) {
	for range steps {
		if o.rng.IntN(4) > 0 {
			text, becomes := o.step(o.rows)
			if !assert.NoError(o.t, o.exec(text), text) {
				return
			}
			o.rows = becomes
		} else {
			texts, becomes, end := []string{"BEGIN"}, o.rows, "COMMIT"
			for range 1 + o.rng.IntN(4) {
				var text string
				text, becomes = o.step(becomes)
				texts = append(texts, text)
			}
			if o.rng.IntN(5) == 0 {
				end, becomes = "ROLLBACK", o.rows
			}
			for _, text := range append(texts, end) {
				if !assert.NoError(o.t, o.exec(text), text) {
					return
				}
			}
			o.rows = becomes
		}
		if !o.look(o.s) {
			return
		}
	}
}

// look holds what a session sees of the writer's rows to the twin.
func (o *owner) look(s *engine.Session) bool {
	count, sum, keys := 0, 0, 0
	for i, v := range o.rows {
		count, sum, keys = count+1, sum+v, keys+i
	}
	want := []string{fmt.Sprintf("%d|%d|%d|%d", count, sum, keys, count)}
	got := rows(o.t, s, fmt.Sprintf("SELECT count(*), coalesce(sum(v), 0), coalesce(sum(i), 0), count(DISTINCT i) FROM t WHERE w = %d", o.w))
	return assert.Equal(o.t, want, got, "writer %d", o.w)
}

// Writers insert, change and delete rows of their own, in transactions and out of them, with a key and without one,
// while chunks are folded and deleted rows are left out of them as fast as can be: every one of them sees its rows at any
// time, no change is refused, and a snapshot stays what it was.
func TestRowsAreChangedBesideFolds(t *testing.T) {
	t.Parallel()
	test := func(t *testing.T, seed uint64, sessions []*engine.Session, s, vacuum *engine.Session, options string, steps int) {
		exec(t, s, "CREATE TABLE t(w INTEGER, i INTEGER, v INTEGER, s VARCHAR"+options)
		var owners []*owner
		var writers, folder sync.WaitGroup
		for w, session := range sessions {
			o := &owner{t, session, rand.New(rand.NewPCG(seed, uint64(w))), w, 0, map[int]int{}}
			owners = append(owners, o)
			writers.Go(func() { o.run(steps) })
		}
		var over atomic.Bool
		var folds atomic.Int64
		folder.Go(func() {
			for !over.Load() {
				_, err := vacuum.Exec(context.Background(), "VACUUM t")
				assert.NoError(t, err)
				folds.Add(1)
			}
		})
		for range 3 { // a snapshot stays what it was
			exec(t, s, "BEGIN ISOLATION LEVEL REPEATABLE READ")
			before := rows(t, s, "SELECT count(*), sum(v), sum(i) FROM t")
			for n := folds.Load(); folds.Load() < n+3 && !t.Failed(); {
				require.Equal(t, before, rows(t, s, "SELECT count(*), sum(v), sum(i) FROM t"))
			}
			exec(t, s, "COMMIT")
		}
		writers.Wait()
		over.Store(true)
		folder.Wait()
		for _, session := range append(sessions, s) {
			for _, o := range owners {
				o.look(session)
			}
		}
		for _, o := range owners { // nothing is left in doubt: all can be deleted, once
			exec(t, s, fmt.Sprintf("DELETE FROM t WHERE w = %d AND i %% 2 = 0", o.w))
		}
		exec(t, s, "VACUUM t")
		require.Equal(t, []string{"true"}, rows(t, s, "SELECT count(*) = (SELECT sum(rows - deleted) FROM csm.chunks WHERE name = 't') FROM t"))
		left := rows(t, s, "SELECT sum(deleted) > 0 FROM csm.compactions WHERE name = 't'")
		require.Equal(t, []string{"true"}, left)
	}
	for i, options := range []string{")", ", PRIMARY KEY (w, i))"} {
		t.Run(fmt.Sprint("one node", options), func(t *testing.T) {
			t.Parallel()
			e := open(t)
			var sessions []*engine.Session
			for range 4 {
				sessions = append(sessions, session(t, e))
			}
			test(t, uint64(i), sessions, session(t, e), session(t, e), options, 60)
			require.NoError(t, e.CheckSpace(context.Background()))
		})
	}
	for i, options := range []string{") WITH (placement = 'rows', replicas = 2)", ", PRIMARY KEY (w, i))"} {
		t.Run(fmt.Sprint("three nodes", options), func(t *testing.T) {
			t.Parallel()
			c := newCluster(t, 3)
			sessions := []*engine.Session{c.session(0), c.session(1), c.session(2), c.session(0)}
			test(t, 10+uint64(i), sessions, c.session(1), c.session(2), options, 25)
			c.requireSpace()
		})
	}
}

// Deleted rows are left out: what they took comes free, whatever of it had been full; a row that is deleted by a
// transaction that began before is found, and a row that another one deleted meanwhile is its conflict.
func TestDeletedRowsAreLeftOut(t *testing.T) {
	t.Parallel()
	e := open(t, func(c *engine.Config) { c.NoCompaction = true })
	s, other := session(t, e), session(t, e)
	exec(t, s, "CREATE TABLE t(i INTEGER, s VARCHAR)")
	exec(t, s, "INSERT INTO t SELECT i, 'text ' || i FROM range(300000) r(i)")
	exec(t, s, "VACUUM t")
	exec(t, s, "DELETE FROM t WHERE i // 1000 % 5 = 0")
	exec(t, s, "VACUUM t")
	require.Equal(t, []string{"300000|60000"}, rows(t, s, "SELECT sum(rows), sum(deleted) FROM csm.chunks WHERE name = 't'"), "a fifth stays")
	exec(t, s, "DELETE FROM t WHERE i // 1000 % 5 = 2")
	exec(t, other, "BEGIN")
	exec(t, other, "DELETE FROM t WHERE i % 100 = 2; UPDATE t SET s = 'changed' WHERE i = 299998")
	third := session(t, e)
	exec(t, third, "BEGIN ISOLATION LEVEL REPEATABLE READ")
	require.Equal(t, []string{"180000"}, rows(t, third, "SELECT count(*) FROM t"))
	exec(t, s, "DELETE FROM t WHERE i = 1003")
	before := rows(t, s, "SELECT sum(bytes) FROM csm.chunks WHERE name = 't'")
	exec(t, s, "VACUUM t")
	require.Equal(t, []string{"true|0|179999"}, rows(t, s, "SELECT sum(bytes) < 0.7 * "+before[0]+", sum(deleted), sum(rows) FROM csm.chunks WHERE name = 't'"))
	require.Equal(t, []string{"180000"}, rows(t, session(t, e), "SELECT count(*) + 1 FROM t"))
	require.Equal(t, []string{"180000"}, rows(t, third, "SELECT count(*) FROM t"), "it has its snapshot")
	exec(t, other, "COMMIT")
	_, err := third.Exec(context.Background(), "DELETE FROM t WHERE i BETWEEN 1001 AND 1003")
	require.Equal(t, "40001", state(t, err))
	exec(t, third, "ROLLBACK")
	require.Equal(t, []string{fmt.Sprint(179999 - 1800)}, rows(t, s, "SELECT count(*) FROM t"))
	require.Equal(t, []string{"299998"}, rows(t, s, "SELECT i FROM t WHERE s = 'changed'"))
	exec(t, s, "DELETE FROM t WHERE i < 299000; INSERT INTO t VALUES (1, 'one')")
	exec(t, s, "VACUUM t")
	require.Equal(t, []string{"true|1"}, rows(t, s, "SELECT sum(bytes) < 100000, count(*) FROM csm.chunks WHERE name = 't'"))
	require.NoError(t, e.CheckSpace(context.Background()))
}
