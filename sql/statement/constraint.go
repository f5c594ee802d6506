package statement

import (
	"strings"

	"github.com/csmsql/csmsql/sql/sqlerror"
)

// Constraint of a CREATE TABLE or an ALTER TABLE … ADD.
type Constraint struct {
	Kind ConstraintKind
	Name string // if written
	// Column is the one in whose definition it stands; empty: it stands for itself.
	Column string
	// Columns are those of a key, and ColumnsAt where they stand, in characters from 1.
	Columns   []string
	ColumnsAt []int
	// Expression is what a CHECK has in its parentheses.
	Expression string
	// References is the table of a FOREIGN KEY, and ReferencedColumns its columns if they were written.
	References        Name
	ReferencedColumns []string
	// Match, OnDelete and OnUpdate are words in capitals; empty: not written.
	Match, OnDelete, OnUpdate    string
	Deferrable, Deferred         bool
	NullsNotDistinct, NotChecked bool // NotChecked: NOT VALID
	NoInherit                    bool
	// UsingIndex is the unique index that becomes a key; empty: it gets one.
	UsingIndex string
	Text       string // as it was written, without its name
	At         int    // where, in characters from 1
}

// ConstraintKind is what a constraint demands.
type ConstraintKind string

// The kinds.
const (
	Check      ConstraintKind = "check"
	PrimaryKey ConstraintKind = "primary key"
	Unique     ConstraintKind = "unique"
	ForeignKey ConstraintKind = "foreign key"
)

// columnConstraint reads what may stand behind a column's type.
func (c *cursor) columnConstraint(t *CreateTable, column *Column) error {
	name := ""
	if c.accept("constraint") {
		var ok bool
		if name, ok = c.identifier(); !ok {
			return c.unexpected()
		}
	}
	switch {
	case c.accept("not", "null"):
		column.NotNull = true
	case c.accept("null"):
	case c.accept("default"):
		return c.defaultValue(column)
	case c.accept("collate"):
		return c.collation(column)
	case c.peek(0).Is("using"), c.peek(0).IsAny("storage", "compression"):
		return c.refuse(strings.ToUpper(c.peek(0).Text)+" of a column", "Leave it out: chunks are laid out by what is in them.")
	case c.peek(0).Is("generated"):
		return c.generated(column)
	case c.peek(0).IsAny("primary", "unique", "check", "references"):
		k, err := c.constraint(column.Name)
		if err != nil {
			return err
		}
		k.Name = name
		t.Constraints = append(t.Constraints, k)
	default:
		return c.unexpected()
	}
	return nil
}

// tableConstraint reads a constraint that stands for itself.
func (c *cursor) tableConstraint() (Constraint, error) {
	name := ""
	if c.accept("constraint") {
		var ok bool
		if name, ok = c.identifier(); !ok {
			return Constraint{}, c.unexpected()
		}
	}
	k, err := c.constraint("")
	k.Name = name
	return k, err
}

// constraint reads a constraint from its first word on; column is the one whose definition it is in.
func (c *cursor) constraint(column string) (Constraint, error) {
	from := c.peek(0).Start
	k := Constraint{Column: column, At: c.position(from)}
	if column != "" {
		k.Columns, k.ColumnsAt = []string{column}, []int{k.At}
	}
	var err error
	switch {
	case c.accept("check"):
		k.Kind, k.Columns, k.ColumnsAt = Check, nil, nil
		var ok bool
		if k.Expression, ok = c.group(); !ok || k.Expression == "" {
			return k, c.unexpected()
		}
	case c.accept("primary", "key"):
		k.Kind = PrimaryKey
		err = c.keyColumns(&k)
	case c.accept("unique"):
		k.Kind = Unique
		if c.accept("nulls", "not", "distinct") {
			k.NullsNotDistinct = true
		} else {
			c.accept("nulls", "distinct")
		}
		err = c.keyColumns(&k)
	case column == "" && c.accept("foreign", "key"):
		k.Kind = ForeignKey
		if err = c.keyColumns(&k); err == nil && !c.accept("references") {
			err = c.unexpected()
		}
		if err == nil {
			err = c.references(&k)
		}
	case column != "" && c.accept("references"):
		k.Kind = ForeignKey
		err = c.references(&k)
	case c.peek(0).Is("exclude"):
		err = c.refuse("EXCLUDE", "No constraint compares rows with each other.")
	default:
		err = c.unexpected()
	}
	if err != nil {
		return k, err
	}
	err = c.constraintAttributes(&k)
	k.Text = c.since(from)
	return k, err
}

