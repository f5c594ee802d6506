package pgcatalog

import (
	"fmt"
	"strings"

	pg "github.com/pganalyze/pg_query_go/v6"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/csmsql/csmsql/sql/deparse"
	"github.com/csmsql/csmsql/sql/sqlerror"
	"github.com/csmsql/csmsql/sql/tree"
)

// errOtherwise is for a query that the deparser writes as another one (P7). No such query is known.
var errOtherwise = sqlerror.New("0A000", "the query cannot be translated for the system catalogs").
	WithHint("Write its parts as sub-queries, or ask the catalogs by themselves.")

// Rewrite translates a catalog query for DuckDB; any other text is given back as it is (P1). parsed is the text's tree
// and is left alone. Positions in errors of the rewritten text mean nothing in the user's.
func Rewrite(sql string, parsed *pg.ParseResult) (string, error) {
	if !IsCatalogQuery(parsed) {
		return sql, nil
	}
	m, err := data()
	if err != nil {
		return sql, err
	}
	copied := proto.Clone(parsed).(*pg.ParseResult)
	w := &rewriter{model: m, hidden: commonTables(parsed)}
	w.message(copied.ProtoReflect())
	if len(copied.Stmts) == 1 {
		w.showVectors(copied.Stmts[0].Stmt.GetSelectStmt())
	}
	made := deparse.WithoutPlaces(proto.Clone(copied).(*pg.ParseResult))
	out, err := deparse.Text(copied)
	if err != nil {
		return sql, fmt.Errorf("write a query of the system catalogs: %w", err)
	}
	read, err := tree.Parse(out)
	if err != nil {
		return sql, nil //nolint:nilerr // the deparser has gaps, $0 for one; DuckDB's error about the user's own text says more
	}
	if !proto.Equal(made, deparse.WithoutPlaces(read)) {
		return sql, errOtherwise
	}
	return tree.Percents(out), nil
}

// rewriter changes a tree in place.
type rewriter struct {
	model  *model
	hidden map[string]bool
	scopes []scope // of the SELECTs around, the innermost last
}

// message rewrites what lies below a message that is no expression of its own.
func (w *rewriter) message(message protoreflect.Message) {
	switch x := message.Interface().(type) {
	case *pg.Node:
		w.node(x, false)
		return
	case *pg.SelectStmt:
		nameTargets(x) // before rewriting: names come from what the user wrote
		w.scopes = append(w.scopes, w.scopeOf(x.FromClause))
		defer func() { w.scopes = w.scopes[:len(w.scopes)-1] }()
	case *pg.RangeVar:
		w.rangeVar(x)
	case *pg.TypeName:
		w.typeName(x)
	}
	for child := range tree.Children(message) {
		w.message(child)
	}
}

// node rewrites an expression or clause. shown: its value is looked at as text, so a reg… type is a name, else an
// object ID.
func (w *rewriter) node(n *pg.Node, shown bool) {
	switch x := n.Node.(type) {
	case *pg.Node_TypeCast:
		w.typeCast(n, x.TypeCast, shown)
	case *pg.Node_FuncCall:
		if !shown && w.lookupCall(n, x.FuncCall) {
			return
		}
		w.funcCall(x.FuncCall)
	case *pg.Node_AExpr:
		w.operator(n, x.AExpr)
	case *pg.Node_ColumnRef:
		w.columnRef(n, x.ColumnRef)
	case *pg.Node_CollateClause:
		w.collate(n, x.CollateClause, shown)
	case *pg.Node_SqlvalueFunction:
		w.valueFunction(n, x.SqlvalueFunction)
	case *pg.Node_RangeFunction:
		w.rangeFunction(n, x.RangeFunction)
	case *pg.Node_ResTarget:
		w.nodes(x.ResTarget.Indirection, false)
		w.optional(x.ResTarget.Val, true)
	case *pg.Node_AIndirection:
		w.subscript(x.AIndirection)
		w.below(n)
	case *pg.Node_CaseExpr:
		w.caseExpr(x.CaseExpr, shown)
	case *pg.Node_CoalesceExpr:
		w.nodes(x.CoalesceExpr.Args, shown)
	case *pg.Node_AArrayExpr:
		w.nodes(x.AArrayExpr.Elements, shown)
	case nil:
	default:
		w.below(n)
	}
}

// below rewrites what lies below a node of no interest by itself.
func (w *rewriter) below(n *pg.Node) {
	for child := range tree.Children(n.ProtoReflect()) {
		w.message(child)
	}
}

func (w *rewriter) nodes(list []*pg.Node, shown bool) {
	for _, n := range list {
		w.optional(n, shown)
	}
}

func (w *rewriter) optional(n *pg.Node, shown bool) {
	if n != nil {
		w.node(n, shown)
	}
}

