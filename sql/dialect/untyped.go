package dialect

import (
	"slices"
	"strconv"
	"strings"

	"github.com/csmsql/csmsql/exec/duckdb"
	"github.com/csmsql/csmsql/sql/edit"
	"github.com/csmsql/csmsql/sql/literal"
	"github.com/csmsql/csmsql/sql/pgcatalog"
)

// A literal beside a column, b = '\xDEAD', is of the column's type, which only DuckDB knows: it binds names and chooses
// functions. It is asked with parameters in place of such literals, for it says of what types parameters are. That is
// one more planning, of statements alone that have a literal which means something else to DuckDB than to PostgreSQL's
// clients if it is one of bytes, a boolean or a date.

// untypedMax bounds the literals of one statement that are asked about.
const untypedMax = 1000

// Untyped are the literals of a text that are of the types of what stands beside them.
type Untyped struct {
	in    Source
	first int // parameters that the text has itself
	found []quoted
}

// UntypedIn finds literals that DuckDB takes for bytes, or for points in time, in another spelling.
func UntypedIn(s Source) (u Untyped, some bool) {
	if strings.Contains(s.Text(), "'") {
		for l := range quotedIn(s.Read) {
			if literal.Ambiguous(l.value) {
				u.found = append(u.found, l)
			}
		}
	}
	if len(u.found) == 0 || len(u.found) > untypedMax || s.Tree != nil && pgcatalog.IsCatalogQuery(s.Tree) {
		return Untyped{}, false
	}
	u.in, u.first = s, parametersIn(s.Text())
	return u, true
}

// Asked is the text with parameters in place of the literals.
func (u Untyped) Asked() string {
	edited := edit.New(u.in.Text())
	for i, l := range u.found {
		edited.Replace(l.start, l.end, "$"+strconv.Itoa(u.first+i+1))
	}
	text, _ := edited.Text()
	return text
}

// Spelled is the text whose literals are written in DuckDB's spelling, where params are the parameters of what was
// asked: the same one, if there are none to write.
func (u Untyped) Spelled(params []duckdb.ParameterType) (Source, error) {
	if len(params) != u.first+len(u.found) {
		return u.in, nil
	}
	by := map[int]string{}
	for i, l := range u.found {
		means, err := FormOfParameter(params[u.first+i]).Translate(l.value)
		if err != nil {
			return u.in, err
		}
		if means != l.value {
			by[l.start] = means
		}
	}
	return u.in.withStrings(by), nil
}

// Arguments are values of a text's parameters whose texts are in the spelling that DuckDB reads.
func Arguments(in string, types []duckdb.ParameterType, args []any) ([]any, error) {
	out := slices.Clone(args)
	if err := exactNumerics(in, out); err != nil {
		return nil, err
	}
	for i, value := range args {
		text, ok := value.(string)
		if !ok || i >= len(types) {
			continue
		}
		var err error
		if out[i], err = FormOfParameter(types[i]).Translate(text); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// FormOfParameter is the form of text that is given for a parameter.
func FormOfParameter(t duckdb.ParameterType) literal.Form {
	switch t {
	case duckdb.TypeBoolean:
		return literal.Named("boolean", false)
	case duckdb.TypeBytes:
		return literal.Named("bytea", false)
	case duckdb.TypeDate, duckdb.TypeTimestamp, duckdb.TypeTimestampTZ:
		return literal.Named("timestamp", false)
	case duckdb.TypeTime:
		return literal.Named("time", false)
	case duckdb.TypeInterval:
		return literal.Named("interval", false)
	}
	return literal.Form{}
}

// parametersIn is the highest number of a parameter in a text.
func parametersIn(text string) (highest int) {
	ReplaceTokens(text, func(token string, _ int) (string, bool) {
		highest = max(highest, ParameterIndex(token)+1)
		return "", false
	})
	return highest
}
