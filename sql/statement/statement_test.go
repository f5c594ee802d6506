package statement_test

import (
	"bufio"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/csmsql/csmsql/sql/bulk"
	"github.com/csmsql/csmsql/sql/lex"
	"github.com/csmsql/csmsql/sql/sqlerror"
	"github.com/csmsql/csmsql/sql/statement"
)

// TestEncoding: C ends a text at a zero byte, so PostgreSQL's parser would see less than DuckDB does.
func TestEncoding(t *testing.T) {
	for _, sql := range []string{"SELECT 1\x00 garbage ((", "SELECT '\xff'", "\x00", "DROP TABLE \xc3"} {
		_, err := statement.Parse(sql)
		var e *sqlerror.Error
		require.ErrorAs(t, err, &e)
		require.Equal(t, "22021", e.SQLState())
	}
}

// TestWideSpaces: DuckDB takes Unicode's spaces for spaces, outside of strings and names.
func TestWideSpaces(t *testing.T) {
	for _, space := range []string{"\u00a0", "\u2003", "\u200b", "\u202f", "\u205f", "\u2060", "\u3000", "\ufeff"} {
		s, err := statement.Parse("DROP" + space + "TABLE" + space + space + "t")
		require.NoError(t, err)
		require.Equal(t, "t", s.Head.(*statement.Drop).Names[0].Name)
	}
}

// TestDeepNesting attacks S4: PostgreSQL's parser writes its tree by recursion without a bound, and overflowed the stack of
// the process at 100,000 levels.
func TestDeepNesting(t *testing.T) {
	const n = 300_000
	for name, sql := range map[string]string{
		"chain":       "SELECT 1" + strings.Repeat("+1", n),
		"unary":       "SELECT " + strings.Repeat("- ", n) + "1",
		"not":         "SELECT " + strings.Repeat("NOT ", n) + "true",
		"union":       "SELECT 1" + strings.Repeat(" UNION ALL SELECT 1", n),
		"parentheses": "SELECT " + strings.Repeat("(", n) + "1" + strings.Repeat(")", n),
		"subqueries":  "SELECT " + strings.Repeat("(SELECT ", n) + "1" + strings.Repeat(")", n),
		"calls":       "SELECT " + strings.Repeat("f(a, ", n) + "1" + strings.Repeat(")", n),
		"pairs":       "SELECT " + strings.Repeat("f(1, 2) + (", n) + "1" + strings.Repeat(")", n),
		"casts":       "SELECT 1" + strings.Repeat("::int", n),
		"joins":       "SELECT * FROM t" + strings.Repeat(" CROSS JOIN t", n),
		"subscripts":  "SELECT a" + strings.Repeat("[1]", n),
		"cases":       "SELECT " + strings.Repeat("CASE WHEN a THEN ", n) + "1" + strings.Repeat(" END", n),
	} {
		s, err := statement.Parse(sql)
		require.NoError(t, err, name) // DuckDB may understand it (S2)
		require.IsType(t, &statement.Select{}, s.Head, name)
		require.Nil(t, s.Tree, name)
		var e *sqlerror.Error
		require.ErrorAs(t, s.Syntax, &e, name)
		require.Equal(t, "54001", e.State, name)
	}
}

// TestWide: what is long without being deep has its tree.
func TestWide(t *testing.T) {
	for _, sql := range []string{
		"SELECT a FROM t WHERE a IN (1" + strings.Repeat(", -2", 50_000) + ")",
		"VALUES (1, 'a')" + strings.Repeat(", (2, f(3))", 20_000),
		"SELECT 1" + strings.Repeat(", a + b", 20_000) + " FROM t",
		"SELECT a FROM t WHERE a = 1" + strings.Repeat(" OR a = 2", 4_000),
	} {
		s, err := statement.Parse(sql)
		require.NoError(t, err)
		require.NotNil(t, s.Tree, sql[:30])
	}
}

