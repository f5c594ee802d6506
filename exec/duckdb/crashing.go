package duckdb

import (
	"os"
	"strings"

	"github.com/csmsql/csmsql/internal/invariants"
	"github.com/csmsql/csmsql/sql/lex"
)

// crashing maps functions of DuckDB 1.5.5 that end the process, or its database, for some arguments to what to write
// instead. They are refused for all arguments: which are harmless depends on how vectors happen to lie.
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

// CrashingVariable is the variable of the environment with which a process whose invariants are checked refuses none of
// them, for tests of what follows a crash.
const CrashingVariable = "CSMSQL_TEST_CRASHING"

func mayCrash() bool { return invariants.Enabled && os.Getenv(CrashingVariable) != "" }

// refuseCrashing refuses SQL that calls one of them.
func (db *Database) refuseCrashing(sql string) error {
	if db.mayCrash {
		return nil
	}
	folded := lex.Fold(sql)
	for name, instead := range crashing {
		if at := called(folded, name); at >= 0 {
			return &Error{Message: "function " + name + " is not supported: DuckDB may crash in it", State: "0A000", Byte: at, HintText: instead}
		}
	}
	return nil
}

// called gives where in a folded text a function is called by its name, in quotes or not; -1: nowhere. Strings and
// comments are left out.
func called(folded, name string) int {
	if !strings.Contains(folded, name) && !strings.Contains(folded, `u&"`) {
		return -1
	}
	before := lex.Token{}
	for t := range lex.DuckDB.Tokens(folded) {
		if t.Is("(") && (before.Kind == lex.Word || before.Kind == lex.Quoted) {
			if callee, _ := before.Name(); lex.Same(callee, name) {
				return before.Start
			}
		}
		before = t
	}
	return -1
}
