package statement

import "strings"

// definitions reads "(definition, …)" and what follows it.
func (c *cursor) definitions(t *CreateTable) (err error) {
	switch {
	case c.accept("("):
	case c.peek(0).is("of"), c.peek(0).is("partition"):
		return c.refuse("CREATE TABLE … "+strings.ToUpper(c.peek(0).text), "Write the columns out.")
	default:
		return c.unexpected()
	}
	var keys []key
	for !c.accept(")") {
		if err := c.definition(t, &keys); err != nil {
			return err
		}
		if !c.peek(0).is(")") && !c.accept(",") {
			return c.unexpected()
		}
	}
	if err := t.require(keys); err != nil {
		return err
	}
	if t.With, err = c.storage(); err != nil {
		return err
	}
	return c.finish()
}

// key is a primary key: its columns and where it stands.
type key struct {
	columns []string
	at      []int
}

// require makes the columns of the primary key NOT NULL, which is enforced.
func (t *CreateTable) require(keys []key) error {
	if len(keys) > 1 {
		return &Error{State: "42P16", Message: `multiple primary keys for table "` + t.Name.Name + `" are not allowed`, At: keys[1].at[0]}
	}
	for _, k := range keys {
		for i, name := range k.columns {
			column := t.column(name)
			if column == nil {
				return &Error{State: "42703", Message: `column "` + name + `" named in key does not exist`, At: k.at[i]}
			}
			column.NotNull = true
		}
	}
	return nil
}

func (t *CreateTable) column(name string) *Column {
	for i := range t.Columns {
		if strings.EqualFold(t.Columns[i].Name, name) {
			return &t.Columns[i]
		}
	}
	return nil
}

// startsConstraint tells whether t ends a column's type or the expression of its default.
func startsConstraint(before, t token) bool {
	return t.isAny("constraint", "primary", "unique", "check", "references", "not", "null", "default", "generated", "collate", "as",
		"using", "deferrable", "initially") && !before.is(".")
}

func (c *cursor) definition(t *CreateTable, keys *[]key) error {
	switch first := c.peek(0); {
	case first.isAny("constraint", "primary", "unique", "check", "foreign"), first.is("exclude") && c.peek(1).isAny("using", "("):
		return c.tableConstraint(t, keys)
	case first.is("like"):
		return c.refuse("CREATE TABLE (LIKE …)", "Use CREATE TABLE … AS SELECT * FROM … LIMIT 0.")
	}
	column := Column{At: position(c.sql, c.peek(0).start)}
	name, ok := c.identifier()
	if !ok {
		return c.unexpected()
	}
	column.Name = name
	first := c.peek(0)
	column.Type = c.until(func(b, t token) bool { return isEnd(t) || startsConstraint(b, t) })
	if c.peek(0).isAny("as", "generated") {
		return c.refuse("a generated column", "Compute it in a view.")
	}
	if column.Type == "" {
		return c.unexpected()
	}
	if first.kind != word && first.kind != quoted {
		return &Error{State: "42601", Message: `syntax error at or near "` + first.text + `"`, At: position(c.sql, first.start)}
	}
	for !c.done() && !isEnd(c.peek(0)) {
		if err := c.columnConstraint(t, &column, keys); err != nil {
			return err
		}
	}
	t.Columns = append(t.Columns, column)
	return nil
}

