package rewrite

import (
	"strings"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/engine/columntype"
	"github.com/csmsql/csmsql/exec/duckdb"
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
	Alias   string // what the list knows the table by
	Aliased bool   // and by nothing else
}

// ReturningOf is what a statement returns of its rows, nil if nothing.
func ReturningOf(head any) *Returning {
	var list, alias string
	var name statement.Name
	switch head := head.(type) {
	case *statement.Insert:
		list, alias, name = head.Returning, head.Alias, head.Name
	case *statement.Update:
		list, alias, name = head.Returning, head.Alias, head.Name
	case *statement.Delete:
		list, alias, name = head.Returning, head.Alias, head.Name
	}
	if list == "" {
		return nil
	}
	r := &Returning{List: list, Written: list, Alias: alias, Aliased: alias != ""}
	if !r.Aliased {
		r.Alias = name.Name
	}
	return r
}

// Read reads the list for a table: the expressions in it, and a query of one row of the table's columns, all NULL.
func (r *Returning) Read(table catalog.Table) (from string, items []string, err error) {
	parameter := false
	dialect.ReplaceTokens(r.List, func(token string, _ int) (string, bool) {
		parameter = parameter || dialect.IsParameter(token)
		return "", false
	})
	if parameter {
		return "", nil, sqlerror.New("0A000", "parameters in RETURNING are not supported").
			WithHint("Return the columns and compute with them afterwards.")
	}
	nulls := make([]string, table.Columns.NumFields())
	for i, f := range table.Columns.Fields() {
		name, err := columntype.SQL(f)
		if err != nil {
			return "", nil, err
		}
		nulls[i] = "CAST(NULL AS " + name + ") AS " + duckdb.QuoteIdentifier(f.Name)
	}
	if !r.Aliased {
		r.Written, r.Edits = WithoutSchema(table.Name, r.List)
	}
	if items, err = statement.ListItems(r.List); err != nil {
		return "", nil, err
	}
	for i := range items {
		items[i], _ = WithoutSchema(table.Name, items[i])
	}
	return "SELECT " + strings.Join(nulls, ", "), items, nil
}

// Query asks for the list of rows.
func (r *Returning) Query(from string) string {
	return "SELECT " + r.Written + "\n FROM (" + from + ") AS " + duckdb.QuoteIdentifier(r.Alias)
}

// Columns is a query of a table's columns, from what has them.
func Columns(columns *arrow.Schema, from string) string {
	names := make([]string, columns.NumFields())
	for i, f := range columns.Fields() {
		names[i] = duckdb.QuoteIdentifier(f.Name)
	}
	return "SELECT " + strings.Join(names, ", ") + " FROM " + from
}

// PlaceQuery moves an error's position from the list's query into the statement, whose text is given.
func (r *Returning) PlaceQuery(err error, text string) error {
	e, ok := err.(*sqlerror.Error)
	if !ok || e.At == 0 {
		return err
	}
	moved := *e
	if moved.At -= utf8.RuneCountInString("SELECT "); moved.At <= 0 || moved.At > utf8.RuneCountInString(r.Written) {
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
