package notation

import (
	"strings"

	"github.com/csmsql/csmsql/sql/lex"
)

// elements are the types of whose arrays PostgreSQL's catalog has names that begin with _, which drivers take from
// there and write behind :: and in CAST.
var elements = map[string]bool{
	"bool": true, "bpchar": true, "bytea": true, "date": true, "float4": true, "float8": true, "int2": true, "int4": true,
	"int8": true, "interval": true, "json": true, "jsonb": true, "name": true, "numeric": true, "oid": true, "text": true,
	"time": true, "timestamp": true, "timestamptz": true, "timetz": true, "uuid": true, "varchar": true,
}

// arrayTypes reads a text's tokens one after the other.
type arrayTypes struct {
	before [2]lex.Token // the last one first
	casts  []bool       // of the parentheses that are open: CAST's
}

// spelled is the spelling with brackets of a token that names the type of arrays; empty: it does not.
func (a *arrayTypes) spelled(t lex.Token) string {
	before, casts := a.before, len(a.casts)
	a.before = [2]lex.Token{t, before[0]}
	switch {
	case t.Is("("):
		a.casts = append(a.casts, before[0].IsAny("cast", "try_cast"))
	case t.Is(")") && casts > 0:
		a.casts = a.casts[:casts-1]
	case t.Kind == lex.Word || t.Kind == lex.Quoted:
		name, _ := t.Name()
		if t.Kind == lex.Word {
			name = lex.Fold(name)
		}
		element, found := strings.CutPrefix(name, "_")
		colons := before[0].Is(":") && before[1].Is(":") && before[0].Start == before[1].End()
		if found && elements[element] && (colons || before[0].Is("as") && casts > 0 && a.casts[casts-1]) {
			return element + "[]"
		}
	}
	return ""
}
