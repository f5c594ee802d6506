package pgcatalog

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

// Typed writes a text of PostgreSQL's dialect whose meaning depends on types as one that means the same in DuckDB, as
// far as the text and the catalog say what types there are. It is sql itself, and nil, if there is nothing to write.
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
//	t IS NULL           (t.a IS NULL AND t.b IS NULL)   DuckDB's row of NULLs is none
//	t::text             csm_row(ARRAY[csm_row__field(t.a), …])        DuckDB's is a struct's
//
// A sum that is a column of the result by itself stays: Origins says what it is.
func Typed(sql string, parsed *pg.ParseResult, find Find) (string, edit.List) {
	parsed = asQuery(parsed)
	bound, err := bind.Bind(sql, parsed, bind.CatalogFunc(func(database, schema, name string) *bind.Table {
		return find(database, schema, name).bindTable()
	}))
	if err != nil {
		return sql, nil
	}
	w := &translation{typing: typing{bound: bound}, sql: sql, stays: map[*pg.Node]bool{}, unnamed: map[*pg.Node]bool{},
		bare: map[*pg.Node]bool{}}
	for _, q := range bound.Queries {
		w.targets(q, slices.Contains(bound.Top, q) && !q.Stored)
		if q.Left != nil {
			w.unite(q.Left, q.Right)
			w.unite(q.Right, q.Left)
		}
	}
	for m := range tree.All(parsed.ProtoReflect()) {
		if n, ok := m.Interface().(*pg.Node); ok {
			w.node(n)
		}
	}
	slices.SortFunc(w.edits, func(a, b change) int {
		return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(a.order, b.order))
	})
	edited := edit.New(sql)
	for _, c := range w.edits {
		edited.Replace(c.start, c.end, c.by)
	}
	return edited.Text()
}

// asQuery is a tree in which UPDATE and DELETE are the queries that find their rows, and what these become: of the same
// expressions, where they stand. What they return is not among them.
func asQuery(parsed *pg.ParseResult) *pg.ParseResult {
	if len(parsed.GetStmts()) == 0 {
		return parsed
	}
	query := &pg.SelectStmt{}
	var table *pg.RangeVar
	s := parsed.Stmts[0].GetStmt()
	if u := s.GetUpdateStmt(); u != nil {
		table, query.FromClause, query.WhereClause = u.Relation, u.FromClause, u.WhereClause
		query.TargetList, query.WithClause = u.TargetList, u.WithClause
	} else if d := s.GetDeleteStmt(); d != nil {
		table, query.FromClause, query.WhereClause = d.Relation, d.UsingClause, d.WhereClause
		query.WithClause = d.WithClause
	} else {
		return parsed
	}
	query.FromClause = append([]*pg.Node{{Node: &pg.Node_RangeVar{RangeVar: table}}}, query.FromClause...)
	stored := &pg.CreateTableAsStmt{Query: &pg.Node{Node: &pg.Node_SelectStmt{SelectStmt: query}}}
	return &pg.ParseResult{Stmts: []*pg.RawStmt{
		{Stmt: &pg.Node{Node: &pg.Node_CreateTableAsStmt{CreateTableAsStmt: stored}}},
	}}
}

