package noderpc

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/catalog/hugetable"
	"github.com/csmsql/csmsql/cluster/noderpc/nodepb"
)

// Kinds of errors; errors.Is finds them in what this package returns.
var (
	// ErrNodeGone: the node cannot be reached, or went away in the middle of a call: SQLSTATE 08006.
	ErrNodeGone = errors.New("the node cannot be reached")
	// ErrRestarted: the node's process is not the one that this client connected to: SQLSTATE 08006. Leases and trusted
	// generations of the former one mean nothing now; dial again.
	ErrRestarted = errors.New("the node was restarted")
	// ErrBadMessage: a peer sent what no correct one sends: SQLSTATE 08P01.
	ErrBadMessage = errors.New("the peer broke the protocol")
	// ErrTooLarge: a message is over its limit: SQLSTATE 54000.
	ErrTooLarge = errors.New("the message is too large")
	// ErrAddressInUse: another node serves the socket.
	ErrAddressInUse = errors.New("another node serves there")
	// ErrNotLoopback: plain connections stay on this machine.
	ErrNotLoopback = errors.New("not a loopback address")
	// ErrForeignMemory: a peer named memory that it does not lend: SQLSTATE 08P01.
	ErrForeignMemory = errors.New("the peer named memory that is not its own")
	// ErrFragmentOver: a fragment's result is not held for this process any more, or may not be: SQLSTATE 08006.
	ErrFragmentOver = errors.New("the fragment's result is over")
	// ErrFenced: this process was declared dead, and what it held was taken away: SQLSTATE 57P01. Only a new process of
	// the same node may go on.
	ErrFenced = errors.New("this process was declared dead")
	// ErrTooManyLeases: a borrower holds MaxLeases already: SQLSTATE 53000.
	ErrTooManyLeases = errors.New("too many leases")
)

// The SQLSTATEs that this package itself gives.
const (
	stateGone        = "08006" // connection_failure
	stateNoConnect   = "08001" // sqlclient_unable_to_establish_sqlconnection
	stateProtocol    = "08P01" // protocol_violation
	stateTooLarge    = "54000" // program_limit_exceeded
	stateBusy        = "53000" // insufficient_resources
	stateCanceled    = "57014" // query_canceled
	stateShutdown    = "57P01" // admin_shutdown
	stateSnapshotOld = "72000" // snapshot_too_old
	stateArgument    = "22023" // invalid_parameter_value
	statePrivilege   = "42501" // insufficient_privilege
	stateFeature     = "0A000" // feature_not_supported

	stateAuthorization = "28000" // invalid_authorization_specification
	stateInternal      = "XX000" // internal_error
)

// Error is what comes back from a node, or what became of a call to it (N7).
type Error struct {
	State      string // SQLSTATE
	Message    string
	At         int // position in a statement in characters from 1; 0: none
	DetailText string
	HintText   string
	Cause      error // what errors.Is finds: one of this package's or the catalog's errors, or nil
	// Answered: the node itself said so, and what was asked for was not done. Otherwise its outcome is unknown.
	Answered bool
}

func (e *Error) Error() string { return e.Message }

// SQLState is PostgreSQL's code.
func (e *Error) SQLState() string { return e.State }

// Detail is more about the error, or "".
func (e *Error) Detail() string { return e.DetailText }

// Hint says what to do, or "".
func (e *Error) Hint() string { return e.HintText }

// Position is where in the statement, from 1; 0 is unknown.
func (e *Error) Position() int { return e.At }

// Unwrap gives the cause.
func (e *Error) Unwrap() error { return e.Cause }

// Retryable reports whether the same may succeed when it is done again.
func (e *Error) Retryable() bool { return e.State == "40001" }

// kinds are the errors that keep their identity across the wire.
var kinds = []struct {
	kind nodepb.Error_Kind
	err  error
}{
	{nodepb.Error_KIND_LEASE_OVER, catalog.ErrLeaseOver},
	{nodepb.Error_KIND_PAGE_LOST, hugetable.ErrLost},
	{nodepb.Error_KIND_CLOSED, catalog.ErrClosed},
	{nodepb.Error_KIND_RESTARTED, ErrRestarted},
	{nodepb.Error_KIND_CONFLICT, catalog.ErrConflict},
	{nodepb.Error_KIND_FENCED, ErrFenced},
}

// statusOf turns an error of the node into what travels (N7). The texts are cut to what a header holds.
func statusOf(err error) error {
	if err == nil {
		return nil
	}
	e := &nodepb.Error{State: stateOf(err), Message: text(err.Error(), maxTextBytes)}
	var detailed interface{ Detail() string }
	if errors.As(err, &detailed) {
		e.Detail = text(detailed.Detail(), maxTextBytes)
	}
	var hinted interface{ Hint() string }
	if errors.As(err, &hinted) {
		e.Hint = text(hinted.Hint(), maxTextBytes)
	}
	var placed interface{ Position() int }
	if errors.As(err, &placed) {
		e.Position = int64(placed.Position())
	}
	for _, k := range kinds {
		if errors.Is(err, k.err) {
			e.Kind = k.kind
			break
		}
	}
	s, failed := status.New(codeOf(e.State), e.Message).WithDetails(e)
	if failed != nil { // cannot be: every string in it is valid UTF-8
		return status.Error(codes.Internal, e.Message)
	}
	return s.Err()
}

func stateOf(err error) string {
	var stated interface{ SQLState() string }
	switch {
	case errors.As(err, &stated) && isState(stated.SQLState()):
		return stated.SQLState()
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return stateCanceled
	case errors.Is(err, catalog.ErrLeaseOver):
		return stateSnapshotOld
	case errors.Is(err, catalog.ErrClosed):
		return stateShutdown
	}
	return stateInternal
}

