package normal

import (
	"encoding/binary"
	"fmt"
	"math/big"
	"strconv"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// Raw is an array as a field marked so has it: raw, whether it is raw or normal (NO3). What is made for it is in mem.
// The caller releases it; a stays the caller's.
func Raw(mem memory.Allocator, a arrow.Array, f arrow.Field) (arrow.Array, error) {
	data, err := rawData(mem, a.Data(), f)
	if err != nil {
		return nil, err
	}
	defer data.Release()
	return array.MakeFromData(data), nil
}

// HasOpaque reports whether results show a column of the schema as another type than it is stored as.
func HasOpaque(schema *arrow.Schema) bool {
	for _, f := range schema.Fields() {
		if IsOpaque(f) {
			return true
		}
	}
	return false
}

// IsOpaque reports it of a column, or of something in it.
func IsOpaque(f arrow.Field) bool {
	if opaqueName(f) != "" {
		return true
	}
	for _, child := range childFields(f.Type) {
		if IsOpaque(child) {
			return true
		}
	}
	return false
}

// TypeName is DuckDB's name of a field's type if Arrow lacks it, else Arrow's.
func TypeName(f arrow.Field) string {
	if name := opaqueName(f); name != "" {
		return name
	}
	return f.Type.String()
}

// rawData returns d as an array of the field's type, if it is its normal one. The caller releases the result.
func rawData(mem memory.Allocator, d arrow.ArrayData, f arrow.Field) (arrow.ArrayData, error) {
	if arrow.TypeEqual(d.DataType(), f.Type) || !IsOpaque(f) {
		d.Retain()
		return d, nil
	}
	if name := opaqueName(f); name != "" {
		return rawValues(mem, d, f.Type, name)
	}
	fields := childFields(f.Type)
	if len(fields) != len(d.Children()) || f.Type.ID() != d.DataType().ID() {
		return nil, fmt.Errorf("%s is not %s", d.DataType(), f.Type)
	}
	children := make([]arrow.ArrayData, len(fields))
	for i, c := range d.Children() {
		raw, err := rawData(mem, c, fields[i])
		if err != nil {
			return nil, err
		}
		children[i] = raw
		defer raw.Release()
	}
	return array.NewData(f.Type, d.Len(), d.Buffers(), children, d.NullN(), d.Offset()), nil
}

// rawValues is opaqueData backwards.
func rawValues(mem memory.Allocator, d arrow.ArrayData, want arrow.DataType, name string) (arrow.ArrayData, error) {
	if !arrow.TypeEqual(d.DataType(), opaqueTypes[name]) {
		return nil, fmt.Errorf("%s is not a %s", d.DataType(), name)
	}
	if name == "hugeint" { // the same bytes
		return array.NewData(want, d.Len(), d.Buffers(), nil, d.NullN(), d.Offset()), nil
	}
	values := array.MakeFromData(d)
	defer values.Release()
	builder := array.NewBuilder(mem, want)
	defer builder.Release()
	builder.Reserve(values.Len())
	for i := range values.Len() {
		if values.IsNull(i) {
			builder.AppendNull()
			continue
		}
		b, err := rawValue(values, i, name)
		if err != nil {
			return nil, err
		}
		builder.(interface{ Append([]byte) }).Append(b)
	}
	out := builder.NewArray()
	defer out.Release()
	out.Data().Retain()
	return out.Data(), nil
}

func rawValue(values arrow.Array, i int, name string) (b []byte, err error) {
	if wide, ok := values.(*array.Decimal256); ok {
		n := wide.Value(i).BigInt()
		if n.Sign() < 0 || n.BitLen() > 128 {
			return nil, fmt.Errorf("%v is no uhugeint", n)
		}
		high, low := new(big.Int).Rsh(n, 64), new(big.Int).And(n, new(big.Int).SetUint64(1<<64-1))
		return binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(nil, low.Uint64()), high.Uint64()), nil
	}
	text, ok := values.(*array.String).Value(i), false
	switch name {
	case "time_tz":
		b, ok = rawTime(text)
	case "bit":
		b, ok = rawBits(text)
	case "bignum":
		b, ok = rawNumber(text)
	}
	if !ok {
		return nil, fmt.Errorf("%q is no %s", text, name)
	}
	return b, nil
}

