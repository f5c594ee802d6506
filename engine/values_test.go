package engine_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/engine"
)

// The values of a VALUES list become their columns' types one by one, whatever stands beside them.
func TestEachValueBecomesItsColumnsTypeByItself(t *testing.T) {
	t.Parallel()
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
	t.Parallel()
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
	t.Parallel()
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
				"INSERT INTO w (n) VALUES (1); UPDATE w SET c = NULL; UPDATE w SET c = CASE WHEN n = 1 THEN " + lit + " END",
				"INSERT INTO w (n) VALUES (1); UPDATE w SET c = NULL; UPDATE w SET c = (CASE n WHEN 2 THEN NULL ELSE COALESCE(NULL, " + lit + ") END), n = 1",
				"INSERT INTO w (n) VALUES (1); UPDATE w SET c = NULL; UPDATE w SET c = (SELECT " + lit + " UNION SELECT " + lit + ")",
				"INSERT INTO w (c) VALUES (CASE WHEN true THEN " + lit + " END), (COALESCE(NULL, " + lit + "))", "INSERT INTO w (c) VALUES ((SELECT " + lit + "))",
				"INSERT INTO w (c) SELECT CASE WHEN true THEN " + lit + " END UNION ALL SELECT COALESCE(" + lit + ", NULL)", "INSERT INTO w (n, c) SELECT 1, (SELECT " + lit + ")",
				"PREPARE p AS INSERT INTO w (c) VALUES ($1); EXECUTE p(" + lit + "); DEALLOCATE p",
			} {
				exec(t, s, "TRUNCATE w")
				exec(t, s, way)
				stored := rows(t, s, "SELECT DISTINCT "+shown+" FROM w WHERE n = 1")
				require.Equal(t, []string{c.want}, stored, way)
			}
		})
	}
}

// Text that no literal is, bytes and dates before Christ: a cast means the same wherever it stands.
func TestTextMeansTheSameInEveryCast(t *testing.T) {
	t.Parallel()
	s := session(t, open(t))
	exec(t, s, `CREATE TABLE w (b BYTEA, d DATE); CREATE TABLE src (x VARCHAR, y VARCHAR); INSERT INTO src VALUES ('\xDEAD44', '0044-03-15 BC')`)
	for _, way := range []string{
		`INSERT INTO w SELECT x, y FROM src`, `INSERT INTO w SELECT x::BYTEA, y::DATE FROM src`, `INSERT INTO w FROM src`, `INSERT INTO w SELECT max(x), max(y) FROM src`,
		`PREPARE p(text, text) AS INSERT INTO w VALUES ($1::BYTEA, $2::DATE); EXECUTE p('\xDEAD44', '0044-03-15 BC'); DEALLOCATE p`,
		`INSERT INTO w WITH q AS (SELECT '\xDEAD44' AS x, '0044-03-15 BC' AS y) SELECT * FROM q`, `INSERT INTO w VALUES (NULL, NULL); UPDATE w SET b = (SELECT x FROM src), d = (SELECT y FROM src)`,
		`INSERT INTO w SELECT greatest('\xDEAD44', ''), concat('0044-03-15', ' BC')`,
	} {
		exec(t, s, "TRUNCATE w")
		exec(t, s, way)
		require.Equal(t, []string{"DEAD44|0044-03-15 (BC)"}, rows(t, s, "SELECT hex(b), d::VARCHAR FROM w"), way)
	}
	for _, sql := range []string{`INSERT INTO w VALUES ($1::VARCHAR::BYTEA, $2::VARCHAR::DATE)`, `INSERT INTO w VALUES ($1, $2)`} {
		exec(t, s, "TRUNCATE w")
		exec(t, s, sql, `\xDEAD44`, "0044-03-15 BC")
		require.Equal(t, []string{"DEAD44|0044-03-15 (BC)"}, rows(t, s, "SELECT hex(b), d::VARCHAR FROM w"), sql)
	}
	exec(t, s, `CREATE VIEW v AS SELECT count(*) AS n FROM w WHERE b = '\xDEAD44' AND d = '0044-03-15 BC' AND d < '0043-01-01 BC'`)
	require.Equal(t, []string{"1"}, rows(t, s, "SELECT n FROM v"))
	require.Equal(t, []string{"1"}, rows(t, s, "FROM v SELECT n"))
	for _, sql := range []string{`INSERT INTO w SELECT x || 'F', y FROM src`, `UPDATE w SET b = CASE WHEN true THEN '\xABC' END`, `INSERT INTO w (b) VALUES (COALESCE(NULL, '\xABC'))`} {
		_, err := s.Exec(context.Background(), sql)
		var e *engine.Error
		require.ErrorAs(t, err, &e, sql)
		require.Equal(t, "22023", e.State, sql)
		require.Contains(t, e.Message, "odd number of digits", sql)
	}
}