// TestBulkInsert: the tree of a long INSERT would cost more than storing its rows.
// Where names stand is counted once: a list of a hundred thousand takes moments, not minutes.
func TestLongLists(t *testing.T) {
	const count = 100_000
	name := strings.Repeat("ü", 60)
	sql := "DROP TABLE IF EXISTS " + strings.Repeat(name+", ", count) + "last"
	begun := time.Now()
	parsed, err := statement.Parse(sql)
	require.NoError(t, err)
	require.Less(t, time.Since(begun), 30*time.Second)
	names := parsed.Head.(*statement.Drop).Names
	require.Len(t, names, count+1)
	for i, n := range names {
		require.Equal(t, len("DROP TABLE IF EXISTS ")+i*62+1, n.At)
	}
}

func TestBulkInsert(t *testing.T) {
	rows := "VALUES (1, 'a;')" + strings.Repeat(", (2, f(3))", 50_000)
	s, err := statement.Parse("INSERT INTO t " + rows + ";")
	require.NoError(t, err)
	require.Nil(t, s.Tree)
	require.NoError(t, s.Syntax)
	require.Equal(t, rows, s.Head.(*statement.Insert).Query)
	for _, bad := range []string{"INSERT INTO t " + rows + "; SELECT 1", "INSERT INTO t " + rows + ", ('a", "INSERT t " + rows} {
		_, err := statement.Parse(bad)
		var e *sqlerror.Error
		require.ErrorAs(t, err, &e)
		require.Equal(t, "42601", e.State)
		require.NotZero(t, len(e.Message))
	}
}

func TestDefaultValues(t *testing.T) {
	s, err := statement.Parse("WITH ä AS (SELECT 1) INSERT INTO t VALUES ('ö', DEFAULT), (default, 1)")
	require.NoError(t, err)
	i := s.Head.(*statement.Insert)
	require.Len(t, i.Defaults, 2)
	for k, d := range i.Defaults {
		require.Equal(t, "default", strings.ToLower(i.Query[d.At:d.At+7]))
		require.Equal(t, 1-k, d.Column)
	}
}

// A number that goes on as a name is an error in every dialect, and in texts of which no tree is made: to DuckDB the name is an alias.
func TestJunkBehindNumbers(t *testing.T) {
	long := "INSERT INTO t VALUES (1)" + strings.Repeat(", (1)", 8<<10)
	for sql, want := range map[string]struct {
		message string
		at      int
	}{
		"SELECT 123abc":            {`trailing junk after numeric literal at or near "123abc"`, 8},
		"SELECT 1e5x":              {`trailing junk after numeric literal at or near "1e5x"`, 8},
		"SELECT 1AS x":             {`trailing junk after numeric literal at or near "1AS"`, 8},
		"SELECT 0b12":              {`trailing junk after numeric literal at or near "0b12"`, 8},
		"SELECT 1__0":              {`trailing junk after numeric literal at or near "1__0"`, 8},
		"SELECT 1_":                {`trailing junk after numeric literal at or near "1_"`, 8},
		"SELECT 1.5_":              {`trailing junk after numeric literal at or near "1.5_"`, 8},
		"SELECT 1e":                {`trailing junk after numeric literal at or near "1e"`, 8},
		"SELECT 1ä":                {`trailing junk after numeric literal at or near "1ä"`, 8},
		"SELECT 0x":                {`invalid hexadecimal integer at or near "0x"`, 8},
		"FROM t SELECT 'ä', 123ab": {`trailing junk after numeric literal at or near "123ab"`, 20},
		"FROM t SELECT 0x":         {`trailing junk after numeric literal at or near "0x"`, 15},
		"FROM t SELECT 0x1F.5":     {`trailing junk after numeric literal at or near "0x1F.5"`, 15},
		"FROM t LIMIT 10OFFSET 5":  {`trailing junk after numeric literal at or near "10OFFSET"`, 14},
		`FROM t SELECT U&"\06"`:    {`invalid Unicode escape in U&"\06"`, 15},
		"SELECT $1abc":             {`trailing junk after parameter at or near "$1abc"`, 8},
		"FROM t SELECT $1abc":      {`trailing junk after parameter at or near "$1abc"`, 15},
		long + ", (1x)":            {`trailing junk after numeric literal at or near "1x"`, len(long) + 4},
	} {
		_, err := statement.Parse(sql)
		var e *sqlerror.Error
		require.ErrorAs(t, err, &e, sql)
		require.Equal(t, sqlerror.Error{State: "42601", Message: want.message, At: want.at}, *e)
	}
	for _, sql := range []string{
		"FROM t SELECT 1 AS x, 1.5e-3, .5, 5., [1, 2][1:2], a[1].b, 1\u00a0AS y, #1, $1 AS z, 'x'[1], {'a': 1}.a, 1-1, 2**3, $x$1abc$x$, '1abc'",
		"FROM t LIMIT 10%", "SELECT * EXCLUDE (a1) FROM t1", "SELECT $1::int, $2",
	} {
		_, err := statement.Parse(sql)
		require.NoError(t, err, sql)
	}
}

