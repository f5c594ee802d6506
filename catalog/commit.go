package catalog

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/csmsql/csmsql/catalog/hugetable"
	"github.com/csmsql/csmsql/catalog/internal/keys"
	"github.com/csmsql/csmsql/catalog/record"
	"github.com/csmsql/csmsql/catalog/store"
	"github.com/csmsql/csmsql/internal/faults"
)

// commit is one attempt to make the changes of a group's transactions visible. Requires: the catalog's committing.
type commit struct {
	catalog *Catalog
	group   *group
	current *Contents
	next    *Contents
	changed map[TableName]bool // tables of next that are not sealed yet
	pages   []hugetable.NewPage
	write   store.Transaction
	dead    []garbage         // is removed on the way
	token   string            // what the store's commit record says of it
	publish map[ExtentID]bool // in the versions to come
	rows    map[string]bool   // keys of tables whose rows it changes
	keeps   []keptKey         // versions that it keeps
}

// prepare computes what to write and checks that no other commit wrote it. It changes nothing. Of several transactions
// those that cannot be committed leave the group.
func (g *group) prepare(ctx context.Context) (*commit, error) {
	c := g.catalog
	current, err := c.usable(ctx)
	if err != nil {
		return nil, err
	}
	w := &commit{
		catalog: c, group: g, current: current, next: current.clone(),
		changed: map[TableName]bool{}, publish: map[ExtentID]bool{}, rows: map[string]bool{},
	}
	w.write.Compares = slices.Clone(g.lenders)
	for _, r := range slices.Clone(g.requests) {
		if err := w.add(ctx, r); err != nil {
			g.fail(r, err)
		}
	}
	for _, name := range slices.SortedFunc(maps.Keys(w.changed), TableName.Compare) {
		if err := w.seal(ctx, name); err != nil {
			return nil, err
		}
	}
	w.write.Forget()
	return w, nil
}

// usable gives what is current, if anything may be committed. Requires: committing.
func (c *Catalog) usable(ctx context.Context) (current *Contents, err error) {
	if c.broken != nil {
		return nil, fmt.Errorf("an earlier commit left the catalog in doubt; restart the server: %w", c.broken)
	}
	if err := cmp.Or(ctx.Err(), c.settleDoubt(ctx)); err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.mu.closed {
		return nil, ErrClosed
	}
	return c.mu.current.contents, nil
}

// add puts one transaction behind those before it: whole or, in a group of several, not at all. One that does more than
// append and delete rows is alone.
func (w *commit) add(ctx context.Context, r *request) error {
	if err := r.ctx.Err(); err != nil {
		return err
	}
	t := r.transaction
	if err := w.compareExpected(t); err != nil {
		return err
	}
	rows := map[TableName]*TableVersion{}
	for name := range t.relation {
		v, err := w.changedRows(ctx, t, name)
		if err != nil {
			return err
		}
		if v != nil {
			rows[name] = v
		}
	}
	if err := w.relate(ctx, t, rows); err != nil {
		return err
	}
	for name, v := range rows {
		w.next.setTable(name, tableEntry{version: v})
		w.changed[name] = true
	}
	if err := w.redefine(ctx, t, rows); err != nil {
		return err
	}
	r.keep(w.next, w.group)
	for id := range r.held {
		w.publish[id] = true
	}
	return nil
}

// changedRows returns the table's version after the transaction, on top of what others have committed since: nil if the
// transaction gives the name another relation, or none. What does not go together is ErrConflict (K5).
func (w *commit) changedRows(ctx context.Context, t *Transaction, name TableName) (*TableVersion, error) {
	before, existed := t.base.tables.Get(name)
	after, exists := t.own.tables.Get(name)
	same := w.current.views.Of(name) == t.base.views.Of(name) && w.current.types.Of(name) == t.base.types.Of(name) &&
		w.sameRows(t, name)
	for _, v := range []*TableVersion{before.version, w.current.tables.Of(name).version} {
		// Its pages may die by this; what is in them must be known by then.
		if v == nil {
			continue
		}
		if err := w.catalog.loadExtents(ctx, v); err != nil {
			return nil, err
		}
	}
	if !existed || !exists || identity(t.base, name) != identity(t.own, name) {
		if !same {
			return nil, conflict("relation", name.String())
		}
		return nil, nil
	}
	now, ok := w.next.tables.Get(name)
	if !ok {
		return nil, conflict("relation", name.String())
	}
	t.met = t.met || !same && w.group.lostRaces()
	v, err := after.version.Rebase(ctx, before.version, now.version)
	agree := w.catalog.options.Agree
	if err == nil && agree != nil && now.version != before.version && !after.version.Folds() && !t.keepsKeys(name) {
		err = agree(ctx, before.version, after.version, v)
	}
	return v, diverged(err)
}

