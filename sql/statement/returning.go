package statement

import (
	"strings"
	"unicode/utf8"

	"github.com/csmsql/csmsql/sql/edit"
	"github.com/csmsql/csmsql/sql/lex"
	"github.com/csmsql/csmsql/sql/sqlerror"
)

// ListItems are the expressions of RETURNING without their aliases, except stars. A clause of a query behind the list
// is an error, as is what may stand before that of a SELECT alone: the list is planned as one of a query.
func ListItems(list string) (items []string, err error) {
	type item struct{ from, tokens int }
	var at item
	var before, last lex.Token // of the item
	add := func(end int) {
		to := end
		switch {
		case before.Is("as"):
			to = before.Start
		case at.tokens > 1 && aliased(last) && ends(before):
			to = last.Start
		}
		if text := strings.TrimSpace(list[at.from:to]); text != "" && text != "*" && !strings.HasSuffix(text, ".*") {
			items = append(items, text)
		}
	}
	depth, first := 0, true
	for t := range lex.Client.Tokens(list) {
		switch {
		case t.IsAny("(", "[", "{"):
			depth++
		case t.IsAny(")", "]", "}"):
			depth--
		case depth > 0:
		case t.Is(","):
			add(t.Start)
			at, before, last, first = item{from: t.End()}, lex.Token{}, lex.Token{}, true
			continue
		case first && t.IsAny("distinct", "all") || !last.IsAny("as", ".") && t.IsAny(clausesOfQueries...):
			e := sqlerror.New("42601", "syntax error at or near %q", t.Text)
			e.At = utf8.RuneCountInString(list[:t.Start]) + 1
			return nil, e
		}
		before, last, first = last, t, false
		at.tokens++
	}
	add(len(list))
	return items, nil
}

// clausesOfQueries begin what follows a select list; all are reserved words.
var clausesOfQueries = []string{"from", "where", "group", "having", "order", "limit", "offset", "fetch", "for", "union", "intersect", "except", "window", "into", "qualify"}

// aliased reports whether t is a name, which may be that of the column.
func aliased(t lex.Token) bool { return t.Kind == lex.Word || t.Kind == lex.Quoted }

// ends reports whether an expression may end with a token, so that a name behind it is an alias.
func ends(t lex.Token) bool {
	return aliased(t) && !t.IsAny("not", "and", "or", "is", "in", "like", "ilike", "between", "distinct", "case", "when", "then", "else", "collate") || t.IsAny(")", "]", "}") ||
		t.Kind == lex.Number || t.Kind == lex.String || t.Kind == lex.Parameter
}

// WithoutSchema takes what stands before the table's name from columns that are named schema.table.column: where values
// of a row are computed, the table
// is a derived one. A sub-query's own table of the same name hides it, as it does with its schema.
func WithoutSchema(database string, table Name, text string) (string, edit.List) {
	if !strings.Contains(text, ".") {
		return text, nil
	}
	var tokens []lex.Token
	for t := range lex.Client.Tokens(text) {
		tokens = append(tokens, t)
	}
	name := func(i int) string { return identifierOf(tokens[i]) }
	drop := map[int]bool{} // offsets of tokens
	for i := range tokens {
		if i > 0 && tokens[i-1].Is(".") || i+4 >= len(tokens) || name(i) == "" || !tokens[i+1].Is(".") {
			continue
		}
		parts := 1
		for k := i; k+2 < len(tokens) && tokens[k+1].Is("."); k += 2 {
			parts++
		}
		schema := i
		if parts > 3 && strings.EqualFold(name(i), database) {
			schema = i + 2
		}
		if schema+4 < len(tokens) && tokens[schema+3].Is(".") && strings.EqualFold(name(schema), table.Schema) && strings.EqualFold(name(schema+2), table.Name) {
			for k := i; k < schema+2; k++ {
				drop[tokens[k].Start] = true
			}
		}
	}
	if len(drop) == 0 {
		return text, nil
	}
	edited := edit.New(text)
	for _, t := range tokens {
		if drop[t.Start] {
			edited.Replace(t.Start, t.End(), "")
		}
	}
	return edited.Text()
}

// identifierOf is what a token names; empty: it is no name.
func identifierOf(t lex.Token) string {
	switch t.Kind {
	case lex.Word:
		return t.Text
	case lex.Quoted:
		return strings.ReplaceAll(strings.Trim(t.Text, `"`), `""`, `"`)
	}
	return ""
}

// Stars are where a list asks for all columns of all tables.
func Stars(list string) (found []lex.Token) {
	depth := 0
	var last lex.Token
	for t := range lex.Client.Tokens(list) {
		switch {
		case t.IsAny("(", "["):
			depth++
		case t.IsAny(")", "]"):
			depth--
		case depth == 0 && t.Is("*") && (last.Text == "" || last.Is(",")):
			found = append(found, t)
		}
		last = t
	}
	return found
}
