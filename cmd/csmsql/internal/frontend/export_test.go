package frontend

import (
	"errors"
	"strings"

	pg "github.com/pganalyze/pg_query_go/v6"
)

// For tests.
var (
	EngineValue = engineValue
)

// Places shows what the tree says about parameters: their types, and by place whether it is anchored (a), an array of
// members (m), beside a column in arithmetic (b) or none of these (-).
func Places(tree *pg.ParseResult) (types map[int32]uint32, places string) {
	f := findParameters(tree)
	for _, p := range f.list {
		switch {
		case p.anchored:
			places += "a"
		case p.members:
			places += "m"
		case p.beside != "":
			places += "b"
		default:
			places += "-"
		}
	}
	return f.types, places
}

// Edited applies edits, given as pairs of a word and its replacement, and maps a position back.
func Edited(text string, pairs [][2]string, position int) (string, int) {
	var list []replacement
	for _, p := range pairs {
		at := strings.Index(text, p[0])
		list = append(list, replacement{at, at + len(p[0]), p[1]})
	}
	changed := rewrite(text, list)
	err := changed.place(&moved{errors.New("nothing"), position})
	var placed interface{ Position() int }
	errors.As(err, &placed)
	return changed.given, placed.Position()
}

// NumericLiterals is a statement with its literals of numeric rewritten.
func NumericLiterals(tree *pg.ParseResult, sql string) string {
	return rewrite(sql, numericLiterals(tree, sql)).given
}

// MayHaveNumerics is the look at a text that is taken first.
func MayHaveNumerics(sql string) bool { return mayHaveNumerics(sql) }
