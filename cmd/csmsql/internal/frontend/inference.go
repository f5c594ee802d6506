package frontend

import (
	"slices"
	"strings"

	pg "github.com/pganalyze/pg_query_go/v6"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/csmsql/csmsql/sql/lex"
	"github.com/csmsql/csmsql/sql/tree"
	"github.com/csmsql/csmsql/wire/pgformat"
)

// typeNames are the types that a parameter may be cast to, by PostgreSQL's and DuckDB's names.
var typeNames = map[string]uint32{
	"bool": pgformat.Bool, "boolean": pgformat.Bool,
	"int1": pgformat.Int2, "tinyint": pgformat.Int2, "int2": pgformat.Int2, "smallint": pgformat.Int2,
	"int": pgformat.Int4, "int4": pgformat.Int4, "integer": pgformat.Int4, "int8": pgformat.Int8, "bigint": pgformat.Int8,
	"float4": pgformat.Float4, "real": pgformat.Float4, "float8": pgformat.Float8, "double": pgformat.Float8,
	"numeric": pgformat.NumericOID, "decimal": pgformat.NumericOID, "hugeint": pgformat.NumericOID,
	"text": pgformat.Text, "varchar": pgformat.Varchar, "bpchar": pgformat.BPChar, "string": pgformat.Text,
	"bytea": pgformat.Bytea, "blob": pgformat.Bytea, "uuid": pgformat.UUIDOID, "json": pgformat.JSON, "jsonb": pgformat.JSONB,
	"date": pgformat.DateOID, "time": pgformat.Time, "timestamp": pgformat.TimestampNT, "datetime": pgformat.TimestampNT,
	"timestamptz": pgformat.TimestampTZ, "interval": pgformat.IntervalOID, "oid": pgformat.OID,
}

// place is where a parameter stands.
type place struct {
	number int32 // from 1
	offset int   // of its token, in bytes
	// anchored: what is around it gives the planner its type, as a column that it is compared with does.
	anchored bool
	// members: it is the array of = ANY($1) or <> ALL($1).
	members bool
	// beside is a column that it is added to, multiplied with and the like, as text; empty if there is none.
	beside string
}

// parameterPlaces are what a statement's tree says about its parameters.
type parameterPlaces struct {
	list []place
	// types that casts and numbers beside a parameter give it; the first place decides.
	types    map[int32]uint32
	anchored map[*pg.ParamRef]bool
	members  map[*pg.ParamRef]bool
	beside   map[*pg.ParamRef]string
}

// findParameters walks a statement's tree.
func findParameters(parsed *pg.ParseResult) *parameterPlaces {
	f := &parameterPlaces{types: map[int32]uint32{}, anchored: map[*pg.ParamRef]bool{}, members: map[*pg.ParamRef]bool{}, beside: map[*pg.ParamRef]string{}}
	for m := range tree.All(parsed.ProtoReflect()) {
		f.look(m)
	}
	slices.SortFunc(f.list, func(a, b place) int { return a.offset - b.offset })
	return f
}

func (f *parameterPlaces) look(m protoreflect.Message) {
	switch node := m.Interface().(type) {
	case *pg.ParamRef:
		f.list = append(f.list, place{node.Number, int(node.Location), f.anchored[node], f.members[node], f.beside[node]})
	case *pg.TypeCast:
		f.note(node.Arg.GetParamRef(), castType(node.TypeName))
		f.anchor(node.Arg)
	case *pg.A_Expr:
		f.expression(node)
	case *pg.SelectStmt:
		f.anchor(node.LimitCount, node.LimitOffset)
	case *pg.InsertStmt:
		f.insert(node)
	}
}

func (f *parameterPlaces) note(p *pg.ParamRef, oid uint32) {
	if _, known := f.types[p.GetNumber()]; p != nil && oid != 0 && !known {
		f.types[p.Number] = oid
	}
}

func (f *parameterPlaces) anchor(nodes ...*pg.Node) {
	for _, n := range nodes {
		if p := n.GetParamRef(); p != nil {
			f.anchored[p] = true
		}
		f.anchor(n.GetList().GetItems()...)
	}
}

