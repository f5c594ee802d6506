package budget

import (
	"context"
	"math"
	"runtime/debug"
	"runtime/metrics"
	"sync"
	"time"

	"github.com/csmsql/csmsql/engine/account"
	"github.com/csmsql/csmsql/exec/duckdb"
	"github.com/csmsql/csmsql/internal/idlethreads"
)

// Room is where memory for what clients make the node keep comes from: DuckDB's, byte for byte and an eighth more,
// which Go's collector needs.
//
//	MemoryBytes + 150 MiB ┌ C code:  MemoryBytes + fixedBytes - yielded      (DuckDB's memory_limit: 7/8 of MemoryBytes - yielded)
//	                      │ Go:      heapBytes                + yielded      (Config.Heap)
//	                      └ kernel:  kernelBytes
//
// When clients have given much back, a goroutine returns it: Go's garbage to the system, and what the account does not
// need to DuckDB.
type Room struct {
	db      *duckdb.Database
	account *account.Node
	heap    func(bytes int64) // nil: it is another program's process
	threads func() int
	stop    func() // ends the goroutine, and waits for it; nil: there is none

	mu    sync.Mutex // guards the rest
	asked int64
}

const (
	// clientsFree is what clients have before DuckDB yields memory: heapBytes has it.
	clientsFree = 8 << 20
	// HeapBytes is what Go has while clients keep no more than clientsFree: the program's 20 MiB, that, and as much for
	// the collector.
	HeapBytes = 50 << 20
	// roomSteps of what clients may keep are asked for at once.
	roomSteps = 32
	roomLeast = 1 << 20
	// settleEvery is how often a collection of Go's garbage is worth it, so that others have its memory; after failures
	// it is tried less and less often.
	settleEvery  = time.Second
	settleSeldom = 32 * time.Second
	// tidyEvery is how often a node looks for threads that are not needed, and for memory that nothing else would give
	// back.
	tidyEvery = 20 * time.Second
	// keptLeast, and one keptPart of what Go uses, is what is worth to be returned.
	keptLeast = 1 << 20
	keptPart  = 16
)

// NewRoom takes from db what account asks for. heap is called with how much Go may have, nil: it is another program's
// process. threads is how many threads are needed.
func NewRoom(db *duckdb.Database, account *account.Node, heap func(bytes int64), threads func() int) *Room {
	return &Room{db: db, account: account, heap: heap, threads: threads}
}

// Source is what an account asks for memory, of which clients may keep the most given.
func (r *Room) Source(most int64) account.Source {
	return account.Source{Free: clientsFree, Step: max(most/roomSteps, roomLeast), Ask: r.ask}
}

// yielded is what DuckDB does without when clients have so many bytes beyond clientsFree.
func yielded(bytes int64) int64 { return bytes + bytes/8 }

// ask implements account.Source. What is taken from DuckDB is taken before Go may have it, and the other way round.
func (r *Room) ask(bytes int64) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if bytes >= r.asked {
		if !r.db.Yield(yielded(bytes)) {
			return false
		}
		r.asked = bytes
		r.limitHeap(bytes)
		return true
	}
	if !r.limitHeap(bytes) {
		r.limitHeap(r.asked)
		return false
	}
	if !r.db.Yield(yielded(bytes)) {
		return false
	}
	r.asked = bytes
	return true
}

// limitHeap says how much Go may have, and reports whether it has no more. Go's garbage stays for as long as nothing
// is allocated, so that less needs a collection. Requires mu.
func (r *Room) limitHeap(bytes int64) bool {
	limit := r.heap
	if limit == nil {
		return true
	}
	most := HeapBytes + yielded(bytes)
	limit(most)
	if actual := debug.SetMemoryLimit(-1); actual < math.MaxInt64 { // it may be more, by GOMEMLIMIT, or for etcd
		duckdb.LimitHeap(actual)
	}
	if bytes >= r.asked {
		return true
	}
	debug.FreeOSMemory()
	_, ofGo := duckdb.ProcessMemory()
	return ofGo <= most
}

// Close ends what follow began, and waits for it; nil is closed.
func (r *Room) Close() {
	if r != nil && r.stop != nil {
		r.stop()
	}
}

// Follow limits what Go may have, and has a goroutine return what clients have given back, until close.
func (r *Room) Follow() {
	r.limitHeap(0)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	r.stop = sync.OnceFunc(func() {
		cancel()
		<-ended
	})
	go func() {
		defer close(ended)
		again := time.NewTicker(tidyEvery)
		defer again.Stop()
		var pause time.Duration
		var due <-chan time.Time // nil: nothing has fallen since the last one
		for {
			select {
			case <-ctx.Done():
				return
			case <-r.account.Fallen():
				if due == nil { // what comes and goes settles first
					pause = settleEvery
					due = time.After(pause)
				}
			case <-due:
				due = nil
				if !r.settle() { // memory that is in use: again, less and less often
					pause = min(2*pause, settleSeldom)
					due = time.After(pause)
				}
			case <-again.C:
				r.tidy()
			}
		}
	}()
}

// settle reports whether DuckDB has what clients do without, and the system what Go does.
func (r *Room) settle() bool {
	before := r.now()
	settled := r.account.Settle()
	if settled && r.now() == before && r.heap != nil {
		debug.FreeOSMemory() // otherwise ask has done it
	}
	return settled
}

// tidy ends threads that were for clients that have left. It returns the memory kept for idle threads, and what Go
// keeps of its heap if that is worth a collection. On an idle node nothing else returns them.
func (r *Room) tidy() {
	if r.heap == nil {
		return
	}
	if idlethreads.Rest(r.threads(), duckdb.GiveBackThread) {
		duckdb.GiveBack()
	}
	if kept, used := goHeap(); worthFreeing(kept, used) {
		debug.FreeOSMemory()
	}
}

// worthFreeing reports whether what Go keeps beside what it uses is worth a collection of all that it uses.
func worthFreeing(kept, used int64) bool { return kept >= keptLeast && kept >= used/keptPart }

// goHeap is what Go keeps of its heap, free and not returned, and what it uses.
func goHeap() (kept, used int64) {
	samples := []metrics.Sample{{Name: "/memory/classes/heap/free:bytes"}, {Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(samples)
	return int64(samples[0].Value.Uint64()), int64(samples[1].Value.Uint64())
}

func (r *Room) now() int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.asked
}
