package catalog_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/catalog/descriptor"
	"github.com/csmsql/csmsql/catalog/internal/lendertest"
	"github.com/csmsql/csmsql/catalog/store"
	"github.com/csmsql/csmsql/coherence"
	"github.com/csmsql/csmsql/internal/faults"
	"github.com/csmsql/csmsql/memregion"
)

// rack is several nodes' catalogs over one store. Each lends one region; every node reads and writes in all of them, as
// over shared memory. Memory that was given back is overwritten, so that a late reader sees it.
type rack struct {
	t     require.TestingT
	store *store.Memory
	nodes []*rackNode
	next  int64
	// folded: what overtook a commit was a fold of the whole table.
	folded bool

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
	lender    atomic.Pointer[lendertest.Lender] // nil: the process is dead; calls of other nodes, which look, go on beside
	catalog   *catalog.Catalog
	stop      context.CancelFunc
	ended     chan error
	snapshots []rackSnapshot
	published func() // called once between publishing and storing
	begun     func() // is called when a commit begins, once
	doubted   int    // extents of the last commit that ended in doubt
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
		if n.lender.Load() != nil {
			n.kill()
		}
	}
}

// start is a process of the node: it registers, waits for the others, takes its region over, goes online.
func (n *rackNode) start() {
	t := n.rack.t
	n.handle = &doubtfulStore{Memory: n.rack.store.Handle()}
	lender := lendertest.New(t, n.region, n.memory, n.first)
	n.lender.Store(lender)
	n.rack.mu.Lock()
	n.rack.made[n.region] = map[catalog.ExtentID]string{}
	n.rack.mu.Unlock()
	c, err := catalog.Open(ctx, n.handle, rackLender{n}, catalog.Options{
		Doubted:        func(ids []catalog.ExtentID) { n.doubted = len(ids) },
		InitialSchemas: []string{"public"}, ReportInterval: time.Millisecond, Patience: patience,
		Self: &catalog.NodeRecord{Name: n.name, Address: n.name + ":1", Directory: n.name},
		Log: func(message string, err error) {
			if message == "retire a chunk" && !errors.Is(err, errDead) { // K3: not once
				n.rack.mu.Lock()
				defer n.rack.mu.Unlock()
				n.rack.must(fmt.Errorf("%s: %w", message, err))
			}
		},
		Fault: func(point faults.Point) {
			if do := n.begun; do != nil && point == faults.CommitBegin {
				n.begun = nil
				do()
			}
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
		return lender.Adopt(x.Owner, x.Generation, x.Range, x.Seal)
	}))
	n.memory.Scribble()
	require.NoError(t, c.PutRegion(ctx, catalog.RegionRecord{
		Spec: memregion.Spec{ID: n.region}, Node: n.name, Generations: n.first + processGenerations, // before one is used (K6)
	}))
	running, stop := context.WithCancel(ctx)
	n.stop, n.ended = stop, make(chan error, 1)
	go func() { n.ended <- c.Run(running) }()
	require.NoError(t, c.SetState(ctx, catalog.Online))
}

// processGenerations is how many generations a process of a node may use.
const processGenerations = 1 << 20

// kill is SIGKILL: the session ends when the store notices.
func (n *rackNode) kill() {
	n.stop()
	<-n.ended
	n.lender.Store(nil)
	n.handle.Expire()
	n.first += processGenerations
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
		if lender := l.node.rack.nodes[id.Region-1].lender.Load(); lender == nil {
			err = errors.Join(err, errDead)
		} else {
			err = errors.Join(err, do(lender, id.Generation))
		}
	}
	return err
}

