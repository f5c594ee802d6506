package lex_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	pg "github.com/pganalyze/pg_query_go/v6"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/csmsql/csmsql/sql/lex"
)

var dialects = map[string]lex.Dialect{"PostgreSQL": lex.PostgreSQL, "Client": lex.Client, "DuckDB": lex.DuckDB}

// tokens are those of a text, with a space between them.
func tokens(d lex.Dialect, sql string) string {
	var out []string
	for t := d.Next(sql, 0); t.Kind != lex.End; t = d.Next(sql, t.End()) {
		letter := string("EwqsnpyI"[t.Kind])
		if t.Kind == lex.Symbol {
			letter = ""
		}
		out = append(out, letter+strings.NewReplacer(" ", "·", "\n", "↵").Replace(t.Text))
	}
	return strings.Join(out, " ")
}

func TestTokens(t *testing.T) {
	for sql, want := range map[string]string{
		`SELECT "a""b", t.Ä1$ FROM t`:                  `wSELECT q"a""b" , wt . wÄ1$ wFROM wt`,
		"a -- b 'c\n+ /* d /* e */ -- */ f":            "wa + wf",
		"a--\rb --c":                                   "wa wb",
		"a+--b\n-/*c*/-d":                              "wa + - - wd",
		"'a''b' 'c'\n 'd' E'\\'' N'e' x'0''1' 'f' 'g'": `s'a''b' s'c'↵·'d' sE'\'' wN s'e' sx'0' s'1' s'f' s'g'`,
		"'a' -- b\n--c\n 'd'":                          "s'a'·--·b↵--c↵·'d'",
		`U&'\0061' u&"b" U&c`:                          `sU&'\0061' qu&"b" wU & wc`,
		"1..5 1...5 1....5":                            "n1 . . n5 n1 . . n.5 n1 . . . . n5",
		"$1 $a$ $b$ $$ $a$ $$ $ $$ a$$b$$ $c":          "p$1 s$a$·$b$·$$·$a$ s$$·$·$$ wa$$b$$ $ wc",
		"1 1.5e-3 .5 1..2 1.e5 t.1 1-1":                "n1 n1.5e-3 n.5 n1 . . n2 n1.e5 wt n.1 n1 - n1",
		"a::b->>c := [1:2] {'x': ?}":                   "wa : : wb - > > wc : = [ n1 : n2 ] { s'x' : ? }",
		"a 'b":                                         "wa I'b",
		`a "b""`:                                       `wa I"b""`,
		"a /* b /* c */":                               "wa I/*·b·/*·c·*/",
		"a $b$ c $b":                                   "wa I$b$·c·$b",
		"\t\n\v\f\r ;\x00":                             "; \x00",
		"":                                             "",
	} {
		for name, d := range dialects {
			require.Equal(t, want, tokens(d, sql), "%s: %s", name, sql)
		}
	}
}

// What the dialects do not agree on.
func TestDialects(t *testing.T) {
	for sql, want := range map[string][3]string{ // PostgreSQL, Client, DuckDB
		"a\u00a0b\u2003\u2060 c": {"wa\u00a0b\u2003\u2060 wc", "wa wb wc", "wa wb wc"},
		"'a'\u00a0\n'b'":         {"s'a' w\u00a0 s'b'", "s'a'\u00a0↵'b'", "s'a'\u00a0↵'b'"},
		"a\u205fb\u3000c\ufeffd": {"wa\u205fb\u3000c\ufeffd", "wa wb wc wd", "wa wb wc wd"},
		"\"c\u00a0d\"":           {"q\"c\u00a0d\"", "q\"c\u00a0d\"", "q\"c\u00a0d\""},
		"'a'--x\n'b'":            {"s'a'--x↵'b'", "s'a'--x↵'b'", "s'a'--x↵'b'"},
		"0x1F 0b1 0o7":           {"n0x1F n0b1 n0o7", "n0x1F n0b1 n0o7", "n0 wx1F n0 wb1 n0 wo7"},
		"1_000 1__0 1_":          {"n1_000 n1__0 n1_", "n1_000 n1__0 n1_", "n1_000 n1 w__0 n1 w_"},
		"1e5x 1ex 1.5e+ 0xe+1": {
			"n1e5x n1ex n1.5e + n0xe + n1", "n1e5x n1ex n1.5e + n0xe + n1",
			"n1e5 wx n1 wex n1.5 we + n0 wxe + n1",
		},
		"?1 ?a $1_0 1e'\\''": {
			"? n1 ? wa p$1 w_0 n1e I'\\''", "? n1 ? wa p$1 w_0 n1e I'\\''",
			"p?1 ? wa p$1_0 n1 se'\\''",
		},
		"1._5 1.5.5 1.5e1.5": {
			"n1._5 n1.5 n.5 n1.5e1 n.5", "n1._5 n1.5 n.5 n1.5e1 n.5",
			"n1. w_5 n1.5 n.5 n1.5e1 n.5",
		},
	} {
		for i, d := range []lex.Dialect{lex.PostgreSQL, lex.Client, lex.DuckDB} {
			require.Equal(t, want[i], tokens(d, sql), "%q", sql)
		}
	}
}

