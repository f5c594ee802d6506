package catalog

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/csmsql/csmsql/catalog/hugetable"
	"github.com/csmsql/csmsql/catalog/internal/keys"
	"github.com/csmsql/csmsql/catalog/store"
	"github.com/csmsql/csmsql/internal/faults"
	"github.com/csmsql/csmsql/internal/persistent"
	"github.com/csmsql/csmsql/memregion"
)

// followed are the prefixes of the records that every node keeps up with; pages are read when they are needed.
var followed = []string{"meta/commit", keys.SchemaPrefix, keys.TablePrefix, keys.ViewPrefix, keys.TypePrefix,
	keys.KeptPrefix, keys.SetPrefix, keys.RegionPrefix, keys.NodePrefix, keys.PresencePrefix}

// Run follows the commits of the other nodes and reports to them what this one reads, until ctx is done or the node is
// fenced off (ErrFenced): then it must restart. Without it nothing is committed in a cluster. Where no other node
// shares the store it waits for ctx.
func (c *Catalog) Run(ctx context.Context) error {
	if !c.shared() {
		<-ctx.Done()
		return nil
	}
	group, running := errgroup.WithContext(ctx)
	group.Go(func() error { return c.report(running) })
	group.Go(func() error { return c.follow(running) })
	err := group.Wait()
	if ctx.Err() != nil && !errors.Is(err, ErrFenced) {
		err = nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.mu.ended = errors.Join(err, ErrClosed)
	c.mu.moved.Broadcast()
	return err
}

// followPause is how long to wait before a question that the store did not answer is repeated.
const followPause = 100 * time.Millisecond

// follow applies the store's changes. What was missed is read as a whole.
func (c *Catalog) follow(ctx context.Context) error {
	for {
		c.mu.Lock()
		after := c.mu.applied
		c.mu.Unlock()
		c.following.Store(true)
		err := c.store.Watch(ctx, followed, after, func(change store.Change) error { return c.applySurely(ctx, change) })
		c.following.Store(false)
		for err != nil && ctx.Err() == nil {
			c.log("follow the other nodes' commits", err)
			select {
			case <-ctx.Done():
			case <-time.After(followPause):
				err = c.readAgain(ctx)
			}
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
}

// change is one transaction of the store as this catalog takes it over.
type change struct {
	revision Revision
	before   *Contents // what was seen until then
	next     *Contents // nil: no name and no row is another
	members  map[string]*Member
	regions  map[memregion.RegionID]*RegionRecord // nil: dropped
	whole    bool                                 // regions are all that there are
	own      *commit                              // of this catalog, if it made the change
}

// applySurely applies a change, which may take until the store can be read again. None is left out: chunks that came by
// one change and died by the next would never be retired.
func (c *Catalog) applySurely(ctx context.Context, seen store.Change) error {
	for {
		err := c.apply(ctx, seen)
		if err == nil || ctx.Err() != nil {
			return err
		}
		c.log("follow the other nodes' commits", err)
		select {
		case <-ctx.Done():
		case <-time.After(followPause):
		}
	}
}

// apply takes one transaction over. It runs in one goroutine, the only one that installs contents in a cluster.
func (c *Catalog) apply(ctx context.Context, seen store.Change) error {
	c.mu.Lock()
	t := &change{
		revision: seen.Revision, before: c.mu.current.contents, next: c.mu.current.contents.clone(),
		members: maps.Clone(c.mu.members), regions: map[memregion.RegionID]*RegionRecord{},
	}
	pending := c.mu.pending
	c.mu.Unlock()
	visible := false
	for _, item := range seen.Puts {
		if item.Key == keys.Commit {
			if pending != nil && pending.token == string(item.Value) {
				t.own = pending
			}
			visible = true // also without a change of its own: this wakes those that wait for the revision
		}
	}
	for _, key := range seen.Deletes {
		t.remove(key)
	}
	for _, item := range seen.Puts {
		if err := t.put(c, item); err != nil {
			return fmt.Errorf("record %q: %w", item.Key, err)
		}
	}
	t.next.revision = seen.Revision
	if !visible {
		t.next = nil
	}
	return c.takeOver(ctx, t)
}

func (t *change) remove(key string) {
	kind, rest, _ := strings.Cut(key, "/")
	switch kind + "/" {
	case keys.SchemaPrefix:
		t.next.dropSchema(rest)
	case keys.TablePrefix, keys.ViewPrefix, keys.TypePrefix:
		if id, err := strconv.ParseUint(rest, 16, 64); err == nil {
			t.next.forgetID(TableID(id))
		}
	case keys.KeptPrefix:
		if k, err := keys.ParseKept(rest); err == nil {
			t.next.kept = t.next.kept.Without(k)
		}
	case keys.RegionPrefix:
		if id, err := strconv.ParseUint(rest, 16, 64); err == nil {
			t.regions[memregion.RegionID(id)] = nil
		}
	case keys.NodePrefix:
		delete(t.members, rest)
	}
}

func (t *change) put(c *Catalog, item store.Item) error {
	kind, rest, _ := strings.Cut(item.Key, "/")
	switch kind + "/" {
	case keys.SchemaPrefix:
		t.next.setSchema(rest, schemaEntry{item.Revision, string(item.Value)})
	case keys.TablePrefix:
		v, err := hugetable.Decode(item.Value, c.source)
		if err != nil {
			return err
		}
		if t.own != nil { // its pages are those of this very version
			if made, ok := t.own.next.tables.Get(v.Table().Name); ok && made.version.Table().ID == v.Table().ID {
				v = made.version
			}
		}
		t.next.forgetID(v.Table().ID)
		t.next.setTable(v.Table().Name, tableEntry{v, item.Revision})
	case keys.ViewPrefix:
		v, err := decodeView(item.Value)
		if err != nil {
			return err
		}
		t.next.forgetID(v.ID)
		t.next.setView(v.Name, viewEntry{v, item.Revision})
	case keys.TypePrefix:
		is, err := decodeType(item.Value)
		if err != nil {
			return err
		}
		t.next.forgetID(is.ID)
		t.next.setType(is.Name, typeEntry{is, item.Revision})
	case keys.KeptPrefix:
		return t.putKept(c, rest, item)
	case keys.SetPrefix:
		if id, err := strconv.ParseUint(rest, 16, 64); err == nil && c.options.Set != nil {
			c.options.Set(CounterID(id))
		}
	case keys.RegionPrefix:
		g, err := decodeRegion(item.Value)
		if err != nil {
			return err
		}
		t.regions[g.ID] = g
	case keys.NodePrefix, keys.PresencePrefix:
		return t.putMember(kind+"/", rest, item)
	}
	return nil
}

func (t *change) putKept(c *Catalog, rest string, item store.Item) error {
	key, err := keys.ParseKept(rest)
	if err != nil {
		return damaged("kept version", err)
	}
	e, err := c.keptVersion(t.before, key, item)
	if err != nil {
		return err
	}
	if t.own != nil {
		if made, ok := t.own.next.kept.Get(key); ok {
			e.version = made.version
		}
	}
	t.next.kept = t.next.kept.With(key, e)
	return nil
}

func (t *change) putMember(prefix, name string, item store.Item) error {
	m := Member{}
	if old := t.members[name]; old != nil {
		m = *old
	}
	if prefix == keys.NodePrefix {
		n, err := decodeNode(item.Value)
		if err != nil {
			return err
		}
		m = Member{NodeRecord: *n, Registered: item.Revision} // a new incarnation: nothing is known of what it reads
	} else {
		p, err := decodePresence(item.Value)
		if err != nil {
			return err
		}
		m.reads, m.Oldest, m.Seen, m.State = p.Reads, p.Reads.Oldest(), p.Seen, MemberState(p.State)
	}
	t.members[name] = &m
	return nil
}

// forgetID takes a table, view or type out, whatever its name is.
func (c *Contents) forgetID(id TableID) {
	if name, ok := c.names.Get(id); ok {
		c.drop(name)
	}
}

// readAgain takes over what the store has now, because changes were missed.
func (c *Catalog) readAgain(ctx context.Context) error {
	r, err := c.read(ctx)
	if err != nil {
		return err
	}
	c.mu.Lock()
	old := c.mu.current.contents
	c.mu.Unlock()
	for name, e := range r.contents.tables.All() { // what did not change keeps its version, and with it its pages' accounts
		if had, ok := old.tables.Get(name); ok && had.revision == e.revision {
			r.contents.setTable(name, had)
		}
	}
	r.contents.keepFrom(old)
	if c.options.Set != nil {
		c.options.Set(0)
	}
	return c.takeOver(ctx, &change{revision: r.revision, next: r.contents, members: r.members, regions: r.regions, whole: true})
}

// takeOver installs a change.
func (c *Catalog) takeOver(ctx context.Context, t *change) error {
	var pages []hugetable.NewPage
	if t.next != nil {
		var err error
		if pages, err = c.newPages(ctx, t); err != nil {
			return err
		}
	}
	c.mu.Lock()
	if t.whole {
		c.mu.history.Missed()
	}
	gone := c.changeMembers(t)
	c.changeRegions(t)
	if t.whole {
		c.mu.missed = t.revision
	}
	released := &releases{}
	if t.next != nil {
		released = c.install(t.next, pages)
	}
	c.mu.applied = t.revision
	c.mu.moved.Broadcast()
	c.mu.Unlock()
	if t.own == nil && t.next != nil {
		c.options.Fault.At(faults.CommitApplied)
	}
	c.carryOut(released)
	for _, m := range gone {
		if c.options.Gone != nil {
			c.options.Gone(m)
		}
	}
	return nil
}

// changeRegions requires mu.
func (c *Catalog) changeRegions(t *change) {
	if t.whole {
		clear(c.mu.regions)
	}
	for id, g := range t.regions {
		if g == nil {
			delete(c.mu.regions, id)
		} else {
			c.mu.regions[id] = g
		}
	}
}

// changeMembers requires mu. It returns the incarnations that are over.
func (c *Catalog) changeMembers(t *change) (gone []Member) {
	for name, old := range c.mu.members {
		if m := t.members[name]; m == nil || m.Registered != old.Registered {
			gone = append(gone, *old)
		}
	}
	for name, m := range t.members {
		if old := c.mu.members[name]; name == c.options.Self.Name || old != nil && old.Registered == m.Registered {
			continue
		}
		c.mu.begun[name] = m.Registered
		// A lender restarted and waits for us to forget what lay in its regions before (K9). Our borrowers are not
		// notified: their leases are not renewed, and run out.
		for _, l := range c.mu.leases {
			if l.Holder.TTL > 0 && l.doomed == 0 {
				l.doomed = t.revision
			}
		}
		c.reportSoon()
	}
	c.mu.members = t.members
	c.holdRead()
	return gone
}

// newPages learns what install must know: the extents of the pages that come, and of those that may go by it.
func (c *Catalog) newPages(ctx context.Context, t *change) ([]hugetable.NewPage, error) {
	if t.own != nil {
		return t.own.pages, nil // the commit has looked at the pages that may go
	}
	c.mu.Lock()
	old := c.mu.current.contents
	c.mu.Unlock()
	var came []*TableVersion
	for d := range persistent.Difference(old.tables, t.next.tables) {
		if d.Before.version == d.After.version {
			continue
		}
		if d.Was {
			if err := c.loadExtents(ctx, d.Before.version); err != nil {
				return nil, err
			}
		}
		if d.Is {
			came = append(came, d.After.version)
		}
	}
	var kept []*TableVersion
	for d := range persistent.Difference(old.kept, t.next.kept) {
		if d.Was && d.Before.version != d.After.version {
			if err := c.loadExtents(ctx, d.Before.version); err != nil {
				return nil, err
			}
		}
		if d.Is && d.Before.version != d.After.version && !old.has(d.After.version) {
			kept = append(kept, d.After.version)
		}
	}
	return c.pagesOf(ctx, old, kept, came)
}

// pagesOf lists the pages of versions that come, former ones first, in their order.
func (c *Catalog) pagesOf(ctx context.Context, old *Contents, kept, came []*TableVersion) (pages []hugetable.NewPage,
	err error) {
	listed := map[TableID]map[ExtentID]bool{} // extents of families of which former versions, or clones, come
	list := func(v *TableVersion) (err error) {
		if listed[v.Family()] == nil {
			listed[v.Family()], err = c.extentsOfFamily(ctx, old, v.Family())
		}
		return err
	}
	for _, v := range append(kept, came...) {
		_, was := old.TableOf(v.Table().ID, v.Table().Name)
		if slices.Contains(kept, v) || v.Restored() || v.Table().Family != 0 && !was {
			if err := list(v); err != nil {
				return nil, err
			}
		}
	}
	known := map[PageID]bool{}
	for _, v := range append(kept, came...) {
		id := v.Family()
		living := listed[id]
		if living == nil {
			living = map[ExtentID]bool{}
			if before, ok := old.TableOf(v.Table().ID, v.Table().Name); ok { // it may have another name since
				living = c.extentsOf(before)
			}
		}
		made, err := c.pagesSince(ctx, known, living, v)
		if err != nil {
			return nil, err
		}
		for i := range made {
			known[made[i].Ref.ID] = true
			if listed[id] != nil {
				for _, x := range made[i].Extents {
					living[x] = true
				}
			}
		}
		pages = append(pages, made...)
	}
	return pages, nil
}

// pagesSince lists the pages of a version that no living version of this process has, and that are not known to come.
// Their extents that are living, in a page that was there, come first, as install wants them (K3).
func (c *Catalog) pagesSince(ctx context.Context, coming map[PageID]bool, living map[ExtentID]bool,
	v *TableVersion) ([]hugetable.NewPage, error) {
	var made []hugetable.NewPage
	for _, ref := range v.Pages() {
		c.mu.Lock()
		known := c.mu.pages[ref.ID] != nil
		c.mu.Unlock()
		if known || coming[ref.ID] {
			continue
		}
		headers, err := v.PageExtents(ctx, ref)
		if err != nil {
			return nil, err
		}
		page := hugetable.NewPage{Ref: ref}
		for _, h := range headers {
			for x := range h.All() {
				page.Extents = append(page.Extents, x.ExtentID)
			}
		}
		made = append(made, page)
	}
	for i := range made {
		p := &made[i]
		carried := make([]ExtentID, 0, len(p.Extents))
		for _, id := range p.Extents {
			if living[id] {
				carried = append(carried, id)
			}
		}
		p.CarriedExtents = len(carried)
		p.Extents = append(carried, slices.DeleteFunc(p.Extents, func(id ExtentID) bool { return living[id] })...)
	}
	return made, nil
}

// extentsOf requires that the extents of the version's pages are loaded.
func (c *Catalog) extentsOf(v *TableVersion) map[ExtentID]bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	ids := map[ExtentID]bool{}
	for _, ref := range v.Pages() {
		if p := c.mu.pages[ref.ID]; p != nil {
			for _, id := range p.extents {
				ids[id] = true
			}
		}
	}
	return ids
}

// barrier returns when everything that was committed anywhere before the call is visible here.
func (c *Catalog) barrier(ctx context.Context) error {
	if !c.shared() {
		return nil
	}
	last, err := c.last.Wait(ctx)
	if err != nil {
		return fmt.Errorf("ask the cluster for its last commit: %w", err)
	}
	return c.See(ctx, last)
}

// See returns when this node sees a revision. The store may fall silent at any moment, so the wait is bounded.
func (c *Catalog) See(ctx context.Context, revision Revision) error {
	patience := time.NewTimer(c.options.Patience)
	defer patience.Stop()
	for {
		c.mu.Lock()
		applied, ended, moved := c.mu.applied, c.mu.ended, c.mu.moved.Wait()
		c.mu.Unlock()
		switch {
		case applied >= revision:
			return nil
		case ended != nil:
			return ended
		}
		select {
		case <-moved:
		case <-ctx.Done():
			return fmt.Errorf("wait for revision %d, revision %d is seen: %w", revision, applied, ctx.Err())
		case <-patience.C:
			return fmt.Errorf("%w: revision %d, after %d", ErrBehind, revision, applied)
		}
	}
}
