package record

import (
	"fmt"

	"github.com/csmsql/csmsql/catalog/internal/message"
)

// Field numbers of Note in catalog.proto.
const noteFieldFormat, noteBoot, noteRows = 1, 30, 31

// noteFormat is none that a table's record has: programs that know no notes refuse it by that.
const noteFormat = 12

// Note is rows of a table that are in no chunk yet.
type Note struct {
	// Boot is the boot of the machine that they end with; empty: none.
	Boot string
	// Rows are for who has noted them.
	Rows []byte
}

// Encode writes the record.
func (n *Note) Encode() []byte {
	w := message.Writer{}
	w.Uint(noteFieldFormat, noteFormat)
	w.OptionalString(noteBoot, n.Boot)
	w.Bytes(noteRows, n.Rows)
	return w.Buf
}

// DecodeNote is the inverse of Encode.
func DecodeNote(data []byte) (*Note, error) {
	n, format := &Note{}, uint64(0)
	r := message.NewReader(data)
	for r.Next() {
		switch r.Field() {
		case noteFieldFormat:
			format = r.Uint()
		case noteBoot:
			n.Boot = r.String()
		case noteRows:
			n.Rows = r.Bytes()
		default:
			r.Skip()
		}
	}
	if err := r.Err(); err != nil {
		return nil, err
	}
	if format != noteFormat {
		return nil, fmt.Errorf("a note of format %d, this program knows %d", format, noteFormat)
	}
	return n, nil
}
