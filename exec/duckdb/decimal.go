package duckdb

import (
	"encoding/binary"
	"math/big"
	"strings"

	bindings "github.com/duckdb/duckdb-go-bindings"
)

// Decimal is a number as PostgreSQL writes a numeric: digits with a sign and a point, NaN, Infinity. Text would be
// converted to the type that the statement was planned for, and rounded: an integer column would equal 1.5 where it
// is 2. So a number that this type does not hold is bound as a DECIMAL of its own, for which DuckDB replans the
// statement.
type Decimal string

// digitsMax is how many digits DuckDB's DECIMAL has.
const digitsMax = 38

// Parts are the number without its point, and how many of its digits stand behind it, without zeros at the end. ok
// is false for what no DECIMAL holds.
func (d Decimal) Parts() (unscaled *big.Int, scale int, ok bool) {
	whole, fraction, _ := strings.Cut(string(d), ".")
	fraction = strings.TrimRight(fraction, "0")
	unscaled, ok = new(big.Int).SetString(whole+fraction, 10)
	if !ok || len(fraction) > digitsMax || len(new(big.Int).Abs(unscaled).String()) > digitsMax {
		return nil, 0, false
	}
	return unscaled, len(fraction), true
}

// holding is what numbers the type of a parameter holds: whole ones of so many bits, or those of so many digits,
// and so many behind the point. all: whatever it makes of them is what the number means there.
type holding struct {
	bits            int // 0: digits count
	unsigned        bool
	whole, fraction int
	all             bool
}

// integers are the types of whole numbers. All that Decimal distinguishes fit into the longest ones.
var integers = map[bindings.Type]holding{
	bindings.TypeTinyInt: {bits: 7}, bindings.TypeSmallInt: {bits: 15}, bindings.TypeInteger: {bits: 31},
	bindings.TypeBigInt: {bits: 63}, bindings.TypeHugeInt: {bits: 127},
	bindings.TypeUTinyInt: {bits: 8, unsigned: true}, bindings.TypeUSmallInt: {bits: 16, unsigned: true},
	bindings.TypeUInteger: {bits: 32, unsigned: true}, bindings.TypeUBigInt: {bits: 64, unsigned: true},
	bindings.TypeUHugeInt: {bits: 128, unsigned: true},
}

// has reports whether the type holds the number that Parts gave.
func (h holding) has(unscaled *big.Int, scale int) bool {
	if h.bits == 0 {
		return scale <= h.fraction && len(new(big.Int).Abs(unscaled).String())-scale <= h.whole
	}
	if unscaled.Sign() < 0 {
		unscaled = new(big.Int).Not(unscaled) // -128 has as many bits as 127
		return scale == 0 && !h.unsigned && unscaled.BitLen() <= h.bits
	}
	return scale == 0 && unscaled.BitLen() <= h.bits
}

func holdings(handle bindings.PreparedStatement) []holding {
	out := make([]holding, int(bindings.NParams(handle)))
	for i := range out {
		out[i] = holdingOf(handle, bindings.IdxT(i+1))
	}
	return out
}

func holdingOf(handle bindings.PreparedStatement, index bindings.IdxT) holding {
	id := bindings.ParamType(handle, index)
	if h, ok := integers[id]; ok {
		return h
	}
	if id != bindings.TypeDecimal {
		return holding{all: true}
	}
	t := bindings.ParamLogicalType(handle, index)
	defer bindings.DestroyLogicalType(&t)
	scale := int(bindings.DecimalScale(t))
	return holding{whole: int(bindings.DecimalWidth(t)) - scale, fraction: scale}
}

// decimalValue is the number for a parameter.
func (h holding) decimalValue(d Decimal) bindings.Value {
	unscaled, scale, ok := d.Parts()
	if !ok || h.all || h.has(unscaled, scale) {
		return bindings.CreateVarchar(string(d))
	}
	digits := len(new(big.Int).Abs(unscaled).String())
	upper, lower := halves(unscaled)
	return bindings.CreateDecimal(bindings.NewDecimal(uint8(max(digits, scale)), uint8(scale), bindings.NewHugeInt(lower, int64(upper))))
}

// wide is a value of the 128-bit type that holds the number, or its digits if none does.
func wide(v *big.Int) bindings.Value {
	upper, lower := halves(v)
	switch {
	case v.BitLen() <= 127:
		return bindings.CreateHugeInt(bindings.NewHugeInt(lower, int64(upper)))
	case v.BitLen() == 128 && v.Sign() > 0:
		return bindings.CreateUHugeInt(bindings.NewUHugeInt(lower, upper))
	}
	return bindings.CreateVarchar(v.String())
}

// halves are the 128 lowest bits of a number's two's complement.
func halves(v *big.Int) (upper, lower uint64) {
	var bytes [16]byte
	modulus := new(big.Int).Lsh(big.NewInt(1), 128)
	new(big.Int).Mod(v, modulus).FillBytes(bytes[:])
	return binary.BigEndian.Uint64(bytes[:8]), binary.BigEndian.Uint64(bytes[8:])
}
