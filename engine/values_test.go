package engine_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The values of a VALUES list become their columns' types one by one, whatever stands beside them.
func TestEachValueBecomesItsColumnsTypeByItself(t *testing.T) {
	s := session(t, open(t))
	for _, c := range []struct {
		column, values string
		want           []string
	}{
		{"BIGINT", "(9007199254740993), (1e0)", []string{"9007199254740993", "1"}},
		{"BIGINT", "('12'), (3), (-9223372036854775808), (true), (2.5), (DEFAULT), ((SELECT 5)), (2+2)", []string{"12", "3", "-9223372036854775808", "1", "3", "7", "5", "4"}},
		{"VARCHAR", "(1), (2.50), ('x'), (true), (NULL), (DEFAULT)", []string{"1", "2.50", "x", "true", "(null)", "7"}},
		{"VARCHAR", "(1.10), (2.2)", []string{"1.10", "2.2"}},
		{"VARCHAR", "(1), (true)", []string{"1", "true"}},
		{"REAL", "(0.1), ('1e-40')", []string{"0.1", "1e-40"}},
		{"DOUBLE", "(0.1), (12345678901234567890.5), (3)", []string{"0.1", "1.2345678901234567e+19", "3"}},
		{"DOUBLE", "(123456789012345678), (-9007199254740993), (99999999999999999999999999999999999999)", []string{"1.2345678901234568e+17", "-9.007199254740992e+15", "1e+38"}},
		{"DECIMAL(38,10)", "(1234567890123456789012345678.5), (0.0000000001), (1)", []string{"1234567890123456789012345678.5", "1e-10", "1"}},
		{"DATE", "('2024-02-29'), (DATE '2024-03-01' + 1)", []string{"2024-02-29", "2024-03-02"}},
		{"INTEGER[]", "('{1,2}'), ([3, NULL]), ('[4]')", []string{"[1,2]", "[3,null]", "[4]"}},
	} {
		t.Run(c.column+" "+c.values, func(t *testing.T) {
			s, column := s, c.column
			if strings.Contains(c.values, "DEFAULT") {
				column += " DEFAULT 7"
			}
			exec(t, s, "DROP TABLE IF EXISTS v; CREATE TABLE v (n INT DEFAULT 0, c "+column+")")
			exec(t, s, "INSERT INTO v (c) VALUES "+c.values)
			require.Equal(t, c.want, rows(t, s, "SELECT c FROM v"))
			exec(t, s, "TRUNCATE v")
			require.Equal(t, c.want, rows(t, s, "WITH q AS (SELECT 1) INSERT INTO v (c) VALUES "+c.values+" RETURNING c"))
			require.Equal(t, c.want, rows(t, s, "SELECT c FROM v"))
		})
	}

	t.Run("parameters", func(t *testing.T) {
		exec(t, s, "DROP TABLE IF EXISTS v; CREATE TABLE v (n BIGINT, c VARCHAR)")
		exec(t, s, "INSERT INTO v VALUES ($1, 1), (1e0, $2), ('3', 1.50)", int64(9007199254740993), "x")
		require.Equal(t, []string{"9007199254740993|1", "1|x", "3|1.50"}, rows(t, s, "SELECT * FROM v"))
	})
	t.Run("errors point into the list", func(t *testing.T) {
		const sql = "INSERT INTO v VALUES (1, 1), (true, 2), (nosuch, 3)"
		_, err := s.Exec(context.Background(), sql)
		var e interface{ Position() int }
		require.ErrorAs(t, err, &e)
		require.Equal(t, strings.Index(sql, "nosuch")+1, e.Position(), err)
	})
}

