package clienttest

import (
	"errors"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"
)

// TestFunctionsAsInPostgres: statements about functions succeed and are refused as in PostgreSQL, with its messages.
func TestFunctionsAsInPostgres(t *testing.T) {
	w := newTwins(t, "CREATE TYPE mood AS ENUM ('sad', 'happy'); CREATE TABLE o (i int, m mood); INSERT INTO o VALUES (1, 'sad'), (7, 'happy'), (NULL, NULL)")
	answerOf(t, w.ours.conn, "SET csm.dialect = 'postgres'", nil)
	for _, sql := range []string{
		"CREATE FUNCTION half(n int, by int DEFAULT 2) RETURNS int LANGUAGE sql RETURN n / by", "SELECT half(7)", "SELECT half(i), half(i, 3) AS third, half(by => 4, n => i) FROM o ORDER BY i",
		"SELECT half(i) FROM o WHERE half(i) = 3 GROUP BY half(i) HAVING half(half(i)) > 0", "SELECT i FROM o ORDER BY half(-i), i", "SELECT (half(7)), half(7)::text, CAST(half(7) AS numeric) + 1, -half(7)",
		"SELECT half(1, 0)", "SELECT half('x')", "SELECT half()", "SELECT half(1) OVER ()", "SELECT half(DISTINCT 1)", "SELECT half(*)", "SELECT half(i ORDER BY i) FROM o", "SELECT half(1) FILTER (WHERE true)",
		"CREATE FUNCTION half(n int, by int) RETURNS int RETURN 1", "CREATE OR REPLACE FUNCTION half(n int, by int) RETURNS int RETURN 1", "CREATE OR REPLACE FUNCTION half(a int, by int DEFAULT 2) RETURNS int RETURN 1",
		"CREATE OR REPLACE FUNCTION half(n int, by int DEFAULT 2) RETURNS bigint RETURN 1", "CREATE OR REPLACE FUNCTION half(n int, by int DEFAULT 2) RETURNS int STRICT IMMUTABLE LANGUAGE sql AS 'SELECT n * half.by AS x;'", "SELECT half(i), half(i, NULL) FROM o ORDER BY i",
		"CREATE FUNCTION feeling(mood) RETURNS text STABLE PARALLEL SAFE BEGIN ATOMIC SELECT 'I am ' || $1; END", "SELECT feeling(m), feeling('sad') FROM o ORDER BY i", "SELECT feeling('angry')", "DROP TYPE mood",
		"CREATE FUNCTION bad() RETURNS int LANGUAGE sql", "CREATE FUNCTION bad() RETURNS int AS 'SELECT 1'", "CREATE FUNCTION bad(a int, a int) RETURNS int RETURN 1", "CREATE FUNCTION bad(a int DEFAULT 1, b int) RETURNS int RETURN 1", "CREATE FUNCTION bad() RETURNS int LANGUAGE sql LANGUAGE sql AS 'SELECT 1'",
		"CREATE FUNCTION bad(a int) RETURNS int RETURN b", "CREATE FUNCTION bad(a int) RETURNS int RETURN $2", "CREATE FUNCTION bad(a int) RETURNS int RETURN", "CREATE FUNCTION bad(a int) RETURNS int RETURN a PARALLEL NONE",
		"CREATE FUNCTION fourth(n int) RETURNS int LANGUAGE sql AS 'SELECT half(half(n, 3), 5)'", "SELECT fourth(1)", "CREATE OR REPLACE FUNCTION half(n int, by int DEFAULT 2) RETURNS int LANGUAGE sql AS 'SELECT n + by'", "SELECT fourth(1)",
		"INSERT INTO o SELECT half(40), 'sad' RETURNING half(i), m", "UPDATE o SET i = half(i) WHERE half(i) = 44 RETURNING i", "DELETE FROM o WHERE half(i) = 46 RETURNING half(i) AS gone", "INSERT INTO o VALUES (half(1), 'sad')", "SELECT i FROM o ORDER BY 1",
		"WITH h AS (SELECT half(i) FROM o) SELECT sum(half) FROM h", "SELECT * FROM (SELECT half(3)) AS x, (VALUES (half(4))) AS y", "SELECT (SELECT half(1)), ARRAY(SELECT half(i) FROM o ORDER BY 1), EXISTS (SELECT half(1))", "SELECT CASE WHEN half(1) = 3 THEN 'three' END", "SELECT max(half(i)), count(*) FROM o",
		"COMMENT ON FUNCTION half(int, int) IS 'said'", "COMMENT ON FUNCTION half IS 'said more'", "COMMENT ON FUNCTION half(text) IS 'said'", "COMMENT ON FUNCTION nix IS 'said'", "SELECT obj_description('half'::regproc, 'pg_proc')",
		"SELECT proname, pronargs, pronargdefaults, prorettype::regtype::text, proargnames, proisstrict, provolatile, proparallel, prokind, proretset, prosrc FROM pg_proc WHERE proname IN ('half', 'feeling', 'fourth') ORDER BY 1",
		"SELECT pg_get_function_arguments(oid), pg_get_function_identity_arguments(oid), pg_get_function_result(oid) FROM pg_proc WHERE proname IN ('half', 'feeling', 'fourth') ORDER BY proname",
		"DROP FUNCTION half(text)", "DROP FUNCTION nix", "DROP FUNCTION nix(int)", "DROP FUNCTION IF EXISTS nix", "DROP FUNCTION IF EXISTS nix(int)", "BEGIN", "CREATE FUNCTION gone() RETURNS int RETURN 1", "SELECT gone()", "ROLLBACK",
		"BEGIN", "CREATE FUNCTION gone() RETURNS int RETURN 1", "DROP FUNCTION gone, half(integer, int4)", "ROLLBACK", "SELECT half(1)", "DROP FUNCTION half, fourth", "ALTER TABLE o DROP COLUMN m", "DROP TYPE mood", "DROP TYPE mood CASCADE",
		"SELECT proname FROM pg_proc WHERE proname IN ('half', 'feeling', 'fourth')", "SELECT i FROM o ORDER BY 1",
	} {
		ours, theirs := answerOf(t, w.ours.conn, sql, nil), answerOf(t, w.theirs.conn, sql, nil)
		if ours != theirs {
			t.Errorf("%s\n\tours:   %s\n\ttheirs: %s", sql, ours, theirs)
		}
	}
}

