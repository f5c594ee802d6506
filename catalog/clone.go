package catalog

import (
	"context"
	"fmt"
	"maps"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/csmsql/csmsql/catalog/hugetable"
	"github.com/csmsql/csmsql/catalog/internal/keys"
	"github.com/csmsql/csmsql/catalog/store"
)

// A clone is a table whose first version has the pages of another table's version. From there on each goes its own way;
// a page lives while a version of any table has it, and an extent while a living page has it (K3):
//
//	a   version 7 ── page P ◄─────────────────── a drops it, folds or moves chunks of it: P stays, b has it
//	b   version 1 ── page P      version 2 ── page P' (what b changed; carries the chunks of P that it did not)
//
// No state may be between one that has P by a and one that has it by b without P in it: P's memory would come free. So
// the commit compares that a's version is what it was.

// Clone makes a table with the rows of a version of another one, without a byte copied. That is one that is kept, or
// the present one, of this transaction's snapshot; Commit is ErrConflict if it is so no more. Columns are those of the
// version, with what the table says of them.
func (t *Transaction) Clone(ctx context.Context, of *TableVersion, name TableName, columns *arrow.Schema,
	options TableOptions) error {
	table := of.Table()
	key := keptKey{Table: table.ID, Number: of.Version()}
	var compare store.Compare
	if e, ok := t.base.kept.Get(key); ok && e.version == of {
		compare = store.Unchanged(key.Key(), e.revision)
	} else if now, ok := t.base.TableOf(table.ID, table.Name); ok && now == of {
		at, _ := t.base.names.Get(table.ID)
		compare = unchanged(keys.Table(table.ID), t.base.tables.Of(at).revision)
	} else {
		return fmt.Errorf("table %v, version %d: %w", table.Name, of.Version(), ErrNoVersion)
	}
	if _, err := t.CreateTable(ctx, name, columns, options); err != nil {
		return err
	}
	t.keptRead = append(t.keptRead, compare)
	return t.changeTable(name, takeNothing, func(v *TableVersion) (*TableVersion, error) { return of.Clone(v.Table()) })
}

// everyVersion lists all versions, of tables and kept ones.
func (c *Contents) everyVersion() []*TableVersion {
	list := c.Tables()
	for _, e := range c.kept.All() {
		list = append(list, e.version)
	}
	return list
}

// families are the versions that may share extents with others, by the family of their tables.
func (c *Contents) families() map[TableID][]*TableVersion {
	return hugetable.Families(c.everyVersion())
}

// loadShared learns which extents are in pages of several versions, after the start: until then all are taken to be in
// one page (K3).
func (c *Catalog) loadShared(ctx context.Context) error {
	for _, versions := range c.Applied().families() {
		pages := map[PageID][]ExtentID{}
		for _, v := range versions {
			if err := c.loadExtents(ctx, v); err != nil {
				return err
			}
			c.mu.Lock()
			for _, ref := range v.Pages() {
				pages[ref.ID] = c.mu.pages[ref.ID].extents
			}
			c.mu.Unlock()
		}
		c.mu.Lock()
		maps.Copy(c.mu.shared, hugetable.InSeveral(pages))
		c.mu.Unlock()
	}
	return nil
}

// extentsOfFamily are those of all versions of a family that contents have.
func (c *Catalog) extentsOfFamily(ctx context.Context, contents *Contents, family TableID) (map[ExtentID]bool, error) {
	all := map[ExtentID]bool{}
	for _, v := range contents.everyVersion() {
		if v.Family() != family {
			continue
		}
		if err := c.loadExtents(ctx, v); err != nil {
			return nil, err
		}
		maps.Copy(all, c.extentsOf(v))
	}
	return all, nil
}
