package snapshot

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/catalog/positions"
	"github.com/csmsql/csmsql/engine/constraint"
	"github.com/csmsql/csmsql/engine/lease"
	"github.com/csmsql/csmsql/engine/lookup"
	"github.com/csmsql/csmsql/engine/materialized"
	"github.com/csmsql/csmsql/engine/names"
	"github.com/csmsql/csmsql/engine/reader"
	"github.com/csmsql/csmsql/exec/duckdb"
	"github.com/csmsql/csmsql/sql/past"
	"github.com/csmsql/csmsql/sql/sqlerror"
	"github.com/csmsql/csmsql/sql/statement"
)

// View is one snapshot of the catalog as one statement sees it: a lease keeps its chunks, a transaction block adds
// its own uncommitted changes.
type View struct {
	Contents *catalog.Contents
	Lease    *lease.Lease
	// Path is where bare names are looked for.
	Path []string
	// Read is what the statement has read: of planning until that is over, then of each execution. DuckDB runs one at
	// a time.
	Read *reader.Readings
	// Reads are the names that were looked up in it.
	Reads *lookup.Names
	// Parts are the chunks of the occurrences of tables that are not read whole, by where their names stand in the
	// text.
	Parts map[int][]int
	// Results are the tables that parts of the statement made.
	Results map[*catalog.TableVersion]bool
	// Numbered are the tables that have the numbers of their rows in this statement.
	Numbered Numbering
	// KeysKept says that the statement changes no value of a key: what it writes needs no look for duplicates.
	KeysKept bool
	// Deleted are the rows that the statement has deleted of a table that it has also written others of, by chunk.
	Deleted map[catalog.TableID]map[int]*positions.Set
	// Refused is why a former version of a table, which the statement asks for, is not to be had; nil: all are.
	Refused error
	// Zone is the session's time zone.
	Zone string
	// Age bounds how much older the contents were than the last commit when they were pinned; 0: they were the last.
	Age time.Duration
	// Own are the session's temporary tables and views, which hide what is called the same.
	Own Temporary
}

// UsualAge bounds how old contents are of a node that hears from its cluster's store, which it does every second. Clients
// are notified of more.
const UsualAge = 3 * time.Second

// AgeNotice is for the client of a statement that reads contents of an unusual age; empty: they are not.
func (v *View) AgeNotice() string {
	if v.Age < UsualAge {
		return ""
	}
	return fmt.Sprintf("the rows may be up to %v older than the last commit: the cluster's etcd has not been heard of since",
		v.Age.Round(100*time.Millisecond))
}

// Unsealed reports whether rows may be missing of tables that the statement was not going to read.
func (v *View) Unsealed() bool { return v.Lease.Snapshot.Unsealed }

// Release ends the use of the view. v may be nil.
func (v *View) Release() {
	if v != nil {
		v.Lease.Release()
	}
}

// Unless is the view, or, if there is an error, that: then its use ends. v may be nil.
func (v *View) Unless(err error) (*View, error) {
	if err != nil {
		v.Release()
		return nil, err
	}
	return v, nil
}

// Find looks a table up, first as written and then without regard to case, as DuckDB does.
func (v *View) Find(schema, name string) *catalog.TableVersion {
	if schema == past.Schema {
		return v.former(name)
	}
	return find(v, catalog.TableName{Schema: schema, Name: name}, v.Contents.Table)
}

// FindView is Find for views.
func (v *View) FindView(schema, name string) *catalog.View {
	return find(v, catalog.TableName{Schema: schema, Name: name}, v.Contents.View)
}

func find[T any](v *View, name catalog.TableName, exact func(catalog.TableName) (*T, bool)) *T {
	v.Reads.Note(name.Schema, name.Name)
	if found, ok := exact(name); ok {
		return found
	}
	if _, ok := names.SchemaNamed(v.Contents, name.Schema); !ok {
		return nil
	}
	for other := range v.Contents.Alike(name) {
		if found, ok := exact(other); ok {
			v.Reads.Note(other.Schema, other.Name)
			return found
		}
	}
	return nil
}

// Lookup finds the table that a name in a query means, or nil for whatever is not one of ours.
func (v *View) Lookup(database, schema, table string) *catalog.TableVersion {
	if database != "" && !strings.EqualFold(database, duckdb.CatalogName) {
		return nil
	}
	if schema != "" {
		return v.Find(schema, table)
	}
	if v.Own.Has(table) {
		return nil
	}
	for _, schema := range v.Path {
		if version := v.Find(schema, table); version != nil {
			return version
		}
		if v.HasView(schema, table) {
			return nil
		}
	}
	return nil
}

