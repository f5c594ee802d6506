package constantrows

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"github.com/apache/arrow-go/v18/arrow"
)

// errStored marks bytes that Append has not written, or for other columns.
var errStored = errors.New("rows cannot be read")

// Append puts the rows behind data, for Decode. A value is 0 for NULL, or 1 and what it is: a number as a varint, a
// float as eight bytes, a text or bytes behind their length.
func (r *Rows) Append(data []byte) []byte {
	data = binary.AppendUvarint(data, uint64(r.Len()))
	for i := range r.values {
		v, k := &r.values[i], r.kinds[i%len(r.kinds)]
		if v.null {
			data = append(data, 0)
			continue
		}
		data = append(data, 1)
		switch {
		case k.textual():
			data = append(binary.AppendUvarint(data, uint64(len(v.text))), v.text...)
		case k.floating():
			data = binary.LittleEndian.AppendUint64(data, math.Float64bits(v.float))
		default:
			data = binary.AppendVarint(data, v.number)
		}
	}
	return data
}

func (k kind) textual() bool  { return k.id == arrow.STRING || k.id == arrow.BINARY }
func (k kind) floating() bool { return k.id == arrow.FLOAT32 || k.id == arrow.FLOAT64 }

// Decode reads all rows that were appended to data, of a table of these columns.
func Decode(columns *arrow.Schema, data []byte) (list []*Rows, err error) {
	kinds := kindsOf(columns)
	if len(kinds) == 0 {
		return nil, fmt.Errorf("%w: no rows of these columns are kept so", errStored)
	}
	for len(data) > 0 {
		r := &Rows{columns: columns, kinds: kinds}
		if data, err = r.read(data); err != nil {
			return nil, err
		}
		list = append(list, r)
	}
	return list, nil
}

// read reads the rows of one Append, and gives what is behind them.
func (r *Rows) read(data []byte) (rest []byte, err error) {
	n, size := binary.Uvarint(data)
	if size <= 0 || n > uint64(len(data)) { // a value is a byte at least
		return nil, fmt.Errorf("%w: their number", errStored)
	}
	data = data[size:]
	for range n {
		for _, k := range r.kinds {
			var v value
			if data, err = k.read(data, &v); err != nil {
				return nil, err
			}
			r.values, r.bytes = append(r.values, v), r.bytes+int64(len(v.text))
		}
	}
	return data, nil
}

// read reads a value of a column, and gives what is behind it.
func (k kind) read(data []byte, v *value) (rest []byte, err error) {
	if len(data) == 0 || data[0] > 1 {
		return nil, fmt.Errorf("%w: a value is missing", errStored)
	}
	v.null, data = data[0] == 0, data[1:]
	size := 0
	switch {
	case v.null:
	case k.textual():
		n, length := binary.Uvarint(data)
		if length <= 0 || n > uint64(len(data)-length) {
			return nil, fmt.Errorf("%w: a text", errStored)
		}
		size = length + int(n)
		v.text = string(data[length:size])
	case k.floating():
		if size = 8; len(data) < size {
			return nil, fmt.Errorf("%w: a float", errStored)
		}
		v.float = math.Float64frombits(binary.LittleEndian.Uint64(data))
	default:
		if v.number, size = binary.Varint(data); size <= 0 {
			return nil, fmt.Errorf("%w: a number", errStored)
		}
	}
	return data[size:], nil
}
