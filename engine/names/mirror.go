package names

import (
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/apache/arrow-go/v18/arrow"

	pg "github.com/pganalyze/pg_query_go/v6"
	"google.golang.org/protobuf/proto"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/exec/duckdb"
	"github.com/csmsql/csmsql/sql/bind"
	"github.com/csmsql/csmsql/sql/past"
	"github.com/csmsql/csmsql/sql/pgcatalog"
	"github.com/csmsql/csmsql/sql/sqlerror"
)

// Mirror makes DuckDB's names follow the catalog's: a schema for every schema, for every table a view over csm_table,
// for every view the view. So DuckDB's own dialect, DESCRIBE, SHOW TABLES and views resolve names, while what they read
// is always the statement's snapshot: csm_table asks the session for it.
type Mirror struct {
	reached atomic.Pointer[reached] // set under mu; read by statements that need not wait for those that follow

	mu   sync.Mutex // guards everything below; above DuckDB's locks
	conn *duckdb.Connection
	seen *catalog.Contents
	// shown is what DuckDB has now, in the database that all sessions share.
	shown shownNames
	words viewWords
	// system are the tables of the schema csm, by their names.
	system map[string]*arrow.Schema
	// planning is the contents that csm_table resolves while the mirror itself makes views.
	planning *catalog.Contents
	// functions, catalogs: PostgreSQL's are there. They are set under mu, and never reset.
	functions, catalogs atomic.Bool
}

// reached is what DuckDB's names have been brought to. Immutable.
type reached struct {
	revision catalog.Revision
	schemas  map[string]bool
}

// Reached is the revision that the names have been brought to.
func (m *Mirror) Reached() catalog.Revision { return m.reached.Load().revision }

// Open makes the names of a database that all its sessions share. system are the tables of the schema csm.
func (m *Mirror) Open(db *duckdb.Database, system map[string]*arrow.Schema, log *slog.Logger) error {
	m.system = system
	conn, err := db.Connect(m.resolve)
	if err != nil {
		return err
	}
	m.conn = conn
	conn.NameTypes(func(number uint64) (string, bool) {
		t, ok := m.planning.TypeOf(catalog.TableID(number))
		if !ok || t.Domain != nil {
			return "", false
		}
		return t.Of().SQL(), true
	})
	m.shown = newShownNames(duckdb.CatalogName, m.exec, &m.words)
	m.shown.schemas[duckdb.SchemaName] = true
	m.shown.leftOut = func(name catalog.TableName, err error) {
		log.Warn("DuckDB cannot show a table", "table", name.String(), "error", err)
	}
	m.shown.schemas[SystemSchema] = true
	m.reach(0)
	db.BeforeText(func(c *duckdb.Connection, sql string) error {
		if c == conn || !m.functions.Load() && !pgcatalog.Calls(sql) {
			return nil
		}
		if err := m.MakeFunctions(); err != nil {
			return err
		}
		if err := c.LookAlso(pgcatalog.SessionSchema); err != nil && pgcatalog.Calls(sql) {
			return err
		}
		return nil // also in an aborted transaction, which is to end
	})
	return showSystem(conn.Exec, duckdb.CatalogName, m.system)
}

// Has reports whether DuckDB knows the schema.
func (m *Mirror) Has(schema string) bool { return m.reached.Load().schemas[schema] }

// makeSchemas makes the schemas of contents that DuckDB does not know, unless something newer was there already.
func (m *Mirror) makeSchemas(contents *catalog.Contents) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.seen != nil && m.seen.Revision() >= contents.Revision() {
		return nil
	}
	defer func() { m.reach(m.Reached()) }()
	return m.shown.makeSchemas(contents)
}

// reach publishes what the names are now to statements that do not wait. Requires mu, once the mirror is open.
func (m *Mirror) reach(revision catalog.Revision) {
	schemas := m.shown.schemas
	if before := m.reached.Load(); before != nil && maps.Equal(before.schemas, schemas) {
		schemas = before.schemas
	} else {
		schemas = maps.Clone(schemas)
	}
	m.reached.Store(&reached{revision, schemas})
}

// Close ends its connection; the names stay as they are.
func (m *Mirror) Close() {
	if m.conn != nil {
		m.conn.Close()
	}
}

// former is the version of a table that a view reads which names it so.
func former(contents *catalog.Contents, name string) (*catalog.TableVersion, bool) {
	ref, ok := past.Parse(name)
	now, there := contents.Table(catalog.TableName{Schema: ref.Schema, Name: ref.Name})
	if !ok || !there {
		return nil, false
	}
	if ref.Number > 0 {
		found, err := contents.VersionNumbered(now, ref.Number)
		return found.TableVersion, err == nil
	}
	at, err := ref.At("UTC")
	if err != nil {
		return nil, false
	}
	found, err := contents.VersionAt(now, at)
	return found.TableVersion, err == nil
}

