package engine_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/engine"
)

// A table is what it was, without a byte copied; its versions, also later ones, are there as before.
func TestTablesAreRestored(t *testing.T) {
	e := open(t)
	s := session(t, e)
	exec(t, s, "CREATE TABLE t (a int PRIMARY KEY, b text) WITH (retained_versions = 50)")
	exec(t, s, "INSERT INTO t VALUES (1, 'x'), (2, 'y'), (3, 'z')") // 2
	places := "SELECT position, generation FROM csm.chunks WHERE name = 't'"
	lie := rows(t, s, places)
	exec(t, s, "UPDATE t SET b = 'u' WHERE a = 2") // 3
	exec(t, s, "DELETE FROM t WHERE a = 1")        // 4
	at := rows(t, s, "SELECT committed_at::text FROM csm.versions WHERE name = 't' AND version = 3")[0]
	exec(t, s, "TRUNCATE t") // 5
	exec(t, s, "ALTER TABLE t RESTORE TO (VERSION => 2)")
	require.Equal(t, []string{"1|x", "2|y", "3|z"}, rows(t, s, "SELECT * FROM t ORDER BY a"))
	require.Equal(t, lie, rows(t, s, places), "no byte is copied")
	exec(t, s, "ALTER TABLE public.t RESTORE TO (TIMESTAMP => '"+at+"')")
	require.Equal(t, []string{"1|x", "2|u", "3|z"}, rows(t, s, "SELECT * FROM t ORDER BY a"))
	exec(t, s, "ALTER TABLE t RESTORE TO (VERSION => 5)")
	require.Empty(t, rows(t, s, "SELECT * FROM t"))
	require.Equal(t, []string{"restore", "restore", "restore"},
		rows(t, s, "SELECT cause FROM csm.versions WHERE name = 't' AND version > 5 ORDER BY version"))
	exec(t, s, "ALTER TABLE IF EXISTS t RESTORE TO (VERSION => 4)")
	_, err := s.Exec(t.Context(), "INSERT INTO t VALUES (3, 'again')")
	requireRefused(t, "23505", err)
	exec(t, s, "INSERT INTO t VALUES (4, 'new')")
	require.Equal(t, []string{"2|u"}, rows(t, s, "SELECT * FROM t WHERE a = 2"), "found by its key")
	require.Equal(t, []string{"3"}, rows(t, s, "SELECT count(*) FROM t"))
	exec(t, s, "ALTER TABLE IF EXISTS missing RESTORE TO (VERSION => 4)")
}

// What is not to be had is refused by name, and changes nothing.
func TestRestoringIsRefused(t *testing.T) {
	e := open(t)
	s := session(t, e)
	exec(t, s, "CREATE TABLE t WITH (retained_versions = 2) AS SELECT 1 AS a")
	exec(t, s, "CREATE TABLE none AS SELECT 1 AS a")
	exec(t, s, "CREATE VIEW v AS SELECT 1 AS a")
	exec(t, s, "CREATE TEMP TABLE own AS SELECT 1 AS a")
	for range 4 {
		exec(t, s, "INSERT INTO t VALUES (1)")
		exec(t, s, "INSERT INTO none VALUES (1)")
	}
	for text, state := range map[string]string{
		"t RESTORE TO (VERSION => 2)":                "72000",
		"t RESTORE TO (VERSION => 6)":                "22023",
		"t RESTORE TO (VERSION => 0)":                "0A000",
		"t RESTORE TO (VERSION => 1 + 1)":            "42601",
		"t RESTORE TO (TIMESTAMP => now())":          "0A000",
		"t RESTORE TO (TIMESTAMP => 'soon')":         "22007",
		"t RESTORE TO (TIMESTAMP => '2020-01-01')":   "72000",
		"t RESTORE TO VERSION 4":                     "0A000",
		"none RESTORE TO (VERSION => 4)":             "72000",
		"v RESTORE TO (VERSION => 1)":                "42809",
		"own RESTORE TO (VERSION => 1)":              "0A000",
		"missing RESTORE TO (VERSION => 1)":          "42P01",
		"csm_past.\"t@4\" RESTORE TO (VERSION => 4)": "0A000",
	} {
		_, err := s.Exec(t.Context(), "ALTER TABLE "+text)
		require.Error(t, err, text)
		requireRefused(t, state, err)
	}
	exec(t, s, "BEGIN")
	exec(t, s, "CREATE TABLE made WITH (retained_versions = 9) AS SELECT 1 AS a")
	_, err := s.Exec(t.Context(), "ALTER TABLE made RESTORE TO (VERSION => 1)")
	requireRefused(t, "22023", err)
	exec(t, s, "ROLLBACK")
	require.Equal(t, []string{"5"}, rows(t, s, "SELECT count(*) FROM t"))
}

