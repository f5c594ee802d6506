package clienttest

import (
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
)

// TestSamplesOfCatalogs: every system relation is there under TABLESAMPLE, beside others and in sub-queries, in both dialects: a text that PostgreSQL's parser
// understands keeps its tree, although DuckDB is given the number with PERCENT.
func TestSamplesOfCatalogs(t *testing.T) {
	conn, ctx := connect(t)
	rows, err := conn.Query(ctx, `SELECT quote_ident(table_schema) || '.' || quote_ident(table_name) FROM information_schema.tables
		WHERE table_schema IN ('pg_catalog', 'information_schema') ORDER BY 1`)
	require.NoError(t, err)
	names, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	require.Greater(t, len(names), 150)
	for _, dialect := range []string{"duckdb", "postgres"} {
		_, err := conn.Exec(ctx, "SET csm.dialect = "+dialect)
		require.NoError(t, err)
		for _, name := range names {
			var all, sampled, none int
			require.NoError(t, conn.QueryRow(ctx, fmt.Sprintf(`SELECT (SELECT count(*) FROM %s), (SELECT count(*) FROM %[1]s AS s TABLESAMPLE bernoulli (100)), count(*)
				FROM %[1]s TABLESAMPLE system (0)`, name)).Scan(&all, &sampled, &none), name)
			require.Equal(t, all, sampled, name)
			require.Zero(t, none, name)
		}
		var count int
		require.NoError(t, conn.QueryRow(ctx, `SELECT count(*) FROM pg_cast TABLESAMPLE bernoulli (100.0) REPEATABLE (1) JOIN pg_type ON castsource = pg_type.oid
			WHERE castsource = 'int4'::regtype AND casttarget IN (SELECT oid FROM pg_type TABLESAMPLE system (100) WHERE typname = 'int8')`).Scan(&count))
		require.Equal(t, 1, count)
	}
}
