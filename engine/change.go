package engine

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/catalog/positions"
	"github.com/csmsql/csmsql/engine/conform"
	"github.com/csmsql/csmsql/engine/ingest"
	"github.com/csmsql/csmsql/engine/kernel"
	"github.com/csmsql/csmsql/engine/locking"
	"github.com/csmsql/csmsql/engine/merge"
	"github.com/csmsql/csmsql/engine/part"
	"github.com/csmsql/csmsql/engine/planned"
	"github.com/csmsql/csmsql/engine/reference"
	"github.com/csmsql/csmsql/engine/retained"
	"github.com/csmsql/csmsql/engine/revalidation"
	"github.com/csmsql/csmsql/engine/rewrite"
	"github.com/csmsql/csmsql/engine/snapshot"
	"github.com/csmsql/csmsql/exec/duckdb"
	"github.com/csmsql/csmsql/sql/dialect"
	"github.com/csmsql/csmsql/sql/sqlerror"
	"github.com/csmsql/csmsql/sql/statement"
)

// prepareRewrite checks the statement; temporary tables are DuckDB's to change.
func (st *Statement) prepareRewrite(ctx context.Context) error {
	s := st.session
	r, err := merge.Change(st.parsed.Head)
	if err != nil {
		return err
	}
	v, err := s.see(ctx)
	if err != nil {
		return err
	}
	defer v.Release()
	name := r.Target()
	version, err := v.Target(name)
	if err == snapshot.ErrTemporary {
		return st.preparePrivate(ctx, &statement.Private{Verb: strings.ToLower(r.Verb())})
	}
	if err != nil {
		return st.parsed.PointAt(err, name.Name)
	}
	conditions, err := r.Conditions(version)
	if err == nil {
		err = s.rowwise(ctx, v, conditions...)
	}
	if err != nil {
		return st.parsed.PointAt(err, name.Name)
	}
	if list := rewrite.Lists(r); list != nil {
		if err := st.describeReturning(ctx, list, version, v); err != nil {
			return err
		}
	}
	if lookup := s.planLookup(v, version, r, nil); lookup != nil && len(lookup.Params) == 0 {
		st.params = nil
	} else if plan, err := s.planNumbered(ctx, v, version, r.Text, r); err == nil {
		st.setPlan(plan) // for the first execution
	} else if plan, err := s.planNumbered(ctx, v, version, r.Query, r); err != nil {
		return st.parsed.PointAt(err, name.Name)
	} else {
		st.params = plan.Params
		plan.close()
	}
	st.beside = rewrite.Looked(r)
	st.run = func(ctx context.Context, args []any) (*Rows, error) { return st.runRewrite(ctx, r, args) }
	return nil
}

func (st *Statement) runRewrite(ctx context.Context, r rewrite.Change, args []any) (*Rows, error) {
	s := st.session
	var hit int64
	out := s.keeper()
	write := func(ctx context.Context, tx *catalog.Transaction, v *snapshot.View) error {
		out.Release() // of a run that lost a race
		version, err := v.Target(r.Target())
		if err != nil {
			return err
		}
		var returns *retained.Batches // what RETURNING is asked of
		if st.returning != nil {
			returns = s.keeper()
			defer returns.Release()
		}
		if st.plan != nil && !st.plan.fresh(v) {
			st.dropPlan()
		}
		if hit, err = s.changeRows(ctx, tx, v, version, r, change{st.plan, st.params, args, returns}); err != nil || returns == nil {
			return err
		}
		kept, err := st.returned(ctx, v, returns, version.Table().Columns)
		if err == nil {
			out = kept
		}
		return err
	}
	err := st.writeRows(ctx, &hit, write)
	if err != nil {
		out.Release()
		return nil, err
	}
	tag := fmt.Sprint(r.Verb(), " ", hit)
	if st.returning != nil {
		return keptRows(out, st.schema, tag, hit), nil
	}
	return done(tag, hit), nil
}

