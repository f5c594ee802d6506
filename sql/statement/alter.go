package statement

import (
	"strconv"

	"github.com/csmsql/csmsql/sql/lex"
	"github.com/csmsql/csmsql/sql/sqlerror"
)

// AlterTable changes a table's columns: all of its actions, or none.
type AlterTable struct {
	Object   Object // MaterializedView; Domain, which is altered as its one column; empty: a table
	Name     Name
	IfExists bool
	Actions  []Action
}

// Alter is a constraint that is added as an action.
func (k *AddConstraint) Alter() *AlterTable {
	return &AlterTable{Name: k.Name, IfExists: k.IfExists, Actions: []Action{{Kind: AddKey, Constraints: k.Constraints}}}
}

// Alter is a constraint that goes as an action.
func (k *DropConstraint) Alter() *AlterTable {
	action := Action{Kind: RemoveConstraint, Constraint: k.Constraint, Exists: k.Missing, Cascade: k.Cascade}
	return &AlterTable{Name: k.Name, IfExists: k.IfExists, Actions: []Action{action}}
}

// SetSchema is ALTER TABLE … SET SCHEMA, or of a sequence.
type SetSchema struct {
	Object   Object // Sequence, MaterializedView, Type, Domain; empty: a table
	Name     Name
	IfExists bool
	Schema   string
}

// Action is one thing that an ALTER TABLE does.
type Action struct {
	Kind ActionKind
	// Column is the one that it is about, and At where that stands, in characters from 1.
	Column string
	At     int
	// Exists: IF NOT EXISTS of AddColumn, IF EXISTS of DropColumn and RemoveConstraint.
	Exists  bool
	Cascade bool
	// Definition is the column of AddColumn, or the type of SetType. Constraints are those of an AddColumn or AddKey.
	Definition  Column
	Constraints []Constraint
	To          string // of RenameColumn and RenameConstraint
	Default     string // of SetDefault, an expression
	Using       string // of SetType, an expression; empty: none
	Constraint  string // of RemoveConstraint, RenameConstraint and ValidateConstraint
	// Identity of AddIdentity and SetIdentity; SetsGenerated: GENERATED was written of the latter.
	Identity      *Identity
	SetsGenerated bool
	// Version of RestoreTo; 0: Time says which.
	Version uint64
	Time    string
}

// ActionKind is what an action does.
type ActionKind string

// The kinds.
const (
	DropColumn         ActionKind = "drop column"
	RemoveConstraint   ActionKind = "drop constraint"
	SetType            ActionKind = "set type"
	AddColumn          ActionKind = "add column"
	SetDefault         ActionKind = "set default"
	DropDefault        ActionKind = "drop default"
	DropNotNull        ActionKind = "drop not null"
	SetNotNull         ActionKind = "set not null"
	AddKey             ActionKind = "add constraint"
	RenameColumn       ActionKind = "rename column"
	AddIdentity        ActionKind = "add identity"
	SetIdentity        ActionKind = "set identity"
	DropIdentity       ActionKind = "drop identity"
	DropExpression     ActionKind = "drop expression"
	RestoreTo          ActionKind = "restore"
	RenameConstraint   ActionKind = "rename constraint" // of a domain
	ValidateConstraint ActionKind = "validate constraint"
)

// actions reads what stands behind the name of ALTER TABLE, from the first action on.
func (c *cursor) actions(name Name, ifExists bool) (any, error) {
	t := &AlterTable{Name: name, IfExists: ifExists}
	onlyConstraints := true
	for {
		a, err := c.action(&t.Name)
		if err != nil {
			return nil, err
		}
		t.Actions = append(t.Actions, a)
		onlyConstraints = onlyConstraints && a.Kind == AddKey
		if !c.accept(",") {
			break
		}
	}
	for _, a := range t.Actions {
		if a.Kind == RenameColumn && len(t.Actions) > 1 {
			return nil, c.refuse("RENAME COLUMN beside other actions", "Write an ALTER TABLE for it.")
		}
	}
	if first := t.Actions[0]; first.Kind == RemoveConstraint && len(t.Actions) == 1 {
		return &DropConstraint{Name: name, IfExists: ifExists, Constraint: first.Constraint, Missing: first.Exists,
			Cascade: first.Cascade}, c.finish()
	}
	if onlyConstraints {
		k := &AddConstraint{Name: name, IfExists: ifExists}
		for _, a := range t.Actions {
			k.Constraints = append(k.Constraints, a.Constraints...)
		}
		return k, c.finish()
	}
	return t, c.finish()
}

