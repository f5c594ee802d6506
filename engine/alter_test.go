package engine_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Chunks of before an ALTER TABLE answer with what the column was added with, those of after with their own.
func TestAlterColumns(t *testing.T) {
	t.Parallel()
	e := open(t)
	s := session(t, e)
	exec(t, s, "CREATE TABLE t AS SELECT i AS a, 'w' || i % 3 AS b FROM range(5) r(i)")
	exec(t, s, "ALTER TABLE t ADD COLUMN c int DEFAULT 7")
	require.Equal(t, []string{"0|w0|7", "1|w1|7", "2|w2|7", "3|w0|7", "4|w1|7"}, rows(t, s, "SELECT * FROM t ORDER BY a"))
	exec(t, s, "INSERT INTO t VALUES (5, 'x', 8); INSERT INTO t (a) VALUES (6); ALTER TABLE t ALTER COLUMN c SET DEFAULT 9; INSERT INTO t (a) VALUES (7)")
	require.Equal(t, []string{"0|w0|7", "5|x|8", "6|(null)|7", "7|(null)|9"}, rows(t, s, "SELECT * FROM t WHERE a IN (0, 5, 6, 7) ORDER BY a"))
	exec(t, s, "ALTER TABLE t ADD d text, ADD e text DEFAULT 'e', DROP COLUMN b")
	require.Equal(t, []string{"0|7|(null)|e", "7|9|(null)|e"}, rows(t, s, "SELECT * FROM t WHERE a IN (0, 7) ORDER BY a"))
	exec(t, s, "ALTER TABLE t ADD b int DEFAULT 1; ALTER TABLE t RENAME a TO k")
	require.Equal(t, []string{"0|7|(null)|e|1", "7|9|(null)|e|1"}, rows(t, s, "SELECT k, c, d, e, b FROM t WHERE k IN (0, 7) ORDER BY k"))
	require.Equal(t, []string{"8|8|0|e|e"}, rows(t, s, "SELECT count(*), sum(b), count(d), min(e), max(e) FROM t"))
	shown := "SELECT column_name || ' ' || data_type || ' ' || coalesce(column_default, '') FROM information_schema.columns WHERE table_name = 't' ORDER BY ordinal_position"
	require.Equal(t, []string{"k bigint ", "c integer 9", "d text ", "e text 'e'", "b integer 1"}, rows(t, s, shown))
	described := "SELECT column_names FROM (SHOW ALL TABLES) WHERE name = 't'"
	require.Equal(t, []string{`["k","c","d","e","b"]`}, rows(t, s, described))
	exec(t, s, "ALTER TABLE t DROP d, ALTER b DROP DEFAULT; ALTER TABLE t ADD d date")
	require.Equal(t, []string{`["k","c","e","b","d"]`}, rows(t, s, described))
	require.Equal(t, []string{"7|9|e|1|(null)"}, rows(t, s, "FROM t WHERE k = 7"))
	require.Equal(t, []string{"k bigint ", "c integer 9", "e text 'e'", "b integer ", "d date "}, rows(t, s, shown))
	require.Equal(t, []string{"k 1", "c 2", "e 3", "b 4", "d 5"}, rows(t, s, "SELECT attname || ' ' || attnum FROM pg_attribute WHERE attrelid = 't'::regclass AND attnum > 0 ORDER BY attnum"))
	exec(t, s, "UPDATE t SET b = k WHERE k = 3; DELETE FROM t WHERE c = 7 AND k < 3")
	require.Equal(t, []string{"3|3", "4|1", "5|1", "6|1", "7|1"}, rows(t, s, "SELECT k, b FROM t ORDER BY k"))
}