// planNumbered plans what text makes of the names of a table that has the numbers of its rows. Where names are not
// found in the text, which only DuckDB reads then, the table is a scan of its own, of all chunks.
func (s *Session) planNumbered(ctx context.Context, v *snapshot.View, version *catalog.TableVersion,
	text func(n *snapshot.Numbers, table string) (string, error), r rewrite.Change) (*query, error) {
	n := r.Numbers(version)
	n.Describe = func(query string) ([]string, error) { return s.describe(ctx, query, v) }
	asked, err := text(n, n.Table())
	if err != nil {
		return nil, err
	}
	v.Numbered = snapshot.Numbering{n}
	defer func() { v.Numbered = nil }()
	q, err := s.planDuck(ctx, dialect.SourceOf(asked), v)
	if err == nil || s.conn.Aborted() {
		return q, dialect.WithoutPosition(err)
	}
	whole := s.newScan(ctx, v, version, nil)
	whole.NumberRows(n.Column)
	whole.Number = s.conn.Register(whole.Duck)
	if asked, err = text(n, duckdb.ScanCall(whole.Number)); err == nil {
		q, err = s.planDuck(ctx, dialect.SourceOf(asked), v)
	}
	if err != nil {
		s.conn.Forget(whole.Number)
		return nil, dialect.WithoutPosition(err)
	}
	q.scans = append(q.scans, whole)
	return q, nil
}

// planLookup plans for the Arrow kernels what a rewrite makes of the few rows that it looks for; nil: DuckDB is asked.
func (s *Session) planLookup(v *snapshot.View, version *catalog.TableVersion, c rewrite.Change,
	parameters []duckdb.ParameterType) *query {
	r, ok := c.(rewrite.Rewrite)
	if !ok {
		return nil
	}
	n := r.Numbers(version)
	source, ok := r.Lookup(n, parameters)
	if !ok {
		return nil
	}
	v.Numbered = snapshot.Numbering{n}
	defer func() { v.Numbered = nil }()
	q := s.newQuery(source, v)
	q.compute = kernel.Choice{Settings: &s.settings, Without: q.Without}.Lookup(s.read(source, v).names)
	if q.compute == nil || !r.Stores(q.compute, version.Table().Columns) {
		return nil
	}
	q.schema, q.source = r.Schema(q.compute, version.Table().Columns), s.engine.facts.Of(version)
	q.Params = kernel.Parameters(q.compute)
	return q
}

// change is what an UPDATE or a DELETE is asked for.
type change struct {
	plan       *query // of Rewrite.Text, which stands; nil: it is to be planned
	parameters []duckdb.ParameterType
	args       []any
	returns    *retained.Batches // what RETURNING is asked of; nil: nothing
}

// changeRows deletes the rows that a rewrite hits and appends what they become.
func (s *Session) changeRows(ctx context.Context, tx *catalog.Transaction, v *snapshot.View,
	version *catalog.TableVersion, r rewrite.Change, c change) (hit int64, err error) {
	table := version.Table()
	removes, inserts := r.Does()
	if v.KeysKept, err = reference.Kept(table, r.Assigns(table.Columns), removes); err != nil {
		return 0, err
	}
	v.KeysKept, s.block.Proposes = v.KeysKept && !inserts, s.block.Proposes || inserts
	if c.plan != nil {
		hit, _, err = s.hits(ctx, tx, v, version, c.plan, r, c)
		return hit, err
	}
	plan, evaluated := s.planLookup(v, version, r, c.parameters), false
	if plan != nil {
		hit, evaluated, err = s.hits(ctx, tx, v, version, plan, r, c)
	}
	if plan == nil || err != nil && !evaluated && ctx.Err() == nil { // what is wrong is DuckDB's to say
		if c.returns != nil {
			c.returns.Release()
		}
		if plan, err = s.planNumbered(ctx, v, version, r.Text, r); err != nil {
			return 0, err
		}
		defer plan.close()
		hit, _, err = s.hits(ctx, tx, v, version, plan, r, c)
	}
	return hit, err
}

