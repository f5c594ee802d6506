package dbgen

import (
	"context"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

const (
	// RefreshSets is how many sets of rows there are for the refresh functions: after as many the orders of the table
	// as it was made are deleted, and sets would begin with those that a refresh has inserted.
	RefreshSets = ordersPerRefreshed
	// ordersPerRefreshed: a set inserts, and deletes, one order of so many, SF · 1500.
	ordersPerRefreshed = 1000
	// refreshKeyShift puts the keys of inserted orders behind the first 8 of each 32, into those that the table does
	// not use.
	refreshKeyShift = 8
)

// RefreshOrders returns how many orders one set of RF1 inserts and one of RF2 deletes: SF · 1500, rounded
// down.
func (g *Generator) RefreshOrders() int64 { return g.units[Orders] / ordersPerRefreshed }

// InsertSet makes the rows of Orders or LineItem that the refresh function RF1 inserts in a set, from 0 on: orders
// [0, RefreshOrders) of the set with all of their lines, in order, as PhysicalSchema(t). Ownership and errors are those
// of Batch; other tables and sets are ErrUnitRange.
//
// Keys are those of the official generator. Its rows are not: it draws again, under the new keys, what it has drawn for
// the very orders that RF2 deletes of the set, so that a refresh which is lost would leave all sums as they are, and
// orders with equal contents would have no order in results. Here the same streams are drawn on behind the table's
// last order, so that all distributions are the generator's and no order is one that there was.
func (g *Generator) InsertSet(ctx context.Context, mem memory.Allocator, t Table,
	set int64) (arrow.RecordBatch, error) {
	if err := g.checkRefresh(t, set); err != nil {
		return nil, err
	}
	beyond := *g // with orders for all sets behind the table's
	beyond.units[Orders] += RefreshSets * g.RefreshOrders()
	beyond.units[LineItem] = beyond.units[Orders]
	first := g.units[Orders] + set*g.RefreshOrders()
	batch, err := beyond.Batch(ctx, mem, t, first, g.RefreshOrders())
	if err != nil {
		return nil, err
	}
	// The batch is not shared yet, and both tables have the order's key in their first column.
	keys := arrow.Int64Traits.CastFromBytes(batch.Column(0).Data().Buffers()[1].Bytes())
	for i, key := range keys {
		keys[i] = orderKey(orderNumber(key)-g.units[Orders]) + refreshKeyShift
	}
	return batch, nil
}

// orderNumber returns which order has a key that orderKey gave.
func orderNumber(key int64) int64 { return key>>5<<3 | key&7 }

// DeleteSet returns the keys of the orders that the refresh function RF2 deletes in a set, from 0 on, with their lines:
// those of the table as it was made, from its beginning. The caller owns them. Other sets are ErrUnitRange.
func (g *Generator) DeleteSet(set int64) ([]int64, error) {
	if err := g.checkRefresh(Orders, set); err != nil {
		return nil, err
	}
	keys := make([]int64, g.RefreshOrders())
	for i := range keys {
		keys[i] = orderKey(set*g.RefreshOrders() + 1 + int64(i))
	}
	return keys, nil
}

func (g *Generator) checkRefresh(t Table, set int64) error {
	switch {
	case t != Orders && t != LineItem:
		return fmt.Errorf("dbgen: %w: a refresh changes orders and lineitem, not %s", ErrUnitRange, t)
	case set < 0 || set >= RefreshSets:
		return fmt.Errorf("dbgen: %w: refresh set %d; they are 0 to %d", ErrUnitRange, set, RefreshSets-1)
	}
	return nil
}
