package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/cluster/noderpc"
	"github.com/csmsql/csmsql/engine/lease"
	"github.com/csmsql/csmsql/exec/plan/distribute"
	"github.com/csmsql/csmsql/internal/faults"
	"github.com/csmsql/csmsql/sql/dialect"
)

// executeDistributed runs the stages and then, over their results, the final text; or the statement whole, if what failed before there was
// a row is that it was split.
func (q *query) executeDistributed(ctx context.Context, v *visible, args []any) (*Rows, error) {
	q.session.yield()
	if err := q.duck.Bind(args); err != nil { // as many as there are, and of types that can be
		return nil, err
	}
	inner, err := q.runSplit(ctx, v, args)
	if err != nil {
		return q.insteadWhole(ctx, v, args, err)
	}
	rows := &Rows{schema: q.schema, volume: inner.volume, split: inner.split}
	outer := v.lease.Hold()
	rows.onClose(outer.Release)
	rows.onClose(func() { inner.Close() })
	begun := false
	rows.fetch = func(ctx context.Context) (arrow.RecordBatch, error) {
		batch, err := inner.Next(ctx)
		if !begun && err != nil && !isEnd(err) {
			inner.Close()
			whole, failed := q.insteadWhole(ctx, v, args, err)
			if failed != nil {
				return nil, failed
			}
			inner, rows.volume, rows.split = whole, whole.volume, nil
			batch, err = inner.Next(ctx)
		}
		begun = true
		return batch, err
	}
	return rows, nil
}

// insteadWhole runs a statement whole whose parts have failed, if that is only due to the parts.
func (q *query) insteadWhole(ctx context.Context, v *visible, args []any, failed error) (*Rows, error) {
	if ctx.Err() != nil || !onlySplit(failed) {
		return nil, failed
	}
	s := q.session
	s.engine.config.Log.Warn("a statement that was split is run whole", "error", failed)
	whole, err := s.planDuck(ctx, q.text, dialect.TreeOf(q.text), v)
	if err != nil {
		return nil, err
	}
	rows, err := whole.execute(ctx, v, args)
	if err != nil {
		whole.close()
		return nil, err
	}
	rows.schema = q.schema // with the names that clients know
	rows.closers = append([]func(){whole.close}, rows.closers...)
	return rows, nil
}

// runSplit gives the rows of the final text; closing them lets the results go that they are made of.
func (q *query) runSplit(ctx context.Context, v *visible, args []any) (*Rows, error) {
	s := q.session
	r := &run{session: s, plan: q.split, view: v, args: args}
	for i := range r.plan.Stages {
		err := r.stage(ctx, &r.plan.Stages[i])
		s.engine.config.Fault.At(faults.StageRan)
		if err != nil {
			if over := r.check(); over != nil { // then a part may have read anything
				err = over
			}
			r.release()
			return nil, err
		}
	}
	rows, err := q.runFinal(ctx, r)
	if err != nil {
		r.release()
		return nil, dialect.WithoutPosition(err)
	}
	rows.split = r
	rows.closers = append([]func(){r.letGo}, rows.closers...) // the last to be called
	return rows, nil
}

// runFinal runs the text over the results.
func (q *query) runFinal(ctx context.Context, r *run) (*Rows, error) {
	s := q.session
	view := s.seeing(r.view.contents.With(r.tables...), lease.New(r.view.lease.Snapshot, r.check), r.view.own)
	view.results = map[*catalog.TableVersion]bool{}
	for _, t := range r.tables {
		view.results[t] = true
	}
	final, err := q.planFinal(ctx, r, view)
	if err != nil {
		return nil, err
	}
	if !sameTypes(final.schema, q.schema) {
		final.close()
		return nil, fmt.Errorf("%w: %v, it has %v", errOtherTypes, final.schema, q.schema)
	}
	rows, err := final.execute(ctx, view, argumentsOf(&r.plan.Final, r.args))
	if err != nil {
		final.close()
		return nil, err
	}
	rows.closers = append([]func(){func() { q.keepFinal(final) }}, rows.closers...)
	return rows, nil
}

// planFinal takes the plan of the former execution, if it suits, or makes one.
func (q *query) planFinal(ctx context.Context, r *run, view *visible) (*query, error) {
	if final := q.final; final != nil {
		q.final = nil
		if final.follow(ctx, view) {
			return final, nil
		}
		final.close()
	}
	return q.session.planDuck(ctx, r.plan.Final.SQL, dialect.TreeOf(r.plan.Final.SQL), view)
}

// keepFinal is for when the rows are closed, perhaps after the query.
func (q *query) keepFinal(final *query) {
	if q.duck == nil || q.final != nil || !final.lasts || q.session.plansAnew() {
		final.close()
		return
	}
	q.final = final
}

var errOtherTypes = errors.New("engine: the parts of the statement give columns of other types")

// onlySplit tells that a statement failed because it was split, and may be run whole: its results had no room in lent memory or were lost
// with the node that made them, or are more than can be told, or are of other types than was thought (D3).
func onlySplit(err error) bool {
	var state interface{ SQLState() string }
	return unreachable(err) || errors.Is(err, noderpc.ErrFragmentOver) || errors.Is(err, errManyChunks) || errors.Is(err, errOtherTypes) ||
		errors.As(err, &state) && slices.Contains([]string{"53200", catalog.ErrLenderGone.SQLState()}, state.SQLState())
}

// argumentsOf are the values of a text's own parameters.
func argumentsOf(t *distribute.Text, args []any) []any {
	list := make([]any, len(t.Parameters))
	for i, n := range t.Parameters {
		if n <= len(args) {
			list[i] = args[n-1]
		}
	}
	return list
}
