package compute

import (
	"context"
	"math"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/compute"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/arrow/scalar"

	"github.com/csmsql/csmsql/exec/plan"
)

// evaluator computes expressions over some rows, by arrow-go's kernels where they have one for the types (X7). What it
// makes is its own until release.
type evaluator struct {
	ctx       context.Context // with the run's allocator, for the kernels
	mem       Memory
	arguments []plan.Value
	column    func(column int) (arrow.Array, error) // borrowed for the evaluator's life
	rows      int
	made      []arrow.Array
}

func (e *evaluator) keep(a arrow.Array) arrow.Array {
	e.made = append(e.made, a)
	return a
}

func (e *evaluator) release() {
	for _, a := range e.made {
		a.Release()
	}
	e.made = nil
}

// call runs a kernel. At least one operand is an array.
func (e *evaluator) call(kernel string, operands ...compute.Datum) (arrow.Array, error) {
	out, err := compute.CallFunction(e.ctx, kernel, nil, operands...)
	if err != nil {
		return nil, err
	}
	defer out.Release()
	return e.keep(out.(*compute.ArrayDatum).MakeArray()), nil
}

func datum(a arrow.Array) compute.Datum { return compute.NewDatumWithoutOwning(a) }

// callArrays runs a kernel over arrays.
func (e *evaluator) callArrays(kernel string, arrays ...arrow.Array) (arrow.Array, error) {
	operands := make([]compute.Datum, len(arrays))
	for i, a := range arrays {
		operands[i] = datum(a)
	}
	return e.call(kernel, operands...)
}

// eval gives as many values as there are rows, in the expression's type as [outputType] has it.
func (e *evaluator) eval(x *plan.Expr) (arrow.Array, error) {
	a, err := e.evaluate(x)
	if err == nil {
		err = e.mem.Refused()
	}
	return a, err
}

func (e *evaluator) evaluate(x *plan.Expr) (arrow.Array, error) {
	switch x.Op {
	case plan.OpColumn:
		return e.column(x.Column)
	case plan.OpConstant, plan.OpParameter:
		v, _ := e.constant(x)
		a, err := e.constants(v, kernelType(x.Type), x.Type.Scale, e.rows)
		if err != nil {
			return nil, err
		}
		return e.retyped(a, outputType(x.Type)), nil
	case plan.OpCompare:
		return e.compare(x.Compare, x.Args[0], x.Args[1])
	case plan.OpAnd:
		return e.connect("and_kleene", x.Args)
	case plan.OpOr:
		if list, ok := e.wholeMembers(x); ok {
			return e.among(x.Args[0].Args[0], list)
		}
		return e.connect("or_kleene", x.Args)
	case plan.OpNot:
		return e.connect("not", x.Args)
	case plan.OpLike:
		return e.like(x.Args[0], x.Value.Text())
	case plan.OpIsNull, plan.OpIsNotNull: // arrow-go 18.8's kernels err where a slice begins within a byte
		a, err := e.eval(x.Args[0])
		if err != nil {
			return nil, err
		}
		return e.truths(func(i int) bool { return a.IsNull(i) == (x.Op == plan.OpIsNull) }), nil
	}
	return e.arithmetic(x)
}

// truth is an expression as BOOLEAN, which a bare NULL becomes. It begins with a byte: arrow-go 18.8's "not" errs where
// a slice begins within one.
func (e *evaluator) truth(x *plan.Expr) (arrow.Array, error) {
	if v, ok := e.constant(x); ok {
		return e.constants(v, arrow.FixedWidthTypes.Boolean, 0, e.rows)
	}
	a, err := e.eval(x)
	if b, ok := a.(*array.Boolean); ok && b.Data().Offset() > 0 {
		return e.truths(b.Value, b), nil
	}
	return a, err
}

// connect is AND, OR or NOT in three-valued logic.
func (e *evaluator) connect(kernel string, args []*plan.Expr) (arrow.Array, error) {
	var so arrow.Array
	for i, x := range args {
		a, err := e.truth(x)
		if err != nil {
			return nil, err
		}
		switch {
		case len(args) == 1:
			return e.callArrays(kernel, a)
		case i == 0:
			so = a
			continue
		}
		if so, err = e.callArrays(kernel, so, a); err != nil {
			return nil, err
		}
	}
	return so, nil
}

// outputType is the Arrow type of what is computed: decimals of up to 18 digits are decimal64.
func outputType(t plan.Type) arrow.DataType {
	if t.Kind == plan.KindDecimal && t.Exact64() {
		return &arrow.Decimal64Type{Precision: t.Precision, Scale: t.Scale}
	}
	return t.Arrow()
}

// kernelType is the type that stands for a type in the kernels, which know no decimals of 64 bits.
func kernelType(t plan.Type) arrow.DataType {
	if t.Kind == plan.KindDecimal {
		return arrow.PrimitiveTypes.Int64
	}
	return t.Arrow()
}

