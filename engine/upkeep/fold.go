package upkeep

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/catalog/descriptor"
	"github.com/csmsql/csmsql/catalog/hugetable"
	"github.com/csmsql/csmsql/catalog/positions"
	"github.com/csmsql/csmsql/engine/compaction"
	"github.com/csmsql/csmsql/engine/ingest"
	"github.com/csmsql/csmsql/engine/member"
	"github.com/csmsql/csmsql/engine/placement"
	"github.com/csmsql/csmsql/engine/placement/replicas"
	"github.com/csmsql/csmsql/internal/faults"
)

// Small chunks are folded in the background, beside readers and writers:
//
//	tables that changed ─ chunks that are not full ─► compaction.Plan ─► a run
//	        ▲                                                              │ read in place, written as a load does
//	        └── until there is none ◄── a pause as long as that took ◄── commit: catalog's fold
//
// Of the nodes that are there one does it for each table. The new chunk lies where most of the old ones do, as far as
// the table's placement lets it. Parts of a hash stay where they are. Chunks with an origin are rebuilt as they were, and
// stay as they are until so many of their rows are deleted that they are wasteful: then their load has no origin any
// more. Rows that are deleted when a run is read are left out; those that are deleted until it is committed are deleted
// in what it has become (hugetable's H7, H8).

// foldLimits are those of a chunk of ordinary rows; foldChunks bounds how many are read for one.
func (k *Keeper) foldLimits() compaction.Limits {
	bytes := int64(ingest.GrowthBytes)
	if k.holdBytes > 0 {
		bytes = min(bytes, k.holdBytes/2)
	}
	return compaction.Limits{Rows: ingest.RowsPerChunk, Bytes: bytes, Chunks: foldChunks}
}

const foldChunks = 4096

const (
	// foldEvery is how often a node looks for tables that have changed.
	foldEvery = 500 * time.Millisecond
	// foldConflicts bounds how often a fold is tried again whose chunks have moved, or are gone.
	foldConflicts = 20
	// foldAgain is how long a table is left alone whose chunks could not be folded.
	foldAgain = time.Minute
	// foldTurn is how many runs of a table are folded before it is the next table's turn.
	foldTurn = 8
)

// Compactions remembers what was folded.
func (k *Keeper) Compactions() *compaction.Log { return &k.compactions }

// compact looks after all tables until ctx ends.
func (k *Keeper) compact(ctx context.Context) {
	c := &compactor{
		keeper: k, fine: map[catalog.TableID]uint64{}, refused: map[catalog.TableID]time.Time{},
		sorted: map[catalog.TableID]*sortedPages{},
	}
	tick := time.NewTicker(foldEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-tick.C:
			for c.look(ctx, now) {
			}
		}
	}
}

// compactor is a node's part in that. For one goroutine.
type compactor struct {
	keeper  *Keeper
	fine    map[catalog.TableID]uint64    // numbers of versions that were looked at
	refused map[catalog.TableID]time.Time // when to try again what could not be folded
	sorted  map[catalog.TableID]*sortedPages
}

func (c *compactor) pagesOf(id catalog.TableID) *sortedPages {
	if c.sorted[id] == nil {
		if len(c.sorted) >= tablesRemembered {
			clear(c.sorted)
		}
		c.sorted[id] = &sortedPages{}
	}
	return c.sorted[id]
}

func (c *compactor) isFine(v *catalog.TableVersion) bool {
	number, known := c.fine[v.Table().ID]
	return known && number == v.Version()
}

// look gives each table that has changed its turn, and reports whether one of them wants another one.
func (c *compactor) look(ctx context.Context, now time.Time) (again bool) {
	k := c.keeper
	online := []string{k.name}
	if k.node.Self != nil {
		online = k.node.Online() // without this node if it is drained, or fenced off
	}
	tables := k.catalog.Applied().Tables()
	for _, v := range tables {
		id := v.Table().ID
		if member.Steward(id, online) != k.name || c.isFine(v) || now.Before(c.refused[id]) {
			continue
		}
		folds := v.NumChunks() > compaction.SpareChunks || v.DeletedRows() > 0
		if !folds && !ordersDue(v) {
			continue
		}
		if len(c.fine)+len(c.refused) > tablesRemembered+2*len(tables) { // most of them are gone
			clear(c.fine)
			clear(c.refused)
		}
		over, err := true, error(nil)
		if folds {
			over, err = k.foldTable(ctx, v.Table().Name, false)
		}
		if err == nil && over && ordersDue(v) {
			began := time.Now()
			over, err = k.orderTable(ctx, v.Table().Name, c.pagesOf(id))
			select { // half of a processor at most, as folds
			case <-ctx.Done():
			case <-time.After(time.Since(began)):
			}
		}
		switch {
		case ctx.Err() != nil:
			return false
		case err == nil && !over:
			again = true
		case err == nil:
			c.fine[id] = v.Version() // if it has changed since it has another number, and is looked at again
		default:
			c.refused[id] = now.Add(foldAgain)
			k.log.Warn("small chunks of a table cannot be folded, or large ones sorted",
				"table", v.Table().Name.String(), "error", err)
		}
	}
	return again
}

