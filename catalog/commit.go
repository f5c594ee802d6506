package catalog

import (
	"context"
	"errors"
	"fmt"

	"github.com/csmsql/csmsql/catalog/hugetable"
	"github.com/csmsql/csmsql/catalog/store"
	"github.com/csmsql/csmsql/internal/faults"
)

// Commit makes all changes visible at once, or none. The order is that of docs/coherence.md: the chunks are
// published at their lenders, then the descriptors become visible by one compare-and-swap in the store; it is
// durable when Commit returns. A change by somebody else to anything that was written here is ErrConflict (40001).
// On an error nothing has changed and the chunks are given back, except for ErrOutcomeUnknown: then only the store
// knows. In a cluster this node asks it again as soon as it can, and gives the chunks back if it did not happen;
// alone it must be restarted.
func (t *Transaction) Commit(ctx context.Context) error {
	if t.over {
		return ErrTransactionOver
	}
	t.over = true
	c := t.catalog
	c.committing.Lock()
	defer c.committing.Unlock()
	w := &commit{catalog: c, transaction: t, unused: t.taken, publish: map[ExtentID]bool{}}
	if err := w.run(ctx); err != nil {
		return fmt.Errorf("commit: %w", err)
	}
	return nil
}

// commit is one Commit under way. Requires: the catalog's committing.
type commit struct {
	catalog     *Catalog
	transaction *Transaction
	current     *Contents
	next        *Contents
	pages       []hugetable.NewPage
	write       store.Transaction
	dead        []garbage         // is removed on the way
	token       string            // what the store's commit record says of it
	publish     map[ExtentID]bool // in the versions to come
	unused      map[ExtentID]bool // handed over and in no version: truncated or dropped again
}

func (w *commit) run(ctx context.Context) error {
	c := w.catalog
	c.options.Fault.At(faults.CommitBegin)
	if err := w.prepare(ctx); err != nil {
		w.transaction.discard(w.transaction.taken)
		return err
	}
	for id := range w.publish {
		delete(w.unused, id)
	}
	w.transaction.discard(w.unused)
	if len(w.write.Puts)+len(w.write.Deletes) == 0 {
		return nil
	}
	if err := w.compareLenders(); err != nil {
		w.transaction.discard(w.publish)
		return err
	}
	if err := c.lender.Publish(sortedIDs(w.publish)...); err != nil {
		w.transaction.discard(w.publish)
		return fmt.Errorf("publish chunks: %w", err)
	}
	c.options.Fault.At(faults.CommitPublished)
	defer c.setPending(nil)
	revision, err := w.store(context.WithoutCancel(ctx)) // half of a commit cannot be cancelled
	if errors.Is(err, ErrOutcomeUnknown) {
		if tell := c.options.Doubted; tell != nil && len(w.publish) > 0 {
			tell(sortedIDs(w.publish))
		}
		if c.doubted = w; !c.shared() {
			c.broken = err
		}
		return err
	}
	if err != nil {
		c.log("retire chunks of a failed commit", c.lender.Retire(sortedIDs(w.publish)...))
		return err
	}
	c.options.Fault.At(faults.CommitStored)
	defer w.committed()
	if c.shared() {
		// The commit is durable. That this process does not see it yet is no reason to call it failed.
		c.log("see a commit", c.awaitApplied(context.WithoutCancel(ctx), revision))
		c.options.Fault.At(faults.CommitVisible)
		c.options.Fault.At(faults.CommitDone)
		return nil
	}
	w.show(revision)
	return nil
}

// committed says that its extents are a version's.
func (w *commit) committed() {
	if tell := w.catalog.options.Committed; tell != nil && len(w.publish) > 0 {
		tell(sortedIDs(w.publish))
	}
}

// compareLenders makes the commit fail if this node, or a lender of its chunks, is not the incarnation any more that it
// is now (K8). It comes before the chunks are published there: a lender that was started anew before that knows
// nothing of them, and one that is later fails the comparison.
func (w *commit) compareLenders() error {
	c := w.catalog
	if !c.shared() {
		return nil
	}
	self := c.options.Self.Name
	w.compare(unchanged(nodeKey(self), c.registered))
	c.mu.Lock()
	defer c.mu.Unlock()
	compared := map[string]bool{self: true}
	for id := range w.publish {
		record := c.mu.regions[id.Region]
		if record == nil {
			return fmt.Errorf("%w: nothing is known of region %d", ErrLenderGone, id.Region)
		}
		if compared[record.Node] {
			continue
		}
		m := c.mu.members[record.Node]
		if m == nil {
			return fmt.Errorf("%w: region %d of node %q", ErrLenderGone, id.Region, record.Node)
		}
		compared[record.Node] = true
		w.compare(unchanged(nodeKey(record.Node), m.Registered))
	}
	return nil
}

