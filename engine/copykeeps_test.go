package engine_test

import (
	"errors"
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/engine"
)

// However a COPY ends, the rows that it has gathered outside of Go's heap are freed: no collector does that.
func TestCopyKeepsNothing(t *testing.T) {
	s := session(t, open(t))
	exec(t, s, "CREATE TABLE t (i INT CHECK (i < 100), b BYTEA)")
	good := [][]byte{[]byte("1"), []byte(`\x00`)}
	gone := errors.New("the client has gone")
	for _, c := range []struct {
		name  string
		last  [][]byte // after some good rows; nil: end comes there
		end   error
		limit string // csm.session_memory
		state string // "": the client's own error, or none
	}{
		{name: "good rows", end: io.EOF},
		{name: "a client that goes", end: gone},
		{name: "a value too few", last: good[:1], state: "22P04"},
		{name: "a value too many", last: append(good[:2:2], []byte("1")), state: "22P04"},
		{name: "no number", last: [][]byte{[]byte("x"), good[1]}, end: io.EOF, state: "22P02"},
		{name: "no bytes", last: [][]byte{good[0], []byte(`\xg`)}, end: io.EOF, state: "22023"},
		{name: "a constraint", last: [][]byte{[]byte("100"), good[1]}, end: io.EOF, state: "23514"},
		{name: "too much", last: [][]byte{good[0], make([]byte, 2_000_000)}, end: io.EOF, limit: "1MB", state: "54000"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.limit != "" {
				exec(t, s, "SET csm.session_memory = '"+c.limit+"'")
				defer exec(t, s, "RESET csm.session_memory")
			}
			before := engine.OutsideBytes()
			st, err := s.Prepare(t.Context(), "COPY t FROM STDIN")
			require.NoError(t, err)
			defer st.Close()
			n := 0
			_, err = st.CopyIn(t.Context(), func() ([][]byte, error) {
				n++
				switch {
				case n <= 1000:
					return good, nil
				case n == 1001 && c.last != nil:
					require.Greater(t, engine.OutsideBytes(), before, "this is where rows are gathered")
					return c.last, nil
				}
				return nil, c.end
			})
			switch {
			case c.state != "":
				requireState(t, c.state, err)
			case c.end == gone:
				require.ErrorIs(t, err, gone)
			default:
				require.NoError(t, err)
			}
			require.Equal(t, before, engine.OutsideBytes(), "nothing is left of them")
		})
	}
}
