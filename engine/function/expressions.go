package function

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	pg "github.com/pganalyze/pg_query_go/v6"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/catalog/mention"
	"github.com/csmsql/csmsql/engine/calling"
	"github.com/csmsql/csmsql/engine/cast"
	"github.com/csmsql/csmsql/engine/constraint"
	"github.com/csmsql/csmsql/engine/snapshot"
	"github.com/csmsql/csmsql/sql/dialect"
	"github.com/csmsql/csmsql/sql/inline"
	"github.com/csmsql/csmsql/sql/lex"
	"github.com/csmsql/csmsql/sql/sqlerror"
	"github.com/csmsql/csmsql/sql/statement"
	"github.com/csmsql/csmsql/sql/tree"
)

// Kind is what an expression of a table is for.
type Kind string

// The kinds.
const (
	Default   Kind = "default value for column"
	Generated Kind = "column"
	Check     Kind = "constraint"
)

// expressions visits the expressions of a statement that a table keeps, in their order, empty ones too. It gives a
// statement that has what visit makes of them; others are as they are.
func expressions(head any, visit func(kind Kind, text *string) error) (any, error) {
	var err error
	expression := func(kind Kind, text *string) { err = cmp.Or(err, visit(kind, text)) }
	column := func(c *statement.Column) {
		expression(Default, &c.Default)
		expression(Generated, &c.Generated)
	}
	constraints := func(list []statement.Constraint) []statement.Constraint {
		list = slices.Clone(list)
		for i := range list {
			expression(Check, &list[i].Expression)
		}
		return list
	}
	if other, is := head.(interface{ Alter() *statement.AlterTable }); is {
		head = other.Alter()
	}
	switch of := head.(type) {
	case *statement.CreateTable:
		next := *of
		next.Columns = slices.Clone(of.Columns)
		for i := range next.Columns {
			column(&next.Columns[i])
		}
		next.Constraints = constraints(of.Constraints)
		return &next, err
	case *statement.AlterTable:
		next := *of
		next.Actions = slices.Clone(of.Actions)
		for i := range next.Actions {
			action := &next.Actions[i]
			expression(Default, &action.Default)
			column(&action.Definition)
			action.Constraints = constraints(action.Constraints)
		}
		return &next, err
	}
	return head, nil
}

// defines reports whether a statement defines a table or a domain with expressions that call something.
func defines(parsed *statement.Statement) bool {
	if what, is := kept(parsed.Head); what != "" || !is || parsed.Tree == nil {
		return false
	}
	for m := range tree.All(parsed.Tree.ProtoReflect()) {
		if _, calls := m.Interface().(*pg.FuncCall); calls {
			return true
		}
	}
	return false
}

// define finds the calls of the expressions that a statement has a table keep.
func (u *Uses) define(h Host, parsed *statement.Statement) error {
	u.calls = parsed.Text
	calls, err := u.qualified(h.View)
	if err != nil {
		return err
	}
	needs := map[uint64]bool{}
	if _, err = expressions(calls.Head, func(_ Kind, text *string) error {
		r, err := h.recorded(*text)
		if r != nil {
			for _, number := range r.Functions {
				needs[number] = true
			}
		}
		u.records = append(u.records, r)
		return err
	}); err != nil {
		return err
	}
	alter, _ := calls.Head.(*statement.AlterTable)
	if alter != nil && slices.ContainsFunc(alter.Actions, func(a statement.Action) bool { return a.Using != "" }) {
		return nil // which is not kept
	}
	for _, f := range u.of {
		if !needs[uint64(f.ID)] {
			return sqlerror.New("0A000", "a definition that calls function %s here is not supported", Name(f))
		}
	}
	return nil
}

