package rewrite

import (
	"context"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/engine/cast"
	"github.com/csmsql/csmsql/engine/check"
	"github.com/csmsql/csmsql/engine/columntype"
	"github.com/csmsql/csmsql/engine/ingest"
	"github.com/csmsql/csmsql/exec/duckdb"
	"github.com/csmsql/csmsql/sql/dialect"
	"github.com/csmsql/csmsql/sql/edit"
	"github.com/csmsql/csmsql/sql/sqlerror"
	"github.com/csmsql/csmsql/sql/statement"
)

// Rewrite is a statement that replaces a table's rows by those of a query.
type Rewrite struct {
	Name statement.Name
	Tag  string // with %d for the number of rows that were hit
	// Flagged: the query's last column says whether the row was hit; otherwise rows that are missing were hit.
	Flagged bool
	Removes bool // rows that were hit, as the flag says, do not stay
	Query   func(version *catalog.TableVersion) (string, error)
}

// OfDelete is that of a DELETE.
func OfDelete(head *statement.Delete) (Rewrite, error) {
	where := head.Where
	if where == "" {
		where = "true"
	}
	hit := "coalesce((" + where + "\n), false)"
	if head.Using != "" {
		if name := dialect.VolatileIn(where); name != "" {
			return Rewrite{}, sqlerror.New("0A000", "DELETE … USING with %s() in its condition is not supported", name).
				WithHint("It is asked of each pair of rows. Store its values in a table first, or write the condition without USING.")
		}
		hit = "EXISTS (SELECT 1 FROM " + head.Using + " WHERE " + where + "\n)"
	}
	if head.Returning != "" {
		return Rewrite{
			Name: head.Name, Tag: "DELETE %d", Flagged: true, Removes: true,
			Query: func(*catalog.TableVersion) (string, error) {
				return head.With + " SELECT *, " + hit + " AS " + HitColumn + " FROM " + TableAs(head.Name, head.Alias), nil
			},
		}, nil
	}
	return Rewrite{
		Name: head.Name, Tag: "DELETE %d",
		Query: func(*catalog.TableVersion) (string, error) {
			return head.With + " SELECT * FROM " + TableAs(head.Name, head.Alias) + " WHERE NOT " + hit, nil
		},
	}, nil
}

// OfUpdate is that of an UPDATE.
func OfUpdate(head *statement.Update) (Rewrite, error) {
	if head.From != "" {
		return Rewrite{}, sqlerror.New("0A000", "UPDATE … FROM is not supported").
			WithHint("Use a sub-query: SET c = (SELECT … FROM …) WHERE … IN (SELECT …).")
	}
	where := "true"
	if head.Where != "" {
		where = "coalesce((" + head.Where + "\n), false)"
	}
	return Rewrite{
		Name: head.Name, Tag: "UPDATE %d", Flagged: true,
		Query: func(version *catalog.TableVersion) (string, error) { return updateQuery(head, version, where) },
	}, nil
}

