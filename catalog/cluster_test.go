package catalog_test

import (
	"context"
	"errors"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/catalog/descriptor"
	"github.com/csmsql/csmsql/catalog/hugetable"
	"github.com/csmsql/csmsql/coherence"
	"github.com/csmsql/csmsql/memregion"
)

// TestCluster: random transactions, snapshots, kills and fencing on several nodes. Whatever is trusted is right (K2, K7,
// K9), what was acknowledged stays, conflicts are found (K5), fenced nodes commit nothing (K8), and no memory is lost.
func TestCluster(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		oneRack(rt, rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "seed"), 2)), rapid.IntRange(5, 60).Draw(rt, "steps"))
	})
}

func oneRack(t require.TestingT, rng *rand.Rand, steps int) {
	r := newRack(t, 1+rng.IntN(4))
	defer r.close()
	now := map[string][]int64{}
	for range steps {
		n := pick(rng, r.nodes)
		switch op := rng.IntN(20); {
		case n.lender.Load() == nil:
			n.start()
		case op == 0:
			n.kill()
		case op == 1:
			n.fence()
		case op < 7:
			s, err := n.catalog.Snapshot(ctx, catalog.Holder{})
			require.NoError(t, err)
			require.Len(t, s.Tables(), len(now), "a snapshot sees every commit that was acknowledged before it, on any node")
			n.snapshots = append(n.snapshots, rackSnapshot{s, maps.Clone(now)})
		case op < 11 && len(n.snapshots) > 0:
			i := rng.IntN(len(n.snapshots))
			n.verify(n.snapshots[i])
			n.snapshots[i].Close()
			n.snapshots = slices.Delete(n.snapshots, i, i+1)
		default:
			n.write(rng, now)
		}
	}
	r.settle(now)
	r.mu.Lock()
	defer r.mu.Unlock()
	require.Empty(t, r.faults)
}

func (n *rackNode) verify(s rackSnapshot) {
	for _, name := range rackTables {
		for pick := range 2 {
			if rows, trusted := n.read(s.Snapshot, name, pick); trusted {
				require.Equal(n.rack.t, s.sees[name], rows, "%s reads %s", n.name, name)
			}
		}
	}
}

