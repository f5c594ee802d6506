package notation_test

import (
	"encoding/json"
	"maps"
	"math/big"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	pg "github.com/pganalyze/pg_query_go/v6"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/csmsql/csmsql/sql/lex"
	"github.com/csmsql/csmsql/sql/notation"
	"github.com/csmsql/csmsql/sql/sqlerror"
)

// PN1, PN2.
func TestPlain(t *testing.T) {
	for sql, want := range map[string]string{
		"SELECT 0x1F, 0X1f, 0b101, 0B11, 0o17, 0O7, 0x_1F, 0x1_F": "SELECT 31, 31, 5, 3, 15, 7, 31, 31",
		"SELECT 0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF":               "SELECT 340282366920938463463374607431768211455",
		"SELECT 1e308, 1.5e-308, 0e999, 0.0e-999, 1e1_0_0":        "SELECT 1e308, 1.5e-308, 0e999, 0.0e-999, 1e100",
		"SELECT 1_000, 1_0.5_0e1_0, 1_0., .5_0, 0_1":              "SELECT 1000, 10.50e10, 10., .50, 01",
		"SELECT 0xe+1, 0xe-1, 0xFFe1":                             "SELECT 14+1, 14-1, 65505",
		"SELECT 0x1F[0x1:0x2]":                                    "SELECT 31[1:2]",
		"SELECT 1_0..2_0":                                         "SELECT 10..20",
		"SELECT B'101', b'', X'1f', B'1'\n'0'": "SELECT CAST('101' AS BITSTRING), CAST('' AS BITSTRING), " +
			"CAST('00011111' AS BITSTRING), CAST('10' AS BITSTRING)",
		`SELECT U&'d\0061t\+000061', U&'\d83d\de00', U&'it''s\\'`: `SELECT 'data', '😀', 'it''s\'`,
		`SELECT U&'d!0061' UESCAPE '!', U&'!!' /* */ uescape '!'`: `SELECT 'da', '!'`,
		`SELECT U&"d\0061ta", u&"a""!0062" UESCAPE '!'`:           `SELECT "data", "a""b"`,
		`SELECT E'\u00e4\U00000041\t''', e'\ud83d\ude00'`:         "SELECT 'äA\t''', '😀'",

		`SELECT E'\x41\101\q\'\xc3\xa4', e'\n'
'\n'`: "SELECT 'AAq''ä', '\n\n'",

		// names that are DuckDB's keywords
		"SELECT at, s.At, 1 AS By FROM (SELECT 1 at) s ORDER BY at":               `SELECT "at", s."at", 1 AS "by" FROM (SELECT 1 "at") s ORDER BY "at"`,
		"WITH show AS (SELECT 1 qualify) SELECT qualify FROM show":                `WITH "show" AS (SELECT 1 "qualify") SELECT "qualify" FROM "show"`,
		"SELECT pivot AT TIME ZONE 'UTC' AT LOCAL, lambda FROM t":                 `SELECT "pivot" AT TIME ZONE 'UTC' AT LOCAL, "lambda" FROM t`,
		"SELECT a, sum(b) OVER (PARTITION BY show ORDER BY at) FROM t GROUP BY a": `SELECT a, sum(b) OVER (PARTITION BY "show" ORDER BY "at") FROM t GROUP BY a`,
		"SELECT * FROM t SEMI JOIN u USING (x) ANTI JOIN v USING (y)":             "SELECT * FROM t SEMI JOIN u USING (x) ANTI JOIN v USING (y)",
		"SELECT * FROM glob('*'), t ASOF LEFT JOIN u ON t.x >= u.x":               "SELECT * FROM glob('*'), t ASOF LEFT JOIN u ON t.x >= u.x",
		"SELECT COLUMNS('a.*') FROM t":                                            "SELECT COLUMNS('a.*') FROM t",
		"SHOW x":                                                                  "SHOW x",
		"FROM t SELECT a QUALIFY a > 1":                                           "FROM t SELECT a QUALIFY a > 1",
		"SUMMARIZE t":                                                             "SUMMARIZE t",

		// percents
		"SELECT * FROM t TABLESAMPLE BERNOULLI (10) REPEATABLE (3), u TABLESAMPLE system(0b1)": "SELECT * FROM t TABLESAMPLE BERNOULLI (10 PERCENT) REPEATABLE (3), u TABLESAMPLE system(1 PERCENT)",
		"FROM t TABLESAMPLE bernoulli(1.5)":                                                    "FROM t TABLESAMPLE bernoulli(1.5 PERCENT)",
		"FROM t TABLESAMPLE bernoulli(10%), u TABLESAMPLE reservoir(10), v TABLESAMPLE 10":     "FROM t TABLESAMPLE bernoulli(10%), u TABLESAMPLE reservoir(10), v TABLESAMPLE 10",

		// types of arrays
		"SELECT '{a}'::_text, '{1}' :: \"_int4\", CAST(f(a, (b)) AS _Uuid)":                       "SELECT '{a}'::text[], '{1}' :: int4[], CAST(f(a, (b)) AS uuid[])",
		"SELECT TRY_CAST($1 AS _bool), pg_catalog._text, 1::pg_catalog._text":                     "SELECT TRY_CAST($1 AS bool[]), pg_catalog._text, 1::pg_catalog._text",
		"SELECT _text, a.\"_text\" FROM (SELECT 1 AS _text, CAST((SELECT 2 AS _text) AS _own)) a": "SELECT _text, a.\"_text\" FROM (SELECT 1 AS _text, CAST((SELECT 2 AS _text) AS _own)) a",

		// what is something else
		"SELECT 'U&\"\\0061\" 0x1F' -- 0x1F\n, \"0x1F\", $$0x1F$$, x0x1F, t1_0": "SELECT 'U&\"\\0061\" 0x1F' -- 0x1F\n, \"0x1F\", $$0x1F$$, x0x1F, t1_0",
		`SELECT E'it''s', E'' `: `SELECT E'it''s', E'' `,

		// what is nothing: Parse says so, or DuckDB
		"SELECT 0x, 0b2, 0o8, 1__0, 1_, 0x1G, 0x1F.5, 0x1Fä":                 "SELECT 0x, 0b2, 0o8, 1__0, 1_, 0x1G, 0x1F.5, 0x1Fä",
		`SELECT U&'\006', U&'\d83d', U&'a' UESCAPE '+'`:                      `SELECT U&'\006', U&'\d83d', U&'a' UESCAPE '+'`,
		`SELECT 'a'U&'b', "a"U&"b", $1U&"c"`:                                 `SELECT 'a'U&'b', "a"U&"b", $1U&"c"`,
		`SELECT E'\ud83d', E'\ude00', E'\ud83da', E'\u0000', E'\xff', E'\0'`: `SELECT E'\ud83d', E'\ude00', E'\ud83da', E'\u0000', E'\xff', E'\0'`,
		"SELECT U&'open": "SELECT U&'open",
	} {
		got, replaced, err := notation.Plain(lex.Client.Text(sql))
		require.NoError(t, err, sql)
		require.Equal(t, want, got, sql)
		require.Equal(t, got == sql, len(replaced) == 0)
		checkPlain(t, sql)
	}
}

