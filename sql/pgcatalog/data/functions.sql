-- Functions, as DuckDB macros. Three parts, by when a call means ours:
--   pg_session.*  always: the schema is on every session's search path, before DuckDB's own functions.
--   pg_compat.*   wherever the name is written: PostgreSQL has the function, DuckDB does not, or has an empty shell of it.
--   pg_quiet.*    only within a query that reads the catalogs: DuckDB has a function of the name, which users may want.
--
-- Those here any statement may call, or those here call them: they are an image of their own (image.go). The others are in that of the catalogs: those that
-- read relations are in lookups.sql, the rest in definitions.sql.

CREATE MACRO pg_compat.session_settings() AS CAST(getvariable('csm_settings') AS MAP(VARCHAR, VARCHAR[]));
CREATE MACRO pg_compat.session_setting(wanted) AS map_extract_value(pg_compat.session_settings(), lower(wanted))[1];
CREATE MACRO pg_compat.standard_setting(wanted) AS (SELECT min(s.shown) FROM pg_compat.shown_settings s WHERE s.name = lower(wanted));
CREATE MACRO pg_session.current_setting(setting) AS coalesce(pg_compat.session_setting(setting), pg_compat.standard_setting(setting), error('unrecognized configuration parameter "' || setting || '"')),
  (setting, missing_ok) AS coalesce(pg_compat.session_setting(setting), pg_compat.standard_setting(setting), CASE WHEN missing_ok THEN NULL ELSE error('unrecognized configuration parameter "' || setting || '"') END);
CREATE MACRO pg_session.version() AS '@version@';
CREATE MACRO pg_session.current_database() AS coalesce(getvariable('csm_database'), 'csmsql');
CREATE MACRO pg_session.current_catalog() AS coalesce(getvariable('csm_database'), 'csmsql');
CREATE MACRO pg_session.current_user() AS coalesce(getvariable('csm_user'), 'postgres');
CREATE MACRO pg_session.session_user() AS coalesce(getvariable('csm_user'), 'postgres');
CREATE MACRO pg_session.current_role() AS coalesce(getvariable('csm_user'), 'postgres');
CREATE MACRO pg_session.user() AS coalesce(getvariable('csm_user'), 'postgres');
CREATE MACRO pg_session.current_schema() AS list_extract(CAST(coalesce(getvariable('csm_path'), ['public']) AS VARCHAR[]), 1);
CREATE MACRO pg_session.current_schemas(implicit) AS CASE WHEN implicit THEN list_prepend('pg_catalog', CAST(coalesce(getvariable('csm_path'), ['public']) AS VARCHAR[])) ELSE CAST(coalesce(getvariable('csm_path'), ['public']) AS VARCHAR[]) END;
CREATE MACRO pg_session.pg_backend_pid() AS CAST(coalesce(getvariable('csm_process'), 0) AS INTEGER);
CREATE MACRO pg_session.set_config(setting, value, is_local) AS csm_set_config(CAST(setting AS VARCHAR), CAST(value AS VARCHAR), CAST(is_local AS BOOLEAN));
CREATE MACRO pg_session.pg_is_in_recovery() AS false;
CREATE MACRO pg_session.pg_is_wal_replay_paused() AS false;
CREATE MACRO pg_session.inet_server_addr() AS CAST(NULL AS VARCHAR);
CREATE MACRO pg_session.inet_server_port() AS CAST(NULL AS INTEGER);
CREATE MACRO pg_session.inet_client_addr() AS CAST(NULL AS VARCHAR);
CREATE MACRO pg_session.inet_client_port() AS CAST(NULL AS INTEGER);
CREATE MACRO pg_session.txid_current_if_assigned() AS CAST(NULL AS BIGINT);
CREATE MACRO pg_session.pg_listening_channels() AS unnest(coalesce(getvariable('csm_listening'), CAST([] AS VARCHAR[])));
CREATE MACRO pg_session.pg_listening_channels() AS TABLE SELECT unnest(coalesce(getvariable('csm_listening'), CAST([] AS VARCHAR[]))) AS pg_listening_channels;
CREATE MACRO pg_session.pg_notify(channel, payload) AS CAST(error('0A000: pg_notify() is not supported: notifications come of tables, to who listens to csm_table_NAME') AS VARCHAR);
CREATE MACRO pg_session.pg_my_temp_schema() AS CAST(0 AS UINTEGER);
-- There are no advisory locks to take, so this has let go of all of them; pools of connections call it between two users.
CREATE MACRO pg_session.pg_advisory_unlock_all() AS '';
CREATE MACRO pg_session.getdatabaseencoding() AS 'UTF8';
CREATE MACRO pg_session.pg_client_encoding() AS 'UTF8';
-- Functions of PostgreSQL's that DuckDB lacks, or has under the name with another meaning, and that users call everywhere.
CREATE MACRO pg_session.initcap(x) AS array_to_string(list_transform(regexp_extract_all(lower(CAST(x AS VARCHAR)), '[\p{L}\p{N}]+|[^\p{L}\p{N}]+'), lambda w: upper(w[1]) || w[2:]), '');
CREATE MACRO pg_compat.bytes_of(x) AS CASE WHEN regexp_full_match(x, '\\x([0-9a-fA-F]{2})*') THEN unhex(x[3:]) ELSE CAST(x AS BLOB) END;
CREATE MACRO pg_compat.bytes_as(b, format) AS CASE lower(format) WHEN 'hex' THEN lower(hex(b)) WHEN 'base64' THEN regexp_replace(base64(b), '(.{76})', '\1' || chr(10), 'g')
  ELSE error('unrecognized encoding: "' || format || '"') END;
CREATE MACRO pg_session.encode(x) AS system.main.encode(x), (x, format) AS pg_compat.bytes_as(CASE WHEN typeof(x) = 'VARCHAR' THEN pg_compat.bytes_of(CAST(x AS VARCHAR)) ELSE CAST(x AS BLOB) END, format);
CREATE MACRO pg_compat.hex_digits(x) AS CASE WHEN length(x) % 2 = 1 THEN error('22023: invalid hexadecimal data: odd number of digits') ELSE x END;
CREATE MACRO pg_session.decode(x) AS system.main.decode(x), (x, format) AS CASE lower(format) WHEN 'hex' THEN unhex(pg_compat.hex_digits(regexp_replace(CAST(x AS VARCHAR), '\s', '', 'g')))
  WHEN 'base64' THEN from_base64(regexp_replace(CAST(x AS VARCHAR), '\s', '', 'g')) ELSE error('unrecognized encoding: "' || format || '"') END;
-- enum_range of two bounds: the labels of all, in order, from one to the other; NULL is no bound. (Of one, labels.go writes it.)
CREATE MACRO pg_session.csm_enum_range(labels, lower, upper) AS list_filter(labels, lambda l: (lower IS NULL OR l >= lower) AND (upper IS NULL OR l <= upper));
CREATE MACRO pg_session.pg_typeof(x) AS CASE regexp_replace(typeof(x), '\(.*', '') WHEN 'DECIMAL' THEN 'numeric' WHEN 'HUGEINT' THEN 'numeric' WHEN 'DOUBLE' THEN 'double precision' WHEN 'FLOAT' THEN 'real'
  WHEN 'VARCHAR' THEN 'text' WHEN 'TIMESTAMP' THEN 'timestamp without time zone' WHEN 'TIME' THEN 'time without time zone' WHEN 'BLOB' THEN 'bytea' WHEN '"NULL"' THEN 'unknown'
  WHEN 'ENUM' THEN coalesce(nullif(regexp_extract(typeof(x), ' [0-9]+ "(?:[^"\\]|\\.)*" "([^"]*)"''\)(\[\])*$', 1) || CASE WHEN ends_with(typeof(x), '[]') THEN '[]' ELSE '' END, ''), lower(typeof(x))) ELSE lower(typeof(x)) END;
-- What may be a name by itself: letters, digits and underscores that are no keyword of more than one meaning.
CREATE MACRO pg_compat.quote_ident(x) AS CASE WHEN regexp_full_match(CAST(x AS VARCHAR), '[a-z_][a-z0-9_]*') AND CAST(x AS VARCHAR) NOT IN ('all', 'analyse', 'analyze', 'and', 'any', 'array', 'as', 'asc', 'asymmetric', 'authorization', 'between', 'bigint', 'binary', 'bit', 'boolean', 'both', 'case', 'cast', 'char', 'character', 'check', 'coalesce', 'collate', 'collation', 'column', 'concurrently', 'constraint', 'create', 'cross', 'current_catalog', 'current_date', 'current_role', 'current_schema', 'current_time', 'current_timestamp', 'current_user', 'dec', 'decimal', 'default', 'deferrable', 'desc', 'distinct', 'do', 'else', 'end', 'except', 'exists', 'extract', 'false', 'fetch', 'float', 'for', 'foreign', 'freeze', 'from', 'full', 'grant', 'greatest', 'group', 'grouping', 'having', 'ilike', 'in', 'initially', 'inner', 'inout', 'int', 'integer', 'intersect', 'interval', 'into', 'is', 'isnull', 'join', 'lateral', 'leading', 'least', 'left', 'like', 'limit', 'localtime', 'localtimestamp', 'national', 'natural', 'nchar', 'none', 'normalize', 'not', 'notnull', 'null', 'nullif', 'numeric', 'offset', 'on', 'only', 'or', 'order', 'out', 'outer', 'overlaps', 'overlay', 'placing', 'position', 'precision', 'primary', 'real', 'references', 'returning', 'right', 'row', 'select', 'session_user', 'setof', 'similar', 'smallint', 'some', 'substring', 'symmetric', 'table', 'tablesample', 'then', 'time', 'timestamp', 'to', 'trailing', 'treat', 'trim', 'true', 'union', 'unique', 'user', 'using', 'values', 'varchar', 'variadic', 'verbose', 'when', 'where', 'window', 'with', 'xmlattributes', 'xmlconcat', 'xmlelement', 'xmlexists', 'xmlforest', 'xmlnamespaces', 'xmlparse', 'xmlpi', 'xmlroot', 'xmlserialize', 'xmltable')
  THEN CAST(x AS VARCHAR) ELSE '"' || replace(CAST(x AS VARCHAR), '"', '""') || '"' END;
