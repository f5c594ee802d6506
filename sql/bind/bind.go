package bind

import (
	"strconv"

	pg "github.com/pganalyze/pg_query_go/v6"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/csmsql/csmsql/sql/lex"
	"github.com/csmsql/csmsql/sql/tree"
)

// binder walks one text. It lives for one call of [Bind] and is not safe for concurrent use.
type binder struct {
	sql     string
	catalog Catalog
	s       *Statement
	may     []May // scratch of resolve
	err     error
}

// outside is what a query sees from outside.
type outside struct {
	around  *Query
	lateral bool
	ctes    *CTE
	defines *CTE // the CTE whose query this is, under RECURSIVE
}

// Bind binds the queries of a text, all statements of it. sql is the text that the tree was parsed from; the two must
// belong together, for all positions refer to the text. The error is never about what the user wrote, only about a text
// and a tree that are mixed up ([ErrForeign]).
func Bind(sql string, parsed *pg.ParseResult, catalog Catalog) (*Statement, error) {
	b := &binder{sql: sql, catalog: catalog}
	b.s = &Statement{at: map[*pg.ColumnRef]int32{}, queries: map[*pg.SelectStmt]*Query{}}
	for _, s := range parsed.GetStmts() {
		b.statement(s.GetStmt())
	}
	if b.err != nil {
		return nil, b.err
	}
	return b.s, nil
}

// statement finds the query in a statement.
func (b *binder) statement(n *pg.Node) {
	switch s := n.GetNode().(type) {
	case *pg.Node_SelectStmt:
		b.top(s.SelectStmt, s.SelectStmt.IntoClause != nil)
	case *pg.Node_ExplainStmt:
		b.statement(s.ExplainStmt.Query)
	case *pg.Node_DeclareCursorStmt:
		b.statement(s.DeclareCursorStmt.Query)
	case *pg.Node_PrepareStmt:
		b.statement(s.PrepareStmt.Query)
	case *pg.Node_CreateTableAsStmt:
		b.stored(s.CreateTableAsStmt.Query)
	case *pg.Node_InsertStmt:
		b.stored(s.InsertStmt.SelectStmt)
	case *pg.Node_CopyStmt:
		b.stored(s.CopyStmt.Query)
	case *pg.Node_ViewStmt:
		b.stored(s.ViewStmt.Query)
	}
}

func (b *binder) stored(n *pg.Node) { b.top(n.GetSelectStmt(), true) }

func (b *binder) top(s *pg.SelectStmt, stored bool) {
	if q := b.query(s, outside{}); q != nil {
		q.Stored = stored
		b.s.Top = append(b.s.Top, q)
	}
}

// query binds a SELECT, VALUES or set operation.
func (b *binder) query(s *pg.SelectStmt, sees outside) *Query {
	if s == nil {
		return nil
	}
	q := b.add0(&Query{Stmt: s, Around: sees.around, Lateral: sees.lateral, ctes: sees.ctes, defines: sees.defines})
	b.s.queries[s] = q
	b.with(q, s.WithClause)
	switch {
	case s.Op != pg.SetOperation_SETOP_NONE && s.Op != pg.SetOperation_SET_OPERATION_UNDEFINED:
		b.setOperation(q)
	case len(s.ValuesLists) > 0:
		b.values(q)
	default:
		b.selection(q)
	}
	for _, n := range s.SortClause {
		key := n.GetSortBy().GetNode()
		if q.prefers = either; len(key.GetColumnRef().GetFields()) == 1 {
			q.prefers = entries
		}
		b.expr(q, key)
	}
	b.expr(q, s.LimitCount)
	b.expr(q, s.LimitOffset)
	return q
}

func (b *binder) add0(q *Query) *Query {
	q.ID = len(b.s.Queries)
	b.s.Queries = append(b.s.Queries, q)
	return q
}

// with puts the CTEs in scope, each for the later ones; under RECURSIVE each for itself and the others too.
func (b *binder) with(q *Query, w *pg.WithClause) {
	if w == nil {
		return
	}
	if w.Recursive {
		for _, n := range w.Ctes { // placeholders: whatever they turn out to be, they are no base tables
			e := n.GetCommonTableExpr()
			q.ctes = newCTE(e, true, q.ctes)
			q.ctes.open = true
		}
	}
	for _, n := range w.Ctes {
		e := n.GetCommonTableExpr()
		c := newCTE(e, w.Recursive, q.ctes)
		sees := outside{around: q.Around, lateral: q.Lateral, ctes: q.ctes}
		if w.Recursive {
			sees.defines = q.ctes.find(c.Name)
		}
		c.Query = b.query(e.GetCtequery().GetSelectStmt(), sees)
		if sees.defines != nil && len(sees.defines.Refs) > 0 {
			c.First = sees.defines.First
		}
		c.publish(c.Query)
		c.open = c.open || e.GetSearchClause() != nil || e.GetCycleClause() != nil
		q.With = append(q.With, c)
		q.ctes = c
	}
}

