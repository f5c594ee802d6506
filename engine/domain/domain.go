package domain

import (
	"context"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/engine/definition"
	"github.com/csmsql/csmsql/engine/function"
	"github.com/csmsql/csmsql/engine/namedtype"
	"github.com/csmsql/csmsql/engine/sequence"
	"github.com/csmsql/csmsql/sql/sqlerror"
	"github.com/csmsql/csmsql/sql/statement"
)

// Make makes the domain that a statement says, in the transaction of changes.
func Make(ctx context.Context, head *statement.CreateTable, r *definition.Reader, changes *sequence.Changes) error {
	name, err := r.View.QualifyType(head.Name)
	if err != nil {
		return err
	}
	taken, err := namedtype.Taken(ctx, changes.Tx.Contents(), r.Conn, name)
	if err == nil && taken {
		err = sqlerror.New("42710", "type %q already exists", name.Name)
	}
	if err != nil {
		return err
	}
	column, err := r.Domain(name, head)
	if err != nil {
		return err
	}
	if err := function.Hold(changes.Tx, column); err != nil {
		return err
	}
	_, err = changes.Tx.CreateType(ctx, &catalog.UserType{Name: name, Domain: column})
	return err
}