// recorded is the record of an expression's calls; nil: there are none.
func (h Host) recorded(text string) (*calling.Record, error) {
	in := dialect.SourceOf(before + text)
	if text == "" || in.Tree == nil {
		return nil, nil
	}
	all := &Uses{of: map[catalog.TableName]*catalog.UserType{}}
	if _, made, err := inline.Text(in, h.Dialect, h.find(all)); err != nil || made == nil {
		return nil, dialect.WithoutPosition(err)
	}
	return all.recorded(h.Dialect, text)
}

// recorded is the record of an expression that calls the functions.
func (u *Uses) recorded(in, text string) (*calling.Record, error) {
	r := &calling.Record{Dialect: in, Text: text}
	var list []*catalog.UserType
	for _, t := range u.of {
		list = append(list, t)
	}
	slices.SortFunc(list, func(a, b *catalog.UserType) int { return cmp.Compare(a.ID, b.ID) })
	for _, t := range list {
		r.Functions = append(r.Functions, uint64(t.ID))
	}
	var err error
	r.Means, err = means(list)
	return r, err
}

// means stands for what functions compute: another one would be computed otherwise.
func means(list []*catalog.UserType) (string, error) {
	sum := sha256.New()
	for _, t := range list {
		f, err := Of(t)
		if err != nil {
			return "", err
		}
		if err := json.NewEncoder(sum).Encode(f.Function); err != nil {
			return "", err
		}
	}
	return hex.EncodeToString(sum.Sum(nil)[:16]), nil
}

// Kept is a statement whose expressions have the records of their calls, if a table keeps them; or an error.
func (u *Uses) Kept(head any) any {
	at := 0
	kept, err := expressions(head, func(_ Kind, text *string) error {
		if calling.IsReserved(*text) {
			return sqlerror.New("42939", "a comment that begins as those of the system do is reserved")
		}
		if u == nil || u.records == nil {
			return nil
		}
		if at == len(u.records) {
			return errors.New("the statement has other expressions than its calls")
		}
		*text = u.records[at].Before(*text)
		at++
		return nil
	})
	if err == nil && u != nil && u.records != nil && at != len(u.records) {
		err = errors.New("the statement has fewer expressions than its calls")
	}
	if err != nil {
		return err
	}
	return kept
}

// Expression is one of a table that calls functions.
type Expression struct {
	Kind  Kind
	At    int    // of the column, or of the constraint
	Name  string // of that
	Row   string // what it calls the table
	Calls *calling.Record
}

// Expressions are those of a table's columns that call functions.
func Expressions(columns *arrow.Schema) (list []Expression, err error) {
	add := func(kind Kind, at int, name, row, text string) {
		if r, _ := calling.Split(text); r != nil {
			list = append(list, Expression{kind, at, name, row, r})
		}
	}
	for i, f := range columns.Fields() {
		if f.Metadata.Len() > 0 {
			text, _ := f.Metadata.GetValue(cast.DefaultKey)
			add(Default, i, f.Name, "", text)
			add(Generated, i, f.Name, "", cast.Generated(f))
		}
	}
	constraints, err := constraint.Of(columns)
	for i, k := range constraints {
		add(Check, i, k.Name, k.Table, k.Expression)
	}
	return list, err
}

// Words are how PostgreSQL speaks of it, of a table that is called so.
func (e Expression) Words(table string) string {
	between := " of table "
	if e.Kind == Check {
		between = " on table "
	}
	return string(e.Kind) + " " + dialect.PlainIdentifier(e.Name) + between + table
}

// Hold is an error of columns that a transaction is about to give a table and whose expressions compute what functions
// were before (FN1). It has read those, in the sense of K10.
func Hold(tx *catalog.Transaction, columns *arrow.Schema) error {
	list, err := Expressions(columns)
	if err != nil {
		return err
	}
	if len(list) == 0 {
		return nil
	}
	known := map[uint64]*catalog.UserType{}
	for _, t := range tx.Contents().Functions() {
		known[uint64(t.ID)] = t
	}
	for _, e := range list {
		var functions []*catalog.UserType
		for _, number := range e.Calls.Functions {
			if t := known[number]; t != nil {
				functions = append(functions, t)
				tx.Reads(t.Name)
			}
		}
		now, err := means(functions)
		if err != nil {
			return err
		}
		if len(functions) < len(e.Calls.Functions) || now != e.Calls.Means {
			e := sqlerror.New("0A000", "%s %s calls functions that are others by now", e.Kind, e.Name)
			e.RoutineName = "RevalidateCachedQuery"
			return e
		}
	}
	return nil
}

