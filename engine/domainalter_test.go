package engine_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/engine"
)

// ALTER DOMAIN changes what is checked when rows are written, in all columns of the domain, and checks the present
// rows.
func TestAlterDomain(t *testing.T) {
	t.Parallel()
	e := open(t, func(c *engine.Config) { c.Dialect = engine.DialectPostgres })
	s := session(t, e)
	exec(t, s, "CREATE DOMAIN d AS int CHECK (VALUE < 100); CREATE TYPE mood AS ENUM ('a')")
	exec(t, s, "CREATE TABLE t (i int, a d); CREATE TABLE u (b d, c d DEFAULT 7, w text)")
	exec(t, s, "INSERT INTO t VALUES (1, 5), (2, NULL); INSERT INTO u VALUES (1, 2, 'x')")
	refused := func(text, state, words string) {
		t.Helper()
		_, err := s.Exec(t.Context(), text)
		require.EqualError(t, err, words, text)
		requireRefused(t, state, err)
	}
	require.Equal(t, "ALTER DOMAIN", exec(t, s, "ALTER DOMAIN d SET DEFAULT 3").Tag)
	exec(t, s, "INSERT INTO t (i) VALUES (3); INSERT INTO u (w) VALUES ('y')")
	require.Equal(t, []string{"3"}, rows(t, s, "SELECT a FROM t WHERE i = 3"))
	require.Equal(t, []string{"3|7"}, rows(t, s, "SELECT b, c FROM u WHERE w = 'y'"))
	exec(t, s, "ALTER DOMAIN d DROP DEFAULT")
	exec(t, s, "INSERT INTO u (w) VALUES ('z')")
	require.Equal(t, []string{"(null)|7"}, rows(t, s, "SELECT b, c FROM u WHERE w = 'z'"))

	refused("ALTER DOMAIN d SET NOT NULL", "23502", `column "a" of table "t" contains null values`)
	exec(t, s, "DELETE FROM t WHERE a IS NULL; DELETE FROM u WHERE w = 'z'")
	exec(t, s, "ALTER DOMAIN d SET NOT NULL")
	exec(t, s, "ALTER DOMAIN d SET NOT NULL")
	refused("INSERT INTO t VALUES (4, NULL)", "23502", "domain d does not allow null values")
	refused("SELECT NULL::d", "23502", "domain d does not allow null values")
	exec(t, s, "ALTER DOMAIN d DROP NOT NULL")
	exec(t, s, "INSERT INTO t VALUES (4, NULL)")

	refused("ALTER DOMAIN d ADD CHECK (VALUE > 1)", "23514", `column "b" of table "u" contains values that violate the new constraint`)
	exec(t, s, "INSERT INTO u (b) VALUES (1)")
	exec(t, s, "ALTER DOMAIN d ADD CONSTRAINT above CHECK (VALUE > 1) NOT VALID")
	refused("INSERT INTO u (b) VALUES (1)", "23514", `value for domain d violates check constraint "above"`)
	refused("SELECT 1::d", "23514", `value for domain d violates check constraint "above"`)
	require.Equal(t, []string{"CHECK ((VALUE > 1)) NOT VALID|false", "CHECK ((VALUE < 100))|true"},
		rows(t, s, "SELECT pg_get_constraintdef(oid), convalidated FROM pg_constraint WHERE contypid = 'd'::regtype ORDER BY conname"))
	refused("ALTER DOMAIN d VALIDATE CONSTRAINT above", "23514", `column "b" of table "u" contains values that violate the new constraint`)
	exec(t, s, "DELETE FROM u WHERE b = 1; ALTER DOMAIN d VALIDATE CONSTRAINT above")
	require.Equal(t, []string{"true"}, rows(t, s, "SELECT bool_and(convalidated) FROM pg_constraint WHERE contypid = 'd'::regtype"))
	exec(t, s, "ALTER DOMAIN d RENAME CONSTRAINT above TO beyond")
	refused("INSERT INTO u (b) VALUES (1)", "23514", `value for domain d violates check constraint "beyond"`)
	exec(t, s, "ALTER DOMAIN d DROP CONSTRAINT beyond CASCADE")
	exec(t, s, "INSERT INTO u (b) VALUES (1); ALTER DOMAIN d DROP CONSTRAINT IF EXISTS beyond RESTRICT")

	exec(t, s, "ALTER DOMAIN d RENAME TO e")
	refused("INSERT INTO u (b) VALUES (100)", "23514", `value for domain e violates check constraint "d_check"`)
	require.Equal(t, []string{"5"}, rows(t, s, "SELECT 5::e"))
	exec(t, s, "CREATE SCHEMA other; ALTER DOMAIN e SET SCHEMA other")
	require.Equal(t, []string{"5"}, rows(t, s, "SELECT 5::other.e"))
	exec(t, s, "ALTER TYPE other.e RENAME TO d; ALTER DOMAIN other.d SET SCHEMA public")
	exec(t, s, "COMMENT ON CONSTRAINT d_check ON DOMAIN d IS 'small'")
	require.Equal(t, []string{"small"}, rows(t, s, "SELECT obj_description(oid, 'pg_constraint') FROM pg_constraint WHERE conname = 'd_check'"))

	for _, c := range [][3]string{
		{"ALTER DOMAIN nix SET NOT NULL", "42704", `type "nix" does not exist`},
		{"ALTER DOMAIN mood SET NOT NULL", "42809", "mood is not a domain"},
		{"ALTER DOMAIN mood RENAME TO m", "42809", "mood is not a domain"},
		{"ALTER DOMAIN mood SET SCHEMA other", "42809", "mood is not a domain"},
		{"ALTER DOMAIN d RENAME TO mood", "42710", `type "mood" already exists`},
		{"ALTER DOMAIN d DROP CONSTRAINT nix", "42704", `constraint "nix" of domain "d" does not exist`},
		{"ALTER DOMAIN d VALIDATE CONSTRAINT nix", "42704", `constraint "nix" of domain "d" does not exist`},
		{"ALTER DOMAIN d RENAME CONSTRAINT nix TO k", "42704", `constraint "nix" for domain d does not exist`},
		{"ALTER DOMAIN d RENAME CONSTRAINT d_check TO d_check", "42710", `constraint "d_check" for domain d already exists`},
		{"ALTER DOMAIN d ADD CONSTRAINT d_check CHECK (VALUE > 0)", "42710", `constraint "d_check" for domain "d" already exists`},
		{"ALTER DOMAIN d ADD UNIQUE (a)", "42601", `syntax error at or near "UNIQUE"`},
		{"COMMENT ON CONSTRAINT nix ON DOMAIN d IS 'x'", "42704", `constraint "nix" for domain d does not exist`},
	} {
		refused(c[0], c[1], c[2])
	}
	for text, want := range map[string]string{
		"ALTER DOMAIN d ADD CHECK (VALUE > x)":         "42703",
		"ALTER DOMAIN d ADD CHECK (VALUE + 1)":         "42804",
		"ALTER DOMAIN d SET DEFAULT 'x'":               "22P02",
		"ALTER DOMAIN d SET DEFAULT 1::d":              "0A000",
		"ALTER DOMAIN d ADD CHECK (VALUE::mood = 'a')": "0A000",
		"ALTER DOMAIN d OWNER TO somebody":             "0A000",
		"ALTER DOMAIN IF EXISTS d SET NOT NULL":        "0A000",
		"ALTER DOMAIN d":                               "42601",
		"ALTER DOMAIN d RENAME CONSTRAINT d_check":     "42601",
		"ALTER DOMAIN d ADD COLUMN a int":              "0A000",
		"ALTER DOMAIN d SET NOT NULL, DROP DEFAULT":    "42601",
		"ALTER TABLE t RENAME CONSTRAINT a TO b":       "0A000",
	} {
		_, err := s.Exec(t.Context(), text)
		requireRefused(t, want, err)
	}
}

