package index

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/catalog/mention"
	"github.com/csmsql/csmsql/engine/constraint"
	"github.com/csmsql/csmsql/engine/snapshot"
	"github.com/csmsql/csmsql/exec/duckdb"
	"github.com/csmsql/csmsql/sql/sqlerror"
	"github.com/csmsql/csmsql/sql/statement"
)

// find is the place of the index that a statement names.
func (c *Changes) find(name statement.Name) (*constraint.Place, error) {
	return constraint.Resolve(c.Tx.Contents(), c.View.Path, name.Schema, name.Name)
}

// found is find of what must be there; nil: it is not, and IF EXISTS was said.
func (c *Changes) found(name statement.Name, ifExists bool, missing *sqlerror.Error) (*constraint.Place, error) {
	place, err := c.find(name)
	if e, ok := err.(*sqlerror.Error); ok {
		e.At = name.At
	}
	if place != nil || err != nil {
		return place, err
	}
	if ifExists {
		c.Notice(missing.Message+", skipping", "")
		return nil, nil
	}
	missing.At = name.At
	return nil, missing
}

// set puts a list on the record of a table.
func (c *Changes) set(table catalog.Table, list []constraint.Constraint) error {
	columns, err := constraint.Mark(table.Columns, list)
	if err != nil {
		return err
	}
	return c.Tx.Redeclare(table.Name, columns)
}

func (c *Changes) drop(head *statement.DropIndex) error {
	if head.Concurrently {
		if err := c.outside("DROP INDEX"); err != nil {
			return err
		}
	}
	for _, name := range head.Names {
		place, err := c.found(name, head.IfExists, sqlerror.New("42704", "index %q does not exist", name.Name))
		if err != nil {
			return err
		}
		if place == nil {
			continue
		}
		if err := c.remove(place, head.Cascade); err != nil {
			return err
		}
	}
	return nil
}

// remove takes an index off the record, and with CASCADE the foreign keys that need it (IX3).
func (c *Changes) remove(place *constraint.Place, cascade bool) error {
	table, k := place.Table.Table(), place.Constraint()
	if !k.IsIndex() {
		e := sqlerror.New("2BP01", "cannot drop index %s because constraint %s on table %s requires it", k.Name, k.Name,
			table.Name.Name)
		return e.WithHint(fmt.Sprintf("You can drop constraint %s on table %s instead.", k.Name, table.Name.Name))
	}
	list := slices.Delete(slices.Clone(place.List), place.At, place.At+1)
	same := func(o constraint.Constraint) bool { return o.Unique() && o.Held && sameSet(o.Columns, k.Columns) }
	if k.Unique() && !slices.ContainsFunc(list, same) {
		needed, err := c.needed(table, k)
		if err != nil {
			return err
		}
		if len(needed) > 0 && !cascade {
			return refused(k.Name, needed)
		}
		if list, err = c.forget(table, list, needed); err != nil {
			return err
		}
	}
	return c.set(table, list)
}

// need is a foreign key that needs a unique index.
type need struct {
	table catalog.TableName
	name  string
}

func (n need) String() string { return "constraint " + n.name + " on table " + n.table.Name }

// needed are the foreign keys to the columns of a unique index.
func (c *Changes) needed(table catalog.Table, k constraint.Constraint) (found []need, err error) {
	to := mention.Mention{Kind: mention.Reference, Number: uint64(table.ID)}
	for _, version := range c.Tx.Contents().Mentioning(to) {
		child := version.Table()
		list, err := constraint.Of(child.Columns)
		if err != nil {
			return nil, err
		}
		for _, f := range list {
			to := catalog.TableID(f.References)
			if to == 0 {
				to = child.ID
			}
			if f.Kind == constraint.ForeignKey && to == table.ID && sameSet(f.ReferencedColumns, k.Columns) {
				found = append(found, need{child.Name, f.Name})
			}
		}
	}
	return found, nil
}

// sameSet compares the columns of two keys.
func sameSet(a, b []string) bool {
	has := func(list []string) func(string) bool {
		return func(name string) bool { return !slices.Contains(list, name) }
	}
	return !slices.ContainsFunc(a, has(b)) && !slices.ContainsFunc(b, has(a))
}

// refused is the error of an index that is needed.
func refused(name string, needed []need) error {
	e := sqlerror.New("2BP01", "cannot drop index %s because other objects depend on it", name)
	lines := make([]string, len(needed))
	for i, n := range needed {
		lines[i] = n.String() + " depends on index " + name
	}
	e.DetailText = strings.Join(lines, "\n")
	return e.WithHint("Use DROP ... CASCADE to drop the dependent objects too.")
}