// updateQuery computes what the rows of the table become. What is asked of a row is asked once, in a query of its
// own: a condition may be random(), and DuckDB keeps a column of a derived table that is volatile apart from those
// who read it.
//
//	SELECT CASE WHEN u.csm_hit THEN CAST((value) AS type) ELSE u.a END AS a, u.b, …, u.csm_hit
//	FROM (SELECT *, coalesce((condition), false) AS csm_hit FROM u) AS u
//
// Values are computed for rows that were hit and no others: 1/x WHERE x <> 0 is no error.
func updateQuery(head *statement.Update, version *catalog.TableVersion, where string) (string, error) {
	schema := version.Table().Columns
	values, err := assignments(head, version.Table())
	if err != nil {
		return "", err
	}
	qualifier := head.Alias
	if qualifier == "" {
		qualifier = head.Name.Name
	}
	qualifier = duckdb.QuoteIdentifier(qualifier)
	hit := qualifier + "." + HitColumn
	list := make([]string, schema.NumFields())
	for i, f := range schema.Fields() {
		name := duckdb.QuoteIdentifier(f.Name)
		list[i] = qualifier + "." + name
		if value, ok := values[i]; ok {
			typ, err := columntype.SQL(f)
			if err != nil {
				return "", err
			}
			// The cast is inside: a branch of another type would make DuckDB complain about a CASE that nobody wrote.
			given, old := "CAST(("+value+"\n) AS "+typ+")", list[i]
			if t, ok := f.Type.(*arrow.FixedSizeListType); ok { // of which DuckDB has no CASE
				list, err := columntype.ListOf(t.ElemField(), "[]")
				if err != nil {
					return "", err
				}
				given, old = "CAST("+given+" AS "+list+")", "CAST("+old+" AS "+list+")"
			}
			list[i] = "CASE WHEN " + hit + " THEN " + given + " ELSE " + old + " END AS " + name
		}
	}
	rows := "SELECT *, " + where + " AS " + HitColumn + " FROM " + TableAs(head.Name, head.Alias)
	return head.With + " SELECT " + strings.Join(list, ", ") + ", " + hit + " FROM (" + rows + "\n) AS " + qualifier, nil
}

// assignments are the expressions that an UPDATE gives to columns, by the columns' positions.
func assignments(head *statement.Update, table catalog.Table) (map[int]string, error) {
	schema := table.Columns
	values := map[int]string{}
	for _, a := range head.Set {
		i := ingest.Index(schema, a.Column)
		if i < 0 {
			return nil, sqlerror.New("42703", "column %q of relation %q does not exist", a.Column, head.Name.Name)
		}
		if _, twice := values[i]; twice {
			return nil, sqlerror.New("42601", "multiple assignments to same column %q", a.Column)
		}
		values[i] = a.Value
		if a.Default {
			var ok bool
			if values[i], ok = cast.Default(schema.Field(i)); !ok {
				values[i] = "NULL"
			}
			continue
		}
		values[i] = cast.ForColumn(values[i], schema.Field(i))
		if head.Alias == "" {
			values[i], _ = WithoutSchema(table.Name, values[i])
		}
	}
	return values, nil
}

// TableAs is a table in a FROM.
func TableAs(name statement.Name, alias string) string {
	if alias == "" {
		return dialect.QuoteName(name)
	}
	return dialect.QuoteName(name) + " AS " + duckdb.QuoteIdentifier(alias)
}

// HitColumn says in batches of a rewrite which rows it was about.
const HitColumn = "csm_hit"

// Add adds the rows of a batch that stay to the writer, and tells how many were hit, as far as they are flagged.
// keep, if not nil, is given batches with rows that were hit.
func (r Rewrite) Add(ctx context.Context, w *ingest.Writer, batch arrow.RecordBatch, keep func(arrow.RecordBatch) error,
	changed *check.Changed) (hit int64, err error) {
	if !r.Flagged {
		return 0, w.Add(ctx, batch)
	}
	last := int(batch.NumCols()) - 1
	flags, _ := batch.Column(last).(*array.Boolean)
	hit = countTrue(flags)
	if hit > 0 && keep != nil {
		if err := keep(batch); err != nil {
			return 0, err
		}
	}
	rows := duckdb.Project(batch, firstColumns(last))
	defer rows.Release()
	if hit > 0 {
		if err := changed.Add(ctx, rows, flags); err != nil {
			return 0, err
		}
	}
	if !r.Removes || hit == 0 {
		return hit, w.Add(ctx, rows)
	}
	for from := 0; from < flags.Len(); {
		to := from
		for to < flags.Len() && !flags.Value(to) {
			to++
		}
		if to > from {
			run := rows.NewSlice(int64(from), int64(to))
			err := w.Add(ctx, run)
			run.Release()
			if err != nil {
				return 0, err
			}
		}
		from = to + 1
	}
	return hit, nil
}

