package clienttest

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestMaterializedViewsAsInPostgres: what is said of them, done with them and refused of them is what it is in
// PostgreSQL, with its words.
func TestMaterializedViewsAsInPostgres(t *testing.T) {
	w := newTwins(t, `CREATE TABLE t (a int, b text); INSERT INTO t VALUES (1, 'x'), (2, 'y'); CREATE VIEW v AS SELECT a FROM t;
		CREATE SCHEMA mvs; CREATE TYPE mood AS ENUM ('sad', 'happy'); CREATE TABLE k (m mood, n numeric(10, 2)); INSERT INTO k VALUES ('happy', 1.5)`)
	const shown = "SELECT relname, relkind, relispopulated, relhasrules FROM pg_class WHERE relkind = 'm' ORDER BY relname"
	for _, sql := range []string{
		"CREATE MATERIALIZED VIEW m AS SELECT a, b FROM t", "CREATE MATERIALIZED VIEW m AS SELECT a FROM t", "CREATE MATERIALIZED VIEW IF NOT EXISTS m AS SELECT 1 AS o",
		"CREATE MATERIALIZED VIEW t AS SELECT 1 AS o", "CREATE MATERIALIZED VIEW n (x) AS SELECT a, b FROM t WITH NO DATA", "CREATE MATERIALIZED VIEW n2 (x, y, z) AS SELECT a, b FROM t",
		"CREATE MATERIALIZED VIEW n2 AS SELECT a, a FROM t", "CREATE MATERIALIZED VIEW n2 AS SELECT a FROM t WITH DATA", "CREATE OR REPLACE MATERIALIZED VIEW m AS SELECT 1 AS o",
		"CREATE TEMP MATERIALIZED VIEW z AS SELECT 1 AS o", "CREATE MATERIALIZED VIEW z AS EXECUTE q", "CREATE MATERIALIZED VIEW z", "CREATE MATERIALIZED VIEW z AS SELECT $1::int AS p",
		"CREATE MATERIALIZED VIEW z AS WITH w AS (DELETE FROM t RETURNING *) SELECT * FROM w", "CREATE MATERIALIZED VIEW z AS SELECT * FROM missing", "CREATE MATERIALIZED VIEW missing.z AS SELECT 1 AS o",
		"SELECT * FROM m ORDER BY a", "SELECT * FROM n", "SELECT count(*) FROM t, n", "SELECT count(*) FROM n", "SELECT x FROM n WHERE x = 1 LIMIT 0", "CREATE VIEW vn AS SELECT * FROM n", "SELECT * FROM vn",
		"CREATE TABLE ctn AS SELECT * FROM n WITH NO DATA", "CREATE TABLE ctn2 AS SELECT * FROM n", "INSERT INTO t SELECT x, b FROM n", "PREPARE p AS SELECT * FROM n", "EXECUTE p", "DEALLOCATE p",
		"CREATE MATERIALIZED VIEW mn AS SELECT * FROM n WITH NO DATA", "REFRESH MATERIALIZED VIEW mn", shown,
		"COPY n TO STDOUT", "COPY m TO STDOUT", "INSERT INTO m VALUES (1)", "INSERT INTO m SELECT * FROM t", "UPDATE m SET a = 1", "DELETE FROM m", "TRUNCATE m", "TRUNCATE t, m", "TRUNCATE v",
		"INSERT INTO m VALUES (1, 'x') ON CONFLICT DO NOTHING", "SELECT * FROM m FOR UPDATE", "SELECT * FROM t, m FOR SHARE OF m",
		"DROP TABLE m", "DROP VIEW m", "DROP MATERIALIZED VIEW t", "DROP MATERIALIZED VIEW v", "DROP MATERIALIZED VIEW nix", "DROP MATERIALIZED VIEW IF EXISTS nix", "DROP MATERIALIZED VIEW IF EXISTS t",
		"DROP SEQUENCE m", "CREATE TABLE m (a int)", "CREATE TABLE IF NOT EXISTS m (a int)", "CREATE TABLE l (LIKE m)", "SELECT * FROM l",
		"ALTER TABLE m ADD COLUMN c int", "ALTER TABLE m DROP COLUMN b", "ALTER TABLE m ALTER a SET NOT NULL", "ALTER TABLE m ALTER a TYPE bigint", "ALTER TABLE m ADD CONSTRAINT c CHECK (a > 0)",
		"ALTER TABLE m ADD PRIMARY KEY (a)", "ALTER TABLE m ALTER b SET DEFAULT 'q'", "ALTER TABLE m DROP CONSTRAINT foo", "ALTER TABLE m RENAME COLUMN a TO aa", "SELECT aa FROM m ORDER BY aa",
		"REFRESH MATERIALIZED VIEW m", "SELECT aa FROM m ORDER BY aa", "ALTER MATERIALIZED VIEW m RENAME COLUMN aa TO a", "ALTER MATERIALIZED VIEW m RENAME TO mm", "ALTER TABLE mm RENAME TO m",
		"ALTER MATERIALIZED VIEW t RENAME TO tt", "ALTER MATERIALIZED VIEW v RENAME TO tt", "ALTER MATERIALIZED VIEW IF EXISTS nix RENAME TO tt", "ALTER MATERIALIZED VIEW nix RENAME TO tt",
		"ALTER MATERIALIZED VIEW m SET SCHEMA mvs", "SELECT * FROM mvs.m ORDER BY a", "ALTER MATERIALIZED VIEW mvs.m SET SCHEMA sql_list", "ALTER MATERIALIZED VIEW v SET SCHEMA mvs",
		"REFRESH MATERIALIZED VIEW t", "REFRESH MATERIALIZED VIEW v", "REFRESH MATERIALIZED VIEW nix", "REFRESH TABLE t", "REFRESH MATERIALIZED VIEW m, n",
		"REFRESH MATERIALIZED VIEW CONCURRENTLY m", "REFRESH MATERIALIZED VIEW CONCURRENTLY m WITH NO DATA", "REFRESH MATERIALIZED VIEW CONCURRENTLY n", "CREATE UNIQUE INDEX mi ON m (a)",
		"REFRESH MATERIALIZED VIEW CONCURRENTLY m", "INSERT INTO t VALUES (3, 'z')", "SELECT * FROM m ORDER BY a", "REFRESH MATERIALIZED VIEW CONCURRENTLY m", "SELECT * FROM m ORDER BY a", shown,
		"SELECT indexdef FROM pg_indexes WHERE tablename = 'm'", "SELECT b FROM m WHERE a = 3", "DROP INDEX mi",
		"BEGIN", "DELETE FROM t WHERE a = 3", "REFRESH MATERIALIZED VIEW m WITH DATA", "SELECT * FROM m ORDER BY a", "ROLLBACK", "SELECT * FROM m ORDER BY a",
		"REFRESH MATERIALIZED VIEW m WITH NO DATA", "SELECT * FROM m", shown, "REFRESH MATERIALIZED VIEW m", "SELECT * FROM m ORDER BY a",
		"BEGIN READ ONLY", "REFRESH MATERIALIZED VIEW m", "ROLLBACK", "BEGIN READ ONLY", "CREATE MATERIALIZED VIEW y AS SELECT 1 AS o", "ROLLBACK",
		"BEGIN", "CREATE TABLE w (a int)", "INSERT INTO w VALUES (7)", "CREATE MATERIALIZED VIEW y AS SELECT * FROM w", "INSERT INTO w VALUES (8)", "REFRESH MATERIALIZED VIEW y", "SELECT * FROM y ORDER BY a", "COMMIT",
		"SELECT * FROM y ORDER BY a", "DROP TABLE w", "DROP TABLE w CASCADE", "SELECT * FROM y",
		"CREATE TEMP TABLE own (a int)", "CREATE MATERIALIZED VIEW y AS SELECT * FROM own", "REFRESH MATERIALIZED VIEW own",
		"COMMENT ON MATERIALIZED VIEW m IS 'c'", "COMMENT ON TABLE m IS 'c'", "COMMENT ON VIEW m IS 'c'", "COMMENT ON COLUMN m.b IS 'd'", "COMMENT ON MATERIALIZED VIEW t IS 'c'",
		"SELECT obj_description('m'::regclass), col_description('m'::regclass, 2)", "CREATE TABLE f (a int REFERENCES m (a))", "VACUUM m", "ANALYZE m",
		"CREATE MATERIALIZED VIEW s (one, two) AS SELECT *, a * 2 AS d FROM t", "ALTER TABLE t ADD COLUMN c int DEFAULT 5", "REFRESH MATERIALIZED VIEW s", "SELECT * FROM s ORDER BY one",
		"ALTER TABLE t RENAME a TO ab", "ALTER TABLE t RENAME TO t2", "INSERT INTO t2 VALUES (5, 'after')",
		"REFRESH MATERIALIZED VIEW s", "SELECT * FROM s ORDER BY one", "REFRESH MATERIALIZED VIEW m", "SELECT * FROM m ORDER BY a",
		"CREATE MATERIALIZED VIEW e AS SELECT m, n, m = 'happy' AS is, sum(n) OVER () AS total FROM k", "SELECT * FROM e", "ALTER TYPE mood RENAME VALUE 'happy' TO 'glad'", "SELECT * FROM e",
		"REFRESH MATERIALIZED VIEW e", "SELECT * FROM e", "DROP TYPE mood",
		"CREATE MATERIALIZED VIEW ag AS SELECT count(*), sum(ab) FROM t2", "SELECT * FROM ag", "CREATE VIEW va AS SELECT * FROM ag", "DROP MATERIALIZED VIEW ag", "SELECT * FROM va",
		"SELECT schemaname, matviewname, matviewowner, tablespace, hasindexes, ispopulated FROM pg_matviews ORDER BY 1, 2", "SELECT count(*) FROM information_schema.tables WHERE table_name = 'ag'",
		"SELECT count(*) FROM information_schema.columns WHERE table_name = 'ag'", "SELECT count(*) FROM pg_views WHERE viewname = 'ag'", "SELECT count(*) FROM pg_tables WHERE tablename = 'ag'",
		"SELECT rulename, ev_type, is_instead FROM pg_rewrite WHERE ev_class = 'ag'::regclass", "SELECT to_regclass('ag'), has_table_privilege('ag', 'select'), pg_get_viewdef('ag'::regclass) IS NOT NULL",
		"SELECT attname, format_type(atttypid, atttypmod) FROM pg_attribute WHERE attrelid = 'e'::regclass AND attnum BETWEEN 1 AND 3 ORDER BY attnum",
		"DROP MATERIALIZED VIEW ag, e CASCADE", "DROP MATERIALIZED VIEW mn, n2 RESTRICT", "SELECT * FROM ag", "ALTER MATERIALIZED VIEW m SET SCHEMA mvs", "DROP SCHEMA mvs", "DROP SCHEMA mvs CASCADE", "DROP TABLE t2 CASCADE", shown,
	} {
		ours, theirs := answerOf(t, w.ours.conn, sql, nil), answerOf(t, w.theirs.conn, sql, nil)
		if ours != theirs {
			t.Errorf("%s\n\tours:   %s\n\ttheirs: %s", sql, ours, theirs)
		}
	}
}