// TestParametersOfFunctions: what a client sends for an argument is of the parameter's type, as in PostgreSQL.
func TestParametersOfFunctions(t *testing.T) {
	const made = "CREATE FUNCTION said(a int, b text DEFAULT 'x', c numeric DEFAULT 1.5, d date DEFAULT '2024-01-31') RETURNS text RETURN a::text || b || c::text || d::text"
	w := newTwins(t, "SELECT 1")
	answerOf(t, w.ours.conn, "SET csm.dialect = 'postgres'", nil)
	require.Equal(t, answerOf(t, w.theirs.conn, made, nil), answerOf(t, w.ours.conn, made, nil))
	for _, asked := range []struct {
		sql  string
		args []string
	}{
		{"SELECT said($1)", []string{"5"}}, {"SELECT said($1, $2)", []string{"5", "y"}}, {"SELECT said($1, $2, $3, $4)", []string{"5", "y", "2.125", "2024-02-29"}},
		{"SELECT said(1, c => $1)", []string{"7.125"}}, {"SELECT said($1 + 1, lower($2))", []string{"5", "Y"}}, {"SELECT said($1)", []string{"NULL"}},
	} {
		ours, theirs := answerOf(t, w.ours.conn, asked.sql, asked.args), answerOf(t, w.theirs.conn, asked.sql, asked.args)
		if ours != theirs {
			t.Errorf("%s %v\n\tours:   %s\n\ttheirs: %s", asked.sql, asked.args, ours, theirs)
		}
	}
}

