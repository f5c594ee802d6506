package key

import (
	"slices"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/engine/constraint"
	"github.com/csmsql/csmsql/engine/ingest"
	"github.com/csmsql/csmsql/sql/sqlerror"
)

// Key is an enforced key of a table, with the positions of its columns.
type Key struct {
	constraint.Constraint
	columns []int
}

// Of are the enforced keys of a table.
func Of(table catalog.Table) ([]Key, error) {
	list, err := constraint.Of(table.Columns)
	if err != nil {
		return nil, sqlerror.New("XX001", "table %v: %v", table.Name, err)
	}
	var keys []Key
	for _, c := range list {
		if !c.Unique() || !c.Enforced() {
			continue
		}
		k := Key{Constraint: c}
		for _, name := range c.Columns {
			i := ingest.Index(table.Columns, name)
			if i < 0 {
				return nil, sqlerror.New("XX001", "table %v: constraint %q is of column %q, which is not there",
					table.Name, c.Name, name)
			}
			k.columns = append(k.columns, i)
		}
		keys = append(keys, k)
	}
	return keys, nil
}

// Kept reports whether rows that are changed keep the values of all keys of their table: each takes the place of one
// that had the same, so that KY1 holds on.
func Kept(table catalog.Table, changes func(column string) bool) (bool, error) {
	keys, err := Of(table)
	return !slices.ContainsFunc(keys, func(k Key) bool { return slices.ContainsFunc(k.Columns, changes) }), err
}

// duplicate is the error of a row whose key is there already; or, of rows that were there before the key, twice.
func (k *Key) duplicate(table catalog.TableName, values string, whole bool) error {
	e := sqlerror.New("23505", "duplicate key value violates unique constraint %q", k.Name)
	how := "already exists"
	if whole {
		e, how = sqlerror.New("23505", "could not create unique index %q", k.Name), "is duplicated"
	}
	e.DetailText = "Key (" + k.list() + ")=(" + values + ") " + how + "."
	e.Object = sqlerror.Object{Schema: table.Schema, Table: table.Name, Constraint: k.Name}
	return e
}

func (k *Key) list() string {
	text := ""
	for i, name := range k.Columns {
		if i > 0 {
			text += ", "
		}
		text += name
	}
	return text
}

// mayMeet reports whether rows of the chunks may have equal keys, by their bounds.
func (k *Key) mayMeet(a, b *catalog.Chunk) bool {
	if k.NullsNotDistinct {
		return true
	}
	return !slices.ContainsFunc(k.columns, func(i int) bool { return isApart(a.Statistics(i), b.Statistics(i)) })
}

// Positions are those of the key's columns in its table.
func (k *Key) Positions() []int { return k.columns }
