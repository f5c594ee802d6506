package engine_test

import (
	"bytes"
	"fmt"
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/engine"
)

// copyRows copies n rows of one value each into table, and calls each before every row.
func copyRows(t testing.TB, s *engine.Session, table string, n int, value []byte, each func(row int)) error {
	t.Helper()
	st, err := s.Prepare(t.Context(), "COPY "+table+" FROM STDIN")
	require.NoError(t, err)
	defer st.Close()
	row := 0
	_, err = st.CopyIn(t.Context(), func() ([][]byte, error) {
		if each(row); row == n {
			return nil, io.EOF
		}
		row++
		return [][]byte{value}, nil
	})
	return err
}

// COPY gathers by bytes: 1,500 rows of 100 kB, which were one batch, need no more memory than short ones.
func TestCopyGathersByBytes(t *testing.T) {
	e := open(t, func(c *engine.Config) { c.MemoryBytes = 128 << 20; c.RegionBytes = 512 << 20 })
	s := session(t, e)
	exec(t, s, "CREATE TABLE t (b TEXT)")
	before, most := anonymousMemory(), int64(0)
	require.NoError(t, copyRows(t, s, "t", 1500, bytes.Repeat([]byte("x"), 100_000), func(row int) {
		if row%20 == 0 {
			most = max(most, anonymousMemory())
		}
	}))
	require.Equal(t, []string{"1500|150000000"}, rows(t, s, "SELECT count(*), sum(length(b))::BIGINT FROM t"))
	require.Less(t, most-before, int64(100<<20), "150 MB were copied")
	require.Zero(t, e.Memory().Used)
}

// What a COPY gathers is charged to its session, shown, and given back however it ends.
func TestCopyIsCharged(t *testing.T) {
	e := open(t)
	s, err := e.Session(engine.SessionOptions{ProcessID: 77, User: "copier"})
	require.NoError(t, err)
	t.Cleanup(func() { s.Close() })
	other := session(t, e)
	exec(t, s, "CREATE TABLE t (b TEXT)")
	const shown = "SELECT session, \"user\", bytes BETWEEN 2000000 AND 2100000 FROM csm.memory WHERE kind = 'copy'"
	value := bytes.Repeat([]byte("x"), 1_000_000)
	require.NoError(t, copyRows(t, s, "t", 1, value, func(row int) {
		if row == 1 {
			require.Equal(t, []string{"77|copier|true"}, rows(t, other, shown))
		}
	}))
	require.Empty(t, rows(t, other, shown))

	exec(t, s, "SET csm.session_memory = '1MB'")
	err = copyRows(t, s, "t", 1, value, func(int) {})
	requireState(t, "54000", err)
	exec(t, s, "RESET csm.session_memory")
	require.NoError(t, copyRows(t, s, "t", 1, value, func(int) {}))
	require.Equal(t, []string{"2"}, rows(t, s, "SELECT count(*) FROM t"))
	require.Zero(t, e.Memory().Used)
}

// The setting is the session's, goes with ROLLBACK, and is what the session begins with if its client says so.
func TestShareOfSession(t *testing.T) {
	e := open(t)
	s, err := e.Session(engine.SessionOptions{Settings: map[string]string{"csm.session_memory": "1MB"}})
	require.NoError(t, err)
	t.Cleanup(func() { s.Close() })
	exec(t, s, "CREATE TABLE t (b TEXT)")
	takes := func() bool { return copyRows(t, s, "t", 1, bytes.Repeat([]byte("x"), 1_000_000), func(int) {}) == nil }
	require.False(t, takes())
	exec(t, s, "SET csm.session_memory = '4MB'")
	require.True(t, takes())
	exec(t, s, "BEGIN")
	exec(t, s, "SET csm.session_memory = 16")
	exec(t, s, "ROLLBACK")
	require.True(t, takes())
	exec(t, s, "RESET csm.session_memory")
	require.False(t, takes())
}

// What nobody's session has is shown, too.
func TestMemoryOfTheProcess(t *testing.T) {
	s := session(t, open(t))
	require.Equal(t, []string{"duckdb|true", "go|true"}, rows(t, s, fmt.Sprintf("SELECT kind, bytes > %d FROM csm.memory WHERE session IS NULL ORDER BY 1", 1<<20)))
}
