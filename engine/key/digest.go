package key

import (
	"encoding/binary"
	"encoding/hex"
	"math"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/zeebo/xxh3"

	"github.com/csmsql/csmsql/internal/enumeration"
	"github.com/csmsql/csmsql/sql/sqlerror"
)

// digest is 128 bits of hash over a row's key.
type digest [2]uint64

// valueWriter appends a row's value, so that equal values are equal bytes whatever layout they have, and no value is
// the beginning of another one. The value is not NULL.
type valueWriter func(to []byte, row int) []byte

// digester gives the digests of the rows of columns.
type digester struct {
	columns []arrow.Array
	write   []valueWriter
	nulls   bool // NULL is a value
	buffer  []byte
}

func newDigester(columns []arrow.Array, nulls bool) (*digester, error) {
	d := &digester{columns: columns, nulls: nulls}
	for _, c := range columns {
		w, err := writerOf(c)
		if err != nil {
			return nil, err
		}
		d.write = append(d.write, w)
	}
	return d, nil
}

// of is a row's digest; false: its key is absent.
func (d *digester) of(row int) (digest, bool) {
	d.buffer = d.buffer[:0]
	for i, c := range d.columns {
		if c.IsNull(row) {
			if !d.nulls {
				return digest{}, false
			}
			d.buffer = append(d.buffer, 0)
			continue
		}
		d.buffer = d.write[i](append(d.buffer, 1), row)
	}
	sum := xxh3.Hash128(d.buffer)
	return digest{sum.Hi, sum.Lo}, true
}

// text shows a row's key, of these columns of a table.
func (d *digester) text(table *arrow.Schema, columns []int, row int) string {
	text := ""
	for i, c := range d.columns {
		if t, ok := table.Field(columns[i]).Type.(*enumeration.Type); ok {
			c = array.NewExtensionArrayWithStorage(t, c)
			defer c.Release()
		}
		if i > 0 {
			text += ", "
		}
		if c.IsNull(row) {
			text += "null"
			continue
		}
		text += shown(c, row)
	}
	return text
}

// shown is a value as PostgreSQL shows it.
func shown(c arrow.Array, row int) string {
	switch c := c.(type) {
	case *array.Boolean:
		return c.ValueStr(row)[:1]
	case *array.Decimal64:
		return c.Value(row).ToString(c.DataType().(arrow.DecimalType).GetScale())
	case *array.Decimal128:
		return c.Value(row).ToString(c.DataType().(arrow.DecimalType).GetScale())
	case *array.Timestamp:
		t := c.DataType().(*arrow.TimestampType)
		at, layout := c.Value(row).ToTime(t.Unit), "2006-01-02 15:04:05.999999"
		if t.TimeZone != "" {
			layout += "-07"
		}
		return at.Format(layout)
	case *array.Dictionary:
		return shown(c.Dictionary(), c.GetValueIndex(row))
	case *array.FixedSizeBinary: // a uuid
		digits := hex.EncodeToString(c.Value(row))
		for _, at := range []int{20, 16, 12, 8} {
			if at < len(digits) {
				digits = digits[:at] + "-" + digits[at:]
			}
		}
		return digits
	case interface{ Value(row int) []byte }:
		return `\x` + hex.EncodeToString(c.Value(row))
	}
	return c.ValueStr(row)
}

func writerOf(a arrow.Array) (valueWriter, error) {
	if i := integersOf(a); i != nil {
		return i.write, nil
	}
	switch a := a.(type) {
	case *array.Boolean:
		return func(to []byte, row int) []byte {
			if a.Value(row) {
				return append(to, 1)
			}
			return append(to, 0)
		}, nil
	case *array.Float32:
		return func(to []byte, row int) []byte { return float(to, float64(a.Value(row))) }, nil
	case *array.Float64:
		return func(to []byte, row int) []byte { return float(to, a.Value(row)) }, nil
	case *array.Decimal32:
		return func(to []byte, row int) []byte { return wide(to, decimal128.FromI64(int64(a.Value(row)))) }, nil
	case *array.Decimal64:
		return func(to []byte, row int) []byte { return wide(to, decimal128.FromI64(int64(a.Value(row)))) }, nil
	case *array.Decimal128:
		return func(to []byte, row int) []byte { return wide(to, a.Value(row)) }, nil
	case *array.FixedSizeBinary:
		return func(to []byte, row int) []byte { return text(to, a.Value(row)) }, nil
	case *array.String:
		return func(to []byte, row int) []byte { return text(to, a.Value(row)) }, nil
	case *array.LargeString:
		return func(to []byte, row int) []byte { return text(to, a.Value(row)) }, nil
	case *array.StringView:
		return func(to []byte, row int) []byte { return text(to, a.Value(row)) }, nil
	case *array.Binary:
		return func(to []byte, row int) []byte { return text(to, a.Value(row)) }, nil
	case *array.LargeBinary:
		return func(to []byte, row int) []byte { return text(to, a.Value(row)) }, nil
	case *array.BinaryView:
		return func(to []byte, row int) []byte { return text(to, a.Value(row)) }, nil
	case *array.Dictionary:
		word, err := writerOf(a.Dictionary())
		if err != nil {
			return nil, err
		}
		return func(to []byte, row int) []byte { return word(to, a.GetValueIndex(row)) }, nil
	}
	return nil, sqlerror.New("0A000", "keys of type %s are not supported", a.DataType())
}

// float has one zero and one NaN, as SQL compares them.
func float(to []byte, v float64) []byte {
	switch {
	case v == 0:
		v = 0 // -0
	case math.IsNaN(v):
		v = math.NaN()
	}
	return binary.LittleEndian.AppendUint64(to, math.Float64bits(v))
}

func wide(to []byte, v decimal128.Num) []byte {
	return binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(to, v.LowBits()), uint64(v.HighBits()))
}

func text[T ~string | ~[]byte](to []byte, v T) []byte {
	return append(binary.AppendUvarint(to, uint64(len(v))), v...)
}