// hits runs the plan of a rewrite and changes the rows that it hits. An error before it is evaluated has changed nothing.
func (s *Session) hits(ctx context.Context, tx *catalog.Transaction, v *snapshot.View, version *catalog.TableVersion,
	plan *query, r rewrite.Change, c change) (hit int64, evaluated bool, err error) {
	rows, err := plan.execute(ctx, v, c.args)
	if err != nil {
		return 0, false, dialect.WithoutPosition(err)
	}
	defer rows.Close()
	err = s.engine.upkeep.Change(ctx, tx, version, s.settings.Zone(), func(w *ingest.Writer,
		limits []ingest.Limit) (map[int]*positions.Set, error) {
		changed, err := r.Drain(ctx, rows.Next, version, limits, w, c.returns, s.block.Grow)
		hit, evaluated = changed.Count, err == nil
		v.Deleted = map[catalog.TableID]map[int]*positions.Set{version.Table().ID: changed.Deleted}
		return changed.Gone, err
	})
	return hit, evaluated, err
}

// prepareLocking plans a SELECT … FOR UPDATE (package locking); done: it is one. It is an ordinary query if all that it
// locks is the session's own.
func (st *Statement) prepareLocking(ctx context.Context, v *snapshot.View) (done bool, err error) {
	s := st.session
	l, err := locking.Of(st.parsed)
	if l == nil && st.parts != nil {
		l = locking.Plain(st.parsed)
	}
	if l == nil || err != nil {
		return false, err
	}
	if err := s.followSearchPath(v.Contents); err != nil {
		return false, err
	}
	plan, p, err := s.planLocking(ctx, l, v)
	if err != nil {
		return false, st.parsed.PreferSyntax(err)
	}
	if len(p.Numbered) == 0 && st.parts == nil {
		plan.close()
		st.parsed, err = statement.Parse(l.Plain)
		return false, err
	}
	st.setPlan(plan)
	st.schema = planned.ClientNames(p.Visible(plan.schema), st.parsed.Tree, false)
	st.origins = s.origins(st.parsed.Text, st.parsed.Tree, v, st.schema)
	st.locks = cmp.Or(locking.Command(st.parsed), st.parts.Command())
	st.run = func(ctx context.Context, args []any) (*Rows, error) { return st.runLocking(ctx, l, p, args) }
	return true, nil
}

func (s *Session) planLocking(ctx context.Context, l *locking.Query, v *snapshot.View) (*query, *locking.Plan, error) {
	return locking.PlanWith(l, v, s.conn.Aborted,
		func(text string) (*query, error) { return s.planDuck(ctx, dialect.SourceOf(text), v) },
		func(text string) error { _, err := s.describe(ctx, text, v); return err })
}

// runLocking reads the rows and locks them, as often as others have them first.
func (st *Statement) runLocking(ctx context.Context, l *locking.Query, p *locking.Plan, args []any) (*Rows, error) {
	s, out := st.session, st.session.keeper()
	err := s.write(ctx, func(_ *catalog.Transaction, v *snapshot.View) (err error) {
		if err := st.runParts(ctx, v); err != nil {
			return err
		}
		if st.plan != nil && !st.plan.fresh(v) {
			st.dropPlan()
		}
		plan, p := st.plan, p
		if plan == nil {
			if plan, p, err = s.planLocking(ctx, l, v); err != nil {
				return err
			}
			defer plan.close()
		}
		if !conform.SameTypes(p.Visible(plan.schema), st.schema) {
			return revalidation.Outdated()
		}
		return s.lockRows(ctx, v, plan, p, args, out)
	})
	if err != nil {
		out.Release()
		return nil, err
	}
	return &Rows{schema: st.schema, fetch: out.Again(), closers: []func(){out.Release}}, nil
}

func (s *Session) lockRows(ctx context.Context, v *snapshot.View, plan *query, p *locking.Plan, args []any,
	out *retained.Batches) error {
	run := func(ctx context.Context) (locking.Rows, error) { return plan.execute(ctx, v, args) }
	return p.Run(ctx, s.block.Transaction, out, run)
}

