package duckdb

import (
	"encoding/binary"
	"math/big"
	"strings"

	bindings "github.com/duckdb/duckdb-go-bindings"
)

// Decimal is a number as PostgreSQL writes a numeric: digits with a sign and a point, NaN, Infinity. Text would be converted to the type
// that the statement was planned for, and rounded: an integer column would equal 1.5 where it is 2. So a number that this type does not hold
// is bound as a DECIMAL of its own, and DuckDB plans the statement anew for it.
type Decimal string

// digitsMax is how many digits DuckDB's DECIMAL has.
const digitsMax = 38

// Parts are the number without its point, and how many of its digits stand behind it, without zeros at the end. ok is false for what no
// DECIMAL holds.
func (d Decimal) Parts() (unscaled *big.Int, scale int, ok bool) {
	whole, fraction, _ := strings.Cut(string(d), ".")
	fraction = strings.TrimRight(fraction, "0")
	unscaled, ok = new(big.Int).SetString(whole+fraction, 10)
	if !ok || len(fraction) > digitsMax || len(new(big.Int).Abs(unscaled).String()) > digitsMax {
		return nil, 0, false
	}
	return unscaled, len(fraction), true
}

// holding is what numbers the type of a parameter holds: those of so many digits, and so many behind the point. all: whatever it makes of them is
// what the number means there.
type holding struct {
	whole, fraction int
	all             bool
}

// integerDigits are how many digits each integer type holds at least; which of the longer ones it does its conversion says.
var integerDigits = map[bindings.Type]int{
	bindings.TypeTinyInt: 3, bindings.TypeUTinyInt: 3, bindings.TypeSmallInt: 5, bindings.TypeUSmallInt: 5, bindings.TypeInteger: 10, bindings.TypeUInteger: 10,
	bindings.TypeBigInt: 19, bindings.TypeUBigInt: 20, bindings.TypeHugeInt: 39, bindings.TypeUHugeInt: 39,
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
	if digits, ok := integerDigits[id]; ok {
		return holding{whole: digits}
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
	digits := 0
	if ok {
		digits = len(new(big.Int).Abs(unscaled).String())
	}
	if !ok || h.all || scale <= h.fraction && digits-scale <= h.whole {
		return bindings.CreateVarchar(string(d))
	}
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
