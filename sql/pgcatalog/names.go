package pgcatalog

import (
	"slices"
	"strings"
)

// ownTables are the temporary tables of every connection.
var ownTables = []string{
	"csm_schema", "csm_relation", "csm_column", "csm_constraint", "csm_index", "csm_index_column", "csm_sequences",
	"csm_comment", "csm_type", "csm_label", "csm_function", "csm_parameter",
}

// Patterns of the names that no statement of a user may reach, for expressions that begin with (?i).
var (
	// OwnDatabases are the images, and the databases of sessions whose blocks show names of their own.
	OwnDatabases = functions + "|" + catalogs + `|csm_block_\d+`
	OwnSchemas   = "pg_compat|pg_quiet|pg_session|information_compat"
	// OwnNames are all of them, with the temporary tables. The macro pg_compat.given_name has it, too.
	OwnNames = OwnDatabases + "|" + OwnSchemas + "|" + strings.Join(ownTables, "|")
)

// OwnTables are the temporary tables as a list in SQL. The macro pg_compat.is_shown_table has it, too.
var OwnTables = "('" + strings.Join(ownTables, "', '") + "')"

// IsOwnTable reports whether one of the temporary tables has the name.
func IsOwnTable(name string) bool { return slices.Contains(ownTables, strings.ToLower(name)) }