// LookupType is the user-defined type that a name means; nil: none.
func (v *View) LookupType(database, schema, name string) *catalog.UserType {
	if !v.Contents.HasTypes() || database != "" && !strings.EqualFold(database, duckdb.CatalogName) {
		return nil
	}
	schemas := v.Path
	if schema != "" {
		schemas = []string{schema}
	}
	for _, schema := range schemas {
		if found := find(v, catalog.TableName{Schema: schema, Name: name}, v.Contents.Type); found != nil {
			return found
		}
	}
	return nil
}

// LookupFunction is the function that a name means; nil: none.
func (v *View) LookupFunction(schema, name string) *catalog.UserType {
	if !v.Contents.HasTypes() {
		return nil
	}
	schemas := v.Path
	if schema != "" {
		schemas = []string{schema}
	}
	for _, schema := range schemas {
		if found := find(v, catalog.FunctionName(schema, name), v.Contents.Function); found != nil {
			return found
		}
	}
	return nil
}

// LookupView is Lookup for views.
func (v *View) LookupView(database, schema, view string) *catalog.View {
	if database != "" && !strings.EqualFold(database, duckdb.CatalogName) || schema == "" && v.Own.Has(view) {
		return nil
	}
	schemas := v.Path
	if schema != "" {
		schemas = []string{schema}
	}
	for _, schema := range schemas {
		if v.Find(schema, view) != nil {
			return nil
		}
		if found := v.FindView(schema, view); found != nil {
			return found
		}
	}
	return nil
}

// Target finds the table whose rows a statement writes. Temporary tables are DuckDB's own: ErrTemporary says so.
func (v *View) Target(name statement.Name) (*catalog.TableVersion, error) {
	version, err := v.Stored(name)
	if err == nil {
		err = materialized.Refuse(version.Table())
	}
	if err != nil {
		return nil, err
	}
	return version, nil
}

// Stored is Target of a statement about a table itself: a materialized view is one, too.
func (v *View) Stored(name statement.Name) (*catalog.TableVersion, error) {
	if name.Schema == "temp" || name.Schema == "pg_temp" || name.Schema == "" && v.Own.Has(name.Name) {
		return nil, ErrTemporary
	}
	if name.Schema == past.Schema {
		return nil, sqlerror.New("0A000", "a former version of a table cannot be changed, locked or copied").
			WithHint("INSERT … SELECT … FROM t AT (VERSION => …) copies its rows.")
	}
	if version := v.Lookup(name.Database, name.Schema, name.Name); version != nil {
		return version, nil
	}
	schema := name.Schema
	if schema == "" && len(v.Path) > 0 {
		schema = v.Path[0]
	}
	if v.HasView(schema, name.Name) {
		return nil, sqlerror.New("42809", "cannot change view %q", name.Name)
	}
	return nil, sqlerror.New("42P01", "relation %q does not exist", name.String())
}

// Altered is Target of an ALTER TABLE, or of an ALTER of what object is.
func (v *View) Altered(object statement.Object, name statement.Name) (*catalog.TableVersion, error) {
	version, err := v.Stored(name)
	e, ok := err.(*sqlerror.Error)
	if object == statement.MaterializedView &&
		(err == nil && !materialized.Is(version.Table()) || ok && e.State == "42809") {
		return nil, sqlerror.New("42809", "%q is not a materialized view", name.Name)
	}
	return version, err
}

// Emptied is Target of a TRUNCATE.
func (v *View) Emptied(name statement.Name) (*catalog.TableVersion, error) {
	version, err := v.Target(name)
	if e, ok := err.(*sqlerror.Error); ok && e.State == "42809" {
		err = sqlerror.New("42809", "%q is not a table", name.Name)
	}
	return version, err
}

// Copied is Target of a COPY; of one of a materialized view, the view comes with the error.
func (v *View) Copied(head *statement.Copy) (*catalog.TableVersion, error) {
	version, err := v.Stored(head.Name)
	switch {
	case err != nil || !materialized.Is(version.Table()):
		return version, err
	case head.From:
		return version, sqlerror.New("42809", "cannot copy to materialized view %q", head.Name.Name)
	}
	return version, sqlerror.New("42809", "cannot copy from materialized view %q", head.Name.Name).
		WithHint("Try the COPY (SELECT ...) TO variant.")
}

// ErrTemporary says that a name is that of a temporary table.
var ErrTemporary = sqlerror.New("0A000", "the table is temporary")

