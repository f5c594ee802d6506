package catalog

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/csmsql/csmsql/coherence"
	"github.com/csmsql/csmsql/memregion"
)

// Snapshot is what one query or transaction sees, under a lease that keeps every chunk of it in place (K2). Close it.
type Snapshot struct {
	*Contents
	// Age bounds how much older it was than the last commit when it was taken; 0: it was the last one (Holder.MaxAge).
	Age time.Duration
	// Unsealed says that rows may be missing that were noted (Holder.Unsealed).
	Unsealed bool
	lease    LeaseID
	closing  sync.Once
	release  func()
	trust    func(regions []memregion.RegionID) error // nil: no other node lends
}

// Lease is the snapshot's lease.
func (s *Snapshot) Lease() LeaseID { return s.lease }

// Close gives the lease back. Afterwards no chunk of the snapshot may be read. Closing twice is harmless.
func (s *Snapshot) Close() {
	s.closing.Do(s.release)
}

type lease struct {
	Lease
	state *state
	// doomed is the revision at which a lender restarted: the lease is not renewed from then on. 0: none did.
	doomed Revision
}

// Snapshot pins the current version of every table for the holder. It costs a map entry, except for the first one of
// another domain after a commit, which pins what is new.
func (c *Catalog) Snapshot(ctx context.Context, holder Holder) (*Snapshot, error) {
	if holder.Domain == "" {
		holder.Domain = c.options.Domain
	}
	if !holder.Unsealed {
		if err := c.SealDeltas(ctx); err != nil {
			return nil, fmt.Errorf("snapshot: %w", err)
		}
	}
	age := c.Lag()
	if age >= holder.MaxAge {
		if err := c.barrier(ctx); err != nil {
			return nil, fmt.Errorf("snapshot: %w", err)
		}
		age = 0
	}
	return c.leased(ctx, holder, age)
}

// leased is Snapshot of what this node knows.
func (c *Catalog) leased(ctx context.Context, holder Holder, age time.Duration) (*Snapshot, error) {
	for {
		s, contents, err := c.takeLease(holder, age)
		if s != nil && holder.TTL > 0 && c.shared() {
			if err := c.stays(holder.TTL); err != nil {
				s.Close()
				return nil, fmt.Errorf("snapshot for another process: %w", err)
			}
		}
		if s != nil || err != nil {
			return s, err
		}
		for _, v := range contents.everyVersion() { // once, after the start
			if err := c.loadExtents(ctx, v); err != nil {
				return nil, fmt.Errorf("snapshot: %w", err)
			}
		}
		c.markLoaded(contents)
	}
}

