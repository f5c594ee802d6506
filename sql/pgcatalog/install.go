package pgcatalog

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/csmsql/csmsql/sql/lex"
	"github.com/csmsql/csmsql/sql/pgcatalog/copytext"
	"github.com/csmsql/csmsql/sql/tree"
)

// Databases and schemas of DuckDB that hold what this package makes: functions that any statement may call, where
// sessions find them, and the catalogs with what reads them.
const (
	database      = "csmsql"
	functions     = "csm_functions"
	compatSchema  = functions + ".pg_compat"
	catalogs      = "csm_catalogs"
	catalogSchema = catalogs + ".pg_compat"
	quietSchema   = catalogs + ".pg_quiet"
	// SQL's own schema.
	informationSchema = catalogs + ".information_compat"
	// SessionSchema belongs at the end of every session's search path once Functions are attached: it holds the
	// functions that clients call outside of catalog queries.
	SessionSchema = functions + "." + sessionSchema
	sessionSchema = "pg_session"
)

// NumberFormat is the macro that to_char calls for numbers, given a DECIMAL(38, 10) and a template.
const NumberFormat = compatSchema + ".char_number"

// Version is what version() says.
const Version = "PostgreSQL 15.0 (csmsql) on Linux, DuckDB v1.5.5"

// expand puts the databases before our schemas and the version in its place.
func (m *model) expand(text string) string {
	text = ourNames.ReplaceAllStringFunc(text, func(name string) string {
		schema, name, _ := strings.Cut(name, ".")
		return m.databaseOf(schema, name) + "." + schema + "." + name
	})
	return strings.ReplaceAll(text, "@version@", Version)
}

var ourNames = regexp.MustCompile(`\b(?:pg_compat|pg_session|pg_quiet|information_compat)\.(?:\w+|"[^"]+")`)

// databaseOf is the database that has the name in one of our schemas.
func (m *model) databaseOf(schema, name string) string {
	if schema == "pg_session" || schema == "pg_compat" && (m.functions[name] || name == settingsTable || name == shownTable) {
		return functions
	}
	return catalogs
}

// settingsTable is what current_setting reads, in any statement.
const (
	settingsTable = "static_pg_settings"
	shownTable    = "shown_settings"
)

// installed are the files of what Functions holds.
var installed = []string{"functions.sql", "duckdb.sql"}

// MakeFunctions makes what Functions holds, in an empty database of its name.
func MakeFunctions(exec func(sql string) error) error {
	m, err := contents()
	if err != nil {
		return err
	}
	if err := exec("CREATE SCHEMA " + compatSchema + "; CREATE SCHEMA " + SessionSchema); err != nil {
		return err
	}
	var b strings.Builder
	m.relations[tree.SystemSchema+".pg_settings"].writeTable(&b, compatSchema+"."+settingsTable)
	writeRows(&b, compatSchema+"."+shownTable, shownSettings(), nil)
	if err := exec(b.String()); err != nil {
		return fmt.Errorf("make the system catalogs' settings: %w", err)
	}
	if err := m.run(exec, installed...); err != nil {
		return err
	}
	if err := exec(m.expand(twins())); err != nil {
		return fmt.Errorf("make functions that compute their arguments once: %w", err)
	}
	return nil
}

// run executes files of data/.
func (m *model) run(exec func(sql string) error, files ...string) error {
	for _, file := range files {
		if err := exec(m.expand(readFile(file))); err != nil {
			return fmt.Errorf("make the system catalogs: %s: %w", file, err)
		}
	}
	return nil
}

