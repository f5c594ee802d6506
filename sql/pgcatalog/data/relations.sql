-- What the catalogs contain beyond the rows of the .tsv files. Each line "-- schema.relation" starts a relation; every SELECT
-- below it adds rows. A SELECT names only the columns that matter: columns.tsv has the full list, and what is left out
-- becomes NULL, or 0, false and '' where PostgreSQL says NOT NULL. They come on top of the relation's .tsv file, unless the line
-- says "instead of its file"; static_<relation> is the file. The order of this file is the order of creation.
--
-- Sources: temp.csm_relation, temp.csm_column, temp.csm_constraint, temp.csm_index, temp.csm_index_column, temp.csm_sequences, temp.csm_comment, temp.csm_type, temp.csm_label, temp.csm_function, temp.csm_parameter, temp.csm_schema (filled by Refresh), system_relation, system_column and
-- type_display (from the .tsv files). Variables: csm_database (Refresh), csm_user, csm_path, csm_settings (SetSession), csm_prepared (SetPrepared).

-- pg_catalog.pg_namespace
SELECT oid, name AS nspname, CASE WHEN name = 'public' THEN 6171 ELSE 10 END AS nspowner FROM temp.csm_schema;

-- pg_catalog.pg_class
SELECT relation_oid AS oid, relation AS relname, schema_oid AS relnamespace, row_type AS reltype, 10 AS relowner,
  CASE kind WHEN 'r' THEN 2 ELSE 0 END AS relam, relation_oid AS relfilenode, -1 AS reltuples, 'p' AS relpersistence, kind AS relkind, columns AS relnatts,
  kind = 'v' AS relhasrules, true AS relispopulated, 'n' AS relreplident FROM pg_compat.system_relation;
