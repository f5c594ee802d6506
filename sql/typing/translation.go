package typing

import (
	"cmp"
	"slices"
	"strings"

	pg "github.com/pganalyze/pg_query_go/v6"

	"github.com/csmsql/csmsql/sql/bind"
	"github.com/csmsql/csmsql/sql/edit"
	"github.com/csmsql/csmsql/sql/lex"
	"github.com/csmsql/csmsql/sql/tree"
)

// Translate writes a text of PostgreSQL's dialect whose meaning depends on types as one that means the same in DuckDB,
// as far as the text and the catalog say what types there are. It is sql itself, and nil, if there is nothing to write.
//
//	small * 10          small * 10::integer             DuckDB's 10 is of the type of what stands beside it
//	real * 10           real * 10::double precision     DuckDB's is a real
//	sum(i) / 2          CAST(sum(i) AS bigint) / 2      DuckDB's sum is a HUGEINT, whatever i is: sum(big) / 2 has
//	sum(big) / 2        CAST(sum(big) AS numeric(38)) / 2       a fraction in PostgreSQL, sum(i) / 2 has none
//
//	round(f)            csm_round__even(f)              DuckDB's goes away from zero at a half
//	date_trunc('day', d)       CAST(date_trunc('day', d) AS timestamptz)   DuckDB's has no time zone
//	ts - '2020-01-01'   ts - '2020-01-01'::timestamp    DuckDB's text beside a time may be of several types
//	csm_text(s)         CAST(s AS text)                 only some types have another text in DuckDB
//	SELECT (a, b)       SELECT csm_row(ARRAY[csm_row__field(a), csm_row__field(b)])    DuckDB's is a struct
//	SELECT * FROM t JOIN u USING (k)   SELECT k, t.a, u.b FROM …   DuckDB leaves k where t has it
//	count(t.*)          count(t.k)                      DuckDB's counts rows that an outer join has filled
//	sum(x), avg(x)      csm_sum__interval(x), …         DuckDB's sums take no intervals
//	sum(real)           CAST(sum(real) AS real)         DuckDB's is a double precision
//	real = 0.1          real = 0.1::double precision    DuckDB compares reals
//	SELECT 1 UNION SELECT '2'   SELECT 1 UNION SELECT '2'::integer    DuckDB makes texts of both
//	n = '0.25001'       n = 0.25001                     DuckDB rounds the string to n's digits (numbers.go)
//	left(s, '2')        left(s, '2'::integer)           DuckDB rounds it, or has no such function (constants.go)
//	text::int           csm_whole(text, 'integer')::int               DuckDB's rounds '2.7'
//	text::boolean       csm_truth(text)::boolean        DuckDB's has no prefixes of its words, and blanks around them
//	tz::time            CAST(tz AS timestamp)::time     DuckDB has no such cast
//	t IS NULL           (t.a IS NULL AND t.b IS NULL)   DuckDB's row of NULLs is none
//	t::text             csm_row(ARRAY[csm_row__field(t.a), …])        DuckDB's is a struct's
//	coalesce(sum(x), 0.05)      coalesce(csm_numeric__digits(sum(x), 0.00), 0.05)   DuckDB's 38 digits leave it none
//
// A sum that is a column of the result by itself stays: Origins says what it is.
func Translate(sql string, parsed *pg.ParseResult, find Find) (string, edit.List, error) {
	inserted := insertedRows(parsed)
	value := uint32(0)
	if d := definitionIn(parsed); d != nil {
		find, value = d.found(find), d.value
	}
	parsed = asQueries(parsed)
	names, err := bound(sql, parsed, find)
	if err != nil {
		return sql, nil, nil
	}
	w := &translation{inference: inference{bound: names, value: value}, sql: sql, stays: map[*pg.Node]bool{},
		unnamed: map[*pg.Node]bool{}, bare: map[*pg.Node]bool{}, named: map[*pg.Node]bool{}}
	for _, q := range names.Queries {
		for _, c := range q.With {
			if c.First == nil {
				continue
			}
			if err := w.recursive(c); err != nil {
				return sql, nil, err
			}
		}
	}
	seen := map[any]bool{} // what several of the queries read
	arms := map[*bind.Query]bool{}
	for _, q := range names.Queries {
		if seen[q.Stmt] {
			continue
		}
		seen[q.Stmt] = true
		if q.Stmt != inserted {
			if err := w.mismatchedQuery(q); err != nil {
				return sql, nil, err
			}
		}
		for _, f := range q.From {
			w.refused = cmp.Or(w.refused, w.merged(f))
		}
		for _, amount := range []*pg.Node{q.Stmt.GetLimitCount(), q.Stmt.GetLimitOffset()} {
			w.number(amount, bigintType, false)
		}
		w.targets(q, slices.Contains(names.Top, q) && !q.Stored)
		if q.Left != nil {
			w.unite(q.Left, q.Right)
			w.unite(q.Right, q.Left)
			arms[q.Left], arms[q.Right] = true, true
			if !arms[q] {
				w.scaledQueries(q)
			}
		}
		if rows := q.Stmt.GetValuesLists(); len(rows) > 1 && q.Stmt != inserted {
			for i := range rows[0].GetList().GetItems() {
				w.numbers(valuesAt(rows, i), false)
				w.scaled(valuesAt(rows, i))
			}
		}
	}
	for m := range tree.All(parsed.ProtoReflect()) {
		part := m.Interface()
		if n, ok := part.(*pg.Node); ok && !seen[n] {
			seen[n] = true
			w.node(n)
		}
		if err := cmp.Or(w.refused, w.mismatch(part, parsed, find), w.conditions(part)); err != nil {
			return sql, nil, err
		}
	}
	slices.SortFunc(w.edits, func(a, b change) int {
		return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(a.order, b.order))
	})
	edited := edit.New(sql)
	for _, c := range w.edits {
		edited.Replace(c.start, c.end, c.by)
	}
	text, made := edited.Text()
	return text, made, nil
}

