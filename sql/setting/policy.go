package setting

import "slices"

// kept are the settings whose values all have their effect, each shown by a test of package engine, wire or cmd/csmsql.
var kept = []string{
	"application_name", "client_connection_check_interval", "client_min_messages", "DateStyle", "default_transaction_deferrable",
	"default_transaction_isolation", "default_transaction_read_only", "idle_in_transaction_session_timeout", "idle_session_timeout",
	"lock_timeout", "plan_cache_mode", "search_path", "statement_timeout", "TimeZone", "transaction_deferrable", "transaction_isolation",
	"transaction_read_only",
}

// defaults are those that are not PostgreSQL's own: what is done here, and what a server says of itself.
var defaults = map[string]string{
	"client_encoding": "UTF8", "server_encoding": "UTF8", "server_version": "15.0", "server_version_num": "150000",
	"TimeZone": "Etc/UTC", "log_timezone": "Etc/UTC", "search_path": "public", "max_connections": "100",
	"lc_collate": "C.UTF-8", "lc_ctype": "C.UTF-8", "lc_messages": "C.UTF-8", "lc_monetary": "C.UTF-8", "lc_numeric": "C.UTF-8", "lc_time": "C.UTF-8",
	"jit": "off", "synchronize_seqscans": "off", "max_stack_depth": "2048", "timezone_abbreviations": "Default",
}

// possible are more values of fixed settings that change nothing here, beside the default.
var possible = map[string][]string{
	"backslash_quote":       {"on"},                                      // the encoding of every client is a safe one
	"check_function_bodies": {"off"},                                     // a body that is wrong is an error all the same: scripts of pg_dump say it
	"escape_string_warning": {"off"},                                     // it is about strings that do not conform to the standard, and all do
	"extra_float_digits":    {"2", "3"},                                  // each of them gives the shortest text that is exact
	"row_security":          {"off"},                                     // no table has policies
	"lc_messages":           {"C", "POSIX", "en_US.UTF-8", "en_US.utf8"}, // messages are English
	"lc_monetary":           {"C", "POSIX"},
	"lc_numeric":            {"C", "POSIX"},
	"lc_time":               {"C", "POSIX"},
}

// advice says what to do instead of setting a fixed setting.
var advice = map[string]string{
	"bytea_output":                    "Bytes are shown in hexadecimal; encode(column, 'escape') shows them otherwise.",
	"client_encoding":                 "Only UTF8 is supported: set client_encoding (or PGCLIENTENCODING) to UTF8.",
	"extra_float_digits":              "Numbers are shown exactly; round(column, digits) shows fewer digits.",
	"IntervalStyle":                   "Use extract(…) and to_char(…) for another style.",
	"default_tablespace":              "There are no tablespaces: WITH (placement = …) says where a table lies.",
	"jit":                             "There is nothing that it would compile.",
	"maintenance_work_mem":            "The node's --memory bounds all queries together.",
	"max_parallel_workers_per_gather": "The node's --threads says how many threads a query has.",
	"quote_all_identifiers":           "Names are quoted where they need it.",
	"role":                            "There is one role, which may do everything.",
	"seed":                            "SELECT setseed(…) does it.",
	"session_authorization":           "There is one role, which may do everything.",
	"session_replication_role":        "There are no triggers and no replication.",
	"standard_conforming_strings":     "Write backslash escapes as E'…'.",
	"synchronize_seqscans":            "Scans begin at a table's first row.",
	"synchronous_commit":              "Every commit is durable when it returns.",
	"temp_tablespaces":                "There are no tablespaces.",
	"transform_null_equals":           "Write IS NULL.",
	"work_mem":                        "The node's --memory bounds all queries together, which spill beyond it.",
}

// decide gives a setting of PostgreSQL's list its place here.
func (s *Setting) decide() {
	if value, ok := defaults[s.Name]; ok {
		s.Default = value
	}
	switch {
	case s.Policy == Kept || slices.Contains(kept, s.Name):
		s.Policy = Kept
	case s.Context == "user" || s.Context == "superuser" || s.Context == "backend" || s.Context == "superuser-backend":
		s.Policy = Fixed
		s.Possible = append([]string{s.Default}, possible[s.Name]...)
		s.Advice = advice[s.Name]
	}
}

// lists are the settings whose value is a list of words; quotedLists those whose words are names.
var (
	lists = map[string]bool{
		"DateStyle": true, "search_path": true, "temp_tablespaces": true, "local_preload_libraries": true, "session_preload_libraries": true,
		"wal_consistency_checking": true, "csm.disable": true,
	}
	quotedLists = map[string]bool{"search_path": true, "temp_tablespaces": true, "local_preload_libraries": true, "session_preload_libraries": true}
)

// synonyms are words that PostgreSQL takes and does not list.
var synonyms = map[string]map[string]string{
	"client_min_messages": {"debug": "debug2", "info": "notice", "fatal": "error", "panic": "error"},
	"default_order":       {"ascending": "asc", "descending": "desc"}, // these and the next: DuckDB's
	"default_null_order": {
		"nulls last": "nulls_last", "null last": "nulls_last", "last": "nulls_last",
		"nulls first": "nulls_first", "null first": "nulls_first", "first": "nulls_first",
		"sqlite": "nulls_first_on_asc_last_on_desc", "mysql": "nulls_first_on_asc_last_on_desc",
		"postgres": "nulls_last_on_asc_first_on_desc",
	},
}
