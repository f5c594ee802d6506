package statement

import (
	"strings"

	"github.com/csmsql/csmsql/sql/lex"
	"github.com/csmsql/csmsql/sql/sqlerror"
)

// create reads behind CREATE.
func (c *cursor) create() (any, error) {
	orReplace := c.accept("or", "replace")
	temporary := false
	switch {
	case c.peek(0).Is("unlogged"):
		return nil, c.refuse("UNLOGGED", "Leave it out: rows lie in memory that nodes lend, and no log is written of them. A TEMPORARY table belongs to one session.")
	case c.peek(0).IsAny("local", "global") && c.peek(1).IsAny("temp", "temporary"):
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
	case c.peek(0).Is("recursive") && c.peek(1).Is("view"):
		return nil, c.refuse("CREATE RECURSIVE VIEW", "Write CREATE VIEW … AS WITH RECURSIVE …")
	case c.peek(0).Is("materialized") && (orReplace || temporary || !c.peek(1).Is("view")):
		return nil, c.unexpected()
	case c.accept("materialized", "view"):
		return c.createMaterialized()
	case c.peek(0).Is("sequence") && !temporary:
		return c.createSequence(orReplace)
	case c.peek(0).Is("schema") && !temporary:
		return c.createSchema(orReplace)
	case c.peek(0).Is("domain") && !temporary && !orReplace:
		c.next()
		return c.createDomain()
	case c.peek(0).Is("type") && !temporary:
		return c.createType(orReplace)
	case c.startsIndex() && !temporary:
		return c.createIndex(orReplace)
	case c.peek(0).IsAny("function", "macro") && !temporary:
		return c.createFunction(orReplace, lex.Fold(c.peek(0).Text))
	case c.peek(0).Kind != lex.Word:
		return nil, c.unexpected()
	case temporary:
		return &Private{Verb: "create", Kind: lex.Fold(c.peek(0).Text)}, nil
	}
	return nil, c.refuseCreate()
}

// creations are what CREATE could make elsewhere, with what to do instead.
var creations = []struct{ words, advice string }{
	{"foreign table", "Load the data with COPY … FROM or INSERT … SELECT."},
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
	if c.peek(0).Is("authorization") {
		return nil, c.refuse("CREATE SCHEMA AUTHORIZATION", rolesAdvice)
	}
	name, err := c.name()
	if err != nil {
		return nil, err
	}
	if name.Database != "" {
		return nil, &sqlerror.Error{State: "42601", Message: "a schema's name has at most two parts: database.schema", At: name.At}
	}
	if c.peek(0).IsAny("authorization", "create", "grant") {
		return nil, c.refuse("CREATE SCHEMA … "+strings.ToUpper(c.peek(0).Text), "Make the schema first, then what belongs into it.")
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
	if c.accept("clone") {
		return c.clone(&CreateTable{Name: name, IfNotExists: ifNotExists, OrReplace: orReplace}, temporary)
	}
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
		err := c.definitions(probe)             // what is wrong, DuckDB says; it may stand behind the columns, too
		if err != nil && len(probe.Likes) > 0 { // which DuckDB does not know
			return nil, err
		}
		if err := ignoredByDuckDB(probe, err); err != nil {
			return nil, err
		}
		if at := probe.DefinitionsEnd; at > 0 && at < len(c.sql) && c.sql[at] == ')' {
			t.Columns, t.Likes, t.DefinitionsEnd = probe.Columns, probe.Likes, probe.DefinitionsEnd
		}
		return t, nil
	}
	return t, c.definitions(t)
}

// clone reads behind CLONE.
func (c *cursor) clone(t *CreateTable, temporary bool) (any, error) {
	if temporary {
		return nil, c.refuse("A temporary CLONE", "CREATE TEMP TABLE … AS SELECT * FROM … copies the rows.")
	}
	of, err := c.name()
	if err != nil {
		return nil, err
	}
	t.Clone = &of
	return t, c.finish()
}

