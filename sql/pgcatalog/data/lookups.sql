-- Functions that look something up in the catalogs; see functions.sql for what their schemas mean.

-- Names and object IDs. The _name functions serve reg* types that are shown; the _oid functions those that are compared.
CREATE MACRO pg_compat.relation_name(x) AS coalesce((SELECT r.shown FROM pg_compat.relation_names r WHERE r.oid = TRY_CAST(x AS UINTEGER)), CAST(x AS VARCHAR));
CREATE MACRO pg_compat.relation_lookup(x) AS (SELECT min(r.oid) FROM pg_compat.relation_names r WHERE r.oid = TRY_CAST(CAST(x AS VARCHAR) AS UINTEGER)
  OR lower(r.full_name) = lower(replace(CAST(x AS VARCHAR), '"', '')) OR (r.visible AND lower(r.name) = lower(replace(CAST(x AS VARCHAR), '"', ''))));
CREATE MACRO pg_compat.type_name(x) AS coalesce((SELECT d.before || coalesce(d.after, '') FROM pg_compat.type_names d WHERE d.oid = TRY_CAST(x AS UINTEGER)), CAST(x AS VARCHAR));
CREATE MACRO pg_compat.type_lookup(x) AS (SELECT min(d.oid) FROM pg_compat.type_names d WHERE d.oid = TRY_CAST(CAST(x AS VARCHAR) AS UINTEGER)
  OR d.bare = lower(CAST(x AS VARCHAR)) OR (d.visible AND d.name = replace(CAST(x AS VARCHAR), '"', '')) OR d.full_name = replace(CAST(x AS VARCHAR), '"', '') OR d.alias = lower(CAST(x AS VARCHAR)));
CREATE MACRO pg_compat.namespace_name(x) AS coalesce((SELECT n.nspname FROM pg_compat.pg_namespace n WHERE n.oid = TRY_CAST(x AS UINTEGER)), CAST(x AS VARCHAR));
CREATE MACRO pg_compat.namespace_lookup(x) AS (SELECT min(n.oid) FROM pg_compat.pg_namespace n WHERE n.nspname = replace(CAST(x AS VARCHAR), '"', '') OR n.oid = TRY_CAST(CAST(x AS VARCHAR) AS UINTEGER));
CREATE MACRO pg_compat.pg_function_is_visible(x) AS x NOT IN (SELECT f.oid FROM temp.csm_function f WHERE NOT list_contains(CAST(coalesce(getvariable('csm_path'), ['public']) AS VARCHAR[]), f.schema));
CREATE MACRO pg_compat.function_lookup(x) AS (SELECT min(p.oid) FROM pg_compat.pg_proc p WHERE p.proname = regexp_replace(lower(CAST(x AS VARCHAR)), '^[^(]*\.|\(.*$', '', 'g')
  AND CASE WHEN regexp_matches(CAST(x AS VARCHAR), '^[^(]*\.') THEN p.pronamespace = (SELECT n.oid FROM pg_compat.pg_namespace n WHERE n.nspname = replace(regexp_extract(CAST(x AS VARCHAR), '^([^.(]*)\.', 1), '"', '')) ELSE pg_compat.pg_function_is_visible(p.oid) END);
CREATE MACRO pg_compat.function_name(x) AS CASE WHEN CAST(x AS VARCHAR) = '0' THEN '-' ELSE coalesce((SELECT CASE WHEN pg_compat.pg_function_is_visible(p.oid) THEN '' ELSE pg_compat.quote_ident(pg_compat.namespace_name(p.pronamespace)) || '.' END || p.proname FROM pg_compat.pg_proc p WHERE p.oid = TRY_CAST(x AS UINTEGER)), CAST(x AS VARCHAR)) END;
CREATE MACRO pg_compat.role_name(x) AS coalesce((SELECT r.rolname FROM pg_compat.pg_authid r WHERE r.oid = TRY_CAST(x AS UINTEGER)), CAST(x AS VARCHAR));
CREATE MACRO pg_compat.role_lookup(x) AS (SELECT min(r.oid) FROM pg_compat.pg_authid r WHERE r.rolname = replace(CAST(x AS VARCHAR), '"', ''));
CREATE MACRO pg_compat.format_type(type_oid, typmod) AS CASE WHEN type_oid IS NOT NULL THEN coalesce((SELECT CASE
    WHEN typmod IS NULL THEN d.before || coalesce(d.after, '')
    WHEN typmod < 0 OR d.modifier IS NULL THEN d.bare
    WHEN d.modifier = 'n' THEN d.before || '(' || (((typmod - 4) >> 16) & 65535) || ',' || ((typmod - 4) & 2047) || ')' || coalesce(d.after, '')
    WHEN d.modifier = 'c' THEN d.before || '(' || (typmod - 4) || ')' || coalesce(d.after, '')
    ELSE d.before || '(' || typmod || ')' || coalesce(d.after, '') END
  FROM pg_compat.type_names d WHERE d.oid = type_oid), CASE WHEN type_oid = 0 THEN '-' ELSE '???' END) END;