// MakeCatalogs makes what Catalogs holds, in an empty database of its name, beside Functions. It leaves empty temporary
// tables in the connection that exec belongs to, as Refresh does.
func MakeCatalogs(exec func(sql string) error) error {
	m, err := contents()
	if err != nil {
		return err
	}
	if err := Refresh(exec, nil, nil, nil, database); err != nil {
		return err
	}
	var b strings.Builder
	for _, schema := range []string{catalogSchema, quietSchema, informationSchema} {
		b.WriteString("CREATE SCHEMA " + schema + ";\n")
	}
	if err := m.writeTables(&b); err != nil {
		return err
	}
	if err := exec(b.String()); err != nil {
		return fmt.Errorf("make the system catalogs' tables: %w", err)
	}
	if err := m.run(exec, "definitions.sql", "names.sql"); err != nil {
		return err
	}
	for _, key := range m.order {
		if err := exec(m.view(m.relations[key])); err != nil {
			return fmt.Errorf("make the system catalogs: %s: %w", key, err)
		}
	}
	return m.run(exec, "lookups.sql")
}

// writeTables writes the tables: what has no other rows under its own name, the static part of the rest under static_….
func (m *model) writeTables(b *strings.Builder) error {
	for _, key := range m.names {
		r := m.relations[key]
		if len(r.sources) == 0 {
			r.writeTable(b, r.target())
		} else if r.static != nil && r.staticName() != settingsTable {
			r.writeTable(b, catalogSchema+"."+r.staticName())
		}
	}
	t, err := copytext.Read(readFile("columns.tsv"))
	if err != nil {
		return err
	}
	writeRows(b, catalogSchema+".system_column", t, map[string]string{"schema_oid": "UINTEGER", "relation_oid": "UINTEGER", "row_type": "UINTEGER", "number": "SMALLINT", "type_oid": "UINTEGER", "not_null": "BOOLEAN"})
	b.WriteString("CREATE TABLE " + catalogSchema + ".system_relation AS SELECT schema, schema_oid, relation_oid, relation, kind, row_type, CAST(count(*) AS SMALLINT) AS columns FROM " +
		catalogSchema + ".system_column GROUP BY ALL;\n")
	for target, file := range map[string]string{"type_display": "type_display.tsv", "function_display": "function_display.tsv", "keywords": "pg_keywords.tsv"} {
		if t, err = copytext.Read(readFile(file)); err != nil {
			return fmt.Errorf("the system catalogs' %s: %w", file, err)
		}
		writeRows(b, catalogSchema+"."+target, t, map[string]string{"oid": "UINTEGER"})
	}
	return nil
}

func writeRows(b *strings.Builder, target string, t *copytext.Table, types map[string]string) {
	columns := make([]columnSource, len(t.Columns))
	for i, name := range t.Columns {
		columns[i] = columnSource{name: name, duckType: "VARCHAR"}
		if duckType, ok := types[name]; ok {
			columns[i].duckType = duckType
		}
		for _, row := range t.Rows {
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
	return catalogSchema + "." + r.name
}

// staticName is the table of the relation's static rows, if it has others, too.
func (r *systemRelation) staticName() string { return "static_" + r.name }

func (r *systemRelation) writeTable(b *strings.Builder, target string) {
	b.WriteString("CREATE TABLE " + target + " (")
	for i, c := range r.columns {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(lex.Quote(c.name) + " " + duckType(c.typeName))
	}
	b.WriteString(");\n")
	if r.static == nil || len(r.static.Rows) == 0 {
		return
	}
	given := map[string]bool{}
	var columns []columnSource
	for _, c := range r.columns {
		at := r.static.Column(c.name)
		if at < 0 {
			continue
		}
		given[c.name] = true
		s := columnSource{name: c.name, duckType: duckType(c.typeName)}
		for _, row := range r.static.Rows {
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
		name := lex.Quote(c.name)
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
func (m *model) view(r *systemRelation) string {
	var parts []string
	if r.static != nil && !r.alone {
		parts = append(parts, "SELECT * FROM "+m.expand("pg_compat."+r.staticName()))
	}
	for _, s := range r.sources {
		parts = append(parts, r.complete(m.expand(s.query), s.columns))
	}
	return "CREATE VIEW " + r.target() + " AS " + strings.Join(parts, " UNION ALL ")
}
