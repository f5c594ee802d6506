package compute

import (
	"math"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/decimal128"

	"github.com/csmsql/csmsql/exec/plan"
)

// evaluator computes expressions over some rows of a morsel. Columns are loaded once each.
type evaluator struct {
	arguments []plan.Value
	array     func(column int) (arrow.Array, error) // borrowed for the evaluator's life
	rows      int
	loaded    map[int]vector
}

func (e *evaluator) eval(x *plan.Expr) (vector, error) {
	switch x.Op {
	case plan.OpColumn:
		return e.column(x)
	case plan.OpConstant:
		return constantVector(x.Type, x.Value), nil
	case plan.OpParameter:
		return constantVector(x.Type, e.arguments[x.Value.Int()-1]), nil
	}
	args := make([]vector, len(x.Args))
	for i, arg := range x.Args {
		var err error
		if args[i], err = e.eval(arg); err != nil {
			return vector{}, err
		}
	}
	switch x.Op {
	case plan.OpCompare:
		return e.compare(x.Compare, args[0], args[1]), nil
	case plan.OpAnd, plan.OpOr:
		return e.connect(x.Op, args), nil
	case plan.OpNot:
		return e.not(args[0]), nil
	case plan.OpIsNull, plan.OpIsNotNull:
		return e.nullTest(x.Op, args[0]), nil
	case plan.OpLike:
		return e.like(args[0], x.Value.Text()), nil
	}
	return e.arithmetic(x, args)
}

func (e *evaluator) column(x *plan.Expr) (vector, error) {
	if v, ok := e.loaded[x.Column]; ok {
		return v, nil
	}
	a, err := e.array(x.Column)
	if err != nil {
		return vector{}, err
	}
	v, err := load(a, x.Type)
	if err == nil {
		e.loaded[x.Column] = v
	}
	return v, err
}

// constantVector is one value in the domain of a type.
func constantVector(t plan.Type, c plan.Value) vector {
	v := vector{t: t, constant: true}
	if c.Kind() == plan.Null {
		v.nulls = []bool{true}
	}
	num, scale := c.Decimal()
	switch domainOf(t) {
	case intDomain:
		v.ints = []int64{intPayload(c)}
		if c.Kind() == plan.Exact && t.Kind == plan.KindDecimal && scale != t.Scale {
			scaled, _ := scaleBy(v.ints[0], t.Scale-scale) // arguments have at most the type's digits
			v.ints[0] = scaled
		}
	case floatDomain:
		v.floats = []float64{c.Float()}
		if c.Kind() == plan.Exact {
			v.floats[0] = float64(int64(num.LowBits())) / math.Pow10(int(scale))
		}
	case truthDomain:
		v.truths = []bool{c.Int() != 0}
	case textDomain:
		v.texts = texts{values: constantText(c.Text())}
	case wideDomain:
		v.wides = []decimal128.Num{num}
	}
	return v
}

func intPayload(c plan.Value) int64 {
	if c.Kind() == plan.Exact {
		num, _ := c.Decimal()
		return int64(num.LowBits())
	}
	return c.Int()
}

// width is the number of values of a result: one if all operands are constant.
func (e *evaluator) width(args ...vector) (n int, constant bool) {
	for _, a := range args {
		if !a.constant {
			return e.rows, false
		}
	}
	return 1, true
}

// anyNull merges the NULLs of operands: NULL in, NULL out.
func anyNull(n int, args ...vector) []bool {
	var merged []bool
	for k := range args {
		a := &args[k]
		if a.nulls == nil {
			continue
		}
		if merged == nil {
			merged = make([]bool, n)
		}
		for i := range merged {
			merged[i] = merged[i] || a.null(i)
		}
	}
	return merged
}

func (e *evaluator) nullTest(op plan.ExprOp, arg vector) vector {
	n, constant := e.width(arg)
	out := vector{t: boolean, constant: constant, truths: make([]bool, n)}
	for i := range out.truths {
		out.truths[i] = arg.null(i) == (op == plan.OpIsNull)
	}
	return out
}

var boolean = plan.Type{Kind: plan.KindBoolean}

func (e *evaluator) not(arg vector) vector {
	out := vector{t: boolean, constant: arg.constant, nulls: arg.nulls, truths: make([]bool, len(arg.truths))}
	for i, t := range arg.truths {
		out.truths[i] = !t
	}
	return out
}

// connect is AND or OR in three-valued logic: one deciding operand decides, else one NULL makes NULL.
func (e *evaluator) connect(op plan.ExprOp, args []vector) vector {
	n, constant := e.width(args...)
	decides := op == plan.OpOr // true decides OR, false decides AND
	out := vector{t: boolean, constant: constant, truths: make([]bool, n)}
	nulls := make([]bool, n)
	hasNull := false
	for i := range out.truths {
		truth, null := !decides, false
		for k := range args {
			a := &args[k]
			if a.null(i) {
				null = true
			} else if a.truths[a.row(i)] == decides {
				truth, null = decides, false
				break
			}
		}
		out.truths[i], nulls[i] = truth, null
		hasNull = hasNull || null
	}
	if hasNull {
		out.nulls = nulls
	}
	return out
}