// expression: a comparison with something that has a type anchors a parameter; arithmetic does not.
func (f *parameterPlaces) expression(e *pg.A_Expr) {
	f.note(e.Lexpr.GetParamRef(), constantType(e.Rexpr))
	f.note(e.Rexpr.GetParamRef(), constantType(e.Lexpr))
	switch e.Kind {
	case pg.A_Expr_Kind_AEXPR_OP_ANY, pg.A_Expr_Kind_AEXPR_OP_ALL:
		if p := e.Rexpr.GetParamRef(); p != nil {
			f.members[p] = true
		}
	case pg.A_Expr_Kind_AEXPR_OP, pg.A_Expr_Kind_AEXPR_DISTINCT, pg.A_Expr_Kind_AEXPR_NOT_DISTINCT, pg.A_Expr_Kind_AEXPR_NULLIF,
		pg.A_Expr_Kind_AEXPR_IN, pg.A_Expr_Kind_AEXPR_LIKE, pg.A_Expr_Kind_AEXPR_ILIKE, pg.A_Expr_Kind_AEXPR_BETWEEN,
		pg.A_Expr_Kind_AEXPR_NOT_BETWEEN:
		if e.Kind == pg.A_Expr_Kind_AEXPR_OP && !compares(e) {
			f.compute(e)
			return
		}
		if !untyped(e.Lexpr) {
			f.anchor(e.Rexpr)
		}
		if !untyped(e.Rexpr) {
			f.anchor(e.Lexpr)
		}
	}
}

func compares(e *pg.A_Expr) bool {
	switch operator(e) {
	case "=", "<>", "!=", "<", ">", "<=", ">=":
		return true
	}
	return false
}

func operator(e *pg.A_Expr) string {
	if len(e.Name) == 0 {
		return ""
	}
	return e.Name[len(e.Name)-1].GetString_().GetSval()
}

// compute: PostgreSQL gives an operand without a type the other operand's. A cast says what that is, a column must be
// asked.
func (f *parameterPlaces) compute(e *pg.A_Expr) {
	switch operator(e) {
	case "+", "-", "*", "/", "%":
	default:
		return
	}
	for _, side := range [][2]*pg.Node{{e.Lexpr, e.Rexpr}, {e.Rexpr, e.Lexpr}} {
		p, other := side[0].GetParamRef(), side[1]
		if p == nil {
			continue
		}
		if cast := other.GetTypeCast(); cast != nil {
			f.note(p, arithmeticType(castType(cast.TypeName)))
		}
		f.beside[p] = columnIn(other)
	}
}

// columnIn is the first column of an operand, as text; empty if there is none.
func columnIn(n *pg.Node) string {
	if e := n.GetAExpr(); e != nil && e.Kind == pg.A_Expr_Kind_AEXPR_OP {
		if column := columnIn(e.Lexpr); column != "" {
			return column
		}
		return columnIn(e.Rexpr)
	}
	var parts []string
	for _, field := range n.GetColumnRef().GetFields() {
		if field.GetString_() == nil {
			return "" // a star
		}
		parts = append(parts, lex.Quote(field.GetString_().Sval))
	}
	return strings.Join(parts, ".")
}

// arithmeticType is the type if it is one of numbers, else 0: what may be added to a date is not a date.
func arithmeticType(oid uint32) uint32 {
	switch oid {
	case pgformat.Int2, pgformat.Int4, pgformat.Int8, pgformat.Float4, pgformat.Float8, pgformat.NumericOID:
		return oid
	}
	return 0
}

// untyped reports whether an operand says nothing about the type of the other one.
func untyped(n *pg.Node) bool {
	return n.GetParamRef() != nil || n.GetAConst() != nil || n.GetList() != nil
}

// insert: the engine gives a parameter that is a column's value the column's type.
func (f *parameterPlaces) insert(n *pg.InsertStmt) {
	s := n.SelectStmt.GetSelectStmt()
	f.anchor(s.GetValuesLists()...)
	for _, target := range s.GetTargetList() {
		f.anchor(target.GetResTarget().GetVal())
	}
}

// castType is the OID of a type's name, 0 if it is none that clients know.
func castType(name *pg.TypeName) uint32 {
	names := name.GetNames()
	if len(names) == 0 {
		return 0
	}
	oid := typeNames[strings.ToLower(names[len(names)-1].GetString_().GetSval())]
	if len(name.ArrayBounds) == 0 || oid == 0 {
		return oid
	}
	array, _ := pgformat.ArrayOID(oid)
	return array
}

// constantType is the type of a number; texts and everything else say nothing.
func constantType(n *pg.Node) uint32 {
	switch n.GetAConst().GetVal().(type) {
	case *pg.A_Const_Ival:
		return pgformat.Int8
	case *pg.A_Const_Fval:
		return pgformat.NumericOID
	}
	return 0
}
