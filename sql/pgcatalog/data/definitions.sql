-- Functions that catalog queries call, and that read no relation; see functions.sql for what their schemas mean.

-- Definitions.
CREATE MACRO pg_compat.pg_get_expr(expression, relation) AS CAST(expression AS VARCHAR), (expression, relation, pretty) AS CAST(expression AS VARCHAR);
CREATE MACRO pg_compat.pg_get_ruledef(x) AS CAST(NULL AS VARCHAR), (x, pretty) AS CAST(NULL AS VARCHAR);
CREATE MACRO pg_compat.pg_get_triggerdef(x) AS CAST(NULL AS VARCHAR), (x, pretty) AS CAST(NULL AS VARCHAR);
CREATE MACRO pg_compat.pg_get_statisticsobjdef(x) AS CAST(NULL AS VARCHAR);
CREATE MACRO pg_compat.pg_get_statisticsobjdef_columns(x) AS CAST(NULL AS VARCHAR);
CREATE MACRO pg_compat.pg_get_partkeydef(x) AS CAST(NULL AS VARCHAR);
CREATE MACRO pg_compat.pg_get_partition_constraintdef(x) AS CAST(NULL AS VARCHAR);
CREATE MACRO pg_compat.pg_encoding_to_char(x) AS CASE x WHEN 6 THEN 'UTF8' WHEN 0 THEN 'SQL_ASCII' ELSE '' END;
CREATE MACRO pg_compat.pg_char_to_encoding(x) AS CASE WHEN upper(replace(x, '-', '')) IN ('UTF8', 'UNICODE') THEN 6 ELSE -1 END;
CREATE MACRO pg_compat.pg_operator_is_visible(x) AS true;
CREATE MACRO pg_compat.pg_collation_is_visible(x) AS true;
CREATE MACRO pg_compat.pg_conversion_is_visible(x) AS true;
CREATE MACRO pg_compat.pg_opclass_is_visible(x) AS true;
CREATE MACRO pg_compat.pg_opfamily_is_visible(x) AS true;
CREATE MACRO pg_compat.pg_statistics_obj_is_visible(x) AS true;
CREATE MACRO pg_compat.pg_ts_config_is_visible(x) AS true;
CREATE MACRO pg_compat.pg_ts_dict_is_visible(x) AS true;
CREATE MACRO pg_compat.pg_ts_parser_is_visible(x) AS true;
CREATE MACRO pg_compat.pg_ts_template_is_visible(x) AS true;
CREATE MACRO pg_compat.has_table_privilege(a, b) AS true, (a, b, c) AS true;
CREATE MACRO pg_compat.has_column_privilege(a, b, c) AS true, (a, b, c, d) AS true;
CREATE MACRO pg_compat.has_any_column_privilege(a, b) AS true, (a, b, c) AS true;
CREATE MACRO pg_compat.has_schema_privilege(a, b) AS true, (a, b, c) AS true;
CREATE MACRO pg_compat.has_database_privilege(a, b) AS true, (a, b, c) AS true;
CREATE MACRO pg_compat.has_function_privilege(a, b) AS true, (a, b, c) AS true;
CREATE MACRO pg_compat.has_language_privilege(a, b) AS true, (a, b, c) AS true;
CREATE MACRO pg_compat.has_sequence_privilege(a, b) AS true, (a, b, c) AS true;
CREATE MACRO pg_compat.has_tablespace_privilege(a, b) AS true, (a, b, c) AS true;
CREATE MACRO pg_compat.has_type_privilege(a, b) AS true, (a, b, c) AS true;
CREATE MACRO pg_compat.has_server_privilege(a, b) AS true, (a, b, c) AS true;
CREATE MACRO pg_compat.has_foreign_data_wrapper_privilege(a, b) AS true, (a, b, c) AS true;
CREATE MACRO pg_compat.pg_has_role(a, b) AS true, (a, b, c) AS true;
CREATE MACRO pg_compat.row_security_active(x) AS false;
CREATE MACRO pg_compat.pg_relation_is_publishable(x) AS true;
CREATE MACRO pg_compat.pg_relation_is_updatable(x, include_triggers) AS 28;
CREATE MACRO pg_compat.pg_is_other_temp_schema(x) AS false;
CREATE MACRO pg_compat.pg_indexes_size(x) AS CAST(0 AS BIGINT);
CREATE MACRO pg_compat.pg_tablespace_location(x) AS '';
CREATE MACRO pg_compat.pg_relation_filenode(x) AS CAST(x AS UINTEGER);
-- An argument that is used more than once goes through a list of one, so that it is computed once.
CREATE MACRO pg_compat.size_step(x, unit) AS ((CAST(x AS HUGEINT) // (unit // 2) + CASE WHEN x < 0 THEN -1 ELSE 1 END) // 2);
CREATE MACRO pg_compat.pg_size_pretty(x) AS list_transform([x], lambda s: CASE WHEN s IS NULL THEN NULL WHEN abs(s) < 10240 THEN CAST(s AS BIGINT) || ' bytes'
  WHEN abs(s) < 10485248 THEN pg_compat.size_step(s, 1024) || ' kB'
  WHEN abs(s) < 10736893952 THEN pg_compat.size_step(s, 1048576) || ' MB'
  WHEN abs(s) < 10994579406848 THEN pg_compat.size_step(s, 1073741824) || ' GB'
  WHEN abs(s) < 11258449312612352 THEN pg_compat.size_step(s, 1099511627776) || ' TB' ELSE pg_compat.size_step(s, 1125899906842624) || ' PB' END)[1];
CREATE MACRO pg_compat.pg_stat_get_numscans(x) AS CAST(0 AS BIGINT);
CREATE MACRO pg_compat.pg_postmaster_start_time() AS CAST(current_localtimestamp() AS TIMESTAMPTZ);
-- Text and arrays.
CREATE MACRO pg_compat.array_upper(a, dimension) AS CASE WHEN len(a) > 0 THEN CAST(len(a) AS INTEGER) END;
CREATE MACRO pg_compat.array_lower(a, dimension) AS CASE WHEN len(a) > 0 THEN 1 END;
CREATE MACRO pg_compat.array_ndims(a) AS CASE WHEN len(a) > 0 THEN 1 END;
CREATE MACRO pg_compat.array_remove(a, x) AS list_filter(a, lambda v: v IS DISTINCT FROM x);
CREATE MACRO pg_compat.array_in(a) AS CASE WHEN CAST(a AS VARCHAR) IN ('{}', '[]') THEN [] ELSE list_transform(string_split(CAST(a AS VARCHAR)[2:-2], ','), lambda v: nullif(trim(trim(v), '"'), 'NULL')) END;
CREATE MACRO pg_compat.vector_subscripts(a, dimension) AS CASE WHEN dimension = 1 THEN CAST(range(0, len(a)) AS INTEGER[]) ELSE [] END;
CREATE MACRO pg_compat._pg_expandarray(a) AS unnest(list_transform(a, lambda v, i: {'x': v, 'n': CAST(i AS INTEGER)}));
CREATE MACRO pg_compat.pg_partition_ancestors(x) AS unnest(CAST([] AS UINTEGER[]));
CREATE MACRO pg_compat.aclexplode(a) AS unnest(CAST([] AS STRUCT(grantor UINTEGER, grantee UINTEGER, privilege_type VARCHAR, is_grantable BOOLEAN)[]));
CREATE MACRO pg_compat.acldefault(a, b) AS CAST(NULL AS VARCHAR[]);
CREATE MACRO pg_compat.pg_options_to_table(a) AS unnest(CAST([] AS STRUCT(option_name VARCHAR, option_value VARCHAR)[]));
CREATE MACRO pg_compat.pg_column_is_updatable(a, b, c) AS true;
CREATE MACRO pg_quiet.array_to_string(a, separator) AS array_to_string(CAST(a AS VARCHAR[]), separator);
CREATE MACRO pg_quiet.to_char(a, b) AS CAST(a AS VARCHAR);
