package compute

import (
	"cmp"
	"math"
	"math/bits"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/bitutil"
	"github.com/apache/arrow-go/v18/arrow/compute"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/arrow/scalar"

	"github.com/csmsql/csmsql/exec/plan"
)

var (
	compareKernels = map[plan.Op]string{plan.Equal: "equal", plan.NotEqual: "not_equal", plan.Less: "less",
		plan.LessEqual: "less_equal", plan.Greater: "greater", plan.GreaterEqual: "greater_equal"}
	// mirrored is the comparison with its sides exchanged.
	mirrored = map[plan.Op]plan.Op{plan.Equal: plan.Equal, plan.NotEqual: plan.NotEqual, plan.Less: plan.Greater,
		plan.LessEqual: plan.GreaterEqual, plan.Greater: plan.Less, plan.GreaterEqual: plan.LessEqual}
)

// compare is one of the six comparisons. The planner has made sure that both sides have a common domain (X1).
func (e *evaluator) compare(op plan.Op, l, r *plan.Expr) (arrow.Array, error) {
	if _, ok := e.constant(l); ok {
		op, l, r = mirrored[op], r, l // a constant stands on the right
	}
	c, constant := e.constant(r)
	if v, ok := e.constant(l); constant && c.Kind() == plan.Null || ok && v.Kind() == plan.Null {
		return e.keep(array.MakeArrayOfNull(e.mem, arrow.FixedWidthTypes.Boolean, e.rows)), nil
	}
	switch ld, rd := domainOf(l.Type), domainOf(r.Type); {
	case ld == textDomain:
		return e.compareTexts(op, l, r)
	case ld == truthDomain:
		return e.compareTruths(op, l, r)
	case ld == floatDomain || rd == floatDomain:
		return e.compareDoubles(op, l, r)
	}
	return e.compareWhole(op, l, r)
}

// compareTruths: false is less than true.
func (e *evaluator) compareTruths(op plan.Op, l, r *plan.Expr) (arrow.Array, error) {
	a, err := e.truth(l)
	if err != nil {
		return nil, err
	}
	b, err := e.truth(r)
	if err != nil {
		return nil, err
	}
	switch op {
	case plan.Less:
		return e.callArrays("and_not", b, a)
	case plan.Greater:
		return e.callArrays("and_not", a, b)
	case plan.LessEqual, plan.GreaterEqual:
		if op == plan.LessEqual {
			a, b = b, a
		}
		if b, err = e.callArrays("not", b); err != nil {
			return nil, err
		}
		return e.callArrays("or", a, b)
	}
	return e.callArrays(compareKernels[op], a, b)
}

// compareDoubles has DuckDB's total order, where NaN is above everything. The kernels' NaN is neither less nor greater
// than a number, so what is not less or equal is greater; two columns are compared one by one.
func (e *evaluator) compareDoubles(op plan.Op, l, r *plan.Expr) (arrow.Array, error) {
	a, err := e.doubles(l)
	if err != nil {
		return nil, err
	}
	if v, ok := e.constant(r); ok && !math.IsNaN(double(v)) {
		c := compute.NewDatum(scalar.NewFloat64Scalar(double(v)))
		if op != plan.Greater && op != plan.GreaterEqual {
			return e.call(compareKernels[op], datum(a), c)
		}
		opposite := map[plan.Op]plan.Op{plan.Greater: plan.LessEqual, plan.GreaterEqual: plan.Less}[op]
		if a, err = e.call(compareKernels[opposite], datum(a), c); err != nil {
			return nil, err
		}
		return e.callArrays("not", a)
	}
	b, err := e.doubles(r)
	if err != nil {
		return nil, err
	}
	x, y := a.(*array.Float64).Float64Values(), b.(*array.Float64).Float64Values()
	return e.truths(func(i int) bool { return holds(op, floatOrder(x[i], y[i])) }, a, b), nil
}

func (e *evaluator) doubles(x *plan.Expr) (arrow.Array, error) {
	d, err := e.operand(x, arrow.PrimitiveTypes.Float64, 0, true)
	if err != nil {
		return nil, err
	}
	return e.keep(d.(*compute.ArrayDatum).MakeArray()), nil
}

