package coherence

import (
	"errors"
	"fmt"

	"github.com/csmsql/csmsql/memregion"
)

// Errors of configuration.
var (
	// ErrConfig says that a Home or a Reader was configured with something it cannot work with.
	ErrConfig = errors.New("coherence: bad configuration")
	// ErrUnsupported says that this CPU or architecture has no instruction to flush cache lines from user space.
	ErrUnsupported = errors.New("coherence: this processor cannot flush cache lines from user space; only coherent fabrics work on it")
)

// Errors of the protocol's callers: the call was refused and changed nothing.
var (
	// ErrInput says that an argument makes no sense by itself: a range that is not whole pages, an empty domain.
	ErrInput = errors.New("coherence: bad argument")
	// ErrOrder says that the generation is in a state where this step is not allowed.
	ErrOrder = errors.New("coherence: step out of order")
	// ErrUnknown says that the generation is not alive here: never granted, or over.
	ErrUnknown = errors.New("coherence: unknown generation")
	// ErrRetired says that the generation is retired and the domain does not hold it: take a newer snapshot.
	ErrRetired = errors.New("coherence: generation is retired")
	// ErrNotPinned says that a domain gave back a pin that it does not hold.
	ErrNotPinned = errors.New("coherence: not pinned by this domain")
	// ErrOverlap says that an extent shares a page with a live one (C4).
	ErrOverlap = errors.New("coherence: extent overlaps a live one")
)

// Errors of reading.
var (
	// ErrChecksum marks what a verify function returns when the bytes are not those that were sealed. Only errors that
	// wrap it are tried again: a stale line may be cured by another flush, a truncated file may not.
	ErrChecksum = errors.New("coherence: checksum mismatch")
)

// StateError is an ErrOrder that says where the generation stands.
type StateError struct {
	Generation Generation
	State      State
	Event      EventKind
}

func (e *StateError) Error() string {
	return fmt.Sprintf("coherence: cannot %s generation %d: it is %s", e.Event, e.Generation, e.State)
}

// Unwrap makes errors.Is(err, ErrOrder) true.
func (e *StateError) Unwrap() error { return ErrOrder }

// AcquireError is a failed acquire. The layer that knows the chunk's table adds its name.
type AcquireError struct {
	Region     memregion.RegionID
	Generation Generation
	Attempts   int // how often flush and verify ran
	Err        error
}

func (e *AcquireError) Error() string {
	return fmt.Sprintf("coherence: acquire region %d generation %d failed after %d attempt(s): %v", e.Region, e.Generation, e.Attempts, e.Err)
}

func (e *AcquireError) Unwrap() error { return e.Err }

// SQLState is XX001 (data_corrupted) when the bytes are wrong and 58030 (io_error) when they could not be read.
func (e *AcquireError) SQLState() string {
	if errors.Is(e.Err, ErrChecksum) {
		return "XX001"
	}
	return "58030"
}
