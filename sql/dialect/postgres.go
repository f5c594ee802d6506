package dialect

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/csmsql/csmsql/exec/duckdb"
	"github.com/csmsql/csmsql/sql/bulk"
	"github.com/csmsql/csmsql/sql/edit"
	"github.com/csmsql/csmsql/sql/lex"
	"github.com/csmsql/csmsql/sql/pgcatalog"
	"github.com/csmsql/csmsql/sql/sqlerror"
)

// depthMax bounds what is nested in a text. DuckDB's bound is 1000, too.
const depthMax = 1000

// Postgres writes a text that means what it means in PostgreSQL as one that means it in DuckDB, and says what became of
// it. Every text that it writes is one for PostgreSQL's parser as well, if the user's was, and comes back as it is.
//
//	ORDER BY a DESC                   ORDER BY a DESC NULLS FIRST
//	a / b                             csm_divide(a , b)
//	a % b                             a % csm_divisor(b)
//	a SIMILAR TO '(x|y)%'             a ~ '^(?:(?:x|y).*)$'
//	SELECT generate_series(1, 3)      SELECT unnest(csm_generate_series(1, 3))
//	FROM generate_series(1, 3) AS d   FROM generate_series(1, 3) AS d(d)
//
// It reads tokens, no tree: what only DuckDB's parser knows means the same where the rules above are concerned.
func Postgres(read *lex.Text) (string, edit.List, error) {
	if sql := read.SQL; bulk.Constants(read) || !mayDiffer(sql) {
		return sql, nil, nil
	}
	return translate(read)
}

// translate is Postgres of a text that may differ.
func translate(read *lex.Text) (string, edit.List, error) {
	sql := read.SQL
	r := &translation{sql: sql, read: read}
	r.declared()
	r.walk(0, context{clause: inNothing, query: true})
	if r.failed != nil {
		return "", nil, r.failed
	}
	slices.SortStableFunc(r.changes, func(a, b change) int {
		return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(a.kind, b.kind), cmp.Compare(a.order, b.order))
	})
	edited := edit.New(sql)
	for _, c := range r.changes {
		edited.Replace(c.start, c.end, c.by)
	}
	text, made := edited.Text()
	return text, made, nil
}

// mayDiffer is a cheap check, which is false for most texts.
func mayDiffer(sql string) bool {
	if strings.ContainsAny(sql, "/%#^") || strings.Contains(sql, "<<") || strings.Contains(sql, ">>") ||
		mayCompareRows(sql) || mayQuantify(sql) || mayCountBack(sql) {
		return true
	}
	lower := strings.ToLower(sql)
	return slices.ContainsFunc(differing, func(word string) bool { return strings.Contains(lower, word) })
}

var differing = append(strings.Fields(`desc similar unnest generate_s _to_table array_elements object_keys numeric
	dec
	extract to_date to_timestamp _agg values int date timestamp char substr json_build jsonb_
	regexp_matches overlay percentile_cont round trunc float real double text varchar null
	interval bit format greatest least materialized
	date_trunc date_part zone nth_value preceding following corr regr_slope
	json_each json_ex json_object -> array [] ][ lag lead time( ::time`), append(slices.Sorted(maps.Keys(renamed)),
	"as time", "time '")...)

// change is one of a text. At one place, what closes comes before what opens, and both before what is replaced.
type change struct {
	start, end int
	by         string
	kind       changeKind
	order      int
}

type changeKind uint8

const (
	closes changeKind = iota
	opens
	replaces
)

// translation is a text that is being read.
type translation struct {
	sql     string
	read    *lex.Text
	changes []change
	depth   int
	failed  error

	exponent bool // the operand that is read next is one
}

func (r *translation) insert(at int, by string, kind changeKind) {
	order := len(r.changes)
	if kind == opens {
		order = -order // what opens later goes further
	}
	r.changes = append(r.changes, change{at, at, by, kind, order})
}

func (r *translation) replace(start, end int, by string) {
	r.changes = append(r.changes, change{start, end, by, replaces, len(r.changes)})
}

