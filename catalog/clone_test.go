package catalog_test

import (
	"context"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/catalog"
)

// TestClones makes clones of clones at random, changes and drops any of them, folds and moves their chunks, restarts,
// and compares all of it with a twin that copies rows. What is allocated is what the tables have, each extent once.
func TestClones(t *testing.T) {
	for seed := range uint64(150) {
		cloneHistory(t, rand.New(rand.NewPCG(seed, 11)), 60)
	}
}

func cloneHistory(t *testing.T, rng *rand.Rand, steps int) {
	w := newWorld(t, storeLimits(rng))
	defer delete(openSnapshots, w)
	var names []catalog.TableName
	for _, name := range []string{"a", "b", "c", "d"} {
		names = append(names, catalog.TableName{Schema: "public", Name: name})
	}
	twin := map[catalog.TableName][]int64{}
	for range steps {
		name, of := pick(rng, names), pick(rng, names)
		rows, have := twin[name]
		_, source := twin[of]
		switch op := rng.IntN(20); {
		case op == 0:
			w.restart()
			openSnapshots[w] = nil
		case op == 1:
			s, err := w.catalog.Snapshot(ctx, catalog.Holder{Domain: "far"})
			require.NoError(t, err)
			openSnapshots[w] = append(openSnapshots[w], openSnapshot{snapshot: s})
		case op == 2 && len(openSnapshots[w]) > 0:
			openSnapshots[w][0].snapshot.Close()
			openSnapshots[w] = openSnapshots[w][1:]
		case !have:
			w.change(func(tx *catalog.Transaction, c *catalog.Contents) {
				if !source {
					_, err := tx.CreateTable(ctx, name, columns, catalog.TableOptions{})
					require.NoError(t, err)
				} else {
					v, _ := c.Table(of)
					require.NoError(t, tx.Clone(ctx, v, name, columns, catalog.TableOptions{}))
				}
				twin[name] = slices.Clone(twin[of])
				if rng.IntN(2) == 0 {
					twin[name] = w.cloneChange(t, rng, tx, name, twin[name])
				}
				if source && rng.IntN(3) == 0 {
					twin[of] = w.cloneChange(t, rng, tx, of, twin[of])
				}
			})
		case op < 6:
			w.change(func(tx *catalog.Transaction, _ *catalog.Contents) { require.NoError(t, tx.DropTable(name)) })
			delete(twin, name)
		default:
			w.change(func(tx *catalog.Transaction, _ *catalog.Contents) {
				twin[name] = w.cloneChange(t, rng, tx, name, rows)
			})
		}
		w.requireClones(twin)
	}
	openSnapshots[w] = nil
	w.restart()
	w.requireClones(twin)
	require.NoError(t, w.catalog.Sweep(ctx))
	w.requirePages(w.catalog.Applied())
	for _, name := range slices.SortedFunc(maps.Keys(twin), catalog.TableName.Compare) {
		w.change(func(tx *catalog.Transaction, _ *catalog.Contents) { require.NoError(t, tx.DropTable(name)) })
		delete(twin, name)
		w.requireClones(twin)
	}
	require.Zero(t, w.memory.Live(), "every byte came back")
}

func (w *world) requireClones(twin map[catalog.TableName][]int64) {
	current := w.catalog.Applied()
	require.Len(w.t, current.Tables(), len(twin))
	for name, rows := range twin {
		v, ok := current.Table(name)
		require.True(w.t, ok)
		require.Equal(w.t, append([]int64{}, rows...), w.rows(v), "%v", name)
	}
	w.requireNoLeak(current)
}

