package frontend

import (
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"

	pg "github.com/pganalyze/pg_query_go/v6"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// Drivers write some values into a statement's text in forms that the engine's planner, DuckDB, takes for other values.
// Such a literal is rewritten; positions in errors are moved back.
//
//   - '\x00ff'::bytea is two bytes, not a byte and the letters ff. Under the name blob, which is DuckDB's, a text means
//     what DuckDB says.
//   - '1.23456'::numeric has the digits that are written; DuckDB's numeric has three after the point.

// mayHaveLiterals tells cheaply that a statement has nothing to rewrite.
func mayHaveLiterals(sql string) bool {
	return strings.Contains(sql, `\x`) || strings.Contains(sql, "numeric") || strings.Contains(sql, "NUMERIC")
}

// literals are the edits that rewrite a statement's literals.
func literals(tree *pg.ParseResult, sql string) edits {
	var found edits
	walkCasts(tree.ProtoReflect(), func(cast *pg.TypeCast) {
		names := cast.TypeName.GetNames()
		if len(names) == 0 || len(cast.TypeName.ArrayBounds) > 0 || len(cast.TypeName.Typmods) > 0 {
			return
		}
		var e edit
		var ok bool
		switch names[len(names)-1].GetString_().GetSval() {
		case "bytea":
			e, ok = byteaLiteral(cast.Arg.GetAConst(), sql)
		case "numeric":
			e, ok = numericType(cast, sql)
		}
		if ok {
			found = append(found, e)
		}
	})
	slices.SortFunc(found, func(a, b edit) int { return a.start - b.start })
	return found
}

func byteaLiteral(literal *pg.A_Const, sql string) (edit, bool) {
	digits, ok := strings.CutPrefix(literal.GetSval().GetSval(), `\x`)
	bytes, err := hex.DecodeString(digits)
	start := int(literal.GetLocation())
	if !ok || err != nil || start < 0 || start >= len(sql) {
		return edit{}, false
	}
	// Between its quotes are the digits and what stands for \x, so the second quote is its end.
	before, rest, _ := strings.Cut(sql[start:], "'")
	inside, _, ok := strings.Cut(rest, "'")
	if !ok || !strings.HasSuffix(inside, digits) {
		return edit{}, false // $$…$$, U&'…': nobody writes bytes so
	}
	return edit{start, start + len(before) + len(inside) + 2, "'" + bytesText(bytes) + "'"}, true
}

// numericType gives the type of a literal as many digits after the point as the literal has.
func numericType(cast *pg.TypeCast, sql string) (edit, bool) {
	const word = "numeric"
	start := int(cast.TypeName.Location)
	if start < 0 || start+len(word) > len(sql) || !strings.EqualFold(sql[start:start+len(word)], word) {
		return edit{}, false
	}
	number := strings.TrimLeft(strings.TrimSpace(constantText(cast.Arg.GetAConst())), "+-")
	whole, fraction, _ := strings.Cut(number, ".")
	if whole+fraction == "" || strings.Trim(whole+fraction, "0123456789") != "" || len(whole)+len(fraction) > 38 {
		return edit{}, false // NaN, 1e5, what no decimal holds
	}
	return edit{start, start + len(word), fmt.Sprintf("DECIMAL(38, %d)", len(fraction))}, true
}

func constantText(c *pg.A_Const) string {
	switch v := c.GetVal().(type) {
	case *pg.A_Const_Sval:
		return v.Sval.GetSval()
	case *pg.A_Const_Fval:
		return v.Fval.GetFval()
	case *pg.A_Const_Ival:
		return strconv.Itoa(int(v.Ival.GetIval()))
	}
	return ""
}

func walkCasts(m protoreflect.Message, visit func(*pg.TypeCast)) {
	if cast, ok := m.Interface().(*pg.TypeCast); ok {
		visit(cast)
	}
	m.Range(func(field protoreflect.FieldDescriptor, value protoreflect.Value) bool {
		switch {
		case field.IsList() && field.Message() != nil:
			for i := range value.List().Len() {
				walkCasts(value.List().Get(i).Message(), visit)
			}
		case field.Message() != nil:
			walkCasts(value.Message(), visit)
		}
		return true
	})
}
