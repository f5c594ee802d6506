package viewtext

import (
	"context"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	pg "github.com/pganalyze/pg_query_go/v6"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/engine/materialized"
	"github.com/csmsql/csmsql/sql/dialect"
	"github.com/csmsql/csmsql/sql/edit"
	"github.com/csmsql/csmsql/sql/lex"
	"github.com/csmsql/csmsql/sql/sqlerror"
)

// A view goes on to show what it showed when its table gets and loses columns, as in PostgreSQL. Ours are texts: where
// a text could mean another column by now, the columns that the table had are written in the place of its name.
//
//	SELECT * FROM public.t  ── ADD COLUMN c ──►  SELECT * FROM (SELECT a, b FROM public.t) AS t
//	                        ── RENAME a TO x ──► SELECT * FROM (SELECT x AS a, b FROM public.t) AS t

// Item is a column of a table in a view's text: its name, and what the view calls it.
type Item struct{ Name, As string }

func (i Item) text() string {
	name := dialect.PlainIdentifier(i.Name)
	if i.Name == i.As {
		return name
	}
	return name + " AS " + dialect.PlainIdentifier(i.As)
}

// Uses are how a view's query reads one table.
type Uses struct {
	Reads bool // it reads the table at all
	// Any: it may mean any column of the table, or all of them. Else it means at most those of Names, in lower case.
	Any   bool
	Names map[string]bool
}

// Of reports whether the query may mean a column.
func (u Uses) Of(column string) bool { return u.Reads && (u.Any || u.Names[strings.ToLower(column)]) }

// mention is a table's name in a view's text.
type mention struct {
	start, end int
	// list is where the columns that were written before it begin, items what they are; nil: none were.
	list, listEnd int
	items         []Item
	as            string
}

// mentionsOf finds the table's names in a view's text.
func (w *Writer) mentionsOf(ctx context.Context, view *catalog.View, table catalog.TableName) ([]mention, error) {
	all, err := w.Mentions(ctx, view.SQL)
	if err != nil {
		return nil, dialect.UnlessParsers(err)
	}
	var list []mention
	for _, m := range all.Relations {
		if !isMentionOf(m, view, table) {
			continue
		}
		_, end, ok := dialect.LastNameSpan(view.SQL, m)
		if !ok {
			return nil, sqlerror.New("0A000", "the name %q cannot be distinguished from its surroundings", m.Name)
		}
		one := mention{start: m.Offset, end: end, as: m.Name}
		one.items, one.list, one.listEnd = listBefore(view.SQL, m.Offset, end)
		list = append(list, one)
	}
	return list, nil
}

// listBefore reads the columns of "(SELECT a, b AS c FROM name)", if that stands around a name, which may have an
// alias.
func listBefore(text string, start, end int) (items []Item, from, to int) {
	read := lex.Client.Text(text)
	var tokens []lex.Token
	for at := 0; ; {
		t := read.Next(at)
		if t.Kind == lex.End || t.Start >= start {
			break
		}
		tokens, at = append(tokens, t), t.End()
	}
	open := -1
	for i := len(tokens) - 1; i >= 0; i-- {
		if tokens[i].IsAny("(", ")") {
			open = i
			break
		}
	}
	if open < 0 || !tokens[open].Is("(") || open+3 >= len(tokens) || !tokens[open+1].Is("select") ||
		!tokens[len(tokens)-1].Is("from") {
		return nil, 0, 0
	}
	behind := read.Next(end)
	if behind.Is("as") { // of a table that got another name
		alias := read.Next(behind.End())
		if _, ok := nameOf(alias); !ok {
			return nil, 0, 0
		}
		behind = read.Next(alias.End())
	}
	if !behind.Is(")") {
		return nil, 0, 0
	}
	list := tokens[open+2 : len(tokens)-1]
	for i := 0; i < len(list); {
		name, ok := nameOf(list[i])
		if !ok {
			return nil, 0, 0
		}
		item := Item{name, name}
		i++
		if i+1 < len(list) && list[i].Is("as") {
			if item.As, ok = nameOf(list[i+1]); !ok {
				return nil, 0, 0
			}
			i += 2
		}
		items = append(items, item)
		if i < len(list) && (!list[i].Is(",") || i+1 == len(list)) {
			return nil, 0, 0
		}
		i++
	}
	return items, list[0].Start, list[len(list)-1].End()
}

