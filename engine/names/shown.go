package names

import (
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/catalog/hugetable"
	"github.com/csmsql/csmsql/exec/duckdb"
	"github.com/csmsql/csmsql/internal/enumeration"
)

// shownNames are the names that one of DuckDB's databases shows: a schema for every schema of the catalog, for every
// table a view over csm_table, for every view the view. Not safe for concurrent use.
type shownNames struct {
	database string
	exec     func(sql string) error
	// shapes is what DuckDB has now: name → the statement that made it.
	shapes map[catalog.TableName]string
	// missing are the statements that are to make what DuckDB does not have yet, or could not make.
	missing  map[catalog.TableName]string
	followed *catalog.Contents // what they were brought to; nil: to nothing yet
	looked   int               // how many tables and views were looked at; for tests
	schemas  map[string]bool
	types    string // a comment that says in which state the user-defined types are
	words    *viewWords
	// leftOut hears of tables that DuckDB cannot show.
	leftOut func(name catalog.TableName, err error)
}

func newShownNames(database string, exec func(sql string) error, words *viewWords) shownNames {
	return shownNames{
		database: database, exec: exec, words: words,
		shapes: map[catalog.TableName]string{}, missing: map[catalog.TableName]string{}, schemas: map[string]bool{},
		leftOut: func(catalog.TableName, error) {},
	}
}

// follow brings the names to contents, from where it brought them last: what is the same is not looked at. csm_table
// must resolve contents' tables meanwhile. On an error it is called again.
func (n *shownNames) follow(contents *catalog.Contents) error {
	if err := n.followTables(contents); err != nil {
		return err
	}
	if !contents.SharesTypes(n.followed) {
		n.followTypes(contents)
	}
	for was, is := range contents.ViewsSince(n.followed) {
		n.looked++
		if is == nil {
			if _, table := contents.Table(was.Name); table {
				continue
			}
			if err := n.drop(was.Name); err != nil {
				return err
			}
			continue
		}
		n.missing[is.Name] = n.view(is, n.words.of(is).sql)
	}
	if err := n.followSchemas(contents); err != nil {
		return err
	}
	n.complete(contents)
	n.followed = contents
	return nil
}

// followTypes notes that views with user-defined types must be recreated: DuckDB has them with the old labels.
func (n *shownNames) followTypes(contents *catalog.Contents) {
	h := fnv.New64a()
	for _, t := range contents.Types() {
		if t.Domain == nil {
			fmt.Fprintln(h, t.Of().Serialize())
		}
	}
	n.types = fmt.Sprintf("/* %x */ ", h.Sum64())
	for _, v := range contents.Views() {
		if hasTypes(v) {
			n.missing[v.Name] = n.view(v, n.words.of(v).sql)
		}
	}
}

// hasTypes reports whether a view names user-defined types, or has columns of one.
func hasTypes(v *catalog.View) bool {
	return strings.Contains(v.SQL, enumeration.NamePrefix) || v.Columns != nil && enumeration.HasMarked(v.Columns)
}

// followTables drops what is gone and notes what must be made.
func (n *shownNames) followTables(contents *catalog.Contents) error {
	for was, is := range contents.TablesSince(n.followed) {
		n.looked++
		if is == nil {
			name := was.Table().Name
			if _, view := contents.View(name); view {
				continue
			}
			if err := n.drop(name); err != nil {
				return err
			}
			continue
		}
		if was != nil && was.Table().ID == is.Table().ID && was.Table().Columns == is.Table().Columns {
			continue // its rows are others
		}
		name := is.Table().Name
		n.missing[name] = fmt.Sprintf("/* %s */ CREATE OR REPLACE VIEW %s AS SELECT * FROM csm_table(%s, %s)",
			strings.ReplaceAll(fmt.Sprint(is.Table().ID)+shapeOf(is.Table().Columns), "*/", ""), n.qualified(name),
			duckdb.QuoteLiteral(name.Schema), duckdb.QuoteLiteral(name.Name))
	}
	return nil
}

// drop takes a name away that nothing has any more.
func (n *shownNames) drop(name catalog.TableName) error {
	delete(n.missing, name)
	if n.shapes[name] == "" {
		return nil
	}
	if err := n.exec("DROP VIEW IF EXISTS " + n.qualified(name)); err != nil {
		return err
	}
	delete(n.shapes, name)
	return nil
}

// shapeOf distinguishes the columns of a table that was altered from those that it had: DuckDB holds a view to them.
func shapeOf(columns *arrow.Schema) string {
	if !hugetable.Numbered(columns) && !enumeration.Has(columns) {
		return ""
	}
	h := fnv.New64a()
	for _, f := range columns.Fields() {
		if t := enumeration.Of(f); t != nil {
			fmt.Fprintln(h, t.Serialize())
		}
		fmt.Fprintf(h, "%q %v %v;", f.Name, f.Type, f.Metadata)
	}
	return fmt.Sprintf(" %x", h.Sum64())
}

