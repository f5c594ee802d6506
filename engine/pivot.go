package engine

import (
	"context"

	"github.com/csmsql/csmsql/engine/snapshot"
	"github.com/csmsql/csmsql/sql/dialect"
	"github.com/csmsql/csmsql/sql/edit"
	"github.com/csmsql/csmsql/sql/lex"
	"github.com/csmsql/csmsql/sql/sqlerror"
)

// PIVOT t ON x USING … has a column for every value of x. DuckDB makes two statements of it, the first of which finds the values; a statement
// that is planned has to be one. So the values are asked for in the snapshot of the statement, and written into its text: ON x IN ('a', 'b').
// When the snapshot is another one, the statement is planned anew, and the values with it.

// planPivots plans a text whose values are written, under the user's.
func (s *Session) planPivots(ctx context.Context, text, expanded string, made edit.List, v *snapshot.View) (*query, error) {
	q, err := s.planText(ctx, s.read(dialect.Source{Read: lex.Client.Text(expanded)}, v), v)
	if err != nil {
		return nil, dialect.InOriginal(err, made, expanded, text)
	}
	q.text, q.Edits = text, made.Then(q.Edits)
	return q, nil
}

// pivotValues runs the query for an item's values and gives them as literals.
func (s *Session) pivotValues(ctx context.Context, query string, v *snapshot.View) ([]string, error) {
	v = s.seeing(v.Contents, v.Lease.Hold(), v.Own) // with readings of its own: they are confirmed with the last value
	defer v.Release()
	q, err := s.planNamed(ctx, dialect.SourceOf(query), v)
	if err != nil {
		return nil, dialect.WithoutPosition(err)
	}
	defer q.close()
	if len(q.Params) > 0 {
		return nil, sqlerror.New("0A000", "PIVOT without a list of values cannot have parameters").WithHint(dialect.PivotAdvice)
	}
	rows, err := q.execute(ctx, v, nil)
	if err != nil {
		return nil, dialect.WithoutPosition(err)
	}
	reader := newRecordReader(rows)
	defer reader.Release()
	return dialect.PivotValues(reader)
}
