package noderpc

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path"
	"runtime/debug"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"

	"github.com/csmsql/csmsql/cluster/noderpc/nodepb"
	"github.com/csmsql/csmsql/cluster/noderpc/refusal"
)

// neverWaits are the methods that are served however busy the node is (N9): they are short, and a borrower whose
// renewal waits behind another one's snapshots would lose its own. A call that gives memory back must not wait for
// calls that want it.
var neverWaits = map[string]bool{
	nodepb.Node_Hello_FullMethodName:        true,
	nodepb.Node_Renew_FullMethodName:        true,
	nodepb.Node_Release_FullMethodName:      true,
	nodepb.Node_Await_FullMethodName:        true, // it has places of its own (MaxAwaits), and does nothing in them
	nodepb.Lending_Free_FullMethodName:      true,
	nodepb.Lending_Unpin_FullMethodName:     true,
	nodepb.Coordination_Ping_FullMethodName: true,
}

func (s *Server) unary(ctx context.Context, request any, info *grpc.UnaryServerInfo,
	handle grpc.UnaryHandler) (answer any, err error) {
	ctx, cancel := context.WithTimeout(ctx, s.options.MaxCallTime)
	defer cancel()
	err = s.around(ctx, info.FullMethod, func() error {
		if !neverWaits[info.FullMethod] {
			leave, err := s.place(ctx, info.FullMethod)
			if err != nil {
				return err
			}
			defer leave()
		}
		if answer, err = handle(ctx, request); err != nil {
			return err
		}
		return s.checkSize(answer.(proto.Message))
	})
	return answer, err
}

func (s *Server) stream(server any, stream grpc.ServerStream, info *grpc.StreamServerInfo,
	handle grpc.StreamHandler) error {
	return s.around(stream.Context(), info.FullMethod, func() error {
		places, what := s.loads, "loads, copies of tables, drains and rebalancing"
		if info.FullMethod == nodepb.Fragments_Run_FullMethodName {
			places, what = s.fragments, "fragments"
		}
		leave, err := enter(places, what)
		if err != nil {
			return err
		}
		defer leave()
		return handle(server, stream)
	})
}

// place waits for one of the places that calls have, if the peer has not too many of them.
func (s *Server) place(ctx context.Context, method string) (leave func(), err error) {
	p := PeerOf(ctx)
	name := p.Name()
	if !s.shares.enter(name, s.options.MaxPeerCalls) {
		err := &Error{State: stateBusy, Message: fmt.Sprintf("%d calls of %s are under way at this node already", s.options.MaxPeerCalls, name)}
		s.options.Refusals.Call(ctx, refusal.Rate, p, path.Base(method), err)
		return nil, err
	}
	select {
	case s.calls <- struct{}{}:
		return func() { <-s.calls; s.shares.leave(name) }, nil
	case <-ctx.Done():
		s.shares.leave(name)
		return nil, ctx.Err()
	}
}

// shares counts the calls of each peer that is known. The zero value is ready.
type shares struct {
	mu struct {
		sync.Mutex
		of map[string]int
	}
}

func (s *shares) enter(name string, most int) bool {
	if name == "" {
		return true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.mu.of == nil {
		s.mu.of = map[string]int{}
	}
	if s.mu.of[name] >= most {
		return false
	}
	s.mu.of[name]++
	return true
}

func (s *shares) leave(name string) {
	if name == "" {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.mu.of[name]--; s.mu.of[name] <= 0 {
		delete(s.mu.of, name)
	}
}

// enter takes one of a limited number of places, or says that there is none.
func enter(places chan struct{}, what string) (leave func(), err error) {
	select {
	case places <- struct{}{}:
		return func() { <-places }, nil
	default:
		return nil, &Error{
			State: stateBusy, Message: fmt.Sprintf("%d %s are under way at this node already", cap(places), what),
			HintText: "Wait until one has finished, or end one.",
		}
	}
}

// around is what every call has in common.
func (s *Server) around(ctx context.Context, method string, do func() error) error {
	began := time.Now()
	err := s.admit(ctx, method)
	if err == nil {
		err = s.recovered(ctx, method, do)
	}
	if s.options.Log.Enabled(ctx, slog.LevelDebug) {
		s.options.Log.LogAttrs(ctx, slog.LevelDebug, "node call", slog.String("method", path.Base(method)),
			slog.Any("peer", PeerOf(ctx)), slog.Duration("took", time.Since(began)), slog.Any("error", err))
	}
	return statusOf(err)
}

// recovered makes a panic the caller's error, not the end of a node that others use (N6).
func (s *Server) recovered(ctx context.Context, method string, do func() error) (err error) {
	defer func() {
		if reason := recover(); reason != nil {
			s.options.Log.ErrorContext(ctx, "a node call panicked", "method", method, "peer", PeerOf(ctx), "reason", reason, "stack", string(debug.Stack()))
			err = &Error{
				State: stateInternal, Message: fmt.Sprintf("the node failed in %s: %v", path.Base(method), reason),
				HintText: "This is a mistake in csmsql; the node's log has the details.",
			}
		}
	}()
	return do()
}

// admit checks the caller, and the incarnation that it means to call.
func (s *Server) admit(ctx context.Context, method string) error {
	if s.options.Refuse != nil {
		return s.options.Refuse()
	}
	if method == nodepb.Node_Hello_FullMethodName {
		return s.checkAccess(ctx, method)
	}
	values := metadata.ValueFromIncomingContext(ctx, incarnationHeader)
	if len(values) != 1 {
		return badMessage("%s comes without the incarnation that Hello returned", path.Base(method))
	}
	if values[0] != string(s.options.Incarnation[:]) {
		return &Error{
			State: stateGone, Cause: ErrRestarted, Message: fmt.Sprintf("node %s was restarted since this connection began", s.options.Name),
			HintText: "Connect again: snapshots taken before are over.",
		}
	}
	return s.checkAccess(ctx, method)
}

func (s *Server) checkSize(m proto.Message) error {
	if size := proto.Size(m); size > s.options.MaxMessageBytes {
		return &Error{
			State: stateTooLarge, Cause: ErrTooLarge,
			Message: fmt.Sprintf("the node's answer (%T) has %d bytes, %d are allowed", m, size, s.options.MaxMessageBytes),
		}
	}
	return nil
}

// logRefused is for what no correct peer does.
func (s *Server) logRefused(ctx context.Context, what string, lease uint64) {
	s.options.Refusals.Call(ctx, refusal.Forged, PeerOf(ctx), fmt.Sprintf("%s lease %d", what, lease), errForeignLease)
}

var errForeignLease = errors.New("the lease is another caller's")

var errNoRecord = errors.New("the node gave a lease without a snapshot")