// next is the next token; what PostgreSQL takes for one operator is one.
func (r *translation) next(at int) lex.Token {
	t := r.read.Next(at)
	if t.Kind != lex.Symbol {
		return t
	}
	end := t.Start
	for end < len(r.sql) && strings.IndexByte("~!@#^&|`?+-*/%<>=", r.sql[end]) >= 0 &&
		(end == t.Start || !strings.HasPrefix(r.sql[end:], "--") && !strings.HasPrefix(r.sql[end:], "/*")) {
		end++
	}
	for end > t.Start+1 && (r.sql[end-1] == '+' || r.sql[end-1] == '-') {
		if strings.ContainsAny(r.sql[t.Start:end], "~!@#%^&|`?") {
			break
		}
		end--
	}
	if strings.HasPrefix(r.sql[t.Start:], "::") {
		end = t.Start + 2
	}
	t.Text = r.sql[t.Start:max(end, t.End())]
	return t
}

// clause is where in a query an expression stands.
type clause uint8

const (
	inNothing   clause = iota
	inList             // of SELECT
	inFirstList        // of SELECT DISTINCT ON
	inFrom
	inCondition // behind ON, of what FROM reads
	inOrder
	inFilter // where no function may give rows
	inAmount // of rows, which a percentage may be
	inRest
)

// context is what is known of the text between two parentheses.
type context struct {
	clause clause
	query  bool   // it is one, not an expression
	closer string // the keyword that ends it; empty: what closes the parenthesis does
}

// clauses are the words that begin one.
var clauses = map[string]clause{
	"select": inList, "where": inFilter, "having": inFilter, "qualify": inFilter, "limit": inAmount, "offset": inAmount,
	"fetch": inRest, "group": inRest, "window": inRest, "union": inRest, "intersect": inRest, "except": inRest,
	"returning": inRest, "values": inRest, "set": inRest, "using": inRest, "sample": inAmount, "partition": inRest,
	"rows": inRest, "range": inRest, "groups": inRest, "tablesample": inAmount,
}

// alsoNames are those of them that are functions, or lists of columns, with a parenthesis behind them.
var alsoNames = wordSet("values set rows range groups")

// isName reports whether a word that also begins a clause is a column here, or a function.
func isName(word string, after lex.Token) bool {
	switch word {
	case "rows", "range", "groups":
		next := lex.Fold(after.Text)
		return after.Kind == lex.Symbol || after.Ends() || next == "desc" || clauses[next] != inNothing ||
			noOperand[next] && next != "between"
	case "values", "set":
		return after.Kind == lex.Symbol && !after.Is("(") || after.IsAny("as", "from")
	}
	return false
}

// walk goes through the tokens up to what ends the context, and behind it.
func (r *translation) walk(at int, c context) int {
	if r.depth++; r.depth > depthMax {
		tooDeep := sqlerror.New("54001", "the statement is nested too deeply").WithHint("Break it up.")
		r.failed = cmp.Or[error](r.failed, tooDeep)
		return len(r.sql)
	}
	defer func() { r.depth-- }()
	first := true
	for r.failed == nil {
		t := r.next(at)
		switch {
		case t.Ends():
			return len(r.sql)
		case t.IsAny(")", "]", "}"):
			return t.End()
		case c.closer != "" && t.Is(c.closer):
			return t.End()
		case t.Kind == lex.Word && first && t.IsAny("select", "with", "from", "values", "table", "pivot", "unpivot"):
			c.query = true
		}
		at = r.step(t, &c, first)
		first = false
	}
	return len(r.sql)
}

