package engine

import (
	"context"
	"fmt"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/engine/cast"
	"github.com/csmsql/csmsql/engine/ingest"
	"github.com/csmsql/csmsql/engine/lineage"
	"github.com/csmsql/csmsql/engine/lookup"
	"github.com/csmsql/csmsql/engine/retained"
	"github.com/csmsql/csmsql/engine/rewrite"
	"github.com/csmsql/csmsql/engine/snapshot"
	"github.com/csmsql/csmsql/engine/upkeep"
	"github.com/csmsql/csmsql/internal/faults"
	"github.com/csmsql/csmsql/sql/dialect"
	"github.com/csmsql/csmsql/sql/sqlerror"
	"github.com/csmsql/csmsql/sql/statement"
)

func (st *Statement) prepareInsert(ctx context.Context, head *statement.Insert) error {
	s := st.session
	v, err := s.see(ctx)
	if err != nil {
		return err
	}
	defer v.Release()
	version, err := v.Target(head.Name)
	if err == snapshot.ErrTemporary {
		return st.preparePrivate(ctx, &statement.Private{Verb: "insert"})
	}
	if err != nil {
		return st.pointAt(err, head.Name.Name)
	}
	src, err := st.planInsert(ctx, head, version, v)
	if err != nil {
		return err
	}
	planned := &insertion{src, version.Table().Columns}
	st.run = func(ctx context.Context, args []any) (*Rows, error) { return st.insert(ctx, head, planned, args) }
	return nil
}

// insertion is an INSERT that was planned for a table of these columns.
type insertion struct {
	cast.Source
	columns *arrow.Schema
}

// planInsert plans the query of an INSERT, and what it returns, for the columns that the table has.
func (st *Statement) planInsert(ctx context.Context, head *statement.Insert, version *catalog.TableVersion,
	v *snapshot.View) (cast.Source, error) {
	src, err := st.insertSource(ctx, head, version.Table().Columns, v)
	if err != nil {
		return cast.Source{}, err
	}
	if r := rewrite.ReturningOf(head); r != nil {
		if err := st.describeReturning(ctx, r, version, v); err != nil {
			return cast.Source{}, err
		}
	}
	plan, err := st.planSource(ctx, src.Text, v)
	if err != nil {
		return cast.Source{}, st.parsed.PreferSyntax(src.Relocate(err, st.parsed.Text))
	}
	if st.plan != nil {
		st.plan.close()
	}
	st.setPlan(plan)
	return src, nil
}

// planSource plans the query that a writing statement takes its rows from. It stands for as long as what it reads itself is
// as it was: the table that is written is not that. Rows that are returned must be DuckDB's.
func (st *Statement) planSource(ctx context.Context, text string, v *snapshot.View) (*query, error) {
	all, own := v.Reads, &lookup.Names{}
	v.Reads = own
	defer func() {
		v.Reads = all
		all.Add(own)
	}()
	plan := st.session.planQuery
	if st.returning != nil {
		plan = st.session.planDuck
	}
	q, err := plan(ctx, st.source(text), v)
	if err == nil {
		q.Names = q.meanings(v)
	}
	return q, err
}

// insertSource finds out what the query gives and wraps it.
func (st *Statement) insertSource(ctx context.Context, head *statement.Insert, schema *arrow.Schema, v *snapshot.View) (cast.Source, error) {
	if head.Query == "" { // DEFAULT VALUES
		return cast.Query("SELECT 1 AS csm_one", schema, []string{""})
	}
	if !head.ByName {
		if src, is, err := cast.Values(head, schema); is {
			return src, err
		}
	}
	rows, shown := dialect.ReadRows(dialect.TreeOf(head.Query))
	given := make([]string, rows.Width)
	if !shown || head.ByName {
		var err error
		if given, err = st.givenColumns(ctx, head.Query, v); err != nil {
			return cast.Source{}, err
		}
	}
	columns, err := cast.InsertColumns(head, schema, given)
	if err != nil {
		return cast.Source{}, err
	}
	query, moved, err := cast.TypedRows(head, schema, columns, rows)
	if err != nil {
		return cast.Source{}, err
	}
	src, err := cast.Query(query, schema, columns)
	src.Inner, src.Edits = head.Query, moved
	return src, err
}

// givenColumns plans a query to see what it returns.
func (st *Statement) givenColumns(ctx context.Context, query string, v *snapshot.View) ([]string, error) {
	plan, err := st.session.planQuery(ctx, dialect.SourceOf(query), v)
	if err != nil {
		return nil, st.parsed.PreferSyntax(cast.Verbatim(query).Relocate(err, st.parsed.Text))
	}
	defer plan.close()
	names := make([]string, plan.schema.NumFields())
	for i, f := range plan.schema.Fields() {
		names[i] = f.Name
	}
	return names, nil
}