// write does one random transaction and records what it must have done.
func (n *rackNode) write(rng *rand.Rand, now map[string][]int64) {
	t, name := n.rack.t, pick(rng, rackTables[:3])
	id := catalog.TableName{Schema: "public", Name: name}
	s, err := n.catalog.Snapshot(ctx, catalog.Holder{})
	require.NoError(t, err)
	defer s.Close()
	tx := n.catalog.Begin(s)
	_, exists := now[name]
	added := []int64{}
	appends, folds := false, false
	n.rack.folded = false
	n.doubted = 0
	drop := exists && rng.IntN(4) == 0
	var clones catalog.TableName // what it is a clone of
	had := slices.Clone(now[name])
	switch {
	case !exists && rng.IntN(2) == 0 && len(cloneable(now)) > 0:
		of := pick(rng, cloneable(now))
		clones, had = catalog.TableName{Schema: "public", Name: of}, slices.Clone(now[of])
		appends = n.clone(rng, tx, clones, id, &added)
	case drop:
		require.NoError(t, tx.DropTable(id))
	case exists && rng.IntN(3) == 0:
		appends = n.fold(rng, tx, id)
		folds = appends
	case exists && rng.IntN(3) == 0:
		n.rearrange(rng, tx, id)
	default:
		if !exists {
			_, err := tx.CreateTable(ctx, id, columnsOf(id), catalog.TableOptions{})
			require.NoError(t, err)
		}
		for range 1 + rng.IntN(3) {
			at := pick(rng, n.rack.nodes)
			if _, there := n.catalog.Reachable(at.region); !there || at.lender.Load() == nil {
				at = n
			}
			c, values := n.rack.chunk(n, at)
			if rng.IntN(2) == 0 {
				c = n.rearranged(rng, c, false)
			}
			require.NoError(t, tx.Append(id, []*catalog.Chunk{c}))
			appends = true
			added = append(added, values...)
		}
		if rng.IntN(4) == 0 {
			n.rearrange(rng, tx, id)
		}
	}
	overtaken, restarted := false, false
	over := func() { overtaken = n.overtake(rng, id, now) }
	if clones.Name != "" && rng.IntN(2) == 0 {
		over = func() { overtaken = n.overtake(rng, clones, now) }
	}
	switch rng.IntN(8) {
	case 0, 1:
		over()
	case 2:
		n.published = over
	case 3:
		restarted = n.restartAnother(rng, tx)
	case 4:
		n.published = func() { restarted = n.restartAnother(rng, tx) }
	case 5: // what is refused because of rows is not for that repeated with a lender that is another one now
		n.published = func() {
			restarted = n.restartAnother(rng, tx)
			over()
		}
	}
	var d *doubt
	if !overtaken && n.published == nil && rng.IntN(5) == 0 {
		d = n.doubt(rng, now)
	}
	err = tx.Commit(ctx)
	n.published = nil
	conflicts := overtaken && (!exists || drop && !n.rack.folded || folds && n.rack.folded)
	n.handle.doubt.Store(nil) // from here on the store answers
	done := false
	switch {
	case conflicts:
		require.ErrorIs(t, err, catalog.ErrConflict, "K5")
	case restarted:
		require.Error(t, err, "K8: the chunks' lender does not know them any more")
	case d == nil || !d.met.Load() || d.happens && !d.silent:
		require.NoError(t, err)
		done = true
	case d.silent:
		require.ErrorIs(t, err, catalog.ErrOutcomeUnknown)
		require.True(t, !appends || n.doubted > 0, "extents that may be a version's still are unowned")
		done = d.happens
	default:
		require.ErrorIs(t, err, catalog.ErrNotCommitted)
	}
	switch {
	case done && drop:
		delete(now, name)
	case done && clones.Name != "":
		now[name] = append(had, added...)
	case done: // behind what came in between
		now[name] = append(slices.Clone(now[name]), added...)
	}
}

// cloneable are the existing tables, except the one that is written to while a commit is in doubt.
func cloneable(now map[string][]int64) []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(now)), func(name string) bool { return name == "between" })
}

// clone makes a table of another one's rows, and changes both or one of them in the same transaction, or none.
func (n *rackNode) clone(rng *rand.Rand, tx *catalog.Transaction, of, id catalog.TableName, added *[]int64) bool {
	v, ok := tx.Contents().Table(of)
	require.True(n.rack.t, ok)
	require.NoError(n.rack.t, tx.Clone(ctx, v, id, columns, catalog.TableOptions{}))
	if rng.IntN(3) == 0 {
		n.rearrange(rng, tx, pick(rng, []catalog.TableName{of, id}))
	}
	if rng.IntN(2) == 0 {
		return false
	}
	c, values := n.rack.chunk(n, n)
	require.NoError(n.rack.t, tx.Append(id, []*catalog.Chunk{c}))
	*added = values
	return true
}

// doubt has the answer to the next commit be lost; meanwhile another node may commit to another table.
func (n *rackNode) doubt(rng *rand.Rand, now map[string][]int64) *doubt {
	d := &doubt{happens: rng.IntN(2) == 0, silent: rng.IntN(2) == 0, between: func() {}}
	if other := pick(rng, n.rack.nodes); other != n && other.lender.Load() != nil {
		d.between = func() { other.append(other, "between", now) }
	}
	n.handle.doubt.Store(d)
	return d
}

// append commits a chunk in the memory of a node.
func (n *rackNode) append(at *rackNode, name string, now map[string][]int64) {
	t, id := n.rack.t, catalog.TableName{Schema: "public", Name: name}
	s, err := n.catalog.Snapshot(ctx, catalog.Holder{})
	require.NoError(t, err)
	defer s.Close()
	tx := n.catalog.Begin(s)
	if _, exists := now[name]; !exists {
		_, err := tx.CreateTable(ctx, id, columnsOf(id), catalog.TableOptions{})
		require.NoError(t, err)
	}
	c, values := n.rack.chunk(n, at)
	require.NoError(t, tx.Append(id, []*catalog.Chunk{c}))
	require.NoError(t, tx.Commit(ctx))
	now[name] = append(slices.Clone(now[name]), values...)
}

