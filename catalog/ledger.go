package catalog

import (
	"context"

	"github.com/csmsql/csmsql/catalog/hugetable"
	"github.com/csmsql/csmsql/coherence"
)

// releases are the unpins and retirements that the lender receives once the lock is free: giving memory back can take
// long. Unpins come first, so that a chunk without another holder is over at once.
type releases struct {
	unpins  map[coherence.Domain][]ExtentID
	retired []ExtentID
	diedAt  Revision // of retired
}

func (r *releases) unpin(domain coherence.Domain, ids []ExtentID) {
	if r.unpins == nil {
		r.unpins = map[coherence.Domain][]ExtentID{}
	}
	r.unpins[domain] = append(r.unpins[domain], ids...)
}

// carryOut does what was collected, and what was postponed and is due. Requires: mu is not held.
func (c *Catalog) carryOut(r *releases) {
	for domain, ids := range r.unpins {
		c.log("unpin chunks", c.lender.Unpin(domain, ids...))
	}
	c.mu.Lock()
	c.mu.postponed.Add(r.diedAt, r.retired)
	c.mu.Unlock()
	c.retire()
}

// install makes contents current and returns what its predecessor does not hold any more. Requires mu. Preconditions:
// the extents of every page that can die by it are loaded.
func (c *Catalog) install(contents *Contents, pages []hugetable.NewPage) *releases {
	next := &state{contents: contents, leases: map[coherence.Domain]int{}, pinned: map[coherence.Domain]bool{}}
	for _, v := range c.mu.living.Add(next) {
		c.holdVersion(v)
	}
	for i := range pages {
		c.mu.pages[pages[i].Ref.ID].extents = pages[i].Extents
		c.share(pages[i].Extents[:pages[i].CarriedExtents])
	}
	old := c.mu.current
	if c.shared() {
		c.mu.history.Took(contents.revision, hugetable.NewExtents(pages))
	}
	next.loaded = old != nil && old.loaded
	c.mu.current = next
	c.mu.moved.Broadcast()
	r := &releases{}
	if old != nil {
		c.passPins(old, next)
		c.settle(old, r)
	}
	return r
}

// passPins pins a new state for this process as the old one is, while that still has what they share: else each commit
// would unpin all chunks of all tables, and the next statement pin them again. Requires mu.
func (c *Catalog) passPins(old, next *state) {
	if home := c.options.Domain; old.pinned[home] && next.loaded {
		_ = c.pinState(next, home) // a snapshot tries again, and says why
	}
}

// holdVersion requires mu.
func (c *Catalog) holdVersion(v *TableVersion) {
	for _, ref := range v.Pages() {
		p := c.mu.pages[ref.ID]
		if p == nil {
			p = &pageState{pins: map[coherence.Domain]int{}}
			c.mu.pages[ref.ID] = p
		}
		p.refs++
	}
}

// settle takes back what a state needs no longer: pins of domains without a lease on it, and itself when it is neither
// current nor leased (K2). Requires mu.
func (c *Catalog) settle(s *state, r *releases) {
	current := s == c.mu.current
	for domain := range s.pinned {
		// The home's pins on the current state stay: its next query is never far.
		if s.leases[domain] == 0 && (!current || domain != c.options.Domain) {
			c.unpinState(s, domain, r)
		}
	}
	if current || s.total > 0 {
		return
	}
	for _, v := range c.mu.living.Remove(s) {
		c.dropVersion(v, r)
	}
}

// pinState requires mu, and the current state; the extents of all pages are loaded. A refusal leaves the pins as they
// were.
func (c *Catalog) pinState(s *state, domain coherence.Domain) error {
	pinned := c.mu.pinned[domain]
	if pinned == nil {
		pinned = &states{}
		c.mu.pinned[domain] = pinned
	}
	var ids []ExtentID
	for _, v := range pinned.Add(s) {
		for _, ref := range v.Pages() {
			p := c.mu.pages[ref.ID]
			if p.pins[domain]++; p.pins[domain] == 1 {
				ids = append(ids, p.extents...)
			}
		}
	}
	s.pinned[domain] = true
	if len(ids) == 0 {
		return nil
	}
	err := c.lender.Pin(domain, ids...)
	if err != nil {
		c.unpinState(s, domain, &releases{})
	}
	return err
}

// unpinState requires mu.
func (c *Catalog) unpinState(s *state, domain coherence.Domain, r *releases) {
	delete(s.pinned, domain)
	pinned := c.mu.pinned[domain]
	if pinned == nil {
		return
	}
	for _, v := range pinned.Remove(s) {
		for _, ref := range v.Pages() {
			p := c.mu.pages[ref.ID]
			if p.pins[domain]--; p.pins[domain] == 0 {
				delete(p.pins, domain)
				r.unpin(domain, p.extents)
			}
		}
	}
	if len(pinned.States) == 0 {
		delete(c.mu.pinned, domain)
	}
}

// dropVersion requires mu.
func (c *Catalog) dropVersion(v *TableVersion, r *releases) {
	for _, ref := range v.Pages() {
		p := c.mu.pages[ref.ID]
		if p.refs--; p.refs > 0 {
			continue
		}
		delete(c.mu.pages, ref.ID)
		c.source.Forget(ref.ID)
		c.mu.garbage = append(c.mu.garbage, garbage{ref.ID, c.mu.current.contents.revision})
		r.diedAt = c.mu.current.contents.revision
		c.retirePage(p, r)
	}
}

// retirePage retires the extents that no other living page has (K3). Requires mu.
func (c *Catalog) retirePage(p *pageState, r *releases) {
	for _, id := range p.extents {
		switch n := c.mu.shared[id]; {
		case n == 0:
			r.retired = append(r.retired, id)
		case n == 2:
			delete(c.mu.shared, id)
		default:
			c.mu.shared[id] = n - 1
		}
	}
}

// share counts extents that a new page has taken over from an older, living one. Requires mu.
func (c *Catalog) share(ids []ExtentID) {
	for _, id := range ids {
		c.mu.shared[id] = max(c.mu.shared[id], 1) + 1
	}
}

// loadExtents learns the extents of a version's pages, reading those that were not read since the start. It is done
// without the lock, before anything that must know them under it.
func (c *Catalog) loadExtents(ctx context.Context, v *TableVersion) error {
	for _, ref := range v.Pages() {
		if c.knowsExtents(ref.ID) {
			continue
		}
		headers, err := v.PageExtents(ctx, ref)
		if err != nil {
			return err
		}
		ids := []ExtentID{}
		for _, h := range headers {
			for x := range h.All() {
				ids = append(ids, x.ExtentID)
			}
		}
		c.setExtents(ref.ID, ids)
	}
	return nil
}

func (c *Catalog) knowsExtents(id PageID) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	p := c.mu.pages[id]
	return p == nil || p.extents != nil
}

func (c *Catalog) setExtents(id PageID, ids []ExtentID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if p := c.mu.pages[id]; p != nil && p.extents == nil {
		p.extents = ids
	}
}
