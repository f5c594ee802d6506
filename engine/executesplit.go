package engine

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/engine/conform"
	"github.com/csmsql/csmsql/engine/lease"
	"github.com/csmsql/csmsql/engine/snapshot"
	"github.com/csmsql/csmsql/engine/split"
	"github.com/csmsql/csmsql/exec/plan"
	"github.com/csmsql/csmsql/sql/dialect"
	"github.com/csmsql/csmsql/sql/optimization"
	"github.com/csmsql/csmsql/sql/statement"
)

// distribute plans a statement for several nodes; nil: it runs whole here, for a reason.
func (s *Session) distribute(sql *plan.Statement, v *snapshot.View) (*split.Plan, string) {
	e := s.engine
	values := s.settings.Given
	switch {
	case e.node == nil || e.node.Self == nil || s.fragment:
		return nil, ""
	case s.block != nil && s.block.Changes != nil:
		return nil, "the transaction has written"
	case s.settings.Armed():
		return nil, "it calls set_config()"
	case s.settings.Distribute == split.Off:
		return nil, "csm.distribute is off"
	case values["scalar_subquery_error_on_multiple_rows"] == "off": // their order says which row it is
		return nil, "scalar_subquery_error_on_multiple_rows is off"
	case values["integer_division"] == "on" && strings.Contains(sql.Text, "/"): // to the planner it is a double
		return nil, "integer_division is on"
	case s.without().Has(optimization.Distribution):
		return nil, "csm.disable has distribution"
	}
	return e.split.Plan(sql, v.Find, split.Wishes{
		Split: s.settings.Distribute, Shuffle: s.settings.Shuffle, Threads: e.threads(), Without: s.without(),
		CutOffs: e.config.CutOffs, Guess: e.config.Guesses,
	})
}

// executeDistributed runs the stages and then, over their results, the final text; or the statement whole, if what failed before there was
// a row is that it was split.
func (q *query) executeDistributed(ctx context.Context, v *snapshot.View, args []any) (*Rows, error) {
	q.session.yield()
	if err := q.Duck.Bind(args); err != nil { // as many as there are, and of types that can be
		return nil, err
	}
	inner, err := q.runSplit(ctx, v, args)
	if err != nil {
		return q.insteadWhole(ctx, v, args, err)
	}
	rows := &Rows{schema: q.schema, volume: inner.volume, split: inner.split}
	outer := v.Lease.Hold()
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
func (q *query) insteadWhole(ctx context.Context, v *snapshot.View, args []any, failed error) (*Rows, error) {
	if ctx.Err() != nil || !split.Only(failed) {
		return nil, failed
	}
	s := q.session
	s.engine.config.Log.Warn("a statement that was split is run whole", "error", failed)
	whole, err := s.planDuck(ctx, dialect.SourceOf(q.text), v)
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
func (q *query) runSplit(ctx context.Context, v *snapshot.View, args []any) (*Rows, error) {
	s := q.session
	settings, err := s.fragmentSettings()
	if err != nil {
		return nil, err
	}
	r, err := s.engine.split.Run(ctx, q.split, split.Execution{
		Snapshot: v.Lease.Snapshot, Contents: v.Contents, SearchPath: s.settings.SearchPath, Settings: settings, Arguments: args,
	})
	if err != nil {
		return nil, err
	}
	rows, err := q.runFinal(ctx, v, r)
	if err != nil {
		r.Release()
		return nil, dialect.WithoutPosition(err)
	}
	rows.split = r
	rows.closers = append([]func(){r.LetGo}, rows.closers...) // the last to be called
	return rows, nil
}

// runFinal runs the text over the results.
func (q *query) runFinal(ctx context.Context, v *snapshot.View, r *split.Run) (*Rows, error) {
	s := q.session
	view := s.seeing(v.Contents.With(r.Tables()...), lease.New(v.Lease.Snapshot, r.Check), v.Own)
	view.Results = map[*catalog.TableVersion]bool{}
	for _, t := range r.Tables() {
		view.Results[t] = true
	}
	final, err := q.planFinal(ctx, view)
	if err != nil {
		return nil, err
	}
	if !conform.SameTypes(final.schema, q.schema) {
		final.close()
		return nil, fmt.Errorf("%w: %v, it has %v", split.ErrTypes, final.schema, q.schema)
	}
	rows, err := final.execute(ctx, view, split.ArgumentsOf(&q.split.Final, r.Arguments))
	if err != nil {
		final.close()
		return nil, err
	}
	rows.closers = append([]func(){func() { q.keepFinal(final) }}, rows.closers...)
	return rows, nil
}

// planFinal takes the plan of the former execution, if it suits, or makes one.
func (q *query) planFinal(ctx context.Context, view *snapshot.View) (*query, error) {
	if final := q.final; final != nil {
		q.final = nil
		if final.follow(ctx, view) {
			return final, nil
		}
		final.close()
	}
	return q.session.planDuck(ctx, dialect.SourceOf(q.split.Final.SQL), view)
}

// keepFinal is for when the rows are closed, perhaps after the query.
func (q *query) keepFinal(final *query) {
	if q.Duck == nil || q.final != nil || !final.lasts || q.session.replansAlways() {
		final.close()
		return
	}
	q.final = final
}

// explainSplit is EXPLAIN of a statement that several nodes run.
func (q *query) explainSplit(ctx context.Context, v *snapshot.View, head *statement.Explain, lines []string, args []any) (*Rows, error) {
	describe := func() (string, error) { return q.session.engine.split.Foresee(ctx, q.split, args, q.Without) }
	if head.Analyze {
		describe = func() (string, error) { return q.analyzeSplit(ctx, v, args) }
	}
	text, err := describe()
	if err != nil {
		return nil, err
	}
	lines = append(lines, strings.Split(strings.TrimRight(text, "\n"), "\n")...)
	return textRows("QUERY PLAN", lines, "EXPLAIN"), nil
}

// analyzeSplit runs the statement, drops its rows, and returns what was measured.
func (q *query) analyzeSplit(ctx context.Context, v *snapshot.View, args []any) (string, error) {
	started := time.Now()
	rows, err := q.execute(ctx, v, args)
	if err != nil {
		return "", err
	}
	done, err := rows.drain(ctx)
	if err != nil {
		return "", err
	}
	took := time.Since(started)
	if rows.split == nil {
		return split.DescribeWhole(done.RowsAffected, took), nil
	}
	return rows.split.Describe(done.RowsAffected, took, rows.volume), nil
}