func TestDigitsOfBitStrings(t *testing.T) {
	for sql, want := range map[string]struct {
		message string
		at      int
	}{
		"SELECT 'ä', X'1G'": {`"G" is not a valid hexadecimal digit`, 13},
		"SELECT b'12'":      {`"2" is not a valid binary digit`, 8},
		"SELECT x'a_b'":     {`"_" is not a valid hexadecimal digit`, 8},
	} {
		_, _, err := notation.Plain(lex.Client.Text(sql))
		var e *sqlerror.Error
		require.ErrorAs(t, err, &e, sql)
		require.Equal(t, sqlerror.Error{State: "22P02", Message: want.message, At: want.at}, *e)
	}
}

func TestPercentsOfSamples(t *testing.T) {
	for _, sql := range []string{"SELECT a FROM t TABLESAMPLE SYSTEM (101)", "SELECT a FROM t TABLESAMPLE SYSTEM (0x65)", "FROM t TABLESAMPLE bernoulli (100.5)"} {
		_, _, err := notation.Plain(lex.Client.Text(sql))
		var e *sqlerror.Error
		require.ErrorAs(t, err, &e, sql)
		require.Equal(t, sqlerror.Error{State: "2202H", Message: "sample percentage must be between 0 and 100", At: strings.Index(sql, "(") + 2}, *e)
	}
}

