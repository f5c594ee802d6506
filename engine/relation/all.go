package relation

import (
	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/sql/pgcatalog"
)

// All are the schemas and the relations of the catalog.
func All(contents *catalog.Contents) (schemas []pgcatalog.Schema, relations []pgcatalog.Relation) {
	for _, name := range contents.Schemas() {
		schemas = append(schemas, pgcatalog.Schema{Name: name})
	}
	for _, t := range contents.Tables() {
		r := OfTable(t)
		r.Constraints = Constraints(contents, t.Table())
		relations = append(relations, r)
	}
	for _, w := range contents.Views() {
		relations = append(relations, OfView(w))
	}
	return schemas, relations
}