// In a block, and behind savepoints, a table is restored and changed again; no other session sees it before COMMIT.
func TestRestoringInABlock(t *testing.T) {
	e := open(t)
	s, other := session(t, e), session(t, e)
	exec(t, s, "CREATE TABLE t (a int PRIMARY KEY) WITH (retained_versions = 50)")
	exec(t, s, "INSERT INTO t VALUES (1), (2)") // 2
	exec(t, s, "DELETE FROM t")                 // 3
	exec(t, s, "BEGIN")
	exec(t, s, "INSERT INTO t VALUES (7)")
	exec(t, s, "ALTER TABLE t RESTORE TO (VERSION => 2)")
	require.Equal(t, []string{"1", "2"}, rows(t, s, "SELECT a FROM t ORDER BY a"))
	exec(t, s, "SAVEPOINT p")
	_, err := s.Exec(t.Context(), "INSERT INTO t VALUES (2)")
	requireRefused(t, "23505", err)
	exec(t, s, "ROLLBACK TO p")
	exec(t, s, "ALTER TABLE t RESTORE TO (VERSION => 1)")
	require.Empty(t, rows(t, s, "SELECT a FROM t"))
	exec(t, s, "ROLLBACK TO p")
	exec(t, s, "INSERT INTO t VALUES (3)")
	exec(t, s, "DELETE FROM t WHERE a = 1")
	require.Empty(t, rows(t, other, "SELECT a FROM t"))
	exec(t, s, "COMMIT")
	require.Equal(t, []string{"2", "3"}, rows(t, other, "SELECT a FROM t ORDER BY a"))
	exec(t, s, "BEGIN")
	exec(t, s, "DELETE FROM t")
	exec(t, s, "ALTER TABLE t RESTORE TO (VERSION => 4)") // the present one: what the block did is undone
	exec(t, s, "COMMIT")
	require.Equal(t, []string{"2", "3"}, rows(t, s, "SELECT a FROM t ORDER BY a"))
}

// A commit between: alone, the statement is repeated; in a block that has one snapshot it is 40001.
func TestRestoringMeetsOthers(t *testing.T) {
	e := open(t)
	s, other := session(t, e), session(t, e)
	exec(t, s, "CREATE TABLE t (a int) WITH (retained_versions = 50)")
	exec(t, s, "INSERT INTO t VALUES (1)") // 2
	exec(t, s, "BEGIN ISOLATION LEVEL REPEATABLE READ")
	exec(t, s, "ALTER TABLE t RESTORE TO (VERSION => 1)")
	exec(t, other, "INSERT INTO t VALUES (2)")
	_, err := s.Exec(t.Context(), "COMMIT")
	requireRefused(t, "40001", err)
	require.Equal(t, []string{"1", "2"}, rows(t, s, "SELECT a FROM t ORDER BY a"))
	exec(t, s, "BEGIN")
	exec(t, s, "SELECT 1")
	exec(t, other, "INSERT INTO t VALUES (3)") // 4
	exec(t, s, "ALTER TABLE t RESTORE TO (VERSION => 3)")
	exec(t, s, "COMMIT")
	require.Equal(t, []string{"1", "2"}, rows(t, other, "SELECT a FROM t ORDER BY a"))
	exec(t, s, "BEGIN")
	exec(t, s, "ALTER TABLE t RESTORE TO (VERSION => 1)")
	exec(t, other, "ALTER TABLE t RESET (retained_versions)")
	exec(t, other, "VACUUM")
	_, err = s.Exec(t.Context(), "COMMIT")
	requireRefused(t, "40001", err)
	require.Equal(t, []string{"2"}, rows(t, s, "SELECT count(*) FROM t"))
}