// overtake commits to the same table on another node.
func (n *rackNode) overtake(rng *rand.Rand, id catalog.TableName, now map[string][]int64) bool {
	other := pick(rng, n.rack.nodes)
	if other == n || other.lender.Load() == nil {
		return false
	}
	if _, exists := now[id.Name]; !exists || rng.IntN(2) == 0 || !other.foldAll(id) {
		other.append(other, id.Name, now)
	}
	return true
}

// foldAll commits a fold of a whole table; false if it has not chunks enough.
func (n *rackNode) foldAll(id catalog.TableName) bool {
	t := n.rack.t
	s, err := n.catalog.Snapshot(ctx, catalog.Holder{})
	require.NoError(t, err)
	defer s.Close()
	tx := n.catalog.Begin(s)
	v, _ := s.Table(id)
	if !n.foldRun(tx, id, 0, v.NumChunks()) {
		return false
	}
	require.NoError(t, tx.Commit(ctx))
	n.rack.folded = true
	return true
}

// restartAnother kills and starts a node between the writing of chunks and their commit.
func (n *rackNode) restartAnother(rng *rand.Rand, tx *catalog.Transaction) bool {
	other := pick(rng, n.rack.nodes)
	if other == n || other.lender.Load() == nil {
		return false
	}
	other.kill()
	other.start()
	return slices.ContainsFunc(rackTables, func(name string) bool { // a clone may come with changes of what it is of
		v, ok := tx.Contents().Table(catalog.TableName{Schema: "public", Name: name})
		return ok && slices.ContainsFunc(v.FreshExtents(), func(x catalog.ExtentID) bool { return x.Region == other.region })
	})
}

// fence ends the node's session while its process goes on: nothing that it does counts from then on.
func (n *rackNode) fence() {
	t := n.rack.t
	s, err := n.catalog.Snapshot(ctx, catalog.Holder{})
	require.NoError(t, err)
	tx := n.catalog.Begin(s)
	require.NoError(t, tx.CreateSchema("fenced"))
	n.handle.Expire()
	require.Error(t, tx.Commit(ctx), "K8")
	for _, other := range n.rack.nodes {
		if other != n {
			require.ErrorIs(t, s.Trust(other.region), catalog.ErrFenced)
		}
	}
	require.NoError(t, s.Trust(n.region), "its own region it lends itself")
	require.ErrorIs(t, <-n.ended, catalog.ErrFenced, "Run ends, so that the node restarts")
	n.ended <- nil
	n.kill()
	n.start()
}

// settle looks at everything at the end, on every node, and then at the memory.
func (r *rack) settle(now map[string][]int64) {
	for _, n := range r.nodes {
		if n.lender.Load() == nil {
			n.start()
		}
	}
	for _, n := range r.nodes {
		for _, s := range n.snapshots {
			n.verify(s)
			s.Close()
		}
		s, err := n.catalog.Snapshot(ctx, catalog.Holder{})
		require.NoError(r.t, err)
		n.verify(rackSnapshot{s, now})
		require.Len(r.t, s.Tables(), len(now))
		s.Close()
	}
	want, seen := map[memregion.RegionID]int64{}, map[catalog.ExtentID]bool{}
	s, err := r.nodes[0].catalog.Snapshot(ctx, catalog.Holder{})
	require.NoError(r.t, err)
	for _, v := range s.Tables() {
		for p, err := range v.Chunks(ctx) {
			require.NoError(r.t, err)
			for i := range p.Replicas() {
				for _, x := range p.Descriptor().ExtentsOf(i) {
					if !seen[x.ExtentID] { // by a clone
						want[x.Region] += x.Range.Length
					}
					seen[x.ExtentID] = true
				}
			}
		}
	}
	s.Close()
	for _, n := range r.nodes {
		require.Eventually(r.t, func() bool { return n.memory.Live() == want[n.region] }, 10*time.Second, time.Millisecond,
			"%s: %d bytes are allocated, living versions have %d", n.name, n.memory.Live(), want[n.region])
	}
}

