package compute

import (
	"math/big"
	"math/bits"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"

	"github.com/csmsql/csmsql/exec/plan"
)

// exactSum adds 64-bit numbers in 128 bits: no table has the 2^63 rows that it would take to overflow.
type exactSum struct {
	average  bool
	argument plan.Type
	low      []uint64
	high     []int64
	counts   []int64
}

func (s *exactSum) grow(groups int) {
	s.low, s.high, s.counts = extend(s.low, groups), extend(s.high, groups), extend(s.counts, groups)
}

func (s *exactSum) add(v *vector, ids []int32, rows int) error {
	if ids == nil && v.nulls == nil && !v.constant {
		s.addAll(v.ints[:rows])
		return nil
	}
	for i := 0; i < rows; i++ {
		if v.null(i) {
			continue
		}
		x, g := v.ints[v.row(i)], group(ids, i)
		low, carry := bits.Add64(s.low[g], uint64(x), 0)
		s.low[g] = low
		s.high[g] += x>>63 + int64(carry)
		s.counts[g]++
	}
	return nil
}

// addAll is the sum of a whole column.
func (s *exactSum) addAll(values []int64) {
	low, high := s.low[0], s.high[0]
	for _, x := range values {
		var carry uint64
		low, carry = bits.Add64(low, uint64(x), 0)
		high += x>>63 + int64(carry)
	}
	s.low[0], s.high[0] = low, high
	s.counts[0] += int64(len(values))
}

func (s *exactSum) appendTo(b array.Builder, groups int) error {
	for g := 0; g < groups; g++ {
		sum := decimal128.New(s.high[g], s.low[g])
		switch to := b.(type) {
		case *array.Decimal128Builder:
			if s.counts[g] == 0 {
				to.AppendNull()
			} else {
				to.Append(sum)
			}
		case *array.Float64Builder:
			if s.counts[g] == 0 {
				to.AppendNull()
			} else {
				to.Append(mean(sum, s.counts[g], s.argument))
			}
		default:
			return layoutError("no sum fits %s", b.Type())
		}
	}
	return nil
}

// mean divides as DuckDB does: SMALLINT and decimals of up to 4 digits in DOUBLE, everything else in the processor's
// long double
// (64 bits of mantissa on amd64), rounded to DOUBLE in the end.
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

// floatSum adds doubles in the order in which they come. DuckDB adds them in the order in which its threads meet them,
// so the
// last bits are nobody's promise.
type floatSum struct {
	average bool
	sums    []float64
	counts  []int64
}

func (s *floatSum) grow(groups int) {
	s.sums, s.counts = extend(s.sums, groups), extend(s.counts, groups)
}

func (s *floatSum) add(v *vector, ids []int32, rows int) error {
	for i := 0; i < rows; i++ {
		if !v.null(i) {
			g := group(ids, i)
			s.sums[g] += v.floats[v.row(i)]
			s.counts[g]++
		}
	}
	return nil
}

func (s *floatSum) appendTo(b array.Builder, groups int) error {
	to := b.(*array.Float64Builder)
	for g := 0; g < groups; g++ {
		switch {
		case s.counts[g] == 0:
			to.AppendNull()
		case s.average:
			to.Append(s.sums[g] / float64(s.counts[g]))
		default:
			to.Append(s.sums[g])
		}
	}
	return nil
}
