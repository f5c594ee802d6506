package lex

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

// Operators are those of a text, from left to right, up to whatever does not end. LIKE is among them only with a
// quantifier. The ~ that stands before its only operand is another one, and none of them.
func Operators(read *Text) []Operator {
	sql := read.SQL
	var found []Operator
	var earlier, before Token
	t := read.Next(0)
	for !t.Ends() {
		op := Operator{Start: t.Start, End: operatorEnd(sql, t)}
		written := sql[t.Start:op.End]
		switch {
		case t.Is("like"), t.Is("ilike"):
			op.Name = "~~" + strings.Repeat("*", len(t.Text)-len("like"))
			if before.Is("not") {
				op.Name, op.Start = "!"+op.Name, before.Start
			}
		case patternOperators[written] && (EndsOperand(earlier, before) || before.Is("(") && earlier.Is("operator")):
			op.Name = written
		}
		after := read.Next(op.End)
		if op.Name != "" {
			op.quantify(read, after)
		}
		if op.Quantifier != "" || patternOperators[written] && op.Name != "" {
			found = append(found, op)
		}
		earlier, before = before, Token{Text: written, Start: t.Start, Kind: t.Kind}
		t = after
	}
	return found
}

var patternOperators = map[string]bool{"~": true, "!~": true, "~*": true, "!~*": true, "~~": true, "!~~": true, "~~*": true, "!~~*": true}

// quantify adds ANY, SOME or ALL that stands before an array. Before a query they are left alone.
func (op *Operator) quantify(read *Text, t Token) {
	if !t.IsAny("any", "some", "all") {
		return
	}
	open := read.Next(t.End())
	if !open.Is("(") || read.Next(open.End()).IsAny("select", "with", "values", "table", "from") {
		return
	}
	op.Quantifier, op.End = "any", t.End()
	if t.Is("all") {
		op.Quantifier = "all"
	}
}

// operatorEnd is where the operator ends that begins with a symbol: PostgreSQL takes as many of its characters as
// follow one another, up to a comment. Of every other token it is the end.
func operatorEnd(sql string, t Token) int {
	stop := t.End()
	if t.Kind != Symbol || !IsOperatorPart(t.Text[0]) {
		return stop
	}
	for stop < len(sql) && IsOperatorPart(sql[stop]) && !strings.HasPrefix(sql[stop:], "--") && !strings.HasPrefix(sql[stop:], "/*") {
		stop++
	}
	return stop
}

// IsOperatorPart reports whether an operator may have the byte.
func IsOperatorPart(c byte) bool { return strings.IndexByte("~!@#^&|`?+-*/%<>=", c) >= 0 }

// EndsOperand reports whether t, behind before, may be the end of an operand: then an operator that follows stands
// between two.
func EndsOperand(before, t Token) bool {
	switch t.Kind {
	case Quoted, String, Number, Parameter:
		return true
	case Symbol:
		return t.IsAny(")", "]", "}", "?")
	case Word:
		name := Fold(t.Text)
		return !wantsOperand[name] && (name != "by" || !before.IsAny("order", "group", "partition"))
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
