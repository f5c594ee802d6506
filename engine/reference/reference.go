package reference

import (
	"fmt"
	"slices"
	"strings"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/engine/constraint"
	"github.com/csmsql/csmsql/engine/ingest"
	"github.com/csmsql/csmsql/engine/key"
	"github.com/csmsql/csmsql/sql/sqlerror"
)

// reference is a foreign key with both of its tables.
type reference struct {
	constraint.Constraint
	child, parent catalog.Table
	from, to      []int // the columns
}

// finder finds a table by its identity; hint is what it may be called.
type finder func(id catalog.TableID, hint catalog.TableName) (*catalog.TableVersion, bool)

// of are the enforced foreign keys of a table.
func of(child catalog.Table, find finder) (list []reference, err error) {
	constraints, err := constraint.Of(child.Columns)
	if err != nil {
		return nil, err
	}
	for _, k := range constraints {
		if k.Kind != constraint.ForeignKey || !k.Held {
			continue
		}
		parent := child
		if k.References != 0 {
			hint := catalog.TableName{Schema: k.ReferencesSchema, Name: k.ReferencesTable}
			version, ok := find(catalog.TableID(k.References), hint)
			if !ok {
				return nil, sqlerror.New("XX001", "table %v: what foreign key %q refers to is not there", child.Name, k.Name)
			}
			parent = version.Table()
		}
		r := reference{Constraint: k, child: child, parent: parent}
		if r.from, err = indexes(child, k.Columns); err == nil {
			r.to, err = indexes(parent, k.ReferencedColumns)
		}
		if err != nil {
			return nil, err
		}
		list = append(list, r)
	}
	return list, nil
}

// to are the enforced foreign keys to a table.
func to(parent catalog.Table, find finder) (list []reference, err error) {
	ids, err := constraint.Referencing(parent.Columns)
	if err != nil {
		return nil, err
	}
	for _, id := range append(slices.Clone(ids), uint64(parent.ID)) {
		child, ok := find(catalog.TableID(id), parent.Name)
		if !ok {
			continue // it was dropped
		}
		all, err := of(child.Table(), find)
		if err != nil {
			return nil, err
		}
		for _, r := range all {
			if r.parent.ID == parent.ID {
				list = append(list, r)
			}
		}
	}
	return list, nil
}

// Kept reports whether rows that a statement changes, or removes, keep to all that holds them to others whatever it
// does: each takes the place of one that had the same, and none is removed that others may refer to.
func Kept(table catalog.Table, changes func(column string) bool, removes bool) (bool, error) {
	kept, err := key.Kept(table, changes)
	if err != nil || !kept {
		return false, err
	}
	list, err := constraint.Of(table.Columns)
	if err != nil {
		return false, err
	}
	referring, err := constraint.Referencing(table.Columns)
	if err != nil || removes && len(referring) > 0 {
		return false, err
	}
	return !slices.ContainsFunc(list, func(k constraint.Constraint) bool {
		return k.Kind == constraint.ForeignKey && k.Held &&
			(removes && k.References == 0 || slices.ContainsFunc(k.Columns, changes))
	}), nil
}

// Keyed reports whether rows that are inserted into a table are held to others: to keys, or foreign keys.
func Keyed(table catalog.Table) (bool, error) {
	list, err := constraint.Of(table.Columns)
	return slices.ContainsFunc(list, func(k constraint.Constraint) bool { return k.Held }), err
}

func indexes(table catalog.Table, columns []string) ([]int, error) {
	list := make([]int, len(columns))
	for i, name := range columns {
		if list[i] = ingest.Index(table.Columns, name); list[i] < 0 {
			return nil, sqlerror.New("XX001", "table %v: a foreign key is of column %q, which is not there",
				table.Name, name)
		}
	}
	return list, nil
}

// absent is the error of a row of the child without a parent.
func (r *reference) absent(values string) error {
	return r.unfit(fmt.Sprintf("Key (%s)=(%s) is not present in table \"%s\".", list(r.Columns), values,
		r.parent.Name.Name))
}

// needed is the error of a row of the parent that has children.
func (r *reference) needed(values string) error {
	e := sqlerror.New("23503", "update or delete on table %q violates foreign key constraint %q on table %q",
		r.parent.Name.Name, r.Name, r.child.Name.Name)
	e.DetailText = fmt.Sprintf("Key (%s)=(%s) is still referenced from table \"%s\".", list(r.ReferencedColumns),
		values, r.child.Name.Name)
	e.Object = r.object()
	return e
}

// mixed is the error of a row of MATCH FULL.
func (r *reference) mixed() error {
	return r.unfit("MATCH FULL does not allow mixing of null and nonnull key values.")
}

func (r *reference) unfit(detail string) error {
	e := sqlerror.New("23503", "insert or update on table %q violates foreign key constraint %q",
		r.child.Name.Name, r.Name)
	e.DetailText, e.Object = detail, r.object()
	return e
}

func (r *reference) object() sqlerror.Object {
	return sqlerror.Object{Schema: r.child.Name.Schema, Table: r.child.Name.Name, Constraint: r.Name}
}

func list(columns []string) string { return strings.Join(columns, ", ") }
