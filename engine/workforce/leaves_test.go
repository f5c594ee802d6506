package workforce_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/engine/workforce"
)

// WF2.
func TestLeaves(t *testing.T) {
	for text, leaves := range map[string]bool{
		"SELECT a FROM t": true, "WITH x AS (SELECT 1) SELECT * FROM x": true, "FROM t": true, "TABLE t": true,
		"values (1)": true, "SELECT 'current_user', 'nextval('": true, `SELECT "user" FROM t`: true, "SELECT csm FROM t": true,
		"SELECT nextval FROM t": true, "/* pg_class */ SELECT 1": true, "PIVOT t ON a USING sum(b)": true,

		"": false, "INSERT INTO t VALUES (1)": false, "EXPLAIN SELECT 1": false, "SELECT current_user": false, "SELECT user": false,
		"SELECT nextval('s')": false, "SELECT NextVal ('s')": false, "SELECT * FROM pg_class": false, "SELECT * FROM csm.tables": false,
		"SELECT * FROM duckdb_tables()": false, `SELECT * FROM "pg_class"`: false, "SELECT 't'::regclass": false,
		"SELECT has_table_privilege('t', 'select')": false, "SELECT * FROM information_schema.tables": false,
		"SELECT current_setting('a')": false, "FROM query('SELECT 1')": false,
	} {
		_, ok := workforce.Leaves(text)
		require.Equal(t, leaves, ok, "%s", text)
	}
	named, ok := workforce.Leaves(`SELECT A."b C" FROM V, "T"`)
	require.True(t, ok)
	for _, name := range []string{"a", "b c", "v", "t"} {
		require.True(t, named[name], name)
	}
}