func (w *rewriter) caseExpr(c *pg.CaseExpr, shown bool) {
	w.optional(c.Arg, false)
	for _, n := range c.Args {
		if when := n.GetCaseWhen(); when != nil {
			w.optional(when.Expr, false)
			w.optional(when.Result, shown)
		}
	}
	w.optional(c.Defresult, shown)
}

func (w *rewriter) rangeVar(v *pg.RangeVar) {
	r := w.model.relation(v, w.hidden)
	if r == nil {
		return
	}
	target := strings.Split(r.target(), ".")
	v.Catalogname, v.Schemaname, v.Relname = target[0], target[1], target[2]
}

// rowColumns are PostgreSQL's system columns. Catalogs that are tables have them: the table's object ID, and of the
// others 0.
var rowColumns = map[string]bool{"tableoid": true, "xmin": true, "xmax": true, "cmin": true, "cmax": true}

// columnRef drops the schema of pg_catalog.pg_class.relname: DuckDB knows the table under another one.
func (w *rewriter) columnRef(n *pg.Node, c *pg.ColumnRef) {
	for len(c.Fields) > 2 && isOurs(c.Fields[0].GetString_().GetSval()) {
		c.Fields = c.Fields[1:]
	}
	name := tree.LastText(c.Fields)
	if !rowColumns[name] {
		return
	}
	r := w.catalogOf(c)
	switch {
	case r == nil:
	case name == "tableoid":
		n.Node = pg.MakeAConstIntNode(r.oid, -1).Node
	default:
		n.Node = pg.MakeAConstIntNode(0, -1).Node
	}
}

// collate drops collations: all text is compared by its bytes, which is what "C" and this server's default mean.
func (w *rewriter) collate(n *pg.Node, c *pg.CollateClause, shown bool) {
	w.optional(c.Arg, shown)
	if c.Arg != nil && len(c.Collname) > 0 {
		switch c.Collname[len(c.Collname)-1].GetString_().GetSval() {
		case "default", "C", "POSIX", "ucs_basic":
			n.Node = c.Arg.Node
		}
	}
}

var valueFunctions = map[pg.SQLValueFunctionOp]string{
	pg.SQLValueFunctionOp_SVFOP_CURRENT_ROLE:    "current_role",
	pg.SQLValueFunctionOp_SVFOP_CURRENT_USER:    "current_user",
	pg.SQLValueFunctionOp_SVFOP_USER:            "user",
	pg.SQLValueFunctionOp_SVFOP_SESSION_USER:    "session_user",
	pg.SQLValueFunctionOp_SVFOP_CURRENT_CATALOG: "current_catalog",
	pg.SQLValueFunctionOp_SVFOP_CURRENT_SCHEMA:  "current_schema",
}

// valueFunction turns the words that are functions without parentheses into calls.
func (w *rewriter) valueFunction(n *pg.Node, f *pg.SQLValueFunction) {
	if name, ok := valueFunctions[f.Op]; ok {
		n.Node = w.model.call("pg_session", name).Node
	}
}

// call makes a call of one of our macros.
func (m *model) call(schema, name string, args ...*pg.Node) *pg.Node {
	return pg.MakeFuncCallNode([]*pg.Node{pg.MakeStrNode(m.databaseOf(schema, name)), pg.MakeStrNode(schema), pg.MakeStrNode(name)}, args, -1)
}

// macro finds the macro that a function's name means.
func (m *model) macro(schema, name string) (ourSchema string, ok bool) {
	if schema != "" && !isOurs(schema) {
		return "", false
	}
	switch {
	case m.compat[name]:
		return "pg_compat", true
	case m.session[name]:
		return "pg_session", true
	case m.quiet[name]:
		return "pg_quiet", true
	}
	return "", false
}

// textFunctions look at their arguments as text.
var textFunctions = map[string]bool{
	TranslatedPrefix + "text": true, "quote_ident": true, "concat": true, "concat_ws": true, "string_agg": true, "array_agg": true, "lower": true, "upper": true,
	"replace": true, "length": true,
}

// relationFunctions take a regclass first: an object ID or a name.
var relationFunctions = map[string]bool{"pg_relation_size": true, "pg_table_size": true, "pg_total_relation_size": true, "pg_indexes_size": true, "pg_relation_filenode": true, "pg_get_viewdef": true}

// withoutName gives the object ID of a relation whose name an expression is, where that can be seen: to look for the
// name, and by the name for the relation, costs a join with all names, twice.
func withoutName(n *pg.Node) *pg.Node {
	named := n.GetTypeCast().GetArg()
	if f := n.GetFuncCall(); f != nil && len(f.Args) == 1 && tree.LastText(f.Funcname) == TranslatedPrefix+"text" {
		named = f.Args[0]
	}
	if _, name := tree.TypeName(named.GetTypeCast().GetTypeName()); name == "regclass" {
		return cast(named.GetTypeCast().Arg, "text")
	}
	return n
}