// prepare computes what to write and checks that nobody else wrote it. Nothing has happened after it.
func (w *commit) prepare(ctx context.Context) error {
	c := w.catalog
	if c.broken != nil {
		return fmt.Errorf("an earlier commit left the catalog in doubt; restart the server: %w", c.broken)
	}
	if err := c.settleDoubt(ctx); err != nil {
		return err
	}
	c.mu.Lock()
	closed := c.mu.closed
	w.current = c.mu.current.contents
	c.mu.Unlock()
	if closed {
		return ErrClosed
	}
	w.next = w.current.clone()
	if err := w.schemas(); err != nil {
		return err
	}
	for name := range w.transaction.relation {
		if err := w.relation(ctx, name); err != nil {
			return err
		}
	}
	w.readers()
	if err := w.compareReads(); err != nil {
		return err
	}
	w.forget()
	return ctx.Err()
}

func conflict(kind, name string) error {
	return fmt.Errorf("%w: %s %q", ErrConflict, kind, name)
}

func (w *commit) compare(c store.Compare) { w.write.Compares = append(w.write.Compares, c) }
func (w *commit) put(key string, value []byte) {
	w.write.Puts = append(w.write.Puts, store.Item{Key: key, Value: value})
}
func (w *commit) remove(key string) { w.write.Deletes = append(w.write.Deletes, key) }

func (w *commit) schemas() error {
	t := w.transaction
	for name := range t.schema {
		before, had := t.base.schemas[name]
		if now, has := w.current.schemas[name]; now != before || has != had {
			return conflict("schema", name)
		}
		w.compare(unchanged(schemaKey(name), before.revision))
		if had { // it was dropped, and perhaps made again: nobody may have put something into it
			for _, relation := range w.current.relationsIn(name) {
				if !t.relation[relation] {
					return conflict("schema", name)
				}
			}
			w.compare(store.NothingNewer(namesOf(name), t.base.revision))
			delete(w.next.schemas, name)
		}
		switch {
		case t.own.HasSchema(name):
			w.put(schemaKey(name), nil)
			w.next.schemas[name] = schemaEntry{}
		case had:
			w.remove(schemaKey(name))
		}
	}
	return nil
}

func (w *commit) relation(ctx context.Context, name TableName) error {
	t := w.transaction
	table, isTable := t.base.tables[name]
	view, isView := t.base.views[name]
	if w.current.tables[name] != table || w.current.views[name] != view {
		return conflict("relation", name.String())
	}
	delete(w.next.tables, name)
	delete(w.next.views, name)
	switch {
	case isTable:
		w.compare(unchanged(tableKey(table.version.Table().ID), table.revision))
		w.remove(tableKey(table.version.Table().ID))
		w.remove(nameKey(name))
		// Its pages may die by this; what is in them must be known by then.
		if err := w.catalog.loadExtents(ctx, table.version); err != nil {
			return err
		}
	case isView:
		w.compare(unchanged(viewKey(view.view.ID), view.revision))
		w.remove(viewKey(view.view.ID))
		w.remove(nameKey(name))
	default:
		w.compare(unchanged(nameKey(name), 0))
	}
	return w.newRelation(ctx, name, isTable || isView)
}

// readers sees to it that no view is made over what is gone, and nothing goes below a view that was made since
// (K10). A view leaves a mark at what it reads; whoever takes that away compares the mark.
func (w *commit) readers() {
	t := w.transaction
	marked := map[TableID]bool{}
	for name, id := range t.reads {
		if identity(t.own, name) != id {
			continue // the transaction took it away again, and the view with it
		}
		key := tableKey(id)
		if _, view := t.base.views[name]; view {
			key = viewKey(id)
		}
		w.compare(store.Present(key))
		w.compare(store.Present(nameKey(name)))
		w.put(readerKey(id), nil)
		marked[id] = true
	}
	for name := range t.relation {
		if id := identity(t.base, name); id != 0 && identity(t.own, name) == 0 && !marked[id] {
			w.compare(store.NothingNewer(readerKey(id), t.base.revision))
			w.remove(readerKey(id))
		}
	}
}

func (w *commit) newRelation(ctx context.Context, name TableName, existed bool) error {
	t := w.transaction
	table, isTable := t.own.tables[name]
	view, isView := t.own.views[name]
	if (isTable || isView) && !existed && !t.schema[name.Schema] {
		if w.current.schemas[name.Schema] != t.base.schemas[name.Schema] {
			return conflict("schema", name.Schema)
		}
		w.compare(unchanged(schemaKey(name.Schema), t.base.schemas[name.Schema].revision))
	}
	switch {
	case isTable:
		return w.newVersion(ctx, name, table.version)
	case isView:
		record, err := view.view.encode()
		if err != nil {
			return err
		}
		w.put(viewKey(view.view.ID), record)
		w.put(nameKey(name), encodeName(kindView, view.view.ID))
		w.next.views[name] = viewEntry{view: view.view}
	}
	return nil
}

func (w *commit) newVersion(ctx context.Context, name TableName, v *TableVersion) error {
	sealed, pages, err := v.Seal(ctx, v.Version()+1)
	if err != nil {
		return err
	}
	record, err := sealed.Encode()
	if err != nil {
		return err
	}
	for _, id := range v.FreshExtents() {
		w.publish[id] = true
	}
	w.pages = append(w.pages, pages...)
	w.put(tableKey(v.Table().ID), record)
	w.put(nameKey(name), encodeName(kindTable, v.Table().ID))
	w.next.tables[name] = tableEntry{version: sealed}
	return nil
}