func (c *cursor) action(table *Name) (a Action, err error) {
	switch first := c.peek(0); {
	case first.Is("add") && startsKey(c.peek(1)):
		c.next()
		k, err := c.tableConstraint()
		return Action{Kind: AddKey, Constraints: []Constraint{k}}, err
	case first.Is("add") && c.peek(1).Kind != lex.End:
		return c.addColumn(table)
	case c.accept("drop", "constraint"):
		a.Kind, a.Exists = RemoveConstraint, c.accept("if", "exists")
		var ok bool
		if a.Constraint, ok = c.identifier(); !ok {
			return a, c.unexpected()
		}
		a.Cascade = c.behavior()
		return a, nil
	case first.Is("drop") && c.peek(1).Kind != lex.End:
		c.next()
		c.accept("column")
		a.Kind, a.Exists = DropColumn, c.accept("if", "exists")
		if err := c.column(&a); err != nil {
			return a, err
		}
		a.Cascade = c.behavior()
		return a, nil
	case first.Is("alter") && c.peek(1).Kind != lex.End && !c.peek(1).Is("constraint"):
		return c.alterColumn()
	case first.Is("rename") && c.peek(1).Kind != lex.End && !c.peek(1).Is("constraint"):
		c.next()
		c.accept("column")
		a.Kind = RenameColumn
		if err := c.column(&a); err != nil {
			return a, err
		}
		if !c.accept("to") {
			return a, c.unexpected()
		}
		var ok bool
		if a.To, ok = c.identifier(); !ok {
			return a, c.unexpected()
		}
		return a, nil
	}
	return a, c.refuseAlter(Table)
}

// restore reads what stands behind RESTORE TO: (VERSION => number) or (TIMESTAMP => 'time').
func (c *cursor) restore(name Name, ifExists bool) (any, error) {
	a := Action{Kind: RestoreTo, At: c.position(c.peek(0).Start)}
	number := c.accept("(", "version")
	if !number && !c.accept("(", "timestamp") || !c.accept("=>") && !c.accept("=", ">") {
		return nil, c.refuse("RESTORE TO anything but (VERSION => …) or (TIMESTAMP => …)", "")
	}
	value, wrong := c.next(), ""
	if number {
		a.Version, _ = strconv.ParseUint(value.Text, 10, 63) // 0 on error
		wrong = "a version is a whole number above 0, and a constant"
	} else {
		a.Time, _ = value.Value()
		wrong = "the time of a version is a constant"
	}
	if a.Version == 0 && a.Time == "" {
		return nil, &sqlerror.Error{State: "0A000", Message: wrong, At: c.position(value.Start)}
	}
	if !c.accept(")") {
		return nil, c.unexpected()
	}
	return &AlterTable{Name: name, IfExists: ifExists, Actions: []Action{a}}, c.finish()
}

// startsKey reports whether a constraint that stands for itself begins.
func startsKey(t lex.Token) bool {
	return t.IsAny("constraint", "primary", "unique", "check", "foreign", "exclude")
}

// column takes the column that an action is about.
func (c *cursor) column(a *Action) error {
	a.At = c.position(c.peek(0).Start)
	var ok bool
	if a.Column, ok = c.identifier(); !ok {
		return c.unexpected()
	}
	return nil
}

// behavior takes CASCADE or RESTRICT.
func (c *cursor) behavior() (cascade bool) {
	if cascade = c.accept("cascade"); !cascade {
		c.accept("restrict")
	}
	return cascade
}

func (c *cursor) addColumn(table *Name) (a Action, err error) {
	c.next()
	c.accept("column")
	a.Kind, a.Exists = AddColumn, c.accept("if", "not", "exists")
	one := &CreateTable{Name: *table}
	if err := c.definition(one); err != nil {
		return a, err
	}
	if len(one.Columns) != 1 {
		return a, c.unexpected()
	}
	if err := one.require(); err != nil {
		return a, err
	}
	a.Definition, a.Constraints = one.Columns[0], one.Constraints
	a.Column, a.At = a.Definition.Name, a.Definition.At
	return a, nil
}

func (c *cursor) alterColumn() (a Action, err error) {
	mark := *c
	c.next()
	c.accept("column")
	if err := c.column(&a); err != nil {
		return a, err
	}
	if ok, err := c.alterIdentity(&a); ok || err != nil {
		return a, err
	}
	if ok, err := c.promise(&a); ok || err != nil {
		return a, err
	}
	switch {
	case c.accept("set", "data", "type"), c.accept("type"):
		a.Kind = SetType
		a.Definition = Column{Name: a.Column, At: a.At}
		a.Definition.Type = c.until(func(_, t lex.Token) bool { return isEnd(t) || t.IsAny("using", "collate") })
		if a.Definition.Type == "" {
			return a, c.unexpected()
		}
		if c.accept("collate") {
			if err := c.collation(&a.Definition); err != nil {
				return a, err
			}
		}
		if c.accept("using") {
			if a.Using = c.until(func(_, t lex.Token) bool { return isEnd(t) }); a.Using == "" {
				return a, c.unexpected()
			}
		}
	default:
		*c = mark
		return a, c.refuseAlter(Table)
	}
	return a, nil
}

// promise reads what a column has or has not, or a domain.
func (c *cursor) promise(a *Action) (ok bool, err error) {
	switch {
	case c.accept("set", "default"):
		a.Kind = SetDefault
		if a.Default = c.until(func(_, t lex.Token) bool { return isEnd(t) }); a.Default == "" {
			err = c.unexpected()
		}
	case c.accept("drop", "default"):
		a.Kind = DropDefault
	case c.accept("set", "not", "null"):
		a.Kind = SetNotNull
	case c.accept("drop", "not", "null"):
		a.Kind = DropNotNull
	default:
		return false, nil
	}
	return true, err
}
