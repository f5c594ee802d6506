package noderpc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"

	"github.com/csmsql/csmsql/cluster/noderpc/nodepb"
	"github.com/csmsql/csmsql/cluster/noderpc/refusal"
)

// fragmentHandlers are those of the service Fragments.
type fragmentHandlers struct {
	nodepb.UnimplementedFragmentsServer
	server *Server
	during *serving
}

type fragmentStream = grpc.BidiStreamingServer[nodepb.FragmentControl, nodepb.FragmentEvent]

// fragmentRun is one fragment at the node that runs it.
//
//	caller                                     node
//	request ──────────────────────────────────▶ Run …
//	        ◀────────────────── started (TTL)
//	alive 1 ──────────────────────────────────▶ heard: the result stays for a TTL from now on
//	        ◀──────────────── alive 1, progress
//	        ◀─────────────────────────── result
//	   reads the chunks in place, alive 2, alive 3 …
//	end of its side ──────────────────────────▶ release
//	— or nothing more is heard ————————————————▶ release a TTL after the last word (N12)
//
// One goroutine receives, one runs the fragment; the handler's own sends and decides.
type fragmentRun struct {
	server *Server
	during *serving
	stream fragmentStream
	ttl    time.Duration

	words    chan *nodepb.FragmentControl // what the caller says
	ended    chan error                   // then how it ended: io.EOF is the caller's wish. Holds one.
	heard    atomic.Int64                 // the Instant of the last word
	progress chan FragmentProgress        // holds the newest
}

func (h fragmentHandlers) Run(stream fragmentStream) error {
	if h.server.options.Fragments == nil {
		return &Error{State: stateFeature, Cause: errNotOffered, Message: fmt.Sprintf("node %s runs no fragments of other nodes' queries", h.server.options.Name)}
	}
	r := &fragmentRun{
		server: h.server, during: h.during, stream: stream, ttl: h.server.options.FragmentTTL,
		words: make(chan *nodepb.FragmentControl), ended: make(chan error, 1), progress: make(chan FragmentProgress, 1),
	}
	h.during.readers.Add(1) // Serve joins it: it ends when this handler has returned
	go r.receive()
	request, err := r.first()
	if err != nil {
		return err
	}
	result, err := r.run(request)
	if err != nil {
		return err
	}
	if result.Release == nil {
		result.Release = func() {}
	}
	defer result.Release() // also when sending panics
	return r.lend(result)
}

func (r *fragmentRun) receive() {
	defer r.during.readers.Done()
	for {
		m, err := r.stream.Recv()
		if err != nil {
			r.ended <- err
			return
		}
		r.heard.Store(int64(Now()))
		select {
		case r.words <- m:
		case <-r.stream.Context().Done():
			r.ended <- r.stream.Context().Err()
			return
		}
	}
}

// requestTimeout is how long a stream may be open before it says what it is for.
const requestTimeout = 10 * time.Second

func (r *fragmentRun) first() (FragmentRequest, error) {
	timer := time.NewTimer(requestTimeout)
	defer timer.Stop()
	select {
	case m := <-r.words:
		control, ok := m.GetControl().(*nodepb.FragmentControl_Request)
		if !ok {
			return FragmentRequest{}, badMessage("a fragment does not begin with its request")
		}
		request, err := decodeFragment(control.Request)
		if err != nil {
			r.server.options.Refusals.Call(r.stream.Context(), refusal.Argument, PeerOf(r.stream.Context()), "Run", err)
		}
		return request, err
	case <-timer.C:
		return FragmentRequest{}, badMessage("a fragment's request did not come in %v", requestTimeout)
	case err := <-r.ended:
		return FragmentRequest{}, callerEnded(err)
	}
}

func callerEnded(err error) error {
	if errors.Is(err, io.EOF) {
		return &Error{State: stateCanceled, Message: "the caller ended the fragment before it had a result", Cause: context.Canceled}
	}
	return err
}

type fragmentOutcome struct {
	result FragmentResult
	err    error
}