// rawTime reads what timeWithZone writes.
func rawTime(text string) ([]byte, bool) {
	sign := strings.LastIndexAny(text, "+-")
	if sign < 0 {
		return nil, false
	}
	clock, fraction, _ := strings.Cut(text[:sign], ".")
	seconds, ok := secondsOf(clock)
	zone, also := secondsOf(text[sign+1:])
	micros, err := strconv.ParseUint((fraction + "000000")[:max(6, len(fraction))], 10, 20)
	if text[sign] == '-' {
		zone = -zone
	}
	const furthest = 16*3600 - 1
	if !ok || !also || err != nil || len(fraction) > 6 || seconds > 24*3600 || zone > furthest || zone < -furthest {
		return nil, false
	}
	return binary.LittleEndian.AppendUint64(nil, (uint64(seconds)*1_000_000+micros)<<24|uint64(furthest-zone)), true
}

// secondsOf reads hours, minutes and seconds, of which the last may be missing.
func secondsOf(text string) (seconds int64, ok bool) {
	unit := int64(3600)
	for part := range strings.SplitSeq(text, ":") {
		n, err := strconv.ParseUint(part, 10, 8)
		if err != nil || unit == 0 {
			return 0, false
		}
		seconds += int64(n) * unit
		unit /= 60
	}
	return seconds, true
}

// rawBits reads what bitString writes. The bits that are skipped are ones: DuckDB compares the bytes.
func rawBits(text string) ([]byte, bool) {
	if text == "" {
		return nil, false
	}
	padding := (8 - len(text)%8) % 8
	b := make([]byte, 1+(len(text)+7)/8)
	b[0] = byte(padding)
	for i, c := range strings.Repeat("1", padding) + text {
		if c != '0' && c != '1' {
			return nil, false
		}
		b[1+i/8] |= byte(c-'0') << (7 - i%8)
	}
	return b, true
}

// rawNumber reads what bigNumber writes.
func rawNumber(text string) ([]byte, bool) {
	n, ok := new(big.Int).SetString(text, 10)
	if !ok {
		return nil, false
	}
	digits := new(big.Int).Abs(n).Bytes()
	if len(digits) == 0 {
		digits = []byte{0}
	}
	const positive = 1 << 23
	if len(digits) >= positive {
		return nil, false
	}
	b := append(binary.BigEndian.AppendUint32(nil, uint32(positive|len(digits)))[1:], digits...)
	if n.Sign() < 0 {
		for i := range b {
			b[i] = ^b[i]
		}
	}
	return b, true
}

// Table is the schema of a table of columns so marked: BOOLEAN is Boolean, and the other types are raw; hugeint decides
// whether HUGEINT is one of them, or is decimals as in results. raw nil: nil.
func Table(raw *arrow.Schema, hugeint bool) *arrow.Schema {
	if raw == nil {
		return nil
	}
	fields := raw.Fields()
	for i, f := range fields {
		fields[i] = withRaw(f, normalField(f), hugeint)
	}
	return arrow.NewSchema(fields, nil)
}

// withRaw is the normal field with what is raw in a table.
func withRaw(raw, normal arrow.Field, hugeint bool) arrow.Field {
	if name := opaqueName(raw); name != "" {
		if name == "hugeint" && !hugeint {
			return normal
		}
		return raw
	}
	fields := childFields(normal.Type)
	children := make([]arrow.Field, len(fields))
	for i, f := range childFields(raw.Type) {
		children[i] = withRaw(f, fields[i], hugeint)
	}
	switch t := normal.Type.(type) {
	case *arrow.ListType:
		normal.Type = arrow.ListOfField(children[0])
	case *arrow.FixedSizeListType:
		normal.Type = arrow.FixedSizeListOfField(t.Len(), children[0])
	case *arrow.MapType:
		pair := childFields(children[0].Type)
		normal.Type = arrow.MapOfFields(pair[0], pair[1])
	case *arrow.StructType:
		normal.Type = arrow.StructOf(children...)
	case *arrow.SparseUnionType:
		normal.Type = arrow.SparseUnionOf(children, t.TypeCodes())
	}
	return normal
}

// CheckValues finds a value of a raw array, or in it, that DuckDB would trust and must not: it reads past the end of a
// bit string that says of itself that it skips more bits than it has.
func CheckValues(d arrow.ArrayData, f arrow.Field) error {
	name := opaqueName(f)
	if shortest := map[string]int{"bit": 2, "bignum": 4}[name]; shortest > 0 {
		a := array.MakeFromData(d)
		defer a.Release()
		values, ok := a.(interface{ Value(int) []byte })
		for i := range a.Len() {
			if a.IsValid(i) && (!ok || len(values.Value(i)) < shortest || name == "bit" && values.Value(i)[0] > 7) {
				return fmt.Errorf("row %d is no %s", i, name)
			}
		}
		return nil
	}
	for i, child := range childFields(f.Type) {
		if err := CheckValues(d.Children()[i], child); err != nil {
			return err
		}
	}
	return nil
}