// forget takes foreign keys off the record. list are the constraints that the table of the index keeps.
func (c *Changes) forget(table catalog.Table, list []constraint.Constraint,
	needed []need) ([]constraint.Constraint, error) {
	for _, n := range needed {
		c.Notice("drop cascades to "+n.String(), "")
		goes := func(k constraint.Constraint) bool { return k.Name == n.name }
		if n.table == table.Name {
			list = slices.DeleteFunc(list, goes)
			continue
		}
		version, ok := c.Tx.Contents().Table(n.table)
		if !ok {
			continue
		}
		others, err := constraint.Of(version.Table().Columns)
		if err != nil {
			return nil, err
		}
		if err := c.set(version.Table(), slices.DeleteFunc(others, goes)); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// rename gives an index another name, and a key with it. Clients know it by the same number as before.
func (c *Changes) rename(head *statement.Rename) error {
	missing := sqlerror.New("42P01", "relation %q does not exist", head.Name.String())
	place, err := c.found(head.Name, head.IfExists, missing)
	if err != nil || place == nil {
		return err
	}
	table := place.Table.Table()
	taken, err := constraint.Taken(c.Tx.Contents(), catalog.TableName{Schema: table.Name.Schema, Name: head.To})
	if err != nil {
		return err
	}
	if taken {
		return sqlerror.New("42P07", "relation %q already exists", head.To)
	}
	list := slices.Clone(place.List)
	if slices.ContainsFunc(list, func(k constraint.Constraint) bool { return k.Name == head.To }) {
		return sqlerror.New("42710", "constraint %q for relation %q already exists", head.To, table.Name.Name)
	}
	k := &list[place.At]
	k.Born = k.FirstName()
	k.Name = head.To
	return c.set(table, list)
}

// Follow is an error if the indexes of a table cannot go with it into another schema.
func Follow(contents *catalog.Contents, table catalog.Table, schema string) error {
	list, err := constraint.Of(table.Columns)
	if err != nil {
		return err
	}
	for _, k := range list {
		if !k.IsIndex() && !k.Unique() {
			continue
		}
		if taken, err := constraint.Taken(contents, catalog.TableName{Schema: schema, Name: k.Name}); err != nil {
			return err
		} else if taken {
			return sqlerror.New("42P07", "relation %q already exists in schema %q", k.Name, schema)
		}
	}
	return nil
}

func (c *Changes) reindex(ctx context.Context, head *statement.Reindex) error {
	if head.Concurrently || head.Kind == "schema" || head.Kind == "database" {
		if c.InBlock {
			what := "REINDEX " + strings.ToUpper(head.Kind)
			if head.Concurrently {
				what = "REINDEX CONCURRENTLY"
			}
			return sqlerror.New("25001", "%s cannot run inside a transaction block", what)
		}
	}
	tables, err := c.reindexed(head)
	if err != nil {
		return err
	}
	for _, name := range tables {
		if err := c.Order(ctx, c.Tx, name); err != nil {
			return err
		}
	}
	return nil
}

// reindexed are the tables whose rows a REINDEX is about.
func (c *Changes) reindexed(head *statement.Reindex) (names []catalog.TableName, err error) {
	contents := c.Tx.Contents()
	switch head.Kind {
	case "index":
		missing := sqlerror.New("42P01", "relation %q does not exist", head.Name.String())
		place, err := c.found(head.Name, false, missing)
		if err != nil {
			return nil, err
		}
		return []catalog.TableName{place.Table.Table().Name}, nil
	case "table":
		version, err := c.View.Stored(head.Name)
		if err == snapshot.ErrTemporary {
			return nil, nil // DuckDB keeps what it has of it
		}
		if e, ok := err.(*sqlerror.Error); ok && e.State == "42809" {
			err = sqlerror.New("42809", "%q is not a table or materialized view", head.Name.Name)
		}
		if err != nil {
			return nil, err
		}
		return []catalog.TableName{version.Table().Name}, nil
	case "schema":
		if !contents.HasSchema(head.Name.Name) {
			return nil, sqlerror.New("3F000", "schema %q does not exist", head.Name.Name)
		}
	default:
		if head.Name.Name != "" && !strings.EqualFold(head.Name.Name, duckdb.CatalogName) {
			return nil, sqlerror.New("0A000", "can only reindex the currently open database")
		}
	}
	for _, version := range contents.Tables() {
		name := version.Table().Name
		if head.Kind == "schema" && name.Schema != head.Name.Name {
			continue
		}
		if list, err := constraint.Of(version.Table().Columns); err != nil || len(constraint.Sorted(list)) > 0 {
			if err != nil {
				return nil, err
			}
			names = append(names, name)
		}
	}
	return names, nil
}
