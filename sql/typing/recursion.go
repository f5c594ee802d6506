package typing

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	pg "github.com/pganalyze/pg_query_go/v6"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/csmsql/csmsql/sql/bind"
	"github.com/csmsql/csmsql/sql/lex"
	"github.com/csmsql/csmsql/sql/pgcatalog"
	"github.com/csmsql/csmsql/sql/sqlerror"
	"github.com/csmsql/csmsql/sql/tree"
)

// The columns of a query that names itself are of the types of the query that it begins with. A numeric has no bound
// there in PostgreSQL; in DuckDB it has the digits that the first rows need, and what each step makes of them is
// rounded to those. So the first query gets as many digits behind the point as the steps come to:
//
//	WITH RECURSIVE r(n) AS (SELECT 1.5 UNION ALL SELECT n + 0.25 FROM r WHERE n < 3)
//	SELECT csm_1::numeric(38, 2) FROM (SELECT 1.5) csm_first(csm_1) UNION ALL …
//
// Steps that give a double precision in DuckDB, as quotients do, want one from the first on.

// recursion is what is known of the columns of a CTE that names itself.
type recursion struct {
	digits  []decimal // of numerics
	certain []bool    // of those
	// inexact: of what a step gives the digits are not certain.
	inexact []bool
	// endless: each step has more digits behind the point than the one before it.
	endless []bool
}

// recursionSteps are how often the digits of a step are asked for, of those that the step before it gave: digits may go
// from one column to the next with each. A product that adds to them has not come to its end by then.
const recursionSteps = 10

// recursion finds the digits of a CTE's columns: those of which a step makes no more.
func (n *inference) recursion(c *bind.CTE) *recursion {
	if r := n.recursions[c.First]; r != nil || c.Query == nil || c.Query.Left != c.First {
		return r
	}
	width := len(c.First.Outputs)
	r := &recursion{digits: make([]decimal, width), certain: make([]bool, width), inexact: make([]bool, width),
		endless: make([]bool, width)}
	for i := range width {
		r.digits[i], r.certain[i] = n.decimalOf(c.First, i)
		r.certain[i] = r.certain[i] && n.query(c.First, i) == numericType
	}
	if n.recursions == nil {
		n.recursions = map[*bind.Query]*recursion{}
	}
	n.recursions[c.First] = r
	for range recursionSteps {
		grown := false
		n.known, n.decimalsOf = nil, nil // what was found of other assumptions
		for i := range width {
			if !r.certain[i] {
				continue
			}
			fraction := r.digits[i].fraction
			r.digits[i] = decimal{decimalMost - fraction, fraction}
			step, ok := n.decimalOf(c.Query.Right, i)
			r.certain[i], r.inexact[i], r.endless[i] = ok, !ok, step.fraction > fraction
			grown = grown || !ok || r.endless[i]
			if r.endless[i] {
				r.digits[i].fraction = step.fraction
			}
		}
		if !grown {
			break
		}
	}
	n.known, n.decimalsOf = nil, nil
	return r
}

// recursionOf is what is known of a column of a CTE that names itself, of the type that its first query gives it.
func (n *inference) recursionOf(c bind.Column) (t uint32, d decimal, ok bool) {
	first := c.Item.CTE.First
	if first == nil || first.Open || c.Index >= len(first.Outputs) {
		return 0, d, false
	}
	t = n.query(first, c.Index)
	if t != numericType {
		whole, is := wholeDigits[t]
		return t, decimal{whole, 0}, is
	}
	r := n.recursion(c.Item.CTE)
	if r == nil || !r.certain[c.Index] {
		return 0, d, false // DuckDB's may be a double precision
	}
	return t, r.digits[c.Index], true
}