// NeedsTypes tells whether types may say what a text means, without asking what is in the catalog.
func NeedsTypes(parsed *pg.ParseResult) bool {
	if len(parsed.GetStmts()) == 0 {
		return false
	}
	switch parsed.Stmts[0].GetStmt().GetNode().(type) {
	case *pg.Node_SelectStmt, *pg.Node_ExplainStmt, *pg.Node_DeclareCursorStmt, *pg.Node_PrepareStmt, *pg.Node_CopyStmt,
		*pg.Node_CreateTableAsStmt, *pg.Node_InsertStmt, *pg.Node_ViewStmt, *pg.Node_UpdateStmt, *pg.Node_DeleteStmt:
	default: // has no query
		return false
	}
	var tested, items []string // names of which it is asked whether they are NULL, and those of tables
	for m := range tree.All(parsed.ProtoReflect()) {
		switch x := m.Interface().(type) {
		case *pg.NullTest:
			tested = append(tested, wholeName(x.Arg.GetColumnRef())...)
		case *pg.RangeVar:
			items = append(items, cmp.Or(x.Alias.GetAliasname(), x.Relname))
		case *pg.Alias:
			items = append(items, x.Aliasname)
		case *pg.SelectStmt:
			if unites(x) {
				return true
			}
		case *pg.A_Expr:
			if isArithmetic(x) || isConcatenation(x) || compares(x) {
				return true
			}
		case *pg.FuncCall:
			if countsWhole(x) {
				return true
			}
			switch lastText(x.Funcname) {
			case "sum", "avg", "round", "date_trunc", "csm_divide", "csm_text", "concat", "concat_ws", "string_agg",
				"csm_generate_series",
				"csm_date_trunc__decade", "csm_date_trunc__century", "csm_date_trunc__millennium":
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
	typing
	sql     string
	stays   map[*pg.Node]bool // sums that are no operand
	unnamed map[*pg.Node]bool // columns of inner queries that have no name but that of their function
	bare    map[*pg.Node]bool // columns of any query without a name
	edits   []change
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
		w.unnamed[t.GetVal()] = !shown && t.GetName() == ""
		w.bare[t.GetVal()] = t.GetName() == ""
	}
	for _, s := range q.Stmt.GetSortClause() {
		w.stays[s.GetSortBy().GetNode()] = shown
	}
}

func (w *translation) node(x *pg.Node) {
	switch e := x.GetNode().(type) {
	case *pg.Node_AExpr:
		switch {
		case isConcatenation(e.AExpr):
			w.joined(e.AExpr.Lexpr, e.AExpr.Rexpr)
		case isArithmetic(e.AExpr):
			w.operands(e.AExpr.Lexpr, e.AExpr.Rexpr, lastText(e.AExpr.Name) == "-")
		case isComparison(e.AExpr):
			w.keep(e.AExpr.Lexpr, e.AExpr.Rexpr)
			w.compared(e.AExpr)
		case e.AExpr.Kind == pg.A_Expr_Kind_AEXPR_OP: // a comparison is the same of any type
			w.keep(e.AExpr.Lexpr, e.AExpr.Rexpr)
		}
	case *pg.Node_CoalesceExpr:
		w.choices(e.CoalesceExpr.Args)
	case *pg.Node_MinMaxExpr:
		w.choices(e.MinMaxExpr.Args)
	case *pg.Node_CaseExpr:
		w.choices(results(e.CaseExpr))
	case *pg.Node_FuncCall:
		w.call(x)
	case *pg.Node_NullTest:
		w.wholeIsNull(e.NullTest)
	case *pg.Node_AIndices:
		w.subscript(e.AIndices)
	}
}

func (w *translation) call(x *pg.Node) {
	f := x.GetFuncCall()
	schema, name := functionName(f)
	if schema != "" && schema != pgCatalog || len(f.Args) == 0 {
		return
	}
	last := w.of(f.Args[len(f.Args)-1])
	switch {
	case name == "csm_divide" && len(f.Args) == 2:
		w.operands(f.Args[0], f.Args[1], false)
	case (name == "sum" || name == "avg") && last == intervalType && f.Over == nil && f.AggFilter == nil &&
		!f.AggDistinct:
		w.rename(f, TranslatedPrefix+name+"__interval")
	case name == "string_agg" && len(f.Args) == 2 && w.of(f.Args[0]) == byteaType:
		w.rename(f, TranslatedPrefix+"string_agg__bytea")
	case name == "sum":
		w.sum(x)
	case name == "csm_generate_series" && len(f.Args) == 3 && w.of(f.Args[0]) == dateType &&
		w.of(f.Args[1]) == dateType:
		w.wrap(f.Args[0], "CAST(", " AS timestamptz)")
		w.wrap(f.Args[1], "CAST(", " AS timestamptz)")
	case name == "csm_text" && f.Args[0].GetRowExpr() != nil:
		w.row(f.Args[0])
		w.plainCast(f, "")
	case name == "csm_text" && last == 0 && f.Args[0].GetColumnRef() != nil && w.wholeText(f.Args[0].GetColumnRef()):
		name := ""
		if w.bare[x] {
			name = " AS " + lex.Quote(lastText(f.Args[0].GetColumnRef().Fields))
		}
		w.plainCast(f, name)
	case countsWhole(f):
		w.countWhole(f)
	case name == "round" && len(f.Args) == 1 && isFloat(last):
		w.rename(f, TranslatedPrefix+"round__even")
	case name == "concat" || name == "concat_ws":
		for _, argument := range f.Args {
			w.text(argument, true)
		}
	case (name == "date_trunc" || strings.HasPrefix(name, "csm_date_trunc__")) && last == dateType:
		if start, end, ok := w.span(f); ok {
			w.opens(start, "CAST(")
			w.closes(end, " AS timestamptz)")
		}
	case name == "csm_text" && plainText[last]:
		w.plainCast(f, "")
	}
}

// plainCast writes csm_text(a) as CAST(a AS text), with a name.
func (w *translation) plainCast(f *pg.FuncCall, name string) {
	if _, end, ok := w.span(f); ok && w.rename(f, "CAST") {
		w.closes(end-1, " AS text")
		if name != "" {
			w.closes(end, name)
		}
	}
}

// plainText are types whose values are the same texts in DuckDB.
var plainText = map[uint32]bool{
	smallType: true, integerType: true, bigintType: true, numericType: true, dateType: true, timestampType: true,
	timestampTZType: true, 16: true, 25: true, 1042: true, 1043: true, 1083: true, 2950: true, 114: true,
}

// span is where a call stands in the text.
func (w *translation) span(f *pg.FuncCall) (start, end int, ok bool) {
	start = int(f.Location)
	end, ok = callEnd(w.sql, start)
	return start, end, ok
}

// rename calls another function; false: it is written in a way that is not known.
func (w *translation) rename(f *pg.FuncCall, to string) bool {
	name, ok := bind.NameAt(w.sql, int(f.Location))
	if ok {
		w.edits = append(w.edits, change{name.Start, name.End, to, len(w.edits)})
	}
	return ok
}

func (w *translation) keep(list ...*pg.Node) {
	for _, x := range list {
		if isSum(x) {
			w.stays[x] = true
		}
	}
}

// operands are two that something is computed of.
func (w *translation) operands(a, b *pg.Node, minus bool) {
	s, t := w.of(a), w.of(b)
	switch {
	case minus && isTime(s) && b.GetAConst().GetSval() != nil:
		w.cast(b, timeNames[s])
	case minus && isTime(t) && a.GetAConst().GetSval() != nil:
		w.cast(a, timeNames[t])
	case s == smallType && isWhole(b):
		w.cast(b, "integer")
	case t == smallType && isWhole(a):
		w.cast(a, "integer")
	case (s == realType || t == realType) && s != t && wider(s, t) == doubleType && s != doubleType && t != doubleType:
		_ = w.cast(b, "double precision") || w.cast(a, "double precision")
	}
}

var timeNames = map[uint32]string{dateType: "date", timestampType: "timestamp", timestampTZType: "timestamptz"}

// choices are several of which one is taken.
func (w *translation) choices(list []*pg.Node) {
	small := false
	for _, x := range list {
		t := w.of(x)
		small = small || t == smallType
		if t != smallType && t != unknownType && !isWhole(x) {
			return
		}
	}
	for _, x := range list {
		if small && isWhole(x) {
			w.cast(x, "integer")
		}
	}
}

func isWhole(x *pg.Node) bool { return x.GetAConst().GetIval() != nil }

// joined are the sides of ||: of an array and an element, or of a text and what is shown as text.
func (w *translation) joined(a, b *pg.Node) {
	switch left, right := w.isArray(a), w.isArray(b); {
	case left && !right:
		if w.element(b) {
			w.present(a)
		}
	case right && !left:
		if w.element(a) {
			w.present(b)
		}
	case left && right:
		w.arrays(a, b)
	case w.of(a) == byteaType && b.GetAConst().GetSval() != nil:
		w.cast(b, "bytea")
	case w.of(b) == byteaType && a.GetAConst().GetSval() != nil:
		w.cast(a, "bytea")
	case !left && !right:
		w.text(a, false)
		w.text(b, false)
	}
}

func isConcatenation(e *pg.A_Expr) bool {
	return e.Kind == pg.A_Expr_Kind_AEXPR_OP && len(e.Name) == 1 && lastText(e.Name) == "||" && e.Lexpr != nil
}

// subscript keeps DuckDB from counting a subscript below 1 from the end of an array.
func (w *translation) subscript(i *pg.A_Indices) {
	for x, macro := range map[*pg.Node]string{i.Lidx: "subscript__from(", i.Uidx: "subscript__to("} {
		if !i.IsSlice {
			macro = "subscript("
		}
		switch w.of(x) {
		case smallType, integerType, bigintType:
			if x.GetColumnRef() != nil {
				w.wrap(x, TranslatedPrefix+macro, ")")
			}
		}
	}
}

// isArray tells of an expression that certainly is an array.
func (w *translation) isArray(x *pg.Node) bool {
	switch e := x.GetNode().(type) {
	case *pg.Node_AArrayExpr:
		return true
	case *pg.Node_TypeCast:
		return len(e.TypeCast.TypeName.GetArrayBounds()) > 0
	case *pg.Node_AExpr:
		return isConcatenation(e.AExpr) && (w.isArray(e.AExpr.Lexpr) || w.isArray(e.AExpr.Rexpr))
	case *pg.Node_FuncCall:
		return lastText(e.FuncCall.Funcname) == "array_agg"
	}
	return arrays[w.of(x)]
}

// arrays are the types of arrays that columns may be of.
var arrays = map[uint32]bool{
	1000: true, 1001: true, 1005: true, 1007: true, 1009: true, 1015: true, 1016: true, 1021: true, 1022: true,
	1115: true, 1182: true, 1183: true, 1185: true, 1187: true, 1231: true, 2951: true,
}

// element makes an array of what stands beside one: DuckDB's || joins arrays alone.
func (w *translation) element(x *pg.Node) bool {
	t := w.of(x)
	return t != 0 && t != unknownType && w.wrap(x, "ARRAY[", "]")
}

// present writes an array that may be NULL, and is joined to one that is not, as one without elements: DuckDB's || of
// NULL is NULL.
func (w *translation) present(x *pg.Node) {
	if x.GetColumnRef() != nil {
		w.wrap(x, "coalesce(", ", ARRAY[])")
	}
}

// arrays are two that are joined.
func (w *translation) arrays(a, b *pg.Node) {
	if b.GetAArrayExpr() != nil {
		w.present(a)
	}
	if a.GetAArrayExpr() != nil {
		w.present(b)
	}
}

// text writes what is shown as text as PostgreSQL does; short: true is t.
func (w *translation) text(x *pg.Node, short bool) {
	switch t := w.of(x); {
	case isFloat(t) || t == intervalType:
		w.wrap(x, TranslatedPrefix+"text(", ")")
	case t == booleanType && short:
		w.wrap(x, TranslatedPrefix+"text__boolean(", ")")
	}
}

// cast casts an expression; false: the text does not show where it ends.
func (w *translation) cast(x *pg.Node, to string) bool { return w.wrap(x, "", "::"+to) }

// wrap writes something before and behind a constant, a column or a call; false: it is none of them.
func (w *translation) wrap(x *pg.Node, before, behind string) (ok bool) {
	start, end := 0, 0
	switch e := x.GetNode().(type) {
	case *pg.Node_AConst:
		start = int(e.AConst.Location)
		t := lex.Client.Next(w.sql, start)
		for t.IsAny("-", "+") {
			t = lex.Client.Next(w.sql, t.End())
		}
		end, ok = t.End(), t.Kind == lex.Number || t.Kind == lex.String || t.IsAny("true", "false")
	case *pg.Node_ColumnRef:
		name, known := bind.NameAt(w.sql, int(e.ColumnRef.Location))
		start, end, ok = name.Start, name.End, known
	case *pg.Node_FuncCall:
		if _, name := functionName(e.FuncCall); name != "" && before != "" {
			start, end, ok = w.span(e.FuncCall)
		}
	case *pg.Node_TypeCast:
		start, end, ok = w.castSpan(e.TypeCast)
	}
	if !ok {
		return false
	}
	if before != "" {
		w.opens(start, before)
	}
	w.closes(end, behind)
	return true
}

// castSpan is where a::b stands, of a constant or a column and a type of one word, or b 'a'.
func (w *translation) castSpan(c *pg.TypeCast) (start, end int, ok bool) {
	if c.TypeName.GetLocation() < 0 {
		return 0, 0, false
	}
	switch a := c.Arg.GetNode().(type) {
	case *pg.Node_AConst:
		start = int(a.AConst.Location)
	case *pg.Node_ColumnRef:
		start = int(a.ColumnRef.Location)
	default:
		return 0, 0, false
	}
	word := lex.Client.Next(w.sql, int(c.TypeName.GetLocation()))
	next := lex.Client.Next(w.sql, word.End())
	if next.Kind == lex.String && next.Start == start {
		return word.Start, next.End(), word.Kind == lex.Word
	}
	if c.Location < 0 {
		return 0, 0, false
	}
	colons := lex.Client.Next(w.sql, int(c.Location))
	ok = strings.HasPrefix(w.sql[colons.Start:], "::") && word.Kind == lex.Word &&
		!next.IsAny("(", "[", ".", "precision", "varying", "with", "without")
	return start, word.End(), ok && start < colons.Start && colons.Start < word.Start
}

// row writes a row that is a column of the result by itself as its text: DuckDB's is a struct, which clients see as
// JSON.
func (w *translation) row(x *pg.Node) {
	at := int(x.GetRowExpr().Location)
	open := lex.Client.Next(w.sql, at)
	if open.Is("row") {
		open = lex.Client.Next(w.sql, open.End())
	}
	end, ok := closing(w.sql, open)
	if !ok {
		return
	}
	const field = TranslatedPrefix + "row__field("
	w.edits = append(w.edits, change{at, open.End(), TranslatedPrefix + "row(ARRAY[" + field, 0})
	depth := 0
	for t := open; t.Start < end; t = lex.Client.Next(w.sql, t.End()) {
		switch {
		case t.IsAny("(", "[", "{"):
			depth++
		case t.IsAny(")", "]", "}"):
			depth--
		case t.Is(",") && depth == 1:
			w.edits = append(w.edits, change{t.Start, t.End(), "), " + field, len(w.edits)})
		}
	}
	w.closes(end-1, ")]")
	for _, field := range x.GetRowExpr().Args {
		if field.GetRowExpr() != nil {
			w.row(field)
		}
	}
}

// namesTargets tells whether the order or the groups of a query may be those of a column of its select list: of a row's
// text they would be others.
func namesTargets(s *pg.SelectStmt, name string) bool {
	may := func(x *pg.Node) bool {
		return x.GetAConst() != nil || x.GetRowExpr() != nil ||
			name != "" && lex.Same(lastText(x.GetColumnRef().GetFields()), name)
	}
	return len(s.DistinctClause) > 0 || slices.ContainsFunc(s.GroupClause, may) ||
		slices.ContainsFunc(s.SortClause, func(x *pg.Node) bool { return may(x.GetSortBy().GetNode()) })
}

// sum casts one of whole numbers.
func (w *translation) sum(x *pg.Node) {
	if !isSum(x) {
		return
	}
	to, of := "", w.of(x.GetFuncCall().Args[0])
	if w.stays[x] && of != realType {
		return
	}
	switch of {
	case realType:
		to = "real"
	case smallType, integerType:
		to = "bigint"
	case bigintType:
		to = "numeric(38, 0)"
	default:
		return
	}
	start := int(x.GetFuncCall().Location)
	end, ok := callEnd(w.sql, start)
	if !ok {
		return
	}
	to = " AS " + to + ")"
	if w.unnamed[x] {
		to += " AS sum"
	}
	w.opens(start, "CAST(")
	w.closes(end, to)
}

// callEnd passes the call of an aggregate that begins at an offset, with what stands behind its arguments.
func callEnd(sql string, at int) (end int, ok bool) {
	t := lex.Client.Next(sql, at)
	for t.Kind == lex.Word || t.Kind == lex.Quoted || t.Is(".") {
		t = lex.Client.Next(sql, t.End())
	}
	if end, ok = closing(sql, t); !ok {
		return 0, false
	}
	for {
		word := lex.Client.Next(sql, end)
		next := lex.Client.Next(sql, word.End())
		switch {
		case word.Is("over") && (next.Kind == lex.Word || next.Kind == lex.Quoted):
			end = next.End()
		case word.IsAny("filter", "over") && next.Is("("):
			if end, ok = closing(sql, next); !ok {
				return 0, false
			}
		default:
			return end, true
		}
	}
}

// closing is behind what closes a parenthesis.
func closing(sql string, open lex.Token) (end int, ok bool) {
	if !open.Is("(") {
		return 0, false
	}
	for depth, t := 0, open; !t.Ends(); t = lex.Client.Next(sql, t.End()) {
		switch {
		case t.IsAny("(", "["):
			depth++
		case t.IsAny(")", "]"):
			if depth--; depth == 0 {
				return t.End(), true
			}
		}
	}
	return 0, false
}
