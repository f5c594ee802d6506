package locking

import (
	"fmt"
	"slices"
	"strings"

	pg "github.com/pganalyze/pg_query_go/v6"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/engine/materialized"
	"github.com/csmsql/csmsql/engine/rewrite"
	"github.com/csmsql/csmsql/engine/rowlock"
	"github.com/csmsql/csmsql/engine/snapshot"
	"github.com/csmsql/csmsql/sql/bind"
	"github.com/csmsql/csmsql/sql/dialect"
	"github.com/csmsql/csmsql/sql/edit"
	"github.com/csmsql/csmsql/sql/lex"
	"github.com/csmsql/csmsql/sql/past"
	"github.com/csmsql/csmsql/sql/sqlerror"
	"github.com/csmsql/csmsql/sql/tree"
)

// target is a table whose rows are locked.
type target struct {
	*wanted
	numbers *snapshot.Numbers
	mode    rowlock.Mode
	hits    *rewrite.Hits
}

// Plan is a query as it locks rows of some versions of its tables.
type Plan struct {
	Text     string // that gives the rows, with their numbers in the last columns
	Numbered snapshot.Numbering

	targets []*target
	prefix  string // of the names of hidden columns, in lower case
}

// Plan finds the tables in a view.
func (q *Query) Plan(v *snapshot.View) (*Plan, error) {
	list, err := q.wanted()
	if err != nil {
		return nil, err
	}
	var targets []*target
	for _, w := range list {
		version, err := q.version(v, w)
		if err != nil {
			return nil, err
		}
		if version != nil {
			targets = append(targets, &target{wanted: w, numbers: &snapshot.Numbers{Version: version}})
		}
	}
	return q.planOf(targets)
}

// planOf has the rows of targets numbered by names that the query has nowhere.
func (q *Query) planOf(targets []*target) (p *Plan, err error) {
	p = &Plan{targets: targets}
	words := q.Plain
	for _, t := range targets {
		for _, f := range t.numbers.Version.Table().Columns.Fields() {
			words += " " + f.Name
		}
	}
	for i, t := range targets {
		t.mode, t.numbers = mode(t.strength), rewrite.NumbersFor(t.numbers.Version, words)
		p.prefix = strings.ToLower(t.numbers.Column)
		t.numbers.Schema, t.numbers.Column = fmt.Sprint(t.numbers.Schema, i), fmt.Sprint(t.numbers.Column, i)
		p.Numbered = append(p.Numbered, t.numbers)
	}
	p.Text, err = q.text(targets)
	return p, err
}

// PlanWith plans a query with the numbers of the rows that it locks. Errors are those of the query as it was written:
// check plans that. aborted reports whether nothing more can be planned in the transaction.
func PlanWith[P any](q *Query, v *snapshot.View, aborted func() bool, plan func(text string) (P, error),
	check func(text string) error) (made P, p *Plan, err error) {
	if p, err = q.Plan(v); err == nil {
		v.Numbered = p.Numbered
		made, err = plan(p.Text)
		v.Numbered = nil
		if err == nil || aborted() {
			return made, p, dialect.WithoutPosition(err)
		}
		if strings.Contains(err.Error(), "GROUP BY") { // its rows are not single ones of the tables
			err = sqlerror.New("0A000", "%s is not allowed with aggregate functions",
				names[q.sel.LockingClause[0].GetLockingClause().Strength])
		}
	}
	if wrong := check(q.Plain); wrong != nil {
		return made, nil, wrong
	}
	return made, nil, dialect.WithoutPosition(err)
}

// version is the table of an entry; nil: no other session can change it, or PostgreSQL locks nothing of it either.
func (q *Query) version(v *snapshot.View, w *wanted) (*catalog.TableVersion, error) {
	clause := names[w.strength]
	refused := func(what string) error {
		return sqlerror.New("0A000", "%s of %s is not supported", clause, what).
			WithHint("Name the tables to be locked, as in " + clause + " OF t.")
	}
	r := w.relation
	switch {
	case w.named && w.other != "" && w.other != "a subquery" && w.other != "VALUES":
		return nil, sqlerror.New("0A000", "%s cannot be applied to %s", clause, w.other)
	case w.other == "a subquery":
		return nil, refused("a subquery in FROM")
	case r == nil:
		return nil, nil
	case q.isCTE(r):
		if w.named {
			return nil, sqlerror.New("0A000", "%s cannot be applied to a WITH query", clause)
		}
		return nil, nil
	case w.nullable:
		return nil, sqlerror.New("0A000", "%s cannot be applied to the nullable side of an outer join", clause)
	case r.Schemaname == "pg_temp" || r.Schemaname == "temp" || r.Schemaname == "" && v.Own.Has(r.Relname):
		return nil, nil // which is the session's own
	}
	version := v.Lookup(r.Catalogname, r.Schemaname, r.Relname)
	view := v.LookupView(r.Catalogname, r.Schemaname, r.Relname)
	switch {
	case version != nil && r.Schemaname == past.Schema:
		return nil, refused("a former version of a table")
	case version != nil && materialized.Is(version.Table()):
		return nil, sqlerror.New("42809", "cannot lock rows in materialized view %q", r.Relname)
	case version != nil && w.sampled:
		return nil, refused("a TABLESAMPLE")
	case version != nil && w.inside:
		return nil, refused("a table in a join that has an alias")
	case version != nil && len(r.GetAlias().GetColnames()) > 0:
		return nil, refused("a table whose columns have aliases")
	case version != nil:
		return version, nil
	case view != nil && view.Counter != 0:
		return nil, sqlerror.New("42809", "cannot lock rows in sequence %q", r.Relname)
	case view != nil:
		return nil, refused(fmt.Sprintf("the view %q", r.Relname))
	}
	return nil, refused(fmt.Sprintf("%q, which is no table,", r.Relname))
}

