package memregion

import "errors"

// stateError is a sentinel that also knows its SQLSTATE, so that the frontend finds it with errors.As on a
// one-method interface and needs to import nothing of ours.
type stateError struct {
	text  string
	state string
}

func (e *stateError) Error() string { return e.text }

// SQLState is the PostgreSQL error code that a client sees.
func (e *stateError) SQLState() string { return e.state }

// Space: a client can see these; both are 53200 (out of memory), because to the client a region is the database's
// memory.
var (
	// ErrRegionFull says that no free range is long enough, or that the fabric has no room to back it. Nothing has
	// changed.
	ErrRegionFull error = &stateError{"region is full", "53200"}
	// ErrQuota says that the owner would hold more than SetQuota allows. Nothing has changed.
	ErrQuota error = &stateError{"quota of the owner is used up", "53200"}
	// ErrRegionTooLarge says that the planned capacity can never fit the fabric's file system.
	ErrRegionTooLarge error = &stateError{"region does not fit its fabric", "53200"}
)

// Loss: the bytes of a region are not there any more. A query that meets one fails with 58030 (I/O error); it never
// crashes.
var (
	// ErrRegionGone says that the backing is missing, removed, emptied, or of an earlier boot.
	ErrRegionGone error = &stateError{"region is gone", "58030"}
	// ErrRegionShort says that the backing ends before the range does: it was truncated.
	ErrRegionShort error = &stateError{"region's backing is too short", "58030"}
)

// Requests that name something they should not.
var (
	// ErrBadSize says that a size is zero, negative, not a multiple of PageSize where it must be, or not smaller where
	// it must be.
	ErrBadSize = errors.New("bad size")
	// ErrOutOfRange says that a range is not inside the region or not on page boundaries.
	ErrOutOfRange = errors.New("range is not inside the region")
	// ErrNotAllocated says that no live extent has exactly this range.
	ErrNotAllocated = errors.New("range is not allocated")
	// ErrNotOwner says that the extent belongs to another owner.
	ErrNotOwner = errors.New("range belongs to another owner")
	// ErrOverlap says that an adopted range touches a live one.
	ErrOverlap = errors.New("range overlaps a live extent")
)

// Set-up: the plan of a region does not agree with this machine or this process.
var (
	// ErrBadSpec says that a Spec is malformed.
	ErrBadSpec = errors.New("bad region spec")
	// ErrExists says that Lend found a file at the backing's path; use Adopt, or remove it.
	ErrExists = errors.New("backing file exists")
	// ErrLentElsewhere says that another lender, in this or another process, holds the backing.
	ErrLentElsewhere = errors.New("region is lent by another process")
	// ErrAddressTaken says that something else lies in the planned address range of this process.
	ErrAddressTaken = errors.New("address range is taken")
	// ErrNoAddress says that the plan window has no gap of the wanted length.
	ErrNoAddress = errors.New("no free address range")
	// ErrUnsupported says that the kernel or the file system lacks an operation that regions need.
	ErrUnsupported = errors.New("not supported by the fabric")
	// ErrClosed says that the mapping was closed before the call.
	ErrClosed = errors.New("region is closed")
)
