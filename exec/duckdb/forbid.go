package duckdb

import (
	"cmp"
	"strings"

	"github.com/csmsql/csmsql/sql/lex"
)

// Two functions of DuckDB reach through every locked setting, can be called in any SELECT, and cannot be dropped or
// overridden: enable_logging redirects the whole process' log to a file (with a file that may not be written every
// later statement of every session fails and closing a connection ends the process: DuckDB 1.5.5 throws in a
// destructor), and query runs SQL made of pieces, so that the first could hide in it. So the text is searched for them,
// unless FileAccess.All.
//
// Others change DuckDB for all sessions of the process, by a call in any SELECT: which parser reads their statements,
// what is logged.
//
// The search errs on the safe side: a string literal with such a name in it is refused too.
//
// testdata/functions.txt says of every function what it is to a client; a test holds it against DuckDB and this list.
var forbiddenNames = []string{
	"enable_logging",
	"json_execute_serialized_sql", // SQL in disguise
	"enable_peg_parser", "disable_peg_parser", "disable_logging", "truncate_duckdb_logs", "enable_profiling",
	"disable_profiling", "force_checkpoint",
	`u&"`, // any name in disguise
}

// forbiddenCalls are refused where they are called: arrow_scan reads memory at an address, and read_duckdb attaches a
// database for a statement.
var forbiddenCalls = []string{"arrow_scan", "arrow_scan_dumb", "read_duckdb"}

// forbidden gives the name in sql that may not be used, or "".
func forbidden(sql string) string {
	folded := lex.Fold(sql)
	for _, name := range forbiddenNames {
		if strings.Contains(folded, name) {
			return name
		}
	}
	for _, name := range forbiddenCalls {
		if called(folded, name) >= 0 {
			return name
		}
	}
	if callsQuery(folded) {
		return "query"
	}
	return ""
}

// callsQuery looks for the name and a bracket behind it, wherever they stand.
func callsQuery(folded string) bool {
	const name = "query"
	for at := 0; ; {
		i := strings.Index(folded[at:], name)
		if i < 0 {
			return false
		}
		start := at + i
		at = start + len(name)
		end := at
		if strings.HasPrefix(folded[end:], `"`) {
			end++
		}
		// A byte of a character of several may end a name or a wide space.
		partOfName := start > 0 && folded[start-1] < 0x80 && lex.IsNamePart(folded[start-1])
		if !partOfName && lex.DuckDB.Next(folded, end).Is("(") {
			return true
		}
	}
}

// check refuses SQL that may not even be planned.
func (c *Connection) check(sql string) error {
	if c.ours {
		return nil
	}
	if err := cmp.Or(c.db.refuseCrashing(sql), c.db.before(c, sql)); err != nil || c.db.allFiles {
		return err
	}
	if setsMemory(sql) {
		return &Error{Message: "permission denied: the memory that queries have is the node's to set", State: "42501", Byte: -1}
	}
	if name := forbidden(sql); name != "" {
		return &Error{Message: "permission denied: " + name + " cannot be used here", State: "42501", Byte: -1}
	}
	return nil
}