// forget takes out the deletions of keys that are also written: a renamed table keeps its record.
func (w *commit) forget() {
	written := map[string]bool{}
	for _, p := range w.write.Puts {
		written[p.Key] = true
	}
	deletes, seen := w.write.Deletes[:0], map[string]bool{}
	for _, key := range w.write.Deletes {
		if !written[key] && !seen[key] {
			seen[key] = true
			deletes = append(deletes, key)
		}
	}
	w.write.Deletes = deletes
}

// store writes the pages and then, in the same transaction if it fits, the records.
func (w *commit) store(ctx context.Context) (Revision, error) {
	c := w.catalog
	c.commits++
	w.token = fmt.Sprintf("%s/%d/%d/%d", c.identity, c.registered, c.options.Now().UnixNano(), c.commits)
	w.put(commitKey, []byte(w.token))
	if c.shared() {
		w.put(c.outcomeKey(), []byte(w.token))
	}
	var pages []store.Item
	for _, p := range w.pages {
		pages = append(pages, store.Item{Key: pageKey(p.Ref.ID), Value: p.Data})
	}
	if fits(c.store.Limits(), w.write, pages) {
		w.write.Puts = append(w.write.Puts, pages...)
	} else {
		if err := c.storePages(ctx, pages); err != nil {
			c.abandonPages(w.pages)
			return 0, err
		}
		c.options.Fault.At(faults.CommitPagesStored)
	}
	w.dead = c.takeGarbage(w.write)
	for _, g := range w.dead {
		w.remove(pageKey(g.page))
	}
	c.setPending(w)
	revision, err := c.store.Commit(ctx, w.write)
	if errors.Is(err, store.ErrUnknown) {
		revision, err = c.outcome(ctx, w.token, err)
	}
	if err != nil && !errors.Is(err, ErrOutcomeUnknown) {
		w.undo()
	}
	if errors.Is(err, store.ErrConflict) {
		return 0, c.conflictOf(err)
	}
	return revision, err
}

// undo takes back what the store was to do and did not.
func (w *commit) undo() {
	w.catalog.returnGarbage(w.dead)
	w.catalog.abandonPages(w.pages)
}

// setPending tells apply that the next transaction with the token is the commit's.
func (c *Catalog) setPending(w *commit) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.mu.pending = w
}

// conflictOf says which kind of conflict it was: with somebody's change, or with a node's end.
func (c *Catalog) conflictOf(err error) error {
	var which *store.Conflict
	switch {
	case !errors.As(err, &which):
		return err
	case c.shared() && which.Compare.Key == nodeKey(c.options.Self.Name):
		return fmt.Errorf("%w: %w", ErrFenced, err)
	}
	return fmt.Errorf("%w: %w", ErrConflict, err)
}

func fits(limits store.Limits, t store.Transaction, pages []store.Item) bool {
	operations, bytes := len(t.Compares)+len(t.Puts)+len(t.Deletes)+len(pages), 0
	for _, p := range t.Puts {
		bytes += len(p.Key) + len(p.Value)
	}
	for _, p := range pages {
		bytes += len(p.Key) + len(p.Value)
	}
	return (limits.Operations == 0 || operations <= limits.Operations) && (limits.Bytes == 0 || bytes <= limits.Bytes)
}

// storePages writes pages ahead of the record that will refer to them, in as many transactions as the limits demand.
func (c *Catalog) storePages(ctx context.Context, pages []store.Item) error {
	limits := c.store.Limits()
	for first := 0; first < len(pages); {
		end := first + 1
		for end < len(pages) && fits(limits, store.Transaction{}, pages[first:end+1]) {
			end++
		}
		if _, err := c.store.Commit(ctx, store.Transaction{Puts: pages[first:end]}); err != nil {
			return fmt.Errorf("store pages: %w", err)
		}
		first = end
	}
	return nil
}

// show makes the stored change visible in this process and lets go of what it superseded.
func (w *commit) show(revision Revision) {
	c := w.catalog
	w.next.revision = revision
	for name := range w.transaction.schema {
		if _, ok := w.next.schemas[name]; ok {
			w.next.schemas[name] = schemaEntry{revision}
		}
	}
	for name := range w.transaction.relation {
		if e, ok := w.next.tables[name]; ok {
			w.next.tables[name] = tableEntry{e.version, revision}
		}
		if e, ok := w.next.views[name]; ok {
			w.next.views[name] = viewEntry{e.view, revision}
		}
	}
	c.mu.Lock()
	released := c.install(w.next, w.pages)
	c.mu.Unlock()
	c.options.Fault.At(faults.CommitVisible)
	c.tell(released)
	c.options.Fault.At(faults.CommitDone)
}

func isConflict(err error) bool { return errors.Is(err, store.ErrConflict) }