// Text is the query's, its columns cast to the table's types; the flag passes as it is.
func (r Rewrite) Text(version *catalog.TableVersion) (string, error) {
	text, err := r.Query(version)
	if err != nil {
		return "", err
	}
	schema := version.Table().Columns
	var columns []string
	for _, f := range schema.Fields() {
		columns = append(columns, f.Name)
	}
	if !r.Flagged {
		src, err := cast.Query(text, schema, columns)
		return src.Text, err
	}
	flag := arrow.Field{Name: HitColumn, Type: arrow.FixedWidthTypes.Boolean, Nullable: true}
	src, err := cast.Query(text, arrow.NewSchema(append(schema.Fields(), flag), nil), append(columns, flag.Name))
	return src.Text, err
}

func firstColumns(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = i
	}
	return out
}

func countTrue(flags *array.Boolean) (n int64) {
	if flags == nil {
		return 0
	}
	for i := range flags.Len() {
		if flags.IsValid(i) && flags.Value(i) {
			n++
		}
	}
	return n
}

// What an UPDATE sets, the condition of an UPDATE or a DELETE, and what RETURNING lists are said of one row each.
// They are asked in select lists, where DuckDB would take an aggregate, a window or an UNNEST for what it is in a
// query: rows that nobody wrote, or values of all rows together. So DuckDB is asked first whether it would take them
// in a WHERE, where it knows those that are of one row.

// Condition is something that is said of one row each: expressions that stand in a place, as PostgreSQL calls it.
type Condition struct {
	With, From, Place string
	Expressions       []string
}

// Text is what DuckDB is asked to find out whether all expressions are of a single row; "": they are.
func (c *Condition) Text() string {
	var asked []string
	for _, expression := range c.Expressions {
		if strings.Contains(expression, "(") { // it may call something
			asked = append(asked, "("+expression+"\n) IS NULL")
		}
	}
	if len(asked) == 0 {
		return ""
	}
	return c.With + " SELECT 1 FROM " + c.From + " WHERE " + strings.Join(asked, " OR ")
}

// Refused is the error of an expression that is not of a single row, nil of another one. What else is wrong with it is
// said where it is planned for use.
func (c *Condition) Refused(err error) error {
	for _, known := range []struct{ words, state, message string }{
		{"aggregate functions are not allowed", "42803", "aggregate functions are not allowed in %s"},
		{"window functions are not allowed", "42P20", "window functions are not allowed in %s"},
		{"UNNEST not supported", "0A000", "set-returning functions are not allowed in %s"},
	} {
		if strings.Contains(err.Error(), known.words) {
			return sqlerror.New(known.state, known.message, c.Place)
		}
	}
	return nil
}

// ConditionsOf are those of an UPDATE or a DELETE of this table.
func ConditionsOf(head any, version *catalog.TableVersion) ([]Condition, error) {
	switch head := head.(type) {
	case *statement.Update:
		values, err := assignments(head, version.Table())
		if err != nil {
			return nil, err
		}
		list := make([]string, 0, len(values))
		for _, value := range values {
			list = append(list, value)
		}
		from := TableAs(head.Name, head.Alias)
		return []Condition{{head.With, from, "UPDATE", list}, {head.With, from, "WHERE", []string{head.Where}}}, nil
	case *statement.Delete:
		from := TableAs(head.Name, head.Alias)
		if head.Using != "" {
			from += ", " + head.Using
		}
		return []Condition{{head.With, from, "WHERE", []string{head.Where}}}, nil
	}
	return nil, nil
}

// WithoutSchema is statement.WithoutSchema for a table.
func WithoutSchema(table catalog.TableName, text string) (string, edit.List) {
	return statement.WithoutSchema(duckdb.CatalogName, statement.Name{Schema: table.Schema, Name: table.Name}, text)
}
