package typing

import (
	"slices"

	pg "github.com/pganalyze/pg_query_go/v6"

	"github.com/csmsql/csmsql/sql/lex"
	"github.com/csmsql/csmsql/sql/pgcatalog"
	"github.com/csmsql/csmsql/sql/tree"
)

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
	fields, number := x.GetRowExpr().Args, 0
	field := func() string {
		if number < len(fields) && fields[number].GetRowExpr() != nil {
			return "(" // its text already; the macro has its argument many times
		}
		return pgcatalog.TranslatedPrefix + "row__field("
	}
	w.edits = append(w.edits, change{at, open.End(), pgcatalog.TranslatedPrefix + "row(ARRAY[" + field(), 0})
	depth := 0
	for t := open; t.Start < end; t = lex.Client.Next(w.sql, t.End()) {
		switch {
		case t.IsAny("(", "[", "{"):
			depth++
		case t.IsAny(")", "]", "}"):
			depth--
		case t.Is(",") && depth == 1:
			number++
			w.edits = append(w.edits, change{t.Start, t.End(), "), " + field(), len(w.edits)})
		}
	}
	w.closes(end-1, ")]")
	for _, field := range fields {
		if field.GetRowExpr() != nil {
			w.row(field)
		}
	}
}

// namesTargets reports whether the order or the groups of a query may be those of a column of its select list: of a
// row's text they would be others.
func namesTargets(s *pg.SelectStmt, name string) bool {
	may := func(x *pg.Node) bool {
		return x.GetAConst() != nil || x.GetRowExpr() != nil ||
			name != "" && lex.Same(tree.LastText(x.GetColumnRef().GetFields()), name)
	}
	return len(s.DistinctClause) > 0 || slices.ContainsFunc(s.GroupClause, may) ||
		slices.ContainsFunc(s.SortClause, func(x *pg.Node) bool { return may(x.GetSortBy().GetNode()) })
}
