package statement

import (
	"slices"
	"strconv"
	"strings"

	"github.com/csmsql/csmsql/sql/lex"
	"github.com/csmsql/csmsql/sql/sqlerror"
)

// CreateSequence makes a sequence.
type CreateSequence struct {
	Name        Name
	IfNotExists bool
	Options     SequenceOptions
}

// AlterSequence changes one.
type AlterSequence struct {
	Name     Name
	IfExists bool
	Options  SequenceOptions
}

// SequenceOptions are what CREATE and ALTER SEQUENCE say, and identity columns in parentheses; nil: not written.
type SequenceOptions struct {
	Type                                        string // in lower case
	Increment, Min, Max, Start, Restart, Cached *int64
	NoMin, NoMax                                bool
	RestartAtStart                              bool // RESTART without a value
	Cycle                                       *bool
	OwnedBy                                     *Name // the column; Schema is the table, Database its schema
	OwnedByNone                                 bool
	Named                                       *Name    // SEQUENCE NAME of an identity column
	Written                                     []string // which options were
}

// Given reports whether anything was written.
func (o *SequenceOptions) Given() bool { return len(o.Written) > 0 }

// Identity says that a column makes its own values.
type Identity struct {
	Always  bool // GENERATED ALWAYS; else BY DEFAULT
	Options SequenceOptions
}

func (c *cursor) createSequence(orReplace bool) (any, error) {
	if orReplace {
		return nil, c.refuse("CREATE OR REPLACE SEQUENCE", "Use ALTER SEQUENCE … RESTART, or DROP and CREATE SEQUENCE.")
	}
	c.next()
	s := &CreateSequence{IfNotExists: c.accept("if", "not", "exists")}
	var err error
	if s.Name, err = c.name(); err != nil {
		return nil, err
	}
	if isTemporary(s.Name) {
		return &Private{Verb: "create", Kind: "sequence"}, nil
	}
	if err := c.sequenceOptions(&s.Options, false); err != nil {
		return nil, err
	}
	return s, c.finish()
}

// alterSequence reads behind ALTER SEQUENCE [IF EXISTS] name.
func (c *cursor) alterSequence(name Name, ifExists bool) (any, error) {
	if c.accept("set", "schema") {
		schema, ok := c.identifier()
		if !ok {
			return nil, c.unexpected()
		}
		return &SetSchema{Object: Sequence, Name: name, IfExists: ifExists, Schema: schema}, c.finish()
	}
	if c.peek(0).IsAny("owner", "set") {
		return nil, c.refuseAlter(Sequence)
	}
	s := &AlterSequence{Name: name, IfExists: ifExists}
	if err := c.sequenceOptions(&s.Options, true); err != nil {
		return nil, err
	}
	if !s.Options.Given() {
		return nil, c.unexpected()
	}
	return s, c.finish()
}

// sequenceOptions reads options up to the end, or to a parenthesis that closes.
func (c *cursor) sequenceOptions(o *SequenceOptions, alter bool) error {
	for !c.done() && !c.peek(0).Is(")") {
		if ok, err := c.sequenceOption(o, alter); err != nil {
			return err
		} else if !ok {
			return c.unexpected()
		}
	}
	return nil
}

// sequenceOption reads one; not ok: none is next.
func (c *cursor) sequenceOption(o *SequenceOptions, alter bool) (ok bool, err error) {
	at := c.position(c.peek(0).Start)
	option := func(name string) error {
		if slices.Contains(o.Written, name) {
			return &sqlerror.Error{State: "42601", Message: "conflicting or redundant options", At: at}
		}
		o.Written = append(o.Written, name)
		return nil
	}
	number := func(name string, to **int64) error {
		if err := option(name); err != nil {
			return err
		}
		*to, err = c.wholeNumber()
		return err
	}
	switch {
	case c.accept("as"):
		o.Type = lex.Fold(c.peek(0).Text)
		c.next()
		return true, option("as")
	case c.accept("increment"):
		c.accept("by")
		return true, number("increment", &o.Increment)
	case c.accept("minvalue"):
		return true, number("minvalue", &o.Min)
	case c.accept("no", "minvalue"):
		o.NoMin = true
		return true, option("minvalue")
	case c.accept("maxvalue"):
		return true, number("maxvalue", &o.Max)
	case c.accept("no", "maxvalue"):
		o.NoMax = true
		return true, option("maxvalue")
	case c.accept("start"):
		c.accept("with")
		return true, number("start", &o.Start)
	case alter && c.accept("restart"):
		with := c.accept("with")
		if t := c.peek(0); with || t.Kind == lex.Number || t.IsAny("-", "+") {
			return true, number("restart", &o.Restart)
		}
		o.RestartAtStart = true
		return true, option("restart")
	case c.accept("cache"):
		return true, number("cache", &o.Cached)
	case c.peek(0).Is("cycle"), c.peek(0).Is("no") && c.peek(1).Is("cycle"):
		cycles := !c.accept("no")
		c.next()
		o.Cycle = &cycles
		return true, option("cycle")
	case c.accept("owned", "by"):
		if c.accept("none") {
			o.OwnedByNone = true
			return true, option("owned by")
		}
		name, err := c.name()
		if err == nil && name.Schema == "" {
			err = &sqlerror.Error{State: "42601", Message: "invalid OWNED BY option", At: at,
				HintText: "Specify OWNED BY table.column or OWNED BY NONE."}
		}
		o.OwnedBy = &name
		if err == nil {
			err = option("owned by")
		}
		return true, err
	case c.accept("sequence", "name"):
		name, err := c.name()
		o.Named = &name
		if err == nil {
			err = option("sequence name")
		}
		return true, err
	}
	return false, nil
}

