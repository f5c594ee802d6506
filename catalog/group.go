package catalog

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/csmsql/csmsql/catalog/hugetable"
	"github.com/csmsql/csmsql/catalog/receipt"
	"github.com/csmsql/csmsql/catalog/store"
	"github.com/csmsql/csmsql/internal/faults"
	"github.com/csmsql/csmsql/internal/tally"
)

// Group commit: while one commit is on its way to the store, which may have to wait for a disk or for other machines,
// others wait; then those of them that only append and delete rows become one commit, whichever session each is of.
//
//	Commit ─► queue ─┬─► the one whose turn it is: itself and all that go by rows ─► group ─► prepare ─► publish ─► store ─┐
//	Commit ─► queue ─┘                                                                ▲  another node was faster, and      │
//	                                                                                  └── both can be had (K5): once more ◄┘
//
// Transactions of a group have one revision, in the order in which they came.

// groupRequests and groupTables bound what goes to the store at once.
const (
	groupRequests = 256
	groupTables   = 12
)

// attemptsMax bounds how often a commit is prepared again because another node changed the same table. Each time one of
// the others has committed.
const attemptsMax = 1000

// request is a transaction that is to be committed.
type request struct {
	ctx         context.Context
	transaction *Transaction // nil if it is a note
	note        *Note
	held        map[ExtentID]bool // the chunks that it has to answer for
	done        chan struct{}     // closed when err is final
	err         error
}

// keep gives back what was handed over and is in no version: truncated or dropped again, or the copy of a chunk that
// was folded meanwhile. It may be called again.
func (r *request) keep(next *Contents, g *group) {
	t, fresh := r.transaction, map[ExtentID]bool{}
	for name := range t.relation {
		e, ok := t.own.tables.Get(name)
		if !ok {
			continue
		}
		ids := e.version.FreshExtents()
		if to := next.tables.Of(name).version; to != nil && to != e.version && !t.byRows() {
			ids = to.FreshExtents()
		}
		for _, id := range ids {
			fresh[id] = true
			delete(r.held, id)
		}
	}
	g.giveBack(r.held)
	r.held = fresh
}

// along says which of the requests that wait a request takes along: notes all others, commits some.
func (r *request) along() func(taken int, other *request) bool {
	if r.note != nil {
		return func(_ int, other *request) bool { return other.note != nil }
	}
	alone, tables := r.transaction.alone(), maps.Clone(r.transaction.relation)
	return func(taken int, other *request) bool {
		t := other.transaction
		if alone || t == nil || taken >= groupRequests || t.alone() {
			return false
		}
		with := maps.Clone(tables)
		maps.Copy(with, t.relation)
		if len(with) > max(groupTables, len(tables)) {
			return false
		}
		tables = with
		return true
	}
}

// alone reports whether the transaction is committed by itself: what ends it by a conflict must end no other one.
func (t *Transaction) alone() bool { return !t.byRows() || len(t.receipts) > 0 }

// byRows reports whether the transaction does nothing but append and delete rows.
func (t *Transaction) byRows() bool {
	if len(t.schema) > 0 || len(t.reads) > 0 || t.depends.serializable {
		return false
	}
	for name := range t.relation {
		before, existed := t.base.tables.Get(name)
		after, exists := t.own.tables.Get(name)
		if !existed || !exists || !after.version.ByRows(before.version) {
			return false
		}
	}
	return true
}

// Commit makes all changes visible at once, or none. The order is that of docs/coherence.md: the chunks are published
// at their lenders, then the descriptors become visible by one compare-and-swap in the store; it is durable when Commit
// returns. Another transaction's change to anything that was written here is ErrConflict (40001), unless both can be
// had: appended rows go behind whatever was committed since, chunks that only moved are put where they were, and rows
// that are deleted are gone wherever they lie then. On an error nothing has changed and the chunks are given back,
// except for ErrOutcomeUnknown: then only the store knows. In a cluster this node asks it again as soon as it can, and
// gives the chunks back if it did not happen; alone it must be restarted.
func (t *Transaction) Commit(ctx context.Context) error {
	if t.over {
		return ErrTransactionOver
	}
	t.over = true
	err := t.catalog.await(&request{ctx: ctx, transaction: t, held: t.taken, done: make(chan struct{})})
	if err != nil {
		return fmt.Errorf("commit: %w", err)
	}
	return nil
}