func newCTE(e *pg.CommonTableExpr, recursive bool, next *CTE) *CTE {
	return &CTE{Name: e.GetCtename(), Node: e, names: names(e.GetAliascolnames()), Recursive: recursive, next: next}
}

// publish has the CTE show what a query puts out.
func (c *CTE) publish(q *Query) {
	c.columns, c.open = q.published()
	if len(c.names) > 0 {
		c.columns, c.open = renamed(c.columns, c.names, c.open)
	}
}

func (b *binder) setOperation(q *Query) {
	inner := outside{around: q.Around, lateral: q.Lateral, ctes: q.ctes}
	left := b.query(q.Stmt.Larg, inner)
	if c := q.defines; c != nil && q.Stmt.Op == pg.SetOperation_SETOP_UNION && len(c.Refs) == 0 {
		c.First = left
		c.publish(left)
	}
	right := b.query(q.Stmt.Rarg, inner)
	if left == nil || right == nil {
		q.Open = true
		return
	}
	q.Left, q.Right = left, right
	q.Outputs, q.Open = make([]Output, len(left.Outputs)), left.Open || right.Open
	for i := range left.Outputs {
		q.Outputs[i] = Output{Name: left.Outputs[i].Name, Target: i}
	}
}

// values binds a list of rows. DuckDB calls its columns col0, col1, ….
func (b *binder) values(q *Query) {
	width := len(q.Stmt.ValuesLists[0].GetList().GetItems())
	for _, row := range q.Stmt.ValuesLists {
		items := row.GetList().GetItems()
		b.all(q, items)
		q.Open = q.Open || len(items) != width
	}
	for i := range width {
		q.Outputs = append(q.Outputs, Output{Name: "col" + strconv.Itoa(i), Target: i})
	}
}

func (b *binder) selection(q *Query) {
	s := q.Stmt
	for _, n := range s.FromClause {
		q.From = append(q.From, b.from(q, n))
	}
	b.targets(q)
	b.expr(q, s.WhereClause)
	b.all(q, s.GroupClause)
	for _, n := range s.WindowClause {
		b.window(q, n.GetWindowDef())
	}
	q.prefers = either
	b.all(q, s.DistinctClause)
	b.expr(q, s.HavingClause)
}

// targets binds the select list. A name that it gives can be used behind it.
func (b *binder) targets(q *Query) {
	for i, n := range q.Stmt.TargetList {
		t := n.GetResTarget()
		ref := t.GetVal().GetColumnRef()
		if IsStar(ref) {
			columns, open := q.expand(StarAlias(ref), i, b.excludedFrom(ref))
			q.Outputs, q.Open = append(q.Outputs, columns...), q.Open || open
			continue
		}
		b.expr(q, t.GetVal())
		out := Output{Name: t.GetName(), Target: i}
		if ref != nil {
			if out.Name == "" && len(ref.Fields) > 0 {
				out.Name = ref.Fields[len(ref.Fields)-1].GetString_().GetSval()
			}
			if r := b.s.Ref(ref); r.Certain && r.Query == q && r.Column.Item != nil {
				out.Column = r.Column
				if t.GetName() == "" {
					out.Name = r.Column.Item.Columns[r.Column.Index]
				}
			}
		}
		if out.Name == "" && t.GetVal().GetAConst().GetIsnull() {
			out.Name = "NULL"
		}
		q.Open = q.Open || putsOutMore(t)
		q.Outputs = append(q.Outputs, out)
		if t.GetName() != "" {
			q.aliases = append(q.aliases, i)
		}
	}
}

// putsOutMore: an entry of the select list that may be several columns, or gets a plain name that is not known.
func putsOutMore(t *pg.ResTarget) bool {
	switch e := t.GetVal().GetNode().(type) {
	case *pg.Node_FuncCall:
		return lex.Same(functionName(e.FuncCall), "unnest")
	case *pg.Node_AIndirection: // (x).*, (x).f, x[1]
		last := e.AIndirection.Indirection[len(e.AIndirection.Indirection)-1]
		return last.GetAStar() != nil || t.Name == "" && last.GetAIndices() == nil
	case *pg.Node_AConst, *pg.Node_ColumnRef, *pg.Node_AExpr, *pg.Node_BoolExpr, *pg.Node_NullTest, *pg.Node_CaseExpr, *pg.Node_SubLink,
		*pg.Node_TypeCast, *pg.Node_CoalesceExpr, *pg.Node_ParamRef, *pg.Node_BooleanTest, *pg.Node_MinMaxExpr,
		*pg.Node_AArrayExpr, *pg.Node_RowExpr, *pg.Node_GroupingFunc:
		return false
	}
	return t.Name == "" // current_date
}

