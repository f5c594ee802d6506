package catalog_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/catalog/descriptor"
	"github.com/csmsql/csmsql/catalog/internal/lendertest"
	"github.com/csmsql/csmsql/catalog/store"
	"github.com/csmsql/csmsql/coherence"
	"github.com/csmsql/csmsql/internal/faults"
	"github.com/csmsql/csmsql/memregion"
)

// rack is several nodes' catalogs over one store. Each lends one region; every node reads and writes in all of them, as
// over shared memory. Memory that was given back is overwritten, so that a reader who comes too late sees it.
type rack struct {
	t     require.TestingT
	store *store.Memory
	nodes []*rackNode
	next  int64

	mu     sync.Mutex
	faults []error                                            // guarded by mu
	made   map[memregion.RegionID]map[catalog.ExtentID]string // guarded by mu; by lender: unsettled grants to other nodes
}

// rackNode is one node; what survives SIGKILL is above the line.
type rackNode struct {
	rack   *rack
	name   string
	region memregion.RegionID
	memory *lendertest.Memory
	first  coherence.Generation

	handle    *doubtfulStore
	lender    *lendertest.Lender // nil: the process is dead
	catalog   *catalog.Catalog
	stop      context.CancelFunc
	ended     chan error
	snapshots []rackSnapshot
	published func() // called once between publishing and storing
}

type rackSnapshot struct {
	*catalog.Snapshot
	sees map[string][]int64
}

func newRack(t require.TestingT, nodes int) *rack {
	r := &rack{t: t, store: &store.Memory{}, made: map[memregion.RegionID]map[catalog.ExtentID]string{}}
	for i := range nodes {
		n := &rackNode{rack: r, name: fmt.Sprintf("n%d", i), region: memregion.RegionID(i + 1), memory: lendertest.NewMemory(8 << 20)}
		r.nodes = append(r.nodes, n)
		n.start()
	}
	return r
}

func (r *rack) close() {
	for _, n := range r.nodes {
		if n.lender != nil {
			n.kill()
		}
	}
}

// start is a process of the node: it registers, waits for the others, takes its region over, goes online.
func (n *rackNode) start() {
	t := n.rack.t
	n.handle = &doubtfulStore{Memory: n.rack.store.Handle()}
	n.lender = lendertest.New(t, n.region, n.memory, n.first)
	n.rack.mu.Lock()
	n.rack.made[n.region] = map[catalog.ExtentID]string{}
	n.rack.mu.Unlock()
	lender := n.lender
	c, err := catalog.Open(ctx, n.handle, rackLender{n}, catalog.Options{
		InitialSchemas: []string{"public"}, ReportInterval: time.Millisecond, Patience: patience,
		Self: &catalog.NodeRecord{Name: n.name, Address: n.name + ":1", Directory: n.name},
		Fault: func(point faults.Point) {
			if point != faults.CommitPublished {
				return
			}
			if do := n.published; do != nil {
				n.published = nil
				do()
			}
		},
		Gone: func(m catalog.Member) { n.rack.clean(n, lender, m.Name) },
	})
	require.NoError(t, err)
	n.catalog = c
	require.NoError(t, c.AwaitSeen(ctx))
	n.memory.Forget()
	require.NoError(t, c.LiveExtents(ctx, func(x catalog.LiveExtent) error {
		if x.Region != n.region {
			return nil
		}
		n.memory.Take(x.Range)
		return n.lender.Adopt(x.Owner, x.Generation, x.Range, x.Seal)
	}))
	n.memory.Scribble()
	require.NoError(t, c.PutRegion(ctx, catalog.RegionRecord{Spec: memregion.Spec{ID: n.region}, Node: n.name}))
	running, stop := context.WithCancel(ctx)
	n.stop, n.ended = stop, make(chan error, 1)
	go func() { n.ended <- c.Run(running) }()
	require.NoError(t, c.SetState(ctx, catalog.Online))
}

// kill is SIGKILL: the session ends when the store notices.
func (n *rackNode) kill() {
	n.stop()
	<-n.ended
	n.lender = nil
	n.handle.Expire()
	n.first += 1 << 20
	n.snapshots = nil
}

// clean is what a lender does about a node that is gone: what it published here and never committed goes back.
func (r *rack) clean(n *rackNode, lender *lendertest.Lender, gone string) {
	living := n.catalog.Living(n.region)
	r.mu.Lock()
	defer r.mu.Unlock()
	for id, by := range r.made[n.region] {
		if by != gone {
			continue
		}
		delete(r.made[n.region], id)
		switch state := lender.Generation(id.Generation).State; {
		case living[id]:
		case state == coherence.Published:
			r.must(lender.Retire(id.Generation))
		case state == coherence.Sealed:
			r.must(lender.Discard(id.Generation))
		}
	}
}

