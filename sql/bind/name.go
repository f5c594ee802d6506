package bind

import (
	"strings"

	pg "github.com/pganalyze/pg_query_go/v6"

	"github.com/csmsql/csmsql/sql/lex"
)

// Span is a range of bytes [Start, End) of the statement's text.
type Span struct{ Start, End int }

// Name is a possibly qualified name as it stands in the text.
type Name struct {
	Span
	Parts  []string // without quotes, case kept
	Starts []int    // byte offset of each part
}

// NameAt reads a dotted name at an offset, without a copy of what it does not have to unquote. The tree alone would not
// do: it has folded the case, cut names at 63 bytes and knows no end.
//
// It answers ok=false at anything that is not a name, or is one only under PostgreSQL's U&"…" rules.
func NameAt(sql string, at int) (Name, bool) {
	n := Name{Span: Span{at, at}}
	for {
		part, end, ok := identifierAt(sql, at)
		if !ok {
			return Name{}, false
		}
		n.Parts = append(n.Parts, part)
		n.Starts = append(n.Starts, at)
		n.End = end
		next := skipBlank(sql, end)
		if next >= len(sql) || sql[next] != '.' {
			return n, true
		}
		at = skipBlank(sql, next+1)
		if at < len(sql) && sql[at] == '*' {
			return n, true // t.* : the star is no part of the name
		}
	}
}

// Call is a call as it stands in the text. Arguments are without the blanks and comments around them.
type Call struct {
	Span
	Arguments []Span
}

// CallAt reads the call whose name begins at an offset, up to the parenthesis that closes it; ok=false: there is none.
func CallAt(sql string, at int) (c Call, ok bool) {
	name, ok := NameAt(sql, at)
	if !ok {
		return c, false
	}
	t := lex.Client.Next(sql, name.End)
	if !t.Is("(") {
		return c, false
	}
	for depth, within := 1, false; ; {
		switch t = lex.Client.Next(sql, t.End()); {
		case t.Ends():
			return c, false
		case t.IsAny("(", "[", "{"):
			depth++
		case t.IsAny(")", "]", "}"):
			if depth--; depth == 0 {
				c.Span = Span{at, t.End()}
				return c, true
			}
		case depth == 1 && t.Is(","):
			within = false
			continue
		}
		if !within {
			c.Arguments, within = append(c.Arguments, Span{Start: t.Start}), true
		}
		c.Arguments[len(c.Arguments)-1].End = t.End()
	}
}

// identifierAt reads the word or quoted identifier that begins at an offset.
func identifierAt(sql string, at int) (part string, end int, ok bool) {
	if at < 0 || at >= len(sql) {
		return "", 0, false
	}
	t := lex.PostgreSQL.Next(sql, at)
	if t.Start != at || t.Kind != lex.Word && (t.Kind != lex.Quoted || t.Text[0] != '"') {
		return "", 0, false
	}
	part, ok = t.Name()
	return part, t.End(), ok
}

// skipBlank passes white space and comments up to the next token.
func skipBlank(sql string, at int) int {
	at, whole := lex.PostgreSQL.SkipBlank(sql, at)
	if !whole {
		return len(sql)
	}
	return at
}

// wordBefore is the unquoted word that ends right before an offset (blanks between), with its start; "" if there is
// none. It does not look behind comments: a caller that wants to know about one keyword then misses it and does
// nothing.
func wordBefore(sql string, at int) (word string, start int) {
	end := len(strings.TrimRight(sql[:at], " \t\r\n\f\v"))
	start = end
	for start > 0 && lex.IsNamePart(sql[start-1]) {
		start--
	}
	return sql[start:end], start
}

// wordAfter is the unquoted word that follows an offset, or "".
func wordAfter(sql string, at int) string {
	if t := lex.PostgreSQL.Next(sql, at); t.Kind == lex.Word {
		return t.Text
	}
	return ""
}

// MaxTreeName is the number of bytes that PostgreSQL's parser cuts identifiers to; DuckDB does not. What the tree says
// about longer names is not what DuckDB will see (bind.N3).
const MaxTreeName = 63

// agrees reports whether the text's name is the tree's name. The tree has folded unquoted letters.
func (n Name) agrees(v *pg.RangeVar) bool {
	want := []string{v.Catalogname, v.Schemaname, v.Relname}[3-min(len(n.Parts), 3):]
	if len(n.Parts) > 3 {
		return false
	}
	for i, part := range n.Parts {
		if len(part) >= MaxTreeName || !lex.Same(part, want[i]) {
			return false
		}
	}
	return true
}

// IsDialectJoin reports whether a word is a join type to DuckDB where PostgreSQL's grammar reads an alias (FROM a ANTI
// JOIN b).
func IsDialectJoin(word string) bool {
	switch strings.ToLower(word) {
	case "semi", "anti", "asof", "positional":
		return true
	}
	return false
}

// IsStar reports whether a reference is * or t.*.
func IsStar(ref *pg.ColumnRef) bool {
	return len(ref.GetFields()) > 0 && ref.Fields[len(ref.Fields)-1].GetAStar() != nil
}

// plain reports whether a name is one that DuckDB makes up for no expression: a word.
func plain(name string) bool {
	for i := range len(name) {
		if c := name[i]; !lex.IsNamePart(c) || c >= 0x80 || c == '$' {
			return false
		}
	}
	return name != "" && lex.IsLetter(name[0])
}

func names(list []*pg.Node) (out []string) {
	for _, n := range list {
		out = append(out, n.GetString_().GetSval())
	}
	return out
}
