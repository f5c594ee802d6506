package hugetable

import (
	"fmt"
	"maps"

	"github.com/csmsql/csmsql/catalog/descriptor"
)

// Clone returns the first version of another table, with the rows of this one, whose pages it shares. The table has the
// columns of this one under their names; for what else is declared of them, and their numbers, see DeclaredAs. It is of
// this one's family.
func (v *Version) Clone(table Table) (*Version, error) {
	if !v.committed() || v.number == 0 {
		return nil, fmt.Errorf("%w: table %v has changes that are not committed, which no clone has", ErrMismatch,
			v.table.Name)
	}
	if !sameFields(v.table.Columns, table.Columns) {
		return nil, fmt.Errorf("%w: a clone of table %v would have columns %v, and not %v", ErrMismatch, v.table.Name,
			table.Columns.Fields(), v.table.Columns.Fields())
	}
	next := *v
	table.Columns, table.Family = v.DeclaredAs(table.Columns), v.Family()
	next.table, next.number, next.contents, next.purges = table, 0, contents{}, nil
	next.truncated = true // none of its rows was this table's before
	var err error
	next.display, err = displayOf(table.Columns)
	return &next, err
}

// Family is the identity that a table has in common with its clones, and with what it is a clone of.
func (v *Version) Family() TableID {
	if v.table.Family != 0 {
		return v.table.Family
	}
	return v.table.ID
}

// Families are versions by the family of their tables, without those that are alone.
func Families(versions []*Version) map[TableID][]*Version {
	of := map[TableID][]*Version{}
	for _, v := range versions {
		of[v.Family()] = append(of[v.Family()], v)
	}
	maps.DeleteFunc(of, func(_ TableID, list []*Version) bool { return len(list) < 2 })
	return of
}

// InSeveral returns the extents that several pages have, with the number of these pages.
func InSeveral(pages map[PageID][]descriptor.ExtentID) map[descriptor.ExtentID]int {
	in := map[descriptor.ExtentID]int{}
	for _, list := range pages {
		for _, x := range list {
			in[x]++
		}
	}
	maps.DeleteFunc(in, func(_ descriptor.ExtentID, pages int) bool { return pages < 2 })
	return in
}
