package borrowing_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"sync"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/catalog/chunk"
	"github.com/csmsql/csmsql/cluster/noderpc"
	"github.com/csmsql/csmsql/cluster/noderpc/borrowing"
	"github.com/csmsql/csmsql/coherence"
	"github.com/csmsql/csmsql/memregion"
)

func sealOf(length int64) coherence.Seal { return coherence.Seal{Length: length} }

// script is a lender with scripted answers.
type script struct {
	class  coherence.Class
	next   int64
	fail   error // of the next call
	sealed func()
	moved  func() // before it answers to a reallocation
	frees  []noderpc.FreeRequest
}

func (s *script) failure() error {
	err := s.fail
	s.fail = nil
	return err
}

func (s *script) Grant(_ context.Context, r noderpc.GrantRequest) (noderpc.Granted, error) {
	if err := s.failure(); err != nil {
		return noderpc.Granted{}, err
	}
	s.next++
	return noderpc.Granted{
		Extent: catalog.ExtentID{Region: r.Region, Generation: coherence.Generation(s.next)}, Class: s.class,
		Range: memregion.Range{Offset: (s.next - 1) * mebibyte, Length: r.Size},
	}, nil
}

func (s *script) Reallocate(ctx context.Context, r noderpc.ReallocateRequest) (noderpc.Granted, error) {
	if s.moved != nil {
		s.moved()
	}
	return s.Grant(ctx, noderpc.GrantRequest{Region: r.Extent.Region, Size: r.Size})
}

func (s *script) Seal(context.Context, noderpc.SealRequest) error {
	if s.sealed != nil {
		s.sealed()
	}
	return s.failure()
}

func (s *script) Free(_ context.Context, r noderpc.FreeRequest) error {
	err := s.failure()
	if err == nil {
		s.frees = append(s.frees, r)
	}
	return err
}

// scripted is a space over a region of this test alone.
func scripted(t *testing.T, s *script, options borrowing.Options) *borrowing.Space {
	spec := plan(t, 64*mebibyte)
	lent, err := memregion.Lend(ctx, spec, memregion.LendOptions{GrowthStep: mebibyte})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, lent.Close()) })
	_, err = lent.Allocate("t", 32*mebibyte) // so that it is backed
	require.NoError(t, err)
	view, err := memregion.Borrow(spec)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, view.Close()) })
	return borrowing.NewSpace(s, view, options)
}

var (
	errLost = &noderpc.Error{State: "08006", Message: "lost", Cause: noderpc.ErrNodeGone}
	errSaid = &noderpc.Error{State: "53200", Message: "no", Answered: true}
)

// R2: a lender that answers that it is too busy, or ends, or gave up in the middle, has taken nothing back, and hears of it again.
func TestALenderThatTookNothing(t *testing.T) {
	for _, state := range []string{"53000", "57014", "57P01", "57P03"} {
		t.Run(state, func(t *testing.T) {
			s := &script{}
			space := scripted(t, s, borrowing.Options{})
			g, err := space.Grant("t", page)
			require.NoError(t, err)
			busy := &noderpc.Error{State: state, Message: "not now", Answered: true}
			s.fail = busy
			require.NoError(t, g.Abort())
			require.True(t, space.Owes())
			s.fail = busy
			require.ErrorIs(t, space.Settle(ctx), busy)
			s.fail = busy
			require.ErrorIs(t, space.Discard(50), busy)
			require.NoError(t, space.Settle(ctx))
			require.Equal(t, []noderpc.FreeRequest{{Extents: []catalog.ExtentID{{Region: 7, Generation: 1}, {Region: 7, Generation: 50}}, Settling: true}}, s.frees)
			require.False(t, space.Owes())

			s.fail = &noderpc.Error{State: state, Message: "fenced", Answered: true, Cause: noderpc.ErrFenced}
			require.Error(t, space.Discard(51))
			require.False(t, space.Owes(), "what a process had that is out goes back without it")
		})
	}
}

