package catalog

import (
	"cmp"
	"iter"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/csmsql/csmsql/catalog/fetched"
	"github.com/csmsql/csmsql/catalog/hugetable"
	"github.com/csmsql/csmsql/catalog/mention"
	"github.com/csmsql/csmsql/catalog/store"
	"github.com/csmsql/csmsql/internal/persistent"
)

// Contents is everything that one revision, or one transaction, sees. It is immutable, except while it is made. It
// shares with the contents that it was made of whatever is the same (decision 0044).
type Contents struct {
	revision Revision
	schemas  persistent.Map[string, schemaEntry]
	tables   persistent.Map[TableName, tableEntry]
	views    persistent.Map[TableName, viewEntry]
	types    persistent.Map[TableName, typeEntry]
	names    persistent.Map[TableID, TableName]             // of tables, views and types
	alike    persistent.Map[hugetable.FoldedName, struct{}] // their names, in an order without regard to case
	kept     persistent.Map[keptKey, keptEntry]             // former versions of tables, also of those that are gone
	mentions mention.Tables                                 // the tables by what their records mention
	fetched  *fetched.Tables[*Contents]                     // where tables are that are not here; nil: all are
}

// The entries carry the store revision of their record, which is what a commit compares (K5).
type (
	schemaEntry struct {
		revision Revision
		comment  string
	}
	tableEntry struct {
		version  *TableVersion
		revision Revision
	}
	viewEntry struct {
		view     *View
		revision Revision
	}
)

func newContents() *Contents {
	return &Contents{
		schemas: persistent.New[string, schemaEntry](strings.Compare),
		tables:  persistent.New[TableName, tableEntry](TableName.Compare),
		views:   persistent.New[TableName, viewEntry](TableName.Compare),
		types:   persistent.New[TableName, typeEntry](TableName.Compare),
		names:   persistent.New[TableID, TableName](cmp.Compare[TableID]),
		alike:   persistent.New[hugetable.FoldedName, struct{}](hugetable.FoldedName.Compare),
		kept:    newKept(), mentions: mention.Collect(nil),
	}
}

// clone is the beginning of other contents.
func (c *Contents) clone() *Contents {
	next := *c
	return &next
}

func (c *Contents) setSchema(name string, e schemaEntry) { c.schemas = c.schemas.With(name, e) }
func (c *Contents) dropSchema(name string)               { c.schemas = c.schemas.Without(name) }

func (c *Contents) setTable(name TableName, e tableEntry) {
	was, _ := c.TableOf(e.version.Table().ID, TableName{})
	c.name(e.version.Table().ID, name)
	c.tables, c.mentions = c.tables.With(name, e), c.mentions.Changed(was, e.version)
}

// setTables is setTable of many where there is nothing yet but schemas.
func (c *Contents) setTables(versions []*TableVersion) {
	n := len(versions)
	tables := make([]persistent.Entry[TableName, tableEntry], n)
	names := make([]persistent.Entry[TableID, TableName], n)
	alike := make([]persistent.Entry[hugetable.FoldedName, struct{}], n)
	for i, v := range versions {
		id, name := v.Table().ID, v.Table().Name
		tables[i].Key, tables[i].Value = name, tableEntry{version: v}
		names[i].Key, names[i].Value = id, name
		alike[i].Key = hugetable.Folded(name)
	}
	collected := *c
	collected.tables = persistent.Collect(TableName.Compare, tables)
	collected.names = persistent.Collect(cmp.Compare[TableID], names)
	collected.alike = persistent.Collect(hugetable.FoldedName.Compare, alike)
	collected.mentions = mention.Collect(versions)
	if collected.tables.Len() == n && collected.names.Len() == n {
		*c = collected
		return
	}
	for _, v := range versions { // some take each other's place
		c.setTable(v.Table().Name, tableEntry{version: v})
	}
}

func (c *Contents) setView(name TableName, e viewEntry) {
	c.name(e.view.ID, name)
	c.views = c.views.With(name, e)
}

// name gives a name to what comes, in the place of what else has it.
func (c *Contents) name(id TableID, name TableName) {
	if c.names.Of(id) != name || identity(c, name) != id {
		c.drop(name)
		c.names, c.alike = c.names.With(id, name), c.alike.With(hugetable.Folded(name), struct{}{})
	}
}

// drop takes out what has a name, if anything does.
func (c *Contents) drop(name TableName) {
	if id := identity(c, name); c.names.Of(id) == name {
		c.names, c.mentions = c.names.Without(id), c.mentions.Changed(c.tables.Of(name).version, nil)
	}
	c.tables, c.views, c.types = c.tables.Without(name), c.views.Without(name), c.types.Without(name)
	c.alike = c.alike.Without(hugetable.Folded(name))
}

// With is what one query sees that reads the results of its own parts beside the tables: the versions hide tables of
// their names.
func (c *Contents) With(versions ...*TableVersion) *Contents {
	next := c.whole().clone()
	for _, v := range versions {
		next.setTable(v.Table().Name, tableEntry{version: v})
	}
	return next
}

// Collect makes a HugeTable of chunks, in their order, that is in no catalog: the result of a part of a query.
// The caller keeps the chunks in place.
func Collect(name TableName, columns *arrow.Schema, chunks []*Chunk) (*TableVersion, error) {
	return hugetable.NewVersion(Table{Name: name, Columns: columns}, nil).Append(chunks)
}

// Revision is the catalog's revision that is seen; a transaction's own changes have none yet.
func (c *Contents) Revision() Revision { return c.revision }