// What DuckDB finds as the common type of literals must lose nothing where their values are not cast one by one: all pairs of literals are
// stored together, and each beside nothing.
func TestValuesBesideOthersAreStoredAsByThemselves(t *testing.T) {
	s := session(t, open(t))
	literals := []string{"0", "-9007199254740993", "170141183460469231731687303715884105727", "00012", "1.10", "0.30000000000000004", "12345678901234567.5", "1e0", "true", "'12'", "NULL"}
	for _, column := range []string{"BIGINT", "REAL", "DOUBLE", "DECIMAL(38,19)", "VARCHAR"} {
		exec(t, s, "DROP TABLE IF EXISTS one; DROP TABLE IF EXISTS two; CREATE TABLE one (c "+column+"); CREATE TABLE two (c "+column+")")
		alone := map[string]string{}
		for _, l := range literals {
			if _, err := s.Exec(context.Background(), "TRUNCATE one; INSERT INTO one VALUES ("+l+")"); err == nil {
				alone[l] = rows(t, s, "SELECT c FROM one")[0]
			}
		}
		require.Greater(t, len(alone), 4, column)
		for first, want := range alone {
			for second, beside := range alone {
				exec(t, s, fmt.Sprintf("TRUNCATE two; INSERT INTO two VALUES (%s), (%s)", first, second))
				require.Equal(t, []string{want, beside}, rows(t, s, "SELECT c FROM two"), "%s: (%s), (%s)", column, first, second)
			}
		}
	}
}

// An untyped literal means the same on every way into a column.
func TestLiteralsMeanTheSameOnEveryWayIntoAColumn(t *testing.T) {
	s := session(t, open(t))
	for _, c := range []struct{ column, value, want string }{
		{"BYTEA", `\xDEADBEEF00`, "deadbeef00"}, {"BYTEA", `\xDEAD44`, "dead44"}, {"BYTEA", `\xde`, "de"}, {"BYTEA", `\x`, ""}, {"BYTEA", `abc`, "616263"}, {"BYTEA", `\xDE\xAD`, "dead"},
		{"BYTEA", `a\\b\001`, "615c6201"}, {"BOOLEAN", "on", "true"}, {"BOOLEAN", " t ", "true"}, {"BOOLEAN", "of", "false"}, {"DATE", "0044-03-15 BC", "0044-03-15 (BC)"},
		{"DATE", "infinity", "infinity"}, {"TIMESTAMP", "0044-03-15 12:00:00.25 BC", "0044-03-15 (BC) 12:00:00.25"}, {"TIMESTAMPTZ", "0044-03-15 12:00:00+02 BC", "0044-03-15 (BC) 10:00:00+00"},
		{"INTERVAL", "-1 mons +3 days +01:02:03", "-1 month 3 days 01:02:03"}, {"INT[]", "{1,NULL,3}", "[1, NULL, 3]"}, {"VARCHAR[]", `{"a b",NULL,it's}`, "[a b, NULL, 'it\\'s']"}, {"INT[][]", "{{1,2},{3}}", "[[1, 2], [3]]"},
		{"UUID", "{A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11}", "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"}, {"VARCHAR", `\xDEAD`, `\xDEAD`}, {"VARCHAR", "0044-03-15 BC", "0044-03-15 BC"}, {"VARCHAR", "{1,2}", "{1,2}"},
	} {
		t.Run(c.column+" "+c.value, func(t *testing.T) {
			lit := "'" + strings.ReplaceAll(c.value, "'", "''") + "'"
			shown := "CAST(c AS VARCHAR)"
			if c.column == "BYTEA" {
				shown = "lower(hex(c))"
			}
			null := "CAST(NULL AS " + c.column + ")"
			exec(t, s, "DROP TABLE IF EXISTS w; CREATE TABLE w (c "+c.column+" DEFAULT "+lit+", n INT DEFAULT 1)")
			for _, way := range []string{
				"INSERT INTO w (c) VALUES (" + lit + ")", "INSERT INTO w VALUES (" + lit + ", 1), (" + lit + ", '1')", "INSERT INTO w VALUES (" + lit + ", 1), (NULL, 2), (" + null + ", 2)",
				"INSERT INTO w VALUES ((" + lit + "), 1)", "INSERT INTO w (n, c) SELECT 1, " + lit, "INSERT INTO w (c) SELECT " + lit + " UNION ALL SELECT " + lit, "INSERT INTO w (c) VALUES (" + lit + ") ORDER BY 1",
				"INSERT INTO w DEFAULT VALUES", "INSERT INTO w (n) VALUES (1)", "INSERT INTO w VALUES (DEFAULT, 1), (" + lit + ", DEFAULT)",
				"INSERT INTO w (n) VALUES (1); UPDATE w SET c = NULL; UPDATE w SET c = " + lit, "INSERT INTO w (n) VALUES (1); UPDATE w SET c = NULL; UPDATE w SET c = DEFAULT",
				"INSERT INTO w (n) VALUES (1); UPDATE w SET c = NULL; UPDATE w SET (n, c) = (1, " + lit + ")",
				"INSERT INTO w (c) VALUES (CAST(" + lit + " AS " + c.column + "))", "INSERT INTO w (c) SELECT " + lit + "::" + c.column,
			} {
				exec(t, s, "TRUNCATE w")
				exec(t, s, way)
				stored := rows(t, s, "SELECT DISTINCT "+shown+" FROM w WHERE n = 1")
				require.Equal(t, []string{c.want}, stored, way)
			}
		})
	}
}

