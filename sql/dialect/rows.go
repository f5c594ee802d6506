package dialect

import (
	"slices"
	"strings"

	"github.com/csmsql/csmsql/sql/lex"
	"github.com/csmsql/csmsql/sql/pgcatalog"
)

// comparedRows are the operators that compare rows, by the names of the macros that do it.
var comparedRows = map[string]string{
	"=": "equal", "<>": "unequal", "!=": "unequal",
	"<": "less", "<=": "less_equal", ">": "greater", ">=": "greater_equal",
}

const (
	// macroColumns is how many columns the rows may have that macros compare.
	macroColumns = 4
	// inListMost is how many rows an IN list is compared with one by one, so that each may be found by a key; a longer
	// one is DuckDB's, which hashes it. NOT IN is written out, because of NULLs, up to notInMost, and hashed for rows
	// without.
	inListMost = 32
	notInMost  = 1000
)

// mayCompareRows finds texts that may compare rows, beside others.
func mayCompareRows(sql string) bool {
	for rest := sql; ; {
		_, behind, found := strings.Cut(rest, ")")
		if !found {
			return false
		}
		rest = behind
		word := strings.TrimLeft(rest, blanks)
		operand := strings.TrimLeft(strings.TrimLeft(word, "=<>!"), blanks)
		switch {
		case word == "":
		case strings.IndexByte("=<>!", word[0]) >= 0:
			if operand != "" && (operand[0] == '(' || operand[0]|0x20 == 'r') {
				return true
			}
		case len(word) > 3 && (strings.EqualFold(word[:2], "in") || strings.EqualFold(word[:3], "not")):
			return true
		}
	}
}

const blanks = " \t\r\n\f\v"

// rowsCompared looks behind a parenthesis, which may be that of a row without ROW, and gives where what it is compared
// with ends.
func (r *translation) rowsCompared(open lex.Token, made, stop int, in clause) int {
	after := r.next(stop)
	if !after.IsAny("is", "in", "not") && comparedRows[after.Text] == "" {
		return stop
	}
	c := r.callAt("", open.Start, open)
	if after.Is("is") {
		r.nullRow(c, stop)
		return stop
	}
	if end := r.compareRows(c, made, stop, in); end > 0 {
		return end
	}
	return stop
}

// compareRows writes (a, b) < (c, d) as ((a) < (c) OR ((a) = (c) AND (b) < (d))), as PostgreSQL compares rows: up to
// the first columns that differ, or of which one is NULL. DuckDB compares NULLs as if they were values, and neither
// keys nor statistics of chunks find anything by a row. made is how many changes there were before the first row was
// read, stop is behind it. The end is behind what was compared; 0: nothing is.
//
// Where something within the rows is written otherwise itself, a macro compares them, for a text is written once.
func (r *translation) compareRows(c *call, made, stop int, in clause) int {
	if !c.isRow() || in == inFrom || r.behindIn(c.from) {
		return 0
	}
	op := r.next(stop)
	not := op.Is("not")
	if not {
		op = r.next(op.End())
	}
	if op.Is("in") {
		return r.compareRowWithList(c, made, op, not)
	}
	name := comparedRows[op.Text]
	if name == "" || not || op.Is("=") && (in == inRest || in == inNothing) { // SET (a, b) = (1, 2)
		return 0
	}
	other := r.rowAt(r.next(op.End()))
	if other == nil || len(other.commas) != len(c.commas) || r.next(other.closing+1).IsAny("::", ".", "[") {
		return 0
	}
	end := r.walk(other.open.End(), context{clause: inFilter}) // once: what is in it may be as deep again
	left, right := r.columnsOf(c), r.columnsOf(other)
	if len(r.changes) == made && !r.writtenOnce(left, right) {
		r.replace(c.from, end, "("+comparison(op.Text, left, right)+")")
		return end
	}
	if len(left) <= macroColumns {
		r.replace(c.from, c.open.End(), pgcatalog.TranslatedPrefix+"operator__row_"+name+"(")
		r.replace(c.closing, other.open.End(), ",")
	}
	return end
}

// rowAt is a row that begins with a token; nil: none does.
func (r *translation) rowAt(t lex.Token) *call {
	from := t.Start
	if t.Is("row") {
		t = r.next(t.End())
	}
	if !t.Is("(") {
		return nil
	}
	c := r.callAt("", from, t)
	if !c.isRow() {
		return nil
	}
	return c
}

// isRow distinguishes a row of several columns from a query in parentheses.
func (c *call) isRow() bool {
	return len(c.commas) > 0 && len(c.arguments) == len(c.commas)+1 &&
		!c.arguments[0].IsAny("select", "with", "values", "from", "table")
}

// columnsOf are the texts of a row's columns.
func (r *translation) columnsOf(c *call) []string {
	var list []string
	from := c.open.End()
	for _, comma := range c.commas {
		list = append(list, strings.TrimSpace(r.sql[from:comma.Start]))
		from = comma.End()
	}
	return append(list, strings.TrimSpace(r.sql[from:c.closing]))
}

