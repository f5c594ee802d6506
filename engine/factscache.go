package engine

import (
	"sync"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/engine/account"
)

// factsCache keeps facts of versions that were planned with lately, within what the node's own part of the account grants: beyond it
// everything is forgotten and derived again. Those that a statement has in hand live as long as it.
type factsCache struct {
	guess   func(int64) int64 // Config.Guesses
	account *account.Session  // the node's; nil: nothing is charged

	mu   sync.Mutex // guards the rest, and charged of facts
	byID map[*catalog.TableVersion]*facts
}

const (
	// factsMax bounds the cache as well.
	factsMax = 4096
	// factsPart of what clients may make the node keep is for facts: they are the node's, but clients make the versions.
	factsPart = 8
	// What facts take: of a table, of each column of it, and of each chunk that is located.
	factsLeast      = 2 << 10
	factsColumn     = 400
	locatedBytes    = 128
	locatedReplica  = 32
	domainWordBytes = 24
)

func (c *factsCache) of(v *catalog.TableVersion) *facts {
	c.mu.Lock()
	defer c.mu.Unlock()
	if f := c.byID[v]; f != nil {
		return f
	}
	f := &facts{version: v, relation: relationOf(v, c.guess), domains: map[int]domain{}, layouts: map[int]arrow.DataType{}}
	if len(c.byID) >= factsMax {
		c.forgetAll()
	}
	if c.charge(f, factsLeast+factsColumn*int64(v.Table().Columns.NumFields())) {
		if c.byID == nil {
			c.byID = map[*catalog.TableVersion]*facts{}
		}
		c.byID[v] = f
	}
	return f
}

// grew is told that facts take more now.
func (c *factsCache) grew(f *facts, bytes int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.byID[f.version] != f {
		return
	}
	bytes += f.charged
	c.give(f)
	delete(c.byID, f.version)
	if c.charge(f, bytes) {
		c.byID[f.version] = f
	}
}

// charge takes bytes for f, if need be in the place of all others. Requires mu.
func (c *factsCache) charge(f *facts, bytes int64) bool {
	if c.account == nil {
		return true
	}
	if c.account.Take(account.Facts, bytes) != nil {
		c.forgetAll()
		if c.account.Take(account.Facts, bytes) != nil {
			return false
		}
	}
	f.charged += bytes
	return true
}

// forgetAll requires mu.
func (c *factsCache) forgetAll() {
	for _, f := range c.byID {
		c.give(f)
	}
	clear(c.byID)
}

func (c *factsCache) give(f *facts) {
	if c.account != nil {
		c.account.Give(account.Facts, f.charged)
	}
	f.charged = 0
}

// forget drops facts of versions that are in no catalog, and will not be asked for again.
func (c *factsCache) forget(versions ...*catalog.TableVersion) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, v := range versions {
		if f := c.byID[v]; f != nil {
			c.give(f)
			delete(c.byID, v)
		}
	}
}
