package faults

// Point is a place where something may happen to the process. The zero value is none.
type Point struct{ entry *entry }

type entry struct{ name, place string }

// String is the point's name.
func (p Point) String() string {
	if p.entry == nil {
		return "no point"
	}
	return p.entry.name
}

// Place says where it is.
func (p Point) Place() string { return p.entry.place }

var table []Point

// point is called by the declarations below only, in their order.
func point(name, place string) Point {
	p := Point{&entry{name, place}}
	table = append(table, p)
	return p
}

// All lists all points.
func All() []Point { return append([]Point(nil), table...) }

// Named finds a point by its name.
func Named(name string) (Point, bool) {
	for _, p := range table {
		if p.entry.name == name {
			return p, true
		}
	}
	return Point{}, false
}

// A node that starts, and its membership.
var (
	RegionRecorded = point("region:recorded", "a new region is in the catalog, and its file is not there yet")
	RegionLent     = point("region:lent", "its file is there, and nothing is in it")
	RegionAdopted  = point("region:adopted", "the region of an earlier life is mapped, with its chunks")
	NodeRegistered = point("node:registered", "the node is on record, and waits until the others have seen that")
	NodeOnline     = point("node:online", "the node has announced that it is online")
	NodeDraining   = point("node:draining", "the node has announced that it is to be emptied")
	SessionRenewal = point("session:renewal", "the node is about to renew its session in etcd")
)

// A commit, in its order.
var (
	CommitBegin       = point("commit:begin", "before anything of a commit has happened")
	CommitPublished   = point("commit:published", "the lenders have published the chunks, and nothing is stored")
	CommitPagesStored = point("commit:pages-stored", "the pages are stored, ahead of the transaction that makes them visible, because it would be too large")
	CommitSent        = point("commit:sent", "the transaction is on its way to etcd, and not answered")
	CommitStored      = point("commit:stored", "the store has acknowledged it, and this process does not see it")
	CommitVisible     = point("commit:visible", "this process sees it, and what it supersedes is not retired")
	CommitDone        = point("commit:done", "a commit is complete")
	CommitApplied     = point("commit:applied", "a node has taken over what another one committed")
	Retiring          = point("commit:retiring", "the lender is about to take back extents that have no reader any more")
)

// A chunk that is written into another node's memory: at its writer, and at its lender.
var (
	BorrowAsking  = point("borrow:asking", "the writer is about to ask for an extent")
	BorrowGranted = point("borrow:granted", "an extent was granted, and is not mapped")
	BorrowWritten = point("borrow:written", "the last byte is stored, and the window is open")
	BorrowCleaned = point("borrow:cleaned", "the window is closed, and the lender has not heard")
	BorrowSealed  = point("borrow:sealed", "the lender has sealed the extent, and the writer knows")
	LendGranted   = point("lend:granted", "memory was granted, and its borrower has not heard")
	LendMoved     = point("lend:moved", "a reallocation has copied, and its borrower has not heard")
	LendCleaned   = point("lend:cleaned", "the writer's report is taken, and the extent is not sealed")
	LendSealed    = point("lend:sealed", "the extent is sealed, and its writer has not heard")
	LendPublished = point("lend:published", "extents are published, and their writer has not heard")
)

// Holders of memory that no version has (package engine/custody): at the holder's node, and at the lender.
var (
	HoldGranted    = point("hold:granted", "memory was granted, and its holder's call for it has not ended")
	HoldCommitted  = point("hold:committed", "a version has what a holder had, and the book has it still")
	HoldGivenBack  = point("hold:given-back", "the lender has taken back what a holder had, or was not there, and the book has it still")
	HoldRenewing   = point("hold:renewing", "a node is about to renew its lease on what it holds in another one's memory")
	LendDisclaimed = point("lend:disclaimed", "a borrower has said what it does not hold, and nothing of that is taken back")
	LendDisowned   = point("lend:disowned", "what a borrower has published, and says that it does not hold, is retired, and on record still")
)

// A statement that writes.
var (
	StoreBatch    = point("store:batch", "rows of an INSERT, a COPY or a CREATE TABLE AS are with the writer")
	StoreSealed   = point("store:sealed", "all of its chunks are sealed")
	RewriteSealed = point("rewrite:sealed", "the chunks of an UPDATE or a DELETE are sealed")
	LoadBatch     = point("load:batch", "rows of a file are with the writer")
	LoadSealed    = point("load:sealed", "all chunks of a load are sealed")
	TPCHChunk     = point("tpch:chunk", "a chunk of a generated table is sealed")
	TPCHTable     = point("tpch:table", "a generated table is complete, and not committed")
)

// A query that several nodes run: at its coordinator, and at a node that runs a part.
var (
	FragmentAsking    = point("fragment:asking", "the coordinator is about to give another node its part")
	FragmentAccepted  = point("fragment:accepted", "a node has taken a part, and not begun")
	FragmentHalfDone  = point("fragment:half-done", "the first rows of a part's result are written")
	PartitionsSealed  = point("partitions:sealed", "the partitions of a shuffle are sealed, and not published")
	FragmentPublished = point("fragment:published", "the result of a part is there for others, and the coordinator has no answer yet")
	FragmentReleased  = point("fragment:released", "the result of a part was let go")
	StageRan          = point("stage:ran", "all parts of a stage have their results, or one has failed")
)

// Chunks that change nodes, and replicas.
var (
	MoveCopied    = point("move:copied", "the copies of a step are sealed, and not committed")
	MoveStep      = point("move:step", "a step of a move or a drain is committed")
	DivideBegun   = point("divide:begun", "a table is on record as being divided by a hash, and none of its rows has moved")
	DivideCopied  = point("divide:copied", "the rows of a step are sealed where they belong, and not committed")
	DivideStep    = point("divide:step", "a step of a division is committed")
	ReplicaBegin  = point("replica:begin", "a chunk is about to be copied for its replicas")
	ReplicaCopied = point("replica:copied", "one of its replicas is sealed")
	RepairBegin   = point("repair:begin", "replicas that are missing are about to be made, or those too many let go")
	RepairStep    = point("repair:step", "that is committed")
	FoldBegin     = point("fold:begin", "a run of small chunks is about to be read, to make one of it")
	FoldWritten   = point("fold:written", "that chunk is sealed, and not committed")
	FoldStep      = point("fold:step", "it is committed in their place")
	OrderWritten  = point("order:written", "rows are sorted by a key or an index, and that is not committed")
)

// Hook is called for every point that is reached, on the goroutine that reaches it, often by several at once. The nil
// Hook costs a comparison.
type Hook func(Point)

// At calls the hook, unless it is nil.
func (h Hook) At(p Point) {
	if h != nil {
		h(p)
	}
}