// pointAt gives an error the position where name stands in the statement.
func (st *Statement) pointAt(err error, name string) error {
	e, ok := err.(*Error)
	if !ok || e.At != 0 {
		return err
	}
	if i := strings.Index(strings.ToLower(st.parsed.Text), strings.ToLower(name)); i >= 0 {
		moved := *e
		moved.At = len([]rune(st.parsed.Text[:i])) + 1
		return &moved
	}
	return err
}

func (st *Statement) insert(ctx context.Context, head *statement.Insert, planned *insertion, args []any) (*Rows, error) {
	s := st.session
	var count int64
	out := s.keeper()
	err := s.write(ctx, func(tx *catalog.Transaction, v *snapshot.View) error {
		version, err := v.Target(head.Name)
		if err != nil {
			return err
		}
		if err := st.replanInsert(ctx, head, planned, version, v); err != nil {
			return err
		}
		rows, err := st.plan.execute(ctx, v, args)
		if err != nil {
			return planned.Relocate(err, st.parsed.Text)
		}
		defer rows.Close()
		if st.returning != nil {
			count, out, err = st.insertReturning(ctx, tx, v, version, rows)
			return err
		}
		count, err = s.engine.store(ctx, tx, version.Table().Name, s.settings.Zone(), rows.nextOwned, nil, nil)
		return err
	})
	if err != nil {
		out.Release()
		return nil, err
	}
	tag := fmt.Sprintf("INSERT 0 %d", count)
	if st.returning != nil {
		return keptRows(out, st.schema, tag, count), nil
	}
	return done(tag, count), nil
}

func (st *Statement) insertReturning(ctx context.Context, tx *catalog.Transaction, v *snapshot.View, version *catalog.TableVersion, rows *Rows) (int64, *retained.Batches, error) {
	written := st.session.keeper()
	defer written.Release()
	table := version.Table()
	count, err := st.session.engine.store(ctx, tx, table.Name, st.session.settings.Zone(), written.Keeping(ingest.Fitting(rows.Next, upkeep.LimitsOf(table.Columns))), nil, nil)
	if err != nil {
		return 0, st.session.keeper(), err
	}
	rows.Close() // the connection is needed
	out, err := st.returned(ctx, v, written, table.Columns)
	if err != nil {
		return 0, st.session.keeper(), err
	}
	return count, out, nil
}

// replanInsert makes the plan anew if it does not stand for v, or for the columns that the table has by now: what the
// query gives was cast to those that it had.
func (st *Statement) replanInsert(ctx context.Context, head *statement.Insert, planned *insertion,
	version *catalog.TableVersion, v *snapshot.View) error {
	columns, returned := version.Table().Columns, st.schema
	if planned.columns.Equal(columns) {
		return st.replanFor(ctx, v)
	}
	src, err := st.planInsert(ctx, head, version, v)
	if err != nil {
		return err
	}
	*planned = insertion{src, columns}
	if returned != nil && !sameTypes(returned, st.schema) {
		st.schema, planned.columns = returned, arrow.NewSchema(nil, nil) // planned again the next time
		return planOutdated()
	}
	return nil
}

// replanFor makes the plan anew if it does not stand for v.
func (st *Statement) replanFor(ctx context.Context, v *snapshot.View) error {
	if st.plan.fresh(v) {
		return nil
	}
	plan, err := st.planSource(ctx, st.plan.text, v)
	if err != nil {
		return err
	}
	st.plan.close()
	st.plan = plan
	return nil
}

// store writes all rows that next gives as chunks of one table and hands them to the transaction. On error no memory of
// the region is held for them. sum (or nil) adds them up; origin (or nil) says, when all rows were read, where they came
// from.
func (e *Engine) store(ctx context.Context, tx *catalog.Transaction, name catalog.TableName, zone string,
	next func(context.Context) (arrow.RecordBatch, error), sum *ingest.Sum, origin func(rows int64) *lineage.Origin) (int64, error) {
	version, ok := tx.Contents().Table(name)
	if !ok {
		return 0, sqlerror.New("42P01", "relation %q does not exist", name.String())
	}
	target, err := e.upkeep.TargetFor(ctx, version, zone)
	if err != nil {
		return 0, err
	}
	target.Sum = sum
	w := ingest.NewWriter(target)
	defer w.Abort()
	for {
		batch, err := next(ctx)
		if isEnd(err) {
			break
		}
		if err != nil {
			return 0, err
		}
		err = w.Add(ctx, batch)
		batch.Release()
		if err != nil {
			return 0, err
		}
		e.config.Fault.At(faults.StoreBatch)
	}
	chunks, parts, err := w.FinishParts(ctx)
	if err != nil {
		return 0, err
	}
	e.config.Fault.At(faults.StoreSealed)
	if len(chunks) == 0 {
		return 0, nil
	}
	if origin == nil {
		return w.Rows(), tx.Append(name, chunks)
	}
	return w.Rows(), tx.AppendFrom(name, chunks, upkeep.LaidOut(origin(w.Rows()), target, parts).Encode())
}
