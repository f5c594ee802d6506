package engine

import (
	"context"
	"strconv"
	"strings"

	pg "github.com/pganalyze/pg_query_go/v6"

	"github.com/csmsql/csmsql/exec/duckdb"
	"github.com/csmsql/csmsql/sql/edit"
	"github.com/csmsql/csmsql/sql/literal"
	"github.com/csmsql/csmsql/sql/pgcatalog"
	"github.com/csmsql/csmsql/sql/statement"
)

// A literal beside a column, b = '\xDEAD', is of the column's type, which only DuckDB knows: it binds names and chooses functions. It is asked
// with parameters in place of such literals, for it says of what types parameters are. That is one more planning, of statements alone
// that have a literal which means something else to DuckDB than to PostgreSQL's clients if it is one of bytes or a date.

// untypedMax bounds the literals of one statement that are asked about.
const untypedMax = 1000

// typeLiterals writes literals that DuckDB takes for bytes, or for points in time, in its spelling, and tells whether there were any.
func (s *Session) typeLiterals(ctx context.Context, text string, tree *pg.ParseResult, v *visible) (string, bool, error) {
	var found []statement.Literal
	if strings.Contains(text, "'") {
		statement.Literals(text, func(l statement.Literal) {
			if literal.Ambiguous(l.Value) {
				found = append(found, l)
			}
		})
	}
	if len(found) == 0 || len(found) > untypedMax || tree != nil && pgcatalog.IsCatalogQuery(tree) {
		return text, false, nil
	}
	first := parametersIn(text)
	asked := replaceLiterals(text, found, func(i int) string { return "$" + strconv.Itoa(first+i+1) })
	q, err := s.planDuckFor(ctx, asked, treeOf(asked), v, nil)
	if err != nil {
		return text, false, nil // nothing is known of them; the statement says itself what is wrong with it
	}
	defer q.close()
	if q.late || q.castParameters || len(q.params) != first+len(found) {
		return text, false, nil
	}
	changed := false
	var failed error
	text = replaceLiterals(text, found, func(i int) string {
		by, err := formOfParameter(q.params[first+i]).Translate(found[i].Value)
		failed = firstOf(failed, err)
		if err != nil || by == found[i].Value {
			return text[found[i].Start:found[i].End]
		}
		changed = true
		return duckdb.QuoteLiteral(by)
	})
	return text, changed, failed
}

// formOfParameter is the form of text that is given for a parameter.
func formOfParameter(t duckdb.ParameterType) literal.Form {
	switch t {
	case duckdb.TypeBytes:
		return literal.Named("bytea", false)
	case duckdb.TypeDate, duckdb.TypeTimestamp, duckdb.TypeTimestampTZ:
		return literal.Named("timestamp", false)
	case duckdb.TypeInterval:
		return literal.Named("interval", false)
	}
	return literal.Form{}
}

// parametersIn is the highest number of a parameter in a text.
func parametersIn(text string) (highest int) {
	replaceTokens(text, func(token string, _ int) (string, bool) {
		highest = max(highest, parameterIndex(token)+1)
		return "", false
	})
	return highest
}

func replaceLiterals(text string, found []statement.Literal, by func(i int) string) string {
	edited := edit.New(text)
	for i, l := range found {
		edited.Replace(l.Start, l.End, by(i))
	}
	text, _ = edited.Text()
	return text
}