// A node that was too slow for the store's memory reads everything again, and trusts no lender over the gap.
func TestMissedChanges(t *testing.T) {
	r := newRack(t, 2)
	defer r.close()
	slow, fast := r.nodes[0], r.nodes[1]
	before, err := slow.catalog.Snapshot(ctx, catalog.Holder{})
	require.NoError(t, err)
	slow.stop()
	<-slow.ended
	now := map[string][]int64{}
	for i := range 20 { // what came and went meanwhile in its memory it would never know
		fast.append(r.nodes[i%2], "a", now)
	}
	r.store.Compact(fast.catalog.Revision())
	running, stop := context.WithCancel(ctx)
	slow.stop = stop
	go func() { slow.ended <- slow.catalog.Run(running) }()
	require.Eventually(t, func() bool { return slow.catalog.Revision() >= fast.catalog.Revision() }, 10*time.Second, time.Millisecond)
	require.ErrorIs(t, before.Trust(fast.region), catalog.ErrLenderRestarted)
	before.Close()
	r.settle(now)
}

// The store has a commit and its watch is silent: nothing waits without end, and what is durable is acknowledged.
func TestSilentWatch(t *testing.T) {
	r := newRack(t, 2)
	defer r.close()
	deaf, other := r.nodes[0], r.nodes[1]
	now := map[string][]int64{}
	table := catalog.TableName{Schema: "public", Name: "a"}
	other.append(other, "a", now)
	silence := make(chan struct{})
	deaf.handle.silence.Store(&silence)
	other.append(other, "a", now)
	_, err := deaf.catalog.Snapshot(ctx, catalog.Holder{})
	require.ErrorIs(t, err, catalog.ErrBehind)
	deaf.handle.silence.Store(nil)
	close(silence)
	require.Eventually(t, func() bool {
		s, err := deaf.catalog.Snapshot(ctx, catalog.Holder{})
		if err == nil {
			deaf.verify(rackSnapshot{s, now})
			s.Close()
		}
		return err == nil
	}, 10*time.Second, time.Millisecond)
	s, err := deaf.catalog.Snapshot(ctx, catalog.Holder{})
	require.NoError(t, err)
	tx := deaf.catalog.Begin(s)
	c, values := r.chunk(deaf, deaf)
	require.NoError(t, tx.Append(table, []*catalog.Chunk{c}))
	again := make(chan struct{})
	deaf.handle.silence.Store(&again)
	require.NoError(t, tx.Commit(ctx), "it is durable, though this node does not see it yet")
	now["a"] = append(slices.Clone(now["a"]), values...)
	s.Close()
	deaf.handle.silence.Store(nil)
	close(again)
	r.settle(now)
}

// K15: a snapshot that may be old is taken of what the node has heard, as long as that is not older, and states its age.
// Nothing else is: not where the age is larger, or unknown because no watch runs.
func TestSnapshotsOfAnAge(t *testing.T) {
	r := newRack(t, 2)
	defer r.close()
	deaf, other := r.nodes[0], r.nodes[1]
	now := map[string][]int64{}
	other.append(other, "a", now)
	take := func(most time.Duration) (*catalog.Snapshot, error) {
		return deaf.catalog.Snapshot(ctx, catalog.Holder{MaxAge: most})
	}
	s, err := take(0)
	require.NoError(t, err)
	require.Zero(t, s.Age)
	s.Close()
	before := map[string][]int64{"a": slices.Clone(now["a"])}
	silence := make(chan struct{})
	deaf.handle.silence.Store(&silence)
	other.append(other, "a", now)

	deaf.handle.lag.Store(int64(2 * time.Second))
	s, err = take(3 * time.Second)
	require.NoError(t, err)
	require.Equal(t, 2*time.Second, s.Age)
	deaf.verify(rackSnapshot{s, before})
	s.Close()
	for _, most := range []time.Duration{0, time.Second} {
		_, err = take(most)
		require.ErrorIs(t, err, catalog.ErrBehind, "%v", most)
	}
	deaf.handle.silence.Store(nil)
	close(silence)
	require.Eventually(t, func() bool { return deaf.catalog.Revision() >= other.catalog.Revision() }, 10*time.Second, time.Millisecond)

	deaf.stop()
	<-deaf.ended
	deaf.ended <- nil // which is what close waits for
	deaf.handle.lag.Store(0)
	require.Greater(t, deaf.catalog.Lag(), time.Hour, "no watch runs: a lag of the store's means nothing")
}

