package normal

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math/big"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal256"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// DuckDB writes types that Arrow lacks as bytes marked arrow.opaque, in the layout that they have in DuckDB's memory.
// These are the ones that results show as something else. HUGEINT's bytes are those of a decimal128; the others are
// rewritten.
var opaqueTypes = map[string]arrow.DataType{
	"hugeint":  hugeint,
	"uhugeint": &arrow.Decimal256Type{Precision: 39, Scale: 0},
	"time_tz":  arrow.BinaryTypes.String,
	"bit":      arrow.BinaryTypes.String,
	"bignum":   arrow.BinaryTypes.String,
}

// opaqueName is DuckDB's name of a field's type if it is one of opaqueTypes, else "".
func opaqueName(f arrow.Field) string {
	if name, _ := f.Metadata.GetValue(extensionName); name != "arrow.opaque" {
		return ""
	}
	var parameters struct {
		Type   string `json:"type_name"`
		Vendor string `json:"vendor_name"`
	}
	text, _ := f.Metadata.GetValue(extensionMetadata)
	if json.Unmarshal([]byte(text), &parameters) != nil || parameters.Vendor != "DuckDB" || opaqueTypes[parameters.Type] == nil {
		return ""
	}
	return parameters.Type
}

// opaqueData writes the values of a column of opaque bytes as its type in opaqueTypes. The caller releases the result.
func opaqueData(d arrow.ArrayData, name string) arrow.ArrayData {
	values := array.MakeFromData(d)
	defer values.Release()
	raw := values.(interface{ Value(int) []byte })
	builder := array.NewBuilder(memory.DefaultAllocator, opaqueTypes[name])
	defer builder.Release()
	builder.Reserve(values.Len())
	for i := range values.Len() {
		if values.IsNull(i) {
			builder.AppendNull()
			continue
		}
		switch b := builder.(type) {
		case *array.Decimal256Builder:
			b.Append(decimal256.FromBigInt(unsignedHuge(raw.Value(i))))
		case *array.StringBuilder:
			b.Append(opaqueText(raw.Value(i), name))
		}
	}
	out := builder.NewArray()
	defer out.Release()
	out.Data().Retain()
	return out.Data()
}

func opaqueText(b []byte, name string) string {
	switch name {
	case "time_tz":
		return timeWithZone(binary.LittleEndian.Uint64(b))
	case "bit":
		return bitString(b)
	}
	return bigNumber(b)
}

func unsignedHuge(b []byte) *big.Int {
	b = slices.Clone(b)
	slices.Reverse(b)
	return new(big.Int).SetBytes(b)
}

// timeWithZone: microseconds of the day in the upper 40 bits, and in the lower 24 how far the zone lies below
// +15:59:59.
func timeWithZone(v uint64) string {
	micros, offset := v>>24, 16*3600-1-int64(v&0xFFFFFF)
	seconds := micros / 1_000_000
	out := fmt.Sprintf("%02d:%02d:%02d", seconds/3600, seconds/60%60, seconds%60)
	if fraction := micros % 1_000_000; fraction != 0 {
		out += strings.TrimRight(fmt.Sprintf(".%06d", fraction), "0")
	}
	sign := '+'
	if offset < 0 {
		sign, offset = '-', -offset
	}
	out += fmt.Sprintf("%c%02d", sign, offset/3600)
	if offset%3600 != 0 {
		out += fmt.Sprintf(":%02d", offset/60%60)
	}
	if offset%60 != 0 {
		out += fmt.Sprintf(":%02d", offset%60)
	}
	return out
}

// bitString: a byte with the number of bits to skip, then the bits.
func bitString(b []byte) string {
	if len(b) == 0 {
		return ""
	}
	var out strings.Builder
	for _, v := range b[1:] {
		fmt.Fprintf(&out, "%08b", v)
	}
	return out.String()[min(int(b[0]), out.Len()):]
}

// bigNumber: three bytes with the sign in the highest bit and a length that is not needed, then the number's bytes,
// highest first; of a negative number every bit is turned.
func bigNumber(b []byte) string {
	if len(b) < 3 {
		return "0"
	}
	negative := b[0]&0x80 == 0
	digits := slices.Clone(b[3:])
	if negative {
		for i := range digits {
			digits[i] = ^digits[i]
		}
	}
	n := new(big.Int).SetBytes(digits)
	if negative {
		n.Neg(n)
	}
	return n.String()
}
