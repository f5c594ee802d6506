package pgcatalog

import (
	"embed"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/csmsql/csmsql/sql/pgcatalog/copytext"
	"github.com/csmsql/csmsql/sql/tree"
)

//go:embed data/*.tsv data/*.sql
var files embed.FS

// systemColumn is one column of a system relation, as columns.tsv has it.
type systemColumn struct {
	name, typeName string
	notNull        bool
}

// systemRelation is a relation of pg_catalog or information_schema.
type systemRelation struct {
	schema, name string
	oid          int64
	table        bool // no view
	columns      []systemColumn
	// Of contents alone:
	sources []source        // the SELECTs that give it rows
	static  *copytext.Table // its static rows, nil if there are none
	alone   bool            // the sources read the static rows themselves
}

// source is a SELECT of relations.sql.
type source struct {
	query   string
	columns map[string]bool
}

// model is what data/ says of names; of rows and sources only for those who make images.
type model struct {
	relations map[string]*systemRelation // "schema.name"
	order     []string                   // relations with sources, in the order of relations.sql
	names     []string                   // all relations
	oids      map[string]bool            // names of columns whose type is an object ID
	types     map[string]uint32          // columns' names → the type they have wherever they occur, if PostgreSQL's is narrower than DuckDB's
	vectors   map[string]bool            // names of columns that are int2vector or oidvector wherever they occur
	*macroNames
}

// macroNames are those of our macros for PostgreSQL's functions.
type macroNames struct {
	session   map[string]bool // functions of pg_session
	compat    map[string]bool // functions of pg_compat
	quiet     map[string]bool // functions of pg_quiet
	tables    map[string]bool // those of them that stand in FROM
	functions map[string]bool // those of pg_compat that are not made with the catalogs
	installed map[string]bool // what Functions has that is looked up without its schema: DuckDB's lists, too
}

// data is the model that catalog queries are read with. A test loads it, so that a release cannot carry files that do
// not parse. Other statements need no more than macros: in a process that attaches, the model would be a tenth of what
// a scan takes.
var (
	data   = sync.OnceValues(loadModel)
	macros = sync.OnceValue(loadMacros)
)

func readFile(name string) string {
	text, err := files.ReadFile("data/" + name)
	if err != nil {
		return ""
	}
	return string(text)
}

func loadModel() (*model, error) {
	m := &model{relations: map[string]*systemRelation{}, oids: map[string]bool{}, types: map[string]uint32{},
		vectors: map[string]bool{}, macroNames: macros()}
	if err := m.loadColumns(); err != nil {
		return nil, err
	}
	return m, nil
}

// contents is the model with all that the images are made of.
func contents() (*model, error) {
	m, err := loadModel()
	if err != nil {
		return nil, err
	}
	return m, errors.Join(m.loadRows(), m.loadSources())
}

func (m *model) loadRows() (err error) {
	for key, r := range m.relations {
		if key == tree.SystemSchema+".pg_settings" {
			r.static = settingsRows()
		} else if text := readFile(r.name + ".tsv"); text != "" && r.schema == tree.SystemSchema {
			if r.static, err = copytext.Read(text); err != nil {
				return fmt.Errorf("%s.tsv: %w", r.name, err)
			}
		}
	}
	return nil
}

func (m *model) loadColumns() error {
	t, err := copytext.Read(readFile("columns.tsv"))
	if err != nil {
		return fmt.Errorf("columns.tsv: %w", err)
	}
	for _, row := range t.Rows {
		key := t.Text(row, "schema") + "." + t.Text(row, "relation")
		r := m.relations[key]
		if r == nil {
			r = &systemRelation{schema: t.Text(row, "schema"), name: t.Text(row, "relation"), table: t.Text(row, "kind") == "r"}
			if r.oid, err = strconv.ParseInt(t.Text(row, "relation_oid"), 10, 32); err != nil {
				return fmt.Errorf("columns.tsv: %w", err)
			}
			m.relations[key] = r
			m.names = append(m.names, key)
		}
		c := systemColumn{name: t.Text(row, "name"), typeName: t.Text(row, "type"), notNull: t.Text(row, "not_null") == "t"}
		r.columns = append(r.columns, c)
		if c.typeName == "oid" || c.typeName == "regproc" {
			m.oids[c.name] = true
		}
		m.noteType(c)
		isVector := c.typeName == "int2vector" || c.typeName == "oidvector"
		was, known := m.vectors[c.name]
		m.vectors[c.name] = isVector && (!known || was)
	}
	return nil
}

// narrowTypes have a representation of their own in PostgreSQL's protocol, and no counterpart in DuckDB.
var narrowTypes = map[string]uint32{"oid": 26, "regproc": 24, "xid": 28, "name": 19, "char": 18}

// noteType keeps the type of a column's name, 0 if relations do not agree on it.
func (m *model) noteType(c systemColumn) {
	oid := narrowTypes[c.typeName]
	if known, ok := m.types[c.name]; ok && known != oid {
		oid = 0
	}
	m.types[c.name] = oid
}

// loadSources cuts relations.sql into the SELECTs of each relation.
func (m *model) loadSources() error {
	var current *systemRelation
	for block := range strings.SplitSeq(readFile("relations.sql"), "\n-- ") {
		head, body, _ := strings.Cut(block, "\n")
		head, alone := strings.CutSuffix(head, " instead of its file")
		if strings.Contains(head, " ") { // the comment at the top
			continue
		}
		if current = m.relations[head]; current == nil {
			return fmt.Errorf("relations.sql: %q is no relation of columns.tsv", head)
		}
		current.alone = alone
		m.order = append(m.order, head)
		for text := range strings.SplitSeq(body, ";\n") {
			if strings.TrimSpace(text) == "" {
				continue
			}
			columns, err := outputColumns(text)
			if err != nil {
				return fmt.Errorf("relations.sql: %s: %w", head, err)
			}
			current.sources = append(current.sources, source{strings.TrimSuffix(strings.TrimSpace(text), ";"), columns})
		}
	}
	return nil
}

// outputColumns finds the names of a SELECT's columns.
func outputColumns(text string) (map[string]bool, error) {
	tree, err := tree.Parse(text)
	if err != nil {
		return nil, err
	}
	out := map[string]bool{}
	for _, name := range ColumnNames(tree) {
		out[name] = true
	}
	return out, nil
}

func loadMacros() *macroNames {
	m := &macroNames{session: map[string]bool{}, compat: map[string]bool{}, quiet: map[string]bool{}, tables: map[string]bool{}, functions: map[string]bool{},
		installed: map[string]bool{}}
	sets := map[string]map[string]bool{"pg_session": m.session, "pg_compat": m.compat, "pg_quiet": m.quiet}
	for _, file := range []string{"functions.sql", "duckdb.sql", "definitions.sql", "lookups.sql"} {
		for line := range strings.SplitSeq(readFile(file), "\n") {
			rest, ok := strings.CutPrefix(line, "CREATE MACRO ")
			if !ok {
				continue
			}
			name, _, _ := strings.Cut(rest, "(")
			schema, name, _ := strings.Cut(name, ".")
			if slices.Contains(installed, file) {
				map[string]map[string]bool{"pg_compat": m.functions, sessionSchema: m.installed}[schema][name] = true
			}
			if file != "duckdb.sql" { // what is in it is DuckDB's, not PostgreSQL's
				sets[schema][name] = true
				m.tables[name] = m.tables[name] || strings.Contains(line, ") AS TABLE ")
			}
		}
	}
	return m
}