// ignoredByDuckDB refuses what DuckDB, which makes temporary tables, would take and forget. err is what reading the
// definitions gave.
func ignoredByDuckDB(t *CreateTable, err error) error {
	if e, ok := err.(*sqlerror.Error); ok && strings.Contains(e.Message, ofAKey) {
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
		return &sqlerror.Error{State: "0A000", Message: what + " in a temporary table is not supported", At: k.At, HintText: "Leave it out."}
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
		case t.Is("with") && c.peek(1).Is("("):
			c.next()
			with, _ = c.group()
		case t.Is("without") && c.peek(1).Is("oids"):
			c.accept("without", "oids")
		case t.Is("tablespace"):
			return "", c.refuse("TABLESPACE", "Leave it out: WITH (placement = '…') says on which nodes rows lie.")
		case t.Is("using"):
			return "", c.refuse("USING, an access method,", "Leave it out: there is one way to store tables.")
		case t.Is("on") && c.peek(1).Is("commit") && !temporary:
			return "", &sqlerror.Error{State: "42P16", Message: "ON COMMIT can only be used on temporary tables"}
		case c.accept("on", "commit"): // what it says, package temporary does
			if !c.acceptAny("drop") && !(c.acceptAny("preserve", "delete") && c.accept("rows")) {
				return "", c.unexpected()
			}
		case t.Is("inherits"):
			return "", c.refuse("INHERITS", "Write the columns out.")
		case t.Is("partition") && c.peek(1).Is("by"):
			return "", c.refuse("PARTITION BY", "Leave it out: tables are divided into chunks, and scans skip those that cannot match.")
		default:
			return with, nil
		}
	}
}

func (c *cursor) tableQuery(as *CreateTableAs) (any, error) {
	if c.peek(0).Is("execute") {
		if as.Materialized {
			return nil, c.unexpected()
		}
		return nil, c.refuse("CREATE TABLE … AS EXECUTE", "Write the query itself.")
	}
	as.Query = c.until(func(_, t lex.Token) bool {
		return t.Is("with") && (c.peek(1).Is("data") && c.peek(2).Kind == lex.End || c.peek(1).Is("no") && c.peek(2).Is("data") && c.peek(3).Kind == lex.End)
	})
	if as.Query == "" {
		return nil, c.unexpected()
	}
	as.NoData = c.accept("with", "no", "data")
	c.accept("with", "data")
	return as, c.finish()
}

// createMaterialized reads behind CREATE MATERIALIZED VIEW.
func (c *cursor) createMaterialized() (_ any, err error) {
	as := &CreateTableAs{IfNotExists: c.accept("if", "not", "exists"), Materialized: true}
	if as.Name, err = c.name(); err != nil {
		return nil, err
	}
	if isTemporary(as.Name) {
		return nil, c.refuse("CREATE MATERIALIZED VIEW in a temporary schema",
			"CREATE TEMP TABLE … AS makes a table of one session.")
	}
	if as.Columns, _, err = c.columns(); err != nil {
		return nil, err
	}
	if as.With, err = c.storage(false); err != nil {
		return nil, err
	}
	if !c.accept("as") {
		return nil, c.unexpected()
	}
	return c.tableQuery(as)
}

// refresh reads behind REFRESH.
func (c *cursor) refresh() (_ any, err error) {
	if !c.accept("materialized", "view") {
		return nil, c.unexpected()
	}
	r := &Refresh{Concurrently: c.accept("concurrently")}
	if r.Name, err = c.name(); err != nil {
		return nil, err
	}
	if r.NoData = c.accept("with", "no", "data"); !r.NoData {
		c.accept("with", "data")
	}
	return r, c.finish()
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
	if c.peek(0).Is("with") {
		return nil, c.refuse("CREATE VIEW … WITH (…)", "Leave it out.")
	}
	if !c.accept("as") {
		return nil, c.unexpected()
	}
	v.Query = c.until(func(_, t lex.Token) bool {
		return t.Is("with") && (c.peek(1).Is("check") || c.peek(1).IsAny("local", "cascaded") && c.peek(2).Is("check"))
	})
	if c.peek(0).Is("with") {
		return nil, c.refuse("CREATE VIEW … WITH CHECK OPTION", "Views are for reading.")
	}
	if v.Query == "" {
		return nil, c.unexpected()
	}
	return v, nil
}
