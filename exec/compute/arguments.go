package compute

import (
	"math"
	"strconv"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/decimal"

	"github.com/csmsql/csmsql/exec/plan"
)

func decimal64(x int64) decimal.Decimal64 { return decimal.Decimal64(x) }
func decimal32(x int64) decimal.Decimal32 { return decimal.Decimal32(x) }

// bindArguments turns Go values into values of the types that the plan's parameters have. A parameter that stands
// in several places must suit all of them.
func bindArguments(q *plan.Query, args []any) ([]plan.Value, error) {
	if len(args) < q.Parameters {
		return nil, argumentError(q.Parameters, "the statement has %d parameters, %d values came with it", q.Parameters, len(args))
	}
	values := make([]plan.Value, q.Parameters)
	var err error
	eachParameter(q, func(x *plan.Expr) {
		n := int(x.Value.Int())
		v, reason := argument(x.Type, args[n-1])
		switch {
		case err != nil:
		case reason != "":
			wrong := argumentError(n, "%v (%T) %s %s", args[n-1], args[n-1], reason, x.Type)
			if reason == notWithin {
				wrong.Code = "22003"
			}
			err = wrong
		case values[n-1].Kind() != plan.Unknown && values[n-1] != v:
			err = argumentError(n, "%v (%T) would be two different values of the types it is used as", args[n-1], args[n-1])
		}
		values[n-1] = v
	})
	return values, err
}

// notWithin is the reason of numbers that a type has not.
const notWithin = "does not fit"

func eachParameter(q *plan.Query, visit func(*plan.Expr)) {
	var walk func(*plan.Expr)
	walk = func(x *plan.Expr) {
		if x == nil {
			return
		}
		if x.Op == plan.OpParameter {
			visit(x)
		}
		for _, arg := range x.Args {
			walk(arg)
		}
	}
	walk(q.Filter)
	walk(q.Limit)
	walk(q.Offset)
	for _, o := range q.Outputs {
		walk(o.Expr)
	}
	for _, a := range q.Aggregates {
		walk(a.Argument)
	}
}

// argument converts where the meaning is beyond doubt; reason says why not otherwise.
func argument(t plan.Type, arg any) (v plan.Value, reason string) {
	if arg == nil {
		return plan.NullValue(), ""
	}
	v, ok := plan.Value{}, false
	switch {
	case t.Kind == plan.KindVarchar:
		s, isString := arg.(string)
		v, ok = plan.TextValue(s), isString
	case t.Kind == plan.KindBoolean:
		b, isBool := arg.(bool)
		v, ok = plan.BoolValue(b), isBool
	case t.Kind == plan.KindDouble:
		v, ok = doubleArgument(arg)
	case t.Kind == plan.KindDate, t.Kind == plan.KindTimestamp:
		v, ok = instantArgument(t.Kind, arg)
	case t.Exact64():
		return integerArgument(t, arg)
	}
	if !ok {
		return v, "is not surely a"
	}
	return v, ""
}

func integerArgument(t plan.Type, arg any) (plan.Value, string) {
	i, ok := asInt(arg)
	if !ok {
		return plan.Value{}, "is not surely a"
	}
	limit := digits(max(t.Precision-t.Scale, 0))
	bounds, bounded := ranges[t.Kind]
	if t.Kind == plan.KindDecimal && (i < -limit || i > limit) || bounded && (i < bounds.least || i > bounds.most) {
		return plan.Value{}, notWithin
	}
	return plan.IntValue(i), ""
}

// ranges are those of integers narrower than BIGINT: a cast of a parameter to one of them may fail.
var ranges = map[plan.TypeKind]struct{ least, most int64 }{
	plan.KindTinyInt: {math.MinInt8, math.MaxInt8}, plan.KindUTinyInt: {0, math.MaxUint8},
	plan.KindSmallInt: {math.MinInt16, math.MaxInt16}, plan.KindUSmallInt: {0, math.MaxUint16},
	plan.KindInteger: {math.MinInt32, math.MaxInt32}, plan.KindUInteger: {0, math.MaxUint32},
}

func asInt(arg any) (int64, bool) {
	switch x := arg.(type) {
	case int:
		return int64(x), true
	case int64:
		return x, true
	case int32:
		return int64(x), true
	case int16:
		return int64(x), true
	case int8:
		return int64(x), true
	case uint8:
		return int64(x), true
	case uint16:
		return int64(x), true
	case uint32:
		return int64(x), true
	case string:
		i, err := strconv.ParseInt(x, 10, 64)
		return i, err == nil && strconv.FormatInt(i, 10) == x
	}
	return 0, false
}

func doubleArgument(arg any) (plan.Value, bool) {
	switch x := arg.(type) {
	case float64:
		return plan.DoubleValue(x), true
	case float32:
		return plan.DoubleValue(float64(x)), true
	}
	i, ok := asInt(arg)
	const exactInDouble = 1 << 53
	return plan.DoubleValue(float64(i)), ok && i <= exactInDouble && i >= -exactInDouble
}

func instantArgument(kind plan.TypeKind, arg any) (plan.Value, bool) {
	switch x := arg.(type) {
	case arrow.Date32:
		if kind == plan.KindDate {
			return plan.DateValue(int32(x)), true
		}
	case arrow.Timestamp:
		if kind == plan.KindTimestamp {
			return plan.TimestampValue(int64(x)), true
		}
	case time.Time:
		return timeArgument(kind, x)
	case string:
		if kind == plan.KindDate {
			return plan.ParseDate(x)
		}
		return plan.ParseTimestamp(x)
	}
	return plan.Value{}, false
}

// timeArgument takes the wall clock that the time shows, for neither type knows zones.
func timeArgument(kind plan.TypeKind, t time.Time) (plan.Value, bool) {
	wall := time.Date(t.Year(), t.Month(), t.Day(), t.Hour(), t.Minute(), t.Second(), t.Nanosecond(), time.UTC)
	if kind == plan.KindTimestamp {
		return plan.TimestampValue(wall.UnixMicro()), wall.Nanosecond()%1000 == 0
	}
	days := wall.Unix() / (24 * 60 * 60)
	return plan.DateValue(int32(days)), wall.Unix()%(24*60*60) == 0 && wall.Nanosecond() == 0 && days >= math.MinInt32 && days <= math.MaxInt32
}
