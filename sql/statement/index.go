package statement

import (
	"strconv"
	"strings"

	"github.com/csmsql/csmsql/sql/lex"
	"github.com/csmsql/csmsql/sql/sqlerror"
)

// CreateIndex is CREATE INDEX.
type CreateIndex struct {
	Name                              string // empty: it was not written
	Table                             Name
	Unique, Concurrently, IfNotExists bool
	Method                            string // as it was written; empty: btree
	Columns                           []IndexColumn
	NullsNotDistinct                  bool
	FillFactor                        int // 0: it was not written
}

// IndexColumn is a column of a CREATE INDEX.
type IndexColumn struct {
	Name  string
	At    int    // in characters from 1
	Class string // the operator class; empty: it was not written
	Order string // DESC, NULLS FIRST, or both, where that is not the default
	// Ordered and NullsPlaced: ASC or DESC, or NULLS FIRST or LAST, was written.
	Ordered, NullsPlaced bool
}

// DropIndex is DROP INDEX.
type DropIndex struct {
	Names                           []Name
	Concurrently, IfExists, Cascade bool
}

// Reindex is REINDEX.
type Reindex struct {
	Kind         string // index, table, schema, database or system
	Name         Name
	Concurrently bool
}

// Index is an object as others are, except for DROP.
const Index Object = "index"

const indexAdvice = "An index is of columns, and has all rows of its table."

// startsIndex reports whether INDEX or UNIQUE INDEX is next.
func (c *cursor) startsIndex() bool {
	return c.peek(0).Is("index") || c.peek(0).Is("unique") && c.peek(1).Is("index")
}

func (c *cursor) createIndex(orReplace bool) (any, error) {
	if orReplace {
		return nil, c.refuse("CREATE OR REPLACE INDEX", "Use DROP INDEX and CREATE INDEX in one transaction.")
	}
	i := &CreateIndex{Unique: c.accept("unique")}
	c.next()
	i.Concurrently = c.accept("concurrently")
	i.IfNotExists = c.accept("if", "not", "exists")
	if !c.peek(0).Is("on") || i.IfNotExists {
		var ok bool
		if i.Name, ok = c.identifier(); !ok {
			return nil, c.unexpected()
		}
	}
	if !c.accept("on") {
		return nil, c.unexpected()
	}
	c.accept("only")
	var err error
	if i.Table, err = c.name(); err != nil {
		return nil, err
	}
	c.accept("*")
	if c.accept("using") {
		var ok bool
		if i.Method, ok = c.identifier(); !ok {
			return nil, c.unexpected()
		}
	}
	if err := c.indexColumns(i); err != nil {
		return nil, err
	}
	return i, c.indexEnd(i)
}

func (c *cursor) indexColumns(i *CreateIndex) error {
	if !c.accept("(") {
		return c.unexpected()
	}
	for {
		column, err := c.indexColumn()
		if err != nil {
			return err
		}
		i.Columns = append(i.Columns, column)
		if c.accept(")") {
			return nil
		}
		if !c.accept(",") {
			return c.unexpected()
		}
	}
}

func (c *cursor) indexColumn() (k IndexColumn, err error) {
	k.At = c.position(c.peek(0).Start)
	if c.peek(0).Is("(") || c.peek(0).Kind == lex.Word && c.peek(1).Is("(") {
		return k, c.refuse("an index of an expression", indexAdvice+" A generated column can have one.")
	}
	var ok bool
	if k.Name, ok = c.identifier(); !ok {
		return k, c.unexpected()
	}
	if c.accept("collate") {
		mark := *c
		name, err := c.name()
		if err != nil {
			return k, err
		}
		if !IsPlainCollation(name.Schema, name.Name) || name.Database != "" {
			*c = mark
			return k, c.refuse("COLLATE "+name.String()+" of an index", CollationAdvice)
		}
	}
	if !c.peek(0).IsAny("asc", "desc", "nulls", ",", ")") {
		class, err := c.name()
		if err != nil {
			return k, err
		}
		if class.Schema != "" && class.Schema != "pg_catalog" {
			return k, &sqlerror.Error{State: "42704", At: class.At,
				Message: "operator class \"" + class.String() + "\" does not exist for access method \"btree\""}
		}
		k.Class = class.Name
		if c.peek(0).Is("(") {
			return k, c.refuse("an operator class with parameters", "Leave them out.")
		}
	}
	return k, c.indexOrder(&k)
}

// indexOrder reads the order of a column.
func (c *cursor) indexOrder(k *IndexColumn) error {
	descends := c.peek(0).Is("desc")
	k.Ordered = c.acceptAny("asc", "desc")
	first := descends
	if c.accept("nulls") {
		k.NullsPlaced = true
		first = c.peek(0).Is("first")
		if !c.acceptAny("first", "last") {
			return c.unexpected()
		}
	}
	switch {
	case descends && first:
		k.Order = "DESC"
	case descends:
		k.Order = "DESC NULLS LAST"
	case first:
		k.Order = "NULLS FIRST"
	}
	return nil
}