// Rows that come back are held to what is declared now: checks, keys, NOT NULL and foreign keys of both sides; and are
// found by indexes that were made since.
func TestRestoredRowsKeepPromises(t *testing.T) {
	t.Parallel()
	e := open(t)
	s := session(t, e)
	exec(t, s, "CREATE TABLE p (k int PRIMARY KEY) WITH (retained_versions = 50)")
	exec(t, s, "INSERT INTO p VALUES (1), (2)") // 2
	exec(t, s, "CREATE TABLE t (a int, b int) WITH (retained_versions = 50)")
	exec(t, s, "INSERT INTO t VALUES (1, -1), (NULL, 1), (2, 2), (2, 3), (9, 9)") // 2
	exec(t, s, "DELETE FROM t WHERE a IS NULL OR b IN (-1, 3, 9)")                // 3
	for declaration, state := range map[string]string{
		"ADD CONSTRAINT x CHECK (b > 0)":                         "23514",
		"ALTER a SET NOT NULL":                                   "23502",
		"ADD CONSTRAINT x UNIQUE (a)":                            "23505",
		"ADD CONSTRAINT x FOREIGN KEY (a) REFERENCES p":          "23503",
		"ADD CONSTRAINT x CHECK (a <> 9), ALTER b SET DEFAULT 4": "23514",
	} {
		exec(t, s, "ALTER TABLE t "+declaration)
		_, err := s.Exec(t.Context(), "ALTER TABLE t RESTORE TO (VERSION => 2)")
		require.Error(t, err, declaration)
		requireRefused(t, state, err)
		exec(t, s, "BEGIN") // also rows that come back to a version that was restored just now
		exec(t, s, "ALTER TABLE t RESTORE TO (VERSION => 3)")
		_, err = s.Exec(t.Context(), "ALTER TABLE t RESTORE TO (VERSION => 2)")
		requireRefused(t, state, err)
		exec(t, s, "ROLLBACK")
		exec(t, s, "ALTER TABLE t ALTER a DROP NOT NULL, DROP CONSTRAINT IF EXISTS x")
	}
	exec(t, s, "CREATE INDEX i ON t (b)")
	exec(t, s, "COMMENT ON TABLE t IS 'said'")
	exec(t, s, "ALTER TABLE t RESTORE TO (VERSION => 2)")
	require.Equal(t, []string{"5|said|i|4"}, rows(t, s, "SELECT count(*), obj_description('t'::regclass, 'pg_class'), "+
		"(SELECT indexname FROM pg_indexes WHERE tablename = 't'), (SELECT column_default FROM information_schema.columns "+
		"WHERE table_name = 't' AND column_name = 'b') FROM t"), "what is declared stays")
	exec(t, s, "CREATE TABLE c (x int REFERENCES p ON DELETE CASCADE)")
	exec(t, s, "INSERT INTO c VALUES (2)")
	_, err := s.Exec(t.Context(), "ALTER TABLE p RESTORE TO (VERSION => 1)")
	requireRefused(t, "23503", err)
	exec(t, s, "DELETE FROM c")
	exec(t, s, "ALTER TABLE p RESTORE TO (VERSION => 1)")
	require.Empty(t, rows(t, s, "SELECT * FROM p"))
	_, err = s.Exec(t.Context(), "INSERT INTO c VALUES (2)")
	requireRefused(t, "23503", err)
	exec(t, s, "ALTER TABLE p RESTORE TO (VERSION => 2)")
	exec(t, s, "INSERT INTO c VALUES (2)")
}

