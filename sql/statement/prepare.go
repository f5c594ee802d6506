package statement

import (
	"slices"
	"strings"

	"github.com/csmsql/csmsql/sql/lex"
	"github.com/csmsql/csmsql/sql/sqlerror"
)

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
	for i, argument := range e.Arguments {
		var name string
		if name, e.Arguments[i] = namedArgument(argument); name != "" {
			for len(e.Names) < i {
				e.Names = append(e.Names, "")
			}
			e.Names = append(e.Names, name)
		}
	}
	return e, c.finish()
}

// namedArgument takes the name off an argument that is written as name := expression.
func namedArgument(argument string) (name, expression string) {
	t := lex.Client.Next(argument, 0)
	if t.Kind != lex.Word && t.Kind != lex.Quoted {
		return "", argument
	}
	colon := lex.Client.Next(argument, t.End())
	if !colon.Is(":") || !strings.HasPrefix(argument[colon.Start:], ":=") {
		return "", argument
	}
	name, _ = t.Name()
	return lex.Fold(name), strings.TrimSpace(argument[colon.Start+len(":="):])
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

// InOrder are the arguments, as many as there are parameters, in the order of the parameters' numbers. Those of
// parameters with names are given by name, as in DuckDB. Errors: 42601.
func (e *Execute) InOrder(names []string) ([]string, error) {
	if len(names) == 0 && len(e.Names) == 0 {
		return e.Arguments, nil
	}
	ordered := make([]string, len(e.Arguments))
	for i, argument := range e.Arguments {
		if i >= len(e.Names) || e.Names[i] == "" {
			const message = "argument %d of EXECUTE has no name, but the parameters of prepared statement %q have"
			return nil, sqlerror.New("42601", message, i+1, e.Name).
				WithHint("Write EXECUTE " + e.Name + " (" + strings.Join(names, " := …, ") + " := …).")
		}
		at := slices.Index(names, e.Names[i])
		switch {
		case at < 0, at >= len(ordered):
			const message = "prepared statement %q has no parameter named %q"
			return nil, sqlerror.New("42601", message, e.Name, e.Names[i])
		case ordered[at] != "":
			return nil, sqlerror.New("42601", "parameter %q is given twice", e.Names[i])
		}
		ordered[at] = argument
	}
	return ordered, nil
}
