package noderpc_test

import (
	"context"
	"errors"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/catalog/chunk"
	"github.com/csmsql/csmsql/cluster/noderpc"
	"github.com/csmsql/csmsql/coherence"
	"github.com/csmsql/csmsql/memregion"
)

// heap is a region of which only descriptors matter.
type heap struct {
	region memregion.RegionID
	next   int64
}

type heapGrant struct {
	data []byte
	at   memregion.Range
	gen  coherence.Generation
}

func (h *heap) Region() memregion.RegionID            { return h.region }
func (h *heap) Discard(...coherence.Generation) error { return nil }
func (g *heapGrant) Bytes() []byte                    { return g.data }
func (g *heapGrant) Range() memregion.Range           { return g.at }
func (g *heapGrant) Generation() coherence.Generation { return g.gen }
func (g *heapGrant) Shrink(n int64) error             { g.at.Length = n; return nil }
func (g *heapGrant) Clean() error                     { return nil }
func (g *heapGrant) Seal(coherence.Seal) error        { return nil }
func (g *heapGrant) Abort() error                     { return nil }
func (g *heapGrant) Copy(at int64, from []byte) (near bool, err error) {
	copy(g.data[at:], from)
	return true, nil
}

func (h *heap) Grant(_ string, n int64) (chunk.Grant, error) {
	n = (n + 4095) / 4096 * 4096
	data := memory.DefaultAllocator.Allocate(int(n) + 4096)
	h.next++
	return &heapGrant{data: aligned(data)[:n:n], at: memregion.Range{Offset: h.next << 20, Length: n}, gen: coherence.Generation(h.next)}, nil
}

// sealedChunk is a chunk of numbers in a region.
func sealedChunk(t testing.TB, region memregion.RegionID, rows int64) *chunk.Chunk {
	w := chunk.NewWriter(&heap{region: region}, "t", 0)
	c, err := w.Seal(context.Background(), numbers(0, rows), chunk.SealOptions{})
	require.NoError(t, err)
	return c
}

// fakeFragments runs what a function says.
type fakeFragments struct {
	run      func(ctx context.Context, r noderpc.FragmentRequest, progress func(noderpc.FragmentProgress)) (noderpc.FragmentResult, error)
	released atomic.Int64
	running  atomic.Int64
	mu       sync.Mutex
	requests []noderpc.FragmentRequest
	peer     noderpc.Peer
}

func (f *fakeFragments) Run(ctx context.Context, p noderpc.Peer, r noderpc.FragmentRequest, progress func(noderpc.FragmentProgress)) (noderpc.FragmentResult, error) {
	f.running.Add(1)
	defer f.running.Add(-1)
	f.mu.Lock()
	f.requests, f.peer = append(f.requests, r), p
	f.mu.Unlock()
	result, err := f.run(ctx, r, progress)
	if err == nil && result.Release == nil {
		result.Release = func() { f.released.Add(1) }
	}
	return result, err
}

// result runs at once.
func result(chunks ...*chunk.Chunk) func(context.Context, noderpc.FragmentRequest, func(noderpc.FragmentProgress)) (noderpc.FragmentResult, error) {
	return func(context.Context, noderpc.FragmentRequest, func(noderpc.FragmentProgress)) (noderpc.FragmentResult, error) {
		r := noderpc.FragmentResult{Chunks: chunks, Statistics: []byte("s"), Total: noderpc.FragmentProgress{Rows: 5, BytesLocal: 6, BytesRemote: 7}}
		for _, c := range chunks {
			r.Rows += c.Rows()
		}
		return r, nil
	}
}

// lends region 1.
func lends(region memregion.RegionID) (int64, bool) { return 1 << 30, region == 1 }

var anywhere = noderpc.FragmentOptions{Lends: lends}

func fragment() noderpc.FragmentRequest {
	return noderpc.FragmentRequest{
		Query: "select 1", Tables: []noderpc.FragmentTable{{Table: 5, Version: 6, Chunks: []uint32{0, 7, 1 << 30}}}, Revision: 9,
		Parameters: [][]byte{[]byte("p"), {}}, Settings: map[string]string{"a": "b"}, MemoryLimit: 1 << 30, TimeLimit: time.Minute, Payload: []byte{1},
	}
}

func serveFragments(t *testing.T, f *fakeFragments, options noderpc.ServerOptions) *noderpc.Client {
	options.Fragments = f
	path, stop := serve(t, &fakeNode{}, options)
	t.Cleanup(func() {
		stop()
		require.Zero(t, f.running.Load(), "N8: a fragment outlived Serve")
	})
	return dial(t, path)
}

