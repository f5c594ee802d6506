package borrowing_test

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zeebo/xxh3"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/catalog/chunk"
	"github.com/csmsql/csmsql/cluster/certificate"
	"github.com/csmsql/csmsql/cluster/noderpc"
	"github.com/csmsql/csmsql/cluster/noderpc/borrowing"
	"github.com/csmsql/csmsql/cluster/noderpc/lending"
	"github.com/csmsql/csmsql/coherence"
	"github.com/csmsql/csmsql/internal/shmdir"
	"github.com/csmsql/csmsql/internal/testsuite"
	"github.com/csmsql/csmsql/memregion"
)

// host is a machine with caches of its own, over the lender's region.
type host struct {
	name   coherence.Domain
	domain *memregion.Domain
	view   *memregion.View
	reader *coherence.Reader
}

// sealedExtent is what was written, as it is to be read.
type sealedExtent struct {
	id    catalog.ExtentID
	at    memregion.Range
	bytes []byte
}

// rack is a lender, a borrower that writes, and a machine that only reads, over memory that is not coherent: what production runs between
// them is all here but the wire. The lender is started again now and then.
type rack struct {
	t      *testing.T
	seed   uint64
	random *rand.Rand
	spec   memregion.Spec
	class  coherence.Class
	mark   coherence.Generation // on record
	boots  int

	lent     *memregion.Lent
	home     *coherence.Home
	journal  *lending.Journal
	lender   *lending.Lender
	hosts    []*host // the lender's first, then the borrower's
	peer     noderpc.Peer
	space    *borrowing.Space
	readable []sealedExtent
	begun    []chunk.Grant // the borrower's, that it goes on storing into, also when the lender was started again
}

func newRack(t *testing.T, kind memregion.FabricKind, seed uint64) *rack {
	r := &rack{t: t, seed: seed, random: rand.New(rand.NewPCG(seed, 1)), class: coherence.Incoherent}
	if kind.HomeSnooped() {
		r.class = coherence.IncoherentHomeSnoop
	}
	r.spec = memregion.Spec{ID: 7, Capacity: 1 << 20, Fabric: kind, Path: filepath.Join(shmdir.For(t), "a.region")}
	var err error
	r.spec.Base, err = memregion.ChooseBase(nil, r.spec.Capacity, r.spec.Path)
	require.NoError(t, err)
	r.peer = noderpc.Peer{
		Network: "tcp", Address: "10.0.0.1:7", Identity: certificate.Identity{Role: certificate.RoleNode, Name: "writer"}, Incarnation: noderpc.NewIncarnation(),
	}
	r.boot()
	for _, name := range []string{"writer", "reader"} {
		h := &host{name: coherence.Domain(name), domain: memregion.NewDomain(kind, name, seed+uint64(len(r.hosts)))}
		h.view, err = memregion.BorrowIn(h.domain, false, r.spec)
		require.NoError(t, err)
		h.reader = coherence.NewReader(r.class, h.domain.Lines(), nil)
		r.hosts = append(r.hosts, h)
	}
	writer := r.hosts[1]
	r.space = borrowing.NewSpace(direct{r}, writer.view, borrowing.Options{Lines: writer.domain.Lines(), Domain: writer.name, Chooser: onePass(writer.domain.Lines())})
	return r
}

// onePass has chosen to flush each piece when it was copied, the only way that memory which is emulated has beside ordinary stores.
func onePass(lines coherence.Lines) *coherence.Chooser {
	now, calls := time.Unix(0, 0), 0
	c := coherence.NewChooser(lines, func() time.Time {
		switch calls++; calls {
		case 4: // the end of the ordinary copy
			now = now.Add(2 * time.Millisecond)
		case 8: // there is no time for a second round
			now = now.Add(time.Hour)
		}
		return now
	})
	c.For(make([]byte, 1<<20))
	return c
}

