package function

import (
	"context"
	"errors"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/engine/calling"
	"github.com/csmsql/csmsql/engine/materialized"
	"github.com/csmsql/csmsql/engine/snapshot"
	"github.com/csmsql/csmsql/engine/viewtext"
	"github.com/csmsql/csmsql/sql/dialect"
	"github.com/csmsql/csmsql/sql/inline"
	"github.com/csmsql/csmsql/sql/sqlerror"
	"github.com/csmsql/csmsql/sql/statement"
	"github.com/csmsql/csmsql/sql/typing"
)

// query is the query that a statement keeps, of a view or a materialized one.
func query(head any) (text string, keeps bool) {
	switch head := head.(type) {
	case *statement.CreateView:
		return head.Query, true
	case *statement.CreateTableAs:
		return head.Query, head.Materialized
	}
	return "", false
}

// Keep are the columns of a view that a transaction makes, with how its query calls functions (FN1). w sees what was
// before.
func (u *Uses) Keep(ctx context.Context, tx *catalog.Transaction, w *viewtext.Writer, columns *arrow.Schema) (
	*arrow.Schema, error) {
	if u == nil || u.calls == "" {
		return columns, nil
	}
	if err := u.Check(w.View.Contents); err != nil {
		return nil, err
	}
	parsed, err := u.qualified(w.View)
	if err != nil {
		return nil, err
	}
	text, _ := query(parsed.Head)
	bound, err := w.Bind(ctx, text)
	if err != nil {
		return nil, err
	}
	if bound.Temporary != "" {
		return nil, u.Refuse("a temporary view")
	}
	return calling.Mark(columns, u.record(tx, bound.Text))
}

// Refuse is the error of a text that cannot be kept with calls; nil: there are none.
func (u *Uses) Refuse(what string) error {
	if u == nil {
		return nil
	}
	return sqlerror.New("0A000", "%s that calls functions is not supported", what).
		WithHint("Write what the functions compute.")
}

// record says how a text that a transaction keeps calls functions. Those cannot be others when it commits (K10).
func (u *Uses) record(tx *catalog.Transaction, text string) *calling.Record {
	r := &calling.Record{Dialect: u.means, Text: text}
	for name, f := range u.of {
		tx.Reads(name)
		r.Functions = append(r.Functions, uint64(f.ID))
	}
	slices.Sort(r.Functions)
	return r
}

// qualified is the statement with its calls, which names functions with their schemas, and types by their numbers
// (CQ1).
func (u *Uses) qualified(v *snapshot.View) (*statement.Statement, error) {
	in := dialect.SourceOf(u.calls)
	if in.Tree == nil {
		return nil, sqlerror.New("0A000", "a text of this kind that calls functions is not supported")
	}
	schemas := map[*inline.Function]string{}
	text, err := inline.Qualified(in, u.means, func(schema, name string) (*inline.Function, error) {
		t := v.LookupFunction(schema, name)
		if t == nil || u.of[t.Name] == nil {
			return nil, nil
		}
		f, err := Of(t)
		if err != nil {
			return nil, err
		}
		schemas[&f.Function] = t.Name.Schema
		return &f.Function, nil
	}, func(f *inline.Function) string { return schemas[f] })
	if err != nil {
		return nil, err
	}
	in = dialect.SourceOf(text)
	find := func(database, schema, name string) (uint64, bool) {
		t := v.LookupType(database, schema, name)
		if t == nil {
			return 0, false
		}
		return uint64(t.ID), true
	}
	if text, _, err = typing.NameTypes(text, in.Tree, find); err != nil {
		return nil, err
	}
	return statement.Parse(text)
}

// Derive makes a statement of one with calls, which mean what a transaction has made of them; before is what its
// statement sees.
type Derive func(ctx context.Context, tx *catalog.Transaction, before *snapshot.View, calls *statement.Statement,
	dialect string) (*statement.Statement, *Uses, error)

// Followers are the texts that are kept and have a function's body in them.
type Followers struct {
	Derive Derive
	Asked  viewtext.Asked
	Host   Definitions
}

// Definitions are the tables and domains of Followers.
type Definitions interface {
	// Redefined are columns that have another expression in the place of one.
	Redefined(columns *arrow.Schema, of Expression, text string) (*arrow.Schema, error)
	// PutDomain gives a domain other columns.
	PutDomain(tx *catalog.Transaction, domain *catalog.UserType, columns *arrow.Schema) error
	// TypeName is the name of a column's type.
	TypeName(column arrow.Field) (string, error)
}

// follow has what calls a function that was replaced compute what that does now (FN1).
func (f Followers) follow(ctx context.Context, tx *catalog.Transaction, before *snapshot.View,
	replaced *catalog.UserType) error {
	for _, view := range materialized.Queries(tx.Contents()) {
		r := calling.Of(view.Columns)
		if !r.Needs(uint64(replaced.ID)) {
			continue
		}
		err := f.view(ctx, tx, before, view, r)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			e := sqlerror.New("2BP01", "function %s cannot be replaced so: the query of %s %s, which calls it, does not "+
				"bear it", Name(replaced), materialized.Kind(tx.Contents(), view), view.Name).
				WithHint("Drop the view, replace the function, and recreate the view.")
			e.Cause = err
			return e
		}
	}
	return f.expressions(ctx, tx, before, replaced)
}

// view gives a view the query that its calls mean by now.
func (f Followers) view(ctx context.Context, tx *catalog.Transaction, before *snapshot.View, view *catalog.View,
	r *calling.Record) error {
	calls, err := statement.Parse("CREATE VIEW v AS " + r.Text)
	if err != nil {
		return err
	}
	derived, uses, err := f.Derive(ctx, tx, before, calls, r.Dialect)
	if err != nil {
		return err
	}
	if uses == nil {
		return errors.New("its text calls no function by now")
	}
	next := *view
	next.SQL, _ = query(derived.Head)
	shows, err := f.Asked.After(next.SQL)
	if err != nil {
		return err
	}
	if was, err := f.Asked.Before(view.SQL); err == nil && !viewtext.Same(was, shows) {
		return sqlerror.New("42P16", "the view would have other columns")
	}
	if next.Columns, err = calling.Mark(view.Columns, uses.record(tx, r.Text)); err != nil {
		return err
	}
	return materialized.Replace(tx, &next)
}
