package engine

import (
	"context"
	"sync/atomic"

	"github.com/csmsql/csmsql/sql/statement"
)

// Outcome decides once what becomes of a statement that one side runs and another one gives up: it fails, whatever it does after, or it
// commits, and then it was not given up. The zero value is undecided.
type Outcome struct{ decided atomic.Int32 }

const (
	outcomeOpen int32 = iota
	outcomeCommits
	outcomeFails
)

type outcomeKey struct{}

// WithOutcome is for Statement.Execute: the statement asks o before it commits.
func WithOutcome(ctx context.Context, o *Outcome) context.Context {
	return context.WithValue(ctx, outcomeKey{}, o)
}

// Fail tells whether nothing of the statement will stay. False: it is being committed.
func (o *Outcome) Fail() bool {
	return o.decided.CompareAndSwap(outcomeOpen, outcomeFails) || o.decided.Load() == outcomeFails
}

// commits decides that the statement commits, unless it was given up before.
func commits(ctx context.Context) bool {
	o, _ := ctx.Value(outcomeKey{}).(*Outcome)
	return o == nil || o.decided.CompareAndSwap(outcomeOpen, outcomeCommits) || o.decided.Load() == outcomeCommits
}

// MayBeGivenUp tells whether the statement leaves nothing behind when its Outcome is to fail, outside of a transaction block, and inside of one
// when that fails: it reads, writes tables, or makes a cursor or a prepared statement. Others change the session, or end a block.
func (st *Statement) MayBeGivenUp() bool {
	switch st.parsed.Head.(type) {
	case *statement.Select, *statement.Explain:
		return !st.Sets()
	case *statement.Insert, *statement.Update, *statement.Delete, *statement.Copy, *statement.CreateTableAs, *statement.CreateView, *statement.Fetch,
		*statement.CreateTable, *statement.AddConstraint, *statement.Declare, *statement.Prepare:
		return true
	case *statement.Execute:
		return st.inner != nil && st.inner.MayBeGivenUp()
	}
	return false
}

// Prompt tells whether an execution of the statement asks DuckDB for nothing, unless it is to be planned anew: the Arrow kernels look between
// chunks whether their context has ended.
func (st *Statement) Prompt() bool {
	_, reads := st.parsed.Head.(*statement.Select)
	return reads && st.plan != nil && st.plan.compute != nil
}