CREATE MACRO pg_compat.pg_get_viewdef(x) AS (SELECT r.definition FROM temp.csm_relation r WHERE r.oid = x),
  (x, pretty) AS (SELECT r.definition FROM temp.csm_relation r WHERE r.oid = x);
CREATE MACRO pg_compat.pg_get_constraintdef(x) AS (SELECT k.definition FROM temp.csm_constraint k WHERE k.oid = x), (x, pretty) AS (SELECT k.definition FROM temp.csm_constraint k WHERE k.oid = x);
CREATE MACRO pg_compat.pg_get_indexdef(x) AS (SELECT i.head || i.qualified || i.tail FROM temp.csm_index i WHERE i.oid = x),
  (x, place, pretty) AS (SELECT CASE place WHEN 0 THEN i.head || CASE WHEN pretty AND i.relation IN (SELECT r.oid FROM pg_compat.relation_names r WHERE r.visible) THEN i.bare ELSE i.qualified END || i.tail
    ELSE (SELECT pg_compat.quote_ident(c.name) FROM temp.csm_column c WHERE c.relation = i.relation AND c.number = i.columns[place]) END FROM temp.csm_index i WHERE i.oid = x);
CREATE MACRO pg_compat.parameter_list(x, defaults) AS (SELECT coalesce((SELECT string_agg(coalesce(pg_compat.quote_ident(p.name) || ' ', '') || coalesce(d.bare, '???') || CASE WHEN defaults THEN coalesce(' DEFAULT ' || p."default", '') ELSE '' END, ', ' ORDER BY p.number)
  FROM temp.csm_parameter p LEFT JOIN pg_compat.type_names d ON d.oid = p.type WHERE p.function = x AND p.number > 0), '') FROM temp.csm_function f WHERE f.oid = x);
CREATE MACRO pg_compat.pg_get_function_arguments(x) AS coalesce((SELECT d.arguments FROM pg_compat.function_display d WHERE d.oid = x), pg_compat.parameter_list(x, true));
CREATE MACRO pg_compat.pg_get_function_result(x) AS coalesce((SELECT d.result FROM pg_compat.function_display d WHERE d.oid = x), (SELECT d.bare FROM temp.csm_function f JOIN pg_compat.type_names d ON d.oid = f.result WHERE f.oid = x));
CREATE MACRO pg_compat.pg_get_function_sqlbody(x) AS (SELECT f.body FROM temp.csm_function f WHERE f.oid = x);
CREATE MACRO pg_compat.pg_get_function_arg_default(x, place) AS (SELECT p."default" FROM temp.csm_parameter p WHERE p.function = x AND p.number = place);
CREATE MACRO pg_compat.pg_get_functiondef(x) AS (SELECT coalesce(f.macro, 'CREATE OR REPLACE FUNCTION ' || pg_compat.quote_ident(f.schema) || '.' || pg_compat.quote_ident(f.name) || '(' || pg_compat.parameter_list(x, true) || chr(41) || chr(10) ||
  ' RETURNS ' || pg_compat.pg_get_function_result(x) || chr(10) || ' LANGUAGE sql' || chr(10) || f.tail) FROM temp.csm_function f WHERE f.oid = x);
CREATE MACRO pg_compat.pg_get_userbyid(x) AS coalesce((SELECT r.rolname FROM pg_compat.pg_authid r WHERE r.oid = x), 'unknown (OID=' || x || ')');
CREATE MACRO pg_compat.obj_description(x) AS (SELECT min(d.description) FROM pg_compat.pg_description d WHERE d.objoid = x AND d.objsubid = 0),
  (x, catalog_name) AS (SELECT min(d.description) FROM pg_compat.pg_description d WHERE d.objoid = x AND d.objsubid = 0 AND d.classoid = (SELECT c.relation_oid FROM pg_compat.system_relation c WHERE c.schema = 'pg_catalog' AND c.relation = catalog_name));
