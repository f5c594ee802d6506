package engine

import (
	"encoding/hex"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	pg "github.com/pganalyze/pg_query_go/v6"

	"github.com/csmsql/csmsql/exec/duckdb"
	"github.com/csmsql/csmsql/internal/counted"
	"github.com/csmsql/csmsql/sql/edit"
	"github.com/csmsql/csmsql/sql/sqlerror"
)

// DuckDB plans no statement before it knows what every parameter is. There are two cases in which it cannot: nothing around a
// parameter gives it a type (SELECT $1; PostgreSQL takes it for text), and a table function's argument (FROM range($1)), for which it wants
// the value itself, because the function decides by it what columns it has. A statement of the second kind is planned late: to describe it
// a number stands in for such parameters, and when it runs the values of all parameters are written into its text.

// resolve plans a statement whose parameters DuckDB could not make out.
func (q *query) resolve(given string) error {
	called := argumentsOfFunctions(given)
	if len(called) == 0 {
		if err := q.planAsText(given); err != nil || q.duck.Resolved() {
			return err
		}
		called = everyParameter(given) // in a text that only DuckDB reads nobody knows better
	}
	q.late, q.castParameters = true, false
	for number, cast := range called {
		if i := number - 1; i >= 0 && i < len(q.params) && q.params[i] == duckdb.TypeUnknown && !cast {
			q.params[i] = duckdb.TypeInt64
		}
	}
	given, _ = shownAsText(given)
	// What is left is numbered anew: DuckDB's numbers have no gaps.
	numbers := map[string]int{}
	text, _ := replaceTokens(given, func(token string, _ int) (string, bool) {
		i := parameterIndex(token)
		switch {
		case i < 0 || i >= len(q.params):
			return "", false
		case inFunction(called, i+1):
			return standIn(q.params[i]), true
		case numbers[token] == 0:
			numbers[token] = len(numbers) + 1
		}
		return "$" + strconv.Itoa(numbers[token]), true
	})
	if err := q.planAgain(text, nil); err != nil {
		return err
	}
	types := q.duck.Parameters()
	for token, number := range numbers {
		if number <= len(types) {
			q.params[parameterIndex(token)] = types[number-1]
		}
	}
	q.given, q.edits = given, nil
	return nil
}

// planAsText takes parameters without a type for text: those that are columns by themselves if that is enough, else all.
func (q *query) planAsText(given string) error {
	if text, made := shownAsText(given); len(made) > 0 {
		duck, err := q.session.conn.Prepare(text)
		if err == nil && duck.Resolved() {
			q.duck.Close()
			q.duck, q.params, q.given, q.edits = duck, duck.Parameters(), text, q.edits.Then(made)
			return nil
		}
		if err == nil {
			duck.Close()
		}
	}
	q.castParameters = true
	text, made := parametersAsText(given)
	if err := q.planAgain(text, q.edits.Then(made)); err != nil {
		return err
	}
	if q.duck.Resolved() {
		q.params = q.duck.Parameters()
	}
	return nil
}

// shownAsText makes text of the parameters that are columns of a result by themselves.
func shownAsText(given string) (string, edit.List) {
	tree := treeOf(given)
	if tree == nil {
		return given, nil
	}
	shown := map[int]bool{}
	eachNode(tree.ProtoReflect(), func(node any) {
		if s, ok := node.(*pg.SelectStmt); ok {
			for _, target := range s.TargetList {
				if p := target.GetResTarget().GetVal().GetParamRef(); p != nil {
					shown[int(p.Location)] = true
				}
			}
		}
	})
	return replaceTokens(given, func(token string, offset int) (string, bool) {
		return "CAST(" + token + " AS VARCHAR)", shown[offset] && isParameter(token)
	})
}

// standIn is a value of a type, for the arguments of a function of which only the columns matter.
func standIn(t duckdb.ParameterType) string {
	switch t {
	case duckdb.TypeDate:
		return "DATE '2000-01-01'"
	case duckdb.TypeTimestamp:
		return "TIMESTAMP '2000-01-01'"
	case duckdb.TypeTimestampTZ:
		return "TIMESTAMPTZ '2000-01-01 00:00:00+00'"
	case duckdb.TypeInterval:
		return "INTERVAL 1 DAY"
	case duckdb.TypeText:
		return "'1'"
	case duckdb.TypeBoolean:
		return "true"
	case duckdb.TypeUnknown: // a cast says what it is
		return "NULL"
	}
	if _, list := t.Element(); list {
		return "NULL"
	}
	return "1"
}

// planAgain plans another text in the place of what was planned.
func (q *query) planAgain(text string, made edit.List) error {
	duck, err := q.session.conn.Prepare(text)
	if err != nil {
		return withoutPosition(fromDuckDB(err, text, q.text, nil))
	}
	q.duck.Close()
	q.duck, q.given, q.edits = duck, text, made
	return nil
}

// argumentsOfFunctions are the numbers of the parameters that stand in the arguments of table functions, and whether a cast says of what
// type they are.
func argumentsOfFunctions(text string) map[int]bool {
	tree := treeOf(text)
	if tree == nil {
		return nil
	}
	found := map[int]bool{}
	eachNode(tree.ProtoReflect(), func(node any) {
		f, ok := node.(*pg.RangeFunction)
		if !ok {
			return
		}
		eachNode(f.ProtoReflect(), func(inner any) {
			switch inner := inner.(type) {
			case *pg.TypeCast:
				if p := inner.Arg.GetParamRef(); p != nil {
					found[int(p.Number)] = true
				}
			case *pg.ParamRef:
				found[int(inner.Number)] = found[int(inner.Number)] // a cast of it may have been seen before
			}
		})
	})
	return found
}