// ALTER DOMAIN is a part of its transaction, and of its savepoints.
func TestAlterDomainInTransactions(t *testing.T) {
	e := open(t, func(c *engine.Config) { c.Dialect = engine.DialectPostgres })
	s, other := session(t, e), session(t, e)
	exec(t, s, "CREATE DOMAIN d AS int; CREATE TABLE t (a d)")
	insert := func(s *engine.Session, value int) error {
		_, err := s.Exec(t.Context(), fmt.Sprintf("INSERT INTO t VALUES (%d)", value))
		return err
	}
	exec(t, s, "BEGIN; ALTER DOMAIN d ADD CONSTRAINT k CHECK (VALUE > 0)")
	requireRefused(t, "23514", insert(s, 0))
	exec(t, s, "ROLLBACK")
	require.NoError(t, insert(s, 0))
	exec(t, s, "BEGIN; DELETE FROM t; ALTER DOMAIN d ADD CONSTRAINT k CHECK (VALUE > 0); SAVEPOINT a; ALTER DOMAIN d DROP CONSTRAINT k")
	require.NoError(t, insert(s, -1))
	exec(t, s, "ROLLBACK TO a")
	require.Equal(t, []string{"1"}, rows(t, s, "SELECT 1::d"))
	require.Equal(t, []string{"0"}, rows(t, other, "SELECT 0::d"))
	exec(t, s, "COMMIT")
	requireRefused(t, "23514", insert(other, 0))
	_, err := other.Exec(t.Context(), "SELECT 0::d")
	requireRefused(t, "23514", err)
	exec(t, s, "ALTER DOMAIN d DROP CONSTRAINT k")
	// A block that has written what the domain does not allow by then does not commit.
	exec(t, other, "BEGIN")
	require.NoError(t, insert(other, -5))
	exec(t, s, "ALTER DOMAIN d ADD CONSTRAINT k CHECK (VALUE > -5)")
	_, err = other.Exec(t.Context(), "COMMIT")
	require.Error(t, err)
	require.Empty(t, rows(t, s, "SELECT * FROM t WHERE a <= -5"))
	// The other way round: what was committed first is looked at.
	exec(t, s, "ALTER DOMAIN d DROP CONSTRAINT k; BEGIN; ALTER DOMAIN d ADD CONSTRAINT k CHECK (VALUE > -5)")
	require.NoError(t, insert(other, -5))
	_, err = s.Exec(t.Context(), "COMMIT")
	require.Error(t, err)
	// A table that another session makes of the domain meanwhile has all of its checks, or is not made.
	exec(t, s, "BEGIN; DELETE FROM t; ALTER DOMAIN d ADD CONSTRAINT k CHECK (VALUE > -5)")
	exec(t, other, "CREATE TABLE u (a d)")
	_, err = s.Exec(t.Context(), "COMMIT")
	require.Error(t, err)
	exec(t, other, "BEGIN; CREATE TABLE w (a d)")
	exec(t, s, "DELETE FROM t; ALTER DOMAIN d ADD CONSTRAINT k CHECK (VALUE > -5)")
	_, err = other.Exec(t.Context(), "COMMIT")
	require.Error(t, err)
	_, err = other.Exec(t.Context(), "INSERT INTO u VALUES (-5)")
	requireRefused(t, "23514", err)
}

