package compute

import (
	"math/big"
	"math/bits"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"

	"github.com/csmsql/csmsql/exec/plan"
)

// exactSum adds 64-bit numbers in 128 bits: no table has the 2^63 rows that it would take to overflow.
type exactSum struct {
	average  bool
	argument plan.Type
	low      uint64
	high     int64
	count    int64
}

func (s *exactSum) add(a arrow.Array, _ int) error {
	values, ok := loadInts(a)
	if !ok {
		return layoutError("no numbers to add in %s", a.DataType())
	}
	low, high := s.low, s.high
	nulls := a.NullN() > 0
	for i, x := range values {
		if nulls && a.IsNull(i) {
			continue
		}
		var carry uint64
		low, carry = bits.Add64(low, uint64(x), 0)
		high += x>>63 + int64(carry)
	}
	s.low, s.high = low, high
	s.count += int64(len(values) - a.NullN())
	return nil
}

func (s *exactSum) merge(from accumulator) {
	f := from.(*exactSum)
	low, carry := bits.Add64(s.low, f.low, 0)
	s.low, s.high = low, s.high+f.high+int64(carry)
	s.count += f.count
}

func (s *exactSum) appendTo(b array.Builder) error {
	sum := decimal128.New(s.high, s.low)
	switch {
	case s.count == 0:
		b.AppendNull()
	case s.average:
		return appendFloat(b, mean(sum, s.count, s.argument))
	default:
		return appendWide(b, sum)
	}
	return nil
}

// mean divides as DuckDB does: SMALLINT and decimals of up to 4 digits in DOUBLE, everything else in the processor's
// long double (64 bits of mantissa on amd64), rounded to DOUBLE in the end.
func mean(sum decimal128.Num, count int64, argument plan.Type) float64 {
	const smallDecimal = 4
	scale := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(argument.Scale)), nil)
	precision := uint(64)
	if argument.Kind == plan.KindTinyInt || argument.Kind == plan.KindSmallInt || argument.Kind == plan.KindDecimal && argument.Precision <= smallDecimal {
		precision = 53
	}
	float := func(i *big.Int) *big.Float { return new(big.Float).SetPrec(precision).SetInt(i) }
	divisor := float(big.NewInt(count))
	divisor.Mul(divisor, float(scale))
	result, _ := new(big.Float).SetPrec(precision).Quo(float(sum.BigInt()), divisor).Float64()
	return result
}

// floatSum adds doubles, each thread's morsels in their order. DuckDB adds them in the order in which its threads meet
// them, so the last bits differ from run to run there.
type floatSum struct {
	average bool
	sum     float64
	count   int64
}

func (s *floatSum) add(a arrow.Array, _ int) error {
	values, ok := loadFloats(a)
	if !ok {
		return layoutError("no numbers to add in %s", a.DataType())
	}
	nulls := a.NullN() > 0
	for i, x := range values {
		if !nulls || a.IsValid(i) {
			s.sum += x
		}
	}
	s.count += int64(len(values) - a.NullN())
	return nil
}

func (s *floatSum) merge(from accumulator) {
	f := from.(*floatSum)
	s.sum += f.sum
	s.count += f.count
}

func (s *floatSum) appendTo(b array.Builder) error {
	switch {
	case s.count == 0:
		b.AppendNull()
	case s.average:
		return appendFloat(b, s.sum/float64(s.count))
	default:
		return appendFloat(b, s.sum)
	}
	return nil
}