// Schemas lists the schemas' names in order.
func (c *Contents) Schemas() []string {
	return persistent.List(c.schemas, func(name string, _ schemaEntry) string { return name })
}

// HasSchema reports whether there is such a schema.
func (c *Contents) HasSchema(name string) bool { return c.schemas.Has(name) }

// SchemaComment is what was said of a schema, empty: nothing.
func (c *Contents) SchemaComment(name string) string { return c.schemas.Of(name).comment }

// Tables lists the tables by name.
func (c *Contents) Tables() []*TableVersion {
	return persistent.List(c.whole().tables, func(_ TableName, e tableEntry) *TableVersion { return e.version })
}

// TablesIn lists those of a schema by name.
func (c *Contents) TablesIn(schema string) (list []*TableVersion) {
	for _, e := range inSchema(c.whole().tables, schema) {
		list = append(list, e.version)
	}
	return list
}

// Mentioning lists by name the tables whose records mention something, or may: the caller looks.
func (c *Contents) Mentioning(m mention.Mention) (list []*TableVersion) {
	c = c.whole()
	for _, id := range c.mentions.To(m) {
		if v, ok := c.TableOf(id, TableName{}); ok {
			list = append(list, v)
		}
	}
	slices.SortFunc(list, func(a, b *TableVersion) int { return a.Table().Name.Compare(b.Table().Name) })
	return list
}

// SameNames reports whether all names mean the same in both: relations with the same columns.
func (c *Contents) SameNames(other *Contents) bool {
	if c == other {
		return true
	}
	for d := range persistent.Difference(c.schemas, other.schemas) {
		if d.Was != d.Is {
			return false
		}
	}
	for range c.ViewsSince(other) {
		return false
	}
	for range c.typesSince(other) {
		return false
	}
	for was, is := range c.TablesSince(other) {
		if was == nil || is == nil || was.Table().ID != is.Table().ID || !hugetable.SameNumbers(was, is) {
			return false
		}
	}
	return true
}

// Table finds a table.
func (c *Contents) Table(name TableName) (*TableVersion, bool) {
	e, ok := c.having(0, name).tables.Get(name)
	return e.version, ok
}

// TableOf finds a table by its identity; hint is what it may be called.
func (c *Contents) TableOf(id TableID, hint TableName) (*TableVersion, bool) {
	c = c.having(id, hint)
	if e, ok := c.tables.Get(hint); ok && e.version.Table().ID == id {
		return e.version, true
	}
	name, ok := c.names.Get(id)
	if !ok {
		return nil, false
	}
	return c.Table(name)
}

// having returns contents with a table, if these have it: the one of an identity, whose name may be hint, or, if id is
// 0, all of that name.
func (c *Contents) having(id TableID, hint TableName) *Contents {
	if c.fetched == nil {
		return c
	}
	if near := c.fetched.Named(hint); id == 0 || near.names.Has(id) {
		return near
	}
	return c.fetched.Identified(id)
}

// whole returns contents with all tables.
func (c *Contents) whole() *Contents {
	if c.fetched == nil {
		return c
	}
	return c.fetched.Whole()
}

// Views lists the views by name.
func (c *Contents) Views() []*View {
	return persistent.List(c.views, func(_ TableName, e viewEntry) *View { return e.view })
}

// View finds a view.
func (c *Contents) View(name TableName) (*View, bool) {
	e, ok := c.views.Get(name)
	return e.view, ok
}

// Alike lists the names of tables, views and types that are a name if case does not matter, in order.
func (c *Contents) Alike(name TableName) iter.Seq[TableName] {
	first := hugetable.FoldedName{Folded: hugetable.Folded(name).Folded}
	return func(yield func(TableName) bool) {
		for n := range c.having(0, name).alike.From(first) {
			if n.Folded != first.Folded || !yield(n.Name) {
				return
			}
		}
	}
}

// TablesSince lists by name the tables that are not those of other contents, as they were there and as they are: nil
// where there is none. Nil contents have nothing. It is cheap where one was made of the other.
func (c *Contents) TablesSince(other *Contents) iter.Seq2[*TableVersion, *TableVersion] {
	return persistent.Changes(other.orNone().whole().tables, c.whole().tables, func(e tableEntry) *TableVersion { return e.version })
}

// ViewsSince is TablesSince for views.
func (c *Contents) ViewsSince(other *Contents) iter.Seq2[*View, *View] {
	return persistent.Changes(other.orNone().views, c.views, func(e viewEntry) *View { return e.view })
}

func (c *Contents) orNone() *Contents {
	if c == nil {
		return newContents()
	}
	return c
}

// SharesViews reports whether contents share the views of others, without comparing them.
func (c *Contents) SharesViews(other *Contents) bool { return other != nil && c.views.Is(other.views) }

// SharesSchemas is SharesViews for schemas.
func (c *Contents) SharesSchemas(o *Contents) bool { return o != nil && c.schemas.Is(o.schemas) }

const defaultHome = "local"

func unchanged(key string, r Revision) store.Compare { return store.Unchanged(key, r) }

// Moved is Applied with a channel that is closed at the next change, and the error that ends all changes.
func (c *Catalog) Moved() (*Contents, <-chan struct{}, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.mu.current.contents, c.mu.moved.Wait(), c.mu.ended
}

// Applied is what this catalog knows now, without asking the store for news and without a lease: its chunks may go at
// any time. It is for listings, not for statements that read rows.
func (c *Catalog) Applied() *Contents {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.mu.current.contents
}
