package engine_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A prepared statement that writes is one of the table as it is when it runs, also if that was made anew with other columns since.
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
