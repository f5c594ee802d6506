package statement

import (
	"strings"

	pg "github.com/pganalyze/pg_query_go/v6"
)

// Name is a possibly qualified name, folded; empty parts were not written.
type Name struct{ Database, Schema, Name string }

func (n Name) String() string {
	s := n.Name
	if n.Schema != "" {
		s = n.Schema + "." + s
	}
	if n.Database != "" {
		s = n.Database + "." + s
	}
	return s
}

// Statement is one statement. Head says what it is; its dynamic type is one of the pointer types of this package.
type Statement struct {
	Text   string
	Head   any
	Tree   *pg.ParseResult // PostgreSQL's tree, nil where Syntax is not
	Syntax error           // why PostgreSQL's parser rejects the text
}

// Select is anything that only reads and returns rows: SELECT, VALUES, WITH …, FROM …, DESCRIBE, SUMMARIZE, PIVOT …
type Select struct{}

// Explain is EXPLAIN of Inner, which is text.
type Explain struct {
	Analyze bool
	Inner   string
}

// CreateTable has the columns' types and defaults as text.
type CreateTable struct {
	Name                              Name
	IfNotExists, OrReplace, Temporary bool
	Columns                           []Column
	// NotEnforced are constraints that were written and that the product does not check.
	NotEnforced []string
	With        string // the text of WITH (…), if any
}

// Column of a CREATE TABLE.
type Column struct {
	Name, Type, Default string
	NotNull             bool
}

// CreateTableAs is CREATE TABLE … AS Query.
type CreateTableAs struct {
	Name                              Name
	IfNotExists, OrReplace, Temporary bool
	Columns                           []string
	Query                             string
	NoData                            bool
}

// Insert puts the rows of Query into a table. Columns is nil when none were written.
type Insert struct {
	Name    Name
	Columns []string
	ByName  bool
	Query   string // empty for DEFAULT VALUES
}

// Copy moves rows between a table or query and a file or the client.
type Copy struct {
	Name    Name // empty for COPY (query) TO
	Columns []string
	Query   string
	From    bool
	Client  bool   // STDIN or STDOUT
	File    string // otherwise
	Options []Option
}

// Option of a COPY, name in lower case.
type Option struct{ Name, Value string }

// Object is what DROP drops.
type Object string

// The objects that the product knows.
const (
	Table  Object = "table"
	View   Object = "view"
	Schema Object = "schema"
)

// Drop removes objects of one kind.
type Drop struct {
	Object            Object
	Names             []Name
	IfExists, Cascade bool
}

// Truncate empties tables.
type Truncate struct{ Names []Name }

// CreateSchema makes a schema.
type CreateSchema struct {
	Name        string
	IfNotExists bool
}

// CreateView names a query.
type CreateView struct {
	Name                              Name
	OrReplace, IfNotExists, Temporary bool
	Columns                           []string
	Query                             string
}

// Begin, Commit and Rollback end and start transactions.
type (
	Begin    struct{ ReadOnly bool }
	Commit   struct{}
	Rollback struct{}
)

// Set changes a session's setting; Default is RESET or SET … TO DEFAULT.
type Set struct {
	Name    string
	Value   string
	Default bool
}

// Show asks for a setting.
type Show struct{ Name string }

// Deallocate forgets a prepared statement, all of them if Name is empty; Discard resets the session.
type (
	Deallocate struct{ Name string }
	Discard    struct{ All bool }
)

// Private is a statement about temporary or session objects, or about DuckDB itself, that DuckDB runs as it stands if the session
// may do it: CREATE TEMP …, UPDATE and DELETE (of temporary tables), PREPARE, PRAGMA, …
type Private struct{ Verb string }

// Parse says what one statement is.
func Parse(sql string) (*Statement, error) {
	s := &Statement{Text: sql}
	tree, err := pg.Parse(sql)
	if err != nil {
		s.Syntax = syntaxError(sql, err)
	} else {
		s.Tree = tree
	}
	tokens, err := scan(sql)
	if err != nil {
		return nil, err
	}
	c := &cursor{sql: sql, tokens: tokens}
	s.Head, err = readHead(c)
	if err != nil && s.Syntax != nil {
		return nil, s.Syntax // PostgreSQL's word on what is wrong is better than ours
	}
	return s, err
}

