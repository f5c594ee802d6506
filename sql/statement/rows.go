package statement

import (
	"strings"

	"github.com/csmsql/csmsql/sql/lex"
	"github.com/csmsql/csmsql/sql/sqlerror"
)

// insert reads behind INSERT; with is the text of the WITH clause before it.
func (c *cursor) insert(with string) (any, error) {
	if c.peek(0).Is("or") {
		return nil, c.refuse("INSERT OR …", "Write INSERT … ON CONFLICT DO NOTHING, or DO UPDATE.")
	}
	if !c.accept("into") {
		return nil, c.unexpected()
	}
	name, err := c.name()
	if err != nil {
		return nil, err
	}
	i := &Insert{Name: name, With: with}
	if c.accept("as") {
		var ok bool
		if i.Alias, ok = c.identifier(); !ok {
			return nil, c.unexpected()
		}
	}
	mark := *c
	if i.Columns, i.ColumnsAt, err = c.columns(); err != nil { // INSERT INTO t (SELECT …)
		*c = mark
	}
	switch {
	case c.accept("by", "name"):
		i.ByName = true
	case c.accept("by", "position"):
	case c.accept("overriding"):
		if !c.peek(0).IsAny("system", "user") || !c.peek(1).Is("value") {
			return nil, c.unexpected()
		}
		i.Overriding = strings.ToUpper(c.next().Text)
		c.next()
	}
	if c.accept("default", "values") {
		return i, c.insertEnd(i)
	}
	if c.done() {
		return nil, c.unexpected()
	}
	return i, c.insertQuery(i)
}

func (c *cursor) insertQuery(i *Insert) error {
	start := c.peek(0).Start
	i.read, i.at = c.read, start
	if c.constants > 0 {
		i.Query = c.sql[start:c.constants]
		return nil
	}
	if c.peek(0).Is("values") {
		mark := *c
		i.Defaults = c.defaults(len(i.With) - start)
		*c = mark
	}
	query := c.until(func(before, t lex.Token) bool {
		return isClause(before, t, "returning") || isClause(before, t, "on") && c.peek(1).Is("conflict") && c.peek(2).IsAny("(", "on", "do")
	})
	i.Query = query
	if i.With != "" {
		i.Query = i.With + query
	}
	return c.insertEnd(i)
}

// insertEnd reads what may stand behind the rows of an INSERT.
func (c *cursor) insertEnd(i *Insert) (err error) {
	if !c.peek(0).Is("on") {
		i.Returning, err = c.returning()
		return err
	}
	k := &Conflict{At: c.position(c.peek(0).Start)}
	if i.Conflict = k; !c.accept("on", "conflict") {
		return c.unexpected()
	}
	if err := c.conflictTarget(k); err != nil {
		return err
	}
	if c.accept("do", "nothing") {
		i.Returning, err = c.returning()
		return err
	}
	k.Update = true
	if !c.accept("do", "update", "set") {
		return c.unexpected()
	}
	if k.Columns == nil && k.Constraint == "" {
		return &sqlerror.Error{State: "42601", At: k.At,
			Message:  "ON CONFLICT DO UPDATE requires inference specification or constraint name",
			HintText: "For example, ON CONFLICT (column_name)."}
	}
	if k.Set, err = c.assignments(); err != nil {
		return err
	}
	k.Where, i.Returning, err = c.where("INSERT … ON CONFLICT")
	return err
}

