#!/bin/sh
# Writes the names that PostgreSQL 15 has, from a running server whose connection psql finds in its environment. TestSQLListIsWhole looks for
# each of them in docs/sql.md. Functions that stand behind operators, types, casts, indexes and aggregates are left out: clients do not call them.
set -eu
cd "$(dirname "$0")"
names() { psql -X -At -c "$2" > "$1.txt"; }
names settings "SELECT name FROM pg_settings ORDER BY lower(name)"
names operators "SELECT DISTINCT oprname FROM pg_operator ORDER BY 1"
names types "SELECT typname FROM pg_type WHERE typtype IN ('b', 'p', 'r', 'm', 'd') AND typcategory <> 'A' AND typrelid = 0 ORDER BY 1"
names functions "SELECT DISTINCT proname FROM pg_proc WHERE pronamespace = 'pg_catalog'::regnamespace
  AND oid NOT IN (SELECT oprcode FROM pg_operator) AND oid NOT IN (SELECT castfunc FROM pg_cast) AND oid NOT IN (SELECT amproc FROM pg_amproc)
  AND oid NOT IN (SELECT unnest(ARRAY[typinput, typoutput, typreceive, typsend, typmodin, typmodout, typanalyze, typsubscript::oid]) FROM pg_type)
  AND oid NOT IN (SELECT unnest(ARRAY[aggtransfn, aggfinalfn, aggcombinefn, aggserialfn, aggdeserialfn, aggmtransfn, aggminvtransfn, aggmfinalfn]::oid[]) FROM pg_aggregate)
  AND NOT (proargtypes::oid[] && ARRAY[2281::oid]) AND prorettype NOT IN (2281, 2279)
  AND proname !~ '^(RI_|binary_upgrade|gbt|gin|brin|spg|gist|bt|hash|pg_lsn_|.*(sel|joinsel|support)\$)' ORDER BY 1"
# The words in capitals of each command's synopsis, by psql's own help.
psql -X -c '\h *' | awk '
  /^Command:/ { sub(/^Command: +/, ""); command = $0; on = 0; next }
  /^Syntax:/ { on = 1; next }
  /^URL:/ { on = 0 }
  on { while (match($0, /[A-Za-z_]+/)) { word = substr($0, RSTART, RLENGTH); $0 = substr($0, RSTART + RLENGTH); if (word ~ /^[A-Z][A-Z_]*[A-Z]$/) print command ": " word } }' |
  LC_ALL=C sort -u | awk -F': ' '$1 != last { if (last != "") print ""; printf "%s:", $1; last = $1 } { printf " %s", $2 } END { print "" }' > synopses.txt
