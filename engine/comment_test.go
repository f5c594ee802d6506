package engine_test

import (
	"context"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/engine"
)

// CO1: over renames, other columns, commits of others and restarts.
func TestCommentsStay(t *testing.T) {
	t.Parallel()
	directory, region := t.TempDir(), shmDirectory(t)
	start := func() (*engine.Engine, *engine.Session) {
		e, err := engine.Open(context.Background(), engine.Config{
			Directory: directory, RegionDirectory: region, RegionBytes: 64 << 20, MemoryBytes: 256 << 20,
			Log: slog.New(slog.DiscardHandler),
		})
		require.NoError(t, err)
		s, err := e.Session(engine.SessionOptions{})
		require.NoError(t, err)
		return e, s
	}
	e, s := start()
	exec(t, s, "CREATE TABLE t (a int CHECK (a > 0), b text); CREATE VIEW v AS SELECT a FROM t; CREATE SEQUENCE s; CREATE SCHEMA x")
	exec(t, s, "COMMENT ON TABLE t IS 'table'; COMMENT ON COLUMN t.b IS 'column'; COMMENT ON VIEW v IS 'view'")
	exec(t, s, "COMMENT ON SEQUENCE s IS 'sequence'; COMMENT ON SCHEMA x IS 'schema'; COMMENT ON CONSTRAINT t_a_check ON t IS 'check'")
	exec(t, s, "BEGIN; COMMENT ON TABLE t IS 'other'; COMMENT ON SCHEMA x IS 'other'; ROLLBACK")
	exec(t, s, "INSERT INTO t VALUES (1, 'x'); ALTER TABLE t ADD c int DEFAULT 5; ALTER TABLE t RENAME TO u")
	exec(t, s, "ALTER SEQUENCE s RENAME TO r; SELECT nextval('r'); CREATE TABLE x.t (a int)")
	asked := []string{
		"SELECT obj_description('u'::regclass, 'pg_class'), col_description('u'::regclass, 2), obj_description('r'::regclass)",
		"SELECT obj_description('v'::regclass), obj_description(oid, 'pg_namespace') FROM pg_namespace WHERE nspname = 'x'",
		"SELECT obj_description(oid, 'pg_constraint') FROM pg_constraint WHERE conname = 't_a_check'",
	}
	want := []string{"table|column|sequence", "view|schema", "check"}
	for range 2 {
		for i, sql := range asked {
			require.Equal(t, []string{want[i]}, rows(t, s, sql))
		}
		s.Close()
		require.NoError(t, e.Close())
		e, s = start()
	}
	other := session(t, e)
	exec(t, s, "BEGIN; COMMENT ON SCHEMA x IS 'mine'")
	exec(t, other, "CREATE TABLE x.other (a int)")
	exec(t, s, "COMMIT")
	require.Equal(t, []string{"mine"}, rows(t, other, "SELECT obj_description(oid, 'pg_namespace') FROM pg_namespace WHERE nspname = 'x'"))
	exec(t, s, "DROP SCHEMA x CASCADE; COMMENT ON TABLE u IS NULL")
	require.Equal(t, []string{"4"}, rows(t, s, "SELECT count(*) FROM pg_description WHERE objoid > 16383"))
	require.Equal(t, "25006", sqlState(failing(s, "BEGIN READ ONLY; COMMENT ON TABLE u IS 'x'")))
	s.Close()
	other.Close()
	require.NoError(t, e.Close())
}