// boot starts the lender's process, the first one or the next one, which finds what its former one had published and lent.
func (r *rack) boot() {
	t := r.t
	r.boots++
	home := &host{name: "lender", domain: memregion.NewDomain(r.spec.Fabric, "lender", r.seed+100*uint64(r.boots))}
	published := map[catalog.ExtentID]bool{}
	var live []memregion.Owned
	for _, x := range r.readable {
		published[x.id] = true
		live = append(live, memregion.Owned{Owner: "t", Range: x.at})
	}
	var err error
	r.journal, err = lending.OpenJournal(r.spec.Path+".journal", func(id catalog.ExtentID) bool { return published[id] })
	require.NoError(t, err)
	options := memregion.LendOptions{Domain: home.domain, GrowthStep: 64 << 10}
	if r.boots == 1 {
		r.lent, err = memregion.Lend(ctx, r.spec, options)
	} else {
		r.lent, err = memregion.Adopt(ctx, r.spec, append(live, r.journal.Owned(r.spec.ID)...), options)
	}
	require.NoError(t, err)
	home.view = r.lent.View()
	home.reader = coherence.NewReader(r.class, home.domain.Lines(), nil)
	r.home, err = coherence.NewHome(coherence.HomeConfig{
		Region: r.spec.ID, Memory: r.lent, Lines: home.domain.Lines(), Domain: home.name, Class: r.class, Capacity: r.spec.Capacity, FirstGeneration: r.mark,
		ReserveGenerations: func(upTo coherence.Generation) error { r.mark = upTo; return nil }, Chooser: onePass(home.domain.Lines()), Reader: home.reader,
		Protect: r.lent.Protect, Verify: func(data []byte, s coherence.Seal) error {
			if xxh3.Hash(data) != s.Checksum {
				return coherence.ErrChecksum
			}
			return nil
		},
	})
	require.NoError(t, err)
	for _, x := range r.readable {
		require.NoError(t, r.home.Adopt("t", x.id.Generation, x.at, coherence.Seal{Length: x.at.Length}))
	}
	r.lender, err = lending.New(catalog.Homes{r.spec.ID: r.home}, lending.Options{
		Lines: home.domain.Lines(), Journal: r.journal, Memories: map[memregion.RegionID]coherence.Memory{r.spec.ID: r.lent},
		TrustSeals: r.seed%2 == 0, // what the lender compares it has acquired: that hides what was forgotten before
		Log:        slog.New(slog.DiscardHandler),
	})
	require.NoError(t, err)
	if r.boots == 1 {
		r.hosts = []*host{home}
	} else {
		r.hosts[0] = home
	}
}

// restart ends the lender's process. Its machine's caches stay as they are.
func (r *rack) restart() {
	r.shutDown()
	r.boot()
}

func (r *rack) shutDown() {
	require.NoError(r.t, r.lent.Verify())
	require.NoError(r.t, r.lent.Close())
	require.NoError(r.t, r.journal.Close())
}

// direct is the lender's process that there is, without a wire.
type direct struct{ rack *rack }

func (d direct) Grant(ctx context.Context, q noderpc.GrantRequest) (noderpc.Granted, error) {
	q.Process = noderpc.CurrentProcess()
	return d.rack.lender.Grant(ctx, d.rack.peer, q)
}
func (d direct) Reallocate(ctx context.Context, q noderpc.ReallocateRequest) (noderpc.Granted, error) {
	return d.rack.lender.Reallocate(ctx, d.rack.peer, q)
}
func (d direct) Seal(ctx context.Context, q noderpc.SealRequest) error {
	return d.rack.lender.Seal(ctx, d.rack.peer, q)
}
func (d direct) Free(ctx context.Context, q noderpc.FreeRequest) error {
	return d.rack.lender.Free(ctx, d.rack.peer, q)
}

// disturb lets every machine's hardware do what it likes.
func (r *rack) disturb() {
	for _, h := range r.hosts {
		for range r.random.IntN(8) {
			h.domain.Lines().FenceStore()
		}
	}
}

// play does some steps: the lender and the borrower write, all read, memory goes back and is granted again.
func (r *rack) play(steps int) {
	for range steps {
		r.disturb()
		switch r.random.IntN(9) {
		case 8:
			r.goOn()
		case 0, 1, 2:
			r.write(r.space, func(g coherence.Generation) error {
				return r.lender.Publish(ctx, r.peer, noderpc.PublishRequest{Extents: []catalog.ExtentID{{Region: r.spec.ID, Generation: g}}})
			})
		case 3:
			r.write(chunk.Home{Home: r.home}, func(g coherence.Generation) error { return r.home.Publish(g) })
		case 4, 5:
			r.read()
		case 6:
			r.retire()
		case 7:
			if r.random.IntN(4) == 0 {
				r.restart()
			} else if _, err := r.home.DropAhead(64 << 10); err != nil {
				require.NoError(r.t, err)
			}
		}
	}
	for len(r.readable) > 0 {
		r.read()
		r.retire()
	}
	for len(r.begun) > 0 {
		r.giveUp()
	}
	require.Zero(r.t, r.lent.Stats().Used, "seed %d", r.seed)
	r.shutDown()
	for _, h := range r.hosts[1:] {
		require.NoError(r.t, h.view.Close())
	}
}

