package relation

import (
	"slices"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/engine/comment"
	"github.com/csmsql/csmsql/engine/ingest"
	"github.com/csmsql/csmsql/engine/sequence"
	"github.com/csmsql/csmsql/sql/pgcatalog"
)

// All are the schemas, the relations and the user-defined types of the catalog, as a session with a search path is
// shown them.
func All(contents *catalog.Contents, path []string) (schemas []pgcatalog.Schema, list []pgcatalog.Relation,
	types []pgcatalog.Type) {
	for _, name := range contents.Schemas() {
		schemas = append(schemas, pgcatalog.Schema{Name: name, Comment: contents.SchemaComment(name)})
	}
	named := func(number int64) (catalog.TableName, bool) {
		view := sequence.Numbered(contents, number)
		if view == nil {
			return catalog.TableName{}, false
		}
		return view.Name, true
	}
	visible := func(name catalog.TableName) bool { return slices.Contains(path, name.Schema) }
	tables := map[uint64]catalog.Table{}
	for _, t := range contents.Tables() {
		r := OfTable(t)
		inDomains(&r, t.Table().Columns)
		tables[uint64(t.Table().ID)] = t.Table()
		r.Constraints, r.Comment = Constraints(contents, t.Table()), comment.Of(t.Table().Columns)
		r.Indexes = Indexes(t.Table())
		for i := range r.Columns {
			r.Columns[i].Default = sequence.Shown(r.Columns[i].Default, named, visible)
		}
		list = append(list, r)
	}
	for _, w := range contents.Views() {
		r := OfView(w)
		if w.Columns != nil {
			r.Comment = comment.Of(w.Columns)
		}
		if d, is := sequence.Of(w); is {
			r.Kind, r.Definition, r.Sequence = 'S', "", &pgcatalog.Sequence{
				Number: int64(w.ID),
				Type:   map[string]uint32{"smallint": OIDInt2, "integer": OIDInt4, "bigint": OIDInt8}[d.Type],
				Start:  d.Start, Increment: d.Increment, Min: d.Min, Max: d.Max, Cache: d.Cached, Cycle: d.Cycle,
				Identity: d.Identity,
			}
			if owner, ok := tables[d.Owner]; ok {
				r.Sequence.Owner, r.Sequence.Column = objectID(owner.ID), ingest.Index(owner.Columns, d.Column)+1
			}
			for i := range r.Columns {
				r.Columns[i].NotNull = true
			}
		}
		list = append(list, r)
	}
	if contents.HasTypes() {
		for i := range list {
			showTypes(&list[i], contents, visible)
		}
	}
	types = typesOf(contents)
	for _, t := range types {
		if t.Domain == nil {
			continue
		}
		for i := range t.Domain.Constraints {
			k := &t.Domain.Constraints[i]
			k.Definition = withFunctions(k.Definition, contents, visible)
			k.Expression = withFunctions(k.Expression, contents, visible)
		}
	}
	return schemas, list, types
}
