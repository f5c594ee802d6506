package pgcatalog

import (
	"embed"
	"fmt"
	"strings"
	"sync"

	pg "github.com/pganalyze/pg_query_go/v6"
)

//go:embed data/*.tsv data/*.sql
var files embed.FS

// Schemas of DuckDB that hold what this package makes, in the users' database.
const (
	database          = "csmsql"
	compatSchema      = database + ".pg_compat"
	informationSchema = database + ".information_compat"
	quietSchema       = database + ".pg_quiet"
	// SessionSchema belongs at the end of every session's search path: it holds the functions that clients call outside of
	// catalog queries.
	SessionSchema = database + ".pg_session"
)

// Version is what version() says.
const Version = "PostgreSQL 15.0 (csmsql) on Linux, DuckDB v1.5.5"

// systemColumn is one column of a system relation, as columns.tsv has it.
type systemColumn struct {
	name, typeName string
	notNull        bool
}

// systemRelation is a relation of pg_catalog or information_schema.
type systemRelation struct {
	schema, name string
	columns      []systemColumn
	sources      []source // the SELECTs that give it rows
	static       *table   // its static rows, nil if there are none
	alone        bool     // the sources read the static rows themselves
}

// source is a SELECT of relations.sql.
type source struct {
	query   string
	columns map[string]bool
}

// model is everything that data/ says, parsed once.
type model struct {
	relations map[string]*systemRelation // "schema.name"
	order     []string                   // relations with sources, in the order of relations.sql
	names     []string                   // all relations
	oids      map[string]bool            // names of columns whose type is an object ID
	types     map[string]uint32          // columns' names → the type they have wherever they occur, if PostgreSQL's is narrower than DuckDB's
	session   map[string]bool            // functions of pg_session
	compat    map[string]bool            // functions of pg_compat
	quiet     map[string]bool            // functions of pg_quiet
	tables    map[string]bool            // those of them that stand in FROM
}

// data is the embedded model. A test loads it, so that a release cannot carry files that do not parse.
var data = sync.OnceValues(loadModel)

func readFile(name string) string {
	text, err := files.ReadFile("data/" + name)
	if err != nil {
		return ""
	}
	return string(text)
}

func loadModel() (*model, error) {
	m := &model{relations: map[string]*systemRelation{}, oids: map[string]bool{}, types: map[string]uint32{}, session: map[string]bool{}, compat: map[string]bool{}, quiet: map[string]bool{}, tables: map[string]bool{}}
	if err := m.loadColumns(); err != nil {
		return nil, err
	}
	if err := m.loadSources(); err != nil {
		return nil, err
	}
	m.loadFunctions()
	return m, nil
}

func (m *model) loadColumns() error {
	t, err := readCopy(readFile("columns.tsv"))
	if err != nil {
		return fmt.Errorf("pgcatalog: columns.tsv: %w", err)
	}
	for _, row := range t.rows {
		key := t.text(row, "schema") + "." + t.text(row, "relation")
		r := m.relations[key]
		if r == nil {
			r = &systemRelation{schema: t.text(row, "schema"), name: t.text(row, "relation")}
			m.relations[key] = r
			m.names = append(m.names, key)
			if text := readFile(r.name + ".tsv"); text != "" && r.schema == "pg_catalog" {
				if r.static, err = readCopy(text); err != nil {
					return fmt.Errorf("pgcatalog: %s.tsv: %w", r.name, err)
				}
			}
		}
		c := systemColumn{name: t.text(row, "name"), typeName: t.text(row, "type"), notNull: t.text(row, "not_null") == "t"}
		r.columns = append(r.columns, c)
		if c.typeName == "oid" || c.typeName == "regproc" {
			m.oids[c.name] = true
		}
		m.noteType(c)
	}
	return nil
}