// TestPreparedStatementsFollowFunctions: a client's prepared statement computes a function as it is by now, as in
// PostgreSQL, within blocks and outside, as long as its columns and parameters are those described to the client.
func TestPreparedStatementsFollowFunctions(t *testing.T) {
	w := newTwins(t, "CREATE TABLE o (i int)")
	answerOf(t, w.ours.conn, "SET csm.dialect = 'postgres'", nil)
	made := func(body string) string { return "CREATE OR REPLACE FUNCTION f(n int) RETURNS int RETURN " + body }
	answers := func(conn *pgconn.PgConn) (list []string) {
		ask := func(name, value string) {
			result := conn.ExecPrepared(t.Context(), name, [][]byte{[]byte(value)}, nil, nil).Read()
			line := name + " " + result.CommandTag.String()
			for _, row := range result.Rows {
				line += " " + string(row[0])
			}
			if e := (*pgconn.PgError)(nil); errors.As(result.Err, &e) {
				line += " " + e.Code
			}
			list = append(list, line)
		}
		say := func(sql string) { list = append(list, answerOf(t, conn, sql, nil)) }
		say(made("n + 1"))
		for name, sql := range map[string]string{"read": "SELECT f($1)", "write": "INSERT INTO o VALUES (f($1)) RETURNING i"} {
			_, err := conn.Prepare(t.Context(), name, sql, nil)
			require.NoError(t, err)
		}
		for _, begin := range []string{"", "BEGIN"} {
			for i := range 3 {
				ask("read", "1")
				ask("write", "10")
				if i == 0 && begin != "" {
					say(begin)
				}
				say(made("n + " + strconv.Itoa(i+5)))
			}
		}
		ask("read", "1")
		say("ROLLBACK")
		ask("read", "1")
		ask("write", "10")
		say("DROP FUNCTION f")
		say("CREATE FUNCTION f(n int) RETURNS text RETURN 'other'")
		ask("read", "1")
		ask("read", "1")
		return list
	}
	require.Equal(t, answers(w.theirs.conn), answers(w.ours.conn))
}

// TestPsqlShowsFunctions: \df and \sf of PostgreSQL's own client, which sends BEGIN ATOMIC with its semicolons.
func TestPsqlShowsFunctions(t *testing.T) {
	psql, err := exec.LookPath("psql")
	if err != nil {
		t.Skip("psql is not installed")
	}
	w := newRoom(t, shared.dsn(), "SELECT 1")
	schema := answerOf(t, w.conn, "SELECT current_schema()", nil)
	schema = schema[strings.LastIndex(schema, "\n")+1:]
	said := func(command string) string {
		out, err := exec.CommandContext(t.Context(), psql, "-X", "-A", "-d", shared.dsn(), "-c", `SET search_path = "`+schema+`"`, "-c", "SET csm.dialect = 'postgres'", "-c", command).CombinedOutput()
		require.NoError(t, err, "%s", out)
		return string(out)
	}
	said("CREATE FUNCTION psqlhalf(n int, by int DEFAULT 2) RETURNS int IMMUTABLE STRICT LANGUAGE sql AS $$SELECT n / by$$; COMMENT ON FUNCTION psqlhalf IS 'halves'")
	said("CREATE FUNCTION psqlgreet(text) RETURNS text BEGIN ATOMIC SELECT CASE WHEN true THEN 'hello ' || $1 END; END; CREATE MACRO psqlplus(x, y := 5) AS x + y")
	list := said(`\df psql*`)
	require.Contains(t, list, schema+"|psqlgreet|text|text|func\n"+schema+"|psqlhalf|integer|n integer, by integer DEFAULT 2|func\n"+schema+"|psqlplus|anyelement|x anyelement, y anyelement DEFAULT 5|func\n")
	require.Contains(t, said(`\df+ psqlhalf`), "|immutable|unsafe|")
	require.Contains(t, said(`\df+ psqlhalf`), "|halves")
	require.Contains(t, said(`\sf psqlhalf`), "CREATE OR REPLACE FUNCTION "+schema+".psqlhalf(n integer, by integer DEFAULT 2)\n RETURNS integer\n LANGUAGE sql\n IMMUTABLE STRICT\nAS $function$SELECT n / by$function$\n")
	require.Contains(t, said(`\sf psqlgreet`), "\nBEGIN ATOMIC\n SELECT CASE WHEN true THEN 'hello ' || $1 END;\nEND\n")
	require.Contains(t, said(`\sf psqlplus`), "CREATE OR REPLACE MACRO "+schema+".psqlplus(x, y := 5) AS x + y")
	require.Contains(t, said(`SELECT psqlplus(1), psqlgreet('you'), psqlhalf(9)`), "psqlplus|psqlgreet|psqlhalf\n6|hello you|4\n")
}
