package noderpc

import (
	"context"
	"time"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/catalog/descriptor"
	"github.com/csmsql/csmsql/catalog/record"
	"github.com/csmsql/csmsql/coherence"
	"github.com/csmsql/csmsql/memregion"
)

// Node is what a node offers to other processes; the engine implements it. It has more methods than an interface of
// this project usually has because it is a protocol: each is one RPC.
//
// Every method is called concurrently, must end soon after its context did, and may return errors with the methods
// SQLState, Detail, Hint (string) and Position (int): they reach the caller (N7). PeerOf(ctx) is the caller.
type Node interface {
	// Describe says what the node is and lends.
	Describe(ctx context.Context) (Description, error)
	// Lease pins a snapshot for a borrower. holder comes from outside: it is within the limits of this package and
	// nothing else is known of it; TTL 0 asks for the node's own. The record's TTL must be between MinTTL and MaxTTL
	// (N3): the lease of a process that died must end.
	Lease(ctx context.Context, holder catalog.Holder) (*catalog.SnapshotRecord, error)
	// Tables gives tables of a snapshot that was leased without (Holder.Partial): asked is within the limits of this
	// package. A lease that is over is catalog.ErrLeaseOver.
	Tables(ctx context.Context, lease catalog.LeaseID, asked record.TablesAsked) (record.TablesAnswer, error)
	// Page returns a page of descriptors; the caller only reads it.
	Page(ctx context.Context, id catalog.PageID) ([]byte, error)
	// Renew lets leases live for their TTL from now on, and returns those that are over. The node reads its clock after
	// the call began: the borrower counts from before it was sent (N1).
	Renew(ctx context.Context, leases []catalog.LeaseID) (over []catalog.LeaseID, err error)
	// Release ends a lease.
	Release(ctx context.Context, lease catalog.LeaseID) error
	// Acquire makes extents that a lease keeps in place safe to load for the processes of the node's machine
	// (docs/coherence.md, step 6). Only such a process asks for it; what it says of the extents is compared with the
	// bytes.
	Acquire(ctx context.Context, extents []descriptor.Extent) error
	// Await returns when one of the tables is not the version any more that the caller has seen last, with those that
	// are not; or with the error of ctx, which ends after a while.
	Await(ctx context.Context, seen map[catalog.TableID]uint64) ([]catalog.TableID, error)
	// Status says how the node is.
	Status(ctx context.Context) (Status, error)
	// Load reads files, as the node's user sees them, into a table. progress may be called from any goroutine until
	// Load returns; it does not block (N10).
	Load(ctx context.Context, request LoadRequest, progress func(Progress)) (LoadResult, error)
	// LoadTPCH generates the eight TPC-H tables.
	LoadTPCH(ctx context.Context, request TPCHRequest, progress func(Progress)) error
	// Verify compares sealed bytes with their checksums. Damaged ones are its result and no error.
	Verify(ctx context.Context, request VerifyRequest, progress func(Progress)) (VerifyResult, error)
}

// Description is what a borrower must know of a node before it can read anything.
type Description struct {
	// Node is the node's name.
	Node string
	// Catalog is the identity of the catalog: catalog.Catalog.Identity.
	Catalog string
	// Domain is the node's coherence domain. A borrower has one of its own, as long as it lives.
	Domain coherence.Domain
	// Regions are those that the node lends or has mapped: chunks lie there.
	Regions []Region
	// LeaseTTL is what a lease gets that asks for nothing.
	LeaseTTL time.Duration
	Frontend Frontend
	// Version is the product's.
	Version string
	// Started is when the node's process started.
	Started time.Time
}

// Region is a region to be mapped.
type Region struct {
	memregion.Spec
	// Trusted: generations from here on were written by the node's present process. Older ones may have been damaged
	// while the node was not running; their first reader compares their checksums.
	Trusted coherence.Generation
}

// Frontend is where the node speaks PostgreSQL's protocol. Empty fields: not there.
type Frontend struct {
	// SocketDirectory holds the unix socket, in PostgreSQL's manner.
	SocketDirectory string `json:"socket_directory,omitempty"`
	// Address is host:port.
	Address string `json:"address,omitempty"`
}

// Lease is a snapshot in a borrower's hands. It must be given to a Keeper, or released; otherwise it ends by itself.
type Lease struct {
	// Record is what catalog.NewRemoteSnapshot takes; it has the lease's number and TTL.
	Record *catalog.SnapshotRecord
	// Sent is when the request left this process: the lease is as old as that at most (N1).
	Sent Instant
}

// ID is the lease's number at the node's present process.
func (l Lease) ID() catalog.LeaseID { return l.Record.Lease }