// DuckDB takes 1e400 for infinity, 1e-400 for 0, and an integer of 40 digits for the double nearest to it.
func TestNumbersThatDuckDBLacks(t *testing.T) {
	digits := strings.Repeat("1", 100)
	for sql, want := range map[string]struct {
		message string
		at      int
	}{
		"SELECT 'ä', 1e400":  {`number "1e400" is out of range`, 13},
		"SELECT -1.5E+309":   {`number "1.5E+309" is out of range`, 9},
		"SELECT 1e-400":      {`number "1e-400" is out of range`, 8},
		"SELECT .1e4_0_0":    {`number ".1e4_0_0" is out of range`, 8},
		"SELECT 1, 1e1000x2": {},
		"SELECT " + digits:   {`number "` + digits[:38] + `…" is out of range`, 8},
		"SELECT 340282366920938463463374607431768211456": {`number "340282366920938463463374607431768211456" is out of range`, 8},
		"SELECT 0x100000000000000000000000000000000":     {`number "0x100000000000000000000000000000000" is out of range`, 8},
		"SELECT '" + digits + "', 1." + digits:           {},
		"SELECT " + strings.Repeat("0", 50) + "1":        {},
	} {
		_, _, err := notation.Plain(lex.Client.Text(sql))
		if want.message == "" {
			require.NoError(t, err, sql)
			continue
		}
		var e *sqlerror.Error
		require.ErrorAs(t, err, &e, sql)
		require.Equal(t, []any{"22003", want.message, want.at}, []any{e.State, e.Message, e.At})
		require.NotEmpty(t, e.HintText)
	}
}

// statements are those of the heads that package statement reads.
func statements(t testing.TB) (out []string) {
	files, err := filepath.Glob("../statement/testdata/heads/*.txt")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, name := range files {
		text, err := os.ReadFile(name)
		require.NoError(t, err)
		for line := range strings.Lines(string(text)) {
			if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
				out = append(out, line)
			}
		}
	}
	return out
}

func FuzzPlain(f *testing.F) {
	for _, sql := range statements(f) {
		f.Add(sql)
	}
	f.Fuzz(func(t *testing.T, sql string) { checkPlain(t, sql) })
}

// TestMixtures puts pieces of real statements together, which finds more than random bytes do.
func TestMixtures(t *testing.T) {
	words := map[string]bool{}
	for _, sql := range statements(t) {
		for _, w := range strings.Fields(sql) {
			words[w] = true
		}
	}
	list := append(slices.Sorted(maps.Keys(words)), ";", "(", ")", "'", `"`, "$$", "/*", "*/", "--", "\n", "E'", "\\", "ä",
		"U&\"", "U&'", "0x1", "1_0", "B'1", "::", "_text", "AS", "CAST(", "TABLESAMPLE", "at", ",", ".")
	rapid.Check(t, func(t *rapid.T) {
		checkPlain(t, strings.Join(rapid.SliceOfN(rapid.SampledFrom(list), 0, 12).Draw(t, "words"), " "))
	})
}

// checkPlain: PN1, PN2. A text in plain spelling means what the text means, to PostgreSQL's parser; and what is plain stays as it is.
func checkPlain(t require.TestingT, sql string) {
	plain, replaced, err := notation.Plain(lex.Client.Text(sql))
	if err != nil {
		return
	}
	shift := 0
	for _, r := range replaced {
		require.LessOrEqual(t, r.Start, r.End)
		shift += r.Length - (r.End - r.Start)
	}
	require.Equal(t, len(sql)+shift, len(plain))
	again, changed, err := notation.Plain(lex.Client.Text(plain))
	require.NoError(t, err)
	require.Equal(t, plain, again)
	require.Empty(t, changed)
	want, err := pg.ParseToJSON(sql)
	if err != nil || strings.Contains(want, `"bsval"`) {
		return
	}
	got, err := pg.ParseToJSON(strings.ReplaceAll(plain, " PERCENT)", ")"))
	require.NoError(t, err, "%s\n%s", sql, plain)
	require.Equal(t, meaning(t, want), meaning(t, got), "%s\n%s", sql, plain)
}

// meaning is a tree without places, in which numbers are values.
func meaning(t require.TestingT, tree string) any {
	var out any
	require.NoError(t, json.Unmarshal([]byte(tree), &out))
	var walk func(any) any
	walk = func(n any) any {
		switch n := n.(type) {
		case []any:
			for i := range n {
				n[i] = walk(n[i])
			}
		case map[string]any:
			for key, value := range n {
				text, isText := value.(string)
				element, array := strings.CutPrefix(text, "_")
				switch {
				case key == "sval" && array: // a type of arrays, by its name
					n[key] = element
				case key == "arrayBounds", key == "location", strings.HasPrefix(key, "stmt_l"), strings.HasSuffix(key, "_loc"):
					delete(n, key)
				case key == "fval" && isText:
					number, _, err := big.ParseFloat(withoutZeros(text), 0, 400, big.ToNearestEven)
					require.NoError(t, err)
					n[key] = number.String()
				default:
					n[key] = walk(value)
				}
			}
		}
		return n
	}
	return walk(out)
}

// withoutZeros keeps Go from reading 017 as an octal number.
func withoutZeros(number string) string {
	for len(number) > 1 && (number[0] == '_' || number[0] == '0' && strings.IndexByte("0123456789_", number[1]) >= 0) {
		number = number[1:]
	}
	return number
}
