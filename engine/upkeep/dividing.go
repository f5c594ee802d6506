package upkeep

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/catalog/descriptor"
	"github.com/csmsql/csmsql/catalog/positions"
	"github.com/csmsql/csmsql/engine/facts"
	"github.com/csmsql/csmsql/engine/ingest"
	"github.com/csmsql/csmsql/engine/placement"
	"github.com/csmsql/csmsql/internal/faults"
	"github.com/csmsql/csmsql/sql/sqlerror"
)

// A table gets a hash while it is read and written:
//
//	commit: "hash(k) on (a, b) dividing": what is written from now on lies where the hash says; no plan relies on that
//	   │
//	   ▼
//	 a step: chunks that have rows which lie elsewhere ─► these rows, where they belong ─► commit: deleted there, appended
//	   ▲                                                                                                             │
//	   └───────── commit: chunks of which no row lives are left out (a purge) ◄──────────────────────────────────────┘
//	   │
//	   ▼ every living row was seen to lie where it belongs
//	commit: "hash(k) on (a, b)"
//
// Only the first commit and the steps can be another one's conflict. A step whose rows others change or delete
// meanwhile fails, and is tried with fewer rows: changed rows lie where they belong, so that each can be in the way
// once. Whatever ends a division, the table stays right, and the same statement goes on with it: which rows lie
// elsewhere is seen by their values.

// division is one of a table under way. For one goroutine.
type division struct {
	keeper *Keeper
	table  catalog.TableName
	to     placement.Placement
	record string // while it is under way
	most   int64  // bytes of a step
	right  map[catalog.ExtentID]bool
	all    amount // what may have to be written
}

// divisionConflicts is by how much a step is smaller after a conflict.
const divisionConflicts = 8

// beginDivision puts on record that the table is being divided, unless it is divided so: nil.
func (k *Keeper) beginDivision(c *tableChange, p placement.Placement) (*division, error) {
	if c.v.Table().Placement == p.String() {
		return nil, nil
	}
	under := p
	under.Dividing = true
	d := &division{
		keeper: k, table: c.v.Table().Name, to: p, record: under.String(), most: moveBytes,
		right: map[catalog.ExtentID]bool{}, all: amount{int64(c.v.NumChunks()), c.v.Rows(), c.v.Bytes()},
	}
	return d, c.record(under)
}

// run goes on to the end; moved (or nil) is called with what each step has moved.
func (d *division) run(ctx context.Context, moved func(amount)) error {
	d.keeper.fault.At(faults.DivideBegun)
	for conflicts := 0; ; {
		over, step, err := d.step(ctx)
		switch {
		case errors.Is(err, catalog.ErrConflict) && conflicts < moveConflicts:
			if conflicts++; step.bytes > 0 {
				d.most = max(min(d.most, step.bytes)/divisionConflicts, 1)
			}
			continue
		case err != nil || over:
			return err
		}
		conflicts, d.most = 0, min(2*d.most, moveBytes)
		d.keeper.fault.At(faults.DivideStep)
		if moved != nil {
			moved(step)
		}
	}
}

// step does one commit. Beside an error it says what was tried.
func (d *division) step(ctx context.Context) (over bool, did amount, err error) {
	var made []*catalog.Chunk
	err = d.keeper.changeTable(ctx, d.table, func(ctx context.Context, c *tableChange) (err error) {
		defer func() { // a lender may have restarted: then anything may be there, and Go's bounds checks find it
			if r := recover(); r != nil {
				err = fmt.Errorf("%w: rows that are divided: %v", descriptor.ErrData, r)
			}
		}()
		if now := c.v.Table().Placement; now != d.record {
			return sqlerror.New("55000", "the placement of table %v became %s while it was divided", d.table,
				placementOf(now))
		}
		chunks, err := d.keeper.facts.Chunks(ctx, c.v)
		if err != nil {
			return err
		}
		if first, n := empty(chunks); n > 0 {
			return d.leaveOut(ctx, c, first, n)
		}
		var rows map[int]*positions.Set
		if rows, did, err = d.elsewhere(ctx, c, chunks); err != nil {
			return err
		}
		if len(rows) == 0 {
			over = true
			return c.tx.SetPlacement(d.table, d.to.String())
		}
		made, err = d.write(ctx, c, rows)
		return err
	})
	if err == nil {
		for _, chunk := range made {
			if ids := chunk.Extents(); len(ids) > 0 { // rows of nothing but NULLs may have no bytes
				d.right[ids[0]] = true
			}
		}
	}
	return over, did, err
}

// placementOf is a placement as users write it.
func placementOf(record string) string {
	if record == "" {
		return "local"
	}
	return record
}

// empty finds chunks that follow each other and have no living rows.
func empty(chunks []facts.Located) (first, n int) {
	for i := range chunks {
		switch {
		case chunks[i].Living() == 0 && chunks[i].First.Region != 0 && n < foldChunks:
			if n == 0 {
				first = i
			}
			n++
		case n > 0:
			return first, n
		}
	}
	return first, n
}

