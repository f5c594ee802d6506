package engine_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A schema of another database is not one of this one.
func TestSchemasOfOtherDatabases(t *testing.T) {
	t.Parallel()
	s := session(t, open(t))
	exec(t, s, "CREATE SCHEMA csmsql.mine; CREATE SCHEMA yours")
	for _, sql := range []string{"CREATE SCHEMA system.x", "CREATE SCHEMA memory.x", "CREATE SCHEMA IF NOT EXISTS nowhere.x", "CREATE SCHEMA pg_catalog.x", "DROP SCHEMA system.yours", "DROP SCHEMA IF EXISTS nowhere.yours"} {
		_, err := s.Exec(t.Context(), sql)
		require.ErrorContains(t, err, "cross-database references are not implemented", sql)
	}
	require.Equal(t, []string{"mine", "public", "yours"}, rows(t, s, "SELECT nspname FROM pg_namespace WHERE nspname IN ('x', 'mine', 'yours', 'public') ORDER BY 1"))
	exec(t, s, "DROP SCHEMA csmsql.mine")
}
