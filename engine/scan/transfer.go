package scan

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/csmsql/csmsql/exec/duckdb"
	"github.com/csmsql/csmsql/exec/plan"
	"github.com/csmsql/csmsql/sql/optimization"
)

// Predicate transfer: what is left of a small filtered table thins out the larger tables that are joined with it,
// before DuckDB sees a row. region → nation → supplier → lineitem. See docs/decisions/0006-join-order.md.
//
// It is planning: it reads the small tables once per plan. A wrong key set would be a wrong answer, so it only follows
// plan.Join (P7), and what it cannot do cheaply it leaves out.
type transfer struct {
	tables  *Tables
	hints   []plan.Scan
	scans   []*Scan // of hints, in their order
	done    []bool
	keys    map[string]*duckdb.KeySet // by provenance; nil: was not worth it
	without optimization.Set
}

const (
	KeysMost       = 8_000_000 // keys of one set, if there is memory for so many
	smallTable     = 200_000   // rows; to read that many costs next to nothing
	smallWorth     = 0.9       // what must at most be left of a small table for its keys to be worth anything
	largeWorth     = 0.6       // and of a large one: half of it, which may be a bit more, is one of two nodes' part
	backWorth      = 1.0 / 8   // what a row is worth to the scan that is thinned out, which joins it, is so many rows whose keys are read
	largestReading = 5         // a table's keys may cost reading this many times the rows of the table that they thin out
)

// Transfer thins the scans of hints, in their order, out by each other.
func Transfer(ctx context.Context, tables *Tables, hints []plan.Scan, scans []*Scan,
	without optimization.Set) error {
	if slices.ContainsFunc(scans, func(s *Scan) bool { return s.unpopulated != nil }) {
		return nil // running it reports the error
	}
	return (&transfer{tables: tables, hints: hints, scans: scans, without: without}).run(ctx)
}

// run thins scans out, the smallest first, so that every table is filtered by smaller ones; and then, where it pays, by
// larger ones of which little is left.
func (t *transfer) run(ctx context.Context) error {
	t.done = make([]bool, len(t.scans))
	t.keys = map[string]*duckdb.KeySet{}
	for i := range t.scans {
		if err := t.keepGroups(ctx, i); err != nil {
			return err
		}
	}
	var order []int
	for range t.scans {
		i := t.smallest()
		if err := t.thin(ctx, i, t.done, 0); err != nil {
			return err
		}
		t.done[i] = true
		order = append(order, i)
	}
	// Back: a table that came before one that many keys have thinned out since.
	later := make([]bool, len(t.scans))
	for _, i := range slices.Backward(order) {
		if err := t.thin(ctx, i, later, backWorth); err != nil {
			return err
		}
		later[i] = true
	}
	if t.without.Has(optimization.JoinOrder) {
		return nil // DuckDB gets the rows of the tables
	}
	for _, s := range t.scans {
		s.tell(s.rowEstimate())
	}
	return nil
}

// smallest is the scan of which least will be left when those that are done have thinned it out; of those of which
// about as much will be, the one of which less is to be read: the other one has more to gain from its keys.
func (t *transfer) smallest() int {
	best, least := -1, 0.0
	for i := range t.scans {
		if t.done[i] {
			continue
		}
		if size := t.foreseen(i) * math.Sqrt(float64(t.scans[i].held)); best < 0 || size < least {
			best, least = i, size
		}
	}
	return best
}

// foreseen estimates how many rows are left of scan i when those that are done have thinned it out.
func (t *transfer) foreseen(i int) float64 {
	s := t.scans[i]
	rows := float64(s.rows)
	for _, j := range t.hints[i].Joins {
		if t.done[j.Other] && t.canThin(i, j) {
			rows *= s.kept(j.Column, t.scans[j.Other].rows, t.scans[j.Other])
		}
	}
	return rows
}

// canThin reports whether the keys of a join's other scan would leave out anything of scan i.
func (t *transfer) canThin(i int, j plan.Join) bool {
	s, other := t.scans[i], t.scans[j.Other]
	return sameKeys(s.column(j.Column), other.column(j.Match)) && !s.knows(i, j.Column, other, j.Match)
}

