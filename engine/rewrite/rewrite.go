package rewrite

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/engine/cast"
	"github.com/csmsql/csmsql/engine/columntype"
	"github.com/csmsql/csmsql/engine/ingest"
	"github.com/csmsql/csmsql/engine/snapshot"
	"github.com/csmsql/csmsql/exec/duckdb"
	"github.com/csmsql/csmsql/sql/dialect"
	"github.com/csmsql/csmsql/sql/edit"
	"github.com/csmsql/csmsql/sql/lex"
	"github.com/csmsql/csmsql/sql/sqlerror"
	"github.com/csmsql/csmsql/sql/statement"
)

// Rewrite is a statement that changes rows of a table: a query gives the numbers of those that it is about, and what
// they become, or, for RETURNING, what they were.
type Rewrite struct {
	Name    statement.Name
	Removes bool // nothing comes in the place of rows that were hit

	verb      string
	head      rows // of the statement
	using     string
	condition string
	says      func(table catalog.Table) ([]Condition, error)
	values    valuesOf // nil: numbers are all it gives
	assigned  []string // columns that get other values
	rows      []string // what gives several columns theirs
	returning *Returning
	looked    *looked // by Lookup
}

// valuesOf lists what the columns of a row become, each cast to its column's type.
type valuesOf func(version *catalog.TableVersion, qualifier string, as casts) ([]string, error)

// rows is where a statement says which table it is about, and what the query begins with.
type rows struct {
	with, alias string
	words       string // all that is the user's
}

// OfDelete is that of a DELETE.
func OfDelete(head *statement.Delete) (Rewrite, error) {
	r := Rewrite{Name: head.Name, verb: "DELETE", Removes: true, condition: head.Where, returning: ReturningOf(head),
		looked: &looked{}}
	r.head = rows{head.With, head.Alias, strings.Join([]string{head.With, head.Using, head.Where}, " ")}
	from := TableAs(head.Name, head.Alias)
	if head.Using != "" {
		from += ", " + head.Using
	}
	r.says = func(catalog.Table) ([]Condition, error) {
		return []Condition{{head.With, from, "WHERE", []string{head.Where}}}, nil
	}
	if head.Using != "" {
		if name := dialect.VolatileIn(head.Where); name != "" {
			return Rewrite{}, sqlerror.New("0A000", "DELETE … USING with %s() in its condition is not supported", name).
				WithHint("It is asked of each pair of rows. Store its values in a table first, or write the condition without USING.")
		}
		r.using = head.Using
		if r.returning == nil { // it does not matter which pair it was
			r.using, r.condition = "", "EXISTS (SELECT 1 FROM "+head.Using+" WHERE "+cmp.Or(head.Where, "true")+"\n)"
		}
	}
	if head.Returning != "" {
		r.values = func(version *catalog.TableVersion, qualifier string, _ casts) ([]string, error) {
			return columnsOf(version.Table(), qualifier), nil
		}
	}
	return r, nil
}

// OfUpdate is that of an UPDATE.
func OfUpdate(head *statement.Update) (Rewrite, error) {
	r := Rewrite{Name: head.Name, verb: "UPDATE", using: head.From, condition: head.Where, returning: ReturningOf(head),
		looked: &looked{}}
	words := []string{head.With, head.From, head.Where}
	for _, a := range head.Set {
		words = append(words, a.Value)
		r.assigned = append(r.assigned, a.Column)
	}
	r.rows = rowsOf(head)
	r.head = rows{head.With, head.Alias, strings.Join(words, " ")}
	r.says = func(table catalog.Table) ([]Condition, error) { return conditions(head, table) }
	r.values = func(version *catalog.TableVersion, qualifier string, as casts) ([]string, error) {
		return updated(head, version.Table(), qualifier, as)
	}
	return r, nil
}

// conditions are what an UPDATE says of single rows.
func conditions(head *statement.Update, table catalog.Table) ([]Condition, error) {
	values, err := assignments(head, table)
	if err != nil {
		return nil, err
	}
	maps.DeleteFunc(values, func(_ int, value string) bool { return isField(value) })
	from := TableAs(head.Name, head.Alias)
	if head.From != "" {
		from += ", " + head.From
	}
	return []Condition{
		{head.With, from, "UPDATE", append(slices.Collect(maps.Values(values)), RowsOf(head, table.Name)...)},
		{head.With, from, "WHERE", []string{head.Where}},
	}, nil
}

// Verb implements Change.
func (r Rewrite) Verb() string { return r.verb }

// Target implements Change.
func (r Rewrite) Target() statement.Name { return r.Name }