// What cannot be altered says why, in PostgreSQL's states, and leaves the table as it was.
func TestAlterationsThatCannotBe(t *testing.T) {
	t.Parallel()
	s := session(t, open(t))
	exec(t, s, `CREATE TABLE t (a int PRIMARY KEY, b text, c int CHECK (c > 0), d int, CHECK (c < d), CHECK (b <> 'no')); INSERT INTO t VALUES (1, 'x', 1, 2), (2, NULL, 1, 2);
		CREATE TABLE r (x int REFERENCES t (a)); CREATE VIEW v AS SELECT a, b FROM t; CREATE VIEW w AS SELECT a FROM v; CREATE TABLE alone (a int); CREATE TEMP TABLE own (a int);
		CREATE SCHEMA s; CREATE TABLE s.t (a int)`)
	before := rows(t, s, "SELECT * FROM t ORDER BY a")
	for _, c := range []struct{ sql, state, message string }{
		{"ALTER TABLE t ADD COLUMN b int", "42701", `column "b" of relation "t" already exists`},
		{"ALTER TABLE t ADD COLUMN n nosuch", "42704", ""},
		{"ALTER TABLE t ADD COLUMN n int NOT NULL", "23502", `column "n" of relation "t" contains null values`},
		{"ALTER TABLE t ADD COLUMN n int DEFAULT 3 CHECK (n > 5)", "23514", `check constraint "t_n_check" of relation "t" is violated by some row`},
		{"ALTER TABLE t ADD COLUMN n varchar(2) DEFAULT 'abc'", "22001", ""},
		{"ALTER TABLE t ADD COLUMN n int DEFAULT 'x'", "22P02", ""},
		{"ALTER TABLE t DROP COLUMN n", "42703", `column "n" of relation "t" does not exist`},
		{"ALTER TABLE t DROP COLUMN b", "2BP01", "cannot drop column b of table t because other objects depend on it"},
		{"ALTER TABLE t DROP COLUMN a", "2BP01", "cannot drop column a of table t because other objects depend on it"},
		{"ALTER TABLE alone DROP COLUMN a", "0A000", ""},
		{"ALTER TABLE t RENAME COLUMN n TO m", "42703", ""},
		{"ALTER TABLE t RENAME COLUMN a TO b", "42701", ""},
		{"ALTER TABLE t RENAME COLUMN a TO z, DROP COLUMN d", "0A000", ""},
		{"ALTER TABLE t ALTER COLUMN b SET NOT NULL", "23502", `column "b" of relation "t" contains null values`},
		{"ALTER TABLE t ALTER COLUMN a DROP NOT NULL", "42P16", `column "a" is in a primary key`},
		{"ALTER TABLE t ALTER COLUMN d TYPE text", "42P10", ""}, // c < d
		{"ALTER TABLE t ALTER COLUMN b TYPE varchar(3)", "0A000", "cannot alter type of a column used by a view or rule"},
		{"ALTER TABLE alone ALTER COLUMN a TYPE boolean", "42804", `column "a" cannot be cast automatically to type boolean`},
		{"ALTER TABLE t ADD COLUMN n int, DROP COLUMN nosuch", "42703", ""},
		{"ALTER TABLE t ADD COLUMN n int, ADD CHECK (n IS NOT NULL)", "23514", ""},
		{"ALTER TABLE own ADD COLUMN n int", "0A000", ""},
		{"ALTER TABLE v ADD COLUMN n int", "42809", ""},
		{"ALTER TABLE nosuch ADD COLUMN n int", "42P01", ""},
		{"ALTER TABLE t SET SCHEMA nosuch", "3F000", ""},
		{"ALTER TABLE t SET SCHEMA s", "42P07", ""},
		{"ALTER TABLE t RENAME COLUMN a TO a", "42701", ""},
		{"ALTER TABLE t ADD COLUMN n int GENERATED ALWAYS AS (a)", "0A000", ""},
	} {
		err := failing(s, c.sql)
		require.Error(t, err, c.sql)
		require.Equal(t, c.state, state(t, err), "%s: %v", c.sql, err)
		if c.message != "" {
			require.ErrorContains(t, err, c.message, c.sql)
		}
		require.Equal(t, before, rows(t, s, "SELECT * FROM t ORDER BY a"), c.sql)
	}
	exec(t, s, "ALTER TABLE IF EXISTS nosuch ADD COLUMN n int; ALTER TABLE t ADD COLUMN IF NOT EXISTS b int; ALTER TABLE t DROP COLUMN IF EXISTS n; ALTER TABLE t SET SCHEMA public")
	require.Equal(t, before, rows(t, s, "SELECT * FROM t ORDER BY a"))

	// Constraints go with what they read, and no others; the names in those that stay follow.
	constraints := "SELECT conname, pg_get_constraintdef(oid) FROM pg_constraint WHERE conrelid = 't'::regclass ORDER BY conname"
	exec(t, s, "ALTER TABLE t RENAME COLUMN c TO e; ALTER TABLE t RENAME a TO k")
	require.Equal(t, []string{"t_b_check|CHECK ((b <> 'no'))", "t_c_check|CHECK ((e > 0))", "t_check|CHECK ((e < d))", "t_pkey|PRIMARY KEY (k)"}, rows(t, s, constraints))
	require.Equal(t, []string{"FOREIGN KEY (x) REFERENCES t(k)"}, rows(t, s, "SELECT pg_get_constraintdef(oid) FROM pg_constraint WHERE conrelid = 'r'::regclass"))
	fails(t, s, "23514", "INSERT INTO t VALUES (3, 'y', 3, 2)")
	exec(t, s, "ALTER TABLE t DROP COLUMN d")
	require.Equal(t, []string{"t_b_check|CHECK ((b <> 'no'))", "t_c_check|CHECK ((e > 0))", "t_pkey|PRIMARY KEY (k)"}, rows(t, s, constraints))
	fails(t, s, "23514", "INSERT INTO t VALUES (3, 'y', 0)")
	exec(t, s, "ALTER TABLE t DROP COLUMN k CASCADE")
	require.Equal(t, []string{"x|1", "(null)|1"}, rows(t, s, "SELECT * FROM t ORDER BY b"))
	require.Empty(t, rows(t, s, "SELECT 1 FROM pg_constraint WHERE conrelid = 'r'::regclass"))
	require.Error(t, failing(s, "SELECT * FROM w"))
}

