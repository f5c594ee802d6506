package engine_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

const indexesOf = "SELECT indexdef FROM pg_indexes WHERE tablename = 't' ORDER BY indexname"

// IX1, IX2: indexes follow their table and its columns, and come back with it.
func TestIndexesLiveWithTheirTable(t *testing.T) {
	t.Parallel()
	s := session(t, open(t))
	exec(t, s, "CREATE TABLE t (id int PRIMARY KEY, a int, b text, c date)")
	exec(t, s, "INSERT INTO t SELECT i, i % 100, 'b' || i, NULL FROM generate_series(1, 20000) AS g(i)")
	exec(t, s, "CREATE INDEX ON t (a); CREATE INDEX ON t (a, b DESC)")
	exec(t, s, "CREATE UNIQUE INDEX u ON t (b); CREATE INDEX h ON t USING hash (c)")
	require.Equal(t, []string{
		"CREATE INDEX h ON public.t USING hash (c)", "CREATE INDEX t_a_b_idx ON public.t USING btree (a, b DESC)",
		"CREATE INDEX t_a_idx ON public.t USING btree (a)", "CREATE UNIQUE INDEX t_pkey ON public.t USING btree (id)",
		"CREATE UNIQUE INDEX u ON public.t USING btree (b)",
	}, rows(t, s, indexesOf))
	require.Equal(t, []string{"200"}, rows(t, s, "SELECT count(*) FROM t WHERE a = 7"))
	require.Equal(t, []string{"0|id; a; a, b; b; c"}, rows(t, s, ordersOf))
	exec(t, s, "ALTER TABLE t ADD CONSTRAINT k UNIQUE (b, a)")
	require.Equal(t, []string{"0|id; a; a, b; b; c; b, a"}, rows(t, s, ordersOf))
	exec(t, s, "ALTER TABLE t DROP CONSTRAINT k")
	number := rows(t, s, "SELECT oid FROM pg_class WHERE relname = 'u'")
	exec(t, s, "ALTER INDEX u RENAME TO w; ALTER TABLE t RENAME COLUMN a TO z; ALTER TABLE t DROP COLUMN c")
	require.Equal(t, number, rows(t, s, "SELECT oid FROM pg_class WHERE relname = 'w'"))
	exec(t, s, "CREATE UNIQUE INDEX u ON t (b)")
	require.NotEqual(t, number, rows(t, s, "SELECT oid FROM pg_class WHERE relname = 'u'"))
	exec(t, s, "DROP INDEX u; CREATE SCHEMA other; ALTER TABLE t SET SCHEMA other; TRUNCATE other.t")
	require.Equal(t, []string{
		"CREATE INDEX t_a_b_idx ON other.t USING btree (z, b DESC)", "CREATE INDEX t_a_idx ON other.t USING btree (z)",
		"CREATE UNIQUE INDEX t_pkey ON other.t USING btree (id)", "CREATE UNIQUE INDEX w ON other.t USING btree (b)",
	}, rows(t, s, indexesOf))
	exec(t, s, "DROP INDEX other.t_a_idx; REINDEX TABLE other.t; REINDEX SCHEMA other")
	exec(t, s, "REINDEX INDEX other.w; REINDEX DATABASE csmsql")
	exec(t, s, "DROP TABLE other.t")
	require.Equal(t, []string{"0"}, rows(t, s, "SELECT count(*) FROM pg_index"))
}

