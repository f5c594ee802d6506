package noderpc

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path"
	"runtime/debug"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"

	"github.com/csmsql/csmsql/cluster/noderpc/nodepb"
)

// incarnationHeader says which process of the node a client believes to talk to (N4).
const incarnationHeader = "csmsql-incarnation-bin"

// waitsForNobody are the methods that are served however busy the node is (N9): they are short, and a borrower whose
// renewal waits behind somebody's snapshots would lose its own.
var waitsForNobody = map[string]bool{
	nodepb.Node_Hello_FullMethodName:   true,
	nodepb.Node_Renew_FullMethodName:   true,
	nodepb.Node_Release_FullMethodName: true,
}

func (s *Server) unary(ctx context.Context, request any, info *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (answer any, err error) {
	err = s.around(ctx, info.FullMethod, func() error {
		if !waitsForNobody[info.FullMethod] {
			select {
			case s.calls <- struct{}{}:
				defer func() { <-s.calls }()
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		if answer, err = handle(ctx, request); err != nil {
			return err
		}
		return s.checkSize(answer.(proto.Message))
	})
	return answer, err
}

func (s *Server) stream(server any, stream grpc.ServerStream, info *grpc.StreamServerInfo, handle grpc.StreamHandler) error {
	return s.around(stream.Context(), info.FullMethod, func() error {
		select {
		case s.loads <- struct{}{}:
			defer func() { <-s.loads }()
		default:
			return &Error{
				State: stateBusy, Message: fmt.Sprintf("%d loads are under way at this node already", s.options.MaxLoads),
				HintText: "Wait until one has finished, or end one.",
			}
		}
		return handle(server, stream)
	})
}

// around is what every call has in common.
func (s *Server) around(ctx context.Context, method string, do func() error) error {
	began := time.Now()
	err := s.checkIncarnation(ctx, method)
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

func (s *Server) checkIncarnation(ctx context.Context, method string) error {
	if method == nodepb.Node_Hello_FullMethodName {
		return nil
	}
	values := metadata.ValueFromIncomingContext(ctx, incarnationHeader)
	if len(values) != 1 {
		return badMessage("%s comes without the incarnation that Hello returned", path.Base(method))
	}
	if !bytes.Equal([]byte(values[0]), s.incarnation) {
		return &Error{
			State: stateGone, Cause: ErrRestarted, Message: fmt.Sprintf("node %s was restarted since this connection began", s.options.Name),
			HintText: "Connect again: snapshots taken before are over.",
		}
	}
	return nil
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
	s.options.Log.WarnContext(ctx, "refused a call about somebody else's lease", "what", what, "lease", lease, "peer", PeerOf(ctx))
}

var errNoRecord = errors.New("the node gave a lease without a snapshot")