// A column that is dropped and added again is another one: it has no value, and no constraint, of the former. Rows that
// were deleted are held to nothing.
func TestAlterColumnsAgain(t *testing.T) {
	t.Parallel()
	s := session(t, open(t))
	exec(t, s, "CREATE TABLE t (a int CHECK (a < 3), b int UNIQUE, c int); INSERT INTO t VALUES (1, 1, 1), (2, 2, NULL), (2, 3, 3)")
	exec(t, s, "ALTER TABLE t DROP a, DROP b, ADD a int DEFAULT 9, ADD b int")
	require.Equal(t, []string{"1|9|(null)", "(null)|9|(null)", "3|9|(null)"}, rows(t, s, "SELECT * FROM t"))
	exec(t, s, "INSERT INTO t VALUES (4, 4, 4), (4, 4, 4); DELETE FROM t WHERE c IS NULL OR a = 4")
	exec(t, s, "ALTER TABLE t ALTER c SET NOT NULL")
	fails(t, s, "23502", "INSERT INTO t VALUES (NULL, 1, 1)")
	exec(t, s, "UPDATE t SET c = 5, b = c WHERE c = 3; VACUUM t")
	require.Equal(t, []string{"1|9|(null)", "5|9|3"}, rows(t, s, "SELECT * FROM t ORDER BY c"))
	fails(t, s, "23502", "ALTER TABLE t ADD d int NOT NULL")
	exec(t, s, "TRUNCATE t; ALTER TABLE t ADD d int NOT NULL; INSERT INTO t VALUES (1, 2, 3, 4)")
	require.Equal(t, []string{"1|2|3|4"}, rows(t, s, "SELECT * FROM t"))
}

// Chunks that are folded meanwhile are no conflict.
func TestAlterBesideFolds(t *testing.T) {
	t.Parallel()
	e := open(t)
	s, other := session(t, e), session(t, e)
	exec(t, s, "CREATE TABLE t (a int, b int); INSERT INTO t SELECT 1, 1; INSERT INTO t SELECT 2, 2; INSERT INTO t SELECT 3, 3")
	for i, alter := range []string{"ADD c int DEFAULT 7", "DROP a", "ALTER b TYPE bigint USING b * 10", "ALTER c SET NOT NULL"} {
		exec(t, s, "BEGIN; INSERT INTO t (b) SELECT 100; DELETE FROM t WHERE b = 100; INSERT INTO t (b) SELECT 4; ALTER TABLE t "+alter+"; DELETE FROM t WHERE b IN (4, 40)")
		exec(t, other, "VACUUM t")
		exec(t, s, "COMMIT; INSERT INTO t (b) SELECT 5; INSERT INTO t (b) SELECT 5")
		want := []string{"1|7", "2|7", "3|7"}
		if i >= 2 {
			want = []string{"10|7", "20|7", "30|7"}
		}
		require.Equal(t, want, rows(t, other, "SELECT b, c FROM t WHERE b NOT IN (5, 50) ORDER BY b"), alter)
	}
	require.Equal(t, []string{"8|24"}, rows(t, s, "SELECT count(*), count(*) FILTER (b = 50) * 6 FROM t WHERE b IN (5, 50)"))
}

