package upkeep

import (
	"context"
	"fmt"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/sql/statement"
)

// Online is a statement that changes where a table's rows lie, while others read and write them.
type Online struct {
	Words    string // of the clause
	Name     statement.Name
	IfExists bool
	// Do is called for the table that the name means; notice sends the client a notice.
	Do func(ctx context.Context, k *Keeper, name catalog.TableName, notice func(message, detail string)) error
}

type noticeFunc = func(message, detail string)

// OnlineOf is what a statement changes so; nil: it is another one.
func OnlineOf(head any) (*Online, error) {
	switch head := head.(type) {
	case *statement.SetPlacement:
		return &Online{"SET PLACEMENT", head.Name, head.IfExists,
			func(ctx context.Context, k *Keeper, name catalog.TableName, _ noticeFunc) error {
				return k.SetPlacement(ctx, name, head.Placement)
			}}, nil
	case *statement.SetStorage:
		return setStorage(head)
	case *statement.Reload:
		return &Online{"RELOAD", head.Name, head.IfExists, reload}, nil
	}
	return nil, nil
}

// setStorage is ALTER TABLE … SET (placement = …, replicas = …).
func setStorage(head *statement.SetStorage) (*Online, error) {
	placed, replicas, err := Storage(head.Options)
	if err != nil {
		return nil, err
	}
	do := func(ctx context.Context, k *Keeper, name catalog.TableName, _ noticeFunc) error {
		if replicas > 0 { // first: what is moved then is moved once
			if err := k.SetReplicas(ctx, name, replicas); err != nil {
				return err
			}
		}
		if placed != nil {
			return k.SetPlacement(ctx, name, *placed)
		}
		return nil
	}
	return &Online{"SET (…)", head.Name, head.IfExists, do}, nil
}

func reload(ctx context.Context, k *Keeper, name catalog.TableName, notice noticeFunc) error {
	n, err := k.Reload(ctx, name, Unreadable)
	if err == nil && n == 0 {
		notice(fmt.Sprintf("every chunk of table %v can be read, nothing was reloaded", name), "")
	}
	return err
}