func nameOf(t lex.Token) (string, bool) {
	switch t.Kind {
	case lex.Word:
		return lex.Fold(t.Text), true
	case lex.Quoted:
		return t.Name()
	}
	return "", false
}

// UsesOf says how a view's query reads a table.
func (w *Writer) UsesOf(ctx context.Context, view *catalog.View, table catalog.TableName) (Uses, error) {
	u := Uses{Names: map[string]bool{}}
	called := *view
	called.SQL = materialized.Calls(view)
	list, err := w.mentionsOf(ctx, &called, table)
	if err != nil || len(list) == 0 {
		return u, err
	}
	u.Reads = true
	open := false
	for _, m := range list {
		for _, i := range m.items {
			u.Names[strings.ToLower(i.Name)] = true
		}
		open = open || m.items == nil
	}
	if open {
		u.look(called.SQL)
	}
	return u, nil
}

// look finds which columns a text may mean. What PostgreSQL's parser does not know may mean any.
func (u *Uses) look(text string) {
	tree := dialect.TreeOf(text)
	if tree == nil {
		u.Any = true
		return
	}
	relations, whole := map[string]bool{}, map[string]bool{}
	dialect.EachNode(tree.ProtoReflect(), func(node any) {
		switch n := node.(type) {
		case *pg.A_Star:
			u.Any = true
		case *pg.JoinExpr:
			u.Any = u.Any || n.IsNatural
		case *pg.String:
			u.Names[strings.ToLower(n.Sval)] = true
		case *pg.RangeVar:
			relations[strings.ToLower(n.Relname)] = true
		case *pg.Alias:
			relations[strings.ToLower(n.Aliasname)] = true
		case *pg.ColumnRef:
			if len(n.Fields) > 0 {
				whole[strings.ToLower(n.Fields[len(n.Fields)-1].GetString_().GetSval())] = true
			}
		}
	})
	for name := range whole { // SELECT t FROM t
		u.Any = u.Any || relations[name]
	}
	u.Any = u.Any || u.Names["columns"] // COLUMNS('…')
}

// WithColumns is a view's query that means the columns that the table had, by the names that they have now.
func (w *Writer) WithColumns(ctx context.Context, view *catalog.View, table catalog.TableName,
	columns []Item) (string, error) {
	list, err := w.mentionsOf(ctx, view, table)
	if err != nil {
		return "", err
	}
	text := view.SQL
	for _, m := range slices.Backward(list) {
		if m.items == nil {
			text = w.frozen(ctx, text, m, words(columns))
			continue
		}
		for i := range m.items {
			for _, c := range columns {
				if strings.EqualFold(c.As, m.items[i].Name) {
					m.items[i].Name = c.Name
				}
			}
		}
		edited := edit.New(text)
		edited.Replace(m.list, m.listEnd, words(m.items))
		text, _ = edited.Text()
	}
	return text, nil
}

func words(items []Item) string {
	list := make([]string, len(items))
	for i, item := range items {
		list[i] = item.text()
	}
	return strings.Join(list, ", ")
}

// frozen writes a list of columns before a mention, and an alias behind it unless there is one.
func (w *Writer) frozen(ctx context.Context, text string, m mention, list string) string {
	inner := "(SELECT " + list + " FROM " + text[m.start:m.end] + ")"
	aliased := text[:m.start] + inner + " AS " + dialect.PlainIdentifier(m.as) + text[m.end:]
	if _, err := w.Mentions(ctx, aliased); err == nil {
		return aliased
	}
	return text[:m.start] + inner + text[m.end:]
}

// Same reports whether two queries put out columns of the same names and types.
func Same(a, b *arrow.Schema) bool {
	if a.NumFields() != b.NumFields() {
		return false
	}
	for i := range a.NumFields() {
		x, y := a.Field(i), b.Field(i)
		if x.Name != y.Name || !arrow.TypeEqual(x.Type, y.Type) {
			return false
		}
	}
	return true
}

// ReadsOwn reports whether a view that the session has for itself reads a table; its name.
func (w *Writer) ReadsOwn(ctx context.Context, table catalog.TableName) (string, error) {
	own, err := w.OwnViews(ctx)
	for _, v := range own {
		if slices.Contains(v.Reads, table) {
			return v.Name.Name, err
		}
	}
	return "", err
}
