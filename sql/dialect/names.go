package dialect

import (
	"regexp"
	"strings"

	pg "github.com/pganalyze/pg_query_go/v6"

	"github.com/csmsql/csmsql/exec/duckdb"
	"github.com/csmsql/csmsql/exec/plan"
	"github.com/csmsql/csmsql/sql/edit"
	"github.com/csmsql/csmsql/sql/statement"
	"github.com/csmsql/csmsql/sql/tree"
)

// QuoteName writes a name as SQL, as far as it is qualified.
func QuoteName(n statement.Name) string {
	parts := []string{}
	for _, p := range []string{n.Database, n.Schema, n.Name} {
		if p != "" {
			parts = append(parts, duckdb.QuoteIdentifier(p))
		}
	}
	return strings.Join(parts, ".")
}

// CopyQuery is the query of a COPY, or the one that reads the columns of its table that it names.
func CopyQuery(head *statement.Copy) string {
	if head.Query != "" {
		return head.Query
	}
	columns := "*"
	if head.Columns != nil {
		quoted := make([]string, len(head.Columns))
		for i, c := range head.Columns {
			quoted[i] = duckdb.QuoteIdentifier(c)
		}
		columns = strings.Join(quoted, ", ")
	}
	return "SELECT " + columns + " FROM " + QuoteName(head.Name)
}

// NameSpan is where the last part of a name stands, the one to write a schema before.
func NameSpan(query string, m duckdb.Mention) (start, end int, ok bool) {
	start = m.Offset
	if m.Schema != "" {
		_, end, ok = identifierAt(query, start, m.Schema)
		if !ok || end >= len(query) || query[end] != '.' {
			return 0, 0, false
		}
		start = end + 1
	}
	return identifierAt(query, start, m.Name)
}

// identifierAt reads an identifier, or a string in the place of one, which must be the expected one.
func identifierAt(text string, at int, expected string) (start, end int, ok bool) {
	if at < 0 || at >= len(text) {
		return 0, 0, false
	}
	if mark := text[at]; mark == '"' || mark == '\'' {
		quoted := string(mark) + strings.ReplaceAll(expected, string(mark), string(mark)+string(mark)) + string(mark)
		end = at + len(quoted)
		return at, end, strings.HasPrefix(text[at:], quoted) && (end == len(text) || text[end] != mark)
	}
	end = at + len(expected)
	return at, end, strings.HasPrefix(text[at:], expected) && (end == len(text) || !isNameByte(text[end])) && (at == 0 || !isNameByte(text[at-1]))
}

func isNameByte(c byte) bool {
	return isAnyLetter(c) || c >= '0' && c <= '9' || c == '_' || c == '$' || c >= 0x80
}

var plainWord = regexp.MustCompile(`^[a-z_][a-z0-9_]*$`)

// PlainIdentifier writes a name without quotes where both dialects take it so.
func PlainIdentifier(name string) string {
	if plainWord.MatchString(name) && !plan.IsKeyword(name) {
		if scanned, err := tree.Scan(name); err == nil && len(scanned.Tokens) == 1 && scanned.Tokens[0].KeywordKind == pg.KeywordKind_NO_KEYWORD {
			return name
		}
	}
	return duckdb.QuoteIdentifier(name)
}

// LastNameSpan is where the last part of a name stands, however many come before.
func LastNameSpan(query string, m duckdb.Mention) (start, end int, ok bool) {
	at := m.Offset
	for _, part := range []string{m.Catalog, m.Schema} {
		if part == "" {
			continue
		}
		_, end, ok := identifierAt(query, at, part)
		if !ok || end >= len(query) || query[end] != '.' {
			return 0, 0, false
		}
		at = end + 1
	}
	return identifierAt(query, at, m.Name)
}

// Inserted is a text with more at an offset.
func Inserted(text string, at int, more string) (string, edit.List) {
	edited := edit.New(text)
	edited.Replace(at, at, more)
	return edited.Text()
}

// madeName is the table or view that a statement makes.
func madeName(head any) string {
	switch head := head.(type) {
	case *statement.CreateTable:
		return head.Name.Name
	case *statement.CreateTableAs:
		return head.Name.Name
	case *statement.CreateView:
		return head.Name.Name
	}
	return ""
}