// run returns when the fragment has, whatever the caller does.
func (r *fragmentRun) run(request FragmentRequest) (FragmentResult, error) {
	ctx, cancel := context.WithCancel(r.stream.Context())
	defer cancel()
	if request.TimeLimit > 0 {
		ctx, cancel = context.WithTimeoutCause(ctx, request.TimeLimit, errTimeLimit)
		defer cancel()
	}
	outcome := make(chan fragmentOutcome, 1)
	go func() {
		var o fragmentOutcome
		o.err = r.server.recovered(ctx, nodepb.Fragments_Run_FullMethodName, func() (err error) {
			o.result, err = r.server.options.Fragments.Run(ctx, PeerOf(ctx), request, r.report)
			return err
		})
		outcome <- o
	}()
	failed := r.stream.Send(&nodepb.FragmentEvent{Event: &nodepb.FragmentEvent_Started{Started: &nodepb.FragmentStarted{Ttl: int64(r.ttl)}}})
	for failed == nil {
		select {
		case o := <-outcome:
			if o.err != nil && errors.Is(context.Cause(ctx), errTimeLimit) {
				o.err = &Error{State: stateCanceled, Message: fmt.Sprintf("%v: %v: %v", o.err, errTimeLimit, request.TimeLimit), Cause: context.DeadlineExceeded}
			}
			return o.result, o.err
		case p := <-r.progress:
			failed = r.stream.Send(&nodepb.FragmentEvent{Event: &nodepb.FragmentEvent_Progress{Progress: encodeFragmentProgress(p)}})
		case m := <-r.words:
			failed = r.answer(m)
		case err := <-r.ended:
			failed = callerEnded(err)
		case <-time.After(r.left()):
			failed = r.silent()
		}
	}
	cancel()
	if o := <-outcome; o.err == nil && o.result.Release != nil {
		o.result.Release() // it was never sent, so it has no reader
	}
	return FragmentResult{}, failed
}

var errTimeLimit = errors.New("the fragment's time limit has passed")

// report keeps the newest progress (N10).
func (r *fragmentRun) report(p FragmentProgress) {
	select {
	case <-r.progress:
	default:
	}
	select {
	case r.progress <- p:
	default:
	}
}

// lend sends the result and keeps it in place until the caller has read it, or cannot trust any more that it is there
// (N12). Afterwards it may be released.
func (r *fragmentRun) lend(result FragmentResult) error {
	m := &nodepb.FragmentEvent{Event: &nodepb.FragmentEvent_Result{Result: encodeFragmentResult(result)}}
	if err := r.server.checkSize(m); err != nil {
		return err
	}
	failed := r.stream.Send(m)
	for failed == nil {
		select {
		case m := <-r.words:
			failed = r.answer(m)
		case err := <-r.ended:
			if errors.Is(err, io.EOF) {
				return nil
			}
			failed = err
		case <-time.After(r.left()):
			failed = r.silent()
		}
	}
	r.outlast()
	return failed
}

// answer says that a word of the caller was heard.
func (r *fragmentRun) answer(m *nodepb.FragmentControl) error {
	alive, ok := m.GetControl().(*nodepb.FragmentControl_Alive)
	if !ok {
		return badMessage("a fragment has two requests")
	}
	return r.stream.Send(&nodepb.FragmentEvent{Event: &nodepb.FragmentEvent_Alive{Alive: alive.Alive}})
}

// left is how long the result stays if nothing more is heard.
func (r *fragmentRun) left() time.Duration {
	return max(Instant(r.heard.Load()).Add(r.ttl).Sub(Now()), 0)
}

// silent is nil if something was heard after all.
func (r *fragmentRun) silent() error {
	if r.left() > 0 {
		return nil
	}
	return &Error{State: stateGone, Message: fmt.Sprintf("nothing was heard of the fragment's caller for %v", r.ttl), Cause: ErrFragmentOver}
}

// outlast waits until a caller that vanished has noticed, by its own clock, that it cannot trust the result any more. A
// node that ends does not wait: nothing writes into its memory before it is back.
func (r *fragmentRun) outlast() {
	for r.left() > 0 {
		select {
		case <-time.After(r.left()):
		case <-r.during.stopping:
			return
		}
	}
}
