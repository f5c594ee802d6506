package columntype

import (
	"slices"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/csmsql/csmsql/exec/duckdb/normal"
	"github.com/csmsql/csmsql/internal/enumeration"
	"github.com/csmsql/csmsql/sql/sqlerror"
)

// Alike reports whether a table of a result has the types that the result shows; stored is what DuckDB says of the
// table.
func Alike(stored *arrow.Schema) bool {
	return !slices.ContainsFunc(stored.Fields(), func(f arrow.Field) bool { return normal.IsOpaque(f) || hasWords(f) })
}

// Stored are the columns of a table of a result: those of types that it shows as others are as DuckDB says of the
// table. HUGEINT, which every sum is, becomes decimals, but if the column is a table's that declared it. An ENUM that is
// no user-defined type is an error; called are the names that the table gives its first columns.
func Stored(result *arrow.Schema, stored func(hugeint bool) (*arrow.Schema, error), declared func(column int) bool,
	called []string) (*arrow.Schema, error) {
	decimals, err := stored(false)
	if err != nil {
		return nil, err
	}
	whole, err := stored(true)
	if err != nil {
		return nil, err
	}
	fields := result.Fields()
	for i, f := range decimals.Fields() {
		if declared(i) {
			f = whole.Field(i)
		}
		if hasWords(f) {
			column := fields[i].Name
			if i < len(called) {
				column = called[i]
			}
			return nil, sqlerror.New("0A000", "column %q: columns of type ENUM cannot be stored", column).
				WithHint("Cast it: CAST(… AS VARCHAR).")
		}
		if normal.IsOpaque(f) {
			fields[i].Type, fields[i].Metadata = f.Type, f.Metadata
		}
	}
	return arrow.NewSchema(fields, nil), nil
}

// hasWords reports whether a field is an ENUM of a query's own, or has one in it.
func hasWords(f arrow.Field) bool {
	if f.Type.ID() == arrow.DICTIONARY {
		return enumeration.Of(f) == nil
	}
	nested, ok := f.Type.(arrow.NestedType)
	return ok && slices.ContainsFunc(nested.Fields(), hasWords)
}
