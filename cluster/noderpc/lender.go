package noderpc

import (
	"context"
	"sync/atomic"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/coherence"
	"github.com/csmsql/csmsql/memregion"
)

// Lender is what a node offers to processes that write into its memory, or read it without a lease of its catalog: the
// steps of the coherence protocol by message. Package lending has it. Each method is one RPC and is called
// concurrently; the arguments are within this package's limits, and nothing else is known of them; peer is the caller
// (N11).
type Lender interface {
	// Grant gives at least request.Size bytes to the peer alone to write.
	Grant(ctx context.Context, peer Peer, request GrantRequest) (Granted, error)
	// Reallocate gives a longer extent with the first request.Used bytes of one that the peer is writing, which the
	// peer frees when it has the new one.
	Reallocate(ctx context.Context, peer Peer, request ReallocateRequest) (Granted, error)
	// Seal takes the peer's word that it has cleaned, shortens the extent and seals it.
	Seal(ctx context.Context, peer Peer, request SealRequest) error
	// Publish makes sealed extents readable. All or nothing.
	Publish(ctx context.Context, peer Peer, request PublishRequest) error
	// Free takes back what the peer was granted, cleaned, and has not published for good. It goes as far as it can.
	Free(ctx context.Context, peer Peer, request FreeRequest) error
	// Pin keeps published extents in place for the peer; pins count. All or nothing.
	Pin(ctx context.Context, peer Peer, extents []catalog.ExtentID) error
	// Unpin takes as many pins back.
	Unpin(ctx context.Context, peer Peer, extents []catalog.ExtentID) error
	// Left is what former processes of the peer's machine were writing when they ended; what it has flushed of an
	// earlier answer goes back first. Empty where caches are coherent.
	Left(ctx context.Context, peer Peer, request LeftRequest) ([]LeftExtent, error)
	// Held renews the peer's lease on what it holds and has not committed, and names that; what it has disclaimed of an
	// earlier answer goes back first.
	Held(ctx context.Context, peer Peer, request HeldRequest) ([]LeftExtent, error)
}

// Ticket names one request for memory among those of its incarnation, so that what was granted and never heard of can
// be given back. Zero names nothing.
type Ticket uint64

var lastTicket atomic.Uint64

// NewTicket is one that this process has not used.
func NewTicket() Ticket { return Ticket(lastTicket.Add(1)) }

// GrantRequest asks for an extent.
type GrantRequest struct {
	Region memregion.RegionID
	// Owner is whose quota in the region it counts against: a table's name, as with catalog.Space.
	Owner string
	// Size in bytes, at least; it is rounded up to whole pages.
	Size   int64
	Ticket Ticket
	// Process that will map the extent. The client fills it in.
	Process Process
	// Domain is the machine in whose caches its stores lie, by the name that the machine's next process will have, too.
	// Without one, only an operator can say that they do not lie there any more, where caches are not coherent.
	Domain coherence.Domain
	// Member is which node's the caller is, if it is one.
	Member Membership
	// Holder is the part of the caller that the extent is for, in words for people.
	Holder string
}

// Membership says which incarnation of which node of a cluster a peer is. The zero value is of no node.
type Membership struct {
	// Node is what no two nodes and all incarnations of one have: the name of the data directory whose lock it holds.
	Node string
	// Registered is the revision at which this incarnation of it was put on record; a later one has a higher one.
	Registered catalog.Revision
}

// LeftRequest asks what is left to be flushed.
type LeftRequest struct {
	Region  memregion.RegionID
	Domain  coherence.Domain // as in GrantRequest
	Flushed []coherence.Generation
}

// HeldRequest renews the lease on what the caller holds in a region.
type HeldRequest struct {
	Region memregion.RegionID
	// Disclaimed are generations of an earlier answer that the caller does not hold: it has no window on them, has
	// flushed what it stored there, and will not commit them.
	Disclaimed []coherence.Generation
}

// LeftExtent is an extent that a lender has on record. Of an answer of Left it may have modified lines in the caches of
// the machine of a process that has ended.
type LeftExtent struct {
	Generation coherence.Generation
	Range      memregion.Range
}

// ReallocateRequest asks for a longer extent in the place of one, whose stores so far are written back.
type ReallocateRequest struct {
	Extent catalog.ExtentID
	Size   int64 // new length in bytes, at least; longer than the old one
	Used   int64 // bytes from the start that are copied
	Ticket Ticket
}

// Granted is an extent to write.
type Granted struct {
	Extent catalog.ExtentID
	Range  memregion.Range
	// Class is the fabric's: it says whether the writer has to flush.
	Class coherence.Class
}

// SealRequest reports a complete extent: every line of it is written back.
type SealRequest struct {
	Extent catalog.ExtentID
	// Keep is the extent's new length in whole pages; the tail goes back.
	Keep int64
	Seal coherence.Seal
}

// PublishRequest makes extents readable.
type PublishRequest struct {
	Extents []catalog.ExtentID
	// Temporary extents stay their writer's: it frees them, and they end with it as soon as they are not pinned. All
	// others belong to the catalog from then on.
	Temporary bool
}

// FreeRequest gives back.
type FreeRequest struct {
	Extents []catalog.ExtentID
	// Tickets of grants whose answers were not heard.
	Tickets []Ticket
	// Settling: the caller does not know how far earlier calls came, so it is no mistake if something is over already.
	Settling bool
}

// MaxExtents is how many extents, or tickets, one call names.
const MaxExtents = 1 << 16