// must is for goroutines that are not the test's.
func (r *rack) must(err error) {
	if err != nil {
		r.faults = append(r.faults, err)
	}
}

var errDead = errors.New("the lender does not answer")

// rackLender is a node's way to all lenders; the calls to others stand for messages.
type rackLender struct{ node *rackNode }

func (l rackLender) own(ids []catalog.ExtentID) []catalog.ExtentID {
	return slices.DeleteFunc(slices.Clone(ids), func(id catalog.ExtentID) bool { return id.Region != l.node.region })
}

// each goes as far as it can.
func (l rackLender) each(ids []catalog.ExtentID, do func(*lendertest.Lender, coherence.Generation) error) (err error) {
	for _, id := range ids {
		if lender := l.node.rack.nodes[id.Region-1].lender; lender == nil {
			err = errors.Join(err, errDead)
		} else {
			err = errors.Join(err, do(lender, id.Generation))
		}
	}
	return err
}

func (l rackLender) Publish(ids ...catalog.ExtentID) error {
	for i, id := range ids {
		err := l.each(ids[i:i+1], func(to *lendertest.Lender, g coherence.Generation) error { return to.Publish(g) })
		if err != nil {
			_ = l.Retire(ids[:i]...)
			return fmt.Errorf("publish %v: %w", id, err)
		}
	}
	return nil
}

func (l rackLender) Discard(ids ...catalog.ExtentID) error {
	return l.each(ids, func(to *lendertest.Lender, g coherence.Generation) error { return to.Discard(g) })
}

func (l rackLender) Retire(ids ...catalog.ExtentID) error {
	return l.each(ids, func(to *lendertest.Lender, g coherence.Generation) error { return to.Retire(g) })
}

func (l rackLender) Pin(d coherence.Domain, ids ...catalog.ExtentID) error {
	return catalog.Homes{l.node.region: l.node.lender.Home.Home}.Pin(d, l.own(ids)...)
}

func (l rackLender) Unpin(d coherence.Domain, ids ...catalog.ExtentID) error {
	return catalog.Homes{l.node.region: l.node.lender.Home.Home}.Unpin(d, l.own(ids)...)
}

func (l rackLender) ExpireDomain(d coherence.Domain) error {
	l.node.lender.ExpireDomain(d)
	return nil
}

// chunk writes one chunk of two rows in the memory of a node.
func (r *rack) chunk(by, at *rackNode) (*catalog.Chunk, []int64) {
	values := []int64{r.next, r.next + 1}
	r.next += 2
	b := array.NewInt64Builder(memory.NewGoAllocator())
	defer b.Release()
	b.AppendValues(values, nil)
	batch := array.NewRecordBatch(columns, []arrow.Array{b.NewArray()}, 2)
	c, err := catalog.NewChunkWriter(at.lender, "test", 4096).Seal(ctx, batch, catalog.SealOptions{})
	require.NoError(r.t, err)
	r.granted(by, at, c.Descriptor().Extents)
	return c, values
}

