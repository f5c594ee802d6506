package statement

import "strings"

// create reads behind CREATE.
func (c *cursor) create() (any, error) {
	orReplace := c.accept("or", "replace")
	temporary := false
	switch {
	case c.peek(0).is("unlogged"):
		return nil, c.refuse("UNLOGGED", "Leave it out: rows lie in memory that nodes lend, and no log is written of them. A TEMPORARY table belongs to one session.")
	case c.peek(0).isAny("local", "global") && c.peek(1).isAny("temp", "temporary"):
		c.next()
		fallthrough
	default:
		temporary = c.acceptAny("temp", "temporary")
	}
	switch {
	case c.accept("table"):
		return c.createTable(orReplace, temporary)
	case c.accept("view"):
		return c.createView(orReplace, temporary)
	case c.peek(0).is("recursive") && c.peek(1).is("view"):
		return nil, c.refuse("CREATE RECURSIVE VIEW", "Write CREATE VIEW … AS WITH RECURSIVE …")
	case c.peek(0).is("schema") && !temporary:
		return c.createSchema(orReplace)
	case c.peek(0).kind != word:
		return nil, c.unexpected()
	case temporary:
		return &Private{Verb: "create", Kind: fold(c.peek(0).text)}, nil
	}
	return nil, c.refuseCreate()
}

// creations are what CREATE could make elsewhere, with what to do instead.
var creations = []struct{ words, advice string }{
	{"unique index", "There are no indexes: scans skip chunks by their statistics. Uniqueness is not enforced."},
	{"index", "There are no indexes: scans skip chunks by their statistics. Store rows in a useful order with CREATE TABLE … AS SELECT … ORDER BY."},
	{"materialized view", "CREATE TABLE … AS stores a query's result."},
	{"foreign table", "Load the data with COPY … FROM or INSERT … SELECT."},
	{"sequence", "Number rows with row_number() OVER (), or CREATE TEMP SEQUENCE for this session."},
	{"type", "Write the type where it is used: STRUCT (x INTEGER); in the place of an ENUM varchar with CHECK (c IN ('a', 'b')). CREATE TEMP TYPE makes one for this session."},
	{"domain", "Write its type and its CHECK at each column."},
	{"macro", "CREATE TEMP MACRO makes one for this session."},
	{"function", "CREATE TEMP MACRO makes one for this session."},
	{"role", rolesAdvice}, {"user", rolesAdvice}, {"group", rolesAdvice},
	{"database", "There is one database; CREATE SCHEMA makes a namespace."},
	{"extension", "Leave it out: what is there is there."},
}

func (c *cursor) refuseCreate() error {
	for _, x := range creations {
		mark := *c
		if c.accept(strings.Fields(x.words)...) {
			*c = mark
			return c.refuse("CREATE "+strings.ToUpper(x.words), x.advice)
		}
	}
	return c.refuse("CREATE "+c.clause(), "Tables, views and schemas are kept; temporary objects belong to one session.")
}

func (c *cursor) createSchema(orReplace bool) (any, error) {
	if orReplace {
		return nil, c.refuse("CREATE OR REPLACE SCHEMA", "Use DROP SCHEMA … CASCADE and CREATE SCHEMA in one transaction.")
	}
	c.next()
	ifNotExists := c.accept("if", "not", "exists")
	if c.peek(0).is("authorization") {
		return nil, c.refuse("CREATE SCHEMA AUTHORIZATION", rolesAdvice)
	}
	name, err := c.name()
	if err != nil {
		return nil, err
	}
	if name.Database != "" {
		return nil, &Error{State: "42601", Message: "a schema's name has at most two parts: database.schema", At: name.At}
	}
	if c.peek(0).isAny("authorization", "create", "grant") {
		return nil, c.refuse("CREATE SCHEMA … "+strings.ToUpper(c.peek(0).text), "Make the schema first, then what belongs into it.")
	}
	return &CreateSchema{Database: name.Schema, Name: name.Name, IfNotExists: ifNotExists}, c.finish()
}

func (c *cursor) createTable(orReplace, temporary bool) (any, error) {
	ifNotExists := c.accept("if", "not", "exists")
	if ifNotExists && orReplace {
		return nil, c.refuse("OR REPLACE with IF NOT EXISTS", "Write one of them.")
	}
	name, err := c.name()
	if err != nil {
		return nil, err
	}
	temporary = temporary || isTemporary(name)
	as := &CreateTableAs{Name: name, IfNotExists: ifNotExists, OrReplace: orReplace, Temporary: temporary}
	mark := *c
	as.Columns, _, err = c.columns() // CREATE TABLE t (a, b) AS …
	if err == nil {
		if as.With, err = c.storage(temporary); err != nil {
			return nil, err
		}
	}
	if err == nil && c.accept("as") {
		return c.tableQuery(as)
	}
	*c = mark
	t := &CreateTable{Name: name, IfNotExists: ifNotExists, OrReplace: orReplace, Temporary: temporary}
	if temporary {
		probe := &CreateTable{Temporary: true}
		err := c.definitions(probe) // what is wrong, DuckDB says; it may stand behind the columns, too
		if err := ignoredByDuckDB(probe, err); err != nil {
			return nil, err
		}
		if at := probe.DefinitionsEnd; at > 0 && at < len(c.sql) && c.sql[at] == ')' {
			t.Columns, t.DefinitionsEnd = probe.Columns, probe.DefinitionsEnd
		}
		return t, nil
	}
	return t, c.definitions(t)
}

