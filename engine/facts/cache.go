package facts

import (
	"sync"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/engine/account"
)

// Cache keeps facts of versions that were planned with lately, within what the node's own part of the account grants:
// beyond it everything is forgotten and derived again. Those that a statement has in hand live as long as it.
type Cache struct {
	Guess   func(int64) int64 // distorts estimates, for tests; nil: they stay as they are
	Account *account.Session  // the node's; nil: nothing is charged

	mu    sync.Mutex // guards the rest, and charged of facts
	byID  map[*catalog.TableVersion]*Facts
	added bool             // since Keep
	kept  catalog.Revision // that Keep was given
}

const (
	// most bounds the cache as well.
	most = 4096
	// Part of what clients may make the node keep is for facts: they are the node's, but clients make the versions.
	Part = 8
	// What facts take: of a table, of each column of it, and of each chunk that is located.
	leastBytes      = 2 << 10
	columnBytes     = 400
	locatedBytes    = 128
	locatedReplica  = 32
	domainWordBytes = 24
)

// Of are the facts of a version.
func (c *Cache) Of(v *catalog.TableVersion) *Facts {
	c.mu.Lock()
	defer c.mu.Unlock()
	if f := c.byID[v]; f != nil {
		return f
	}
	f := &Facts{Version: v, Relation: relationOf(v, c.Guess), domains: map[int]domain{}, layouts: map[int]arrow.DataType{}}
	if len(c.byID) >= most {
		c.forgetAll()
	}
	if c.charge(f, leastBytes+columnBytes*int64(v.Table().Columns.NumFields())) {
		if c.byID == nil {
			c.byID = map[*catalog.TableVersion]*Facts{}
		}
		c.byID[v], c.added = f, true
	}
	return f
}

// grew charges for facts that take more now.
func (c *Cache) grew(f *Facts, bytes int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.byID[f.Version] != f {
		return
	}
	bytes += f.charged
	c.give(f)
	delete(c.byID, f.Version)
	if c.charge(f, bytes) {
		c.byID[f.Version] = f
	}
}

// charge takes bytes for f, if need be in the place of all others. Requires mu.
func (c *Cache) charge(f *Facts, bytes int64) bool {
	if c.Account == nil {
		return true
	}
	if c.Account.Take(account.Facts, bytes) != nil {
		c.forgetAll()
		if c.Account.Take(account.Facts, bytes) != nil {
			return false
		}
	}
	f.charged += bytes
	return true
}

// forgetAll requires mu.
func (c *Cache) forgetAll() {
	for _, f := range c.byID {
		c.give(f)
	}
	clear(c.byID)
}

func (c *Cache) give(f *Facts) {
	if c.Account != nil {
		c.Account.Give(account.Facts, f.charged)
	}
	f.charged = 0
}

// Forget drops facts of versions that are in no catalog, and will not be asked for again.
func (c *Cache) Forget(versions ...*catalog.TableVersion) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, v := range versions {
		if f := c.byID[v]; f != nil {
			c.give(f)
			delete(c.byID, v)
		}
	}
}

// Keep forgets facts of versions that now does not have. A statement that still reads one derives them again: they are
// forgotten by the next call, also if now is the same.
func (c *Cache) Keep(now *catalog.Contents) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.added && c.kept == now.Revision() {
		return
	}
	c.added, c.kept = false, now.Revision()
	for v, f := range c.byID {
		if current, ok := now.TableOf(v.Table().ID, v.Table().Name); !ok || current != v {
			c.give(f)
			delete(c.byID, v)
		}
	}
}
