package duckdb

import "strings"

// Two functions of DuckDB reach through every locked setting, can be called in any SELECT, and cannot be dropped or
// overridden: enable_logging redirects the whole process' log to a file (with a file that may not be written every later
// statement of every session fails and closing a connection ends the process: DuckDB 1.5.5 throws in a destructor), and
// query runs SQL made of pieces, so that the first could hide in it. So the text is searched for them, unless FileAccess.All.
//
// Others change DuckDB for all sessions of the process, by a call in any SELECT: which parser reads their statements, what is logged.
//
// The search errs on the safe side: a string literal with such a name in it is refused too.
//
// testdata/functions.txt says of every function what it is to a client; a test holds it against DuckDB and this list.
var forbiddenNames = []string{
	"enable_logging",
	"json_execute_serialized_sql", // SQL in disguise
	"enable_peg_parser", "disable_peg_parser", "disable_logging", "truncate_duckdb_logs", "enable_profiling", "disable_profiling", "force_checkpoint",
	`u&"`, // any name in disguise
}

// forbiddenCalls are refused where they are called: arrow_scan reads memory at an address, and read_duckdb attaches a database for a statement.
var forbiddenCalls = []string{"arrow_scan", "arrow_scan_dumb", "read_duckdb"}

// forbidden gives the name in sql that may not be used, or "".
func forbidden(sql string) string {
	lower := strings.ToLower(sql)
	for _, name := range forbiddenNames {
		if strings.Contains(lower, name) {
			return name
		}
	}
	for _, name := range forbiddenCalls {
		if called(lower, name) >= 0 {
			return name
		}
	}
	for rest := lower; ; {
		_, after, found := strings.Cut(rest, "query")
		if !found {
			return ""
		}
		rest = after
		if called := skipBlank(strings.TrimPrefix(after, `"`)); strings.HasPrefix(called, "(") && !isNamePart(lower, len(lower)-len(after)-len("query")-1) {
			return "query"
		}
	}
}

func isNamePart(s string, at int) bool {
	if at < 0 {
		return false
	}
	c := s[at]
	return c == '_' || c == '$' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 0x80
}

// wideSpaces are what DuckDB takes for spaces beside ASCII's. It replaces them before it reads a text.
var wideSpaces = strings.Split("\u00a0 \u2000 \u2001 \u2002 \u2003 \u2004 \u2005 \u2006 \u2007 \u2008 \u2009 \u200a \u200b \u202f \u205f \u2060 \u3000 \ufeff", " ")

// narrowSpaces is sql with ASCII's spaces in the place of others, each as many as it had bytes, so that positions stay.
var narrowSpaces = func() *strings.Replacer {
	var pairs []string
	for _, wide := range wideSpaces {
		pairs = append(pairs, wide, strings.Repeat(" ", len(wide)))
	}
	return strings.NewReplacer(pairs...)
}()

// skipBlank cuts white space of ASCII and comments, which nest, off the start of s.
func skipBlank(s string) string {
	for {
		trimmed := strings.TrimLeft(s, " \t\r\n\f\v")
		switch {
		case strings.HasPrefix(trimmed, "--"):
			trimmed = strings.TrimLeftFunc(trimmed, func(r rune) bool { return r != '\n' && r != '\r' })
		case strings.HasPrefix(trimmed, "/*"):
			trimmed = skipComment(trimmed[2:])
		case trimmed == s:
			return s
		}
		s = trimmed
	}
}

func skipComment(s string) string {
	for depth := 1; depth > 0 && s != ""; {
		switch {
		case strings.HasPrefix(s, "*/"):
			depth, s = depth-1, s[2:]
		case strings.HasPrefix(s, "/*"):
			depth, s = depth+1, s[2:]
		default:
			s = s[1:]
		}
	}
	return s
}

// check refuses SQL that may not even be planned.
func (c *Connection) check(sql string) error {
	if strings.ContainsFunc(sql, func(r rune) bool { return r >= 0x80 }) {
		sql = narrowSpaces.Replace(sql)
	}
	if err := c.db.refuseCrashing(sql); err != nil {
		return err
	}
	if c.db.allFiles || c.ours {
		return nil
	}
	if setsMemory(sql) {
		return &Error{Message: "permission denied: the memory that queries have is the node's to set", State: "42501", Byte: -1}
	}
	if name := forbidden(sql); name != "" {
		return &Error{Message: "permission denied: " + name + " cannot be used here", State: "42501", Byte: -1}
	}
	return nil
}