// step reads one token or operand.
func (r *translation) step(t lex.Token, c *context, first bool) int {
	if t.Kind == lex.Word {
		if at, ok := r.keyword(t, c, first); ok {
			return at
		}
	}
	switch {
	case t.Is(",") && c.clause == inCondition:
		c.clause = inFrom
	case prefixes[t.Text] != "" && t.Kind == lex.Symbol:
		return r.prefix(t, c.clause)
	case t.IsAny("#>", "#>>"):
		return r.path(t)
	case t.IsAny("->", "->>"):
		return r.key(t)
	case t.IsAny("<<", ">>"):
		r.replace(t.Start, t.End(), "`"+t.Text)
		return t.End()
	}
	return r.chain(t, c.clause)
}

// keyword reads what is no operand; not ok: t may be one.
func (r *translation) keyword(t lex.Token, c *context, first bool) (int, bool) {
	after := r.next(t.End())
	name := lex.Fold(t.Text)
	switch name {
	case "from":
		if c.query || first {
			c.clause = inFrom
		}
		return t.End(), true
	case "on":
		if c.clause == inFrom {
			c.clause = inCondition
		}
		return t.End(), true
	case "join":
		if c.query || c.clause == inCondition || c.clause == inFrom {
			c.clause = inFrom
		}
		return t.End(), true
	case "order":
		if after.Is("by") {
			c.clause = inOrder
			return after.End(), true
		}
	case "distinct":
		if c.clause == inList && after.Is("on") {
			c.clause = inFirstList
			return after.End(), true
		}
	case "desc":
		if c.clause == inOrder && !after.Is("nulls") {
			r.insert(t.End(), " NULLS FIRST", closes)
		}
		return t.End(), true
	case "as":
		if (c.clause == inList || c.clause == inFirstList || c.clause == inFrom) && after.Kind == lex.Word {
			return after.End(), true
		}
		return t.End(), true
	case "materialized":
		return r.materialized(t, after), true
	case "not", "similar":
		return r.pattern(t), true
	}
	if name == "rows" || name == "range" || name == "groups" {
		r.frame(t)
	}
	if isName(name, after) {
		return 0, false
	}
	if in, ok := clauses[name]; ok && (!alsoNames[name] || !after.Is("(") || c.query) {
		if name != "select" && !wordBegins(after) && !after.IsAny("(", "[", "-", "+", "{") && after.Kind == lex.Symbol {
			return 0, false // a name
		}
		if name == "using" && c.clause == inFrom {
			return t.End(), true
		}
		c.clause = in
		return t.End(), true
	}
	if noOperand[name] && !(after.Is("(") && alsoFunctions[name]) {
		return t.End(), true
	}
	return 0, false
}

func wordBegins(t lex.Token) bool { return t.Kind != lex.Symbol && !t.Ends() }

// noOperand are the words that are none, and stand before one.
var noOperand = wordSet(`all analyse analyze and any as asc asymmetric between both by call check collate
	column constraint create cross default deferrable distinct do else end escape except
	execute explain fetch filter for foreign full group grant having ilike in initially
	inner intersect into is isnull join lateral leading left like limit natural not
	notnull offset on only or order outer over overlaps placing preceding primary
	recursive references returning right select semi set similar some symmetric table
	then to trailing union unique using values variadic when where window with within`)

// alsoFunctions are those of them that may be called.
var alsoFunctions = wordSet("left right any all some")

func wordSet(list string) map[string]bool {
	set := map[string]bool{}
	for _, w := range strings.Fields(list) {
		set[w] = true
	}
	return set
}

// chain reads the operands that *, / and % stand between, from t on. It passes a token that is none.
func (r *translation) chain(t lex.Token, in clause) int {
	start := t.Start
	end, _ := r.operand(start, in)
	if end == start {
		return t.End()
	}
	for r.failed == nil {
		op := r.next(end)
		if !op.IsAny("*", "/", "%", "//") {
			if op.IsAny("+", "-") {
				end = op.End() // of two operands
			}
			return end
		}
		divisor := r.next(op.End())
		stop, constant := r.operand(divisor.Start, in)
		if stop == divisor.Start {
			return op.End()
		}
		switch {
		case op.Is("/") && constant != fraction:
			r.insert(start, duckdb.Divide+"(", opens)
			r.replace(op.Start, op.End(), ",")
			r.insert(stop, ")", closes)
		case op.Is("%") && constant == unknown && in != inFrom && in != inAmount && !divisor.Is(divisorName):
			r.insert(divisor.Start, divisorName+"(", opens)
			r.insert(stop, ")", closes)
		}
		end = stop
	}
	return end
}