func (c *cursor) columnConstraint(t *CreateTable, column *Column, keys *[]key) error {
	from := c.peek(0).start
	switch {
	case c.accept("not", "null"):
		column.NotNull = true
	case c.accept("null"):
	case c.accept("default"):
		return c.defaultValue(column)
	case c.accept("constraint"):
		if _, ok := c.identifier(); !ok {
			return c.unexpected()
		}
	case c.accept("primary", "key"):
		c.indexOptions()
		*keys = append(*keys, key{[]string{column.Name}, []int{position(c.sql, from)}})
		t.NotEnforced = append(t.NotEnforced, "PRIMARY KEY ("+column.Name+")")
	case c.accept("references"):
		if err := c.references(); err != nil {
			return err
		}
		t.NotEnforced = append(t.NotEnforced, c.since(from)+" on column "+column.Name)
	case c.accept("collate"):
		return c.collation(column)
	case c.accept("using", "compression"): // how DuckDB would store it
		if _, err := c.name(); err != nil {
			return err
		}
		t.NotEnforced = append(t.NotEnforced, c.since(from)+" on column "+column.Name)
	case c.acceptAny("unique", "check"):
		c.group()
		c.accept("no", "inherit")
		c.indexOptions()
		t.NotEnforced = append(t.NotEnforced, c.since(from)+" on column "+column.Name)
	case c.peek(0).is("generated"):
		return c.refuse("a generated column", "Compute it in a view, or number rows with row_number() OVER ().")
	case c.deferrable():
	default:
		return c.unexpected()
	}
	return nil
}

// defaultValue reads an expression: at least one token, for NULL and NOT begin constraints too.
func (c *cursor) defaultValue(column *Column) error {
	if c.done() || isEnd(c.peek(0)) {
		return c.unexpected()
	}
	from := c.peek(0).start
	for first := true; ; first = false {
		before := c.peek(0)
		if c.done() || isEnd(before) || !first && startsConstraint(token{}, before) {
			break
		}
		c.skip()
		if c.accept(".") { // behind a dot everything is a name
			c.skip()
		}
	}
	column.Default = c.since(from)
	return nil
}

// references reads behind REFERENCES.
func (c *cursor) references() error {
	if _, err := c.name(); err != nil {
		return err
	}
	c.group()
	for {
		switch {
		case c.accept("match"):
			c.next()
		case c.accept("on", "delete"), c.accept("on", "update"):
			switch {
			case c.accept("set", "null"), c.accept("set", "default"):
				c.group()
			case c.accept("no", "action"), c.accept("cascade"), c.accept("restrict"):
			default:
				return c.unexpected()
			}
		case !c.deferrable():
			return nil
		}
	}
}

func (c *cursor) deferrable() bool {
	return c.accept("deferrable") || c.accept("not", "deferrable") || c.accept("initially", "deferred") || c.accept("initially", "immediate") ||
		c.accept("not", "valid") || c.accept("no", "inherit")
}

// indexOptions reads what PostgreSQL would do with the index of a key.
func (c *cursor) indexOptions() {
	for {
		switch {
		case c.accept("nulls", "distinct"), c.accept("nulls", "not", "distinct"):
		case c.peek(0).isAny("include", "with") && c.peek(1).is("("):
			c.next()
			c.group()
		case c.accept("using", "index", "tablespace"):
			c.next()
		case !c.deferrable():
			return
		}
	}
}

// tableConstraint reads a constraint that stands for itself and appends its text without its name to NotEnforced.
func (c *cursor) tableConstraint(t *CreateTable, keys *[]key) error {
	text, k, err := c.constraint()
	if err != nil {
		return err
	}
	if k != nil {
		*keys = append(*keys, *k)
	}
	t.NotEnforced = append(t.NotEnforced, text)
	return nil
}

func (c *cursor) constraint() (text string, k *key, err error) {
	if c.accept("constraint") {
		if _, ok := c.identifier(); !ok {
			return "", nil, c.unexpected()
		}
	}
	from := c.peek(0).start
	switch {
	case c.accept("primary", "key"):
		names, at, err := c.columns()
		if err != nil {
			return "", nil, err
		}
		if names == nil { // PRIMARY KEY USING INDEX i
			return "", nil, c.unexpected()
		}
		k = &key{names, at}
	case c.acceptAny("unique", "check", "exclude"), c.accept("foreign", "key"):
	default:
		return "", nil, c.unexpected()
	}
	c.until(func(_, t token) bool { return isEnd(t) })
	return c.since(from), k, nil
}
