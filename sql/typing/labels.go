package typing

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	pg "github.com/pganalyze/pg_query_go/v6"

	"github.com/csmsql/csmsql/internal/enumeration"
	"github.com/csmsql/csmsql/sql/bind"
	"github.com/csmsql/csmsql/sql/edit"
	"github.com/csmsql/csmsql/sql/lex"
	"github.com/csmsql/csmsql/sql/pgcatalog"
	"github.com/csmsql/csmsql/sql/sqlerror"
	"github.com/csmsql/csmsql/sql/tree"
)

// A string beside a value of a user-defined type is one of its labels in PostgreSQL; DuckDB takes both for text, and
// orders them as texts. So the label gets a cast:
//
//	m > 'ok'                        m > 'ok'::csm_type__17
//	coalesce(m, 'ok')               coalesce(m, 'ok'::csm_type__17)
//	enum_range(m)                   CAST(ARRAY['sad', 'ok', 'happy'] AS csm_type__17[])
//
// The types of what stands beside it are known from the text and the catalog, or DuckDB is asked: of a text with
// parameters in the place of such strings it says of what types they are.

// UserTypes are the types that users made, as far as a statement sees them.
type UserTypes struct {
	// ByOID gives the type of an object ID; nil: it is another one's.
	ByOID func(oid uint32) *enumeration.Type
	// Unseen reports whether a relation has columns that are not known, and may have such types.
	Unseen func(name string) bool
}

// Labels are the strings of a text that may be labels.
type Labels struct {
	inference
	sql     string
	types   UserTypes
	first   int // parameters that the text has itself
	asked   []*pg.A_Const
	edits   []change
	answers bool // DuckDB said of what types the strings are
	unnamed map[*pg.Node]bool
	failed  error
}

// LabelsIn finds the labels of a text; nil: it has no such types, as far as is known.
func LabelsIn(sql string, parsed *pg.ParseResult, find Find, types UserTypes) (*Labels, error) {
	l := &Labels{sql: sql, types: types, unnamed: map[*pg.Node]bool{}}
	if !l.concerned(parsed, find) {
		return nil, nil
	}
	names, err := bound(sql, parsed, find)
	if err != nil {
		return nil, nil //nolint:nilerr // the tree is of another text: nothing is known of it
	}
	l.bound = names
	for _, q := range names.Queries {
		top := slices.Contains(names.Top, q) && !q.Stored
		for _, target := range q.Stmt.GetTargetList() {
			t := target.GetResTarget()
			l.unnamed[t.GetVal()] = !top && t.GetName() == ""
		}
		l.unions(q)
	}
	for m := range tree.All(parsed.ProtoReflect()) {
		switch x := m.Interface().(type) {
		case *pg.Node:
			l.node(x)
		case *pg.ParamRef:
			l.first = max(l.first, int(x.Number))
		}
	}
	return l, l.failed
}

func ofUsers(c pgcatalog.Column) bool { return c.Type >= pgcatalog.FirstOID }

// concerned reports whether a text has to do with such types: it names one, or a relation that may have columns of one.
func (l *Labels) concerned(parsed *pg.ParseResult, find Find) bool {
	if strings.Contains(l.sql, enumeration.MarkHead) { // as the engine writes what is cast to a column's type
		return true
	}
	for m := range tree.All(parsed.ProtoReflect()) {
		switch x := m.Interface().(type) {
		case *pg.TypeName:
			if _, name := tree.TypeName(x); strings.HasPrefix(name, enumeration.NamePrefix) {
				return true
			}
		case *pg.RangeVar:
			r := find(x.Catalogname, x.Schemaname, x.Relname)
			if r == nil && l.types.Unseen(x.Relname) || r != nil && slices.ContainsFunc(r.Columns, ofUsers) {
				return true
			}
		}
	}
	return false
}

func (l *Labels) node(x *pg.Node) {
	for _, g := range together(x) {
		l.unify(g)
	}
	switch e := x.GetNode().(type) {
	case *pg.Node_FuncCall:
		l.function(x, e.FuncCall)
	case *pg.Node_TypeCast:
		l.cast(e.TypeCast)
	}
}