// ofAKey is in the message of a refused option of a key.
const ofAKey = " of a key"

// keyColumns reads the columns of a key that stands for itself, and refuses what PostgreSQL would do with its index.
func (c *cursor) keyColumns(k *Constraint) (err error) {
	if k.Column == "" {
		if k.Columns, k.ColumnsAt, err = c.columns(); err != nil {
			return err
		}
		if k.Columns == nil && c.peek(0).Is("using") && c.peek(1).Is("index") {
			mark := *c
			c.accept("using", "index")
			if k.UsingIndex, _ = c.identifier(); k.UsingIndex == "" {
				*c = mark
				return c.unexpected()
			}
			return nil
		}
		if k.Columns == nil {
			return c.unexpected()
		}
	}
	if c.peek(0).IsAny("include", "with") && c.peek(1).Is("(") || c.peek(0).Is("using") {
		return c.refuse(strings.ToUpper(c.peek(0).Text)+ofAKey,
			"Leave it out: a key has an index of its columns alone, of one kind.")
	}
	return nil
}

// references reads behind REFERENCES.
func (c *cursor) references(k *Constraint) (err error) {
	if k.References, err = c.name(); err != nil {
		return err
	}
	if k.ReferencedColumns, _, err = c.columns(); err != nil {
		return err
	}
	for {
		switch {
		case c.accept("match"):
			if c.peek(0).Is("partial") {
				return c.refuse("MATCH PARTIAL", "Write MATCH FULL or MATCH SIMPLE.")
			}
			if !c.peek(0).IsAny("full", "simple") {
				return c.unexpected()
			}
			k.Match = strings.ToUpper(c.next().Text)
		case c.accept("on", "delete"):
			k.OnDelete, err = c.referentialAction()
		case c.accept("on", "update"):
			k.OnUpdate, err = c.referentialAction()
		default:
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func (c *cursor) referentialAction() (string, error) {
	switch {
	case c.accept("set", "null"):
		return "SET NULL", c.noColumns()
	case c.accept("set", "default"):
		return "SET DEFAULT", c.noColumns()
	case c.accept("no", "action"):
		return "", nil // as if it had not been written
	case c.accept("cascade"):
		return "CASCADE", nil
	case c.accept("restrict"):
		return "RESTRICT", nil
	}
	return "", c.unexpected()
}

func (c *cursor) noColumns() error {
	if c.peek(0).Is("(") {
		return c.refuse("a list of columns behind ON DELETE SET", "Leave it out.")
	}
	return nil
}

// constraintAttributes reads what may end a constraint.
func (c *cursor) constraintAttributes(k *Constraint) error {
	for {
		at := c.position(c.peek(0).Start)
		deferring := ""
		switch {
		case c.accept("not", "deferrable"):
			k.Deferrable, k.Deferred = false, false
		case c.accept("deferrable"):
			k.Deferrable, deferring = true, "DEFERRABLE"
		case c.accept("initially", "deferred"):
			k.Deferrable, k.Deferred, deferring = true, true, "INITIALLY DEFERRED"
		case c.accept("initially", "immediate"):
			k.Deferred = false
		case c.accept("not", "valid"):
			k.NotChecked = true
		case c.accept("no", "inherit"):
			k.NoInherit = true
		default:
			return nil
		}
		if deferring != "" && k.Kind == Check {
			return &sqlerror.Error{State: "0A000", Message: "CHECK constraints cannot be marked " + deferring, At: at, HintText: "Leave it out."}
		}
	}
}