func isState(s string) bool {
	return len(s) == 5 && strings.IndexFunc(s, func(r rune) bool { return (r < '0' || r > '9') && (r < 'A' || r > 'Z') }) < 0 && s != "00000"
}

// codeOf is for tools that show gRPC's codes; this package's client does not look at it.
func codeOf(state string) codes.Code {
	switch state[:2] {
	case "08", "57":
		return codes.Unavailable
	case "22", "42":
		return codes.InvalidArgument
	case "40":
		return codes.Aborted
	case "53", "54":
		return codes.ResourceExhausted
	case "XX", "58":
		return codes.Internal
	}
	return codes.FailedPrecondition
}

// errorOf turns a call's error into what the caller gets. node is the one that was called, doing what was asked.
func errorOf(ctx context.Context, node, doing string, err error) error {
	if err == nil {
		return nil
	}
	var own *Error
	if errors.As(err, &own) {
		return own
	}
	s := status.Convert(err)
	for _, detail := range s.Details() {
		if e, ok := detail.(*nodepb.Error); ok {
			r := remoteError(e)
			if cause := endOf(ctx); r.State == stateCanceled && r.Cause == nil && cause != nil {
				r.Cause, r.Answered = cause, false // the node heard of it before this process looked
			}
			return r
		}
	}
	return transportError(ctx, node, doing, s)
}

// timerSkew is by how much a node's timer for a caller's deadline may go off before the caller's own.
const timerSkew = 100 * time.Millisecond

// endOf is why a context is over, or will be in a moment.
func endOf(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) < timerSkew {
		return context.DeadlineExceeded
	}
	return nil
}

// remoteError trusts nothing in e (N5).
func remoteError(e *nodepb.Error) *Error {
	r := &Error{Answered: true, State: e.State, Message: text(e.Message, maxTextBytes), DetailText: text(e.Detail, maxTextBytes), HintText: text(e.Hint, maxTextBytes)}
	if !isState(r.State) {
		r.State = stateInternal
	}
	if e.Position > 0 && e.Position <= 1<<31-1 {
		r.At = int(e.Position)
	}
	for _, k := range kinds {
		if k.kind == e.Kind {
			r.Cause = k.err
		}
	}
	return r
}

// plainly says what gRPC says of a connection without its own machinery.
func plainly(said string) string {
	if inner, is := strings.CutPrefix(said, "connection error: desc = "); is {
		if quoted, err := strconv.Unquote(inner); err == nil {
			said = quoted
		}
	}
	said = strings.TrimPrefix(strings.TrimPrefix(said, "transport: "), "Error while dialing: ")
	if strings.HasSuffix(said, "error reading server preface: EOF") {
		return "it closes the connection at once"
	}
	return said
}

// transportError is about what gRPC says itself.
func transportError(ctx context.Context, node, doing string, s *status.Status) *Error {
	if ctx.Err() != nil {
		return &Error{State: stateCanceled, Message: fmt.Sprintf("%s at %s: %v", doing, node, context.Cause(ctx)), Cause: ctx.Err()}
	}
	if _, callers := ctx.Deadline(); callers && s.Code() == codes.DeadlineExceeded { // gRPC's timer was a little faster than the context's
		return &Error{State: stateCanceled, Message: fmt.Sprintf("%s at %s: %v", doing, node, context.DeadlineExceeded), Cause: context.DeadlineExceeded}
	}
	said := plainly(text(s.Message(), maxTextBytes))
	switch s.Code() {
	case codes.ResourceExhausted:
		return &Error{State: stateTooLarge, Message: fmt.Sprintf("%s at %s: %v: %s", doing, node, ErrTooLarge, said), Cause: ErrTooLarge}
	case codes.Unimplemented:
		return &Error{State: stateProtocol, Message: fmt.Sprintf("%s at %s: what listens there is no node, or one of another version: %s", doing, node, said), Cause: ErrBadMessage}
	case codes.Internal:
		return &Error{State: stateProtocol, Message: fmt.Sprintf("%s at %s: %v: %s", doing, node, ErrBadMessage, said), Cause: ErrBadMessage}
	case codes.Canceled:
		return &Error{State: stateGone, Message: fmt.Sprintf("%s at %s: this client was closed", doing, node), Cause: ErrNodeGone}
	case codes.DeadlineExceeded:
		return &Error{
			State: stateGone, Message: fmt.Sprintf("%s at %s: it did not answer in time: %s", doing, node, said), Cause: ErrNodeGone,
			HintText: "The node may be stopped or overloaded; “csmsql status” shows whether it answers.",
		}
	}
	return &Error{
		State: stateGone, Message: fmt.Sprintf("%s at %s: %v: %s", doing, node, ErrNodeGone, said), Cause: ErrNodeGone,
		HintText: "Start the node again with “csmsql serve” and repeat; tables that it had are still there.",
	}
}

func badMessage(format string, args ...any) *Error {
	return &Error{State: stateProtocol, Message: ErrBadMessage.Error() + ": " + fmt.Sprintf(format, args...), Cause: ErrBadMessage}
}

func badArgument(format string, args ...any) *Error {
	return &Error{State: stateArgument, Message: fmt.Sprintf(format, args...)}
}

// text makes a string that protobuf takes, no longer than limit bytes.
func text(s string, limit int) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if len(s) <= limit {
		return s
	}
	return strings.ToValidUTF8(s[:limit-len("…")], "") + "…" // a rune cut in two goes
}