// cast checks what is cast to a type: a label, or an array of them.
func (l *Labels) cast(c *pg.TypeCast) {
	_, name := tree.TypeName(c.TypeName)
	number, ok := enumeration.Named(name)
	if !ok {
		return
	}
	t := l.types.ByOID(pgcatalog.ObjectID(number))
	if t == nil {
		return
	}
	check := func(x *pg.Node) {
		if s := x.GetAConst().GetSval(); s != nil {
			if _, ok := t.Code(s.GetSval()); !ok {
				l.refuseLabel(x.GetAConst(), t)
			}
		}
	}
	if len(c.TypeName.GetArrayBounds()) == 0 {
		check(c.Arg)
		return
	}
	for _, element := range c.Arg.GetAArrayExpr().GetElements() {
		check(element)
	}
}

func (l *Labels) refuseLabel(c *pg.A_Const, t *enumeration.Type) {
	e := sqlerror.New("22P02", "%s", t.Refusal(c.GetSval().GetSval()))
	e.At = edit.Position(l.sql, int(c.Location))
	l.failed = cmp.Or[error](l.failed, e)
}

// unions are the columns of a set operation, and of VALUES.
func (l *Labels) unions(q *bind.Query) {
	if lists := q.Stmt.GetValuesLists(); len(lists) > 0 {
		for i := range lists[0].GetList().GetItems() {
			g := group{what: "VALUES"}
			for _, row := range lists {
				if items := row.GetList().GetItems(); i < len(items) {
					g.nodes = append(g.nodes, items[i])
				}
			}
			l.unify(g)
		}
	}
	if q.Left == nil {
		return
	}
	what := map[pg.SetOperation]string{
		pg.SetOperation_SETOP_UNION: "UNION", pg.SetOperation_SETOP_INTERSECT: "INTERSECT",
		pg.SetOperation_SETOP_EXCEPT: "EXCEPT",
	}[q.Stmt.GetOp()]
	for i := range q.Outputs {
		g := group{what: what}
		if known := l.arms(q, i, &g.nodes); known {
			l.unify(g)
		}
	}
}

// arms are what the queries of a set operation put out as one column; false: that is not known of all.
func (l *Labels) arms(q *bind.Query, i int, nodes *[]*pg.Node) bool {
	switch {
	case q == nil || q.Open || i >= len(q.Outputs):
		return false
	case q.Left != nil:
		return l.arms(q.Left, i, nodes) && l.arms(q.Right, i, nodes)
	case len(q.Stmt.GetValuesLists()) > 0:
		for _, row := range q.Stmt.ValuesLists {
			if items := row.GetList().GetItems(); i < len(items) {
				*nodes = append(*nodes, items[i])
			}
		}
		return true
	}
	target := q.Outputs[i].Target
	if target >= len(q.Stmt.GetTargetList()) {
		return false
	}
	x := q.Stmt.TargetList[target].GetResTarget().GetVal()
	if tree.IsStar(x) {
		return false
	}
	*nodes = append(*nodes, x)
	return true
}

// unify gives the strings of a group the type that it has, if that is a user's.
func (l *Labels) unify(g group) {
	var strings []*pg.A_Const
	var is *enumeration.Type
	unknown, others := false, []uint32{}
	for _, x := range g.nodes {
		if c := x.GetAConst(); c != nil && c.GetSval() != nil {
			strings = append(strings, c)
			continue
		}
		switch t := l.typeOf(x); {
		case t == unknownType, x.GetParamRef() != nil:
		case t == 0:
			unknown = true
		case is == nil && l.types.ByOID(t) != nil:
			is = l.types.ByOID(t)
			fallthrough
		default:
			others = append(others, t)
		}
	}
	switch {
	case is != nil:
		l.refuseOthers(g, others)
		for _, c := range strings {
			l.label(c, is)
		}
	case unknown && len(others) == 0 && !slices.Contains([]string{"VALUES", "UNION", "INTERSECT", "EXCEPT"}, g.what):
		l.asked = append(l.asked, strings...)
	}
}

// typeOf is the type of an expression as far as types that are no numbers matter here.
func (l *Labels) typeOf(x *pg.Node) uint32 {
	if t := x.GetTypeCast().GetTypeName(); t != nil && len(t.ArrayBounds) == 0 {
		if schema, name := tree.TypeName(t); schema == "" || schema == tree.SystemSchema {
			if oid, ok := textTypes[name]; ok {
				return oid
			}
		}
	}
	return l.of(x)
}