func (w *rewriter) funcCall(f *pg.FuncCall) {
	schema, name := tree.FunctionName(f)
	if name == "pg_get_serial_sequence" && len(f.Args) > 0 {
		f.Args[0] = withoutName(f.Args[0])
	}
	w.nodes(f.Args, textFunctions[name])
	w.nodes(f.AggOrder, false)
	w.optional(f.AggFilter, false)
	if f.Over != nil {
		w.message(f.Over.ProtoReflect())
	}
	if name == "" || w.vectorCall(f, name) {
		return
	}
	if ours, ok := w.model.macro(schema, name); ok {
		if relationFunctions[name] && len(f.Args) > 0 {
			f.Args[0] = w.lookup(f.Args[0], "relation", false)
		}
		f.Funcname = []*pg.Node{pg.MakeStrNode(w.model.databaseOf(ours, name)), pg.MakeStrNode(ours), pg.MakeStrNode(name)}
		return
	}
	if schema == tree.SystemSchema {
		f.Funcname = f.Funcname[len(f.Funcname)-1:]
	}
	if renamed, ok := renamedFunctions[name]; ok && len(f.Funcname) == 1 {
		f.Funcname = []*pg.Node{pg.MakeStrNode(renamed)}
	}
}

// renamedFunctions take any number of arguments, which macros cannot, or are aggregates; DuckDB has them under another
// name.
var renamedFunctions = map[string]string{
	"json_build_object": "json_object", "jsonb_build_object": "json_object", "json_build_array": "json_array", "jsonb_build_array": "json_array",
	"json_agg": "json_group_array", "jsonb_agg": "json_group_array", "row_to_json": "to_json", "to_jsonb": "to_json",
}

// defaultFrame is what PostgreSQL's parser writes of a window without a frame.
const defaultFrame = 1058

// columnFunctions in FROM give one column, which has the alias' name.
var columnFunctions = map[string]bool{"generate_series": true, "generate_subscripts": true, "unnest": true, "regexp_split_to_table": true, "string_to_table": true}

func (w *rewriter) rangeFunction(n *pg.Node, r *pg.RangeFunction) {
	f := singleFunction(r)
	if f == nil {
		w.below(n)
		return
	}
	schema, name := tree.FunctionName(f)
	_, ours := w.model.macro(schema, name)
	w.below(n)
	alias := name
	if r.Alias != nil {
		alias = r.Alias.Aliasname
	}
	switch {
	case ours && w.model.tables[name]:
	case ours: // the other macros are scalars for DuckDB
		target := &pg.Node{Node: &pg.Node_ResTarget{ResTarget: &pg.ResTarget{Name: alias, Val: &pg.Node{Node: &pg.Node_FuncCall{FuncCall: f}}}}}
		targets := []*pg.Node{target}
		if r.Ordinality {
			count := &pg.FuncCall{Funcname: []*pg.Node{pg.MakeStrNode("row_number")}, Over: &pg.WindowDef{FrameOptions: defaultFrame}, Funcformat: pg.CoercionForm_COERCE_EXPLICIT_CALL}
			targets = append(targets, &pg.Node{Node: &pg.Node_ResTarget{ResTarget: &pg.ResTarget{Name: "ordinality", Val: &pg.Node{Node: &pg.Node_FuncCall{FuncCall: count}}}}})
		}
		query := &pg.Node{Node: &pg.Node_SelectStmt{SelectStmt: &pg.SelectStmt{TargetList: targets, LimitOption: pg.LimitOption_LIMIT_OPTION_DEFAULT, Op: pg.SetOperation_SETOP_NONE}}}
		as := r.Alias
		if as == nil {
			as = &pg.Alias{Aliasname: alias}
		}
		n.Node = &pg.Node_RangeSubselect{RangeSubselect: &pg.RangeSubselect{Lateral: true, Subquery: query, Alias: as}}
	case columnFunctions[name] && r.Alias != nil && len(r.Alias.Colnames) == 0 && !r.Ordinality:
		r.Alias.Colnames = []*pg.Node{pg.MakeStrNode(alias)}
	}
}

// singleFunction is the function of FROM f(…), nil for ROWS FROM and column definitions.
func singleFunction(r *pg.RangeFunction) *pg.FuncCall {
	if len(r.Functions) != 1 || len(r.Coldeflist) > 0 {
		return nil
	}
	items := r.Functions[0].GetList().GetItems()
	if len(items) == 0 {
		return nil
	}
	return items[0].GetFuncCall()
}