func TestValues(t *testing.T) {
	for sql, want := range map[string]string{
		"'it''s'": "it's", "'a'\n'b'": "ab", "E'\\t\\x41\\''": "\tA'", "$q$'\\$q$": `'\`,
		`U&'d\0061\+000062\\'`: `dab\`, "E'a\\u00e4'\n'\\\\'": `aä\`, `E'\ud83d\ude00\1'`: "😀\x01", `U&'\d83d\de00'`: "😀",
	} {
		value, ok := lex.Client.Next(sql, 0).Value()
		require.True(t, ok, sql)
		require.Equal(t, want, value, sql)
	}
	for _, sql := range []string{
		"x'1F'", "b'1'", `E'\u00'`, `E'\u0000'`, `E'\xff'`, `E'\0'`, `E'\400'`, `E'\ud800'`, `E'\ud800x'`, `E'\ud800x\udc00'`, `E'\ud800\u0061'`, `E'\ude00'`,
		`U&'\00'`, `U&'\0000'`, `U&'\d800'`, `U&'\d800x'`, `U&'\d800x\dc00'`, `U&'\d800\0061'`, "a", `"a"`, "1", "", "'a",
	} {
		_, ok := lex.Client.Next(sql, 0).Value()
		require.False(t, ok, sql)
	}
	for sql, want := range map[string]string{`"a""B"`: `a"B`, "aB": "aB", `U&"d\0061"`: "da", "'it''s'": "it's"} {
		name, ok := lex.Client.Next(sql, 0).Name()
		require.True(t, ok, sql)
		require.Equal(t, want, name, sql)
	}
	for _, sql := range []string{`""`, `U&""`, `U&"\00"`, "1", "$1", "(", "", `"a`} {
		_, ok := lex.Client.Next(sql, 0).Name()
		require.False(t, ok, sql)
	}
	escaped, ok := lex.Client.Next("U&'d!0061!!'", 0).Unescape('!')
	require.True(t, ok)
	require.Equal(t, "da!", escaped)
	require.Equal(t, "1''F", lex.Client.Next("x'1'", 0).Body()+"''F")
}

// pieces are what mixtures are made of: beginnings and ends of everything that hides something else.
var pieces = func() (all []string) {
	for _, list := range []string{
		"a|B1|ä|select|e|E|u&|U&|x|b|n|1|0x1F|1_0|1.5|.5|e5|1e|$1|$|$$|$a$|$a|?|?1|'|''|'b'|'it''s'|E'\\''|\"|\"c\"|\"\"|\\",
		"--|--x|/*|*/|/|*|-|+|(|)|,|;|.|..|::|:=|->>|~|!|=|<|>|@|#|%|[|]|{|}| |  |\t|\n|\r|\v|\f",
		"\u00a0|\u2003|\u200b|\u202f|\u2060|\u3000|\ufeff|é|日|\x00",
	} {
		all = append(all, strings.Split(list, "|")...)
	}
	return all
}()

// mixtures are texts of such pieces.
func mixtures(t *rapid.T) string {
	return strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), 0, 16).Draw(t, "pieces"), "")
}

func TestMixtures(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sql := mixtures(t)
		checkCover(t, sql)
		checkPostgres(t, sql)
		checkNames(t, sql, mixtures(t))
	})
}

func FuzzTokens(f *testing.F) {
	for _, sql := range pieces {
		f.Add(sql, "a")
	}
	f.Add(`SELECT "a""b" /* what */ FROM t WHERE s = E'it\'s' AND n < 0x1F -- $$`, "FROM")
	f.Fuzz(func(t *testing.T, sql, other string) {
		checkCover(t, sql)
		checkPostgres(t, sql)
		checkNames(t, sql, other)
	})
}

// checkCover: lex.L1.
func checkCover(t require.TestingT, sql string) {
	for name, d := range dialects {
		at := 0
		for {
			token := d.Next(sql, at)
			require.Equal(t, sql[token.Start:token.End()], token.Text, "%s: %q", name, sql)
			stop, whole := d.SkipBlank(sql, at)
			require.Equal(t, token.Start, stop, "%s: %q", name, sql)
			require.LessOrEqual(t, at, stop)
			if token.Kind == lex.End {
				require.Equal(t, len(sql), token.Start, "%s: %q", name, sql)
				break
			}
			require.Greater(t, token.End(), at, "%s: %q", name, sql)
			require.True(t, whole || token.Kind == lex.Incomplete, "%s: %q", name, sql)
			token.Name()
			token.Value()
			_ = token.Is("select")
			if token.Kind == lex.String || token.Kind == lex.Quoted {
				token.Body()
			}
			at = token.End()
		}
		count := 0
		for token := range d.Tokens(sql) {
			require.False(t, token.Ends())
			count++
		}
		require.LessOrEqual(t, count, len(sql))
	}
}

