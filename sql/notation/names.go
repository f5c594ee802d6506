package notation

import (
	"regexp"
	"slices"

	"github.com/csmsql/csmsql/sql/lex"
	"github.com/csmsql/csmsql/sql/tree"
)

// Some words that PostgreSQL takes for names are keywords of DuckDB's: SELECT at FROM events is a syntax error there,
// or worse, something else. Where such a word is a name to PostgreSQL's parser it is quoted.

// duckKeywords are those words: reserved, or not to be columns, by DuckDB's duckdb_keywords().
var duckKeywords = map[string]bool{
	"describe": true, "lambda": true, "pivot": true, "pivot_longer": true, "pivot_wider": true, "qualify": true, "show": true, "summarize": true, "unpivot": true,
	"anti": true, "asof": true, "at": true, "by": true, "columns": true, "generated": true, "glob": true, "grouping_id": true, "map": true, "positional": true,
	"semi": true, "struct": true, "try_cast": true, "unpack": true,
}

// keywordBehind are words behind which, or before which, one of duckKeywords is a keyword to one of both parsers: ORDER
// BY, AT TIME ZONE; and SEMI JOIN, which to PostgreSQL is a table's alias.
var (
	keywordBehind = map[string][]string{
		"by": {"order", "group", "partition", "owned", "increment", "first", "cluster", "split"},
	}
	keywordBefore = map[string][]string{
		"at": {"time", "local"}, "generated": {"always", "by"},
		"semi": joining, "anti": joining, "asof": joining, "positional": joining,
	}
	joining = []string{"join", "left", "right", "full", "inner", "outer", "cross"}
)

// namesMax bounds the texts in which names are looked for, and namesMost how many are.
const (
	namesMax  = 64 << 10
	namesMost = 200
)

// mayBeName reports whether a word of DuckDB's may be a name here. What calls a function stays: glob(…), COLUMNS(…).
func mayBeName(before, t, after lex.Token) bool {
	word := lex.Fold(t.Text)
	if !duckKeywords[word] || after.Is("(") || before.Kind == lex.End && before.Text == "" {
		return false
	}
	return !before.IsAny(keywordBehind[word]...) && !after.IsAny(keywordBefore[word]...)
}

// remarkableWords are the words of DuckDB's that are names in a text, to PostgreSQL's parser; and whether it takes a
// sample.
func remarkableWords(read *lex.Text) (found []lex.Token, samples bool) {
	sql := read.SQL
	if len(sql) > namesMax {
		return nil, false
	}
	before, t := lex.Token{}, read.Next(0)
	for !t.Ends() {
		after := read.Next(t.End())
		if t.Kind == lex.Word && len(t.Text) > 1 && mayBeName(before, t, after) {
			found = append(found, t)
		}
		samples = samples || t.Is("tablesample")
		before, t = t, after
	}
	return areNames(read, found), samples
}

// areNames leaves those words that mean to PostgreSQL's parser what they mean in quotes.
func areNames(read *lex.Text, found []lex.Token) []lex.Token {
	sql := read.SQL
	if len(found) == 0 || len(found) > namesMost || tree.TooDeep(read) {
		return nil
	}
	want, err := meaning(sql)
	if err != nil {
		return nil
	}
	means := func(names ...lex.Token) bool {
		got, err := meaning(quoting(sql, names))
		return err == nil && got == want
	}
	if means(found...) {
		return found
	}
	return slices.DeleteFunc(found, func(t lex.Token) bool { return !means(t) })
}

// places are what two trees of one meaning differ in.
var places = regexp.MustCompile(`"\w*(?:location|_len|_loc)":-?\d+,?`)

// meaning is a text as PostgreSQL's parser understands it.
func meaning(sql string) (string, error) {
	tree, err := tree.JSON(sql)
	return places.ReplaceAllString(tree, ""), err
}

// sampleEnd is where the number of TABLESAMPLE BERNOULLI (10) ends, which is one of percents to PostgreSQL, and of rows
// to DuckDB, which has no such sample; -1: it is something else, or says PERCENT.
func sampleEnd(read *lex.Text, at int) int {
	if number, percent, ok := tree.Sample(read, at); ok && percent.Text == "" {
		return number.End()
	}
	return -1
}

// quoting is the text with quotes around names.
func quoting(sql string, names []lex.Token) string {
	out, at := []byte(nil), 0
	for _, t := range names {
		out = append(append(append(append(out, sql[at:t.Start]...), '"'), lex.Fold(t.Text)...), '"')
		at = t.End()
	}
	return string(append(out, sql[at:]...))
}
