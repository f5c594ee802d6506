package namedtype

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/catalog/mention"
	"github.com/csmsql/csmsql/engine/calling"
	"github.com/csmsql/csmsql/engine/cast"
	"github.com/csmsql/csmsql/engine/columntype"
	"github.com/csmsql/csmsql/engine/constraint"
	"github.com/csmsql/csmsql/engine/snapshot"
	"github.com/csmsql/csmsql/exec/duckdb"
	"github.com/csmsql/csmsql/internal/enumeration"
	"github.com/csmsql/csmsql/sql/dialect"
	"github.com/csmsql/csmsql/sql/edit"
	"github.com/csmsql/csmsql/sql/inline"
	"github.com/csmsql/csmsql/sql/lex"
	"github.com/csmsql/csmsql/sql/sqlerror"
	"github.com/csmsql/csmsql/sql/statement"
	"github.com/csmsql/csmsql/sql/typing"
)

// A cast to a domain is one to its base type, and then holds the value to the domain: as a function of DuckDB's, which
// the text calls by the domain's number and which is written into it when it is planned.

// value is what that function calls its parameter.
const value = "csm_value"

// held is the function of a domain, an error of a value that the domain does not allow; false: it cannot be read.
func held(t *catalog.UserType) (function string, ok bool) {
	list, err := Demands(t)
	if err != nil {
		return "", false
	}
	var cases strings.Builder
	for _, k := range list {
		fmt.Fprintf(&cases, " WHEN NOT (%s\n) THEN error(%s)",
			dialect.Expression(constraint.OfDomain(calling.Computes(k.Expression), value)),
			duckdb.QuoteLiteral(k.State+": "+k.Says))
	}
	return "lambda " + value + ": CASE" + cases.String() + " ELSE " + value + " END", true
}

// Demands are what a domain demands of values, in the order in which PostgreSQL asks: State and Says are the error of
// a value that it does not allow.
func Demands(t *catalog.UserType) ([]constraint.Constraint, error) {
	list, err := constraint.Of(t.Domain)
	if err != nil {
		return nil, err
	}
	slices.SortFunc(list, func(a, b constraint.Constraint) int { return cmp.Compare(a.Name, b.Name) })
	for i := range list {
		list[i].State = "23514"
		list[i].Says = fmt.Sprintf("value for domain %s violates check constraint %q", t.Name.Name, list[i].Name)
	}
	if !t.Domain.Field(0).Nullable {
		list = slices.Insert(list, 0, constraint.Constraint{
			Kind: constraint.Check, Expression: statement.DomainValue + " IS NOT NULL",
			State: "23502", Says: fmt.Sprintf("domain %s does not allow null values", t.Name.Name),
		})
	}
	return list, nil
}

// WithDomains are constraints with those of the domains of a table's columns which are not among them.
func WithDomains(contents *catalog.Contents, table string, schema *arrow.Schema,
	list []constraint.Constraint) ([]constraint.Constraint, error) {
	for _, f := range schema.Fields() {
		number, ok := constraint.DomainOf(f)
		if !ok || slices.ContainsFunc(list, func(k constraint.Constraint) bool {
			return k.Domain == number && k.Columns[0] == f.Name
		}) {
			continue
		}
		t, ok := contents.TypeOf(catalog.TableID(number))
		if !ok || t.Domain == nil {
			return nil, sqlerror.New("42704", "the domain of column %q does not exist", f.Name)
		}
		demands, err := Demands(t)
		if err != nil {
			return nil, err
		}
		for _, k := range demands {
			list = append(list, constraint.Constraint{
				Kind: constraint.Check, Domain: number, Columns: []string{f.Name}, Table: table,
				Name:       strings.TrimSpace(fmt.Sprintf("%d %s %s", number, f.Name, k.Name)),
				Expression: constraint.OfDomain(calling.Computes(k.Expression), duckdb.QuoteIdentifier(f.Name)),
				State:      k.State, Says: k.Says,
			})
		}
	}
	return list, nil
}

// PutDomain puts another state of a domain in its place, and what it demands into the tables that have columns of it
// (DM1): a transaction that writes to one of them meanwhile has not seen that, so that one of the two is an error.
func PutDomain(tx *catalog.Transaction, from catalog.TableName, is *catalog.UserType) error {
	if err := tx.RedefineType(from, is); err != nil {
		return err
	}
	for _, v := range tx.Contents().Mentioning(mention.Mention{Kind: mention.Type, Number: uint64(is.ID)}) {
		table := v.Table()
		if !slices.ContainsFunc(table.Columns.Fields(), func(f arrow.Field) bool { return InDomain(f, is) }) {
			continue
		}
		list, err := constraint.Of(table.Columns)
		if err != nil {
			return err
		}
		list = slices.DeleteFunc(list, func(k constraint.Constraint) bool { return k.Domain == uint64(is.ID) })
		if list, err = WithDomains(tx.Contents(), table.Name.Name, table.Columns, list); err != nil {
			return err
		}
		columns, err := constraint.Mark(table.Columns, list)
		if err != nil {
			return err
		}
		if err := tx.Redeclare(table.Name, columns); err != nil {
			return err
		}
	}
	return nil
}