CREATE MACRO pg_compat.col_description(x, place) AS (SELECT min(d.description) FROM pg_compat.pg_description d WHERE d.objoid = x AND d.objsubid = place AND d.classoid = 1259);
CREATE MACRO pg_compat.shobj_description(x, catalog_name) AS (SELECT min(d.description) FROM pg_compat.pg_shdescription d WHERE d.objoid = x);
-- Visibility, privileges.
CREATE MACRO pg_compat.pg_table_is_visible(x) AS x IN (SELECT r.oid FROM pg_compat.relation_names r WHERE r.visible);
CREATE MACRO pg_compat.pg_type_is_visible(x) AS x IN (SELECT d.oid FROM pg_compat.type_names d WHERE d.visible);
-- Sizes.
CREATE MACRO pg_compat.pg_relation_size(x) AS coalesce((SELECT r.bytes FROM temp.csm_relation r WHERE r.oid = x), 0),
  (x, fork) AS coalesce((SELECT r.bytes FROM temp.csm_relation r WHERE r.oid = x), 0);
CREATE MACRO pg_compat.pg_database_size(x) AS (SELECT CAST(coalesce(sum(r.bytes), 0) AS BIGINT) FROM temp.csm_relation r);
CREATE MACRO pg_compat.pg_tablespace_size(x) AS (SELECT CAST(coalesce(sum(r.bytes), 0) AS BIGINT) FROM temp.csm_relation r);
CREATE MACRO pg_compat.relation_oid(x) AS CAST(coalesce(TRY_CAST(x AS UINTEGER), pg_compat.relation_lookup(x), CASE WHEN x IS NOT NULL THEN CAST(error('relation "' || x || '" does not exist') AS UINTEGER) END) AS UINTEGER);
CREATE MACRO pg_compat.pg_get_serial_sequence(a, b) AS (SELECT min(pg_compat.quote_ident(r.schema) || '.' || pg_compat.quote_ident(r.name)) FROM temp.csm_sequences s JOIN temp.csm_relation r ON r.oid = s.oid
  JOIN temp.csm_column c ON c.relation = s.owner AND c.number = s."column" WHERE s.owner = pg_compat.relation_oid(a) AND c.name = b);
CREATE MACRO pg_compat.pg_sequence_last_value(x) AS (SELECT min(csm_sequence(s.number, 2)) FROM temp.csm_sequences s WHERE s.oid = pg_compat.relation_oid(x));
CREATE MACRO pg_compat.type_oid(x) AS CAST(coalesce(TRY_CAST(x AS UINTEGER), pg_compat.type_lookup(x), CASE WHEN x IS NOT NULL THEN CAST(error('type "' || x || '" does not exist') AS UINTEGER) END) AS UINTEGER);
CREATE MACRO pg_compat.namespace_oid(x) AS CAST(coalesce(TRY_CAST(x AS UINTEGER), pg_compat.namespace_lookup(x), CASE WHEN x IS NOT NULL THEN CAST(error('schema "' || x || '" does not exist') AS UINTEGER) END) AS UINTEGER);
CREATE MACRO pg_compat.function_oid(x) AS CAST(coalesce(TRY_CAST(x AS UINTEGER), pg_compat.function_lookup(x), CASE WHEN x IS NOT NULL THEN CAST(error('function "' || x || '" does not exist') AS UINTEGER) END) AS UINTEGER);
CREATE MACRO pg_compat.role_oid(x) AS CAST(coalesce(TRY_CAST(x AS UINTEGER), pg_compat.role_lookup(x), CASE WHEN x IS NOT NULL THEN CAST(error('role "' || x || '" does not exist') AS UINTEGER) END) AS UINTEGER);
CREATE MACRO pg_compat.to_regclass(x) AS pg_compat.relation_name(pg_compat.relation_lookup(x));
CREATE MACRO pg_compat.to_regtype(x) AS pg_compat.type_name(pg_compat.type_lookup(x));
CREATE MACRO pg_compat.to_regnamespace(x) AS pg_compat.namespace_name(pg_compat.namespace_lookup(x));
CREATE MACRO pg_compat.to_regproc(x) AS pg_compat.function_name(pg_compat.function_lookup(x));
CREATE MACRO pg_compat.to_regrole(x) AS pg_compat.role_name(pg_compat.role_lookup(x));
CREATE MACRO pg_compat.pg_get_function_identity_arguments(x) AS coalesce((SELECT d.identity_arguments FROM pg_compat.function_display d WHERE d.oid = x), pg_compat.parameter_list(x, false));
CREATE MACRO pg_compat.pg_table_size(x) AS pg_compat.pg_relation_size(x);
CREATE MACRO pg_compat.pg_total_relation_size(x) AS pg_compat.pg_relation_size(x);

-- Functions that stand in FROM.
CREATE MACRO pg_compat.pg_get_keywords() AS TABLE SELECT word, catcode, barelabel, catdesc, baredesc FROM pg_compat.keywords;
CREATE MACRO pg_compat.pg_show_all_settings() AS TABLE SELECT * FROM pg_compat.pg_settings;