func TestAFragment(t *testing.T) {
	ctx := context.Background()
	f := &fakeFragments{}
	proceed := make(chan struct{})
	f.run = func(ctx context.Context, r noderpc.FragmentRequest, progress func(noderpc.FragmentProgress)) (noderpc.FragmentResult, error) {
		progress(noderpc.FragmentProgress{Rows: 1})
		<-proceed
		return result(sealedChunk(t, 1, 10), sealedChunk(t, 1, 20))(ctx, r, progress)
	}
	c := serveFragments(t, f, noderpc.ServerOptions{})
	var seen []noderpc.FragmentProgress
	var once sync.Once
	sent := 0
	run, err := c.RunFragment(ctx, fragment(), noderpc.FragmentOptions{Lends: lends, Progress: func(p noderpc.FragmentProgress) {
		require.Equal(t, 1, sent, "it was sent before anything was heard of it")
		seen = append(seen, p)
		once.Do(func() { close(proceed) })
	}, Sent: func() { sent++ }})
	require.NoError(t, err)
	require.Equal(t, 1, sent)
	require.Equal(t, []noderpc.FragmentProgress{{Rows: 1}}, seen)
	require.Equal(t, []noderpc.FragmentRequest{fragment()}, f.requests)
	require.True(t, f.peer.Known)
	require.EqualValues(t, 30, run.Result.Rows)
	require.Equal(t, noderpc.FragmentProgress{Rows: 5, BytesLocal: 6, BytesRemote: 7}, run.Result.Total)
	require.Equal(t, []byte("s"), run.Result.Statistics)
	require.Len(t, run.Result.Chunks, 2)
	require.EqualValues(t, 20, run.Result.Chunks[1].Rows())
	require.NoError(t, run.Check())
	require.Zero(t, f.released.Load(), "the open stream is the lease")
	require.NoError(t, run.Close())
	require.EqualValues(t, 1, f.released.Load())
	require.ErrorIs(t, run.Check(), noderpc.ErrFragmentOver)
	require.NoError(t, run.Close())
}

func TestAFragmentWithoutRows(t *testing.T) {
	f := &fakeFragments{run: func(context.Context, noderpc.FragmentRequest, func(noderpc.FragmentProgress)) (noderpc.FragmentResult, error) {
		return noderpc.FragmentResult{Release: nil}, nil
	}}
	c := serveFragments(t, f, noderpc.ServerOptions{})
	run, err := c.RunFragment(context.Background(), noderpc.FragmentRequest{Payload: []byte("p")}, anywhere)
	require.NoError(t, err)
	require.NoError(t, run.Close())
}

// N12: the result stays as long as the caller lives, however long that is; and as long as the caller trusts it, it is
// there, however slow this machine is.
func TestAFragmentsResultOutlastsItsTTL(t *testing.T) {
	t.Parallel() // it waits for a clock
	const ttl = 300 * time.Millisecond
	f := &fakeFragments{run: result()}
	c := serveFragments(t, f, noderpc.ServerOptions{FragmentTTL: ttl})
	run, err := c.RunFragment(context.Background(), fragment(), anywhere)
	require.NoError(t, err)
	for end := time.Now().Add(4 * ttl); time.Now().Before(end); time.Sleep(time.Millisecond) {
		released := f.released.Load()
		if err := run.Check(); err != nil {
			t.Skipf("this machine did not let the test run for a TTL: %v", err)
		}
		require.Zero(t, released)
	}
	if err := run.Close(); err != nil {
		t.Skipf("this machine did not let the test run for a TTL: %v", err)
	}
	require.EqualValues(t, 1, f.released.Load())
}