// thin filters scan i by the keys of some others. worth: to read one row for its key must save so much of a row; 0: it
// always does.
func (t *transfer) thin(ctx context.Context, i int, by []bool, worth float64) error {
	s := t.scans[i]
	joins := slices.SortedStableFunc(slices.Values(t.hints[i].Joins), func(x, y plan.Join) int { return cmp.Compare(t.scans[x.Other].rows, t.scans[y.Other].rows) })
	for _, j := range joins {
		if !by[j.Other] || !t.canThin(i, j) {
			continue
		}
		other := t.scans[j.Other]
		kept := s.kept(j.Column, other.rows, other)
		if kept == 1 || float64(s.rows)*s.weight()*(1-kept) < worth*float64(other.held) {
			continue
		}
		keys, provenance, err := t.keysOf(ctx, j.Other, j.Match, s)
		if err != nil {
			return err
		}
		filtered := fmt.Sprintf("%d in %s", j.Column, provenance)
		if keys == nil || slices.Contains(s.provenances, filtered) {
			continue
		}
		s.provenances = append(s.provenances, filtered)
		s.KeyFilters = append(s.KeyFilters, duckdb.Filter{Column: j.Column, Keys: keys})
		s.keySources = append(s.keySources, keySource{j.Other, j.Match})
		s.OfResults = s.OfResults || t.scans[j.Other].Result || t.scans[j.Other].OfResults
		s.rows = s.guessed(max(1, min(s.rows, int64(float64(s.rows)*s.kept(j.Column, int64(keys.Len()), other)))))
	}
	return nil
}

// knows reports whether nothing filters another scan's column but what filters this one's, or this one's own keys: then
// the other one's keys would leave nothing more out. own is the place of the scan among all. Two scans that each read a
// part read parts that belong together.
func (t *Scan) knows(own, column int, other *Scan, match int) bool {
	if len(other.filtersOf(other.Hint)) > 0 || other.Part != nil && t.Part == nil {
		return false
	}
	for i, f := range other.KeyFilters {
		known := other.keySources[i] == keySource{own, column} ||
			slices.ContainsFunc(t.KeyFilters, func(mine duckdb.Filter) bool { return mine.Column == column && mine.Keys == f.Keys })
		if f.Column != match || !known {
			return false
		}
	}
	return true
}

// keySource is where a filter's keys come from: a column of a scan, of the one itself if they are of groups.
type keySource struct{ scan, column int }

// weight is what a row that goes on costs, in such rows without strings: those are copied wherever the row goes.
func (t *Scan) weight() float64 {
	w := 1.0
	for i, c := range t.Facts.Relation.Columns {
		if c.Type.ID() == arrow.STRING && t.Duck.Domains[i] == nil && slices.Contains(t.Hint.Columns, c.Name) {
			w += 2
		}
	}
	return w
}

// kept estimates which part of a table's rows has one of n keys of another one. Two parts that belong together have the
// same part of all keys.
func (t *Scan) kept(column int, n int64, other *Scan) float64 {
	distinct := float64(t.Facts.Relation.Columns[column].Stats.Distinct)
	if distinct <= 0 {
		distinct = float64(t.Facts.Relation.Rows)
	}
	if t.Part != nil && other.Part != nil {
		distinct *= other.share()
	}
	return min(1, float64(n)/max(distinct, 1))
}

// share is how much of the table the scan may read.
func (t *Scan) share() float64 {
	return float64(t.held) / float64(max(t.Facts.Relation.Rows, 1))
}

