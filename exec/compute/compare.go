package compute

import (
	"math"
	"math/bits"
	"strings"

	"github.com/csmsql/csmsql/exec/plan"
)

// compare is one of the six comparisons. The planner has made sure that both sides have a common domain (X1).
func (e *evaluator) compare(op plan.Op, l, r vector) vector {
	n, constant := e.width(l, r)
	out := vector{t: boolean, constant: constant, nulls: anyNull(n, l, r), truths: make([]bool, n)}
	if l.t.Kind == plan.KindNull || r.t.Kind == plan.KindNull {
		out.nulls = allTrue(n)
		return out
	}
	ld, rd := domainOf(l.t), domainOf(r.t)
	switch {
	case ld == textDomain:
		compareTexts(&out, op, l, r)
	case ld == truthDomain:
		compareRows(&out, op, l, r, func(i, k int) int { return truthOrder(l.truths[i], r.truths[k]) })
	case ld == floatDomain || rd == floatDomain:
		a, b := asFloats(l), asFloats(r)
		compareRows(&out, op, l, r, func(i, k int) int { return floatOrder(a[i], b[k]) })
	default:
		compareInts(&out, op, l, r)
	}
	return out
}

func allTrue(n int) []bool {
	all := make([]bool, n)
	for i := range all {
		all[i] = true
	}
	return all
}

// compareRows asks an order function for each row that has no NULL.
func compareRows(out *vector, op plan.Op, l, r vector, order func(i, k int) int) {
	for i := range out.truths {
		if out.nulls == nil || !out.nulls[i] {
			out.truths[i] = holds(op, order(l.row(i), r.row(i)))
		}
	}
}

func holds(op plan.Op, order int) bool {
	switch op {
	case plan.Equal:
		return order == 0
	case plan.NotEqual:
		return order != 0
	case plan.Less:
		return order < 0
	case plan.LessEqual:
		return order <= 0
	case plan.Greater:
		return order > 0
	}
	return order >= 0
}

func truthOrder(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}

// floatOrder is DuckDB's total order: -0 = 0, NaN = NaN, NaN above everything.
func floatOrder(a, b float64) int {
	aNaN, bNaN := math.IsNaN(a), math.IsNaN(b)
	switch {
	case aNaN && bNaN:
		return 0
	case aNaN || a > b && !bNaN:
		return 1
	case bNaN || a < b:
		return -1
	}
	return 0
}

// asFloats converts to DOUBLE; the planner only lets types through whose conversion is one correct rounding.
func asFloats(v vector) []float64 {
	if domainOf(v.t) == floatDomain {
		return v.floats
	}
	power := math.Pow10(int(v.t.Scale))
	floats := make([]float64, len(v.ints))
	for i, x := range v.ints {
		floats[i] = float64(x) / power
	}
	return floats
}

// compareInts handles exact numbers and instants. Where scales agree it is a plain loop, with a constant on the right
// the
// usual case.
func compareInts(out *vector, op plan.Op, l, r vector) {
	l, r = asInstants(l, r.t), asInstants(r, l.t)
	if l.t.Scale == r.t.Scale {
		if r.constant && !l.constant {
			compareWithInt(out.truths, op, l.ints, r.ints[0])
			return
		}
		compareRows(out, op, l, r, func(i, k int) int { return intOrder(l.ints[i], r.ints[k]) })
		return
	}
	up := uint64(math.Pow10(int(max(l.t.Scale, r.t.Scale) - min(l.t.Scale, r.t.Scale))))
	if l.t.Scale < r.t.Scale {
		compareRows(out, op, l, r, func(i, k int) int { return scaledOrder(l.ints[i], up, r.ints[k]) })
	} else {
		compareRows(out, op, l, r, func(i, k int) int { return -scaledOrder(r.ints[k], up, l.ints[i]) })
	}
}