// sameRows reports whether a name means the table that it meant in the transaction's snapshot, with the same rows:
// chunks may have moved, or been folded.
func (w *commit) sameRows(t *Transaction, name TableName) bool {
	before, had := t.base.tables.Get(name)
	now, has := w.current.tables.Get(name)
	return had == has && (!had || now.version.SameRows(before.version))
}

// seal writes a table's next version.
func (w *commit) seal(ctx context.Context, name TableName) error {
	v := w.next.tables.Of(name).version
	sealed, pages, err := v.Seal(ctx, v.Version()+1)
	if err != nil {
		return err
	}
	id := v.Table().ID
	before, _ := w.current.TableOf(id, name)
	if sealed, err = w.retain(sealed, v, before); err != nil {
		return err
	}
	encoded, err := sealed.EncodeStored(pages)
	if err != nil {
		return err
	}
	if now, ok := w.current.tables.Get(name); ok && now.version.Table().ID == id {
		w.compares(unchanged(keys.Table(id), now.revision))
		w.rows[keys.Table(id)] = true
	} else {
		w.put(keys.Name(name), record.EncodeName(record.KindTable, id))
	}
	w.pages = append(w.pages, pages...)
	w.put(keys.Table(id), encoded)
	w.next.setTable(name, tableEntry{version: sealed})
	return nil
}

// redefine prepares what a transaction does beside changing the rows of tables.
func (w *commit) redefine(ctx context.Context, t *Transaction, rows map[TableName]*TableVersion) error {
	if err := w.schemas(t); err != nil {
		return err
	}
	for name := range t.relation {
		if rows[name] == nil {
			if err := w.relation(ctx, t, name); err != nil {
				return err
			}
		}
	}
	w.readers(t)
	w.alteredBelow(t, rows)
	w.typesAltered(t)
	for _, c := range t.keptRead {
		w.compares(c)
	}
	for _, r := range t.receipts {
		w.compares(r.Condition())
		w.write.Puts = append(w.write.Puts, r.Put())
	}
	w.write.Deletes = append(w.write.Deletes, t.notes...)
	if err := w.compareReads(t); err != nil {
		return err
	}
	return w.compareRequired(ctx, t)
}

// lendersOf returns the conditions that this node, and each lender of the commit's chunks, still is its present
// incarnation (K8). They are asked for before the chunks are published there: a lender that restarted before that knows
// nothing of them, and one that restarts later fails the comparison, in whichever attempt.
func (w *commit) lendersOf() ([]store.Compare, error) {
	c := w.catalog
	if !c.shared() {
		return nil, nil
	}
	self := c.options.Self.Name
	compares := []store.Compare{unchanged(keys.Node(self), c.registered)}
	c.mu.Lock()
	defer c.mu.Unlock()
	compared := map[string]bool{self: true}
	for id := range w.publish {
		record := c.mu.regions[id.Region]
		if record == nil {
			return nil, fmt.Errorf("%w: nothing is known of region %d", ErrLenderGone, id.Region)
		}
		if compared[record.Node] {
			continue
		}
		m := c.mu.members[record.Node]
		if m == nil {
			return nil, fmt.Errorf("%w: region %d of node %q", ErrLenderGone, id.Region, record.Node)
		}
		compared[record.Node] = true
		compares = append(compares, unchanged(keys.Node(record.Node), m.Registered))
	}
	return compares, nil
}

func conflict(kind, name string) error { return fmt.Errorf("%w: %s %q", ErrConflict, kind, name) }

func (w *commit) compares(c store.Compare) { w.write.Compares = append(w.write.Compares, c) }
func (w *commit) put(key string, value []byte) {
	w.write.Puts = append(w.write.Puts, store.Item{Key: key, Value: value})
}
func (w *commit) remove(key string) { w.write.Deletes = append(w.write.Deletes, key) }

func (w *commit) schemas(t *Transaction) error {
	for name := range t.schema {
		before, had := t.base.schemas.Get(name)
		if now, has := w.current.schemas.Get(name); now != before || has != had {
			return conflict("schema", name)
		}
		w.compares(unchanged(keys.Schema(name), before.revision))
		if had && !t.commented[name] { // it was dropped, and perhaps made again: no other transaction may have put something into it
			for _, relation := range w.current.relationsIn(name) {
				if !t.relation[relation] {
					return conflict("schema", name)
				}
			}
			w.compares(store.NothingNewer(keys.NamesOf(name), t.base.revision))
			w.next.dropSchema(name)
		}
		switch {
		case t.own.HasSchema(name):
			w.put(keys.Schema(name), []byte(t.own.schemas.Of(name).comment))
			w.next.setSchema(name, schemaEntry{comment: t.own.schemas.Of(name).comment})
		case had:
			w.remove(keys.Schema(name))
		}
	}
	return nil
}