// Whatever ends a fragment, its context ends and what it made is released.
func TestFragmentsThatEndEarly(t *testing.T) {
	waits := func(ctx context.Context, _ noderpc.FragmentRequest, progress func(noderpc.FragmentProgress)) (noderpc.FragmentResult, error) {
		progress(noderpc.FragmentProgress{})
		<-ctx.Done()
		return noderpc.FragmentResult{}, ctx.Err()
	}
	t.Run("its own error", func(t *testing.T) {
		f := &fakeFragments{run: func(context.Context, noderpc.FragmentRequest, func(noderpc.FragmentProgress)) (noderpc.FragmentResult, error) {
			return noderpc.FragmentResult{}, sqlError{errors.New("chunk 7 is lost")}
		}}
		_, err := serveFragments(t, f, noderpc.ServerOptions{}).RunFragment(context.Background(), fragment(), anywhere)
		require.Equal(t, "42P01", state(t, err))
		require.ErrorContains(t, err, "chunk 7 is lost")
	})
	t.Run("panic", func(t *testing.T) {
		f := &fakeFragments{run: func(context.Context, noderpc.FragmentRequest, func(noderpc.FragmentProgress)) (noderpc.FragmentResult, error) {
			panic("at the disco")
		}}
		c := serveFragments(t, f, noderpc.ServerOptions{})
		_, err := c.RunFragment(context.Background(), fragment(), anywhere)
		require.Equal(t, "XX000", state(t, err), "N6")
		require.NoError(t, c.Ping(context.Background()))
	})
	t.Run("canceled", func(t *testing.T) {
		f := &fakeFragments{run: waits}
		c := serveFragments(t, f, noderpc.ServerOptions{})
		ctx, cancel := context.WithCancel(context.Background())
		_, err := c.RunFragment(ctx, fragment(), noderpc.FragmentOptions{Lends: lends, Progress: func(noderpc.FragmentProgress) { cancel() }})
		require.Equal(t, "57014", state(t, err))
		require.Eventually(t, func() bool { return f.running.Load() == 0 }, 5*time.Second, time.Millisecond)
	})
	t.Run("time limit", func(t *testing.T) {
		f := &fakeFragments{run: waits}
		r := fragment()
		r.TimeLimit = 20 * time.Millisecond
		_, err := serveFragments(t, f, noderpc.ServerOptions{}).RunFragment(context.Background(), r, anywhere)
		require.Equal(t, "57014", state(t, err))
		require.ErrorContains(t, err, "time limit")
	})
	t.Run("canceled after its result", func(t *testing.T) {
		f := &fakeFragments{run: result()}
		c := serveFragments(t, f, noderpc.ServerOptions{FragmentTTL: 30 * time.Millisecond})
		ctx, cancel := context.WithCancel(context.Background())
		run, err := c.RunFragment(ctx, fragment(), anywhere)
		require.NoError(t, err)
		cancel()
		require.Eventually(t, func() bool { return f.released.Load() == 1 }, 5*time.Second, time.Millisecond)
		require.ErrorIs(t, run.Check(), noderpc.ErrFragmentOver)
		require.Error(t, run.Close())
	})
	t.Run("too large", func(t *testing.T) {
		f := &fakeFragments{run: func(context.Context, noderpc.FragmentRequest, func(noderpc.FragmentProgress)) (noderpc.FragmentResult, error) {
			return noderpc.FragmentResult{Statistics: make([]byte, 2000)}, nil
		}}
		_, err := serveFragments(t, f, noderpc.ServerOptions{MaxMessageBytes: 1000}).RunFragment(context.Background(), fragment(), anywhere)
		require.Equal(t, "54000", state(t, err))
		require.EqualValues(t, 1, f.released.Load())
	})
}

// N12: when the line is cut the caller stops trusting the result at once, and the node keeps it until a caller that had
// been stopped could not trust it any more either.
func TestTheLineOfAFragmentIsCut(t *testing.T) {
	f := &fakeFragments{run: result(sealedChunk(t, 1, 10))}
	s := serveSecured(t, noderpc.ServerOptions{Fragments: f, FragmentTTL: 500 * time.Millisecond})
	own := nodeCertificate(t, s.authority, "n2")
	through, cut := relay(t, s.address)
	c, err := noderpc.Dial(context.Background(), through, noderpc.WithTLS(own, "local"))
	require.NoError(t, err)
	defer c.Close() //nolint:errcheck // a test's
	run, err := c.RunFragment(context.Background(), fragment(), anywhere)
	require.NoError(t, err)
	require.NoError(t, run.Check())
	cut()
	lost := time.Now()
	require.Eventually(t, func() bool { return run.Check() != nil }, 5*time.Second, time.Millisecond)
	require.Eventually(t, func() bool { return f.released.Load() == 1 }, 5*time.Second, time.Millisecond)
	require.Greater(t, time.Since(lost), 250*time.Millisecond, "the last word was at most a third of the TTL old")
	require.Equal(t, "08006", state(t, run.Check()))
	require.Error(t, run.Close())
}

// N12: a caller that is silent, with its connection open, is given up, during the run and after it.
func TestASilentCaller(t *testing.T) {
	f := &fakeFragments{run: result()}
	path, _ := serve(t, &fakeNode{}, noderpc.ServerOptions{Fragments: f, FragmentTTL: 30 * time.Millisecond})
	stream := rawFragment(t, path)
	require.NoError(t, stream.Send(rawRequest()))
	require.Eventually(t, func() bool { return f.released.Load() == 1 }, 5*time.Second, time.Millisecond)

	started := make(chan struct{})
	f.run = func(ctx context.Context, _ noderpc.FragmentRequest, _ func(noderpc.FragmentProgress)) (noderpc.FragmentResult, error) {
		close(started)
		<-ctx.Done()
		return noderpc.FragmentResult{}, nil // although it was canceled: the result is released all the same
	}
	stream = rawFragment(t, path)
	require.NoError(t, stream.Send(rawRequest()))
	<-started
	require.Eventually(t, func() bool { return f.released.Load() == 2 }, 5*time.Second, time.Millisecond)
}