// await has a request carried out when it has its turn, or leave the queue if its context ends first.
func (c *Catalog) await(r *request) error {
	c.queue.Add(r)
	select {
	case <-r.done:
	case c.committing <- struct{}{}:
		c.commitGroup(r)
	case <-r.ctx.Done():
		if c.queue.Leave(r) {
			if r.transaction != nil {
				r.transaction.discard(r.held)
			}
			return r.ctx.Err()
		}
	}
	<-r.done
	return r.err
}

// Groups counts the transactions that were tried to be committed together.
func (c *Catalog) Groups() *tally.Sizes { return &c.groups }

// commitGroup commits what a request is in, and lets the next one in.
func (c *Catalog) commitGroup(r *request) {
	defer func() { <-c.committing }()
	requests, returned := c.queue.Take(r, r.along()), false
	c.groups.Add(len(requests))
	defer func() {
		for _, r := range requests {
			if !returned && r.err == nil { // it panics, which only the one whose turn it is sees
				r.err = fmt.Errorf("%w: the commit failed inside", ErrOutcomeUnknown)
			}
			close(r.done)
		}
	}()
	if len(requests) > 0 {
		c.carry(r, requests)
	}
	returned = true
}

// carry does what the requests of a turn ask for. Requires: committing.
func (c *Catalog) carry(r *request, requests []*request) {
	if r.note != nil {
		c.noteAll(r.ctx, requests)
		return
	}
	if err := c.sealAll(r.ctx); err != nil { // a commit is behind all that was noted (K16)
		(&group{catalog: c, requests: requests}).failAll(err)
		return
	}
	if len(requests) == 1 {
		c.commitAlone(r, nil)
	} else {
		c.commitTogether(requests)
	}
}

// commitAlone commits one request, of whose chunks some may be published already.
func (c *Catalog) commitAlone(r *request, done map[ExtentID]bool) {
	(&group{catalog: c, requests: []*request{r}, done: done}).run(r.ctx)
}

// commitTogether commits requests at once. If their chunks cannot be published together each is tried by itself: one
// whose lender is gone is no other's business.
func (c *Catalog) commitTogether(requests []*request) {
	g := &group{catalog: c, requests: slices.Clone(requests), several: true}
	g.run(context.WithoutCancel(requests[0].ctx))
	if g.apart {
		for _, r := range g.requests {
			c.commitAlone(r, g.done)
		}
	}
}

// group is what one commit commits. Requires: the catalog's committing.
type group struct {
	catalog   *Catalog
	requests  []*request // without those that failed
	several   bool       // it may be taken apart
	apart     bool       // nothing has happened: try each by itself
	lenders   []store.Compare
	published bool
	done      map[ExtentID]bool            // what was published before an attempt failed that published the rest
	refused   map[PageID]hugetable.NewPage // of attempts that the store did not take
}

// fail ends a request without a trace.
func (g *group) fail(r *request, err error) {
	r.err = err
	g.requests = slices.DeleteFunc(slices.Clone(g.requests), func(other *request) bool { return other == r })
	g.giveBack(r.held)
}

// giveBack gives chunks back that are in no version: published ones are retired (K4).
func (g *group) giveBack(ids map[ExtentID]bool) {
	published, others := map[ExtentID]bool{}, map[ExtentID]bool{}
	for id := range ids {
		if g.published || g.done[id] {
			published[id] = true
		} else {
			others[id] = true
		}
	}
	c := g.catalog
	if len(published) > 0 {
		c.log("retire chunks that no version has", c.lender.Retire(sortedIDs(published)...))
	}
	if len(others) > 0 {
		c.log("discard chunks", c.lender.Discard(sortedIDs(others)...))
	}
}

func (g *group) failAll(err error) {
	for _, r := range slices.Clone(g.requests) {
		g.fail(r, err)
	}
}

func (g *group) run(ctx context.Context) {
	c := g.catalog
	c.options.Fault.At(faults.CommitBegin)
	w, err := g.prepare(ctx)
	if err != nil {
		g.failAll(err)
		return
	}
	if len(g.requests) == 0 || len(w.write.Puts)+len(w.write.Deletes) == 0 {
		return
	}
	if g.several && !c.store.Limits().Fit(w.write, nil) {
		g.apart = true
		return
	}
	if err := g.publish(w); err != nil {
		if g.apart = g.several; !g.apart {
			g.failAll(err)
		}
		return
	}
	c.options.Fault.At(faults.CommitPublished)
	defer c.setPending(nil)
	ctx = context.WithoutCancel(ctx) // half of a commit cannot be cancelled
	revision, err := w.store(ctx)
	for attempt := 1; g.repeats(w, err) && attempt < attemptsMax; attempt++ {
		if w, err = g.again(ctx, w); err == nil && len(g.requests) > 0 {
			revision, err = w.store(ctx)
		}
	}
	if len(g.requests) > 0 {
		g.finish(ctx, w, revision, err)
	}
	g.abandon(w, err)
}

