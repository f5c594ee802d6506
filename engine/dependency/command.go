package dependency

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/engine/definition"
	"github.com/csmsql/csmsql/engine/function"
	"github.com/csmsql/csmsql/engine/sequence"
	"github.com/csmsql/csmsql/engine/snapshot"
	"github.com/csmsql/csmsql/engine/viewtext"
	"github.com/csmsql/csmsql/sql/statement"
)

// Command is a DROP in a transaction.
type Command struct {
	Head      *statement.Drop
	Views     *viewtext.Writer
	Sequences *sequence.Changes
	// Notice sends the client a notice.
	Notice func(message, detail string)
	// Point gives an error about a name its place.
	Point func(err error, name string) error
	// Forget drops foreign keys, TemporaryView a view that DuckDB has.
	Forget        func(references []definition.Reference) error
	TemporaryView func(name string) error
}

// Run drops what is named and what goes with it, or nothing (DE1).
func (c Command) Run(ctx context.Context, tx *catalog.Transaction) error {
	d, v := New(c.Views), c.Views.View
	for i, n := range c.Head.Names {
		o, err := c.named(v, i)
		if c.Head.IfExists && isMissing(err) {
			c.Notice(fmt.Sprintf("%s %q does not exist, skipping", c.Head.Object, n.String()), "")
			continue
		}
		if err != nil {
			return c.Point(err, n.Name)
		}
		d.Name(o)
	}
	named := len(d.Objects())
	if err := cmp.Or(d.Follow(ctx), d.types(named)); err != nil {
		return err
	}
	refused := len(d.Objects()) > named && !c.Head.Cascade
	if err := d.expressions(tx, named, c.Head.Cascade, c.Notice); err != nil {
		return err
	}
	if refused {
		return d.Refuse(named)
	}
	if len(d.Objects()) > named {
		c.Notice(d.Cascade(named))
	}
	if err := d.Defaults(c.Sequences, c.Head.Cascade); err != nil {
		return err
	}
	references, err := definition.ReferencesTo(v.Contents, d.Tables())
	if err != nil {
		return err
	}
	if len(references) > 0 && !c.Head.Cascade {
		return definition.Referenced(references)
	}
	if err := c.Forget(references); err != nil {
		return err
	}
	return Apply(tx, d.Objects(), c.TemporaryView)
}

// named is what a name of the statement means.
func (c Command) named(v *snapshot.View, i int) (Object, error) {
	if c.Head.Signatures == nil {
		return Named(v, c.Head.Object, c.Head.Names[i])
	}
	t, err := function.Named(v, c.Head.Object, c.Head.Names[i], c.Head.Signatures[i])
	if err != nil {
		return Object{}, err
	}
	return Object{statement.Function, t.Name}, nil
}

// Apply takes everything away, what depends first.
func Apply(tx *catalog.Transaction, objects []Object, temporaryView func(name string) error) error {
	for _, o := range slices.Backward(objects) {
		var err error
		switch {
		case o.Name.Schema == snapshot.TemporarySchema:
			err = temporaryView(o.Name.Name)
		case o.Kind == statement.Schema:
			err = tx.DropSchema(o.Name.Schema, true) // what is in it is gone by now
		case o.Kind == statement.Type, o.Kind == statement.Function:
			err = tx.DropType(o.Name)
		case o.Kind == statement.View, o.Kind == statement.Sequence:
			err = tx.DropView(o.Name)
		default:
			err = tx.DropTable(o.Name)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
