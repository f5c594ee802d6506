package relation

import (
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/engine/snapshot"
	"github.com/csmsql/csmsql/internal/enumeration"
	"github.com/csmsql/csmsql/sql/lex"
	"github.com/csmsql/csmsql/sql/pgcatalog"
	"github.com/csmsql/csmsql/sql/statement"
)

// Names finds the relations that names mean for a statement, the session's temporary tables and views first, and keeps
// in mind which it was asked for. One goroutine uses it.
type Names struct {
	// Own are what is temporary, and Describe gives the columns that a query puts out, as DuckDB has them.
	Own      snapshot.Temporary
	Describe func(query string) (*arrow.Schema, []*enumeration.Type, error)
	Table    func(database, schema, name string) *catalog.TableVersion
	View     func(database, schema, name string) *catalog.View

	asked []meaning
}

// meaning is what a name meant.
type meaning struct {
	database, schema, name string
	columns                *arrow.Schema // nil: no relation, or none whose columns can be had
	own                    bool
}

// Find is typing.Find. A temporary relation has no number, for it is in no catalog.
func (n *Names) Find(database, schema, name string) *pgcatalog.Relation {
	m, known := n.known(database, schema, name)
	switch {
	case m.own && m.columns == nil:
		return nil
	case m.own:
		columns := columnsOf(m.columns)
		return &pgcatalog.Relation{Schema: schema, Name: strings.ToLower(name), Kind: 'r', Columns: columns}
	case known.table != nil:
		r := OfTable(known.table)
		return &r
	case known.view != nil:
		r := OfView(known.view)
		return &r
	}
	return nil
}

// named is a table or a view of the catalog, or none.
type named struct {
	table *catalog.TableVersion
	view  *catalog.View
}

func (n *Names) known(database, schema, name string) (m meaning, of named) {
	at := slices.IndexFunc(n.asked, func(m meaning) bool {
		return m.name == name && m.schema == schema && m.database == database
	})
	if at >= 0 && n.asked[at].own { // DuckDB is asked once
		return n.asked[at], of
	}
	m = meaning{database: database, schema: schema, name: name}
	if m.own = n.Own.Means(statement.Name{Database: database, Schema: schema, Name: name}); m.own {
		query := "SELECT * FROM " + snapshot.TemporarySchema + "." + lex.Quote(strings.ToLower(name))
		if columns, _, err := n.Describe(query); err == nil {
			m.columns = columns
		}
	} else if of.table = n.Table(database, schema, name); of.table != nil {
		m.columns = of.table.Table().Columns
	} else if of.view = n.View(database, schema, name); of.view != nil {
		m.columns = of.view.Columns
	}
	if at < 0 {
		n.asked = append(n.asked, m)
	}
	return m, of
}

// Meanings are what the names meant that a statement's types were found by. Immutable.
type Meanings []meaning

// Meanings are those of the names that were asked for until now.
func (n *Names) Meanings() Meanings { return slices.Clone(n.asked) }

// Own reports whether one of them is temporary: no revision of the catalog says whether it is another one by now.
func (m Meanings) Own() bool { return slices.ContainsFunc(m, func(m meaning) bool { return m.own }) }

// Hold reports whether the names mean relations of the same columns to a statement that finds them by now.
func (m Meanings) Hold(now *Names) bool {
	for _, was := range m {
		is, _ := now.known(was.database, was.schema, was.name)
		if is.columns == was.columns {
			continue
		}
		if is.columns == nil || was.columns == nil ||
			!slices.EqualFunc(is.columns.Fields(), was.columns.Fields(), sameType) {
			return false
		}
	}
	return true
}

func sameType(a, b arrow.Field) bool {
	typeA, modifierA := Type(a)
	typeB, modifierB := Type(b)
	return a.Name == b.Name && typeA == typeB && modifierA == modifierB && arrow.TypeEqual(a.Type, b.Type)
}
