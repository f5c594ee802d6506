package plan

import (
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
)

// TypeKind is a DuckDB type as far as the compute backend must know it.
type TypeKind uint8

// The kinds. KindOther is carried through untouched and takes part in nothing but IS NULL and count.
const (
	KindOther TypeKind = iota
	KindNull           // the type of a bare NULL, before anything gives it one
	KindBoolean
	KindTinyInt
	KindSmallInt
	KindInteger
	KindBigInt
	KindUTinyInt
	KindUSmallInt
	KindUInteger
	KindUBigInt
	KindHugeInt
	KindFloat
	KindDouble
	KindDecimal
	KindVarchar
	KindDate
	KindTimestamp // microseconds, no time zone
)

// Type is a logical type.
type Type struct {
	Kind             TypeKind
	Precision, Scale int32          // of KindDecimal
	Other            arrow.DataType // of KindOther
}

var simpleTypes = map[TypeKind]struct {
	name  string
	arrow arrow.DataType
}{
	KindNull:      {"NULL", arrow.PrimitiveTypes.Int32}, // DuckDB gives a bare NULL the type INTEGER in the end
	KindBoolean:   {"BOOLEAN", arrow.FixedWidthTypes.Boolean},
	KindTinyInt:   {"TINYINT", arrow.PrimitiveTypes.Int8},
	KindSmallInt:  {"SMALLINT", arrow.PrimitiveTypes.Int16},
	KindInteger:   {"INTEGER", arrow.PrimitiveTypes.Int32},
	KindBigInt:    {"BIGINT", arrow.PrimitiveTypes.Int64},
	KindUTinyInt:  {"UTINYINT", arrow.PrimitiveTypes.Uint8},
	KindUSmallInt: {"USMALLINT", arrow.PrimitiveTypes.Uint16},
	KindUInteger:  {"UINTEGER", arrow.PrimitiveTypes.Uint32},
	KindUBigInt:   {"UBIGINT", arrow.PrimitiveTypes.Uint64},
	KindHugeInt:   {"HUGEINT", &arrow.Decimal128Type{Precision: 38}},
	KindFloat:     {"FLOAT", arrow.PrimitiveTypes.Float32},
	KindDouble:    {"DOUBLE", arrow.PrimitiveTypes.Float64},
	KindVarchar:   {"VARCHAR", arrow.BinaryTypes.String},
	KindDate:      {"DATE", arrow.FixedWidthTypes.Date32},
	KindTimestamp: {"TIMESTAMP", &arrow.TimestampType{Unit: arrow.Microsecond}},
}

// TypeOf is the DuckDB type of a logical Arrow type.
func TypeOf(t arrow.DataType) Type {
	switch d := t.(type) {
	case arrow.DecimalType:
		if d.GetPrecision() <= maxDecimalDigits && d.GetScale() >= 0 && d.GetScale() <= d.GetPrecision() {
			return decimalType(d.GetPrecision(), d.GetScale())
		}
	case *arrow.LargeStringType, *arrow.StringViewType:
		return Type{Kind: KindVarchar}
	}
	for kind, s := range simpleTypes {
		if kind != KindNull && kind != KindHugeInt && arrow.TypeEqual(t, s.arrow) {
			return Type{Kind: kind}
		}
	}
	return Type{Kind: KindOther, Other: t}
}

func decimalType(precision, scale int32) Type {
	return Type{Kind: KindDecimal, Precision: precision, Scale: scale}
}

// Arrow is the logical Arrow type under which DuckDB exports the type.
func (t Type) Arrow() arrow.DataType {
	switch t.Kind {
	case KindOther:
		return t.Other
	case KindDecimal:
		return &arrow.Decimal128Type{Precision: t.Precision, Scale: t.Scale}
	}
	return simpleTypes[t.Kind].arrow
}

// nested reports whether values have parts, whose bytes are copied with those of a row that a filter leaves.
func (t Type) nested() bool {
	_, nested := t.Other.(arrow.NestedType)
	return t.Kind == KindOther && nested
}

// String is the SQL name.
func (t Type) String() string {
	switch t.Kind {
	case KindOther:
		if t.Other == nil {
			return "unknown" // of a plan that failed half-way
		}
		return t.Other.String()
	case KindDecimal:
		return fmt.Sprintf("DECIMAL(%d,%d)", t.Precision, t.Scale)
	}
	return simpleTypes[t.Kind].name
}

// narrowDecimal is the widest DECIMAL that DuckDB keeps in 64 bits; arithmetic on wider ones is not done here.
const narrowDecimal = 18

// exactInDouble is the widest DECIMAL whose conversion to DOUBLE is one division of exact operands.
const exactInDouble = 15

// signed ranks the signed integers by width, 0 for everything else.
func (t Type) signed() int {
	if t.Kind >= KindTinyInt && t.Kind <= KindBigInt {
		return int(t.Kind-KindTinyInt) + 1
	}
	return 0
}

// Exact64 reports whether values of the type are 64-bit numbers with a scale: integers below UBIGINT, narrow decimals.
func (t Type) Exact64() bool {
	return t.Kind >= KindTinyInt && t.Kind <= KindUInteger || t.Kind == KindDecimal && t.Precision <= narrowDecimal
}

// digits is the DECIMAL(n,0) that an integer type becomes beside a decimal.
func (t Type) digits() int32 {
	return [...]int32{3, 5, 10, 19}[t.signed()-1]
}

func (t Type) asDecimal() Type {
	if t.signed() > 0 {
		return decimalType(t.digits(), 0)
	}
	return t
}

// doubleExactly: the conversion to DOUBLE is one rounding that every implementation shares.
func (t Type) doubleExactly() bool {
	return t.Kind == KindDouble || t.signed() > 0 || t.Kind == KindDecimal && t.Precision <= exactInDouble
}

// arithmetic gives the operands' common type and the result type of + - * in DuckDB, or why there is none here.
func arithmetic(op ExprOp, left, right Type) (result Type, reason string) {
	switch {
	case left.signed() > 0 && right.signed() > 0:
		if left.signed() < right.signed() {
			return right, ""
		}
		return left, ""
	case left.Kind == KindDouble && right.doubleExactly() || right.Kind == KindDouble && left.doubleExactly():
		return Type{Kind: KindDouble}, ""
	}
	l, r := left.asDecimal(), right.asDecimal()
	if l.Kind != KindDecimal || r.Kind != KindDecimal {
		return Type{}, fmt.Sprintf("arithmetic on %s and %s", left, right)
	}
	if l.Precision > narrowDecimal || r.Precision > narrowDecimal {
		return Type{}, fmt.Sprintf("arithmetic on decimals wider than %d digits", narrowDecimal)
	}
	if op == OpMultiply {
		return decimalProduct(l, r)
	}
	scale := max(l.Scale, r.Scale)
	return decimalType(min(max(l.Precision-l.Scale, r.Precision-r.Scale)+scale+1, narrowDecimal), scale), ""
}

// decimalProduct: DuckDB stays in 64 bits (and may overflow) if the scale leaves room there.
func decimalProduct(l, r Type) (Type, string) {
	precision, scale := l.Precision+r.Precision, l.Scale+r.Scale
	if precision > narrowDecimal && scale >= narrowDecimal {
		return Type{}, fmt.Sprintf("a product with %d digits after the point", scale)
	}
	return decimalType(min(precision, narrowDecimal), scale), ""
}