// cloneChange does one thing to a table, which has the rows that it returns.
func (w *world) cloneChange(t *testing.T, rng *rand.Rand, tx *catalog.Transaction, name catalog.TableName,
	rows []int64) []int64 {
	v, _ := tx.Contents().Table(name)
	committed := v.Version() > 0
	switch op := rng.IntN(8); {
	case op == 0 && v.NumChunks() > 1 && committed:
		first := rng.IntN(v.NumChunks() - 1)
		w.foldSome(t, tx, name, v, first, 2+rng.IntN(v.NumChunks()-first-1))
		return rows
	case op < 3 && v.NumChunks() > 0:
		moved := map[int]catalog.Replacement{}
		for p, err := range v.Chunks(ctx) {
			require.NoError(t, err)
			if rng.IntN(2) == 0 {
				moved[p.Index] = w.rearranged(rng, p.Chunk)
			}
		}
		require.NoError(t, tx.ReplaceChunks(ctx, name, moved))
		return rows
	case op == 3 && rng.IntN(3) == 0:
		require.NoError(t, tx.Truncate(name))
		return nil
	case op < 6 && v.Rows() > 0:
		_, rows, _ = w.deleteSome(t, rng, tx, name, v, formerVersion{rows: rows})
		return rows
	}
	rows = slices.Clone(rows)
	for range 1 + rng.IntN(3) {
		first := w.next
		require.NoError(t, tx.Append(name, []*catalog.Chunk{w.chunk(1 + rng.IntN(5))}))
		for value := first; value < w.next; value++ {
			rows = append(rows, value)
		}
	}
	return rows
}

// Another node that sees a clone and its first changes in one commit, or in changes that it missed, knows which extents
// it shares: nothing that a table still has comes free there, and nothing stays when the last one is dropped (K3).
func TestClonesOnOtherNodes(t *testing.T) {
	for _, missed := range []bool{false, true} {
		for _, first := range []string{"a", "b"} {
			r := newRack(t, 2)
			made, other := r.nodes[0], r.nodes[1]
			now := map[string][]int64{}
			require.Eventually(t, func() bool { _, ok := made.catalog.Region(other.region); return ok }, 10*time.Second,
				time.Millisecond)
			made.append(other, "a", now) // it lies at the other node, which gives it back
			follows := func() {          // it has ended once, and would not be waited for
				require.Eventually(t, func() bool { return other.catalog.Revision() >= made.catalog.Revision() },
					10*time.Second, time.Millisecond)
				r.settle(now)
			}
			pause := func() {}
			if missed {
				other.stop()
				<-other.ended
				pause = func() {
					r.store.Compact(made.catalog.Revision())
					running, stop := context.WithCancel(ctx)
					other.stop = stop
					go func() { other.ended <- other.catalog.Run(running) }()
				}
			}
			made.append(made, "a", now)
			s, err := made.catalog.Snapshot(ctx, catalog.Holder{})
			require.NoError(t, err)
			tx := made.catalog.Begin(s)
			b := catalog.TableName{Schema: "public", Name: "b"}
			v, _ := s.Table(catalog.TableName{Schema: "public", Name: "a"})
			require.NoError(t, tx.Clone(ctx, v, b, columns, catalog.TableOptions{}))
			now["b"] = slices.Clone(now["a"])
			for range 4 { // which has the chunks of the clone be in a page of its own
				c, values := r.chunk(made, other)
				require.NoError(t, tx.Append(b, []*catalog.Chunk{c}))
				now["b"] = append(now["b"], values...)
			}
			require.NoError(t, tx.Commit(ctx))
			s.Close()
			for range 3 {
				made.append(other, "a", now)
			}
			pause()
			for _, name := range []string{first, map[string]string{"a": "b", "b": "a"}[first]} {
				follows()
				s, err := made.catalog.Snapshot(ctx, catalog.Holder{})
				require.NoError(t, err)
				tx := made.catalog.Begin(s)
				require.NoError(t, tx.DropTable(catalog.TableName{Schema: "public", Name: name}))
				require.NoError(t, tx.Commit(ctx))
				s.Close()
				delete(now, name)
			}
			follows()
			r.close()
			r.mu.Lock()
			require.Empty(t, r.faults)
			r.mu.Unlock()
		}
	}
}
