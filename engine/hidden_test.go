package engine_test

import (
	"context"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/engine"
)

// internalName is a name of what the engine keeps in DuckDB for itself.
var internalName = regexp.MustCompile(`(?m)(^|\|)(csm_.*|pg_compat|information_compat|pg_quiet|pg_session)(\||$)|^memory\|`)

// Lists of what there is, in every dialect, show what users made and schema csm, also after the engine has filled the
// connection's copy of PostgreSQL's catalogs and within a block that shows names of its own.
func TestInternalObjectsAreHidden(t *testing.T) {
	t.Parallel()
	e := open(t)
	s, other := session(t, e), session(t, e)
	exec(t, s, "CREATE SCHEMA aside; CREATE TABLE t AS SELECT 1 AS a; CREATE VIEW v AS SELECT a FROM t; CREATE TABLE aside.u AS SELECT 1 AS b; CREATE TEMP TABLE mine AS SELECT 1 AS c; CREATE TEMP TABLE csm_mine AS SELECT 1 AS c; DROP TABLE csm_mine")
	lists := []string{
		"SHOW TABLES", "SELECT database, schema, name FROM (SHOW ALL TABLES)", "SELECT database, schema, name FROM (DESCRIBE)", "SHOW DATABASES", "SHOW SCHEMAS", "SHOW TABLES FROM aside", "SHOW TABLES FROM csmsql.public",
		"FROM sqlite_master SELECT name", "FROM pragma_database_list SELECT name", "SELECT database_name, schema_name, table_name FROM duckdb_tables()", "FROM duckdb_tables SELECT table_name",
		"SELECT database_name, schema_name, view_name FROM duckdb_views()", "SELECT database_name, schema_name, table_name FROM duckdb_columns()", "SELECT database_name, schema_name FROM duckdb_schemas()",
		"SELECT database_name, schema_name, function_name FROM duckdb_functions()", "SELECT database_name FROM duckdb_databases()", "SELECT name FROM duckdb_variables()", "SELECT database_name, schema_name FROM duckdb_types()",
		"SELECT database_name, table_name FROM duckdb_constraints()", "FROM information_schema.tables SELECT table_catalog, table_schema, table_name", "FROM information_schema.columns SELECT table_catalog, table_schema, table_name",
		"FROM information_schema.schemata SELECT catalog_name, schema_name", "FROM pg_catalog.pg_class SELECT relname", "FROM pg_catalog.pg_namespace SELECT nspname", "FROM pg_catalog.pg_tables SELECT tablename", "FROM pg_catalog.pg_database SELECT datname",
		"SELECT table_schema, table_name FROM information_schema.tables WHERE table_schema NOT LIKE 'pg_%'", "SELECT nspname, relname FROM pg_class c JOIN pg_namespace n ON n.oid = relnamespace",
	}
	check := func(s *engine.Session, tables ...string) {
		t.Helper()
		rows(t, s, "SELECT count(*) FROM pg_class") // fills the connection's catalogs
		for _, list := range lists {
			shown := rows(t, s, list)
			require.NotRegexp(t, internalName, strings.Join(shown, "\n"), list)
			if strings.Contains(strings.ToLower(list), "databases") || strings.Contains(list, "datname") {
				require.NotContains(t, shown, "memory", list) // DuckDB's own; there is a table csm.memory
			}
			if !strings.Contains(list, "variables") && !strings.Contains(list, "constraints") {
				require.NotEmpty(t, shown, list)
			}
		}
		require.Equal(t, tables, rows(t, s, "SHOW TABLES"))
		require.Subset(t, tables, rows(t, s, "SHOW TABLES FROM public"))
	}
	check(s, "mine", "t", "v")
	check(other, "t", "v")
	require.Equal(t, []string{"csmsql|aside|u|1", "csmsql|public|t|1", "temp|main|mine|1"}, rows(t, s, "SELECT database_name, schema_name, table_name, column_count FROM duckdb_tables() WHERE schema_name <> 'csm' ORDER BY ALL"))
	require.Equal(t, []string{"csmsql|public|v"}, rows(t, s, "SELECT database_name, schema_name, view_name FROM duckdb_views() WHERE NOT internal"))
	require.Equal(t, []string{"t|BASE TABLE", "v|VIEW"}, rows(t, s, "FROM information_schema.tables SELECT table_name, table_type WHERE table_schema = 'public' ORDER BY 1"))

	exec(t, s, "BEGIN; CREATE TABLE inside AS SELECT 1 AS a; DROP VIEW v; CREATE SCHEMA later; CREATE TABLE later.x AS SELECT 1 AS a")
	check(s, "inside", "mine", "t")
	check(other, "t", "v")
	require.Equal(t, []string{"x"}, rows(t, s, "SHOW TABLES FROM later"))
	require.Equal(t, []string{"csmsql"}, rows(t, s, "SELECT DISTINCT database FROM (SHOW ALL TABLES) WHERE NOT temporary"))
	_, err := s.ProbeIn(context.Background(), "SHOW TABLES FROM nowhere", "")
	require.ErrorContains(t, err, "csmsql.nowhere")
	exec(t, s, "ROLLBACK")
	check(s, "mine", "t", "v")
}