func (l rackLender) Publish(ids ...catalog.ExtentID) error {
	others := slices.DeleteFunc(slices.Clone(ids), func(id catalog.ExtentID) bool { return id.Region == l.node.region })
	ids = append(others, l.own(ids)...)
	for i, id := range ids {
		err := l.each(ids[i:i+1], func(to *lendertest.Lender, g coherence.Generation) error { return to.Publish(g) })
		if err != nil {
			return &catalog.PartlyPublishedError{Published: ids[:i], Cause: fmt.Errorf("publish %v: %w", id, err)}
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
	return catalog.Homes{l.node.region: l.node.lender.Load().Home.Home}.Pin(d, l.own(ids)...)
}

func (l rackLender) Unpin(d coherence.Domain, ids ...catalog.ExtentID) error {
	return catalog.Homes{l.node.region: l.node.lender.Load().Home.Home}.Unpin(d, l.own(ids)...)
}

func (l rackLender) ExpireDomain(d coherence.Domain) error {
	l.node.lender.Load().ExpireDomain(d)
	return nil
}

// chunk writes one chunk of two rows in the memory of a node.
func (r *rack) chunk(by, at *rackNode) (*catalog.Chunk, []int64) {
	values := []int64{r.next, r.next + 1}
	r.next += 2
	return r.chunkOf(by, at, values), values
}

func (r *rack) chunkOf(by, at *rackNode, values []int64) *catalog.Chunk {
	b := array.NewInt64Builder(memory.NewGoAllocator())
	defer b.Release()
	b.AppendValues(values, nil)
	batch := array.NewRecordBatch(columns, []arrow.Array{b.NewArray()}, int64(len(values)))
	c, err := catalog.NewChunkWriter(at.lender.Load(), "test", 4096).Seal(ctx, batch, catalog.SealOptions{})
	require.NoError(r.t, err)
	r.granted(by, at, c.Descriptor().Extents)
	return c
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

// glance is resolve for a reader that only asks afterwards whether what it read can be trusted: the memory may be
// another writer's by now, which stores into it meanwhile. That is no mistake of the program's, so the race detector
// does not see these loads; the copy is the reader's own.
//
//go:norace
func (r *rack) glance(region memregion.RegionID, x memregion.Range) ([]byte, error) {
	bytes := r.nodes[region-1].memory.Bytes(x)
	copied := lendertest.NewMemory(x.Length).Bytes(memregion.Range{Length: x.Length})
	//lint:ignore S1001 the race detector sees the loads of copy
	for i := range bytes {
		copied[i] = bytes[i]
	}
	return copied, nil
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
		case has < 0 && there && at.lender.Load() != nil && rng.IntN(2) == 0:
			made, err := catalog.CopyChunk(at.lender.Load(), d.Replica(rng.IntN(d.Replicas())), func(x *descriptor.Extent) ([]byte, error) { return r.resolve(x.Region, x.Range) })
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

// fold makes one chunk, in the node's own memory, of some of a table that follow each other; false if there is one
// only, or one that cannot be read.
func (n *rackNode) fold(rng *rand.Rand, tx *catalog.Transaction, id catalog.TableName) bool {
	v, _ := tx.Contents().Table(id)
	if v.NumChunks() < 2 {
		return false
	}
	first := rng.IntN(v.NumChunks() - 1)
	return n.foldRun(tx, id, first, 2+rng.IntN(v.NumChunks()-first-1))
}

func (n *rackNode) foldRun(tx *catalog.Transaction, id catalog.TableName, first, chunks int) bool {
	t := n.rack.t
	v, _ := tx.Contents().Table(id)
	var olds []*catalog.Chunk
	var values []int64
	for i := first; i < first+chunks; i++ {
		c, err := v.Chunk(ctx, i)
		require.NoError(t, err)
		batch, err := c.Descriptor().Replica(0).Record(n.rack.resolve)
		require.NoError(t, err)
		olds = append(olds, c)
		values = append(values, batch.Column(0).(*array.Int64).Int64Values()...)
	}
	if len(olds) < 2 {
		return false
	}
	require.NoError(t, tx.Fold(ctx, id, first, olds, []*catalog.Chunk{n.rack.chunkOf(n, n, values)}))
	return true
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
		if damaged = errors.Join(damaged, one.Verify(n.rack.glance, nil)); damaged == nil {
			batch, err := one.Record(n.rack.glance)
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

// columnsOf are those of a table that a test makes. The records of every second one are so large that they are stored
// compressed, and their pages with them.
func columnsOf(name catalog.TableName) *arrow.Schema {
	if name.Name[len(name.Name)-1]%2 == 0 {
		return columns
	}
	words := arrow.MetadataFrom(map[string]string{"comment": strings.Repeat("it is large ", 100)})
	return arrow.NewSchema(columns.Fields(), &words)
}
