package statement

import "github.com/csmsql/csmsql/sql/lex"

const twoPhaseAdvice = "There is no two-phase commit: use COMMIT."

// prepare reads PREPARE name [(type, …)] AS query.
func (c *cursor) prepare() (any, error) {
	if c.peek(0).Is("transaction") && c.peek(1).Kind == lex.String {
		return nil, c.refuse("PREPARE TRANSACTION", twoPhaseAdvice)
	}
	p := &Prepare{}
	var ok bool
	if p.Name, ok = c.identifier(); !ok {
		return nil, c.unexpected()
	}
	var err error
	if p.Types, err = c.expressions(); err != nil {
		return nil, err
	}
	if !c.accept("as") || c.done() {
		return nil, c.unexpected()
	}
	p.QueryAt = c.peek(0).Start
	p.Query = c.rest()
	return p, nil
}

// execute reads EXECUTE name [(expression, …)].
func (c *cursor) execute() (any, error) {
	e := &Execute{}
	var ok bool
	if e.Name, ok = c.identifier(); !ok {
		return nil, c.unexpected()
	}
	var err error
	if e.Arguments, err = c.expressions(); err != nil {
		return nil, err
	}
	return e, c.finish()
}

// expressions takes a parenthesized list if one is next: the texts between its commas. It is not empty.
func (c *cursor) expressions() (texts []string, err error) {
	if !c.accept("(") {
		return nil, nil
	}
	for {
		expression := c.until(func(_, t lex.Token) bool { return isEnd(t) })
		if expression == "" {
			return nil, c.unexpected()
		}
		texts = append(texts, expression)
		if c.accept(")") {
			return texts, nil
		}
		if !c.accept(",") {
			return nil, c.unexpected()
		}
	}
}
