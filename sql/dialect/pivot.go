package dialect

import (
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow/array"
	pg "github.com/pganalyze/pg_query_go/v6"

	"github.com/csmsql/csmsql/exec/duckdb"
	"github.com/csmsql/csmsql/exec/plan"
	"github.com/csmsql/csmsql/sql/edit"
	"github.com/csmsql/csmsql/sql/sqlerror"
	"github.com/csmsql/csmsql/sql/tree"
)

// PivotItem is an item of PIVOT's ON that has no values: Values is a query for them, and At is where they are to be
// written.
type PivotItem struct {
	Values string
	At     plan.Span // of what is there: nothing, or IN (SELECT …)
}

// PivotValuesMax bounds the columns that PIVOT makes of one item: clients take fewer.
const PivotValuesMax = 10_000

// PivotAdvice is what to do about it where the values cannot be found.
const PivotAdvice = "Write the values: PIVOT t ON x IN ('a', 'b') USING …"

// PivotValues are the values of an item, as literals.
func PivotValues(rows array.RecordReader) ([]string, error) {
	var values []string
	seen := map[string]bool{}
	for rows.Next() {
		column := rows.RecordBatch().Column(0)
		for i := range column.Len() {
			if value := column.ValueStr(i); !column.IsNull(i) && !seen[value] {
				seen[value] = true
				values = append(values, duckdb.QuoteLiteral(value))
			}
		}
		if len(values) > PivotValuesMax {
			return nil, sqlerror.New("54011", "PIVOT would make more than %d columns", PivotValuesMax).
				WithHint(PivotAdvice)
		}
	}
	if err := rows.Err(); err != nil {
		return nil, WithoutPosition(err)
	}
	if len(values) == 0 {
		return nil, sqlerror.New("22023", "PIVOT finds no value to make a column of").WithHint(PivotAdvice)
	}
	return values, nil
}

// ExpandPivots writes the values that a text leaves out, which values asks for by queries. A text without such a PIVOT
// is given back as it is.
func ExpandPivots(text string, values func(query string) ([]string, error)) (string, edit.List, error) {
	items := PivotItems(text)
	if len(items) == 0 {
		return text, nil, nil
	}
	edited := edit.New(text)
	for _, item := range items {
		list, err := values(item.Values)
		if err != nil {
			return text, nil, err
		}
		edited.Replace(item.At.Start, item.At.End, " IN ("+strings.Join(list, ", ")+") ")
	}
	expanded, made := edited.Text()
	return expanded, made, nil
}

// RefusePivot: a view would keep the values of the day on which it was made.
func RefusePivot(query string) error {
	if len(PivotItems(query)) > 0 {
		return sqlerror.New("0A000", "PIVOT without a list of values cannot be used in a view").WithHint(PivotAdvice)
	}
	return nil
}

// pivotScanner looks for PIVOT in the tokens of a text.
type pivotScanner struct {
	text   string
	tokens []*pg.ScanToken
	depth  []int // parentheses, brackets and braces that are open before each token
	main   int   // the first token of the query behind its WITH clause
}

// PivotItems finds the items of a text that have no values, in order.
func PivotItems(text string) []PivotItem {
	if !strings.Contains(strings.ToLower(text), "pivot") {
		return nil
	}
	scanned, err := tree.Scan(text)
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
	var items []PivotItem
	for i := range p.tokens {
		if p.is(i, "pivot", "pivot_wider") && p.begins(i) {
			items = append(items, p.pivot(i)...)
		}
	}
	slices.SortFunc(items, func(a, b PivotItem) int { return a.At.Start - b.At.Start })
	return items
}

func (p *pivotScanner) is(i int, words ...string) bool {
	return i >= 0 && i < len(p.tokens) && slices.Contains(words, strings.ToLower(p.text[p.tokens[i].Start:p.tokens[i].End]))
}

// begins reports whether a query begins at a token. (FROM t PIVOT (…) has its values.)
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
func (p *pivotScanner) pivot(at int) (items []PivotItem) {
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
func (p *pivotScanner) item(pivot, on, start, end int) (PivotItem, bool) {
	if start >= end {
		return PivotItem{}, false
	}
	with := p.with(pivot)
	from := int(p.tokens[start].Start)
	until := int(p.tokens[end-1].End)
	for i := start; i < end; i++ {
		if p.depth[i] != p.depth[pivot] || !p.is(i, "in") {
			continue
		}
		if !p.is(i+1, "(") || !p.is(i+2, "select", "from", "with", "values") {
			return PivotItem{}, false // it has its values
		}
		query := p.text[p.tokens[i+1].Start:until]
		return PivotItem{with + " SELECT CAST(value AS VARCHAR) FROM " + query + " AS list(value)", plan.Span{Start: int(p.tokens[i].Start), End: until}}, true
	}
	expression := "(" + p.text[from:until] + "\n)"
	source := p.text[p.tokens[pivot].End:p.tokens[on].Start]
	query := with + " SELECT DISTINCT CAST(" + expression + " AS VARCHAR) FROM " + source +
		"\n WHERE " + expression + " IS NOT NULL ORDER BY 1 ASC"
	return PivotItem{query, plan.Span{Start: until, End: until}}, true
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
