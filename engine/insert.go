package engine

import (
	"context"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/catalog/positions"
	"github.com/csmsql/csmsql/engine/cast"
	"github.com/csmsql/csmsql/engine/conflict"
	"github.com/csmsql/csmsql/engine/conform"
	"github.com/csmsql/csmsql/engine/constantrows"
	"github.com/csmsql/csmsql/engine/ingest"
	"github.com/csmsql/csmsql/engine/lookup"
	"github.com/csmsql/csmsql/engine/reference"
	"github.com/csmsql/csmsql/engine/retained"
	"github.com/csmsql/csmsql/engine/revalidation"
	"github.com/csmsql/csmsql/engine/rewrite"
	"github.com/csmsql/csmsql/engine/snapshot"
	"github.com/csmsql/csmsql/engine/upkeep"
	"github.com/csmsql/csmsql/exec/duckdb"
	"github.com/csmsql/csmsql/sql/dialect"
	"github.com/csmsql/csmsql/sql/optimization"
	"github.com/csmsql/csmsql/sql/statement"
)

func (st *Statement) prepareInsert(ctx context.Context, head *statement.Insert) error {
	s, ins := st.session, &insertion{}
	st.run = func(ctx context.Context, args []any) (*Rows, error) { return st.insert(ctx, head, ins, args) }
	if table, err := st.constantRows(ctx, head, ins, false); err != nil {
		return err
	} else if table != nil {
		st.params, st.unplanned, st.constant = ins.constants.Parameters(), true, !ins.keyed
		return nil
	}
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
		return st.parsed.PointAt(err, head.Name.Name)
	}
	return st.planInsert(ctx, head, ins, version, v)
}

// insertion is an INSERT that was planned for a table of these columns, nil: it was not.
type insertion struct {
	cast.Source
	columns   *arrow.Schema
	constants *constantrows.Source // its rows, if they are known without DuckDB
	contents  *catalog.Contents    // in which they are
	assumed   bool                 // the cluster's store was not asked whether these are the last ones
	keyed     bool                 // the table has keys, with which a transaction's rows are compared before it ends
	rule      *conflict.Rule       // of ON CONFLICT; nil: it has none
}

// planInsert plans the query of an INSERT, and what it returns, for the columns that the table has.
func (st *Statement) planInsert(ctx context.Context, head *statement.Insert, ins *insertion,
	version *catalog.TableVersion, v *snapshot.View) error {
	src, err := cast.Insert(head, version.Table().Columns, func(query string) ([]string, error) {
		names, err := st.session.describe(ctx, query, v)
		if err != nil {
			return nil, st.parsed.PreferSyntax(cast.Verbatim(query).Relocate(err, st.parsed.Text))
		}
		return names, nil
	})
	if err != nil {
		return err
	}
	if r := rewrite.ReturningOf(head); r != nil {
		if err := st.describeReturning(ctx, r, version, v); err != nil {
			return err
		}
	}
	var numbers dialect.Numbers // of the source's parameters
	if head.Conflict != nil {
		src.Text, numbers = dialect.Dense(src.Text)
	}
	plan, err := st.planSource(ctx, src.Text, v)
	if err != nil {
		return st.parsed.PreferSyntax(src.Relocate(err, st.parsed.Text))
	}
	if st.plan != nil {
		st.plan.close()
	}
	st.setPlan(plan)
	ins.Source, ins.columns = src, version.Table().Columns
	if head.Conflict == nil {
		return nil
	}
	ins.rule, st.params, err = conflict.Of(conflict.Asker{
		Rowwise: func(conditions ...rewrite.Condition) error { return st.session.rowwise(ctx, v, conditions...) },
		Parameters: func(text string) ([]duckdb.ParameterType, error) {
			q, err := st.session.planDuck(ctx, dialect.SourceOf(text), v)
			if err != nil {
				return nil, dialect.WithoutPosition(err)
			}
			defer q.close()
			return q.Params, nil
		},
	}, head, version.Table(), st.params, numbers)
	return err
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
	if head, ok := st.parsed.Head.(*statement.Insert); st.returning != nil || ok && head.Conflict != nil {
		plan = st.session.planDuck
	}
	q, err := plan(ctx, st.source(text), v)
	if err == nil {
		q.Names = q.meanings(v)
	}
	return q, err
}

// describe are the names of the columns that a query gives.
func (s *Session) describe(ctx context.Context, query string, v *snapshot.View) ([]string, error) {
	schema, err := s.putsOut(ctx, v, query)
	return conform.Names(schema), err
}