// ignoredByDuckDB refuses what DuckDB, which makes temporary tables, would take and forget. err is what reading the definitions gave.
func ignoredByDuckDB(t *CreateTable, err error) error {
	if e, ok := err.(*Error); ok && strings.Contains(e.Message, ofAKey) {
		return e
	}
	for _, k := range t.Constraints {
		what := ""
		switch {
		case k.Deferred:
			what = "DEFERRABLE INITIALLY DEFERRED"
		case k.Deferrable:
			what = "DEFERRABLE"
		case k.Match == "FULL" && len(k.Columns) > 1:
			what = "MATCH FULL of several columns"
		default:
			continue
		}
		return &Error{State: "0A000", Message: what + " in a temporary table is not supported", At: k.At, Advice: "Leave it out."}
	}
	return nil
}

// isTemporary: PostgreSQL and DuckDB have a schema, or database, in which everything is temporary.
func isTemporary(n Name) bool {
	return n.Schema == "temp" || n.Schema == "pg_temp" || n.Database == "temp"
}

// storage reads what may stand behind the columns: WITH (…). How PostgreSQL would store a table otherwise is refused.
func (c *cursor) storage(temporary bool) (with string, err error) {
	for {
		switch t := c.peek(0); {
		case t.is("with") && c.peek(1).is("("):
			c.next()
			with, _ = c.group()
		case t.is("without") && c.peek(1).is("oids"):
			c.accept("without", "oids")
		case t.is("tablespace"):
			return "", c.refuse("TABLESPACE", "Leave it out: WITH (placement = '…') says on which nodes rows lie.")
		case t.is("using"):
			return "", c.refuse("USING, an access method,", "Leave it out: there is one way to store tables.")
		case t.is("on") && c.peek(1).is("commit") && !temporary:
			return "", c.refuse("ON COMMIT for a table that is not temporary", "")
		case t.is("on") && c.peek(1).is("commit"):
			if !c.accept("on", "commit", "preserve", "rows") {
				return "", c.refuse("ON COMMIT DROP or DELETE ROWS", "DROP the table, or DELETE its rows, before COMMIT.")
			}
		case t.is("inherits"):
			return "", c.refuse("INHERITS", "Write the columns out.")
		case t.is("partition") && c.peek(1).is("by"):
			return "", c.refuse("PARTITION BY", "Leave it out: tables are divided into chunks, and scans skip those that cannot match.")
		default:
			return with, nil
		}
	}
}

func (c *cursor) tableQuery(as *CreateTableAs) (any, error) {
	if c.peek(0).is("execute") {
		return nil, c.refuse("CREATE TABLE … AS EXECUTE", "Write the query itself.")
	}
	as.Query = c.until(func(_, t token) bool {
		return t.is("with") && (c.peek(1).is("data") && c.peek(2).kind == end || c.peek(1).is("no") && c.peek(2).is("data") && c.peek(3).kind == end)
	})
	if as.Query == "" {
		return nil, c.unexpected()
	}
	as.NoData = c.accept("with", "no", "data")
	c.accept("with", "data")
	return as, c.finish()
}

func (c *cursor) createView(orReplace, temporary bool) (any, error) {
	v := &CreateView{OrReplace: orReplace, IfNotExists: c.accept("if", "not", "exists")}
	if v.OrReplace && v.IfNotExists {
		return nil, c.refuse("OR REPLACE with IF NOT EXISTS", "Write one of them.")
	}
	var err error
	if v.Name, err = c.name(); err != nil {
		return nil, err
	}
	v.Temporary = temporary || isTemporary(v.Name)
	if v.Columns, _, err = c.columns(); err != nil {
		return nil, err
	}
	if c.peek(0).is("with") {
		return nil, c.refuse("CREATE VIEW … WITH (…)", "Leave it out.")
	}
	if !c.accept("as") {
		return nil, c.unexpected()
	}
	v.Query = c.until(func(_, t token) bool {
		return t.is("with") && (c.peek(1).is("check") || c.peek(1).isAny("local", "cascaded") && c.peek(2).is("check"))
	})
	if c.peek(0).is("with") {
		return nil, c.refuse("CREATE VIEW … WITH CHECK OPTION", "Views are for reading.")
	}
	if v.Query == "" {
		return nil, c.unexpected()
	}
	return v, nil
}