// A node that is given up while it waits for others to have seen it stops waiting: none will see it.
func TestGivenUpBeforeItWasSeen(t *testing.T) {
	r := newRack(t, 1)
	defer r.close()
	r.nodes[0].stop() // it follows no other node from here on
	<-r.nodes[0].ended
	r.nodes[0].ended <- nil // which is what close waits for
	handle := r.store.Handle()
	c, err := catalog.Open(ctx, handle, rackLender{r.nodes[0]}, catalog.Options{Self: &catalog.NodeRecord{Name: "x", Address: "x:1", Directory: "x"}})
	require.NoError(t, err)
	seen := make(chan error, 1)
	go func() { seen <- c.AwaitSeen(ctx) }()
	select {
	case err := <-seen:
		require.FailNow(t, "no node can have seen it", "%v", err)
	case <-time.After(20 * time.Millisecond):
	}
	handle.Expire()
	require.ErrorIs(t, <-seen, catalog.ErrFenced)
	require.NoError(t, c.Close())
}

// A node that was given up holds no version any more. The others took its pages away, yet the table is not lost.
func TestPagesOfOneWhoWasGivenUp(t *testing.T) {
	r := newRack(t, 1)
	defer r.close()
	n := r.nodes[0]
	_, err := n.catalog.Page(ctx, catalog.PageID{1})
	require.ErrorIs(t, err, hugetable.ErrLost)
	require.NotErrorIs(t, err, catalog.ErrFenced)
	n.handle.Expire()
	_, err = n.catalog.Page(ctx, catalog.PageID{1})
	require.ErrorIs(t, err, catalog.ErrFenced)
	require.NotErrorIs(t, err, hugetable.ErrLost)
}

// K9: when a lender has restarted, no older lease of another process is renewed, and the lender waits until they are over.
func TestLeasesEndWithAFormerLender(t *testing.T) {
	r := newRack(t, 2)
	defer r.close()
	a, b := r.nodes[0], r.nodes[1]
	now := time.Now()
	s, err := a.catalog.Snapshot(ctx, catalog.Holder{Domain: "borrower", TTL: 3 * time.Second})
	require.NoError(t, err)
	require.NoError(t, a.catalog.RenewLease(s.Lease(), now))
	b.kill()
	started := make(chan struct{})
	go func() {
		defer close(started)
		b.start()
	}()
	require.Eventually(t, func() bool { return errors.Is(a.catalog.RenewLease(s.Lease(), now), catalog.ErrLeaseOver) }, time.Minute, time.Millisecond)
	select {
	case <-started:
		require.FailNow(t, "it did not wait for the lease")
	default:
	}
	s.Close()
	<-started
}

// Two nodes of one name: the second is refused, and says which node has it.
func TestNameTaken(t *testing.T) {
	r := newRack(t, 1)
	defer r.close()
	_, err := catalog.Open(ctx, r.store.Handle(), catalog.Homes{}, catalog.Options{Self: &catalog.NodeRecord{Name: "n0", Directory: "another"}})
	require.ErrorIs(t, err, catalog.ErrNodeTaken)
	require.ErrorContains(t, err, "n0:1")
}

