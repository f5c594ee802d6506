package upkeep

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/catalog/descriptor"
	"github.com/csmsql/csmsql/catalog/hugetable"
	"github.com/csmsql/csmsql/engine/constraint"
	"github.com/csmsql/csmsql/engine/ingest"
	"github.com/csmsql/csmsql/engine/order"
	"github.com/csmsql/csmsql/engine/placement/replicas"
	"github.com/csmsql/csmsql/engine/reader"
	"github.com/csmsql/csmsql/internal/faults"
	"github.com/csmsql/csmsql/sql/sqlerror"
)

// Chunks of many rows get orders by the columns of their table's keys and indexes, beside what they have, and lose
// those that nothing asks for any more:
//
//	CREATE INDEX ─► Order, in its transaction ─┐
//	VACUUM, and compact, in the background ────┴► key columns, in place ─► positions, sorted and sealed
//	                                                    the same chunk, with an extent more ◄───┘
//
// Where an order is missing, all rows of the chunk are looked at: nothing depends on it but time.

// sortedRows is how many rows a chunk has at least that gets orders: fewer are looked at as fast.
const sortedRows = 8192

// sortedStep bounds the rows of the chunks that one commit gives orders to.
const sortedStep = 8 << 20

// Order gives all chunks of a table the orders that its keys and indexes ask for, within a transaction.
func (k *Keeper) Order(ctx context.Context, tx *catalog.Transaction, name catalog.TableName) error {
	v, ok := tx.Contents().Table(name)
	if !ok {
		return sqlerror.New("42P01", "relation %q does not exist", name.String())
	}
	by := k.reader.Readings(k.reader.Verification())
	made, _, err := k.sort(ctx, by, v, 0, &sortedPages{})
	if err != nil || len(made) == 0 {
		return err
	}
	if err := by.Confirm(ctx); err != nil {
		return errors.Join(err, k.discardAdded(made))
	}
	return tx.ReplaceChunks(ctx, name, made)
}

// sortedPages are those of a table whose chunks have all orders that they are to have.
type sortedPages struct {
	wanted string
	pages  map[catalog.PageID]bool
}

// of are those under which the chunks have these orders, and which are still the version's.
func (s *sortedPages) of(v *catalog.TableVersion, wanted [][]int) map[catalog.PageID]bool {
	last := s.pages
	s.pages = map[catalog.PageID]bool{}
	words := fmt.Sprint(wanted, v.Table().Columns.Fields())
	if s.wanted == words {
		for _, ref := range v.Pages() {
			if last[ref.ID] {
				s.pages[ref.ID] = true
			}
		}
	}
	s.wanted = words
	return s.pages
}

// ordersDue reports whether chunks of a version may have other orders than they are to have. Of a small table it costs
// nothing: a node may have thousands of them.
func ordersDue(v *catalog.TableVersion) bool {
	if v.StoredRows() < sortedRows && !v.HasOrders() {
		return false
	}
	wanted, err := ordersOf(v.Table())
	return err == nil && (len(wanted) > 0 || v.HasOrders())
}

// ordersOf are the columns, by position, by which chunks of a table are to be sorted.
func ordersOf(table catalog.Table) (wanted [][]int, err error) {
	list, err := constraint.Of(table.Columns)
	if err != nil {
		return nil, sqlerror.New("XX001", "table %v: %v", table.Name, err)
	}
	for _, names := range constraint.Sorted(list) {
		var columns []int
		for _, name := range names {
			i := ingest.Index(table.Columns, name)
			if i < 0 || !order.CanOrder(table.Columns.Field(i).Type) {
				columns = nil
				break
			}
			columns = append(columns, i)
		}
		if columns != nil {
			wanted = append(wanted, columns)
		}
	}
	return wanted, nil
}