func (st *Statement) insert(ctx context.Context, head *statement.Insert, ins *insertion, args []any) (*Rows, error) {
	s := st.session
	var count int64
	out := s.keeper()
	write := func(ctx context.Context, tx *catalog.Transaction, v *snapshot.View) error {
		out.Release() // of a run that lost a race
		version, err := v.Target(head.Name)
		if err != nil {
			return err
		}
		if err := st.replanInsert(ctx, head, ins, version, v); err != nil {
			return err
		}
		rows, err := st.plan.execute(ctx, v, ins.rule.Given(args))
		if err != nil {
			return ins.Relocate(err, st.parsed.Text)
		}
		defer rows.Close()
		if ins.rule != nil {
			count, out, err = st.propose(ctx, tx, v, version, ins.rule, rows, args)
			return err
		}
		if st.returning != nil {
			count, out, err = st.insertReturning(ctx, tx, v, version, rows)
			return err
		}
		count, err = s.engine.upkeep.Store(ctx, tx, version.Table().Name, s.settings.Zone(), rows.nextOwned, nil, nil)
		return err
	}
	if rows, err := st.insertConstants(ctx, head, ins, args, &sole{st, write, &count}); rows != nil || err != nil {
		return rows, err
	}
	err := st.writeRows(ctx, &count, write)
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
	fitting := ingest.Fitting(rows.Next, upkeep.LimitsOf(table.Columns))
	zone := st.session.settings.Zone()
	count, err := st.session.engine.upkeep.Store(ctx, tx, table.Name, zone, written.Keeping(fitting), nil, nil)
	if err != nil {
		return 0, st.session.keeper(), err
	}
	rows.Close() // the connection is needed
	out, err := st.returned(ctx, v, written, table.Columns)
	return count, out, err
}

// propose inserts the rows of an INSERT … ON CONFLICT, or does with them what its rule says.
func (st *Statement) propose(ctx context.Context, tx *catalog.Transaction, v *snapshot.View,
	version *catalog.TableVersion, rule *conflict.Rule, rows *Rows,
	args []any) (count int64, out *retained.Batches, err error) {
	s, table := st.session, version.Table()
	var returns *retained.Batches
	if st.returning != nil {
		returns = s.keeper()
		defer returns.Release()
	}
	proposed := s.keeper()
	defer proposed.Release()
	s.block.Proposes = true
	if err := proposed.Drain(ctx, ingest.Fitting(rows.Next, upkeep.LimitsOf(table.Columns))); err != nil {
		return 0, s.keeper(), err
	}
	rows.Close() // the connection is needed
	p := &conflict.Proposal{
		Keys: &s.engine.keys.Keeper, Conn: s.conn, Keep: s.keeper,
		Rule: rule, Version: version, Rows: proposed, Args: args,
		Each: func(ctx context.Context, text string, args []any, each func(arrow.RecordBatch) error) error {
			return s.each(ctx, v, text, args, each)
		},
	}
	if p.Check, err = s.engine.checks.OfChunks(table, s.settings.Zone()); err == nil {
		err = s.engine.upkeep.Change(ctx, tx, version, s.settings.Zone(), func(w *ingest.Writer,
			limits []ingest.Limit) (gone map[int]*positions.Set, err error) {
			count, gone, err = p.Decide(ctx, w, limits, returns)
			return gone, err
		})
	}
	if err != nil || returns == nil {
		return count, s.keeper(), err
	}
	out, err = st.returned(ctx, v, returns, table.Columns)
	return count, out, err
}

// replanInsert replans if the plan does not hold for v or for the table's present columns: the query's rows are cast to
// the columns that the table had.
func (st *Statement) replanInsert(ctx context.Context, head *statement.Insert, ins *insertion,
	version *catalog.TableVersion, v *snapshot.View) error {
	columns, returned := version.Table().Columns, st.schema
	if ins.columns != nil && ins.columns.Equal(columns) {
		return st.replanFor(ctx, v)
	}
	if err := st.session.followSearchPath(v.Contents); err != nil {
		return err
	}
	if err := st.planInsert(ctx, head, ins, version, v); err != nil {
		return err
	}
	if returned != nil && !conform.SameTypes(returned, st.schema) {
		st.schema, ins.columns = returned, arrow.NewSchema(nil, nil) // planned again the next time
		return revalidation.Outdated()
	}
	return st.chargePlan()
}

// replanFor replans if the plan does not hold for v.
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

// INSERT … VALUES of constants and parameters needs no DuckDB (package constantrows), and its rows no chunk of their
// own: as long as the transaction does nothing else they wait, and go into one commit with those of others (gathering).
//
//	insert ─► rows ─► block.rows ─┬─► commit: gathering.Queue
//	                              └─► the next statement that sees or writes: the block's transaction (settleRows)

