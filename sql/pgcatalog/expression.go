package pgcatalog

import (
	"strings"

	pg "github.com/pganalyze/pg_query_go/v6"

	"github.com/csmsql/csmsql/sql/tree"
)

func (w *rewriter) operator(n *pg.Node, e *pg.A_Expr) {
	if len(e.Name) > 1 && text0(e.Name) == tree.SystemSchema {
		e.Name = e.Name[len(e.Name)-1:]
	}
	name := ""
	if len(e.Name) > 0 {
		name = e.Name[0].GetString_().GetSval()
	}
	w.optional(e.Lexpr, name == "||")
	w.optional(e.Rexpr, name == "||")
	switch e.Kind {
	case pg.A_Expr_Kind_AEXPR_OP:
		if e.Lexpr != nil && len(e.Name) == 1 {
			e.Name = []*pg.Node{pg.MakeStrNode(Operator(name, ""))}
		}
		if comparisons[name] {
			arrayConstant(e.Lexpr)
			arrayConstant(e.Rexpr)
		}
	case pg.A_Expr_Kind_AEXPR_LIKE, pg.A_Expr_Kind_AEXPR_ILIKE:
		escapePattern(n, e, name)
	case pg.A_Expr_Kind_AEXPR_OP_ANY, pg.A_Expr_Kind_AEXPR_OP_ALL:
		w.quantified(n, e, name)
	}
}

// quantified: x = ANY (array) becomes list_contains, because DuckDB makes a subquery of ANY, which it cannot have in an
// outer join's condition.
func (w *rewriter) quantified(n *pg.Node, e *pg.A_Expr, name string) {
	if isArrayText(e.Rexpr) {
		e.Lexpr = cast(e.Lexpr, "text")
		e.Rexpr = w.model.call("pg_compat", "array_in", e.Rexpr)
	}
	any := e.Kind == pg.A_Expr_Kind_AEXPR_OP_ANY
	if any && name != "=" || !any && name != "<>" {
		return
	}
	contains := pg.MakeFuncCallNode([]*pg.Node{pg.MakeStrNode("list_contains")}, []*pg.Node{e.Rexpr, e.Lexpr}, -1)
	if !any {
		contains = pg.MakeBoolExprNode(pg.BoolExprType_NOT_EXPR, []*pg.Node{contains}, -1)
	}
	n.Node = contains.Node
}

var comparisons = map[string]bool{"=": true, "<>": true, "@>": true, "<@": true, "&&": true}

// arrayConstant writes '{1,2}' as DuckDB does: '[1,2]'.
func arrayConstant(n *pg.Node) {
	s := n.GetAConst().GetSval()
	if s == nil {
		return
	}
	if inner, ok := strings.CutPrefix(s.Sval, "{"); ok {
		if inner, ok = strings.CutSuffix(inner, "}"); ok {
			s.Sval = "[" + inner + "]"
		}
	}
}

// isArrayText: an array that is written as text, or a parameter, which clients of catalogs pass as text.
func isArrayText(n *pg.Node) bool {
	return n.GetParamRef() != nil || n.GetAConst().GetSval() != nil
}

// escapeCalls are DuckDB's functions for LIKE … ESCAPE, by operator.
var escapeCalls = map[string]string{"~~": "like_escape", "!~~": "not_like_escape", "~~*": "ilike_escape", "!~~*": "not_ilike_escape"}

