package plan

import (
	"fmt"
	"slices"
	"strings"
)

// Scan is one occurrence of a base table in a statement, with everything about it that the statement's text proves.
type Scan struct {
	Relation *Relation
	Span              // the name in the text, qualification included; for TABLE t and ONLY t the keyword too
	Prefix   string   // what the splice must put before the call: "SELECT * FROM " for TABLE t, else empty
	Alias    string   // the name by which the rest of the statement knows it
	AddAlias bool     // the text has no alias: the splice must add Alias
	Cuts     []Span   // qualifications to remove: in main.t.c, once t is an alias, "main." names nothing
	Columns  []string // what the statement reads, in table order, as far as is known: for people and estimates

	// Predicates hold for every row that matters (P1); AnyOf are disjunctions of conjunctions that do. Together they
	// are for leaving chunks out, never for leaving out the statement's own WHERE.
	Predicates []Predicate
	AnyOf      [][][]Predicate

	Comparisons []Comparison // of two columns of a row; they hold for every row that matters, as Predicates do (P1)

	Joins []Join // equalities with columns of other scans that filter this one (P7)
	Group *Group // the only groups that matter (P8), or nil

	EnumSafe []string // dictionary columns that may be shown as ENUM (P2), in table order

	TableRows int64 // before any condition
	Rows      int64 // estimate after the conditions on this table alone
	Filters   int   // how many such conditions there are; DuckDB guesses 0.2 for them together
}

// MayMatch reports whether a row of a chunk could matter, given the chunk's statistics per column. False is a proof
// (P1).
func (s *Scan) MayMatch(stats func(column int) ColumnStats) bool {
	if !allMayMatch(s.Predicates, stats) {
		return false
	}
	for _, branches := range s.AnyOf {
		if !slices.ContainsFunc(branches, func(b []Predicate) bool { return allMayMatch(b, stats) }) {
			return false
		}
	}
	return true
}

func allMayMatch(predicates []Predicate, stats func(column int) ColumnStats) bool {
	for _, p := range predicates {
		if !p.MayMatch(stats(p.Column)) {
			return false
		}
	}
	return true
}

// Bind gives the parameters their values; args[n-1] is $n. The receiver is not changed.
func (s *Scan) Bind(args []Value) *Scan {
	bound := *s
	bound.Predicates = bindAll(s.Predicates, args)
	bound.AnyOf = make([][][]Predicate, len(s.AnyOf))
	for i, branches := range s.AnyOf {
		bound.AnyOf[i] = make([][]Predicate, len(branches))
		for k, branch := range branches {
			bound.AnyOf[i][k] = bindAll(branch, args)
		}
	}
	return &bound
}

func bindAll(predicates []Predicate, args []Value) []Predicate {
	bound := make([]Predicate, len(predicates))
	for i, p := range predicates {
		bound[i] = p.Bind(args)
	}
	return bound
}

// String is one paragraph per scan, for goldens and EXPLAIN.
func (s *Scan) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s.%s as %s [%d,%d) rows %d of %d", s.Relation.Schema, s.Relation.Name, s.Alias, s.Start, s.End, s.Rows, s.TableRows)
	if s.Filters > 0 {
		fmt.Fprintf(&b, " filters %d", s.Filters)
	}
	if s.AddAlias {
		b.WriteString(" +alias")
	}
	for _, c := range s.Cuts {
		fmt.Fprintf(&b, " cut[%d,%d)", c.Start, c.End)
	}
	for _, c := range s.Conditions() {
		b.WriteString("\n  where " + c)
	}
	if g := s.Group; g != nil {
		total := "count(*)"
		if g.Sum >= 0 {
			total = "sum(" + s.Relation.Columns[g.Sum].Name + ")"
		}
		fmt.Fprintf(&b, "\n  groups of %s with %s %s %s", s.Relation.Columns[g.Key].Name, total, g.Op, g.Value)
	}
	for _, j := range s.Joins {
		fmt.Fprintf(&b, "\n  meets %s = scan %d column %d", s.Relation.Columns[j.Column].Name, j.Other, j.Match)
	}
	if len(s.EnumSafe) > 0 {
		fmt.Fprintf(&b, "\n  enum %s", strings.Join(s.EnumSafe, ", "))
	}
	return b.String()
}

// Conditions are the Predicates, AnyOf and Comparisons in SQL, for people.
func (s *Scan) Conditions() []string {
	var out []string
	for _, p := range s.Predicates {
		out = append(out, p.String())
	}
	for _, branches := range s.AnyOf {
		out = append(out, describeAnyOf(branches))
	}
	for _, c := range s.Comparisons {
		out = append(out, s.Relation.Columns[c.Left].Name+" "+c.Op.String()+" "+s.Relation.Columns[c.Right].Name)
	}
	return out
}

func describeAnyOf(branches [][]Predicate) string {
	parts := make([]string, len(branches))
	for i, branch := range branches {
		conjuncts := make([]string, len(branch))
		for k, p := range branch {
			conjuncts[k] = p.String()
		}
		parts[i] = "(" + strings.Join(conjuncts, " AND ") + ")"
	}
	return strings.Join(parts, " OR ")
}

// scans are the occurrences with all that the text proves about them.
func (a *analyzer) scans() []Scan {
	for _, q := range a.bound.Top {
		a.statement(q)
	}
	a.finish()
	slices.SortStableFunc(a.occurrences, func(x, y *occurrence) int { return x.Start - y.Start })
	scans := make([]Scan, len(a.occurrences))
	for i, o := range a.occurrences {
		scans[i] = o.finish()
	}
	numberJoins(scans, a.occurrences)
	return scans
}