// Vacuum folds now what can be folded of tables, to chunks as large as they may be, if that is what a statement is for.
// Some of them may be nil. Former versions are given up that are to be kept no longer.
func (k *Keeper) Vacuum(ctx context.Context, statement string, tables []*catalog.TableVersion) error {
	if statement != "VACUUM" || k.node == nil {
		return nil
	}
	for _, v := range tables {
		if v == nil {
			continue
		}
		_, err := k.foldTable(ctx, v.Table().Name, true)
		for over, known := false, (&sortedPages{}); err == nil && !over; {
			over, err = k.orderTable(ctx, v.Table().Name, known)
		}
		if err != nil {
			return member.ExplainFull(err)
		}
	}
	_, err := k.catalog.Expire(ctx, 0, time.Now())
	return err
}

// foldTable folds run after run until there is none, and reports whether that is so: in the background a table has its
// turn. A caller that asked for it waits for as many runs as there were, not for those that writers make meanwhile.
func (k *Keeper) foldTable(ctx context.Context, name catalog.TableName, asked bool) (over bool, err error) {
	turn := foldTurn
	running := k.compactions.Begin(name, asked, time.Now())
	defer func() { running.End(err, time.Now()) }()
	for conflicts, folds := 0, 0; folds < turn; {
		began := time.Now()
		run, made, runs, err := k.foldRun(ctx, name, asked)
		if asked && folds == 0 {
			turn = runs
		}
		switch {
		case err == nil && run.Chunks == 0, isUndefined(err): // it was dropped
			return true, nil
		case errors.Is(err, catalog.ErrConflict) && conflicts < foldConflicts:
			conflicts++
		case err != nil:
			return false, err
		default:
			folds++
			running.Folded(run, made)
			k.fault.At(faults.FoldStep)
		}
		if asked {
			continue
		}
		select { // half of a processor at most
		case <-ctx.Done():
			return false, ctx.Err()
		case <-time.After(time.Since(began)):
		}
	}
	return false, nil
}

// foldRun folds one of so many runs, and says which and to how many chunks: none if there is nothing to fold.
func (k *Keeper) foldRun(ctx context.Context, name catalog.TableName,
	asked bool) (run compaction.Run, made, count int, err error) {
	err = k.changeTable(ctx, name, func(ctx context.Context, c *tableChange) error {
		p, err := placement.Parse(c.v.Table().Placement)
		if err != nil {
			return err
		}
		chunks, err := k.foldable(ctx, c.v, p, asked)
		limits := k.foldLimits()
		if err != nil || !asked && !compaction.Due(chunks, limits) {
			return err
		}
		runs := compaction.Plan(chunks, limits, asked)
		if count = len(runs); count == 0 {
			return nil
		}
		run = slices.MaxFunc(runs, func(a, b compaction.Run) int { return cmp.Compare(a.Chunks, b.Chunks) })
		k.fault.At(faults.FoldBegin)
		olds, news, left, err := k.refold(ctx, c, p, run)
		if err != nil {
			return err
		}
		made = len(news)
		k.fault.At(faults.FoldWritten)
		return c.tx.Purge(ctx, name, run.First, olds, news, left)
	})
	return run, made, count, err
}

// foldTail is of how many chunks at a table's end each is looked at: small ones come there, behind any number of large
// ones.
const foldTail = 512