// OwnDatabase refuses what is to be in another database; "" is this one.
func OwnDatabase(database, name string) error {
	if database != "" && !strings.EqualFold(database, duckdb.CatalogName) {
		return sqlerror.New("0A000", "cross-database references are not implemented: %q", name)
	}
	return nil
}

// Qualify gives a new object its schema. No index has its name; tables and views are the catalog's to compare.
func (v *View) Qualify(name statement.Name) (catalog.TableName, error) {
	full, err := v.QualifyType(name)
	if err != nil {
		return full, err
	}
	if find(v, full, v.Contents.Type) != nil {
		return full, sqlerror.New("42710", "type %q already exists", name.Name).WithHint("A relation has an associated " +
			"type of the same name, so you must use a name that doesn't conflict with any existing type.")
	}
	if index, err := constraint.IndexNamed(v.Contents, full); index != nil || err != nil {
		return full, cmp.Or(err, error(sqlerror.New("42P07", "relation %q already exists", name.Name)))
	}
	return full, nil
}

// QualifyType is Qualify of the name of a type, which may be that of an index.
func (v *View) QualifyType(name statement.Name) (catalog.TableName, error) {
	if err := OwnDatabase(name.Database, name.String()); err != nil {
		return catalog.TableName{}, err
	}
	schema := name.Schema
	if schema == "" {
		if len(v.Path) == 0 {
			return catalog.TableName{}, sqlerror.New("3F000", "no schema has been selected to create in")
		}
		schema = v.Path[0]
		if i := slices.IndexFunc(v.Path, v.Contents.HasSchema); i >= 0 { // the first that is there, as PostgreSQL has it
			schema = v.Path[i]
		}
	}
	if !v.Contents.HasSchema(schema) {
		return catalog.TableName{}, sqlerror.New("3F000", "schema %q does not exist", schema)
	}
	return catalog.TableName{Schema: schema, Name: name.Name}, nil
}

// HasView reports whether there is a view of that name.
func (v *View) HasView(schema, name string) bool { return v.FindView(schema, name) != nil }

// Named is the table or view that a name in a view's query means; schema is that of names without one, which views of
// former catalogs have.
func (v *View) Named(m duckdb.Mention, schema string) (catalog.TableName, bool) {
	if m.Catalog != "" && !strings.EqualFold(m.Catalog, duckdb.CatalogName) {
		return catalog.TableName{}, false
	}
	if m.Schema != "" {
		schema = m.Schema
	}
	if schema == past.Schema {
		return v.formerNamed(m.Name)
	}
	if t := v.Find(schema, m.Name); t != nil {
		return t.Table().Name, true
	}
	if w := v.FindView(schema, m.Name); w != nil {
		return w.Name, true
	}
	return catalog.TableName{}, false
}

// EveryTable lists the tables for a statement that depends on all of them.
func (v *View) EveryTable() []*catalog.TableVersion {
	v.Reads.Everything()
	return v.Contents.Tables()
}

// Collates reports whether a view says something of a collation.
func (v *View) Collates() bool {
	return slices.ContainsFunc(v.Contents.Views(), func(w *catalog.View) bool {
		return strings.Contains(strings.ToLower(w.SQL), "collate")
	})
}

// Meaning is what a name means.
func (v *View) Meaning(name catalog.TableName) lookup.Meaning {
	if table := v.Find(name.Schema, name.Name); table != nil {
		return lookup.Meaning{Table: table}
	}
	if view := v.FindView(name.Schema, name.Name); view != nil {
		return lookup.Meaning{View: view}
	}
	return lookup.Meaning{Type: find(v, name, v.Contents.Type)}
}

// Temporary are a session's temporary tables and views, in lower case.
type Temporary map[string]bool

// Has reports whether there is a temporary table or view of that name.
func (own Temporary) Has(name string) bool {
	return len(own) > 0 && own[strings.ToLower(name)]
}

// Means reports whether a name is that of a temporary table or view.
func (own Temporary) Means(name statement.Name) bool {
	named := strings.EqualFold(name.Schema, "temp") || strings.EqualFold(name.Database, "temp")
	return (name.Schema == "" || named) && own.Has(name.Name)
}

// TemporarySchema is where DuckDB has temporary objects.
const TemporarySchema = "temp.main"

// IsTemporary reports whether a name says of itself that it is that of a temporary object.
func IsTemporary(m duckdb.Mention) bool {
	return strings.EqualFold(m.Catalog, "temp") || m.Catalog == "" && strings.EqualFold(m.Schema, "temp")
}