func (m *Mirror) resolve(schema, name string) (*duckdb.Scan, error) {
	columns, ok := m.system[strings.ToLower(name)]
	if schema != SystemSchema || !ok {
		version, there := m.planning.Table(catalog.TableName{Schema: schema, Name: name})
		if schema == past.Schema {
			version, there = former(m.planning, name)
		}
		if !there {
			return nil, sqlerror.New("42P01", "relation %q does not exist", name)
		}
		columns = version.Table().Columns
	}
	return &duckdb.Scan{
		Schema: columns,
		Open: func(int, []int) (arrow.RecordBatch, error) {
			return nil, sqlerror.New("XX000", "the mirror does not read")
		},
	}, nil
}

// MakeCatalogs makes PostgreSQL's catalogs, which are most of the work of opening a node, when they are first asked
// for. They are a database of their own: so a transaction of DuckDB's that began before sees them.
func (m *Mirror) MakeCatalogs() error {
	if m.catalogs.Load() {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.makeCatalogsLocked()
}

func (m *Mirror) makeCatalogsLocked() error {
	if m.catalogs.Load() {
		return nil
	}
	if err := m.makeFunctionsLocked(); err != nil {
		return err
	}
	if err := m.attach(pgcatalog.Catalogs); err != nil {
		return err
	}
	// Views over the catalogs are bound on this connection, which has what they read then.
	if err := pgcatalog.Refresh(m.conn.Exec, nil, nil, nil, duckdb.CatalogName); err != nil {
		return err
	}
	m.catalogs.Store(true)
	return nil
}

// HasFunctions reports whether they are made.
func (m *Mirror) HasFunctions() bool { return m.functions.Load() }

// MakeFunctions makes those of PostgreSQL's that statements may call, and DuckDB's own lists, before a text is planned
// that names some: most of the memory of a process that attaches would be theirs. From then on all connections look for
// names there, too, because views may call some; a transaction of DuckDB's that began before sees them.
func (m *Mirror) MakeFunctions() error {
	if m.functions.Load() {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.makeFunctionsLocked()
}

func (m *Mirror) makeFunctionsLocked() error {
	if m.functions.Load() {
		return nil
	}
	if err := errors.Join(m.attach(pgcatalog.Functions), m.conn.LookAlso(pgcatalog.SessionSchema)); err != nil {
		return err
	}
	m.functions.Store(true)
	return nil
}

func (m *Mirror) attach(image pgcatalog.Image) error {
	file, err := image.File()
	if err != nil {
		return err
	}
	return m.conn.Attach(image.Name, file)
}

// exec runs a statement that makes names, with the functions that it calls. Requires mu.
func (m *Mirror) exec(sql string) error {
	if !m.functions.Load() && pgcatalog.Calls(sql) {
		if err := m.makeFunctionsLocked(); err != nil {
			return err
		}
	}
	return m.conn.Exec(sql)
}

// Follow brings DuckDB's names to contents, unless something newer was there already.
func (m *Mirror) Follow(contents *catalog.Contents) error {
	if reached := m.Reached(); reached > 0 && reached >= contents.Revision() {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.seen != nil && m.seen.Revision() >= contents.Revision() {
		return nil
	}
	if err := contents.Whole(); err != nil { // what is not known is not gone
		return err
	}
	if m.words.readCatalogs(contents) {
		if err := m.makeCatalogsLocked(); err != nil {
			return err
		}
	}
	m.planning = contents
	defer func() { m.planning = nil }()
	if err := m.shown.follow(contents); err != nil {
		m.reach(m.Reached()) // of the schemas it may have made some
		return fmt.Errorf("follow the catalog: %w", err)
	}
	if !contents.SharesViews(m.seen) {
		m.words.keep(contents)
	}
	m.seen = contents
	m.reach(contents.Revision())
	return nil
}

// ReadCatalogs reports whether a view of contents reads PostgreSQL's system catalogs.
func (m *Mirror) ReadCatalogs(contents *catalog.Contents) bool { return m.words.readCatalogs(contents) }

// View is a view as it may stand in a text for DuckDB whose operators are not translated yet; nil: it may not, because
// it reads PostgreSQL's catalogs or cannot be written for DuckDB.
func (m *Mirror) View(v *catalog.View) *bind.View {
	if v == nil || v.Columns == nil {
		return nil
	}
	text := m.words.of(v)
	if text.readsCatalog || text.tree == nil {
		return nil
	}
	found := &bind.View{Text: text.words, Tree: &pg.ParseResult{}}
	if err := proto.Unmarshal(text.tree, found.Tree); err != nil {
		return nil
	}
	for _, f := range v.Columns.Fields() {
		found.Columns = append(found.Columns, f.Name)
	}
	return found
}
