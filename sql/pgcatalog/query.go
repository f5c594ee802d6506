package pgcatalog

import (
	"strings"

	pg "github.com/pganalyze/pg_query_go/v6"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/csmsql/csmsql/sql/tree"
)

const sqlSchema = "information_schema"

// IsCatalogQuery reports whether a parsed text names a system relation, or a function, type, operator or collation that
// only PostgreSQL has (P1). What names only session functions is none: DuckDB finds those by itself.
func IsCatalogQuery(parsed *pg.ParseResult) bool {
	if parsed == nil {
		return false
	}
	s := &search{parsed: parsed}
	for _, statement := range parsed.Stmts {
		s.node(statement.GetStmt())
	}
	return s.found
}

// search looks for the first thing that makes a query a catalog query. Every statement of every session pays for it, so
// it knows the nodes that queries are made of; the rest it walks by reflection, which takes ten times as long.
type search struct {
	parsed *pg.ParseResult
	hidden map[string]bool // filled when a name makes it matter
	found  bool
}

func (s *search) node(n *pg.Node) {
	if s.found {
		return
	}
	switch x := n.GetNode().(type) {
	case nil, *pg.Node_ColumnRef, *pg.Node_AConst, *pg.Node_ParamRef, *pg.Node_String_, *pg.Node_Integer, *pg.Node_SqlvalueFunction:
	case *pg.Node_SelectStmt:
		s.query(x.SelectStmt)
	case *pg.Node_ResTarget:
		s.nodes(x.ResTarget.Indirection)
		s.node(x.ResTarget.Val)
	case *pg.Node_AExpr:
		s.inspect(x.AExpr)
		s.node(x.AExpr.Lexpr)
		s.node(x.AExpr.Rexpr)
	case *pg.Node_BoolExpr:
		s.nodes(x.BoolExpr.Args)
	case *pg.Node_List:
		s.nodes(x.List.Items)
	case *pg.Node_RangeVar:
		s.inspect(x.RangeVar)
	case *pg.Node_JoinExpr:
		s.node(x.JoinExpr.Larg)
		s.node(x.JoinExpr.Rarg)
		s.node(x.JoinExpr.Quals)
	case *pg.Node_RangeSubselect:
		s.node(x.RangeSubselect.Subquery)
	case *pg.Node_SubLink:
		s.nodes(x.SubLink.OperName)
		s.node(x.SubLink.Testexpr)
		s.node(x.SubLink.Subselect)
	case *pg.Node_SortBy:
		s.node(x.SortBy.Node)
		s.nodes(x.SortBy.UseOp)
	case *pg.Node_TypeCast:
		s.inspect(x.TypeCast.TypeName)
		s.node(x.TypeCast.Arg)
		s.nodes(x.TypeCast.TypeName.GetTypmods())
	case *pg.Node_FuncCall:
		s.call(x.FuncCall)
	default:
		s.walk(n.ProtoReflect())
	}
}

func (s *search) nodes(list []*pg.Node) {
	for _, n := range list {
		s.node(n)
	}
}

func (s *search) query(q *pg.SelectStmt) {
	if q == nil || s.found {
		return
	}
	if q.IntoClause != nil {
		s.walk(q.IntoClause.ProtoReflect())
	}
	if q.WithClause != nil {
		s.walk(q.WithClause.ProtoReflect())
	}
	for _, list := range [][]*pg.Node{q.DistinctClause, q.TargetList, q.FromClause, q.GroupClause, q.WindowClause, q.ValuesLists, q.SortClause, q.LockingClause} {
		s.nodes(list)
	}
	for _, n := range []*pg.Node{q.WhereClause, q.HavingClause, q.LimitOffset, q.LimitCount} {
		s.node(n)
	}
	s.query(q.Larg)
	s.query(q.Rarg)
}

func (s *search) call(f *pg.FuncCall) {
	s.inspect(f)
	s.nodes(f.Args)
	s.nodes(f.AggOrder)
	s.node(f.AggFilter)
	if f.Over != nil {
		s.walk(f.Over.ProtoReflect())
	}
}

// walk inspects everything from message down.
func (s *search) walk(message protoreflect.Message) {
	x := message.Interface()
	s.inspect(x)
	for child := range tree.Children(message) {
		if n, ok := child.Interface().(*pg.Node); ok && n != x {
			s.node(n)
		} else {
			s.walk(child)
		}
		if s.found {
			return
		}
	}
}

// inspect looks at one message, not at what is below.
func (s *search) inspect(message any) {
	switch x := message.(type) {
	case *pg.RangeVar:
		s.found = s.found || s.relation(x)
	case *pg.FuncCall:
		schema, name := tree.FunctionName(x)
		s.found = s.found || isOurs(schema) || schema == "" && macros().compat[name]
	case *pg.TypeName:
		s.found = s.found || isCatalogType(x)
	case *pg.A_Expr:
		s.found = s.found || len(x.Name) > 1 && text0(x.Name) == tree.SystemSchema
	case *pg.CollateClause:
		s.found = s.found || len(x.Collname) > 1 && text0(x.Collname) == tree.SystemSchema
	}
}

// systemPrefix begins the name of every relation of pg_catalog.
const systemPrefix = "pg_"

func (s *search) relation(v *pg.RangeVar) bool {
	if !isOurs(v.Schemaname) && (v.Schemaname != "" || !strings.HasPrefix(v.Relname, systemPrefix)) {
		return false
	}
	m, err := data()
	if err != nil || m.relation(v, nil) == nil {
		return false
	}
	if v.Schemaname == "" && s.hidden == nil {
		s.hidden = commonTables(s.parsed)
	}
	return m.relation(v, s.hidden) != nil
}

// commonTables collects the names of WITH queries: they hide system relations that are named without schema. Names
// count in the whole text, not only where they are in scope: in practice no WITH query is called pg_class.
func commonTables(parsed *pg.ParseResult) map[string]bool {
	names := map[string]bool{}
	for m := range tree.All(parsed.ProtoReflect()) {
		if x, ok := m.Interface().(*pg.CommonTableExpr); ok {
			names[x.Ctename] = true
		}
	}
	return names
}

// relation finds the system relation that a name in FROM means, nil if it means none.
func (m *model) relation(v *pg.RangeVar, hidden map[string]bool) *systemRelation {
	switch v.Schemaname {
	case "":
		if hidden[v.Relname] {
			return nil
		}
		return m.relations[tree.SystemSchema+"."+v.Relname]
	case tree.SystemSchema, sqlSchema:
		return m.relations[v.Schemaname+"."+v.Relname]
	}
	return nil
}

func isOurs(schema string) bool { return schema == tree.SystemSchema || schema == sqlSchema }

// grammarTypes are the names that the grammar gives to types with a spelling of their own: int is pg_catalog.int4.
var grammarTypes = map[string]bool{
	"bit": true, "bool": true, "bpchar": true, "float4": true, "float8": true, "int2": true, "int4": true, "int8": true, "interval": true, "json": true,
	"numeric": true, "time": true, "timestamp": true, "timestamptz": true, "timetz": true, "varbit": true, "varchar": true,
}

func isCatalogType(t *pg.TypeName) bool {
	schema, name := tree.TypeName(t)
	if isOurs(schema) {
		return !grammarTypes[name]
	}
	return schema == "" && (lookupTypes[name] != "" || name == "name")
}

func text0(list []*pg.Node) string { return list[0].GetString_().GetSval() }