// A view shows what it showed, whatever its table gets, loses or is called.
func TestViewsOfAlteredTables(t *testing.T) {
	t.Parallel()
	s := session(t, open(t))
	exec(t, s, `CREATE TABLE t AS SELECT 1 AS a, 'x' AS b; CREATE TABLE u AS SELECT 1 AS a, 2 AS c;
		CREATE VIEW everything AS SELECT * FROM t; CREATE VIEW aliased AS SELECT z.* FROM t AS z WHERE z.a = 1; CREATE VIEW joined AS SELECT * FROM t NATURAL JOIN u;
		CREATE VIEW named AS SELECT t.b, count(*) AS n FROM t GROUP BY t.b; CREATE VIEW whole AS SELECT t FROM t; CREATE VIEW twice AS SELECT x.a, y.b FROM t x, t y;
		CREATE VIEW over AS SELECT * FROM everything; CREATE VIEW outer_name AS SELECT (SELECT max(c) FROM t) AS m FROM u`)
	views := []string{"everything", "aliased", "joined", "named", "whole", "twice", "over", "outer_name"}
	shown := func() (list []string) {
		for _, v := range views {
			list = append(list, v+": "+rows(t, s, "SELECT * FROM "+v)[0])
		}
		return list
	}
	before := shown()
	for _, sql := range []string{
		"ALTER TABLE t ADD COLUMN c int DEFAULT 9", "ALTER TABLE t ADD COLUMN d int", "ALTER TABLE t RENAME COLUMN a TO k", "ALTER TABLE t RENAME b TO a",
		"ALTER TABLE t DROP COLUMN d", "ALTER TABLE t RENAME TO tt", "ALTER TABLE tt DROP COLUMN c", "ALTER TABLE tt RENAME a TO b",
	} {
		err := failing(s, sql)
		require.NoError(t, err, "%s: %s %v", sql, detailOf(err), rows(t, s, "SELECT view_name, sql FROM duckdb_views() WHERE NOT internal AND sql LIKE '%public.t%'"))
		require.Equal(t, before, shown(), sql)
	}
	fails(t, s, "2BP01", "ALTER TABLE tt DROP COLUMN k")
	exec(t, s, "CREATE SCHEMA aside; ALTER TABLE tt SET SCHEMA aside")
	require.Equal(t, before, shown())
	require.Equal(t, []string{"1|x"}, rows(t, s, "SELECT * FROM aside.tt"))
	exec(t, s, "ALTER TABLE aside.tt DROP COLUMN k CASCADE")
	for _, v := range []string{"everything", "over", "twice"} {
		require.Error(t, failing(s, "SELECT * FROM "+v))
	}
	require.Equal(t, []string{"x|1"}, rows(t, s, "SELECT * FROM named"))
}

// A volatile default is evaluated for each row, and other types are made by a query.
func TestRowsThatAreRewritten(t *testing.T) {
	t.Parallel()
	s := session(t, open(t))
	exec(t, s, "CREATE TABLE t AS SELECT i::int AS a, i::text AS b FROM range(1000) r(i); ALTER TABLE t ADD COLUMN c uuid DEFAULT gen_random_uuid()")
	require.Equal(t, []string{"1000|1000"}, rows(t, s, "SELECT count(*), count(DISTINCT c) FROM t"))
	fails(t, s, "42804", "ALTER TABLE t ALTER b TYPE int")
	exec(t, s, "ALTER TABLE t ALTER b TYPE int USING b::int + 1, ALTER a TYPE text, ADD d int DEFAULT 5")
	require.Equal(t, []string{"9|10|5"}, rows(t, s, "SELECT a, b, d FROM t WHERE a = '9'"))
	require.Equal(t, []string{"500500"}, rows(t, s, "SELECT sum(b) FROM t"))
	fails(t, s, "22003", "ALTER TABLE t ALTER b TYPE smallint USING b * 1000")
	fails(t, s, "22001", "ALTER TABLE t ALTER a TYPE varchar(2)")
	chunks := rows(t, s, "SELECT generation FROM csm.chunks WHERE name = 't' ORDER BY 1")
	exec(t, s, "ALTER TABLE t ALTER a TYPE varchar; ALTER TABLE t ALTER a TYPE text; ALTER TABLE t ALTER a SET NOT NULL; ALTER TABLE t ALTER a DROP NOT NULL; ALTER TABLE t ADD e int")
	require.Equal(t, chunks, rows(t, s, "SELECT generation FROM csm.chunks WHERE name = 't' ORDER BY 1"), "the rows stay where they are")
	exec(t, s, "ALTER TABLE t ALTER a TYPE varchar(3)")
	fails(t, s, "22001", "INSERT INTO t (a) VALUES ('abcd')")
	require.Equal(t, []string{"a|character varying|3", "b|integer|(null)", "c|uuid|(null)", "d|integer|(null)", "e|integer|(null)"},
		rows(t, s, "SELECT column_name, data_type, character_maximum_length FROM information_schema.columns WHERE table_name = 't' ORDER BY ordinal_position"))
}

