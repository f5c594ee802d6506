package dialect

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
	"github.com/csmsql/csmsql/sql/edit"
	"github.com/csmsql/csmsql/sql/sqlerror"
)

// ShownAsText makes text of the parameters that are columns of a result by themselves.
func ShownAsText(given string, tree *pg.ParseResult) (string, edit.List) {
	if tree == nil {
		return given, nil
	}
	shown := map[int]bool{}
	EachNode(tree.ProtoReflect(), func(node any) {
		if s, ok := node.(*pg.SelectStmt); ok {
			for _, target := range s.TargetList {
				if p := target.GetResTarget().GetVal().GetParamRef(); p != nil {
					shown[int(p.Location)] = true
				}
			}
		}
	})
	return ReplaceTokens(given, func(token string, offset int) (string, bool) {
		return "CAST(" + token + " AS VARCHAR)", shown[offset] && IsParameter(token)
	})
}

// StandIn is a value of a type, for the arguments of a function of which only the columns matter.
func StandIn(t duckdb.ParameterType) string {
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

// ArgumentsOfFunctions are the numbers of the parameters that stand in the arguments of table functions, and whether a
// cast says of what type they are.
func ArgumentsOfFunctions(tree *pg.ParseResult) map[int]bool {
	if tree == nil {
		return nil
	}
	found := map[int]bool{}
	EachNode(tree.ProtoReflect(), func(node any) {
		f, ok := node.(*pg.RangeFunction)
		if !ok {
			return
		}
		EachNode(f.ProtoReflect(), func(inner any) {
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

// EveryParameter is the same for a text without a tree: all parameters.
func EveryParameter(text string) map[int]bool {
	found := map[int]bool{}
	last, before, cast := "", "", 0 // the tokens before, and the parameter that may be cast next
	ReplaceTokens(text, func(token string, _ int) (string, bool) {
		i := ParameterIndex(token)
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

// Constant writes a value as SQL; it takes what duckdb.Statement.Bind takes.
func Constant(arg any) (string, error) {
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

// wide is the constant that duckdb.Statement.Bind would bind. A number by itself that is wider than a HUGEINT is a
// DOUBLE to DuckDB.
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

// ParameterIndex is the place of a parameter among all: 0 of $1; -1 of what is none.
func ParameterIndex(token string) int {
	if !IsParameter(token) {
		return -1
	}
	var number int
	if _, err := fmt.Sscanf(token, "$%d", &number); err != nil || number < 1 || number > parametersMax {
		return -1
	}
	return number - 1
}

// parametersMax is PostgreSQL's bound.
const parametersMax = 1<<16 - 1