// recursive looks at the types of a CTE that names itself, and gives the query that it begins with those it needs.
func (w *translation) recursive(c *bind.CTE) error {
	first, step := c.First, c.Query.Right
	if c.Query.Left != first || first.Open || step.Open || len(first.Outputs) != len(step.Outputs) {
		return nil
	}
	if list := step.Stmt.GetTargetList(); step.Left == nil && len(step.Stmt.GetGroupClause()) == 0 && aggregates(list) {
		return sqlerror.New("42P19", "aggregate functions are not allowed in a recursive query's recursive term")
	}
	r := w.recursion(c)
	casts, needed := make([]string, len(first.Outputs)), false
	for i := range first.Outputs {
		t := w.query(first, i)
		if overall := stepped(t, w.query(step, i)); overall != t {
			return sqlerror.New("42804",
				"recursive query %q column %d has type %s in non-recursive term but type %s overall",
				c.Name, i+1, steppedNames[t], steppedNames[overall]).WithHint(
				"Cast the output of the non-recursive term to the correct type.")
		}
		switch d, _ := w.decimalOf(first, i); {
		case t != numericType:
		case r.inexact[i]:
			casts[i] = "::double precision"
		case r.endless[i]:
			return sqlerror.New("0A000", "recursive query %q column %d has more digits behind the point in each step, "+
				"and numeric has %d in all", c.Name, i+1, decimalMost).WithHint(
				"Round the column in each step, or cast it to double precision.")
		case r.certain[i] && d != r.digits[i]:
			casts[i] = fmt.Sprintf("::numeric(%d, %d)", decimalMost, r.digits[i].fraction)
		}
		needed = needed || casts[i] != ""
	}
	if !needed {
		return nil
	}
	start, end, ok := w.firstSpan(c)
	if !ok {
		return sqlerror.New("0A000", "the digits of recursive query %q are not certain", c.Name).WithHint(
			"Cast the numbers of the query that it begins with to double precision, or to numeric with enough digits.")
	}
	var targets, names []string
	for i, o := range first.Outputs {
		name := fmt.Sprint("csm_", i+1)
		names = append(names, name)
		targets = append(targets, name+casts[i]+" AS "+lex.Quote(cmp.Or(o.Name, pgcatalog.NoName)))
	}
	w.opens(start, "SELECT "+strings.Join(targets, ", ")+" FROM (")
	w.closes(end, ") AS csm_first("+strings.Join(names, ", ")+") ")
	return nil
}

// aggregates reports whether one of the entries of a select list calls an aggregate, of whose rows there is one even
// where the step before gave none: such a query would not end.
func aggregates(list []*pg.Node) bool {
	for _, n := range list {
		found := false
		var visit func(m protoreflect.Message)
		visit = func(m protoreflect.Message) {
			switch x := m.Interface().(type) {
			case *pg.SelectStmt:
				return // has rows of its own
			case *pg.FuncCall:
				_, name := tree.FunctionName(x)
				found = found || x.Over == nil && slices.Contains(commonAggregates, name)
			}
			for child := range tree.Children(m) {
				visit(child)
			}
		}
		if visit(n.ProtoReflect()); found {
			return true
		}
	}
	return false
}

var commonAggregates = []string{
	"count", "sum", "avg", "min", "max", "bool_and", "bool_or", "every", "string_agg", "array_agg",
}

// steppedNames are the types that are distinguished here, as errors name them.
var steppedNames = map[uint32]string{
	smallType: "smallint", integerType: "integer", bigintType: "bigint", numericType: "numeric", realType: "real",
	doubleType: "double precision", dateType: "date", timestampType: "timestamp without time zone",
	timestampTZType: "timestamp with time zone",
}

// widening are types each of which PostgreSQL takes for the type of both where it stands beside one before it.
var widening = [][]uint32{
	{smallType, integerType, bigintType, numericType, realType, doubleType},
	{dateType, timestampType, timestampTZType},
}

// stepped is the type of a column of which the first query and a step are; that of the first one if it is not certain.
func stepped(first, step uint32) uint32 {
	for _, list := range widening {
		if a, b := slices.Index(list, first), slices.Index(list, step); a >= 0 && b > a {
			return step
		}
	}
	return first
}

// firstSpan is where the query stands that a CTE begins with.
func (w *translation) firstSpan(c *bind.CTE) (start, end int, ok bool) {
	t := lex.Client.Next(w.sql, int(c.Node.Location))
	for !t.Is("as") && !t.Ends() {
		t = lex.Client.Next(w.sql, t.End())
	}
	for !t.Is("(") && !t.Ends() {
		t = lex.Client.Next(w.sql, t.End())
	}
	start = t.End()
	within := c.Query.Stmt.WithClause != nil // which is for all of it
	for depth := 0; !t.Ends(); t = lex.Client.Next(w.sql, t.End()) {
		switch {
		case t.Is("("):
			depth++
		case t.Is(")"):
			if depth--; depth == 0 {
				return start, end, ok && !within && start < end
			}
		case depth == 1 && within && t.IsAny("select", "values"):
			start, within = t.Start, false
		case depth == 1 && t.Is("union"):
			end, ok = t.Start, true
		}
	}
	return 0, 0, false
}