SELECT oid, name AS relname, schema_oid AS relnamespace, oid + 2147483648 AS reltype, 10 AS relowner,
  CASE WHEN kind IN ('r', 'm') THEN 2 ELSE 0 END AS relam, CASE WHEN kind IN ('r', 'm', 'S') THEN oid ELSE 0 END AS relfilenode, CASE kind WHEN 'r' THEN rows WHEN 'm' THEN rows WHEN 'S' THEN 1 ELSE -1 END AS reltuples, CASE kind WHEN 'S' THEN 1 ELSE CAST((bytes + 8191) // 8192 AS BIGINT) END AS relpages,
  'p' AS relpersistence, kind AS relkind, columns AS relnatts, kind IN ('v', 'm') AS relhasrules, populated AS relispopulated,
  CASE WHEN kind IN ('r', 'm') THEN 'd' ELSE 'n' END AS relreplident, coalesce(k.checks, 0) AS relchecks, oid IN (SELECT i.relation FROM temp.csm_index i) AS relhasindex, coalesce(k.references, 0) > 0 OR oid IN (SELECT c."references" FROM temp.csm_constraint c WHERE c.kind = 'f') AS relhastriggers, options AS reloptions
  FROM temp.csm_relation LEFT JOIN (SELECT relation AS constrained, CAST(count(*) FILTER (WHERE kind = 'c') AS SMALLINT) AS checks,
    count(*) FILTER (WHERE kind = 'f') AS "references" FROM temp.csm_constraint GROUP BY relation) AS k ON k.constrained = oid;
SELECT oid, name AS relname, schema_oid AS relnamespace, 10 AS relowner, method AS relam, oid AS relfilenode, (SELECT r.rows FROM temp.csm_relation r WHERE r.oid = relation) AS reltuples,
  'p' AS relpersistence, 'i' AS relkind, CAST(len(columns) AS SMALLINT) AS relnatts, true AS relispopulated, 'n' AS relreplident, options AS reloptions FROM temp.csm_index;

-- pg_catalog.pg_constraint
SELECT oid, name AS conname, schema_oid AS connamespace, kind AS contype, "deferrable" AS condeferrable, deferred AS condeferred, validated AS convalidated, relation AS conrelid,
  CASE WHEN kind IN ('p', 'u') THEN oid WHEN kind = 'f' THEN coalesce((SELECT min(i.oid) FROM temp.csm_index i WHERE i.relation = "references" AND i."unique" AND list_sort(i.columns) = list_sort(reference_columns)), 0) ELSE 0 END AS conindid, coalesce("references", 0) AS confrelid, on_update AS confupdtype, on_delete AS confdeltype, match AS confmatchtype, true AS conislocal,
  no_inherit AS connoinherit, columns AS conkey, reference_columns AS confkey, expression AS conbin, domain AS contypid FROM temp.csm_constraint;

-- pg_catalog.pg_index
SELECT oid AS indexrelid, relation AS indrelid, CAST(len(columns) AS SMALLINT) AS indnatts, CAST(len(columns) AS SMALLINT) AS indnkeyatts, "unique" AS indisunique, nulls_not_distinct AS indnullsnotdistinct,
  "primary" AS indisprimary, immediate AS indimmediate, valid AS indisvalid, true AS indisready, true AS indislive, columns AS indkey, collations AS indcollation, classes AS indclass, orders AS indoption FROM temp.csm_index;

-- pg_catalog.pg_attribute
SELECT relation_oid AS attrelid, c.name AS attname, c.type_oid AS atttypid, -1 AS attstattarget, t.typlen AS attlen, c.number AS attnum, -1 AS attcacheoff, -1 AS atttypmod,
  CASE WHEN t.typcategory = 'A' THEN 1 ELSE 0 END AS attndims, t.typbyval AS attbyval, t.typalign AS attalign, t.typstorage AS attstorage, c.not_null AS attnotnull, true AS attislocal, t.typcollation AS attcollation
  FROM pg_compat.system_column c JOIN pg_compat.static_pg_type t ON t.oid = c.type_oid;
SELECT c.relation AS attrelid, c.name AS attname, c.type AS atttypid, -1 AS attstattarget, coalesce(t.typlen, 4) AS attlen, c.number AS attnum, -1 AS attcacheoff, c.typmod AS atttypmod,
  CASE WHEN t.typcategory = 'A' THEN 1 ELSE 0 END AS attndims, coalesce(t.typbyval, true) AS attbyval, coalesce(t.typalign, 'i') AS attalign, coalesce(t.typstorage, 'p') AS attstorage, c.not_null AS attnotnull, c."default" IS NOT NULL AS atthasdef,
  c.identity AS attidentity, c.generated AS attgenerated, true AS attislocal, coalesce(t.typcollation, 0) AS attcollation
  FROM temp.csm_column c LEFT JOIN temp.csm_type d ON d.oid = c.type AND d.base <> 0 LEFT JOIN pg_compat.static_pg_type t ON t.oid = coalesce(d.base, c.type);

SELECT c.index AS attrelid, c.name AS attname, c.type AS atttypid, -1 AS attstattarget, coalesce(t.typlen, 4) AS attlen, c.number AS attnum, -1 AS attcacheoff, c.typmod AS atttypmod,
  CASE WHEN t.typcategory = 'A' THEN 1 ELSE 0 END AS attndims, coalesce(t.typbyval, true) AS attbyval, coalesce(t.typalign, 'i') AS attalign, coalesce(t.typstorage, 'p') AS attstorage, true AS attislocal, coalesce(t.typcollation, 0) AS attcollation
  FROM temp.csm_index_column c LEFT JOIN pg_compat.static_pg_type t ON t.oid = c.type;

-- pg_catalog.pg_attrdef
SELECT relation * 2048 + number AS oid, relation AS adrelid, number AS adnum, "default" AS adbin FROM temp.csm_column WHERE "default" IS NOT NULL;

-- pg_catalog.pg_sequence
SELECT oid AS seqrelid, type AS seqtypid, start AS seqstart, increment AS seqincrement, max AS seqmax, min AS seqmin, cache AS seqcache, cycle AS seqcycle FROM temp.csm_sequences;

-- pg_catalog.pg_depend
SELECT 1259 AS classid, oid AS objid, 1259 AS refclassid, owner AS refobjid, "column" AS refobjsubid, CASE WHEN identity THEN 'i' ELSE 'a' END AS deptype FROM temp.csm_sequences WHERE owner <> 0;
SELECT 2604 AS classid, c.relation * 2048 + c.number AS objid, 1259 AS refclassid, c.relation AS refobjid, CAST(c.number AS INTEGER) AS refobjsubid, 'a' AS deptype FROM temp.csm_column c WHERE c."default" IS NOT NULL;

-- pg_catalog.pg_description
SELECT object AS objoid, class AS classoid, part AS objsubid, comment AS description FROM temp.csm_comment;

-- pg_catalog.pg_type
SELECT oid + 2147483648 AS oid, name AS typname, schema_oid AS typnamespace, 10 AS typowner, -1 AS typlen, 'c' AS typtype, 'C' AS typcategory, true AS typisdefined, ',' AS typdelim, oid AS typrelid,
  oid + 3221225472 AS typarray, 2290 AS typinput, 2291 AS typoutput, 2402 AS typreceive, 2403 AS typsend, 'd' AS typalign, 'x' AS typstorage, -1 AS typtypmod FROM temp.csm_relation;
SELECT oid + 3221225472 AS oid, '_' || name AS typname, schema_oid AS typnamespace, 10 AS typowner, -1 AS typlen, 'b' AS typtype, 'A' AS typcategory, true AS typisdefined, ',' AS typdelim, 6179 AS typsubscript,
  oid + 2147483648 AS typelem, 750 AS typinput, 751 AS typoutput, 2400 AS typreceive, 2401 AS typsend, 3816 AS typanalyze, 'd' AS typalign, 'x' AS typstorage, -1 AS typtypmod FROM temp.csm_relation;

SELECT oid, name AS typname, schema_oid AS typnamespace, 10 AS typowner, 4 AS typlen, true AS typbyval, 'e' AS typtype, 'E' AS typcategory, true AS typisdefined, ',' AS typdelim, oid + 3221225472 AS typarray,
  3506 AS typinput, 3507 AS typoutput, 3532 AS typreceive, 3533 AS typsend, 'i' AS typalign, 'p' AS typstorage, -1 AS typtypmod FROM temp.csm_type WHERE base = 0;
SELECT t.oid, t.name AS typname, t.schema_oid AS typnamespace, 10 AS typowner, b.typlen, b.typbyval, 'd' AS typtype, b.typcategory, true AS typisdefined, ',' AS typdelim, t.oid + 3221225472 AS typarray,
  2597 AS typinput, b.typoutput, 2598 AS typreceive, b.typsend, b.typalign, b.typstorage, t.not_null AS typnotnull, t.base AS typbasetype, t.typmod AS typtypmod, b.typcollation, t."default" AS typdefaultbin, t."default" AS typdefault
  FROM temp.csm_type t JOIN pg_compat.static_pg_type b ON b.oid = t.base;
SELECT oid + 3221225472 AS oid, '_' || name AS typname, schema_oid AS typnamespace, 10 AS typowner, -1 AS typlen, 'b' AS typtype, 'A' AS typcategory, true AS typisdefined, ',' AS typdelim, 6179 AS typsubscript,
  oid AS typelem, 750 AS typinput, 751 AS typoutput, 2400 AS typreceive, 2401 AS typsend, 3816 AS typanalyze, 'i' AS typalign, 'x' AS typstorage, -1 AS typtypmod FROM temp.csm_type;

-- pg_catalog.pg_proc
SELECT oid, name AS proname, schema_oid AS pronamespace, 10 AS proowner, 14 AS prolang, 100 AS procost, 'f' AS prokind, strict AS proisstrict, volatility AS provolatile, parallel AS proparallel, parameters AS pronargs, defaults AS pronargdefaults,
  result AS prorettype, types AS proargtypes, names AS proargnames, source AS prosrc, body AS prosqlbody FROM temp.csm_function;

-- pg_catalog.pg_enum
SELECT oid, type AS enumtypid, "order" AS enumsortorder, label AS enumlabel FROM temp.csm_label;

-- pg_catalog.pg_authid
SELECT 16383 AS oid, getvariable('csm_user') AS rolname, true AS rolsuper, true AS rolinherit, true AS rolcreaterole, true AS rolcreatedb, true AS rolcanlogin, -1 AS rolconnlimit
  FROM (SELECT 1) AS one WHERE getvariable('csm_user') NOT IN (SELECT rolname FROM pg_compat.static_pg_authid);

-- pg_catalog.pg_roles
SELECT rolname, rolsuper, rolinherit, rolcreaterole, rolcreatedb, rolcanlogin, rolreplication, rolconnlimit, '********' AS rolpassword, rolbypassrls, oid FROM pg_compat.pg_authid;

-- pg_catalog.pg_user
SELECT rolname AS usename, oid AS usesysid, rolcreatedb AS usecreatedb, rolsuper AS usesuper, rolreplication AS userepl, rolbypassrls AS usebypassrls, '********' AS passwd FROM pg_compat.pg_authid WHERE rolcanlogin;

-- pg_catalog.pg_group
SELECT rolname AS groname, oid AS grosysid FROM pg_compat.pg_authid WHERE NOT rolcanlogin;

-- pg_catalog.pg_database
SELECT 16382 AS oid, coalesce(getvariable('csm_database'), 'csmsql') AS datname, 10 AS datdba, 6 AS encoding, 'c' AS datlocprovider, true AS datallowconn, -1 AS datconnlimit, 1663 AS dattablespace,
  'C.UTF-8' AS datcollate, 'C.UTF-8' AS datctype;

-- pg_catalog.pg_rewrite
SELECT oid + 1073741824 AS oid, '_RETURN' AS rulename, oid AS ev_class, '1' AS ev_type, 'O' AS ev_enabled, true AS is_instead FROM temp.csm_relation WHERE kind IN ('v', 'm');

-- pg_catalog.pg_tables
SELECT n.nspname AS schemaname, c.relname AS tablename, 'postgres' AS tableowner, c.relhasindex AS hasindexes, false AS hasrules, false AS hastriggers, false AS rowsecurity
  FROM pg_compat.pg_class c JOIN pg_compat.pg_namespace n ON n.oid = c.relnamespace WHERE c.relkind IN ('r', 'p');

-- pg_catalog.pg_indexes
SELECT r.schema AS schemaname, r.name AS tablename, i.name AS indexname, i.head || i.qualified || i.tail AS indexdef FROM temp.csm_index i JOIN temp.csm_relation r ON r.oid = i.relation;

-- pg_catalog.pg_sequences
SELECT r.schema AS schemaname, r.name AS sequencename, 'postgres' AS sequenceowner, CASE s.type WHEN 21 THEN 'smallint' WHEN 23 THEN 'integer' ELSE 'bigint' END AS data_type, s.start AS start_value, s.min AS min_value, s.max AS max_value, s.increment AS increment_by, s.cycle AS cycle,
  s.cache AS cache_size, csm_sequence(s.number, 2) AS last_value FROM temp.csm_sequences s JOIN temp.csm_relation r ON r.oid = s.oid;

-- pg_catalog.pg_views
SELECT n.nspname AS schemaname, c.relname AS viewname, 'postgres' AS viewowner, d.definition AS definition
  FROM pg_compat.pg_class c JOIN pg_compat.pg_namespace n ON n.oid = c.relnamespace LEFT JOIN temp.csm_relation d ON d.oid = c.oid WHERE c.relkind = 'v';

-- pg_catalog.pg_matviews
SELECT r.schema AS schemaname, r.name AS matviewname, 'postgres' AS matviewowner, r.oid IN (SELECT i.relation FROM temp.csm_index i) AS hasindexes, r.populated AS ispopulated, r.definition AS definition
  FROM temp.csm_relation r WHERE r.kind = 'm';

-- pg_catalog.pg_settings instead of its file
SELECT s.name AS name, coalesce(list_extract(x.own, 2), s.setting) AS setting, s.unit AS unit, s.category AS category, s.short_desc AS short_desc, s.extra_desc AS extra_desc, s.context AS context, s.vartype AS vartype, coalesce(list_extract(x.own, 3), 'default') AS source,
  s.min_val AS min_val, s.max_val AS max_val, s.enumvals AS enumvals, s.setting AS boot_val, coalesce(list_extract(x.own, 4), s.setting) AS reset_val, false AS pending_restart
  FROM (SELECT *, map_extract_value(pg_compat.session_settings(), lower(name)) AS own FROM pg_compat.static_pg_settings) AS x, pg_compat.static_pg_settings s WHERE s.name = x.name;
SELECT x.name AS name, list_extract(map_extract_value(pg_compat.session_settings(), x.name), 2) AS setting, 'Customized Options' AS category, 'user' AS context, 'string' AS vartype, 'session' AS source, '' AS reset_val, false AS pending_restart
  FROM (SELECT unnest(map_keys(pg_compat.session_settings())) AS name) AS x WHERE x.name NOT IN (SELECT name FROM pg_compat.shown_settings);

-- pg_catalog.pg_prepared_statements
SELECT p[1] AS name, p[2] AS statement, CAST(p[3] AS TIMESTAMPTZ) AS prepare_time, CAST(p[4] AS UINTEGER[]) AS parameter_types, p[5] = 'sql' AS from_sql, 0 AS generic_plans, 0 AS custom_plans
  FROM (SELECT unnest(CAST(getvariable('csm_prepared') AS VARCHAR[][])) AS p) AS x;

-- pg_catalog.pg_stat_activity
SELECT 16382 AS datid, coalesce(getvariable('csm_database'), 'csmsql') AS datname, pg_session.pg_backend_pid() AS pid, 10 AS usesysid, coalesce(getvariable('csm_user'), 'postgres') AS usename,
  coalesce(pg_compat.session_setting('application_name'), '') AS application_name, 'active' AS state, 'client backend' AS backend_type;

-- pg_catalog.pg_stat_user_tables
SELECT oid AS relid, schema AS schemaname, name AS relname, rows AS n_live_tup, 0 AS n_dead_tup, 0 AS seq_scan, 0 AS seq_tup_read FROM temp.csm_relation WHERE kind = 'r';

-- pg_catalog.pg_stat_all_tables
SELECT relid, schemaname, relname, n_live_tup, n_dead_tup, seq_scan, seq_tup_read FROM pg_compat.pg_stat_user_tables;

-- pg_catalog.pg_timezone_names
SELECT name, abbrev, utc_offset, is_dst FROM pg_timezone_names();

-- information_schema.information_schema_catalog_name
SELECT coalesce(getvariable('csm_database'), 'csmsql') AS catalog_name;

-- information_schema.enabled_roles
SELECT rolname AS role_name FROM pg_compat.pg_authid;

-- information_schema.applicable_roles
SELECT m.rolname AS grantee, r.rolname AS role_name, CASE WHEN a.admin_option THEN 'YES' ELSE 'NO' END AS is_grantable
  FROM pg_compat.pg_auth_members a JOIN pg_compat.pg_authid m ON m.oid = a.member JOIN pg_compat.pg_authid r ON r.oid = a.roleid;

-- information_schema.character_sets
SELECT 'UTF8' AS character_set_name, 'UCS' AS character_repertoire, 'UTF8' AS form_of_use, coalesce(getvariable('csm_database'), 'csmsql') AS default_collate_catalog, 'pg_catalog' AS default_collate_schema, 'C.UTF-8' AS default_collate_name;

-- information_schema.schemata
SELECT coalesce(getvariable('csm_database'), 'csmsql') AS catalog_name, nspname AS schema_name, r.rolname AS schema_owner FROM pg_compat.pg_namespace n JOIN pg_compat.pg_authid r ON r.oid = n.nspowner;

-- information_schema.tables
SELECT coalesce(getvariable('csm_database'), 'csmsql') AS table_catalog, n.nspname AS table_schema, c.relname AS table_name, CASE c.relkind WHEN 'r' THEN 'BASE TABLE' ELSE 'VIEW' END AS table_type,
  CASE WHEN c.relkind = 'r' THEN 'YES' ELSE 'NO' END AS is_insertable_into, 'NO' AS is_typed
  FROM pg_compat.pg_class c JOIN pg_compat.pg_namespace n ON n.oid = c.relnamespace WHERE c.relkind IN ('r', 'v');

-- information_schema.views
SELECT coalesce(getvariable('csm_database'), 'csmsql') AS table_catalog, n.nspname AS table_schema, c.relname AS table_name, d.definition AS view_definition, 'NONE' AS check_option, 'NO' AS is_updatable, 'NO' AS is_insertable_into,
  'NO' AS is_trigger_updatable, 'NO' AS is_trigger_deletable, 'NO' AS is_trigger_insertable_into
  FROM pg_compat.pg_class c JOIN pg_compat.pg_namespace n ON n.oid = c.relnamespace LEFT JOIN temp.csm_relation d ON d.oid = c.oid WHERE c.relkind = 'v';

-- information_schema.columns
SELECT coalesce(getvariable('csm_database'), 'csmsql') AS table_catalog, n.nspname AS table_schema, c.relname AS table_name, a.attname AS column_name, a.attnum AS ordinal_position, CASE WHEN a.attgenerated = '' THEN d.adbin END AS column_default,
  CASE WHEN a.attnotnull OR (a.typtype = 'd' AND a.typnotnull) THEN 'NO' ELSE 'YES' END AS is_nullable,
  CASE WHEN b.typcategory = 'A' AND b.typlen = -1 THEN 'ARRAY' ELSE coalesce(bd.before || coalesce(bd.after, ''), 'USER-DEFINED') END AS data_type,
  CASE WHEN b.oid IN (1042, 1043) AND a.modifier > 0 THEN a.modifier - 4 WHEN b.oid IN (1560, 1562) AND a.modifier > 0 THEN a.modifier END AS character_maximum_length,
  CASE WHEN b.oid IN (1042, 1043) AND a.modifier > 0 THEN (a.modifier - 4) * 4 WHEN b.oid IN (25, 1042, 1043) THEN 1073741824 END AS character_octet_length,
  CASE b.oid WHEN 21 THEN 16 WHEN 23 THEN 32 WHEN 20 THEN 64 WHEN 700 THEN 24 WHEN 701 THEN 53 WHEN 1700 THEN (CASE WHEN a.modifier > 0 THEN ((a.modifier - 4) >> 16) & 65535 END) END AS numeric_precision,
  CASE b.oid WHEN 21 THEN 2 WHEN 23 THEN 2 WHEN 20 THEN 2 WHEN 700 THEN 2 WHEN 701 THEN 2 WHEN 1700 THEN 10 END AS numeric_precision_radix,
  CASE b.oid WHEN 21 THEN 0 WHEN 23 THEN 0 WHEN 20 THEN 0 WHEN 1700 THEN (CASE WHEN a.modifier > 0 THEN (a.modifier - 4) & 2047 END) END AS numeric_scale,
  CASE WHEN b.oid = 1082 THEN 0 WHEN b.oid IN (1083, 1114, 1184, 1266, 1186) THEN (CASE WHEN a.modifier < 0 THEN 6 ELSE a.modifier END) END AS datetime_precision,
  CASE WHEN a.typtype = 'd' THEN coalesce(getvariable('csm_database'), 'csmsql') END AS domain_catalog, CASE WHEN a.typtype = 'd' THEN a.domain_schema END AS domain_schema, CASE WHEN a.typtype = 'd' THEN a.typname END AS domain_name,
  coalesce(getvariable('csm_database'), 'csmsql') AS udt_catalog, CASE WHEN b.typnamespace = 11 THEN 'pg_catalog' WHEN b.oid IS NOT NULL THEN 'information_schema' ELSE u.schema END AS udt_schema, coalesce(b.typname, u.name) AS udt_name, CAST(a.attnum AS VARCHAR) AS dtd_identifier,
  'NO' AS is_self_referencing, CASE WHEN a.attidentity IN ('a', 'd') THEN 'YES' ELSE 'NO' END AS is_identity, CASE a.attidentity WHEN 'a' THEN 'ALWAYS' WHEN 'd' THEN 'BY DEFAULT' END AS identity_generation,
  CAST(q.start AS VARCHAR) AS identity_start, CAST(q.increment AS VARCHAR) AS identity_increment, CAST(q.max AS VARCHAR) AS identity_maximum, CAST(q.min AS VARCHAR) AS identity_minimum, CASE WHEN q.cycle THEN 'YES' ELSE 'NO' END AS identity_cycle, CASE WHEN a.attgenerated = 's' THEN 'ALWAYS' ELSE 'NEVER' END AS is_generated, CASE WHEN a.attgenerated = 's' THEN d.adbin END AS generation_expression, CASE c.relkind WHEN 'r' THEN 'YES' ELSE 'NO' END AS is_updatable
  FROM (SELECT x.*, CASE WHEN z.oid IS NOT NULL THEN 'd' ELSE y.typtype END AS typtype, coalesce(z.not_null, y.typnotnull) AS typnotnull, coalesce(z.name, y.typname) AS typname, coalesce(z.schema, 'information_schema') AS domain_schema,
      CASE WHEN z.oid IS NOT NULL THEN z.base WHEN y.typtype = 'd' THEN y.typbasetype ELSE y.oid END AS base, CASE WHEN z.oid IS NOT NULL THEN z.typmod WHEN y.typtype = 'd' THEN y.typtypmod ELSE x.atttypmod END AS modifier
      FROM pg_compat.pg_attribute x LEFT JOIN pg_compat.static_pg_type y ON y.oid = x.atttypid LEFT JOIN temp.csm_type z ON z.oid = x.atttypid AND z.base <> 0) AS a
  JOIN pg_compat.pg_class c ON c.oid = a.attrelid JOIN pg_compat.pg_namespace n ON n.oid = c.relnamespace LEFT JOIN pg_compat.static_pg_type b ON b.oid = a.base
  LEFT JOIN pg_compat.type_display bd ON bd.oid = b.oid LEFT JOIN temp.csm_type u ON u.oid = a.atttypid
  LEFT JOIN pg_compat.pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
  LEFT JOIN temp.csm_sequences q ON q.identity AND q.owner = a.attrelid AND q."column" = a.attnum
  WHERE a.attnum > 0 AND NOT a.attisdropped AND c.relkind IN ('r', 'v');

-- information_schema.sequences
SELECT coalesce(getvariable('csm_database'), 'csmsql') AS sequence_catalog, r.schema AS sequence_schema, r.name AS sequence_name, CASE s.type WHEN 21 THEN 'smallint' WHEN 23 THEN 'integer' ELSE 'bigint' END AS data_type,
  CASE s.type WHEN 21 THEN 16 WHEN 23 THEN 32 ELSE 64 END AS numeric_precision, 2 AS numeric_precision_radix, 0 AS numeric_scale, CAST(s.start AS VARCHAR) AS start_value, CAST(s.min AS VARCHAR) AS minimum_value,
  CAST(s.max AS VARCHAR) AS maximum_value, CAST(s.increment AS VARCHAR) AS increment, CASE WHEN s.cycle THEN 'YES' ELSE 'NO' END AS cycle_option
  FROM temp.csm_sequences s JOIN temp.csm_relation r ON r.oid = s.oid WHERE NOT s.identity;

-- information_schema.table_constraints
SELECT coalesce(getvariable('csm_database'), 'csmsql') AS constraint_catalog, r.schema AS constraint_schema, k.name AS constraint_name, coalesce(getvariable('csm_database'), 'csmsql') AS table_catalog, r.schema AS table_schema,
  r.name AS table_name, CASE k.kind WHEN 'c' THEN 'CHECK' WHEN 'p' THEN 'PRIMARY KEY' WHEN 'u' THEN 'UNIQUE' ELSE 'FOREIGN KEY' END AS constraint_type, CASE WHEN k."deferrable" THEN 'YES' ELSE 'NO' END AS is_deferrable,
  CASE WHEN k.deferred THEN 'YES' ELSE 'NO' END AS initially_deferred, CASE WHEN k.validated THEN 'YES' ELSE 'NO' END AS enforced,
  CASE WHEN k.kind = 'u' THEN CASE WHEN k.nulls_not_distinct THEN 'NO' ELSE 'YES' END END AS nulls_distinct FROM temp.csm_constraint k JOIN temp.csm_relation r ON r.oid = k.relation;

-- information_schema.check_constraints
SELECT coalesce(getvariable('csm_database'), 'csmsql') AS constraint_catalog, r.schema AS constraint_schema, k.name AS constraint_name, k.expression AS check_clause
  FROM temp.csm_constraint k JOIN temp.csm_relation r ON r.oid = k.relation WHERE k.kind = 'c';
SELECT coalesce(getvariable('csm_database'), 'csmsql') AS constraint_catalog, t.schema AS constraint_schema, k.name AS constraint_name, k.expression AS check_clause
  FROM temp.csm_constraint k JOIN temp.csm_type t ON t.oid = k.domain;

-- information_schema.domains
SELECT coalesce(getvariable('csm_database'), 'csmsql') AS domain_catalog, t.schema AS domain_schema, t.name AS domain_name, coalesce(bd.before || coalesce(bd.after, ''), 'USER-DEFINED') AS data_type,
  CASE WHEN t.base IN (1042, 1043) AND t.typmod > 0 THEN t.typmod - 4 END AS character_maximum_length,
  CASE WHEN t.base IN (1042, 1043) AND t.typmod > 0 THEN (t.typmod - 4) * 4 WHEN t.base IN (25, 1042, 1043) THEN 1073741824 END AS character_octet_length,
  CASE t.base WHEN 21 THEN 16 WHEN 23 THEN 32 WHEN 20 THEN 64 WHEN 700 THEN 24 WHEN 701 THEN 53 WHEN 1700 THEN (CASE WHEN t.typmod > 0 THEN ((t.typmod - 4) >> 16) & 65535 END) END AS numeric_precision,
  CASE t.base WHEN 21 THEN 2 WHEN 23 THEN 2 WHEN 20 THEN 2 WHEN 700 THEN 2 WHEN 701 THEN 2 WHEN 1700 THEN 10 END AS numeric_precision_radix,
  CASE t.base WHEN 21 THEN 0 WHEN 23 THEN 0 WHEN 20 THEN 0 WHEN 1700 THEN (CASE WHEN t.typmod > 0 THEN (t.typmod - 4) & 2047 END) END AS numeric_scale,
  CASE WHEN t.base = 1082 THEN 0 WHEN t.base IN (1083, 1114, 1184, 1266, 1186) THEN (CASE WHEN t.typmod < 0 THEN 6 ELSE t.typmod END) END AS datetime_precision,
  t."default" AS domain_default, coalesce(getvariable('csm_database'), 'csmsql') AS udt_catalog, 'pg_catalog' AS udt_schema, b.typname AS udt_name, '1' AS dtd_identifier
  FROM temp.csm_type t JOIN pg_compat.static_pg_type b ON b.oid = t.base LEFT JOIN pg_compat.type_display bd ON bd.oid = t.base;

-- information_schema.domain_constraints
SELECT coalesce(getvariable('csm_database'), 'csmsql') AS constraint_catalog, t.schema AS constraint_schema, k.name AS constraint_name, coalesce(getvariable('csm_database'), 'csmsql') AS domain_catalog, t.schema AS domain_schema, t.name AS domain_name,
  'NO' AS is_deferrable, 'NO' AS initially_deferred FROM temp.csm_constraint k JOIN temp.csm_type t ON t.oid = k.domain;

-- information_schema.column_domain_usage
SELECT coalesce(getvariable('csm_database'), 'csmsql') AS domain_catalog, t.schema AS domain_schema, t.name AS domain_name, coalesce(getvariable('csm_database'), 'csmsql') AS table_catalog, r.schema AS table_schema, r.name AS table_name, c.name AS column_name
  FROM temp.csm_column c JOIN temp.csm_type t ON t.oid = c.type AND t.base <> 0 JOIN temp.csm_relation r ON r.oid = c.relation;

-- information_schema.key_column_usage
SELECT coalesce(getvariable('csm_database'), 'csmsql') AS constraint_catalog, r.schema AS constraint_schema, k.name AS constraint_name, coalesce(getvariable('csm_database'), 'csmsql') AS table_catalog, r.schema AS table_schema,
  r.name AS table_name, c.name AS column_name, k.at AS ordinal_position, CASE WHEN k.kind = 'f' THEN k.at END AS position_in_unique_constraint
  FROM (SELECT relation, name, kind, unnest(columns) AS number, CAST(generate_subscripts(columns, 1) AS INTEGER) AS at FROM temp.csm_constraint WHERE kind IN ('p', 'u', 'f')) AS k
  JOIN temp.csm_relation r ON r.oid = k.relation JOIN temp.csm_column c ON c.relation = k.relation AND c.number = k.number;

-- information_schema.constraint_column_usage
SELECT coalesce(getvariable('csm_database'), 'csmsql') AS table_catalog, r.schema AS table_schema, r.name AS table_name, c.name AS column_name, coalesce(getvariable('csm_database'), 'csmsql') AS constraint_catalog,
  o.schema AS constraint_schema, k.name AS constraint_name
  FROM (SELECT relation AS own, name, CASE kind WHEN 'f' THEN "references" ELSE relation END AS relation, unnest(CASE kind WHEN 'f' THEN reference_columns ELSE columns END) AS number FROM temp.csm_constraint) AS k
  JOIN temp.csm_relation o ON o.oid = k.own JOIN temp.csm_relation r ON r.oid = k.relation JOIN temp.csm_column c ON c.relation = k.relation AND c.number = k.number;

-- information_schema.referential_constraints
SELECT coalesce(getvariable('csm_database'), 'csmsql') AS constraint_catalog, r.schema AS constraint_schema, k.name AS constraint_name, CASE k.match WHEN 'f' THEN 'FULL' WHEN 'p' THEN 'PARTIAL' ELSE 'NONE' END AS match_option,
  CASE k.on_update WHEN 'c' THEN 'CASCADE' WHEN 'n' THEN 'SET NULL' WHEN 'd' THEN 'SET DEFAULT' WHEN 'r' THEN 'RESTRICT' ELSE 'NO ACTION' END AS update_rule,
  CASE k.on_delete WHEN 'c' THEN 'CASCADE' WHEN 'n' THEN 'SET NULL' WHEN 'd' THEN 'SET DEFAULT' WHEN 'r' THEN 'RESTRICT' ELSE 'NO ACTION' END AS delete_rule
  FROM temp.csm_constraint k JOIN temp.csm_relation r ON r.oid = k.relation WHERE k.kind = 'f';

-- information_schema.element_types
SELECT coalesce(getvariable('csm_database'), 'csmsql') AS object_catalog, n.nspname AS object_schema, c.relname AS object_name, CASE c.relkind WHEN 'r' THEN 'TABLE' ELSE 'VIEW' END AS object_type,
  CAST(a.attnum AS VARCHAR) AS collection_type_identifier, coalesce(td.before || coalesce(td.after, ''), 'USER-DEFINED') AS data_type,
  coalesce(getvariable('csm_database'), 'csmsql') AS udt_catalog, 'pg_catalog' AS udt_schema, e.typname AS udt_name, 'a' || a.attnum AS dtd_identifier
  FROM pg_compat.pg_attribute a JOIN pg_compat.pg_class c ON c.oid = a.attrelid JOIN pg_compat.pg_namespace n ON n.oid = c.relnamespace
  JOIN pg_compat.pg_type t ON t.oid = a.atttypid JOIN pg_compat.pg_type e ON e.oid = t.typelem LEFT JOIN pg_compat.type_display td ON td.oid = e.oid
  WHERE a.attnum > 0 AND t.typcategory = 'A' AND t.typlen = -1;

-- information_schema.table_privileges
SELECT 'postgres' AS grantor, 'postgres' AS grantee, t.table_catalog AS table_catalog, t.table_schema AS table_schema, t.table_name AS table_name, p.privilege AS privilege_type, 'YES' AS is_grantable, CASE p.privilege WHEN 'SELECT' THEN 'YES' ELSE 'NO' END AS with_hierarchy
  FROM information_compat.tables t, (VALUES ('INSERT'), ('SELECT'), ('UPDATE'), ('DELETE'), ('TRUNCATE'), ('REFERENCES'), ('TRIGGER')) AS p(privilege);

-- information_schema.role_table_grants
SELECT grantor, grantee, table_catalog, table_schema, table_name, privilege_type, is_grantable, with_hierarchy FROM information_compat.table_privileges;

-- information_schema.column_privileges
SELECT 'postgres' AS grantor, 'postgres' AS grantee, c.table_catalog AS table_catalog, c.table_schema AS table_schema, c.table_name AS table_name, c.column_name AS column_name, p.privilege AS privilege_type, 'YES' AS is_grantable
  FROM information_compat.columns c, (VALUES ('SELECT'), ('INSERT'), ('UPDATE'), ('REFERENCES')) AS p(privilege);