// indexEnd reads what may stand behind the columns of an index.
func (c *cursor) indexEnd(i *CreateIndex) error {
	if c.peek(0).Is("include") {
		return c.refuse("INCLUDE of an index", "Leave it out: all columns of a row are read in place.")
	}
	if c.accept("nulls", "not", "distinct") {
		i.NullsNotDistinct = true
	} else {
		c.accept("nulls", "distinct")
	}
	if c.peek(0).Is("with") && c.peek(1).Is("(") {
		c.next()
		if err := c.indexStorage(i); err != nil {
			return err
		}
	}
	if c.peek(0).Is("tablespace") {
		at := c.position(c.peek(1).Start)
		c.next()
		space, ok := c.identifier()
		if !ok {
			return c.unexpected()
		}
		if space != "pg_default" {
			return &sqlerror.Error{State: "42704", At: at, Message: "tablespace \"" + space + "\" does not exist"}
		}
	}
	if c.peek(0).Is("where") {
		return c.refuse("an index of some rows", indexAdvice)
	}
	return c.finish()
}

// indexStorage reads WITH (…).
func (c *cursor) indexStorage(i *CreateIndex) error {
	at := c.position(c.peek(0).Start)
	text, ok := c.group()
	if !ok {
		return c.unexpected()
	}
	options, err := Storage(text)
	if err != nil {
		return err
	}
	for _, o := range options {
		if o.Name != "fillfactor" {
			return &sqlerror.Error{State: "0A000", At: at, HintText: "Leave it out.",
				Message: "WITH (" + o.Name + " = …) of an index is not supported"}
		}
		n, err := strconv.Atoi(strings.TrimSpace(o.Value))
		if err != nil {
			return &sqlerror.Error{State: "22023", Message: "invalid value for integer option \"fillfactor\": " + o.Value}
		}
		if n < 10 || n > 100 {
			return &sqlerror.Error{State: "22023", Message: "value " + o.Value + " out of bounds for option \"fillfactor\"",
				DetailText: "Valid values are between \"10\" and \"100\"."}
		}
		i.FillFactor = n
	}
	return nil
}

// dropIndex reads behind DROP INDEX.
func (c *cursor) dropIndex() (any, error) {
	d := &DropIndex{Concurrently: c.accept("concurrently"), IfExists: c.accept("if", "exists")}
	var err error
	if d.Names, err = c.list(); err != nil {
		return nil, err
	}
	d.Cascade = c.behavior()
	switch {
	case d.Concurrently && len(d.Names) > 1:
		return nil, unsupported("DROP INDEX CONCURRENTLY does not support dropping multiple objects",
			"Write one statement for each.")
	case d.Concurrently && d.Cascade:
		return nil, unsupported("DROP INDEX CONCURRENTLY does not support CASCADE", "Leave CONCURRENTLY out.")
	}
	return d, c.finish()
}

// alterIndex reads behind ALTER INDEX.
func (c *cursor) alterIndex() (any, error) {
	ifExists := c.accept("if", "exists")
	if c.peek(0).Is("all") && c.peek(1).Is("in") {
		return nil, c.refuse("ALTER INDEX ALL IN TABLESPACE", "There is one tablespace.")
	}
	name, err := c.name()
	if err != nil {
		return nil, err
	}
	if !c.accept("rename", "to") {
		if c.done() {
			return nil, c.unexpected()
		}
		return nil, c.refuse("ALTER INDEX … "+c.clause(),
			"An index has a name and nothing else that could change. DROP and CREATE it.")
	}
	to, ok := c.identifier()
	if !ok {
		return nil, c.unexpected()
	}
	return &Rename{Object: Index, Name: name, IfExists: ifExists, To: to}, c.finish()
}

// reindex reads behind REINDEX.
func (c *cursor) reindex() (any, error) {
	r := &Reindex{}
	if c.peek(0).Is("(") {
		at := c.position(c.peek(0).Start)
		options, err := c.options()
		if err != nil {
			return nil, err
		}
		for _, o := range options {
			on, ok := o.boolean()
			switch {
			case o.Name == "tablespace" && !strings.EqualFold(o.Value, "pg_default"):
				return nil, &sqlerror.Error{State: "42704", At: at, Message: "tablespace \"" + o.Value + "\" does not exist"}
			case o.Name == "tablespace":
			case o.Name != "concurrently" && o.Name != "verbose":
				return nil, &sqlerror.Error{State: "42601", At: at, Message: "unrecognized REINDEX option \"" + o.Name + "\""}
			case !ok:
				return nil, o.notBoolean()
			case o.Name == "verbose" && on:
				return nil, &sqlerror.Error{State: "0A000", At: at, Message: "REINDEX (VERBOSE) is not supported",
					HintText: "Leave it out: there is nothing to report."}
			case o.Name == "concurrently":
				r.Concurrently = on
			}
		}
	}
	if !c.peek(0).IsAny("index", "table", "schema", "database", "system") {
		return nil, c.unexpected()
	}
	r.Kind = lex.Fold(c.next().Text)
	r.Concurrently = c.accept("concurrently") || r.Concurrently
	if r.Kind == "system" {
		return nil, c.refuse("REINDEX SYSTEM", "The system catalogs have no indexes.")
	}
	if r.Kind == "database" && c.done() {
		return r, nil
	}
	var err error
	r.Name, err = c.name()
	if err != nil {
		return nil, err
	}
	return r, c.finish()
}