// A plan that was made before is made again, or the statement fails because its result is another one.
func TestPlansOfAlteredTables(t *testing.T) {
	t.Parallel()
	e := open(t)
	s, other := session(t, e), session(t, e)
	exec(t, s, "CREATE TABLE t AS SELECT 1 AS a, 2 AS b; PREPARE one AS SELECT a FROM t; PREPARE every AS SELECT * FROM t; PREPARE put AS INSERT INTO t (a) VALUES (7)")
	require.Equal(t, []string{"1"}, rows(t, s, "EXECUTE one"))
	require.Equal(t, []string{"1|2"}, rows(t, s, "EXECUTE every"))
	exec(t, other, "ALTER TABLE t ADD COLUMN c int DEFAULT 3; ALTER TABLE t DROP COLUMN b")
	require.Equal(t, []string{"1"}, rows(t, s, "EXECUTE one"))
	exec(t, s, "EXECUTE put")
	require.Equal(t, []string{"1|3", "7|3"}, rows(t, s, "SELECT * FROM t ORDER BY a"))
	_, err := tryRows(s, "EXECUTE every")
	if err != nil {
		require.Equal(t, "0A000", state(t, err))
	}

	// Snapshots that began before read what they read; a transaction that writes after it fails.
	exec(t, s, "BEGIN ISOLATION LEVEL REPEATABLE READ")
	require.Equal(t, []string{"1|3", "7|3"}, rows(t, s, "SELECT * FROM t ORDER BY a"))
	exec(t, other, "ALTER TABLE t DROP COLUMN c; INSERT INTO t VALUES (8)")
	require.Equal(t, []string{"1|3", "7|3"}, rows(t, s, "SELECT * FROM t ORDER BY a"))
	exec(t, s, "INSERT INTO t VALUES (9, 9)")
	fails(t, s, "40001", "COMMIT")
	require.Equal(t, []string{"1", "7", "8"}, rows(t, s, "SELECT * FROM t ORDER BY a"))
	exec(t, s, "BEGIN; SELECT * FROM t")
	exec(t, other, "ALTER TABLE t ADD COLUMN d int DEFAULT 4")
	require.Equal(t, []string{"1|4", "7|4", "8|4"}, rows(t, s, "SELECT * FROM t ORDER BY a"), "each statement by itself")
	exec(t, s, "INSERT INTO t VALUES (9, 9); COMMIT; DELETE FROM t WHERE a = 9; ALTER TABLE t DROP COLUMN d")
}

// A key that foreign keys need goes with them, if CASCADE says so.
func TestKeysThatAreReferencedGoWithCascade(t *testing.T) {
	t.Parallel()
	s := session(t, open(t))
	exec(t, s, "CREATE TABLE t (a int, b int, up int, PRIMARY KEY (a, b), UNIQUE (a), FOREIGN KEY (up) REFERENCES t (a))")
	exec(t, s, "CREATE TABLE r (x int, y int, FOREIGN KEY (y, x) REFERENCES t (b, a))")
	foreign := "SELECT conname FROM pg_constraint WHERE contype = 'f' ORDER BY 1"
	fails(t, s, "2BP01", "ALTER TABLE t DROP CONSTRAINT t_pkey")
	fails(t, s, "2BP01", "ALTER TABLE t DROP CONSTRAINT t_a_key")
	exec(t, s, "ALTER TABLE t ADD CONSTRAINT again UNIQUE (a); ALTER TABLE t DROP CONSTRAINT again")
	require.Equal(t, []string{"r_y_x_fkey", "t_up_fkey"}, rows(t, s, foreign))
	exec(t, s, "ALTER TABLE t DROP CONSTRAINT t_pkey CASCADE")
	require.Equal(t, []string{"t_up_fkey"}, rows(t, s, foreign))
	exec(t, s, "ALTER TABLE t DROP CONSTRAINT t_a_key CASCADE")
	require.Empty(t, rows(t, s, foreign))
	exec(t, s, "INSERT INTO t VALUES (1, 1, 1), (1, 1, 1)")
}

