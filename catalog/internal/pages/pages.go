// Package pages is where the catalog's pages lie in its store.
//
//	                    what nodes follow
//	chunks/<hash> ··· ├── kept/ meta/commit node/ … view/ ──┤
//	                            page/<hash>: where programs of format 1 put them
//
// # Words
//
// page: up to 256 encoded descriptors of chunks, named by the hash of its content · old: said of a page that a
// program of format 1 stored.
//
// # Invariants
//
//   - SP1: the key of a new page is in no range of what nodes follow, so that etcd sends it to the nodes that ask.
//   - SP2: a page is found wherever it lies, and removed from there.
//
// # Locks
//
// None: List is called before a catalog has other goroutines, and only it writes.
//
// # What it does not do
//
// It does not know which pages a version has, nor what is in one.
package pages

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/csmsql/csmsql/catalog/hugetable"
	"github.com/csmsql/csmsql/catalog/internal/keys"
	"github.com/csmsql/csmsql/catalog/store"
)

// ErrDamaged: what lies there is no page's key.
var ErrDamaged = errors.New("key")

// Pages are those of one store.
type Pages struct {
	store store.Store
	old   map[hugetable.PageID]bool // found by List below the old prefix
}

// Of returns the pages of a store.
func Of(s store.Store) *Pages { return &Pages{store: s, old: map[hugetable.PageID]bool{}} }

// List visits every page that is stored, as of the revision which it returns. The error is ErrDamaged or the store's.
func (p *Pages) List(ctx context.Context, visit func(hugetable.PageID)) (store.Revision, error) {
	return p.store.Scan(ctx, []string{keys.PagePrefix, keys.OldPagePrefix}, func(item store.Item) error {
		kind, rest, _ := strings.Cut(item.Key, "/")
		id, err := hugetable.ParsePageID(rest)
		if err != nil {
			return fmt.Errorf("%w %q: %w", ErrDamaged, item.Key, err)
		}
		if kind+"/" == keys.OldPagePrefix {
			p.old[id] = true
		}
		visit(id)
		return nil
	})
}

// Key is where a page lies if it is stored, and where it is put if it is not.
func (p *Pages) Key(id hugetable.PageID) string {
	if p.old[id] {
		return keys.OldPage(id)
	}
	return keys.Page(id)
}

// Get returns what is stored of a page; false if nothing is.
func (p *Pages) Get(ctx context.Context, id hugetable.PageID) ([]byte, bool, error) {
	item, ok, err := store.GetImmutable(ctx, p.store, p.Key(id))
	if err == nil && !ok && !p.old[id] { // another node, which knows it as an old one, may have stored it again
		item, ok, err = store.GetImmutable(ctx, p.store, keys.OldPage(id))
	}
	return item.Value, ok, err
}

// Put writes pages ahead of the record that will refer to them, in as many transactions as the store's limits demand.
func (p *Pages) Put(ctx context.Context, items []store.Item) error {
	limits := p.store.Limits()
	for first := 0; first < len(items); {
		end := first + 1
		for end < len(items) && limits.Fit(store.Transaction{}, items[first:end+1]) {
			end++
		}
		if _, err := p.store.Commit(ctx, store.Transaction{Puts: items[first:end]}); err != nil {
			return err
		}
		first = end
	}
	return nil
}
