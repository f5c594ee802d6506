package noderpc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"sync"
	"time"

	"google.golang.org/grpc"

	"github.com/csmsql/csmsql/cluster/certificate"
	"github.com/csmsql/csmsql/cluster/noderpc/nodepb"
	"github.com/csmsql/csmsql/cluster/noderpc/refusal"
)

// FragmentOptions of RunFragment.
type FragmentOptions struct {
	// Lends says in which regions the node's result may lie; a result elsewhere is refused. It must be set.
	Lends Lends
	// Progress is called with how far the fragment is, on RunFragment's goroutine; nil: not reported.
	Progress func(FragmentProgress)
	// Refusals counts results that were refused; nil: not counted.
	Refusals *refusal.Counters
	// Sent is called once the request is on its way, on RunFragment's goroutine; nil: not reported. If it fails before,
	// never.
	Sent func()
}

// FragmentRun is a fragment whose result is there. Its reader reads the chunks in place, calls Check, and only then
// hands on what it made of them; then it calls Close. It has two goroutines, which Close joins; the end of
// RunFragment's context ends them as well.
type FragmentRun struct {
	// Result is what the fragment made; its chunks stay in place until Close, as long as Check is nil.
	Result FragmentResult

	client *Client
	stream grpc.BidiStreamingClient[nodepb.FragmentControl, nodepb.FragmentEvent]
	ctx    context.Context // the caller's
	cancel context.CancelFunc
	stop   chan struct{} // closed: no more words
	beats  sync.WaitGroup
	hears  sync.WaitGroup
	ending sync.Once

	mu struct {
		sync.Mutex
		ttl      time.Duration
		valid    Instant            // the last word that the node heard left this process then
		sent     map[uint64]Instant // words that were not answered yet; at most maxUnanswered
		sequence uint64
		over     error // how the stream ended
	}
}

// maxUnanswered words may be on their way; a node that answers none is not trusted long before.
const maxUnanswered = 64

// RunFragment has the node run a part of a query and returns when its result is complete. The context's end cancels the
// fragment, and ends the result if it is there.
func (c *Client) RunFragment(ctx context.Context, request FragmentRequest,
	options FragmentOptions) (*FragmentRun, error) {
	if err := request.check(); err != nil {
		return nil, badArgument("fragment: %v", err)
	}
	call, cancel := context.WithCancel(c.outgoing(ctx))
	r := &FragmentRun{client: c, ctx: ctx, cancel: cancel, stop: make(chan struct{})}
	r.mu.sent = map[uint64]Instant{}
	r.mu.valid = Now() // before anything is sent (N12)
	var err error
	if r.stream, err = c.fragments.Run(call); err == nil {
		err = r.begin(request, options)
	}
	if err != nil {
		r.end()
		return nil, c.failed(ctx, "run a fragment", err)
	}
	r.hears.Add(1)
	go r.listen()
	return r, nil
}

// begin returns when the result is there.
func (r *FragmentRun) begin(request FragmentRequest, options FragmentOptions) error {
	err := r.stream.Send(&nodepb.FragmentControl{Control: &nodepb.FragmentControl_Request{Request: encodeFragment(request)}})
	if err != nil && !errors.Is(err, io.EOF) { // of EOF the reason comes with Recv
		return err
	}
	if options.Sent != nil {
		giveWay()
		options.Sent()
	}
	for {
		m, err := r.stream.Recv()
		if err != nil {
			return unexpectedEnd(err)
		}
		switch event := m.GetEvent().(type) {
		case *nodepb.FragmentEvent_Started:
			err = r.started(event.Started)
		case *nodepb.FragmentEvent_Alive:
			err = r.heard(event.Alive)
		case *nodepb.FragmentEvent_Progress:
			var p FragmentProgress
			if p, err = decodeFragmentProgress(event.Progress); err == nil && options.Progress != nil {
				options.Progress(p)
			}
		case *nodepb.FragmentEvent_Result:
			return r.take(event.Result, options)
		default:
			err = badMessage("a fragment reported what this program does not know")
		}
		if err != nil {
			return err
		}
	}
}

// giveWay lets the goroutine run that writes to the connection: gRPC leaves that to one of its own, which gives way
// once itself, to write more at a time. On a node of one processor it would otherwise wait for Sent, which may go
// into C for as long as a fragment takes.
func giveWay() {
	for range 4 {
		runtime.Gosched()
	}
}

func unexpectedEnd(err error) error {
	if errors.Is(err, io.EOF) {
		return badMessage("a fragment ended without a result")
	}
	return err
}

