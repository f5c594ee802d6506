package statement

import (
	"strings"

	"github.com/csmsql/csmsql/sql/lex"
)

// object takes the kind of an object that the product knows.
func (c *cursor) object() (Object, bool) {
	for _, o := range []Object{Table, View, MaterializedView, Schema, Sequence, Type, Domain} {
		if c.accept(strings.Fields(string(o))...) {
			return o, true
		}
	}
	return "", false
}

func (c *cursor) drop() (any, error) {
	object, ok := c.object()
	if !ok {
		if c.peek(0).Kind != lex.Word {
			return nil, c.unexpected()
		}
		if c.peek(0).IsAny("role", "user", "group", "owned") {
			return nil, c.refuse("DROP "+c.clause(), rolesAdvice)
		}
		if c.peek(0).Is("secret") || c.peek(0).IsAny("persistent", "temporary", "temp") && c.peek(1).Is("secret") {
			return nil, c.refuse("DROP SECRET", "There are no secrets.")
		}
		if c.accept("index") {
			return c.dropIndex()
		}
		if c.peek(0).IsAny(privateObjects...) {
			return c.dropFunctions()
		}
		return &Private{Verb: "drop", Kind: lex.Fold(c.peek(0).Text)}, nil
	}
	d := &Drop{Object: object, IfExists: c.accept("if", "exists")}
	var err error
	if d.Names, err = c.list(); err != nil {
		return nil, err
	}
	if d.Cascade = c.accept("cascade"); !d.Cascade {
		c.accept("restrict")
	}
	return d, c.finish()
}

// privateObjects are what DuckDB keeps under a name in a schema, besides tables and views.
var privateObjects = []string{"macro", "function"}

// dropFunctions reads DROP FUNCTION and DROP MACRO: of functions, or of a session's own macros.
func (c *cursor) dropFunctions() (any, error) {
	word := lex.Fold(c.next().Text)
	ofRows := c.accept("table") // DROP MACRO TABLE
	d := &Drop{Object: Object(word), IfExists: c.accept("if", "exists")}
	at := c.peek(0).Start
	for {
		name, err := c.name()
		if err != nil {
			return nil, err
		}
		if ofRows || isTemporary(name) {
			return &Private{Verb: "drop", Kind: word, Dropped: &name, DroppedAt: at}, nil
		}
		types, err := c.signature()
		if err != nil {
			return nil, err
		}
		d.Names, d.Signatures = append(d.Names, name), append(d.Signatures, types)
		if !c.accept(",") {
			break
		}
	}
	if d.Cascade = c.accept("cascade"); !d.Cascade {
		c.accept("restrict")
	}
	return d, c.finish()
}

// signature reads the types of a function's parameters behind its name; nil: there are none.
func (c *cursor) signature() (types []string, err error) {
	if !c.accept("(") {
		return nil, nil
	}
	list, err := c.functionParameters()
	types = []string{}
	for _, p := range list {
		types = append(types, p.Type)
	}
	return types, err
}

func (c *cursor) truncate() (any, error) {
	c.accept("table")
	t := &Truncate{}
	for {
		c.accept("only")
		name, err := c.name()
		if err != nil {
			return nil, err
		}
		c.accept("*")
		t.Names = append(t.Names, name)
		if !c.accept(",") {
			break
		}
	}
	if t.Restart = c.accept("restart", "identity"); !t.Restart {
		c.accept("continue", "identity")
	}
	if t.Cascade = c.accept("cascade"); !t.Cascade {
		c.accept("restrict")
	}
	return t, c.finish()
}

const alterAdvice = "Recreate the table with CREATE OR REPLACE TABLE … AS SELECT …"