// narrowTypes have a representation of their own in PostgreSQL's protocol that DuckDB's types do not tell.
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
			return fmt.Errorf("pgcatalog: relations.sql: %q is no relation of columns.tsv", head)
		}
		current.alone = alone
		m.order = append(m.order, head)
		for text := range strings.SplitSeq(body, ";\n") {
			if strings.TrimSpace(text) == "" {
				continue
			}
			columns, err := outputColumns(text)
			if err != nil {
				return fmt.Errorf("pgcatalog: relations.sql: %s: %w", head, err)
			}
			current.sources = append(current.sources, source{strings.TrimSuffix(strings.TrimSpace(text), ";"), columns})
		}
	}
	return nil
}

// outputColumns finds the names of a SELECT's columns.
func outputColumns(text string) (map[string]bool, error) {
	tree, err := pg.Parse(text)
	if err != nil {
		return nil, err
	}
	out := map[string]bool{}
	for _, name := range ColumnNames(tree) {
		out[name] = true
	}
	return out, nil
}

func (m *model) loadFunctions() {
	sets := map[string]map[string]bool{"pg_session": m.session, "pg_compat": m.compat, "pg_quiet": m.quiet}
	for line := range strings.SplitSeq(readFile("functions.sql")+readFile("lookups.sql"), "\n") {
		rest, ok := strings.CutPrefix(line, "CREATE MACRO ")
		if !ok {
			continue
		}
		name, _, _ := strings.Cut(rest, "(")
		schema, name, _ := strings.Cut(name, ".")
		sets[schema][name] = true
		m.tables[name] = m.tables[name] || strings.Contains(line, ") AS TABLE ")
	}
}

// expand puts the database before our schemas and the version in its place.
var expand = strings.NewReplacer("pg_compat.", compatSchema+".", "pg_session.", SessionSchema+".", "pg_quiet.", quietSchema+".",
	"information_compat.", informationSchema+".", "@version@", Version)

// Install makes the schemas, static tables, views and macros: once per database. It leaves empty temporary tables in the
// connection that exec belongs to, as Refresh does.
func Install(exec func(sql string) error) error {
	m, err := data()
	if err != nil {
		return err
	}
	if err := Refresh(exec, nil, nil, database); err != nil {
		return err
	}
	var b strings.Builder
	for _, schema := range []string{compatSchema, informationSchema, quietSchema, SessionSchema} {
		b.WriteString("CREATE SCHEMA " + schema + ";\n")
	}
	if err := m.writeTables(&b); err != nil {
		return err
	}
	if err := exec(b.String()); err != nil {
		return fmt.Errorf("pgcatalog: install tables: %w", err)
	}
	for _, file := range []string{"functions.sql", "names.sql"} {
		if err := exec(expand.Replace(readFile(file))); err != nil {
			return fmt.Errorf("pgcatalog: install %s: %w", file, err)
		}
	}
	for _, key := range m.order {
		if err := exec(m.relations[key].view()); err != nil {
			return fmt.Errorf("pgcatalog: install %s: %w", key, err)
		}
	}
	if err := exec(expand.Replace(readFile("lookups.sql"))); err != nil {
		return fmt.Errorf("pgcatalog: install lookups.sql: %w", err)
	}
	return nil
}

// writeTables writes the tables: what has no other rows under its own name, the static part of the rest under static_….
func (m *model) writeTables(b *strings.Builder) error {
	for _, key := range m.names {
		r := m.relations[key]
		if len(r.sources) == 0 {
			r.writeTable(b, r.target())
		} else if r.static != nil {
			r.writeTable(b, compatSchema+".static_"+r.name)
		}
	}
	t, err := readCopy(readFile("columns.tsv"))
	if err != nil {
		return err
	}
	writeRows(b, compatSchema+".system_column", t, map[string]string{"schema_oid": "UINTEGER", "relation_oid": "UINTEGER", "row_type": "UINTEGER", "number": "SMALLINT", "type_oid": "UINTEGER", "not_null": "BOOLEAN"})
	b.WriteString("CREATE TABLE " + compatSchema + ".system_relation AS SELECT schema, schema_oid, relation_oid, relation, kind, row_type, CAST(count(*) AS SMALLINT) AS columns FROM " +
		compatSchema + ".system_column GROUP BY ALL;\n")
	for target, file := range map[string]string{"type_display": "type_display.tsv", "function_display": "function_display.tsv", "keywords": "pg_keywords.tsv"} {
		if t, err = readCopy(readFile(file)); err != nil {
			return fmt.Errorf("pgcatalog: %s: %w", file, err)
		}
		writeRows(b, compatSchema+"."+target, t, map[string]string{"oid": "UINTEGER"})
	}
	return nil
}

