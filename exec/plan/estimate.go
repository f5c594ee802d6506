package plan

import (
	"math"
)

// Selectivities where statistics say nothing. They are guesses from the shape of TPC-H and of PostgreSQL's own
// table; a wrong one costs a join order, never an answer.
const (
	guessEqual     = 0.05
	guessRange     = 1.0 / 3
	guessPrefix    = 0.05
	guessContains  = 0.05
	guessCondition = 1.0 / 3
	guessColumns   = 0.5 // two columns of one table compared
)

// estimate gives the rows that a scan's own conditions leave, at least 1 if there are any.
//
// guesses is the product of the selectivities of conditions that have no form here.
func estimate(r *Relation, predicates []Predicate, anyOf [][][]Predicate, guesses float64) int64 {
	selectivity := conjunction(r, predicates) * guesses
	for _, branches := range anyOf {
		sum := 0.0
		for _, branch := range branches {
			sum += conjunction(r, branch)
		}
		selectivity *= min(sum, 1)
	}
	return r.guessed(clampRows(selectivity, r.Rows))
}

func clampRows(selectivity float64, rows int64) int64 {
	if rows <= 0 {
		return 0
	}
	return max(1, min(rows, int64(math.Round(selectivity*float64(rows)))))
}

// conjunction multiplies what each column's predicates keep. Bounds on one column are taken together: two halves of a
// range are anything but independent.
func conjunction(r *Relation, predicates []Predicate) float64 {
	selectivity := 1.0
	for i, p := range predicates {
		column := &r.Columns[p.Column]
		if low, high := p.rangeEnds(); low.kind == Unknown && high.kind == Unknown {
			selectivity *= p.keeps(column, r.Rows)
			continue
		}
		if firstRangeOf(predicates, p.Column) != i {
			continue
		}
		selectivity *= rangeKeeps(column, r.Rows, predicates, p.Column)
	}
	return selectivity
}

func firstRangeOf(predicates []Predicate, column int) int {
	for i, p := range predicates {
		if low, high := p.rangeEnds(); p.Column == column && (low.kind != Unknown || high.kind != Unknown) {
			return i
		}
	}
	return -1
}

// rangeEnds are the bounds that a range predicate sets, Unknown where it sets none.
func (p Predicate) rangeEnds() (low, high Value) {
	switch p.Op {
	case Less, LessEqual:
		return Value{}, p.Values[0]
	case Greater, GreaterEqual:
		return p.Values[0], Value{}
	case Between:
		return p.Values[0], p.Values[1]
	}
	return Value{}, Value{}
}

// rangeKeeps interpolates between the column's bounds, all range predicates on it together.
func rangeKeeps(c *Column, rows int64, predicates []Predicate, column int) float64 {
	low, high, guess := 0.0, 1.0, 1.0
	for _, p := range predicates {
		if p.Column != column {
			continue
		}
		from, to := p.rangeEnds()
		low, guess = raise(low, guess, from, c, p.Op == Greater)
		high, guess = cut(high, guess, to, c, p.Op == Less)
	}
	return max(high-low, 1/float64(max(rows, 1))) * guess * c.Stats.notNull(rows)
}

func raise(low, guess float64, bound Value, c *Column, strict bool) (float64, float64) {
	if bound.kind == Unknown {
		return low, guess
	}
	at, ok := position(bound, c, strict)
	if !ok {
		return low, guess * guessRange
	}
	return max(low, at), guess
}

func cut(high, guess float64, bound Value, c *Column, strict bool) (float64, float64) {
	if bound.kind == Unknown {
		return high, guess
	}
	at, ok := position(bound, c, !strict)
	if !ok {
		return high, guess * guessRange
	}
	return min(high, at), guess
}

// position is the share of the column's values that lie before v (with v itself if past), assuming they are spread
// evenly.
func position(v Value, c *Column, past bool) (float64, bool) {
	low, ok1 := c.Stats.Min.measure()
	high, ok2 := c.Stats.Max.measure()
	at, ok3 := v.measure()
	if !ok1 || !ok2 || !ok3 || high < low {
		return 0, false
	}
	step := 0.0 // the width of one value in a domain of whole steps
	if c.Stats.Distinct > 1 {
		step = (high - low) / float64(c.Stats.Distinct-1)
	}
	if past {
		at += step
	}
	width := high - low + step
	if width <= 0 {
		width = 1
	}
	return min(max((at-low)/width, 0), 1), true
}

// measure puts a value on a line on which distances mean something.
func (v Value) measure() (float64, bool) {
	switch v.kind {
	case Exact:
		return v.num.ToFloat64(v.scale), true
	case Double:
		return v.float, !math.IsNaN(v.float) && !math.IsInf(v.float, 0)
	case Date:
		return float64(v.int) * microsPerDay, true
	case Timestamp:
		return float64(v.int), true
	}
	return 0, false
}

// keeps is the selectivity of a predicate that is not a range.
func (p Predicate) keeps(c *Column, rows int64) float64 {
	notNull := c.Stats.notNull(rows)
	switch p.Op {
	case IsNull:
		return 1 - notNull
	case IsNotNull:
		return notNull
	case Equal:
		return c.equalKeeps() * notNull
	case NotEqual:
		return (1 - c.equalKeeps()) * notNull
	case In:
		return min(float64(len(p.Values))*c.equalKeeps(), 1) * notNull
	case Like:
		return guessContains * notNull
	case Prefix:
		return min(float64(len(p.Values))*max(guessPrefix, c.equalKeeps()), 1) * notNull
	}
	return guessRange
}

func (c *Column) equalKeeps() float64 {
	if c.Stats.Distinct > 0 {
		return 1 / float64(c.Stats.Distinct)
	}
	return guessEqual
}

// notNull is the share of values that are not NULL, 1 if unknown.
func (s ColumnStats) notNull(rows int64) float64 {
	if s.Rows > 0 {
		rows = s.Rows
	}
	if !s.NullsKnown || rows <= 0 {
		return 1
	}
	return 1 - min(float64(s.Nulls)/float64(rows), 1)
}