// orderTable gives some chunks of a table their orders, and reports whether that were all.
func (k *Keeper) orderTable(ctx context.Context, name catalog.TableName, known *sortedPages) (over bool, err error) {
	err = k.changeTable(ctx, name, func(ctx context.Context, c *tableChange) error {
		made, all, err := k.sort(ctx, c.read, c.v, sortedStep, known)
		if over = all; err != nil || len(made) == 0 {
			return err
		}
		k.fault.At(faults.OrderWritten)
		return c.tx.ReplaceChunks(ctx, name, made)
	})
	if errors.Is(err, catalog.ErrConflict) { // another transaction moved a chunk
		return false, nil
	}
	return over || isUndefined(err), keptUndefined(err)
}

func keptUndefined(err error) error {
	if isUndefined(err) { // it was dropped
		return nil
	}
	return err
}

// sort makes orders that chunks lack, until these have so many rows; 0: all. Pages that are known to have theirs are
// not looked at. On error nothing is held for what was made.
func (k *Keeper) sort(ctx context.Context, by *reader.Readings, v *catalog.TableVersion, rows int64,
	known *sortedPages) (made map[int]catalog.Replacement, all bool, err error) {
	wanted, err := ordersOf(v.Table())
	if err != nil || len(wanted) == 0 && !v.HasOrders() {
		return nil, true, err
	}
	made = map[int]catalog.Replacement{}
	defer func() {
		if err != nil {
			err = errors.Join(err, k.discardAdded(made))
		}
	}()
	pages, number, left := known.of(v, wanted), 0, rows
	for _, ref := range v.Pages() {
		before, whole := len(made), true
		for i := number; i < number+ref.Chunks && !pages[ref.ID]; i++ {
			if rows > 0 && left <= 0 {
				return made, false, nil
			}
			n, can, err := k.sortChunk(ctx, by, v, i, wanted, made)
			if err != nil {
				return nil, false, err
			}
			left, whole = left-n, whole && can
		}
		if number += ref.Chunks; len(made) == before && whole {
			pages[ref.ID] = true
		}
	}
	for ; number < v.NumChunks(); number++ { // the transaction's own
		if _, _, err := k.sortChunk(ctx, by, v, number, wanted, made); err != nil {
			return nil, false, err
		}
	}
	return made, true, nil
}

// sortChunk makes the orders that a chunk lacks, if it can get any now, and says of how many rows.
func (k *Keeper) sortChunk(ctx context.Context, by *reader.Readings, v *catalog.TableVersion, number int,
	wanted [][]int, made map[int]catalog.Replacement) (rows int64, can bool, err error) {
	p, err := v.At(ctx, number)
	if err != nil {
		return 0, false, err
	}
	if can = len(p.Extents()) == 0 || k.canExtend(p.Chunk); !can {
		return 0, false, nil
	}
	next, err := k.sorted(ctx, by, v, p, wanted)
	if err != nil || next == nil {
		return 0, true, err
	}
	made[number] = catalog.Replacement{Old: p.Chunk, New: next}
	return p.Rows(), true, nil
}

// discardAdded gives back what came by replacements that are not committed.
func (k *Keeper) discardAdded(made map[int]catalog.Replacement) (err error) {
	for _, r := range made {
		if added := r.Added(); len(added) > 0 {
			err = errors.Join(err, k.node.Lender.Discard(added...))
		}
	}
	return err
}

// sorted is a chunk with the orders that are wanted; nil: it has them.
func (k *Keeper) sorted(ctx context.Context, by *reader.Readings, v *catalog.TableVersion, p catalog.Position,
	wanted [][]int) (next *catalog.Chunk, err error) {
	isWanted := func(columns []int) bool {
		return slices.ContainsFunc(wanted, func(w []int) bool { return slices.Equal(w, columns) })
	}
	var missing [][]int
	if p.Rows() >= sortedRows && p.Rows() <= math.MaxUint32 && len(p.Extents()) > 0 {
		for _, columns := range wanted {
			stored := !slices.ContainsFunc(columns, func(i int) bool { return p.Descriptor().Value(i) != nil })
			if stored && !v.HasOrder(p.Chunk, columns) {
				missing = append(missing, columns)
			}
		}
	}
	if len(missing) == 0 && !v.HasOtherOrders(p.Chunk, isWanted) {
		return nil, nil
	}
	var add []hugetable.Order
	defer func() {
		if err != nil {
			for _, o := range add {
				if o.Rows != nil {
					err = errors.Join(err, k.node.Lender.Discard(o.Rows.Extents()...))
				}
			}
		}
	}()
	for _, columns := range missing {
		o, known, err := k.order(ctx, by, v, p, columns)
		if err != nil {
			return nil, err
		}
		if known {
			add = append(add, o)
		}
	}
	if len(add) == 0 && !v.HasOtherOrders(p.Chunk, isWanted) {
		return nil, nil
	}
	return v.WithOrders(p.Chunk, isWanted, add...)
}