// conflictTarget reads which keys an ON CONFLICT means.
func (c *cursor) conflictTarget(k *Conflict) error {
	if c.accept("on", "constraint") {
		k.At = c.position(c.peek(0).Start)
		var ok bool
		if k.Constraint, ok = c.identifier(); !ok {
			return c.unexpected()
		}
		return nil
	}
	if !c.peek(0).Is("(") {
		return nil
	}
	k.At = c.position(c.peek(0).Start)
	for c.next(); ; {
		at := c.position(c.peek(0).Start)
		name, ok := c.identifier()
		switch {
		case c.peek(0).Is("collate"):
			return c.refuse("ON CONFLICT (… COLLATE)", "Name columns: keys are of columns as they are.")
		case !ok || !isEnd(c.peek(0)):
			return c.refuse("ON CONFLICT (expression)", "Name columns: there are no keys of expressions.")
		}
		k.Columns, k.ColumnsAt = append(k.Columns, name), append(k.ColumnsAt, at)
		if !c.accept(",") {
			break
		}
	}
	if !c.accept(")") {
		return c.unexpected()
	}
	if c.peek(0).Is("where") {
		return c.refuse("ON CONFLICT (…) WHERE", "Leave it out: there are no keys of some rows.")
	}
	return nil
}

// isClause reports whether t begins a clause, and is not a column's name or alias as in t.returning.
func isClause(before, t lex.Token, words ...string) bool {
	return t.IsAny(words...) && !before.IsAny(".", "as")
}

// returning reads RETURNING and its list, which go to the end; empty if there is none.
func (c *cursor) returning() (string, error) {
	if !c.accept("returning") {
		return "", c.finish()
	}
	if c.done() {
		return "", c.unexpected()
	}
	return c.rest(), nil
}

// defaults finds DEFAULT among the values of VALUES (…), (…); shift turns offsets of the text into the query's.
func (c *cursor) defaults(shift int) (found []DefaultValue) {
	c.next()
	for c.accept("(") {
		for column := 0; ; column++ {
			if t := c.peek(0); t.Is("default") && c.peek(1).IsAny(",", ")") {
				found = append(found, DefaultValue{At: t.Start + shift, Column: column})
			}
			for !c.done() && !isEnd(c.peek(0)) {
				c.skip()
			}
			if !c.accept(",") {
				break
			}
		}
		if !c.accept(")") {
			return found
		}
		c.accept(",")
	}
	return found
}

func isEnd(t lex.Token) bool { return t.IsAny(",", ")") }

// update reads behind UPDATE.
func (c *cursor) update(with string) (any, error) {
	if c.peek(0).Is("extensions") && (c.peek(1).Is("(") || c.peek(1).Is(";") || c.peek(1).Kind == lex.End) {
		return nil, c.refuse("UPDATE EXTENSIONS", "There are no extensions but those that are built in.")
	}
	u := &Update{With: with}
	var err error
	if u.Name, u.Alias, err = c.target("set"); err != nil {
		return nil, err
	}
	if !c.accept("set") {
		return nil, c.unexpected()
	}
	if u.Set, err = c.assignments(); err != nil {
		return nil, err
	}
	if c.accept("from") {
		if u.From = c.until(func(b, t lex.Token) bool { return isClause(b, t, "where", "returning") }); u.From == "" {
			return nil, c.unexpected()
		}
	}
	u.Where, u.Returning, err = c.where("UPDATE")
	return u, err
}

// delete reads behind DELETE.
func (c *cursor) delete(with string) (any, error) {
	if !c.accept("from") {
		return nil, c.unexpected()
	}
	d := &Delete{With: with}
	var err error
	if d.Name, d.Alias, err = c.target("using", "where", "returning"); err != nil {
		return nil, err
	}
	if c.accept("using") {
		if d.Using = c.until(func(b, t lex.Token) bool { return isClause(b, t, "where", "returning") }); d.Using == "" {
			return nil, c.unexpected()
		}
	}
	d.Where, d.Returning, err = c.where("DELETE")
	return d, err
}

// target reads [ONLY] name [*] [[AS] alias]; next are the words that may follow.
func (c *cursor) target(next ...string) (name Name, alias string, err error) {
	parenthesis := c.accept("only", "(")
	if !parenthesis {
		c.accept("only")
	}
	if name, err = c.name(); err != nil {
		return name, "", err
	}
	if parenthesis && !c.accept(")") {
		return name, "", c.unexpected()
	}
	c.accept("*")
	as := c.accept("as")
	if !as && (c.done() || c.peek(0).IsAny(next...)) {
		return name, "", nil
	}
	alias, ok := c.identifier()
	if !ok {
		return name, "", c.unexpected()
	}
	return name, alias, nil
}