// A table that is made of a query keeps the types of its columns, or is refused.
func TestQueriesOfTypesThatTablesDoNotKeep(t *testing.T) {
	t.Parallel()
	s := session(t, open(t))
	exec(t, s, `CREATE TEMP TYPE mood AS ENUM ('b', 'a'); CREATE TEMP TABLE te AS SELECT 'a'::mood AS m; CREATE TABLE words (w VARCHAR, n INT); INSERT INTO words SELECT 'word' || i % 3, i FROM range(5000) r(i)`)
	for query, name := range map[string]string{
		"SELECT 'a'::ENUM ('b', 'a') AS c": "ENUM", "SELECT 1 AS k, [m] AS c FROM te": "ENUM", "SELECT {'x': m} AS c FROM te": "ENUM", "SELECT MAP {m: 1} AS c FROM te": "ENUM", "FROM te SELECT m AS c": "ENUM",
		"SELECT max(w), '101'::BIT AS b, 'a'::ENUM ('b', 'a') AS c FROM words GROUP BY w": "ENUM",
	} {
		for _, with := range []string{"", " WITH NO DATA"} {
			if strings.HasPrefix(query, "FROM") && with != "" {
				continue // DuckDB's own syntax
			}
			_, err := s.Exec(context.Background(), "CREATE TABLE lossy AS "+query+with)
			var e *engine.Error
			require.ErrorAs(t, err, &e, query)
			require.Equal(t, "0A000", e.State, query)
			require.Equal(t, `column "c": columns of type `+name+" cannot be stored", e.Message, query)
			require.Contains(t, e.HintText, "CAST", query)
		}
	}
	// Of other types that results show as something else the table's columns are, beside text that scans show as ENUM, too.
	for query, name := range map[string]string{
		"SELECT '101'::BIT AS c": "BIT", "SELECT ['101'::BIT] AS c": "BIT[]", "SELECT '10:00:00+02'::TIMETZ AS c": "TIME WITH TIME ZONE",
		"SELECT '1'::BIGNUM AS c": "BIGNUM", "SELECT '10:00:00.123456789'::TIME_NS AS c": "TIME_NS",
		"SELECT max(w) AS w, {'w': max(w), 'b': '101'::BIT} AS c FROM words GROUP BY w": "STRUCT(w VARCHAR, b BIT)",
	} {
		for _, with := range []string{"", " WITH NO DATA"} {
			exec(t, s, "CREATE TABLE like_it AS "+query+with)
			require.Equal(t, rows(t, s, "SELECT '"+name+"'"), rows(t, s, "SELECT any_value(typeof(c)) FROM (SELECT c FROM like_it UNION ALL SELECT NULL)"), query)
			if with == "" {
				require.Equal(t, sorted(rows(t, s, query)), sorted(rows(t, s, "SELECT * FROM like_it")), query)
			}
			exec(t, s, "DROP TABLE like_it")
		}
	}
	// Text that scans show as ENUM is text.
	for i, query := range []string{"SELECT w FROM words", "SELECT w, count(*) AS n FROM words GROUP BY w", "SELECT DISTINCT w FROM words WHERE w > 'word0'", "FROM words SELECT min(w) AS w", "SELECT [w] AS l, CASE WHEN w = 'word1' THEN w END AS c FROM words"} {
		exec(t, s, fmt.Sprintf("CREATE TABLE kept%d AS %s", i, query))
	}
	exec(t, s, "CREATE TABLE kept AS SELECT m::VARCHAR AS m FROM te; INSERT INTO kept SELECT m FROM te; INSERT INTO kept SELECT '101'::BIT")
	require.Equal(t, []string{"101", "a", "a"}, rows(t, s, "SELECT m FROM kept ORDER BY m"))
}

