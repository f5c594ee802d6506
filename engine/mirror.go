package engine

import (
	"fmt"
	"strings"
	"sync"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/engine/pgcatalog"
	"github.com/csmsql/csmsql/exec/duckdb"
)

// mirror makes DuckDB's names follow the catalog's: a schema for every schema, for every table a view over csm_table, for
// every view the view. So DuckDB's own dialect, DESCRIBE, SHOW TABLES and views resolve names, while what they read
// is always the statement's snapshot: csm_table asks the session for it.
type mirror struct {
	mu   sync.Mutex // guards everything below; above DuckDB's locks
	conn *duckdb.Connection
	seen *catalog.Contents
	// shapes is what DuckDB has now: qualified name → the statement that made it.
	shapes  map[catalog.TableName]string
	schemas map[string]bool
	// planning is the contents that csm_table resolves while the mirror itself makes views.
	planning *catalog.Contents
	engine   *Engine
}

func (m *mirror) open(e *Engine) error {
	m.engine = e
	m.shapes, m.schemas = map[catalog.TableName]string{}, map[string]bool{duckdb.SchemaName: true}
	conn, err := e.db.Connect(m.resolve)
	if err != nil {
		return err
	}
	m.conn = conn
	return pgcatalog.Install(conn.Exec)
}

// has tells whether DuckDB knows the schema.
func (m *mirror) has(schema string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.schemas[schema]
}

func (m *mirror) close() {
	if m.conn != nil {
		m.conn.Close()
	}
}

func (m *mirror) resolve(schema, name string) (*duckdb.Scan, error) {
	version, ok := m.planning.Table(catalog.TableName{Schema: schema, Name: name})
	if !ok {
		return nil, failure("42P01", "relation %q does not exist", name)
	}
	return &duckdb.Scan{
		Schema: version.Table().Columns,
		Open: func(int, []int) (arrow.RecordBatch, error) {
			return nil, failure("XX000", "the mirror does not read")
		},
	}, nil
}

// follow brings DuckDB's names to contents, unless something newer was there already.
func (m *mirror) follow(contents *catalog.Contents) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.seen != nil && m.seen.Revision() >= contents.Revision() {
		return nil
	}
	m.planning = contents
	defer func() { m.planning = nil }()
	wanted := map[catalog.TableName]string{}
	for _, t := range contents.Tables() {
		name := t.Table().Name
		wanted[name] = fmt.Sprintf("/* %s */ CREATE OR REPLACE VIEW %s AS SELECT * FROM csm_table(%s, %s)",
			strings.ReplaceAll(fmt.Sprint(t.Table().ID), "*/", ""), qualified(name), duckdb.QuoteLiteral(name.Schema), duckdb.QuoteLiteral(name.Name))
	}
	views := contents.Views()
	for _, v := range views {
		wanted[v.Name] = fmt.Sprintf("CREATE OR REPLACE VIEW %s%s AS %s", qualified(v.Name), columnList(v), v.SQL)
	}
	if err := m.dropStale(contents, wanted); err != nil {
		return err
	}
	if err := m.create(contents, wanted); err != nil {
		return err
	}
	m.seen = contents
	return nil
}

func (m *mirror) dropStale(contents *catalog.Contents, wanted map[catalog.TableName]string) error {
	for name := range m.shapes {
		if _, ok := wanted[name]; ok {
			continue
		}
		if err := m.conn.Exec("DROP VIEW IF EXISTS " + qualified(name)); err != nil {
			return fmt.Errorf("engine: mirror: %w", err)
		}
		delete(m.shapes, name)
	}
	for schema := range m.schemas {
		if contents.HasSchema(schema) || schema == duckdb.SchemaName {
			continue
		}
		if err := m.conn.Exec("DROP SCHEMA IF EXISTS " + duckdb.CatalogName + "." + duckdb.QuoteIdentifier(schema) + " CASCADE"); err != nil {
			return fmt.Errorf("engine: mirror: %w", err)
		}
		delete(m.schemas, schema)
	}
	return nil
}

func (m *mirror) create(contents *catalog.Contents, wanted map[catalog.TableName]string) error {
	for _, schema := range contents.Schemas() {
		if m.schemas[schema] {
			continue
		}
		if err := m.conn.Exec("CREATE SCHEMA IF NOT EXISTS " + duckdb.CatalogName + "." + duckdb.QuoteIdentifier(schema)); err != nil {
			return fmt.Errorf("engine: mirror: %w", err)
		}
		m.schemas[schema] = true
	}
	for _, t := range contents.Tables() {
		name := t.Table().Name
		if m.shapes[name] == wanted[name] {
			continue
		}
		if err := m.conn.Exec(wanted[name]); err != nil {
			m.leaveOut(name, err)
			continue
		}
		m.shapes[name] = wanted[name]
	}
	m.createViews(contents.Views(), wanted)
	return nil
}

// leaveOut goes on without a table that DuckDB cannot show: it is an error of whoever asks it, not of everybody.
func (m *mirror) leaveOut(name catalog.TableName, err error) {
	m.engine.config.Log.Warn("DuckDB cannot show a table", "table", name.String(), "error", err)
	_ = m.conn.Exec("DROP VIEW IF EXISTS " + qualified(name)) // what it was before, if anything
	delete(m.shapes, name)
}

// createViews makes views in an order in which each finds those it names. One that no longer can be made (its table is gone) is
// left out: it is an error of whoever asks it, not of everybody.
func (m *mirror) createViews(views []*catalog.View, wanted map[catalog.TableName]string) {
	for progress := true; progress; {
		progress = false
		for _, v := range views {
			if m.shapes[v.Name] == wanted[v.Name] {
				continue
			}
			if m.conn.Exec(wanted[v.Name]) == nil {
				m.shapes[v.Name] = wanted[v.Name]
				progress = true
			}
		}
	}
}

func qualified(name catalog.TableName) string {
	return duckdb.CatalogName + "." + duckdb.QuoteIdentifier(name.Schema) + "." + duckdb.QuoteIdentifier(name.Name)
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