// Nor does any name lead to it, in any spelling, before and after there are PostgreSQL's catalogs; and those go on to be read.
func TestInternalObjectsHaveNoNames(t *testing.T) {
	t.Parallel()
	e := open(t)
	s := session(t, e)
	exec(t, s, "CREATE TABLE t AS SELECT 1 AS a, 'csm_relation' AS pg_compat; CREATE TEMP MACRO ours() AS 7; CREATE TEMP MACRO named(x) AS TABLE FROM query_table(x)")
	missing := map[string]string{
		"SELECT count(*) FROM csm_catalogs.pg_compat.pg_class":                      `3D000 database "csm_catalogs" does not exist`,
		"SELECT count(*) FROM csm_functions.pg_compat.static_pg_settings":           `3D000 database "csm_functions" does not exist`,
		"SELECT csm_functions.pg_session.version()":                                 `3D000 database "csm_functions" does not exist`,
		"SHOW TABLES FROM csm_functions.pg_compat":                                  `3D000 database "csm_functions" does not exist`,
		"FROM query_table('csm_func' || 'tions.pg_com' || 'pat.t')":                 `42P01 relation "csm_functions.pg_compat.t" does not exist`,
		`SELECT count(*) FROM "CSM_Catalogs"."Pg_Compat"."PG_CLASS"`:                `3D000 database "CSM_Catalogs" does not exist`,
		"FROM Csm_Catalogs . /* here */ pg_compat.pg_class":                         `3D000 database "Csm_Catalogs" does not exist`,
		"SELECT count(*) FROM csmsql.pg_compat.static_pg_settings":                  `42P01 relation "pg_compat.static_pg_settings" does not exist`,
		"FROM pg_compat.static_pg_settings":                                         `42P01 relation "pg_compat.static_pg_settings" does not exist`,
		"SELECT * FROM information_compat.tables":                                   `42P01 relation "information_compat.tables" does not exist`,
		"SELECT pg_session.version()":                                               `42P01 relation "pg_session.version" does not exist`,
		"SELECT count(*) FROM csm_relation":                                         `42P01 relation "csm_relation" does not exist`,
		`SELECT count(*) FROM temp.main."CSM_Column"`:                               `42P01 relation "CSM_Column" does not exist`,
		"FROM 'csm_relation'":                                                       `42P01 relation "csm_relation" does not exist`,
		"DESCRIBE csm_relation":                                                     `42P01 relation "csm_relation" does not exist`,
		"DESCRIBE csm_catalogs.pg_compat.pg_class":                                  `3D000 database "csm_catalogs" does not exist`,
		"SUMMARIZE temp.csm_schema":                                                 `42P01 relation "csm_schema" does not exist`,
		"SHOW TABLES FROM csm_catalogs.pg_compat":                                   `3D000 database "csm_catalogs" does not exist`,
		"SHOW TABLES FROM pg_compat":                                                `42P01 relation "pg_compat" does not exist`,
		"FROM query_table('csm_catalogs.pg_compat.pg_class')":                       `42P01 relation "csm_catalogs.pg_compat.pg_class" does not exist`,
		"SELECT * FROM query_table(['t', 'csm_relation'])":                          `42P01 relation "csm_relation" does not exist`,
		"SELECT * FROM pragma_table_info($$pg_compat.static_pg_settings$$)":         `42P01 relation "pg_compat.static_pg_settings" does not exist`,
		"FROM query_table('csm_' || 'relation')":                                    `42P01 relation "csm_relation" does not exist`,
		"FROM query_table('csm_' || 'parameter')":                                   `42P01 relation "csm_parameter" does not exist`,
		"FROM query_table(['t', concat('CSM', '_column')], true)":                   `42P01 relation "[t, CSM_column]" does not exist`,
		"FROM query_table('csm_cata' || 'logs.pg_com' || 'pat.pg_class')":           `42P01 relation "csm_catalogs.pg_compat.pg_class" does not exist`,
		"FROM named('csm_' || 'schema')":                                            `42P01 relation "csm_schema" does not exist`,
		"SELECT * FROM pragma_table_info('temp.csm_' || 'relation')":                `42P01 relation "temp.csm_relation" does not exist`,
		"SELECT * FROM pragma_show('csm_' || 'relation')":                           `42P01 relation "csm_relation" does not exist`,
		"SELECT * FROM pragma_storage_info('csm_' || 'relation')":                   `42P01 relation "csm_relation" does not exist`,
		"SELECT * FROM duckdb_table_sample('csm_' || 'relation')":                   `42P01 relation "csm_relation" does not exist`,
		"SELECT * FROM system.main.query_table('csm_' || 'relation')":               `42883 function query_table does not exist`,
		"SELECT * FROM csm_table('public', 't')":                                    `42883 function csm_table does not exist`,
		"SELECT * FROM csm_scan(1)":                                                 `42883 function csm_scan does not exist`,
		"SELECT * FROM system.main.duckdb_tables()":                                 `42883 function duckdb_tables does not exist`,
		"CREATE VIEW v AS SELECT * FROM pg_compat.static_pg_settings":               `42P01 relation "pg_compat.static_pg_settings" does not exist`,
		"CREATE TEMP VIEW v AS SELECT * FROM csm_relation":                          `42P01 relation "csm_relation" does not exist`,
		"CREATE TABLE c AS SELECT * FROM csm_relation":                              `42P01 relation "csm_relation" does not exist`,
		"PREPARE p AS SELECT * FROM csm_relation":                                   `42P01 relation "csm_relation" does not exist`,
		"DECLARE c CURSOR FOR SELECT * FROM csm_relation":                           `42P01 relation "csm_relation" does not exist`,
		"COPY (SELECT * FROM csm_relation) TO STDOUT":                               `42P01 relation "csm_relation" does not exist`,
		"INSERT INTO t SELECT oid, name FROM csm_relation":                          `42P01 relation "csm_relation" does not exist`,
		"DELETE FROM temp.csm_relation":                                             `42P01 relation "csm_relation" does not exist`,
		"UPDATE csm_relation SET name = 'x'":                                        `42P01 relation "csm_relation" does not exist`,
		"INSERT INTO csm_schema SELECT * FROM csm_schema":                           `42P01 relation "csm_schema" does not exist`,
		"DROP TABLE csm_column":                                                     `42P01 relation "csm_column" does not exist`,
		"SELECT * FROM t, csm_relation":                                             `42P01 relation "csm_relation" does not exist`,
		"SELECT a FROM t WHERE EXISTS (SELECT 1 FROM csm_relation)":                 `42P01 relation "csm_relation" does not exist`,
		"WITH x AS (SELECT * FROM csm_catalogs.pg_compat.pg_class) SELECT * FROM x": `3D000 database "csm_catalogs" does not exist`,
		"SELECT * FROM nosuch.public.t":                                             `3D000 database "nosuch" does not exist`,
		"SELECT * FROM nosuch.t":                                                    `42P01 relation "nosuch.t" does not exist`,
		// Functions that all sessions share cannot be dropped.
		"DROP FUNCTION csmsql.pg_session.version": `42P01 relation "pg_session.version" does not exist`,
		"DROP MACRO pg_session.version":           `42P01 relation "pg_session.version" does not exist`,
		"DROP MACRO version":                      `42883 could not find a macro named "version"`,
		"DROP MACRO TABLE duckdb_tables":          `42883 function duckdb_tables does not exist`,
		"DROP FUNCTION public.version":            `42883 could not find a function named "public.version"`,
	}
	for range 2 {
		for sql, want := range missing {
			err := failing(s, sql)
			requireState(t, want[:5], err)
			require.Equal(t, want[6:], err.Error(), sql)
		}
		require.NotEqual(t, []string{"0"}, rows(t, s, "SELECT count(*) FROM pg_class"))
	}
	for _, sql := range []string{ // names that only look like it
		"SELECT a AS csm_catalogs FROM t", "SELECT a AS csm_functions FROM t", "SELECT pg_compat FROM t", "SELECT t.pg_compat FROM t", "SELECT a FROM t WHERE pg_compat = 'csm_relation'", "SELECT count(*) FROM duckdb_tables()",
		"FROM t WHERE pg_compat = 'csm_relation'", "SELECT count(*) FROM query_table('t')", "SELECT a FROM query_table('public' || '.t')", "FROM query_table(['t'])", "SELECT count(*) FROM query_table(['t', 't'], true)", "FROM named('t')",
		"SELECT count(*) FROM pragma_table_info('t')", "SELECT count(*) FROM pragma_show('t')", "SELECT version()", "SELECT ours()",
	} {
		require.Len(t, rows(t, s, sql), 1, sql)
	}
	exec(t, s, "DROP MACRO ours")
	requireState(t, "42883", failing(s, "SELECT ours()"))
}