// A node promises another process nothing that its own membership may not outlive: the lenders count on nothing of a node that is gone.
func TestPromisesEndWithTheSession(t *testing.T) {
	r := newRack(t, 1)
	defer r.close()
	n := r.nodes[0]
	holder := catalog.Holder{Domain: "borrower", TTL: 3 * time.Second}
	s, err := n.catalog.Snapshot(ctx, holder)
	require.NoError(t, err)
	defer s.Close()
	now := time.Now()
	require.NoError(t, n.catalog.RenewLease(s.Lease(), now))
	n.handle.short.Store(int64(3 * time.Second))
	require.ErrorIs(t, n.catalog.RenewLease(s.Lease(), now), catalog.ErrNotSure)
	held := len(n.catalog.Leases())
	_, err = n.catalog.Snapshot(ctx, holder)
	require.ErrorIs(t, err, catalog.ErrNotSure)
	require.Len(t, n.catalog.Leases(), held, "what was not promised is not held")
	holder.TTL = time.Second
	brief, err := n.catalog.Snapshot(ctx, holder)
	require.NoError(t, err)
	brief.Close()
	n.handle.short.Store(0)
	require.NoError(t, n.catalog.RenewLease(s.Lease(), now))
}

// TestClusterOften is TestCluster with seeds that differ: drawn ones are small, and so often the same.
func TestClusterOften(t *testing.T) {
	for seed := range uint64(40) {
		oneRack(t, rand.New(rand.NewPCG(seed, 5)), 80)
	}
}

// K4: a commit whose lender does not answer takes nothing of the others' of its group along: what lies in this node's
// memory, and what other lenders have published by then.
func TestGroupOutlivesALender(t *testing.T) {
	r := newRack(t, 4)
	defer r.close()
	n := r.nodes[0]
	s, err := n.catalog.Snapshot(ctx, catalog.Holder{})
	require.NoError(t, err)
	tx := n.catalog.Begin(s)
	_, err = tx.CreateTable(ctx, tableA, columns, catalog.TableOptions{})
	require.NoError(t, err)
	require.NoError(t, tx.Commit(ctx))
	s.Close()

	begun, hold := make(chan struct{}), make(chan struct{})
	n.begun = func() {
		close(begun)
		<-hold
	}
	errs, wait := make([]error, 5), sync.WaitGroup{}
	extents := make([][]descriptor.Extent, len(errs))
	commit := func(i int, at ...*rackNode) {
		s, err := n.catalog.Snapshot(ctx, catalog.Holder{})
		require.NoError(t, err)
		tx := n.catalog.Begin(s)
		for _, where := range at {
			c, _ := r.chunk(n, where)
			extents[i] = append(extents[i], c.Descriptor().Extents...)
			require.NoError(t, tx.Append(tableA, []*catalog.Chunk{c}))
		}
		wait.Go(func() {
			defer s.Close()
			errs[i] = tx.Commit(ctx)
		})
	}
	commit(0, n)
	<-begun
	for i, at := range [][]*rackNode{{n}, {n, r.nodes[1], r.nodes[2]}, {r.nodes[1], n}, {r.nodes[3]}} {
		commit(i+1, at...)
		require.Eventually(t, func() bool { return n.catalog.Waiting() == i+1 }, 10*time.Second, time.Millisecond)
	}
	dead := r.nodes[2].lender.Swap(nil)
	close(hold)
	wait.Wait()
	r.nodes[2].lender.Store(dead)
	require.NoError(t, errors.Join(errs[0], errs[1], errs[3], errs[4]))
	require.ErrorIs(t, errs[2], errDead)
	for i, list := range extents {
		for _, x := range list {
			state := r.nodes[x.Region-1].lender.Load().Generation(x.Generation).State
			if i == 2 {
				require.NotEqual(t, coherence.Published, state, "%v of the one that failed", x.ExtentID)
			} else {
				require.Equal(t, coherence.Published, state, "%v of number %d", x.ExtentID, i)
			}
		}
	}
	require.Empty(t, r.faults)
}