// R2: what the lender may have granted, and what it may still hold, is reported until it has answered.
func TestDebts(t *testing.T) {
	s := &script{}
	space := scripted(t, s, borrowing.Options{})
	s.fail = errSaid
	_, err := space.Grant("t", page)
	require.ErrorIs(t, err, errSaid)
	require.NoError(t, space.Settle(ctx))
	require.Empty(t, s.frees, "the lender said no: nothing is owed")

	s.fail = errLost
	_, err = space.Grant("t", page)
	require.ErrorIs(t, err, noderpc.ErrNodeGone)
	s.fail = errLost
	_, err = space.Grant("t", page)
	require.ErrorIs(t, err, noderpc.ErrNodeGone, "what is owed comes first")
	g, err := space.Grant("t", page)
	require.NoError(t, err)
	require.Len(t, s.frees, 1)
	require.Len(t, s.frees[0].Tickets, 1)
	require.True(t, s.frees[0].Settling)

	require.NoError(t, g.Clean())
	s.fail = errLost
	require.ErrorIs(t, g.Seal(sealOf(1)), noderpc.ErrNodeGone)
	s.fail = errLost
	require.NoError(t, g.Abort(), "the memory is gone for this process; the lender will hear of it")
	id := catalog.ExtentID{Region: 7, Generation: g.Generation()}
	require.Equal(t, []catalog.ExtentID{id}, space.Orphaned())
	s.fail = errLost
	require.ErrorIs(t, space.Settle(ctx), noderpc.ErrNodeGone)
	require.Equal(t, []catalog.ExtentID{id}, space.Orphaned(), "it has not heard")
	require.NoError(t, space.Settle(ctx))
	require.Equal(t, noderpc.FreeRequest{Extents: []catalog.ExtentID{id}, Tickets: s.frees[1].Tickets, Settling: true}, s.frees[1])
	require.Empty(t, space.Orphaned())

	s.fail = errLost
	require.Error(t, space.Discard(5))
	require.Len(t, space.Orphaned(), 1)
	s.fail = errSaid
	require.NoError(t, space.Settle(ctx), "whatever it answered, it has heard")
	s.fail = errSaid
	require.ErrorIs(t, space.Discard(6), errSaid)
	require.Empty(t, space.Orphaned())

	// A grant outside of the region, or of what is not backed.
	s.next = 62
	_, err = space.Grant("t", page)
	require.ErrorIs(t, err, memregion.ErrRegionShort)
	s.next = 1 << 30
	_, err = space.Grant("t", page)
	require.ErrorIs(t, err, memregion.ErrOutOfRange)
	require.Len(t, s.frees, 4)
}

// A reallocation whose answer is lost leaves the writer where it was.
func TestALostReallocation(t *testing.T) {
	s := &script{}
	space := scripted(t, s, borrowing.Options{})
	given, err := space.Grant("t", page)
	require.NoError(t, err)
	g := given.(chunk.Growing)
	given.Bytes()[0] = 1
	s.fail = errLost
	require.ErrorIs(t, g.Grow(2*page, page), noderpc.ErrNodeGone)
	require.Equal(t, byte(1), given.Bytes()[0])
	require.EqualValues(t, 1, given.Generation())
	require.True(t, space.Owes(), "the lender may hold a longer one for this ticket")
	require.NoError(t, space.Settle(ctx))
	require.Len(t, s.frees[0].Tickets, 1)
	require.NoError(t, g.Grow(2*page, page))
	require.EqualValues(t, 2, given.Generation())
	require.Equal(t, []catalog.ExtentID{{Region: 7, Generation: 1}}, s.frees[1].Extents, "the old one goes back")
	require.NoError(t, given.Abort())
}

// cpu notes what was flushed since the last full fence before it.
type cpu struct {
	flushed map[uintptr]bool // lines that are in memory
	dirty   bool             // flushes are not fenced yet
}