// Needed reports whether types may say what a text means, without asking what is in the catalog.
func Needed(parsed *pg.ParseResult) bool {
	if len(parsed.GetStmts()) == 0 {
		return false
	}
	switch parsed.Stmts[0].GetStmt().GetNode().(type) {
	case *pg.Node_SelectStmt, *pg.Node_ExplainStmt, *pg.Node_DeclareCursorStmt, *pg.Node_PrepareStmt, *pg.Node_CopyStmt,
		*pg.Node_CreateTableAsStmt, *pg.Node_InsertStmt, *pg.Node_ViewStmt, *pg.Node_UpdateStmt, *pg.Node_DeleteStmt,
		*pg.Node_MergeStmt, *pg.Node_CreateStmt, *pg.Node_AlterTableStmt,
		*pg.Node_CreateDomainStmt:
	default: // has no query
		return false
	}
	inserted := insertedRows(parsed)
	var tested, items []string // names of which it is asked whether they are NULL, and those of tables
	for m := range tree.All(parsed.ProtoReflect()) {
		part := m.Interface()
		if mayBeNoCondition(part) {
			return true
		}
		switch x := part.(type) {
		case *pg.NullTest:
			tested = append(tested, wholeName(x.Arg.GetColumnRef())...)
		case *pg.RangeVar:
			if len(x.Alias.GetColnames()) > 0 {
				return true
			}
			items = append(items, cmp.Or(x.Alias.GetAliasname(), x.Relname))
		case *pg.Alias:
			items = append(items, x.Aliasname)
		case *pg.SelectStmt:
			if isString(x.LimitCount) || isString(x.LimitOffset) {
				return true
			}
			if x.Op != pg.SetOperation_SETOP_NONE || x != inserted && mayMismatch(x) {
				return true
			}
		case *pg.A_ArrayExpr:
			if mixes(x.Elements) || slices.ContainsFunc(x.Elements, isColumn) {
				return true
			}
		case *pg.WithClause:
			if x.Recursive {
				return true
			}
		case *pg.CommonTableExpr:
			if n := outputs(x.Ctequery.GetSelectStmt()); n >= 0 && n < len(x.Aliascolnames) {
				return true
			}
		case *pg.A_Expr:
			if isArithmetic(x) || isConcatenation(x) || isContainment(x) || compares(x) {
				return true
			}
		case *pg.FuncCall:
			if countsWhole(x) || mayTakeConstants(x) || mayTakeBytes(x) {
				return true
			}
			name := tree.LastText(x.Funcname)
			if strings.HasPrefix(name, "csm_round__") || strings.HasPrefix(name, "csm_trunc__") {
				return true
			}
			switch name {
			case "min", "max":
				if len(x.Args) == 1 && isColumn(x.Args[0]) {
					return true
				}
			case "sum", "avg", "round", "date_trunc", "csm_divide", "csm_mod", "csm_text", "concat", "concat_ws", "string_agg",
				"csm_generate_series", "to_char", "csm_time", "csm_numeric", "csm_numeric__array",
				"csm_date_trunc__decade", "csm_date_trunc__century", "csm_date_trunc__millennium":
				return true
			}
		case *pg.SubLink:
			if x.Testexpr != nil {
				return true
			}
		case *pg.TypeCast:
			if mayReadText(x) != 0 || mayNotCast(x) || toTime(x) {
				return true
			}
		case *pg.JoinExpr:
			if merges(x) {
				return true
			}
		case *pg.A_Indices:
			if x.Lidx.GetColumnRef() != nil || x.Uidx.GetColumnRef() != nil {
				return true
			}
		case *pg.CoalesceExpr, *pg.MinMaxExpr, *pg.CaseExpr, *pg.RowExpr:
			return true
		}
	}
	return slices.ContainsFunc(tested, func(name string) bool { return slices.Contains(items, name) })
}