// canExtend reports whether a chunk can get extents wherever it lies.
func (k *Keeper) canExtend(c *catalog.Chunk) bool {
	for i := range c.Replicas() {
		first := c.Descriptor().ExtentsOf(i)[0]
		if at := k.node.Holder(first.Region); at.State != replicas.Whole || k.reader.Damage().Has(first.ExtentID) {
			return false
		}
	}
	return true
}

// order sorts a chunk's rows by columns; not known: they cannot be compared.
func (k *Keeper) order(ctx context.Context, by *reader.Readings, v *catalog.TableVersion, p catalog.Position,
	columns []int) (o hugetable.Order, known bool, err error) {
	defer func() { // a lender may have restarted: then anything may be there
		if r := recover(); r != nil {
			err = fmt.Errorf("%w: rows that are sorted: %v", descriptor.ErrData, r)
		}
	}()
	table := v.Table().Name.String()
	batch, err := k.reader.Read(ctx, by, table, p.Index, p.Chunk, columns)
	if err != nil {
		return o, false, err
	}
	defer batch.Release()
	o.Columns = columns
	sorted, known := order.InOrder(batch.Columns())
	if sorted || !known {
		return o, known, nil
	}
	var to []replicas.Place // where the chunk is
	for i := range p.Replicas() {
		to = append(to, replicas.Place{Node: k.node.Holder(p.Descriptor().ExtentsOf(i)[0].Region).Node, Have: -1})
	}
	to[0].Have = 0
	space, err := k.node.SpaceOf(ctx, to[0].Node)
	if err != nil {
		return o, false, err
	}
	if o.Rows, err = seal(ctx, space, table, batch); err != nil || len(to) == 1 {
		return o, err == nil, spaceError(to[0].Node, err)
	}
	first := o.Rows
	if o.Rows, err = k.rearranged(ctx, by, table, p.Index, first, to); err != nil {
		return o, false, errors.Join(err, k.node.Lender.Discard(first.Extents()...))
	}
	return o, true, nil
}

// seal writes the positions of a batch's rows, in the order of its columns, as a chunk.
func seal(ctx context.Context, space catalog.Space, owner string, batch arrow.RecordBatch) (*catalog.Chunk, error) {
	rows := int(batch.NumRows())
	w := catalog.NewChunkWriter(space, owner, int64(rows*arrow.Uint32SizeBytes))
	defer w.Abort() //nolint:errcheck // what is not given back is the lender's to find
	buffer := memory.NewResizableBuffer(w.Allocator())
	defer buffer.Release()
	buffer.Resize(rows * arrow.Uint32SizeBytes)
	if err := w.Err(); err != nil {
		return nil, err
	}
	if err := order.Sort(ctx, batch.Columns(), arrow.Uint32Traits.CastFromBytes(buffer.Bytes())); err != nil {
		return nil, err
	}
	data := array.NewData(arrow.PrimitiveTypes.Uint32, rows, []*memory.Buffer{nil, buffer}, nil, 0, 0)
	defer data.Release()
	positions := array.NewUint32Data(data)
	defer positions.Release()
	schema := arrow.NewSchema([]arrow.Field{{Name: "position", Type: arrow.PrimitiveTypes.Uint32}}, nil)
	sealed := array.NewRecordBatch(schema, []arrow.Array{positions}, int64(rows))
	defer sealed.Release()
	return w.Seal(ctx, sealed, catalog.SealOptions{NullCountsOnly: true, SkipValidation: true})
}
