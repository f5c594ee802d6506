package prepared

import (
	"fmt"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	pg "github.com/pganalyze/pg_query_go/v6"

	"github.com/csmsql/csmsql/engine/cast"
	"github.com/csmsql/csmsql/engine/relation"
	"github.com/csmsql/csmsql/exec/duckdb"
	"github.com/csmsql/csmsql/sql/dialect"
	"github.com/csmsql/csmsql/sql/lex"
	"github.com/csmsql/csmsql/sql/sqlerror"
	"github.com/csmsql/csmsql/sql/statement"
	"github.com/csmsql/csmsql/sql/typing"
)

// Execution is an EXECUTE: the statement's text, and the arguments in the order of its parameters.
type Execution struct {
	Statement *Statement
	Query     string
	Arguments []string
}

// Execute reads the arguments of an EXECUTE.
func (n *Statement) Execute(head *statement.Execute) (*Execution, error) {
	wanted := max(n.Parameters, len(n.Types)) // of a statement of the protocol's all types are listed
	if wanted == 0 {
		return &Execution{Statement: n, Query: n.Query}, nil // PostgreSQL ignores arguments that are not wanted
	}
	if len(head.Arguments) != wanted {
		e := sqlerror.New("42601", "wrong number of parameters for prepared statement %q", head.Name)
		e.DetailText = fmt.Sprintf("Expected %d parameters but got %d.", wanted, len(head.Arguments))
		return nil, e
	}
	query, _, names, err := statement.Numbered(lex.Client.Text(n.Query)) // a statement of the protocol's is as its client wrote it
	if err != nil {
		return nil, err
	}
	if len(names) == 0 {
		names = n.Names
	}
	arguments, err := head.InOrder(names)
	return &Execution{n, query, arguments}, err
}

// Text is the statement's text with values in place of its parameters.
func (x *Execution) Text(values []string) (string, error) {
	if len(x.Arguments) == 0 {
		return x.Query, nil
	}
	text, err := dialect.WithNumerics(x.Query, values)
	if err != nil {
		return "", err
	}
	text, _ = dialect.ReplaceTokens(text, func(token string, _ int) (string, bool) {
		i := dialect.ParameterIndex(token)
		if i < 0 || i >= len(values) {
			return "", false
		}
		return values[i], true
	})
	return text, nil
}

// Values are the arguments as they stand in the statement that is run: constants of the parameters' types. What is not
// plainly one is in list, to be asked for all at once: asked says which values those are.
func (x *Execution) Values() (values []string, asked []int, list []string, err error) {
	n := x.Statement
	values = make([]string, len(x.Arguments))
	for i, expression := range x.Arguments {
		a, err := readArgument(expression)
		if err != nil {
			return nil, nil, nil, err
		}
		if by, err := typing.NumberOf(a.value, n.OIDs[i]); a.text && err != nil {
			return nil, nil, nil, err
		} else if a.text && by != "" {
			values[i] = "(" + by + ")"
			continue
		}
		t := n.Types[i]
		known := Exact(t)
		cast := "CAST((" + expression + ") AS " + t + ")"
		switch {
		case a.number && known && integerTypes[n.OIDs[i]] && i >= n.Declared && n.FromSQL, a.constant && !known:
			values[i] = "(" + expression + ")" // a bare constant is what chunks are pruned by
		case a.text && n.OIDs[i] == relation.OIDText && i >= n.Declared && n.FromSQL:
			values[i] = "(" + expression + ")" // it may stand for a label
		case known && (a.null || a.text && n.OIDs[i] == relation.OIDText || a.number && integerTypes[n.OIDs[i]]):
			values[i] = cast
		case known:
			asked, list = append(asked, i), append(list, cast)
		default:
			asked, list = append(asked, i), append(list, "("+expression+"\n)")
		}
	}
	return values, asked, list, nil
}

// Question is a query for the values of expressions.
func Question(expressions []string) string {
	var columns, names []string
	for i := range expressions {
		name := fmt.Sprintf("v%d", i)
		names = append(names, name)
		columns = append(columns, "CAST("+name+" AS VARCHAR), typeof("+name+"), "+name)
	}
	asked := "(SELECT " + strings.Join(expressions, ", ") + ") AS asked(" + strings.Join(names, ", ") + ")"
	return "SELECT " + strings.Join(columns, ", ") + " FROM " + asked
}

// Constants writes the values of n expressions, as Question's rows give them, as constants of their types.
func Constants(batch arrow.RecordBatch, n int) ([]string, error) {
	if batch.NumRows() != 1 {
		return nil, sqlerror.New("21000", "an argument of EXECUTE is one value")
	}
	values := make([]string, n)
	for i := range values {
		shown := batch.Column(3 * i)
		value, name := "NULL", batch.Column(3*i+1).ValueStr(0)
		if bytes, ok, err := cast.BytesConstant(batch.Column(3*i+2), 0); err != nil {
			return nil, err
		} else if ok {
			values[i] = bytes
			continue
		}
		switch {
		case shown.IsNull(0):
		case name == "SMALLINT", name == "INTEGER", name == "BIGINT": // so that chunks are pruned by it
			value = shown.ValueStr(0)
		default:
			value = duckdb.QuoteLiteral(shown.ValueStr(0))
		}
		values[i] = "CAST(" + value + " AS " + strings.ReplaceAll(name, `"NULL"`, "VARCHAR") + ")"
	}
	return values, nil
}

// integerTypes take every number that PostgreSQL reads as an integer, or say in the statement that they do not.
var integerTypes = map[uint32]bool{relation.OIDInt4: true, relation.OIDInt8: true}

// givenArgument says what an argument of EXECUTE is.
type givenArgument struct {
	constant, number, text, null bool
	value                        string // of a text
}

func readArgument(expression string) (a givenArgument, err error) {
	dialect.ReplaceTokens(expression, func(token string, _ int) (string, bool) {
		if dialect.IsParameter(token) && err == nil {
			err = sqlerror.New("42P02", "there is no parameter %s", token)
		}
		return "", false
	})
	tree := dialect.TreeOf("SELECT " + expression)
	if tree == nil || err != nil {
		return a, err // DuckDB may understand it
	}
	targets := tree.Stmts[0].GetStmt().GetSelectStmt().GetTargetList()
	if len(targets) != 1 {
		return a, sqlerror.New("42601", "syntax error at or near %q", expression)
	}
	value := targets[0].GetResTarget().GetVal()
	if subqueries(value) {
		return a, sqlerror.New("0A000", "cannot use subquery in EXECUTE parameter")
	}
	if e := value.GetAExpr(); e != nil && e.Lexpr == nil && len(e.Name) == 1 && e.Name[0].GetString_().GetSval() == "-" {
		value = e.Rexpr
	}
	c := value.GetAConst()
	return givenArgument{
		constant: c != nil, number: c.GetIval() != nil, text: c.GetSval() != nil, null: c.GetIsnull(), value: c.GetSval().GetSval(),
	}, nil
}

func subqueries(n *pg.Node) bool {
	found := false
	if n != nil {
		dialect.EachNode(n.ProtoReflect(), func(m any) { _, link := m.(*pg.SubLink); found = found || link })
	}
	return found
}