func (r *FragmentRun) started(m *nodepb.FragmentStarted) error {
	ttl := time.Duration(m.GetTtl())
	if err := checkTTL(ttl); err != nil {
		return badMessage("fragment: %v", err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.mu.ttl != 0 {
		return badMessage("a fragment started twice")
	}
	r.mu.ttl = ttl
	r.beats.Add(1)
	go r.beat(ttl)
	return nil
}

func (r *FragmentRun) take(m *nodepb.FragmentResult, options FragmentOptions) (err error) {
	r.mu.Lock()
	started := r.mu.ttl != 0
	r.mu.Unlock()
	if !started {
		return badMessage("a fragment has a result before it started")
	}
	r.Result, err = decodeFragmentResult(m, options.Lends)
	if errors.Is(err, ErrForeignMemory) && options.Refusals != nil {
		who := Peer{Identity: certificate.Identity{Role: certificate.RoleNode, Name: r.client.node}, Address: r.client.name}
		options.Refusals.Call(r.ctx, refusal.Descriptor, who, "Run, the result of a fragment", err)
	}
	return err
}

// beat says now and then that this process lives.
func (r *FragmentRun) beat(ttl time.Duration) {
	defer r.beats.Done()
	ticker := time.NewTicker(max(ttl/RenewalParts, MinTTL/RenewalParts))
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
		case <-r.stop:
			return
		case <-r.stream.Context().Done():
			return
		}
		sequence, ok := r.next()
		if !ok {
			continue
		}
		if r.stream.Send(&nodepb.FragmentControl{Control: &nodepb.FragmentControl_Alive{Alive: &nodepb.Alive{Sequence: sequence}}}) != nil {
			return // receiving returns why
		}
	}
}

// next notes the time before the word is sent (N12).
func (r *FragmentRun) next() (sequence uint64, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.mu.sent) >= maxUnanswered {
		return 0, false
	}
	r.mu.sequence++
	r.mu.sent[r.mu.sequence] = Now()
	return r.mu.sequence, true
}

func (r *FragmentRun) heard(m *nodepb.Alive) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	sent, ok := r.mu.sent[m.GetSequence()]
	if !ok {
		return badMessage("a node heard a word that was not sent")
	}
	r.mu.valid = max(r.mu.valid, sent)
	delete(r.mu.sent, m.GetSequence())
	return nil
}

// listen follows the stream after the result.
func (r *FragmentRun) listen() {
	defer r.hears.Done()
	for {
		m, err := r.stream.Recv()
		if err == nil {
			if event, ok := m.GetEvent().(*nodepb.FragmentEvent_Alive); ok {
				err = r.heard(event.Alive)
			} else {
				err = badMessage("a fragment went on after its result")
			}
		}
		if err != nil {
			r.mu.Lock()
			r.mu.over = err
			r.mu.Unlock()
			return
		}
	}
}

// Check reports whether everything that was loaded from the result's chunks before the call was the result. It costs a
// reading of the clock, and sends no request: this process may have been stopped (N12).
func (r *FragmentRun) Check() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	reason := r.mu.over
	if reason == nil {
		if Now() < r.mu.valid.Add(r.mu.ttl-r.mu.ttl/MarginParts) {
			return nil
		}
		reason = fmt.Errorf("it did not answer for %v", r.mu.ttl)
	}
	if errors.Is(reason, io.EOF) {
		reason = errors.New("it was closed")
	}
	return &Error{
		State: stateGone, Cause: errors.Join(ErrFragmentOver, reason),
		Message: fmt.Sprintf("the result of a fragment at %s cannot be trusted any more: %v", r.client.name, errorOf(r.ctx, r.client.name, "hold it", reason)),
	}
}

// closeTimeout bounds the report to a node that a result was read; what it does not hear of ends with its TTL.
const closeTimeout = 3 * time.Second

// Close reports that the result was read: the node releases it. The error says why it was not there any more. Closing
// twice is harmless.
func (r *FragmentRun) Close() (err error) {
	r.ending.Do(func() {
		timer := time.AfterFunc(closeTimeout, r.cancel) // a node that does not listen is not waited for
		defer timer.Stop()
		close(r.stop)
		r.beats.Wait() // before: one sends at a time
		_ = r.stream.CloseSend()
		r.hears.Wait()
		r.cancel()
		if over := r.mu.over; !errors.Is(over, io.EOF) { // no goroutine is left to write it
			err = r.client.failed(r.ctx, "release a fragment's result", over)
		}
	})
	return err
}

// end is for a run without a result.
func (r *FragmentRun) end() {
	r.ending.Do(func() {
		r.cancel()
		close(r.stop)
		r.beats.Wait()
	})
}
