#!/bin/sh
# Writes the static contents of the catalogs from a running PostgreSQL 15, whose connection psql finds in its environment:
#   PGHOST=… PGPORT=… PGUSER=… PGDATABASE=… data/extract.sh
# Run it in an empty database: what users made is left out by object ID, but settings are the server's.
# Files are in COPY's text format with a header line, so that a change is a readable diff.
set -eu
cd "$(dirname "$0")"

copy() { psql -X -q -v ON_ERROR_STOP=1 -c "COPY ($2) TO STDOUT (HEADER)" > "$1.tsv"; }

# Every column of every system table and view; relations without a file of rows are made as empty tables.
copy columns "SELECT n.nspname AS schema, n.oid AS schema_oid, c.oid AS relation_oid, c.relname AS relation, c.relkind AS kind, c.reltype AS row_type,
    a.attnum AS number, a.attname AS name, t.oid AS type_oid, t.typname AS type, a.attnotnull AS not_null
  FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace JOIN pg_attribute a ON a.attrelid = c.oid JOIN pg_type t ON t.oid = a.atttypid
  WHERE n.nspname IN ('pg_catalog', 'information_schema') AND c.relkind IN ('r', 'v') AND a.attnum > 0 AND c.oid < 16384
    AND c.relname NOT LIKE '\_pg\_%' ORDER BY n.nspname DESC, c.relname, a.attnum"

# How format_type shows a type: what stands before and after the modifier, and what kind of modifier it takes.
copy type_display "SELECT t.oid, CASE WHEN t.oid = 1042 THEN 'bpchar' ELSE format_type(t.oid, -1) END AS bare,
    CASE WHEN e.typname LIKE 'time%' THEN regexp_replace(format_type(t.oid, NULL), ' with.*|\[\]$', '', 'g') ELSE regexp_replace(format_type(t.oid, NULL), '\[\]$', '') END AS before,
    CASE WHEN e.typname LIKE 'time%' THEN substring(format_type(t.oid, NULL) from ' with.*') ELSE substring(format_type(t.oid, NULL) from '\[\]$') END AS after,
    CASE e.typname WHEN 'numeric' THEN 'n' WHEN 'bpchar' THEN 'c' WHEN 'varchar' THEN 'c' WHEN 'bit' THEN 'p' WHEN 'varbit' THEN 'p'
      WHEN 'time' THEN 'p' WHEN 'timetz' THEN 'p' WHEN 'timestamp' THEN 'p' WHEN 'timestamptz' THEN 'p' END AS modifier
  FROM pg_type t JOIN pg_type e ON e.oid = CASE WHEN t.typcategory = 'A' AND t.typelem <> 0 THEN t.typelem ELSE t.oid END
  WHERE t.oid < 16384 AND t.typnamespace <> 'pg_toast'::regnamespace ORDER BY t.oid"

copy pg_type "SELECT oid, typname, typnamespace, typowner, typlen, typbyval, typtype, typcategory, typispreferred, typisdefined, typdelim,
    typrelid, typsubscript::oid, typelem, typarray, typinput::oid, typoutput::oid, typreceive::oid, typsend::oid, typmodin::oid, typmodout::oid, typanalyze::oid,
    typalign, typstorage, typnotnull, typbasetype, typtypmod, typndims, typcollation
  FROM pg_type WHERE oid < 16384 AND typnamespace <> 'pg_toast'::regnamespace ORDER BY oid"
# Functions of the selection below that cannot be called here, one object ID on a line; a test of package engine names those that are missing.
uncallable="'{$(paste -sd, uncallable.txt)}'::oid[]"
copy pg_proc "SELECT oid, proname, pronamespace, proowner, prolang, procost, prorows, provariadic, prosupport::oid, prokind, prosecdef, proleakproof, proisstrict, proretset,
    provolatile, proparallel, pronargs, pronargdefaults, prorettype, proargtypes, proallargtypes, proargmodes, proargnames, prosrc
  FROM pg_proc WHERE oid < 16384 AND oid <> ALL ($uncallable) AND (oid IN (SELECT unnest(ARRAY[typsubscript::oid, typinput, typoutput, typreceive, typsend, typmodin, typmodout, typanalyze]) FROM pg_type)
    OR oid IN (SELECT castfunc FROM pg_cast)
    OR (pronamespace = 'pg_catalog'::regnamespace AND (prokind = 'a' AND proname IN ('count','sum','min','max','avg','string_agg','array_agg','bool_and','bool_or','stddev','variance')
      OR proname IN ('abs','ceil','floor','round','sqrt','power','exp','ln','length','lower','upper','substring','replace','strpos','left','right','concat','concat_ws',
        'coalesce','now','date_part','date_trunc','age','version','current_database','current_schema','pg_backend_pid','pg_get_viewdef','format_type','random','md5','to_char',
        'regexp_replace','split_part','generate_series','unnest','array_length','pg_sleep','pg_size_pretty','pg_relation_size','pg_total_relation_size','set_config','current_setting')))) ORDER BY oid"