// granted remembers what one node has written into the memory of another.
func (r *rack) granted(by, at *rackNode, extents []descriptor.Extent) {
	if by == at {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, x := range extents {
		r.made[at.region][x.ExtentID] = by.name
	}
}

func (r *rack) resolve(region memregion.RegionID, x memregion.Range) ([]byte, error) {
	return r.nodes[region-1].memory.Bytes(x), nil
}

// rearranged gives a chunk another set of replicas, at most one in a node's memory; those that it keeps may be in a dead node's.
// Of a chunk that no transaction has yet all stay.
func (n *rackNode) rearranged(rng *rand.Rand, c *catalog.Chunk, taken bool) *catalog.Chunk {
	r, d := n.rack, c.Descriptor()
	var replicas [][]descriptor.Extent
	for i := range d.Replicas() {
		replicas = append(replicas, d.ExtentsOf(i))
	}
	for _, at := range r.nodes {
		has := slices.IndexFunc(replicas, func(x []descriptor.Extent) bool { return x[0].Region == at.region })
		_, there := n.catalog.Reachable(at.region)
		switch {
		case has < 0 && there && at.lender != nil && rng.IntN(2) == 0:
			made, err := catalog.CopyChunk(at.lender, d.Replica(rng.IntN(d.Replicas())), func(x *descriptor.Extent) ([]byte, error) { return r.resolve(x.Region, x.Range) })
			require.NoError(r.t, err)
			r.granted(n, at, made)
			replicas = slices.Insert(replicas, rng.IntN(len(replicas)+1), made)
		case taken && has >= 0 && len(replicas) > 1 && rng.IntN(4) == 0:
			replicas = slices.Delete(replicas, has, has+1)
		}
	}
	made, err := c.In(replicas...)
	require.NoError(r.t, err)
	return made
}

// rearrange gives some chunks of a table other replicas.
func (n *rackNode) rearrange(rng *rand.Rand, tx *catalog.Transaction, id catalog.TableName) {
	t := n.rack.t
	v, _ := tx.Contents().Table(id)
	moved := map[int]catalog.Replacement{}
	for p, err := range v.Chunks(ctx) {
		require.NoError(t, err)
		if rng.IntN(2) == 0 {
			moved[p.Index] = catalog.Replacement{Old: p.Chunk, New: n.rearranged(rng, p.Chunk, true)}
		}
	}
	require.NoError(t, tx.ReplaceChunks(ctx, id, moved))
}

// read gives a table's rows as the node sees them, and whether they can be trusted; wrong bytes count only then.
func (n *rackNode) read(s *catalog.Snapshot, name string, pick int) (rows []int64, trusted bool) {
	v, ok := s.Table(catalog.TableName{Schema: "public", Name: name})
	if !ok {
		return nil, true
	}
	var regions []memregion.RegionID
	var damaged error
	for p, err := range v.Chunks(ctx) {
		require.NoError(n.rack.t, err)
		one := p.Descriptor().Replica((pick + p.Index) % p.Replicas())
		for _, id := range one.ExtentIDs() {
			regions = append(regions, id.Region)
		}
		if damaged = errors.Join(damaged, one.Verify(n.rack.resolve, nil)); damaged == nil {
			batch, err := one.Record(n.rack.resolve)
			require.NoError(n.rack.t, err)
			rows = append(rows, batch.Column(0).(*array.Int64).Int64Values()...)
		}
	}
	if s.Trust(regions...) != nil {
		return nil, false
	}
	require.NoError(n.rack.t, damaged, "%s reads %s at revision %d", n.name, name, s.Revision())
	return rows, true
}

// patience is how long nodes wait for the store's watch: long enough for a busy machine.
const patience = 2 * time.Second

var rackTables = []string{"a", "b", "c", "between"}

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
		case n.lender == nil:
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
	rows, exists := now[name]
	drop := exists && rng.IntN(4) == 0
	switch {
	case drop:
		require.NoError(t, tx.DropTable(id))
	case exists && rng.IntN(3) == 0:
		n.rearrange(rng, tx, id)
	default:
		if !exists {
			_, err := tx.CreateTable(ctx, id, columns, catalog.TableOptions{})
			require.NoError(t, err)
		}
		for range 1 + rng.IntN(3) {
			at := pick(rng, n.rack.nodes)
			if _, there := n.catalog.Reachable(at.region); !there || at.lender == nil {
				at = n
			}
			c, values := n.rack.chunk(n, at)
			if rng.IntN(2) == 0 {
				c = n.rearranged(rng, c, false)
			}
			require.NoError(t, tx.Append(id, []*catalog.Chunk{c}))
			rows = append(slices.Clone(rows), values...)
		}
		if rng.IntN(4) == 0 {
			n.rearrange(rng, tx, id)
		}
	}
	conflicts := rng.IntN(4) == 0 && n.overtake(rng, id, now)
	restarted := false
	switch {
	case conflicts:
	case rng.IntN(6) == 0:
		restarted = n.restartAnother(rng, tx, id)
	case rng.IntN(6) == 0:
		n.published = func() { restarted = n.restartAnother(rng, tx, id) }
	}
	var d *doubt
	if !conflicts && rng.IntN(5) == 0 {
		d = n.doubt(rng, now)
	}
	err = tx.Commit(ctx)
	n.published = nil
	n.handle.doubt.Store(nil) // from here on the store answers
	done := false
	switch {
	case conflicts:
		require.ErrorIs(t, err, catalog.ErrConflict)
	case restarted:
		require.Error(t, err, "K8: the chunks' lender does not know them any more")
	case d == nil || !d.met.Load() || d.happens && !d.silent:
		require.NoError(t, err)
		done = true
	case d.silent:
		require.ErrorIs(t, err, catalog.ErrOutcomeUnknown)
		done = d.happens
	default:
		require.ErrorIs(t, err, catalog.ErrNotCommitted)
	}
	if done {
		now[name] = rows
	}
	if done && drop {
		delete(now, name)
	}
}

// doubt is a commit whose answer is lost.
type doubt struct {
	happens bool   // the store did it
	silent  bool   // the store does not answer for a while, so that nobody can tell
	between func() // what others do before this node asks
	met     atomic.Bool
}

// doubtfulStore loses the answer to the next commit of rows, or falls silent.
type doubtfulStore struct {
	*store.Memory
	doubt   atomic.Pointer[doubt]
	silence atomic.Pointer[chan struct{}] // no change is told before it is closed
	short   atomic.Int64                  // what is left of the session; 0: enough
}