// corpus is every statement of the golden files.
func corpus(t testing.TB) (out []string) {
	files, err := filepath.Glob("testdata/heads/*.txt")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, name := range files {
		f, err := os.Open(name)
		require.NoError(t, err)
		for lines := bufio.NewScanner(f); lines.Scan(); {
			if line := lines.Text(); line != "" && !strings.HasPrefix(line, " ") && !strings.HasPrefix(line, "#") {
				out = append(out, line)
			}
		}
		require.NoError(t, f.Close())
	}
	return out
}

func FuzzParse(f *testing.F) {
	for _, sql := range corpus(f) {
		f.Add(sql)
	}
	f.Fuzz(func(t *testing.T, sql string) { checkParse(t, sql) })
}

func FuzzSplit(f *testing.F) {
	all := corpus(f)
	for i, sql := range all {
		f.Add(sql + ";" + all[len(all)-1-i])
	}
	f.Fuzz(func(t *testing.T, sql string) {
		checkSplit(t, sql)
		checkOperators(t, sql)
	})
}

// TestMixtures puts pieces of real statements together, which finds more than random bytes do.
func TestMixtures(t *testing.T) {
	words := map[string]bool{}
	for _, sql := range corpus(t) {
		for _, w := range strings.Fields(sql) {
			words[w] = true
		}
	}
	list := make([]string, 0, len(words))
	for w := range words {
		list = append(list, w)
	}
	list = append(list, ";", "(", ")", "'", `"`, "$$", "/*", "*/", "--", "\n", "E'", "\\", "ä", "$a$", "U&\"", ",", ".")
	heads := []string{"CREATE TABLE t", "INSERT INTO t", "COPY t FROM", "UPDATE t SET", "DELETE FROM t", "SET", "DROP TABLE", "BEGIN", "ALTER TABLE t", "EXPLAIN", "WITH x AS", ""}
	rapid.Check(t, func(t *rapid.T) {
		sql := rapid.SampledFrom(heads).Draw(t, "head") + " " + strings.Join(rapid.SliceOfN(rapid.SampledFrom(list), 0, 12).Draw(t, "words"), " ")
		checkParse(t, sql)
		checkSplit(t, sql)
		checkOperators(t, sql)
	})
}

func checkParse(t require.TestingT, sql string) {
	s, err := statement.Parse(sql)
	if err != nil {
		var e *sqlerror.Error
		require.ErrorAs(t, err, &e)
		require.Len(t, e.State, 5)
		require.NotEmpty(t, e.Message)
		require.LessOrEqual(t, e.At, utf8.RuneCountInString(sql)+1)
		return
	}
	require.Equal(t, sql, s.Text)
	if _, insert := s.Head.(*statement.Insert); !insert || len(sql) < 8<<10 && !bulk.Constants(s.Read()) {
		require.Equal(t, s.Tree == nil, s.Syntax != nil)
	}
	texts(reflect.ValueOf(s.Head).Elem(), func(field, text string) { // S1
		if i, ok := s.Head.(*statement.Insert); ok && field == "Query" {
			require.True(t, strings.HasPrefix(text, i.With))
			text = strings.TrimPrefix(text, i.With)
		}
		require.Contains(t, sql, text, field)
		require.True(t, field == "With" || strings.TrimSpace(text) == text, "%s: %q", field, text)
	})
}

