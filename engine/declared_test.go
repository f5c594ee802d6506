package engine_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/engine"
)

// A table's storage parameters are those that are kept. The hint for a mistyped name says the right one.
func TestUnknownParameters(t *testing.T) {
	t.Parallel()
	s := session(t, open(t))
	for text, hint := range map[string]string{
		"CREATE TABLE t (a int) WITH (placment = 'local')":          `Did you mean "placement"?`,
		"CREATE TABLE t (a int) WITH (replica = 1)":                 `Did you mean "replicas"?`,
		"CREATE TABLE t (a int) WITH (autovacuum_enabled = off)":    "There are placement, replicas, retention and retained_versions.",
		"CREATE TABLE t WITH (placment = 'local') AS SELECT 1 AS a": `Did you mean "placement"?`,
		"CREATE TABLE t (a int) WITH (fillfactor = 70)":             "Leave fillfactor out, or say 100.",
	} {
		_, err := s.Exec(t.Context(), text)
		require.Error(t, err, text)
		require.Equal(t, "22023", state(t, err), "%s: %v", text, err)
		require.Equal(t, hint, hintOf(err), text)
	}
	exec(t, s, "CREATE TABLE t (a int) WITH (fillfactor = 100)") // as pgbench has it: chunks are full
	_, err := s.Exec(t.Context(), "ALTER TABLE t SET (placment = 'local')")
	require.Equal(t, `Did you mean "placement"?`, hintOf(err))
	_, err = s.Exec(t.Context(), "CREATE VIEW v WITH (security_barrier) AS SELECT 1 AS a")
	require.Equal(t, "0A000", state(t, err))
}

// Values of an ENUM order by their declaration and are members of it. As long as columns cannot, none is one: text in
// its place does neither.
func TestEnumColumnsAreRefused(t *testing.T) {
	t.Parallel()
	s := session(t, open(t))
	exec(t, s, "CREATE TEMP TYPE mood AS ENUM ('sad', 'ok', 'happy')")
	for _, text := range []string{
		"CREATE TABLE t (a ENUM ('sad', 'ok', 'happy'))", "CREATE TABLE t (a mood)", "CREATE TABLE t (a mood[])",
		"CREATE TABLE t (a STRUCT (x INTEGER, y ENUM ('b', 'a')))", "CREATE TABLE t (a MAP (ENUM ('b', 'a'), INTEGER))", "CREATE DOMAIN d AS mood",
	} {
		_, err := s.Exec(t.Context(), text)
		require.Error(t, err, text)
		require.Equal(t, "0A000", state(t, err), "%s: %v", text, err)
		require.Contains(t, hintOf(err), "CHECK", text)
	}
}

// Clauses of CREATE TABLE and its like that say how to store, share or compute rows: what does nothing here is named,
// not passed over.
func TestClausesThatAreNotKept(t *testing.T) {
	t.Parallel()
	e := open(t)
	s, err := e.Session(engine.SessionOptions{})
	require.NoError(t, err)
	defer s.Close()
	exec(t, s, "CREATE TABLE p (a int, b text)")
	for text, named := range map[string]string{
		"CREATE UNLOGGED TABLE t (a int)":                        "UNLOGGED",
		"CREATE TABLE t (a int) TABLESPACE fast":                 "TABLESPACE",
		"CREATE TABLE t TABLESPACE fast AS SELECT 1 AS a":        "TABLESPACE",
		"CREATE TABLE t (a int) USING columnar":                  "USING",
		"CREATE TABLE t (a int) INHERITS (p)":                    "INHERITS",
		"CREATE TABLE t (a int) PARTITION BY RANGE (a)":          "PARTITION BY",
		"CREATE TABLE t PARTITION OF p DEFAULT":                  "PARTITION",
		"CREATE TABLE t OF mytype":                               "OF",
		"CREATE TABLE t (a int GENERATED ALWAYS AS (1))":         "generated",
		"CREATE TABLE t AS EXECUTE q":                            "EXECUTE",
		"CREATE VIEW v AS SELECT 1 AS a WITH CHECK OPTION":       "CHECK OPTION",
		"CREATE RECURSIVE VIEW v (a) AS SELECT 1":                "RECURSIVE",
		"CREATE SCHEMA s AUTHORIZATION postgres":                 "AUTHORIZATION",
		"CREATE SCHEMA s CREATE TABLE t (a int)":                 "CREATE",
		"CREATE FOREIGN TABLE t (a int) SERVER s":                "FOREIGN TABLE",
		"CREATE MATERIALIZED VIEW v USING columnar AS SELECT 1":  "USING",
		"ALTER MATERIALIZED VIEW v CLUSTER ON i":                 "MATERIALIZED VIEW … CLUSTER",
		"ALTER TABLE p ADD COLUMN c int GENERATED ALWAYS AS (1)": "generated",
		"ALTER TABLE p ALTER COLUMN a SET STATISTICS 5":          "ALTER",
		"ALTER TABLE p RENAME CONSTRAINT a TO c":                 "RENAME CONSTRAINT",
		"ALTER TABLE p OWNER TO x":                               "OWNER",
		"ALTER TABLE p CLUSTER ON i":                             "CLUSTER",
	} {
		_, err := s.Exec(t.Context(), text)
		require.Error(t, err, text)
		require.Equal(t, "0A000", state(t, err), "%s: %v", text, err)
		require.ErrorContains(t, err, named, text)
	}
}
