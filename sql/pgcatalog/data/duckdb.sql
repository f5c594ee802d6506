-- DuckDB's own lists of what there is, without what csmsql needs for itself. DuckDB finds these macros before its own functions of the name, also
-- for SHOW TABLES, SHOW ALL TABLES, DESCRIBE, sqlite_master and the information_schema of its own dialect. HugeTables, which DuckDB has as views
-- over csm_table, are tables in them. Where a transaction block shows names of its own (variable csm_names), they are shown as the shared database's.

CREATE MACRO pg_compat.is_shown(database) AS database = coalesce(getvariable('csm_names'), 'csmsql')
  OR database NOT IN ('csmsql', 'memory', 'csm_functions', 'csm_catalogs') AND NOT starts_with(database, 'csm_block_');
CREATE MACRO pg_compat.shown_as(database) AS CASE WHEN database = getvariable('csm_names') THEN 'csmsql' ELSE database END;
CREATE MACRO pg_compat.is_shown_table(database, schema, name) AS pg_compat.is_shown(database) AND NOT (database = 'temp' AND name IN ('csm_schema', 'csm_relation', 'csm_column', 'csm_constraint', 'csm_index', 'csm_index_column', 'csm_sequences', 'csm_comment', 'csm_type', 'csm_label', 'csm_function', 'csm_parameter'));
CREATE MACRO pg_compat.is_table(schema, name, sql) AS ends_with(sql, ' AS SELECT * FROM csm_table(''' || replace(schema, '''', '''''') || ''', ''' || replace(name, '''', '''''') || ''');');

CREATE MACRO pg_session.in_search_path(database, schema) AS system.main.in_search_path(CASE WHEN database = 'csmsql' THEN coalesce(getvariable('csm_names'), 'csmsql') ELSE database END, schema);
CREATE MACRO pg_session.duckdb_databases() AS TABLE SELECT * REPLACE (pg_compat.shown_as(database_name) AS database_name) FROM system.main.duckdb_databases() WHERE pg_compat.is_shown(database_name);
CREATE MACRO pg_session.duckdb_schemas() AS TABLE SELECT * REPLACE (pg_compat.shown_as(database_name) AS database_name) FROM system.main.duckdb_schemas() s
  WHERE pg_compat.is_shown(database_name) AND (database_name IN ('system', 'temp') OR schema_name <> 'main' OR EXISTS (SELECT 1 FROM system.main.duckdb_views() v WHERE v.schema_oid = s.oid AND v.database_oid = s.database_oid));
CREATE MACRO pg_session.duckdb_tables() AS TABLE SELECT * REPLACE (pg_compat.shown_as(database_name) AS database_name) FROM system.main.duckdb_tables() WHERE pg_compat.is_shown_table(database_name, schema_name, table_name)
  UNION ALL SELECT pg_compat.shown_as(database_name), database_oid, schema_name, schema_oid, view_name, view_oid, comment, tags, internal, temporary, false, NULL, column_count, 0, 0, NULL FROM system.main.duckdb_views()
  WHERE pg_compat.is_shown(database_name) AND pg_compat.is_table(schema_name, view_name, sql);
CREATE MACRO pg_session.duckdb_views() AS TABLE SELECT * REPLACE (pg_compat.shown_as(database_name) AS database_name) FROM system.main.duckdb_views()
  WHERE pg_compat.is_shown(database_name) AND NOT pg_compat.is_table(schema_name, view_name, coalesce(sql, ''));
CREATE MACRO pg_session.duckdb_columns() AS TABLE SELECT * REPLACE (pg_compat.shown_as(database_name) AS database_name) FROM system.main.duckdb_columns() WHERE pg_compat.is_shown_table(database_name, schema_name, table_name);
CREATE MACRO pg_session.duckdb_constraints() AS TABLE SELECT * REPLACE (pg_compat.shown_as(database_name) AS database_name) FROM system.main.duckdb_constraints() WHERE pg_compat.is_shown_table(database_name, schema_name, table_name);
CREATE MACRO pg_session.duckdb_types() AS TABLE SELECT * REPLACE (pg_compat.shown_as(database_name) AS database_name) FROM system.main.duckdb_types() WHERE pg_compat.is_shown(database_name);
CREATE MACRO pg_session.duckdb_functions() AS TABLE SELECT * REPLACE (pg_compat.shown_as(database_name) AS database_name) FROM system.main.duckdb_functions()
  WHERE pg_compat.is_shown(database_name) AND NOT starts_with(function_name, 'csm_');
CREATE MACRO pg_session.duckdb_variables() AS TABLE SELECT * FROM system.main.duckdb_variables() WHERE NOT starts_with(name, 'csm_');

-- DuckDB's functions that take names as strings: a name may be put together, which the engine cannot see in a text, so it is looked at when it is one.
-- That is done while DuckDB plans the call. What is done to tables must be known by then, too, so these take the same arguments as DuckDB's.
CREATE MACRO pg_compat.given_name(names) AS CASE WHEN regexp_matches(CAST(names AS VARCHAR), '(?i)\b(csm_functions|csm_catalogs|csm_block_\d+|pg_compat|pg_quiet|pg_session|information_compat|csm_schema|csm_relation|csm_column|csm_constraint|csm_index|csm_index_column|csm_sequences|csm_comment|csm_type|csm_label|csm_function|csm_parameter)\b')
  THEN error('42P01: relation "' || CAST(names AS VARCHAR) || '" does not exist') ELSE names END;
CREATE MACRO pg_session.query_table(names) AS TABLE (SELECT * FROM system.main.query_table(pg_compat.given_name(names))), (names, by_name) AS TABLE (SELECT * FROM system.main.query_table(pg_compat.given_name(names), by_name));
CREATE MACRO pg_session.pragma_table_info(name) AS TABLE FROM system.main.pragma_table_info(pg_compat.given_name(name));
CREATE MACRO pg_session.pragma_show(name) AS TABLE FROM system.main.pragma_show(pg_compat.given_name(name));
CREATE MACRO pg_session.pragma_storage_info(name) AS TABLE FROM system.main.pragma_storage_info(pg_compat.given_name(name));
CREATE MACRO pg_session.duckdb_table_sample(name) AS TABLE FROM system.main.duckdb_table_sample(pg_compat.given_name(name));
