package catalog

import (
	"context"
	"fmt"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/csmsql/csmsql/catalog/chunk"
	"github.com/csmsql/csmsql/catalog/descriptor"
	"github.com/csmsql/csmsql/catalog/homes"
	"github.com/csmsql/csmsql/catalog/hugetable"
	"github.com/csmsql/csmsql/catalog/record"
	"github.com/csmsql/csmsql/catalog/store"
	"github.com/csmsql/csmsql/coherence"
	"github.com/csmsql/csmsql/internal/faults"
)

// The parts of the catalog live in packages of their own; their users need to know only this one.
type (
	// Chunk is a sealed record batch.
	Chunk = chunk.Chunk
	// ChunkWriter makes one chunk.
	ChunkWriter = chunk.Writer
	// SealOptions say what ChunkWriter.Seal does beside sealing.
	SealOptions = chunk.SealOptions
	// Space is a region that grants extents to chunk writers.
	Space = chunk.Space
	// Grant is the right to write one extent once.
	Grant = chunk.Grant

	// Replacement is a chunk with the same rows for one of a table.
	Replacement = hugetable.Replacement

	// ExtentID is (region, generation): one writing of one extent.
	ExtentID = descriptor.ExtentID

	// TableID names a table for ever.
	TableID = hugetable.TableID
	// TableName is a qualified name.
	TableName = hugetable.TableName
	// Table is what all versions of a table share.
	Table = hugetable.Table
	// TableVersion is one immutable state of a table.
	TableVersion = hugetable.Version
	// Retention says which former versions of a table are kept.
	Retention = hugetable.Retention
	// Position is a chunk of a version with its row range.
	Position = hugetable.Position
	// Origin says where the rows of a run of chunks came from.
	Origin = hugetable.Origin
	// PageID names a page of descriptors.
	PageID = hugetable.PageID
	// Pages is where page contents come from.
	Pages = hugetable.Pages

	// RegionRecord is what the catalog keeps of a region.
	RegionRecord = record.Region
	// View is a named query.
	View = record.View
	// CounterID names a counter for ever.
	CounterID = record.CounterID
	// SnapshotRecord is a snapshot on its way to a borrower.
	SnapshotRecord = record.Snapshot
	// LeaseID names a lease until the catalog is closed.
	LeaseID = record.LeaseID
	// NodeRecord is what the catalog keeps of a node.
	NodeRecord = record.Node

	// Homes is the Lender of a process that lends some regions itself.
	Homes = homes.Homes

	// Store keeps the catalog's records.
	Store = store.Store
	// Revision counts the catalog's transactions.
	Revision = store.Revision
)

// NewChunkWriter returns a writer whose memory comes from space and counts against owner's quota; firstBytes is how
// large the chunk will be as far as the caller knows (zero: 1 MiB).
func NewChunkWriter(space Space, owner string, firstBytes int64) *ChunkWriter {
	return chunk.NewWriter(space, owner, firstBytes)
}

// CopyChunk copies a sealed chunk as it is into memory of another space, extent by extent, from its first replica;
// Chunk.In makes a chunk of such copies. extent gives the bytes of one, which were acquired and stay until the call
// ends; they are held against its checksum (coherence.ErrChecksum). On error nothing is held.
func CopyChunk(space Space, d *descriptor.Descriptor,
	extent func(*descriptor.Extent) ([]byte, error)) ([]descriptor.Extent, error) {
	return chunk.Copy(space, d, extent)
}

// ChunkImage rebuilds the bytes of a sealed chunk's extents, of its first replica, in ordinary memory from a batch of
// the same rows and types, for CopyChunk. They must equal what was sealed: another row is ErrDiffers.
func ChunkImage(ctx context.Context, d *descriptor.Descriptor, batch arrow.RecordBatch) ([][]byte, error) {
	return chunk.Image(ctx, d, batch)
}

// ErrDiffers marks rows that are not those of the chunk that was to be rebuilt from them.
var ErrDiffers = chunk.ErrDiffers

// Holder describes the holder of a snapshot.
type Holder struct {
	// Domain is the holder's coherence domain; its pins are made in that name. Empty means the catalog's own.
	Domain coherence.Domain
	// Description is for status output.
	Description string
	// TTL is how long the lease lives without a renewal; zero is for ever (holders in this process).
	TTL time.Duration
	// Partial: the holder asks for tables when it needs them (LeasedTables), so that its record has none.
	Partial bool
	// MaxAge is how much older than the last commit the snapshot may be, if the store need not be asked for that one.
	MaxAge time.Duration
	// Unsealed: no row of a table is read that may have been noted (Note).
	Unsealed bool
}