// divisorName is the macro that refuses a zero.
const divisorName = "csm_divisor"

// constant says what is known of an operand.
type constant uint8

const (
	unknown  constant = iota
	whole             // a number that is not zero
	fraction          // one with a point or an exponent
)

func constantOf(number string) constant {
	mantissa, exponent, _ := strings.Cut(strings.ToLower(number), "e")
	switch {
	case strings.Trim(mantissa, "0._") == "":
		return unknown
	case exponent != "" || strings.Contains(mantissa, "."):
		return fraction
	}
	return whole
}

// operand reads one with all that binds it more tightly than a multiplication; the end is at if there is none.
func (r *translation) operand(at int, in clause) (end int, is constant) {
	t, exponent := r.next(at), r.exponent
	start := t.Start
	r.exponent = false
	for t.IsAny("+", "-") {
		t = r.next(t.End())
	}
	end = t.End()
	switch t.Kind {
	case lex.Number:
		is = constantOf(t.Text)
	case lex.String, lex.Parameter:
	case lex.Quoted:
		end = r.name(t, in)
	case lex.Word:
		name, after := lex.Fold(t.Text), r.next(t.End())
		switch {
		case name == "case":
			end = r.walk(t.End(), context{clause: inFilter, closer: "end"})
		case clauses[name] != inNothing && !after.IsAny("(", ".") && !isName(name, after),
			noOperand[name] && !(alsoFunctions[name] && after.Is("(")):
			return at, unknown
		case (after.Is("(") || after.Is("varying") || name == "bit") && r.mayCut(t):
			end = r.typedString(t)
		case after.Kind == lex.String && after.Start > t.End():
			if by := r.literal(after, t, true); by != "" {
				r.replace(t.Start, t.End(), by)
			}
			r.float(t)
			end = r.intervalFields(name, after.End())
		case name == "array" && after.Is("["):
			r.ragged(after)
			end = r.walk(after.End(), context{clause: in})
		case name == "interval" && after.Kind == lex.Number:
			end = r.next(after.End()).End()
		default:
			end = r.name(t, in)
		}
	case lex.Symbol:
		if !t.IsAny("(", "[", "{") {
			return at, unknown
		}
		if in == inCondition {
			in = inFilter
		}
		made := len(r.changes)
		end = r.walk(t.End(), context{clause: in})
		if in == inFrom && t.Is("(") {
			end = r.valuesAlias(t, end)
		} else if t.Is("(") {
			end = r.rowsCompared(t, made, end, in)
		}
	default:
		return at, unknown
	}
	stop := r.postfixes(t, start, end, in, exponent)
	if stop > end {
		is = unknown
	}
	return stop, is
}

// intervalFields passes YEAR TO MONTH behind an interval.
func (r *translation) intervalFields(name string, at int) int {
	if name != "interval" {
		return at
	}
	fields := []string{"year", "month", "day", "hour", "minute", "second"}
	if t := r.next(at); t.IsAny(fields...) {
		at = t.End()
		if to := r.next(at); to.Is("to") {
			if field := r.next(to.End()); field.IsAny(fields...) {
				at = field.End()
			}
		}
	}
	return at
}

