package delta

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/engine/constantrows"
)

// granted is memory that counts how often it was given back.
type granted struct {
	catalog.Grant
	aborted int
}

func (g *granted) Abort() error { g.aborted++; return nil }

// A delta whose first rows could not be put on record is none: nothing would be sealed before its table changes (DL2).
func TestADeltaWithoutRowsEnds(t *testing.T) {
	failed := errors.New("the log is full")
	for _, test := range []struct {
		noted []error // of notes that were admitted together
		bytes int64   // of the delta then; 0: there is none
	}{{[]error{failed}, 0}, {[]error{failed, failed}, 0}, {[]error{failed, nil}, 10}, {[]error{nil, failed}, 10}, {[]error{nil, nil}, 20}} {
		g, s := &granted{}, Store{}
		table := catalog.Table{ID: 7}
		s.put(&delta{table: table, reserved: &reserved{g}, bytes: 10 * int64(len(test.noted)), admitted: len(test.noted)})
		rows := 0
		for _, err := range test.noted {
			if s.noted(table.ID, []*constantrows.Rows{{}}, 10, err); err == nil {
				rows++
			}
		}
		if test.bytes == 0 {
			require.Empty(t, s.tables)
			require.Equal(t, 1, g.aborted)
			continue
		}
		d := s.tables[table.ID]
		require.Len(t, d.rows, rows)
		require.Equal(t, test.bytes, d.bytes)
		require.Zero(t, g.aborted)
		s.Sealed()
		require.Equal(t, 1, g.aborted)
	}
}