// A literal is of the type of what it stands beside.
func TestLiteralsBesideColumnsAreOfTheirTypes(t *testing.T) {
	s := session(t, open(t))
	exec(t, s, `CREATE TABLE c (b BYTEA, d DATE, ts TIMESTAMP, t VARCHAR, n INT);
		INSERT INTO c VALUES ('\xDEAD44', '0044-03-15 BC', '0044-03-15 12:00:00 BC', '\xDEAD44', 1), ('\xDE414434', '0044-03-15', '0044-03-15 12:00:00', '0044-03-15 BC', 2), (NULL, NULL, NULL, NULL, 3)`)
	for _, where := range []string{
		`b = '\xDEAD44'`, `'\xDEAD44' = b`, `b IN ('\xDEAD44', '\xAB01')`, `b BETWEEN '\xDEAD43' AND '\xDEAD45'`, `b IS NOT DISTINCT FROM '\xDEAD44'`, `CASE WHEN n < 3 THEN b END = '\xDEAD44'`,
		`b = CASE WHEN n = 1 THEN '\xDEAD44' ELSE b END AND n = 1`, `coalesce(b, '\xABCD') = '\xDEAD44'`, `EXISTS (SELECT 1 FROM c AS x WHERE x.b = '\xDEAD44' AND x.n = c.n)`,
		`t = '\xDEAD44'`, `t = '\xDEAD44' AND b = '\xDEAD44'`, `d = '0044-03-15 BC'`, `d IN ('0044-03-15 BC', '0001-01-01 BC')`, `d < '0043-01-01 BC'`, `ts = '0044-03-15 12:00:00 BC'`,
		`ts BETWEEN '0044-03-15 BC' AND '0044-03-16 BC'`, `d = '0044-03-15 BC' AND n = $1`,
	} {
		var args []any
		if strings.Contains(where, "$1") {
			args = []any{int64(1)}
		}
		require.Equal(t, []string{"1"}, rows(t, s, "SELECT n FROM c WHERE "+where, args...), where)
		require.Equal(t, []string{"1"}, rows(t, s, "FROM c SELECT n WHERE "+where, args...), where)
	}
	require.Equal(t, []string{"2"}, rows(t, s, "SELECT n FROM c WHERE t = '0044-03-15 BC'"))
	require.Equal(t, []string{`\xDEAD44`}, rows(t, s, `SELECT '\xDEAD44'`))
	require.Equal(t, "UPDATE 1", exec(t, s, `UPDATE c SET n = 4 WHERE b = '\xDEAD44'`).Tag)
	require.Equal(t, "DELETE 1", exec(t, s, `DELETE FROM c WHERE b = '\xDEAD44'`).Tag)
	_, err := tryRows(s, `SELECT n FROM c WHERE b = '\xABC'`)
	require.ErrorContains(t, err, "odd number of digits")
}