// texts visits the texts of a head that are pieces of the statement.
func texts(v reflect.Value, visit func(field, text string)) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			f, name := v.Field(i), v.Type().Field(i).Name
			switch name {
			case "Inner", "Query", "Where", "From", "Using", "With", "Type", "Default":
				if f.Kind() == reflect.String {
					visit(name, f.String())
				}
			case "Value":
				if v.Type() != reflect.TypeFor[statement.Option]() {
					visit(name, f.String())
				}
			default:
				texts(f, visit)
			}
		}
	case reflect.Slice:
		for i := range v.Len() {
			texts(v.Index(i), visit)
		}
	}
}

// checkSplit attacks lex.L4: pieces lie in the text one behind the other, and nothing but blanks and semicolons between them.
func split(sql string) (pieces []string) {
	for _, piece := range lex.Split(lex.Client.Text(sql)) {
		pieces = append(pieces, piece.SQL)
	}
	return pieces
}

func checkSplit(t require.TestingT, sql string) {
	var joined []string
	at := 0
	pieces := split(sql)
	for _, piece := range pieces {
		require.NotEmpty(t, strings.TrimSpace(piece))
		i := strings.Index(sql[at:], piece)
		require.GreaterOrEqual(t, i, 0)
		at += i + len(piece)
		tokens, whole := statement.Tokens(piece)
		joined = append(joined, slices.DeleteFunc(slices.Clone(tokens), func(word string) bool { return word == ";" })...)
		if whole {
			if !slices.ContainsFunc(tokens, func(word string) bool { return strings.EqualFold(word, "atomic") }) {
				require.NotContains(t, tokens, ";")
			}
			require.Equal(t, []string{piece}, split(piece)) // a piece is one statement
		}
	}
	all, whole := statement.Tokens(sql)
	if !whole {
		require.Len(t, pieces, 1)
		return
	}
	var want []string
	for _, token := range all {
		if token != ";" {
			want = append(want, token)
		}
	}
	require.Equal(t, want, joined)
}

func BenchmarkParse(b *testing.B) {
	for name, sql := range map[string]string{
		"select1":        "SELECT 1",
		"begin":          "BEGIN",
		"insert":         "INSERT INTO t VALUES (1, 'a', 2.5)",
		"update":         "UPDATE pgbench_accounts SET abalance = abalance + $1 WHERE aid = $2;",
		"insert1000rows": "INSERT INTO t VALUES (1, 'some text', 2.5)" + strings.Repeat(", (1, 'some text', 2.5)", 999),
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(sql)))
			for b.Loop() {
				if _, err := statement.Parse(sql); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkSplit(b *testing.B) {
	sql := strings.Repeat("INSERT INTO t VALUES (1, 'a', 2.5);\n", 1000)
	b.SetBytes(int64(len(sql)))
	for b.Loop() {
		split(sql)
	}
}

// checkOperators: they stand in the text, one behind the other, and each has room for a name with two more characters if it has a quantifier.
func checkOperators(t require.TestingT, sql string) {
	at := 0
	for _, op := range lex.Operators(lex.Client.Text(sql)) {
		require.LessOrEqual(t, at, op.Start, sql)
		require.LessOrEqual(t, op.End, len(sql), sql)
		size := len(op.Name)
		if op.Quantifier != "" {
			size += 2
		}
		require.LessOrEqual(t, size, op.End-op.Start, sql)
		at = op.End
	}
}
