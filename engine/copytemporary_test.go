package engine_test

import (
	"fmt"
	"io"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/engine"
)

// COPY … FROM STDIN fills temporary tables as it does others: in several batches, wholly or not at all, in blocks too.
func TestCopyIntoTemporaryTables(t *testing.T) {
	t.Parallel()
	s := session(t, open(t))
	exec(t, s, "CREATE TABLE kept (i int PRIMARY KEY, v text); CREATE TEMP TABLE stage (i int NOT NULL, v text DEFAULT 'none', a int[])")
	copied := func(sql string, rows int, row func(n int) [][]byte) error {
		st, err := s.Prepare(t.Context(), sql)
		require.NoError(t, err)
		defer st.Close()
		n := 0
		tag, err := st.CopyIn(t.Context(), func() ([][]byte, error) {
			if n++; n > rows {
				return nil, io.EOF
			}
			return row(n), nil
		})
		if err == nil {
			require.Equal(t, fmt.Sprintf("COPY %d", rows), tag)
		}
		return err
	}
	number := func(n int) []byte { return []byte(strconv.Itoa(n)) }
	const many = 2*engine.CopyRowsPerBatch + 10
	require.NoError(t, copied("COPY stage (a, i) FROM STDIN", many, func(n int) [][]byte {
		return [][]byte{fmt.Appendf(nil, "{%d,NULL}", n), number(n)}
	}))
	sums := "SELECT count(*), sum(i), sum(a[1]), count(a[2]), min(v), max(v) FROM stage"
	want := []string{fmt.Sprintf("%d|%d|%[2]d|0|none|none", many, many*(many+1)/2)}
	require.Equal(t, want, rows(t, s, sums))

	for bad, state := range map[string]string{"x": "22P02", "": "23502"} {
		err := copied("COPY stage (i) FROM STDIN", many, func(n int) [][]byte {
			switch {
			case n < many:
				return [][]byte{number(n)}
			case bad == "":
				return [][]byte{nil}
			}
			return [][]byte{[]byte(bad)}
		})
		requireState(t, state, err)
		require.Equal(t, want, rows(t, s, sums), "not a row of it")
	}
	one := func(n int) [][]byte { return [][]byte{number(-n)} }
	exec(t, s, "BEGIN")
	require.NoError(t, copied("COPY stage (i) FROM STDIN", 5, one))
	require.Equal(t, []string{strconv.Itoa(many + 5)}, rows(t, s, "SELECT count(*) FROM stage"))
	exec(t, s, "ROLLBACK")
	require.Equal(t, want, rows(t, s, sums))
	exec(t, s, "BEGIN")
	require.NoError(t, copied("COPY pg_temp.stage (i) FROM STDIN", 5, one))
	exec(t, s, "INSERT INTO kept SELECT i, v FROM stage ON CONFLICT (i) DO NOTHING; COMMIT")
	require.Equal(t, []string{strconv.Itoa(many + 5)}, rows(t, s, "SELECT count(*) FROM kept"))

	for sql, state := range map[string]string{
		"COPY stage (nope) FROM STDIN": "42703", "COPY stage (i, i) FROM STDIN": "42701", "COPY stage FROM STDIN (FREEZE)": "0A000",
		"COPY stage FROM '/tmp/file'": "0A000",
	} {
		_, err := s.Prepare(t.Context(), sql)
		requireState(t, state, err)
	}
}