// A former version of a table of a domain that was altered since does not come back with what it was.
func TestFormerVersionsOfAlteredDomains(t *testing.T) {
	s := session(t, open(t, func(c *engine.Config) { c.Dialect = engine.DialectPostgres }))
	exec(t, s, "CREATE DOMAIN d AS int; CREATE TABLE t (a d, b int) WITH (retention = '1 day')")
	exec(t, s, "INSERT INTO t VALUES (0, 1)")
	version := rows(t, s, "SELECT max(version) FROM csm.versions WHERE name = 't'")[0]
	exec(t, s, "TRUNCATE t")
	exec(t, s, "CREATE TABLE c CLONE t AT (VERSION => "+version+")")
	exec(t, s, "DROP TABLE c")
	exec(t, s, "ALTER DOMAIN d ADD CONSTRAINT k CHECK (VALUE > 0)")
	_, err := s.Exec(t.Context(), "CREATE TABLE c CLONE t AT (VERSION => "+version+")")
	requireRefused(t, "0A000", err)
	_, err = s.Exec(t.Context(), "ALTER TABLE t RESTORE TO (VERSION => "+version+")")
	requireRefused(t, "23514", err)
	exec(t, s, "ALTER TABLE t DROP COLUMN b")
	_, err = s.Exec(t.Context(), "ALTER TABLE t RESTORE TO (VERSION => "+version+")")
	requireRefused(t, "0A000", err)
	require.ErrorContains(t, err, "the domain of column a has been altered")
	exec(t, s, "ALTER DOMAIN d DROP CONSTRAINT k; ALTER TABLE t RESTORE TO (VERSION => "+version+")")
	require.Equal(t, []string{"0|1"}, rows(t, s, "SELECT * FROM t"))

	exec(t, s, "ALTER DOMAIN d ADD CONSTRAINT k CHECK (VALUE < 9)")
	version = rows(t, s, "SELECT max(version) FROM csm.versions WHERE name = 't'")[0]
	exec(t, s, "CREATE TABLE c CLONE t AT (VERSION => "+version+"); DROP TABLE c")
	exec(t, s, "ALTER DOMAIN d DROP CONSTRAINT k")
	exec(t, s, "ALTER DOMAIN d ADD CONSTRAINT k CHECK (VALUE < 8)") // as many as before
	_, err = s.Exec(t.Context(), "CREATE TABLE c CLONE t AT (VERSION => "+version+")")
	requireRefused(t, "0A000", err)
}