// relation handles a name that means another table, view or type than before, or one and not the other.
func (w *commit) relation(ctx context.Context, t *Transaction, name TableName) error {
	_, isTable := t.base.tables.Get(name)
	table := w.current.tables.Of(name) // which has the rows that it had, or this is a conflict
	view, isView := t.base.views.Get(name)
	userType, isType := t.base.types.Get(name)
	w.next.drop(name)
	switch {
	case isTable:
		key := keys.Table(table.version.Table().ID)
		w.compares(unchanged(key, table.revision))
		w.rows[key] = true
		w.remove(key)
		w.remove(keys.Name(name))
	case isView:
		w.compares(unchanged(keys.View(view.view.ID), view.revision))
		w.remove(keys.View(view.view.ID))
		if counter := view.view.Counter; counter != 0 && !t.own.counts(counter) {
			w.remove(keys.Counter(counter))
			w.remove(keys.Set(counter))
		}
		w.remove(keys.Name(name))
	case isType:
		w.typeRelation(userType, name)
	default:
		w.compares(unchanged(keys.Name(name), 0))
	}
	return w.newRelation(ctx, t, name, isTable || isView || isType)
}

// readers sees to it that no view is made over what is gone, and nothing goes below a view that was made since (K10). A
// view leaves a mark at what it reads; a transaction that takes that away compares the mark.
func (w *commit) readers(t *Transaction) {
	marked := map[TableID]bool{}
	for name, id := range t.reads {
		if identity(t.own, name) != id {
			continue // the transaction took it away again, and the view with it
		}
		key := keys.Table(id)
		if _, view := t.base.views.Get(name); view {
			key = keys.View(id)
		} else if _, is := t.base.types.Get(name); is {
			key = keys.Type(id)
		}
		w.compares(store.Present(key))
		w.compares(store.Present(keys.Name(name)))
		w.compares(store.NothingNewer(keys.Columns(id), t.base.revision))
		w.put(keys.Reader(id), nil)
		marked[id] = true
	}
	for name := range t.relation {
		if id := identity(t.base, name); id != 0 && identity(t.own, name) == 0 && !marked[id] {
			w.compares(store.NothingNewer(keys.Reader(id), t.base.revision))
			w.remove(keys.Reader(id))
			w.remove(keys.Columns(id))
		}
	}
}

// alteredBelow is for tables that get other columns: a view that was made since means those that it was made over
// (K10). It leaves a mark for views to come, as those do.
func (w *commit) alteredBelow(t *Transaction, rows map[TableName]*TableVersion) {
	for name, v := range rows {
		if before, ok := t.base.tables.Get(name); ok && !hugetable.SameNumbers(before.version, v) {
			w.compares(store.NothingNewer(keys.Reader(v.Table().ID), t.base.revision))
			w.put(keys.Columns(v.Table().ID), nil)
		}
	}
}

func (w *commit) newRelation(ctx context.Context, t *Transaction, name TableName, existed bool) error {
	table, isTable := t.own.tables.Get(name)
	view, isView := t.own.views.Get(name)
	userType, isType := t.own.types.Get(name)
	if (isTable || isView || isType) && !existed && !t.schema[name.Schema] {
		if w.current.schemas.Of(name.Schema) != t.base.schemas.Of(name.Schema) {
			return conflict("schema", name.Schema)
		}
		w.compares(unchanged(keys.Schema(name.Schema), t.base.schemas.Of(name.Schema).revision))
	}
	switch {
	case isTable:
		v, err := w.renamed(ctx, t, table.version)
		if err != nil {
			return err
		}
		w.next.setTable(name, tableEntry{version: v})
		w.changed[name] = true
	case isView:
		encoded, err := view.view.Encode()
		if err != nil {
			return err
		}
		w.put(keys.View(view.view.ID), encoded)
		w.put(keys.Name(name), record.EncodeName(record.KindView, view.view.ID))
		w.next.setView(name, viewEntry{view: view.view})
	case isType:
		w.newType(userType, name)
	}
	return nil
}

