package typing

import (
	pg "github.com/pganalyze/pg_query_go/v6"

	"github.com/csmsql/csmsql/sql/lex"
	"github.com/csmsql/csmsql/sql/pgcatalog"
)

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
	w.scaled(list)
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

// extreme writes least and greatest of intervals as macros of a list: DuckDB's compare months, days and hours apart.
func (w *translation) extreme(x *pg.MinMaxExpr) {
	name := lex.Client.Next(w.sql, int(x.Location))
	open := lex.Client.Next(w.sql, name.End())
	if end, ok := closing(w.sql, open); ok && w.unified(x.Args) == intervalType {
		w.edits = append(w.edits, change{name.Start, open.End(), pgcatalog.TranslatedPrefix + lex.Fold(name.Text) + "(ARRAY[",
			len(w.edits)})
		w.closes(end-1, "]")
	}
}

func isWhole(x *pg.Node) bool { return x.GetAConst().GetIval() != nil }