// Session lasts for as long as short leaves it.
func (s *doubtfulStore) Session() store.Session { return shortSession{s.Memory.Session(), &s.short} }

type shortSession struct {
	store.Session
	left *atomic.Int64
}

func (s shortSession) Lasts(d time.Duration) error {
	if left := s.left.Load(); left > 0 && d >= time.Duration(left) {
		return store.ErrSessionUnsure
	}
	return s.Session.Lasts(d)
}

func (s *doubtfulStore) Watch(ctx context.Context, prefixes []string, after store.Revision, apply func(store.Change) error) error {
	return s.Memory.Watch(ctx, prefixes, after, func(c store.Change) error {
		if silence := s.silence.Load(); silence != nil {
			select {
			case <-*silence:
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		return apply(c)
	})
}

func (s *doubtfulStore) Commit(ctx context.Context, t store.Transaction) (revision store.Revision, err error) {
	d := s.doubt.Load()
	if d == nil || d.met.Load() || !slices.ContainsFunc(t.Puts, func(i store.Item) bool { return i.Key == "meta/commit" }) {
		return s.Memory.Commit(ctx, t)
	}
	d.met.Store(true)
	if d.happens {
		if revision, err = s.Memory.Commit(ctx, t); err != nil {
			return revision, err
		}
	}
	d.between()
	return 0, fmt.Errorf("%w: no answer", store.ErrUnknown)
}

func (s *doubtfulStore) Get(ctx context.Context, key string) (store.Item, bool, error) {
	if d := s.doubt.Load(); d != nil && d.met.Load() && d.silent {
		return store.Item{}, false, errors.New("the store does not answer")
	}
	return s.Memory.Get(ctx, key)
}

// doubt has the answer to the next commit be lost; meanwhile another node may commit to another table.
func (n *rackNode) doubt(rng *rand.Rand, now map[string][]int64) *doubt {
	d := &doubt{happens: rng.IntN(2) == 0, silent: rng.IntN(2) == 0, between: func() {}}
	if other := pick(rng, n.rack.nodes); other != n && other.lender != nil {
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
		_, err := tx.CreateTable(ctx, id, columns, catalog.TableOptions{})
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
	if other == n || other.lender == nil {
		return false
	}
	other.append(other, id.Name, now)
	return true
}

// restartAnother kills and starts a node between the writing of chunks and their commit.
func (n *rackNode) restartAnother(rng *rand.Rand, tx *catalog.Transaction, id catalog.TableName) bool {
	other := pick(rng, n.rack.nodes)
	if other == n || other.lender == nil {
		return false
	}
	other.kill()
	other.start()
	v, ok := tx.Contents().Table(id)
	if !ok {
		return false
	}
	return slices.ContainsFunc(v.FreshExtents(), func(x catalog.ExtentID) bool { return x.Region == other.region })
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
	require.ErrorIs(t, <-n.ended, catalog.ErrFenced, "Run tells it to begin anew")
	n.ended <- nil
	n.kill()
	n.start()
}

// settle looks at everything at the end, on every node, and then at the memory.
func (r *rack) settle(now map[string][]int64) {
	for _, n := range r.nodes {
		if n.lender == nil {
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
	want := map[memregion.RegionID]int64{}
	s, err := r.nodes[0].catalog.Snapshot(ctx, catalog.Holder{})
	require.NoError(r.t, err)
	for _, v := range s.Tables() {
		for p, err := range v.Chunks(ctx) {
			require.NoError(r.t, err)
			for i := range p.Replicas() {
				for _, x := range p.Descriptor().ExtentsOf(i) {
					want[x.Region] += x.Range.Length
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

// The store has a commit and its watch is silent: nobody waits without end, and what is durable is acknowledged.
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

// Two nodes of one name: the second is refused, and says who has it.
// A node that is given up while it waits for others to have seen it does not wait for ever: nobody will see it any more.
func TestGivenUpBeforeItWasSeen(t *testing.T) {
	r := newRack(t, 1)
	defer r.close()
	r.nodes[0].stop() // it takes notice of nobody from here on
	<-r.nodes[0].ended
	r.nodes[0].ended <- nil // which is what close waits for
	handle := r.store.Handle()
	c, err := catalog.Open(ctx, handle, rackLender{r.nodes[0]}, catalog.Options{Self: &catalog.NodeRecord{Name: "x", Address: "x:1", Directory: "x"}})
	require.NoError(t, err)
	seen := make(chan error, 1)
	go func() { seen <- c.AwaitSeen(ctx) }()
	select {
	case err := <-seen:
		require.FailNow(t, "nobody can have seen it", "%v", err)
	case <-time.After(20 * time.Millisecond):
	}
	handle.Expire()
	require.ErrorIs(t, <-seen, catalog.ErrFenced)
	require.NoError(t, c.Close())
}

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
