package dialect

import (
	"slices"
	"strings"

	"github.com/csmsql/csmsql/sql/edit"
	"github.com/csmsql/csmsql/sql/lex"
	"github.com/csmsql/csmsql/sql/pgcatalog"
	"github.com/csmsql/csmsql/sql/sqlerror"
)

// volatile are DuckDB's functions that may give another value whenever they are called. A sub-query is asked once for
// all rows that it makes no difference between. A test compares the list with DuckDB's.
var volatile = map[string]bool{
	"current_connection_id": true, "current_query": true, "current_query_id": true, "current_transaction_id": true, "currval": true, "error": true,
	"csm_clock": true, "csm_clock_timestamp": true,
	"csm_currval": true, "csm_lastval": true, "csm_nextval": true, "csm_nextval__of": true, "csm_sequence": true,
	"csm_setval": true, "csm_set_config": true, "gen_random_uuid": true, "nextval": true, "random": true, "setseed": true, "sleep_ms": true, "stats": true,
	"uuid": true, "uuidv4": true, "uuidv7": true, "write_log": true,
}

// VolatileIn is the name of such a function that an expression calls.
func VolatileIn(expression string) (found string) {
	called := ""
	ReplaceTokens(expression, func(token string, _ int) (string, bool) {
		if token == "(" && found == "" {
			found = called
		}
		called = ""
		if name := strings.ToLower(strings.Trim(token, `"`)); volatile[name] {
			called = name
		}
		return "", false
	})
	return found
}

// Changing reports whether a function, with so many arguments, may give another value for the same ones: whenever it is
// called, at another time, or in another session. What DuckDB's own do, DuckDB says.
func Changing(name string, count int) bool { return volatile[name] || pgcatalog.Changing(name, count) }

// volatileParts are in the names of functions that give another value whenever they are called, and that users call.
var volatileParts = []string{"random", "uuid", "nextval", "setval", "clock", "set_config"}

// mayBeVolatile is a cheap check, which is false for most texts.
func mayBeVolatile(sql string) bool { return len(sql) <= TreeMax && mentionsVolatile(sql) }

func mentionsVolatile(sql string) bool {
	return slices.ContainsFunc(volatileParts, func(part string) bool { return lex.Mentions(sql, part) })
}

// MayVary reports whether an expression may give another value whenever it is computed.
func MayVary(expression string) bool {
	return mentionsVolatile(expression) || VolatileIn(expression) != ""
}

// materialized takes NOT from NOT MATERIALIZED before a query that calls what gives another value whenever it is
// called: PostgreSQL computes it once all the same.
func (r *translation) materialized(t, open lex.Token) int {
	before := strings.TrimRight(r.sql[:t.Start], blanks)
	at := len(before) - len("not")
	if at <= 0 || !strings.EqualFold(before[at:], "not") || !open.Is("(") {
		return t.End()
	}
	query := r.callAt("", open.Start, open)
	if inside := r.sql[open.End():query.closing]; mayBeVolatile(inside) && VolatileIn(inside) != "" {
		r.replace(at, len(before), "")
	}
	return t.End()
}

// openCall is a call that is open while a text is read.
type openCall struct {
	name     lex.Token
	volatile []int // which of its arguments are
	count    int   // of those before the last one
	empty    bool
}

// computeOnce has calls of macros that read an argument more than once call their twins where it is volatile, and
// refuses what DuckDB computes for every WHEN: CASE random() WHEN 1 THEN … WHEN 2 THEN …
func computeOnce(sql string) (string, edit.List, error) {
	if !mayBeVolatile(sql) {
		return sql, nil, nil
	}
	read := lex.Client.Text(sql)
	edited := edit.New(sql)
	var names []change
	calls := []openCall{{}}
	mark := func() {
		if c := &calls[len(calls)-1]; !slices.Contains(c.volatile, c.count) {
			c.volatile = append(c.volatile, c.count)
		}
	}
	var before, earlier lex.Token
	for t := read.Next(0); !t.Ends(); t = read.Next(t.End()) {
		c := &calls[len(calls)-1]
		c.empty = c.empty && t.Is(")")
		switch {
		case t.IsAny("(", "[", "{"):
			opened := openCall{empty: true}
			if t.Is("(") && (before.Kind == lex.Word || before.Kind == lex.Quoted) && !earlier.Is(".") {
				opened.name = before
			}
			calls = append(calls, opened)
		case t.IsAny(")", "]", "}") && len(calls) > 1:
			calls = calls[:len(calls)-1]
			name, _ := c.name.Name()
			name = lex.Fold(name)
			if volatile[name] && name != "error" || len(c.volatile) > 0 {
				mark()
			}
			twin, err := c.twin(name)
			if err != nil {
				return "", nil, err
			}
			if twin != "" {
				names = append(names, change{start: c.name.Start, end: c.name.End(), by: twin})
			}
		case t.Is(","):
			c.count++
		case t.Is("case"):
			if operand := caseOperand(read, t); VolatileIn(operand) != "" {
				const message = "CASE of %s(), which may give another value for each WHEN, is not supported"
				return "", nil, sqlerror.New("0A000", message, VolatileIn(operand)).
					WithHint("Compute it in a subquery: SELECT CASE x WHEN … FROM (SELECT … AS x) AS t.")
			}
		}
		earlier, before = before, t
	}
	slices.SortFunc(names, func(a, b change) int { return a.start - b.start })
	for _, c := range names {
		edited.Replace(c.start, c.end, c.by)
	}
	text, made := edited.Text()
	return text, made, nil
}

// twinName is the macro that stands for a function of DuckDB's that is one of its own macros.
func twinName(name string) string {
	if name == "nullif" {
		return pgcatalog.TranslatedPrefix + name
	}
	return name
}

// twin is the name of the twin that a call is one of; empty: it is the function's own.
func (c *openCall) twin(name string) (string, error) {
	if len(c.volatile) == 0 || c.empty {
		return "", nil
	}
	once, twin := pgcatalog.Reads(twinName(name), c.count+1, c.volatile)
	if !once && twin == "" {
		const message = "an aggregate of intervals that may be others whenever they are computed is not supported"
		return "", sqlerror.New("0A000", message).WithHint("Compute them in a subquery.")
	}
	return twin, nil
}

// caseOperand is what stands between CASE and the first WHEN.
func caseOperand(read *lex.Text, word lex.Token) string {
	depth := 0
	for t := read.Next(word.End()); !t.Ends(); t = read.Next(t.End()) {
		switch {
		case t.IsAny("(", "[", "{", "case"):
			depth++
		case t.IsAny(")", "]", "}", "end"):
			depth--
		case t.Is("when") && depth == 0:
			return read.SQL[word.End():t.Start]
		}
		if depth < 0 {
			break
		}
	}
	return ""
}
