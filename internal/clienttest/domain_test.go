package clienttest

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestDomainsAsInPostgres: statements about domains are refused as in PostgreSQL, with its messages and details.
func TestDomainsAsInPostgres(t *testing.T) {
	w := newTwins(t, "CREATE TYPE mood AS ENUM ('sad', 'happy'); CREATE TABLE o (i int); INSERT INTO o VALUES (1)")
	for _, sql := range []string{
		"CREATE DOMAIN d AS int DEFAULT 5 CHECK (VALUE > 0)", "CREATE DOMAIN d int", "CREATE DOMAIN o AS int", "CREATE DOMAIN mood AS int", "CREATE DOMAIN n text NOT NULL",
		"CREATE TABLE t (a d, b n, c int)", "INSERT INTO t VALUES (0, 'x', 1)", "INSERT INTO t VALUES (1, NULL, 1)", "INSERT INTO t (b) VALUES ('x'), ('y')", "SELECT * FROM t ORDER BY b",
		"UPDATE t SET a = a - 5 WHERE b = 'x'", "UPDATE t SET b = NULL", "ALTER TABLE o ADD COLUMN a d", "SELECT * FROM o", "ALTER TABLE o ADD COLUMN b n", "ALTER TABLE o ADD COLUMN c d DEFAULT 0",
		"DROP DOMAIN d", "DROP DOMAIN d RESTRICT", "DROP DOMAIN IF EXISTS nix", "DROP DOMAIN nix", "DROP DOMAIN mood", "DROP DOMAIN o", "COMMENT ON DOMAIN d IS 'said'", "COMMENT ON DOMAIN mood IS 'said'",
		"SELECT obj_description('d'::regtype, 'pg_type')", "ALTER TYPE d ADD VALUE 'x'", "CREATE DOMAIN e AS nix", "CREATE DOMAIN e AS int UNIQUE", "CREATE DOMAIN e AS int CHECK (VALUE > nix)",
		"BEGIN", "CREATE DOMAIN e AS int CHECK (VALUE < 3)", "CREATE TABLE u (a e)", "INSERT INTO u VALUES (2)", "ROLLBACK", "SELECT count(*) FROM pg_type WHERE typname = 'e'", "DROP TABLE t, o", "DROP DOMAIN d, n", "SELECT typname FROM pg_type WHERE typtype = 'd' AND typname IN ('d', 'n')",
	} {
		ours, theirs := answerOf(t, w.ours.conn, sql, nil), answerOf(t, w.theirs.conn, sql, nil)
		if ours != theirs {
			t.Errorf("%s\n\tours:   %s\n\ttheirs: %s", sql, ours, theirs)
		}
	}
}

// TestPsqlShowsDomains: \dD, \dT and \d of PostgreSQL's own client.
func TestPsqlShowsDomains(t *testing.T) {
	psql, err := exec.LookPath("psql")
	if err != nil {
		t.Skip("psql is not installed")
	}
	w := newRoom(t, shared.dsn(), "CREATE DOMAIN posint AS int DEFAULT 5 CHECK (VALUE > 0); CREATE DOMAIN psqlword varchar(5) NOT NULL; CREATE TABLE t (a posint, w psqlword); COMMENT ON DOMAIN psqlword IS 'a word'")
	schema := answerOf(t, w.conn, "SELECT current_schema()", nil)
	schema = schema[strings.LastIndex(schema, "\n")+1:]
	said := func(command string) string {
		out, err := exec.CommandContext(t.Context(), psql, "-X", "-A", "-d", shared.dsn(), "-c", `SET search_path = "`+schema+`"`, "-c", command).CombinedOutput()
		require.NoError(t, err, "%s", out)
		return string(out)
	}
	domains := said(`\dD+`)
	require.Contains(t, domains, schema+"|posint|integer|||5|CHECK ((VALUE > 0))|")
	require.Contains(t, domains, schema+"|psqlword|character varying(5)||not null||")
	require.Contains(t, domains, "|a word")
	require.Contains(t, said(`\dT`), schema+"|posint|")
	require.Contains(t, said(`\d t`), "a|posint|||\nw|psqlword|||\n")
}
