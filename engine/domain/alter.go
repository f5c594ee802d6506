package domain

import (
	"context"
	"fmt"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/catalog/mention"
	"github.com/csmsql/csmsql/engine/alteration"
	"github.com/csmsql/csmsql/engine/calling"
	"github.com/csmsql/csmsql/engine/cast"
	"github.com/csmsql/csmsql/engine/constraint"
	"github.com/csmsql/csmsql/engine/definition"
	"github.com/csmsql/csmsql/engine/function"
	"github.com/csmsql/csmsql/engine/namedtype"
	"github.com/csmsql/csmsql/engine/snapshot"
	"github.com/csmsql/csmsql/exec/duckdb"
	"github.com/csmsql/csmsql/internal/mark"
	"github.com/csmsql/csmsql/sql/sqlerror"
	"github.com/csmsql/csmsql/sql/statement"
)

// alter is one ALTER DOMAIN.
type alter struct {
	alteration.Host
	tx     *catalog.Transaction
	domain *catalog.UserType
	called string                  // in the statement
	column arrow.Field             // of the domain, as it is to be
	checks []constraint.Constraint // as they are to be
}

// Alter is ALTER DOMAIN about what a domain says of values, in the transaction tx, whose contents v shows.
func Alter(ctx context.Context, h alteration.Host, tx *catalog.Transaction, v *snapshot.View,
	head *statement.AlterTable) error {
	t := v.LookupType(head.Name.Database, head.Name.Schema, head.Name.Name)
	if t == nil {
		e := sqlerror.New("42704", "type %q does not exist", head.Name.String())
		e.At = head.Name.At
		return e
	}
	if t.Domain == nil {
		return sqlerror.New("42809", "%s is not a domain", t.Name.Name)
	}
	list, err := constraint.Of(t.Domain)
	if err != nil {
		return err
	}
	a := &alter{h, tx, t, head.Name.String(), t.Domain.Field(0), list}
	action := head.Actions[0]
	switch action.Kind {
	case statement.SetDefault, statement.DropDefault:
		return a.setDefault(h.Definitions(v), action.Default)
	case statement.SetNotNull, statement.DropNotNull:
		return a.setNotNull(ctx, action.Kind == statement.SetNotNull)
	case statement.AddKey:
		return a.add(ctx, h.Definitions(v), action.Constraints[0])
	}
	at := a.check(action.Constraint)
	if at < 0 {
		return a.missing(action)
	}
	switch action.Kind {
	case statement.RemoveConstraint:
		a.checks = slices.Delete(a.checks, at, at+1)
		return a.put()
	case statement.RenameConstraint:
		if a.check(action.To) >= 0 {
			return sqlerror.New("42710", "constraint %q for domain %s already exists", action.To, t.Name.Name)
		}
		a.checks[at].Born, a.checks[at].Name = a.checks[at].FirstName(), action.To
		return a.put()
	case statement.ValidateConstraint:
		if !a.checks[at].NotValid {
			return nil
		}
		a.checks[at].NotValid = false
		if err := a.put(); err != nil {
			return err
		}
		return a.holds(ctx, a.checks[at])
	}
	return sqlerror.New("0A000", "ALTER DOMAIN of this kind is not supported")
}

// check is where a check is among the domain's; -1: there is none.
func (a *alter) check(name string) int {
	return slices.IndexFunc(a.checks, func(k constraint.Constraint) bool { return k.Name == name })
}

// missing says that the domain has no such check.
func (a *alter) missing(action statement.Action) error {
	switch {
	case action.Kind == statement.RenameConstraint:
		return sqlerror.New("42704", "constraint %q for domain %s does not exist", action.Constraint,
			a.domain.Name.Name)
	case action.Exists:
		a.Notice(fmt.Sprintf("constraint %q of domain %q does not exist, skipping", action.Constraint, a.called), "")
		return nil
	}
	return sqlerror.New("42704", "constraint %q of domain %q does not exist", action.Constraint, a.called)
}

