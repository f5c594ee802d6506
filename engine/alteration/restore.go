package alteration

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/catalog/hugetable"
	"github.com/csmsql/csmsql/engine/cast"
	"github.com/csmsql/csmsql/engine/columntype"
	"github.com/csmsql/csmsql/engine/constraint"
	"github.com/csmsql/csmsql/engine/definition"
	"github.com/csmsql/csmsql/engine/function"
	"github.com/csmsql/csmsql/engine/materialized"
	"github.com/csmsql/csmsql/engine/namedtype"
	"github.com/csmsql/csmsql/engine/placement"
	"github.com/csmsql/csmsql/engine/sequence"
	"github.com/csmsql/csmsql/engine/snapshot"
	"github.com/csmsql/csmsql/internal/enumeration"
	"github.com/csmsql/csmsql/sql/past"
	"github.com/csmsql/csmsql/sql/sqlerror"
	"github.com/csmsql/csmsql/sql/statement"
)

// ALTER TABLE … RESTORE TO makes a table what a former version of it is. Where the columns are still those of then, all
// that is declared of them stays as it is now, and the rows are held to it. Where they were altered since, they are
// those of then with all that was declared, and nothing may be there that means the table as it is now.

// restore makes the table what it was.
func (a *alteration) restore(ctx context.Context, action statement.Action) error {
	former, err := a.v.Former(a.version, past.Reference{
		Schema: a.table.Name.Schema, Name: a.table.Name.Name, Number: action.Version, Time: action.Time,
	})
	if err != nil {
		return err
	}
	if err := a.liesThere(former); err != nil {
		return err
	}
	same, err := hugetable.SameColumns(former, a.version)
	if err != nil {
		return err
	}
	same = same && slices.EqualFunc(former.Table().Columns.Fields(), a.table.Columns.Fields(), declaredAlike)
	if !same {
		if err := a.altered(ctx, former); err != nil {
			return err
		}
	}
	if err := a.tx.Restore(a.table.Name, former); err != nil {
		if errors.Is(err, catalog.ErrNoVersion) {
			err = sqlerror.New("72000", "table %q has no version %d any more", a.table.Name.String(), former.Version())
		}
		return err
	}
	now, _ := a.tx.Contents().Table(a.table.Name)
	columns, err := a.ofThen(now.Table().Columns)
	if err != nil {
		return err
	}
	if same {
		columns = now.DeclaredAs(a.table.Columns)
	}
	a.tx.Reads(definition.Sequences(a.tx.Contents(), columns)...)
	a.tx.Reads(namedtype.Uses(a.tx.Contents(), columns)...)
	if err := function.Hold(a.tx, columns); err != nil {
		return err
	}
	if err := a.tx.Redeclare(a.table.Name, columns); err != nil || !same {
		return err
	}
	return a.heldTo(ctx, columns, former)
}

// declaredAlike reports whether two columns have one declared type: rows of then may be longer than varchar(n) of now.
func declaredAlike(was, is arrow.Field) bool {
	then, _ := columntype.Of(was)
	now, _ := columntype.Of(is)
	return then == now
}

// liesThere is an error if rows of a version lie otherwise than plans could rely on.
func (a *alteration) liesThere(former *catalog.TableVersion) error {
	p, err := placement.Parse(a.table.Placement)
	if err == nil && p.Dividing {
		return sqlerror.New("55000", "table %q is being divided: its placement is %s", a.table.Name.Name, p.String()).
			WithHint("ALTER TABLE … SET PLACEMENT ends that, or goes on with it.")
	}
	if err != nil || former.Table().Placement == a.table.Placement || p.Kind != placement.Hash {
		return err
	}
	return sqlerror.New("0A000", "table %q has been placed by %s since version %d", a.table.Name.Name, p.String(),
		former.Version()).WithHint("ALTER TABLE … SET PLACEMENT 'local' first, and place it again then.")
}

// heldTo holds rows of a former version to what is declared now and was not then.
func (a *alteration) heldTo(ctx context.Context, columns *arrow.Schema, former *catalog.TableVersion) error {
	before, err := constraint.Of(former.Table().Columns)
	if err != nil {
		return err
	}
	after := a.checks
	known := slices.DeleteFunc(slices.Clone(before), func(was constraint.Constraint) bool {
		return !slices.ContainsFunc(after, func(is constraint.Constraint) bool {
			return is.Name == was.Name && is.Expression == was.Expression
		})
	})
	a.table.Columns = former.Table().Columns
	if err := a.holds(ctx, columns, known); err != nil {
		return err
	}
	return a.order(ctx, columns, before)
}

