package engine_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/csmsql/csmsql/engine"
)

// requireState asserts an error's SQLSTATE.
func requireState(t testing.TB, want string, err error) {
	t.Helper()
	var e interface{ SQLState() string }
	require.True(t, errors.As(err, &e), "%v", err)
	require.Equal(t, want, e.SQLState(), err.Error())
}

func TestCursorErrors(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := session(t, open(t))
	for _, c := range []struct{ before, sql, state string }{
		{"", "DECLARE c CURSOR FOR SELECT 1", "25P01"},
		{"", "FETCH 1 FROM c", "34000"},
		{"", "CLOSE c", "34000"},
		{"BEGIN", "FETCH 1 FROM c", "34000"},
		{"BEGIN", "MOVE c", "34000"},
		{"BEGIN", "CLOSE c", "34000"},
		{"BEGIN", "DECLARE c CURSOR FOR SELECT nothing FROM nowhere", "42P01"},
		{"BEGIN", "DECLARE c CURSOR FOR DELETE FROM t", "42601"},
		{"BEGIN", "DECLARE c CURSOR WITH HOLD FOR SELECT 1", "0A000"},
		{"BEGIN; DECLARE c CURSOR FOR SELECT 1", "DECLARE c CURSOR FOR SELECT 2", "42P03"},
		{"BEGIN; DECLARE c CURSOR FOR SELECT 1", "FETCH BACKWARD 1 FROM c", "55000"},
		{"BEGIN; DECLARE c CURSOR FOR SELECT 1; CLOSE c", "FETCH c", "34000"},
		{"BEGIN; DECLARE c CURSOR FOR SELECT 1; CLOSE ALL", "FETCH c", "34000"},
		{"BEGIN; DECLARE c CURSOR FOR SELECT 1; COMMIT; BEGIN", "FETCH c", "34000"},
		{"BEGIN; DECLARE c CURSOR FOR SELECT 1; ROLLBACK", "FETCH c", "34000"},
		{"BEGIN; DECLARE c CURSOR FOR SELECT cast(i::text || CASE i WHEN 700000 THEN 'x' ELSE '' END AS int) FROM range(1000000) r(i)", "FETCH ALL c", "22P02"},
	} {
		exec(t, s, "CREATE OR REPLACE TABLE t (a int)")
		if c.before != "" {
			exec(t, s, c.before)
		}
		inBlock := s.Status() == engine.Active
		_, err := s.Exec(ctx, c.sql)
		requireState(t, c.state, err)
		if inBlock {
			require.Equal(t, engine.Failed, s.Status(), c.sql)
		}
		exec(t, s, "ROLLBACK")
	}
	exec(t, s, "CLOSE ALL")

	exec(t, s, "BEGIN")
	_, err := s.Exec(ctx, "DECLARE süß CURSOR FOR SELECT nothing FROM range(3)")
	requireState(t, "42703", err)
	require.Equal(t, len([]rune("DECLARE süß CURSOR FOR SELECT "))+1, err.(interface{ Position() int }).Position())
}

// TestCursorOutlivesWhatMadeIt: other statements, a write to its table and the end of its context leave a cursor as it was.
func TestCursorOutlivesWhatMadeIt(t *testing.T) {
	s := session(t, open(t))
	exec(t, s, "CREATE TABLE t AS SELECT i, 'v' || i AS v FROM range(10000) r(i)")
	exec(t, s, "BEGIN")
	ctx, cancel := context.WithCancel(context.Background())
	_, err := s.Exec(ctx, "DECLARE c CURSOR FOR SELECT * FROM t WHERE i >= $1 ORDER BY i", int64(2))
	require.NoError(t, err)
	cancel()
	require.Equal(t, []string{"2|v2", "3|v3"}, rows(t, s, "FETCH 2 FROM c"))
	exec(t, s, "INSERT INTO t VALUES (-1, 'new')")
	require.Equal(t, []string{"10001"}, rows(t, s, "SELECT count(*) FROM t"))
	require.Equal(t, "MOVE 3", exec(t, s, "MOVE 3 IN c").Tag)
	require.Equal(t, []string{"7|v7"}, rows(t, s, "FETCH c"))
	exec(t, s, "DECLARE d CURSOR FOR SELECT * FROM t WHERE i = -1")
	require.Equal(t, []string{"-1|new"}, rows(t, s, "FETCH ALL d"))
	require.Equal(t, []string{"8|v8"}, rows(t, s, "FETCH NEXT FROM c"))
	require.Equal(t, "FETCH 9991", exec(t, s, "FETCH ALL c").Tag)
	require.Equal(t, "FETCH 0", exec(t, s, "FETCH ALL c").Tag)
	require.Empty(t, rows(t, s, "FETCH c"))
	exec(t, s, "COMMIT")
	require.Equal(t, []string{"10001"}, rows(t, s, "SELECT count(*) FROM t"))
}

