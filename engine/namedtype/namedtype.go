package namedtype

import (
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/engine/constraint"
	"github.com/csmsql/csmsql/engine/snapshot"
	"github.com/csmsql/csmsql/exec/duckdb"
	"github.com/csmsql/csmsql/internal/enumeration"
	"github.com/csmsql/csmsql/sql/pgcatalog"
	"github.com/csmsql/csmsql/sql/sqlerror"
	"github.com/csmsql/csmsql/sql/statement"
	"github.com/csmsql/csmsql/sql/typing"
)

// Finder finds the types of a view that names mean; own are the names of the session's own types, which hide them, in
// lower case.
func Finder(v *snapshot.View, own snapshot.Temporary) typing.FindType {
	return func(database, schema, name string) (uint64, bool) {
		if own.Means(statement.Name{Database: database, Schema: schema, Name: name}) {
			return 0, false
		}
		t := v.LookupType(database, schema, name)
		if t == nil {
			return 0, false
		}
		return uint64(t.ID), true
	}
}

// UserTypes are the types that a statement sees.
func UserTypes(v *snapshot.View) typing.UserTypes {
	return typing.UserTypes{
		ByOID: func(oid uint32) *enumeration.Type {
			if oid < pgcatalog.FirstOID {
				return nil
			}
			t, ok := v.Contents.TypeOf(catalog.TableID(oid - pgcatalog.FirstOID))
			if !ok {
				return nil
			}
			return t.Of()
		},
		Unseen: v.Own.Has,
	}
}

// SQL says what the calls of types mean to DuckDB, in contents.
func SQL(contents *catalog.Contents) duckdb.TypesOf {
	return func(number uint64) (string, bool) {
		t, ok := contents.TypeOf(catalog.TableID(number))
		if !ok {
			return "", false
		}
		if t.Domain != nil {
			return held(t)
		}
		return t.Of().SQL(), true
	}
}

// Newest says what the calls of types mean to DuckDB now; c may be nil.
func Newest(c *catalog.Catalog) duckdb.TypesOf {
	return func(number uint64) (string, bool) {
		if c == nil {
			return "", false
		}
		return SQL(c.Applied())(number)
	}
}

// Called is SQL of what a statement sees, which depends on it.
func Called(v *snapshot.View, number uint64) (string, bool) {
	if t, ok := v.Contents.TypeOf(catalog.TableID(number)); ok {
		v.Reads.Note(t.Name.Schema, t.Name.Name)
	}
	return SQL(v.Contents)(number)
}

// Columns are those of a result that are called by a type which the text names by its number, by its name.
func Columns(contents *catalog.Contents, result *arrow.Schema) *arrow.Schema {
	named := func(f arrow.Field) bool { return strings.HasPrefix(f.Name, enumeration.NamePrefix) }
	if !slices.ContainsFunc(result.Fields(), named) {
		return result
	}
	fields := result.Fields()
	for i, f := range fields {
		if number, ok := enumeration.Named(f.Name); ok {
			if t, ok := contents.TypeOf(catalog.TableID(number)); ok {
				fields[i].Name = t.Name.Name
			}
		}
	}
	meta := result.Metadata()
	return arrow.NewSchema(fields, &meta)
}

// Stored are the columns of a result as a table has them: those of users' types with the types of contents.
func Stored(contents *catalog.Contents, result *arrow.Schema) (*arrow.Schema, error) {
	fields := result.Fields()
	for i := range fields {
		var err error
		if fields[i], err = StoredField(contents, fields[i]); err != nil {
			return nil, err
		}
	}
	meta := result.Metadata()
	return arrow.NewSchema(fields, &meta), nil
}

// StoredField is Stored of one column.
func StoredField(contents *catalog.Contents, f arrow.Field) (arrow.Field, error) {
	t := enumeration.Of(f)
	if t == nil {
		if enumeration.Any(f.Type) {
			return f, sqlerror.New("0A000", "columns of arrays, or of other types, of user-defined types cannot be stored").
				WithHint("Store text, and cast to the type where it is used.")
		}
		return f, nil
	}
	is, ok := contents.TypeOf(catalog.TableID(t.Number()))
	if !ok {
		return f, sqlerror.New("42704", "type %q does not exist", t.TypeName())
	}
	f.Type, f.Metadata = is.Of(), arrow.Metadata{}
	return f, nil
}

// Uses are the types that a table's columns have, or that their defaults and its constraints name. A transaction that
// declares a table so has read them in the sense of K10: it knows their labels (NT2).
func Uses(contents *catalog.Contents, columns *arrow.Schema) (names []catalog.TableName) {
	meta := columns.Metadata()
	texts := slices.Clone(meta.Values())
	has := map[uint64]bool{}
	for _, f := range columns.Fields() {
		texts = append(texts, f.Metadata.Values()...)
		if t := enumeration.Of(f); t != nil {
			has[t.Number()] = true
		}
		if number, ok := constraint.DomainOf(f); ok {
			has[number] = true
		}
	}
	for _, t := range contents.Types() {
		if has[uint64(t.ID)] || slices.ContainsFunc(texts, func(text string) bool { return calls(text, t) }) {
			names = append(names, t.Name)
		}
	}
	return names
}

// UsedIn are the types that a text which is kept names.
func UsedIn(contents *catalog.Contents, text string) (names []catalog.TableName) {
	for _, t := range contents.Types() {
		if calls(text, t) {
			names = append(names, t.Name)
		}
	}
	return names
}

func calls(text string, t *catalog.UserType) bool {
	return enumeration.Calls(text, enumeration.NameOf(uint64(t.ID)))
}
