package dialect

import (
	"regexp"
	"strings"

	pg "github.com/pganalyze/pg_query_go/v6"

	"github.com/csmsql/csmsql/sql/pgcatalog"
	"github.com/csmsql/csmsql/sql/statement"
)

// Words writes a text that DuckDB gets as a whole as a query's would be written for it: its literals, and what it
// reads of PostgreSQL's catalogs, which it does if catalogs.
func Words(sql string, tree *pg.ParseResult) (words string, catalogs bool, err error) {
	translated, ok, err := Literals(sql, tree)
	if err != nil {
		return sql, false, err
	}
	if ok {
		sql, tree = translated, TreeOf(translated)
	}
	if !pgcatalog.IsCatalogQuery(tree) {
		return sql, false, nil
	}
	words, err = pgcatalog.Rewrite(sql, tree)
	return words, true, err
}

// Operators writes PostgreSQL's operators on patterns as those that DuckDB is given for them: to DuckDB a ~ b means
// that the whole string is matched, and LIKE ANY (array) nothing. No character behind them moves, so that positions in
// errors stay those of the given text.
func Operators(text string) string {
	if !mayMatchPatterns(text) {
		return text
	}
	var out []byte
	for _, op := range statement.Operators(text) {
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

// mayMatchPatterns is what most texts are spared by.
func mayMatchPatterns(text string) bool {
	if strings.IndexByte(text, '~') >= 0 {
		return true
	}
	lower := strings.ToLower(text)
	return strings.Contains(lower, "like") && (strings.Contains(lower, "any") || strings.Contains(lower, "all") || strings.Contains(lower, "some"))
}

// Expression is an expression in the words that DuckDB is given.
func Expression(text string) string {
	const before = "SELECT "
	words, _, _ := Literals(before+text, TreeOf(before+text))
	return Operators(words[len(before):])
}
