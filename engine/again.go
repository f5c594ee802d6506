package engine

import (
	"context"
	"errors"
	"io"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/csmsql/csmsql/catalog"
)

// What a statement has read of a node's memory is worth nothing when that node was started anew meanwhile. As long as no row has left, nobody
// has seen anything of it, and the statement runs once more, under a snapshot of what is there now. That is why in a cluster its first batch is
// fetched before anybody asks for it.

// runsMax bounds how often one statement runs.
const runsMax = 3

// read runs the statement, again if a lender began anew meanwhile.
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
		if !errors.Is(err, catalog.ErrLenderRestarted) || runs == runsMax || ctx.Err() != nil || !s.seeAnew() {
			return rows, err
		}
		s.engine.config.Log.Warn("a query runs again", "error", err)
	}
}

// seeAnew lets go of the snapshot of a message that is no transaction; the next statement takes another one. It tells whether that can be.
func (s *Session) seeAnew() bool {
	b := s.block
	if b == nil {
		return true
	}
	if !b.implicit || b.tx != nil || b.duck || len(b.open) > 0 {
		return false
	}
	b.release()
	b.lease = nil
	return true
}

// ahead fetches the first batch, if a node might be started anew until then.
func (r *Rows) ahead(ctx context.Context, e *Engine) error {
	fetch := r.fetch
	if e.node == nil || e.node.Self == nil || fetch == nil || r.inPlace != nil {
		return nil
	}
	first, err := fetch(ctx)
	if err != nil && err != io.EOF {
		return err
	}
	r.fetch = func(ctx context.Context) (arrow.RecordBatch, error) {
		if first == nil && err == nil {
			return fetch(ctx)
		}
		batch := first
		first = nil
		return batch, err
	}
	r.onClose(func() {
		if first != nil {
			first.Release()
			first = nil
		}
	})
	return nil
}