// DuckDB's hint for a mistyped name is never an internal name, nor one that is far from what was typed.
func TestHintsNameNothingInternal(t *testing.T) {
	s := session(t, open(t))
	exec(t, s, "CREATE TABLE orders AS SELECT 1 AS a; SELECT count(*) FROM pg_class")
	for sql, hint := range map[string]string{
		"FROM csm_relatio": "", "SELECT * FROM csm_colum": "", "SELECT char_numbe(1)": "", "SELECT * FROM csm_tabl('a', 'b')": "", "SELECT * FROM order_s": `Did you mean "orders"?`,
		"SELECT lengt('a')": `Did you mean "length"?`, "SELECT 1::integr": `Did you mean "integer"?`,
	} {
		_, err := s.Query(context.Background(), sql)
		var e *engine.Error
		require.ErrorAs(t, err, &e, sql)
		if hint != "" {
			require.Equal(t, hint, e.Hint(), sql)
		}
		require.NotRegexp(t, "csm_relation|csm_column|csm_table|pg_compat", e.Hint(), sql)
	}
	var e *engine.Error
	require.ErrorAs(t, failing(s, "SELECT * FROM lineitem"), &e)
	require.Empty(t, e.Hint(), "DuckDB proposes sqlite_schema")
	for _, sql := range []string{"SELECT * FROM nope", "SELECT f(1)", "SELECT * FROM f(1)", "SELECT 1::nope"} { // nodes, favg, sniff_csv, …
		require.ErrorAs(t, failing(s, sql), &e)
		require.Empty(t, e.Hint(), sql)
	}
	require.ErrorAs(t, failing(s, "SELECT o.aa FROM orders o"), &e)
	require.Equal(t, `Candidate bindings: "a"`, e.Hint())
	requireState(t, "42939", failing(s, "CREATE TEMP TABLE csm_relation AS SELECT 1 AS a"))
	requireState(t, "42939", failing(s, "CREATE TEMP VIEW CSM_Column AS SELECT 1 AS a"))
	exec(t, s, "CREATE TEMP TABLE csm_other AS SELECT 1 AS a; DISCARD TEMP")
	requireState(t, "42P01", failing(s, "SELECT * FROM csm_other"))
	require.NotEqual(t, []string{"0"}, rows(t, s, "SELECT count(*) FROM pg_class"))
}

