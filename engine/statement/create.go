package statement

import "strings"

func readCreate(c *cursor) (any, error) {
	orReplace := c.accept("or", "replace")
	temporary := false
	for {
		if c.accept("temp") || c.accept("temporary") {
			temporary = true
		} else if !c.accept("local") && !c.accept("global") && !c.accept("unlogged") {
			break
		}
	}
	switch kind := c.next().word; kind {
	case "table":
		return readCreateTable(c, orReplace, temporary)
	case "view":
		return readCreateView(c, orReplace, temporary)
	case "schema":
		ifNotExists := c.accept("if", "not", "exists")
		name, err := c.name()
		if err != nil {
			return nil, err
		}
		return &CreateSchema{Name: name.Name, IfNotExists: ifNotExists}, nil
	default:
		if temporary {
			return &Private{Verb: "create"}, nil
		}
		what := strings.ToUpper(strings.TrimSpace("create " + kind))
		return nil, unsupported(what+" is not supported", "Tables, views and schemas are kept; CREATE TEMP "+strings.ToUpper(kind)+" makes one for this session where DuckDB knows it.")
	}
}

func readCreateTable(c *cursor, orReplace, temporary bool) (any, error) {
	ifNotExists := c.accept("if", "not", "exists")
	name, err := c.name()
	if err != nil {
		return nil, err
	}
	if name.Schema == "temp" || name.Schema == "pg_temp" {
		temporary = true
	}
	start := c.at
	columns, columnsErr := c.names() // CREATE TABLE t (a, b) AS …
	if columnsErr != nil || !c.accept("as") {
		c.at = start
		return readColumns(c, &CreateTable{Name: name, IfNotExists: ifNotExists, OrReplace: orReplace, Temporary: temporary})
	}
	as := &CreateTableAs{Name: name, IfNotExists: ifNotExists, OrReplace: orReplace, Temporary: temporary, Columns: columns}
	from := c.peek(0).start
	to := len(c.sql)
	if n := len(c.tokens); n >= 2 && c.tokens[n-1].word == "data" {
		switch {
		case c.tokens[n-2].word == "with":
			to = c.tokens[n-2].start
		case n >= 3 && c.tokens[n-2].word == "no" && c.tokens[n-3].word == "with":
			to, as.NoData = c.tokens[n-3].start, true
		}
	}
	if c.done() {
		return nil, c.unexpected()
	}
	as.Query = strings.TrimSpace(c.sql[from:to])
	return as, nil
}

// readColumns reads "(definition, …)" and what follows it.
func readColumns(c *cursor, t *CreateTable) (any, error) {
	if !c.accept("(") {
		return nil, c.unexpected()
	}
	for {
		if err := readDefinition(c, t); err != nil {
			return nil, err
		}
		if c.accept(")") {
			break
		}
		if !c.accept(",") {
			return nil, c.unexpected()
		}
	}
	if c.accept("with") {
		t.With, _ = c.skipParentheses()
	}
	return t, nil
}

// constraintWords start a table constraint or a column constraint.
var constraintWords = map[string]bool{
	"constraint": true, "primary": true, "unique": true, "check": true, "foreign": true, "references": true, "exclude": true,
	"not": true, "null": true, "default": true, "generated": true, "collate": true, "like": true,
}

func readDefinition(c *cursor, t *CreateTable) error {
	switch w := c.peek(0).word; w {
	case "constraint", "primary", "unique", "check", "foreign", "exclude":
		return readTableConstraint(c, t)
	case "like":
		return unsupported("CREATE TABLE (LIKE …) is not supported", "Use CREATE TABLE … AS SELECT * FROM … LIMIT 0.")
	}
	name, ok := c.identifier()
	if !ok {
		return c.unexpected()
	}
	column := Column{Name: name}
	from := c.peek(0).start
	for !c.done() && !constraintWords[c.peek(0).word] && !isEnd(c) {
		skipOne(c)
	}
	column.Type = strings.TrimSpace(c.sql[from:c.peek(0).start])
	if column.Type == "" {
		return c.unexpected()
	}
	for !c.done() && !isEnd(c) {
		if err := readColumnConstraint(c, t, &column); err != nil {
			return err
		}
	}
	t.Columns = append(t.Columns, column)
	return nil
}

