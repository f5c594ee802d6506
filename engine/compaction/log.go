package compaction

import (
	"slices"
	"sync"
	"time"

	"github.com/csmsql/csmsql/catalog"
)

// Record is what was done to one table at once.
type Record struct {
	Table   catalog.TableName
	Started time.Time
	Took    time.Duration
	Running bool
	Asked   bool // by VACUUM
	// Folded is how many chunks were folded, Made how many they have become, with so many rows, and LeftOut how many
	// deleted rows are in none of them; Bytes is what those that were folded took.
	Folded, Made         int
	Rows, LeftOut, Bytes int64
	Failure              string
}

// Totals are counted since the process began.
type Totals struct {
	Folds, Chunks, Rows, LeftOut, Bytes, Failures int64
}

// recordsMost is how many records are kept.
const recordsMost = 128

// Log remembers the latest records. The zero value is ready. Safe for concurrent use.
type Log struct {
	mu     sync.Mutex
	last   []*Record // the oldest first
	totals Totals
}

// Running is one that has not ended. For one goroutine.
type Running struct {
	log    *Log
	record *Record
	listed bool
}

// Begin begins one, which is not listed before it has folded something or failed.
func (l *Log) Begin(table catalog.TableName, asked bool, now time.Time) *Running {
	return &Running{log: l, record: &Record{Table: table, Started: now, Running: true, Asked: asked}}
}

// Folded notes one fold.
func (r *Running) Folded(run Run, made int) {
	r.log.mu.Lock()
	defer r.log.mu.Unlock()
	r.list()
	r.record.Folded += run.Chunks
	r.record.Made += made
	r.record.Rows += run.Rows
	r.record.LeftOut += run.Dead
	r.record.Bytes += run.Bytes
	t := &r.log.totals
	t.Folds++
	t.Chunks += int64(run.Chunks)
	t.Rows += run.Rows
	t.LeftOut += run.Dead
	t.Bytes += run.Bytes
}

// list requires log.mu.
func (r *Running) list() {
	if r.listed {
		return
	}
	r.listed = true
	if len(r.log.last) == recordsMost {
		r.log.last = slices.Delete(r.log.last, 0, 1)
	}
	r.log.last = append(r.log.last, r.record)
}

// End ends it, with why it could not go on or nil.
func (r *Running) End(err error, now time.Time) {
	r.log.mu.Lock()
	defer r.log.mu.Unlock()
	if err != nil {
		r.list()
		r.record.Failure = err.Error()
		r.log.totals.Failures++
	}
	r.record.Took, r.record.Running = now.Sub(r.record.Started), false
}

// List gives what is remembered, the oldest first; Took of what is running is until now.
func (l *Log) List(now time.Time) []Record {
	l.mu.Lock()
	defer l.mu.Unlock()
	list := make([]Record, len(l.last))
	for i, r := range l.last {
		if list[i] = *r; r.Running {
			list[i].Took = now.Sub(r.Started)
		}
	}
	return list
}

// Totals are those of all.
func (l *Log) Totals() Totals {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.totals
}
