package names

import (
	"fmt"
	"hash/fnv"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/catalog/hugetable"
	"github.com/csmsql/csmsql/exec/duckdb"
)

// shownNames are the names that one of DuckDB's databases shows: a schema for every schema of the catalog, for every
// table a view over csm_table, for every view the view. Not safe for concurrent use.
type shownNames struct {
	database string
	exec     func(sql string) error
	// shapes is what DuckDB has now: name → the statement that made it.
	shapes  map[catalog.TableName]string
	schemas map[string]bool
	words   *viewWords
	// leftOut hears of tables that DuckDB cannot show.
	leftOut func(name catalog.TableName, err error)
}

func newShownNames(database string, exec func(sql string) error, words *viewWords) shownNames {
	return shownNames{
		database: database, exec: exec, words: words, shapes: map[catalog.TableName]string{}, schemas: map[string]bool{},
		leftOut: func(catalog.TableName, error) {},
	}
}

// Follow brings the names to contents. csm_table must resolve contents' tables meanwhile.
func (n *shownNames) follow(contents *catalog.Contents) error {
	wanted := map[catalog.TableName]string{}
	for _, t := range contents.Tables() {
		name := t.Table().Name
		wanted[name] = fmt.Sprintf("/* %s */ CREATE OR REPLACE VIEW %s AS SELECT * FROM csm_table(%s, %s)",
			strings.ReplaceAll(fmt.Sprint(t.Table().ID)+shapeOf(t.Table().Columns), "*/", ""), n.qualified(name),
			duckdb.QuoteLiteral(name.Schema), duckdb.QuoteLiteral(name.Name))
	}
	for _, v := range contents.Views() {
		wanted[v.Name] = n.view(v, n.words.of(v).sql)
	}
	if err := n.dropStale(contents, wanted); err != nil {
		return err
	}
	return n.create(contents, wanted)
}

// shapeOf tells the columns of a table that was altered from those that it had: DuckDB holds a view to them.
func shapeOf(columns *arrow.Schema) string {
	if !hugetable.Numbered(columns) {
		return ""
	}
	h := fnv.New64a()
	for _, f := range columns.Fields() {
		fmt.Fprintf(h, "%q %v %v;", f.Name, f.Type, f.Metadata)
	}
	return fmt.Sprintf(" %x", h.Sum64())
}

func (n *shownNames) dropStale(contents *catalog.Contents, wanted map[catalog.TableName]string) error {
	for name := range n.shapes {
		if _, ok := wanted[name]; ok {
			continue
		}
		if err := n.exec("DROP VIEW IF EXISTS " + n.qualified(name)); err != nil {
			return err
		}
		delete(n.shapes, name)
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
	return nil
}

func (n *shownNames) create(contents *catalog.Contents, wanted map[catalog.TableName]string) error {
	for _, schema := range contents.Schemas() {
		if n.schemas[schema] {
			continue
		}
		if err := n.exec("CREATE SCHEMA IF NOT EXISTS " + n.schema(schema)); err != nil {
			return err
		}
		n.schemas[schema] = true
	}
	for _, t := range contents.Tables() {
		name := t.Table().Name
		if n.shapes[name] == wanted[name] {
			continue
		}
		if err := n.exec(wanted[name]); err != nil {
			n.leaveOut(name, err)
			continue
		}
		n.shapes[name] = wanted[name]
	}
	n.createViews(contents.Views(), wanted, func(v *catalog.View) string { return wanted[v.Name] })
	n.createViews(contents.Views(), wanted, func(v *catalog.View) string { return n.view(v, v.SQL) }) // as they were written
	return nil
}

func (n *shownNames) view(v *catalog.View, sql string) string {
	sql, _ = inDatabase(sql, n.database)
	return fmt.Sprintf("CREATE OR REPLACE VIEW %s%s AS %s", n.qualified(v.Name), columnList(v), sql)
}

// leaveOut goes on without a table that DuckDB cannot show: it is an error of whoever asks it, not of everybody.
func (n *shownNames) leaveOut(name catalog.TableName, err error) {
	n.leftOut(name, err)
	_ = n.exec("DROP VIEW IF EXISTS " + n.qualified(name)) // what it was before, if anything
	delete(n.shapes, name)
}

// createViews makes views in an order in which each finds those it names. One that no longer can be made (its table is
// gone) is left out: it is an error of whoever asks it, not of everybody.
func (n *shownNames) createViews(views []*catalog.View, wanted map[catalog.TableName]string,
	text func(*catalog.View) string) {
	for progress := true; progress; {
		progress = false
		for _, v := range views {
			if n.shapes[v.Name] == wanted[v.Name] {
				continue
			}
			if n.exec(text(v)) == nil {
				n.shapes[v.Name] = wanted[v.Name]
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