// keysOf gives the keys that are left of scan i, if they are worth their price to the scan that wants them.
func (t *transfer) keysOf(ctx context.Context, i, column int, wants *Scan) (*duckdb.KeySet, string, error) {
	s := t.scans[i]
	provenance := fmt.Sprintf("%d of %s", column, s.Signature())
	if keys, known := t.keys[provenance]; known {
		return keys, provenance, nil
	}
	total := s.held
	if wants.Part == nil { // for which a part is less than everything
		total = s.Facts.Relation.Rows
	}
	worth := largeWorth
	if total <= smallTable {
		worth = smallWorth
	} else if float64(s.held) > largestReading*float64(wants.held)*wants.weight() {
		return nil, "", nil
	}
	if total == 0 || !s.filtered() || float64(s.rows) > worth*float64(total) || s.rows > t.tables.KeysMost {
		return nil, "", nil
	}
	if err := s.Start(ctx, nil); err != nil {
		return nil, "", err
	}
	keys, err := duckdb.BuildKeySet(ctx, s.Duck, column, t.tables.KeysMost)
	var known *duckdb.Error
	switch {
	case errors.As(err, &known) && known.State == "53200":
		keys = nil // the statement may do without
	case err != nil:
		return nil, "", err
	}
	if keys != nil {
		s.rows = keys.Rows()
		s.exact = true
		if float64(s.rows) > worth*float64(total) { // it was estimated to be less
			keys = nil
		}
	}
	t.keys[provenance] = keys
	if keys != nil && s.oneRowEach(column, keys) && slices.ContainsFunc(s.filtersOf(s.Hint), s.slow) {
		s.ownKeys = &duckdb.Filter{Column: column, Keys: keys}
		s.OfResults = s.OfResults || s.Result
	}
	return keys, provenance, nil
}

// oneRowEach reports whether every row of which these are the keys has one, and its own.
func (t *Scan) oneRowEach(column int, keys *duckdb.KeySet) bool {
	stats := t.Facts.Relation.Columns[column].Stats
	return int64(keys.Len()) == keys.Rows() && stats.NullsKnown && stats.Nulls == 0
}

func (t *Scan) column(i int) arrow.DataType { return t.Facts.Relation.Columns[i].Type }

// filtered reports whether anything thins the scan out. A part of a table has a part of the keys: a fragment that reads
// another table whole reads of it what belongs to its part.
func (t *Scan) filtered() bool {
	return len(t.KeyFilters) > 0 || len(t.filtersOf(t.Hint)) > 0 || t.Part != nil
}

// rowEstimate is the number of rows for DuckDB's optimizer, which takes a fifth of them for a WHERE that stays in the
// text.
func (t *Scan) rowEstimate() int64 {
	const duckDBGuess = 5
	rows := max(t.rows, 1)
	if t.Hint.Filters > 0 {
		return rows * duckDBGuess
	}
	return rows
}

// Signature says what the scan reads: scans with equal signatures give equal rows.
func (t *Scan) Signature() string {
	var b strings.Builder
	parted := t.Part != nil // a part may be empty, and is not the whole table
	fmt.Fprintf(&b, "%p %q %t %v", t.Facts.Version, t.Numbered, parted, t.Part)
	writeSignature(&b, t.Hint.Predicates)
	for _, branches := range t.Hint.AnyOf {
		b.WriteString("|any of")
		for _, branch := range branches {
			b.WriteString("|or")
			writeSignature(&b, branch)
		}
	}
	fmt.Fprintf(&b, "|%v|%q", t.Hint.Comparisons, t.Hint.EnumSafe)
	for _, p := range t.provenances {
		b.WriteString("|{" + p + "}")
	}
	return b.String()
}

// writeSignature does not use Predicate.String, which is for people: words are not quoted there, so 'a', 'b' may be one
// or two.
func writeSignature(b *strings.Builder, predicates []plan.Predicate) {
	for _, p := range predicates {
		fmt.Fprintf(b, "|%d %d", p.Column, p.Op)
		for _, v := range p.Values {
			fmt.Fprintf(b, " %d:%q", v.Kind(), v.String())
		}
	}
}

// sameKeys: equality of the stored integers is equality of the values.
func sameKeys(a, b arrow.DataType) bool {
	if arrow.IsInteger(a.ID()) && arrow.IsInteger(b.ID()) {
		return a.ID() != arrow.UINT64 && b.ID() != arrow.UINT64
	}
	return a.ID() == arrow.DATE32 && b.ID() == arrow.DATE32
}
