package frontend

import (
	"fmt"
	"strconv"
	"strings"

	pg "github.com/pganalyze/pg_query_go/v6"

	"github.com/csmsql/csmsql/sql/notation"
	"github.com/csmsql/csmsql/sql/tree"
)

// pgJDBC's simple mode writes numbers as '1.23456'::numeric. DuckDB's numeric has three digits after the point,
// PostgreSQL's those that are written: such a type is rewritten, and positions in errors are moved back. Texts that
// mean other bytes or arrays than in PostgreSQL are the engine's business.

// mayHaveNumerics reports whether a statement may have something to rewrite. It is cheap.
func mayHaveNumerics(sql string) bool {
	const word = "numeric"
	for i := 0; i+len(word) <= len(sql); i++ {
		if sql[i]|0x20 == word[0] && strings.EqualFold(sql[i:i+len(word)], word) {
			return true
		}
	}
	return false
}

// numericLiterals are the replacements that give literals their digits.
func numericLiterals(parsed *pg.ParseResult, sql string) []replacement {
	var found []replacement
	for m := range tree.All(parsed.ProtoReflect()) {
		cast, ok := m.Interface().(*pg.TypeCast)
		names := cast.GetTypeName().GetNames()
		if !ok || len(names) == 0 || len(cast.TypeName.ArrayBounds) > 0 || len(cast.TypeName.Typmods) > 0 {
			continue
		}
		if names[len(names)-1].GetString_().GetSval() != "numeric" {
			continue
		}
		if e, ok := numericType(cast, sql); ok {
			found = append(found, e)
		}
	}
	return found
}

// numericType gives the type of a literal as many digits after the point as the literal has.
func numericType(cast *pg.TypeCast, sql string) (replacement, bool) {
	const word = "numeric"
	start := int(cast.TypeName.Location)
	if start < 0 || start+len(word) > len(sql) || !strings.EqualFold(sql[start:start+len(word)], word) {
		return replacement{}, false
	}
	number := strings.TrimLeft(strings.TrimSpace(constantText(cast.Arg.GetAConst())), "+-")
	whole, fraction, _ := strings.Cut(number, ".")
	if whole+fraction == "" || strings.Trim(whole+fraction, "0123456789") != "" || len(whole)+len(fraction) > 38 {
		return replacement{}, false // NaN, 1e5, what no decimal holds
	}
	return replacement{start, start + len(word), fmt.Sprintf("DECIMAL(38, %d)", len(fraction))}, true
}

func constantText(c *pg.A_Const) string {
	switch v := c.GetVal().(type) {
	case *pg.A_Const_Sval:
		return v.Sval.GetSval()
	case *pg.A_Const_Fval:
		number := v.Fval.GetFval()
		if plain, ok := notation.Digits(number); ok { // 0xFFFFFFFFFF, 1_000.5
			return plain
		}
		return number
	case *pg.A_Const_Ival:
		return strconv.Itoa(int(v.Ival.GetIval()))
	}
	return ""
}
