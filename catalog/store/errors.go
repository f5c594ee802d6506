package store

import (
	"errors"
	"fmt"
	"strings"
)

// Errors of opening.
var (
	// ErrInUse: another process has the store open.
	ErrInUse = errors.New("the data directory is in use")
	// ErrForeign: the file is not a catalog of ours, or of a format this program does not know.
	ErrForeign = errors.New("not a csmsql catalog")
	// ErrCorrupt: the file was ours and is damaged.
	ErrCorrupt = errors.New("the catalog file is corrupt")
)

// Errors of transactions and watches.
var (
	// ErrConflict: a condition of the transaction did not hold; a *Conflict says which.
	ErrConflict = errors.New("the catalog was changed by another transaction")
	// ErrUnknown: the store failed in a way that leaves open whether the transaction happened.
	ErrUnknown = errors.New("the outcome of the catalog's transaction is not known")
	// ErrTransaction: no store takes such a transaction, or this one takes no more at once (Limits).
	ErrTransaction = errors.New("not a transaction that the catalog store can do")
	// ErrCompacted: the store does not keep what happened after the revision any more.
	ErrCompacted = errors.New("the catalog store does not remember that far back")
	// ErrClosed: the store was closed.
	ErrClosed = errors.New("the catalog store is closed")
)

// Errors of sessions.
var (
	// ErrSessionOver: the session has ended, for ever. Its ephemeral keys are gone, or will be.
	ErrSessionOver = errors.New("this process's session in the catalog store is over")
	// ErrSessionUnsure: it is not known now whether the session lives.
	ErrSessionUnsure = errors.New("it is not known whether this process's session in the catalog store still lives")
)

// Conflict is the error of a transaction whose condition did not hold.
type Conflict struct{ Compare Compare }

func (c *Conflict) Error() string {
	if c.Compare.Present {
		return fmt.Sprintf("%v: %q is gone", ErrConflict, c.Compare.Key)
	}
	return fmt.Sprintf("%v: %q is newer than revision %d", ErrConflict, c.Compare.Key, c.Compare.Revision)
}

// Is makes errors.Is(err, ErrConflict) hold.
func (c *Conflict) Is(target error) bool { return target == ErrConflict }

// Settled is a cause that no longer says that the outcome is unknown.
func Settled(cause error) error { return settledError{cause} }

type settledError struct{ error }

func (e settledError) Error() string {
	return strings.ReplaceAll(e.error.Error(), ErrUnknown.Error()+": ", "")
}

func (e settledError) Unwrap() error { return e.error }
