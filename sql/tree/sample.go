package tree

import (
	"github.com/csmsql/csmsql/sql/edit"
	"github.com/csmsql/csmsql/sql/lex"
)

// A number in TABLESAMPLE BERNOULLI (10) is one of percents to PostgreSQL, which knows no other; DuckDB has it only
// with PERCENT behind it, which PostgreSQL's parser refuses. So the text that DuckDB is given has the word, and the
// parser here does not see it.

// Sample is where such a number stands, behind a word TABLESAMPLE that ends at a place: the number, and PERCENT or %
// behind it, if it is there. Not ok: it is another sample.
func Sample(read *lex.Text, at int) (number, percent lex.Token, ok bool) {
	method := read.Next(at)
	open := read.Next(method.End())
	number = read.Next(open.End())
	if !method.IsAny("bernoulli", "system") || !open.Is("(") || number.Kind != lex.Number {
		return lex.Token{}, lex.Token{}, false
	}
	if next := read.Next(number.End()); next.IsAny("percent", "%") {
		percent = next
	}
	return number, percent, read.Next(max(number.End(), percent.End())).Is(")")
}

// Percents is a text as DuckDB takes it that the parser has taken: numbers of samples have PERCENT behind them.
func Percents(sql string) string {
	text := edit.New(sql)
	for number, percent := range samples(sql) {
		if percent.Text == "" {
			text.Replace(number.End(), number.End(), " PERCENT")
		}
	}
	out, _ := text.Text()
	return out
}

// parsed is a text for the parser, where everything stands at its place: blanks are where PERCENT was (tree.T4).
func parsed(sql string) string {
	var out []byte
	for _, percent := range samples(sql) {
		if percent.Text == "" {
			continue
		}
		if out == nil {
			out = []byte(sql)
		}
		for i := percent.Start; i < percent.End(); i++ {
			out[i] = ' '
		}
	}
	if out == nil {
		return sql
	}
	return string(out)
}

// samples gives the numbers of a text's samples, and what says that they are of percents.
func samples(sql string) func(yield func(number, percent lex.Token) bool) {
	return func(yield func(number, percent lex.Token) bool) {
		if !lex.Mentions(sql, "tablesample") {
			return
		}
		read := lex.Client.Text(sql)
		for t := range read.Tokens() {
			if !t.Is("tablesample") {
				continue
			}
			if number, percent, ok := Sample(read, t.End()); ok && !yield(number, percent) {
				return
			}
		}
	}
}