// P6: PostgreSQL's catalogs are made at their first use, also within blocks that began before, whatever those have
// done.
func TestCatalogsAreMadeForBlocksThatBegan(t *testing.T) {
	t.Parallel()
	e := open(t)
	first, second, third := session(t, e), session(t, e), session(t, e)
	const tables = "SELECT relname FROM pg_catalog.pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace::oid ORDER BY 1"
	for _, s := range []*engine.Session{first, second} {
		exec(t, s, "BEGIN")
		rows(t, s, "SHOW ALL TABLES")
		rows(t, s, "SELECT database_name FROM duckdb_databases()")
	}
	exec(t, first, "CREATE TABLE mine AS SELECT 1 AS a")
	exec(t, second, "CREATE TABLE yours AS SELECT 1 AS a; CREATE VIEW listed AS SELECT relname FROM pg_catalog.pg_class WHERE relname = 'yours'")
	require.Equal(t, []string{"mine"}, rows(t, first, tables))
	require.Equal(t, []string{"yours"}, rows(t, second, tables))
	require.Equal(t, []string{"yours"}, rows(t, second, "FROM listed"))
	require.Empty(t, rows(t, third, tables))
	exec(t, first, "ROLLBACK")
	exec(t, second, "COMMIT")
	require.Equal(t, []string{"yours"}, rows(t, first, tables))
	require.Equal(t, []string{"yours"}, rows(t, third, "FROM listed"))
}
