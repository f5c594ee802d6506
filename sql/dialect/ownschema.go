package dialect

import (
	"strings"

	"github.com/csmsql/csmsql/sql/edit"
	"github.com/csmsql/csmsql/sql/lex"
)

// ownSchema writes pg_temp, where PostgreSQL has what is temporary, as DuckDB calls it.
//
//	SELECT * FROM pg_temp.n              SELECT * FROM temp.n
//	CREATE TABLE pg_temp.n (a int)       CREATE TEMP TABLE n (a int)
func ownSchema(read *lex.Text) (string, edit.List) {
	if !lex.Mentions(read.SQL, "pg_temp") {
		return read.SQL, nil
	}
	edited := edit.New(read.SQL)
	kind, made, declared := Making(read)
	before := lex.Token{}
	for t := range read.Tokens() {
		dot := read.Next(t.End())
		switch name, ok := t.Name(); {
		case !ok || t.Kind == lex.String || !dot.Is(".") || before.Is("."):
		case name != "pg_temp" && (t.Kind != lex.Word || !strings.EqualFold(name, "pg_temp")):
		case t.Start != made:
			edited.Replace(t.Start, t.End(), "temp")
		case declared:
			edited.Replace(t.Start, dot.End(), "")
		default:
			edited.Replace(kind, kind, "TEMP ")
			edited.Replace(t.Start, dot.End(), "")
		}
		before = t
	}
	return edited.Text()
}

// Making finds where a text says what it makes, a table, a view or a sequence, and where its name begins. declared: it
// says that it is temporary. Both are -1 if it makes none.
func Making(read *lex.Text) (kind, name int, declared bool) {
	t := read.Next(0)
	if !t.Is("create") {
		return -1, -1, false
	}
	const modes = 8 // there are fewer
	for range modes {
		if t = read.Next(t.End()); t.IsAny("temp", "temporary") {
			declared = true
		} else if !t.IsAny("or", "replace", "local", "global", "unlogged", "recursive") {
			break
		}
	}
	if !t.IsAny("table", "view", "sequence") {
		return -1, -1, false
	}
	kind = t.Start
	for t = read.Next(t.End()); t.IsAny("if", "not", "exists"); {
		t = read.Next(t.End())
	}
	return kind, t.Start, declared
}