var textTypes = map[string]uint32{"text": 25, "varchar": 1043, "bpchar": 1042}

// refuseOthers is PostgreSQL's error of a group of types that do not go together, of which one is a user's.
func (l *Labels) refuseOthers(g group, types []uint32) {
	for _, t := range types[1:] {
		a, b := types[0], t
		if a == b {
			continue
		}
		e := sqlerror.New("42804", "%s types %s and %s cannot be matched", g.what, l.typeText(a), l.typeText(b))
		switch {
		case g.op != "":
			e = sqlerror.New("42883", "operator does not exist: %s %s %s", l.typeText(a), g.op, l.typeText(b)).
				WithHint("No operator matches the given name and argument types. You might need to add explicit type casts.")
			e.At = edit.Position(l.sql, int(g.at))
		case l.types.ByOID(a) != nil && l.types.ByOID(b) != nil:
			e = sqlerror.New("42846", "%s could not convert type %s to %s", g.what, l.typeText(b), l.typeText(a))
		}
		l.failed = cmp.Or[error](l.failed, e)
	}
}

// typeText is a type as PostgreSQL's messages have it.
func (l *Labels) typeText(oid uint32) string {
	if t := l.types.ByOID(oid); t != nil {
		return t.TypeName()
	}
	if name, ok := typeTexts[oid]; ok {
		return name
	}
	return "type " + strconv.FormatUint(uint64(oid), 10)
}

var typeTexts = map[uint32]string{
	booleanType: "boolean", bigintType: "bigint", smallType: "smallint", integerType: "integer", realType: "real",
	doubleType: "double precision", numericType: "numeric", dateType: "date", intervalType: "interval",
	timestampType: "timestamp without time zone", timestampTZType: "timestamp with time zone", 17: "bytea", 25: "text",
	114: "json", 1042: "character", 1043: "character varying", 1083: "time without time zone", 2950: "uuid",
	1009: "text[]", 1007: "integer[]",
}

// label gives a string the type of which it is a label.
func (l *Labels) label(c *pg.A_Const, t *enumeration.Type) {
	at := int(c.Location)
	text := c.GetSval().GetSval()
	if _, ok := t.Code(text); !ok {
		l.refuseLabel(c, t)
		return
	}
	if token := lex.Client.Next(l.sql, at); token.Kind == lex.String && token.Start == at {
		l.insert(token.End(), "::"+enumeration.NameOf(t.Number()))
	}
}

func (l *Labels) insert(at int, by string) {
	same := func(c change) bool { return c.start == at && c.end == at && c.by == by }
	if !slices.ContainsFunc(l.edits, same) { // a string may be of two groups
		l.edits = append(l.edits, change{at, at, by, len(l.edits)})
	}
}

// function writes the calls of enum_first and the like, and of those that give one of their arguments.
func (l *Labels) function(x *pg.Node, f *pg.FuncCall) {
	schema, name := tree.FunctionName(f)
	if schema != "" && schema != tree.SystemSchema {
		return
	}
	switch {
	case (name == "lag" || name == "lead") && len(f.Args) == 3:
		l.unify(group{nodes: []*pg.Node{f.Args[0], f.Args[2]}, what: strings.ToUpper(name)})
	case enumFunctions[name] && (len(f.Args) == 1 || len(f.Args) == 2 && name == "enum_range"):
		l.enumFunction(x, f, name)
	}
}

var enumFunctions = map[string]bool{"enum_first": true, "enum_last": true, "enum_range": true}

