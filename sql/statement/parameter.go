package statement

import (
	"slices"
	"strconv"
	"strings"

	"github.com/csmsql/csmsql/sql/edit"
	"github.com/csmsql/csmsql/sql/lex"
	"github.com/csmsql/csmsql/sql/sqlerror"
)

// Numbered is a text whose parameters are written as PostgreSQL's parser reads them, $1, what was replaced, and the
// names of those that have one, in the order of their numbers. DuckDB's dialect has more spellings:
//
//	?              one more than the greatest number before it
//	?1             $1
//	$name, $"n m"  the number of the name, by first appearance; upper and lower case are the same
//
// A question mark between two operands is PostgreSQL's operator, and stays. Errors: parameters with names and without
// in one text (0A000).
func Numbered(read *lex.Text) (text string, made edit.List, names []string, err error) {
	sql := read.SQL
	if !mayHaveParameters(sql) {
		return sql, nil, nil, nil
	}
	numbered := edit.New(sql)
	var before, last lex.Token
	greatest := 0
	for t := read.Next(0); !t.Ends(); {
		stop, name, is := parameterAt(read, before, last, t)
		if !is {
			before, last = last, t
			t = read.Next(stop)
			continue
		}
		n, _ := strconv.Atoi(sql[t.Start+1 : stop])
		switch {
		case name != "":
			if n = slices.Index(names, name) + 1; n == 0 {
				names = append(names, name)
				n = len(names)
			}
		case n == 0:
			n = greatest + 1
		}
		if name == "" {
			greatest = max(greatest, n)
		}
		if greatest > 0 && len(names) > 0 {
			return "", nil, nil, &sqlerror.Error{State: "0A000", At: position(sql, t.Start),
				Message: "parameters with and without names in one statement are not supported"}
		}
		if by := "$" + strconv.Itoa(n); t.Kind != lex.Parameter {
			numbered.Replace(t.Start, stop, by)
		}
		before, last = last, lex.Token{Text: sql[t.Start:stop], Start: t.Start, Kind: lex.Parameter}
		t = read.Next(stop)
	}
	text, made = numbered.Text()
	return text, made, names, nil
}

// mayHaveParameters is a cheap check, mostly false: it finds question marks, and dollars with a name behind them.
func mayHaveParameters(sql string) bool {
	for i := range len(sql) {
		if sql[i] == '?' || sql[i] == '$' && i+1 < len(sql) && (lex.IsLetter(sql[i+1]) || sql[i+1] == '"') {
			return true
		}
	}
	return false
}

// parameterAt reports whether t, behind last and before, begins a parameter, where that ends, and its name.
func parameterAt(read *lex.Text, before, last, t lex.Token) (stop int, name string, is bool) {
	sql := read.SQL
	stop = t.End()
	next := read.Next(stop)
	joined := next.Start == stop
	switch {
	case t.Kind == lex.Parameter:
		return stop, "", true
	case t.Is("$") && joined && (next.Kind == lex.Word || next.Kind == lex.Quoted && next.Text[0] == '"'):
		name, _ := next.Name()
		return next.End(), lex.Fold(name), name != ""
	case !t.Is("?"):
	case t.Start > 0 && strings.IndexByte("@#", sql[t.Start-1]) >= 0: // @?
	case joined && next.IsAny("|", "&") && !strings.HasPrefix(sql[stop:], "||"): // ?|, ?&
	case joined && next.Kind == lex.Number && lex.OnlyDigits(next.Text):
		return next.End(), "", true
	case last.Text == "" || !lex.EndsOperand(before, last):
		return stop, "", true
	case last.Kind == lex.Word && !beginsOperand(next) && !(joined && lex.IsOperatorPart(next.Text[0])): // ROWS ? PRECEDING
		return stop, "", true
	}
	return stop, "", false
}

// beginsOperand reports whether an operand may begin with t.
func beginsOperand(t lex.Token) bool {
	switch t.Kind {
	case lex.Quoted, lex.String, lex.Number, lex.Parameter:
		return true
	case lex.Word:
		return !followsOperand[lex.Fold(t.Text)]
	}
	return t.IsAny("(", "[", "{", "$", "?")
}

// followsOperand are the keywords that come behind an operand.
var followsOperand = func() map[string]bool {
	words := map[string]bool{}
	for _, w := range strings.Fields("and or as is in like ilike similar between collate at from where group having " +
		"window qualify order limit offset fetch union intersect except then else end when asc desc nulls on using " +
		"join inner left right full cross natural returning with for escape filter over isnull notnull glob rows row " +
		"range preceding following percent") {
		words[w] = true
	}
	return words
}()