func (n *shownNames) followSchemas(contents *catalog.Contents) error {
	if contents.SharesSchemas(n.followed) {
		return nil
	}
	for schema := range n.schemas {
		if contents.HasSchema(schema) || schema == duckdb.SchemaName || schema == SystemSchema {
			continue
		}
		if err := n.exec("DROP SCHEMA IF EXISTS " + n.schema(schema) + " CASCADE"); err != nil {
			return err
		}
		delete(n.schemas, schema)
	}
	return n.makeSchemas(contents)
}

// makeSchemas makes those that are not there yet.
func (n *shownNames) makeSchemas(contents *catalog.Contents) error {
	for _, schema := range contents.Schemas() {
		if n.schemas[schema] {
			continue
		}
		if err := n.exec("CREATE SCHEMA IF NOT EXISTS " + n.schema(schema)); err != nil {
			return err
		}
		n.schemas[schema] = true
	}
	return nil
}

// complete makes what is missing: tables, and then views. What cannot be made is tried again when the catalog moves on.
func (n *shownNames) complete(contents *catalog.Contents) {
	var views []*catalog.View
	for _, name := range slices.SortedFunc(maps.Keys(n.missing), catalog.TableName.Compare) {
		text := n.missing[name]
		if v, ok := contents.View(name); ok {
			views = append(views, v)
			continue
		}
		if n.shapes[name] != text {
			if err := n.exec(text); err != nil {
				n.leaveOut(name, err)
				continue
			}
			n.shapes[name] = text
		}
		delete(n.missing, name)
	}
	n.createViews(views, func(v *catalog.View) string { return n.missing[v.Name] })
	n.createViews(views, func(v *catalog.View) string { return n.view(v, v.SQL) }) // as they were written
}

func (n *shownNames) view(v *catalog.View, sql string) string {
	sql, _ = inDatabase(sql, n.database)
	types := ""
	if hasTypes(v) {
		types = n.types
	}
	return fmt.Sprintf("%sCREATE OR REPLACE VIEW %s%s AS %s", types, n.qualified(v.Name), columnList(v), sql)
}

// leaveOut goes on without a table that DuckDB cannot show: it is an error of statements that ask for it, not of all.
func (n *shownNames) leaveOut(name catalog.TableName, err error) {
	n.leftOut(name, err)
	_ = n.exec("DROP VIEW IF EXISTS " + n.qualified(name)) // what it was before, if anything
	delete(n.shapes, name)
}

// createViews makes views in an order in which each finds those it names. One that no longer can be made (its table is
// gone) is left out: it is an error of statements that ask for it, not of all.
func (n *shownNames) createViews(views []*catalog.View, text func(*catalog.View) string) {
	for progress := true; progress; {
		progress = false
		for _, v := range views {
			wanted, missing := n.missing[v.Name]
			if !missing {
				continue
			}
			if n.shapes[v.Name] == wanted || n.exec(text(v)) == nil {
				n.shapes[v.Name] = wanted
				delete(n.missing, v.Name)
				progress = true
			}
		}
	}
}

func (n *shownNames) schema(name string) string {
	return n.database + "." + duckdb.QuoteIdentifier(name)
}

func (n *shownNames) qualified(name catalog.TableName) string {
	return n.schema(name.Schema) + "." + duckdb.QuoteIdentifier(name.Name)
}

func columnList(v *catalog.View) string {
	if v.Columns == nil || v.Columns.NumFields() == 0 {
		return ""
	}
	names := make([]string, v.Columns.NumFields())
	for i, f := range v.Columns.Fields() {
		names[i] = duckdb.QuoteIdentifier(f.Name)
	}
	return "(" + strings.Join(names, ", ") + ")"
}

// SystemSchema is reserved.
const SystemSchema = "csm"

// showSystem makes the views in one of DuckDB's databases.
func showSystem(exec func(string) error, database string, tables map[string]*arrow.Schema) error {
	if err := exec("CREATE SCHEMA IF NOT EXISTS " + database + "." + SystemSchema); err != nil {
		return err
	}
	for name := range tables {
		sql := fmt.Sprintf("CREATE VIEW %s.%s.%s AS SELECT * FROM csm_table('%s', '%s')",
			database, SystemSchema, name, SystemSchema, name)
		if err := exec(sql); err != nil {
			return fmt.Errorf("show csm.%s: %w", name, err)
		}
	}
	return nil
}
