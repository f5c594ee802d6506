package compute

import (
	"math"
	"math/bits"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/compute"
	"github.com/apache/arrow-go/v18/arrow/scalar"

	"github.com/csmsql/csmsql/exec/plan"
)

var arithmeticKernels = map[plan.ExprOp]string{plan.OpAdd: "add_unchecked", plan.OpSubtract: "subtract_unchecked",
	plan.OpMultiply: "multiply_unchecked", plan.OpDivide: "divide_unchecked", plan.OpNegate: "negate_unchecked"}

// arithmetic is + - * /, negation and casts of exact numbers in the result's type. A NULL operand makes NULL and never
// an error. Whole numbers are computed in 64 bits and checked here: the checks of arrow-go 18.8 see no underflow of
// signed sums, see overflows where there is none, and look at what lies where NULL is.
func (e *evaluator) arithmetic(x *plan.Expr) (arrow.Array, error) {
	t, exact := arrow.DataType(arrow.PrimitiveTypes.Int64), x.Type.Kind != plan.KindDouble
	if !exact { // IEEE 754: no error, infinities and NaN instead
		t = arrow.PrimitiveTypes.Float64
	}
	operands := make([]compute.Datum, len(x.Args))
	_, constant := e.constant(x.Args[len(x.Args)-1])
	for i, arg := range x.Args {
		scale := x.Type.Scale
		if x.Op == plan.OpMultiply || x.Op == plan.OpNegate {
			scale = arg.Type.Scale
		}
		var err error
		if operands[i], err = e.operand(arg, t, scale, constant && i == 0 || x.Op == plan.OpCast); err != nil {
			return nil, err
		}
	}
	var a arrow.Array
	var err error
	if x.Op == plan.OpCast {
		a = operands[0].(*compute.ArrayDatum).MakeArray()
		e.keep(a)
	} else {
		a, err = e.call(arithmeticKernels[x.Op], operands...)
	}
	if err != nil || !exact {
		return a, err
	}
	low, high := limits(x.Type)
	at := outside(a, low, high)
	if at < 0 {
		at = wraps(x, operands, a.(*array.Int64))
	}
	if at >= 0 {
		return nil, tooLarge(x, operands, at)
	}
	if x.Type.Kind == plan.KindDecimal {
		return e.retyped(a, outputType(x.Type)), nil
	}
	return e.cast(a, x.Type.Arrow())
}

// limits are the least and greatest value of an integer or narrow decimal type.
func limits(t plan.Type) (low, high int64) {
	if t.Kind == plan.KindDecimal {
		return -digits(t.Precision), digits(t.Precision)
	}
	bits := t.Arrow().(arrow.FixedWidthDataType).BitWidth()
	return math.MinInt64 >> (64 - bits), math.MaxInt64 >> (64 - bits)
}

// tooLarge is the error of a result, with what it was to be made of.
func tooLarge(x *plan.Expr, operands []compute.Datum, at int) error {
	a := wholeAt(operands[0])(at)
	if len(operands) == 1 {
		return overflow("%s does not fit %s for %d", x, x.Type, a)
	}
	return overflow("%s does not fit %s for %d and %d; a cast of an operand to a wider type makes room",
		x, x.Type, a, wholeAt(operands[1])(at))
}

// wholeAt gives the values of an operand of 64-bit integers.
func wholeAt(d compute.Datum) func(i int) int64 {
	if s, ok := d.(*compute.ScalarDatum); ok {
		one := s.Value.(*scalar.Int64).Value
		return func(int) int64 { return one }
	}
	data := d.(*compute.ArrayDatum).Value
	values := arrow.GetData[int64](data.Buffers()[1].Bytes())[data.Offset():]
	return func(i int) int64 { return values[i] }
}

// wraps gives a result that has left the range of 64 bits, -1 if none has. Narrower integers never do, nor do sums of
// decimals and casts.
func wraps(x *plan.Expr, operands []compute.Datum, result *array.Int64) int {
	wide := x.Type.Kind == plan.KindBigInt || x.Type.Kind == plan.KindDecimal && x.Op == plan.OpMultiply
	if !wide || x.Op == plan.OpCast {
		return -1
	}
	left, right := wholeAt(operands[0]), wholeAt(operands[len(operands)-1])
	for i, out := range result.Int64Values() {
		l, r := left(i), right(i)
		var wrapped bool
		switch x.Op {
		case plan.OpAdd:
			wrapped = (l^out)&(r^out) < 0
		case plan.OpSubtract:
			wrapped = (l^r)&(l^out) < 0
		case plan.OpMultiply:
			high, low := bits.Mul64(magnitude(l), magnitude(r))
			wrapped = high != 0 || low != magnitude(out) || low != 0 && (out < 0) != (l < 0 != (r < 0))
		default:
			wrapped = out == math.MinInt64
		}
		if wrapped && result.IsValid(i) {
			return i
		}
	}
	return -1
}

// operand is an operand in a kernel's type, with so many digits behind the point if that is an integer. A constant is a
// scalar unless an array is asked for.
func (e *evaluator) operand(x *plan.Expr, t arrow.DataType, scale int32, asArray bool) (compute.Datum, error) {
	if v, ok := e.constant(x); ok {
		asArray = asArray || v.Kind() == plan.Null
		n := 1
		if asArray {
			n = e.rows
		}
		a, err := e.constants(v, t, scale, n)
		if err != nil || asArray {
			return datum(a), err
		}
		s, err := scalar.GetScalar(a, 0)
		return compute.NewDatum(s), err
	}
	a, err := e.eval(x)
	if err != nil {
		return nil, err
	}
	if a, err = e.cast(e.unscaled(a), t); err != nil {
		return nil, err
	}
	if t.ID() == arrow.FLOAT64 {
		if x.Type.Scale > 0 {
			power := scalar.NewFloat64Scalar(math.Pow10(int(x.Type.Scale)))
			a, err = e.call("divide_unchecked", datum(a), compute.NewDatum(power))
		}
	} else if scale != x.Type.Scale {
		a, err = e.rescaled(a, scale-x.Type.Scale)
	}
	return datum(a), err
}

// rescaled puts further digits behind the point of integers, of which there are at most 18 in all.
func (e *evaluator) rescaled(a arrow.Array, by int32) (arrow.Array, error) {
	power := int64(math.Pow10(int(by)))
	if limit := maxNarrow / power; outside(a, -limit, limit) >= 0 {
		return nil, overflow("a number does not fit a decimal of 18 digits, %d of them added behind the point", by)
	}
	return e.call("multiply_unchecked", datum(a), compute.NewDatum(scalar.NewInt64Scalar(power)))
}

// outside gives an integer of the array that leaves the limits, -1 if none does.
func outside(a arrow.Array, low, high int64) int {
	values, _ := loadInts(a)
	for i, x := range values {
		if (x < low || x > high) && a.IsValid(i) {
			return i
		}
	}
	return -1
}

// digits is the greatest number of so many digits.
func digits(n int32) int64 { return int64(math.Pow10(int(n))) - 1 }

// maxNarrow is the greatest unscaled decimal of 18 digits.
const maxNarrow = 999_999_999_999_999_999

func scaleBy(x int64, digits int32) (int64, bool) {
	if digits < 0 || digits > 18 {
		return 0, x == 0
	}
	high, low := bits.Mul64(magnitude(x), uint64(math.Pow10(int(digits))))
	if high != 0 || low > maxNarrow {
		return 0, false
	}
	if x < 0 {
		return -int64(low), true
	}
	return int64(low), true
}

func magnitude(a int64) uint64 {
	if a < 0 {
		return -uint64(a)
	}
	return uint64(a)
}
