package plan

import (
	"math"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
)

// Op is the comparison of a [Predicate].
type Op uint8

// The comparisons, with the number of values each takes.
const (
	Equal        Op = iota // 1
	NotEqual               // 1
	Less                   // 1
	LessEqual              // 1
	Greater                // 1
	GreaterEqual           // 1
	Between                // 2: low and high, both inclusive
	In                     // n
	IsNull                 // 0
	IsNotNull              // 0
	Prefix                 // n: begins with one of the values
	Like                   // 1: fits a pattern that begins with % and has no other wildcard
)

var opNames = [...]string{"=", "<>", "<", "<=", ">", ">=", "BETWEEN", "IN", "IS NULL", "IS NOT NULL", "PREFIX", "LIKE"}

func (op Op) String() string { return opNames[op] }

// Predicate is a condition on one column that every row of a scan must satisfy to matter to the statement: a row for
// which it is false or NULL may be left out (P1).
type Predicate struct {
	Column int            // index into Relation.Columns
	Name   string         // that column's name, for people
	Type   arrow.DataType // that column's logical type
	Op     Op
	Values []Value // already in the column's domain; parameters stay symbolic until Bind
}

// String is the predicate in SQL.
func (p Predicate) String() string {
	switch p.Op {
	case IsNull, IsNotNull:
		return p.Name + " " + p.Op.String()
	case Between:
		return p.Name + " BETWEEN " + p.Values[0].String() + " AND " + p.Values[1].String()
	case In:
		return p.Name + " IN (" + joinValues(p.Values) + ")"
	case Prefix:
		parts := make([]string, len(p.Values))
		for i, v := range p.Values {
			parts[i] = p.Name + " LIKE '" + v.text + "%'"
		}
		return strings.Join(parts, " OR ")
	}
	return p.Name + " " + p.Op.String() + " " + p.Values[0].String()
}

func joinValues(values []Value) string {
	parts := make([]string, len(values))
	for i, v := range values {
		parts[i] = v.String()
	}
	return strings.Join(parts, ", ")
}

// Bind replaces $n by args[n-1]. An argument that DuckDB would have to round or reinterpret to the column's type
// becomes Unknown, which never prunes.
func (p Predicate) Bind(args []Value) Predicate {
	bound := p
	bound.Values = make([]Value, len(p.Values))
	for i, v := range p.Values {
		if v.kind == Parameter {
			v = argumentFor(p.Type, v.int, args)
		}
		bound.Values[i] = v
	}
	return bound
}

func argumentFor(t arrow.DataType, n int64, args []Value) Value {
	if n < 1 || n > int64(len(args)) {
		return Value{}
	}
	v, ok := inDomain(t, args[n-1])
	if !ok || !argumentFits(t, v) {
		return Value{}
	}
	return v
}

// argumentFits: DuckDB gives a parameter the type of what it is compared with, so an argument with more digits or a
// finer type would be rounded first.
func argumentFits(t arrow.DataType, v Value) bool {
	switch d := t.(type) {
	case arrow.DecimalType:
		return v.kind == Null || v.kind == Exact && v.scale <= d.GetScale()
	case *arrow.Date32Type:
		return v.kind == Null || v.kind == Date
	}
	if arrow.IsInteger(t.ID()) {
		return v.kind == Null || v.kind == Exact && v.scale == 0
	}
	return true
}

// inDomain turns a constant into the domain in which a column of type t is compared with it, or says that this is not
// certain. Constants that DuckDB rejects are not certain either: then its error must appear, so nothing may be pruned.
func inDomain(t arrow.DataType, v Value) (Value, bool) {
	if v.kind == Null || v.kind == Parameter {
		return v, true
	}
	switch d := t.(type) {
	case *arrow.BooleanType:
		return v, v.kind == Boolean
	case *arrow.Float64Type:
		f, ok := v.asDouble()
		return DoubleValue(f), ok
	case *arrow.Float32Type:
		return smallIntegerAsDouble(v)
	case *arrow.StringType, *arrow.LargeStringType, *arrow.StringViewType:
		return v, v.kind == Text
	case *arrow.Date32Type:
		if v.kind == Text && !v.typed {
			return dateFromText(v.text)
		}
		return v, v.kind == Date || v.kind == Timestamp
	case *arrow.TimestampType:
		if d.Unit != arrow.Microsecond || d.TimeZone != "" {
			return Value{}, false
		}
		if v.kind == Text && !v.typed {
			return timestampFromText(v.text)
		}
		return v, v.kind == Date || v.kind == Timestamp
	case arrow.DecimalType:
		return v, v.kind == Exact && commonDecimalExists(d.GetPrecision(), d.GetScale(), v)
	case *arrow.FixedSizeBinaryType: // what else is stored so has a mark, and no literals that get here
		if v.kind == Text && !v.typed && d.ByteWidth == uuidBytes {
			return uuidFromText(v.text)
		}
		return v, v.kind == UUID
	}
	if arrow.IsInteger(t.ID()) {
		return v, v.kind == Exact && commonDecimalExists(20, 0, v)
	}
	return Value{}, false
}

