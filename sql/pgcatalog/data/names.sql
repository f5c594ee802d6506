-- What the functions look names up in.

CREATE VIEW pg_compat.relation_names AS
  SELECT relation_oid AS oid, relation AS name, schema || '.' || relation AS full_name, schema = 'pg_catalog' AS visible,
    CASE schema WHEN 'pg_catalog' THEN relation ELSE schema || '.' || relation END AS shown FROM pg_compat.system_relation
  UNION ALL
  SELECT oid, name, schema || '.' || name, list_contains(CAST(coalesce(getvariable('csm_path'), ['public']) AS VARCHAR[]), schema),
    CASE WHEN list_contains(CAST(coalesce(getvariable('csm_path'), ['public']) AS VARCHAR[]), schema) THEN '' ELSE pg_compat.quote_ident(schema) || '.' END || pg_compat.quote_ident(name) FROM temp.csm_relation
  UNION ALL
  SELECT oid, name, schema || '.' || name, list_contains(CAST(coalesce(getvariable('csm_path'), ['public']) AS VARCHAR[]), schema),
    CASE WHEN list_contains(CAST(coalesce(getvariable('csm_path'), ['public']) AS VARCHAR[]), schema) THEN '' ELSE pg_compat.quote_ident(schema) || '.' END || pg_compat.quote_ident(name) FROM temp.csm_index;

CREATE TABLE pg_compat.system_type_names AS
  SELECT d.oid, d.bare, d.before, d.after, d.modifier, t.typname AS name, CASE t.typnamespace WHEN 11 THEN 'pg_catalog.' ELSE 'information_schema.' END || t.typname AS full_name,
    CASE d.oid WHEN 23 THEN 'int' WHEN 1700 THEN 'decimal' WHEN 701 THEN 'float' WHEN 1042 THEN 'character' WHEN 1114 THEN 'timestamp' WHEN 1083 THEN 'time' WHEN 1007 THEN 'int[]' END AS alias, t.typnamespace = 11 AS visible
  FROM pg_compat.type_display d JOIN pg_compat.static_pg_type t ON t.oid = d.oid;

CREATE VIEW pg_compat.type_names AS
  SELECT oid, bare, before, after, modifier, name, full_name, alias, visible FROM pg_compat.system_type_names
  UNION ALL
  SELECT r.oid + 2147483648, n.shown, n.shown, NULL, NULL, r.name, n.full_name, NULL, n.visible FROM temp.csm_relation r JOIN pg_compat.relation_names n ON n.oid = r.oid
  UNION ALL
  SELECT r.oid + 3221225472, n.shown || '[]', n.shown, '[]', NULL, '_' || r.name, r.schema || '._' || r.name, NULL, n.visible FROM temp.csm_relation r JOIN pg_compat.relation_names n ON n.oid = r.oid
  UNION ALL
  SELECT t.oid, CASE WHEN list_contains(CAST(coalesce(getvariable('csm_path'), ['public']) AS VARCHAR[]), t.schema) THEN '' ELSE pg_compat.quote_ident(t.schema) || '.' END || pg_compat.quote_ident(t.name), CASE WHEN list_contains(CAST(coalesce(getvariable('csm_path'), ['public']) AS VARCHAR[]), t.schema) THEN '' ELSE pg_compat.quote_ident(t.schema) || '.' END || pg_compat.quote_ident(t.name), NULL, NULL, t.name, t.schema || '.' || t.name, NULL, list_contains(CAST(coalesce(getvariable('csm_path'), ['public']) AS VARCHAR[]), t.schema) FROM temp.csm_type t
  UNION ALL
  SELECT t.oid + 3221225472, CASE WHEN list_contains(CAST(coalesce(getvariable('csm_path'), ['public']) AS VARCHAR[]), t.schema) THEN '' ELSE pg_compat.quote_ident(t.schema) || '.' END || pg_compat.quote_ident(t.name) || '[]', CASE WHEN list_contains(CAST(coalesce(getvariable('csm_path'), ['public']) AS VARCHAR[]), t.schema) THEN '' ELSE pg_compat.quote_ident(t.schema) || '.' END || pg_compat.quote_ident(t.name), '[]', NULL, '_' || t.name, t.schema || '._' || t.name, NULL, list_contains(CAST(coalesce(getvariable('csm_path'), ['public']) AS VARCHAR[]), t.schema) FROM temp.csm_type t;