func (c *cpu) Flush(b []byte) int {
	n := 0
	for at := uintptr(unsafe.Pointer(&b[0])) &^ 63; at < uintptr(unsafe.Pointer(&b[0]))+uintptr(len(b)); at += 64 {
		c.flushed[at] = true
		n++
	}
	c.dirty = true
	return n
}
func (c *cpu) FenceStore() {}
func (c *cpu) FenceFull()  { c.dirty = false }

// R3: where caches are not coherent, every line is flushed and the flushes are fenced before the lender hears of it.
func TestTheWriterFlushes(t *testing.T) {
	lines := &cpu{flushed: map[uintptr]bool{}}
	s := &script{class: coherence.Incoherent}
	counters := &coherence.Counters{}
	space := scripted(t, s, borrowing.Options{Lines: lines, Counters: counters})
	require.ErrorIs(t, func() error {
		_, err := scripted(t, &script{class: coherence.Incoherent}, borrowing.Options{}).Grant("t", page)
		return err
	}(), coherence.ErrConfig, "nothing to flush with")

	g, err := space.Grant("t", 4*page)
	require.NoError(t, err)
	whole := g.Bytes()
	first := uintptr(unsafe.Pointer(&whole[0]))
	covered := func(from, to int64) bool {
		for at := from; at < to; at += 64 {
			if !lines.flushed[first+uintptr(at)] {
				return false
			}
		}
		return !lines.dirty
	}
	require.NoError(t, g.Shrink(2*page))
	require.True(t, covered(2*page, 4*page), "the tail's lines go before the tail does")
	require.False(t, covered(0, 2*page))
	sealed := false
	s.sealed = func() { sealed = covered(0, 2*page) }
	require.NoError(t, g.Clean())
	require.NoError(t, g.Seal(sealOf(1)))
	require.True(t, sealed)
	require.EqualValues(t, 4*page, counters.FlushedBytes.Load())

	// An abort flushes, too; a reallocation flushes what the lender copies from, and drops what it copied to.
	g, err = space.Grant("t", page)
	require.NoError(t, err)
	old := uintptr(unsafe.Pointer(&g.Bytes()[0]))
	clear(lines.flushed)
	require.NoError(t, g.(chunk.Growing).Grow(2*page, page))
	require.True(t, lines.flushed[old])
	require.True(t, lines.flushed[uintptr(unsafe.Pointer(&g.Bytes()[2*page-1]))&^63])
	clear(lines.flushed)
	last := uintptr(unsafe.Pointer(&g.Bytes()[2*page-1])) &^ 63
	require.NoError(t, g.Abort())
	require.True(t, lines.flushed[last])
}

// Where the lender's cache is snooped, what a writer reads back of its window may be older than what it stored: nothing that it says of its chunk
// depends on that.
func TestWhatIsMeantAndNotWhatIsThere(t *testing.T) {
	s := &script{class: coherence.IncoherentHomeSnoop}
	lines := &cpu{flushed: map[uintptr]bool{}}
	space := scripted(t, s, borrowing.Options{Lines: lines})
	given, err := space.Grant("t", 2*page)
	require.NoError(t, err)
	fill := func(b []byte, value byte) {
		for i := range b {
			b[i] = value
		}
	}
	in := func(r memregion.Range) []byte {
		b, err := borrowing.ViewOf(space).Bytes(r)
		require.NoError(t, err)
		return b
	}
	fill(given.Bytes(), 7)
	require.NotEqual(t, byte(7), in(given.Range())[0], "it is not there yet")
	near, err := given.Copy(100, []byte{9})
	require.NoError(t, err)
	require.True(t, near)
	before := given.Range()
	var copied []byte
	s.moved = func() { copied = bytes.Clone(in(before)[99:102]) }
	require.NoError(t, given.(chunk.Growing).Grow(4*page, 2*page))
	require.Equal(t, []byte{7, 9, 7}, copied, "what the lender copies was written back")
	require.Equal(t, []byte{7, 9, 7}, given.Bytes()[99:102])
	fill(given.Bytes()[2*page:], 8)
	require.NoError(t, given.Shrink(3*page))
	require.Len(t, given.Bytes(), 3*page)
	at := given.Range()
	require.NoError(t, given.Clean())
	require.Nil(t, given.Bytes())
	require.Equal(t, []byte{7, 9, 7}, in(at)[99:102])
	require.Equal(t, byte(8), in(at)[3*page-1])
	require.NoError(t, given.Seal(sealOf(1)))
}