// Whatever meets, no row is left that the domain does not allow.
func TestAlterDomainBesideWriters(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 2)
	s := c.session(0)
	exec(t, s, "CREATE DOMAIN d AS int; CREATE TABLE t (i int, a d); INSERT INTO t VALUES (0, 5)")
	for round := range 8 {
		var group sync.WaitGroup
		for w := range 3 {
			on := c.session(w % 2)
			group.Go(func() {
				for i := range 4 {
					text := fmt.Sprintf("INSERT INTO t VALUES (%d, %d)", round, i%2-1)
					if i == 3 {
						text = "UPDATE t SET a = -1 WHERE i = 0"
					}
					_, err := on.Exec(t.Context(), text)
					if err != nil && !strings.Contains(err.Error(), "value for domain d violates") && state(t, err) != "40001" {
						t.Errorf("%s: %v", text, err)
					}
				}
			})
		}
		alter := c.session(1)
		group.Go(func() {
			_, err := alter.Exec(t.Context(), "ALTER DOMAIN d ADD CONSTRAINT k CHECK (VALUE >= 0)")
			if err != nil && state(t, err) != "23514" && state(t, err) != "40001" {
				t.Errorf("ALTER DOMAIN: %v", err)
			}
		})
		group.Wait()
		if n := rows(t, s, "SELECT count(*) FROM pg_constraint WHERE conname = 'k'")[0]; n == "1" {
			require.Equal(t, []string{"0"}, rows(t, s, "SELECT count(*) FROM t WHERE a < 0"), round)
			exec(t, s, "ALTER DOMAIN d DROP CONSTRAINT k")
		}
		exec(t, s, "DELETE FROM t WHERE a < 0; UPDATE t SET a = 5 WHERE i = 0")
	}
}

// What one node says of a domain holds on all, after restarts, in attached processes.
func TestAlterDomainOnOtherNodes(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 2)
	s, other := c.session(0), c.session(1)
	exec(t, s, "CREATE DOMAIN d AS int; CREATE TABLE t (a d)")
	st, err := other.Prepare(t.Context(), "SELECT 0::d")
	require.NoError(t, err)
	insert, err := other.Prepare(t.Context(), "INSERT INTO t VALUES (0)")
	require.NoError(t, err)
	exec(t, other, "PREPARE p AS INSERT INTO t SELECT 0::d")
	exec(t, s, "ALTER DOMAIN d ADD CONSTRAINT k CHECK (VALUE > 0)")
	for _, st := range []*engine.Statement{st, insert} {
		_, err = st.Exec(t.Context())
		requireRefused(t, "23514", err)
		require.NoError(t, st.Close())
	}
	_, err = other.Exec(t.Context(), "EXECUTE p")
	requireRefused(t, "23514", err)
	exec(t, other, "DEALLOCATE p; ALTER DOMAIN d RENAME TO e; ALTER DOMAIN e SET DEFAULT 4")
	exec(t, s, "INSERT INTO t DEFAULT VALUES")
	c.stop(1)
	c.nodes[1] = c.open(1)
	other = c.session(1)
	exec(t, other, "INSERT INTO t DEFAULT VALUES")
	_, err = other.Exec(t.Context(), "INSERT INTO t VALUES (0)")
	require.EqualError(t, err, `value for domain e violates check constraint "k"`)
	require.Equal(t, []string{"4", "4"}, rows(t, s, "SELECT a FROM t"))
	exec(t, s, "DROP TABLE t; DROP DOMAIN e")
	// in a process that is attached to a node
	e := open(t)
	b := session(t, attached(t, e, t.TempDir()+"/s")())
	node := session(t, e)
	exec(t, node, "CREATE DOMAIN d AS int; CREATE TABLE t (a d)")
	require.Equal(t, []string{"0"}, rows(t, b, "SELECT 0::d"))
	exec(t, node, "ALTER DOMAIN d ADD CONSTRAINT k CHECK (VALUE > 0)")
	_, err = b.Exec(t.Context(), "SELECT 0::d")
	requireRefused(t, "23514", err)
}

// Rows from before a constraint that is NOT VALID stay where they are, whatever is done beside them.
func TestRowsFromBeforeADomainsConstraint(t *testing.T) {
	s := session(t, open(t, func(c *engine.Config) { c.Dialect = engine.DialectPostgres }))
	exec(t, s, "CREATE DOMAIN d AS int; CREATE TABLE t (i int PRIMARY KEY, a d); INSERT INTO t VALUES (1, 0), (2, 5), (3, 6)")
	exec(t, s, "INSERT INTO t VALUES (4, -1)")
	exec(t, s, "ALTER DOMAIN d ADD CONSTRAINT k CHECK (VALUE > 0) NOT VALID")
	exec(t, s, "UPDATE t SET a = 7 WHERE i = 2; DELETE FROM t WHERE i = 3; ALTER TABLE t ADD COLUMN b int DEFAULT 3")
	exec(t, s, "VACUUM t")
	exec(t, s, "CREATE INDEX ON t (a); ALTER DOMAIN d SET DEFAULT 9; INSERT INTO t (i) VALUES (5)")
	require.Equal(t, []string{"1|0|3", "2|7|3", "4|-1|3", "5|9|3"}, rows(t, s, "SELECT * FROM t ORDER BY i"))
	exec(t, s, "UPDATE t SET a = 1 WHERE i = 1; DELETE FROM t WHERE i = 4; ALTER DOMAIN d VALIDATE CONSTRAINT k")
}