// retyped is the same buffers under another type of the same width.
func (e *evaluator) retyped(a arrow.Array, t arrow.DataType) arrow.Array {
	if arrow.TypeEqual(a.DataType(), t) {
		return a
	}
	d := a.Data()
	data := array.NewData(t, d.Len(), d.Buffers(), nil, d.NullN(), d.Offset())
	defer data.Release()
	return e.keep(array.MakeFromData(data))
}

// unscaled is an array as the kernels compute with it: narrow decimals as integers, everything else as it is.
func (e *evaluator) unscaled(a arrow.Array) arrow.Array {
	switch a := a.(type) {
	case *array.Decimal64:
		return e.retyped(a, arrow.PrimitiveTypes.Int64)
	case *array.Decimal32:
		return e.retyped(a, arrow.PrimitiveTypes.Int32)
	case *array.Decimal128:
		ints, _ := loadInts(a)
		return e.integers(ints, a)
	}
	return a
}

// integers makes an array of values that are NULL where like is.
func (e *evaluator) integers(values []int64, like arrow.Array) arrow.Array {
	b := array.NewInt64Builder(e.mem)
	defer b.Release()
	b.AppendValues(values, nil)
	a := b.NewArray()
	defer a.Release()
	valid, nulls := e.validity(like)
	if valid != nil {
		defer valid.Release()
	}
	data := array.NewData(a.DataType(), a.Len(), []*memory.Buffer{valid, a.Data().Buffers()[1]}, nil, nulls, 0)
	defer data.Release()
	return e.keep(array.MakeFromData(data))
}

// constant gives the value of a literal or a parameter.
func (e *evaluator) constant(x *plan.Expr) (v plan.Value, ok bool) {
	switch x.Op {
	case plan.OpConstant:
		return x.Value, true
	case plan.OpParameter:
		return e.arguments[x.Value.Int()-1], true
	}
	return v, false
}

// constants is n times one value, in a type with so many digits behind the point.
func (e *evaluator) constants(v plan.Value, t arrow.DataType, scale int32, n int) (arrow.Array, error) {
	if v.Kind() == plan.Null {
		return e.keep(array.MakeArrayOfNull(e.mem, t, n)), nil
	}
	if t.ID() == arrow.STRING {
		return e.textColumn(t, nil, 0, func(int) string { return v.Text() })
	}
	b := array.NewBuilder(e.mem, t)
	defer b.Release()
	b.Reserve(n)
	i := int64(0)
	switch t.ID() {
	case arrow.FLOAT64, arrow.BOOL:
	default:
		var ok bool
		if i, ok = whole(v, scale); !ok || !fits(i, t) {
			return nil, overflow("%s does not fit %s", v, t)
		}
	}
	for range n {
		switch b := b.(type) {
		case *array.Float64Builder:
			b.Append(double(v))
		case *array.BooleanBuilder:
			b.Append(v.Int() != 0)
		default:
			if err := appendInt(b, i); err != nil {
				return nil, err
			}
		}
	}
	return e.keep(b.NewArray()), nil
}

// scalarOf is one integer as an operand: of type t if it fits there, else 64 bits wide, and the kernels widen the rest.
func (e *evaluator) scalarOf(i int64, t arrow.DataType) (compute.Datum, error) {
	if !fits(i, t) {
		t = arrow.PrimitiveTypes.Int64
	}
	b := array.NewBuilder(e.mem, t)
	defer b.Release()
	if err := appendInt(b, i); err != nil {
		return nil, err
	}
	a := b.NewArray()
	defer a.Release()
	s, err := scalar.GetScalar(a, 0)
	if err != nil {
		return nil, err
	}
	return compute.NewDatum(s), nil
}

// whole is a value as a 64-bit integer with so many digits behind the point.
func whole(v plan.Value, scale int32) (int64, bool) {
	if v.Kind() != plan.Exact {
		return v.Int(), true
	}
	num, has := v.Decimal()
	i := int64(num.LowBits())
	if num.HighBits() != i>>63 {
		return 0, false
	}
	if has == scale {
		return i, true
	}
	return scaleBy(i, scale-has)
}

// double converts to DOUBLE, with one rounding.
func double(v plan.Value) float64 {
	if v.Kind() != plan.Exact {
		return v.Float()
	}
	num, scale := v.Decimal()
	return float64(int64(num.LowBits())) / math.Pow10(int(scale))
}

// fits reports whether an integer is a value of an integer type.
func fits(i int64, t arrow.DataType) bool {
	f, ok := t.(arrow.FixedWidthDataType)
	if !ok || f.BitWidth() >= 64 {
		return true
	}
	bits := f.BitWidth()
	if arrow.IsUnsignedInteger(t.ID()) {
		return i>>bits == 0
	}
	return i>>(bits-1) == i>>63
}

// cast converts between numbers of which every value has its like in the other type.
func (e *evaluator) cast(a arrow.Array, t arrow.DataType) (arrow.Array, error) {
	if arrow.TypeEqual(a.DataType(), t) {
		return a, nil
	}
	out, err := compute.CastArray(e.ctx, a, compute.UnsafeCastOptions(t))
	if err != nil {
		return nil, err
	}
	return e.keep(out), nil
}