// Lease is a row of status output.
type Lease struct {
	ID       LeaseID
	Holder   Holder
	Revision Revision
	Since    time.Time
	// Expires is zero for a lease without TTL.
	Expires time.Time
}

func (l Lease) String() string {
	return fmt.Sprintf("lease %d of %s (%s) on revision %d", l.ID, l.Holder.Domain, l.Holder.Description, l.Revision)
}

// Lender is what the catalog needs of the lenders of its chunks' regions: the steps of docs/coherence.md after the
// seal. coherence.Home has them per region; the engine joins several. No method may call back. Pin and ExpireDomain are
// called with the catalog's lock held and must not block for long.
type Lender interface {
	// Publish makes sealed generations readable. All or nothing, unless the error is a PartlyPublishedError: what others
	// lend and have made readable stays so then, because a lender may be gone that has not, and theirs cannot be undone.
	Publish(ids ...ExtentID) error
	// Discard gives sealed, unpublished generations back.
	Discard(ids ...ExtentID) error
	// Retire says that no version has these published generations any more; their memory comes back when the last pin
	// goes.
	Retire(ids ...ExtentID) error
	// Pin keeps published generations in place for a domain; pins count.
	Pin(domain coherence.Domain, ids ...ExtentID) error
	// Unpin takes as many pins back.
	Unpin(domain coherence.Domain, ids ...ExtentID) error
	// ExpireDomain takes all pins of a domain back at once.
	ExpireDomain(domain coherence.Domain) error
}

// Options of Open. The zero value serves.
type Options struct {
	// Agree is asked at commit of a table that others have changed since the transaction's snapshot, base: result is
	// what own becomes behind their changes. An error fails the commit. It is called with the catalog's committing
	// held: it may read chunks, and may not call back. Nil: all that goes together by rows (K5) agrees.
	Agree func(ctx context.Context, base, own, result *TableVersion) error
	// Relate is asked at commit of a transaction whose tables may have to agree with others, whose rows it has read but
	// not changed. It gives their identities: the commit stands only while they are as Commitment.Now shows them. As
	// with Agree, an error fails the commit.
	Relate func(ctx context.Context, c *Commitment) (relied []TableID, err error)
	// Domain is the coherence domain of this process (default "local").
	Domain coherence.Domain
	// InitialSchemas are made when the store is empty.
	InitialSchemas []string
	// CacheBytes bounds the memory for pages and decoded descriptors (default 128 MiB).
	CacheBytes int64
	// Now is the clock for leases and creation times (default time.Now).
	Now func() time.Time
	// Self is this node's record: other nodes' catalogs use the same store, and Run must be running before anything is
	// committed. It is put there for as long as the store's session lives. Nil: no other node uses the store.
	Self *NodeRecord
	// ReportInterval is the shortest time between reports to the others of what this node still reads, and so about how
	// long they keep unused memory (default 200 ms). In a cluster of more than four nodes it is longer by its size.
	ReportInterval time.Duration
	// Patience is how long a snapshot waits for this node to see the last commit of all, when the store has answered
	// and its watch is silent (default 5 s).
	Patience time.Duration
	// Gone is called with every incarnation of another node that is over, after all that it committed is visible: what
	// it published in this node's regions beyond Living is unowned.
	Gone func(Member)
	// Committed is called with the extents of every commit of this catalog that succeeded: a version owns them now, and
	// it alone.
	Committed func(ids []ExtentID)
	// Doubted is called with those of a commit that ended with ErrOutcomeUnknown: its session may end, and they may be
	// a version's still. Later Committed is called with them, or the lender retires them.
	Doubted func(ids []ExtentID)
	// PublishLogged stands in for the lender's Publish where the store keeps bytes of chunks until they are synced
	// (store.Redo). Optional.
	PublishLogged func(ids ...ExtentID) ([]store.Redo, error)
	// EndsWithBoot: no chunk outlives the boot of the machine, so that a commit of nothing but rows need not either.
	EndsWithBoot bool
	Boot         string // of which machine and start, if EndsWithBoot
	// Deltas keep rows that are on record only. Nil: there are none, unless a former process has left some.
	Deltas Deltas
	// Set is called with counters that another node may have set (SetCounter), 0: any, before a snapshot shows what
	// came then or later.
	Set func(id CounterID)
	// Fault is called at the fault points of commits; nil in production.
	Fault faults.Hook
	// Log receives what went wrong in the background: garbage that could not be removed, lenders that refused.
	Log func(message string, err error)
}