// TestCursorCancelled: DECLARE runs the query up to its first row under its own context, FETCH the rest under its own.
func TestCursorCancelled(t *testing.T) {
	t.Parallel()
	s := session(t, open(t))
	for _, c := range []struct{ before, sql string }{
		{"BEGIN", "DECLARE c CURSOR FOR SELECT count(*) FROM range(1000000) a, range(1000000) b WHERE a.range * b.range = -1"},
		{"BEGIN; DECLARE c CURSOR FOR SELECT * FROM range(1000000) a, range(1000000) b WHERE a.range * b.range <> 1", "FETCH ALL c"},
	} {
		exec(t, s, c.before)
		ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
		_, err := s.Exec(ctx, c.sql)
		cancel()
		require.Error(t, err)
		require.Equal(t, engine.Failed, s.Status())
		exec(t, s, "ROLLBACK")
		require.Equal(t, []string{"1"}, rows(t, s, "SELECT 1"))
	}
}

// TestCursorModel: several cursors are read in random pieces, among other statements; each is a list of numbers that is
// read from its beginning.
func TestCursorModel(t *testing.T) {
	t.Parallel()
	s := session(t, open(t))
	exec(t, s, "CREATE TABLE t AS SELECT i FROM range(5000) r(i)")
	rapid.Check(t, func(t *rapid.T) {
		model := map[string][]string{}
		_, err := s.Exec(context.Background(), "BEGIN")
		require.NoError(t, err)
		defer s.Exec(context.Background(), "ROLLBACK")
		t.Repeat(map[string]func(*rapid.T){
			"declare": func(t *rapid.T) {
				name, size := rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "name"), rapid.IntRange(0, 5000).Draw(t, "size")
				if _, exists := model[name]; exists {
					t.Skip("exists")
				}
				_, err := s.Exec(context.Background(), "DECLARE "+name+" CURSOR FOR SELECT i FROM t WHERE i < $1 ORDER BY i", int64(size))
				require.NoError(t, err)
				model[name] = nil
				for i := range size {
					model[name] = append(model[name], fmt.Sprint(i))
				}
			},
			"fetch": func(t *rapid.T) {
				name, verb := drawn(t, model), rapid.SampledFrom([]string{"FETCH", "MOVE"}).Draw(t, "verb")
				n := rapid.IntRange(1, 3000).Draw(t, "rows")
				want := model[name][:min(n, len(model[name]))]
				got, err := tryRows(s, fmt.Sprintf("%s FORWARD %d FROM %s", verb, n, name))
				require.NoError(t, err)
				if verb == "FETCH" {
					require.True(t, slices.Equal(want, got))
				}
				model[name] = model[name][len(want):]
			},
			"close": func(t *rapid.T) {
				name := drawn(t, model)
				_, err := s.Exec(context.Background(), "CLOSE "+name)
				require.NoError(t, err)
				delete(model, name)
			},
			"other": func(t *rapid.T) {
				got, err := tryRows(s, "SELECT sum(i)::bigint FROM t")
				require.NoError(t, err)
				require.Equal(t, []string{fmt.Sprint(5000 * 4999 / 2)}, got)
			},
		})
	})
}

func drawn(t *rapid.T, model map[string][]string) string {
	var names []string
	for name := range model {
		names = append(names, name)
	}
	if len(names) == 0 {
		t.Skip("no cursor is open")
	}
	slices.Sort(names)
	return rapid.SampledFrom(names).Draw(t, "cursor")
}