// publish makes the chunks readable at their lenders.
func (g *group) publish(w *commit) (err error) {
	if g.lenders, err = w.lendersOf(); err != nil {
		return err
	}
	if logged := g.catalog.options.PublishLogged; logged != nil {
		w.write.Redo, err = logged(sortedIDs(w.publish)...)
	} else {
		left := slices.DeleteFunc(sortedIDs(w.publish), func(id ExtentID) bool { return g.done[id] })
		err = g.catalog.lender.Publish(left...)
	}
	if err != nil {
		var partly *PartlyPublishedError
		if errors.As(err, &partly) {
			g.note(partly.Published)
		}
		return fmt.Errorf("publish chunks: %w", err)
	}
	g.published = true
	w.write.Compares = append(w.write.Compares, g.lenders...)
	return nil
}

// note remembers what is published although an attempt has failed.
func (g *group) note(ids []ExtentID) {
	done := maps.Clone(g.done)
	if done == nil {
		done = map[ExtentID]bool{}
	}
	for _, id := range ids {
		done[id] = true
	}
	g.done = done
}

// repeats reports whether the store refused the commit because another node changed a table whose rows it changes.
func (g *group) repeats(w *commit, err error) bool {
	var which *store.Conflict
	return g.catalog.shared() && errors.As(err, &which) && w.rows[which.Compare.Key]
}

// again prepares the commit behind what the others have committed.
func (g *group) again(ctx context.Context, refused *commit) (*commit, error) {
	g.refuse(refused)
	if err := g.catalog.barrier(ctx); err != nil {
		return refused, fmt.Errorf("%w: %w", ErrConflict, err)
	}
	w, err := g.prepare(ctx)
	if err != nil {
		return refused, err
	}
	return w, nil
}

// lostRaces reports whether another node was faster before.
func (g *group) lostRaces() bool { return g != nil && g.refused != nil }

func (g *group) refuse(w *commit) {
	if g.refused == nil {
		g.refused = map[PageID]hugetable.NewPage{}
	}
	for _, p := range w.pages {
		g.refused[p.Ref.ID] = p
	}
}

// abandon makes garbage of what refused attempts have stored, except what the last one has, too.
func (g *group) abandon(w *commit, err error) {
	if err != nil && !errors.Is(err, ErrOutcomeUnknown) {
		g.refuse(w)
	} else {
		for _, p := range w.pages {
			delete(g.refused, p.Ref.ID)
		}
	}
	var pages []hugetable.NewPage
	for _, p := range g.refused {
		pages = append(pages, p)
	}
	g.catalog.abandonPages(pages)
}

// finish does what the store's answer asks for.
func (g *group) finish(ctx context.Context, w *commit, revision Revision, err error) {
	c := g.catalog
	switch {
	case errors.Is(err, ErrOutcomeUnknown):
		if notify := c.options.Doubted; notify != nil && len(w.publish) > 0 {
			notify(sortedIDs(w.publish))
		}
		if c.doubted = w; !c.shared() {
			c.broken = err
		}
		for _, r := range g.requests {
			r.err = err
		}
		return
	case errors.Is(err, store.ErrConflict):
		g.failAll(c.conflictOf(err))
		return
	case err != nil:
		g.failAll(err)
		return
	}
	c.options.Fault.At(faults.CommitStored)
	defer w.committed()
	for _, r := range g.requests {
		receipt.Left(revision, r.transaction.receipts...)
	}
	if c.shared() {
		// The commit is durable. That this process does not see it yet is no reason to call it failed.
		c.log("see a commit", c.See(ctx, revision))
		c.options.Fault.At(faults.CommitVisible)
		c.options.Fault.At(faults.CommitDone)
		return
	}
	w.show(revision)
}

// committed says that its extents are a version's.
func (w *commit) committed() {
	if notify := w.catalog.options.Committed; notify != nil && len(w.publish) > 0 {
		notify(sortedIDs(w.publish))
	}
}
