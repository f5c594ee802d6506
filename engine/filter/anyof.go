package filter

import (
	"slices"

	"github.com/csmsql/csmsql/exec/duckdb"
	"github.com/csmsql/csmsql/exec/plan"
)

// anyOf says a disjunction as filters, one for each column of which every branch demands something: (n = 'a' AND x < 3)
// OR (n = 'b' AND x < 5) demands that n is one of two words and x below 5. That is less than the disjunction demands,
// which is allowed (P1).
func anyOf(branches [][]plan.Predicate) []duckdb.Filter {
	var out []duckdb.Filter
	if len(branches) == 0 {
		return nil
	}
	var done []int
	for _, p := range branches[0] {
		if slices.Contains(done, p.Column) {
			continue
		}
		done = append(done, p.Column)
		if f, ok := anyOfColumn(branches, p.Column); ok {
			out = append(out, f)
		}
	}
	return out
}

func anyOfColumn(branches [][]plan.Predicate, column int) (duckdb.Filter, bool) {
	union := duckdb.Filter{Column: column}
	for i, branch := range branches {
		all := duckdb.Filter{Column: column}
		for _, p := range branch {
			if p.Column != column {
				continue
			}
			if f, ok := filterOf(p); ok {
				all = intersection(all, f)
			}
		}
		if i == 0 {
			union = all
			continue
		}
		union = unionOf(union, all)
	}
	return union, union.Low != nil || union.High != nil || union.Keep != nil || union.Words != nil
}

// intersection lets pass what both let pass, or more: of two lists of words it knows one.
func intersection(a, b duckdb.Filter) duckdb.Filter {
	a.Low, a.High = pick(a.Low, b.Low, true), pick(a.High, b.High, false)
	if a.Words == nil {
		a.Words = b.Words
	}
	if first, second := a.Keep, b.Keep; first == nil {
		a.Keep = second
	} else if second != nil {
		a.Keep = func(s string) bool { return first(s) && second(s) }
	}
	return a
}

// pick gives the greater or the smaller bound; nil is none.
func pick(a, b *int64, greater bool) *int64 {
	if a == nil || b != nil && (*b > *a) == greater {
		return b
	}
	return a
}

// unionOf lets pass what one of the two lets pass, or more: a side that is not bounded, because it demands something
// else such as IS NULL, leaves no bound. Strings that one side knows by words and the other by a function are not
// filtered at all.
func unionOf(a, b duckdb.Filter) duckdb.Filter {
	u := duckdb.Filter{Column: a.Column}
	if a.Low != nil && b.Low != nil {
		u.Low = pick(a.Low, b.Low, false)
	}
	if a.High != nil && b.High != nil {
		u.High = pick(a.High, b.High, true)
	}
	if a.Words != nil && b.Words != nil {
		u.Words = slices.Concat(a.Words, b.Words)
	}
	if first, second := a.Keep, b.Keep; first != nil && second != nil {
		u.Keep = func(s string) bool { return first(s) || second(s) }
	}
	return u
}