// Does implements Change.
func (r Rewrite) Does() (removes, inserts bool) { return r.Removes, false }

// Conditions are those of an UPDATE or a DELETE of this table.
func (r Rewrite) Conditions(version *catalog.TableVersion) ([]Condition, error) {
	return r.says(version.Table())
}

// Assigns reports whether a column may get another value: the statement sets it, or it is generated and the statement
// sets any.
func (r Rewrite) Assigns(schema *arrow.Schema) func(column string) bool {
	return func(column string) bool {
		i := ingest.Index(schema, column)
		return len(r.assigned) > 0 && i >= 0 && cast.Generated(schema.Field(i)) != "" ||
			slices.ContainsFunc(r.assigned, func(a string) bool { return strings.EqualFold(a, column) })
	}
}

func columnsOf(table catalog.Table, qualifier string) (list []string) {
	for _, f := range table.Columns.Fields() {
		list = append(list, qualifier+"."+duckdb.QuoteIdentifier(f.Name))
	}
	return list
}

// Updated lists what the columns of a row of a table become, which the head's words call by qualifier.
func Updated(head *statement.Update, table catalog.Table, qualifier string) ([]string, error) {
	return updated(head, table, qualifier, castTo)
}

func updated(head *statement.Update, table catalog.Table, qualifier string, as casts) ([]string, error) {
	values, err := assignments(head, table)
	if err != nil {
		return nil, err
	}
	list := columnsOf(table, qualifier)
	for i, f := range table.Columns.Fields() {
		value, ok := values[i]
		if !ok {
			continue
		}
		typ, err := columntype.SQL(f)
		if err != nil {
			return nil, err
		}
		list[i] = as(value, typ)
	}
	return list, nil
}

// Numbers are those of a version of the table.
func (r Rewrite) Numbers(version *catalog.TableVersion) *snapshot.Numbers {
	return NumbersFor(version, r.head.words+r.head.alias+" "+r.Name.String())
}

// NumbersFor are those of a version of a table, for a statement of some words.
func NumbersFor(version *catalog.TableVersion, words string) *snapshot.Numbers {
	words = strings.ToLower(words)
	for _, f := range version.Table().Columns.Fields() {
		words += " " + strings.ToLower(f.Name)
	}
	n := &snapshot.Numbers{Version: version, Schema: "csm_numbered", Column: "csm_row"}
	for strings.Contains(words, n.Schema) {
		n.Schema += "_"
	}
	for strings.Contains(words, n.Column) {
		n.Column += "_"
	}
	return n
}

// Query gives, of each row that was hit, its values, if there are any to give, and last its number: a condition is
// asked of a row once, and values are computed for rows that were hit and no others (RW1).
//
//	SELECT CAST((value) AS type), u.b, …, u.csm_row FROM csm_numbered.u AS u WHERE condition
//
// table is what the table with its numbers is called: n.Table() or another name for the same.
func (r Rewrite) Query(n *snapshot.Numbers, table string) (string, error) {
	return r.query(n, table, castTo)
}

func (r Rewrite) query(n *snapshot.Numbers, table string, as casts) (string, error) {
	alias, condition := r.head.alias, r.condition
	if alias == "" {
		alias = r.Name.Name
		condition, _ = WithoutSchema(n.Version.Table().Name, condition)
	}
	qualifier := duckdb.QuoteIdentifier(alias)
	from, number := FromNumbered(n, table, alias, r.head.words)
	if r.using != "" {
		from += ", " + r.using
	}
	var list []string
	if r.values != nil {
		var err error
		if list, err = r.values(n.Version, qualifier, as); err != nil {
			return "", err
		}
	}
	others, _ := r.returning.besides(n.Column)
	if condition != "" {
		from += " WHERE (" + condition + "\n)"
	}
	rows := r.rows
	if r.head.alias == "" {
		rows = withoutSchemas(n.Version.Table().Name, rows)
	}
	return Select(r.head.with, list, rows, append(others, number), from), nil
}

// FromNumbered is a table in a FROM, and the numbers of its rows, which no words can mean.
func FromNumbered(n *snapshot.Numbers, table, alias, words string) (from, number string) {
	qualifier := duckdb.QuoteIdentifier(alias)
	if readsWhole(words, alias) {
		return apart(n, table, qualifier)
	}
	return table + " AS " + qualifier, qualifier + "." + duckdb.QuoteIdentifier(n.Column)
}

