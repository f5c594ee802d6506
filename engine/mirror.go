package engine

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/exec/duckdb"
	"github.com/csmsql/csmsql/sql/pgcatalog"
	"github.com/csmsql/csmsql/sql/sqlerror"
)

// mirror makes DuckDB's names follow the catalog's: a schema for every schema, for every table a view over csm_table, for
// every view the view. So DuckDB's own dialect, DESCRIBE, SHOW TABLES and views resolve names, while what they read
// is always the statement's snapshot: csm_table asks the session for it.
type mirror struct {
	mu   sync.Mutex // guards everything below; above DuckDB's locks
	conn *duckdb.Connection
	seen *catalog.Contents
	// shown is what DuckDB has now, in the database that all sessions share.
	shown shownNames
	// planning is the contents that csm_table resolves while the mirror itself makes views.
	planning *catalog.Contents
	// catalogs: PostgreSQL's are there. It is set under mu, and never reset.
	catalogs atomic.Bool
}

func (m *mirror) open(e *Engine) error {
	conn, err := e.db.Connect(m.resolve)
	if err != nil {
		return err
	}
	m.conn = conn
	m.shown = newShownNames(duckdb.CatalogName, conn.Exec, &e.views)
	m.shown.schemas[duckdb.SchemaName] = true
	m.shown.leftOut = func(name catalog.TableName, err error) {
		e.config.Log.Warn("DuckDB cannot show a table", "table", name.String(), "error", err)
	}
	m.shown.schemas[systemSchema] = true
	if err := errors.Join(showSystem(conn.Exec, duckdb.CatalogName), pgcatalog.Install(conn.Exec)); err != nil {
		return err
	}
	// As sessions do: views call functions of PostgreSQL's.
	return conn.Exec("SET search_path = " + duckdb.QuoteLiteral(duckdb.CatalogName+"."+duckdb.SchemaName+","+pgcatalog.SessionSchema))
}

// has tells whether DuckDB knows the schema.
func (m *mirror) has(schema string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.shown.schemas[schema]
}

func (m *mirror) close() {
	if m.conn != nil {
		m.conn.Close()
	}
}

func (m *mirror) resolve(schema, name string) (*duckdb.Scan, error) {
	if schema == systemSchema {
		if scan, ok := systemScan(nil, name); ok {
			return scan, nil
		}
	}
	version, ok := m.planning.Table(catalog.TableName{Schema: schema, Name: name})
	if !ok {
		return nil, sqlerror.New("42P01", "relation %q does not exist", name)
	}
	return &duckdb.Scan{
		Schema: version.Table().Columns,
		Open: func(int, []int) (arrow.RecordBatch, error) {
			return nil, sqlerror.New("XX000", "the mirror does not read")
		},
	}, nil
}

// makeCatalogs makes PostgreSQL's catalogs, which are most of the work of opening a node, when somebody asks for them first. They are a database
// of their own: so a transaction of DuckDB's that began before sees them.
func (m *mirror) makeCatalogs() error {
	if m.catalogs.Load() {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.makeCatalogsLocked()
}

func (m *mirror) makeCatalogsLocked() error {
	if m.catalogs.Load() {
		return nil
	}
	if err := pgcatalog.InstallCatalogs(m.conn.Exec); err != nil {
		return err
	}
	m.catalogs.Store(true)
	return nil
}

// follow brings DuckDB's names to contents, unless something newer was there already.
func (m *mirror) follow(contents *catalog.Contents) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.seen != nil && m.seen.Revision() >= contents.Revision() {
		return nil
	}
	if m.shown.words.readCatalogs(contents) {
		if err := m.makeCatalogsLocked(); err != nil {
			return err
		}
	}
	m.planning = contents
	defer func() { m.planning = nil }()
	if err := m.shown.follow(contents); err != nil {
		return fmt.Errorf("engine: mirror: %w", err)
	}
	m.seen = contents
	m.shown.words.keep(contents)
	return nil
}