// constantRows finds out whether the rows are known without DuckDB, and gives the table that they go to; nil: they are
// not, or the statement is one that is to be wrong as DuckDB says it.
// Assumed: what the table's name means is found out before the rows are committed, once for all that are together.
func (st *Statement) constantRows(ctx context.Context, head *statement.Insert, ins *insertion,
	assumed bool) (*catalog.Table, error) {
	s := st.session
	if s.engine.catalog == nil || s.without().Has(optimization.Constants) || s.modes().Serializable() {
		return nil, nil
	}
	own, err := s.temporaryNames(ctx)
	if err != nil {
		return nil, err
	}
	contents := s.engine.catalog.Applied()
	if !assumed {
		contents, err = s.latest(ctx)
	}
	if err != nil {
		return nil, err
	}
	v := &snapshot.View{Contents: contents, Path: s.settings.SearchPath, Reads: &lookup.Names{}, Own: own}
	version, err := v.Target(head.Name)
	if err != nil {
		return nil, nil
	}
	table := version.Table()
	if ins.constants == nil || !ins.constants.Made(table.Columns) {
		keyed, wrong := reference.Keyed(table)
		check, err := s.engine.checks.OfChunks(table, "")
		if ins.constants, ins.keyed = nil, keyed; check == nil && err == nil && wrong == nil {
			ins.constants = constantrows.Of(head, table.Columns)
		}
	}
	if ins.contents, ins.assumed = contents, assumed; ins.constants == nil {
		return nil, nil
	}
	if assumed && (ins.keyed || ins.constants.Counts()) {
		return st.constantRows(ctx, head, ins, false)
	}
	return &table, nil
}

// assumes reports whether rows that wait may be of a table as this node knows it, without asking the cluster's store.
func (s *Session) assumes() bool {
	b := s.block
	alone := b == nil || b.implicit && b.Lease == nil && b.rows == nil && b.Changes == nil && !b.duck
	return alone && s.engine.node != nil && s.engine.node.Self != nil
}

// latest is what the next statement sees, without a lease.
func (s *Session) latest(ctx context.Context) (*catalog.Contents, error) {
	if b := s.block; b != nil && (!b.implicit || b.Lease != nil) {
		if err := b.Start(ctx); err != nil {
			return nil, err
		}
		return b.Contents(), nil
	}
	if s.engine.node.Self != nil { // it has to ask the cluster's store
		s.turn.Pause()
		defer s.turn.Resume()
	}
	return s.engine.catalog.Latest(ctx)
}

// insertConstants stores rows that are known without DuckDB: in a transaction of their own, or as part of the block.
// Nil: they are not known, or not any more (GA3): then they are made with DuckDB.
func (st *Statement) insertConstants(ctx context.Context, head *statement.Insert, ins *insertion, args []any,
	again *sole) (*Rows, error) {
	s := st.session
	if ins.constants == nil || s.inside != nil {
		return nil, nil
	}
	table, err := st.constantRows(ctx, head, ins, s.assumes())
	if table == nil || err != nil {
		return nil, err
	}
	rows, ok := ins.constants.Rows(args, s.sequences.Of(ins.contents))
	ins.contents = nil
	if !ok {
		return nil, nil
	}
	alone := s.block == nil
	s.beginImplicit()
	if b := s.block; !ins.keyed && b.implicit && !b.duck && b.Changes == nil && b.rows.Takes(table.ID) {
		b.rows = b.rows.With(*table, rows)
		if ins.assumed {
			b.rows.Assume(snapshot.Named{Schema: head.Name.Schema, Name: head.Name.Name, Path: s.settings.SearchPath})
		}
	} else {
		err = s.write(ctx, s.appending(ctx, *table, rows))
	}
	if *again.rows = rows.Len(); err == nil && s.block.implicit && (alone || s.block.executed == 1) {
		s.block.sole = again
	}
	if alone {
		err = s.endImplicit(ctx, err)
	}
	if lost(ctx, err) { // before it was committed: the table has changed since the rows were made
		return nil, nil
	}
	return done(fmt.Sprintf("INSERT 0 %d", rows.Len()), rows.Len()), err
}

// appending is the change of a transaction that puts rows into a table.
func (s *Session) appending(ctx context.Context, table catalog.Table,
	rows ...*constantrows.Rows) func(*catalog.Transaction, *snapshot.View) error {
	return func(tx *catalog.Transaction, _ *snapshot.View) error {
		return s.engine.inserts.Append(ctx, tx, table, rows)
	}
}

// settleRows has the block's transaction do what was waiting for its end.
func (s *Session) settleRows(ctx context.Context) error {
	b := s.block
	if b == nil || b.rows == nil {
		return nil
	}
	waiting := b.rows
	b.rows = nil
	return s.writeInBlock(ctx, s.appending(ctx, waiting.Table, waiting.Rows...))
}
