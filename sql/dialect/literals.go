package dialect

import (
	"cmp"
	"iter"
	"maps"
	"regexp"
	"slices"
	"strings"

	pg "github.com/pganalyze/pg_query_go/v6"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/csmsql/csmsql/exec/duckdb"
	"github.com/csmsql/csmsql/sql/edit"
	"github.com/csmsql/csmsql/sql/lex"
	"github.com/csmsql/csmsql/sql/literal"
	"github.com/csmsql/csmsql/sql/pgcatalog"
	"github.com/csmsql/csmsql/sql/sqlerror"
	"github.com/csmsql/csmsql/sql/tree"
)

// Some literals mean something else to DuckDB than to every PostgreSQL client, or nothing: '\x00ff'::bytea,
// '{1,2}'::int[], also behind = ANY, '0044-03-15 BC'::date. They are written in DuckDB's way before it sees them
// (package literal).

// Literals gives the text with such literals, where a cast says what they are, in DuckDB's spelling: the same one, if
// there are none.
func Literals(s Source) (Source, error) {
	if s.Tree == nil || !mayTranslate(s.Read) {
		return s, nil
	}
	by := map[int]string{} // offset of a literal → its value to DuckDB
	var failed error
	eachCast(s.Tree.ProtoReflect(), func(c *pg.TypeCast) {
		constant := c.Arg.GetAConst()
		if constant.GetSval() == nil {
			return
		}
		value := constant.GetSval().Sval
		means, err := formOf(c.TypeName).Translate(value)
		if err != nil {
			e := sqlerror.New("22023", "%s", err)
			e.At = edit.Position(s.Text(), int(constant.Location))
			failed = cmp.Or[error](failed, e)
		} else if means != value {
			by[int(constant.Location)] = means
		}
	})
	if failed != nil {
		return s, failed
	}
	lists := members(s)
	if len(lists) == 0 {
		return s.withStrings(by), nil
	}
	for offset, value := range by {
		lists[offset] = duckdb.QuoteLiteral(value)
	}
	quantified := false // what follows is ANY or ALL, whose operator is IN now
	out, _ := ReplaceTokens(s.Text(), func(token string, offset int) (string, bool) {
		if quantified && isQuantifier(token) {
			quantified = false
			return "", true
		}
		by, ok := lists[offset]
		quantified = quantified || by == isIn || by == isNotIn
		return by, ok
	})
	return SourceOf(out), nil
}

// withStrings is the text in which strings, by their offsets, have other values.
func (s Source) withStrings(values map[int]string) Source {
	if len(values) == 0 {
		return s
	}
	edited := edit.New(s.Text())
	for _, at := range slices.Sorted(maps.Keys(values)) {
		edited.Replace(at, s.Read.Next(at).End(), lex.QuoteString(values[at]))
	}
	text, made := edited.Text()
	out := Source{Read: lex.Client.Text(text)}
	if s.Tree == nil {
		return out
	}
	out.Tree = tree.Moved(s.Tree, made)
	moved := map[int]string{}
	for at, value := range values {
		moved[made.Forward(at)] = value
	}
	EachNode(out.Tree.ProtoReflect(), func(node any) {
		c, _ := node.(*pg.A_Const)
		if value, changed := moved[int(c.GetLocation())]; changed && c.GetSval() != nil {
			c.GetSval().Sval = value
		}
	})
	tree.Check(out.Tree, text)
	return out
}

// mayTranslate is a cheap check, which is false for most texts.
func mayTranslate(read *lex.Text) bool {
	if !strings.Contains(read.SQL, "'") {
		return false
	}
	found := false
	for l := range quotedIn(read) {
		found = found || literal.Suspicious(l.value)
	}
	return found
}

// quoted is a string in a text.
type quoted struct {
	start, end int // in bytes
	value      string
}

// quotedIn are the strings of a text from left to right, up to whatever does not end.
func quotedIn(read *lex.Text) iter.Seq[quoted] {
	return func(yield func(quoted) bool) {
		for t := range read.Tokens() {
			value, ok := t.Value()
			if ok && t.Kind == lex.String && !yield(quoted{t.Start, t.End(), value}) {
				return
			}
		}
	}
}