// renamed returns a table's version under a new name: the transaction's changes, applied to its present version.
func (w *commit) renamed(ctx context.Context, t *Transaction, v *TableVersion) (*TableVersion, error) {
	name, ok := t.base.names.Get(v.Table().ID)
	if !ok || !t.relation[name] {
		return v, nil
	}
	before, now := t.base.tables.Of(name), w.current.tables.Of(name)
	if now.version == nil {
		return nil, conflict("relation", name.String())
	}
	v, err := v.Rebase(ctx, before.version, now.version)
	return v, diverged(err)
}

func diverged(err error) error {
	if errors.Is(err, hugetable.ErrDiverged) {
		return fmt.Errorf("%w: %w", ErrConflict, err)
	}
	return err
}

// store writes the pages and then, in the same transaction if it fits, the records.
func (w *commit) store(ctx context.Context) (Revision, error) {
	c := w.catalog
	c.commits++
	w.token = fmt.Sprintf("%s/%d/%d/%d", c.identity, c.registered, c.options.Now().UnixNano(), c.commits)
	w.put(keys.Commit, []byte(w.token))
	if c.shared() {
		w.put(c.outcomeKey(), []byte(w.token))
	}
	var pages []store.Item
	for _, p := range w.pages {
		pages = append(pages, store.Item{Key: c.stored.Key(p.Ref.ID), Value: p.Stored()})
	}
	if c.store.Limits().Fit(w.write, pages) {
		w.write.Puts = append(w.write.Puts, pages...)
	} else {
		if err := c.stored.Put(ctx, pages); err != nil {
			return 0, fmt.Errorf("store pages: %w", err)
		}
		c.options.Fault.At(faults.CommitPagesStored)
	}
	w.write.Lazy = w.seals() || c.options.EndsWithBoot && w.byRows()
	w.dead = c.takeGarbage(w.write)
	for _, g := range w.dead {
		w.remove(c.stored.Key(g.page))
	}
	c.setPending(w)
	revision, err := c.store.Commit(ctx, w.write)
	if errors.Is(err, store.ErrUnknown) {
		revision, err = c.outcome(ctx, w.token, err)
	}
	if err != nil && !errors.Is(err, ErrOutcomeUnknown) {
		c.returnGarbage(w.dead)
	}
	return revision, err
}

// seals reports whether the commit is one of rows that are on record: until it is on the disk, they are.
func (w *commit) seals() bool {
	return len(w.group.requests) == 1 && len(w.group.requests[0].transaction.notes) > 0
}

// byRows reports whether the commit does nothing but append and delete rows.
func (w *commit) byRows() bool {
	return !slices.ContainsFunc(w.group.requests, func(r *request) bool { return !r.transaction.byRows() })
}

// setPending marks the commit for apply: the next transaction with the token is the commit's.
func (c *Catalog) setPending(w *commit) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.mu.pending = w
}

// conflictOf says which kind of conflict it was: with another transaction's change, or with a node's end.
func (c *Catalog) conflictOf(err error) error {
	var which *store.Conflict
	switch {
	case !errors.As(err, &which):
		return err
	case c.shared() && which.Compare.Key == keys.Node(c.options.Self.Name):
		return fmt.Errorf("%w: %w", ErrFenced, err)
	}
	return fmt.Errorf("%w: %w", ErrConflict, err)
}

// show makes the stored change visible in this process and lets go of what it superseded.
func (w *commit) show(revision Revision) {
	c := w.catalog
	w.next.revision = revision
	for _, r := range w.group.requests {
		w.date(r.transaction, revision)
	}
	c.mu.Lock()
	released := c.install(w.next, w.pages)
	c.mu.Unlock()
	c.options.Fault.At(faults.CommitVisible)
	c.carryOut(released)
	c.options.Fault.At(faults.CommitDone)
}

// date sets the revision of what a transaction wrote.
func (w *commit) date(t *Transaction, revision Revision) {
	for name := range t.schema {
		if _, ok := w.next.schemas.Get(name); ok {
			w.next.setSchema(name, schemaEntry{revision, w.next.schemas.Of(name).comment})
		}
	}
	w.dateKept(revision)
	for name := range t.relation {
		if e, ok := w.next.tables.Get(name); ok {
			w.next.setTable(name, tableEntry{e.version, revision})
		}
		if e, ok := w.next.views.Get(name); ok {
			w.next.setView(name, viewEntry{e.view, revision})
		}
		if e, ok := w.next.types.Get(name); ok {
			w.next.setType(name, typeEntry{e.is, revision})
		}
	}
}

func isConflict(err error) bool { return errors.Is(err, store.ErrConflict) }