// A unique index holds rows as a key does, and is no constraint.
func TestUniqueIndexesAreKept(t *testing.T) {
	t.Parallel()
	s := session(t, open(t))
	exec(t, s, "CREATE TABLE t (a int, b int); INSERT INTO t VALUES (1, 1), (2, 1)")
	require.Contains(t, keyRefused(t, s, "CREATE UNIQUE INDEX ON t (b)"), "23505")
	require.Empty(t, rows(t, s, indexesOf))
	exec(t, s, "CREATE UNIQUE INDEX u ON t (a)")
	require.Contains(t, keyRefused(t, s, "INSERT INTO t VALUES (1, 5)"), "23505")
	exec(t, s, "INSERT INTO t VALUES (1, 5) ON CONFLICT (a) DO UPDATE SET b = 9")
	require.Equal(t, []string{"1|9", "2|1"}, rows(t, s, "SELECT a, b FROM t ORDER BY a"))
	require.Empty(t, rows(t, s, "SELECT conname FROM pg_constraint"))
	require.Empty(t, rows(t, s, "SELECT constraint_name FROM information_schema.table_constraints"))
	exec(t, s, "CREATE TABLE c (x int REFERENCES t (a)); INSERT INTO c VALUES (1)")
	_, err := s.Exec(t.Context(), "DROP INDEX u")
	require.Equal(t, "2BP01", state(t, err))
	exec(t, s, "DROP INDEX u CASCADE; INSERT INTO c VALUES (77)")
	exec(t, s, "CREATE UNIQUE INDEX v ON t (a); ALTER TABLE t ADD CONSTRAINT p PRIMARY KEY USING INDEX v")
	shown := rows(t, s, "SELECT conname, pg_get_constraintdef(oid) FROM pg_constraint")
	require.Equal(t, []string{"p|PRIMARY KEY (a)"}, shown)
	_, err = s.Exec(t.Context(), "DROP INDEX p")
	require.Equal(t, "2BP01", state(t, err))
}

// IX1.
func TestNamesOfIndexesAreOfNothingElse(t *testing.T) {
	t.Parallel()
	s := session(t, open(t))
	exec(t, s, "CREATE TABLE t (a int CONSTRAINT k UNIQUE); CREATE TABLE o (a int); CREATE VIEW v AS SELECT 1 AS x")
	exec(t, s, "CREATE SEQUENCE q; CREATE INDEX i ON o (a)")
	for text, want := range map[string]string{
		"CREATE INDEX o ON t (a)": "42P07", "CREATE INDEX v ON t (a)": "42P07", "CREATE INDEX q ON t (a)": "42P07",
		"CREATE INDEX k ON o (a)": "42P07", "CREATE INDEX i ON t (a)": "42P07", "CREATE TABLE i (x int)": "42P07",
		"CREATE VIEW i AS SELECT 1": "42P07", "CREATE SEQUENCE i": "42P07", "ALTER TABLE t RENAME TO i": "42P07",
		"CREATE TABLE n (a int CONSTRAINT k UNIQUE)": "42P07", "ALTER TABLE o ADD CONSTRAINT k UNIQUE (a)": "42P07",
		"ALTER INDEX i RENAME TO t": "42P07", "DROP INDEX t": "42809", "DROP INDEX nosuch": "42704",
		"CREATE INDEX ON v (x)": "42809", "CREATE INDEX ON t (nosuch)": "42703", "CREATE INDEX ON nosuch (a)": "42P01",
		"CREATE INDEX ON t USING gin (a)": "0A000", "CREATE INDEX ON t USING nosuch (a)": "42704",
		"CREATE INDEX ON t (a text_pattern_ops)": "42804", "CREATE INDEX ON t (a nosuch_ops)": "42704",
		"CREATE UNIQUE INDEX ON t USING hash (a)": "0A000", "ALTER TABLE o DROP CONSTRAINT i": "42704",
		"INSERT INTO o VALUES (1) ON CONFLICT ON CONSTRAINT i DO NOTHING": "42704", "REINDEX INDEX nosuch": "42P01",
		"COMMENT ON CONSTRAINT i ON o IS 'x'": "42704", "COMMENT ON INDEX nosuch IS 'x'": "42P01",
		"ALTER TABLE o ALTER COLUMN a TYPE int[] USING [a]": "0A000",
	} {
		_, err := s.Exec(t.Context(), text)
		require.Error(t, err, text)
		require.Equal(t, want, state(t, err), "%s: %v", text, err)
	}
	exec(t, s, "BEGIN")
	_, err := s.Exec(t.Context(), "CREATE INDEX CONCURRENTLY ON t (a)")
	require.Equal(t, "25001", state(t, err))
	exec(t, s, "ROLLBACK; CREATE TABLE t_b (a int UNIQUE); CREATE TABLE x (t_b_a int); CREATE INDEX CONCURRENTLY ON t (a)")
	exec(t, s, "CREATE TEMP TABLE own (a int)")
	_, err = s.Exec(t.Context(), "CREATE INDEX ON own (a)")
	require.Equal(t, "0A000", state(t, err))
}