// compareWhole handles exact numbers, dates and timestamps. Where scales agree it is a kernel's.
func (e *evaluator) compareWhole(op plan.Op, l, r *plan.Expr) (arrow.Array, error) {
	a, err := e.wholes(l, r)
	if err != nil {
		return nil, err
	}
	if v, ok := e.constant(r); ok {
		if v.Kind() == plan.Date && l.Type.Kind == plan.KindTimestamp {
			v = plan.TimestampValue(midnight(v.Int()))
		}
		if i, ok := whole(v, l.Type.Scale); ok {
			if few, ok := e.compareFew(op, a, i); ok {
				return few, nil
			}
			c, err := e.scalarOf(i, a.DataType())
			if err != nil {
				return nil, err
			}
			return e.call(compareKernels[op], datum(a), c)
		}
	}
	b, err := e.wholes(r, l)
	if err != nil {
		return nil, err
	}
	if l.Type.Scale == r.Type.Scale {
		return e.callArrays(compareKernels[op], a, b)
	}
	x, _ := loadInts(a)
	y, _ := loadInts(b)
	up := uint64(math.Pow10(int(max(l.Type.Scale, r.Type.Scale) - min(l.Type.Scale, r.Type.Scale))))
	return e.truths(func(i int) bool {
		if l.Type.Scale < r.Type.Scale {
			return holds(op, scaledOrder(x[i], up, y[i]))
		}
		return holds(op, -scaledOrder(y[i], up, x[i]))
	}, a, b), nil
}

// oneByOne is up to how many rows calling a kernel takes longer than comparing them: those that an order has found.
const oneByOne = 16

func (e *evaluator) compareFew(op plan.Op, a arrow.Array, with int64) (arrow.Array, bool) {
	if e.rows > oneByOne {
		return nil, false
	}
	values, ok := loadInts(a)
	if !ok {
		return nil, false
	}
	return e.truths(func(i int) bool { return holds(op, cmp.Compare(values[i], with)) }, a), true
}

// wholeMembers are the numbers that IN lists of a column of whole numbers. False: some are none, as NULL.
func (e *evaluator) wholeMembers(x *plan.Expr) (list []int64, ok bool) {
	members := x.Members()
	for _, m := range members {
		v, constant := e.constant(m)
		if !constant || v.Kind() != plan.Exact {
			return nil, false
		}
		i, is := whole(v, 0)
		if !is {
			return nil, false
		}
		list = append(list, i)
	}
	return list, len(members) > 0
}

// among looks for a column's whole numbers in a list, whose order it changes.
func (e *evaluator) among(column *plan.Expr, list []int64) (arrow.Array, error) {
	a, err := e.eval(column)
	if err != nil {
		return nil, err
	}
	values, _ := loadInts(a)
	slices.Sort(list)
	least, greatest := list[0], list[len(list)-1]
	return e.truths(func(i int) bool {
		v := values[i]
		if v < least || v > greatest {
			return false
		}
		_, found := slices.BinarySearch(list, v)
		return found
	}, a), nil
}

// wholes are exact numbers or points in time as the kernels compare them with the other side: a date beside a timestamp
// is its midnight.
func (e *evaluator) wholes(x, other *plan.Expr) (arrow.Array, error) {
	a, err := e.eval(x)
	if err != nil || x.Type.Kind != plan.KindDate || other.Type.Kind != plan.KindTimestamp {
		return e.unscaled(a), err
	}
	days, _ := loadInts(a)
	for i, d := range days {
		days[i] = midnight(d)
	}
	return e.retyped(e.integers(days, a), other.Type.Arrow()), nil
}