func writeRows(b *strings.Builder, target string, t *table, types map[string]string) {
	columns := make([]columnSource, len(t.columns))
	for i, name := range t.columns {
		columns[i] = columnSource{name: name, duckType: "VARCHAR"}
		if duckType, ok := types[name]; ok {
			columns[i].duckType = duckType
		}
		for _, row := range t.rows {
			columns[i].values = append(columns[i].values, row[i])
		}
	}
	b.WriteString("CREATE TABLE " + target + " AS " + rowsQuery(columns) + ";\n")
}

// target is the name that queries are given for the relation.
func (r *systemRelation) target() string {
	if r.schema == "information_schema" {
		return informationSchema + "." + r.name
	}
	return compatSchema + "." + r.name
}

func (r *systemRelation) writeTable(b *strings.Builder, target string) {
	b.WriteString("CREATE TABLE " + target + " (")
	for i, c := range r.columns {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(quoteIdentifier(c.name) + " " + duckType(c.typeName))
	}
	b.WriteString(");\n")
	if r.static == nil || len(r.static.rows) == 0 {
		return
	}
	given := map[string]bool{}
	var columns []columnSource
	for _, c := range r.columns {
		at := r.static.column(c.name)
		if at < 0 {
			continue
		}
		given[c.name] = true
		s := columnSource{name: c.name, duckType: duckType(c.typeName)}
		for _, row := range r.static.rows {
			s.values = append(s.values, listText(s.duckType, row[at]))
		}
		columns = append(columns, s)
	}
	b.WriteString("INSERT INTO " + target + " " + r.complete(rowsQuery(columns), given) + ";\n")
}

// listText turns PostgreSQL's array and vector literals into DuckDB's.
func listText(duckType string, value *string) *string {
	if value == nil || !strings.HasSuffix(duckType, "[]") {
		return value
	}
	text := *value
	if strings.HasPrefix(text, "{") {
		text = "[" + strings.Trim(text, "{}") + "]"
	} else {
		text = "[" + strings.ReplaceAll(strings.TrimSpace(text), " ", ", ") + "]"
	}
	return &text
}

// complete wraps a SELECT so that it gives every column of the relation, in order, with its type.
func (r *systemRelation) complete(query string, given map[string]bool) string {
	var b strings.Builder
	b.WriteString("SELECT ")
	for i, c := range r.columns {
		if i > 0 {
			b.WriteString(", ")
		}
		name := quoteIdentifier(c.name)
		value := "NULL"
		if given[c.name] {
			value = "rows." + name
		} else if c.notNull {
			value = zero(c.typeName)
		}
		b.WriteString("CAST(" + value + " AS " + duckType(c.typeName) + ") AS " + name)
	}
	return b.String() + " FROM (" + query + ") AS rows"
}

// view is the statement that makes the relation from its static rows and its sources.
func (r *systemRelation) view() string {
	var parts []string
	if r.static != nil && !r.alone {
		parts = append(parts, "SELECT * FROM "+compatSchema+".static_"+r.name)
	}
	for _, s := range r.sources {
		parts = append(parts, r.complete(expand.Replace(s.query), s.columns))
	}
	return "CREATE VIEW " + r.target() + " AS " + strings.Join(parts, " UNION ALL ")
}
