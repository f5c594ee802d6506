package catalog

import (
	"context"
	"fmt"
	"slices"

	"github.com/csmsql/csmsql/catalog/hugetable"
	"github.com/csmsql/csmsql/catalog/store"
)

// Pages that no version has any more, on their way out of the store.

// garbagePerCommit bounds how many dead pages one commit removes on the way.
const garbagePerCommit = 1024

// takeGarbage takes pages that no node reads any more (K7), as many as fit beside the transaction.
func (c *Catalog) takeGarbage(t store.Transaction) []garbage {
	room := garbagePerCommit
	if limit := c.store.Limits().Operations; limit > 0 {
		room = min(room, max(0, limit-len(t.Compares)-len(t.Puts)-len(t.Deletes)))
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	oldest, _ := c.horizon()
	var taken []garbage
	c.mu.garbage = slices.DeleteFunc(c.mu.garbage, func(g garbage) bool {
		if c.mu.pages[g.page] != nil { // it was found before the commit that it belongs to was seen
			return true
		}
		if len(taken) == room || g.diedAt > oldest {
			return false
		}
		taken = append(taken, g)
		return true
	})
	return taken
}

func (c *Catalog) returnGarbage(list []garbage) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.mu.garbage = append(c.mu.garbage, list...)
}

// abandonPages makes garbage of pages that may have been stored and that nothing refers to.
func (c *Catalog) abandonPages(pages []hugetable.NewPage) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, p := range pages {
		if c.mu.pages[p.Ref.ID] == nil {
			c.mu.garbage = append(c.mu.garbage, garbage{p.Ref.ID, c.mu.current.contents.revision})
		}
	}
}

// Sweep removes dead pages from the store; commits do it too, a few at a time.
func (c *Catalog) Sweep(ctx context.Context) error {
	for {
		dead := c.takeGarbage(store.Transaction{})
		if len(dead) == 0 {
			return nil
		}
		var t store.Transaction
		for _, g := range dead {
			t.Deletes = append(t.Deletes, c.stored.Key(g.page))
		}
		if _, err := c.store.Commit(ctx, t); err != nil {
			c.returnGarbage(dead)
			return fmt.Errorf("sweep the catalog: %w", err)
		}
	}
}
