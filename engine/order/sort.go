package order

import (
	"context"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
)

// InOrder reports whether rows lie in the order of columns, the first one first; known: they can be compared.
func InOrder(arrays []arrow.Array) (sorted, known bool) {
	c := columnsOf(arrays)
	if c == nil {
		return false, false
	}
	for i := 1; i < arrays[0].Len(); i++ {
		if c.compare(i-1, c, i) > 0 {
			return false, true
		}
	}
	return true, true
}

// checkEvery is after how many comparisons a sort looks whether it is to end.
const checkEvery = 1 << 16

// Sort fills into with the positions of all rows in the order of columns (OD2). Preconditions: InOrder knows them, and
// into is as long as they are.
func Sort(ctx context.Context, arrays []arrow.Array, into []uint32) error {
	c := columnsOf(arrays)
	for i := range into {
		into[i] = uint32(i)
	}
	compared, over := 0, false
	slices.SortFunc(into, func(a, b uint32) int {
		if compared++; compared%checkEvery == 0 {
			over = over || ctx.Err() != nil
		}
		if !over { // else what is left is sorted at once, and is of no use
			if order := c.compare(int(a), c, int(b)); order != 0 {
				return order
			}
		}
		return int(a) - int(b)
	})
	return ctx.Err()
}