// Latest is what a Snapshot taken now would show, without its lease: names and columns may be read in it, and no chunk.
func (c *Catalog) Latest(ctx context.Context) (*Contents, error) {
	if err := c.barrier(ctx); err != nil {
		return nil, fmt.Errorf("catalog: %w", err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.mu.closed {
		return nil, ErrClosed
	}
	return c.mu.current.contents, nil
}

// takeLease returns the contents instead of a snapshot if extents must be loaded first.
func (c *Catalog) takeLease(holder Holder, age time.Duration) (*Snapshot, *Contents, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.mu.closed {
		return nil, nil, ErrClosed
	}
	s := c.mu.current
	if !s.pinned[holder.Domain] {
		if !s.loaded {
			return nil, s.contents, nil
		}
		if err := c.pinState(s, holder.Domain); err != nil {
			return nil, nil, fmt.Errorf("snapshot of revision %d for domain %q: %w", s.contents.revision, holder.Domain, err)
		}
	}
	c.mu.nextLease++
	l := &lease{Lease: Lease{ID: c.mu.nextLease, Holder: holder, Revision: s.contents.revision, Since: c.options.Now()}, state: s}
	if holder.TTL > 0 {
		l.Expires = l.Since.Add(holder.TTL)
	}
	c.mu.leases[l.ID] = l
	c.mu.domains[holder.Domain]++
	s.leases[holder.Domain]++
	s.total++
	id := l.ID
	taken := &Snapshot{Contents: s.contents, Age: age, Unsealed: holder.Unsealed, lease: id}
	taken.release = func() { _ = c.ReleaseLease(id) }
	if c.shared() {
		seen := c.mu.applied
		taken.trust = func(regions []memregion.RegionID) error { return c.trust(seen, regions) }
	}
	return taken, nil, nil
}

func (c *Catalog) markLoaded(contents *Contents) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.mu.current.contents == contents {
		c.mu.current.loaded = true
	}
}

// RenewLease lets the lease live for its TTL from now on. ErrLeaseOver means that the holder must stop reading.
func (c *Catalog) RenewLease(id LeaseID, now time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	l := c.mu.leases[id]
	if l != nil && c.shared() {
		if err := c.stays(l.Holder.TTL); err != nil { // what this node cannot be sure of it does not promise
			return fmt.Errorf("renew lease %d: %w", id, err)
		}
	}
	if l == nil || l.doomed > 0 || l.over(now) {
		return fmt.Errorf("renew lease %d: %w", id, ErrLeaseOver)
	}
	if l.Holder.TTL > 0 {
		l.Expires = now.Add(l.Holder.TTL)
	}
	return nil
}

func (l *lease) over(now time.Time) bool { return !l.Expires.IsZero() && !now.Before(l.Expires) }

// ReleaseLease ends a lease before its time.
func (c *Catalog) ReleaseLease(id LeaseID) error {
	c.mu.Lock()
	l := c.mu.leases[id]
	if l == nil {
		c.mu.Unlock()
		return fmt.Errorf("release lease %d: %w", id, ErrLeaseOver)
	}
	r := &releases{}
	c.endLease(l, r)
	c.mu.Unlock()
	c.carryOut(r)
	return nil
}

// endLease requires mu.
func (c *Catalog) endLease(l *lease, r *releases) {
	c.forgetLease(l)
	c.settle(l.state, r)
}

// forgetLease requires mu.
func (c *Catalog) forgetLease(l *lease) {
	delete(c.mu.leases, l.ID)
	domain := l.Holder.Domain
	if c.mu.domains[domain]--; c.mu.domains[domain] == 0 {
		delete(c.mu.domains, domain)
	}
	if l.state.leases[domain]--; l.state.leases[domain] == 0 {
		delete(l.state.leases, domain)
	}
	l.state.total--
}

// ExpireLeases ends every lease whose time is over and returns them. A domain that lost its last lease so is taken for
// dead: the lender drops all its pins. Time is passed in, so that what happens depends on nothing else.
func (c *Catalog) ExpireLeases(now time.Time) []Lease {
	c.mu.Lock()
	var ended []Lease
	states := map[*state]bool{}
	for _, l := range c.mu.leases {
		if l.over(now) {
			ended = append(ended, l.Lease)
			c.forgetLease(l)
			states[l.state] = true
		}
	}
	r := &releases{}
	for s := range states {
		c.settle(s, r)
	}
	dead := map[coherence.Domain]bool{}
	for _, l := range ended {
		if domain := l.Holder.Domain; c.mu.domains[domain] == 0 && domain != c.options.Domain {
			dead[domain] = true
		}
	}
	for domain := range dead {
		delete(r.unpins, domain)
		c.log("expire a domain", c.lender.ExpireDomain(domain))
	}
	c.mu.Unlock()
	c.carryOut(r)
	sortLeases(ended)
	return ended
}

// Leases lists the living leases, oldest first.
func (c *Catalog) Leases() []Lease {
	c.mu.Lock()
	defer c.mu.Unlock()
	list := make([]Lease, 0, len(c.mu.leases))
	for _, l := range c.mu.leases {
		list = append(list, l.Lease)
	}
	sortLeases(list)
	return list
}

func sortLeases(list []Lease) {
	slices.SortFunc(list, func(a, b Lease) int { return cmp.Compare(a.ID, b.ID) })
}