func TestFragmentsAreBounded(t *testing.T) {
	proceed := make(chan struct{})
	f := &fakeFragments{run: func(context.Context, noderpc.FragmentRequest, func(noderpc.FragmentProgress)) (noderpc.FragmentResult, error) {
		return noderpc.FragmentResult{}, nil
	}}
	c := serveFragments(t, f, noderpc.ServerOptions{MaxFragments: 1})
	run, err := c.RunFragment(context.Background(), fragment(), anywhere)
	require.NoError(t, err)
	_, err = c.RunFragment(context.Background(), fragment(), anywhere)
	require.Equal(t, "53000", state(t, err))
	require.NoError(t, run.Close())
	close(proceed)
	require.Eventually(t, func() bool {
		run, err := c.RunFragment(context.Background(), fragment(), anywhere)
		return err == nil && run.Close() == nil
	}, 5*time.Second, time.Millisecond)
}

func TestFragmentRequestsThatAreRefused(t *testing.T) {
	c := serveFragments(t, &fakeFragments{run: result()}, noderpc.ServerOptions{})
	change := func(f func(*noderpc.FragmentRequest)) noderpc.FragmentRequest {
		r := fragment()
		f(&r)
		return r
	}
	for problem, r := range map[string]noderpc.FragmentRequest{
		"neither a query":  {},
		"not UTF-8":        change(func(r *noderpc.FragmentRequest) { r.Query = "\xff" }),
		"the query has":    change(func(r *noderpc.FragmentRequest) { r.Query = strings.Repeat("x", 5<<20) }),
		"payload":          change(func(r *noderpc.FragmentRequest) { r.Payload = make([]byte, 9<<20) }),
		"not ascending":    change(func(r *noderpc.FragmentRequest) { r.Tables[0].Chunks = []uint32{3, 3} }),
		"1048576 chunks":   change(func(r *noderpc.FragmentRequest) { r.Tables[0].Chunks = make([]uint32, 1<<20+1) }),
		"65535 are":        change(func(r *noderpc.FragmentRequest) { r.Parameters = make([][]byte, 1<<16) }),
		"4096 are":         change(func(r *noderpc.FragmentRequest) { r.Tables = make([]noderpc.FragmentTable, 5000) }),
		"negative":         change(func(r *noderpc.FragmentRequest) { r.TimeLimit = -1 }),
		"value of a setti": change(func(r *noderpc.FragmentRequest) { r.Settings = map[string]string{"a": "\xff"} }),
	} {
		_, err := c.RunFragment(context.Background(), r, anywhere)
		require.Equal(t, "22023", state(t, err))
		require.ErrorContains(t, err, problem)
	}
}

// A node that stops does not wait for callers that do not.
func TestAServerStopsUnderAFragment(t *testing.T) {
	f := &fakeFragments{run: result()}
	path, stop := serve(t, &fakeNode{}, noderpc.ServerOptions{Fragments: f, FragmentTTL: time.Hour, Grace: time.Millisecond})
	c := dial(t, path)
	run, err := c.RunFragment(context.Background(), fragment(), anywhere)
	require.NoError(t, err)
	began := time.Now()
	stop()
	require.Less(t, time.Since(began), 10*time.Second)
	require.EqualValues(t, 1, f.released.Load())
	require.Eventually(t, func() bool { return run.Check() != nil }, 5*time.Second, time.Millisecond)
	require.Error(t, run.Close())
}

// relay is a way to an address that can be cut.
func relay(t *testing.T, target string) (address string, cut func()) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	var mu sync.Mutex
	var conns []net.Conn
	var done sync.WaitGroup
	done.Go(func() {
		for {
			in, err := listener.Accept()
			if err != nil {
				return
			}
			out, err := net.Dial("tcp", target)
			if err != nil {
				_ = in.Close()
				return
			}
			mu.Lock()
			conns = append(conns, in, out)
			mu.Unlock()
			for _, way := range [][2]net.Conn{{in, out}, {out, in}} {
				done.Go(func() {
					_, _ = copyAll(way[0], way[1])
					_ = in.Close()
					_ = out.Close()
				})
			}
		}
	})
	cut = func() {
		_ = listener.Close()
		mu.Lock()
		defer mu.Unlock()
		for _, c := range conns {
			_ = c.Close()
		}
	}
	t.Cleanup(func() { cut(); done.Wait() })
	return listener.Addr().String(), cut
}
