package pgcatalog

import (
	"strings"

	pg "github.com/pganalyze/pg_query_go/v6"

	"github.com/csmsql/csmsql/sql/bind"
	"github.com/csmsql/csmsql/sql/lex"
)

// countsWhole tells whether a call may count the rows of a table, as count(t) and count(t.*) do.
func countsWhole(f *pg.FuncCall) bool {
	return lastText(f.Funcname) == "count" && len(f.Args) == 1 && f.Args[0].GetColumnRef() != nil
}

// countWhole writes count(t.*) as a count of a column of t, where t is a side of an outer join: a row that the join
// fills with NULLs is NULL in PostgreSQL, and is not counted, but a struct of NULLs in DuckDB, which is. A column that
// is NOT NULL tells them apart; where there is none, a row of nothing but NULLs counts as one that the join has filled.
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

// present is an expression that is NULL where a join has filled an item's row, and for no other row if that can be
// told.
func present(it *bind.Item) string {
	name := lex.Quote(it.Alias)
	if it.Open || !it.HasNames() {
		return TranslatedPrefix + "present(" + name + ")"
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

func tableOf(it *bind.Item) (*Relation, bool) {
	if it.Table == nil {
		return nil, false
	}
	r, ok := it.Table.Of.(*Relation)
	return r, ok
}

// fillsRows tells whether one of the joins is an outer one.
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
