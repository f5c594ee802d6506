package catalog

import (
	"maps"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/csmsql/csmsql/catalog/hugetable"
	"github.com/csmsql/csmsql/catalog/store"
)

// Contents is everything that one revision, or one transaction, sees. It is immutable; its maps are shared.
type Contents struct {
	revision Revision
	schemas  map[string]schemaEntry
	tables   map[TableName]tableEntry
	views    map[TableName]viewEntry
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
	return &Contents{schemas: map[string]schemaEntry{}, tables: map[TableName]tableEntry{}, views: map[TableName]viewEntry{}}
}

func (c *Contents) clone() *Contents {
	return &Contents{c.revision, maps.Clone(c.schemas), maps.Clone(c.tables), maps.Clone(c.views)}
}

// With is what one query sees that reads the results of its own parts beside the tables: the versions hide tables
// of their names.
func (c *Contents) With(versions ...*TableVersion) *Contents {
	next := c.clone()
	for _, v := range versions {
		next.tables[v.Table().Name] = tableEntry{version: v}
		delete(next.views, v.Table().Name)
	}
	return next
}

// Collect makes a HugeTable of chunks, in their order, that is in no catalog: the result of a part of a query.
// Whoever made the chunks keeps them in place.
func Collect(name TableName, columns *arrow.Schema, chunks []*Chunk) (*TableVersion, error) {
	return hugetable.NewVersion(Table{Name: name, Columns: columns}, nil).Append(chunks)
}

// Revision is the catalog's revision that is seen; a transaction's own changes have none yet.
func (c *Contents) Revision() Revision { return c.revision }

// Schemas lists the schemas' names in order.
func (c *Contents) Schemas() []string { return slices.Sorted(maps.Keys(c.schemas)) }

// HasSchema tells whether there is such a schema.
func (c *Contents) HasSchema(name string) bool {
	_, ok := c.schemas[name]
	return ok
}

// SchemaComment is what was said of a schema, empty: nothing.
func (c *Contents) SchemaComment(name string) string { return c.schemas[name].comment }

// Tables lists the tables by name.
func (c *Contents) Tables() []*TableVersion {
	list := make([]*TableVersion, 0, len(c.tables))
	for _, e := range c.tables {
		list = append(list, e.version)
	}
	slices.SortFunc(list, func(a, b *TableVersion) int { return compareNames(a.Table().Name, b.Table().Name) })
	return list
}

// Table finds a table.
func (c *Contents) Table(name TableName) (*TableVersion, bool) {
	e, ok := c.tables[name]
	return e.version, ok
}

// TableOf finds a table by its identity; hint is what it may be called.
func (c *Contents) TableOf(id TableID, hint TableName) (*TableVersion, bool) {
	if e, ok := c.tables[hint]; ok && e.version.Table().ID == id {
		return e.version, true
	}
	for _, e := range c.tables {
		if e.version.Table().ID == id {
			return e.version, true
		}
	}
	return nil, false
}

// Views lists the views by name.
func (c *Contents) Views() []*View {
	list := make([]*View, 0, len(c.views))
	for _, e := range c.views {
		list = append(list, e.view)
	}
	slices.SortFunc(list, func(a, b *View) int { return compareNames(a.Name, b.Name) })
	return list
}

// View finds a view.
func (c *Contents) View(name TableName) (*View, bool) {
	e, ok := c.views[name]
	return e.view, ok
}

func compareNames(a, b TableName) int {
	if order := strings.Compare(a.Schema, b.Schema); order != 0 {
		return order
	}
	return strings.Compare(a.Name, b.Name)
}

// Keys of the store. Names cannot contain a zero byte, so that the separator is unambiguous.
const (
	formatKey      = "meta/format"
	identityKey    = "meta/identities"
	commitKey      = "meta/commit"
	schemaPrefix   = "schema/"
	namePrefix     = "name/"
	tablePrefix    = "table/"
	viewPrefix     = "view/"
	pagePrefix     = "page/"
	regionPrefix   = "region/"
	nodePrefix     = "node/"
	presencePrefix = "presence/"
	readerPrefix   = "reader/"  // by relation: the newest view that reads it
	columnsPrefix  = "columns/" // by table: the newest change of its columns
	outcomePrefix  = "outcome/" // by node: the token of its last commit
	counterPrefix  = "counter/" // by counter: how far it has been given out
	setPrefix      = "set/"     // by counter: the last time that it was set, and not only given out
	catalogFormat  = 1
	nameSeparator  = "\x00"
	maxNameBytes   = 255
	identityBlock  = 1024
	defaultHome    = "local"
)

func schemaKey(name string) string                   { return schemaPrefix + name }
func namesOf(schema string) string                   { return namePrefix + schema + nameSeparator }
func nameKey(n TableName) string                     { return namesOf(n.Schema) + n.Name }
func tableKey(id TableID) string                     { return tablePrefix + hexadecimal(uint64(id)) }
func viewKey(id TableID) string                      { return viewPrefix + hexadecimal(uint64(id)) }
func readerKey(id TableID) string                    { return readerPrefix + hexadecimal(uint64(id)) }
func columnsKey(id TableID) string                   { return columnsPrefix + hexadecimal(uint64(id)) }
func counterKey(id CounterID) string                 { return counterPrefix + hexadecimal(uint64(id)) }
func setKey(id CounterID) string                     { return setPrefix + hexadecimal(uint64(id)) }
func pageKey(id PageID) string                       { return pagePrefix + id.String() }
func unchanged(key string, r Revision) store.Compare { return store.Unchanged(key, r) }

// Applied is what this catalog knows now, without asking the store for news and without a lease: its chunks may go
// at any time. It is for those who look, not for those who read.
func (c *Catalog) Applied() *Contents {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.mu.current.contents
}