// wholeNumber takes a number of 64 bits with its sign.
func (c *cursor) wholeNumber() (*int64, error) {
	sign := ""
	if t := c.peek(0); t.IsAny("-", "+") {
		sign = t.Text
		c.next()
	}
	t := c.peek(0)
	if t.Kind != lex.Number || strings.ContainsAny(t.Text, ".eExXoObB_") {
		return nil, c.unexpected()
	}
	n, err := strconv.ParseInt(sign+t.Text, 10, 64)
	if err != nil {
		return nil, &sqlerror.Error{State: "22003", Message: "value \"" + strings.TrimPrefix(sign, "+") + t.Text +
			"\" is out of range for type bigint", At: c.position(t.Start)}
	}
	c.next()
	return &n, nil
}

// generated reads GENERATED … of a column.
func (c *cursor) generated(column *Column) error {
	at := c.position(c.peek(0).Start)
	c.next()
	always := c.accept("always")
	if !always && !c.accept("by", "default") {
		return c.unexpected()
	}
	if !c.accept("as") {
		return c.unexpected()
	}
	if expression, is := c.group(); is {
		return c.stored(column, expression, always, at)
	}
	if !c.accept("identity") {
		return c.unexpected()
	}
	if column.Identity != nil {
		return &sqlerror.Error{
			State: "42601", Message: "multiple identity specifications for column \"" + column.Name + "\"", At: at,
		}
	}
	column.Identity = &Identity{Always: always}
	return c.identityOptions(&column.Identity.Options)
}

// stored reads behind the expression of a generated column.
func (c *cursor) stored(column *Column, expression string, always bool, at int) error {
	switch {
	case expression == "":
		return c.unexpected()
	case !always:
		return &sqlerror.Error{
			State: "42601", Message: "for a generated column, GENERATED ALWAYS must be specified", At: at,
		}
	case column.Generated != "":
		return &sqlerror.Error{
			State: "42601", Message: "multiple generation clauses specified for column \"" + column.Name + "\"", At: at,
		}
	case !c.accept("stored"):
		return c.refuse("a generated column that is not STORED", "Write STORED, or compute it in a view.")
	}
	column.Generated = expression
	return nil
}

// identityOptions reads what may stand in parentheses behind IDENTITY.
func (c *cursor) identityOptions(o *SequenceOptions) error {
	if !c.accept("(") {
		return nil
	}
	if err := c.sequenceOptions(o, false); err != nil {
		return err
	}
	if !o.Given() || !c.accept(")") {
		return c.unexpected()
	}
	if o.Type != "" || o.OwnedBy != nil || o.OwnedByNone {
		return &sqlerror.Error{
			State: "42601", Message: "sequence option not supported here", At: c.position(c.last - 1),
			HintText: "The column says the type, and owns the sequence.",
		}
	}
	return nil
}

// alterIdentity reads ALTER COLUMN a ADD GENERATED …, SET GENERATED …, SET and RESTART of options, DROP IDENTITY; not
// ok: none of them is next.
func (c *cursor) alterIdentity(a *Action) (ok bool, err error) {
	switch {
	case c.peek(0).Is("add") && c.peek(1).Is("generated"):
		c.next()
		column := Column{Name: a.Column}
		if err := c.generated(&column); err != nil {
			return true, err
		}
		a.Kind, a.Identity = AddIdentity, column.Identity
		return true, nil
	case c.accept("drop", "identity"):
		a.Kind, a.Exists = DropIdentity, c.accept("if", "exists")
		return true, nil
	case c.accept("drop", "expression"):
		a.Kind, a.Exists = DropExpression, c.accept("if", "exists")
		return true, nil
	}
	for {
		switch {
		case c.peek(0).Is("set") && c.peek(1).Is("generated"):
			c.next()
			c.next()
			always := c.accept("always")
			if !always && !c.accept("by", "default") {
				return true, c.unexpected()
			}
			if a.Identity == nil {
				a.Identity = &Identity{}
			}
			a.Identity.Always, a.SetsGenerated = always, true
		case c.peek(0).Is("restart"), c.peek(0).Is("set") &&
			c.peek(1).IsAny("increment", "minvalue", "maxvalue", "no", "start", "cache", "cycle"):
			c.accept("set")
			if a.Identity == nil {
				a.Identity = &Identity{}
			}
			if ok, err := c.sequenceOption(&a.Identity.Options, true); err != nil || !ok {
				if err == nil {
					err = c.unexpected()
				}
				return true, err
			}
		default:
			if a.Identity != nil {
				a.Kind = SetIdentity
			}
			return a.Identity != nil, nil
		}
	}
}
