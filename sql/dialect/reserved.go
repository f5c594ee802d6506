package dialect

import (
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/csmsql/csmsql/sql/pgcatalog"
	"github.com/csmsql/csmsql/sql/sqlerror"
	"github.com/csmsql/csmsql/sql/statement"
)

// What the engine keeps in DuckDB for itself has no name for users. Their texts are checked before they are planned:
// DuckDB would find the name, and cannot distinguish a user's text from the engine's. What is written for DuckDB in
// their place may use such names.
//
// A name that is computed, as in query_table('csm_' || 'relation'), is not found here. The functions that take one
// check it themselves (pgcatalog).

// RefuseReserved is the error of a text that names what is the engine's own: the one that it would get if there were no
// such thing.
func RefuseReserved(parsed *statement.Statement) error {
	if !mayBeReserved(parsed.Text) {
		return nil
	}
	if made := madeName(parsed.Head); pgcatalog.IsOwnTable(made) {
		return sqlerror.New("42939", "unacceptable relation name %q", made).WithHint("The node keeps a table of this name in every session for itself.")
	}
	words := parsed.Words()
	dynamic := strings.EqualFold(words[0].Name, "show") // SHOW TABLES FROM takes schemas, and takes them as strings
	for _, w := range words {
		name := strings.ToLower(w.Name)
		dynamic = dynamic || !w.Literal && (name == "query_table" || strings.HasPrefix(name, "pragma_"))
	}
	for i, w := range words {
		var e *sqlerror.Error
		if w.Literal {
			e = reservedString(w, dynamic)
		} else if e = reservedWord(w, words[i+1:]); e == nil && dynamic {
			e = reservedString(w, reservedSchemas.MatchString(w.Name))
		}
		if e != nil {
			e.At = utf8.RuneCountInString(parsed.Text[:w.At]) + 1
			return e
		}
	}
	return nil
}

// mayBeReserved is a cheap check, which is false for most texts: reserved names have an underscore behind one of a few
// words.
func mayBeReserved(text string) bool {
	for at := 0; ; at++ {
		i := strings.IndexByte(text[at:], '_')
		if i < 0 {
			return false
		}
		at += i
		for _, word := range []string{"csm", "pg", "compat", "information", "duckdb", "query", "pragma"} {
			if at >= len(word) && strings.EqualFold(text[at-len(word):at], word) {
				return true
			}
		}
	}
}

var (
	reservedDatabases = regexp.MustCompile(`^(?i:` + pgcatalog.OwnDatabases + `)$`)
	reservedSchemas   = regexp.MustCompile(`^(?i:` + pgcatalog.OwnSchemas + `)$`)
	reservedFunctions = regexp.MustCompile(`^(?i:csm_scan|csm_table)$`)
	// hidingFunctions are DuckDB's own lists, and functions that take names; we have others of the name, which leave
	// out what is ours.
	hidingFunctions = regexp.MustCompile(`^(?i:duckdb_(?:databases|schemas|tables|views|columns|constraints|types|functions|variables|table_sample)|query_table|pragma_(?:table_info|show|storage_info))$`)
	reservedInside  = regexp.MustCompile(`(?i:\b(?:` + pgcatalog.OwnNames + `)\b)`)
)

// reservedWord looks at one identifier; behind are those that follow.
func reservedWord(w statement.Word, behind []statement.Word) *sqlerror.Error {
	qualified := w.Name
	for before := w; before.After == "." && len(behind) > 0; behind = behind[1:] {
		before = behind[0]
		qualified += "." + before.Name
	}
	switch {
	case w.Before == "as":
	case reservedDatabases.MatchString(w.Name):
		return sqlerror.New("3D000", "database %q does not exist", w.Name)
	case reservedSchemas.MatchString(w.Name) && w.After == ".":
		return sqlerror.New("42P01", "relation %q does not exist", qualified)
	case reservedSchemas.MatchString(w.Name) && strings.EqualFold(w.Qualifier, "csmsql"):
		return sqlerror.New("3F000", "schema %q does not exist", w.Name)
	case reservedFunctions.MatchString(w.Name) && w.After == "(", hidingFunctions.MatchString(w.Name) && w.Before == ".":
		return sqlerror.New("42883", "function %s does not exist", w.Name)
	case pgcatalog.IsOwnTable(w.Name) && (w.Qualifier == "" || isTemporaryQualifier(w.Qualifier)):
		return sqlerror.New("42P01", "relation %q does not exist", w.Name)
	}
	return nil
}

func isTemporaryQualifier(name string) bool {
	return strings.EqualFold(name, "temp") || strings.EqualFold(name, "pg_temp") || strings.EqualFold(name, "main")
}

// tableWords stand before a relation's name, which in DuckDB's dialect may be a string.
var tableWords = map[string]bool{"from": true, "join": true, ",": true, "describe": true, "desc": true, "summarize": true, "show": true, "table": true, "pivot": true, "unpivot": true, "into": true, "update": true}

// reservedString looks at a string, which names a relation behind some words, and, if dynamic, as a function's
// argument.
func reservedString(w statement.Word, dynamic bool) *sqlerror.Error {
	if dynamic && reservedInside.MatchString(w.Name) || tableWords[w.Before] && pgcatalog.IsOwnTable(w.Name) && w.Before != "," {
		return sqlerror.New("42P01", "relation %q does not exist", w.Name)
	}
	return nil
}
