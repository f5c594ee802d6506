package catalog

import (
	"maps"
	"slices"

	"github.com/csmsql/csmsql/catalog/internal/keys"
	"github.com/csmsql/csmsql/catalog/store"
)

// A serializable transaction commits only if all that it has read is then as it was in its snapshot: it is as if it had
// run, whole, at the moment of its commit (Kung and Robinson, On Optimistic Methods for Concurrency Control, 1981;
// backward validation, by tables). What it has read are names: of tables, of views, and names that nothing had. One
// that writes nothing needs none of it: it ran at the moment of its snapshot, and all commits are in one order.

// dependsMax bounds the names that a commit compares one by one; of more it compares the whole catalog. A store takes
// only so many at once.
const dependsMax = 48

// dependencies are what a transaction has read of its snapshot.
type dependencies struct {
	serializable bool
	names        map[TableName]bool
	all          bool // it may have read anything
}

// Serializable says that the transaction has read what the names mean in its snapshot, or, with all, anything: Commit
// is ErrConflict if any of that, or any schema or view, has changed since. It may be called again: the names add up.
func (t *Transaction) Serializable(names []TableName, all bool) {
	d := &t.depends
	if d.serializable, d.all = true, d.all || all; d.names == nil {
		d.names = map[TableName]bool{}
	}
	for _, name := range names {
		d.names[name] = true
	}
}

// compareReads makes the commit fail if what a serializable transaction has read is no longer so (K11). The store
// compares what it has written in any case, with what is current now. A table whose chunks were only moved or folded
// has the rows that it had: it is compared as it is now, and once more if the store knows a newer one.
func (w *commit) compareReads(t *Transaction) error {
	d := &t.depends
	if !d.serializable {
		return nil
	}
	w.compares(store.NothingNewer(keys.SchemaPrefix, t.base.revision))
	w.compares(store.NothingNewer(keys.ViewPrefix, t.base.revision))
	w.compares(store.NothingNewer(keys.TypePrefix, t.base.revision))
	if d.all || len(d.names) > dependsMax {
		for name, table := range t.base.tables.All() {
			if now, ok := w.current.tables.Get(name); !ok || !now.version.SameRows(table.version) {
				return conflict("relation", name.String())
			}
		}
		w.compares(store.NothingNewer(keys.TablePrefix, w.current.revision))
		w.compares(store.NothingNewer(keys.NamePrefix, t.base.revision))
		w.rows[keys.TablePrefix] = true
		return nil
	}
	for _, name := range slices.SortedFunc(maps.Keys(d.names), TableName.Compare) {
		table, isTable := t.base.tables.Get(name)
		view, isView := t.base.views.Get(name)
		_, isType := t.base.types.Get(name) // all of them are compared
		now, stays := w.current.tables.Get(name)
		if isTable != stays || isTable && !now.version.SameRows(table.version) || w.current.views.Of(name) != view {
			return conflict("relation", name.String())
		}
		if t.relation[name] {
			continue
		}
		switch {
		case isTable:
			key := keys.Table(now.version.Table().ID)
			w.compares(unchanged(key, now.revision))
			w.rows[key] = true
		case isType:
		case isView:
			w.compares(unchanged(keys.View(view.view.ID), view.revision))
		default:
			w.compares(unchanged(keys.Name(name), 0))
		}
	}
	return nil
}