// escapePattern: in PostgreSQL a backslash escapes without being asked to. The deparser cannot write ESCAPE, so it is a
// call.
func escapePattern(n *pg.Node, e *pg.A_Expr, name string) {
	pattern, escape := e.Rexpr, pg.MakeAConstStrNode(`\`, -1)
	if f := pattern.GetFuncCall(); f != nil && tree.GrammarFunctions[tree.LastText(f.Funcname)] && len(f.Args) == 2 {
		pattern, escape = f.Args[0], f.Args[1]
	} else if s := pattern.GetAConst().GetSval(); s != nil && !strings.Contains(s.Sval, `\`) {
		return
	}
	if function, ok := escapeCalls[name]; ok {
		n.Node = pg.MakeFuncCallNode([]*pg.Node{pg.MakeStrNode(function)}, []*pg.Node{e.Lexpr, pattern, escape}, -1).Node
	}
}

// cast makes CAST(n AS name).
func cast(n *pg.Node, name string) *pg.Node {
	t := &pg.TypeName{Names: []*pg.Node{pg.MakeStrNode(name)}, Typemod: -1}
	return &pg.Node{Node: &pg.Node_TypeCast{TypeCast: &pg.TypeCast{Arg: n, TypeName: t}}}
}

func (w *rewriter) typeCast(n *pg.Node, c *pg.TypeCast, shown bool) {
	schema, name := tree.TypeName(c.TypeName)
	known := schema == "" || isOurs(schema)
	isList := len(c.TypeName.GetArrayBounds()) > 0
	prefix := lookupTypes[name]
	w.optional(c.Arg, known && castTypes[name] == "text" && prefix == "")
	switch {
	case c.Arg == nil || c.TypeName == nil:
		return
	case known && castTypes[name] == "text" && w.isVector(c.Arg):
		n.Node = w.vectorText(c.Arg).Node
		return
	case known && prefix != "" && !isList:
		n.Node = w.lookup(c.Arg, prefix, shown).Node
		return
	case isList && isArrayText(c.Arg):
		c.Arg = w.model.call("pg_compat", "array_in", c.Arg)
	}
	w.typeName(c.TypeName)
}

// lookup makes what stands for a cast to a reg… type.
func (w *rewriter) lookup(arg *pg.Node, prefix string, shown bool) *pg.Node {
	if arg.GetParamRef() != nil {
		arg = cast(arg, "text") // a macro's argument gives DuckDB no hint of a parameter's type
	}
	switch {
	case shown:
		return w.model.call("pg_compat", prefix+"_name", arg)
	case w.isOID(arg):
		return cast(arg, "uinteger")
	}
	return w.model.call("pg_compat", prefix+"_oid", arg)
}

// lookupCall makes an object ID of to_regclass('t') and the like, or NULL.
func (w *rewriter) lookupCall(n *pg.Node, f *pg.FuncCall) bool {
	schema, name := tree.FunctionName(f)
	kind, ok := strings.CutPrefix(name, "to_")
	prefix := lookupTypes[kind]
	if !ok || prefix == "" || len(f.Args) != 1 || schema != "" && schema != tree.SystemSchema {
		return false
	}
	w.optional(f.Args[0], false)
	arg := f.Args[0]
	if arg.GetParamRef() != nil {
		arg = cast(arg, "text")
	}
	n.Node = w.model.call("pg_compat", prefix+"_lookup", arg).Node
	return true
}

// isOID: the expression's value is an object ID and not a name, as far as can be seen without its type.
func (w *rewriter) isOID(n *pg.Node) bool {
	if c := n.GetColumnRef(); c != nil {
		return w.model.oids[tree.LastText(c.Fields)]
	}
	if c := n.GetTypeCast(); c != nil {
		_, name := tree.TypeName(c.TypeName)
		return name == "uinteger"
	}
	return n.GetAConst().GetIval() != nil
}

// qualifiedByDeparser are the grammar's types that the deparser writes with their schema, in which DuckDB has no types.
var qualifiedByDeparser = map[string]bool{"bit": true, "json": true, "varbit": true}

// typeName gives a type the name that DuckDB knows.
func (w *rewriter) typeName(t *pg.TypeName) {
	schema, name := tree.TypeName(t)
	if schema != "" && !isOurs(schema) {
		return
	}
	ours, ok := castTypes[name]
	if lookupTypes[name] != "" {
		ours, ok = "uinteger", true
	}
	if schema == tree.SystemSchema && grammarTypes[name] && !qualifiedByDeparser[name] {
		return // the deparser writes these as SQL does
	}
	if !ok {
		if schema != "" {
			t.Names = t.Names[len(t.Names)-1:]
		}
		return
	}
	t.Names = []*pg.Node{pg.MakeStrNode(ours)}
	if name == "int2vector" || name == "oidvector" {
		t.ArrayBounds = append(t.ArrayBounds, pg.MakeIntNode(-1))
	}
}