// midnight is the timestamp at which a day begins; days out of a timestamp's range saturate.
func midnight(day int64) int64 {
	const microsPerDay, last = 24 * 60 * 60 * 1_000_000, math.MaxInt64 / (24 * 60 * 60 * 1_000_000)
	switch {
	case day > last:
		return math.MaxInt64
	case day < -last:
		return math.MinInt64
	}
	return day * microsPerDay
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

// compareTexts compares bytewise.
func (e *evaluator) compareTexts(op plan.Op, l, r *plan.Expr) (arrow.Array, error) {
	if v, ok := e.constant(r); ok {
		c := v.Text()
		if op == plan.Equal {
			return e.matchTexts(l, func(s string) bool { return s == c })
		}
		return e.matchTexts(l, func(s string) bool { return holds(op, strings.Compare(s, c)) })
	}
	a, x, err := e.texts(l)
	if err != nil {
		return nil, err
	}
	b, y, err := e.texts(r)
	if err != nil {
		return nil, err
	}
	return e.truths(func(i int) bool { return holds(op, strings.Compare(x.at(i), y.at(i))) }, a, b), nil
}

func (e *evaluator) texts(x *plan.Expr) (arrow.Array, texts, error) {
	a, err := e.eval(x)
	if err != nil {
		return nil, texts{}, err
	}
	t, ok := loadTexts(a)
	if !ok {
		return nil, texts{}, layoutError("no text in %s", a.DataType())
	}
	return a, t, nil
}

// matchTexts asks each text, of a dictionary once: an ordered one has the texts that match beside each other nearly
// always, and then the kernels compare its codes.
func (e *evaluator) matchTexts(x *plan.Expr, matches func(string) bool) (arrow.Array, error) {
	a, t, err := e.texts(x)
	if err != nil {
		return nil, err
	}
	if t.dictionary == nil {
		return e.truths(func(i int) bool { return matches(t.values.Value(i)) }, a), nil
	}
	answers := make([]bool, t.values.Len())
	first, last, count := 0, 0, 0
	for i := range answers {
		if answers[i] = matches(t.values.Value(i)); answers[i] {
			if count == 0 {
				first = i
			}
			last = i
			count++
		}
	}
	if count == 0 || last-first+1 > count {
		return e.truths(func(i int) bool { return answers[t.dictionary.GetValueIndex(i)] }, a), nil
	}
	return e.codesFrom(t.dictionary.Indices(), int64(first), int64(last))
}

// codesFrom marks the codes that lie between two.
func (e *evaluator) codesFrom(codes arrow.Array, first, last int64) (arrow.Array, error) {
	from, err := e.scalarOf(first, codes.DataType())
	if err != nil {
		return nil, err
	}
	if first == last {
		return e.call("equal", datum(codes), from)
	}
	to, err := e.scalarOf(last, codes.DataType())
	if err != nil {
		return nil, err
	}
	low, err := e.call("greater_equal", datum(codes), from)
	if err != nil {
		return nil, err
	}
	high, err := e.call("less_equal", datum(codes), to)
	if err != nil {
		return nil, err
	}
	return e.callArrays("and", low, high)
}

// truths asks for each row where no operand is NULL.
func (e *evaluator) truths(is func(i int) bool, operands ...arrow.Array) arrow.Array {
	valid, nulls := e.validity(operands...)
	if valid != nil {
		defer valid.Release()
	}
	values := e.bitmap()
	defer values.Release()
	set := values.Bytes()
	for i := range e.rows {
		if (valid == nil || bitutil.BitIsSet(valid.Bytes(), i)) && is(i) {
			bitutil.SetBit(set, i)
		}
	}
	return e.keep(array.NewBoolean(e.rows, values, valid, nulls))
}

// validity says where no operand is NULL; nil: everywhere. The caller releases it.
func (e *evaluator) validity(operands ...arrow.Array) (valid *memory.Buffer, nulls int) {
	for _, a := range operands {
		if a.NullN() == 0 {
			continue
		}
		bits, offset := a.NullBitmapBytes(), a.Data().Offset()
		if valid == nil {
			valid = e.bitmap()
			bitutil.CopyBitmap(bits, offset, e.rows, valid.Bytes(), 0)
		} else {
			bitutil.BitmapAnd(valid.Bytes(), bits, 0, int64(offset), valid.Bytes(), 0, int64(e.rows))
		}
	}
	if valid == nil {
		return nil, 0
	}
	return valid, e.rows - bitutil.CountSetBits(valid.Bytes(), 0, e.rows)
}

// bitmap has a bit for each row, none set.
func (e *evaluator) bitmap() *memory.Buffer {
	b := memory.NewResizableBuffer(e.mem)
	b.Resize(int(bitutil.BytesForBits(int64(e.rows))))
	memory.Set(b.Bytes(), 0)
	return b
}

// like matches a pattern whose only wildcard is %.
func (e *evaluator) like(x *plan.Expr, pattern string) (arrow.Array, error) {
	parts := strings.Split(pattern, "%")
	return e.matchTexts(x, func(s string) bool { return likeMatches(s, parts) })
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
