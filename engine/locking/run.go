package locking

import (
	"context"
	"errors"
	"io"

	pg "github.com/pganalyze/pg_query_go/v6"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/csmsql/csmsql/catalog/positions"
	"github.com/csmsql/csmsql/engine/retained"
	"github.com/csmsql/csmsql/engine/rewrite"
	"github.com/csmsql/csmsql/engine/rowlock"
	"github.com/csmsql/csmsql/engine/transaction"
	"github.com/csmsql/csmsql/exec/duckdb"
	"github.com/csmsql/csmsql/sql/dialect"
	"github.com/csmsql/csmsql/sql/sqlerror"
)

// Rows are a running query's.
type Rows interface {
	Next(ctx context.Context) (arrow.RecordBatch, error)
	Close() error
}

// Run keeps the rows that the query gives in out and locks them, within a change of the transaction's Write, which
// awaits its error. run runs the query, over what is there in Numbered.
func (p *Plan) Run(ctx context.Context, tx *transaction.Transaction, out *retained.Batches,
	run func(context.Context) (Rows, error)) error {
	for _, t := range p.targets {
		var err error
		if t.numbers.Skip = nil; t.policy == pg.LockWaitPolicy_LockWaitSkip {
			t.numbers.Skip, err = tx.Held(ctx, transaction.Locking{Version: t.numbers.Version, Mode: t.mode})
		}
		if err != nil {
			return err
		}
	}
	for {
		out.Release()
		if err := p.read(ctx, out, run); err != nil {
			return err
		}
		list := make([]transaction.Locking, len(p.targets))
		for i, t := range p.targets {
			list[i] = t.locking()
		}
		err := tx.Lock(ctx, list...)
		var held *rowlock.HeldError
		if !errors.As(err, &held) {
			return err
		}
		again, err := p.leaveOut(ctx, tx, held)
		if !again {
			return err
		}
	}
}

func (t *target) locking() transaction.Locking {
	return transaction.Locking{Version: t.numbers.Version, Rows: t.hits.Rows(), Mode: t.mode}
}

// leaveOut is what comes of rows that others have: the query is to be asked again without some, or there is an error,
// which is the given one if they are to be waited for.
func (p *Plan) leaveOut(ctx context.Context, tx *transaction.Transaction, wait error) (again bool, err error) {
	found := false // their owner may have let go of them
	for _, t := range p.targets {
		held, err := tx.Held(ctx, t.locking())
		if err != nil {
			return false, err
		}
		if len(held) == 0 {
			continue
		}
		found = true
		switch t.policy {
		case pg.LockWaitPolicy_LockWaitError:
			name := t.numbers.Version.Table().Name.Name
			return false, sqlerror.New("55P03", "could not obtain lock on row in relation %q", name)
		case pg.LockWaitPolicy_LockWaitSkip:
			t.skip(held)
			again = true
		}
	}
	if found && !again {
		return false, wait
	}
	return true, nil
}

// skip leaves rows out beside those that are already.
func (t *target) skip(rows map[int]*positions.Set) {
	all := map[int]*positions.Set{}
	for chunk, set := range t.numbers.Skip {
		all[chunk] = set
	}
	for chunk, set := range rows {
		all[chunk] = positions.Union(all[chunk], set)
	}
	t.numbers.Skip = all
}

// read keeps the user's columns of what the query gives, and notes the rows' numbers.
func (p *Plan) read(ctx context.Context, out *retained.Batches, run func(context.Context) (Rows, error)) error {
	for _, t := range p.targets {
		t.hits = rewrite.NewHits(t.numbers.Version, out.Charge)
	}
	rows, err := run(ctx)
	if err != nil {
		return dialect.WithoutPosition(err)
	}
	defer rows.Close()
	for {
		batch, err := rows.Next(ctx)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return dialect.WithoutPosition(err)
		}
		err = p.keep(ctx, batch, out)
		batch.Release()
		if err != nil {
			return err
		}
	}
}

func (p *Plan) keep(ctx context.Context, batch arrow.RecordBatch, out *retained.Batches) error {
	first := int(batch.NumCols()) - len(p.targets)
	for i, t := range p.targets {
		numbers, ok := batch.Column(first + i).(*array.Int64)
		if !ok || numbers.NullN() > 0 {
			return sqlerror.New("XX000", "rows without numbers: %v", batch.Column(first+i).DataType())
		}
		for _, number := range numbers.Int64Values() {
			if _, err := t.hits.Note(ctx, number); err != nil {
				return err
			}
		}
	}
	rows := duckdb.Project(batch, p.visible(batch.Schema()))
	defer rows.Release()
	return out.Keep(rows)
}