func (c *cursor) alter() (any, error) {
	object, ok := c.object()
	if !ok {
		if c.peek(0).Kind != lex.Word {
			return nil, c.unexpected()
		}
		if c.accept("index") {
			return c.alterIndex()
		}
		advice := ""
		if c.peek(0).IsAny("role", "user", "group", "default", "database") {
			advice = rolesAdvice
		}
		return nil, c.refuse("ALTER "+c.clause(), advice)
	}
	switch object {
	case Type:
		return c.alterType()
	case Domain:
		return c.alterDomain()
	}
	ifExists := c.accept("if", "exists")
	c.accept("only")
	name, err := c.name()
	if err != nil {
		return nil, err
	}
	c.accept("*")
	if c.accept("rename", "to") {
		to, ok := c.identifier()
		if !ok {
			return nil, c.unexpected()
		}
		return &Rename{Object: object, Name: name, IfExists: ifExists, To: to}, c.finish()
	}
	if object == Sequence {
		return c.alterSequence(name, ifExists)
	}
	if object == MaterializedView {
		return c.alterMaterialized(name, ifExists)
	}
	if object != Table {
		return nil, c.refuseAlter(object)
	}
	if c.accept("set", "placement") {
		c.accept("=")
		text, err := c.stringValue()
		if err != nil {
			return nil, err
		}
		return &SetPlacement{Name: name, IfExists: ifExists, Placement: text}, c.finish()
	}
	if c.accept("restore", "to") {
		return c.restore(name, ifExists)
	}
	if c.accept("reload") {
		return &Reload{Name: name, IfExists: ifExists}, c.finish()
	}
	if c.peek(0).Is("set") && c.peek(1).Is("(") {
		c.next()
		return c.setStorage(&SetStorage{Name: name, IfExists: ifExists})
	}
	if c.peek(0).Is("reset") && c.peek(1).Is("(") {
		c.next()
		return c.resetStorage(&SetStorage{Name: name, IfExists: ifExists})
	}
	if c.accept("set", "schema") {
		return c.setSchema(&SetSchema{Name: name, IfExists: ifExists})
	}
	return c.actions(name, ifExists)
}

func (c *cursor) setSchema(s *SetSchema) (any, error) {
	var ok bool
	if s.Schema, ok = c.identifier(); !ok {
		return nil, c.unexpected()
	}
	return s, c.finish()
}

// alterMaterialized reads what stands behind the name of ALTER MATERIALIZED VIEW.
func (c *cursor) alterMaterialized(name Name, ifExists bool) (any, error) {
	if c.accept("set", "schema") {
		return c.setSchema(&SetSchema{Object: MaterializedView, Name: name, IfExists: ifExists})
	}
	if !c.peek(0).Is("rename") {
		return nil, c.refuseAlter(MaterializedView)
	}
	a, err := c.action(&name)
	if err != nil {
		return nil, err
	}
	t := &AlterTable{Object: MaterializedView, Name: name, IfExists: ifExists, Actions: []Action{a}}
	return t, c.finish()
}

func (c *cursor) setStorage(s *SetStorage) (any, error) {
	text, ok := c.group()
	if !ok {
		return nil, c.unexpected()
	}
	var err error
	if s.Options, err = Storage(text); err != nil {
		return nil, err
	}
	return s, c.finish()
}

func (c *cursor) resetStorage(s *SetStorage) (any, error) {
	c.next()
	for {
		name, ok := c.label()
		if !ok {
			return nil, c.unexpected()
		}
		s.Reset = append(s.Reset, strings.ToLower(name))
		if !c.accept(",") {
			break
		}
	}
	if !c.accept(")") {
		return nil, c.unexpected()
	}
	return s, c.finish()
}

func (c *cursor) refuseAlter(object Object) error {
	what := "ALTER " + strings.ToUpper(string(object)) + " … "
	if c.done() {
		return c.unexpected()
	}
	alterAdvice := alterAdvice
	switch object {
	case Type:
		alterAdvice = typeAdvice
	case MaterializedView:
		alterAdvice = "ALTER TABLE … SET PLACEMENT, SET (…) and RELOAD are for materialized views, too."
	}
	switch {
	case c.peek(0).Is("rename"):
		return c.refuse(what+"RENAME "+strings.ToUpper(c.peek(1).Text), alterAdvice)
	case c.peek(0).Is("owner"):
		return c.refuse(what+"OWNER", rolesAdvice)
	case c.peek(0).Is("set") && c.peek(1).Is("schema"):
		return c.refuse(what+"SET SCHEMA", alterAdvice)
	}
	return c.refuse(what+c.clause(), alterAdvice)
}