// postfixes passes what stands behind an operand and belongs to it; first is its first token, behind the signs that it
// may have from start on. An exponent is no base: 2 ^ 3 ^ 2 is 64.
func (r *translation) postfixes(first lex.Token, start, at int, in clause, exponent bool) int {
	subscripts, slices := 0, false
	for r.failed == nil {
		t := r.next(at)
		after := r.next(t.End())
		switch {
		case t.Is("["):
			slices = slices || r.slice(t)
			if subscripts++; slices && subscripts > 1 {
				r.refuse(t, "0A000", "a slice of an array with another subscript is not supported",
					"Write (a[1:2])[1] for an element of the slice.")
			}
			at = r.subscript(t, in)
		case t.Is("."):
			at = after.End()
		case t.Is("::"):
			subscripts, slices = 0, false
			at = r.castTo(first, first.Start, t.Start, after, at == first.End())
		case t.Is("^"):
			if exponent {
				return at
			}
			r.exponent = true
			stop, _ := r.operand(after.Start, in)
			if r.exponent = false; stop == after.Start {
				return t.End()
			}
			r.insert(start, pgcatalog.TranslatedPrefix+"operator__power(", opens)
			r.replace(t.Start, t.End(), ",")
			r.insert(stop, ")", closes)
			at = stop
		case t.Is("collate"):
			at = after.End()
			for dot := r.next(at); dot.Is("."); dot = r.next(at) {
				at = r.next(dot.End()).End()
			}
		case t.Is("at") && after.Is("time"):
			zone := r.next(after.End())
			if !zone.Is("zone") {
				return at
			}
			named := r.next(zone.End())
			stop, _ := r.operand(named.Start, in)
			if stop == named.End() || r.next(named.End()).IsAny("at", "::") {
				r.zone(named)
			}
			at = max(stop, zone.End())
		default:
			return at
		}
	}
	return at
}

// typeName passes a type, from its first word on.
func (r *translation) typeName(t lex.Token) int {
	name, at := lex.Fold(t.Text), t.End()
	for dot := r.next(at); dot.Is("."); dot = r.next(at) {
		at = r.next(dot.End()).End()
	}
	if more := r.next(at); more.IsAny("precision", "varying") {
		at = more.End()
	}
	if open := r.next(at); open.Is("(") {
		at = r.walk(open.End(), context{clause: inFilter})
	}
	if with := r.next(at); (name == "time" || name == "timestamp") && with.IsAny("with", "without") {
		if time := r.next(with.End()); time.Is("time") {
			at = r.next(time.End()).End()
		}
	}
	at = r.intervalFields(name, at)
	for open := r.next(at); open.Is("["); open = r.next(at) {
		at = r.walk(open.End(), context{clause: inFilter})
	}
	return at
}

// name reads one, and the call of the function that it may be.
func (r *translation) name(t lex.Token, in clause) int {
	last, qualifier, end := t, "", t.End()
	for dot := r.next(end); dot.Is("."); dot = r.next(end) {
		part := r.next(dot.End())
		if part.Is("*") {
			return part.End()
		}
		qualifier, _ = last.Name()
		last, end = part, part.End()
	}
	open := r.next(end)
	if !open.Is("(") {
		return end
	}
	function, _ := last.Name()
	function = strings.ToLower(function)
	if qualifier != "" && !strings.EqualFold(qualifier, "pg_catalog") {
		function = ""
	}
	return r.call(r.callAt(function, t.Start, open), in)
}

// callEnd passes what stands behind a call of an aggregate or a window function.
func (r *translation) callEnd(at int) int {
	for {
		t := r.next(at)
		after := r.next(t.End())
		switch {
		case t.Is("within") && after.Is("group"):
			after = r.next(after.End())
		case t.Is("filter") && after.Is("("):
		case t.Is("over") && after.Is("("):
		case t.Is("over") && wordBegins(after):
			at = after.End()
			continue
		case t.IsAny("ignore", "respect") && after.Is("nulls"):
			at = after.End()
			continue
		default:
			return at
		}
		if !after.Is("(") {
			return at
		}
		at = r.walk(after.End(), context{clause: inFilter})
	}
}

// isAlias reports whether a word behind FROM may be a table's alias without AS.
func isAlias(t lex.Token) bool {
	name := lex.Fold(t.Text)
	return !noOperand[name] && clauses[name] == inNothing && !notAliases[name]
}

var notAliases = wordSet("from pivot unpivot positional asof anti desc")
