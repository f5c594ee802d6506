package cast

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/csmsql/csmsql/engine/calling"
	"github.com/csmsql/csmsql/engine/columntype"
	"github.com/csmsql/csmsql/exec/duckdb"
	"github.com/csmsql/csmsql/sql/dialect"
	"github.com/csmsql/csmsql/sql/edit"
	"github.com/csmsql/csmsql/sql/sqlerror"
)

// Source is the query that a writing statement takes its rows from, wrapped so that they have a table's types.
type Source struct {
	Text   string    // the wrapped text
	Inner  string    // the user's query
	prefix int       // where it stands in Text
	Edits  edit.List // what was replaced in it
}

// Verbatim is a query whose rows are taken as they are.
func Verbatim(query string) Source { return Source{Text: query, Inner: query} }

// Query wraps a query so that it gives the columns of schema. columns are the ones that the query gives, in its
// order; the others get their defaults.
func Query(query string, schema *arrow.Schema, columns []string) (Source, error) {
	given := make(map[string]int, len(columns))
	aliases := make([]string, len(columns))
	for i, c := range columns {
		given[strings.ToLower(c)] = i
		aliases[i] = fmt.Sprintf("c%d", i)
	}
	var list []string
	for _, f := range schema.Fields() {
		name, err := columntype.SQL(f)
		if err != nil {
			return Source{}, err
		}
		value := "CAST(NULL AS " + name + ")"
		if i, ok := given[strings.ToLower(f.Name)]; ok {
			value = "CAST(csm_rows." + aliases[i] + " AS " + name + ")"
		} else if text, ok := Default(f); ok {
			value = "CAST(" + text + " AS " + name + ")"
		}
		list = append(list, value+" AS "+duckdb.QuoteIdentifier(f.Name))
	}
	head := "SELECT " + strings.Join(list, ", ") + " FROM ("
	text := head + query + "\n) AS csm_rows(" + strings.Join(aliases, ", ") + ")"
	if Generates(schema) {
		outer, before, err := generate(text, schema)
		if err != nil {
			return Source{}, err
		}
		text, head = outer, before+head
	}
	return Source{Text: text, Inner: query, prefix: len(head)}, nil
}

// run hands the rows of the query over.
func (src Source) run(ctx context.Context, conn *duckdb.Connection, add func(arrow.RecordBatch) error) error {
	duck, err := conn.Prepare(src.Text)
	if err != nil {
		return err
	}
	defer duck.Close()
	rows, err := duck.Execute(ctx)
	if err != nil {
		return err
	}
	defer rows.Close()
	for {
		batch, err := rows.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = add(batch)
			batch.Release()
		}
		if err != nil {
			return err
		}
	}
}

// Relocate moves an error's position from the wrapped text to the user's statement.
func (src Source) Relocate(err error, users string) error {
	e, ok := err.(*sqlerror.Error)
	if !ok || e.At == 0 {
		return err
	}
	moved := *e
	moved.At = 0
	at := byteOffset(src.Text, e.At)
	if start := strings.Index(users, src.Inner); start >= 0 && at >= src.prefix {
		offset := start + min(src.Edits.Back(at-src.prefix), len(src.Inner))
		moved.At = utf8.RuneCountInString(users[:offset]) + 1
	}
	return &moved
}

// byteOffset is where the character at stands in text, from 1.
func byteOffset(text string, at int) int {
	for i := range text {
		if at--; at == 0 {
			return i
		}
	}
	return len(text)
}

// DefaultKey marks a field with the SQL text of its default.
const DefaultKey = "csm.default"

// Default is a field's default as DuckDB is given it.
func Default(f arrow.Field) (string, bool) {
	text, ok := f.Metadata.GetValue(DefaultKey)
	return dialect.Expression(ForColumn(calling.Computes(text), f)), ok
}

// ForColumn writes the strings of an expression that are to be values of a column as DuckDB reads the column's values.
func ForColumn(expression string, f arrow.Field) string {
	by, _ := dialect.SpelledFor(expression, f) // of what is none of the type DuckDB says so
	return by
}