// leaveOut takes chunks away of which no row lives.
func (d *division) leaveOut(ctx context.Context, c *tableChange, first, n int) error {
	var olds []*catalog.Chunk
	var left []*positions.Set
	for i := first; i < first+n; i++ {
		chunk, err := c.v.Chunk(ctx, i)
		if err != nil {
			return err
		}
		gone, err := c.v.Deleted(ctx, i)
		if err != nil {
			return err
		}
		olds, left = append(olds, chunk), append(left, gone)
	}
	return c.tx.Purge(ctx, d.table, first, olds, nil, left)
}

// elsewhere lists rows of chunks that have some which lie elsewhere than they belong: as many as a step takes.
func (d *division) elsewhere(ctx context.Context, c *tableChange,
	chunks []facts.Located) (rows map[int]*positions.Set, all amount, err error) {
	rows = map[int]*positions.Set{}
	for i := range chunks {
		l := &chunks[i]
		if l.First.Region == 0 || l.Living() == 0 || d.right[l.First] { // what has no bytes lies nowhere
			continue
		}
		belongs, err := d.belongs(ctx, c, i, d.keeper.node.Holder(l.First.Region).Node)
		if err != nil {
			return nil, all, err
		}
		if belongs {
			d.right[l.First] = true
			continue
		}
		bytes := l.Bytes * l.Living() / l.Rows
		n := l.Living()
		if left := d.most - all.bytes; bytes > left {
			if n = n * left / max(bytes, 1); n == 0 && len(rows) > 0 {
				break
			}
			n = max(n, 1)
			bytes = bytes * n / l.Living()
		}
		gone, err := c.v.Deleted(ctx, i)
		if err != nil {
			return nil, all, err
		}
		rows[i] = firstLiving(l.Rows, gone, n)
		all.add(amount{chunks: 1, rows: n, bytes: bytes})
		if n < l.Living() || all.bytes >= d.most {
			break
		}
	}
	return rows, all, nil
}

// firstLiving are the first n of a chunk's rows that are not deleted. Preconditions: there are so many.
func firstLiving(rows int64, gone *positions.Set, n int64) *positions.Set {
	s := positions.New(rows)
	for at := int64(0); s.Count() < n; at++ {
		if !gone.Has(at) {
			s.Add(at)
		}
	}
	return s
}

// belongs reports whether all living rows of a chunk, which lies at a node, belong there.
func (d *division) belongs(ctx context.Context, c *tableChange, i int, node string) (bool, error) {
	part := slices.Index(d.to.Nodes, node)
	if part < 0 {
		return false, nil
	}
	chunk, err := c.v.Chunk(ctx, i)
	if err != nil {
		return false, err
	}
	schema := c.v.Table().Columns
	var columns, numbers []int
	var fields []arrow.Field
	for n, name := range d.to.Columns {
		at := ingest.Index(schema, name)
		if at < 0 {
			return false, sqlerror.New("XX001", "table %v is placed by %s, and has no such columns", d.table, d.to)
		}
		columns, numbers, fields = append(columns, at), append(numbers, n), append(fields, schema.Field(at))
	}
	batch, err := d.keeper.reader.Read(ctx, c.read, d.table.String(), i, chunk, columns)
	if err != nil {
		return false, err
	}
	defer batch.Release()
	parts, err := ingest.Buckets(ctx, batch, arrow.NewSchema(fields, nil), numbers, len(d.to.Nodes))
	if err != nil {
		return false, err
	}
	gone, err := c.v.Deleted(ctx, i)
	if err != nil {
		return false, err
	}
	for at, p := range parts {
		if int(p) != part && !gone.Has(int64(at)) {
			return false, nil
		}
	}
	return true, nil
}

// write puts rows where they belong, in the place of what they are now.
func (d *division) write(ctx context.Context, c *tableChange, rows map[int]*positions.Set) ([]*catalog.Chunk, error) {
	k, table := d.keeper, c.v.Table()
	target := k.Target(ctx, table.Name, table.Columns)
	target.Limits = nil // which these rows were held to
	if err := k.Place(ctx, &target, d.to, c.v); err != nil {
		return nil, err
	}
	w := ingest.NewWriter(target)
	defer w.Abort()
	all := make([]int, table.Columns.NumFields())
	for i := range all {
		all[i] = i
	}
	for at, err := range c.v.Chunks(ctx) {
		if err != nil {
			return nil, err
		}
		if rows[at.Index] == nil {
			continue
		}
		batch, err := k.reader.Read(ctx, c.read, table.Name.String(), at.Index, at.Chunk, all)
		if err != nil {
			return nil, err
		}
		err = addRuns(ctx, w, batch, rows[at.Index].Runs())
		batch.Release()
		if err != nil {
			return nil, err
		}
	}
	made, err := w.Finish(ctx)
	if err != nil {
		return nil, err
	}
	k.fault.At(faults.DivideCopied)
	before := c.tx.Contents()
	if err := c.tx.Append(table.Name, made); err != nil {
		return nil, errors.Join(err, target.Discard(made))
	}
	if err := c.tx.DeleteRows(ctx, table.Name, rows); err != nil {
		return nil, err
	}
	c.tx.KeepKeys(before)
	return made, nil
}