func functionName(c *pg.FuncCall) string {
	if len(c.Funcname) == 0 {
		return ""
	}
	return c.Funcname[len(c.Funcname)-1].GetString_().GetSval()
}

// expr binds the references in an expression, and the queries.
func (b *binder) expr(q *Query, n *pg.Node) {
	switch e := n.GetNode().(type) {
	case nil, *pg.Node_AConst, *pg.Node_ParamRef, *pg.Node_String_, *pg.Node_Integer, *pg.Node_TypeName:
	case *pg.Node_ColumnRef:
		b.reference(q, e.ColumnRef)
	case *pg.Node_AExpr:
		if e.AExpr.Lexpr == nil && len(e.AExpr.Name) == 1 && e.AExpr.Name[0].GetString_().GetSval() == "#" {
			q.Open = true // #1 is called what the column is called
		}
		b.expr(q, e.AExpr.Lexpr)
		b.expr(q, e.AExpr.Rexpr)
	case *pg.Node_BoolExpr:
		b.all(q, e.BoolExpr.Args)
	case *pg.Node_NullTest:
		b.expr(q, e.NullTest.Arg)
	case *pg.Node_FuncCall:
		b.function(q, e.FuncCall)
	case *pg.Node_CaseExpr:
		b.expr(q, e.CaseExpr.Arg)
		for _, n := range e.CaseExpr.Args {
			b.expr(q, n.GetCaseWhen().GetExpr())
			b.expr(q, n.GetCaseWhen().GetResult())
		}
		b.expr(q, e.CaseExpr.Defresult)
	case *pg.Node_SubLink:
		b.nested(q, e.SubLink.Subselect.GetSelectStmt())
		b.expr(q, e.SubLink.Testexpr)
	case *pg.Node_TypeCast:
		b.expr(q, e.TypeCast.Arg)
	case *pg.Node_CoalesceExpr:
		b.all(q, e.CoalesceExpr.Args)
	case *pg.Node_List:
		b.all(q, e.List.Items)
	case *pg.Node_SelectStmt:
		b.nested(q, e.SelectStmt)
	default:
		b.reflect(q, n.ProtoReflect())
	}
}

func (b *binder) reference(q *Query, ref *pg.ColumnRef) {
	b.s.at[ref] = int32(len(b.s.refs))
	b.s.refs = append(b.s.refs, b.resolve(q, ref))
}

func (b *binder) all(q *Query, list []*pg.Node) {
	for _, n := range list {
		b.expr(q, n)
	}
}

func (b *binder) function(q *Query, c *pg.FuncCall) {
	if lex.Same(functionName(c), "columns") { // COLUMNS('pattern') names columns in a string
		q.Open = true
	}
	b.expr(q, c.AggFilter)
	b.order(q, c.AggOrder)
	b.window(q, c.Over)
	b.all(q, c.Args)
}

func (b *binder) order(q *Query, list []*pg.Node) {
	for _, n := range list {
		b.expr(q, n.GetSortBy().GetNode())
	}
}

func (b *binder) window(q *Query, w *pg.WindowDef) {
	if w == nil {
		return
	}
	b.all(q, w.PartitionClause)
	b.order(q, w.OrderClause)
	b.expr(q, w.StartOffset)
	b.expr(q, w.EndOffset)
}

// nested binds a query in an expression.
func (b *binder) nested(q *Query, s *pg.SelectStmt) {
	b.query(s, outside{around: q, ctes: q.ctes})
}

// reflect walks a message that has no rule of its own: every reference in it is bound, every table in it is found.
func (b *binder) reflect(q *Query, m protoreflect.Message) {
	for child := range tree.Children(m) {
		switch e := child.Interface().(type) {
		case *pg.Node:
			b.expr(q, e)
		case *pg.ColumnRef:
			b.reference(q, e)
		case *pg.SelectStmt:
			b.nested(q, e)
		case *pg.RangeVar:
			b.apart(q, e)
		default:
			b.reflect(q, child)
		}
	}
}

// apart binds the name of a table that stands where no FROM clause is.
func (b *binder) apart(q *Query, v *pg.RangeVar) {
	b.table(b.add0(&Query{Around: q, ctes: q.ctes}), v)
}
