package engine_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/engine"
)

// DuckDB finds some times out when it plans: a prepared statement that asks for one gives that of its execution, also
// through views and functions.
func TestPreparedTimesAreThoseOfTheExecution(t *testing.T) {
	for _, d := range []string{engine.DialectDuckDB, engine.DialectPostgres} {
		t.Run(d, func(t *testing.T) {
			s := session(t, open(t, func(c *engine.Config) { c.Dialect = d }))
			exec(t, s, "CREATE VIEW v AS SELECT localtimestamp AS x; CREATE VIEW w AS SELECT x FROM v")
			exec(t, s, "CREATE TABLE made (x timestamp)")
			asked := []string{
				"now()", "current_timestamp", "localtimestamp", "localtime", "LocalTimestamp + INTERVAL '1 day'",
				"date_trunc('us', localtimestamp)", "(SELECT x FROM v)", "(SELECT max(x) FROM w)",
			}
			if d == engine.DialectPostgres {
				exec(t, s, "CREATE FUNCTION f() RETURNS timestamp LANGUAGE sql AS 'SELECT localtimestamp'")
				asked = append(asked, "f()", "timestamp 'now'", "CAST('now' AS timestamp)", "clock_timestamp()")
			}
			for _, x := range asked {
				p, err := s.Prepare(t.Context(), "SELECT ("+x+")::text")
				require.NoError(t, err, x)
				seen := map[string]bool{}
				for range 3 {
					time.Sleep(2 * time.Microsecond) // times differ in microseconds
					r, err := p.Query(t.Context())
					require.NoError(t, err, x)
					require.True(t, r.Next())
					seen[strings.Clone(r.RecordBatch().Column(0).ValueStr(0))] = true
					r.Release()
				}
				require.Len(t, seen, 3, x)
				require.NoError(t, p.Close())
			}
			p, err := s.Prepare(t.Context(), "INSERT INTO made SELECT localtimestamp")
			require.NoError(t, err)
			for range 3 {
				time.Sleep(2 * time.Microsecond)
				_, err := p.Exec(t.Context())
				require.NoError(t, err)
			}
			require.NoError(t, p.Close())
			require.Equal(t, []string{"3"}, rows(t, s, "SELECT count(DISTINCT x) FROM made"))
		})
	}
}

// EXPLAIN of a query that asks for the present is planned again when it runs, with the names that it was planned with.
func TestExplainOfThePresent(t *testing.T) {
	s := session(t, open(t))
	exec(t, s, "CREATE TABLE made (x timestamptz); CREATE VIEW seen AS SELECT * FROM made")
	for _, query := range []string{
		"SELECT now(), count(*) FROM csm.tables", "SELECT now(), * FROM made", "SELECT now(), * FROM seen",
	} {
		for _, verb := range []string{"EXPLAIN ", "EXPLAIN ANALYZE "} {
			require.NotEmpty(t, rows(t, s, verb+query), verb+query)
		}
	}
}
