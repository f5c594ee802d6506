package cast

import (
	"fmt"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/csmsql/csmsql/engine/calling"
	"github.com/csmsql/csmsql/engine/columntype"
	"github.com/csmsql/csmsql/exec/duckdb"
	"github.com/csmsql/csmsql/internal/mark"
	"github.com/csmsql/csmsql/sql/dialect"
	"github.com/csmsql/csmsql/sql/sqlerror"
)

// GeneratedKey marks a field whose values are those of an expression over the others of its row.
const GeneratedKey = "csm.generated"

// Generated is the expression of a field's values, as it was written, with the record of its calls (package calling);
// empty: it is none.
func Generated(f arrow.Field) string {
	text, _ := f.Metadata.GetValue(GeneratedKey)
	return text
}

// WithGenerated is a field with another expression, empty: without.
func WithGenerated(f arrow.Field, expression string) arrow.Field {
	f.Metadata = mark.WithAny(f.Metadata, GeneratedKey, expression)
	return f
}

// Generates reports whether some of the columns are generated.
func Generates(schema *arrow.Schema) bool {
	for _, f := range schema.Fields() {
		if Generated(f) != "" {
			return true
		}
	}
	return false
}

// Written are the names of the columns that are not generated: those that COPY reads and writes.
func Written(schema *arrow.Schema) (names []string) {
	for _, f := range schema.Fields() {
		if Generated(f) == "" {
			names = append(names, f.Name)
		}
	}
	return names
}

// Computed is the value of a generated column as an expression of its type.
func Computed(f arrow.Field) (string, error) {
	name, err := columntype.SQL(f)
	if err != nil {
		return "", err
	}
	return "CAST((" + dialect.Expression(ForColumn(calling.Computes(Generated(f)), f)) + "\n) AS " + name + ")", nil
}

// generate wraps a query that gives the columns of schema, in which generated ones have any value: it computes those.
// It gives what it has put before.
func generate(query string, schema *arrow.Schema) (text, head string, err error) {
	list := make([]string, schema.NumFields())
	for i, f := range schema.Fields() {
		name := duckdb.QuoteIdentifier(f.Name)
		list[i] = "csm_generated." + name
		if Generated(f) != "" {
			value, err := Computed(f)
			if err != nil {
				return "", "", err
			}
			list[i] = value + " AS " + name
		}
	}
	head = "SELECT " + strings.Join(list, ", ") + " FROM ("
	return head + query + ") AS csm_generated", head, nil
}

// notGenerated is an error of a statement that gives a generated column a value.
func notGenerated(f arrow.Field, message string) error {
	if Generated(f) == "" {
		return nil
	}
	e := sqlerror.New("428C9", message, f.Name)
	e.DetailText = fmt.Sprintf("Column %q is a generated column.", f.Name)
	return e
}