// prepareParts has the parts of the statement run before it: it reads what they gave (package part).
func (st *Statement) prepareParts(ctx context.Context, parts *part.Parts) error {
	s := st.session
	v, err := s.see(ctx)
	if err != nil {
		return err
	}
	defer v.Release()
	around := &Statement{session: s, parts: parts}
	st.inner = around // which closes them
	for _, p := range parts.List {
		parsed, err := parts.Parse(p)
		if err == nil {
			err = st.preparePart(ctx, p, parsed, v)
		}
		if err != nil {
			return p.Place(err)
		}
	}
	text, given, types := parts.Over()
	if around.parsed, err = statement.Parse(text); err == nil {
		if err = around.prepareKind(ctx); err == nil {
			err = around.charge()
		}
	}
	st.params, st.schema, st.origins = given.Merge(types, around.params), around.schema, around.origins
	st.run = func(ctx context.Context, args []any) (*Rows, error) {
		around.args = args
		rows, err := around.run(ctx, given.Pick(args))
		return rows, dialect.WithoutPosition(parts.Ended(parts.Explain(err)))
	}
	return dialect.WithoutPosition(err)
}

func (st *Statement) preparePart(ctx context.Context, p *part.Part, parsed *statement.Statement,
	v *snapshot.View) error {
	s := st.session
	if p.Changes {
		inner := &Statement{session: s, parsed: parsed, postgres: st.postgres, part: true}
		err := inner.prepareWhole(ctx)
		if err == nil {
			err = inner.charge()
		}
		p.Register(s.conn, s.keeper(), inner.schema, inner.returns(), inner.params, inner.close)
		p.Statement = inner
		return err
	}
	l, err := locking.Of(parsed)
	if err != nil {
		return err
	}
	plan, at, err := s.planLocking(ctx, l, v)
	if err != nil {
		return err
	}
	defer plan.close()
	result, err := plan.Duck.Schema()
	columns := planned.ClientNames(at.Visible(plan.schema), parsed.Tree, false)
	if p.Statement = l; err == nil {
		p.Register(s.conn, s.keeper(), columns, at.Visible(result), plan.Params, nil)
	}
	return err
}

// returns are the columns of RETURNING as DuckDB gives them; nil: it returns nothing.
func (st *Statement) returns() *arrow.Schema {
	for ; st.inner != nil; st = st.inner {
	}
	return st.returning.Columns()
}

// runParts runs the parts of the statement, within a change of its own.
func (st *Statement) runParts(ctx context.Context, v *snapshot.View) error {
	s, outer := st.session, st.session.inside
	if err := st.means(v); err != nil {
		return err
	}
	if st.parts.Changes() {
		s.inside = v
		defer func() { s.inside, v.KeysKept = outer, false }()
	}
	return st.parts.Run(st.args, func(p *part.Part, args []any) error {
		if inner, changes := p.Statement.(*Statement); changes {
			rows, err := inner.run(ctx, args)
			if err != nil {
				return err
			}
			defer rows.close()
			return p.Rows.Drain(ctx, rows.Next)
		}
		plan, l, err := s.planLocking(ctx, p.Statement.(*locking.Query), v)
		if err != nil {
			return err
		}
		defer plan.close()
		return s.lockRows(ctx, v, plan, l, args, p.Rows)
	})
}

// rename gives a table another name.
func (st *Statement) rename(ctx context.Context, head *statement.Rename) (*Rows, error) {
	if head.Object != statement.Table && head.Object != statement.MaterializedView {
		return nil, sqlerror.New("0A000", "ALTER %s … RENAME is not supported", strings.ToUpper(string(head.Object)))
	}
	return st.alter(ctx, head.Object, head.Name, head.IfExists, func(ctx context.Context, tx *catalog.Transaction,
		v *snapshot.View, version *catalog.TableVersion) error {
		from := version.Table().Name
		to, err := v.Qualify(statement.Name{Schema: from.Schema, Name: head.To})
		if err != nil {
			return err
		}
		if err := tx.RenameTable(from, to); err != nil {
			return err
		}
		return st.session.followName(ctx, tx, v, from, to)
	})
}

// rowwise is an error if what is said of single rows is not: DuckDB is asked whether it would take it in a WHERE.
func (s *Session) rowwise(ctx context.Context, v *snapshot.View, conditions ...rewrite.Condition) error {
	return rewrite.Rowwise(conditions, func(text string) (err error, last bool) {
		plan, err := s.planDuck(ctx, dialect.SourceOf(text), v)
		if err == nil {
			plan.close()
		}
		return err, s.conn.Aborted()
	})
}