// smallIntegerAsDouble: FLOAT columns are compared in FLOAT, so only constants that FLOAT holds exactly are certain.
func smallIntegerAsDouble(v Value) (Value, bool) {
	i, ok := v.int64()
	const exactFloatLimit = 1 << 24
	if v.kind != Exact || v.scale != 0 || !ok || i > exactFloatLimit || i < -exactFloatLimit {
		return Value{}, false
	}
	return DoubleValue(float64(i)), true
}

// commonDecimalExists: both sides fit a DECIMAL without losing a digit, so DuckDB compares exactly.
func commonDecimalExists(precision, scale int32, v Value) bool {
	i, ok := v.int64()
	if !ok {
		return false
	}
	digits := int32(len(itoa(int(max(i, -i)))))
	return max(precision-scale, digits-v.scale)+max(scale, v.scale) <= maxDecimalDigits
}

// MayMatch reports whether a row of a chunk with these statistics could satisfy the predicate. False is a proof (P1);
// true is only the absence of one.
func (p Predicate) MayMatch(stats ColumnStats) bool {
	nulls := stats.NullsKnown
	if p.Op == IsNull {
		return !nulls || stats.Nulls > 0
	}
	if nulls && stats.Nulls >= stats.Rows {
		return false // a comparison with NULL is never true
	}
	switch p.Op {
	case IsNotNull, Like:
		return true
	case In:
		for _, v := range p.Values {
			if mayCompare(Equal, v, p.Type, stats) {
				return true
			}
		}
		return false
	case Between:
		return p.mayBeBetween(stats)
	case Prefix:
		return slices.ContainsFunc(p.Values, func(v Value) bool { return mayHavePrefix(v, stats) })
	}
	return mayCompare(p.Op, p.Values[0], p.Type, stats)
}

// mayBeBetween differs from two comparisons in one thing: a NaN is above any number, so a high bound that is a number
// rules NaN out and the low bound may be compared with Max.
func (p Predicate) mayBeBetween(stats ColumnStats) bool {
	low, high := p.Values[0], p.Values[1]
	if isNumberNotNaN(high) {
		stats.NaNFree = true
	}
	return mayCompare(GreaterEqual, low, p.Type, stats) && mayCompare(LessEqual, high, p.Type, stats)
}

func isNumberNotNaN(v Value) bool {
	return v.kind == Exact || v.kind == Double && !math.IsNaN(v.float)
}

// mayCompare: could `column op v` be true?
func mayCompare(op Op, v Value, t arrow.DataType, stats ColumnStats) bool {
	switch v.kind {
	case Null:
		return false
	case Unknown, Parameter:
		return true
	}
	aboveMax := noNaN(t, stats) || v.kind == Double && op == Equal && !math.IsNaN(v.float)
	switch op {
	case Equal:
		return !below(v, stats.Min) && !(aboveMax && above(v, stats.Max))
	case NotEqual:
		return !(noNaN(t, stats) && equals(v, stats.Min) && equals(v, stats.Max))
	case Less:
		return !notAbove(v, stats.Min)
	case LessEqual:
		return !below(v, stats.Min)
	case Greater:
		return !(aboveMax && notBelow(v, stats.Max))
	case GreaterEqual:
		return !(aboveMax && above(v, stats.Max))
	}
	return true
}

// noNaN: every value that is not NULL lies within Min and Max.
func noNaN(t arrow.DataType, stats ColumnStats) bool {
	return stats.NaNFree || t == nil || !arrow.IsFloating(t.ID())
}

// The four comparisons with a bound are false if the bound is unknown or the comparison is not certain.

func below(v, bound Value) bool    { order, ok := v.Compare(bound); return ok && order < 0 }
func above(v, bound Value) bool    { order, ok := v.Compare(bound); return ok && order > 0 }
func notAbove(v, bound Value) bool { order, ok := v.Compare(bound); return ok && order <= 0 }
func notBelow(v, bound Value) bool { order, ok := v.Compare(bound); return ok && order >= 0 }
func equals(v, bound Value) bool   { order, ok := v.Compare(bound); return ok && order == 0 }

// mayHavePrefix: strings with a prefix lie from the prefix itself up to the last string that begins with it.
func mayHavePrefix(prefix Value, stats ColumnStats) bool {
	switch prefix.kind {
	case Null:
		return false
	case Unknown, Parameter:
		return true
	}
	if above(prefix, stats.Max) {
		return false
	}
	return !below(prefix, stats.Min) || stats.Min.kind != Text || strings.HasPrefix(stats.Min.text, prefix.text)
}
