package engine

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/engine/alteration"
	"github.com/csmsql/csmsql/engine/definition"
	"github.com/csmsql/csmsql/engine/dependency"
	"github.com/csmsql/csmsql/engine/snapshot"
	"github.com/csmsql/csmsql/engine/temporary"
	"github.com/csmsql/csmsql/exec/duckdb"
	"github.com/csmsql/csmsql/sql/statement"
)

// drop is DROP; what goes with what is named says package dependency.
func (st *Statement) drop(ctx context.Context, head *statement.Drop) (*Rows, error) {
	s := st.session
	own, err := s.temporaryNames(ctx)
	if err != nil {
		return nil, err
	}
	switch {
	case head.Object == statement.Sequence && len(head.Names) == 1:
		if own, err = s.temporarySequences(ctx); err != nil || !own.Means(head.Names[0]) {
			break
		}
		as, parsed := *st, *st.parsed
		as.parsed, parsed.Head = &parsed, temporary.DropOf(head, st.parsed.Text)
		return as.runPrivate(ctx, nil)
	case head.Object != statement.Schema && len(head.Names) == 1 && own.Means(head.Names[0]):
		return st.runPrivate(ctx, nil)
	}
	err = s.write(ctx, func(tx *catalog.Transaction, v *snapshot.View) error {
		d := dependency.New(s.viewTexts(v))
		for _, n := range head.Names {
			o, err := dependency.Named(v, head.Object, n)
			if e, ok := err.(interface{ SQLState() string }); ok && head.IfExists && (e.SQLState() == "42P01" || e.SQLState() == "3F000") {
				s.noticed(fmt.Sprintf("%s %q does not exist, skipping", head.Object, n.String()), "")
				continue
			}
			if err != nil {
				return st.parsed.PointAt(err, n.Name)
			}
			d.Name(o)
		}
		named := len(d.Objects())
		if err := d.Follow(ctx); err != nil {
			return err
		}
		if len(d.Objects()) > named {
			if !head.Cascade {
				return d.Refuse(named)
			}
			s.noticed(d.Cascade(named))
		}
		if err := d.Defaults(s.sequenceChanges(tx, v), head.Cascade); err != nil {
			return err
		}
		references, err := definition.ReferencesTo(v.Contents, d.Tables())
		if err != nil {
			return err
		}
		if len(references) > 0 && !head.Cascade {
			return definition.Referenced(references)
		}
		if err := alteration.Forget(tx, references, s.noticed); err != nil {
			return err
		}
		return s.dropObjects(tx, d.Objects())
	})
	return done("DROP "+strings.ToUpper(string(head.Object)), 0), err
}

// noticed tells the client something.
func (s *Session) noticed(message, detail string) {
	s.notice(Notice{Severity: "NOTICE", State: "00000", Message: message, Detail: detail})
}

// dropObjects takes everything away, what depends first.
func (s *Session) dropObjects(tx *catalog.Transaction, objects []dependency.Object) error {
	for _, o := range slices.Backward(objects) {
		var err error
		switch {
		case o.Name.Schema == snapshot.TemporarySchema:
			err = s.dropTemporaryView(o.Name.Name)
		case o.Kind == statement.Schema:
			err = tx.DropSchema(o.Name.Schema, true) // what is in it is gone by now
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

// dropTemporaryView drops one of the session's own. Preconditions: a block is open; DuckDB's transaction ends as it does.
func (s *Session) dropTemporaryView(name string) error {
	s.yield()
	if err := s.beginDuck(s.block); err != nil {
		return err
	}
	s.changedTemporary()
	return s.conn.Exec("DROP VIEW " + snapshot.TemporarySchema + "." + duckdb.QuoteIdentifier(name))
}
