package engine_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A prepared statement that writes uses the table as it is when it runs, also if that was recreated with other columns
// since.
func TestPreparedWritesFollowTheTablesColumns(t *testing.T) {
	t.Parallel()
	e := open(t)
	s, other := session(t, e), session(t, e)
	ctx := t.Context()
	for name, c := range map[string]struct{ text, want, state string }{
		"VALUES":             {text: "INSERT INTO rt VALUES ($1)", want: "0.5|(null)"},
		"a SELECT":           {text: "INSERT INTO rt SELECT $1", want: "0.5|(null)"},
		"named columns":      {text: "INSERT INTO rt (v) VALUES ($1)", want: "0.5|(null)"},
		"RETURNING":          {text: "INSERT INTO rt VALUES ($1) RETURNING v", state: "0A000"},
		"UPDATE":             {text: "UPDATE rt SET v = $1", want: "0.5|(null)"},
		"UPDATE … RETURNING": {text: "UPDATE rt SET v = $1 RETURNING v", state: "0A000"},
		"DELETE … RETURNING": {text: "DELETE FROM rt WHERE $1 > 0 RETURNING v", state: "0A000"},
	} {
		t.Run(name, func(t *testing.T) {
			exec(t, other, "CREATE OR REPLACE TABLE rt AS SELECT 1::INTEGER AS v")
			st, err := s.Prepare(ctx, c.text)
			require.NoError(t, err)
			defer st.Close()
			_, err = st.Exec(ctx, 3)
			require.NoError(t, err)
			exec(t, other, "CREATE OR REPLACE TABLE rt AS SELECT 1.25::DOUBLE AS v, NULL::TEXT AS w")
			before := rows(t, other, "SELECT * FROM rt")
			_, err = st.Exec(ctx, 0.5)
			if c.state != "" {
				require.Equal(t, c.state, state(t, err), "%v", err)
				require.Equal(t, before, rows(t, other, "SELECT * FROM rt"), "nothing was written")
				return
			}
			require.NoError(t, err)
			require.Contains(t, rows(t, other, "SELECT * FROM rt"), c.want)
		})
	}
}

// A plan of an INSERT is used again for as long as what it reads is as it was. What it reads may be the table itself, and
// what is another value each time stays that.
func TestPreparedInserts(t *testing.T) {
	t.Parallel()
	e := open(t)
	s, other := session(t, e), session(t, e)
	exec(t, s, "CREATE TABLE t (i int, at timestamptz DEFAULT now(), r double DEFAULT random())")
	exec(t, s, "CREATE TABLE from_here AS SELECT 1 AS i")
	run := func(sql string, between ...string) {
		st, err := s.Prepare(t.Context(), sql)
		require.NoError(t, err)
		defer st.Close()
		for i := range len(between) + 1 {
			rows, err := st.Execute(t.Context(), nil)
			require.NoError(t, err, sql)
			rows.Close()
			if i < len(between) {
				exec(t, other, between[i])
			}
		}
	}
	run("INSERT INTO t (i) VALUES (1)", "INSERT INTO t (i) VALUES (1)", "ANALYZE t")
	require.Equal(t, []string{"4|4|4"}, rows(t, s, "SELECT count(*), count(DISTINCT at), count(DISTINCT r) FROM t"))
	run("INSERT INTO t (i) SELECT i + 10 FROM t WHERE i < 10", "DELETE FROM t WHERE i = 11", "INSERT INTO t (i) VALUES (2)")
	require.Equal(t, []string{"1|4", "2|1", "11|8", "12|1"}, rows(t, s, "SELECT i, count(*) FROM t GROUP BY i ORDER BY i"))
	exec(t, s, "TRUNCATE t")
	run("INSERT INTO t (i) SELECT i FROM from_here", "UPDATE from_here SET i = 2", "CREATE OR REPLACE TABLE from_here AS SELECT 3 AS i")
	require.Equal(t, []string{"1", "2", "3"}, rows(t, s, "SELECT i FROM t ORDER BY i"))
	exec(t, s, "TRUNCATE t")
	run("INSERT INTO t (i) VALUES (5)", "CREATE OR REPLACE TABLE t (i varchar, at int DEFAULT 7)")
	require.Equal(t, []string{"5|7"}, rows(t, s, "SELECT * FROM t"))

	st, err := s.Prepare(t.Context(), "INSERT INTO t (i) SELECT count(*) FROM t")
	require.NoError(t, err)
	defer st.Close()
	exec(t, s, "BEGIN")
	for range 3 { // its own rows, in a block
		rows, err := st.Execute(t.Context(), nil)
		require.NoError(t, err)
		rows.Close()
	}
	exec(t, s, "COMMIT")
	require.Equal(t, []string{"1", "2", "3", "5"}, rows(t, s, "SELECT i FROM t ORDER BY i"))
}
