package alteration

import (
	"fmt"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/csmsql/csmsql/engine/cast"
	"github.com/csmsql/csmsql/engine/constraint"
	"github.com/csmsql/csmsql/engine/definition"
	"github.com/csmsql/csmsql/sql/dialect"
	"github.com/csmsql/csmsql/sql/sqlerror"
	"github.com/csmsql/csmsql/sql/statement"
)

// now are the table's columns as they are by now.
func (a *alteration) now(more ...arrow.Field) *arrow.Schema {
	var fields []arrow.Field
	for _, c := range a.columns {
		fields = append(fields, c.Field)
	}
	return arrow.NewSchema(append(fields, more...), nil)
}

// addGenerated is ADD COLUMN of a generated column: rows that are there get its values. Those are computed of the
// columns that the table had, so that none may be altered beside.
func (a *alteration) addGenerated(c column, definition statement.Column, constraints []statement.Constraint) error {
	schema := a.now(c.Field)
	if err := a.types.Generated(a.table.Name.Name, schema, definition); err != nil {
		return err
	}
	a.keys = append(a.keys, constraints...)
	if a.version.Rows() > 0 {
		for _, other := range a.columns {
			if other.was == "" || other.retyped || other.expression != "" {
				return sqlerror.New("0A000", "ADD COLUMN of a generated column beside other columns is not supported").
					WithHint("Write an ALTER TABLE for it.")
			}
		}
		var err error
		if c.expression, err = cast.Computed(c.Field); err != nil {
			return err
		}
	}
	a.columns = append(a.columns, c)
	return nil
}

func (a *alteration) dropExpression(c *column, exists bool) error {
	switch {
	case cast.Generated(c.Field) != "":
		c.Field = cast.WithGenerated(c.Field, "")
	case exists:
		a.Notice(fmt.Sprintf("column %q of relation %q is not a stored generated column, skipping", c.Name,
			a.table.Name.Name), "")
	default:
		return sqlerror.New("55000", "column %q of relation %q is not a stored generated column", c.Name, a.table.Name.Name)
	}
	return nil
}

func (a *alteration) notOfGenerated(c *column, kind statement.ActionKind) error {
	e := sqlerror.New("42601", "column %q of relation %q is a generated column", c.Name, a.table.Name.Name)
	if kind == statement.DropDefault {
		return e.WithHint("Use ALTER TABLE ... ALTER COLUMN ... DROP EXPRESSION instead.")
	}
	return e
}

// dropGenerated is for a column that generated ones read: they go before it, with CASCADE. gone: it has dropped the
// column, too.
func (a *alteration) dropGenerated(i int, cascade bool) (gone bool, err error) {
	name := a.columns[i].Name
	readers := definition.ReadBy(a.now(), name)
	if len(readers) == 0 {
		return false, nil
	}
	table := dialect.PlainIdentifier(a.table.Name.Name)
	if !cascade {
		var lines []string
		for _, reader := range readers {
			lines = append(lines, fmt.Sprintf("column %s of table %s depends on column %s of table %s",
				dialect.PlainIdentifier(reader), table, dialect.PlainIdentifier(name), table))
		}
		e := sqlerror.New("2BP01", "cannot drop column %s of table %s because other objects depend on it",
			dialect.PlainIdentifier(name), table).WithHint("Use DROP ... CASCADE to drop the dependent objects too.")
		e.DetailText = strings.Join(lines, "\n")
		return false, e
	}
	for _, reader := range readers {
		at, err := a.at(reader)
		if err == nil {
			a.Notice("drop cascades to column "+dialect.PlainIdentifier(reader)+" of table "+table, "")
			err = a.drop(at, true)
		}
		if err != nil {
			return false, err
		}
	}
	at, err := a.at(name)
	if err != nil {
		return false, err
	}
	return true, a.drop(at, cascade)
}

// renameGenerated writes a column's new name into the expressions that read it.
func (a *alteration) renameGenerated(from, to string) error {
	readers := definition.ReadBy(a.now(), from)
	for i := range a.columns {
		c := &a.columns[i]
		if !slices.Contains(readers, c.Name) {
			continue
		}
		as := constraint.Constraint{Name: c.Name, Expression: cast.Generated(c.Field), Table: a.table.Name.Name}
		expression, err := a.renamedIn(as, from, to)
		if err != nil {
			return sqlerror.New("0A000",
				"column %q cannot be renamed: generated column %q names it in a way that does not bear another name", from, c.Name)
		}
		c.Field = cast.WithGenerated(c.Field, expression)
	}
	return nil
}

// typeOfGenerated is an error of another type for a generated column, or for one that such a column reads.
func (a *alteration) typeOfGenerated(c *column) error {
	if cast.Generated(c.Field) != "" {
		return sqlerror.New("0A000", "ALTER TYPE of a generated column is not supported").
			WithHint("Drop the column and add it again.")
	}
	if readers := definition.ReadBy(a.now(), c.Name); len(readers) > 0 {
		e := sqlerror.New("0A000", "cannot alter type of a column used by a generated column")
		e.DetailText = fmt.Sprintf("Column %q is used by generated column %q.", c.Name, readers[0])
		return e
	}
	return nil
}