// expressions has those of tables and domains compute what a function that was replaced does now (FN1). Rows stay as
// they are, as in PostgreSQL.
func (f Followers) expressions(ctx context.Context, tx *catalog.Transaction, before *snapshot.View,
	replaced *catalog.UserType) error {
	of := mention.Mention{Kind: mention.Function, Number: uint64(replaced.ID)}
	for _, version := range tx.Contents().Mentioning(of) {
		table := version.Table()
		name := "table " + table.Name.String()
		columns, err := f.redefined(ctx, tx, before, replaced, table.Columns, name, func(e Expression) string {
			row := cmp.Or(e.Row, table.Name.Name)
			return " FROM " + lex.Quote(table.Name.Schema) + "." + lex.Quote(table.Name.Name) + " AS " + lex.Quote(row)
		})
		if err == nil {
			err = tx.Redeclare(table.Name, columns)
		}
		if err == nil {
			err = Hold(tx, columns)
		}
		if err != nil {
			return err
		}
	}
	for _, t := range tx.Contents().Types() {
		if t.Domain == nil {
			continue
		}
		name := "domain " + t.Name.String()
		base, err := f.Host.TypeName(t.Domain.Field(0))
		if err != nil {
			return err
		}
		columns, err := f.redefined(ctx, tx, before, replaced, t.Domain, name, func(Expression) string {
			return " FROM (SELECT CAST(NULL AS " + base + ") AS " + lex.Quote(statement.DomainValue) + ") AS csm_domain"
		})
		if err == nil && columns != t.Domain {
			err = f.Host.PutDomain(tx, t, columns)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// redefined are columns whose expressions compute what a function does now; row is the FROM of a kind of them.
func (f Followers) redefined(ctx context.Context, tx *catalog.Transaction, before *snapshot.View,
	replaced *catalog.UserType, columns *arrow.Schema, of string, row func(Expression) string) (*arrow.Schema, error) {
	list, err := Expressions(columns)
	if err != nil {
		return nil, err
	}
	for _, e := range list {
		if !e.Calls.Needs(uint64(replaced.ID)) {
			continue
		}
		from := ""
		if e.Kind != Default {
			from = row(e)
		}
		text, err := f.expression(ctx, tx, before, from, e)
		if err == nil {
			columns, err = f.Host.Redefined(columns, e, text)
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err != nil {
			failed := sqlerror.New("2BP01", "function %s cannot be replaced so: %s %s of %s, which calls it, does not "+
				"bear it", Name(replaced), e.Kind, e.Name, of).WithHint("Drop that first, and say it again behind.")
			failed.Cause = err
			return nil, failed
		}
	}
	return columns, nil
}

// expression is one that computes what its calls mean by now.
func (f Followers) expression(ctx context.Context, tx *catalog.Transaction, before *snapshot.View, from string,
	e Expression) (string, error) {
	head, behind := "SELECT 1"+from+" WHERE (", "\n) IS NOT NULL"
	calls, err := statement.Parse(head + e.Calls.Text + behind)
	if err != nil {
		return "", err
	}
	derived, uses, err := f.Derive(ctx, tx, before, calls, e.Calls.Dialect)
	if err != nil {
		return "", err
	}
	text, ok := strings.CutPrefix(derived.Text, head)
	text, ends := strings.CutSuffix(text, behind)
	if uses == nil || !ok || !ends {
		return "", errors.New("its text calls no function by now")
	}
	r, err := uses.recorded(e.Calls.Dialect, e.Calls.Text)
	return r.Before(text), err
}