func inFunction(called map[int]bool, number int) bool {
	_, ok := called[number]
	return ok
}

// everyParameter is the same for a text without a tree: all parameters.
func everyParameter(text string) map[int]bool {
	found := map[int]bool{}
	last, before, cast := "", "", 0 // the tokens before, and the parameter that may be cast next
	replaceTokens(text, func(token string, _ int) (string, bool) {
		i := parameterIndex(token)
		switch {
		case token == "::" && cast > 0:
			found[cast] = true
		case i >= 0:
			found[i+1] = found[i+1] || last == "(" && strings.EqualFold(before, "cast")
		}
		last, before, cast = token, last, i+1
		return "", false
	})
	return found
}

// bound is the statement with its values; the caller closes it if it is not the query's own.
func (q *query) bound(args []any, v *visible) (*duckdb.Statement, error) {
	if !q.late {
		return q.duck, q.duck.Bind(args)
	}
	text, err := q.withValues(args)
	if err != nil {
		return nil, err
	}
	s := q.session
	v.read = q.read
	s.visible = v
	defer func() { s.visible = nil }()
	duck, err := s.conn.Prepare(text)
	if err != nil {
		return nil, withoutPosition(fromDuckDB(err, text, q.text, nil))
	}
	schema, err := duck.Schema()
	if err == nil && !sameTypes(userSchema(schema), q.schema) {
		err = sqlerror.New("0A000", "cached plan must not change result type").WithHint("Say of what type the parameters are: $1::bigint.")
	}
	if err != nil {
		duck.Close()
		return nil, err
	}
	return duck, nil
}

// withValues is what DuckDB is given with the parameters' values in their places.
func (q *query) withValues(args []any) (string, error) {
	if len(args) != len(q.params) {
		return "", sqlerror.New("08P01", "the statement has %s and was given %d", counted.Of(len(q.params), "parameter"), len(args))
	}
	var failed error
	text, _ := replaceTokens(q.given, func(token string, _ int) (string, bool) {
		i := parameterIndex(token)
		if i < 0 || i >= len(args) {
			return "", false
		}
		value, err := literalOf(args[i])
		failed = firstOf(failed, err)
		if _, text := args[i].(string); text && exact(familyNames[q.params[i]].name) {
			value = "CAST(" + value + " AS " + familyNames[q.params[i]].name + ")"
		}
		return value, true
	})
	return text, failed
}

// literalOf writes a value as SQL; it takes what duckdb.Statement.Bind takes.
func literalOf(arg any) (string, error) {
	switch v := arg.(type) {
	case nil:
		return "NULL", nil
	case bool, int, int8, int16, int32, int64, uint8, uint16, uint32, uint64:
		return fmt.Sprintf("(%v)", v), nil
	case float32:
		return float(float64(v), 32, "REAL"), nil
	case float64:
		return float(v, 64, "DOUBLE"), nil
	case *big.Int:
		return wide(v), nil
	case duckdb.Decimal:
		if _, _, ok := v.Parts(); ok {
			return "(" + string(v) + ")", nil
		}
		return duckdb.QuoteLiteral(string(v)), nil
	case string:
		return duckdb.QuoteLiteral(v), nil
	case []byte:
		return "unhex('" + hex.EncodeToString(v) + "')", nil
	case duckdb.Date:
		return fmt.Sprintf("(DATE '1970-01-01' + CAST(%d AS INTEGER))", v), nil
	case duckdb.TimeOfDay:
		return "TIME '" + time.UnixMicro(int64(v)).UTC().Format("15:04:05.999999") + "'", nil
	case time.Time:
		return fmt.Sprintf("make_timestamp(%d)", v.UnixMicro()), nil
	case duckdb.TimestampTZ:
		return fmt.Sprintf("make_timestamptz(%d)", time.Time(v).UnixMicro()), nil
	case arrow.MonthDayNanoInterval:
		return fmt.Sprintf("(to_months(%d) + to_days(%d) + to_microseconds(%d))", v.Months, v.Days, v.Nanoseconds/1000), nil
	}
	return "", sqlerror.New("0A000", "a value of Go type %T cannot be the argument of a table function", arg)
}

// wide is the constant that duckdb.Statement.Bind would bind. A number by itself that is wider than a HUGEINT is a DOUBLE to DuckDB.
func wide(v *big.Int) string {
	digits := duckdb.QuoteLiteral(v.String())
	switch {
	case v.BitLen() <= 127:
		return "CAST(" + digits + " AS HUGEINT)"
	case v.Sign() > 0 && v.BitLen() == 128:
		return "CAST(" + digits + " AS UHUGEINT)"
	}
	return digits
}

func float(v float64, bits int, name string) string {
	text := strconv.FormatFloat(v, 'g', -1, bits)
	if math.IsNaN(v) || math.IsInf(v, 0) {
		text = "'" + text + "'"
	}
	return "CAST(" + text + " AS " + name + ")"
}