// write writes one extent, or gives it back unfinished.
func (r *rack) write(space chunk.Space, publish func(coherence.Generation) error) {
	t := r.t
	content := make([]byte, (1+r.random.IntN(5))*page-r.random.IntN(page))
	for i := range content {
		content[i] = byte(r.random.Uint32())
	}
	g, err := space.Grant("t", int64(1+r.random.IntN(3))*page)
	require.NoError(t, err)
	for done := 0; done < len(content); r.disturb() {
		if room := len(g.Bytes()) - done; room == 0 || r.random.IntN(6) == 0 && done > 0 {
			growing, ok := g.(chunk.Growing)
			if ok {
				require.NoError(t, growing.Grow(int64(len(g.Bytes())+(1+r.random.IntN(2))*page), int64(done)), "seed %d", r.seed)
				continue
			}
			if room == 0 {
				content = content[:done]
				break
			}
		}
		next := min(done+1+r.random.IntN(2*page), len(content), len(g.Bytes()))
		if r.random.IntN(2) == 0 {
			_, err := g.Copy(int64(done), content[done:next])
			require.NoError(t, err)
		} else {
			copy(g.Bytes()[done:], content[done:next])
		}
		done = next
	}
	if r.random.IntN(4) == 0 {
		require.NoError(t, g.Abort())
		return
	}
	clear(g.Bytes()[len(content):])
	length := (int64(len(content)) + page - 1) / page * page
	if length < int64(len(g.Bytes())) {
		require.NoError(t, g.Shrink(length))
	}
	content = append(content, make([]byte, int(length)-len(content))...)
	at := g.Range()
	require.NoError(t, g.Clean())
	r.disturb()
	require.NoError(t, g.Seal(coherence.Seal{Length: length, Checksum: xxh3.Hash(content)}), "seed %d", r.seed)
	require.NoError(t, publish(g.Generation()))
	r.readable = append(r.readable, sealedExtent{catalog.ExtentID{Region: r.spec.ID, Generation: g.Generation()}, at, content})
	if len(r.readable) > 12 {
		r.retire()
	}
}

// goOn begins a grant, stores into one that was begun, or gives it up (W3).
func (r *rack) goOn() {
	switch n := r.random.IntN(4); {
	case n == 0 && len(r.begun) > 0:
		r.giveUp()
	case len(r.begun) < 3:
		g, err := r.space.Grant("t", int64(1+r.random.IntN(3))*page)
		require.NoError(r.t, err)
		r.begun = append(r.begun, g)
	}
	for _, g := range r.begun {
		at := r.random.IntN(len(g.Bytes()))
		for i := range g.Bytes()[at:] {
			g.Bytes()[at+i] = byte(r.random.Uint32())
		}
	}
}

func (r *rack) giveUp() {
	at := r.random.IntN(len(r.begun))
	require.NoError(r.t, r.begun[at].Abort())
	r.begun = append(r.begun[:at], r.begun[at+1:]...)
}

// read has a machine read something (C1).
func (r *rack) read() {
	if len(r.readable) == 0 {
		return
	}
	h, x := r.hosts[r.random.IntN(len(r.hosts))], r.readable[r.random.IntN(len(r.readable))]
	data, err := h.view.Bytes(x.at)
	require.NoError(r.t, err)
	generations := []coherence.Generation{x.id.Generation}
	require.NoError(r.t, r.home.Pin(h.name, generations))
	require.NoError(r.t, h.reader.Acquire(ctx, x.id.Region, x.id.Generation, data, nil))
	r.disturb()
	for i, want := range x.bytes {
		if data[i] != want {
			require.Failf(r.t, "a wrong value", "seed %d: %s loads %d at %d of generation %d, which has %d there", r.seed, h.name, data[i], i, x.id.Generation, want)
		}
	}
	if r.random.IntN(2) == 0 {
		h.reader.Release(x.id.Region, x.id.Generation)
	}
	require.NoError(r.t, r.home.Unpin(h.name, generations))
}

func (r *rack) retire() {
	if len(r.readable) == 0 {
		return
	}
	at := r.random.IntN(len(r.readable))
	require.NoError(r.t, r.home.Retire(r.readable[at].id.Generation))
	r.readable = append(r.readable[:at], r.readable[at+1:]...)
}

// TestMemoryThatIsNotCoherent runs the lender's side and the borrower's as production does: grants, ways to copy, reallocations, seals, the
// journal and adoption, over caches of three machines and an adversary (R3, C1 to C5).
func TestMemoryThatIsNotCoherent(t *testing.T) {
	for _, kind := range []memregion.FabricKind{"emulated", "emulated,128", "emulated,home-snoop", "emulated,home-snoop,128"} {
		t.Run(fmt.Sprint(kind), func(t *testing.T) {
			for seed := range uint64(10 * testsuite.Effort()) {
				newRack(t, kind, seed).play(60)
			}
		})
	}
}
