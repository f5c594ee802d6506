package constraint

import (
	"cmp"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/catalog/mention"
	"github.com/csmsql/csmsql/sql/sqlerror"
)

// Place is where a key or an index is on record.
type Place struct {
	Table *catalog.TableVersion
	List  []Constraint // the table's
	At    int
}

// Constraint that is there.
func (p *Place) Constraint() Constraint { return p.List[p.At] }

// IndexNamed finds the index, or the key with its index, of that name in a schema; nil: there is none. No tables are
// looked at but those that may have it.
func IndexNamed(contents *catalog.Contents, name catalog.TableName) (*Place, error) {
	for _, version := range contents.Mentioning(mention.Mention{Kind: mention.Index, Name: name}) {
		table := version.Table()
		if table.Name.Schema != name.Schema {
			continue
		}
		list, err := Of(table.Columns)
		if err != nil {
			return nil, err
		}
		for at, k := range list {
			if k.Name == name.Name && (k.IsIndex() || k.Unique()) {
				return &Place{version, list, at}, nil
			}
		}
	}
	return nil, nil
}

// Resolve finds the index that a name means: in the schema that is given, or in the first of a path that has a relation
// of the name; nil: there is none. Another relation is 42809.
func Resolve(contents *catalog.Contents, path []string, schema, name string) (*Place, error) {
	if schema != "" {
		path = []string{schema}
	}
	for _, schema := range path {
		full := catalog.TableName{Schema: schema, Name: name}
		place, err := IndexNamed(contents, full)
		if place != nil || err != nil {
			return place, err
		}
		if taken, err := Taken(contents, full); taken || err != nil {
			return nil, cmp.Or(err, error(sqlerror.New("42809", "%q is not an index", name)))
		}
	}
	return nil, nil
}

// Taken reports whether a relation of a schema has the name: a table, a view, a sequence, an index or a key's.
func Taken(contents *catalog.Contents, name catalog.TableName) (bool, error) {
	if _, ok := contents.Table(name); ok {
		return true, nil
	}
	if _, ok := contents.View(name); ok {
		return true, nil
	}
	at, err := IndexNamed(contents, name)
	return at != nil, err
}