// Keys are held over columns that come, go and change: of chunks that do not store a column, too.
func TestKeysOfAlteredTables(t *testing.T) {
	t.Parallel()
	s := session(t, open(t))
	exec(t, s, "CREATE TABLE t (a int PRIMARY KEY, b int); INSERT INTO t VALUES (1, 1), (2, 2); ALTER TABLE t ADD COLUMN c int DEFAULT 5")
	fails(t, s, "23505", "ALTER TABLE t ADD UNIQUE (c)")
	fails(t, s, "23505", "ALTER TABLE t ADD COLUMN d int DEFAULT 1 UNIQUE")
	exec(t, s, "ALTER TABLE t ADD COLUMN d int UNIQUE; ALTER TABLE t DROP COLUMN b; ALTER TABLE t RENAME a TO k")
	fails(t, s, "23505", "INSERT INTO t VALUES (2, 1, 1)")
	exec(t, s, "BEGIN; INSERT INTO t VALUES (3, 1, 1); ALTER TABLE t ADD COLUMN e int DEFAULT 8; INSERT INTO t VALUES (4, 1, 2, 9)")
	fails(t, s, "23505", "INSERT INTO t VALUES (5, 1, 1, 9)")
	exec(t, s, "ROLLBACK; BEGIN; INSERT INTO t VALUES (3, 1, 1); ALTER TABLE t ADD COLUMN e int DEFAULT 8; INSERT INTO t VALUES (4, 1, 2, 9); COMMIT")
	require.Equal(t, []string{"1|5|(null)|8", "2|5|(null)|8", "3|1|1|8", "4|1|2|9"}, rows(t, s, "SELECT * FROM t ORDER BY k"))
	fails(t, s, "23505", "ALTER TABLE t ALTER k TYPE int USING k % 2")
	exec(t, s, "ALTER TABLE t ALTER k TYPE bigint")
	fails(t, s, "23505", "INSERT INTO t VALUES (2, 1)")
}

// Views show what they showed when a view that they read gets other columns.
func TestViewsOfReplacedViews(t *testing.T) {
	t.Parallel()
	s := session(t, open(t))
	exec(t, s, `CREATE TABLE t AS SELECT 23 AS id, 'x' AS stuff; CREATE VIEW base AS SELECT * FROM t;
		CREATE VIEW starred AS SELECT *, 7 AS j FROM base;
		CREATE VIEW over AS SELECT s.*, base.id AS i FROM starred s JOIN base USING (id);
		CREATE VIEW whole AS SELECT base AS w FROM base; CREATE VIEW named AS SELECT base.stuff FROM base`)
	shown := func() (list []string) {
		for _, v := range []string{"starred", "over", "whole", "named"} {
			list = append(list, v+": "+rows(t, s, "SELECT * FROM "+v)[0])
		}
		return list
	}
	before := shown()
	for _, query := range []string{
		"SELECT *, 4 AS more FROM t", "SELECT stuff, id, 4 AS more FROM t", "SELECT 1 AS j, id, stuff FROM t",
		"SELECT id, stuff FROM t",
	} {
		exec(t, s, "CREATE OR REPLACE VIEW base AS "+query)
		require.Equal(t, before, shown(), query)
	}
	for _, query := range []string{
		"SELECT id FROM t", "SELECT id, 1 AS stuff FROM t", "SELECT id::BIGINT AS id, stuff FROM t",
	} {
		fails(t, s, "2BP01", "CREATE OR REPLACE VIEW base AS "+query)
		require.Equal(t, before, shown(), query)
	}
	exec(t, s, "DROP VIEW starred CASCADE; DROP VIEW named, whole; CREATE OR REPLACE VIEW base AS SELECT 1 AS one")
	require.Equal(t, []string{"1"}, rows(t, s, "SELECT * FROM base"))
}