// Columns that were altered are what they were, with what was declared of them, unless something means those of now.
func TestAlteredTablesAreRestored(t *testing.T) {
	t.Parallel()
	e := open(t)
	s := session(t, e)
	exec(t, s, "CREATE TYPE mood AS ENUM ('sad', 'ok')")
	exec(t, s, "CREATE TABLE t (a int PRIMARY KEY, b text DEFAULT 'd', m mood, CHECK (b <> 'no')) WITH (retained_versions = 50)")
	exec(t, s, "INSERT INTO t VALUES (1, 'x', 'ok')") // 2
	exec(t, s, "ALTER TABLE t ADD COLUMN c int DEFAULT 7")
	exec(t, s, "ALTER TABLE t DROP COLUMN b")
	exec(t, s, "ALTER TABLE t RENAME a TO z")
	exec(t, s, "ALTER TYPE mood ADD VALUE 'happy'")
	exec(t, s, "INSERT INTO t VALUES (2, 'happy', 3)")
	now := versionsOf(t, s, "t")
	exec(t, s, "CREATE VIEW v AS SELECT z FROM t")
	_, err := s.Exec(t.Context(), "ALTER TABLE t RESTORE TO (VERSION => 2)")
	requireRefused(t, "0A000", err)
	require.ErrorContains(t, err, "view v reads it")
	exec(t, s, "DROP VIEW v")
	exec(t, s, "CREATE TABLE r (z int REFERENCES t)")
	_, err = s.Exec(t.Context(), "ALTER TABLE t RESTORE TO (VERSION => 2)")
	requireRefused(t, "0A000", err)
	exec(t, s, "DROP TABLE r")
	exec(t, s, "ALTER TABLE t RESTORE TO (VERSION => 2)")
	exec(t, s, "INSERT INTO t (a, m) VALUES (2, 'happy')")
	require.Equal(t, []string{"1|x|ok", "2|d|happy"}, rows(t, s, "SELECT * FROM t WHERE m > 'sad' ORDER BY a"))
	_, err = s.Exec(t.Context(), "INSERT INTO t VALUES (3, 'no', 'ok')")
	requireRefused(t, "23514", err)
	_, err = s.Exec(t.Context(), "INSERT INTO t VALUES (2, 'x', 'ok')")
	requireRefused(t, "23505", err)
	exec(t, s, "ALTER TABLE t RESTORE TO (VERSION => "+now[len(now)-1]+")")
	require.Equal(t, []string{"1|ok|7", "2|happy|3"}, rows(t, s, "SELECT * FROM t ORDER BY z"))
	exec(t, s, "ALTER TABLE t ADD COLUMN e int DEFAULT 5") // its number is no other column's
	require.Equal(t, []string{"1|ok|7|5", "2|happy|3|5"}, rows(t, s, "SELECT * FROM t ORDER BY z"))

	for _, types := range [][2]string{{"varchar(10)", "varchar(3)"}, {"text", "varchar(3)"}, {"varchar(10)", "char(3)"}} {
		exec(t, s, "CREATE TABLE l (a "+types[0]+") WITH (retained_versions = 50)")
		exec(t, s, "INSERT INTO l VALUES ('abcdefghij')") // 2
		exec(t, s, "DELETE FROM l")
		exec(t, s, "ALTER TABLE l ALTER a TYPE "+types[1])
		exec(t, s, "ALTER TABLE l RESTORE TO (VERSION => 2)")
		require.Equal(t, []string{"abcdefghij"}, rows(t, s, "SELECT a FROM l"), types)
		exec(t, s, "INSERT INTO l VALUES ('0123456789')") // it is as wide as it was
		exec(t, s, "DROP TABLE l")
	}

	exec(t, s, "CREATE TABLE q (a serial, b int GENERATED ALWAYS AS IDENTITY, c int) WITH (retained_versions = 50)")
	exec(t, s, "INSERT INTO q (c) VALUES (1)") // 2
	exec(t, s, "ALTER TABLE q ADD COLUMN d int")
	exec(t, s, "ALTER TABLE q RESTORE TO (VERSION => 2)")
	exec(t, s, "INSERT INTO q (c) VALUES (2)")
	require.Equal(t, []string{"1|1|1", "2|2|2"}, rows(t, s, "SELECT * FROM q ORDER BY a"), "what has counted is not counted again")
	exec(t, s, "ALTER TABLE q DROP COLUMN a")
	_, err = s.Exec(t.Context(), "ALTER TABLE q RESTORE TO (VERSION => 2)")
	requireRefused(t, "0A000", err)
	require.ErrorContains(t, err, "the sequence of column a is gone")
}

// Random changes and restorations, on three nodes and over restarts: rows are those of the versions that are meant, and
// in the end every byte comes back.
func TestRestoringInACluster(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 3)
	rng := rand.New(rand.NewPCG(3, 9))
	s := c.session(0)
	exec(t, s, "CREATE TABLE t (a bigint, b bigint) WITH (placement = 'rows', retained_versions = 8)")
	shown := func(s *engine.Session) string {
		return rows(t, s, "SELECT count(*), sum(a * 31 + b)::bigint FROM t")[0]
	}
	var words string
	for i := range 60 {
		s := c.session(rng.IntN(3))
		list := versionsOf(t, s, "t")
		if i%3 == 2 {
			version := list[rng.IntN(len(list))]
			words = rows(t, s, "SELECT count(*), sum(a * 31 + b)::bigint FROM t AT (VERSION => "+version+")")[0]
			exec(t, s, "ALTER TABLE t RESTORE TO (VERSION => "+version+")")
		} else {
			exec(t, s, fmt.Sprintf([]string{
				"INSERT INTO t SELECT i, %[1]d FROM range(%[1]d) r(i)", "DELETE FROM t WHERE a %% 7 = %[1]d %% 7",
				"UPDATE t SET b = b + 1 WHERE a %% 5 = %[1]d %% 5",
			}[rng.IntN(3)], 1+rng.IntN(3000)))
			words = shown(s)
		}
		if i == 30 {
			c.stop(2)
			c.nodes[2] = c.open(2)
		}
		require.Equal(t, words, shown(c.session(rng.IntN(3))), "step %d", i)
	}
	exec(t, s, "DROP TABLE t")
	exec(t, s, "VACUUM")
	for i := range 3 {
		require.Eventually(t, func() bool {
			return len(rows(t, c.session(i), "SELECT * FROM csm.holders")) == 0
		}, 20*time.Second, 20*time.Millisecond, "every byte of node %d comes back", i)
	}
}
