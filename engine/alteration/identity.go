package alteration

import (
	"context"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/engine/cast"
	"github.com/csmsql/csmsql/engine/definition"
	"github.com/csmsql/csmsql/engine/sequence"
	"github.com/csmsql/csmsql/sql/sqlerror"
	"github.com/csmsql/csmsql/sql/statement"
)

// identity adds, changes or takes away what makes a column an identity column.
func (a *alteration) identity(ctx context.Context, c *column, action statement.Action) error {
	is := cast.Identity(c.Field) != ""
	wrong := func(what string) error {
		return sqlerror.New("55000", "column %q of relation %q %s", c.Name, a.table.Name.Name, what)
	}
	switch action.Kind {
	case statement.AddIdentity:
		_, has := c.Metadata.GetValue(cast.DefaultKey)
		switch {
		case is:
			return wrong("is already an identity column")
		case has:
			return wrong("already has a default value")
		case c.Nullable:
			return wrong("must be declared NOT NULL before identity can be added")
		}
		return a.addIdentity(ctx, c, action)
	case statement.DropIdentity:
		if !is && action.Exists {
			a.Notice(fmt.Sprintf("column %q of relation %q is not an identity column, skipping", c.Name,
				a.table.Name.Name), "")
			return nil
		}
		if !is {
			return wrong("is not an identity column")
		}
		c.Field = definition.WithoutDefault(cast.WithIdentity(c.Field, ""))
		return a.dropSequences(c.was, nil)
	}
	if !is {
		return wrong("is not an identity column")
	}
	if action.SetsGenerated {
		c.Field = cast.WithIdentity(c.Field, markOf(action.Identity))
	}
	if !action.Identity.Options.Given() {
		return nil
	}
	return a.Sequences.AlterOwned(ctx, a.table.ID, c.was, &action.Identity.Options)
}

func markOf(i *statement.Identity) string {
	if i.Always {
		return cast.IdentityAlways
	}
	return cast.IdentityByDefault
}

func (a *alteration) addIdentity(ctx context.Context, c *column, action statement.Action) error {
	kind := map[arrow.Type]string{arrow.INT16: "smallint", arrow.INT32: "integer", arrow.INT64: "bigint"}[c.Type.ID()]
	if kind == "" {
		kind = c.Type.String()
	}
	defined, made, err := a.Sequences.Columns(ctx, a.table.Name, []statement.Column{{
		Name: c.Name, Type: kind, Identity: action.Identity, At: action.At,
	}})
	if err != nil {
		return err
	}
	a.made = append(a.made, made)
	if c.Field, err = a.withDefault(c.Field, defined[0].Default); err != nil {
		return err
	}
	c.Field = cast.WithIdentity(c.Field, markOf(action.Identity))
	return nil
}

// retypeIdentity gives the sequence of an identity column the column's new type.
func (a *alteration) retypeIdentity(ctx context.Context, c *column, f arrow.Field) error {
	kind := map[arrow.Type]string{arrow.INT16: "smallint", arrow.INT32: "integer", arrow.INT64: "bigint"}[f.Type.ID()]
	if kind == "" {
		return sqlerror.New("22023", "identity column type must be smallint, integer, or bigint")
	}
	return a.Sequences.AlterOwned(ctx, a.table.ID, c.was, &statement.SequenceOptions{Type: kind})
}

// notOfIdentity is the error of what an identity column cannot have.
func (a *alteration) notOfIdentity(c *column, kind statement.ActionKind) error {
	e := sqlerror.New("42601", "column %q of relation %q is an identity column", c.Name, a.table.Name.Name)
	if kind == statement.DropDefault {
		return e.WithHint("Use ALTER TABLE ... ALTER COLUMN ... DROP IDENTITY instead.")
	}
	return e
}

// sequences has those of the table go with its columns: made, renamed, dropped. The transaction has altered the table.
func (a *alteration) sequences() error {
	for _, made := range a.made {
		if err := made.Own(a.table.Name); err != nil {
			return err
		}
	}
	if a.renamed[0] != "" {
		if err := a.Sequences.RenameColumn(a.table.ID, a.renamed[0], a.renamed[1]); err != nil {
			return err
		}
	}
	for _, name := range a.dropped {
		if err := a.dropSequences(name, func(catalog.TableName) bool { return false }); err != nil {
			return err
		}
	}
	return nil
}

// dropSequences drops those of a column, unless another table's default needs one; but: which tables do not count, nil:
// this one.
func (a *alteration) dropSequences(column string, but func(catalog.TableName) bool) error {
	if but == nil {
		but = func(name catalog.TableName) bool { return name == a.table.Name }
	}
	for _, view := range sequence.OwnedBy(a.tx.Contents(), a.table.ID, column) {
		uses := a.Sequences.Used(view.ID, but, func(f arrow.Field) string {
			text, _ := f.Metadata.GetValue(cast.DefaultKey)
			return text
		})
		if len(uses) > 0 {
			return uses[0].Refuse(view)
		}
		if err := a.tx.DropView(view.Name); err != nil {
			return err
		}
	}
	return nil
}