// compareWithInt also computes at NULLs: whatever lies there is an integer, and the answer is not looked at.
func compareWithInt(truths []bool, op plan.Op, values []int64, c int64) {
	switch op {
	case plan.Equal:
		for i, x := range values {
			truths[i] = x == c
		}
	case plan.NotEqual:
		for i, x := range values {
			truths[i] = x != c
		}
	case plan.Less:
		for i, x := range values {
			truths[i] = x < c
		}
	case plan.LessEqual:
		for i, x := range values {
			truths[i] = x <= c
		}
	case plan.Greater:
		for i, x := range values {
			truths[i] = x > c
		}
	case plan.GreaterEqual:
		for i, x := range values {
			truths[i] = x >= c
		}
	}
}

func intOrder(a, b int64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// scaledOrder compares a×up with b without overflow.
func scaledOrder(a int64, up uint64, b int64) int {
	if a < 0 != (b < 0) {
		return intOrder(a, b)
	}
	high, low := bits.Mul64(magnitude(a), up)
	order := 0
	switch m := magnitude(b); {
	case high > 0 || low > m:
		order = 1
	case low < m:
		order = -1
	}
	if a < 0 {
		return -order
	}
	return order
}

func magnitude(a int64) uint64 {
	if a < 0 {
		return -uint64(a)
	}
	return uint64(a)
}

const (
	microsPerDay = 24 * 60 * 60 * 1_000_000
	lastMidnight = math.MaxInt64 / microsPerDay
)

// asInstants turns dates into timestamps if the other side is one. Dates out of a timestamp's range saturate.
func asInstants(v vector, other plan.Type) vector {
	if v.t.Kind != plan.KindDate || other.Kind != plan.KindTimestamp {
		return v
	}
	micros := make([]int64, len(v.ints))
	for i, day := range v.ints {
		micros[i] = min(max(day, -lastMidnight), lastMidnight) * microsPerDay
		if day > lastMidnight {
			micros[i] = math.MaxInt64
		} else if day < -lastMidnight {
			micros[i] = math.MinInt64
		}
	}
	v.ints, v.t = micros, other
	return v
}

// compareTexts compares bytewise; a dictionary against a constant asks once per dictionary value.
func compareTexts(out *vector, op plan.Op, l, r vector) {
	if r.constant && !r.null(0) && l.texts.dictionary != nil {
		c := r.texts.at(0)
		byCode(out, l.texts, func(s string) bool { return holds(op, strings.Compare(s, c)) })
		return
	}
	compareRows(out, op, l, r, func(i, k int) int { return strings.Compare(l.texts.at(i), r.texts.at(k)) })
}

// byCode decides per dictionary value and looks the rows' codes up.
func byCode(out *vector, x texts, decide func(string) bool) {
	answers := make([]bool, x.values.Len())
	for i := range answers {
		answers[i] = decide(x.values.Value(i))
	}
	for i := range out.truths {
		if out.nulls == nil || !out.nulls[i] {
			out.truths[i] = answers[x.dictionary.GetValueIndex(i)]
		}
	}
}

// like matches a pattern whose only wildcard is %.
func (e *evaluator) like(arg vector, pattern string) vector {
	n, constant := e.width(arg)
	out := vector{t: boolean, constant: constant, nulls: arg.nulls, truths: make([]bool, n)}
	parts := strings.Split(pattern, "%")
	if arg.texts.dictionary != nil {
		byCode(&out, arg.texts, func(s string) bool { return likeMatches(s, parts) })
		return out
	}
	for i := range out.truths {
		if !arg.null(i) {
			out.truths[i] = likeMatches(arg.texts.at(arg.row(i)), parts)
		}
	}
	return out
}

// likeMatches: the first part is a prefix, the last a suffix, the others follow each other in between, each as early as
// it can.
func likeMatches(s string, parts []string) bool {
	first, last := parts[0], parts[len(parts)-1]
	if len(parts) == 1 {
		return s == first
	}
	if len(s) < len(first)+len(last) || !strings.HasPrefix(s, first) || !strings.HasSuffix(s, last) {
		return false
	}
	s = s[len(first) : len(s)-len(last)]
	for _, part := range parts[1 : len(parts)-1] {
		at := strings.Index(s, part)
		if at < 0 {
			return false
		}
		s = s[at+len(part):]
	}
	return true
}
