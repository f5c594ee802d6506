package etcd

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/csmsql/csmsql/catalog/store"
)

// ErrUnavailable: etcd cannot be reached, or has no majority. Nothing was changed; the same call may work later.
var ErrUnavailable = errors.New("etcd is not available")

// SQLSTATEs of this package's errors.
const (
	stateUnavailable = "57P03" // cannot_connect_now: later it may work. Not 08006: it is not the client's connection
	stateUnknown     = "08007" // transaction_resolution_unknown
	stateSessionOver = "57P02" // crash_shutdown: to the others this process has died
	stateRefused     = "58000" // system_error: etcd refuses, and will the next time
	stateFull        = "53100" // disk_full
	stateSetting     = "22023" // invalid_parameter_value
	stateInUse       = "55006" // object_in_use
)

// Error is what a user may come to see. Its cause is one of store's or of this package's sentinels, or what etcd said.
type Error struct {
	State    string
	Message  string
	HintText string
	Cause    error
}

func (e *Error) Error() string { return e.Message }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Cause }

// SQLState is 57P03 if etcd is not available, 08007 if it is not known whether a transaction happened, 57P02 if the
// session is over, 53100 if etcd is full, 58000 if it refuses otherwise, 22023 if an option is wrong.
func (e *Error) SQLState() string { return e.State }

// Hint says what to do.
func (e *Error) Hint() string { return e.HintText }

func badOption(format string, arguments ...any) *Error {
	return &Error{State: stateSetting, Message: fmt.Sprintf("etcd: "+format, arguments...)}
}

// unavailable is the error of what certainly did not happen.
func (s *Store) unavailable(what string, cause error) *Error {
	return &Error{
		State: stateUnavailable, Cause: errors.Join(ErrUnavailable, cause),
		Message:  fmt.Sprintf("%s: etcd at %s has no majority, or cannot be reached: %s", what, strings.Join(s.options.Endpoints, ", "), describe(cause)),
		HintText: "Changes fail until a majority of etcd's members is back; what was read before stays readable. Nothing was changed: try again.",
	}
}

// unknown is the error of a transaction that was sent and not answered.
func (s *Store) unknown(cause error) *Error {
	return &Error{
		State: stateUnknown, Cause: errors.Join(store.ErrUnknown, cause),
		Message:  fmt.Sprintf("%v: etcd at %s: %s", store.ErrUnknown, strings.Join(s.options.Endpoints, ", "), describe(cause)),
		HintText: unknownHint(cause),
	}
}

const hintFull = "A node that runs etcd makes room by itself, if there is any: try again in a minute, or restart it with a larger " +
	"--etcd-quota. Compact and defragment an etcd of your own, and disarm its alarm (etcdctl alarm disarm)."

func unknownHint(cause error) string {
	if errors.Is(cause, rpctypes.ErrNoSpace) {
		return hintFull
	}
	return "Look whether the change is there before you make it again."
}

func (s *Store) refused(what string, cause error) *Error {
	e := &Error{State: stateRefused, Cause: cause, Message: fmt.Sprintf("%s: etcd at %s refuses: %s", what, strings.Join(s.options.Endpoints, ", "), describe(cause))}
	if errors.Is(cause, rpctypes.ErrNoSpace) {
		e.State, e.HintText = stateFull, hintFull
	}
	return e
}

// sessionOver is final.
func sessionOver(reason string, cause error) *Error {
	return &Error{
		State: stateSessionOver, Cause: errors.Join(store.ErrSessionOver, cause),
		Message:  fmt.Sprintf("%v: %s", store.ErrSessionOver, reason),
		HintText: "The other nodes hold this one for dead: it must join again.",
	}
}

// describe is an error's text without gRPC's wrapping.
func describe(err error) string {
	if errors.Is(err, context.DeadlineExceeded) || status.Code(err) == codes.DeadlineExceeded {
		return "no answer in time"
	}
	return rpctypes.ErrorDesc(err)
}

// failure is the error of a call that read, or that certainly changed nothing.
func (s *Store) failure(ctx context.Context, what string, err error) error {
	switch {
	case s.living.Err() != nil:
		return fmt.Errorf("%s: %w", what, store.ErrClosed)
	case ctx.Err() != nil: // the caller's own
		return fmt.Errorf("%s: %w", what, ctx.Err())
	case errors.Is(err, rpctypes.ErrCompacted):
		return fmt.Errorf("%s: %w: %s", what, store.ErrCompacted, describe(err))
	case final(err) || errors.Is(err, rpctypes.ErrNoSpace):
		return s.refused(what, err)
	}
	return s.unavailable(what, err)
}

// final reports whether etcd looked at a request and refused it, and would the next time.
func final(err error) bool {
	switch codeOf(err) {
	case codes.InvalidArgument, codes.PermissionDenied, codes.Unauthenticated, codes.Unimplemented, codes.OutOfRange, codes.NotFound:
		return true
	}
	return false
}

// harmless reports whether a request that was answered so changed nothing. No space is not one of these: etcd does what
// takes it over its quota, and says so all the same.
func harmless(err error) bool {
	return final(err) || codeOf(err) == codes.FailedPrecondition || errors.Is(err, rpctypes.ErrTooManyRequests)
}

func codeOf(err error) codes.Code {
	var said rpctypes.EtcdError
	if errors.As(err, &said) {
		return said.Code()
	}
	return status.Code(err)
}