// foldable lists the chunks that may be folded. Pages before the table's end whose chunks are full on average are not
// looked at, unless it was asked for.
func (k *Keeper) foldable(ctx context.Context, v *catalog.TableVersion, p placement.Placement,
	asked bool) (list []compaction.Chunk, err error) {
	limits := k.foldLimits()
	takers, err := k.node.Takers(p)
	if err != nil {
		return nil, nil // nothing can be written as the placement demands: it is for another time
	}
	holders := map[uint64]replicas.Holder{}
	first := 0
	for _, ref := range v.Pages() {
		number := first
		first += ref.Chunks
		n, copies := int64(ref.Chunks), int64(max(v.Table().Replicas, 1))
		full := ref.Rows/n > limits.Rows/2 || ref.Bytes/n > limits.Bytes/2*copies
		if full && ref.Deleted == 0 && !asked && first <= v.NumChunks()-foldTail {
			continue
		}
		headers, err := v.PageExtents(ctx, ref)
		if err != nil {
			return nil, err
		}
		dead, err := v.PageDeleted(ctx, ref)
		if err != nil {
			return nil, err
		}
		for i, h := range headers {
			c := compaction.Chunk{Number: number + i, Rows: h.Rows - dead[i], Dead: dead[i]}
			for _, x := range h.Extents {
				c.Bytes += x.Range.Length
			}
			_, known := v.Origin(c.Number)
			if known && !c.Wasteful(asked) || len(h.Extents) == 0 {
				continue
			}
			region := h.Extents[0].Region
			at, looked := holders[uint64(region)]
			if !looked {
				at = k.node.Holder(region)
				holders[uint64(region)] = at
			}
			if at.State != replicas.Whole || k.reader.Damage().Has(h.Extents[0].ExtentID) {
				continue
			}
			if c.Key = p.Kind.String(); p.Kind == placement.Hash { // a part stays where it is
				if c.Key = at.Node; !slices.Contains(takers, at.Node) {
					continue
				}
			}
			list = append(list, c)
		}
	}
	return list, nil
}

// refold rewrites the rows of a run, as a load does, without those that are deleted.
func (k *Keeper) refold(ctx context.Context, change *tableChange, p placement.Placement,
	run compaction.Run) (olds, news []*catalog.Chunk, left []*positions.Set, err error) {
	defer func() { // a lender may have restarted: then anything may be there, and Go's bounds checks find it
		if r := recover(); r != nil {
			err = fmt.Errorf("%w: rows that are folded: %v", descriptor.ErrData, r)
		}
	}()
	table := change.v.Table()
	bytes := map[string]int64{}
	var living []hugetable.Position
	for i := range run.Chunks {
		at, err := change.v.At(ctx, run.First+i)
		if err != nil {
			return nil, nil, nil, err
		}
		gone, err := change.v.Deleted(ctx, at.Index)
		if err != nil {
			return nil, nil, nil, err
		}
		olds, left = append(olds, at.Chunk), append(left, gone)
		if gone.Count() == at.Rows() {
			continue
		}
		living = append(living, at)
		one := at.Descriptor().Replica(0)
		bytes[k.reader.NodeOf(one)] += one.Bytes()
	}
	if len(living) == 0 {
		return olds, nil, left, nil
	}
	target := k.Target(ctx, table.Name, table.Columns)
	target.Limits = nil // which these rows were held to
	if target.Space, err = k.foldSpace(ctx, p, bytes); err != nil {
		return nil, nil, nil, err
	}
	if target.Replicate, err = k.Replicator(table, p); err != nil {
		return nil, nil, nil, err
	}
	w := ingest.NewWriter(target)
	defer w.Abort()
	all := make([]int, table.Columns.NumFields())
	for i := range all {
		all[i] = i
	}
	for _, at := range living {
		batch, err := k.reader.Read(ctx, change.read, table.Name.String(), at.Index, at.Chunk, all)
		if err != nil {
			return nil, nil, nil, err
		}
		err = addLiving(ctx, w, change.v, at.Index, batch)
		batch.Release()
		if err != nil {
			return nil, nil, nil, err
		}
	}
	news, err = w.Finish(ctx)
	return olds, news, left, err
}

// foldSpace is the memory that the new chunk goes to: that of the node that has most of the old ones, if it takes rows
// of the placement.
func (k *Keeper) foldSpace(ctx context.Context, p placement.Placement, bytes map[string]int64) (catalog.Space, error) {
	names, err := k.node.Takers(p)
	if err != nil {
		return nil, err
	}
	if p.Kind == placement.Local && k.node.Self != nil {
		names = k.node.Online()
	}
	best := slices.MaxFunc(names, func(a, b string) int {
		return cmp.Or(cmp.Compare(bytes[a], bytes[b]), -cmp.Compare(a, b))
	})
	return k.node.SpaceOf(ctx, best)
}

// isUndefined reports whether an error says that there is no such table.
func isUndefined(err error) bool {
	var pgError interface{ SQLState() string }
	return errors.As(err, &pgError) && pgError.SQLState() == catalog.ErrUndefinedTable.SQLState()
}
