package merge

import (
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/engine/cast"
	"github.com/csmsql/csmsql/engine/ingest"
	"github.com/csmsql/csmsql/engine/rewrite"
	"github.com/csmsql/csmsql/engine/snapshot"
	"github.com/csmsql/csmsql/sql/lex"
	"github.com/csmsql/csmsql/sql/sqlerror"
	"github.com/csmsql/csmsql/sql/statement"
)

// Change is what an UPDATE, a DELETE or a MERGE does.
func Change(head any) (rewrite.Change, error) {
	switch head := head.(type) {
	case *statement.Delete:
		return rewrite.OfDelete(head)
	case *statement.Update:
		return rewrite.OfUpdate(head)
	case *statement.Merge:
		return Of(head)
	}
	return nil, sqlerror.New("XX000", "%T changes no rows", head)
}

// Merge is a MERGE as a change of rows: rewrite.Change.
type Merge struct {
	head    *statement.Merge
	alias   string // of the target
	qualify string // the schema of the source, that its name may be written with
}

// Of is what a MERGE does.
func Of(head *statement.Merge) (*Merge, error) {
	m := &Merge{head: head, alias: head.Alias}
	if m.alias == "" {
		m.alias = head.Name.Name
	}
	if head.SourceAlias == head.SourceName.Name {
		m.qualify = head.SourceName.Schema
	}
	if strings.EqualFold(m.alias, head.SourceAlias) {
		err := sqlerror.New("42712", "name %q specified more than once", m.alias)
		err.DetailText = "The name is used both as MERGE target table and data source."
		return nil, err
	}
	if queries(head.On) && m.leaves() {
		return nil, sqlerror.New("0A000", "MERGE … WHEN NOT MATCHED with a query in its ON is not supported").
			WithHint("Ask in the source: USING (SELECT …, EXISTS (…) AS there FROM …) AS s.")
	}
	return m, nil
}

// queries reports whether there is a query in an expression.
func queries(expression string) bool {
	for t := range lex.Client.Tokens(expression) {
		if t.IsAny("select", "values", "table", "from") {
			return true
		}
	}
	return false
}

// leaves reports whether rows of the source that are joined with none are asked for, too.
func (m *Merge) leaves() bool {
	return slices.ContainsFunc(m.head.When, func(w statement.When) bool { return !w.Matched })
}

// side are the clauses about rows that are joined, or about those that are not.
func (m *Merge) side(matched bool) (list []statement.When) {
	for _, w := range m.head.When {
		if w.Matched == matched {
			list = append(list, w)
		}
	}
	return list
}

// Verb implements rewrite.Change.
func (m *Merge) Verb() string { return "MERGE" }

// Target implements rewrite.Change.
func (m *Merge) Target() statement.Name { return m.head.Name }

// Does implements rewrite.Change.
func (m *Merge) Does() (removes, inserts bool) {
	for _, w := range m.head.When {
		removes = removes || w.Action == statement.MergeDelete
		inserts = inserts || w.Action == statement.MergeInsert
	}
	return removes, inserts
}

// Assigns implements rewrite.Change.
func (m *Merge) Assigns(schema *arrow.Schema) func(column string) bool {
	assigned := map[string]bool{}
	for _, w := range m.head.When {
		for _, a := range w.Set {
			assigned[strings.ToLower(a.Column)] = true
		}
	}
	return func(column string) bool {
		i := ingest.Index(schema, column)
		return len(assigned) > 0 && i >= 0 && cast.Generated(schema.Field(i)) != "" || assigned[strings.ToLower(column)]
	}
}

// Numbers implements rewrite.Change.
func (m *Merge) Numbers(version *catalog.TableVersion) *snapshot.Numbers {
	words := []string{m.alias, m.head.Name.String(), m.head.With, m.head.Source, m.head.On}
	for _, w := range m.head.When {
		words = append(words, wordsOf(w))
	}
	return rewrite.NumbersFor(version, strings.Join(words, " "))
}

// wordsOf are all that the user has written of a clause.
func wordsOf(w statement.When) string {
	words := w.Condition
	for _, a := range w.Set {
		words += " " + a.Value
	}
	for _, v := range w.Values {
		words += " " + v.Text
	}
	return words
}

// Conditions implements rewrite.Change.
func (m *Merge) Conditions(version *catalog.TableVersion) ([]rewrite.Condition, error) {
	head, table := m.head, version.Table()
	both := rewrite.TableAs(head.Name, head.Alias) + ", " + head.Source
	list := []rewrite.Condition{{With: head.With, From: both, Place: "JOIN conditions", Expressions: []string{head.On}}}
	for _, w := range head.When {
		from, place := both, "UPDATE"
		if !w.Matched {
			from, place = head.Source, "VALUES"
		}
		var values []string
		for _, a := range w.Set {
			values = append(values, a.Value)
		}
		for _, v := range w.Values {
			values = append(values, v.Text)
		}
		for i := range values {
			values[i] = m.plain(values[i], table)
		}
		list = append(list, rewrite.Condition{
			With: head.With, From: from, Place: "MERGE WHEN conditions", Expressions: []string{w.Condition},
		}, rewrite.Condition{With: head.With, From: from, Place: place, Expressions: values})
	}
	return list, nil
}

// plain are words in which the target and the source have one name each.
func (m *Merge) plain(words string, table catalog.Table) string {
	if m.head.Alias == "" {
		words, _ = rewrite.WithoutSchema(table.Name, words)
	}
	if m.qualify != "" {
		words, _ = rewrite.WithoutSchema(catalog.TableName{Schema: m.qualify, Name: m.head.SourceAlias}, words)
	}
	return words
}