// enumFunction writes a call as the labels that it gives.
func (l *Labels) enumFunction(x *pg.Node, f *pg.FuncCall, name string) {
	var is *enumeration.Type
	for _, argument := range f.Args {
		if t := l.types.ByOID(l.of(argument)); t != nil {
			is = t
		}
	}
	start := int(f.Location)
	end, ok := callEnd(l.sql, start)
	if is == nil || !ok {
		return // DuckDB's own types have such functions, too
	}
	l.unify(group{nodes: append(slices.Clone(f.Args), f.Args[0]), what: strings.ToUpper(name)})
	call := enumeration.NameOf(is.Number())
	labels := is.Labels()
	quoted := make([]string, len(labels))
	for i, label := range labels {
		quoted[i] = lex.QuoteString(label.Text)
	}
	all := "CAST(ARRAY[" + strings.Join(quoted, ", ") + "] AS " + call + "[])"
	as := ""
	if l.unnamed[x] {
		as = " AS " + name
	}
	switch {
	case len(f.Args) == 2:
		if function, ok := bind.NameAt(l.sql, start); ok {
			open := lex.Client.Next(l.sql, function.End)
			by := pgcatalog.TranslatedPrefix + "enum_range(" + all + ", "
			l.edits = append(l.edits, change{function.Start, open.End(), by, len(l.edits)})
			if as != "" {
				l.insert(end, as)
			}
		}
		return
	case len(quoted) == 0 && name != "enum_range":
		l.failed = cmp.Or[error](l.failed, sqlerror.New("55000", "enum %s contains no values", is.TypeName()))
	case name == "enum_first":
		all = "CAST(" + quoted[0] + " AS " + call + ")"
	case name == "enum_last":
		all = "CAST(" + quoted[len(quoted)-1] + " AS " + call + ")"
	}
	l.edits = append(l.edits, change{start, end, all + as, len(l.edits)})
}

// Asked is the text with parameters in the place of strings of which nothing is known; false: there are none.
func (l *Labels) Asked() (string, bool) {
	if len(l.asked) == 0 {
		return "", false
	}
	slices.SortFunc(l.asked, func(a, b *pg.A_Const) int { return cmp.Compare(a.Location, b.Location) })
	l.asked = slices.CompactFunc(l.asked, func(a, b *pg.A_Const) bool { return a.Location == b.Location })
	edited := edit.New(l.sql)
	for i, c := range l.asked {
		if t := lex.Client.Next(l.sql, int(c.Location)); t.Kind == lex.String {
			edited.Replace(t.Start, t.End(), "$"+strconv.Itoa(l.first+i+1))
		}
	}
	text, _ := edited.Text()
	return text, true
}

// Answer says what types the parameters of the text that was asked are of; nil: of others.
func (l *Labels) Answer(types []*enumeration.Type) error {
	if len(types) != l.first+len(l.asked) {
		return nil
	}
	l.answers = true
	for i, c := range l.asked {
		if t := types[l.first+i]; t != nil {
			l.label(c, t)
		}
	}
	return l.failed
}

// LabelsOf are all strings of a text that has no tree: any may be a label.
func LabelsOf(sql string, types UserTypes) *Labels {
	l := &Labels{sql: sql, types: types}
	for t := range lex.Client.Tokens(sql) {
		switch value, ok := t.Value(); {
		case t.Kind == lex.String && ok:
			l.asked = append(l.asked, &pg.A_Const{Location: int32(t.Start), Val: &pg.A_Const_Sval{Sval: &pg.String{Sval: value}}})
		case t.Kind == lex.Parameter:
			if n, err := strconv.Atoi(strings.TrimPrefix(t.Text, "$")); err == nil {
				l.first = max(l.first, n)
			}
		}
	}
	return l
}

// Answered reports whether DuckDB has said of what types the strings are; it has if there are none.
func (l *Labels) Answered() bool { return l.answers || len(l.asked) == 0 }

// Each are the labels of single strings, at most some.
func (l *Labels) Each(most int) (list []*Labels) {
	for _, c := range l.asked[:min(most, len(l.asked))] {
		list = append(list, &Labels{sql: l.sql, types: l.types, first: l.first, asked: []*pg.A_Const{c}})
	}
	return list
}

// Take adds what is known of another one's strings.
func (l *Labels) Take(other *Labels) { l.edits = append(l.edits, other.edits...) }

// Text is the text with its labels; nil if there is nothing to write.
func (l *Labels) Text() (string, edit.List) {
	slices.SortStableFunc(l.edits, func(a, b change) int { return cmp.Compare(a.start, b.start) })
	edited := edit.New(l.sql)
	for _, c := range l.edits {
		edited.Replace(c.start, c.end, c.by)
	}
	return edited.Text()
}
