package duckdb

import (
	"os"
	"strings"

	"github.com/csmsql/csmsql/internal/invariants"
)

// crashing are functions of DuckDB 1.5.5 that for some arguments end the process, or its database, which no error can be made of: what to write
// instead. They are refused for all arguments, and always: which are harmless depends on how vectors happen to lie.
//
//   - switch reads a map's values as the result's type, which they need not be;
//   - list_where and list_select, and their other names, take a list for flat that is a constant one.
var crashing = map[string]string{
	"switch":       "Write CASE … WHEN … THEN … END.",
	"list_where":   whereHint,
	"array_where":  whereHint,
	"list_select":  selectHint,
	"array_select": selectHint,
}

const (
	whereHint  = "Write list_filter(list, lambda x, i: mask[i])."
	selectHint = "Write list_transform(indexes, lambda i: list[i])."
)

// CrashingVariable is the variable of the environment with which a process whose invariants are checked refuses none of them, for tests of what
// follows a crash.
const CrashingVariable = "CSMSQL_TEST_CRASHING"

func mayCrash() bool { return invariants.Enabled && os.Getenv(CrashingVariable) != "" }

// refuseCrashing refuses SQL that calls one of them.
func (db *Database) refuseCrashing(sql string) error {
	if db.mayCrash {
		return nil
	}
	lower := strings.ToLower(sql)
	for name, instead := range crashing {
		if at := called(lower, name); at >= 0 {
			return &Error{Message: "function " + name + " is not supported: DuckDB may crash in it", State: "0A000", Byte: at, HintText: instead}
		}
	}
	return nil
}

// called gives where in a text, of lower case, a function is called by its name, in quotes or not; -1: nowhere. Strings and comments are left out.
func called(lower, name string) int {
	if !strings.Contains(lower, name) {
		return -1
	}
	for at := 0; at < len(lower); {
		end := at + 1
		switch c := lower[at]; {
		case c == '\'':
			end = stringEnd(lower, at)
		case c == '$' && !isNamePart(lower, at-1):
			end = dollarEnd(lower, at)
		case strings.HasPrefix(lower[at:], "--"), strings.HasPrefix(lower[at:], "/*"):
			end = len(lower) - len(skipBlank(lower[at:]))
		case c == '"':
			if end = quotedEnd(lower, at); strings.ReplaceAll(strings.Trim(lower[at:end], `"`), `""`, `"`) == name && isCall(lower[end:]) {
				return at
			}
		case isNamePart(lower, at):
			for end < len(lower) && isNamePart(lower, end) {
				end++
			}
			if lower[at:end] == name && isCall(lower[end:]) {
				return at
			}
		}
		at = end
	}
	return -1
}

func isCall(rest string) bool { return strings.HasPrefix(skipBlank(rest), "(") }

// stringEnd is where a string ends that begins at a quote. One with E before it has escapes.
func stringEnd(s string, at int) int {
	escapes := at > 0 && s[at-1] == 'e' && !isNamePart(s, at-2)
	for i := at + 1; i < len(s); i++ {
		switch {
		case escapes && s[i] == '\\':
			i++
		case s[i] == '\'' && i+1 < len(s) && s[i+1] == '\'':
			i++
		case s[i] == '\'':
			return i + 1
		}
	}
	return len(s)
}

// dollarEnd is where what begins with a dollar ends: a string between two tags, or a parameter's number.
func dollarEnd(s string, at int) int {
	end := at + 1
	for end < len(s) && s[end] != '$' && isNamePart(s, end) {
		end++
	}
	if end == len(s) || s[end] != '$' || s[at+1] >= '0' && s[at+1] <= '9' {
		return end
	}
	tag := s[at : end+1]
	if n := strings.Index(s[end+1:], tag); n >= 0 {
		return end + 1 + n + len(tag)
	}
	return len(s)
}

// quotedEnd is where a name in quotes ends.
func quotedEnd(s string, at int) int {
	for i := at + 1; i < len(s); i++ {
		if s[i] != '"' {
			continue
		}
		if i+1 == len(s) || s[i+1] != '"' {
			return i + 1
		}
		i++
	}
	return len(s)
}
