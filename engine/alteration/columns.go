package alteration

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/csmsql/csmsql/catalog/hugetable"
	"github.com/csmsql/csmsql/engine/cast"
	"github.com/csmsql/csmsql/engine/columntype"
	"github.com/csmsql/csmsql/engine/comment"
	"github.com/csmsql/csmsql/engine/constraint"
	"github.com/csmsql/csmsql/engine/ingest"
	"github.com/csmsql/csmsql/engine/placement"
	"github.com/csmsql/csmsql/engine/upkeep"
	"github.com/csmsql/csmsql/exec/duckdb"
	"github.com/csmsql/csmsql/sql/dialect"
	"github.com/csmsql/csmsql/sql/sqlerror"
	"github.com/csmsql/csmsql/sql/statement"
)

// add is ADD COLUMN: what its default gives now, rows that are there have, and no other value later. One that gives
// each call another value gives each row its own.
func (a *alteration) add(ctx context.Context, action statement.Action) error {
	if _, err := a.at(action.Column); err == nil {
		if action.Exists {
			a.Notice(fmt.Sprintf("column %q of relation %q already exists, skipping", action.Column,
				a.table.Name.Name), "")
			return nil
		}
		return sqlerror.New("42701", "column %q of relation %q already exists", action.Column, a.table.Name.Name)
	}
	defined, made, err := a.Sequences.Columns(ctx, a.table.Name, []statement.Column{action.Definition})
	if err != nil {
		return err
	}
	a.made = append(a.made, made)
	f, err := a.types.Column(defined[0])
	if err != nil {
		return err
	}
	text, name, err := defaultOf(f)
	if err != nil {
		return err
	}
	c := column{Field: f, constant: "CAST(" + text + " AS " + name + ")"}
	if cast.Generated(f) != "" {
		return a.addGenerated(c, defined[0], action.Constraints)
	}
	a.keys = append(a.keys, action.Constraints...)
	if _, ok := cast.Default(f); ok && a.version.Rows() > 0 {
		if dialect.VolatileIn(text) != "" {
			c.expression = c.constant
		} else if c.value, err = a.evaluate(ctx, f); err != nil {
			return err
		}
	}
	a.columns = append(a.columns, c)
	return nil
}

// defaultOf is the expression of a field's default, NULL if it has none, and the name of its type.
func defaultOf(f arrow.Field) (text, name string, err error) {
	text, ok := cast.Default(f)
	if !ok {
		text = "NULL"
	}
	name, err = columntype.SQL(f)
	return text, name, err
}

// evaluate is the value of a field's default.
func (a *alteration) evaluate(ctx context.Context, f arrow.Field) (value arrow.Array, err error) {
	text, name, err := defaultOf(f)
	if err != nil {
		return nil, err
	}
	limits := upkeep.LimitsOf(arrow.NewSchema([]arrow.Field{f}, nil))
	err = a.Each(ctx, a.v, "SELECT CAST("+text+" AS "+name+") AS v", func(batch arrow.RecordBatch) error {
		if batch.NumRows() != 1 || value != nil {
			return sqlerror.New("42611", "column %q: the default is not one value", f.Name)
		}
		value, err = ingest.Value(ctx, batch, f, limits)
		return err
	})
	return value, err
}

// setType is ALTER COLUMN TYPE. Rows stay where they are if their bytes are of the type.
func (a *alteration) setType(ctx context.Context, c *column, action statement.Action) error {
	if c.retyped {
		return sqlerror.New("0A000", "cannot alter type of column %q twice", c.Name)
	}
	if err := a.typeOfGenerated(c); err != nil {
		return err
	}
	definitionOf := action.Definition
	definitionOf.Name = c.Name
	f, err := a.types.Column(definitionOf)
	if err != nil {
		return err
	}
	for _, one := range []arrow.Field{c.Field, f} {
		if _, of := constraint.DomainOf(one); of {
			return sqlerror.New("0A000", "ALTER COLUMN TYPE from or to a domain is not supported: column %q", c.Name).
				WithHint("Add a column, UPDATE it, and drop the other one.")
		}
	}
	f = comment.Kept(f, c.Field)
	f.Nullable = c.Nullable
	if mark := cast.Identity(c.Field); mark != "" {
		f = cast.WithIdentity(f, mark)
		if err := a.retypeIdentity(ctx, c, f); err != nil {
			return err
		}
	}
	if p, err := placement.Parse(a.table.Placement); err != nil {
		return err
	} else if slices.Contains(p.Columns, c.Name) {
		if err := ingest.CanHash(f); err != nil {
			return err
		}
	}
	for _, k := range a.checks {
		if k.Unique() && slices.Contains(k.Columns, c.Name) && ingest.CanHash(f) != nil {
			return sqlerror.New("0A000", "%s of column %q is not supported: its type is %s",
				k.Words(), c.Name, columntype.Shown(f))
		}
	}
	name, err := columntype.SQL(f)
	if err != nil {
		return err
	}
	if text, ok := c.Metadata.GetValue(cast.DefaultKey); ok {
		if action.Using == "" && !automatic(c.Field, f) {
			return sqlerror.New("42804", "default for column %q cannot be cast automatically to type %s", c.Name,
				action.Definition.Type)
		}
		if f, err = a.types.WithDefault(f, statement.Column{Name: c.Name, Default: text}, name); err != nil {
			return sqlerror.New("42804", "default for column %q cannot be cast automatically to type %s", c.Name,
				action.Definition.Type)
		}
	}
	c.retyped = true
	if action.Using == "" && sameBytes(c.Field, f) {
		c.Field = hugetable.KeepMissing(c.Field, f)
		return nil
	}
	from := duckdb.QuoteIdentifier(c.was)
	switch {
	case action.Using != "":
		from = "(" + dialect.Expression(action.Using) + "\n)"
	case !automatic(c.Field, f):
		return sqlerror.New("42804", "column %q cannot be cast automatically to type %s", c.Name,
			strings.ToLower(action.Definition.Type)).
			WithHint(fmt.Sprintf("You might need to specify \"USING %s::%s\".", dialect.PlainIdentifier(c.Name),
				action.Definition.Type))
	}
	c.Field, c.expression = f, "CAST("+from+" AS "+name+")"
	return nil
}

// sameBytes reports whether what is stored as one type is of another as it is.
func sameBytes(was, is arrow.Field) bool {
	if !arrow.TypeEqual(was.Type, is.Type) || !columntype.Extension(was).Equal(columntype.Extension(is)) {
		return false
	}
	before, _ := columntype.Of(was)
	after, _ := columntype.Of(is)
	if before == after {
		return true
	}
	return !before.Fixed() && (after.Length == 0 || before.Length > 0 && before.Length <= after.Length &&
		!after.Fixed())
}

// family are types whose values PostgreSQL assigns to each other.
func family(f arrow.Field) string {
	if columntype.Extension(f).Len() > 0 {
		return f.Type.String() + fmt.Sprint(columntype.Extension(f))
	}
	switch {
	case arrow.IsInteger(f.Type.ID()), arrow.IsFloating(f.Type.ID()), arrow.IsDecimal(f.Type.ID()):
		return "number"
	}
	switch f.Type.ID() {
	case arrow.STRING:
		return "text"
	case arrow.DATE32, arrow.TIMESTAMP:
		return "date"
	}
	return f.Type.String()
}

// automatic reports whether PostgreSQL casts from one type to the other automatically, without a USING clause.
func automatic(was, is arrow.Field) bool {
	to := family(is)
	return to == "text" || family(was) == to
}
