package mention

import (
	"cmp"
	"slices"

	"github.com/csmsql/csmsql/catalog/hugetable"
	"github.com/csmsql/csmsql/internal/persistent"
)

// Tables is an index of the tables of one state by what they mention. Immutable.
type Tables struct {
	by persistent.Map[entry, struct{}]
}

type entry struct {
	Mention
	table hugetable.TableID
}

func compare(a, b entry) int { return cmp.Or(a.compare(b.Mention), cmp.Compare(a.table, b.table)) }

// Collect is the index of tables, of which no two are one.
func Collect(versions []*hugetable.Version) Tables {
	var list []persistent.Entry[entry, struct{}]
	for _, v := range versions {
		for e := range of(v) {
			list = append(list, persistent.Entry[entry, struct{}]{Key: e})
		}
	}
	return Tables{persistent.Collect(compare, list)}
}

// of are the entries of a version; nil has none.
func of(v *hugetable.Version) map[entry]bool {
	if v == nil {
		return nil
	}
	table := v.Table()
	list := Of(table)
	if len(list) == 0 {
		return nil
	}
	set := map[entry]bool{}
	for _, m := range list {
		set[entry{m, table.ID}] = true
	}
	return set
}

// Changed is the index when a table is another version: it comes if was is nil, and goes if is is.
func (t Tables) Changed(was, is *hugetable.Version) Tables {
	if was != nil && is != nil {
		a, b := was.Table(), is.Table()
		if a.ID == b.ID && a.Name == b.Name && a.Columns == b.Columns {
			return t
		}
	}
	before, after := of(was), of(is)
	for e := range before {
		if !after[e] {
			t.by = t.by.Without(e)
		}
	}
	for e := range after {
		t.by = t.by.With(e, struct{}{})
	}
	return t
}

// To are the tables that mention something, or may (MN2).
func (t Tables) To(m Mention) (list []hugetable.TableID) {
	for _, sought := range []Mention{m, {Kind: unreadable}} {
		for e := range t.by.From(entry{Mention: sought}) {
			if e.Mention != sought {
				break
			}
			list = append(list, e.table)
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}
