package engine

import (
	"context"
	"slices"
	"strings"

	pg "github.com/pganalyze/pg_query_go/v6"

	"github.com/csmsql/csmsql/exec/duckdb"
	"github.com/csmsql/csmsql/exec/plan"
	"github.com/csmsql/csmsql/sql/edit"
	"github.com/csmsql/csmsql/sql/sqlerror"
)

// PIVOT t ON x USING … has a column for every value of x. DuckDB makes two statements of it, the first of which finds the values; a statement
// that is planned has to be one. So the values are asked for in the snapshot of the statement, and written into its text: ON x IN ('a', 'b').
// When the snapshot is another one, the statement is planned anew, and the values with it.

// pivotItem is an item of PIVOT's ON that has no values: values is a query for them, and at is where they are to be written.
type pivotItem struct {
	values string
	at     plan.Span // of what is there: nothing, or IN (SELECT …)
}

// pivotValuesMax bounds the columns that PIVOT makes of one item: clients take fewer.
const pivotValuesMax = 10_000

const pivotAdvice = "Write the values: PIVOT t ON x IN ('a', 'b') USING …"

// refusePivot: a view would keep the values of the day on which it was made.
func refusePivot(query string) error {
	if len(pivotItems(query)) > 0 {
		return sqlerror.New("0A000", "PIVOT without a list of values cannot be used in a view").WithHint(pivotAdvice)
	}
	return nil
}

// expandPivots writes the values that the text leaves out. A text without such a PIVOT is given back as it is.
func (s *Session) expandPivots(ctx context.Context, text string, v *visible) (string, edit.List, error) {
	items := pivotItems(text)
	if len(items) == 0 {
		return text, nil, nil
	}
	edited := edit.New(text)
	for _, item := range items {
		values, err := s.pivotValues(ctx, item.values, v)
		if err != nil {
			return text, nil, err
		}
		edited.Replace(item.at.Start, item.at.End, " IN ("+strings.Join(values, ", ")+") ")
	}
	expanded, made := edited.Text()
	return expanded, made, nil
}

// planPivots plans a text whose values are written, under the user's.
func (s *Session) planPivots(ctx context.Context, text, expanded string, made edit.List, v *visible) (*query, error) {
	q, err := s.planText(ctx, expanded, nil, v)
	if err != nil {
		return nil, inOriginal(err, made, expanded, text)
	}
	q.text, q.edits = text, made.Then(q.edits)
	return q, nil
}

// pivotValues runs the query for an item's values and gives them as literals.
func (s *Session) pivotValues(ctx context.Context, query string, v *visible) ([]string, error) {
	v = s.seeing(v.contents, v.lease.hold(), v.own) // with readings of its own: they are confirmed with the last value
	defer v.release()
	q, err := s.planNamed(ctx, query, treeOf(query), v)
	if err != nil {
		return nil, withoutPosition(err)
	}
	defer q.close()
	if len(q.params) > 0 {
		return nil, sqlerror.New("0A000", "PIVOT without a list of values cannot have parameters").WithHint(pivotAdvice)
	}
	rows, err := q.execute(ctx, v, nil)
	if err != nil {
		return nil, withoutPosition(err)
	}
	reader := newRecordReader(rows)
	defer reader.Release()
	var values []string
	seen := map[string]bool{}
	for reader.Next() {
		column := reader.RecordBatch().Column(0)
		for i := range column.Len() {
			if value := column.ValueStr(i); !column.IsNull(i) && !seen[value] {
				seen[value] = true
				values = append(values, duckdb.QuoteLiteral(value))
			}
		}
		if len(values) > pivotValuesMax {
			return nil, sqlerror.New("54011", "PIVOT would make more than %d columns", pivotValuesMax).WithHint(pivotAdvice)
		}
	}
	if err := reader.Err(); err != nil {
		return nil, withoutPosition(err)
	}
	if len(values) == 0 {
		return nil, sqlerror.New("22023", "PIVOT finds no value to make a column of").WithHint(pivotAdvice)
	}
	return values, nil
}

// pivotScanner looks for PIVOT in the tokens of a text.
type pivotScanner struct {
	text   string
	tokens []*pg.ScanToken
	depth  []int // parentheses, brackets and braces that are open before each token
	main   int   // the first token of the query behind its WITH clause
}

