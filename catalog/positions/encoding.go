package positions

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/bits"
)

// ErrEncoding marks bytes that are no set of positions of the chunk.
var ErrEncoding = errors.New("not a set of rows")

const formRuns, formBits = 1, 2

// Encode is the written form; nil of an empty set.
func (s *Set) Encode() []byte {
	if s.Count() == 0 {
		return nil
	}
	head := binary.AppendUvarint(nil, uint64(s.count))
	dense := len(head) + 1 + int(s.rows+7)/8
	out, end := append(head[:len(head):len(head)], formRuns), int64(0)
	for from, to := range s.Runs() {
		gap, length := uint64(from-end)*2, uint64(to-from)
		if length > 1 {
			out = binary.AppendUvarint(out, gap+1)
			out = binary.AppendUvarint(out, length-2)
		} else {
			out = binary.AppendUvarint(out, gap)
		}
		if len(out) >= dense {
			return s.encodeBits(head, dense)
		}
		end = to
	}
	return out
}

func (s *Set) encodeBits(head []byte, size int) []byte {
	out := append(make([]byte, 0, size+8), head...)
	out = append(out, formBits)
	for _, w := range s.words {
		out = binary.LittleEndian.AppendUint64(out, w)
	}
	return out[:size]
}

// CountOf is how many positions a written set of a chunk of so many rows says it has; that it has them is Decode's to
// find out.
func CountOf(data []byte, rows int64) (int64, error) {
	if len(data) == 0 {
		return 0, nil
	}
	count, n := binary.Uvarint(data)
	if n <= 0 || count == 0 || rows < 0 || count > uint64(rows) {
		return 0, fmt.Errorf("%w: %d of %d", ErrEncoding, count, rows)
	}
	return int64(count), nil
}

// Decode reads the written form of a set of a chunk of so many rows (PO1); nil of nothing.
func Decode(data []byte, rows int64) (*Set, error) {
	count, err := CountOf(data, rows)
	if err != nil || count == 0 {
		return nil, err
	}
	_, n := binary.Uvarint(data)
	if len(data) == n {
		return nil, fmt.Errorf("%w: it has no form", ErrEncoding)
	}
	form, rest := data[n], data[n+1:]
	if form == formBits && int64(len(rest)) != (rows+7)/8 {
		return nil, fmt.Errorf("%w: %d bytes of bits for %d rows", ErrEncoding, len(rest), rows)
	}
	s := New(rows)
	switch form {
	case formRuns:
		err = s.decodeRuns(rest)
	case formBits:
		err = s.decodeBits(rest)
	default:
		err = fmt.Errorf("%w: form %d", ErrEncoding, form)
	}
	if err == nil && s.count != count {
		err = fmt.Errorf("%w: it has %d positions and says %d", ErrEncoding, s.count, count)
	}
	if err != nil {
		return nil, err
	}
	return s, nil
}

func (s *Set) decodeRuns(data []byte) error {
	next := func() (v uint64, ok bool) {
		v, n := binary.Uvarint(data)
		if n <= 0 || v > math.MaxInt64 {
			return 0, false
		}
		data = data[n:]
		return v, true
	}
	for end := uint64(0); len(data) > 0; {
		gap, ok := next()
		length := uint64(1)
		if ok && gap%2 == 1 {
			length, ok = next()
			length += 2
		}
		if left := uint64(s.rows) - end; !ok || gap/2 > left || length > left-gap/2 {
			return fmt.Errorf("%w: a run behind position %d", ErrEncoding, end)
		}
		from := end + gap/2
		end = from + length
		s.appendRun(int64(from), int64(end))
	}
	return nil
}

func (s *Set) decodeBits(data []byte) error {
	for i, b := range data {
		s.words[i/8] |= uint64(b) << (8 * (i % 8))
		s.count += int64(bits.OnesCount8(b))
	}
	if used := s.rows % wordBits; used != 0 && s.words[len(s.words)-1]>>used != 0 {
		return fmt.Errorf("%w: a position beyond the last row", ErrEncoding)
	}
	return nil
}