# What functions of pg_proc.tsv take and give, as psql shows it.
copy function_display "SELECT oid, pg_get_function_arguments(oid) AS arguments, pg_get_function_identity_arguments(oid) AS identity_arguments, pg_get_function_result(oid) AS result
  FROM pg_proc WHERE oid < 16384 AND oid = ANY('{$(tail -n +2 pg_proc.tsv | cut -f1 | paste -sd,)}') ORDER BY oid"
copy pg_keywords "SELECT word, catcode, barelabel, catdesc, baredesc FROM pg_get_keywords() ORDER BY word"
copy pg_am "SELECT oid, amname, amhandler::oid, amtype FROM pg_am ORDER BY oid"
copy pg_language "SELECT oid, lanname, lanowner, lanispl, lanpltrusted, lanplcallfoid, laninline, lanvalidator FROM pg_language WHERE oid < 16384 ORDER BY oid"
copy pg_collation "SELECT oid, collname, collnamespace, collowner, collprovider, collisdeterministic, collencoding, collcollate, collctype FROM pg_collation
  WHERE collname IN ('default', 'C', 'POSIX', 'ucs_basic') ORDER BY oid"
copy pg_range "SELECT rngtypid, rngsubtype, rngmultitypid, rngcollation, rngsubopc, rngcanonical::oid, rngsubdiff::oid FROM pg_range ORDER BY 1"
# A cast whose function cannot be called is shown as one that goes through text.
copy pg_opclass "SELECT oid, opcmethod, opcname, opcnamespace, opcowner, opcfamily, opcintype, opcdefault, opckeytype FROM pg_opclass
  WHERE opcmethod IN (SELECT oid FROM pg_am WHERE amname IN ('btree', 'hash')) ORDER BY oid"
copy pg_cast "SELECT oid, castsource, casttarget, CASE WHEN castfunc = ANY ($uncallable) THEN 0 ELSE castfunc END AS castfunc, castcontext,
    CASE WHEN castfunc = ANY ($uncallable) THEN 'i' ELSE castmethod END AS castmethod FROM pg_cast WHERE oid < 16384 ORDER BY oid"
copy pg_authid "SELECT oid, rolname, rolsuper, rolinherit, rolcreaterole, rolcreatedb, rolcanlogin, rolreplication, rolbypassrls, rolconnlimit FROM pg_authid WHERE oid < 16384 ORDER BY oid"
copy pg_auth_members "SELECT roleid, member, grantor, admin_option FROM pg_auth_members WHERE member < 16384 ORDER BY 1, 2"
copy pg_tablespace "SELECT oid, spcname, spcowner FROM pg_tablespace WHERE oid < 16384 ORDER BY oid"
copy pg_namespace "SELECT oid, nspname, nspowner FROM pg_namespace WHERE oid < 16384 AND nspname NOT IN ('public', 'pg_toast') ORDER BY oid"
copy pg_description "SELECT objoid, classoid, objsubid, description FROM pg_description
  WHERE classoid IN ('pg_namespace'::regclass, 'pg_type'::regclass, 'pg_am'::regclass, 'pg_language'::regclass)
    OR (classoid = 'pg_proc'::regclass AND objoid = ANY('{$(tail -n +2 pg_proc.tsv | cut -f1 | paste -sd,)}')) ORDER BY classoid, objoid"
copy pg_shdescription "SELECT objoid, classoid, description FROM pg_shdescription WHERE objoid = 1 ORDER BY 1"
