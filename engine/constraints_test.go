package engine_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Keys are on record, and shown.
func TestKeysAreOnRecord(t *testing.T) {
	t.Parallel()
	e := open(t)
	s := session(t, e)
	exec(t, s, "CREATE SCHEMA s; CREATE TABLE s.p (x int, y text, PRIMARY KEY (x, y))")
	exec(t, s, `CREATE TABLE t (a int PRIMARY KEY, b text UNIQUE NULLS NOT DISTINCT, c int CHECK (c > 0), "D" int UNIQUE DEFERRABLE,
		FOREIGN KEY (a, b) REFERENCES s.p ON DELETE RESTRICT ON UPDATE NO ACTION, CONSTRAINT own FOREIGN KEY (c) REFERENCES t (a) MATCH FULL, UNIQUE ("D", c))`)
	exec(t, s, "ALTER TABLE s.p RENAME TO q")
	defined := "SELECT conname, contype, convalidated, condeferrable, pg_get_constraintdef(oid) FROM pg_constraint WHERE conrelid = 't'::regclass ORDER BY conname"
	want := []string{
		`own|f|true|false|FOREIGN KEY (c) REFERENCES t(a) MATCH FULL`,
		`t_D_c_key|u|true|false|UNIQUE ("D", c)`,
		`t_D_key|u|true|true|UNIQUE ("D") DEFERRABLE`,
		`t_a_b_fkey|f|true|false|FOREIGN KEY (a, b) REFERENCES s.q(x, y) ON DELETE RESTRICT`,
		`t_b_key|u|true|false|UNIQUE NULLS NOT DISTINCT (b)`,
		`t_c_check|c|true|false|CHECK ((c > 0))`,
		`t_pkey|p|true|false|PRIMARY KEY (a)`,
	}
	require.Equal(t, want, rows(t, s, defined))
	require.Equal(t, []string{"s.q|[1,2]|[1,2]"}, rows(t, s, "SELECT confrelid::regclass, conkey, confkey FROM pg_constraint WHERE conname = 't_a_b_fkey'"))
	require.Equal(t, []string{"CHECK|YES", "FOREIGN KEY|YES", "PRIMARY KEY|YES", "UNIQUE|YES"}, rows(t, s, "SELECT DISTINCT constraint_type, enforced FROM information_schema.table_constraints WHERE table_name = 't' ORDER BY 1"))
	require.Equal(t, []string{"D|1", "c|2"}, rows(t, s, "SELECT column_name, ordinal_position FROM information_schema.key_column_usage WHERE constraint_name = 't_D_c_key' ORDER BY 2"))
	require.Equal(t, []string{"q|x", "q|y"}, rows(t, s, "SELECT table_name, column_name FROM information_schema.constraint_column_usage WHERE constraint_name = 't_a_b_fkey' ORDER BY 2"))
	require.Equal(t, []string{"t_c_check|c > 0"}, rows(t, s, "SELECT constraint_name, check_clause FROM information_schema.check_constraints"))
	require.Equal(t, []string{"NO ACTION|RESTRICT"}, rows(t, s, "SELECT update_rule, delete_rule FROM information_schema.referential_constraints WHERE constraint_name = 't_a_b_fkey'"))
	require.Equal(t, []string{"t_pkey|true|true|a"}, rows(t, s, "SELECT c.relname, i.indisprimary, i.indisvalid, pg_get_indexdef(i.indexrelid, 1, false) FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid WHERE i.indrelid = 't'::regclass AND i.indisprimary"))
	require.Equal(t, []string{"1|true|true"}, rows(t, s, "SELECT relchecks, relhasindex, relhastriggers FROM pg_class WHERE oid = 't'::regclass"))
	require.Equal(t, []string{"true"}, rows(t, s, "SELECT relhastriggers FROM pg_class WHERE oid = 's.q'::regclass"))
	require.Equal(t, []string{"0"}, rows(t, s, "SELECT count(*) FROM pg_catalog.pg_partition_ancestors(1::oid) WITH ORDINALITY AS a(relid, depth) WHERE a.depth > 0")) // psql asks so
	require.Contains(t, keyRefused(t, s, "INSERT INTO t (a, c) VALUES (1, 7)"), "23503")
	exec(t, s, "INSERT INTO t (a, c) VALUES (1, 1)")

	// What is dropped takes its foreign keys along, or is not dropped.
	_, err := s.Exec(t.Context(), "DROP TABLE s.q")
	require.Error(t, err)
	require.Equal(t, "2BP01", state(t, err))
	require.Equal(t, "constraint t_a_b_fkey on table t depends on table q", detailOf(err))
	_, err = s.Exec(t.Context(), "CREATE OR REPLACE TABLE s.q (x int)")
	require.Equal(t, "2BP01", state(t, err))
	_, err = s.Exec(t.Context(), "DROP SCHEMA s")
	require.Equal(t, "2BP01", state(t, err))
	exec(t, s, "DROP SCHEMA s CASCADE")
	require.Equal(t, append([]string{want[0], want[1], want[2]}, want[4:]...), rows(t, s, defined))
	exec(t, s, "ALTER TABLE t DROP CONSTRAINT t_pkey CASCADE")      // its own foreign key needs it
	_, err = s.Exec(t.Context(), "INSERT INTO t (a) VALUES (NULL)") // as in PostgreSQL, NOT NULL stays
	require.Equal(t, "23502", state(t, err))
	exec(t, s, "DROP TABLE t")
}

