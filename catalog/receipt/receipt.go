// Package receipt says what a commit leaves in the store for a node that has handed it rows, so that this node can find
// out whether it happened when no answer comes, and can see to it that it does not any more.
//
//	node b                                       node a, which commits for several
//	Take: a receipt, as it is now (Since) ─────► its rows, and the receipt
//	                                             commit: if the receipt is as it was; puts Token there
//	◄──────────────────────────────────────────  its revision, or an error, or nothing
//	Settle, without an answer: reads the receipt: Token: it happened
//	                           else puts another: it will not happen, since the receipt is not as it was
//
// It is the compare-and-swap of a transaction's record by which a coordinator that fails is overtaken (as in
// Percolator, OSDI 2010, where a reader rolls a lost writer back).
//
// # Words
//
// A slot is one of the few receipts that a node has, one for each hand-over that is under way.
//
// # Lock order
//
// Book.mu is a leaf: the store is not asked under it.
//
// # Invariants
//
//   - RC1: after Settle has said that it did not happen, it does not happen.
//   - RC2: one hand-over uses a slot at a time, and a slot whose state is not known is read before it is used.
//
// # What it does not do
//
// It knows no rows and sends nothing.
package receipt

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"

	"github.com/csmsql/csmsql/catalog/internal/keys"
	"github.com/csmsql/csmsql/catalog/store"
)

// Slots is how many receipts a node has.
const Slots = 16

// settles bounds how often the store is asked.
const settles = 4

// Receipt is what a commit leaves.
type Receipt struct {
	// Node has the receipt, and Slot is which of its receipts it is.
	Node string
	Slot int
	// Since is the revision of what lies there before.
	Since store.Revision
	// Token is what the commit puts there; no other one does.
	Token string
	// Revision of the commit that has left it; 0: none, as far as is known here.
	Revision store.Revision
}

func (r *Receipt) key() string {
	return keys.OutcomePrefix + r.Node + keys.NameSeparator + strconv.Itoa(r.Slot)
}

// Condition is what the commit demands.
func (r *Receipt) Condition() store.Compare { return store.Unchanged(r.key(), r.Since) }

// Put is what the commit leaves.
func (r *Receipt) Put() store.Item { return store.Item{Key: r.key(), Value: []byte(r.Token)} }

// Left notes the revision of the commit that has left receipts.
func Left(revision store.Revision, list ...*Receipt) {
	for _, r := range list {
		r.Revision = revision
	}
}

// Book has the receipts of a node. Safe for concurrent use.
type Book struct {
	Store store.Store
	Node  string
	// Incarnation makes its tokens differ from those of earlier processes of the node.
	Incarnation string

	mu    sync.Mutex
	slots [Slots]slot // guarded by mu
	given uint64      // guarded by mu
}

type slot struct {
	used, known bool
	since       store.Revision
}

// Take gives a receipt that is in no use; nil: all are. The caller calls Return.
func (b *Book) Take(ctx context.Context) (*Receipt, error) {
	r, known := b.take()
	if r == nil || known {
		return r, nil
	}
	item, _, err := b.Store.Get(ctx, r.key())
	if err != nil {
		b.Return(r, false)
		return nil, fmt.Errorf("read receipt %d: %w", r.Slot, err)
	}
	r.Since = item.Revision
	return r, nil
}

func (b *Book) take() (r *Receipt, known bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for i := range b.slots {
		if s := &b.slots[i]; !s.used {
			s.used = true
			b.given++
			token := fmt.Sprintf("%s/%s/%d", b.Node, b.Incarnation, b.given)
			return &Receipt{Node: b.Node, Slot: i, Since: s.since, Token: token}, s.known
		}
	}
	return nil, false
}

// Return gives a receipt back. Known: what lies there is of its Revision.
func (b *Book) Return(r *Receipt, known bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.slots[r.Slot] = slot{known: known, since: r.Revision}
}

// Settle finds out whether the commit happened, and sets its Revision; if it has not, it will not. On an error neither
// is known. It gives the receipt back.
func (b *Book) Settle(ctx context.Context, r *Receipt) (happened bool, err error) {
	known := false
	defer func() { b.Return(r, known) }()
	void := store.Item{Key: r.key(), Value: []byte(r.Token + "/void")}
	for range settles {
		item, _, err := b.Store.Get(ctx, r.key())
		if err != nil {
			return false, fmt.Errorf("settle receipt %d: %w", r.Slot, err)
		}
		r.Revision = item.Revision
		if known = string(item.Value) == r.Token || string(item.Value) == string(void.Value); known {
			return string(item.Value) == r.Token, nil
		}
		revision, err := b.Store.Commit(ctx, store.Transaction{
			Compares: []store.Compare{store.Unchanged(r.key(), item.Revision)}, Puts: []store.Item{void},
		})
		switch {
		case err == nil:
			r.Revision, known = revision, true
			return false, nil
		case !errors.Is(err, store.ErrConflict) && !errors.Is(err, store.ErrUnknown):
			return false, fmt.Errorf("settle receipt %d: %w", r.Slot, err)
		}
	}
	return false, fmt.Errorf("settle receipt %d: %w", r.Slot, store.ErrUnknown)
}