// change is a piece of the text that becomes another one.
type change struct {
	from, to int
	by       string
}

// text gives the rows' numbers behind the user's columns.
func (q *Query) text(targets []*target) (string, error) {
	var changes []change
	numbers := ""
	for _, t := range targets {
		made, number, err := q.numbered(t)
		if err != nil {
			return "", err
		}
		changes = append(append(changes, made...), q.withoutSchema(t)...)
		numbers += ", " + number
	}
	if len(targets) > 0 {
		list, err := q.list(numbers)
		if err != nil {
			return "", err
		}
		changes = append(changes, list)
	}
	slices.SortStableFunc(changes, func(a, b change) int { return a.from - b.from })
	e := edit.New(q.Plain)
	for _, c := range changes {
		if !e.Replace(c.from, c.to, c.by) {
			return "", unread()
		}
	}
	text, _ := e.Text()
	return text, nil
}

func unread() error {
	return sqlerror.New("0A000", "FOR UPDATE and FOR SHARE of a query that is written like this are not supported").
		WithHint("Write SELECT … FROM t … FOR UPDATE, with the tables' names as they are.")
}

// numbered puts the table with its rows' numbers in the place of a target's name.
func (q *Query) numbered(t *target) (made []change, number string, err error) {
	name, ok := bind.NameAt(q.Plain, int(t.relation.Location))
	if !ok {
		return nil, "", unread()
	}
	alias, end := name.Parts[len(name.Parts)-1], name.End
	if t.relation.Alias != nil {
		next := lex.Client.Next(q.Plain, end)
		if next.Is("as") {
			next = lex.Client.Next(q.Plain, next.End())
		}
		if alias, ok = next.Name(); !ok {
			return nil, "", unread()
		}
		end = next.End()
	}
	words := ""
	if q.meansWhole(t.name) {
		words = alias
	}
	from, number := rewrite.FromNumbered(t.numbers, t.numbers.Table(), alias, words)
	return []change{{name.Start, end, from}}, number, nil
}

// references visits the names of columns in the query, with whether each is a star of its own list.
func (q *Query) references(visit func(ref *pg.ColumnRef, listed bool)) {
	listed := map[*pg.ColumnRef]bool{}
	for _, n := range q.sel.TargetList {
		ref := n.GetResTarget().GetVal().GetColumnRef()
		listed[ref] = ref != nil && ref.Fields[len(ref.Fields)-1].GetAStar() != nil
	}
	for m := range tree.All(q.sel.ProtoReflect()) {
		if ref, ok := m.Interface().(*pg.ColumnRef); ok {
			visit(ref, listed[ref])
		}
	}
}

// meansWhole reports whether something in the query may mean a whole row of a table, of which the number is none.
func (q *Query) meansWhole(name string) (whole bool) {
	q.references(func(ref *pg.ColumnRef, listed bool) {
		last := ref.Fields[len(ref.Fields)-1]
		whole = whole || len(ref.Fields) > 1 && last.GetAStar() != nil && !listed ||
			len(ref.Fields) == 1 && lex.Same(last.GetString_().GetSval(), name)
	})
	return whole
}

// withoutSchema takes the schema out of names of a target's columns: it has none any more.
func (q *Query) withoutSchema(t *target) (made []change) {
	if t.relation.Alias != nil {
		return nil
	}
	q.references(func(ref *pg.ColumnRef, _ bool) {
		table := len(ref.Fields) - 2
		if table < 1 || ref.Fields[table].GetString_().GetSval() != t.name {
			return
		}
		if name, ok := bind.NameAt(q.Plain, int(ref.Location)); ok && len(name.Starts) > table {
			made = append(made, change{name.Start, name.Starts[table], ""})
		}
	})
	return made
}

// list puts the numbers at the end of the query's list.
func (q *Query) list(numbers string) (change, error) {
	depth, begun := 0, false
	var before lex.Token
	for t := range lex.Client.Tokens(q.Plain) {
		switch {
		case t.Is("("):
			depth++
		case t.Is(")"):
			depth--
		case depth == 0 && t.Is("table") && !begun && !before.Is("."):
			return change{t.Start, t.End(), "SELECT *" + numbers + " FROM"}, nil
		case depth == 0 && t.Is("select"):
			begun = true
		case depth == 0 && t.Is("from") && begun && !before.Is("distinct"): // IS DISTINCT FROM
			if len(q.sel.TargetList) == 0 {
				numbers = strings.TrimPrefix(numbers, ", ")
			}
			return change{t.Start, t.Start, strings.TrimPrefix(numbers+" ", " ")}, nil
		}
		before = t
	}
	return change{}, unread()
}

// Visible are the columns of the query's result that are the user's (FU5).
func (p *Plan) Visible(schema *arrow.Schema) *arrow.Schema {
	var fields []arrow.Field
	for _, i := range p.visible(schema) {
		fields = append(fields, schema.Field(i))
	}
	return arrow.NewSchema(fields, nil)
}

func (p *Plan) visible(schema *arrow.Schema) (columns []int) {
	for i, f := range schema.Fields() {
		if p.prefix == "" || !strings.HasPrefix(strings.ToLower(f.Name), p.prefix) {
			columns = append(columns, i)
		}
	}
	return columns
}
