package record

import "github.com/csmsql/csmsql/catalog/internal/message"

// Count is how far a counter has come.
type Count struct {
	// Last number that was given out, or, unless it is Given, the one that comes first.
	Last  int64
	Given bool
	// Set counts how often it was set, and not only given out from.
	Set uint64
}

const (
	countLast  = 1
	countGiven = 2
	countSet   = 3
)

// Encode writes the record.
func (c *Count) Encode() []byte {
	w := message.Writer{}
	w.Int(countLast, c.Last)
	if c.Given {
		w.Uint(countGiven, 1)
	}
	w.OptionalUint(countSet, c.Set)
	return w.Buf
}

// DecodeCount is the inverse of Encode.
func DecodeCount(data []byte) (*Count, error) {
	c := &Count{}
	r := message.NewReader(data)
	for r.Next() {
		switch r.Field() {
		case countLast:
			c.Last = r.Int()
		case countGiven:
			c.Given = r.Uint() != 0
		case countSet:
			c.Set = r.Uint()
		default:
			r.Skip()
		}
	}
	return c, r.Err()
}