// isConstant reports whether a row's column is a number or a string.
func (r *translation) isConstant(c *call, i int) bool {
	first := c.arguments[i]
	return i < len(c.single) && c.single[i] && (first.Kind == lex.Number || first.Kind == lex.String)
}

// writtenOnce reports whether one of the texts must not be written twice: it may have another value each time, or ?
// counts. Of a * there are more columns than there are texts, and a comment may end a line.
func (r *translation) writtenOnce(lists ...[]string) bool {
	return slices.ContainsFunc(slices.Concat(lists...), func(text string) bool {
		return strings.ContainsAny(text, "?*") || strings.Contains(text, "--") || VolatileIn(text) != ""
	})
}

// comparison compares rows of columns without parentheses around it.
func comparison(op string, left, right []string) string {
	pair := func(i int, op string) string { return "(" + left[i] + ") " + op + " (" + right[i] + ")" }
	switch op {
	case "=", "<>", "!=":
		join := " AND "
		if op != "=" {
			join = " OR "
		}
		list := make([]string, len(left))
		for i := range left {
			list[i] = pair(i, op)
		}
		return strings.Join(list, join)
	}
	last := len(left) - 1
	out := pair(last, op)
	for i := last - 1; i >= 0; i-- {
		if i < last-1 {
			out = "(" + out + ")"
		}
		out = pair(i, op[:1]) + " OR (" + pair(i, "=") + " AND " + out + ")"
	}
	return out
}

// compareRowWithList writes (a, b) IN ((c, d), (e, f)) as the comparisons that it stands for.
func (r *translation) compareRowWithList(c *call, made int, in lex.Token, not bool) int {
	open := r.next(in.End())
	most := inListMost
	if not {
		most = notInMost
	}
	list, typed, end := r.rowsIn(open, len(c.commas), most)
	if len(list) == 0 {
		return 0
	}
	left := r.columnsOf(c)
	once := len(r.changes) != made
	var compared, nulls []string
	for _, column := range left {
		nulls = append(nulls, "("+column+") IS NULL")
	}
	for _, row := range list {
		r.walk(row.open.End(), context{clause: inFilter})
		right := r.columnsOf(row)
		for i := range right {
			if typed && row.text(i) {
				right[i] += "::text"
			}
		}
		once = once || len(r.changes) != made || r.writtenOnce(left, right)
		compared = append(compared, "("+comparison("=", left, right)+")")
		for i, column := range right {
			if !r.isConstant(row, i) {
				nulls = append(nulls, "("+column+") IS NULL")
			}
		}
	}
	if once { // DuckDB compares them
		return end
	}
	by := "(" + strings.Join(compared, " OR ") + ")"
	if len(compared) > inListMost { // hashed, where no NULL is in it
		hashed := r.sql[c.from:c.closing+1] + " IN " + r.sql[open.Start:end]
		by = "(CASE WHEN " + strings.Join(nulls, " OR ") + " THEN " + by + " ELSE " + hashed + " END)"
	}
	if not {
		by = "(NOT " + by + ")"
	}
	r.replace(c.from, end, by)
	return end
}

// rowsIn are the rows of a list in parentheses, without reading them, and where it ends; none: something else is in it,
// or more than most. typed: it is a query of constants, (VALUES (1, 'a')) or (SELECT 1, 'a'), whose strings are texts.
func (r *translation) rowsIn(open lex.Token, commas, most int) (list []*call, typed bool, end int) {
	if !open.Is("(") {
		return nil, false, 0
	}
	at := open.End()
	switch first := r.next(at); {
	case first.Is("select"):
		if row := r.selectedRow(open, first, commas); row != nil {
			return []*call{row}, true, row.closing + 1
		}
		return nil, false, 0
	case first.Is("values"):
		typed, at = true, first.End()
	}
	for len(list) < most {
		row := r.rowAt(r.next(at))
		if row == nil || len(row.commas) != commas || typed && len(list) > 0 && !sameTexts(list[0], row) {
			return nil, false, 0
		}
		list = append(list, row)
		switch behind := r.next(row.closing + 1); {
		case behind.Is(")"):
			return list, typed, behind.End()
		case behind.Is(","):
			at = behind.End()
		default:
			return nil, false, 0
		}
	}
	return nil, false, 0
}

// sameTexts reports whether two rows have strings in the same columns.
func sameTexts(a, b *call) bool {
	for i := range a.arguments {
		if a.text(i) != b.text(i) {
			return false
		}
	}
	return true
}

// selectedRow is the row of (SELECT a, 1, 'b'), each of whose columns is one token; nil: it is another query.
func (r *translation) selectedRow(open, verb lex.Token, commas int) *call {
	c := r.callAt("", open.Start, open)
	if len(c.commas) != commas || commas == 0 || len(c.arguments) != commas+1 || len(c.single) != commas+1 {
		return nil
	}
	c.arguments[0], c.open = r.next(verb.End()), verb
	c.single[0] = r.next(c.arguments[0].End()).Start == c.commas[0].Start
	if slices.Contains(c.single, false) {
		return nil
	}
	return c
}
