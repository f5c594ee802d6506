package statement

import (
	"strings"
)

// CreateType makes an enumerated type of labels, in their order.
type CreateType struct {
	Name   Name
	Labels []string
}

const typeAdvice = "CREATE TYPE name AS ENUM ('a', 'b') is kept; write another type where it is used: STRUCT (x INTEGER)."

// createType reads behind CREATE.
func (c *cursor) createType(orReplace bool) (any, error) {
	if orReplace {
		return nil, c.refuse("CREATE OR REPLACE TYPE", "Use DROP TYPE and CREATE TYPE in one transaction.")
	}
	c.next()
	t := &CreateType{}
	var err error
	if t.Name, err = c.name(); err != nil {
		return nil, err
	}
	if isTemporary(t.Name) {
		return &Private{Verb: "create", Kind: "type"}, nil
	}
	if !c.accept("as") {
		if c.done() || c.peek(0).Is("(") {
			return nil, c.refuse("CREATE TYPE of a base type", typeAdvice)
		}
		return nil, c.unexpected()
	}
	if c.peek(0).Is("(") {
		return nil, c.refuse("CREATE TYPE of a composite type", typeAdvice)
	}
	if !c.accept("enum") {
		return nil, c.refuse("CREATE TYPE … AS "+strings.ToUpper(c.peek(0).Text), typeAdvice)
	}
	if !c.accept("(") {
		return nil, c.unexpected()
	}
	if c.accept(")") {
		return t, c.finish()
	}
	if startsQuery(c.peek(0)) {
		return nil, c.refuse("CREATE TYPE … AS ENUM of a query", "Write the labels out.")
	}
	for {
		label, err := c.stringValue()
		if err != nil {
			return nil, err
		}
		t.Labels = append(t.Labels, label)
		if !c.accept(",") {
			break
		}
	}
	if !c.accept(")") {
		return nil, c.unexpected()
	}
	return t, c.finish()
}

// AlterType gives an enumerated type a label, or a label another text.
type AlterType struct {
	Name        Name
	IfNotExists bool
	// Label is the new one. It comes last, or Before or After another one.
	Label                           string
	Before, After                   string
	HasBefore, HasAfter, IsRenaming bool
	// Renamed is the label whose text becomes Label.
	Renamed string
}

// alterType reads behind ALTER TYPE.
func (c *cursor) alterType() (any, error) {
	a := &AlterType{}
	var err error
	if a.Name, err = c.name(); err != nil {
		return nil, err
	}
	switch {
	case c.accept("add", "value"):
		err = c.addLabel(a)
	case c.accept("rename", "value"):
		a.IsRenaming = true
		if a.Renamed, err = c.stringValue(); err != nil {
			return nil, err
		}
		if !c.accept("to") {
			return nil, c.unexpected()
		}
		a.Label, err = c.stringValue()
	case c.accept("rename", "to"):
		to, ok := c.identifier()
		if !ok {
			return nil, c.unexpected()
		}
		return &Rename{Object: Type, Name: a.Name, To: to}, c.finish()
	case c.accept("set", "schema"):
		schema, ok := c.identifier()
		if !ok {
			return nil, c.unexpected()
		}
		return &SetSchema{Object: Type, Name: a.Name, Schema: schema}, c.finish()
	default:
		return nil, c.refuseAlter(Type)
	}
	if err != nil {
		return nil, err
	}
	return a, c.finish()
}

func (c *cursor) addLabel(a *AlterType) (err error) {
	a.IfNotExists = c.accept("if", "not", "exists")
	if a.Label, err = c.stringValue(); err != nil {
		return err
	}
	if a.HasBefore = c.accept("before"); a.HasBefore {
		a.Before, err = c.stringValue()
	} else if a.HasAfter = c.accept("after"); a.HasAfter {
		a.After, err = c.stringValue()
	}
	return err
}