// Text with a zero byte is text, also where few words are repeated often: an ENUM's words end with one.
func TestTextWithZeroBytes(t *testing.T) {
	s := session(t, open(t))
	exec(t, s, "CREATE TABLE t AS SELECT ['a' || chr(0) || 'b', 'a', 'b', 'c' || chr(0)][1 + i % 4] AS w, i FROM range(4000) r(i)")
	for _, disable := range []string{"", "enum"} {
		exec(t, s, "SET csm.disable = '"+disable+"'")
		require.Equal(t, []string{"a|1000", "a\x00b|1000", "b|1000", "c\x00|1000"}, rows(t, s, "SELECT w, count(*) FROM t GROUP BY w ORDER BY w"), disable)
		require.Equal(t, []string{"c\x00|a"}, rows(t, s, "SELECT max(w), min(w) FROM t"), disable)
		require.Equal(t, []string{"1000|0"}, rows(t, s, "SELECT count(*), min(i) FROM t WHERE w = 'a' || chr(0) || 'b' GROUP BY w"), disable)
	}
}

// Neither does it lose a collation that another object brings with it.
func TestQueriesOfCollatedColumns(t *testing.T) {
	s := session(t, open(t))
	exec(t, s, "CREATE TEMP TABLE tc (n INT, c VARCHAR COLLATE NOCASE, d VARCHAR); INSERT INTO tc VALUES (1, 'A', 'A'); CREATE TEMP VIEW tv AS SELECT d COLLATE NOACCENT AS c FROM tc")
	for _, query := range []string{"SELECT * FROM tc", "SELECT c FROM tc WHERE n = 1", "SELECT n, max(c) AS c FROM tc GROUP BY n", "SELECT c FROM tv", "FROM tc"} {
		_, err := s.Exec(context.Background(), "CREATE TABLE n AS "+query)
		var e *engine.Error
		require.ErrorAs(t, err, &e, query)
		require.Equal(t, "0A000", e.State, query)
		require.Contains(t, e.Message, `column "c": COLLATE`, query)
	}
	exec(t, s, "CREATE TABLE n1 AS SELECT n, d FROM tc; CREATE TABLE n2 AS SELECT lower(d) AS c FROM tc WHERE c = 'a'")
}