func isEnd(c *cursor) bool { t := c.peek(0).text; return t == "," || t == ")" }

// skipOne moves past a token or a whole group.
func skipOne(c *cursor) {
	if _, ok := c.skipParentheses(); !ok {
		c.next()
	}
}

func readColumnConstraint(c *cursor, t *CreateTable, column *Column) error {
	switch {
	case c.accept("not", "null"):
		column.NotNull = true
	case c.accept("null"):
	case c.accept("default"):
		from := c.peek(0).start
		for !c.done() && !isEnd(c) && !constraintWords[c.peek(0).word] {
			skipOne(c)
		}
		column.Default = strings.TrimSpace(c.sql[from:c.peek(0).start])
	case c.accept("primary", "key"):
		column.NotNull = true
		t.NotEnforced = append(t.NotEnforced, "PRIMARY KEY ("+column.Name+")")
	case c.accept("constraint"):
		c.next()
	case c.peek(0).word == "generated":
		return unsupported("generated columns are not supported", "")
	default: // UNIQUE, CHECK (…), REFERENCES …, COLLATE …
		from := c.peek(0)
		skipOne(c)
		for !c.done() && !isEnd(c) && !constraintWords[c.peek(0).word] {
			skipOne(c)
		}
		t.NotEnforced = append(t.NotEnforced, strings.TrimSpace(c.sql[from.start:c.peek(0).start])+" on column "+column.Name)
	}
	return nil
}

func readTableConstraint(c *cursor, t *CreateTable) error {
	if c.accept("constraint") {
		c.next()
	}
	from := c.peek(0)
	if c.accept("primary", "key") {
		keys, err := c.names()
		if err != nil {
			return err
		}
		for _, key := range keys {
			for i := range t.Columns {
				if t.Columns[i].Name == key {
					t.Columns[i].NotNull = true
				}
			}
		}
	}
	for !c.done() && !isEnd(c) {
		skipOne(c)
	}
	t.NotEnforced = append(t.NotEnforced, strings.TrimSpace(c.sql[from.start:c.peek(0).start]))
	return nil
}

func readCreateView(c *cursor, orReplace, temporary bool) (any, error) {
	ifNotExists := c.accept("if", "not", "exists")
	name, err := c.name()
	if err != nil {
		return nil, err
	}
	columns, err := c.names()
	if err != nil {
		return nil, err
	}
	if !c.accept("as") || c.done() {
		return nil, c.unexpected()
	}
	return &CreateView{Name: name, OrReplace: orReplace, IfNotExists: ifNotExists, Temporary: temporary, Columns: columns, Query: c.rest()}, nil
}

func readDrop(c *cursor) (any, error) {
	d := &Drop{}
	switch kind := c.next().word; kind {
	case "table", "view", "schema":
		d.Object = Object(kind)
	default:
		return &Private{Verb: "drop"}, nil
	}
	d.IfExists = c.accept("if", "exists")
	for {
		name, err := c.name()
		if err != nil {
			return nil, err
		}
		d.Names = append(d.Names, name)
		if !c.accept(",") {
			break
		}
	}
	d.Cascade = c.accept("cascade")
	c.accept("restrict")
	if !c.done() {
		return nil, c.unexpected()
	}
	return d, nil
}

func readTruncate(c *cursor) (any, error) {
	c.accept("table")
	c.accept("only")
	t := &Truncate{}
	for {
		name, err := c.name()
		if err != nil {
			return nil, err
		}
		t.Names = append(t.Names, name)
		if !c.accept(",") {
			return t, nil
		}
	}
}