func readHead(c *cursor) (any, error) {
	switch verb := c.next().word; verb {
	case "select", "values", "table", "from", "describe", "desc", "summarize", "pivot", "unpivot", "":
		return &Select{}, nil
	case "with":
		return readWith(c)
	case "explain":
		return readExplain(c)
	case "create":
		return readCreate(c)
	case "insert":
		return readInsert(c, "")
	case "copy":
		return readCopy(c)
	case "drop":
		return readDrop(c)
	case "truncate":
		return readTruncate(c)
	case "begin", "start", "commit", "end", "rollback", "abort":
		return readTransaction(c, verb)
	case "set", "reset", "show":
		return readSetting(c, verb)
	case "deallocate", "discard":
		return readForget(c, verb)
	default:
		return &Private{Verb: verb}, nil
	}
}

// readWith looks behind the common table expressions: WITH … INSERT is an insert.
func readWith(c *cursor) (any, error) {
	for !c.done() {
		if c.peek(0).text == "(" {
			if _, ok := c.skipParentheses(); !ok {
				break
			}
			continue
		}
		switch t := c.next(); t.word {
		case "insert":
			return readInsert(c, c.sql[:t.start])
		case "update", "delete", "merge":
			return &Private{Verb: t.word}, nil
		case "select", "values", "from":
			return &Select{}, nil
		}
	}
	return &Select{}, nil
}

func readExplain(c *cursor) (any, error) {
	e := &Explain{}
	if options, ok := c.skipParentheses(); ok {
		lower := strings.ToLower(options)
		e.Analyze = strings.Contains(lower, "analyze") && !strings.Contains(lower, "analyze false") && !strings.Contains(lower, "analyze off")
	} else {
		for {
			if c.accept("analyze") || c.accept("analyse") {
				e.Analyze = true
			} else if !c.accept("verbose") {
				break
			}
		}
	}
	if c.done() {
		return nil, c.unexpected()
	}
	e.Inner = c.rest()
	return e, nil
}

func readTransaction(c *cursor, verb string) (any, error) {
	switch verb {
	case "begin", "start":
		b := &Begin{}
		for !c.done() {
			if c.accept("read", "only") {
				b.ReadOnly = true
				continue
			}
			c.next()
		}
		return b, nil
	case "commit", "end":
		if c.peek(0).word == "prepared" {
			return nil, unsupported("two-phase commit is not supported", "")
		}
		return &Commit{}, nil
	}
	for i := 0; i < 3; i++ {
		if c.peek(i).word == "to" || c.peek(i).word == "prepared" {
			return nil, unsupported("savepoints and two-phase commit are not supported", "Roll the whole transaction back.")
		}
	}
	return &Rollback{}, nil
}

func readSetting(c *cursor, verb string) (any, error) {
	_ = c.accept("session") || c.accept("local") || c.accept("global")
	parts := []string{}
	for {
		part, ok := c.identifier()
		if !ok {
			break
		}
		parts = append(parts, part)
		if !c.accept(".") && !(verb == "show" || len(parts) == 1 && (parts[0] == "time" || parts[0] == "transaction" || parts[0] == "characteristics")) {
			break
		}
	}
	name := strings.Join(parts, " ")
	switch {
	case verb == "show":
		switch name {
		case "tables", "databases", "schemas", "all tables", "":
			return &Select{}, nil
		}
		if len(parts) > 0 && parts[0] == "tables" {
			return &Select{}, nil
		}
		return &Show{Name: settingName(name)}, nil
	case verb == "reset":
		return &Set{Name: settingName(name), Default: true}, nil
	}
	if !c.accept("to") {
		c.accept("=")
	}
	value := strings.TrimSuffix(strings.TrimSpace(c.rest()), ";")
	if strings.EqualFold(value, "default") {
		return &Set{Name: settingName(name), Default: true}, nil
	}
	return &Set{Name: settingName(name), Value: value}, nil
}

func settingName(name string) string {
	if name == "time zone" || strings.HasPrefix(name, "time zone ") {
		return "timezone"
	}
	return name
}

func readForget(c *cursor, verb string) (any, error) {
	if verb == "discard" {
		return &Discard{All: c.accept("all")}, nil
	}
	c.accept("prepare")
	if c.accept("all") {
		return &Deallocate{}, nil
	}
	name, ok := c.identifier()
	if !ok {
		return nil, c.unexpected()
	}
	return &Deallocate{Name: name}, nil
}