// checkPostgres: lex.L2, token by token, with PostgreSQL's own lexer as the twin. Each character of its operators is
// one token here.
func checkPostgres(t require.TestingT, sql string) {
	if strings.ContainsRune(sql, 0) || !utf8.ValidString(sql) {
		return
	}
	result, err := pg.Scan(sql)
	if err != nil || continuesBehindComment(result.Tokens, sql) {
		return
	}
	at := 0
	next := func() lex.Token {
		token := lex.PostgreSQL.Next(sql, at)
		at = token.End()
		return token
	}
	for _, theirs := range result.Tokens {
		if theirs.Token == pg.Token_SQL_COMMENT || theirs.Token == pg.Token_C_COMMENT {
			continue
		}
		about := fmt.Sprintf("PostgreSQL has %q at %d of %q", sql[theirs.Start:theirs.End], theirs.Start, sql)
		token := next()
		require.Equal(t, int(theirs.Start), token.Start, about)
		require.Contains(t, kindsOf(theirs), token.Kind, about)
		for token.Kind == lex.Symbol && token.End() < int(theirs.End) {
			token = next()
			require.Equal(t, lex.Symbol, token.Kind, about)
		}
		require.Equal(t, int(theirs.End), token.End(), about)
	}
	require.Equal(t, lex.End, next().Kind, sql)
}

// continuesBehindComment reports whether a string may go on behind a comment: 'a'--x and 'b' on the next line are 'ab'
// in PostgreSQL. pg_query's lexer, which gives comments as tokens, ends the string before them.
func continuesBehindComment(tokens []*pg.ScanToken, sql string) bool {
	ended, comment := false, false // there was a string, and a comment behind it
	for _, t := range tokens {
		if t.Token == pg.Token_SQL_COMMENT {
			comment = ended
			continue
		}
		if comment && sql[t.Start] == '\'' {
			return true
		}
		ended, comment = slices.Contains(kindsOf(t), lex.String), false
	}
	return false
}

// kindsOf are the kinds that a token of PostgreSQL's may have.
func kindsOf(theirs *pg.ScanToken) []lex.Kind {
	switch theirs.Token {
	case pg.Token_SCONST, pg.Token_USCONST, pg.Token_BCONST, pg.Token_XCONST:
		return []lex.Kind{lex.String}
	case pg.Token_IDENT, pg.Token_UIDENT:
		return []lex.Kind{lex.Word, lex.Quoted}
	case pg.Token_ICONST, pg.Token_FCONST:
		return []lex.Kind{lex.Number}
	case pg.Token_PARAM:
		return []lex.Kind{lex.Parameter}
	}
	if theirs.KeywordKind != pg.KeywordKind_NO_KEYWORD {
		return []lex.Kind{lex.Word}
	}
	return []lex.Kind{lex.Symbol}
}

// checkNames: lex.L3.
func checkNames(t require.TestingT, a, b string) {
	require.Equal(t, lex.Fold(a) == lex.Fold(b), lex.Same(a, b))
	for _, d := range dialects {
		name, ok := d.Next(lex.Quote(a), 0).Name()
		require.Equal(t, a != "", ok)
		require.Equal(t, a, name)
		value, ok := d.Next(lex.QuoteString(a), 0).Value()
		require.True(t, ok)
		require.Equal(t, a, value)
	}
}

// Mentions finds what strings.Contains finds in a text whose ASCII letters are small, and copies nothing of it.
func TestMentions(t *testing.T) {
	for _, c := range []struct {
		text, word string
		found      bool
	}{
		{"", "for", false}, {"fo", "for", false}, {"for", "for", true}, {"xFOr", "for", true}, {"FO R", "for", false},
		{"set_Config(", "set_config", true}, {"set-config", "set_config", false}, {"\u017Fet_config", "set_config", false},
	} {
		require.Equal(t, c.found, lex.Mentions(c.text, c.word), c.text)
	}
	long := strings.Repeat("SELECT 1, ", 1000) + "Variadic"
	require.Zero(t, testing.AllocsPerRun(10, func() { require.True(t, lex.Mentions(long, "variadic")) }))
}

func TestSame(t *testing.T) {
	for _, alike := range [][2]string{{"", ""}, {"aZ_1", "Az_1"}, {"ä", "ä"}} {
		require.True(t, lex.Same(alike[0], alike[1]), alike)
	}
	for _, other := range [][2]string{{"a", ""}, {"ä", "Ä"}, {"[", "{"}, {"k", "\u212a"}, {"@", "`"}} {
		require.False(t, lex.Same(other[0], other[1]), other)
		require.False(t, lex.Same(other[1], other[0]), other)
	}
	require.Equal(t, "abcÄ@[`", lex.Fold("aBCÄ@[`"))
}
