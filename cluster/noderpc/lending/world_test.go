package lending_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/zeebo/xxh3"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/cluster/certificate"
	"github.com/csmsql/csmsql/cluster/noderpc"
	"github.com/csmsql/csmsql/cluster/noderpc/lending"
	"github.com/csmsql/csmsql/cluster/noderpc/refusal"
	"github.com/csmsql/csmsql/coherence"
	"github.com/csmsql/csmsql/memregion"
)

var ctx = context.Background()

const page = memregion.PageSize

var errFull = errors.New("full")

// memory is a region in a slice, first fit, every byte accounted for.
type memory struct {
	data    []byte
	blocked chan chan struct{} // if set, Allocate waits: it sends what it waits for
	// shrinking, if set, is called by Shrink, while the home's lock is held.
	shrinking func()

	mu   sync.Mutex
	live []memregion.Owned // by address
}

func (m *memory) Allocate(owner string, size int64) (memregion.Range, error) {
	if m.blocked != nil {
		wait := make(chan struct{})
		m.blocked <- wait
		<-wait
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	r, at := memregion.Range{Length: (size + page - 1) / page * page}, 0
	for ; at < len(m.live) && m.live[at].Range.Offset-r.Offset < r.Length; at++ {
		r.Offset = m.live[at].Range.End()
	}
	if r.End() > int64(len(m.data)) {
		return memregion.Range{}, errFull
	}
	m.live = slices.Insert(m.live, at, memregion.Owned{Owner: owner, Range: r})
	return r, nil
}

func (m *memory) find(owner string, r memregion.Range) int {
	return slices.Index(m.live, memregion.Owned{Owner: owner, Range: r})
}

func (m *memory) Shrink(owner string, r memregion.Range, size int64) (memregion.Range, error) {
	if m.shrinking != nil {
		m.shrinking()
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	at := m.find(owner, r)
	if at < 0 {
		return r, fmt.Errorf("shrink of %v, which %s does not have", r, owner)
	}
	m.live[at].Range.Length = size
	return m.live[at].Range, nil
}

func (m *memory) Free(owner string, r memregion.Range) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	at := m.find(owner, r)
	if at < 0 {
		return fmt.Errorf("free of %v, which %s does not have", r, owner)
	}
	m.live = slices.Delete(m.live, at, at+1)
	return nil
}

func (m *memory) Bytes(r memregion.Range) []byte { return m.data[r.Offset:r.End():r.End()] }

func (m *memory) bytes() (n int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, o := range m.live {
		n += o.Range.Length
	}
	return n
}

// world is a node that lends regions 1 and 2.
type world struct {
	t        require.TestingT
	memories map[memregion.RegionID]*memory
	homes    catalog.Homes
	counters *coherence.Counters
	refusals *refusal.Counters
	lender   *lending.Lender
}

const regionBytes = 1 << 20

func newWorld(t require.TestingT, class coherence.Class, options lending.Options) *world {
	return newWorldAfter(t, class, 0, options)
}

// newWorldAfter is a node whose former process used the generations below first.
func newWorldAfter(t require.TestingT, class coherence.Class, first coherence.Generation, options lending.Options) *world {
	w := &world{t: t, memories: map[memregion.RegionID]*memory{}, homes: catalog.Homes{}, counters: &coherence.Counters{}}
	for region := range memregion.RegionID(2) {
		region++
		w.memories[region] = &memory{data: make([]byte, regionBytes)}
		home, err := coherence.NewHome(coherence.HomeConfig{
			Region: region, Memory: w.memories[region], Lines: options.Lines, Domain: "home", Class: class, Capacity: regionBytes, FirstGeneration: first, Counters: w.counters,
			Verify: func(data []byte, s coherence.Seal) error {
				if xxh3.Hash(data) != s.Checksum {
					return coherence.ErrChecksum
				}
				return nil
			},
		})
		require.NoError(t, err)
		w.homes[region] = home
	}
	log := slog.New(slog.DiscardHandler)
	if options.Refusals == nil {
		options.Refusals = refusal.New(log)
	}
	w.refusals, options.Log = options.Refusals, log
	var err error
	w.lender, err = lending.New(w.homes, options)
	require.NoError(t, err)
	return w
}

// live is how many bytes of all regions are allocated.
func (w *world) live() (n int64) {
	for _, m := range w.memories {
		n += m.bytes()
	}
	return n
}

func (w *world) state(id catalog.ExtentID) coherence.State {
	return w.homes[id.Region].Generation(id.Generation).State
}

// node is a peer with a certificate; each call is another incarnation.
func node(name string) noderpc.Peer {
	return noderpc.Peer{
		Network: "tcp", Address: "10.0.0.1:7", Identity: certificate.Identity{Role: certificate.RoleNode, Name: name}, Incarnation: noderpc.NewIncarnation(),
	}
}

func (w *world) grant(p noderpc.Peer, size int64) noderpc.Granted {
	g, err := w.lender.Grant(ctx, p, noderpc.GrantRequest{Region: 1, Owner: "t", Size: size, Ticket: noderpc.NewTicket(), Process: noderpc.CurrentProcess()})
	require.NoError(w.t, err)
	return g
}

func (w *world) sealed(p noderpc.Peer, size int64) catalog.ExtentID {
	g := w.grant(p, size)
	require.NoError(w.t, w.seal(p, g.Extent, g.Range.Length))
	return g.Extent
}

func (w *world) seal(p noderpc.Peer, id catalog.ExtentID, keep int64) error {
	seal := coherence.Seal{Length: 1}
	if home := w.homes[id.Region]; home != nil {
		if at := home.Generation(id.Generation).Range; at.Length > 0 {
			seal.Checksum = xxh3.Hash(home.Bytes(at)[:seal.Length])
		}
	}
	return w.lender.Seal(ctx, p, noderpc.SealRequest{Extent: id, Keep: keep, Seal: seal})
}

func (w *world) publish(p noderpc.Peer, temporary bool, ids ...catalog.ExtentID) error {
	return w.lender.Publish(ctx, p, noderpc.PublishRequest{Extents: ids, Temporary: temporary})
}

func (w *world) free(p noderpc.Peer, ids ...catalog.ExtentID) error {
	return w.lender.Free(ctx, p, noderpc.FreeRequest{Extents: ids})
}

func state(t require.TestingT, err error) string {
	var stated interface{ SQLState() string }
	require.ErrorAs(t, err, &stated)
	return stated.SQLState()
}

// requireEmpty is how each test ends: nothing was lost (W5, W6).
func (w *world) requireEmpty(published ...catalog.ExtentID) {
	require.NoError(w.t, w.homes.Retire(published...))
	for _, b := range w.lender.Borrowers() {
		require.Zero(w.t, b.Extents, "%v", b)
	}
	require.Zero(w.t, w.live())
	require.Zero(w.t, w.counters.LostExtents.Load())
}

func TestMain(m *testing.M) { childOrTests(m) }
