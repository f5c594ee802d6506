package statement

import (
	"strings"

	"github.com/csmsql/csmsql/sql/lex"
	"github.com/csmsql/csmsql/sql/sqlerror"
)

// Comment says something about an object, or with an empty Text that there is nothing to say.
type Comment struct {
	Object Object // Table, View, Schema, Sequence, Type, Index, or what stands in Column or Constraint of a table
	Name   Name   // of the object, or the table
	Column string
	// Constraint of a table, or of a domain; empty: the comment is about the object or the column.
	Constraint string
	Text       string
	Signature  []string // of a function: the types of its parameters; nil: none are said
}

// comment reads behind COMMENT.
func (c *cursor) comment() (any, error) {
	if !c.accept("on") {
		return nil, c.unexpected()
	}
	k := &Comment{}
	var err error
	switch object, ok := c.object(); {
	case ok:
		k.Object = object
		k.Name, err = c.name()
	case c.accept("index"):
		k.Object = Index
		k.Name, err = c.name()
	case c.peek(0).IsAny(privateObjects...):
		k.Object = Object(lex.Fold(c.next().Text))
		if k.Name, err = c.name(); err == nil {
			k.Signature, err = c.signature()
		}
	case c.accept("column"):
		err = c.commentedColumn(k)
	case c.accept("constraint"):
		k.Object = Table
		if k.Constraint, ok = c.identifier(); !ok {
			return nil, c.unexpected()
		}
		if c.accept("on", "domain") {
			k.Object = Domain
		} else if !c.accept("on") {
			return nil, c.unexpected()
		}
		k.Name, err = c.name()
	case c.peek(0).Kind != lex.Word:
		return nil, c.unexpected()
	default:
		return nil, c.refuse("COMMENT ON "+strings.ToUpper(c.peek(0).Text),
			"Tables, views, columns, schemas, sequences, types, domains, functions, indexes and constraints have some.")
	}
	if err != nil {
		return nil, err
	}
	if !c.accept("is") {
		return nil, c.unexpected()
	}
	if c.accept("null") {
		return k, c.finish()
	}
	if k.Text, err = c.stringValue(); err != nil {
		return nil, err
	}
	return k, c.finish()
}

// commentedColumn reads a column with its table, which is qualified.
func (c *cursor) commentedColumn(k *Comment) error {
	at := c.position(c.peek(0).Start)
	part, ok := c.identifier()
	parts := []string{part}
	for ok && c.accept(".") {
		part, ok = c.label()
		parts = append(parts, part)
	}
	if !ok || len(parts) > 4 {
		return c.unexpected()
	}
	if len(parts) < 2 {
		return &sqlerror.Error{State: "42601", Message: "column name must be qualified", At: at}
	}
	k.Object, k.Column = Table, parts[len(parts)-1]
	parts = append(make([]string, 4-len(parts)), parts[:len(parts)-1]...)
	k.Name = Name{Database: parts[0], Schema: parts[1], Name: parts[2], At: at}
	return nil
}
