package conflict

import (
	"fmt"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/csmsql/csmsql/engine/cast"
	"github.com/csmsql/csmsql/engine/columntype"
	"github.com/csmsql/csmsql/engine/rewrite"
	"github.com/csmsql/csmsql/exec/duckdb"
	"github.com/csmsql/csmsql/sql/dialect"
	"github.com/csmsql/csmsql/sql/sqlerror"
	"github.com/csmsql/csmsql/sql/statement"
)

// DO UPDATE asks DuckDB what pairs become. Their rows have one column for each of the table's, one for each of the
// proposed row's, and last the pair's number.
//
//	SELECT CAST((value) AS type), t.b, …, p.csm_pair FROM csm_scan(n) AS p(…),
//	  LATERAL (SELECT p.csm_pair0 AS a, …) AS t, LATERAL (SELECT p.csm_pair9 AS a, …) AS excluded WHERE (condition)

// excluded is what proposed rows are called.
const excluded = "excluded"

// words are all that the user has written of what is set.
func (r *Rule) words() string {
	words := r.head.Conflict.Where
	for _, a := range r.head.Conflict.Set {
		words += " " + a.Value
	}
	return words
}

// with is the WITH of the statement, for sub-queries in what is set.
func (r *Rule) with() (string, error) {
	if r.head.With == "" || !strings.Contains(strings.ToLower(r.words()), "select") {
		return "", nil
	}
	if name := dialect.VolatileIn(r.head.With); name != "" {
		return "", sqlerror.New("0A000",
			"ON CONFLICT DO UPDATE with a query, behind a WITH that calls %s(), is not supported", name).
			WithHint("The WITH would be asked twice. Store its rows in a table first.")
	}
	return r.head.With + " ", nil
}

// alias is what the words call the table.
func (r *Rule) alias() string {
	if r.head.Alias != "" {
		return r.head.Alias
	}
	return r.table.Name.Name
}

// column is the name of a column of pairs: no other text has such a name.
func (r *Rule) column() string {
	words := strings.ToLower(r.words() + r.alias() + r.head.With)
	for _, f := range r.table.Columns.Fields() {
		words += " " + strings.ToLower(f.Name)
	}
	name := "csm_pair"
	for strings.Contains(words, name) {
		name += "_"
	}
	return name
}

// from are pairs as the words see them.
func (r *Rule) from(pairs string) string {
	name, n := r.column(), r.table.Columns.NumFields()
	columns := make([]string, 2*n, 2*n+1)
	for i := range columns {
		columns[i] = duckdb.QuoteIdentifier(fmt.Sprint(name, i))
	}
	side := func(columns []string, alias string) string {
		list := make([]string, n)
		for i, f := range r.table.Columns.Fields() {
			list[i] = name + "." + columns[i] + " AS " + duckdb.QuoteIdentifier(f.Name)
		}
		return "LATERAL (SELECT " + strings.Join(list, ", ") + ") AS " + duckdb.QuoteIdentifier(alias)
	}
	return pairs + " AS " + name + "(" + strings.Join(append(columns, name), ", ") + "), " +
		side(columns[:n], r.alias()) + ", " + side(columns[n:], excluded)
}

// noPairs is a query of a pair's columns, all NULL.
func (r *Rule) noPairs() (string, error) {
	n := r.table.Columns.NumFields()
	list := make([]string, 2*n, 2*n+1)
	for i, f := range r.table.Columns.Fields() {
		name, err := columntype.SQL(f)
		if err != nil {
			return "", err
		}
		list[i] = "CAST(NULL AS " + name + ")"
		list[n+i] = list[i]
	}
	return "(SELECT " + strings.Join(append(list, "CAST(NULL AS BIGINT)"), ", ") + ")", nil
}

// update is the change as an UPDATE of the row that is there.
func (r *Rule) update() *statement.Update {
	return &statement.Update{Name: r.head.Name, Alias: r.head.Alias, Set: r.head.Conflict.Set}
}

// condition is the WHERE, in whose words the table has one name.
func (r *Rule) condition() string {
	if r.head.Alias != "" {
		return r.head.Conflict.Where
	}
	text, _ := rewrite.WithoutSchema(r.table.Name, r.head.Conflict.Where)
	return text
}

// query gives what pairs become, of those for which the condition holds, and their numbers.
func (r *Rule) query(pairs string) (string, error) {
	with, err := r.with()
	if err != nil {
		return "", err
	}
	list, err := rewrite.Updated(r.update(), r.table, duckdb.QuoteIdentifier(r.alias()))
	if err != nil {
		return "", err
	}
	name := r.column()
	from := r.from(pairs)
	if where := r.condition(); where != "" {
		from += " WHERE (" + where + "\n)"
	}
	rows := rewrite.RowsOf(r.update(), r.table.Name)
	text := rewrite.Select(with, list, rows, []string{name + "." + name}, from)
	fields := append(r.table.Columns.Fields(), arrow.Field{Name: name, Type: arrow.PrimitiveTypes.Int64})
	columns := make([]string, len(fields))
	for i, f := range fields {
		columns[i] = f.Name
	}
	src, err := cast.Query(text, arrow.NewSchema(fields, nil), columns)
	return src.Text, err
}

// question is what there is to be asked of DuckDB before rows are known: a query of no pair, and what is said of one
// row each.
func (r *Rule) question() (text string, conditions []rewrite.Condition, err error) {
	if strings.EqualFold(r.alias(), excluded) {
		return "", nil, sqlerror.New("42712", "table name %q specified more than once", excluded)
	}
	none, err := r.noPairs()
	if err != nil {
		return "", nil, err
	}
	if text, err = r.query(none); err != nil {
		return "", nil, err
	}
	with, err := r.with()
	if err != nil {
		return "", nil, err
	}
	set := rewrite.RowsOf(r.update(), r.table.Name)
	for _, a := range r.head.Conflict.Set {
		if a.Row != nil {
			continue
		}
		value := a.Value
		if r.head.Alias == "" {
			value, _ = rewrite.WithoutSchema(r.table.Name, a.Value)
		}
		set = append(set, value)
	}
	from := r.from(none)
	return text, []rewrite.Condition{
		{With: with, From: from, Place: "UPDATE", Expressions: set},
		{With: with, From: from, Place: "WHERE", Expressions: []string{r.condition()}},
	}, nil
}
