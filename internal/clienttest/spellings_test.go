package clienttest

import (
	"cmp"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
	pg "github.com/pganalyze/pg_query_go/v6"
	"github.com/stretchr/testify/require"
)

// spelling is a way of PostgreSQL's lexer, or of its expressions without names, to write a value.
type spelling struct {
	text string
	want string // PostgreSQL 17's value as text, or the SQLSTATE of its error
	ours string // csmsql's, where it has another one: an error, or what docs/sql.md says that differs; empty: the same
	duck string // csmsql's in a text that PostgreSQL's parser does not understand, where that is another one
	from int    // PostgreSQL's version that has it; 0: all do
}

// spellings are the forms of PostgreSQL's scan.l, one after the other.
var spellings = []spelling{
	// integers
	{text: "0", want: "0"}, {text: "42", want: "42"}, {text: "007", want: "7"}, {text: "2147483647", want: "2147483647"}, {text: "2147483648", want: "2147483648"},
	{text: "9223372036854775807", want: "9223372036854775807"}, {text: "9223372036854775808", want: "9223372036854775808"},
	{text: "99999999999999999999999999999999999999", want: "99999999999999999999999999999999999999"},
	{text: "1234567890123456789012345678901234567890", want: "1234567890123456789012345678901234567890", ours: "22003"},
	{text: "0x1F", want: "31", from: 16}, {text: "0X1f", want: "31", from: 16}, {text: "0o17", want: "15", from: 16}, {text: "0O7", want: "7", from: 16},
	{text: "0b101", want: "5", from: 16}, {text: "0B11", want: "3", from: 16}, {text: "0x_1F", want: "31", from: 16}, {text: "0x1_F", want: "31", from: 16},
	{text: "0x7FFFFFFF", want: "2147483647", from: 16}, {text: "0x80000000", want: "2147483648", from: 16},
	{text: "0x7FFFFFFFFFFFFFFF", want: "9223372036854775807", from: 16}, {text: "0x8000000000000000", want: "9223372036854775808", from: 16},
	{text: "0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF", want: "87112285931760246646623899502532662132735", from: 16, ours: "22003"},
	{text: "1_000", want: "1000", from: 16}, {text: "1_2_3", want: "123", from: 16}, {text: "0b1_0", want: "2", from: 16}, {text: "0_1", want: "1", from: 16},
	// numbers with a point or an exponent
	{text: "1.5", want: "1.5"}, {text: "1.50", want: "1.50"}, {text: ".5", want: "0.5"}, {text: "5.", want: "5"}, {text: "00.5", want: "0.5"},
	{text: "1_000.5", want: "1000.5", from: 16}, {text: "1.5_0", want: "1.50", from: 16}, {text: "1_0.5e1_0", want: "105000000000", from: 16},
	{text: "1e3", want: "1000"}, {text: "1E+3", want: "1000"}, {text: "15e-1", want: "1.5"}, {text: "1.e2", want: "100"}, {text: ".5e1", want: "5"},
	{text: "1e0", want: "1"}, {text: "1.5e2", want: "150"}, {text: "1e400", want: "1" + strings.Repeat("0", 400), ours: "22003"},
	{text: "1e-400", want: "0." + strings.Repeat("0", 399) + "1", ours: "22003"},
	// what is no number
	{text: "123abc", want: "42601", from: 15}, {text: "1e", want: "42601", from: 15}, {text: "1e+", want: "42601", from: 15}, {text: "1e5x", want: "42601", from: 15},
	{text: "0x", want: "42601", from: 15}, {text: "0xg", want: "42601", from: 15}, {text: "0b12", want: "42601", from: 15}, {text: "0b", want: "42601", from: 15},
	{text: "0o8", want: "42601", from: 15}, {text: "1_", want: "42601", from: 15}, {text: "1__0", want: "42601", from: 15}, {text: "1_.5", want: "42601", from: 15},
	{text: "1._5", want: "42601", from: 15}, {text: "1.5_", want: "42601", from: 15}, {text: "1e_1", want: "42601", from: 15}, {text: "0x1F_", want: "42601", from: 15},
	{text: "0x1F.5", want: "42601", from: 15}, {text: "1ä", want: "42601", from: 15}, {text: "1.1.1", want: "42601"}, {text: "1..1", want: "42601"},
	// strings
	{text: "'abc'", want: "abc"}, {text: "'it''s'", want: "it's"}, {text: "''", want: ""}, {text: `'a\b'`, want: `a\b`}, {text: `'\'`, want: `\`},
	{text: "'a'\n 'b'", want: "ab"}, {text: "'a' -- comment\n 'b'\n'c'", want: "abc"}, {text: "'a' 'b'", want: "42601"}, {text: "'a' /* \n */ 'b'", want: "42601"},
	{text: "N'abc'", want: "abc"}, {text: "n'it''s'", want: "it's"},
	{text: `E'a\tb\nc\\d\'e'`, want: "a\tb\nc\\d'e"}, {text: `e'\b\f\r\q'`, want: "\b\f\rq"}, {text: `E'\x41\x4a\101'`, want: "AJA"}, {text: `E'\xc3\xa4'`, want: "ä"},
	{text: `E'\u00e4\U000000E4'`, want: "ää"}, {text: `E'\ud83d\ude00'`, want: "😀"}, {text: "E'a'\n'\\n'", want: "a\n"}, {text: `E'it''s\u0041'`, want: "it'sA"},
	{text: `E'\u00e'`, want: "22025"}, {text: `E'\ud83d'`, want: "42601"}, {text: `E'\xff'`, want: "22021"}, {text: `E'\0'`, want: "22021"},
	{text: `U&'d\0061t\+000061'`, want: "data"}, {text: `u&'d!0061!!' UESCAPE '!'`, want: "da!"}, {text: `U&'\\it''s'`, want: `\it's`},
	{text: `U&'\d83d\de00'`, want: "😀"}, {text: "U&'\\0061'\n'\\0062'", want: "ab"}, {text: `U&'d!0061' /* c */ uescape '!'`, want: "da"},
	{text: `U&'\061'`, want: "42601"}, {text: `U&'\d83d'`, want: "42601"}, {text: `U&'a' UESCAPE '+'`, want: "42601"}, {text: `U&'a' UESCAPE 'aa'`, want: "42601"},
	{text: "$$it's$$", want: "it's"}, {text: "$a$x$$y$b$z$a$", want: "x$$y$b$z"}, {text: `$ä$\n$ä$`, want: `\n`}, {text: "$$a\nb$$", want: "a\nb"},
	// bit strings
	{text: "B'101'", want: "101"}, {text: "b'1'\n'0'", want: "10"}, {text: "X'1F'", want: "00011111"}, {text: "x'aF0'", want: "101011110000"},
	{text: "B'101' || X'1'", want: "1010001"}, {text: "B'12'", want: "22P02"}, {text: "X'1G'", want: "22P02"}, {text: "B''", want: "", ours: "22P02"},
	// names
	{text: `s."a" FROM (SELECT 1 AS a) s`, want: "1"}, {text: `"a""b" FROM (SELECT 1 AS "a""b") s`, want: "1"}, {text: `A FROM (SELECT 1 AS "a") s`, want: "1"},
	{text: `U&"d\0061ta" FROM (SELECT 1 AS data) s`, want: "1"}, {text: `U&"d!0061ta" UESCAPE '!' FROM (SELECT 1 AS data) s`, want: "1"},
	{text: `data FROM (SELECT 1 AS U&"d\0061ta") AS U&"\0073"`, want: "1"}, {text: `ä$1 FROM (SELECT 1 AS ä$1) s`, want: "1"}, {text: `"0x1F" FROM (SELECT 1 AS "0x1F") s`, want: "1"},
	{text: `""`, want: "42601"}, {text: `U&"\00" FROM (SELECT 1) s`, want: "42601"},
	// comments
	{text: "/* a /* nested 0x1F */ 'comment' */ 1", want: "1"}, {text: "1 -- 0x1F", want: "1"}, {text: "1 --'\n + 1", want: "2"}, {text: "1/**/+/**/1", want: "2"},
	{text: "1 - -1", want: "2"}, {text: "1-/**/-1", want: "2"}, {text: "1 /* open", want: "42601"},
	// operators beside numbers, and casts
	{text: "-0x1F", want: "-31", from: 16}, {text: "- 0x1F", want: "-31", from: 16}, {text: "+0b11", want: "3", from: 16}, {text: "0xe+1", want: "15", from: 16},
	{text: "0xe-1", want: "13", from: 16}, {text: "0x1F-0x1", want: "30", from: 16}, {text: "0x1F%0x7", want: "3", from: 16}, {text: "~0x1F", want: "-32", from: 16},
	{text: "0x1F=31", want: "t", from: 16}, {text: "1<-1", want: "f"}, {text: "1!=2", want: "t"}, {text: "4*-2", want: "-8"}, {text: "2^3^2", want: "64"},
	{text: "@ -5", want: "5"}, {text: "0x1F::int8", want: "31", from: 16}, {text: "CAST(0b1 AS text)", want: "1", from: 16}, {text: "0x1F::text || 'x'", want: "31x", from: 16},
	{text: "int '1'", want: "1"}, {text: "int4'1'", want: "1"}, {text: "date'2024-01-01'", want: "2024-01-01"}, {text: "'1'::int::text", want: "1"},
	{text: "pg_catalog.int4 '1'", want: "1", ours: "42704"}, {text: "-2147483648::int", want: "22003"}, {text: "(-2147483648)::int", want: "-2147483648"},
	{text: "ARRAY[0x1, 0b11]", want: "{1,3}", from: 16}, {text: "(ARRAY[10, 20])[0b10]", want: "20", from: 16}, {text: "'{1,2}'::int[]", want: "{1,2}", duck: "22P02"},
	{text: "round(2.567, 0x2)", want: "2.57", from: 16}, {text: "5 BETWEEN 0x1 AND 0xA", want: "t", from: 16}, {text: "5 IN (0x5, 0x6)", want: "t", from: 16},
	{text: "CASE 0x1 WHEN 0b1 THEN 0o7 END", want: "7", from: 16}, {text: "1.005::numeric(0x3, 0b1)", want: "1.0", from: 16},
	// strings that become numbers
	{text: "'42'::int", want: "42"}, {text: "' 42 '::int", want: "42"}, {text: "'+42'::int", want: "42"}, {text: "'0x1F'::int", want: "31", from: 16}, {text: "'0b101'::int8", want: "5", from: 16},
	{text: "'0o17'::int", want: "15", from: 16, ours: "22P02"}, {text: "'-0x1F'::int", want: "-31", from: 16, ours: "22P02"}, {text: "' 0x1F '::int", want: "31", from: 16, ours: "22P02"},
	{text: "'1_000'::int", want: "1000", from: 16}, {text: "'1__0'::int", want: "22P02"}, {text: "'0x'::int", want: "22P02"}, {text: "'0b2'::int", want: "22P02"}, {text: "'1_'::int", want: "22P02"},
	{text: "'12abc'::int", want: "22P02"}, {text: "''::int", want: "22P02"}, {text: "'1.5'::float8", want: "1.5"}, {text: "'1e3'::float8", want: "1000"},
	{text: "'1.5'::int", want: "22P02", ours: "2"}, {text: "'1e3'::int", want: "22P02", ours: "1000"}, {text: "'1_0'::float8", want: "22P02", ours: "10"},
	{text: "'1e400'::float8", want: "22003", ours: "Infinity"},
}

// frames are where an expression stands. What brings its own FROM, or ends in a comment, stands in the first ones alone.
var frames = []struct{ name, before, after string }{
	{"by itself", "SELECT ", "\n"},
	{"DuckDB's dialect", "FROM (SELECT 0 AS zero) SELECT ", "\n"},
	{"in VALUES", "SELECT c FROM (VALUES (", "\n)) s(c)"},
	{"in a sub-query", "SELECT c FROM (SELECT ", "\n AS c) s WHERE c IS NOT NULL"},
	{"beside a table", "SELECT ", "\n FROM spelled"},
	{"in WITH", "WITH w(c) AS (SELECT ", "\n) SELECT c FROM w"},
	{"in CASE", "SELECT CASE WHEN a = 1 THEN (", "\n) END FROM spelled"},
}

// duckFrame is the one of frames that PostgreSQL's parser does not understand.
const duckFrame = 1

// TestEverySpelling: each is PostgreSQL's value or an error, wherever it stands, and never another value that
// docs/sql.md does not describe.
func TestEverySpelling(t *testing.T) {
	for _, backend := range []string{"auto", "duckdb", "compute"} {
		r := newRoom(t, shared.dsn(), "CREATE TABLE spelled (a int); INSERT INTO spelled VALUES (1); SET csm.backend = "+backend)
		for _, s := range spellings {
			for i, frame := range frames {
				if i > 0 && (strings.Contains(s.text, " FROM ") || backend == "compute") {
					continue
				}
				got := r.try(t, frame.before+s.text+frame.after, "")
				if backend == "compute" && strings.Contains(got.text, "Arrow-kernel backend cannot run this") {
					continue
				}
				want := cmp.Or(s.ours, shown(s.want))
				if i == duckFrame {
					want = cmp.Or(s.duck, want)
				}
				if got.refused {
					got.text = got.text[:5]
				}
				if refused := isState(want); refused != got.refused || got.text != want && !(refused && i > 0) {
					t.Errorf("%s, %s, csm.backend = %s: %s is to be %s", s.text, frame.name, backend, got.text, want)
				}
			}
		}
	}
}

// TestEverySpellingInPostgres: the list is right.
func TestEverySpellingInPostgres(t *testing.T) {
	r := newRoom(t, startPostgres(t), "SELECT 1")
	version := r.version(t)
	for _, s := range spellings {
		if s.from > version {
			continue
		}
		got, want := r.try(t, frames[0].before+s.text+frames[0].after, ""), shown(s.want)
		if got.refused {
			got.text = got.text[:5]
		}
		require.Equal(t, want, got.text, s.text)
	}
}

func (r *room) version(t *testing.T) (major int) {
	t.Helper()
	_, err := fmt.Sscanf(r.conn.ParameterStatus("server_version"), "%d", &major)
	require.NoError(t, err)
	return major
}

// isState reports whether a text is a SQLSTATE, and not a value.
func isState(text string) bool {
	return len(text) == 5 && strings.Trim(text, "0123456789P") == "" && (strings.HasPrefix(text, "22") || strings.HasPrefix(text, "42"))
}

// TestSpellingsOfStatements: constants stand in more than expressions, and errors point into the text as the client wrote it.
func TestSpellingsOfStatements(t *testing.T) {
	r := newRoom(t, shared.dsn(), "SELECT 1")
	for _, c := range []struct{ sql, want string }{
		{"CREATE TABLE n (a int DEFAULT 0x1F, b numeric(0x6, 0b10), c varchar(0x3), CHECK (a < 0x1_00)); INSERT INTO n VALUES (0x10, 1_0.5, 'abc'), (DEFAULT, 0xA, 'x'); SELECT * FROM n ORDER BY 0x1",
			"16, 10.50, abc; 31, 10.00, x"},
		{"INSERT INTO n (a) VALUES (0x100)", `23514: new row for relation "n" violates check constraint "n_a_check"`},
		{"INSERT INTO n (a) VALUES (0xFFFFFFFFF)", `22003: value "68719476735" is out of range for type integer`},
		{"UPDATE n SET a = 0xAB WHERE a = 0x1F; SELECT a FROM n WHERE a BETWEEN 0xA0 AND 0xFF ORDER BY 1 LIMIT 0b1 OFFSET 0x0", "171"},
		{"DELETE FROM n WHERE a IN (0xAB, 0x1); SELECT count(*) FROM n", "1"},
		{`CREATE VIEW v AS SELECT 0x1F AS x, U&'d\0061ta' AS y, X'1F' AS z, at FROM (SELECT 2 AS at) s; SELECT * FROM v`, "31, data, 00011111, 2"},
		{"CREATE TABLE m AS SELECT 0x1F AS x, 0xFFFFFFFF AS y; SELECT x, pg_typeof(x), y, pg_typeof(y) FROM m", "31, integer, 4294967295, bigint"},
		{"COPY (SELECT 0x1F, E'\\u00e4') TO STDOUT", `31\tä`},
		{"PREPARE p(int) AS SELECT $1 + 0x1F; EXECUTE p(0x1)", "32"},
		{"BEGIN; DECLARE c CURSOR FOR SELECT generate_series FROM generate_series(0x1, 0xF); MOVE 1_0 FROM c; FETCH 0x1 FROM c", "11"}, {"COMMIT", "COMMIT"},
		{"SET statement_timeout = 0x7_530; SHOW statement_timeout", "30s"}, {"RESET statement_timeout", "RESET"},
		{`CREATE TABLE U&"d!0061ta" UESCAPE '!' (U&"\0061" int); INSERT INTO data VALUES (0x1); SELECT U&"\0061" FROM U&"d\0061ta"`, "1"},
		{"CREATE TEMP TABLE n2 (a int DEFAULT 0x1F, CHECK (a > 0x10)); INSERT INTO n2 DEFAULT VALUES; SELECT a FROM n2", "31"},
		{"CREATE TABLE show (at int, by int, qualify int); INSERT INTO show (at, by, qualify) VALUES (1, 2, 3); UPDATE show SET at = at + by WHERE qualify > 0; SELECT at, show.by FROM show ORDER BY at", "3, 2"},
		{"SELECT 0xFFFFFFFFFF::numeric, 1_000_000_000_000::numeric", "1099511627775, 1000000000000"},
	} {
		require.Equal(t, c.want, r.try(t, c.sql, "").text, c.sql)
	}
	for marked, want := range map[string]string{
		"SELECT 0xFFFFFFFFFFFF, |nosuch":                     "42703",
		`SELECT U&'\00e4\00e4', 'ä', |nosuch FROM data`:      "42703",
		"SELECT X'FF', at, |nosuch FROM (SELECT 1 AS at) s":  "42703",
		"SELECT 'ä', |X'1G'":                                 "22P02",
		"SELECT 'ä', |1e400":                                 "22003",
		"SELECT 0x1F, |123abc":                               "42601",
		"FROM data SELECT 0xFFFFFFFFFFFF, |123abc":           "42601",
		"INSERT INTO data SELECT 0xFFFFFFFFFFFF + |nosuch":   "42703",
		"PREPARE q AS SELECT 0xFFFFFFFFFFFF, |nosuch":        "42703",
		"EXPLAIN SELECT U&'\\0061\\0061\\0061', |nosuch":     "42703",
		"SELECT $1::int, 0xFFFFFFFFFFFF, |nosuch":            "42703",
		"SELECT 0xFFFFFFFFFFFF::numeric, $1::int8, |nosuch ": "42703",
	} {
		sql := strings.Replace(marked, "|", "", 1)
		err := r.conn.ExecParams(t.Context(), sql, parametersOf(sql), nil, nil, nil).Read().Err
		var refused *pgconn.PgError
		require.ErrorAs(t, err, &refused, sql)
		require.Equal(t, want, refused.Code, "%s: %s", sql, refused.Message)
		require.Equal(t, len([]rune(marked[:strings.Index(marked, "|")]))+1, int(refused.Position), sql)
	}
}

func parametersOf(sql string) (args [][]byte) {
	if strings.Contains(sql, "$1") {
		args = append(args, []byte("1"))
	}
	return args
}

// TestKeywordsAreNames: what DuckDB has for keywords and PostgreSQL takes for names are names.
func TestKeywordsAreNames(t *testing.T) {
	r := newRoom(t, shared.dsn(), "SELECT 1")
	rows, err := r.conn.Exec(t.Context(), "SELECT DISTINCT keyword_name FROM duckdb_keywords() ORDER BY 1").ReadAll()
	require.NoError(t, err)
	tried := 0
	for _, row := range rows[0].Rows {
		for _, sql := range []string{
			"SELECT %[1]s FROM (SELECT 1 AS %[1]s) s", "SELECT s.%[1]s + 0 FROM (SELECT 1 AS %[1]s) s WHERE %[1]s > 0 ORDER BY s.%[1]s", "SELECT %[1]s.a FROM (SELECT 1 AS a) AS %[1]s",
			"WITH %[1]s AS (SELECT 1 AS a) SELECT a FROM %[1]s", "SELECT max(%[1]s) FROM (SELECT 1 AS %[1]s, 2 AS g) s GROUP BY g",
		} {
			if !isName(sql, string(row[0])) {
				continue
			}
			tried++
			sql = fmt.Sprintf(sql, row[0])
			if got := r.try(t, sql, ""); got.text != "1" {
				t.Errorf("%s: %s", sql, got.text)
			}
		}
	}
	require.Greater(t, tried, 1000)
}

// isName reports whether a word is a name to PostgreSQL's parser: it is the same with quotes. User is a function.
func isName(sql, word string) bool {
	bare, err := pg.ParseToJSON(fmt.Sprintf(sql, word))
	quoted, also := pg.ParseToJSON(fmt.Sprintf(sql, `"`+word+`"`))
	return err == nil && also == nil && location.ReplaceAllString(bare, "") == location.ReplaceAllString(quoted, "")
}

var location = regexp.MustCompile(`"\w*(?:location|_len|_loc)":-?\d+,?`)
