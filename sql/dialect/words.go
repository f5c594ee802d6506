package dialect

import (
	"regexp"
	"strings"

	"github.com/csmsql/csmsql/sql/lex"
	"github.com/csmsql/csmsql/sql/pgcatalog"
)

// Words writes a text that DuckDB gets as a whole as a query's would be written for it: its literals, and what it
// reads of PostgreSQL's catalogs, which it does if catalogs.
func Words(s Source) (words Source, catalogs bool, err error) {
	if words, err = Literals(s); err != nil || !pgcatalog.IsCatalogQuery(words.Tree) {
		return words, false, err
	}
	text, err := pgcatalog.Rewrite(words.Text(), words.Tree)
	return Source{Read: lex.Client.Text(text)}, true, err
}

// Operators writes PostgreSQL's operators on patterns as those that DuckDB is given for them: to DuckDB a ~ b means
// that the whole string is matched, and LIKE ANY (array) nothing. No character behind them moves, so that positions in
// errors stay those of the given text.
func Operators(text string) string { return OperatorsIn(lex.Client.Text(text)) }

// OperatorsIn is Operators of a text of which others have found tokens.
func OperatorsIn(read *lex.Text) string {
	text := read.SQL
	if !mayMatchPatterns(text) {
		return text
	}
	var out []byte
	for _, op := range lex.Operators(read) {
		by := pgcatalog.Operator(op.Name, op.Quantifier)
		if by == op.Name {
			continue
		}
		if out == nil {
			out = []byte(text)
		}
		for i := copy(out[op.Start:op.End], by) + op.Start; i < op.End; i++ {
			out[i] = ' '
		}
		if m := arrayText.FindStringSubmatchIndex(text[op.End:]); m != nil && op.Quantifier != "" {
			if list, ok := duckList(text[op.End+m[2] : op.End+m[3]]); ok {
				copy(out[op.End+m[2]:], list)
			}
		}
	}
	if out == nil {
		return text
	}
	return string(out)
}

// arrayText is an array that is written as a string, behind ANY.
var arrayText = regexp.MustCompile(`^\s*\(\s*'(\{[^']*\})'\s*\)`)

// mayMatchPatterns is a cheap check, which is false for most texts.
func mayMatchPatterns(text string) bool {
	if strings.IndexByte(text, '~') >= 0 {
		return true
	}
	return lex.Mentions(text, "like") && (lex.Mentions(text, "any") || lex.Mentions(text, "all") || lex.Mentions(text, "some"))
}

// Expression is an expression in the words that DuckDB is given.
func Expression(text string) string {
	const before = "SELECT "
	words, _ := Literals(SourceOf(before + text))
	return Operators(words.Text()[len(before):])
}