// cutter is a way to a node that is cut now and then, in the middle of whatever is under way.
type cutter struct {
	listener net.Listener
	target   string

	mu    sync.Mutex
	conns []net.Conn
	done  sync.WaitGroup
}

func newCutter(t *testing.T, target string) *cutter {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	c := &cutter{listener: listener, target: target}
	c.done.Add(1)
	go c.run()
	t.Cleanup(func() {
		_ = listener.Close()
		c.cut()
		c.done.Wait()
	})
	return c
}

func (c *cutter) run() {
	defer c.done.Done()
	for {
		in, err := c.listener.Accept()
		if err != nil {
			return
		}
		out, err := net.Dial("tcp", c.target)
		if err != nil {
			_ = in.Close()
			continue
		}
		c.mu.Lock()
		c.conns = append(c.conns, in, out)
		c.mu.Unlock()
		for _, way := range [][2]net.Conn{{in, out}, {out, in}} {
			c.done.Go(func() {
				_, _ = io.Copy(way[0], way[1])
				_ = in.Close()
				_ = out.Close()
			})
		}
	}
}

func (c *cutter) cut() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, conn := range c.conns {
		_ = conn.Close()
	}
	c.conns = nil
}

// R2, W5: connections break at any moment, and at the end the lender has everything back.
func TestNothingIsLostOverABadLine(t *testing.T) {
	w := newWorld(t, 256*mebibyte)
	line := newCutter(t, w.address)
	caller := noderpc.NewIncarnation()
	client, err := noderpc.Dial(ctx, line.listener.Addr().String(), noderpc.WithTLS(w.issue(t, "writer"), "lender"), noderpc.WithIncarnation(caller))
	require.NoError(t, err)
	defer client.Close() //nolint:errcheck // a test's
	space := borrowing.NewSpace(client, w.view, borrowing.Options{})
	var cuts sync.WaitGroup
	stop := make(chan struct{})
	cuts.Go(func() {
		random := rand.New(rand.NewPCG(1, 2))
		for {
			select {
			case <-stop:
				return
			default:
			}
			for range random.IntN(200_000) { // busy, and not asleep: the cut falls anywhere
			}
			line.cut()
			_ = client.Ping(ctx) // until there is a connection again
		}
	})
	var failures int
	for range 300 {
		writer := chunk.NewWriter(space, "t", page)
		built := batch(writer.Allocator(), 50)
		c, err := writer.Seal(ctx, built, chunk.SealOptions{})
		built.Release()
		if err != nil {
			failures++
			var e *noderpc.Error
			require.True(t, errors.As(err, &e) && !e.Answered || errors.Is(err, noderpc.ErrNodeGone), "%v", err)
			continue
		}
		for _, id := range c.Extents() {
			_ = space.Discard(id.Generation) // owed if it is not heard
		}
	}
	close(stop)
	cuts.Wait()
	require.NotZero(t, failures, "no cut hit anything: the test proves nothing")
	require.Eventually(t, func() bool { return space.Settle(ctx) == nil }, 10e9, 1e6)
	// What came late over a connection that was cut finds its ticket void, but it may still be on its way.
	require.Eventually(t, func() bool { return w.lent.Stats().Used == 0 }, 10e9, 1e6)
	t.Logf("%d of 300 chunks met a cut", failures)
}
