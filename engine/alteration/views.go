package alteration

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/engine/dependency"
	"github.com/csmsql/csmsql/engine/materialized"
	"github.com/csmsql/csmsql/engine/viewtext"
	"github.com/csmsql/csmsql/sql/sqlerror"
	"github.com/csmsql/csmsql/sql/statement"
)

// reader is a view that reads the table.
type reader struct {
	view *catalog.View
	uses viewtext.Uses
	puts *arrow.Schema // what its query put out before; nil: it could not be asked
	goes bool
}

// may are those of the table's columns that the view may mean.
func (r *reader) may(had []viewtext.Item) (list []viewtext.Item) {
	for _, item := range had {
		if r.uses.Of(item.As) {
			list = append(list, item)
		}
	}
	if len(list) == 0 {
		return had
	}
	return list
}

// dependents are the views that read the table. One that needs a column that goes, goes with it, or is an error; one
// that needs a column whose type changes is an error.
func (a *alteration) dependents(ctx context.Context) ([]*reader, error) {
	if !a.renumbers() && !a.retypes() {
		return nil, nil
	}
	w := a.Views(a.v)
	var list []*reader
	for _, view := range materialized.Queries(a.v.Contents) {
		if !strings.Contains(strings.ToLower(materialized.Calls(view)), strings.ToLower(a.table.Name.Name)) {
			continue
		}
		uses, err := w.UsesOf(ctx, view, a.table.Name)
		if err != nil {
			return nil, err
		}
		if !uses.Reads {
			continue
		}
		puts, err := a.Plan(ctx, a.v, view.SQL)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err != nil {
			puts = nil // a view that cannot be asked has nothing to keep
		}
		list = append(list, &reader{view: view, uses: uses, puts: puts})
	}
	for _, c := range a.columns {
		if !c.retyped {
			continue
		}
		for _, r := range list {
			if r.uses.Of(c.was) {
				e := sqlerror.New("0A000", "cannot alter type of a column used by a view or rule").
					WithHint("Drop the view, alter the column, and recreate the view.")
				e.DetailText = fmt.Sprintf("%s depends on column %q", a.words(r), c.Name)
				return nil, e
			}
		}
	}
	if err := a.ownViews(ctx, w); err != nil {
		return nil, err
	}
	for _, name := range a.dropped {
		if err := a.dropViews(ctx, w, name, list); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// ownViews is an error if a view of the session alone reads the table and may need what goes or gets another name.
// Whether it does is known only when it is queried: DuckDB has it.
func (a *alteration) ownViews(ctx context.Context, w *viewtext.Writer) error {
	if len(a.dropped) == 0 && a.renamed[0] == "" && !a.retypes() {
		return nil
	}
	own, err := w.ReadsOwn(ctx, a.table.Name)
	if err != nil || own == "" {
		return err
	}
	return sqlerror.New("2BP01", "columns of table %s cannot be altered: temporary view %s reads it",
		a.table.Name.Name, own).
		WithHint("Drop the view, alter the table, and recreate the view.")
}

// dropViews drops those that need a column, with CASCADE.
func (a *alteration) dropViews(ctx context.Context, w *viewtext.Writer, name string, list []*reader) error {
	d := dependency.New(w)
	for _, r := range list {
		if !r.goes && r.uses.Of(name) {
			d.Add(a.object(r), nil)
		}
	}
	named := len(d.Objects())
	if named == 0 {
		return nil
	}
	if err := d.Follow(ctx); err != nil {
		return err
	}
	if !a.cascade[name] {
		var lines []string
		for _, o := range d.Objects()[:named] {
			lines = append(lines, fmt.Sprintf("%s %s depends on column %s of table %s", o.Kind, o.Name.Name, name,
				a.table.Name.Name))
		}
		e := sqlerror.New("2BP01", "cannot drop column %s of table %s because other objects depend on it", name,
			a.table.Name.Name).
			WithHint("Use DROP ... CASCADE to drop the dependent objects too.")
		e.DetailText = strings.Join(lines, "\n")
		return e
	}
	a.Notice(d.Cascade(0))
	for _, r := range list {
		r.goes = r.goes || slices.Contains(d.Objects(), a.object(r))
	}
	return a.Drop(d.Objects())
}

// object is a reader as DROP knows it.
func (a *alteration) object(r *reader) dependency.Object {
	return dependency.Object{Kind: statement.Object(materialized.Kind(a.v.Contents, r.view)), Name: r.view.Name}
}

func (a *alteration) words(r *reader) string {
	return materialized.Kind(a.v.Contents, r.view) + " " + r.view.Name.Name
}

// touches reports whether a view could mean something else by now.
func (a *alteration) touches(u viewtext.Uses) bool {
	for _, c := range a.columns {
		if c.was != c.Name && (u.Of(c.Name) || c.was != "" && u.Of(c.was)) {
			return true
		}
	}
	return false
}

// followViews writes the columns that the table had into the views that could mean others by now (AL2), and asks all
// that read it. The transaction has altered the table.
func (a *alteration) followViews(ctx context.Context, list []*reader) error {
	if len(list) == 0 {
		return nil
	}
	var had []viewtext.Item
	for _, c := range a.columns {
		if c.was != "" {
			had = append(had, viewtext.Item{Name: c.Name, As: c.was})
		}
	}
	for _, r := range list {
		if r.goes || r.puts == nil {
			continue
		}
		text := r.view.SQL
		with := func(view *catalog.View) (string, error) {
			return a.Views(a.v).WithColumns(ctx, view, a.table.Name, r.may(had))
		}
		if a.touches(r.uses) {
			var err error
			if text, err = with(r.view); err != nil {
				return a.refuseView(r, err)
			}
		}
		after := a.Seeing(a.tx.Contents())
		puts, err := a.Plan(ctx, after, text)
		after.Release()
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil || !viewtext.Same(puts, r.puts) {
			return a.refuseView(r, err)
		}
		if text == r.view.SQL {
			continue
		}
		if err := materialized.Rewrite(a.tx, r.view, text, with); err != nil {
			return err
		}
	}
	return nil
}

func (a *alteration) refuseView(r *reader, cause error) error {
	e := sqlerror.New("0A000",
		"columns of table %s cannot be altered so: the query of %s %s reads them in a way that does not bear it",
		a.table.Name.Name, materialized.Kind(a.v.Contents, r.view), r.view.Name).
		WithHint("Drop the view, alter the table, and recreate the view.")
	e.Cause = cause
	return e
}
