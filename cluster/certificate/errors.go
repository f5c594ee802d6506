package certificate

import (
	"errors"
	"fmt"
)

// Kinds of errors, for errors.Is.
var (
	// ErrMissing: a file is not there.
	ErrMissing = errors.New("certificate file is missing")
	// ErrExists: a file is there already and was left alone.
	ErrExists = errors.New("certificate file exists")
	// ErrExposed: a key's file can be read by others than its owner.
	ErrExposed = errors.New("private key can be read by others")
	// ErrMalformed: a file holds something else than it should.
	ErrMalformed = errors.New("not a certificate or key")
	// ErrMismatch: a key does not belong to its certificate.
	ErrMismatch = errors.New("key and certificate do not belong together")
	// ErrForeign: a certificate is not signed by the cluster's authority.
	ErrForeign = errors.New("certificate of a foreign authority")
	// ErrExpired: a certificate's time is over.
	ErrExpired = errors.New("certificate has expired")
	// ErrNotYetValid: a certificate's time has not come.
	ErrNotYetValid = errors.New("certificate is not valid yet")
	// ErrNoIdentity: a certificate does not say which node or client it is for.
	ErrNoIdentity = errors.New("certificate without identity")
	// ErrWrongPeer: the other side's certificate is for another identity than expected.
	ErrWrongPeer = errors.New("certificate of another identity")
	// ErrNoCertificate: the other side has none.
	ErrNoCertificate = errors.New("no certificate")
	// ErrPlainText: the other side does not speak TLS.
	ErrPlainText = errors.New("no TLS")
)

const (
	hintIdentity = "Make it with “csmsql cluster cert”, or have your authority put the URI csmsql://node/NAME (or csmsql://client/NAME) into it as subject alternative name."
	hintRenew    = "Make a new one with “csmsql cluster cert” and restart the node with it."
	hintClock    = "Compare the clocks of this machine and of the one that made the certificate."
	hintForeign  = "All nodes and tools of a cluster need certificates of the same ca.crt: make this one again with “csmsql cluster cert” in the directory of that authority."
)

// Error is one thing that is wrong with a certificate, a key or a peer (T5).
type Error struct {
	Message  string
	HintText string
	Kind     error // one of this package's sentinels
}

func failure(kind error, format string, args ...any) *Error {
	return &Error{Kind: kind, Message: fmt.Sprintf(format, args...)}
}

func (e *Error) hint(text string) *Error {
	e.HintText = text
	return e
}

func (e *Error) Error() string { return e.Message }

// Unwrap gives the kind.
func (e *Error) Unwrap() error { return e.Kind }

// Hint says what to do.
func (e *Error) Hint() string { return e.HintText }

// SQLState is config_file_error for what lies in this program's files, and
// invalid_authorization_specification for peers.
func (e *Error) SQLState() string {
	switch e.Kind {
	case ErrWrongPeer, ErrNoCertificate, ErrPlainText:
		return "28000"
	}
	return "F0000"
}
