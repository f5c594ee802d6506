package engine

import (
	"sync/atomic"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/csmsql/csmsql/engine/conform"
	"github.com/csmsql/csmsql/engine/ingest"
	"github.com/csmsql/csmsql/engine/scan"
	"github.com/csmsql/csmsql/memregion"
	"github.com/csmsql/csmsql/sql/sqlerror"
)

// shares says who of an engine may have how much memory outside of the region (Config.MemoryBytes).
//
//	MemoryBytes ┌ 7/8  counted: DuckDB's buffers, hash tables, sorted runs; what does not fit there spills
//	            └ 1/8  what DuckDB does not count: vectors, values in the making, rows on their way to a client or into a chunk
//	      92 MiB       fixedBytes: DuckDB's catalogs and threads, fragments between allocations; 16 MiB of it for small blocks alone
//	      50 MiB       heapBytes: the Go program, what clients always may have, and garbage
//	       8 MiB       kernelBytes: page tables of what is not the region (whose own are 1/512 of it), threads, sockets of a hundred sessions
//
// The first three are one bound on what C code has (exec/duckdb, D8): a statement that needs more of what nobody counts fails with 53200 as
// well. What Go has beyond its part C code goes without. What clients make the node keep beyond clientsFree DuckDB yields to Go (room). So the process' own memory stays below MemoryBytes + 150 MiB.
type shares struct {
	whole   int64 // MemoryBytes
	counted int64 // DuckDB's memory_limit
	process int64 // all that C code may have; 0: no bound
	chunk   int64 // rows of a chunk in the making
	parked  int64 // results that stand in another statement's way, of all sessions together
	keys    int64 // keys of one set (transfer)
	text    int64 // bytes of one statement's text
	clients int64 // what clients make the node keep (package account)
	worker  int64 // the MemoryBytes of each worker
}

const (
	fixedBytes = 92 << 20
	// kernelBytes is what the kernel has for the process, which a control group counts. 3 MiB were measured with 100 sessions under attack.
	kernelBytes = 8 << 20
	// uncountedPart of MemoryBytes is not DuckDB's to count.
	uncountedPart = 8
	// keyBytes is what a key may take while sets are built: one for each thread, a larger one, and all of them as one.
	keyBytes = 32
	// textPart of MemoryBytes may be the text of one statement: a tree of PostgreSQL's parser takes up to a hundred times its text.
	textPart  = 256
	textLeast = 1 << 20
	// clientsPart of MemoryBytes is for what clients make the node keep, on Go's heap for the most part, and clientsLeast if that is more.
	clientsPart  = 4
	clientsLeast = 32 << 20
	// gatherMost is what COPY … FROM STDIN gathers before DuckDB converts it.
	gatherMost = 8 << 20
)

func sharesOf(memoryBytes int64) shares {
	uncounted := memoryBytes / uncountedPart
	return shares{
		whole:   memoryBytes,
		counted: memoryBytes - uncounted,
		process: memoryBytes + fixedBytes,
		chunk:   min(max(uncounted, ingest.GrowthBytes), ingest.BytesPerChunk),
		parked:  uncounted,
		keys:    min(uncounted/keyBytes, scan.KeysMost),
		text:    max(memoryBytes/textPart, textLeast),
		clients: max(memoryBytes/clientsPart, clientsLeast),
	}
}

// defaultMemory is what queries may use: half of what a region of that cap leaves of what this process may have, but
// something in any case.
func defaultMemory(regionBytes int64) (int64, error) {
	const least = 128 << 20
	total, err := memregion.MemoryLimit()
	return max((total-regionBytes-fixedBytes)/2, least), err
}

// MemoryBytes is what queries may use outside of the region: Config.MemoryBytes, or what was chosen in its place.
func (e *Engine) MemoryBytes() int64 { return e.memory.whole }

// Fits tells whether there is memory to parse a text of that length (54000). Prepare and Execute ask, too; whoever parses a text before
// them asks first.
func (s *Session) Fits(sql string) error {
	if most := s.engine.memory.text; int64(len(sql)) > most {
		return sqlerror.New("54000", "a statement of %d bytes is too long: it may have %d", len(sql), most).
			WithHint("COPY takes any number of rows, several statements take some each; or start the node with more --memory, of which a text may have 1/256.")
	}
	return nil
}

// parking is the memory of results that were read ahead because they stood in the way of another statement.
type parking struct {
	bytes atomic.Int64
	most  int64
}

// take tells whether so many bytes may be held, too; give takes those off the account that were.
func (p *parking) take(bytes int64) bool {
	if p.bytes.Add(bytes) <= p.most {
		return true
	}
	p.bytes.Add(-bytes)
	return false
}

func (p *parking) give(bytes int64) { p.bytes.Add(-bytes) }

// lot is a session's part of it, which csm.memory shows: the memory is DuckDB's, and counted there.
type lot struct {
	of    *parking
	bytes atomic.Int64
}

func (l *lot) take(batch arrow.RecordBatch) bool {
	bytes := conform.Bytes(batch)
	if !l.of.take(bytes) {
		return false
	}
	l.bytes.Add(bytes)
	return true
}

func (l *lot) give(batch arrow.RecordBatch) {
	bytes := conform.Bytes(batch)
	l.of.give(bytes)
	l.bytes.Add(-bytes)
}
