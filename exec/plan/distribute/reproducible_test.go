package distribute_test

import (
	"testing"

	pg "github.com/pganalyze/pg_query_go/v6"
	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/exec/plan/distribute"
)

// A plan is replayable though it asks for the time or for chance, and not if what it says was found out when it was planned.
func TestReplayable(t *testing.T) {
	for sql, want := range map[string]struct{ reproducible, replayable bool }{
		"SELECT upper(a), sum(b) FROM t GROUP BY 1":        {true, true},
		"SELECT a FROM t WHERE d < now()":                  {false, true},
		"SELECT current_timestamp, current_date, a FROM t": {false, true},
		"SELECT localtimestamp":                            {false, false},
		"SELECT localtime":                                 {false, false},
		"SELECT random(), gen_random_uuid()":               {false, true},
		"SELECT now() FROM t WHERE d < 'today'":            {false, false},
		"SELECT 'now'::timestamp":                          {false, false},
		"SELECT date ' Yesterday '":                        {false, false},
		"SELECT current_user":                              {false, false},
		"SELECT current_schema, now()":                     {false, false},
		"SELECT nextval('s')":                              {false, false},
		"SELECT unknown(now())":                            {false, false},
		"SELECT now FROM today":                            {true, true},
	} {
		tree, err := pg.Parse(sql)
		require.NoError(t, err)
		require.Equal(t, want.reproducible, distribute.Reproducible(tree), sql)
		require.Equal(t, want.replayable, distribute.Replayable(tree), sql)
	}
}