// put gives the domain what it is to be, and the tables that have columns of it.
func (a *alter) put() (err error) {
	next := namedtype.Clone(a.domain)
	if next.Domain, err = definition.DomainOf(a.column, a.checks); err != nil {
		return err
	}
	if err := function.Hold(a.tx, next.Domain); err != nil {
		return err
	}
	return namedtype.PutDomain(a.tx, a.domain.Name, next)
}

// setDefault gives the domain a default, or none, and the columns of it that have the domain's.
func (a *alter) setDefault(r *definition.Reader, expression string) (err error) {
	if a.column, err = r.DomainDefault(a.column, expression); err != nil {
		return err
	}
	if err := a.put(); err != nil {
		return err
	}
	value, _ := cast.Default(a.column)
	return a.columns(func(v *catalog.TableVersion, at int) error {
		columns := v.Table().Columns
		fields, meta := columns.Fields(), columns.Metadata()
		own, _ := cast.Default(fields[at])
		if own == constraint.DomainDefault(fields[at]) {
			fields[at].Metadata = mark.WithAny(fields[at].Metadata, cast.DefaultKey, value)
		}
		fields[at] = constraint.InDomain(fields[at], uint64(a.domain.ID), value)
		return a.tx.Redeclare(v.Table().Name, arrow.NewSchema(fields, &meta))
	})
}

// setNotNull has the domain allow NULL, or not.
func (a *alter) setNotNull(ctx context.Context, notNull bool) error {
	if a.column.Nullable == !notNull {
		return nil
	}
	a.column.Nullable = !notNull
	if err := a.put(); err != nil || !notNull {
		return err
	}
	return a.holds(ctx, constraint.Constraint{Expression: statement.DomainValue + " IS NOT NULL", State: "23502"})
}

// add gives the domain a check.
func (a *alter) add(ctx context.Context, r *definition.Reader, w statement.Constraint) error {
	notValid := w.NotChecked
	w.NotChecked = false
	k, err := r.DomainCheck(a.domain.Name, a.domain.Domain, a.checks, w)
	if err != nil {
		return err
	}
	k.NotValid = notValid
	k = k.Identified(a.checks)
	a.checks = append(a.checks, k)
	if err := a.put(); err != nil || notValid {
		return err
	}
	return a.holds(ctx, k)
}

// columns visits the columns of the domain, as the transaction has them.
func (a *alter) columns(visit func(v *catalog.TableVersion, at int) error) error {
	of := mention.Mention{Kind: mention.Type, Number: uint64(a.domain.ID)}
	for _, v := range a.tx.Contents().Mentioning(of) {
		for at, f := range v.Table().Columns.Fields() {
			if !namedtype.InDomain(f, a.domain) {
				continue
			}
			now, _ := a.tx.Contents().Table(v.Table().Name) // another column of it may have been changed
			if err := visit(now, at); err != nil {
				return err
			}
		}
	}
	return nil
}

// holds is an error if a row of a table has a value of which a check is false.
func (a *alter) holds(ctx context.Context, k constraint.Constraint) error {
	seen := a.Seeing(a.tx.Contents())
	defer seen.Release()
	return a.columns(func(v *catalog.TableVersion, at int) error {
		if v.Rows() == 0 {
			return nil
		}
		name, column := v.Table().Name, v.Table().Columns.Field(at).Name
		text := "SELECT 1 AS found FROM " + duckdb.QuoteIdentifier(name.Schema) + "." +
			duckdb.QuoteIdentifier(name.Name) + " AS " + duckdb.QuoteIdentifier(name.Name) + " WHERE NOT (" +
			constraint.OfDomain(calling.Computes(k.Expression), duckdb.QuoteIdentifier(column)) + "\n) LIMIT 1"
		found := false
		err := a.Each(ctx, seen, text, func(batch arrow.RecordBatch) error {
			found = found || batch.NumRows() > 0
			return nil
		})
		if err != nil || !found {
			return err
		}
		state, what := "23514", "values that violate the new constraint"
		if k.State != "" {
			state, what = k.State, "null values"
		}
		e := sqlerror.New(state, "column %q of table %q contains %s", column, name.Name, what)
		e.Object = sqlerror.Object{Schema: name.Schema, Table: name.Name, Column: column}
		return e
	})
}
