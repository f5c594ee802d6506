package statement

import "strings"

// Operator is an operator that looks for a pattern, between its operands.
type Operator struct {
	// Name is PostgreSQL's: ~, !~, ~*, !~*, and ~~ for LIKE, !~~ for NOT LIKE, ~~* for ILIKE, !~~* for NOT ILIKE.
	Name string
	// Quantifier is any or all where the right operand is an array of patterns, and empty otherwise.
	Quantifier string
	// Start and End say where it stands in the text, its quantifier included.
	Start, End int
}

// Operators are those of a text, from left to right, up to whatever does not end. LIKE is among them only with a quantifier. The ~ that
// stands before its only operand is another one, and none of them.
func Operators(sql string) []Operator {
	var found []Operator
	var earlier, before token
	t := lex(sql, 0)
	for t.kind != end && t.kind != incomplete {
		op := Operator{Start: t.start, End: operatorEnd(sql, t)}
		written := sql[t.start:op.End]
		switch {
		case t.is("like"), t.is("ilike"):
			op.Name = "~~" + strings.Repeat("*", len(t.text)-len("like"))
			if before.is("not") {
				op.Name, op.Start = "!"+op.Name, before.start
			}
		case patternOperators[written] && (endsOperand(earlier, before) || before.is("(") && earlier.is("operator")):
			op.Name = written
		}
		after := lex(sql, op.End)
		if op.Name != "" {
			op.quantify(sql, after)
		}
		if op.Quantifier != "" || patternOperators[written] && op.Name != "" {
			found = append(found, op)
		}
		earlier, before = before, token{text: written, start: t.start, kind: t.kind}
		t = after
	}
	return found
}

var patternOperators = map[string]bool{"~": true, "!~": true, "~*": true, "!~*": true, "~~": true, "!~~": true, "~~*": true, "!~~*": true}

// quantify adds ANY, SOME or ALL that stands before an array. Before a query they are left alone.
func (op *Operator) quantify(sql string, t token) {
	if !t.isAny("any", "some", "all") {
		return
	}
	open := lex(sql, t.end())
	if !open.is("(") || lex(sql, open.end()).isAny("select", "with", "values", "table", "from") {
		return
	}
	op.Quantifier, op.End = "any", t.end()
	if t.is("all") {
		op.Quantifier = "all"
	}
}

// operatorEnd is where the operator ends that begins with a symbol: PostgreSQL takes as many of its characters as follow one another, up to
// a comment. Of every other token it is the end.
func operatorEnd(sql string, t token) int {
	stop := t.end()
	if t.kind != symbol || !isOperatorPart(t.text[0]) {
		return stop
	}
	for stop < len(sql) && isOperatorPart(sql[stop]) && !strings.HasPrefix(sql[stop:], "--") && !strings.HasPrefix(sql[stop:], "/*") {
		stop++
	}
	return stop
}

func isOperatorPart(c byte) bool { return strings.IndexByte("~!@#^&|`?+-*/%<>=", c) >= 0 }

// endsOperand tells whether t, behind before, may be the end of an operand: then an operator that follows stands between two.
func endsOperand(before, t token) bool {
	switch t.kind {
	case quoted, text, number, parameter:
		return true
	case symbol:
		return t.isAny(")", "]", "}", "?")
	case word:
		name := fold(t.text)
		return !wantsOperand[name] && (name != "by" || !before.isAny("order", "group", "partition"))
	}
	return false
}

// wantsOperand are the keywords that an expression may follow.
var wantsOperand = func() map[string]bool {
	words := map[string]bool{}
	for _, w := range strings.Fields("select distinct all any some where and or not when then else case on having limit offset in like ilike between from returning using set values qualify default check escape to") {
		words[w] = true
	}
	return words
}()
