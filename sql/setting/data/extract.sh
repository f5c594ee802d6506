#!/usr/bin/env bash
# Makes postgresql.tsv, the settings of PostgreSQL 15, from a running server of that version: PGHOST and the like say which.
# Left out are what a distribution adds (extension_destdir) and what a minor version added (restrict_nonsystem_relation_kind):
# the server reports version 15.0 to clients.
set -euo pipefail
cd "$(dirname "$0")"
psql -XAtq -F $'\t' -P null='\N' -c "COPY (SELECT name, boot_val, unit, category, short_desc, extra_desc, context, vartype, min_val, max_val, enumvals
  FROM pg_settings WHERE name NOT IN ('extension_destdir', 'restrict_nonsystem_relation_kind') ORDER BY lower(name) COLLATE \"C\")
  TO STDOUT" | { printf 'name\tboot_val\tunit\tcategory\tshort_desc\textra_desc\tcontext\tvartype\tmin_val\tmax_val\tenumvals\n'; cat; } >postgresql.tsv