// What keys name must be there.
func TestKeysThatCannotBe(t *testing.T) {
	t.Parallel()
	s := session(t, open(t))
	exec(t, s, "CREATE TABLE p (x int, y int); CREATE TEMP TABLE private (x int); CREATE VIEW v AS SELECT x FROM p")
	for text, want := range map[string]string{
		"CREATE TABLE t (a int REFERENCES nosuch (x))":                   "42P01",
		"CREATE TABLE t (a int REFERENCES p (z))":                        "42703",
		"CREATE TABLE t (a int REFERENCES p (x, y))":                     "42830",
		"CREATE TABLE t (a int REFERENCES p)":                            "42704",
		"CREATE TABLE t (a int REFERENCES private (x))":                  "42P16",
		"CREATE TABLE t (a int REFERENCES v (x))":                        "42809",
		"CREATE TABLE t (a int, FOREIGN KEY (b) REFERENCES p (x))":       "42703",
		"CREATE TABLE t (a int, UNIQUE (a, a))":                          "42701",
		"CREATE TABLE t (a int, UNIQUE (a) INCLUDE (a))":                 "0A000",
		"CREATE TABLE t (a int PRIMARY KEY USING INDEX TABLESPACE fast)": "0A000",
		"CREATE TABLE t (a int PRIMARY KEY WITH (fillfactor = 70))":      "0A000",
		"CREATE TABLE t (a int REFERENCES p (x) ON DELETE SET NULL (a))": "0A000",
		"CREATE TABLE t (a int PRIMARY KEY, PRIMARY KEY (a))":            "42P16",
		"CREATE TABLE t (a int STORAGE plain)":                           "0A000",
		"CREATE TABLE t (a text COMPRESSION lz4)":                        "0A000",
		"ALTER TABLE p ADD CONSTRAINT c PRIMARY KEY USING INDEX i":       "42704",
		"ALTER TABLE p ADD PRIMARY KEY (x), ADD PRIMARY KEY (y)":         "42P16",
		"ALTER TABLE nosuch ADD PRIMARY KEY (x)":                         "42P01",
		"ALTER TABLE p VALIDATE CONSTRAINT c":                            "0A000",
		"ALTER TABLE p ALTER CONSTRAINT c DEFERRABLE":                    "0A000",
		"ALTER TABLE p ADD EXCLUDE USING gist (x WITH =)":                "0A000",
	} {
		_, err := s.Exec(t.Context(), text)
		require.Error(t, err, text)
		require.Equal(t, want, state(t, err), "%s: %v", text, err)
	}
}