// A condition that is asked of each pair of rows may not be asked once for all.
func TestDeleteUsingAVolatileCondition(t *testing.T) {
	s := session(t, open(t))
	exec(t, s, "CREATE TABLE d AS SELECT i FROM range(100) r(i); CREATE TABLE u AS SELECT 1 AS k")
	for _, where := range []string{"random() < 0.5", "u.k = 1 AND RANDOM() < 0.5", `"random"() < 0.5`, "EXISTS (SELECT uuid())"} {
		_, err := s.Exec(context.Background(), "DELETE FROM d USING u WHERE "+where)
		var e *engine.Error
		require.ErrorAs(t, err, &e, where)
		require.Equal(t, "0A000", e.State, where)
	}
	require.Equal(t, "DELETE 50", exec(t, s, "DELETE FROM d USING u WHERE d.i % 2 = u.k").Tag)
	require.Equal(t, "DELETE 50", exec(t, s, "DELETE FROM d USING u WHERE 'random(' <> 'x'").Tag)
	listed := rows(t, s, "SELECT DISTINCT function_name FROM duckdb_functions() WHERE stability = 'VOLATILE' AND function_name NOT LIKE 'csm%'")
	for _, name := range listed {
		require.True(t, engine.Volatile(name), name)
	}
	require.NotEmpty(t, listed)
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

// EXECUTE passes values on as they are: text of bytes, as DuckDB writes it, would be read as others, and a timestamp's nanoseconds.
func TestArgumentsOfExecuteAreTheirValues(t *testing.T) {
	s := session(t, open(t))
	exec(t, s, "CREATE TABLE a (b BYTEA, l BYTEA[], ns TIMESTAMP_NS, iv INTERVAL); PREPARE p AS INSERT INTO a VALUES ($1, $2, $3, $4); PREPARE q(bytea, bytea[], timestamp_ns, interval) AS INSERT INTO a VALUES ($1, $2, $3, $4)")
	for _, name := range []string{"p", "q"} {
		exec(t, s, "TRUNCATE a; EXECUTE "+name+`('\xDE4144', '{"\\xDE4144",NULL}', '2024-02-29 12:00:00.123456789', '-1 mons +3 days'); EXECUTE `+name+`(unhex('5C78'), [unhex('5C78')], NULL, NULL)`)
		require.Equal(t, []string{"DE4144|DE4144|2024-02-29 12:00:00.123456789|-1 month 3 days", "5C78|5C78|(null)|(null)"},
			rows(t, s, "SELECT hex(b), hex(l[1]), ns::VARCHAR, iv::VARCHAR FROM a"), name)
	}
	exec(t, s, "TRUNCATE a")
	exec(t, s, "INSERT INTO a (b, iv) VALUES ($1, $2)", `\xDE4144`, "-1 mons +3 days +01:00:00")
	require.Equal(t, []string{"DE4144|-1 month 3 days 01:00:00"}, rows(t, s, "SELECT hex(b), iv::VARCHAR FROM a"))
	_, err := s.Exec(context.Background(), "CREATE TABLE st (c STRUCT (b BYTEA)); PREPARE r(STRUCT (b BYTEA)) AS INSERT INTO st VALUES ($1); EXECUTE r({'b': unhex('DE4144')})")
	require.ErrorContains(t, err, "cannot be passed to EXECUTE")
}

// DuckDB has no CASE of arrays of a fixed size.
func TestUpdateOfFixedArrays(t *testing.T) {
	s := session(t, open(t))
	exec(t, s, "CREATE TABLE f (n INT, a INT[2]); INSERT INTO f VALUES (1, [1, 2]), (2, NULL); UPDATE f SET a = [3, n] WHERE n = 1; UPDATE f SET a = '{5,NULL}' WHERE n = 2")
	require.Equal(t, []string{"1|[3, 1]|INTEGER[2]", "2|[5, NULL]|INTEGER[2]"}, rows(t, s, "SELECT n, a::VARCHAR, typeof(a) FROM f ORDER BY n"))
	_, err := s.Exec(context.Background(), "UPDATE f SET a = [1]")
	require.Error(t, err)
}

// What COPY writes to a file of text it reads again.
func TestFilesOfTextKeepBytes(t *testing.T) {
	t.Parallel()
	directory := t.TempDir()
	s := session(t, open(t, func(c *engine.Config) { c.Files = engine.FileAccess{Directories: []string{directory}} }))
	exec(t, s, `CREATE TABLE out (n INT, b BYTEA, l BYTEA[], d DATE, j JSON); INSERT INTO out VALUES (1, '\xDE4144', '{"\\xDE4144",NULL}', '0044-03-15 BC', '{"a":1}'), (2, '\x5C78', '{}', 'infinity', NULL), (3, NULL, NULL, NULL, NULL)`)
	for _, format := range []string{"csv", "json", "parquet"} {
		file := directory + "/out." + format
		exec(t, s, "COPY out TO '"+file+"'; DROP TABLE IF EXISTS back; CREATE TABLE back (n INT, b BYTEA, l BYTEA[], d DATE, j JSON); COPY back FROM '"+file+"'")
		require.Equal(t, rows(t, s, "SELECT n, hex(b), l, d::VARCHAR, j::VARCHAR FROM out ORDER BY n"), rows(t, s, "SELECT n, hex(b), l, d::VARCHAR, j::VARCHAR FROM back ORDER BY n"), format)
	}
	exec(t, s, "CREATE TABLE st AS SELECT {'b': unhex('DE4144')} AS c; COPY st TO '"+directory+"/st.csv'; CREATE TABLE su (c STRUCT (b BYTEA)); COPY su FROM '"+directory+"/st.csv'")
	require.Equal(t, []string{"DE4144"}, rows(t, s, "SELECT hex(c.b) FROM su"))
	_, err := s.Exec(context.Background(), "COPY st TO '"+directory+"/st.json'")
	require.ErrorContains(t, err, "cannot be written as text")
}
