package engine

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/catalog/descriptor"
	"github.com/csmsql/csmsql/coherence"
)

// A chunk is read from one of its replicas: from this node's own memory if one is there, else from the first whose lender is there and
// whose bytes are what was sealed.
//
//	chunk ─► replica here ─✗─► replica at n1 ─✗─► replica at n2 ─► columns, in place
//	              damaged          n1 is gone
//
// What was begun to be read of a replica that fails is taken out of the statement's readings, so that the statement answers for what it used
// and nothing else (E3).

// read acquires a chunk and gives the wanted columns in place; by confirms what is made of them. table and number are for errors.
func (r *regions) read(ctx context.Context, by *readings, table string, number int, c *catalog.Chunk, columns []int) (arrow.RecordBatch, error) {
	return r.readHeld(ctx, by, nil, table, number, c, columns)
}

// readHeld is read for batches that leave: hold learns how long they are in use.
func (r *regions) readHeld(ctx context.Context, by *readings, hold descriptor.Hold, table string, number int, c *catalog.Chunk, columns []int) (arrow.RecordBatch, error) {
	if len(columns) == 0 { // only the number of rows is asked for, and the descriptor has it
		return array.NewRecordBatch(arrow.NewSchema(nil, nil), nil, c.Rows()), nil
	}
	var batch arrow.RecordBatch
	err := r.readReplica(ctx, by, table, number, c, func(d *descriptor.Descriptor) (failed, other error) {
		batch, failed = d.ProjectHeld(r.resolve, columns, hold)
		return failed, nil
	})
	if err != nil && ctx.Err() == nil {
		by.fail(err)
	}
	return batch, err
}

// readReplica acquires a replica that use can read.
func (r *regions) readReplica(ctx context.Context, by *readings, table string, number int, c *catalog.Chunk, use func(*descriptor.Descriptor) (failed, other error)) error {
	return r.eachReplica(ctx, table, number, c, func(d *descriptor.Descriptor) (failed, other error) {
		noted := by.note(table, number, d)
		if failed = r.acquire(ctx, d, by.verification); failed == nil && by.doubtful() {
			if other = by.confirm(ctx); other != nil { // another chunk, that was read before
				return nil, other
			}
		}
		if failed == nil {
			failed, other = use(d)
		}
		if failed != nil && ctx.Err() == nil {
			by.drop(noted)
		}
		return failed, other
	})
}

// eachReplica tries a chunk's replicas until one can be read. failed says what is wrong with one; any other error ends it. If all fail, the
// error is a *DamagedError.
func (r *regions) eachReplica(ctx context.Context, table string, number int, c *catalog.Chunk, try func(*descriptor.Descriptor) (failed, other error)) error {
	d := c.Descriptor()
	var none *DamagedError
	for _, i := range r.order(d) {
		one := d.Replica(i)
		failed, other := try(one)
		switch {
		case other != nil:
			return other
		case failed == nil:
			return nil
		case ctx.Err() != nil: // and not what that led to: nothing is wrong with the chunk
			return ctx.Err()
		}
		if nobody := unasked(failed); nobody != nil {
			return nobody
		}
		none = r.unread(&DamagedError{Table: table, Chunk: number, Cause: failed}, d, one, none)
	}
	return none
}

// unread notes that a replica could not be read, and gives what is to be said if no other one can: so far it was none.
func (r *regions) unread(err *DamagedError, d, one *descriptor.Descriptor, none *DamagedError) *DamagedError {
	err.Node, err.explain = r.nodeOf(one), r.explain
	if len(one.Extents) > 0 {
		err.region = one.Extents[0].Region
	}
	if r.standing == nil || err.Node == r.node || r.standing() == nil { // else the memory may hold something else by now, and nothing is wrong with it
		r.damage.note(one, err, d.Replicas() > 1)
	}
	if d.Replicas() > 1 {
		if errors.Is(err.Cause, catalog.ErrLenderGone) {
			err.Node, err.Replicas = strings.Join(r.nodesOf(d), ", "), d.Replicas()
		}
	}
	if none != nil {
		return none // replicas that are not there come last, and damage says more than absence
	}
	return err
}

// onlyOne is the order of most chunks' replicas.
var onlyOne = []int{0}

// order lists a chunk's replicas as they are tried.
func (r *regions) order(d *descriptor.Descriptor) []int {
	if d.Replicas() == 1 {
		return onlyOne
	}
	order := make([]int, d.Replicas())
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(r.rank(d.ExtentsOf(a)), r.rank(d.ExtentsOf(b))) })
	return order
}