// readsWhole reports whether the user's words may mean a whole row of the table, as t.* and t do: the number is none of
// its columns.
func readsWhole(words, table string) bool {
	var before, last lex.Token
	for t := range lex.Client.Tokens(words) {
		if name, ok := last.Name(); ok && strings.EqualFold(name, table) && !before.Is(".") && !t.Is(".") {
			return true
		}
		if t.Is("*") && last.Is(".") || last.Is("columns") {
			return true
		}
		before, last = last, t
	}
	name, ok := last.Name()
	return ok && strings.EqualFold(name, table)
}

// apart is a table whose rows have no number, and the number beside it.
func apart(n *snapshot.Numbers, table, qualifier string) (from, number string) {
	beside := duckdb.QuoteIdentifier(n.Column + "s")
	var names, list []string
	for i, f := range n.Version.Table().Columns.Fields() {
		name := duckdb.QuoteIdentifier(fmt.Sprint(n.Column, i))
		names = append(names, name)
		list = append(list, beside+"."+name+" AS "+duckdb.QuoteIdentifier(f.Name))
	}
	names = append(names, duckdb.QuoteIdentifier(n.Column))
	from = "(" + table + " AS " + beside + "(" + strings.Join(names, ", ") + ") CROSS JOIN LATERAL (SELECT " +
		strings.Join(list, ", ") + ") AS " + qualifier + ")"
	return from, beside + "." + duckdb.QuoteIdentifier(n.Column)
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
		if a.Row != nil {
			if err := cast.MayUpdate(schema.Field(i)); err != nil {
				return nil, err
			}
			values[i] = fieldOf(head, a)
			continue
		}
		if a.Default {
			var ok bool
			if values[i], ok = cast.Default(schema.Field(i)); !ok {
				values[i] = "NULL"
			}
			continue
		}
		if err := cast.MayUpdate(schema.Field(i)); err != nil {
			return nil, err
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

// Text is the query, its columns cast to the table's types.
func (r Rewrite) Text(n *snapshot.Numbers, table string) (string, error) {
	text, err := r.Query(n, table)
	if err != nil || r.values == nil {
		return text, err
	}
	_, others := r.returning.besides(n.Column)
	fields := append(n.Version.Table().Columns.Fields(), others...)
	fields = append(fields, arrow.Field{Name: n.Column, Type: arrow.PrimitiveTypes.Int64})
	columns := make([]string, len(fields))
	for i, f := range fields {
		columns[i] = f.Name
	}
	src, err := cast.Query(text, arrow.NewSchema(fields, nil), columns)
	return src.Text, err
}

// What an UPDATE sets, the condition of an UPDATE or a DELETE, and what RETURNING lists are said of one row each.
// Some are asked in select lists, where DuckDB would take an aggregate, a window or an UNNEST for what it is in a
// query: rows that do not exist, or values of all rows together. So DuckDB is asked first whether it would take them in
// a WHERE, where it knows those that are of one row.

// Rowwise is an error if a condition is not of single rows. plan has DuckDB plan what it is asked; last: after this
// error nothing more can be asked.
func Rowwise(conditions []Condition, plan func(text string) (err error, last bool)) error {
	for i := range conditions {
		text := conditions[i].Text()
		if text == "" {
			continue
		}
		err, last := plan(text)
		if err == nil {
			continue
		}
		if refused := conditions[i].Refused(err); refused != nil {
			return refused
		}
		if last {
			return dialect.WithoutPosition(err) // a constant without a value: nothing more runs in this transaction
		}
	}
	return nil
}

// Condition is something that is said of one row each: expressions that stand in a place, as PostgreSQL calls it.
type Condition struct {
	With, From, Place string
	Expressions       []string
}

// Text is what DuckDB is asked to find out whether all expressions are of a single row; "": they are.
func (c *Condition) Text() string {
	var asked []string
	for _, expression := range c.Expressions {
		if mayCall(expression) {
			asked = append(asked, "("+expression+"\n) IS NULL")
		}
	}
	if len(asked) == 0 {
		return ""
	}
	return c.With + " SELECT 1 FROM " + c.From + " WHERE " + strings.Join(asked, " OR ")
}

// mayCall: a parenthesis stands behind what may be a function's name.
func mayCall(expression string) bool {
	name := false
	for t := range lex.Client.Tokens(expression) {
		if name && t.Is("(") {
			return true
		}
		name = t.Kind == lex.Quoted || t.Kind == lex.Word && !t.IsAny("in", "and", "or", "not")
	}
	return false
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

// WithoutSchema is statement.WithoutSchema for a table.
func WithoutSchema(table catalog.TableName, text string) (string, edit.List) {
	return statement.WithoutSchema(duckdb.CatalogName, statement.Name{Schema: table.Schema, Name: table.Name}, text)
}
