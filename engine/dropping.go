package engine

import (
	"context"
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
	switch {
	case err != nil:
		return nil, err
	case (head.Object == statement.Sequence || head.Object == statement.Type) && len(head.Names) == 1:
		if own, err = s.temporaryUnlisted(ctx, head.Object); err != nil || !own.Means(head.Names[0]) {
			break
		}
		as, parsed := *st, *st.parsed
		as.parsed, parsed.Head = &parsed, temporary.DropOf(head, st.parsed.Text)
		return as.runPrivate(ctx, nil)
	case head.Object.MayBeOwn() && len(head.Names) == 1 && own.Means(head.Names[0]):
		return st.runPrivate(ctx, nil)
	}
	err = s.write(ctx, func(tx *catalog.Transaction, v *snapshot.View) error {
		return dependency.Command{
			Head: head, Views: s.viewTexts(v), Sequences: s.sequenceChanges(tx, v), Notice: s.noticed, Point: st.parsed.PointAt,
			Forget:        func(r []definition.Reference) error { return alteration.Forget(tx, r, s.noticed) },
			TemporaryView: s.dropTemporaryView,
		}.Run(ctx, tx)
	})
	return done("DROP "+strings.ToUpper(string(head.Object)), 0), err
}

// noticed tells the client something.
func (s *Session) noticed(message, detail string) {
	s.notice(Notice{Severity: "NOTICE", State: "00000", Message: message, Detail: detail})
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
