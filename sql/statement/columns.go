package statement

import (
	"strings"

	"github.com/csmsql/csmsql/sql/lex"
	"github.com/csmsql/csmsql/sql/sqlerror"
)

// definitions reads "(definition, …)" and what follows it.
func (c *cursor) definitions(t *CreateTable) (err error) {
	switch {
	case c.accept("("):
	case c.peek(0).Is("of"), c.peek(0).Is("partition"):
		return c.refuse("CREATE TABLE … "+strings.ToUpper(c.peek(0).Text), "Write the columns out.")
	default:
		return c.unexpected()
	}
	for {
		if t.Temporary {
			t.DefinitionsEnd = c.peek(0).Start
		}
		if c.accept(")") {
			break
		}
		if err := c.definition(t); err != nil {
			return err
		}
		if !c.peek(0).Is(")") && !c.accept(",") {
			return c.unexpected()
		}
	}
	if err := t.require(); err != nil {
		return err
	}
	if t.With, err = c.storage(t.Temporary); err != nil {
		return err
	}
	return c.finish()
}

// require makes the columns of the primary key NOT NULL, which is enforced, and looks for those of all keys.
func (t *CreateTable) require() error {
	primary := false
	for i := range t.Constraints {
		k := &t.Constraints[i]
		if k.Kind == PrimaryKey && primary {
			return &sqlerror.Error{State: "42P16", Message: `multiple primary keys for table "` + t.Name.Name + `" are not allowed`, At: k.At}
		}
		primary = primary || k.Kind == PrimaryKey
		for i, name := range k.Columns {
			column := t.column(name)
			if column == nil && len(t.Likes) > 0 {
				continue // it may be one of those, which are not known here
			}
			if column == nil {
				return &sqlerror.Error{State: "42703", Message: `column "` + name + `" named in key does not exist`, At: k.ColumnsAt[i]}
			}
			column.NotNull = column.NotNull || k.Kind == PrimaryKey
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

// startsConstraint reports whether t ends a column's type or the expression of its default.
func startsConstraint(before, t lex.Token) bool {
	return t.IsAny("constraint", "primary", "unique", "check", "references", "not", "null", "default", "generated", "collate", "as",
		"using", "storage", "compression") && !before.Is(".")
}

func (c *cursor) definition(t *CreateTable) error {
	switch first := c.peek(0); {
	case first.IsAny("constraint", "primary", "unique", "check", "foreign"), first.Is("exclude") && c.peek(1).IsAny("using", "("):
		k, err := c.tableConstraint()
		t.Constraints = append(t.Constraints, k)
		return err
	case first.Is("like"):
		return c.like(t)
	}
	column := Column{At: c.position(c.peek(0).Start)}
	name, ok := c.identifier()
	if !ok {
		return c.unexpected()
	}
	column.Name = name
	first := c.peek(0)
	column.Type = c.until(func(b, t lex.Token) bool { return isEnd(t) || startsConstraint(b, t) })
	if c.peek(0).Is("as") || column.Type == "" && c.peek(0).Is("generated") {
		return c.refuse("a generated column", "Compute it in a view.")
	}
	if column.Type == "" {
		return c.unexpected()
	}
	if first.Kind != lex.Word && first.Kind != lex.Quoted {
		return &sqlerror.Error{State: "42601", Message: `syntax error at or near "` + first.Text + `"`, At: c.position(first.Start)}
	}
	for !c.done() && !isEnd(c.peek(0)) {
		if err := c.columnConstraint(t, &column); err != nil {
			return err
		}
	}
	t.Columns = append(t.Columns, column)
	return nil
}

// defaultValue reads an expression: at least one token, for NULL and NOT begin constraints too.
func (c *cursor) defaultValue(column *Column) error {
	if c.done() || isEnd(c.peek(0)) {
		return c.unexpected()
	}
	from := c.peek(0).Start
	for first := true; ; first = false {
		before := c.peek(0)
		if c.done() || isEnd(before) || !first && startsConstraint(lex.Token{}, before) {
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