// TestPsqlShowsMaterializedViews: \dm and \d of PostgreSQL's own client.
func TestPsqlShowsMaterializedViews(t *testing.T) {
	psql, err := exec.LookPath("psql")
	if err != nil {
		t.Skip("psql is not installed")
	}
	w := newRoom(t, shared.dsn(), "CREATE TABLE t (a int, b text); CREATE MATERIALIZED VIEW m AS SELECT a + 1 AS k, b FROM t; CREATE UNIQUE INDEX mi ON m (k)")
	schema := answerOf(t, w.conn, "SELECT current_schema()", nil)
	schema = schema[strings.LastIndex(schema, "\n")+1:]
	said := func(command string) string {
		out, err := exec.CommandContext(t.Context(), psql, "-X", "-d", shared.dsn(), "-c", `SET search_path = "`+schema+`"`, "-c", command).CombinedOutput()
		require.NoError(t, err, "%s", out)
		return string(out)
	}
	require.Contains(t, said(`\dm`), "| m    | materialized view | postgres")
	described := said(`\d+ m`)
	for _, line := range []string{"Materialized view \"" + schema + ".m\"", " k      | integer |", "\"mi\" UNIQUE, btree (k)", "View definition:\n SELECT a + 1 AS k, b FROM", "Access method: heap"} {
		require.Contains(t, described, line)
	}
}
