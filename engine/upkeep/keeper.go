package upkeep

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/engine/columntype"
	"github.com/csmsql/csmsql/engine/compaction"
	"github.com/csmsql/csmsql/engine/facts"
	"github.com/csmsql/csmsql/engine/ingest"
	"github.com/csmsql/csmsql/engine/lineage"
	"github.com/csmsql/csmsql/engine/member"
	"github.com/csmsql/csmsql/engine/reader"
	"github.com/csmsql/csmsql/internal/faults"
)

// Config is what a keeper works with.
type Config struct {
	// Name is the node's, and Node the node itself; nil: the process borrows, and there is nothing to be kept.
	Name string
	Node *member.Node
	// Reader reads chunks, and Facts say where they are.
	Reader *reader.Reader
	Facts  *facts.Cache
	Engine Engine
	// RepairAfter is how long a node may be away before what it had is rebuilt; negative: for ever.
	RepairAfter time.Duration
	// Compacts: small chunks are folded in the background.
	Compacts bool
	// HoldBytes is what a writer holds back before it makes a chunk of it.
	HoldBytes int64
	// Threads is how many goroutines may work on one change.
	Threads func() int
	Log     *slog.Logger
	Fault   faults.Hook
}

// Engine is what a keeper cannot do, because it takes SQL.
type Engine interface {
	// Check gives what holds chunks of a table, laid out and not yet sealed, to its checks, in a time zone; nil:
	// there are none.
	Check(table catalog.Table, zone string) (func(context.Context, arrow.RecordBatch) error, error)
	// Trustworthy is an error if what was read since faults were counted may not be relied on (E3).
	Trustworthy(ctx context.Context, faults uint64, by *reader.Readings, snapshot *catalog.Snapshot) error
	// Derive rebuilds a table from the query of its origin, and returns how many chunks it made.
	Derive(ctx context.Context, table catalog.Table, origin string) (chunks int, err error)
	// Files reads files once more.
	Files() Files
}

// Files read files as they were read when they were loaded. For one goroutine.
type Files interface {
	// Read gives a file's rows, as a table's of these columns. Batches are add's while it runs.
	Read(ctx context.Context, f *lineage.File, columns *arrow.Schema, add func(arrow.RecordBatch) error) error
	Close()
}

// Keeper keeps the chunks of tables where they should lie. Safe for concurrent use.
type Keeper struct {
	name        string
	node        *member.Node     // nil in a borrower
	catalog     *catalog.Catalog // likewise
	reader      *reader.Reader
	facts       *facts.Cache
	engine      Engine
	repairAfter time.Duration
	holdBytes   int64
	threads     func() int
	log         *slog.Logger
	fault       faults.Hook

	repaired, reloaded atomic.Int64 // chunks
	compactions        compaction.Log
	compacts           bool
}

// New makes a keeper, which does nothing of itself: see Repair.
func New(c Config) *Keeper {
	k := &Keeper{
		name: c.Name, node: c.Node, reader: c.Reader, facts: c.Facts, engine: c.Engine,
		repairAfter: c.RepairAfter, holdBytes: c.HoldBytes, threads: c.Threads, log: c.Log, fault: c.Fault,
		compacts: c.Compacts,
	}
	if c.Node != nil {
		k.catalog = c.Node.Catalog
	}
	return k
}

// Keep looks after all tables until ctx ends: it makes replicas that are missing, has rows that wait sealed, and folds
// small chunks; and it sees to it that nothing is kept of versions that are no more.
func (k *Keeper) Keep(ctx context.Context) {
	var all sync.WaitGroup
	defer all.Wait()
	if k.Repairs() {
		all.Go(func() { k.Repair(ctx) })
	}
	if k.compacts {
		all.Go(func() { k.compact(ctx) })
	}
	if k.catalog != nil {
		all.Go(func() { k.forget(ctx) })
		all.Go(func() { k.expire(ctx) })
		all.Go(func() { k.seal(ctx) })
	}
}

// expireEvery is how often it is looked for former versions that are to be kept no longer.
const expireEvery = time.Second

// expire gives them up. What one node has given up the others find gone.
func (k *Keeper) expire(ctx context.Context) {
	tick := time.NewTicker(expireEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-tick.C:
			if _, err := k.catalog.Expire(ctx, 0, now); err != nil && ctx.Err() == nil {
				k.log.Warn("former versions of tables cannot be given up", "error", err)
			}
		}
	}
}

// sealEvery is how long rows of small INSERTs wait at most to become a chunk, if no statement does.
const sealEvery = time.Second

// seal makes them one, so that what was set aside for them comes back.
func (k *Keeper) seal(ctx context.Context) {
	tick := time.NewTicker(sealEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			if err := k.catalog.SealDeltas(ctx); err != nil && ctx.Err() == nil {
				k.log.Warn("rows that were inserted are in no chunk yet", "error", err)
			}
		}
	}
}

// forgetEvery is how often it is looked for versions that are no more.
const forgetEvery = time.Second

// forget has facts of former versions forgotten: they keep the versions, and all that these have.
func (k *Keeper) forget(ctx context.Context) {
	tick := time.NewTicker(forgetEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			k.facts.Keep(k.catalog.Applied())
		}
	}
}

// Repaired counts chunks whose replicas were put right, Reloaded those that were rebuilt from where their rows came.
func (k *Keeper) Repaired() int64 { return k.repaired.Load() }

// Reloaded is described at Repaired.
func (k *Keeper) Reloaded() int64 { return k.reloaded.Load() }

// Target is where chunks go that lie in this node's memory; TargetFor knows a table's placement.
func (k *Keeper) Target(ctx context.Context, name catalog.TableName, columns *arrow.Schema) ingest.Target {
	return ingest.Target{
		Space: k.node.Held(ctx, k.node.Space), Owner: name.String(), Table: name, Schema: columns,
		HoldBytes: k.holdBytes, Discard: k.node.Discard, Limits: LimitsOf(columns),
	}
}

// LimitsOf says how long the texts of a table's columns may be.
func LimitsOf(columns *arrow.Schema) (list []ingest.Limit) {
	for i, f := range columns.Fields() {
		if d, ok := columntype.Of(f); ok && d.Length > 0 {
			list = append(list, ingest.Limit{Column: i, Characters: d.Length, Blanks: d.Fixed(), Type: d.String()})
		}
	}
	return list
}
