package engine

import (
	"regexp"
	"strings"

	pg "github.com/pganalyze/pg_query_go/v6"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/csmsql/csmsql/engine/pgcatalog"
	"github.com/csmsql/csmsql/exec/duckdb"
)

// Three literals mean something else to DuckDB than to every PostgreSQL client: '\x00ff'::bytea, whose hexadecimal digits DuckDB
// takes for one escape and a text, and '{1,2}'::int[], which it does not take at all, nor behind = ANY. They are written in DuckDB's way before it sees them.
// DuckDB's own spellings ('\x00\xFF'::BLOB, '[1, 2]'::int[]) are left alone.

var hexBytes = regexp.MustCompile(`^\\x((?:[0-9a-fA-F]{2})*)$`)

// translateLiterals gives the text with such literals in DuckDB's spelling, and whether there were any.
func translateLiterals(text string, tree *pg.ParseResult) (string, bool) {
	if tree == nil || !strings.Contains(text, `'\x`) && !strings.Contains(text, `'\\x`) && !strings.Contains(text, `'{`) {
		return text, false
	}
	at := map[int]string{} // offset of a literal → what stands for it
	eachCast(tree.ProtoReflect(), func(c *pg.TypeCast) {
		literal := c.Arg.GetAConst()
		if literal.GetSval() == nil {
			return
		}
		if by, ok := duckLiteral(literal.GetSval().Sval, c.TypeName); ok {
			at[int(literal.Location)] = by
		}
	})
	members(text, tree, at)
	if len(at) == 0 {
		return text, false
	}
	quantified := false // what follows is ANY or ALL, whose operator is IN now
	out, _ := replaceTokens(text, func(token string, offset int) (string, bool) {
		if quantified && isQuantifier(token) {
			quantified = false
			return "", true
		}
		by, ok := at[offset]
		quantified = quantified || by == isIn || by == isNotIn
		return by, ok
	})
	return out, true
}

func isQuantifier(token string) bool {
	return strings.EqualFold(token, "any") || strings.EqualFold(token, "some") || strings.EqualFold(token, "all")
}

const isIn, isNotIn = " IN ", " NOT IN "

// members writes x = ANY ('{a,b}') as x IN ('a', 'b'), and x <> ALL ('{a,b}') as x NOT IN ('a', 'b'): the array has the type that x has, which
// only DuckDB knows.
func members(text string, tree *pg.ParseResult, at map[int]string) {
	eachNode(tree.ProtoReflect(), func(node any) {
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

func duckLiteral(value string, t *pg.TypeName) (string, bool) {
	names := t.GetNames()
	if len(names) == 0 {
		return "", false
	}
	name := strings.ToLower(names[len(names)-1].GetString_().GetSval())
	switch {
	case len(t.ArrayBounds) > 0:
		list, ok := duckList(value)
		return "'" + strings.ReplaceAll(list, "'", "''") + "'", ok
	case name == "bytea" || name == "blob":
		return duckBytes(value)
	}
	return "", false
}

// duckBytes is a bytea literal in PostgreSQL's hexadecimal form as DuckDB's: a literal still and no call, for VALUES ('ab'), ('\x00') must
// have one type.
func duckBytes(value string) (string, bool) {
	m := hexBytes.FindStringSubmatch(value)
	if m == nil {
		return "", false
	}
	var b strings.Builder
	b.WriteByte('\'')
	for i := 0; i < len(m[1]); i += 2 {
		b.WriteString(`\x` + m[1][i:i+2])
	}
	b.WriteByte('\'')
	return b.String(), true
}

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
	eachNode(m, func(node any) {
		if c, ok := node.(*pg.TypeCast); ok {
			visit(c)
		}
	})
}

// eachNode visits every message of a tree.
func eachNode(m protoreflect.Message, visit func(node any)) {
	visit(m.Interface())
	m.Range(func(field protoreflect.FieldDescriptor, value protoreflect.Value) bool {
		switch {
		case field.Kind() != protoreflect.MessageKind:
		case field.IsList():
			for i := range value.List().Len() {
				eachNode(value.List().Get(i).Message(), visit)
			}
		default:
			eachNode(value.Message(), visit)
		}
		return true
	})
}