// Altered is a column of a former version of a table whose domain says something else of it by now; empty: none.
func Altered(contents *catalog.Contents, columns *arrow.Schema) (column string, err error) {
	had, err := constraint.Of(columns)
	if err != nil {
		return "", err
	}
	has, err := WithDomains(contents, "", columns, nil)
	if err != nil {
		return "", err
	}
	had = slices.DeleteFunc(had, func(k constraint.Constraint) bool { return k.Domain == 0 })
	for _, lists := range [][2][]constraint.Constraint{{had, has}, {has, had}} {
		for _, k := range lists[0] {
			if !slices.ContainsFunc(lists[1], func(o constraint.Constraint) bool {
				return o.Name == k.Name && o.Expression == k.Expression && o.Says == k.Says
			}) {
				return k.Columns[0], nil
			}
		}
	}
	for _, f := range columns.Fields() {
		if number, of := constraint.DomainOf(f); of {
			t, _ := contents.TypeOf(catalog.TableID(number)) // or WithDomains has failed
			if value, _ := cast.Default(t.Domain.Field(0)); value != constraint.DomainDefault(f) {
				return f.Name, nil
			}
		}
	}
	return "", nil
}

// InDomain reports whether a column is one of a domain.
func InDomain(f arrow.Field, t *catalog.UserType) bool {
	number, ok := constraint.DomainOf(f)
	return ok && number == uint64(t.ID)
}

// domains finds the domains that a statement sees, on which it depends.
func (r Reading) domains(number uint64) (*inline.Domain, error) {
	t, ok := r.View.Contents.TypeOf(catalog.TableID(number))
	if !ok {
		return nil, sqlerror.New("42704", "a type that the statement names has been dropped").
			WithHint("Prepare the statement again.")
	}
	if t.Domain == nil {
		return nil, nil
	}
	r.View.Reads.Note(t.Name.Schema, t.Name.Name)
	list, err := Demands(t)
	if err != nil {
		return nil, sqlerror.New("XX001", "domain %q: %v", t.Name.Name, err)
	}
	f := t.Domain.Field(0)
	name, err := columntype.SQL(f)
	if err != nil {
		return nil, err
	}
	if declared, ok := columntype.Of(f); ok {
		name = declared.String()
	}
	base := inline.Of(name)
	const before = "SELECT "
	given, _, err := dialect.Given(lex.Client.Text(before+base.Cast), dialect.PostgresName)
	if err != nil {
		return nil, err
	}
	base.Cast = strings.TrimPrefix(given.SQL, before)
	return &inline.Domain{Name: t.Name.Name, Base: base, Free: len(list) == 0}, nil
}

// casts is a text with what casts to domains do for the casts.
func (r Reading) casts(in dialect.Source) (dialect.Source, edit.List, error) {
	if !strings.Contains(in.Text(), enumeration.NamePrefix) {
		return in, nil, nil
	}
	text, made, err := inline.Casts(in, r.domains)
	if err != nil || made == nil {
		return in, nil, err
	}
	return dialect.SourceOf(text), made, nil
}

// refuseDomains is an error of a statement that is kept, or a part of which is, and that names a domain: it would not
// be what the domain is later.
func refuseDomains(contents *catalog.Contents, head any, text string) error {
	if what := keeps(head); what != "" {
		return RefuseDomains(contents, what, text)
	}
	return nil
}

// refuseDomains is that of an expression of a table, which may name them by their names.
func (e Expressions) refuseDomains(expression string) error {
	const before = "SELECT "
	in := dialect.SourceOf(before + expression)
	if in.Tree == nil {
		return nil // the caller that keeps the expression asks what is wrong with it
	}
	text, _, err := typing.NameTypes(in.Text(), in.Tree, Finder(e.View, snapshot.Temporary{}))
	if err != nil {
		return dialect.WithoutPosition(err)
	}
	return RefuseDomains(e.View.Contents, "a default or a constraint", text)
}

// RefuseDomains is an error of what names a domain in a text that is kept.
func RefuseDomains(contents *catalog.Contents, what, text string) error {
	for _, t := range contents.Types() {
		if t.Domain != nil && calls(text, t) {
			return sqlerror.New("0A000", "%s that names domain %q is not supported", what, t.Name.Name).
				WithHint("Write the domain's own type; columns of the domain are held to it.")
		}
	}
	return nil
}

// keeps is what a statement makes of its text that stays; empty: nothing. What tables keep of theirs their definition
// looks at.
func keeps(head any) string {
	switch head := head.(type) {
	case *statement.CreateView:
		return "a view"
	case *statement.CreateTableAs:
		if head.Materialized {
			return "a materialized view"
		}
	case *statement.CreateTable:
		if head.Temporary {
			return "a temporary table"
		}
	case *statement.CreateIndex:
		return "an index"
	case *statement.Private:
		if head.Verb == "create" {
			return "a temporary " + strings.ToLower(head.Kind)
		}
	}
	return ""
}
