package reader

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/catalog/descriptor"
)

// A chunk is read from one of its replicas: from this node's own memory if one is there, else from the first whose
// lender is there and whose bytes are what was sealed.
//
//	chunk ─► replica here ─✗─► replica at n1 ─✗─► replica at n2 ─► columns, in place
//	              damaged          n1 is gone
//
// What was begun to be read of a replica that fails is taken out of the statement's readings, so that the statement
// answers for what it used and nothing else (E3).

// Read acquires a chunk and gives the wanted columns in place; by confirms what is made of them. table and number are
// for errors.
func (r *Reader) Read(ctx context.Context, by *Readings, table string, number int, c *catalog.Chunk,
	columns []int) (arrow.RecordBatch, error) {
	return r.ReadHeld(ctx, by, nil, table, number, c, columns)
}

// ReadHeld is read for batches that leave: hold learns how long they are in use.
func (r *Reader) ReadHeld(ctx context.Context, by *Readings, hold descriptor.Hold, table string, number int,
	c *catalog.Chunk, columns []int) (arrow.RecordBatch, error) {
	if len(columns) == 0 { // only the number of rows is asked for, and the descriptor has it
		return array.NewRecordBatch(arrow.NewSchema(nil, nil), nil, c.Rows()), nil
	}
	if c.Descriptor().Values != nil {
		return r.readMissing(ctx, by, hold, table, number, c, columns)
	}
	return r.readStored(ctx, by, hold, table, number, c, columns)
}

// readStored is ReadHeld of columns that have bytes.
func (r *Reader) readStored(ctx context.Context, by *Readings, hold descriptor.Hold, table string, number int,
	c *catalog.Chunk, columns []int) (arrow.RecordBatch, error) {
	var batch arrow.RecordBatch
	err := r.ReadReplica(ctx, by, table, number, c, func(d *descriptor.Descriptor) (failed, other error) {
		batch, failed = d.ProjectHeld(r.Resolve, columns, hold)
		return failed, nil
	})
	if err != nil && ctx.Err() == nil {
		by.fail(err)
	}
	return batch, err
}

// ReadReplica acquires a replica that use can read.
func (r *Reader) ReadReplica(ctx context.Context, by *Readings, table string, number int, c *catalog.Chunk,
	use func(*descriptor.Descriptor) (failed, other error)) error {
	return r.eachReplica(ctx, by.leasedElsewhere, table, number, c, func(d *descriptor.Descriptor) (failed, other error) {
		noted := by.note(table, number, d)
		if failed = r.acquire(ctx, d, by.verification); failed == nil && by.doubtful() {
			if other = by.Confirm(ctx); other != nil { // another chunk, that was read before
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

// EachReplica tries a chunk's replicas until one can be read. failed says what is wrong with one; any other error
// ends it. If all fail, the error is a *DamagedError.
func (r *Reader) EachReplica(ctx context.Context, table string, number int, c *catalog.Chunk,
	try func(*descriptor.Descriptor) (failed, other error)) error {
	return r.eachReplica(ctx, false, table, number, c, try)
}

func (r *Reader) eachReplica(ctx context.Context, leasedElsewhere bool, table string, number int, c *catalog.Chunk,
	try func(*descriptor.Descriptor) (failed, other error)) error {
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
		if cause := unanswered(failed); cause != nil {
			return cause
		}
		none = r.unread(&DamagedError{Table: table, Chunk: number, Cause: failed}, leasedElsewhere, d, one, none)
	}
	return none
}

// unread notes that a replica could not be read, and gives what is to be said if no other one can: so far it was none.
func (r *Reader) unread(err *DamagedError, leasedElsewhere bool, d, one *descriptor.Descriptor,
	none *DamagedError) *DamagedError {
	err.Node, err.explain = r.NodeOf(one), r.config.Explain
	if len(one.Extents) > 0 {
		err.Region = one.Extents[0].Region
	}
	if r.holds(err.Node, one, leasedElsewhere) {
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

// holds reports whether the memory of a replica certainly still is the chunk's. Else it may hold something else by now,
// and nothing is wrong with it.
func (r *Reader) holds(node string, one *descriptor.Descriptor, leasedElsewhere bool) bool {
	switch {
	case node != r.config.Node:
		return !leasedElsewhere && (r.config.Standing == nil || r.config.Standing() == nil)
	case r.config.Published == nil:
		return true
	}
	return !slices.ContainsFunc(one.Extents, func(x descriptor.Extent) bool { return !r.config.Published(x.ExtentID) })
}

// onlyOne is the order of most chunks' replicas.
var onlyOne = []int{0}

// order lists a chunk's replicas as they are tried.
func (r *Reader) order(d *descriptor.Descriptor) []int {
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
func (r *Reader) rank(extents []descriptor.Extent) int {
	region := extents[0].Region
	node, there := r.config.Node, r.Find(region) != nil
	if r.config.Lender != nil {
		node, there = r.config.Lender(region)
	}
	switch {
	case !there:
		return 4
	case r.config.Lost[region] != nil:
		return 3
	case r.damage.Has(extents[0].ExtentID):
		return 2
	case node != r.config.Node:
		return 1
	}
	return 0
}

// Check compares all replicas of a chunk with their checksums, once each, whatever wrote them and whether they were
// read before or not. The error is that none is whole.
func (r *Reader) Check(ctx context.Context, table string, number int, c *catalog.Chunk) error {
	bad, whole, err := r.Damaged(ctx, table, number, c)
	if err == nil && !whole {
		return bad[0]
	}
	return err
}

// Damaged finds the replicas of a chunk that are not what was sealed, or cannot be had, and whether another one is
// whole.
func (r *Reader) Damaged(ctx context.Context, table string, number int,
	c *catalog.Chunk) (bad []*DamagedError, whole bool, err error) {
	d := c.Descriptor()
	for _, i := range r.order(d) {
		one := d.Replica(i)
		err := r.checkReplica(ctx, one)
		if ctx.Err() != nil {
			return nil, false, ctx.Err()
		}
		if whole = whole || err == nil; err != nil {
			bad = append(bad, r.unread(&DamagedError{Table: table, Chunk: number, Cause: err}, false, d, one, nil))
		}
	}
	return bad, whole, nil
}

// checkReplica looks at the memory: where caches are not coherent what this machine's have of it is dropped first.
func (r *Reader) checkReplica(ctx context.Context, d *descriptor.Descriptor) error {
	for i := range d.Extents {
		if r.config.Fabric.Lines != nil {
			r.acquired.Release(d.Extents[i].Region, d.Extents[i].Generation)
		}
		if err := r.AcquireExtent(ctx, &d.Extents[i], VerifyAlways); err != nil {
			return err
		}
	}
	return nil
}

// NodeOf is the lender of a chunk's first replica.
func (r *Reader) NodeOf(d *descriptor.Descriptor) string {
	if len(d.Extents) == 0 {
		return r.config.Node
	}
	if r.config.Lender != nil {
		if node, _ := r.config.Lender(d.Extents[0].Region); node != "" {
			return node
		}
	}
	if m := r.Find(d.Extents[0].Region); m != nil && m.owner != "" {
		return m.owner
	}
	return r.config.Node
}

// nodesOf are the lenders of a chunk's replicas, in their order.
func (r *Reader) nodesOf(d *descriptor.Descriptor) []string {
	names := make([]string, d.Replicas())
	for i := range names {
		names[i] = r.NodeOf(d.Replica(i))
	}
	return names
}
