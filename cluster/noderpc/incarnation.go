package noderpc

import (
	"context"
	"crypto/rand"
	"encoding/hex"

	"google.golang.org/grpc/metadata"
)

// Incarnation is one process of a node or tool: a name that comes back after its process died comes back with another
// one. What was granted to an incarnation is never another's.
type Incarnation [incarnationBytes]byte

const (
	// incarnationHeader says which process of the node a client expects to talk to (N4).
	incarnationHeader = "csmsql-incarnation-bin"
	// callerHeader says which process calls.
	callerHeader = "csmsql-caller-bin"
)

// NewIncarnation returns a unique one.
func NewIncarnation() (i Incarnation) {
	_, _ = rand.Read(i[:]) // never fails, says its documentation
	return i
}

var thisProcess = NewIncarnation()

// ThisProcess is the incarnation by which the clients of this process are known, unless they are given another one.
func ThisProcess() Incarnation { return thisProcess }

// IsZero reports whether it names no process.
func (i Incarnation) IsZero() bool { return i == Incarnation{} }

func (i Incarnation) String() string { return hex.EncodeToString(i[:]) }

// MarshalText implements encoding.TextMarshaler.
func (i Incarnation) MarshalText() ([]byte, error) { return []byte(i.String()), nil }

// UnmarshalText is the inverse of MarshalText.
func (i *Incarnation) UnmarshalText(text []byte) error {
	if hex.DecodedLen(len(text)) != len(i) {
		return badArgument("an incarnation has %d hexadecimal digits, not %d", hex.EncodedLen(len(i)), len(text))
	}
	if _, err := hex.Decode(i[:], text); err != nil {
		return badArgument("%q is no incarnation: %v", text, err)
	}
	return nil
}

// callerOf is what the caller says it is; zero if it says nothing that makes sense.
func callerOf(ctx context.Context) (i Incarnation) {
	if values := metadata.ValueFromIncomingContext(ctx, callerHeader); len(values) == 1 && len(values[0]) == len(i) {
		copy(i[:], values[0])
	}
	return i
}