// translation is a text that is being written.
type translation struct {
	inference
	sql     string
	groups  *lex.Groups       // of sql, when they were asked for
	stays   map[*pg.Node]bool // sums that are no operand
	unnamed map[*pg.Node]bool // columns of inner queries that have no name but that of their function
	bare    map[*pg.Node]bool // columns of any query without a name
	named   map[*pg.Node]bool // columns that were given one
	edits   []change
	refused error // of a string that is none of the type that it has
}

type change struct {
	start, end int
	by         string
	order      int // of those at one place
}

func (w *translation) opens(at int, by string) {
	w.edits = append(w.edits, change{at, at, by, len(w.edits)})
}

// closes writes behind an expression. What is around comes first, and closes last.
func (w *translation) closes(at int, by string) {
	w.edits = append(w.edits, change{at, at, by, -len(w.edits)})
}

// targets finds the sums of a query that are columns by themselves, and what it is ordered by.
func (w *translation) targets(q *bind.Query, shown bool) {
	for _, target := range q.Stmt.GetTargetList() {
		t := target.GetResTarget()
		if star := t.GetVal().GetColumnRef(); star != nil {
			w.mergedFirst(q, star)
		}
		if t.GetVal().GetRowExpr() != nil && shown && !namesTargets(q.Stmt, t.GetName()) {
			w.row(t.GetVal())
		}
		w.stays[t.GetVal()] = shown
		w.unnamed[t.GetVal()] = !shown && t.GetName() == "" && !w.named[t.GetVal()]
		w.bare[t.GetVal()] = t.GetName() == ""
	}
	for _, s := range q.Stmt.GetSortClause() {
		w.stays[s.GetSortBy().GetNode()] = shown
	}
}

func (w *translation) node(x *pg.Node) {
	for _, g := range together(x) {
		w.numbers(g.nodes, false)
		if g.op != "" {
			w.refused = cmp.Or(w.refused, w.comparable(g.nodes, g.op, g.at))
		}
	}
	switch e := x.GetNode().(type) {
	case *pg.Node_AExpr:
		switch {
		case isConcatenation(e.AExpr):
			w.refused = cmp.Or(w.refused, w.notJoined(e.AExpr))
			w.joined(e.AExpr)
		case isContainment(e.AExpr):
			w.contained(e.AExpr)
		case isArithmetic(e.AExpr):
			w.numbers([]*pg.Node{e.AExpr.Lexpr, divisor(e.AExpr.Rexpr)}, true)
			w.operands(e.AExpr.Lexpr, e.AExpr.Rexpr, tree.LastText(e.AExpr.Name) == "-")
		case isComparison(e.AExpr):
			w.keep(e.AExpr.Lexpr, e.AExpr.Rexpr)
			w.compared(e.AExpr)
		case e.AExpr.Kind == pg.A_Expr_Kind_AEXPR_OP_ANY, e.AExpr.Kind == pg.A_Expr_Kind_AEXPR_OP_ALL:
			w.numberArray(e.AExpr)
			w.scaled(append([]*pg.Node{e.AExpr.Lexpr}, e.AExpr.Rexpr.GetAArrayExpr().GetElements()...))
		case e.AExpr.Kind == pg.A_Expr_Kind_AEXPR_NULLIF:
			w.compared(e.AExpr)
		case e.AExpr.Kind == pg.A_Expr_Kind_AEXPR_OP: // a comparison is the same of any type
			w.keep(e.AExpr.Lexpr, e.AExpr.Rexpr)
		}
	case *pg.Node_CoalesceExpr:
		w.choices(e.CoalesceExpr.Args)
	case *pg.Node_MinMaxExpr:
		w.choices(e.MinMaxExpr.Args)
		w.extreme(e.MinMaxExpr)
	case *pg.Node_AArrayExpr:
		w.scaled(e.AArrayExpr.Elements)
	case *pg.Node_CaseExpr:
		w.choices(results(e.CaseExpr))
		w.caseCompared(e.CaseExpr)
	case *pg.Node_FuncCall:
		w.call(x)
	case *pg.Node_TypeCast:
		w.refused = cmp.Or(w.refused, w.castable(e.TypeCast))
		w.ofText(e.TypeCast)
		w.localTime(e.TypeCast)
	case *pg.Node_SubLink:
		w.scaledMembers(e.SubLink)
	case *pg.Node_NullTest:
		w.wholeIsNull(e.NullTest)
	case *pg.Node_AIndices:
		w.subscript(e.AIndices)
	}
}
