// Package numbers hands out numbers that no catalog over the same store hands out again.
//
// # Invariants
//
//   - NU1: a block of numbers is on record before one of it is handed out. Those of a block that a dead process did not
//     use are lost, which costs nothing.
//
// # Lock order
//
// Numbers.mu is above the store.
//
// # What it does not do
//
// It does not know what is numbered.
package numbers

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/csmsql/csmsql/catalog/internal/keys"
	"github.com/csmsql/csmsql/catalog/record"
	"github.com/csmsql/csmsql/catalog/store"
)

// block is how many numbers are put on record at a time.
const block = 1024

// ErrDamaged marks a record that cannot be read.
var ErrDamaged = errors.New("record of the numbers")

// Numbers are a store's. Safe for concurrent use.
type Numbers struct {
	Store store.Store

	mu        sync.Mutex
	next, end uint64 // guarded by mu
}

// Next is a new one.
func (n *Numbers) Next(ctx context.Context) (uint64, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for n.next == n.end {
		if err := n.reserve(ctx); err != nil && !errors.Is(err, store.ErrConflict) { // another node was faster
			return 0, fmt.Errorf("reserve identities: %w", err)
		}
	}
	n.next++
	return n.next - 1, nil
}

// reserve requires mu.
func (n *Numbers) reserve(ctx context.Context) error {
	item, _, err := n.Store.Get(ctx, keys.Identity)
	if err != nil {
		return err
	}
	first, err := record.DecodeNext(item.Value)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	first = max(first, 1)
	_, err = n.Store.Commit(ctx, store.Transaction{
		Compares: []store.Compare{store.Unchanged(keys.Identity, item.Revision)},
		Puts:     []store.Item{{Key: keys.Identity, Value: record.EncodeNext(first + block)}},
	})
	if err == nil {
		n.next, n.end = first, first+block
	}
	return err
}
