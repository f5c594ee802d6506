package dialect

import (
	"cmp"
	"regexp"
	"strings"
	"unicode/utf8"

	pg "github.com/pganalyze/pg_query_go/v6"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/csmsql/csmsql/exec/duckdb"
	"github.com/csmsql/csmsql/sql/literal"
	"github.com/csmsql/csmsql/sql/pgcatalog"
	"github.com/csmsql/csmsql/sql/sqlerror"
	"github.com/csmsql/csmsql/sql/statement"
	"github.com/csmsql/csmsql/sql/tree"
)

// Some literals mean something else to DuckDB than to every PostgreSQL client, or nothing: '\x00ff'::bytea,
// '{1,2}'::int[], also behind = ANY, '0044-03-15 BC'::date. They are written in DuckDB's way before it sees them
// (package literal).

// Literals gives the text with such literals, where a cast says what they are, in DuckDB's spelling, and whether there
// were any.
func Literals(text string, tree *pg.ParseResult) (string, bool, error) {
	if tree == nil || !mayTranslate(text) {
		return text, false, nil
	}
	at := map[int]string{} // offset of a literal → what stands for it
	var failed error
	eachCast(tree.ProtoReflect(), func(c *pg.TypeCast) {
		constant := c.Arg.GetAConst()
		if constant.GetSval() == nil {
			return
		}
		value := constant.GetSval().Sval
		by, err := formOf(c.TypeName).Translate(value)
		if err != nil {
			e := sqlerror.New("22023", "%s", err)
			e.At = utf8.RuneCountInString(text[:min(int(constant.Location), len(text))]) + 1
			failed = cmp.Or[error](failed, e)
		} else if by != value {
			at[int(constant.Location)] = duckdb.QuoteLiteral(by)
		}
	})
	members(text, tree, at)
	if len(at) == 0 || failed != nil {
		return text, false, failed
	}
	quantified := false // what follows is ANY or ALL, whose operator is IN now
	out, _ := ReplaceTokens(text, func(token string, offset int) (string, bool) {
		if quantified && isQuantifier(token) {
			quantified = false
			return "", true
		}
		by, ok := at[offset]
		quantified = quantified || by == isIn || by == isNotIn
		return by, ok
	})
	return out, true, nil
}

// mayTranslate is what most texts are spared by.
func mayTranslate(text string) bool {
	if !strings.Contains(text, "'") {
		return false
	}
	found := false
	statement.Literals(text, func(l statement.Literal) { found = found || literal.Suspicious(l.Value) })
	return found
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

// members writes x = ANY ('{a,b}') as x IN ('a', 'b'), and x <> ALL ('{a,b}') as x NOT IN ('a', 'b'): the array has the
// type that x has, which only DuckDB knows.
func members(text string, tree *pg.ParseResult, at map[int]string) {
	EachNode(tree.ProtoReflect(), func(node any) {
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
		if list, ok := arrayMembers(e.Rexpr.GetAConst().GetSval().Sval); ok && !pgcatalog.IsCatalogQuery(tree) {
			at[int(e.Location)], at[int(e.Rexpr.GetAConst().Location)] = by, list
		}
	})
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
