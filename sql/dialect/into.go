package dialect

import (
	"strings"

	"github.com/csmsql/csmsql/sql/edit"
	"github.com/csmsql/csmsql/sql/lex"
)

// intoTable writes PostgreSQL's SELECT … INTO as the statement that makes a table; other texts stay as they are.
//
//	SELECT a INTO TEMP n FROM t          CREATE TEMP TABLE n AS SELECT a FROM t
func intoTable(read *lex.Text) (string, edit.List) {
	first := read.Next(0)
	if !first.IsAny("select", "with", "(") || !lex.Mentions(read.SQL, "into") {
		return read.SQL, nil
	}
	depth, before := 0, lex.Token{}
	for t := range read.Tokens() {
		switch {
		case t.IsAny("(", "["):
			depth++
		case t.IsAny(")", "]"):
			depth--
		case depth > 0:
		case t.IsAny("union", "intersect", "except"): // INTO belongs to the first one
			return read.SQL, nil
		case t.Is("into"):
			if before.IsAny("insert", "merge") || first.Is("(") {
				return read.SQL, nil
			}
			return intoTableAt(read, t)
		}
		before = t
	}
	return read.SQL, nil
}

// afterTargets are the words that may follow a list of targets.
var afterTargets = strings.Fields("from where group having window order limit offset fetch for union intersect except ;")

func intoTableAt(read *lex.Text, into lex.Token) (string, edit.List) {
	head, at := "CREATE", into.End()
	t := read.Next(at)
	if t.IsAny("local", "global") {
		t = read.Next(t.End())
	}
	if t.IsAny("temp", "temporary", "unlogged") {
		head, t = head+" "+strings.ToUpper(t.Text), read.Next(t.End())
	}
	if t.Is("table") {
		t = read.Next(t.End())
	}
	name, behind := t.Start, t
	for t.Kind == lex.Quoted || t.Kind == lex.Word && !lex.IsReserved(t.Text) {
		at = t.End()
		if behind = read.Next(at); !behind.Is(".") {
			break
		}
		t = read.Next(behind.End())
	}
	if at <= name || behind.Kind != lex.End && !behind.IsAny(afterTargets...) {
		return read.SQL, nil // it is wrong, and will be refused
	}
	edited := edit.New(read.SQL)
	start := read.Next(0).Start
	edited.Replace(start, start, head+" TABLE "+read.SQL[name:at]+" AS ")
	edited.Replace(into.Start, at, "")
	return edited.Text()
}