// where reads the condition and what is returned, which go to the end.
func (c *cursor) where(verb string) (condition, returning string, err error) {
	if c.accept("where") {
		if c.peek(0).Is("current") && c.peek(1).Is("of") {
			return "", "", c.refuse(verb+" … WHERE CURRENT OF", "Name the rows by their values.")
		}
		if condition = c.until(func(b, t lex.Token) bool { return isClause(b, t, "returning") }); condition == "" {
			return "", "", c.unexpected()
		}
	}
	returning, err = c.returning()
	return condition, returning, err
}

// assignments reads what is behind SET.
func (c *cursor) assignments() (set []Assignment, err error) {
	for {
		if err := c.assign(&set); err != nil {
			return nil, err
		}
		if !c.accept(",") {
			return set, nil
		}
	}
}

// assign reads column = value or (column, …) = (value, …).
func (c *cursor) assign(set *[]Assignment) error {
	names, at, err := c.columns()
	if err != nil {
		return err
	}
	if names != nil {
		return c.assignRow(set, names, at)
	}
	a := Assignment{At: c.position(c.peek(0).Start)}
	name, ok := c.identifier()
	if !ok {
		return c.unexpected()
	}
	if c.peek(0).IsAny(".", "[") {
		return c.refuse("assigning to a part of column \""+name+"\"", "Assign the whole value.")
	}
	a.Column = name
	if !c.accept("=") {
		return c.unexpected()
	}
	if err := c.value(&a); err != nil {
		return err
	}
	*set = append(*set, a)
	return nil
}

func (c *cursor) value(a *Assignment) error {
	when := outsideCase("when") // of a MERGE
	a.Value = c.until(func(b, t lex.Token) bool {
		return isEnd(t) || isClause(b, t, "where", "returning") || isClause(b, t, "from") && !b.Is("distinct") ||
			when(b, t)
	})
	if a.Value == "" {
		return c.unexpected()
	}
	if len(a.Value) == len("default") && lex.Same(a.Value, "default") {
		a.Value, a.Default = "", true
	}
	return nil
}

func (c *cursor) assignRow(set *[]Assignment, names []string, at []int) error {
	if !c.accept("=") {
		return c.unexpected()
	}
	if c.isQuery() {
		c.assignQuery(set, names, at)
		return nil
	}
	c.accept("row")
	if !c.peek(0).Is("(") {
		const wrong = "source for a multiple-column UPDATE item must be a sub-SELECT or ROW() expression"
		return &sqlerror.Error{State: "0A000", Message: wrong, At: c.position(c.peek(0).Start)}
	}
	c.next()
	for i, name := range names {
		if i > 0 && !c.accept(",") {
			return &sqlerror.Error{State: "42601", Message: "number of columns does not match number of values", At: at[i]}
		}
		a := Assignment{Column: name, At: at[i]}
		if err := c.value(&a); err != nil {
			return err
		}
		*set = append(*set, a)
	}
	if c.peek(0).Is(",") {
		return &sqlerror.Error{State: "42601", Message: "number of columns does not match number of values", At: at[0]}
	}
	if !c.accept(")") {
		return c.unexpected()
	}
	return nil
}

// isQuery reports whether a query in parentheses is next.
func (c *cursor) isQuery() bool {
	look := *c
	switch {
	case !look.accept("("), look.peek(0).Is("(") && !look.isQuery():
		return false
	case !look.peek(0).Is("("):
		return startsQuery(look.peek(0))
	}
	look.skip()
	return !look.peek(0).Is(",") // a row whose first value is a query
}

// assignQuery reads a query whose row gives columns their values.
func (c *cursor) assignQuery(set *[]Assignment, names []string, at []int) {
	from, row := c.peek(0).Start, &RowQuery{Fields: len(names)}
	c.skip()
	for i, name := range names {
		*set = append(*set, Assignment{Column: name, Value: c.since(from), At: at[i], Row: row, Field: i})
	}
}
