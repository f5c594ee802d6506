package engine

import (
	"context"
	"errors"
	"slices"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/engine/conform"
	"github.com/csmsql/csmsql/engine/member"
	"github.com/csmsql/csmsql/engine/revalidation"
	"github.com/csmsql/csmsql/engine/snapshot"
	"github.com/csmsql/csmsql/sql/dialect"
	"github.com/csmsql/csmsql/sql/lex"
)

// What a statement has read of a node's memory is invalid once that node has restarted. As long as no row has left, the
// statement can run again, under a new snapshot. In a cluster its first batch is therefore fetched before the caller
// asks for it. What its text was written for may have changed before that (package revalidation).

// runRevalidated runs the statement, and has it prepared again first if functions or types are others by now. Errors
// have their positions in the user's text.
func (st *Statement) runRevalidated(ctx context.Context, args []any) (*Rows, error) {
	return revalidation.Run(func() (rows *Rows, err error) {
		if err = st.grounds.CheckFunctions(ctx, st.session.pin); err == nil {
			rows, err = st.run(ctx, args)
		}
		return rows, st.written.Place(err)
	}, func() (same bool, err error) { return st.prepareAgain(ctx) })
}

// means is an error if the types of columns in v are not those that the statement's text was written for.
func (st *Statement) means(v *snapshot.View) error {
	if st.part {
		return nil // it is the whole statement's
	}
	return st.grounds.CheckTypes(v, st.session.relations)
}

// prepareAgain has the statement be what its user's text means by now, if it takes and gives the same as before.
func (st *Statement) prepareAgain(ctx context.Context) (same bool, err error) {
	s, was := st.session, *st
	s.statements[&was] = struct{}{} // its plan makes room for the other one
	err = st.prepareText(ctx, lex.Client.Text(was.written.Original(was.parsed.Text)), dialect.Name(was.postgres))
	if err == nil && slices.Equal(st.params, was.params) && st.schema.Equal(was.schema) {
		was.failed = true
		was.close()
		return true, nil
	}
	if err == nil {
		st.close()
	}
	delete(s.statements, &was)
	*st = was
	s.statements[st] = struct{}{}
	return false, err
}

// runsMax bounds how often one statement runs.
const runsMax = 3

// read runs the statement, and again if a lender has restarted meanwhile.
func (st *Statement) read(ctx context.Context, args []any) (*Rows, error) {
	s := st.session
	for runs := 1; ; runs++ {
		rows, err := st.readOnce(ctx, args)
		if err == nil {
			if err = rows.ahead(ctx, s.engine); err != nil {
				rows.Close()
				rows = nil
			}
		}
		if !errors.Is(err, catalog.ErrLenderRestarted) || runs == runsMax || ctx.Err() != nil || !s.refresh() {
			return rows, err
		}
		s.engine.config.Log.Warn("a query runs again", "error", err)
	}
}

// repeatsMax bounds how often a statement is repeated that has lost a race; each time one of the others has committed.
const repeatsMax = 100

// sole is a statement that writes rows and is alone in its implicit block, with how many it wrote. The client has seen
// only that number of it: if it loses a race for a row it may run again, under a new snapshot.
type sole struct {
	statement *Statement
	change    func(context.Context, *catalog.Transaction, *snapshot.View) error
	rows      *int64
}

// lost reports whether a commit failed because another transaction committed first.
func lost(ctx context.Context, err error) bool {
	return errors.Is(err, catalog.ErrConflict) && ctx.Err() == nil
}

// writeRows is write of a statement that writes rows; change sets how many they are. It is repeated if it has lost a race:
// in an implicit block when that ends, unless it has returned rows.
func (st *Statement) writeRows(ctx context.Context, rows *int64,
	do func(context.Context, *catalog.Transaction, *snapshot.View) error) error {
	s := st.session
	change := func(ctx context.Context, tx *catalog.Transaction, v *snapshot.View) error {
		if err := st.runParts(ctx, v); err != nil {
			return err
		}
		defer func() { v.KeysKept = v.KeysKept && !st.parts.Changes() }()
		return do(ctx, tx, v)
	}
	if s.inside != nil {
		return change(ctx, s.block.Changes, s.inside)
	}
	for repeats := 0; ; repeats++ {
		b := s.block
		err := s.write(ctx, func(tx *catalog.Transaction, v *snapshot.View) error { return change(ctx, tx, v) })
		if b != nil && err == nil && b.implicit && b.executed == 1 && st.returning == nil {
			b.sole = &sole{st, change, rows}
		}
		if b != nil || !lost(ctx, err) || repeats == repeatsMax {
			return err
		}
	}
}

// commit ends the block; an error means that nothing of it happened. A statement that was alone in it is repeated.
func (s *Session) commit(ctx context.Context) error {
	b := s.block
	err := s.commitOnce(ctx)
	if b == nil || b.sole == nil || !lost(ctx, err) {
		return err
	}
	defer s.conn.Hear(ctx)()
	reported := *b.sole.rows
	for repeats := 0; lost(ctx, err) && repeats < repeatsMax; repeats++ {
		failed := err
		s.block = s.newBlock(true)
		err = s.writeInBlock(ctx, func(tx *catalog.Transaction, v *snapshot.View) error { return b.sole.change(ctx, tx, v) })
		if err == nil && *b.sole.rows != reported { // another number than the client has seen
			err = failed
		}
		if err != nil {
			s.rollback()
			s.engine.node.Settle(ctx)
			return member.ExplainFull(err)
		}
		err = s.commitOnce(ctx)
	}
	return err
}

// refresh releases the snapshot of a message outside of a transaction; the next statement takes another one. It reports
// whether it could.
func (s *Session) refresh() bool {
	b := s.block
	if b == nil {
		return true
	}
	if !b.implicit || b.Changes != nil || b.duck || len(b.open) > 0 {
		return false
	}
	b.Forget()
	return true
}

// ahead fetches the first batch, if a lender may restart before the caller does.
func (r *Rows) ahead(ctx context.Context, e *Engine) error {
	fetch := r.fetch
	if e.node == nil || e.node.Self == nil || fetch == nil || r.inPlace != nil {
		return nil
	}
	following, drop, err := conform.Ahead(ctx, fetch)
	if err != nil {
		return err
	}
	r.fetch = following
	r.onClose(drop)
	return nil
}
