package rewrite

import (
	"strings"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/engine/columntype"
	"github.com/csmsql/csmsql/exec/duckdb"
	"github.com/csmsql/csmsql/exec/duckdb/normal"
	"github.com/csmsql/csmsql/internal/enumeration"
	"github.com/csmsql/csmsql/sql/dialect"
	"github.com/csmsql/csmsql/sql/edit"
	"github.com/csmsql/csmsql/sql/sqlerror"
	"github.com/csmsql/csmsql/sql/statement"
)

// Returning is the list of a RETURNING.
type Returning struct {
	List    string
	Written string // the list as it is asked, and how it differs
	Edits   edit.List
	Alias   string        // what the list knows the table by
	Aliased bool          // and by nothing else
	With    string        // what stands before the statement
	Result  *arrow.Schema // the list's columns as DuckDB gives them
	Using   string        // other tables of the statement, of whose columns there may be some in the list; empty: none

	beside []beside // these
	prefix string   // of the list, in the query that was made last
}

// ReturningOf is what a statement returns of its rows, nil if nothing.
func ReturningOf(head any) *Returning {
	var list, alias, with, using string
	var name statement.Name
	switch head := head.(type) {
	case *statement.Insert:
		list, alias, name = head.Returning, head.Alias, head.Name
	case *statement.Update:
		list, alias, name, with, using = head.Returning, head.Alias, head.Name, head.With, head.From
	case *statement.Delete:
		list, alias, name, with, using = head.Returning, head.Alias, head.Name, head.With, head.Using
	}
	if list == "" {
		return nil
	}
	r := &Returning{
		List: list, Written: list, Alias: alias, Aliased: alias != "", With: with, Using: using, prefix: "SELECT ",
	}
	if !r.Aliased {
		r.Alias = name.Name
	}
	return r
}

// Lists is what RETURNING lists of the rows of a change, nil if nothing.
func Lists(c Change) *Returning {
	if r, ok := c.(Rewrite); ok {
		return r.returning
	}
	return nil
}

// Columns are the list's as DuckDB gives them; of no RETURNING, nil.
func (r *Returning) Columns() *arrow.Schema {
	if r == nil {
		return nil
	}
	return r.Result
}

// Read reads the list for a table. What is said of a row is asked of one whose columns are all NULL, and columns says
// what a query gives.
func (r *Returning) Read(table catalog.Table,
	columns func(query string) (*arrow.Schema, error)) (said Condition, err error) {
	parameter := false
	dialect.ReplaceTokens(r.List, func(token string, _ int) (string, bool) {
		parameter = parameter || dialect.IsParameter(token)
		return "", false
	})
	if parameter {
		return said, sqlerror.New("0A000", "parameters in RETURNING are not supported").
			WithHint("Return the columns and compute with them afterwards.")
	}
	nulls := make([]string, table.Columns.NumFields())
	for i, f := range table.Columns.Fields() {
		name, err := columntype.SQL(f)
		if err != nil {
			return said, err
		}
		nulls[i] = "CAST(NULL AS " + name + ") AS " + duckdb.QuoteIdentifier(f.Name)
	}
	said = Condition{With: r.With, Place: "RETURNING"}
	said.From = "(SELECT " + strings.Join(nulls, ", ") + ") AS " + duckdb.QuoteIdentifier(r.Alias)
	r.Written, r.Edits = r.List, nil
	if r.Using != "" {
		if err := r.find(columns, said.From); err != nil {
			return said, err
		}
		said.From = r.Beside(said.From)
		r.Written, r.Edits = r.withStars()
	}
	if !r.Aliased {
		written, made := WithoutSchema(table.Name, r.Written)
		r.Written, r.Edits = written, r.Edits.Then(made)
	}
	if said.Expressions, err = statement.ListItems(r.List); err != nil {
		return said, err
	}
	for i, item := range said.Expressions {
		said.Expressions[i], _ = WithoutSchema(table.Name, item)
	}
	return said, nil
}

// Query asks for the list of what Read says.
func (r *Returning) Query(said Condition) string {
	r.prefix = strings.TrimPrefix(said.With+" SELECT ", " ")
	return r.prefix + r.Written + "\n FROM " + said.From
}

// Beside is a FROM of the table with the others of the statement.
func (r *Returning) Beside(from string) string {
	if r.Using != "" {
		from += ", " + r.Using
	}
	return from
}

// Kept asks for the list of rows that were kept.
func (r *Returning) Kept(columns *arrow.Schema, rows string) string {
	return r.Query(Condition{From: r.from(columns, rows)})
}

// Columns is a query of a table's columns, from what has them.
func Columns(columns *arrow.Schema, from string) string {
	names := make([]string, columns.NumFields())
	for i, f := range columns.Fields() {
		names[i] = duckdb.QuoteIdentifier(f.Name)
		if as := ofItsType(names[i], f); as != names[i] {
			names[i] = as + " AS " + names[i]
		}
	}
	return "SELECT " + strings.Join(names, ", ") + " FROM " + from
}

// ofItsType is a column of rows that were kept. Labels are kept as text.
func ofItsType(column string, f arrow.Field) string {
	if t := enumeration.Of(f); t != nil {
		return "CAST(" + column + " AS " + t.SQL() + ")"
	}
	return column
}

// Raw is how rows of a table that were kept as results show them are to be scanned: as the table has them, and the
// entries beside it.
func (r *Returning) Raw(rows, columns *arrow.Schema) *arrow.Schema {
	fields := rows.Fields()
	for i, f := range fields {
		if at := columns.FieldIndices(f.Name); len(at) > 0 && normal.IsOpaque(columns.Field(at[0])) {
			fields[i] = columns.Field(at[0])
		}
	}
	_, others := r.besides("")
	for i, f := range others {
		if at := columns.NumFields() + i; at < len(fields) && normal.IsOpaque(f) {
			fields[at].Type, fields[at].Metadata = f.Type, f.Metadata
		}
	}
	return arrow.NewSchema(fields, nil)
}

// PlaceQuery moves an error's position from the list's query into the statement, whose text is given.
func (r *Returning) PlaceQuery(err error, text string) error {
	e, ok := err.(*sqlerror.Error)
	if !ok || e.At == 0 {
		return err
	}
	moved := *e
	if moved.At -= utf8.RuneCountInString(r.prefix); moved.At <= 0 || moved.At > utf8.RuneCountInString(r.Written) {
		moved.At = 0
	}
	return r.Place(dialect.InOriginal(&moved, r.Edits, r.Written, r.List), text)
}

// Place moves an error's position from the list into the statement, which ends with it.
func (r *Returning) Place(err error, text string) error {
	e, ok := err.(*sqlerror.Error)
	if !ok || e.At == 0 {
		return err
	}
	moved := *e
	moved.At = 0
	if start := strings.LastIndex(text, r.List); start >= 0 {
		moved.At = e.At + utf8.RuneCountInString(text[:start])
	}
	return &moved
}
