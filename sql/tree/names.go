package tree

import pg "github.com/pganalyze/pg_query_go/v6"

// SystemSchema is where PostgreSQL has its own functions, types and relations.
const SystemSchema = "pg_catalog"

// GrammarFunctions are calls that the grammar makes of syntax such as LIKE … ESCAPE: no text has their names.
var GrammarFunctions = map[string]bool{"like_escape": true, "similar_to_escape": true}

// FunctionName is what a call names; both are empty where the call was not written as one.
func FunctionName(x *pg.FuncCall) (schema, name string) {
	if x.Funcformat == pg.CoercionForm_COERCE_SQL_SYNTAX {
		return "", ""
	}
	schema, name = lastTwo(x.Funcname)
	if schema == SystemSchema && GrammarFunctions[name] {
		return "", ""
	}
	return schema, name
}

// TypeName is what a type's name says.
func TypeName(t *pg.TypeName) (schema, name string) { return lastTwo(t.GetNames()) }

func lastTwo(list []*pg.Node) (schema, name string) {
	if len(list) > 1 {
		schema = list[len(list)-2].GetString_().GetSval()
	}
	return schema, LastText(list)
}

// LastText is the last word of a name, or of an operator's.
func LastText(list []*pg.Node) string {
	if len(list) == 0 {
		return ""
	}
	return list[len(list)-1].GetString_().GetSval()
}

// IsStar reports whether an entry of a select list is *, or all fields of a row.
func IsStar(n *pg.Node) bool {
	fields := n.GetColumnRef().GetFields()
	if i := n.GetAIndirection(); i != nil {
		fields = i.Indirection
	}
	return len(fields) > 0 && fields[len(fields)-1].GetAStar() != nil
}
