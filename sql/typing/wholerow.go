package typing

import (
	"strings"

	pg "github.com/pganalyze/pg_query_go/v6"

	"github.com/csmsql/csmsql/sql/bind"
	"github.com/csmsql/csmsql/sql/lex"
	"github.com/csmsql/csmsql/sql/pgcatalog"
	"github.com/csmsql/csmsql/sql/tree"
)

// countsWhole reports whether a call may count the rows of a table, as count(t) and count(t.*) do.
func countsWhole(f *pg.FuncCall) bool {
	return tree.LastText(f.Funcname) == "count" && len(f.Args) == 1 && f.Args[0].GetColumnRef() != nil
}

// countWhole writes count(t.*) as a count of a column of t, where t is a side of an outer join: a row that the join
// fills with NULLs is NULL in PostgreSQL, and is not counted, but a struct of NULLs in DuckDB, which is. A column that
// is NOT NULL distinguishes them; where there is none, a row of nothing but NULLs counts as one that the join has
// filled.
func (w *translation) countWhole(f *pg.FuncCall) {
	ref := f.Args[0].GetColumnRef()
	meant := w.bound.Ref(ref)
	if meant.Certain || len(meant.May) != 1 || meant.May[0].Item == nil || meant.May[0].Index != -1 {
		return
	}
	it := meant.May[0].Item
	if !fillsRows(it.In.From) {
		return
	}
	text, ok := bind.NameAt(w.sql, int(ref.Location))
	if !ok {
		return
	}
	end := text.End
	if ref.Fields[len(ref.Fields)-1].GetAStar() != nil {
		end += strings.IndexByte(w.sql[end:], '*') + 1
	}
	by := present(it)
	if f.AggDistinct {
		by = "CASE WHEN " + by + " IS NOT NULL THEN " + lex.Quote(it.Alias) + " END"
	}
	w.edits = append(w.edits, change{text.Start, end, by, len(w.edits)})
}

// wholeName is the name that a reference by itself, or to all columns, may mean a table by.
func wholeName(c *pg.ColumnRef) []string {
	fields := c.GetFields()
	if len(fields) == 2 && fields[1].GetAStar() != nil {
		fields = fields[:1]
	}
	if len(fields) != 1 || fields[0].GetString_() == nil {
		return nil
	}
	return []string{tree.LastText(fields)}
}

// whole is the table of which a reference means a row, with names for all its columns.
func (w *translation) whole(ref *pg.ColumnRef) (it *bind.Item, ok bool) {
	meant := w.bound.Ref(ref)
	if meant.Certain || len(meant.May) != 1 || meant.May[0].Item == nil || meant.May[0].Index != -1 {
		return nil, false
	}
	it = meant.May[0].Item
	return it, !it.Open && it.HasNames() && len(it.Columns) > 0
}

// wholeSpan is where a reference to a row stands, with its star.
func (w *translation) wholeSpan(ref *pg.ColumnRef) (start, end int, ok bool) {
	text, ok := bind.NameAt(w.sql, int(ref.Location))
	end = text.End
	if ok && ref.Fields[len(ref.Fields)-1].GetAStar() != nil {
		end += strings.IndexByte(w.sql[end:], '*') + 1
	}
	return text.Start, end, ok
}

// wholeIsNull writes t IS NULL as (t.a IS NULL AND t.b IS NULL): a row is NULL if all of it is, and NOT NULL if none
// is.
func (w *translation) wholeIsNull(test *pg.NullTest) {
	ref := test.Arg.GetColumnRef()
	if ref == nil || wholeName(ref) == nil {
		return
	}
	it, ok := w.whole(ref)
	start, end, known := w.wholeSpan(ref)
	if !ok || !known {
		return
	}
	verb := " IS NULL"
	if test.Nulltesttype == pg.NullTestType_IS_NOT_NULL {
		verb = " IS NOT NULL"
	}
	for t := lex.Client.Next(w.sql, end); t.Is(")"); t = lex.Client.Next(w.sql, end) {
		before := strings.TrimRight(w.sql[:start], " \t\r\n")
		if !strings.HasSuffix(before, "(") {
			return // a comment is between
		}
		start, end = len(before)-1, t.End()
	}
	if !lex.Client.Next(w.sql, end).IsAny("is", "isnull", "notnull") {
		return
	}
	for t := lex.Client.Next(w.sql, end); !t.Ends(); t = lex.Client.Next(w.sql, end) {
		end = t.End()
		if t.IsAny("null", "isnull", "notnull") {
			break
		}
	}
	tests := make([]string, len(it.Columns))
	for i, c := range it.Columns {
		tests[i] = lex.Quote(it.Alias) + "." + lex.Quote(c) + verb
	}
	w.edits = append(w.edits, change{start, end, "(" + strings.Join(tests, " AND ") + ")", len(w.edits)})
}

// wholeText writes a table's row as its text; it is NULL where an outer join has filled it.
func (w *translation) wholeText(ref *pg.ColumnRef) bool {
	it, ok := w.whole(ref)
	start, end, known := w.wholeSpan(ref)
	if !ok || !known {
		return false
	}
	fields := make([]string, len(it.Columns))
	for i, c := range it.Columns {
		fields[i] = pgcatalog.TranslatedPrefix + "row__field(" + lex.Quote(it.Alias) + "." + lex.Quote(c) + ")"
	}
	by := pgcatalog.TranslatedPrefix + "row(ARRAY[" + strings.Join(fields, ", ") + "])"
	if fillsRows(it.In.From) {
		by = "CASE WHEN " + present(it) + " IS NOT NULL THEN " + by + " END"
	}
	w.edits = append(w.edits, change{start, end, by, len(w.edits)})
	return true
}

// present is an expression that is NULL where a join has filled an item's row, and for no other row if that can be
// decided.
func present(it *bind.Item) string {
	name := lex.Quote(it.Alias)
	if it.Open || !it.HasNames() {
		return pgcatalog.TranslatedPrefix + "present(" + name + ")"
	}
	if r, ok := tableOf(it); ok {
		for i, c := range r.Columns {
			if c.NotNull && i < len(it.Columns) {
				return name + "." + lex.Quote(it.Columns[i])
			}
		}
	}
	var any []string
	for _, c := range it.Columns {
		any = append(any, name+"."+lex.Quote(c)+" IS NOT NULL")
	}
	return "CASE WHEN " + strings.Join(any, " OR ") + " THEN 1 END"
}

func tableOf(it *bind.Item) (*pgcatalog.Relation, bool) {
	if it.Table == nil {
		return nil, false
	}
	r, ok := it.Table.Of.(*pgcatalog.Relation)
	return r, ok
}

// fillsRows reports whether one of the joins is an outer one.
func fillsRows(list []*bind.From) bool {
	for _, f := range list {
		if f == nil || f.Join == nil {
			continue
		}
		if f.Join.Jointype != pg.JoinType_JOIN_INNER || fillsRows([]*bind.From{f.Left, f.Right}) {
			return true
		}
	}
	return false
}