// pivotItems finds the items of a text that have no values, in order.
func pivotItems(text string) []pivotItem {
	if !strings.Contains(strings.ToLower(text), "pivot") {
		return nil
	}
	scanned, err := pg.Scan(text)
	if err != nil {
		return nil // DuckDB's word on it is as good
	}
	p := &pivotScanner{text: text, depth: make([]int, len(scanned.Tokens))}
	depth := 0
	for _, t := range scanned.Tokens {
		if t.Token == pg.Token_SQL_COMMENT || t.Token == pg.Token_C_COMMENT {
			continue
		}
		if strings.ContainsAny(text[t.Start:t.End], ")]}") && t.End == t.Start+1 {
			depth--
		}
		p.depth[len(p.tokens)] = depth
		p.tokens = append(p.tokens, t)
		if strings.ContainsAny(text[t.Start:t.End], "([{") && t.End == t.Start+1 {
			depth++
		}
	}
	p.main = p.behindWith()
	var items []pivotItem
	for i := range p.tokens {
		if p.is(i, "pivot", "pivot_wider") && p.begins(i) {
			items = append(items, p.pivot(i)...)
		}
	}
	slices.SortFunc(items, func(a, b pivotItem) int { return a.at.Start - b.at.Start })
	return items
}

func (p *pivotScanner) is(i int, words ...string) bool {
	return i >= 0 && i < len(p.tokens) && slices.Contains(words, strings.ToLower(p.text[p.tokens[i].Start:p.tokens[i].End]))
}

// begins tells whether a query begins at a token. (FROM t PIVOT (…) has its values.)
func (p *pivotScanner) begins(i int) bool { return i == p.main || p.is(i-1, "(") }

// behindWith is the first token of the query behind its WITH clause, if it has one.
func (p *pivotScanner) behindWith() int {
	i := 0
	for p.is(i, "with", ",") {
		i++
		if p.is(i, "recursive") {
			i++
		}
		for i++; !p.is(i, "as") && i < len(p.tokens); i++ { // the name, and its columns
		}
		for i++; p.is(i, "not", "materialized"); i++ {
		}
		depth := len(p.tokens)
		if i < len(p.tokens) {
			depth = p.depth[i]
		}
		for i++; i < len(p.tokens) && p.depth[i] > depth; i++ {
		}
		i++
	}
	return i
}

// pivot reads PIVOT source ON item, item …, which ends with its parenthesis or another clause.
func (p *pivotScanner) pivot(at int) (items []pivotItem) {
	depth, on := p.depth[at], 0
	start := 0 // of the item
	for i := at + 1; i <= len(p.tokens); i++ {
		ends := i == len(p.tokens) || p.depth[i] < depth || p.depth[i] == depth && p.is(i, "using", "group", "order", "limit", "offset", "union", "except", "intersect", ";")
		switch {
		case ends && on == 0, !ends && on == 0 && p.depth[i] == depth && p.is(i, "join"): // a join has an ON itself
			return nil
		case on == 0:
			if p.depth[i] == depth && p.is(i, "on") {
				on, start = i, i+1
			}
		case ends || p.depth[i] == depth && p.is(i, ","):
			if item, ok := p.item(at, on, start, i); ok {
				items = append(items, item)
			}
			if ends {
				return items
			}
			start = i + 1
		}
	}
	return items
}

// item reads the item of the tokens from start to before end.
func (p *pivotScanner) item(pivot, on, start, end int) (pivotItem, bool) {
	if start >= end {
		return pivotItem{}, false
	}
	with := p.with(pivot)
	from := int(p.tokens[start].Start)
	until := int(p.tokens[end-1].End)
	for i := start; i < end; i++ {
		if p.depth[i] != p.depth[pivot] || !p.is(i, "in") {
			continue
		}
		if !p.is(i+1, "(") || !p.is(i+2, "select", "from", "with", "values") {
			return pivotItem{}, false // it has its values
		}
		query := p.text[p.tokens[i+1].Start:until]
		return pivotItem{with + " SELECT CAST(value AS VARCHAR) FROM " + query + " AS list(value)", plan.Span{Start: int(p.tokens[i].Start), End: until}}, true
	}
	expression := "(" + p.text[from:until] + "\n)"
	source := p.text[p.tokens[pivot].End:p.tokens[on].Start]
	query := with + " SELECT DISTINCT CAST(" + expression + " AS VARCHAR) FROM " + source + "\n WHERE " + expression + " IS NOT NULL ORDER BY 1"
	return pivotItem{query, plan.Span{Start: until, End: until}}, true
}

// with is the WITH clause, as far as the query that begins at a token sees it.
func (p *pivotScanner) with(at int) string {
	if !p.is(0, "with") {
		return ""
	}
	if at >= p.main {
		return p.text[:p.tokens[p.main].Start]
	}
	for i := at; i > 0; i-- {
		if p.depth[i] == 0 && p.is(i, ",") {
			return p.text[:p.tokens[i].Start]
		}
	}
	return ""
}