// rank says how good a replica is to read: 0 is best.
func (r *regions) rank(extents []descriptor.Extent) int {
	region := extents[0].Region
	node, there := r.node, r.find(region) != nil
	if r.lender != nil {
		node, there = r.lender(region)
	}
	switch {
	case !there:
		return 4
	case r.lost[region] != nil:
		return 3
	case r.damage.has(extents[0].ExtentID):
		return 2
	case node != r.node:
		return 1
	}
	return 0
}

// check compares all replicas of a chunk with their checksums, once each, whoever wrote them and whether they were read before or not. The
// error is that none is whole.
func (r *regions) check(ctx context.Context, table string, number int, c *catalog.Chunk) error {
	bad, whole, err := r.damaged(ctx, table, number, c)
	if err == nil && !whole {
		return bad[0]
	}
	return err
}

// damaged finds the replicas of a chunk that are not what was sealed, or cannot be had, and whether another one is whole.
func (r *regions) damaged(ctx context.Context, table string, number int, c *catalog.Chunk) (bad []*DamagedError, whole bool, err error) {
	d := c.Descriptor()
	for _, i := range r.order(d) {
		one := d.Replica(i)
		err := r.checkReplica(ctx, one)
		if ctx.Err() != nil {
			return nil, false, ctx.Err()
		}
		if whole = whole || err == nil; err != nil {
			bad = append(bad, r.unread(&DamagedError{Table: table, Chunk: number, Cause: err}, d, one, nil))
		}
	}
	return bad, whole, nil
}

// checkReplica looks at the memory: where caches are not coherent what this machine's have of it is dropped first.
func (r *regions) checkReplica(ctx context.Context, d *descriptor.Descriptor) error {
	for i := range d.Extents {
		if r.fabric.lines != nil {
			r.reader.Release(d.Extents[i].Region, d.Extents[i].Generation)
		}
		if err := r.acquireExtent(ctx, &d.Extents[i], VerifyAlways); err != nil {
			return err
		}
	}
	return nil
}

// nodeOf is the lender of a chunk's first replica.
func (r *regions) nodeOf(d *descriptor.Descriptor) string {
	if len(d.Extents) == 0 {
		return r.node
	}
	if r.lender != nil {
		if node, _ := r.lender(d.Extents[0].Region); node != "" {
			return node
		}
	}
	if m := r.find(d.Extents[0].Region); m != nil && m.owner != "" {
		return m.owner
	}
	return r.node
}

// nodesOf are the lenders of a chunk's replicas, in their order.
func (r *regions) nodesOf(d *descriptor.Descriptor) []string {
	names := make([]string, d.Replicas())
	for i := range names {
		names[i] = r.nodeOf(d.Replica(i))
	}
	return names
}

// damageMax bounds how many damaged extents are remembered.
const damageMax = 4096

// damage is what this process found damaged. Of chunks that have other replicas it is tried last, and made anew (see repair); others are made anew
// from where their rows came (see reload).
// Safe for concurrent use.
type damage struct {
	log   *slog.Logger
	count atomic.Int64 // replicas that could not be read where another was

	mu      sync.Mutex // guards the rest; leaf lock
	extents map[catalog.ExtentID]catalog.TableName
	any     atomic.Bool // there are extents; without the lock
}

// note remembers a replica that could not be read, and says so once. others: there are some to be read instead.
func (d *damage) note(one *descriptor.Descriptor, err *DamagedError, others bool) {
	if others {
		d.count.Add(1)
	}
	if !isChecksum(err.Cause) || len(one.Extents) == 0 {
		return // its node is not there, or not yet
	}
	schema, name, _ := strings.Cut(err.Table, ".")
	d.mu.Lock()
	defer d.mu.Unlock()
	id := one.Extents[0].ExtentID
	if _, known := d.extents[id]; known {
		return
	}
	if len(d.extents) >= damageMax {
		clear(d.extents)
	}
	if d.extents == nil {
		d.extents = map[catalog.ExtentID]catalog.TableName{}
	}
	d.extents[id] = catalog.TableName{Schema: schema, Name: name}
	d.any.Store(true)
	if d.log != nil && others {
		d.log.Warn("a replica is damaged; another one is read", "table", err.Table, "chunk", err.Chunk, "node", err.Node, "error", err.Cause)
	}
}

func isChecksum(err error) bool { return errors.Is(err, coherence.ErrChecksum) }

// has tells whether the replica whose first extent that is is damaged.
func (d *damage) has(first catalog.ExtentID) bool {
	if !d.any.Load() {
		return false
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	_, damaged := d.extents[first]
	return damaged
}