CREATE MACRO pg_compat.quote_literal(x) AS CASE WHEN contains(CAST(x AS VARCHAR), '\') THEN 'E' ELSE '' END || '''' || replace(replace(CAST(x AS VARCHAR), '''', ''''''), '\', '\\') || '''';
CREATE MACRO pg_compat.quote_nullable(x) AS coalesce(pg_compat.quote_literal(x), 'NULL');
-- format. PostgreSQL's templates have %s, %I, %L and %%, DuckDB's have braces; a template with both means two things. The arguments stand outside of
-- lambdas, which take no aggregates. A template's pieces are texts and specifiers; one without a number takes the argument behind the last one's.
CREATE MACRO pg_compat.format_text(f, arguments) AS '';
CREATE MACRO pg_session.format(f) AS CASE WHEN NOT contains(CAST(f AS VARCHAR), '%') THEN system.main.format(f) WHEN NOT contains(CAST(f AS VARCHAR), '{') THEN pg_compat.format_text(CAST(f AS VARCHAR), CAST([] AS VARCHAR[]))
  WHEN regexp_matches(CAST(f AS VARCHAR), '%([0-9]+\$)?-?[0-9]*[sIL]') THEN error('0A000: format() of a template with both PostgreSQL''s specifiers and DuckDB''s braces is not supported') ELSE system.main.format(f) END,
  (f, a1) AS CASE WHEN NOT contains(CAST(f AS VARCHAR), '%') THEN system.main.format(f, a1) WHEN NOT contains(CAST(f AS VARCHAR), '{') THEN pg_compat.format_text(CAST(f AS VARCHAR), [CAST(a1 AS VARCHAR)])
  WHEN regexp_matches(CAST(f AS VARCHAR), '%([0-9]+\$)?-?[0-9]*[sIL]') THEN error('0A000: format() of a template with both PostgreSQL''s specifiers and DuckDB''s braces is not supported') ELSE system.main.format(f, a1) END,
  (f, a1, a2) AS CASE WHEN NOT contains(CAST(f AS VARCHAR), '%') THEN system.main.format(f, a1, a2) WHEN NOT contains(CAST(f AS VARCHAR), '{') THEN pg_compat.format_text(CAST(f AS VARCHAR), [CAST(a1 AS VARCHAR), CAST(a2 AS VARCHAR)])
  WHEN regexp_matches(CAST(f AS VARCHAR), '%([0-9]+\$)?-?[0-9]*[sIL]') THEN error('0A000: format() of a template with both PostgreSQL''s specifiers and DuckDB''s braces is not supported') ELSE system.main.format(f, a1, a2) END,
  (f, a1, a2, a3) AS CASE WHEN NOT contains(CAST(f AS VARCHAR), '%') THEN system.main.format(f, a1, a2, a3) WHEN NOT contains(CAST(f AS VARCHAR), '{') THEN pg_compat.format_text(CAST(f AS VARCHAR), [CAST(a1 AS VARCHAR), CAST(a2 AS VARCHAR), CAST(a3 AS VARCHAR)])
  WHEN regexp_matches(CAST(f AS VARCHAR), '%([0-9]+\$)?-?[0-9]*[sIL]') THEN error('0A000: format() of a template with both PostgreSQL''s specifiers and DuckDB''s braces is not supported') ELSE system.main.format(f, a1, a2, a3) END,
  (f, a1, a2, a3, a4) AS CASE WHEN NOT contains(CAST(f AS VARCHAR), '%') THEN system.main.format(f, a1, a2, a3, a4) WHEN NOT contains(CAST(f AS VARCHAR), '{') THEN pg_compat.format_text(CAST(f AS VARCHAR), [CAST(a1 AS VARCHAR), CAST(a2 AS VARCHAR), CAST(a3 AS VARCHAR), CAST(a4 AS VARCHAR)])
  WHEN regexp_matches(CAST(f AS VARCHAR), '%([0-9]+\$)?-?[0-9]*[sIL]') THEN error('0A000: format() of a template with both PostgreSQL''s specifiers and DuckDB''s braces is not supported') ELSE system.main.format(f, a1, a2, a3, a4) END,
  (f, a1, a2, a3, a4, a5) AS CASE WHEN NOT contains(CAST(f AS VARCHAR), '%') THEN system.main.format(f, a1, a2, a3, a4, a5) WHEN NOT contains(CAST(f AS VARCHAR), '{') THEN pg_compat.format_text(CAST(f AS VARCHAR), [CAST(a1 AS VARCHAR), CAST(a2 AS VARCHAR), CAST(a3 AS VARCHAR), CAST(a4 AS VARCHAR), CAST(a5 AS VARCHAR)])
  WHEN regexp_matches(CAST(f AS VARCHAR), '%([0-9]+\$)?-?[0-9]*[sIL]') THEN error('0A000: format() of a template with both PostgreSQL''s specifiers and DuckDB''s braces is not supported') ELSE system.main.format(f, a1, a2, a3, a4, a5) END,
  (f, a1, a2, a3, a4, a5, a6) AS CASE WHEN NOT contains(CAST(f AS VARCHAR), '%') THEN system.main.format(f, a1, a2, a3, a4, a5, a6) WHEN NOT contains(CAST(f AS VARCHAR), '{') THEN pg_compat.format_text(CAST(f AS VARCHAR), [CAST(a1 AS VARCHAR), CAST(a2 AS VARCHAR), CAST(a3 AS VARCHAR), CAST(a4 AS VARCHAR), CAST(a5 AS VARCHAR), CAST(a6 AS VARCHAR)])
  WHEN regexp_matches(CAST(f AS VARCHAR), '%([0-9]+\$)?-?[0-9]*[sIL]') THEN error('0A000: format() of a template with both PostgreSQL''s specifiers and DuckDB''s braces is not supported') ELSE system.main.format(f, a1, a2, a3, a4, a5, a6) END,
  (f, a1, a2, a3, a4, a5, a6, a7) AS CASE WHEN NOT contains(CAST(f AS VARCHAR), '%') THEN system.main.format(f, a1, a2, a3, a4, a5, a6, a7) WHEN NOT contains(CAST(f AS VARCHAR), '{') THEN pg_compat.format_text(CAST(f AS VARCHAR), [CAST(a1 AS VARCHAR), CAST(a2 AS VARCHAR), CAST(a3 AS VARCHAR), CAST(a4 AS VARCHAR), CAST(a5 AS VARCHAR), CAST(a6 AS VARCHAR), CAST(a7 AS VARCHAR)])
  WHEN regexp_matches(CAST(f AS VARCHAR), '%([0-9]+\$)?-?[0-9]*[sIL]') THEN error('0A000: format() of a template with both PostgreSQL''s specifiers and DuckDB''s braces is not supported') ELSE system.main.format(f, a1, a2, a3, a4, a5, a6, a7) END,
  (f, a1, a2, a3, a4, a5, a6, a7, a8) AS CASE WHEN NOT contains(CAST(f AS VARCHAR), '%') THEN system.main.format(f, a1, a2, a3, a4, a5, a6, a7, a8) WHEN NOT contains(CAST(f AS VARCHAR), '{') THEN pg_compat.format_text(CAST(f AS VARCHAR), [CAST(a1 AS VARCHAR), CAST(a2 AS VARCHAR), CAST(a3 AS VARCHAR), CAST(a4 AS VARCHAR), CAST(a5 AS VARCHAR), CAST(a6 AS VARCHAR), CAST(a7 AS VARCHAR), CAST(a8 AS VARCHAR)])
  WHEN regexp_matches(CAST(f AS VARCHAR), '%([0-9]+\$)?-?[0-9]*[sIL]') THEN error('0A000: format() of a template with both PostgreSQL''s specifiers and DuckDB''s braces is not supported') ELSE system.main.format(f, a1, a2, a3, a4, a5, a6, a7, a8) END,
  (f, a1, a2, a3, a4, a5, a6, a7, a8, a9) AS CASE WHEN NOT contains(CAST(f AS VARCHAR), '%') THEN system.main.format(f, a1, a2, a3, a4, a5, a6, a7, a8, a9) WHEN NOT contains(CAST(f AS VARCHAR), '{') THEN pg_compat.format_text(CAST(f AS VARCHAR), [CAST(a1 AS VARCHAR), CAST(a2 AS VARCHAR), CAST(a3 AS VARCHAR), CAST(a4 AS VARCHAR), CAST(a5 AS VARCHAR), CAST(a6 AS VARCHAR), CAST(a7 AS VARCHAR), CAST(a8 AS VARCHAR), CAST(a9 AS VARCHAR)])
  WHEN regexp_matches(CAST(f AS VARCHAR), '%([0-9]+\$)?-?[0-9]*[sIL]') THEN error('0A000: format() of a template with both PostgreSQL''s specifiers and DuckDB''s braces is not supported') ELSE system.main.format(f, a1, a2, a3, a4, a5, a6, a7, a8, a9) END,
  (f, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10) AS CASE WHEN NOT contains(CAST(f AS VARCHAR), '%') THEN system.main.format(f, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10) WHEN NOT contains(CAST(f AS VARCHAR), '{') THEN pg_compat.format_text(CAST(f AS VARCHAR), [CAST(a1 AS VARCHAR), CAST(a2 AS VARCHAR), CAST(a3 AS VARCHAR), CAST(a4 AS VARCHAR), CAST(a5 AS VARCHAR), CAST(a6 AS VARCHAR), CAST(a7 AS VARCHAR), CAST(a8 AS VARCHAR), CAST(a9 AS VARCHAR), CAST(a10 AS VARCHAR)])
  WHEN regexp_matches(CAST(f AS VARCHAR), '%([0-9]+\$)?-?[0-9]*[sIL]') THEN error('0A000: format() of a template with both PostgreSQL''s specifiers and DuckDB''s braces is not supported') ELSE system.main.format(f, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10) END,
  (f, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11) AS CASE WHEN NOT contains(CAST(f AS VARCHAR), '%') THEN system.main.format(f, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11) WHEN NOT contains(CAST(f AS VARCHAR), '{') THEN pg_compat.format_text(CAST(f AS VARCHAR), [CAST(a1 AS VARCHAR), CAST(a2 AS VARCHAR), CAST(a3 AS VARCHAR), CAST(a4 AS VARCHAR), CAST(a5 AS VARCHAR), CAST(a6 AS VARCHAR), CAST(a7 AS VARCHAR), CAST(a8 AS VARCHAR), CAST(a9 AS VARCHAR), CAST(a10 AS VARCHAR), CAST(a11 AS VARCHAR)])
  WHEN regexp_matches(CAST(f AS VARCHAR), '%([0-9]+\$)?-?[0-9]*[sIL]') THEN error('0A000: format() of a template with both PostgreSQL''s specifiers and DuckDB''s braces is not supported') ELSE system.main.format(f, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11) END,
  (f, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12) AS CASE WHEN NOT contains(CAST(f AS VARCHAR), '%') THEN system.main.format(f, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12) WHEN NOT contains(CAST(f AS VARCHAR), '{') THEN pg_compat.format_text(CAST(f AS VARCHAR), [CAST(a1 AS VARCHAR), CAST(a2 AS VARCHAR), CAST(a3 AS VARCHAR), CAST(a4 AS VARCHAR), CAST(a5 AS VARCHAR), CAST(a6 AS VARCHAR), CAST(a7 AS VARCHAR), CAST(a8 AS VARCHAR), CAST(a9 AS VARCHAR), CAST(a10 AS VARCHAR), CAST(a11 AS VARCHAR), CAST(a12 AS VARCHAR)])
  WHEN regexp_matches(CAST(f AS VARCHAR), '%([0-9]+\$)?-?[0-9]*[sIL]') THEN error('0A000: format() of a template with both PostgreSQL''s specifiers and DuckDB''s braces is not supported') ELSE system.main.format(f, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12) END,
  (f, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13) AS CASE WHEN NOT contains(CAST(f AS VARCHAR), '%') THEN system.main.format(f, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13) WHEN NOT contains(CAST(f AS VARCHAR), '{') THEN pg_compat.format_text(CAST(f AS VARCHAR), [CAST(a1 AS VARCHAR), CAST(a2 AS VARCHAR), CAST(a3 AS VARCHAR), CAST(a4 AS VARCHAR), CAST(a5 AS VARCHAR), CAST(a6 AS VARCHAR), CAST(a7 AS VARCHAR), CAST(a8 AS VARCHAR), CAST(a9 AS VARCHAR), CAST(a10 AS VARCHAR), CAST(a11 AS VARCHAR), CAST(a12 AS VARCHAR), CAST(a13 AS VARCHAR)])
  WHEN regexp_matches(CAST(f AS VARCHAR), '%([0-9]+\$)?-?[0-9]*[sIL]') THEN error('0A000: format() of a template with both PostgreSQL''s specifiers and DuckDB''s braces is not supported') ELSE system.main.format(f, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13) END,
  (f, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14) AS CASE WHEN NOT contains(CAST(f AS VARCHAR), '%') THEN system.main.format(f, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14) WHEN NOT contains(CAST(f AS VARCHAR), '{') THEN pg_compat.format_text(CAST(f AS VARCHAR), [CAST(a1 AS VARCHAR), CAST(a2 AS VARCHAR), CAST(a3 AS VARCHAR), CAST(a4 AS VARCHAR), CAST(a5 AS VARCHAR), CAST(a6 AS VARCHAR), CAST(a7 AS VARCHAR), CAST(a8 AS VARCHAR), CAST(a9 AS VARCHAR), CAST(a10 AS VARCHAR), CAST(a11 AS VARCHAR), CAST(a12 AS VARCHAR), CAST(a13 AS VARCHAR), CAST(a14 AS VARCHAR)])
  WHEN regexp_matches(CAST(f AS VARCHAR), '%([0-9]+\$)?-?[0-9]*[sIL]') THEN error('0A000: format() of a template with both PostgreSQL''s specifiers and DuckDB''s braces is not supported') ELSE system.main.format(f, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14) END,
  (f, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15) AS CASE WHEN NOT contains(CAST(f AS VARCHAR), '%') THEN system.main.format(f, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15) WHEN NOT contains(CAST(f AS VARCHAR), '{') THEN pg_compat.format_text(CAST(f AS VARCHAR), [CAST(a1 AS VARCHAR), CAST(a2 AS VARCHAR), CAST(a3 AS VARCHAR), CAST(a4 AS VARCHAR), CAST(a5 AS VARCHAR), CAST(a6 AS VARCHAR), CAST(a7 AS VARCHAR), CAST(a8 AS VARCHAR), CAST(a9 AS VARCHAR), CAST(a10 AS VARCHAR), CAST(a11 AS VARCHAR), CAST(a12 AS VARCHAR), CAST(a13 AS VARCHAR), CAST(a14 AS VARCHAR), CAST(a15 AS VARCHAR)])
  WHEN regexp_matches(CAST(f AS VARCHAR), '%([0-9]+\$)?-?[0-9]*[sIL]') THEN error('0A000: format() of a template with both PostgreSQL''s specifiers and DuckDB''s braces is not supported') ELSE system.main.format(f, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15) END,
  (f, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15, a16) AS CASE WHEN NOT contains(CAST(f AS VARCHAR), '%') THEN system.main.format(f, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15, a16) WHEN NOT contains(CAST(f AS VARCHAR), '{') THEN pg_compat.format_text(CAST(f AS VARCHAR), [CAST(a1 AS VARCHAR), CAST(a2 AS VARCHAR), CAST(a3 AS VARCHAR), CAST(a4 AS VARCHAR), CAST(a5 AS VARCHAR), CAST(a6 AS VARCHAR), CAST(a7 AS VARCHAR), CAST(a8 AS VARCHAR), CAST(a9 AS VARCHAR), CAST(a10 AS VARCHAR), CAST(a11 AS VARCHAR), CAST(a12 AS VARCHAR), CAST(a13 AS VARCHAR), CAST(a14 AS VARCHAR), CAST(a15 AS VARCHAR), CAST(a16 AS VARCHAR)])
  WHEN regexp_matches(CAST(f AS VARCHAR), '%([0-9]+\$)?-?[0-9]*[sIL]') THEN error('0A000: format() of a template with both PostgreSQL''s specifiers and DuckDB''s braces is not supported') ELSE system.main.format(f, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15, a16) END;
CREATE MACRO pg_compat.format_is(piece) AS length(piece) > 1 AND starts_with(piece, '%') AND piece <> '%%';
CREATE MACRO pg_compat.format_number(pieces, i) AS list_reduce(list_prepend(0, list_transform(list_filter(pieces[:i], lambda p: pg_compat.format_is(p)), lambda p: coalesce(TRY_CAST(regexp_extract(p, '^%([0-9]+)\$', 1) AS INTEGER), -1))),
  lambda before, given: CASE WHEN given >= 0 THEN given ELSE before + 1 END);
CREATE MACRO pg_compat.format_value(kind, v) AS CASE kind WHEN 's' THEN coalesce(v, '') WHEN 'L' THEN pg_compat.quote_nullable(v)
  WHEN 'I' THEN CASE WHEN v IS NULL THEN error('22004: null values cannot be formatted as an SQL identifier') ELSE pg_compat.quote_ident(v) END
  ELSE error('22023: unrecognized format() type specifier "' || kind || '"') END;
CREATE MACRO pg_compat.format_pad(text, width, piece) AS CASE WHEN coalesce(width, 0) <= length(text) THEN text WHEN contains(piece, '-') THEN rpad(text, width, ' ') ELSE lpad(text, width, ' ') END;
CREATE MACRO pg_compat.format_piece(piece, number, arguments) AS CASE WHEN NOT starts_with(piece, '%') THEN piece WHEN piece = '%%' THEN '%' WHEN piece = '%' THEN error('22023: unterminated format() type specifier')
  WHEN number = 0 THEN error('22023: format specifies argument 0, but arguments are numbered from 1') WHEN number > len(arguments) AND regexp_matches(piece, '[sIL]$') THEN error('22023: too few arguments for format()')
  ELSE list_transform([{'text': list_transform([arguments[number]], lambda v: pg_compat.format_value(piece[-1], v))[1], 'width': TRY_CAST(regexp_extract(piece, '([0-9]*).$', 1) AS INTEGER)}], lambda r: pg_compat.format_pad(r.text, r.width, piece))[1] END;
CREATE MACRO pg_compat.format_pieces(pieces, arguments) AS array_to_string(list_transform(pieces, lambda piece, i: list_transform([pg_compat.format_number(pieces, i)], lambda number: pg_compat.format_piece(piece, number, arguments))[1]), '');
CREATE OR REPLACE MACRO pg_compat.format_text(f, arguments) AS list_transform([{'pieces': regexp_extract_all(f, '(?s)%(?:[0-9]+\$)?-?[0-9]*[^0-9]|%|[^%]+'), 'arguments': arguments}],
  lambda csm_call: pg_compat.format_pieces(csm_call.pieces, csm_call.arguments))[1];
-- Operators on patterns (operators.go): a dot matches a new line, too. DuckDB has its own mind about ~ and !~, and none about arrays of patterns.
CREATE MACRO pg_session."`"(x, pattern) AS regexp_matches(x, pattern, 's');
CREATE MACRO pg_session."!`"(x, pattern) AS NOT regexp_matches(x, pattern, 's');
CREATE MACRO pg_session."~*"(x, pattern) AS regexp_matches(x, pattern, 'is');
CREATE MACRO pg_session."!~*"(x, pattern) AS NOT regexp_matches(x, pattern, 'is');
-- LIKE: a backslash escapes without being asked to. DuckDB works the choice out while it plans if it knows the pattern, as it does of strings and
-- parameters: then those without a backslash keep its fast ways (prefix, contains).
CREATE MACRO pg_session."~~"(x, pattern) AS CASE WHEN NOT contains(CAST(pattern AS VARCHAR), '\') THEN system.main."~~"(x, pattern) ELSE like_escape(x, pattern, '\') END;
CREATE MACRO pg_session."!~~"(x, pattern) AS CASE WHEN NOT contains(CAST(pattern AS VARCHAR), '\') THEN system.main."!~~"(x, pattern) ELSE not_like_escape(x, pattern, '\') END;
CREATE MACRO pg_session."~~*"(x, pattern) AS CASE WHEN NOT contains(CAST(pattern AS VARCHAR), '\') THEN system.main."~~*"(x, pattern) ELSE ilike_escape(x, pattern, '\') END;
CREATE MACRO pg_session."!~~*"(x, pattern) AS CASE WHEN NOT contains(CAST(pattern AS VARCHAR), '\') THEN system.main."!~~*"(x, pattern) ELSE not_ilike_escape(x, pattern, '\') END;
-- ANY and ALL. What they call is made behind them, as to_char's parts are. A lambda in it would keep DuckDB from seeing what types parameters have.
CREATE MACRO pg_compat.any_match(x, patterns, op, wanted) AS true;
CREATE MACRO pg_session."`~|"(x, patterns) AS pg_compat.any_match(x, patterns, '~', true);
CREATE MACRO pg_session."`~&"(x, patterns) AS NOT pg_compat.any_match(x, patterns, '~', false);
CREATE MACRO pg_session."`!~|"(x, patterns) AS pg_compat.any_match(x, patterns, '~', false);
CREATE MACRO pg_session."`!~&"(x, patterns) AS NOT pg_compat.any_match(x, patterns, '~', true);
CREATE MACRO pg_session."`~*|"(x, patterns) AS pg_compat.any_match(x, patterns, '~*', true);
CREATE MACRO pg_session."`~*&"(x, patterns) AS NOT pg_compat.any_match(x, patterns, '~*', false);
CREATE MACRO pg_session."`!~*|"(x, patterns) AS pg_compat.any_match(x, patterns, '~*', false);
CREATE MACRO pg_session."`!~*&"(x, patterns) AS NOT pg_compat.any_match(x, patterns, '~*', true);
CREATE MACRO pg_session."`~~|"(x, patterns) AS pg_compat.any_match(x, patterns, '~~', true);
CREATE MACRO pg_session."`~~&"(x, patterns) AS NOT pg_compat.any_match(x, patterns, '~~', false);
CREATE MACRO pg_session."`!~~|"(x, patterns) AS pg_compat.any_match(x, patterns, '~~', false);
CREATE MACRO pg_session."`!~~&"(x, patterns) AS NOT pg_compat.any_match(x, patterns, '~~', true);
CREATE MACRO pg_session."`~~*|"(x, patterns) AS pg_compat.any_match(x, patterns, '~~*', true);
CREATE MACRO pg_session."`~~*&"(x, patterns) AS NOT pg_compat.any_match(x, patterns, '~~*', false);
CREATE MACRO pg_session."`!~~*|"(x, patterns) AS pg_compat.any_match(x, patterns, '~~*', false);
CREATE MACRO pg_session."`!~~*&"(x, patterns) AS NOT pg_compat.any_match(x, patterns, '~~*', true);
CREATE OR REPLACE MACRO pg_compat.any_match(x, patterns, op, wanted) AS CASE WHEN CAST(patterns AS VARCHAR[]) IS NOT NULL THEN (SELECT CASE WHEN bool_or(hit) THEN true WHEN count(hit) < count(*) THEN NULL ELSE false END FROM (
  SELECT wanted = CASE op WHEN '~' THEN regexp_matches(x, csm_pattern, 's') WHEN '~*' THEN regexp_matches(x, csm_pattern, 'is') WHEN '~~' THEN like_escape(x, csm_pattern, '\') ELSE ilike_escape(x, csm_pattern, '\') END AS hit
  FROM (SELECT unnest(CAST(patterns AS VARCHAR[])) AS csm_pattern))) END;
CREATE MACRO pg_session.every(x) AS bool_and(x);
CREATE MACRO pg_session.to_jsonb(x) AS to_json(x);
CREATE MACRO pg_session.jsonb_pretty(x) AS json_pretty(x);
CREATE MACRO pg_session.jsonb_array_length(x) AS json_array_length(x);
CREATE MACRO pg_session.json_object_keys(x) AS unnest(json_keys(x));
CREATE MACRO pg_session.jsonb_object_keys(x) AS unnest(json_keys(x));
CREATE MACRO pg_session.json_array_elements(x) AS TABLE SELECT unnest(CAST(x AS JSON[])) AS value;
CREATE MACRO pg_session.jsonb_array_elements(x) AS TABLE SELECT unnest(CAST(x AS JSON[])) AS value;

-- to_char. A template is cut into its patterns, each of which is a piece of the result; what is no pattern stands for itself.
-- DuckDB plans a macro when it is made, with those it calls: char_typed, which is six times everything below, took 47 ms of 200. So it is made of
-- stand-ins of what it calls, which the real ones replace: a name is looked up when the macro is called.
CREATE MACRO pg_compat.char_patterns(template) AS [{'token': '', 'core': '', 'th': false}];
CREATE MACRO pg_compat.char_th(text, token) AS '';
CREATE MACRO pg_compat.char_date(x, token, core) AS '';
CREATE MACRO pg_compat.char_zone(x, token, core) AS '';
CREATE MACRO pg_compat.char_clock(x, token, core) AS '';
CREATE MACRO pg_compat.char_number(x, template) AS '';
-- DuckDB does not know the type of an aggregate when it chooses between macros, but that of a lambda's parameter. Of to_char's own parameters it knows
-- none when to_char is made, which is therefore done before there is a choice.
CREATE MACRO pg_compat.char_typed(x, template) AS CAST(NULL AS VARCHAR);
CREATE MACRO pg_session.to_char(x, template) AS list_transform([{'x': x, 'template': CAST(template AS VARCHAR)}], lambda csm_call: pg_compat.char_typed(csm_call.x, csm_call.template))[1];
CREATE OR REPLACE MACRO pg_compat.char_typed(x TIMESTAMP, template VARCHAR) AS array_to_string(list_transform(CASE WHEN isfinite(x) THEN pg_compat.char_patterns(template) END, lambda p: list_transform([pg_compat.char_date(x, p.token, p.core)], lambda text: CASE WHEN p.th THEN pg_compat.char_th(text, p.token) ELSE text END)[1]), ''),
  (x TIMESTAMPTZ, template VARCHAR) AS array_to_string(list_transform(CASE WHEN isfinite(x) THEN pg_compat.char_patterns(template) END, lambda p: list_transform([pg_compat.char_zone(x, p.token, p.core)], lambda text: CASE WHEN p.th THEN pg_compat.char_th(text, p.token) ELSE text END)[1]), ''),
  (x INTERVAL, template VARCHAR) AS array_to_string(list_transform(CASE WHEN x IS NOT NULL THEN pg_compat.char_patterns(template) END, lambda p: pg_compat.char_clock(x, p.token, p.core)), ''),
  (x BIGINT, template VARCHAR) AS pg_compat.char_number(CAST(x AS DECIMAL(38, 10)), template), (x DOUBLE, template VARCHAR) AS pg_compat.char_number(CAST(x AS DECIMAL(38, 10)), template),
  (x DECIMAL(38, 10), template VARCHAR) AS pg_compat.char_number(x, template);
CREATE MACRO pg_session.csm_to_char__float(x, template) AS list_transform([{'x': CAST(x AS DOUBLE), 'template': CAST(template AS VARCHAR)}], lambda csm_call: pg_compat.char_number(csm_call.x, csm_call.template))[1];
CREATE MACRO pg_compat.char_pad(v, width, token) AS CASE WHEN token[1:2] IN ('FM', 'fm') THEN CAST(v AS VARCHAR) ELSE lpad(CAST(v AS VARCHAR), CAST(greatest(width, length(CAST(v AS VARCHAR))) AS INTEGER), '0') END;
CREATE MACRO pg_compat.char_name(name, token) AS list_transform([regexp_replace(token, '^(FM|fm|TM|tm)', '')], lambda core: CASE WHEN core[2] = upper(core[2]) THEN upper(name) WHEN core[1] = upper(core[1]) THEN name ELSE lower(name) END)[1];
CREATE MACRO pg_compat.char_wide(name, token) AS CASE WHEN token[1:2] IN ('FM', 'fm', 'TM', 'tm') THEN pg_compat.char_name(name, token) ELSE rpad(pg_compat.char_name(name, token), 9, ' ') END;
CREATE OR REPLACE MACRO pg_compat.char_th(text, token) AS text || list_transform([CASE WHEN try_cast(text AS BIGINT) % 100 BETWEEN 11 AND 13 THEN 'th' ELSE
  CASE try_cast(text AS BIGINT) % 10 WHEN 1 THEN 'st' WHEN 2 THEN 'nd' WHEN 3 THEN 'rd' ELSE 'th' END END], lambda s: CASE WHEN ends_with(token, 'TH') THEN upper(s) ELSE s END)[1];
CREATE MACRO pg_compat.char_core(token) AS regexp_replace(regexp_replace(upper(token), '^(FM|TM)', ''), '([^MN])TH$', '\1');
CREATE OR REPLACE MACRO pg_compat.char_patterns(template) AS list_transform(regexp_extract_all(nullif(template, ''), '(?s)"[^"]*"|\\.|(?:FM|fm|TM|tm)?(?:MONTH|Month|month|MON|Mon|mon|DAY|Day|day|DY|Dy|dy|AM|am|PM|pm|A\.M\.|a\.m\.|P\.M\.|p\.m\.|B\.C\.|b\.c\.|A\.D\.|a\.d\.|BC|bc|AD|ad|FF[1-6]|ff[1-6]|RM|rm|TZH|tzh|TZM|tzm|TZ|tz|OF|of|(?:HH24|hh24|HH12|hh12|HH|hh|MI|mi|SSSSS|sssss|SSSS|ssss|SS|ss|MS|ms|US|us|Y,YYY|y,yyy|YYYY|yyyy|YYY|yyy|YY|yy|Y|y|IYYY|iyyy|IYY|iyy|IY|iy|IDDD|iddd|ID|id|IW|iw|I|i|MM|mm|DDD|ddd|DD|dd|D|d|WW|ww|W|w|CC|cc|J|j|Q|q)(?:TH|th)?)|.'), lambda t: {'token': t, 'core': pg_compat.char_core(t), 'th': regexp_matches(t, '(?i)[^mn]th$')});
CREATE MACRO pg_compat.char_literal(token) AS CASE WHEN token[1] = '"' AND length(token) > 1 THEN token[2:-2] WHEN token[1] = '\' AND length(token) > 1 THEN token[2:] ELSE token END;
CREATE OR REPLACE MACRO pg_compat.char_clock(x, token, core) AS CASE core
  WHEN 'HH24' THEN pg_compat.char_pad(date_part('hour', x), 2, token) WHEN 'MI' THEN pg_compat.char_pad(date_part('minute', x), 2, token) WHEN 'SS' THEN pg_compat.char_pad(date_part('second', x), 2, token)
  WHEN 'HH12' THEN pg_compat.char_pad((date_part('hour', x) + 11) % 12 + 1, 2, token) WHEN 'HH' THEN pg_compat.char_pad((date_part('hour', x) + 11) % 12 + 1, 2, token)
  WHEN 'MS' THEN pg_compat.char_pad(date_part('millisecond', x) % 1000, 3, token) WHEN 'US' THEN pg_compat.char_pad(date_part('microsecond', x) % 1000000, 6, token)
  WHEN 'SSSS' THEN CAST(date_part('hour', x) * 3600 + date_part('minute', x) * 60 + date_part('second', x) AS VARCHAR)
  WHEN 'SSSSS' THEN CAST(date_part('hour', x) * 3600 + date_part('minute', x) * 60 + date_part('second', x) AS VARCHAR)
  WHEN 'DD' THEN pg_compat.char_pad(date_part('day', x), 2, token) WHEN 'MM' THEN pg_compat.char_pad(date_part('month', x), 2, token) WHEN 'YYYY' THEN pg_compat.char_pad(date_part('year', x), 4, token)
  WHEN 'FF1' THEN lpad(CAST(date_part('microsecond', x) % 1000000 AS VARCHAR), 6, '0')[:1]  WHEN 'FF2' THEN lpad(CAST(date_part('microsecond', x) % 1000000 AS VARCHAR), 6, '0')[:2]  WHEN 'FF3' THEN lpad(CAST(date_part('microsecond', x) % 1000000 AS VARCHAR), 6, '0')[:3]
  WHEN 'FF4' THEN lpad(CAST(date_part('microsecond', x) % 1000000 AS VARCHAR), 6, '0')[:4]  WHEN 'FF5' THEN lpad(CAST(date_part('microsecond', x) % 1000000 AS VARCHAR), 6, '0')[:5]  WHEN 'FF6' THEN lpad(CAST(date_part('microsecond', x) % 1000000 AS VARCHAR), 6, '0')[:6]
  ELSE pg_compat.char_literal(token) END;
CREATE MACRO pg_compat.char_era(x, token) AS list_transform([CASE WHEN date_part('year', x) > 0 THEN 'AD' ELSE 'BC' END],
  lambda era: list_transform([CASE WHEN contains(token, '.') THEN era[1] || '.' || era[2] || '.' ELSE era END], lambda s: CASE WHEN token = lower(token) THEN lower(s) ELSE s END)[1])[1];
CREATE MACRO pg_compat.char_roman(x, token) AS list_transform([['I', 'II', 'III', 'IV', 'V', 'VI', 'VII', 'VIII', 'IX', 'X', 'XI', 'XII'][date_part('month', x)]],
  lambda r: list_transform([CASE WHEN token[1:2] IN ('FM', 'fm') THEN r ELSE rpad(r, 4, ' ') END], lambda s: CASE WHEN ends_with(token, 'rm') THEN lower(s) ELSE s END)[1])[1];
CREATE MACRO pg_compat.char_half(x, token) AS list_transform([CASE WHEN date_part('hour', x) < 12 THEN 'a' ELSE 'p' END], lambda h: list_transform([CASE WHEN contains(token, '.') THEN h || '.m.' ELSE h || 'm' END], lambda s: CASE WHEN contains(upper(token), token) THEN upper(s) ELSE s END)[1])[1];
CREATE MACRO pg_compat.char_year(x) AS CASE WHEN date_part('year', x) > 0 THEN date_part('year', x) ELSE 1 - date_part('year', x) END;
CREATE MACRO pg_compat.char_isoyear(x) AS CASE WHEN date_part('isoyear', x) > 0 THEN date_part('isoyear', x) ELSE 1 - date_part('isoyear', x) END;
CREATE OR REPLACE MACRO pg_compat.char_date(x, token, core) AS CASE core WHEN 'TZ' THEN '' WHEN 'TZH' THEN '+00' WHEN 'TZM' THEN '00' WHEN 'OF' THEN '+00'
  WHEN 'AM' THEN pg_compat.char_half(x, token) WHEN 'PM' THEN pg_compat.char_half(x, token) WHEN 'A.M.' THEN pg_compat.char_half(x, token) WHEN 'P.M.' THEN pg_compat.char_half(x, token)
  WHEN 'Y,YYY' THEN CAST(pg_compat.char_year(x) // 1000 AS VARCHAR) || ',' || lpad(CAST(pg_compat.char_year(x) % 1000 AS VARCHAR), 3, '0')
  WHEN 'YYYY' THEN pg_compat.char_pad(pg_compat.char_year(x), 4, token) WHEN 'YYY' THEN pg_compat.char_pad(pg_compat.char_year(x) % 1000, 3, token) WHEN 'YY' THEN pg_compat.char_pad(pg_compat.char_year(x) % 100, 2, token) WHEN 'Y' THEN CAST(pg_compat.char_year(x) % 10 AS VARCHAR)
  WHEN 'IYYY' THEN pg_compat.char_pad(pg_compat.char_isoyear(x), 4, token) WHEN 'IW' THEN pg_compat.char_pad(date_part('week', x), 2, token)
  WHEN 'ID' THEN CAST(date_part('isodow', x) AS VARCHAR) WHEN 'IDDD' THEN pg_compat.char_pad((date_part('week', x) - 1) * 7 + date_part('isodow', x), 3, token)
  WHEN 'MONTH' THEN pg_compat.char_wide(monthname(x), token) WHEN 'MON' THEN pg_compat.char_name(monthname(x)[:3], token) WHEN 'DAY' THEN pg_compat.char_wide(dayname(x), token) WHEN 'DY' THEN pg_compat.char_name(dayname(x)[:3], token)
  WHEN 'DDD' THEN pg_compat.char_pad(date_part('doy', x), 3, token) WHEN 'D' THEN CAST(date_part('dow', x) + 1 AS VARCHAR) WHEN 'W' THEN CAST((date_part('day', x) - 1) // 7 + 1 AS VARCHAR)
  WHEN 'WW' THEN pg_compat.char_pad((date_part('doy', x) - 1) // 7 + 1, 2, token) WHEN 'CC' THEN CASE WHEN date_part('century', x) < 0 THEN '-' ELSE '' END || pg_compat.char_pad(abs(date_part('century', x)), 2, token) WHEN 'J' THEN CAST(CAST(floor(date_part('julian', x)) AS BIGINT) AS VARCHAR)
  WHEN 'Q' THEN CAST(date_part('quarter', x) AS VARCHAR) WHEN 'RM' THEN pg_compat.char_roman(x, token)
  WHEN 'BC' THEN pg_compat.char_era(x, token) WHEN 'AD' THEN pg_compat.char_era(x, token) WHEN 'B.C.' THEN pg_compat.char_era(x, token) WHEN 'A.D.' THEN pg_compat.char_era(x, token)
  WHEN 'IYY' THEN pg_compat.char_pad(pg_compat.char_isoyear(x) % 1000, 3, token) WHEN 'IY' THEN pg_compat.char_pad(pg_compat.char_isoyear(x) % 100, 2, token) WHEN 'I' THEN CAST(pg_compat.char_isoyear(x) % 10 AS VARCHAR)
  ELSE pg_compat.char_clock(x, token, core) END;
CREATE OR REPLACE MACRO pg_compat.char_zone(x, token, core) AS CASE core
  WHEN 'TZ' THEN list_transform([replace(strftime(x, '%Z'), 'Etc/', '')], lambda z: CASE WHEN token = lower(token) THEN lower(z) ELSE z END)[1] WHEN 'TZM' THEN lpad(CAST(abs(date_part('timezone_minute', x)) AS VARCHAR), 2, '0')
  WHEN 'TZH' THEN CASE WHEN date_part('timezone', x) < 0 THEN '-' ELSE '+' END || lpad(CAST(abs(date_part('timezone_hour', x)) AS VARCHAR), 2, '0')
  WHEN 'OF' THEN CASE WHEN date_part('timezone', x) < 0 THEN '-' ELSE '+' END || lpad(CAST(abs(date_part('timezone_hour', x)) AS VARCHAR), 2, '0') || CASE WHEN date_part('timezone_minute', x) <> 0 THEN ':' || lpad(CAST(abs(date_part('timezone_minute', x)) AS VARCHAR), 2, '0') ELSE '' END
  ELSE pg_compat.char_date(x, token, core) END;
CREATE MACRO pg_compat.char_half_unit(decimals) AS coalesce([0.5, 0.05, 0.005, 0.0005, 0.00005, 0.000005, 0.0000005, 0.00000005, 0.000000005, 0.0000000005][decimals + 1], 0);
-- The digits before the point, each in its place from the right; a comma shows behind a digit, a zero from the first 0 on.
CREATE MACRO pg_compat.char_whole(r) AS array_to_string(list_transform(string_split(r.whole, ''), lambda c, i: CASE
  WHEN c IN ('9', '0') THEN list_transform([length(regexp_replace(r.whole[i + 1:], '[^09]', '', 'g'))], lambda behind: CASE WHEN length(r.digits) > behind THEN r.digits[length(r.digits) - behind]
    WHEN contains(r.whole[:i], '0') THEN '0' ELSE CASE WHEN r.fm THEN '' ELSE ' ' END END)[1]
  WHEN c = ',' THEN CASE WHEN length(r.digits) > length(regexp_replace(r.whole[i + 1:], '[^09]', '', 'g')) OR contains(r.whole[:i], '0') THEN ',' WHEN r.fm THEN '' ELSE ' ' END
  ELSE c END), '');
CREATE MACRO pg_compat.char_fraction(r) AS CASE WHEN NOT r.point THEN '' WHEN r.fm THEN '.' || r.decimals[:greatest(length(rtrim(r.decimals, '0')), length(rtrim(r.fraction, '9')))] ELSE '.' || r.decimals END || r.tail;
CREATE MACRO pg_compat.char_sign(r, text) AS CASE
  WHEN r.pr THEN CASE WHEN r.minus AND r.fm THEN '<' || text || '>' WHEN r.minus THEN lpad('<' || ltrim(text) || '>', CAST(length(text) + 2 AS INTEGER), ' ') WHEN r.fm THEN text ELSE ' ' || text || ' ' END
  WHEN r.mi AND r.begins THEN CASE WHEN r.minus THEN '-' WHEN r.fm THEN '' ELSE ' ' END || text WHEN r.mi THEN text || CASE WHEN r.minus THEN '-' WHEN r.fm THEN '' ELSE ' ' END
  WHEN r.sg THEN CASE WHEN r.minus THEN '-' ELSE '+' END || text
  WHEN r.s AND NOT r.begins THEN text || CASE WHEN r.minus THEN '-' ELSE '+' END
  WHEN r.s THEN lpad(CASE WHEN r.minus THEN '-' ELSE '+' END || ltrim(text), CAST(length(text) + 1 AS INTEGER), ' ')
  WHEN r.fm THEN CASE WHEN r.minus THEN '-' ELSE '' END || text
  ELSE lpad(CASE WHEN r.minus THEN '-' ELSE ' ' END || ltrim(text), CAST(length(text) + 1 AS INTEGER), ' ') END;
-- A half goes away from zero, of a number with a floating point as the processor rounds, and one below zero keeps its sign.
CREATE MACRO pg_compat.char_value(x, places) AS CASE WHEN typeof(x) IN ('DOUBLE', 'FLOAT') THEN printf('%.' || places || 'f', CAST(abs(x) AS DOUBLE)) ELSE CAST(abs(x) + pg_compat.char_half_unit(places) AS VARCHAR) END;
CREATE MACRO pg_compat.char_digits(x, f) AS list_transform(list_transform(list_transform([x], lambda n: {'minus': n < 0 AND (typeof(n) IN ('DOUBLE', 'FLOAT') OR abs(n) >= pg_compat.char_half_unit(length(f.fraction))), 'value': pg_compat.char_value(n, length(f.fraction))}),
  lambda p: struct_insert(f, minus := p.minus, digits := CASE WHEN split_part(p.value, '.', 1) = '0' AND f.point AND NOT (f.fm AND rtrim(split_part(p.value, '.', 2)[:length(f.fraction)], '0') = '' AND rtrim(f.fraction, '9') = '') THEN '' ELSE split_part(p.value, '.', 1) END,
    decimals := split_part(p.value, '.', 2)[:length(f.fraction)])),
  lambda r: CASE WHEN r.dollar THEN '$' WHEN r.money THEN ' ' ELSE '' END || list_transform([CASE WHEN length(r.digits) > r.places THEN regexp_replace(r.whole, '[09]', '#', 'g') || CASE WHEN r.point THEN '.' || repeat('#', length(r.fraction)) || r.tail ELSE '' END
      ELSE pg_compat.char_whole(r) || pg_compat.char_fraction(r) END], lambda text: pg_compat.char_sign(r, text))[1] ||
    CASE WHEN r.th AND NOT r.minus AND NOT r.point AND length(r.digits) <= r.places THEN pg_compat.char_th(r.digits, r.suffix)[length(r.digits) + 1:] ELSE '' END)[1];
-- Roman numerals are there from 1 to 3999.
CREATE MACRO pg_compat.char_numeral(n) AS ['', 'M', 'MM', 'MMM'][n // 1000 + 1] || ['', 'C', 'CC', 'CCC', 'CD', 'D', 'DC', 'DCC', 'DCCC', 'CM'][n // 100 % 10 + 1] ||
  ['', 'X', 'XX', 'XXX', 'XL', 'L', 'LX', 'LXX', 'LXXX', 'XC'][n // 10 % 10 + 1] || ['', 'I', 'II', 'III', 'IV', 'V', 'VI', 'VII', 'VIII', 'IX'][n % 10 + 1];
CREATE MACRO pg_compat.char_numerals(x, template) AS CASE WHEN round(x) NOT BETWEEN 1 AND 3999 OR x < 0 THEN repeat('#', 15) ELSE list_transform([pg_compat.char_numeral(CAST(round(x) AS INTEGER))],
  lambda n: list_transform([CASE WHEN contains(template, 'rn') THEN lower(n) ELSE n END], lambda t: CASE WHEN starts_with(upper(template), 'FM') THEN t ELSE lpad(t, 15, ' ') END)[1])[1] END;
-- What is wrong with the template of a number, or not supported; t is in upper case.
CREATE MACRO pg_compat.char_problem(t) AS CASE
  WHEN contains(replace(t, 'SG', ''), 'S') AND regexp_matches(t, 'MI|SG|PR') THEN '42601: cannot use "S" and "PL"/"MI"/"SG"/"PR" together'
  WHEN contains(t, 'PR') AND regexp_matches(t, 'MI|SG') THEN '42601: cannot use "PR" and "S"/"PL"/"MI"/"SG" together' WHEN contains(t, 'V') AND regexp_matches(t, '[.D]') THEN '42601: cannot use "V" and decimal point together'
  WHEN regexp_matches(t, '[.D].*[.D]') THEN '42601: multiple decimal points' WHEN regexp_matches(t, 'V.*V') THEN '42601: cannot use "V" twice'
  WHEN contains(t, 'EEEE') OR contains(t, 'PL') OR regexp_matches(t, '["\\]') OR contains(t, 'RN') AND NOT regexp_full_match(t, '(FM)?RN') OR regexp_matches(t, '.(SG|L)') AND NOT regexp_matches(t, '^FM(SG|L)') OR regexp_matches(t, 'TH.|.MI.|[.D].*[^90.D].*[90]|[.D]([^90.D]|$)|[90]-') OR regexp_matches(t, '[.D]') AND NOT regexp_matches(t, '[90][.D]')
    OR regexp_matches(regexp_replace(t, '^FM', ''), '^[^-90.,GDSLMIPRV$ +]|^[-+]') AND NOT regexp_full_match(t, '(FM)?RN') THEN '0A000: to_char() of a number with the template ' || t || ' is not supported' END;
-- What a template says by itself, which DuckDB computes once where it is a constant. Each is named once below: of what is named often DuckDB makes as many plans.
CREATE MACRO pg_compat.char_template(template) AS list_transform(list_transform(list_transform(
  [{'head': regexp_extract(template, '^"([^"]*)"', 1), 'given': regexp_replace(regexp_replace(template, '^"[^"]*"', ''), '"[^"]*"$', ''), 'behind': regexp_extract(regexp_replace(template, '^"[^"]*"', ''), '"([^"]*)"$', 1)}],
  lambda a: struct_insert(a, t := upper(a.given))),
  lambda a: struct_insert(a, problem := pg_compat.char_problem(a.t), roman := contains(a.t, 'RN'), scale := CASE WHEN contains(a.t, 'V') THEN length(regexp_replace(split_part(a.t, 'V', 2), '[^09]', '', 'g')) END,
    body := translate(regexp_replace(a.t, 'FM|TH|PL|SG|MI|PR|S|L|V|\$', '', 'g'), 'GD', ',.'))),
  lambda a: struct_insert(a, fm := contains(a.t, 'FM'), pr := contains(a.t, 'PR'), mi := contains(a.t, 'MI'), sg := contains(a.t, 'SG'), s := contains(replace(a.t, 'SG', ''), 'S'), begins := regexp_matches(a.t, '^(FM)?(MI|S)'), dollar := contains(a.t, '$'),
    money := contains(a.t, 'L'), th := contains(a.t, 'TH'), suffix := CASE WHEN contains(a.given, 'TH') THEN 'TH' ELSE 'th' END, point := contains(a.body, '.'), tail := CASE WHEN contains(a.body, '.') THEN regexp_extract(a.body, '[^90.]*$') ELSE '' END,
    whole := split_part(a.body, '.', 1), places := length(regexp_replace(split_part(a.body, '.', 1), '[^09]', '', 'g')), fraction := regexp_replace(split_part(a.body, '.', 2), '[^09]', '', 'g')));
CREATE OR REPLACE MACRO pg_compat.char_number(x, template) AS CASE WHEN template IS NULL THEN NULL ELSE list_transform(pg_compat.char_template(template), lambda f: list_transform([x], lambda n: CASE WHEN n IS NULL THEN NULL WHEN f.problem IS NOT NULL THEN error(f.problem) ELSE
  f.head || CASE WHEN f.given = '' THEN '' WHEN f.roman THEN pg_compat.char_numerals(n, f.given) ELSE pg_compat.char_digits(CASE WHEN f.scale IS NOT NULL THEN CAST(round(CAST(n AS DOUBLE) * 10 ** f.scale) AS DECIMAL(38, 10)) ELSE n END, f) END || f.behind END)[1])[1] END;
-- What a text of PostgreSQL's dialect is translated to (package sql/dialect).
CREATE MACRO pg_session.csm_divisor(x) AS CASE WHEN x = 0 THEN error('22012: division by zero') ELSE x END;
CREATE MACRO pg_compat.series_step(x) AS CASE WHEN x = 0 THEN error('22023: step size cannot equal zero') ELSE x END;
CREATE MACRO pg_compat.series_stride(x) AS CASE WHEN x = INTERVAL 0 SECONDS THEN error('22023: step size cannot equal zero') ELSE x END;
CREATE MACRO pg_session.csm_generate_series(a INTEGER, b INTEGER) AS CAST(generate_series(a, b) AS INTEGER[]), (a BIGINT, b BIGINT) AS generate_series(a, b),
  (a INTEGER, b INTEGER, c INTEGER) AS CAST(generate_series(a, b, pg_compat.series_step(c)) AS INTEGER[]), (a BIGINT, b BIGINT, c BIGINT) AS generate_series(a, b, pg_compat.series_step(c)),
  (a DATE, b DATE, c INTERVAL) AS generate_series(CAST(a AS TIMESTAMPTZ), CAST(b AS TIMESTAMPTZ), pg_compat.series_stride(c)),
  (a TIMESTAMP, b TIMESTAMP, c INTERVAL) AS generate_series(a, b, pg_compat.series_stride(c)), (a TIMESTAMPTZ, b TIMESTAMPTZ, c INTERVAL) AS generate_series(a, b, pg_compat.series_stride(c));
CREATE MACRO pg_session.csm_generate_subscripts(x, dimension) AS CASE WHEN dimension = 1 THEN CAST(generate_series(1, len(x)) AS INTEGER[]) ELSE [] END;
CREATE MACRO pg_compat.array_of(x, name) AS CASE coalesce(json_type(x), 'ARRAY') WHEN 'ARRAY' THEN x WHEN 'OBJECT' THEN error('22023: cannot call ' || name || ' on a non-array') ELSE error('22023: cannot call ' || name || ' on a scalar') END;
CREATE MACRO pg_compat.object_of(x) AS CASE coalesce(json_type(x), 'OBJECT') WHEN 'OBJECT' THEN x WHEN 'ARRAY' THEN error('22023: cannot deconstruct an array as an object') ELSE error('22023: cannot deconstruct a scalar') END;
CREATE MACRO pg_session.csm_json_array_elements(x) AS list_transform(CAST(pg_compat.array_of(CAST(x AS JSON), 'json_array_elements') AS JSON[]), lambda e: coalesce(e, CAST('null' AS JSON)));
CREATE MACRO pg_session.csm_jsonb_array_elements(x) AS list_transform(CAST(pg_compat.array_of(CAST(x AS JSON), 'jsonb_array_elements') AS JSON[]), lambda e: coalesce(e, CAST('null' AS JSON)));
CREATE MACRO pg_session.csm_json_array_elements_text(x) AS json_extract_string(pg_compat.array_of(CAST(x AS JSON), 'json_array_elements_text'), '$[*]');
CREATE MACRO pg_session.csm_jsonb_array_elements_text(x) AS json_extract_string(pg_compat.array_of(CAST(x AS JSON), 'jsonb_array_elements_text'), '$[*]');
CREATE MACRO pg_session.csm_json_each(x) AS list_transform(map_entries(CAST(pg_compat.object_of(CAST(x AS JSON)) AS MAP(VARCHAR, JSON))), lambda e: {'key': struct_extract(e, 'key'), 'value': coalesce(struct_extract(e, 'value'), CAST('null' AS JSON))});
CREATE MACRO pg_session.csm_json_each_text(x) AS list_transform(map_entries(CAST(pg_compat.object_of(CAST(x AS JSON)) AS MAP(VARCHAR, JSON))), lambda e: {'key': struct_extract(e, 'key'), 'value': struct_extract(e, 'value') ->> '$'});
CREATE MACRO pg_session.csm_jsonb_each(x) AS list_transform(map_entries(CAST(pg_compat.object_of(CAST(x AS JSON)) AS MAP(VARCHAR, JSON))), lambda e: {'key': struct_extract(e, 'key'), 'value': coalesce(struct_extract(e, 'value'), CAST('null' AS JSON))});
CREATE MACRO pg_session.csm_jsonb_each_text(x) AS list_transform(map_entries(CAST(pg_compat.object_of(CAST(x AS JSON)) AS MAP(VARCHAR, JSON))), lambda e: {'key': struct_extract(e, 'key'), 'value': struct_extract(e, 'value') ->> '$'});
CREATE MACRO pg_session.csm_json_object_keys(x) AS CASE coalesce(json_type(CAST(x AS JSON)), 'OBJECT') WHEN 'OBJECT' THEN json_keys(CAST(x AS JSON))
  WHEN 'ARRAY' THEN error('22023: cannot call json_object_keys on an array') ELSE error('22023: cannot call json_object_keys on a scalar') END;
CREATE MACRO pg_session.csm_jsonb_object_keys(x) AS CASE coalesce(json_type(CAST(x AS JSON)), 'OBJECT') WHEN 'OBJECT' THEN json_keys(CAST(x AS JSON))
  WHEN 'ARRAY' THEN error('22023: cannot call jsonb_object_keys on an array') ELSE error('22023: cannot call jsonb_object_keys on a scalar') END;
CREATE MACRO pg_session.csm_numeric(x VARCHAR) AS CAST(x AS DOUBLE), (x) AS x + CAST(0 AS DECIMAL(1, 0));
-- Of an aggregate DuckDB chooses the first of the two, whatever its type is; so typing.Translate calls this one of a number.
CREATE MACRO pg_session.csm_numeric__exact(x) AS x + CAST(0 AS DECIMAL(1, 0));
-- Tells a parameter that is cast to a numeric without digits from others.
CREATE MACRO pg_session.csm_numeric__parameter(x) AS x;
-- Of what certainly is a text typing.Translate calls this one.
CREATE MACRO pg_compat.double_text(x) AS CASE WHEN strlen(x) > 15 AND strlen(regexp_replace(x, '^[^1-9]*|[eE].*$|[^0-9]', '', 'g')) > 15
  THEN error('0A000: numeric of a text of more than 15 digits is not supported: "' || x || '"; write numeric(p, s)') ELSE x END;
CREATE MACRO pg_session.csm_numeric__of_text(x) AS CAST(pg_compat.double_text(x) AS DOUBLE);
-- The elements of an array as numerics of as many digits as they have. A text is one of a double precision.
CREATE MACRO pg_session.csm_numeric__array(x) AS coalesce(x, CAST(NULL AS DECIMAL(1, 0)[]));
CREATE MACRO pg_session.csm_numeric__array2(x) AS coalesce(x, CAST(NULL AS DECIMAL(1, 0)[][]));
CREATE MACRO pg_session.csm_numeric__texts(x) AS CAST(list_transform(x, lambda e: pg_compat.double_text(e)) AS DOUBLE[]);
CREATE MACRO pg_session.csm_numeric__text(x) AS pg_session.csm_numeric__texts(CAST(translate(x, '{}"', '[]') AS VARCHAR[]));
CREATE MACRO pg_session.csm_whole(x, kind) AS CASE WHEN x IS NULL OR regexp_full_match(CAST(x AS VARCHAR), '\s*[+-]?[0-9]+\s*')
	OR typeof(x) <> 'VARCHAR' THEN x
  ELSE error('22P02: invalid input syntax for type ' || kind || ': "' || x || '"') END;
CREATE MACRO pg_session.csm_wholes(x, kind) AS list_transform(x, lambda e: pg_session.csm_whole(e, kind));
CREATE MACRO pg_compat.word_of(x) AS lower(trim(x, e' \t\n\v\f\r'));
CREATE MACRO pg_session.csm_truth(x) AS CASE WHEN x IS NULL THEN NULL WHEN pg_compat.word_of(x) IN ('t', 'tr', 'tru', 'true', 'y', 'ye', 'yes', 'on', '1') THEN 'true'
  WHEN pg_compat.word_of(x) IN ('f', 'fa', 'fal', 'fals', 'false', 'n', 'no', 'of', 'off', '0') THEN 'false' ELSE error('22P02: invalid input syntax for type boolean: "' || x || '"') END;
CREATE MACRO pg_session.csm_numeric__digits(x, zero) AS x + zero;
CREATE MACRO pg_session.csm_string_agg__bytea(x, separator) AS unhex(string_agg(hex(x), hex(CAST(separator AS BLOB))));
CREATE MACRO pg_session.csm_nullif(a, b) AS CASE WHEN a = b THEN NULL ELSE a END;
CREATE MACRO pg_session.csm_mod(a, b) AS a % pg_session.csm_divisor(b);
CREATE MACRO pg_session.csm_div(a BIGINT, b BIGINT) AS csm_divide(a, b), (a DOUBLE, b DOUBLE) AS trunc(csm_divide(a, b)) + 0;
CREATE MACRO pg_session.csm_octet_length(x VARCHAR) AS strlen(x), (x BLOB) AS octet_length(x);
CREATE MACRO pg_session.csm_btrim(x) AS trim(x, ' '), (x, characters) AS trim(x, characters);
CREATE MACRO pg_compat.pad_length(x, length, fill) AS CASE WHEN fill = '' AND length IS NOT NULL THEN least(length, CAST(length(x) AS INTEGER)) ELSE length END;
CREATE MACRO pg_compat.pad_with(fill) AS CASE WHEN fill = '' THEN ' ' ELSE fill END;
CREATE MACRO pg_session.csm_lpad(x, length) AS lpad(x, length, ' '), (x, length, fill) AS lpad(x, pg_compat.pad_length(x, length, fill), pg_compat.pad_with(fill));
CREATE MACRO pg_session.csm_rpad(x, length) AS rpad(x, length, ' '), (x, length, fill) AS rpad(x, pg_compat.pad_length(x, length, fill), pg_compat.pad_with(fill));
-- DuckDB's reverse keeps together what is one letter to readers.
CREATE MACRO pg_session.csm_reverse(x) AS CASE WHEN strlen(x) = length(x) THEN reverse(x) ELSE array_to_string(list_reverse(regexp_extract_all(x, '(?s).')), '') END;
CREATE MACRO pg_session.csm_to_hex(x) AS lower(to_hex(CASE WHEN typeof(x) IN ('INTEGER', 'SMALLINT') AND x < 0 THEN x + 4294967296 ELSE x END));
CREATE MACRO pg_session.csm_array_length(x, dimension) AS nullif(CAST(array_length(x, dimension) AS INTEGER), 0);
CREATE MACRO pg_compat.flat(name, x) AS CASE WHEN ends_with(typeof(x), '[][]') AND x IS NOT NULL THEN error('0A000: ' || name || '() of an array of arrays is not supported') END;
CREATE MACRO pg_session.csm_flat(x) AS coalesce(CASE WHEN regexp_matches(typeof(x), '\[\]\[\]|^STRUCT') AND x IS NOT NULL THEN error('0A000: text[] of an array of arrays or rows is not supported') END, x);
CREATE MACRO pg_session.csm_cardinality(x) AS CAST(coalesce(pg_compat.flat('cardinality', x), len(x)) AS INTEGER);
CREATE MACRO pg_session.csm_array_remove(x, removed) AS list_filter(x, lambda e: e IS DISTINCT FROM removed);
CREATE MACRO pg_session.csm_array_replace(x, former, later) AS list_transform(x, lambda e: CASE WHEN e IS NOT DISTINCT FROM former THEN later ELSE e END);
CREATE MACRO pg_session.csm_array_positions(x, wanted) AS list_filter(CAST(generate_series(1, len(x)) AS INTEGER[]), lambda i: x[i] IS NOT DISTINCT FROM wanted);
CREATE MACRO pg_session.csm_trim_array(x, n) AS CASE WHEN n BETWEEN 0 AND len(x) THEN x[:len(x) - n] WHEN n IS NOT NULL AND x IS NOT NULL
  THEN error('2202E: number of elements to trim must be between 0 and ' || len(x)) END;
CREATE MACRO pg_session.csm_date_part(part, x) AS CASE WHEN lower(part) IN ('second', 'seconds') THEN date_part('microsecond', x) / 1e6
  WHEN lower(part) IN ('millisecond', 'milliseconds') THEN date_part('microsecond', x) / 1e3 ELSE CAST(date_part(part, x) AS DOUBLE) END;
CREATE MACRO pg_session.csm_extract(part, x) AS CAST(date_part('microsecond', x) AS DECIMAL(18, 0)) * CASE WHEN part IN ('second', 'seconds') THEN 0.000001 ELSE 0.001 END;
-- Parts of times. To DuckDB the year before 1 is 0, and what is infinite has none; PostgreSQL's numeric has infinity, a DECIMAL has not.
CREATE MACRO pg_compat.endless(part, x) AS CASE WHEN x IS NOT NULL THEN error('0A000: extract(' || part || ') of ' || CAST(x AS VARCHAR) || ' is not supported: use date_part()') END;
CREATE MACRO pg_compat.endless_double(x) AS CASE WHEN x IS NOT NULL THEN CAST(CASE WHEN starts_with(CAST(x AS VARCHAR), '-') THEN '-inf' ELSE 'inf' END AS DOUBLE) END;
CREATE MACRO pg_compat.part_year(x) AS CASE WHEN typeof(x) = 'INTERVAL' OR date_part('year', x) > 0 THEN date_part('year', x) ELSE date_part('year', x) - 1 END;
CREATE MACRO pg_compat.part_isoyear(x) AS CASE WHEN date_part('isoyear', x) > 0 THEN date_part('isoyear', x) ELSE date_part('isoyear', x) - 1 END;
CREATE MACRO pg_compat.part_decade(x) AS CASE WHEN typeof(x) = 'INTERVAL' OR date_part('year', x) >= 0 THEN date_part('decade', x) ELSE -((9 - date_part('year', x)) // 10) END;
CREATE MACRO pg_compat.part_century(x) AS date_part('century', x);
CREATE MACRO pg_compat.part_millennium(x) AS date_part('millennium', x);
CREATE MACRO pg_compat.part_julian(x) AS date_part('julian', x);
-- A year of an interval has 365.25 days, twelve of its months have 360.
CREATE MACRO pg_compat.part_epoch(x) AS epoch_us(x) + CASE WHEN typeof(x) = 'INTERVAL' THEN date_part('year', TRY_CAST(CAST(x AS VARCHAR) AS INTERVAL)) * 453600000000 ELSE 0 END;
CREATE MACRO pg_compat.of_date(part, x) AS CASE WHEN typeof(x) = 'DATE' AND x IS NOT NULL THEN error('0A000: unit "' || part || '" not supported for type date') END;
CREATE MACRO pg_compat.of_zoned(part, x) AS CASE WHEN typeof(x) <> 'TIMESTAMP WITH TIME ZONE' AND x IS NOT NULL THEN error('0A000: unit "' || part || '" not supported for type ' ||
  CASE typeof(x) WHEN 'TIMESTAMP' THEN 'timestamp without time zone' WHEN 'TIME' THEN 'time without time zone' WHEN 'TIME WITH TIME ZONE' THEN 'time with time zone' ELSE lower(typeof(x)) END) END;
CREATE MACRO pg_session.csm_extract__year(x) AS CAST(coalesce(pg_compat.part_year(x), pg_compat.endless('year', x)) AS DECIMAL(18, 0));
CREATE MACRO pg_session.csm_date_part__year(x) AS coalesce(CAST(pg_compat.part_year(x) AS DOUBLE), pg_compat.endless_double(x));
CREATE MACRO pg_session.csm_extract__isoyear(x) AS CAST(coalesce(pg_compat.part_isoyear(x), pg_compat.endless('isoyear', x)) AS DECIMAL(18, 0));
CREATE MACRO pg_session.csm_date_part__isoyear(x) AS coalesce(CAST(pg_compat.part_isoyear(x) AS DOUBLE), pg_compat.endless_double(x));
CREATE MACRO pg_session.csm_extract__decade(x) AS CAST(coalesce(pg_compat.part_decade(x), pg_compat.endless('decade', x)) AS DECIMAL(18, 0));
CREATE MACRO pg_session.csm_date_part__decade(x) AS coalesce(CAST(pg_compat.part_decade(x) AS DOUBLE), pg_compat.endless_double(x));
CREATE MACRO pg_session.csm_extract__century(x) AS CAST(coalesce(pg_compat.part_century(x), pg_compat.endless('century', x)) AS DECIMAL(18, 0));
CREATE MACRO pg_session.csm_date_part__century(x) AS coalesce(CAST(pg_compat.part_century(x) AS DOUBLE), pg_compat.endless_double(x));
CREATE MACRO pg_session.csm_extract__millennium(x) AS CAST(coalesce(pg_compat.part_millennium(x), pg_compat.endless('millennium', x)) AS DECIMAL(18, 0));
CREATE MACRO pg_session.csm_date_part__millennium(x) AS coalesce(CAST(pg_compat.part_millennium(x) AS DOUBLE), pg_compat.endless_double(x));
CREATE MACRO pg_session.csm_extract__julian(x) AS coalesce(pg_compat.part_julian(x), pg_compat.endless_double(x));
CREATE MACRO pg_session.csm_date_part__julian(x) AS coalesce(pg_compat.part_julian(x), pg_compat.endless_double(x));
CREATE MACRO pg_session.csm_extract__month(x) AS CAST(date_part('month', x) AS DECIMAL(18, 0));
CREATE MACRO pg_session.csm_date_part__month(x) AS CAST(date_part('month', x) AS DOUBLE);
CREATE MACRO pg_session.csm_extract__quarter(x) AS CAST(date_part('quarter', x) AS DECIMAL(18, 0));
CREATE MACRO pg_session.csm_date_part__quarter(x) AS CAST(date_part('quarter', x) AS DOUBLE);
CREATE MACRO pg_session.csm_extract__week(x) AS CAST(date_part('week', x) AS DECIMAL(18, 0));
CREATE MACRO pg_session.csm_date_part__week(x) AS CAST(date_part('week', x) AS DOUBLE);
CREATE MACRO pg_session.csm_extract__day(x) AS CAST(date_part('day', x) AS DECIMAL(18, 0));
CREATE MACRO pg_session.csm_date_part__day(x) AS CAST(date_part('day', x) AS DOUBLE);
CREATE MACRO pg_session.csm_extract__dow(x) AS CAST(date_part('dow', x) AS DECIMAL(18, 0));
CREATE MACRO pg_session.csm_date_part__dow(x) AS CAST(date_part('dow', x) AS DOUBLE);
CREATE MACRO pg_session.csm_extract__isodow(x) AS CAST(date_part('isodow', x) AS DECIMAL(18, 0));
CREATE MACRO pg_session.csm_date_part__isodow(x) AS CAST(date_part('isodow', x) AS DOUBLE);
CREATE MACRO pg_session.csm_extract__doy(x) AS CAST(date_part('doy', x) AS DECIMAL(18, 0));
CREATE MACRO pg_session.csm_date_part__doy(x) AS CAST(date_part('doy', x) AS DOUBLE);
CREATE MACRO pg_session.csm_extract__hour(x) AS CAST(coalesce(pg_compat.of_date('hour', x), date_part('hour', x)) AS DECIMAL(18, 0));
CREATE MACRO pg_session.csm_date_part__hour(x) AS CAST(date_part('hour', x) AS DOUBLE);
CREATE MACRO pg_session.csm_extract__minute(x) AS CAST(coalesce(pg_compat.of_date('minute', x), date_part('minute', x)) AS DECIMAL(18, 0));
CREATE MACRO pg_session.csm_date_part__minute(x) AS CAST(date_part('minute', x) AS DOUBLE);
CREATE MACRO pg_session.csm_extract__microseconds(x) AS CAST(coalesce(pg_compat.of_date('microseconds', x), date_part('microsecond', x)) AS DECIMAL(18, 0));
CREATE MACRO pg_session.csm_date_part__microseconds(x) AS CAST(date_part('microsecond', x) AS DOUBLE);
CREATE MACRO pg_session.csm_extract__second(x) AS CAST(coalesce(pg_compat.of_date('second', x), date_part('microsecond', x)) AS DECIMAL(18, 0)) * 0.000001;
CREATE MACRO pg_session.csm_date_part__second(x) AS date_part('microsecond', x) / 1e6;
CREATE MACRO pg_session.csm_extract__milliseconds(x) AS CAST(coalesce(pg_compat.of_date('milliseconds', x), date_part('microsecond', x)) AS DECIMAL(18, 0)) * 0.001;
CREATE MACRO pg_session.csm_date_part__milliseconds(x) AS date_part('microsecond', x) / 1e3;
CREATE MACRO pg_session.csm_extract__timezone(x) AS CAST(coalesce(pg_compat.of_zoned('timezone', x), date_part('timezone', x)) AS DECIMAL(18, 0));
CREATE MACRO pg_session.csm_date_part__timezone(x) AS CAST(coalesce(pg_compat.of_zoned('timezone', x), date_part('timezone', x)) AS DOUBLE);
CREATE MACRO pg_session.csm_extract__timezone_hour(x) AS CAST(coalesce(pg_compat.of_zoned('timezone_hour', x), date_part('timezone_hour', x)) AS DECIMAL(18, 0));
CREATE MACRO pg_session.csm_date_part__timezone_hour(x) AS CAST(coalesce(pg_compat.of_zoned('timezone_hour', x), date_part('timezone_hour', x)) AS DOUBLE);
CREATE MACRO pg_session.csm_extract__timezone_minute(x) AS CAST(coalesce(pg_compat.of_zoned('timezone_minute', x), date_part('timezone_minute', x)) AS DECIMAL(18, 0));
CREATE MACRO pg_session.csm_date_part__timezone_minute(x) AS CAST(coalesce(pg_compat.of_zoned('timezone_minute', x), date_part('timezone_minute', x)) AS DOUBLE);
CREATE MACRO pg_session.csm_extract__epoch(x) AS CAST(coalesce(pg_compat.part_epoch(x), pg_compat.endless('epoch', x)) AS DECIMAL(18, 0)) * 0.000001;
CREATE MACRO pg_session.csm_date_part__epoch(x) AS coalesce(pg_compat.part_epoch(x) / 1e6, pg_compat.endless_double(x));
-- Years before Christ are counted from -1 on.
CREATE MACRO pg_compat.given_date(year, month, day) AS year || '-' || lpad(CAST(month AS VARCHAR), CAST(greatest(2, length(CAST(month AS VARCHAR))) AS INTEGER), '0') || '-' || lpad(CAST(day AS VARCHAR), CAST(greatest(2, length(CAST(day AS VARCHAR))) AS INTEGER), '0');
CREATE MACRO pg_compat.given_year(year, month, day) AS CASE WHEN year = 0 THEN error('22008: date field value out of range: ' || pg_compat.given_date(year, month, day))
  WHEN year < -4714 OR year = -4714 AND (month < 11 OR month = 11 AND day < 24) THEN error('22008: date out of range: ' || pg_compat.given_date(year, month, day)) WHEN year < 0 THEN year + 1 ELSE year END;
CREATE MACRO pg_session.csm_make_date(x) AS make_date(x), (year, month, day) AS make_date(pg_compat.given_year(year, month, day), month, day);
CREATE MACRO pg_session.csm_make_timestamp(x) AS make_timestamp(x), (year, month, day, hour, minute, second) AS make_timestamp(pg_compat.given_year(year, month, day), month, day, hour, minute, second);
CREATE MACRO pg_compat.same_year(year, month, day) AS CASE WHEN pg_compat.given_year(year, month, day) IS NOT NULL THEN year END;
CREATE MACRO pg_session.csm_make_timestamptz(x) AS make_timestamptz(x), (year, month, day, hour, minute, second) AS make_timestamptz(pg_compat.same_year(year, month, day), month, day, hour, minute, second),
  (year, month, day, hour, minute, second, zone) AS make_timestamptz(pg_compat.same_year(year, month, day), month, day, hour, minute, second, zone);
CREATE MACRO pg_session.csm_clock_timestamp() AS csm_clock();
CREATE MACRO pg_session.csm_date_bin(stride, x, origin) AS CASE WHEN date_part('year', CAST(stride AS INTERVAL)) <> 0 OR date_part('month', CAST(stride AS INTERVAL)) <> 0
  THEN error('0A000: timestamps cannot be binned into intervals containing months or years') ELSE time_bucket(CAST(stride AS INTERVAL), x, origin) END;
CREATE MACRO pg_session.csm_make_interval(years := 0, months := 0, weeks := 0, days := 0, hours := 0, mins := 0, secs := 0) AS to_years(CAST(years AS INTEGER)) +
  to_months(CAST(months AS INTEGER)) + to_weeks(CAST(weeks AS INTEGER)) + to_days(CAST(days AS INTEGER)) + to_hours(hours) + to_minutes(mins) + to_seconds(secs);
CREATE MACRO pg_session.csm_to_date(x, template) AS CAST(strptime(x, template) AS DATE);
CREATE MACRO pg_session.csm_to_timestamp(x, template) AS CAST(strptime(x, template) AS TIMESTAMPTZ);
CREATE MACRO pg_compat.split_text(x, separator) AS CASE WHEN x IS NULL THEN NULL WHEN x = '' THEN [] WHEN separator IS NULL THEN string_split(x, '') WHEN separator = '' THEN [x]
  ELSE string_to_array(x, separator) END;
CREATE MACRO pg_session.csm_string_to_table(x, separator) AS pg_compat.split_text(x, separator);
CREATE MACRO pg_session.csm_split_part(x, separator, n) AS CASE WHEN n = 0 THEN error('22023: field position must not be zero') WHEN separator <> '' THEN split_part(x, separator, n)
  WHEN separator IS NOT NULL AND x IS NOT NULL AND n IS NOT NULL THEN CASE WHEN n IN (1, -1) THEN x ELSE '' END END;
CREATE MACRO pg_session.csm_string_to_array(x, separator) AS pg_compat.split_text(x, separator),
  (x, separator, missing) AS list_transform(pg_compat.split_text(x, separator), lambda e: nullif(e, missing));
-- Times and intervals with so many digits behind the point: a half goes away from the year 2000, and from none.
CREATE MACRO pg_compat.digit_unit(n) AS CAST(10 ** (6 - least(n, 6)) AS BIGINT);
CREATE MACRO pg_compat.to_unit(us, unit) AS sign(us) * ((abs(us) + unit // 2) // unit * unit);
CREATE MACRO pg_session.csm_timestamp(x, n) AS CASE WHEN isfinite(CAST(x AS TIMESTAMP)) THEN make_timestamp(pg_compat.to_unit(epoch_us(CAST(x AS TIMESTAMP)) - 946684800000000, pg_compat.digit_unit(n)) + 946684800000000) ELSE CAST(x AS TIMESTAMP) END;
CREATE MACRO pg_session.csm_timestamptz(x, n) AS CASE WHEN isfinite(CAST(x AS TIMESTAMPTZ)) THEN make_timestamptz(pg_compat.to_unit(epoch_us(CAST(x AS TIMESTAMPTZ)) - 946684800000000, pg_compat.digit_unit(n)) + 946684800000000) ELSE CAST(x AS TIMESTAMPTZ) END;
CREATE MACRO pg_compat.time_of(us) AS CASE WHEN us = 86400000000 THEN TIME '24:00:00' ELSE TIME '00:00:00' + to_microseconds(us) END;
CREATE MACRO pg_session.csm_time(x, n) AS pg_compat.time_of(pg_compat.to_unit(epoch_us(CAST(x AS TIME)), pg_compat.digit_unit(n)));
CREATE MACRO pg_compat.interval_months(x) AS CAST(date_part('year', x) * 12 + date_part('month', x) AS BIGINT);
CREATE MACRO pg_compat.interval_days(x) AS CAST(date_part('day', x) AS BIGINT);
CREATE MACRO pg_compat.interval_micros(x) AS epoch_us(x - to_months(CAST(pg_compat.interval_months(x) AS INTEGER)) - to_days(CAST(pg_compat.interval_days(x) AS INTEGER)));
CREATE MACRO pg_session.csm_interval(x, n) AS to_months(CAST(pg_compat.interval_months(CAST(x AS INTERVAL)) AS INTEGER)) + to_days(CAST(pg_compat.interval_days(CAST(x AS INTERVAL)) AS INTEGER)) +
  to_microseconds(pg_compat.to_unit(pg_compat.interval_micros(CAST(x AS INTERVAL)), pg_compat.digit_unit(n)));
-- Bits are cut and filled on the right; those of a number on the left.
CREATE MACRO pg_compat.number_bits(x, n) AS lpad(right(CAST(CAST(x AS BIT) AS VARCHAR), n), n, CASE WHEN x < 0 THEN '1' ELSE '0' END);
CREATE MACRO pg_session.csm_bit(x, n) AS CAST(CASE WHEN typeof(x) IN ('TINYINT', 'SMALLINT', 'INTEGER', 'BIGINT', 'HUGEINT') THEN pg_compat.number_bits(TRY_CAST(x AS BIGINT), n) ELSE rpad(left(CAST(x AS VARCHAR), n), n, '0') END AS BIT);
CREATE MACRO pg_session.csm_varbit(x, n) AS CAST(left(CAST(x AS VARCHAR), n) AS BIT);
-- Shifts: of the number of places only the last bits count, and what is beyond the type is cut. DuckDB binds typeof and cast_to_type, which read nothing.
CREATE MACRO pg_compat.shift_places(a, b) AS CASE WHEN typeof(a) IN ('BIGINT', 'HUGEINT') THEN b & 63 ELSE b & 31 END;
CREATE MACRO pg_compat.shift_half(a) AS CASE WHEN typeof(a) IN ('BIGINT', 'HUGEINT') THEN 9223372036854775808::HUGEINT WHEN typeof(a) = 'SMALLINT' THEN 32768::HUGEINT ELSE 2147483648::HUGEINT END;
CREATE MACRO pg_compat.cut_to(x, half) AS ((x + half) & (2 * half - 1)) - half;
CREATE MACRO pg_session."`<<"(a, b) AS CASE WHEN typeof(a) = 'BIT' THEN cast_to_type(system.main."<<"(CAST(CAST(a AS VARCHAR) AS BIT), CAST(b AS INTEGER)), a)
  ELSE cast_to_type(pg_compat.cut_to(CAST(a AS HUGEINT) * CAST(pow(2, pg_compat.shift_places(a, b)) AS HUGEINT), pg_compat.shift_half(a)), a) END;
CREATE MACRO pg_session."`>>"(a, b) AS CASE WHEN typeof(a) = 'BIT' THEN cast_to_type(system.main.">>"(CAST(CAST(a AS VARCHAR) AS BIT), CAST(b AS INTEGER)), a)
  ELSE cast_to_type(system.main.">>"(CAST(a AS HUGEINT), CAST(pg_compat.shift_places(a, b) AS HUGEINT)), a) END;
-- Arrays, of which a NULL is none, and which a NULL in them is in none of.
CREATE MACRO pg_session."`||"(a, b) AS coalesce(a || b, a, b);
CREATE MACRO pg_session.csm_least(list) AS list_min(list);
CREATE MACRO pg_session.csm_greatest(list) AS list_max(list);
CREATE MACRO pg_session.csm_array_cat(a, b) AS coalesce(a || b, a, b);
CREATE MACRO pg_session."`|+"(a, e) AS list_append(a, e);
CREATE MACRO pg_session."`+|"(e, a) AS list_prepend(e, a);
CREATE MACRO pg_session."`@>"(a, b) AS CASE WHEN len(b) > list_count(b) AND a IS NOT NULL THEN false ELSE system.main."@>"(a, b) END;
CREATE MACRO pg_session."`<@"(a, b) AS CASE WHEN len(a) > list_count(a) AND b IS NOT NULL THEN false ELSE system.main."<@"(a, b) END;
CREATE MACRO pg_session.csm_varchar(x, length) AS left(CAST(x AS VARCHAR), length);
CREATE MACRO pg_session.csm_bpchar(x, length) AS rtrim(left(CAST(x AS VARCHAR), length), ' ');
CREATE MACRO pg_compat.part_length(start, length) AS CASE WHEN length < 0 THEN error('22011: negative substring length not allowed') WHEN start >= 1 THEN length
  WHEN start + length > 1 THEN start + length - 1 WHEN start + length <= 1 THEN 0 END;
CREATE MACRO pg_compat.part_start(start) AS CASE WHEN start < 1 THEN 1 ELSE start END;
CREATE MACRO pg_session.csm_substring(x, start) AS substr(x, pg_compat.part_start(start)), (x, start, length) AS substr(x, pg_compat.part_start(start), pg_compat.part_length(start, length));
CREATE MACRO pg_session.csm_substr(x, start) AS substr(x, pg_compat.part_start(start)), (x, start, length) AS substr(x, pg_compat.part_start(start), pg_compat.part_length(start, length));
-- Regular expressions. A dot is any character; the parts in parentheses that do not begin with ?: are counted.
CREATE MACRO pg_compat.parts_of_pattern(pattern) AS len(regexp_extract_all(regexp_replace(pattern, '\\.|\[[^\]]*\]|\(\?(:|[a-zA-Z-]*[:)])', '', 'g'), '\('));
-- Flags are constants: what has none of error() in it is read once, and not for every row.
CREATE MACRO pg_compat.pattern_with(pattern, flags) AS '(?' || CASE WHEN contains(flags, 'i') THEN 'i' ELSE '' END || CASE WHEN regexp_matches(flags, '[mnw]') THEN 'm' ELSE '' END ||
  CASE WHEN regexp_matches(flags, '[mnp]') THEN '-s)' ELSE 's)' END || pattern;
CREATE MACRO pg_compat.flags_problem(flags) AS CASE WHEN regexp_matches(flags, '[bexq]') THEN '0A000: the regular expression options b, e, q and x are not supported'
  WHEN regexp_matches(flags, '[^cgimnpstw]') THEN '22023: invalid regular expression option: "' || regexp_extract(flags, '[^cgimnpstw]') || '"' END;
-- What is put in: \& is the whole match, \\ a backslash, and so is one before anything but a digit from 1 to 9.
-- A part in parentheses that the pattern does not have is empty.
CREATE MACRO pg_compat.put_in(r, parts) AS CASE WHEN contains(r, '\') THEN replace(replace(replace(replace(regexp_replace(
  regexp_replace(replace(replace(r, '\\', chr(1)), '\&', chr(2)), CASE WHEN parts > 0 THEN '\\([1-' || least(parts, 9) || '])' ELSE '$.' END, chr(3) || '\1', 'g'),
  '\\[1-9]', '', 'g'), '\', '\\'), chr(1), '\\'), chr(2), '\0'), chr(3), '\') ELSE r END;
CREATE MACRO pg_session.csm_regexp_replace(x, pattern, r) AS regexp_replace(x, '(?s)' || pattern, pg_compat.put_in(r, pg_compat.parts_of_pattern(pattern))),
  (x, pattern, r, flags) AS regexp_replace(x, pg_compat.pattern_with(pattern, flags), pg_compat.put_in(r, pg_compat.parts_of_pattern(pattern)), regexp_replace(flags, '[cimnpstw]', '', 'g'));
CREATE MACRO pg_compat.matched_part(x, pattern) AS CASE WHEN regexp_matches(x, pattern) THEN CASE WHEN pg_compat.parts_of_pattern(pattern) = 0 THEN regexp_extract(x, pattern) ELSE regexp_extract_all(x, pattern, 1)[1] END END;
CREATE MACRO pg_compat.first_match(x, pattern) AS CASE WHEN regexp_matches(x, pattern) THEN CASE WHEN pg_compat.parts_of_pattern(pattern) = 0 THEN [regexp_extract(x, pattern)]
  ELSE list_transform(CAST(generate_series(1, pg_compat.parts_of_pattern(pattern)) AS INTEGER[]), lambda g: regexp_extract_all(x, pattern, g)[1]) END END;
-- Texts between matches and the matches, in turn: what DuckDB splits by, or extracts all of, loses what is before where it goes on, and with it where a line
-- begins. No text has the character between them. A match of nothing at either end of the text does not split it.
CREATE MACRO pg_compat.pieces(x, pattern, part) AS string_split(regexp_replace(x, pattern, chr(1114110) || '\' || part || chr(1114110), 'g'), chr(1114110));
CREATE MACRO pg_compat.between(pieces) AS list_transform(range(CASE WHEN len(pieces) > 1 AND pieces[1] = '' AND pieces[2] = '' THEN 3 ELSE 1 END,
  CASE WHEN len(pieces) > 1 AND pieces[-1] = '' AND pieces[-2] = '' AND (len(pieces) > 3 OR pieces[1] <> '') THEN len(pieces) - 1 ELSE len(pieces) + 1 END, 2), lambda i: pieces[i]);
CREATE MACRO pg_compat.split_by(x, pattern) AS CASE WHEN regexp_matches('', pattern) THEN list_transform([pg_compat.pieces(x, pattern, '0')], lambda csm_pieces: CASE WHEN csm_pieces IS NOT NULL THEN pg_compat.between(csm_pieces) END)[1]
  ELSE regexp_split_to_array(x, pattern) END;
CREATE MACRO pg_session.csm_regexp_split_to_table(x, pattern) AS pg_compat.split_by(x, pg_compat.pattern_with(pattern, '')),
  (x, pattern, flags) AS CASE WHEN pg_compat.flags_problem(flags) IS NOT NULL THEN error(pg_compat.flags_problem(flags)) WHEN contains(flags, 'g') THEN error('22023: regexp_split_to_table() does not support the "global" option')
  ELSE pg_compat.split_by(x, pg_compat.pattern_with(pattern, flags)) END;
CREATE MACRO pg_session.csm_regexp_split_to_array(x, pattern) AS pg_compat.split_by(x, pg_compat.pattern_with(pattern, '')),
  (x, pattern, flags) AS CASE WHEN pg_compat.flags_problem(flags) IS NOT NULL THEN error(pg_compat.flags_problem(flags)) WHEN contains(flags, 'g') THEN error('22023: regexp_split_to_array() does not support the "global" option')
  ELSE pg_compat.split_by(x, pg_compat.pattern_with(pattern, flags)) END;
CREATE MACRO pg_compat.anchored_matches(x, pattern) AS list_transform(range(2, len(pg_compat.pieces(x, pattern, '0')), 2), lambda i: CASE WHEN pg_compat.parts_of_pattern(pattern) = 0 THEN [pg_compat.pieces(x, pattern, '0')[i]]
  ELSE list_transform(CAST(generate_series(1, pg_compat.parts_of_pattern(pattern)) AS INTEGER[]), lambda g: pg_compat.pieces(x, pattern, CAST(g AS VARCHAR))[i]) END);
CREATE MACRO pg_compat.all_matches(x, pattern) AS CASE WHEN regexp_matches(pattern, '[$^]') AND regexp_matches('', pattern) THEN pg_compat.anchored_matches(x, pattern) ELSE list_transform(regexp_extract_all(x, pattern), lambda m, i: CASE WHEN pg_compat.parts_of_pattern(pattern) = 0 THEN [m]
  ELSE list_transform(CAST(generate_series(1, pg_compat.parts_of_pattern(pattern)) AS INTEGER[]), lambda g: regexp_extract_all(x, pattern, g)[i]) END) END;
CREATE MACRO pg_session.csm_substring__pattern(x, pattern) AS pg_compat.matched_part(x, pg_compat.pattern_with(pattern, ''));
CREATE MACRO pg_session.csm_substr__pattern(x, pattern) AS pg_compat.matched_part(x, pg_compat.pattern_with(pattern, ''));
CREATE MACRO pg_session.csm_regexp_match(x, pattern) AS pg_compat.first_match(x, pg_compat.pattern_with(pattern, '')), (x, pattern, flags) AS CASE WHEN pg_compat.flags_problem(flags) IS NOT NULL
  THEN error(pg_compat.flags_problem(flags)) WHEN contains(flags, 'g') THEN error('22023: regexp_match() does not support the "global" option') ELSE pg_compat.first_match(x, pg_compat.pattern_with(pattern, flags)) END;
CREATE MACRO pg_session.csm_regexp_matches(x, pattern) AS pg_compat.all_matches(x, pg_compat.pattern_with(pattern, ''))[:1],
  (x, pattern, flags) AS CASE WHEN pg_compat.flags_problem(flags) IS NOT NULL THEN error(pg_compat.flags_problem(flags)) WHEN contains(flags, 'g') THEN pg_compat.all_matches(x, pg_compat.pattern_with(pattern, flags)) ELSE pg_compat.all_matches(x, pg_compat.pattern_with(pattern, flags))[:1] END;
-- Where a text is searched from a place on, what a pattern says of its beginning would be that of another one.
CREATE MACRO pg_compat.search_flags(name, pattern, flags) AS CASE WHEN pg_compat.flags_problem(flags) IS NOT NULL THEN error(pg_compat.flags_problem(flags))
  WHEN contains(flags, 'g') THEN error('22023: ' || name || '() does not support the "global" option') ELSE pg_compat.pattern_with(pattern, flags) END;
CREATE MACRO pg_compat.search_from(x, pattern, start) AS CASE WHEN start < 1 THEN error('22023: invalid value for parameter "start": ' || start)
  WHEN start > 1 AND regexp_matches(pattern, '\^|\\[AmMybB<]|\[\[:<') THEN error('0A000: a regular expression that says what is before it is not supported with a start') WHEN start <= length(x) + 1 THEN x[start:] END;
CREATE MACRO pg_compat.unless_behind(x, pattern, start, found) AS CASE WHEN pattern IS NOT NULL AND start > length(x) + 1 THEN 0 ELSE CAST(found AS INTEGER) END;
CREATE MACRO pg_compat.search_place(name, n) AS CASE WHEN n < 1 THEN error('22023: invalid value for parameter "' || name || '": ' || n) ELSE n END;
-- As for to_char, stand-ins of what takes all the arguments are planned with the functions.
CREATE MACRO pg_compat.found_count(x, pattern, start, flags) AS 0;
CREATE MACRO pg_compat.found_part(x, pattern, start, n, flags, part) AS '';
CREATE MACRO pg_compat.found_place(x, pattern, start, n, ending, flags) AS 0;
CREATE MACRO pg_session.csm_regexp_count(x, pattern) AS CAST(len(regexp_extract_all(x, '(?s)' || pattern)) AS INTEGER),
  (x, pattern, start) AS pg_compat.found_count(x, pattern, start, ''), (x, pattern, start, flags) AS pg_compat.found_count(x, pattern, start, flags);
CREATE MACRO pg_session.csm_regexp_like(x, pattern) AS regexp_matches(x, pattern, 's'),
  (x, pattern, flags) AS regexp_matches(x, pg_compat.search_flags('regexp_like', pattern, flags));
CREATE MACRO pg_session.csm_regexp_substr(x, pattern) AS CASE WHEN regexp_matches(x, pattern, 's') THEN regexp_extract(x, '(?s)' || pattern) END,
  (x, pattern, start) AS pg_compat.found_part(x, pattern, start, 1, '', 0), (x, pattern, start, n) AS pg_compat.found_part(x, pattern, start, n, '', 0),
  (x, pattern, start, n, flags) AS pg_compat.found_part(x, pattern, start, n, flags, 0), (x, pattern, start, n, flags, part) AS pg_compat.found_part(x, pattern, start, n, flags, part);
CREATE MACRO pg_session.csm_regexp_instr(x, pattern) AS CAST(CASE WHEN regexp_matches(x, pattern, 's') THEN strpos(x, regexp_extract(x, '(?s)' || pattern)) ELSE 0 END AS INTEGER),
  (x, pattern, start) AS pg_compat.found_place(x, pattern, start, 1, 0, ''), (x, pattern, start, n) AS pg_compat.found_place(x, pattern, start, n, 0, ''),
  (x, pattern, start, n, ending) AS pg_compat.found_place(x, pattern, start, n, ending, ''), (x, pattern, start, n, ending, flags) AS pg_compat.found_place(x, pattern, start, n, ending, flags);
CREATE OR REPLACE MACRO pg_compat.found_count(x, pattern, start, flags) AS list_transform([{'x': x, 'pattern': pattern, 'start': CAST(start AS INTEGER), 'flags': flags}], lambda csm_call: pg_compat.unless_behind(csm_call.x, csm_call.pattern, csm_call.start,
  len(regexp_extract_all(pg_compat.search_from(csm_call.x, csm_call.pattern, csm_call.start), pg_compat.search_flags('regexp_count', csm_call.pattern, csm_call.flags)))))[1];
CREATE MACRO pg_compat.search_part(x, pattern, n, part) AS CASE WHEN part < 0 THEN error('22023: invalid value for parameter "subexpr": ' || part)
  WHEN part <= pg_compat.parts_of_pattern(pattern) THEN list_transform(regexp_extract_all(x, pattern, part), lambda m: m)[pg_compat.search_place('n', n)] END;
CREATE OR REPLACE MACRO pg_compat.found_part(x, pattern, start, n, flags, part) AS list_transform([{'x': x, 'pattern': pattern, 'start': CAST(start AS INTEGER), 'n': CAST(n AS INTEGER), 'flags': flags, 'part': CAST(part AS INTEGER)}], lambda csm_call: pg_compat.search_part(
  pg_compat.search_from(csm_call.x, csm_call.pattern, csm_call.start), pg_compat.search_flags('regexp_substr', csm_call.pattern, csm_call.flags), csm_call.n, csm_call.part))[1];
CREATE MACRO pg_compat.nth_place(pieces, start, n, ending) AS CASE WHEN pieces IS NULL OR n IS NULL OR ending IS NULL THEN NULL WHEN ending NOT IN (0, 1) THEN error('22023: invalid value for parameter "endoption": ' || ending)
  WHEN len(pieces) <= 2 * n THEN 0 ELSE start + length(array_to_string(pieces[:2 * n - 1 + ending], '')) END;
CREATE MACRO pg_compat.search_instr(x, given, pattern, start, n, ending) AS pg_compat.unless_behind(x, pattern, start, pg_compat.nth_place(pg_compat.pieces(pg_compat.search_from(x, given, start), pattern, '0'), start, pg_compat.search_place('n', n), ending));
CREATE OR REPLACE MACRO pg_compat.found_place(x, pattern, start, n, ending, flags) AS list_transform([{'x': x, 'pattern': pattern, 'start': CAST(start AS INTEGER), 'n': CAST(n AS INTEGER), 'ending': CAST(ending AS INTEGER), 'flags': flags}], lambda csm_call: pg_compat.search_instr(
  csm_call.x, csm_call.pattern, pg_compat.search_flags('regexp_instr', csm_call.pattern, csm_call.flags), csm_call.start, csm_call.n, csm_call.ending))[1];
-- JSON, with blanks where PostgreSQL has them.
CREATE MACRO pg_compat.json_text(x) AS coalesce(csm_json(x), 'null');
CREATE MACRO pg_compat.json_name(x) AS CASE WHEN csm_json(x) = '' OR csm_json(x)[1] <> '"' THEN '"' || csm_json(x) || '"' ELSE csm_json(x) END;
CREATE MACRO pg_session.csm_json_key(x) AS CASE WHEN x IS NULL THEN error('22023: null value not allowed for object key') WHEN regexp_matches(typeof(x), '\]$|^JSON$|^STRUCT|^MAP|^UNION')
  THEN error('22023: key value must be scalar, not array, composite, or json') ELSE pg_compat.json_name(x) END;
CREATE MACRO pg_session.csm_to_json(x) AS CAST(csm_json(x) AS JSON);
CREATE MACRO pg_session.csm_to_jsonb(x) AS CAST(csm_json(x) AS JSON);
CREATE MACRO pg_compat.json_lines(x, pretty) AS CASE WHEN pretty THEN error('0A000: line feeds in JSON are not supported') ELSE CAST(csm_json(x) AS JSON) END;
CREATE MACRO pg_session.csm_row_to_json(x) AS CAST(csm_json(x) AS JSON), (x, pretty) AS pg_compat.json_lines(x, pretty);
CREATE MACRO pg_session.csm_array_to_json(x) AS CAST(csm_json(x) AS JSON), (x, pretty) AS pg_compat.json_lines(x, pretty);
CREATE MACRO pg_session.csm_json_value(x) AS pg_compat.json_text(x);
CREATE MACRO pg_session.csm_json_build_array(x) AS CAST('[' || array_to_string(x, ', ') || ']' AS JSON);
CREATE MACRO pg_session.csm_jsonb_build_array(x) AS CAST('[' || array_to_string(x, ', ') || ']' AS JSON);
CREATE MACRO pg_compat.json_object_of(x, colon) AS CAST('{' || array_to_string(list_transform(x, lambda e, i: CASE WHEN i % 2 = 0 THEN e WHEN i > 1 THEN ', ' || e || colon ELSE e || colon END), '') || '}' AS JSON);
CREATE MACRO pg_session.csm_json_build_object(x) AS pg_compat.json_object_of(x, ' : ');
CREATE MACRO pg_session.csm_jsonb_build_object(x) AS pg_compat.json_object_of(x, ': ');
CREATE MACRO pg_session.csm_json_agg(x) AS CAST('[' || array_to_string(list_transform(x, lambda e: pg_compat.json_text(e)), CASE WHEN regexp_matches(typeof(x), '^STRUCT|\]\[\]$') THEN ', ' || chr(10) || ' ' ELSE ', ' END) || ']' AS JSON);
CREATE MACRO pg_session.csm_jsonb_agg(x) AS CAST('[' || array_to_string(list_transform(x, lambda e: pg_compat.json_text(e)), ', ') || ']' AS JSON);
CREATE MACRO pg_session.csm_json_object_agg(x) AS CAST('{ ' || array_to_string(list_transform(x, lambda e: CASE WHEN e[1] IS NULL THEN error('22023: field name must not be null') ELSE pg_compat.json_name(e[1]) END || ' : ' || pg_compat.json_text(e[2])), ', ') || ' }' AS JSON);
CREATE MACRO pg_session.csm_jsonb_object_agg(x) AS CAST('{' || array_to_string(list_transform(x, lambda e: CASE WHEN e[1] IS NULL THEN error('22023: field name must not be null') ELSE pg_compat.json_name(e[1]) END || ': ' || pg_compat.json_text(e[2])), ', ') || '}' AS JSON);
CREATE MACRO pg_compat.json_kind(x) AS CASE x WHEN 'ARRAY' THEN 'array' WHEN 'OBJECT' THEN 'object' WHEN 'VARCHAR' THEN 'string' WHEN 'BOOLEAN' THEN 'boolean' WHEN 'NULL' THEN 'null' ELSE CASE WHEN x IS NOT NULL THEN 'number' END END;
CREATE MACRO pg_session.csm_json_typeof(x) AS pg_compat.json_kind(json_type(x));
CREATE MACRO pg_session.csm_jsonb_typeof(x) AS pg_compat.json_kind(json_type(x));
CREATE MACRO pg_session.csm_json_array_length(x) AS CASE coalesce(json_type(CAST(x AS JSON)), 'ARRAY') WHEN 'ARRAY' THEN CAST(json_array_length(CAST(x AS JSON)) AS INTEGER)
  WHEN 'OBJECT' THEN error('22023: cannot get array length of a non-array') ELSE error('22023: cannot get array length of a scalar') END;
CREATE MACRO pg_session.csm_jsonb_array_length(x) AS CASE coalesce(json_type(CAST(x AS JSON)), 'ARRAY') WHEN 'ARRAY' THEN CAST(json_array_length(CAST(x AS JSON)) AS INTEGER)
  WHEN 'OBJECT' THEN error('22023: cannot get array length of a non-array') ELSE error('22023: cannot get array length of a scalar') END;
CREATE MACRO pg_session.csm_json_extract_path(x, a) AS CAST(x AS JSON) -> a, (x, a, b) AS CAST(x AS JSON) -> a -> b, (x, a, b, c) AS CAST(x AS JSON) -> a -> b -> c;
CREATE MACRO pg_session.csm_jsonb_extract_path(x, a) AS CAST(x AS JSON) -> a, (x, a, b) AS CAST(x AS JSON) -> a -> b, (x, a, b, c) AS CAST(x AS JSON) -> a -> b -> c;
CREATE MACRO pg_session.csm_json_extract_path_text(x, a) AS CAST(x AS JSON) ->> a, (x, a, b) AS CAST(x AS JSON) -> a ->> b, (x, a, b, c) AS CAST(x AS JSON) -> a -> b ->> c;
CREATE MACRO pg_session.csm_jsonb_extract_path_text(x, a) AS CAST(x AS JSON) ->> a, (x, a, b) AS CAST(x AS JSON) -> a ->> b, (x, a, b, c) AS CAST(x AS JSON) -> a -> b ->> c;
CREATE MACRO pg_session.csm_json_member(x) AS '/' || replace(replace(x, '~', '~0'), '/', '~1');
CREATE MACRO pg_session.csm_json_pointer(x) AS x;
-- A step of a path: an array's elements are counted from 0, from the end if the number is negative.
CREATE MACRO pg_compat.json_step(x, step) AS CASE json_type(x) WHEN 'ARRAY' THEN x -> TRY_CAST(CASE WHEN regexp_full_match(step, '\s*[-+]?[0-9]+') THEN step END AS BIGINT)
  WHEN 'OBJECT' THEN json_extract(x, '/' || replace(replace(step, '~', '~0'), '/', '~1')) END;
CREATE MACRO pg_compat.json_path(x, path) AS CAST(list_reduce(path, lambda reached, step: CAST(pg_compat.json_step(CAST(reached AS JSON), step) AS VARCHAR), CAST(x AS VARCHAR)) AS JSON);
CREATE MACRO pg_session.csm_json_extract_path__of(x, path) AS pg_compat.json_path(x, path);
CREATE MACRO pg_session.csm_json_extract_path_text__of(x, path) AS pg_compat.json_path(x, path) ->> '$';
CREATE MACRO pg_session.csm_jsonb_extract_path__of(x, path) AS pg_compat.json_path(x, path);
CREATE MACRO pg_session.csm_jsonb_extract_path_text__of(x, path) AS pg_compat.json_path(x, path) ->> '$';
-- Objects of texts: of keys and values in one array, or in two.
CREATE MACRO pg_compat.json_texts(keys, texts, colon) AS CASE WHEN len(keys) <> len(texts) THEN error('2202E: mismatched array dimensions')
  ELSE CAST('{' || array_to_string(list_transform(generate_series(1, len(keys)), lambda i: coalesce(csm_json(CAST(keys[i] AS VARCHAR)), error('22004: null value not allowed for object key')) || colon || pg_compat.json_text(CAST(texts[i] AS VARCHAR))), ', ') || '}' AS JSON) END;
CREATE MACRO pg_compat.json_pairs(x, colon) AS CASE WHEN len(x) % 2 = 1 THEN error('2202E: array must have even number of elements')
  ELSE pg_compat.json_texts(list_transform(generate_series(1, len(x), 2), lambda i: x[i]), list_transform(generate_series(2, len(x), 2), lambda i: x[i]), colon) END;
CREATE MACRO pg_session.csm_json_object(x) AS pg_compat.json_pairs(x, ' : '), (keys, texts) AS pg_compat.json_texts(keys, texts, ' : ');
CREATE MACRO pg_session.csm_jsonb_object(x) AS pg_compat.json_pairs(x, ': '), (keys, texts) AS pg_compat.json_texts(keys, texts, ': ');
CREATE MACRO pg_session.csm_array_dims(x) AS coalesce(pg_compat.flat('array_dims', x), '[1:' || nullif(len(x), 0) || ']');
CREATE MACRO pg_session.csm_array_fill(x, dimensions) AS CASE WHEN len(dimensions) > len(list_filter(dimensions, lambda d: d IS NOT NULL)) THEN error('22004: dimension values cannot be null')
  WHEN len(dimensions) > 1 THEN error('0A000: arrays of arrays are not supported') ELSE list_transform(generate_series(1, dimensions[1]), lambda i: x) END;
CREATE MACRO pg_compat.before_part(x, start) AS CASE WHEN start < 1 THEN error('22011: negative substring length not allowed') ELSE left(x, start - 1) END;
CREATE MACRO pg_session.csm_overlay(x, y, start) AS pg_compat.before_part(x, start) || y || substr(x, pg_compat.part_start(start + length(y))),
  (x, y, start, replaced) AS pg_compat.before_part(x, start) || y || substr(x, pg_compat.part_start(start + replaced));
-- Subscripts of arrays: DuckDB counts those below 1 from the end.
CREATE MACRO pg_session.csm_subscript(x) AS greatest(x, 0);
CREATE MACRO pg_session.csm_subscript__from(x) AS CASE WHEN x < 1 THEN 1 ELSE x END;
CREATE MACRO pg_session.csm_subscript__to(x) AS CASE WHEN x < 0 THEN 0 ELSE x END;
CREATE MACRO pg_session.csm_continuous(x DOUBLE) AS CAST(x AS DOUBLE), (x TIMESTAMP) AS x, (x TIMESTAMPTZ) AS x;
CREATE MACRO pg_session.csm_sha256(x) AS unhex(sha256(x));
-- PostgreSQL reads as many digits as the template has, each in its place; where a text has more, or is not placed as the template, it is refused.
CREATE MACRO pg_compat.digits_of(x) AS length(regexp_replace(x, '[^0-9]', '', 'g'));
CREATE MACRO pg_compat.fits_template(x, t) AS pg_compat.digits_of(split_part(x, '.', 1)) <= pg_compat.digits_of(regexp_extract(t, '^[^.DV]*')) AND pg_compat.digits_of(split_part(x, '.', 2)) <= pg_compat.digits_of(regexp_extract(t, '[.D].*'))
  AND NOT contains(x, '<') AND (contains(x, '$') = contains(t, '$') OR contains(t, 'L'));
CREATE MACRO pg_session.csm_to_number(x, template) AS CASE WHEN pg_compat.fits_template(x, upper(template)) THEN CAST(regexp_replace(x, '[^0-9.+-]', '', 'g') AS DECIMAL(38, 10))
  WHEN x IS NOT NULL AND template IS NOT NULL THEN error('0A000: to_number() of "' || x || '" with the template ' || template || ' is not supported') END;
CREATE MACRO pg_compat.bound(x) AS CASE WHEN isnan(CAST(x AS DOUBLE)) THEN error('2201G: operand, lower bound, and upper bound cannot be NaN') WHEN isinf(CAST(x AS DOUBLE)) THEN error('2201G: lower and upper bounds must be finite') ELSE x END;
CREATE MACRO pg_compat.bucket(x, low, high, buckets) AS CAST(CASE WHEN x IS NULL THEN NULL WHEN buckets <= 0 THEN error('2201G: count must be greater than zero') WHEN isnan(CAST(x AS DOUBLE)) THEN error('2201G: operand, lower bound, and upper bound cannot be NaN')
  WHEN low = high THEN error('2201G: lower bound cannot equal upper bound') WHEN low < high THEN CASE WHEN x < low THEN 0 WHEN x >= high THEN buckets + 1 ELSE floor((x - low) * buckets / (high - low)) + 1 END
  ELSE CASE WHEN x > low THEN 0 WHEN x <= high THEN buckets + 1 ELSE floor((low - x) * buckets / (low - high)) + 1 END END AS INTEGER);
CREATE MACRO pg_session.csm_width_bucket(x, low, high, buckets) AS pg_compat.bucket(x, pg_compat.bound(low), pg_compat.bound(high), buckets),
  (x, thresholds) AS CASE WHEN x IS NOT NULL THEN CAST(len(list_filter(thresholds, lambda t: t <= x)) AS INTEGER) END;
-- Numbers that a function has no result for, or one beyond the type.
CREATE MACRO pg_compat.in_range(result, finite, zero) AS CASE WHEN isinf(result) AND finite THEN error('22003: value out of range: overflow') WHEN result = 0 AND finite AND NOT zero THEN error('22003: value out of range: underflow') ELSE result END;
CREATE MACRO pg_session.csm_power(x, y) AS CASE WHEN x = 0 AND y < 0 THEN error('2201F: zero raised to a negative power is undefined')
  WHEN x < 0 AND y <> trunc(y) THEN error('2201F: a negative number raised to a non-integer power yields a complex result')
  ELSE pg_compat.in_range(power(x, y), isfinite(CAST(x AS DOUBLE)) AND isfinite(CAST(y AS DOUBLE)), x = 0) END;
CREATE MACRO pg_session.csm_pow(x, y) AS pg_session.csm_power(x, y);
CREATE MACRO pg_session.csm_operator__power(x, y) AS pg_session.csm_power(x, y);
CREATE MACRO pg_session.csm_exp(x) AS pg_compat.in_range(exp(x), isfinite(CAST(x AS DOUBLE)), false);
CREATE MACRO pg_session.csm_acosh(x) AS CASE WHEN x < 1 THEN error('22003: input is out of range') ELSE acosh(x) END;
CREATE MACRO pg_compat.of_integers(a, b, result) AS CASE WHEN result > 2147483647 AND typeof(a) IN ('INTEGER', 'SMALLINT') AND typeof(b) IN ('INTEGER', 'SMALLINT') THEN error('22003: integer out of range') ELSE result END;
CREATE MACRO pg_session.csm_lcm(a, b) AS pg_compat.of_integers(a, b, lcm(a, b));
CREATE MACRO pg_session.csm_gcd(a, b) AS pg_compat.of_integers(a, b, gcd(a, b));
CREATE MACRO pg_session.csm_chr(x) AS CASE WHEN x = 0 THEN error('54000: null character not permitted') ELSE chr(x) END;
-- Intervals have months, days and microseconds. What is over goes to the next unit; all of one sign.
CREATE MACRO pg_compat.carried(above, rest, unit) AS rest // unit - CASE WHEN above + rest // unit > 0 AND rest % unit < 0 THEN 1 WHEN above + rest // unit < 0 AND rest % unit > 0 THEN -1 ELSE 0 END;
CREATE MACRO pg_compat.justified_days(x) AS pg_compat.carried(pg_compat.interval_days(x), pg_compat.interval_micros(x), 86400000000);
CREATE MACRO pg_compat.justified_months(x) AS pg_compat.carried(pg_compat.interval_months(x), pg_compat.interval_days(x), 30);
CREATE MACRO pg_session.csm_justify_hours(x) AS to_months(CAST(pg_compat.interval_months(x) AS INTEGER)) +
  to_days(CAST(pg_compat.interval_days(x) + pg_compat.justified_days(x) AS INTEGER)) + to_microseconds(pg_compat.interval_micros(x) - pg_compat.justified_days(x) * 86400000000);
CREATE MACRO pg_session.csm_justify_days(x) AS to_months(CAST(pg_compat.interval_months(x) + pg_compat.justified_months(x) AS INTEGER)) +
  to_days(CAST(pg_compat.interval_days(x) - pg_compat.justified_months(x) * 30 AS INTEGER)) + to_microseconds(pg_compat.interval_micros(x));
CREATE MACRO pg_compat.borrowed(above, below, rest) AS CASE WHEN above > 0 AND (below < 0 OR below = 0 AND rest < 0) THEN 1 WHEN above < 0 AND (below > 0 OR below = 0 AND rest > 0) THEN -1 ELSE 0 END;
CREATE MACRO pg_compat.of_one_sign(m, d, t) AS to_months(CAST(m AS INTEGER)) + to_days(CAST(d - pg_compat.borrowed(d, t, 0) AS INTEGER)) + to_microseconds(t + pg_compat.borrowed(d, t, 0) * 86400000000);
CREATE MACRO pg_session.csm_justify_interval(x INTERVAL) AS list_transform(list_transform(list_transform([x],
  lambda i: {'m': pg_compat.interval_months(i), 'd': pg_compat.interval_days(i) + pg_compat.interval_micros(i) // 86400000000, 't': pg_compat.interval_micros(i) % 86400000000}),
  lambda i: {'m': i.m + i.d // 30 - pg_compat.borrowed(i.m + i.d // 30, i.d % 30, i.t), 'd': i.d % 30 + pg_compat.borrowed(i.m + i.d // 30, i.d % 30, i.t) * 30, 't': i.t}),
  lambda i: pg_compat.of_one_sign(i.m, i.d, i.t))[1];
-- Texts of values as PostgreSQL writes them, made of DuckDB's. What type a value is of is known when a statement is planned.
CREATE MACRO pg_compat.exponent_text(sign, digits, power) AS sign || digits[1] || CASE WHEN length(digits) > 1 THEN '.' || digits[2:] ELSE '' END || 'e+' || lpad(CAST(power AS VARCHAR), 2, '0');
CREATE MACRO pg_compat.float_text(v, most) AS CASE WHEN v = 'nan' THEN 'NaN' WHEN v = 'inf' THEN 'Infinity' WHEN v = '-inf' THEN '-Infinity'
  WHEN NOT contains(v, 'e') AND length(regexp_extract(v, '[0-9]+')) > most
  THEN pg_compat.exponent_text(regexp_extract(v, '^-?'), rtrim(regexp_replace(regexp_replace(v, '\.0$', ''), '[-.]', '', 'g'), '0'), length(regexp_extract(v, '[0-9]+')) - 1)
  ELSE regexp_replace(v, '\.0$', '') END;
CREATE MACRO pg_compat.interval_text(v) AS regexp_replace(regexp_replace(regexp_replace(v, '\bmonth', 'mon', 'g'), '(^|\s)-1 (year|mon|day)\b', '\1-1 \2s', 'g'), '(-\d+ [a-z]+) (\d)', '\1 +\2', 'g');
CREATE MACRO pg_compat.element_text(e, type) AS CASE WHEN e IS NULL THEN 'NULL' WHEN type = 'BOOLEAN[]' THEN e[1] WHEN type = 'DOUBLE[]' THEN pg_compat.float_text(e, 15) WHEN type = 'FLOAT[]' THEN pg_compat.float_text(e, 6)
  WHEN e = '' OR lower(e) = 'null' OR regexp_matches(e, '[{}",\\\s]') THEN '"' || replace(replace(e, '\', '\\'), '"', '\"') || '"' ELSE e END;
CREATE MACRO pg_compat.list_text(v, type) AS '{' || array_to_string(list_transform(CAST(v AS VARCHAR[]), lambda e: pg_compat.element_text(e, type)), ',') || '}';
CREATE MACRO pg_session.csm_text(x) AS CASE WHEN typeof(x) = 'DOUBLE' THEN pg_compat.float_text(CAST(x AS VARCHAR), 15) WHEN typeof(x) = 'FLOAT' THEN pg_compat.float_text(CAST(x AS VARCHAR), 6)
  WHEN typeof(x) = 'INTERVAL' THEN pg_compat.interval_text(CAST(x AS VARCHAR)) WHEN ends_with(typeof(x), '[]') AND NOT ends_with(typeof(x), '[][]') THEN pg_compat.list_text(CAST(x AS VARCHAR), typeof(x))
  WHEN regexp_matches(typeof(x), '^(SMALLINT|INTEGER|BIGINT|HUGEINT|DECIMAL\([0-9]+,[0-9]+\))\[\]\[\]') THEN translate(CAST(x AS VARCHAR), '[] ', '{}') WHEN ends_with(typeof(x), '[][]') AND x IS NOT NULL
  THEN error('0A000: the text of an array of arrays is not supported') ELSE CAST(x AS VARCHAR) END;
CREATE MACRO pg_compat.element_texts(a, type) AS CASE WHEN type = 'BOOLEAN[]' THEN list_transform(CAST(a AS VARCHAR[]), lambda e: e[1])
  WHEN type IN ('DOUBLE[]', 'FLOAT[]') THEN list_transform(CAST(a AS VARCHAR[]), lambda e: pg_compat.float_text(e, CASE type WHEN 'FLOAT[]' THEN 6 ELSE 15 END))
  WHEN type = 'INTERVAL[]' THEN list_transform(CAST(a AS VARCHAR[]), lambda e: pg_compat.interval_text(e)) ELSE CAST(a AS VARCHAR[]) END;
CREATE MACRO pg_session.csm_array_to_string(a, separator) AS CASE WHEN separator IS NOT NULL AND a IS NOT NULL
    THEN coalesce(pg_compat.flat('array_to_string', a), array_to_string(pg_compat.element_texts(a, typeof(a)), separator), '') END,
  (a, separator, missing) AS CASE WHEN separator IS NOT NULL AND a IS NOT NULL THEN coalesce(pg_compat.flat('array_to_string', a),
    array_to_string(list_transform(pg_compat.element_texts(a, typeof(a)), lambda e: coalesce(e, missing)), separator), '') END;
CREATE MACRO pg_compat.field_text(v) AS CASE WHEN v IS NULL THEN '' WHEN v = '' OR regexp_matches(v, '[(),"\\\s]') THEN '"' || replace(replace(v, '\', '\\'), '"', '""') || '"' ELSE v END;
CREATE MACRO pg_session.csm_row__field(x) AS CASE WHEN typeof(x) = 'BOOLEAN' THEN CAST(x AS VARCHAR)[1] ELSE pg_session.csm_text(x) END;
CREATE MACRO pg_session.csm_row(fields) AS '(' || array_to_string(list_transform(fields, lambda e: pg_compat.field_text(e)), ',') || ')';
CREATE MACRO pg_session.csm_text__boolean(x) AS CASE WHEN x THEN 't' WHEN NOT x THEN 'f' END;
CREATE MACRO pg_compat.years_since(x, years) AS ((CAST(date_part('year', x) AS INTEGER) - 1) % years + years) % years;
CREATE MACRO pg_compat.years_over(x, years) AS CASE WHEN typeof(x) = 'INTERVAL' THEN CAST(date_part('year', x) AS INTEGER) % years ELSE pg_compat.years_since(x, years) END;
CREATE MACRO pg_session.csm_date_trunc__decade(x) AS date_trunc('year', x) - to_years(CASE WHEN typeof(x) = 'INTERVAL' THEN CAST(date_part('year', x) AS INTEGER) % 10 ELSE (CAST(date_part('year', x) AS INTEGER) % 10 + 10) % 10 END);
CREATE MACRO pg_session.csm_date_trunc__zone(part, x, zone) AS timezone(zone, date_trunc(part, timezone(zone, CAST(x AS TIMESTAMPTZ))));
CREATE MACRO pg_session.csm_date_trunc__century(x) AS date_trunc('year', x) - to_years(pg_compat.years_over(x, 100));
CREATE MACRO pg_session.csm_date_trunc__millennium(x) AS date_trunc('year', x) - to_years(pg_compat.years_over(x, 1000));
-- What is not defined, of one row, or of rows that are all the same in one column, is NaN to DuckDB.
CREATE MACRO pg_session.csm_corr__of(x) AS nullif(x, CAST('nan' AS DOUBLE));
CREATE MACRO pg_session.csm_regr_slope__of(x) AS nullif(x, CAST('nan' AS DOUBLE));
CREATE MACRO pg_session.csm_operator__sqrt(x) AS sqrt(x);
CREATE MACRO pg_session.csm_operator__cbrt(x) AS cbrt(x);
CREATE MACRO pg_session.csm_round__even(x) AS round_even(x, 0);
CREATE MACRO pg_session.csm_sum__interval(x) AS to_months(CAST(sum(pg_compat.interval_months(x)) AS INTEGER)) + to_days(CAST(sum(pg_compat.interval_days(x)) AS INTEGER)) + to_microseconds(CAST(sum(pg_compat.interval_micros(x)) AS BIGINT));
CREATE MACRO pg_session.csm_avg__interval(x) AS csm_divide(pg_session.csm_sum__interval(x), CAST(count(x) AS DOUBLE));
-- round(x, 2) and trunc(x, 2) of a constant have so many digits behind the point.
CREATE MACRO pg_session.csm_round__0(x) AS CAST(round(x, 0) AS DECIMAL(38, 0));
CREATE MACRO pg_session.csm_round__1(x) AS CAST(round(x, 1) AS DECIMAL(38, 1));
CREATE MACRO pg_session.csm_round__2(x) AS CAST(round(x, 2) AS DECIMAL(38, 2));
CREATE MACRO pg_session.csm_round__3(x) AS CAST(round(x, 3) AS DECIMAL(38, 3));
CREATE MACRO pg_session.csm_round__4(x) AS CAST(round(x, 4) AS DECIMAL(38, 4));
CREATE MACRO pg_session.csm_round__5(x) AS CAST(round(x, 5) AS DECIMAL(38, 5));
CREATE MACRO pg_session.csm_round__6(x) AS CAST(round(x, 6) AS DECIMAL(38, 6));
CREATE MACRO pg_session.csm_round__7(x) AS CAST(round(x, 7) AS DECIMAL(38, 7));
CREATE MACRO pg_session.csm_round__8(x) AS CAST(round(x, 8) AS DECIMAL(38, 8));
CREATE MACRO pg_session.csm_round__9(x) AS CAST(round(x, 9) AS DECIMAL(38, 9));
CREATE MACRO pg_session.csm_round__10(x) AS CAST(round(x, 10) AS DECIMAL(38, 10));
CREATE MACRO pg_session.csm_round__11(x) AS CAST(round(x, 11) AS DECIMAL(38, 11));
CREATE MACRO pg_session.csm_round__12(x) AS CAST(round(x, 12) AS DECIMAL(38, 12));
CREATE MACRO pg_session.csm_trunc__0(x) AS CAST(trunc(x, 0) AS DECIMAL(38, 0));
CREATE MACRO pg_session.csm_trunc__1(x) AS CAST(trunc(x, 1) AS DECIMAL(38, 1));
CREATE MACRO pg_session.csm_trunc__2(x) AS CAST(trunc(x, 2) AS DECIMAL(38, 2));
CREATE MACRO pg_session.csm_trunc__3(x) AS CAST(trunc(x, 3) AS DECIMAL(38, 3));
CREATE MACRO pg_session.csm_trunc__4(x) AS CAST(trunc(x, 4) AS DECIMAL(38, 4));
CREATE MACRO pg_session.csm_trunc__5(x) AS CAST(trunc(x, 5) AS DECIMAL(38, 5));
CREATE MACRO pg_session.csm_trunc__6(x) AS CAST(trunc(x, 6) AS DECIMAL(38, 6));
CREATE MACRO pg_session.csm_trunc__7(x) AS CAST(trunc(x, 7) AS DECIMAL(38, 7));
CREATE MACRO pg_session.csm_trunc__8(x) AS CAST(trunc(x, 8) AS DECIMAL(38, 8));
CREATE MACRO pg_session.csm_trunc__9(x) AS CAST(trunc(x, 9) AS DECIMAL(38, 9));
CREATE MACRO pg_session.csm_trunc__10(x) AS CAST(trunc(x, 10) AS DECIMAL(38, 10));
CREATE MACRO pg_session.csm_trunc__11(x) AS CAST(trunc(x, 11) AS DECIMAL(38, 11));
CREATE MACRO pg_session.csm_trunc__12(x) AS CAST(trunc(x, 12) AS DECIMAL(38, 12));
-- Rows, compared up to the first columns that differ, or of which one is NULL.
CREATE MACRO pg_session.csm_operator__row_equal(a, b, w, x) AS a = w AND b = x,
  (a, b, c, w, x, y) AS a = w AND b = x AND c = y,
  (a, b, c, d, w, x, y, z) AS a = w AND b = x AND c = y AND d = z;
CREATE MACRO pg_session.csm_operator__row_unequal(a, b, w, x) AS a <> w OR b <> x,
  (a, b, c, w, x, y) AS a <> w OR b <> x OR c <> y,
  (a, b, c, d, w, x, y, z) AS a <> w OR b <> x OR c <> y OR d <> z;
CREATE MACRO pg_session.csm_operator__row_less(a, b, w, x) AS a < w OR (a = w AND b < x),
  (a, b, c, w, x, y) AS a < w OR (a = w AND (b < x OR (b = x AND c < y))),
  (a, b, c, d, w, x, y, z) AS a < w OR (a = w AND (b < x OR (b = x AND (c < y OR (c = y AND d < z)))));
CREATE MACRO pg_session.csm_operator__row_less_equal(a, b, w, x) AS a < w OR (a = w AND b <= x),
  (a, b, c, w, x, y) AS a < w OR (a = w AND (b < x OR (b = x AND c <= y))),
  (a, b, c, d, w, x, y, z) AS a < w OR (a = w AND (b < x OR (b = x AND (c < y OR (c = y AND d <= z)))));
CREATE MACRO pg_session.csm_operator__row_greater(a, b, w, x) AS a > w OR (a = w AND b > x),
  (a, b, c, w, x, y) AS a > w OR (a = w AND (b > x OR (b = x AND c > y))),
  (a, b, c, d, w, x, y, z) AS a > w OR (a = w AND (b > x OR (b = x AND (c > y OR (c = y AND d > z)))));
CREATE MACRO pg_session.csm_operator__row_greater_equal(a, b, w, x) AS a > w OR (a = w AND b >= x),
  (a, b, c, w, x, y) AS a > w OR (a = w AND (b > x OR (b = x AND c >= y))),
  (a, b, c, d, w, x, y, z) AS a > w OR (a = w AND (b > x OR (b = x AND (c > y OR (c = y AND d >= z)))));
-- A row of a table is NULL if nothing else is in it.
CREATE MACRO pg_session.csm_present(x) AS nullif(CAST(json_merge_patch('{}', to_json(x)) AS VARCHAR), '{}');
-- A NULL where PostgreSQL has an array compares with ANY and ALL as one that has a NULL.
CREATE MACRO pg_session.csm_elements(a) AS coalesce(a, [NULL]);
-- Bytes, of which DuckDB has slices and lengths.
CREATE MACRO pg_compat.bytes_in(x) AS CASE WHEN typeof(x) = 'VARCHAR' THEN pg_compat.bytes_of(CAST(x AS VARCHAR)) ELSE CAST(x AS BLOB) END;
CREATE MACRO pg_compat.byte_at(x, n) AS CASE WHEN n < 0 OR n >= octet_length(x) THEN error('2202E: index ' || n || ' out of valid range, 0..' || octet_length(x) - 1) ELSE n END;
CREATE MACRO pg_session.csm_get_byte(x, n) AS CAST('0x' || hex(pg_compat.bytes_in(x)[pg_compat.byte_at(pg_compat.bytes_in(x), n) + 1:n + 1]) AS INTEGER);
CREATE MACRO pg_session.csm_set_byte(x, n, byte) AS pg_compat.bytes_in(x)[1:pg_compat.byte_at(pg_compat.bytes_in(x), n)] || unhex(printf('%02x', byte & 255)) || pg_compat.bytes_in(x)[n + 2:];
CREATE MACRO pg_session.csm_length__bytea(x) AS CAST(octet_length(x) AS INTEGER);
CREATE MACRO pg_session.csm_bit_length__bytea(x) AS CAST(8 * octet_length(x) AS INTEGER);
CREATE MACRO pg_session.csm_substr__bytea(x, start) AS x[pg_compat.part_start(start):], (x, start, length) AS x[pg_compat.part_start(start):pg_compat.part_start(start) + pg_compat.part_length(start, length) - 1];
CREATE MACRO pg_session.csm_substring__bytea(x, start) AS pg_session.csm_substr__bytea(x, start), (x, start, length) AS pg_session.csm_substr__bytea(x, start, length);
CREATE MACRO pg_compat.before_byte(x, start) AS CASE WHEN start < 1 THEN error('22011: negative substring length not allowed') ELSE x[1:start - 1] END;
CREATE MACRO pg_session.csm_overlay__bytea(x, y, start) AS pg_compat.before_byte(x, start) || y || x[pg_compat.part_start(start + octet_length(y)):],
  (x, y, start, replaced) AS pg_compat.before_byte(x, start) || y || x[pg_compat.part_start(start + replaced):];
-- No byte is found across two.
CREATE MACRO pg_compat.byte_words(x) AS regexp_replace(hex(x), '(..)', '\1,', 'g');
CREATE MACRO pg_session.csm_position__bytea(y, x) AS CAST((instr(pg_compat.byte_words(x), pg_compat.byte_words(y)) + 2) // 3 AS INTEGER);
CREATE MACRO pg_compat.is_utf8(encoding) AS regexp_replace(lower(encoding), '[^a-z0-9]', '', 'g') IN ('utf8', 'unicode') OR error('0A000: encoding "' || encoding || '" is not supported');
CREATE MACRO pg_session.csm_convert_from(x, encoding) AS CASE WHEN pg_compat.is_utf8(encoding) THEN coalesce(try(system.main.decode(pg_compat.bytes_in(x))), CASE WHEN x IS NOT NULL THEN error('22021: invalid byte sequence for encoding "UTF8"') END) END;
CREATE MACRO pg_session.csm_convert_to(x, encoding) AS CASE WHEN pg_compat.is_utf8(encoding) THEN system.main.encode(CAST(x AS VARCHAR)) END;
-- The sum is what the dialect wrote for any number of arguments.
CREATE MACRO pg_session.csm_num_nulls(x) AS x;
CREATE MACRO pg_session.csm_num_nonnulls(x) AS x;
CREATE MACRO pg_session.csm_current_timestamp(n) AS pg_session.csm_timestamptz(now(), n);
CREATE MACRO pg_session.csm_localtimestamp(n) AS pg_session.csm_timestamp(current_localtimestamp(), n);
CREATE MACRO pg_session.csm_localtime(n) AS pg_session.csm_time(current_localtime(), n);
