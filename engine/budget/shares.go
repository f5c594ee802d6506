package budget

import (
	"sync/atomic"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/csmsql/csmsql/engine/conform"
	"github.com/csmsql/csmsql/engine/ingest"
	"github.com/csmsql/csmsql/memregion"
	"github.com/csmsql/csmsql/sql/sqlerror"
)

// Shares are the parts of an engine's memory outside of the region (Config.MemoryBytes).
//
//	MemoryBytes ┌ 7/8  counted: DuckDB's buffers, hash tables, sorted runs; what does not fit there spills
//	            └ 1/8  what DuckDB does not count: vectors, values in the making, rows on their way to a client or into a chunk
//	      92 MiB       fixedBytes: DuckDB's catalogs and threads, fragments between allocations; 16 MiB of it for small blocks alone
//	      50 MiB       heapBytes: the Go program, what clients always may have, and garbage
//	       8 MiB       kernelBytes: page tables of what is not the region (whose own are 1/512 of it), threads, sockets of a hundred sessions
//
// The first three are one bound on what C code has (exec/duckdb, D8): a statement that needs more of what is not
// counted fails with 53200 as well. What Go has beyond its part C code goes without. What clients make the node keep
// beyond clientsFree DuckDB yields to Go (room). So the process' own memory stays below MemoryBytes + 150 MiB.
type Shares struct {
	Whole   int64 // MemoryBytes
	Counted int64 // DuckDB's memory_limit
	Process int64 // all that C code may have; 0: no bound
	Chunk   int64 // rows of a chunk in the making
	Parked  int64 // results that stand in another statement's way, of all sessions together
	Keys    int64 // keys of one set (transfer)
	Text    int64 // bytes of one statement's text
	Clients int64 // what clients make the node keep (package account)
	Worker  int64 // the MemoryBytes of each worker
}

const (
	fixedBytes = 92 << 20
	// KernelBytes is what the kernel has for the process, which a control group counts. 3 MiB were measured with 100
	// sessions under attack.
	KernelBytes = 8 << 20
	// uncountedPart of MemoryBytes is not DuckDB's to count.
	uncountedPart = 8
	// keyBytes is what a key may take while sets are built: one for each thread, a larger one, and all of them as one.
	keyBytes = 32
	// textPart of MemoryBytes may be the text of one statement: a tree of PostgreSQL's parser takes up to a hundred
	// times its text.
	textPart  = 256
	textLeast = 1 << 20
	// clientsPart of MemoryBytes is for what clients make the node keep, on Go's heap for the most part, and
	// clientsLeast if that is more.
	clientsPart  = 4
	clientsLeast = 32 << 20
	// GatherMost is what COPY … FROM STDIN gathers before DuckDB converts it.
	GatherMost = 8 << 20
)

// Of shares so much out.
func Of(memoryBytes int64) Shares {
	uncounted := memoryBytes / uncountedPart
	return Shares{
		Whole:   memoryBytes,
		Counted: memoryBytes - uncounted,
		Process: memoryBytes + fixedBytes,
		Chunk:   min(max(uncounted, ingest.GrowthBytes), ingest.BytesPerChunk),
		Parked:  uncounted,
		Keys:    uncounted / keyBytes,
		Text:    max(memoryBytes/textPart, textLeast),
		Clients: max(memoryBytes/clientsPart, clientsLeast),
	}
}

// Default is what queries may use: half of what a region of that cap leaves of what this process may have, but
// something in any case.
func Default(regionBytes int64) (int64, error) {
	const least = 128 << 20
	total, err := memregion.MemoryLimit()
	return max((total-regionBytes-fixedBytes)/2, least), err
}

// Parking is the memory of results that were read ahead because they stood in the way of another statement.
type Parking struct {
	bytes atomic.Int64
	Most  int64
}

// Full is the error of a result that finds no room.
func (p *Parking) Full() error {
	return sqlerror.New("53400", "suspended results of more than %d MiB stand in the way of other statements", p.Most>>20).
		WithHint("Read the first result to its end, use a second connection, or start the node with more --memory.")
}

// Take reports whether so many bytes may be held, too; give takes those off the account that were.
func (p *Parking) Take(bytes int64) bool {
	if p.bytes.Add(bytes) <= p.Most {
		return true
	}
	p.bytes.Add(-bytes)
	return false
}

// Give takes bytes off the account again.
func (p *Parking) Give(bytes int64) { p.bytes.Add(-bytes) }

// Bytes is what is held now.
func (p *Parking) Bytes() int64 { return p.bytes.Load() }

// Lot is a session's part of it, which csm.memory shows: the memory is DuckDB's, and counted there.
type Lot struct {
	Of    *Parking
	bytes atomic.Int64
}

// Bytes is what the session holds.
func (l *Lot) Bytes() int64 { return l.bytes.Load() }

// Take reports whether the batch may be held, too.
func (l *Lot) Take(batch arrow.RecordBatch) bool {
	bytes := conform.Bytes(batch)
	if !l.Of.Take(bytes) {
		return false
	}
	l.bytes.Add(bytes)
	return true
}

// Give takes a batch off again that was taken.
func (l *Lot) Give(batch arrow.RecordBatch) {
	bytes := conform.Bytes(batch)
	l.Of.Give(bytes)
	l.bytes.Add(-bytes)
}