// altered is an error if columns as they were do not go with what is there now.
func (a *alteration) altered(ctx context.Context, former *catalog.TableVersion) error {
	was := former.Table().Columns
	list, err := constraint.Of(was)
	if err != nil {
		return err
	}
	needs, err := definition.ReferencesTo(a.tx.Contents(), []catalog.TableName{a.table.Name})
	if err != nil {
		return err
	}
	foreign := func(k constraint.Constraint) bool { return k.Kind == constraint.ForeignKey }
	if len(needs) > 0 || slices.ContainsFunc(list, foreign) || slices.ContainsFunc(a.checks, foreign) {
		return a.otherwise(former, "it has foreign keys, or others refer to it")
	}
	w := a.Views(a.v)
	for _, view := range materialized.Queries(a.v.Contents) {
		if !strings.Contains(strings.ToLower(materialized.Calls(view)), strings.ToLower(a.table.Name.Name)) {
			continue
		}
		uses, err := w.UsesOf(ctx, view, a.table.Name)
		if err != nil {
			return err
		}
		if uses.Reads {
			return a.otherwise(former, a.words(&reader{view: view})+" reads it")
		}
	}
	if own, err := w.ReadsOwn(ctx, a.table.Name); err != nil || own != "" {
		if err == nil {
			err = a.otherwise(former, fmt.Sprintf("temporary view %s reads it", own))
		}
		return err
	}
	if err := a.named(list); err != nil {
		return err
	}
	return a.counted(former)
}

// otherwise is the error of a table whose columns were altered.
func (a *alteration) otherwise(former *catalog.TableVersion, why string) error {
	e := sqlerror.New("0A000",
		"columns of table %s have been altered since version %d, and cannot be what they were: %s",
		a.table.Name.Name, former.Version(), why)
	return e.WithHint(fmt.Sprintf("CREATE TABLE … AS SELECT * FROM %s AT (VERSION => %d) makes another table of it.",
		a.table.Name.Name, former.Version()))
}

// named is an error if a relation has got the name of an index that the table had.
func (a *alteration) named(list []constraint.Constraint) error {
	for _, k := range list {
		if !k.Unique() && !k.IsIndex() {
			continue
		}
		full := catalog.TableName{Schema: a.table.Name.Schema, Name: k.Name}
		place, err := constraint.IndexNamed(a.tx.Contents(), full)
		if err != nil {
			return err
		}
		if place != nil && place.Table.Table().ID == a.table.ID {
			continue
		}
		if taken, err := constraint.Taken(a.tx.Contents(), full); err != nil || taken {
			if err == nil {
				err = sqlerror.New("42P07", "relation %q already exists", k.Name)
			}
			return err
		}
	}
	return nil
}

// counted is an error unless the sequences are there by which the columns of then count, and no others.
func (a *alteration) counted(former *catalog.TableVersion) error {
	contents := a.tx.Contents()
	identity := map[string]bool{}
	for _, f := range former.Table().Columns.Fields() {
		text, _ := f.Metadata.GetValue(cast.DefaultKey)
		for _, number := range sequence.Calls(text) {
			if sequence.Numbered(contents, number) == nil {
				return a.otherwise(former, fmt.Sprintf("the sequence of column %s is gone", f.Name))
			}
		}
		identity[f.Name] = cast.Identity(f) != ""
		if t := enumeration.Of(f); t != nil {
			if _, ok := contents.TypeOf(catalog.TableID(t.Number())); !ok {
				return a.otherwise(former, fmt.Sprintf("the type of column %s is gone", f.Name))
			}
		}
		if number, of := constraint.DomainOf(f); of {
			if _, ok := contents.TypeOf(catalog.TableID(number)); !ok {
				return a.otherwise(former, fmt.Sprintf("the domain of column %s is gone", f.Name))
			}
		}
	}
	if column, err := namedtype.Altered(contents, former.Table().Columns); column != "" || err != nil {
		return cmp.Or(err, a.otherwise(former, fmt.Sprintf("the domain of column %s has been altered", column)))
	}
	for _, view := range sequence.OwnedBy(contents, a.table.ID, "") {
		if d, _ := sequence.Of(view); d.Identity && !identity[d.Column] {
			return a.otherwise(former, fmt.Sprintf("column %s was no identity column", d.Column))
		}
	}
	return nil
}

// ofThen are the columns of a former version with what others have put on the table's record since.
func (a *alteration) ofThen(columns *arrow.Schema) (*arrow.Schema, error) {
	tables, err := constraint.Referencing(a.table.Columns)
	if err != nil {
		return nil, err
	}
	columns = snapshot.InTypesOf(a.tx.Contents(), columns)
	if len(tables) == 0 {
		return columns, nil
	}
	return constraint.MarkReferencing(columns, tables)
}
