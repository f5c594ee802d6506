package former

import (
	"context"
	"fmt"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/engine/snapshot"
	"github.com/csmsql/csmsql/sql/sqlerror"
	"github.com/csmsql/csmsql/sql/statement"
)

// Change is what a statement does in a transaction.
type Change func(ctx context.Context, tx *catalog.Transaction, v *snapshot.View) error

// Command is what a statement does about former versions; nil: nothing. notice sends the client a notice.
func Command(head any, notice func(message, detail string)) Change {
	s, ok := head.(*statement.SetStorage)
	if !ok {
		return nil
	}
	ours, others := 0, 0
	for _, o := range s.Options {
		if Is(o.Name) {
			ours++
		} else {
			others++
		}
	}
	switch {
	case ours == 0 && len(s.Reset) == 0:
		return nil
	case ours > 0 && others > 0:
		return refuse(sqlerror.New("0A000", "ALTER TABLE … SET (…) of %s and of where rows lie at once", retention).
			WithHint("Use two statements."))
	}
	for _, name := range s.Reset {
		if !Is(name) {
			return refuse(sqlerror.New("22023", "parameter %q cannot be reset", name).
				WithHint("There are retention and retained_versions; " +
					"SET (placement = 'local', replicas = 1) is how tables are without them."))
		}
	}
	return change(s.Name, s.IfExists, notice,
		func(_ context.Context, tx *catalog.Transaction, t *catalog.TableVersion) error {
			r, err := set(t.Table().Retention, s.Options)
			if err != nil {
				return err
			}
			return tx.SetRetention(t.Table().Name, reset(r, s.Reset))
		})
}

func refuse(err error) Change {
	return func(context.Context, *catalog.Transaction, *snapshot.View) error { return err }
}

// change is one of a table that a statement names.
func change(name statement.Name, ifExists bool, notice func(message, detail string),
	do func(context.Context, *catalog.Transaction, *catalog.TableVersion) error) Change {
	return func(ctx context.Context, tx *catalog.Transaction, v *snapshot.View) error {
		t, err := v.Stored(name)
		if e, ok := err.(*sqlerror.Error); ok && ifExists && e.State == "42P01" {
			notice(fmt.Sprintf("relation %q does not exist, skipping", name.String()), "")
			return nil
		}
		if err != nil {
			return err
		}
		return do(ctx, tx, t)
	}
}