// formOf is the form of a type that a cast names.
func formOf(t *pg.TypeName) literal.Form {
	names := t.GetNames()
	if len(names) == 0 {
		return literal.Form{}
	}
	return literal.Named(names[len(names)-1].GetString_().GetSval(), len(t.ArrayBounds) > 0)
}

func isQuantifier(token string) bool {
	return strings.EqualFold(token, "any") || strings.EqualFold(token, "some") || strings.EqualFold(token, "all")
}

const isIn, isNotIn = " IN ", " NOT IN "

// members says, by offsets, how to write x = ANY ('{a,b}') as x IN ('a', 'b'), and x <> ALL ('{a,b}') as x NOT IN ('a',
// 'b'): the array has the type that x has, which only DuckDB knows.
func members(s Source) map[int]string {
	text, at := s.Text(), map[int]string{}
	EachNode(s.Tree.ProtoReflect(), func(node any) {
		e, ok := node.(*pg.A_Expr)
		if !ok || len(e.Name) != 1 || e.Rexpr.GetAConst().GetSval() == nil || int(e.Location) >= len(text) {
			return
		}
		by := ""
		switch name := e.Name[0].GetString_().GetSval(); {
		case e.Kind == pg.A_Expr_Kind_AEXPR_OP_ANY && name == "=" && text[e.Location] == '=':
			by = isIn
		case e.Kind == pg.A_Expr_Kind_AEXPR_OP_ALL && name == "<>" && (text[e.Location] == '<' || text[e.Location] == '!'):
			by = isNotIn
		default:
			return
		}
		if list, ok := arrayMembers(e.Rexpr.GetAConst().GetSval().Sval); ok && !pgcatalog.IsCatalogQuery(s.Tree) {
			at[int(e.Location)], at[int(e.Rexpr.GetAConst().Location)] = by, list
		}
	})
	return at
}

// arrayMember is one of a flat array as PostgreSQL writes it, with what stands behind it.
var arrayMember = regexp.MustCompile(`^\s*(?:"((?:[^"\\]|\\.)*)"|([^{}",\\\s](?:[^{}",\\]*[^{}",\\\s])?))\s*([,}])`)

// arrayMembers are the members of '{a,"b c",NULL}' as constants.
func arrayMembers(value string) (string, bool) {
	rest, ok := strings.CutPrefix(value, "{")
	if !ok {
		return "", false
	}
	if strings.TrimSpace(rest) == "}" {
		return "SELECT NULL WHERE false", true
	}
	var list []string
	for {
		m := arrayMember.FindStringSubmatch(rest)
		switch {
		case m == nil:
			return "", false
		case strings.EqualFold(m[2], "null"):
			list = append(list, "NULL")
		default:
			list = append(list, duckdb.QuoteLiteral(backslashed.ReplaceAllString(m[1], "$1")+m[2]))
		}
		if rest = rest[len(m[0]):]; m[3] == "}" {
			return strings.Join(list, ", "), rest == ""
		}
	}
}

var backslashed = regexp.MustCompile(`(?s)\\(.)`)

// duckList turns the braces of an array literal, outside of quotes, into brackets.
func duckList(value string) (string, bool) {
	if !strings.HasPrefix(value, "{") || !strings.HasSuffix(value, "}") {
		return "", false
	}
	var b strings.Builder
	quoted := false
	for i := 0; i < len(value); i++ {
		c := value[i]
		switch {
		case quoted && c == '\\' && i+1 < len(value):
			b.WriteByte(c)
			i++
			c = value[i]
		case c == '"':
			quoted = !quoted
		case !quoted && c == '{':
			c = '['
		case !quoted && c == '}':
			c = ']'
		}
		b.WriteByte(c)
	}
	return b.String(), !quoted
}

// eachCast visits every cast of a tree.
func eachCast(m protoreflect.Message, visit func(*pg.TypeCast)) {
	EachNode(m, func(node any) {
		if c, ok := node.(*pg.TypeCast); ok {
			visit(c)
		}
	})
}

// EachNode visits every message of a tree.
func EachNode(m protoreflect.Message, visit func(node any)) {
	for n := range tree.All(m) {
		visit(n.Interface())
	}
}
