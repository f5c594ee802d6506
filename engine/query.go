package engine

import (
	"cmp"
	"context"
	"errors"
	"io"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/csmsql/csmsql/engine/account"
	"github.com/csmsql/csmsql/engine/argument"
	"github.com/csmsql/csmsql/engine/configuration"
	"github.com/csmsql/csmsql/engine/conform"
	"github.com/csmsql/csmsql/engine/facts"
	"github.com/csmsql/csmsql/engine/ingest"
	"github.com/csmsql/csmsql/engine/kernel"
	"github.com/csmsql/csmsql/engine/lease"
	"github.com/csmsql/csmsql/engine/namedtype"
	"github.com/csmsql/csmsql/engine/planned"
	"github.com/csmsql/csmsql/engine/reader"
	"github.com/csmsql/csmsql/engine/relation"
	"github.com/csmsql/csmsql/engine/scan"
	"github.com/csmsql/csmsql/engine/snapshot"
	"github.com/csmsql/csmsql/engine/split"
	"github.com/csmsql/csmsql/engine/temporary"
	"github.com/csmsql/csmsql/exec/compute"
	"github.com/csmsql/csmsql/exec/duckdb"
	"github.com/csmsql/csmsql/exec/plan"
	"github.com/csmsql/csmsql/internal/enumeration"
	"github.com/csmsql/csmsql/sql/bind"
	"github.com/csmsql/csmsql/sql/dialect"
	"github.com/csmsql/csmsql/sql/edit"
	"github.com/csmsql/csmsql/sql/lex"
	"github.com/csmsql/csmsql/sql/optimization"
	"github.com/csmsql/csmsql/sql/past"
	"github.com/csmsql/csmsql/sql/pgcatalog"
	"github.com/csmsql/csmsql/sql/sqlerror"
	"github.com/csmsql/csmsql/sql/typing"
)

// query is a planned statement that reads: for DuckDB, with its tables spliced in as scans, or for the Arrow kernels. It
// belongs to the versions of its tables where they are known, or else to one revision of the catalog (fresh).
type query struct {
	planned.Basis
	planned.Text
	session *Session
	text    string    // the user's
	tokens  *lex.Text // of text, while it is planned

	scans   []*scan.Scan
	compute *plan.Query
	source  *facts.Facts // of compute's table
	schema  *arrow.Schema
	origins []typing.Origin // of schema's columns, of a user's query; nil: of none
	read    *reader.Readings
	split   *split.Plan // how several nodes run it; nil: it runs here
	whole   string      // why not
	catalog bool        // it reads PostgreSQL's system catalogs, which this connection has its own copy of

	key    string            // under which the session keeps the plan when its statement is closed; empty: it does not
	named  bool              // it stands for as long as its names mean the same
	lasts  bool              // to plan the text again, over the same versions, would give the same
	said   relation.Meanings // for which its text was written so
	typed  bool              // its text is what PostgreSQL's became (Statement.typed)
	viewed bool              // planning it looked tables up that stand in no text of its user's
	kept   int64             // what it counts for while it is kept
	bytes  int64             // charged for it meanwhile
	final  *query            // of a split one: what its results were finished with last, to be used again

	users []*enumeration.Type // by parameter: the types that users made; nil of others
}

// planQuery plans a text, which has no tree when only DuckDB's parser understands it.
func (s *Session) planQuery(ctx context.Context, in dialect.Source, v *snapshot.View) (*query, error) {
	q, err := s.planNamed(ctx, in, v)
	if err == nil && in.Tree != nil {
		q.schema = namedtype.Columns(v.Contents, planned.ClientNames(q.schema, in.Tree, q.catalog))
	}
	return q, err
}

func (s *Session) planNamed(ctx context.Context, in dialect.Source, v *snapshot.View) (*query, error) {
	if in.Tree == nil {
		values := func(query string) ([]string, error) { return s.pivotValues(ctx, query, v) }
		expanded, moved, err := dialect.ExpandPivots(in.Text(), values)
		if err != nil {
			return nil, err
		}
		if moved != nil {
			return s.planPivots(ctx, in.Text(), expanded, moved, v)
		}
	}
	return s.withTypes(ctx, in, v, func(in dialect.Source) (*query, error) {
		in, err := s.withLiterals(ctx, in, v)
		if err != nil {
			return nil, err
		}
		if formatted, ok := dialect.Formats(in); ok {
			if q, err := s.planText(ctx, s.read(formatted, v), v); err == nil {
				q.Asked = in.Text()
				return q, nil
			} // what is formatted is no time
		}
		return s.planText(ctx, s.read(in, v), v)
	})
}

// withTypes plans a text in which users' types are named, and labels said to be some, as DuckDB needs it.
func (s *Session) withTypes(ctx context.Context, in dialect.Source, v *snapshot.View,
	plan func(dialect.Source) (*query, error)) (*query, error) {
	out, made, err := s.types(ctx, v).Text(ctx, in)
	if err != nil {
		return nil, err
	}
	q, err := plan(out)
	if err != nil || made == nil || q.Late {
		return q, namedtype.Placed(err, made, out, in)
	}
	q.text, q.Edits = in.Text(), made.Then(q.Edits)
	return q, nil
}

// types reads texts of a statement that sees v, which may have to do with users' types.
func (s *Session) types(ctx context.Context, v *snapshot.View) namedtype.Host {
	return namedtype.Host{
		View: v, Conn: s.conn, Yield: s.yield, Temporary: s.temporary, Relations: s.relations(v).Find,
		Plan: func(text string) ([]*enumeration.Type, error) {
			q, err := s.planDuckFor(ctx, s.read(dialect.SourceOf(text), v), v, nil)
			if err != nil {
				return nil, err
			}
			defer q.close()
			return q.users, nil
		},
		Describe: s.describeBeside(v),
	}
}

// describeBeside asks DuckDB for the columns of a query that a statement over v has to do with, and their users' types.
func (s *Session) describeBeside(v *snapshot.View) temporary.Describe {
	return func(query string) (*arrow.Schema, []*enumeration.Type, error) {
		s.yield()
		if err := s.showNames(v); err != nil {
			return nil, nil, err
		}
		before := s.visible
		s.visible = v
		duck, err := s.conn.Prepare(query)
		if s.visible = before; err != nil {
			return nil, nil, err
		}
		defer duck.Close()
		schema, err := duck.Schema()
		return schema, duck.UserTypes(), err
	}
}

// reading is a text as all that plan it over one view read it: its names are bound once.
type reading struct {
	dialect.Source
	names *plan.Statement
}

func (s *Session) read(in dialect.Source, v *snapshot.View) reading {
	return reading{in, plan.Read(in.Text(), in.Tree, s.resolver(v))}
}

func (s *Session) newQuery(in dialect.Source, v *snapshot.View) *query {
	return &query{session: s, text: in.Text(), tokens: in.Read, Basis: s.basis(v)}
}

// basis is what a plan is made over now.
func (s *Session) basis(v *snapshot.View) planned.Basis {
	return planned.Basis{
		Revision: v.Contents.Revision(), Path: s.settings.SearchPath, Hiding: v.Own, Meaning: s.meaning,
		Own: s.block != nil && s.block.Changes != nil && s.block.Changes.Changed(), Faults: s.engine.reader.Faults(), Verification: s.settings.Verification(), Without: s.without(),
		Reads: v.Reads,
	}
}

func (s *Session) planText(ctx context.Context, in reading, v *snapshot.View) (*query, error) {
	if in.Tree != nil {
		q := s.newQuery(in.Source, v)
		if ok, err := q.planCompute(in.names, v); ok || err != nil {
			q.tokens = nil
			return q, err
		}
	}
	if tables, made := s.withViews(in.Source, v); made != nil {
		if q, err := s.planTables(ctx, s.read(tables, v), v); err == nil && !q.Late {
			q.text, q.Edits = in.Text(), made.Then(q.Edits)
			return q, nil
		} else if err == nil {
			q.close()
		} else if s.conn.Aborted() {
			return nil, dialect.WithoutPosition(err)
		}
	}
	return s.planTables(ctx, in, v)
}

// planTables plans a text for DuckDB, on this node or on several.
func (s *Session) planTables(ctx context.Context, in reading, v *snapshot.View) (*query, error) {
	parts, whole := s.distribute(in.names, v)
	q, err := s.planDuckFor(ctx, in, v, parts)
	if err == nil && parts != nil && (q.Late || q.AsText) {
		q.close()
		whole = "it has a parameter whose type is not certain"
		q, err = s.planDuckFor(ctx, in, v, nil)
	}
	if err == nil {
		q.whole = whole
		if len(q.Params) == 0 {
			q.Nodes = s.engine.split.Nodes()
		}
	}
	return q, err
}

// planOnce gives the plan that is kept for the statement's text, or makes one that is to be kept.
func (s *Session) planOnce(ctx context.Context, st *Statement, v *snapshot.View) (*query, error) {
	text := st.parsed.Text
	always := s.replansAlways()
	if !always {
		if q := s.takePlan(text, v); q != nil {
			q.typed, st.grounds.Relations = q.typed || st.postgres, q.said
			return q, nil
		}
	}
	if err := s.show(v); err != nil {
		return nil, err
	}
	in := st.source(text)
	if st.postgres && st.parsed.Tree == nil { // the plan that was kept does not stand any more
		st.parsed.Tree = in.Tree
		if err := st.typed(ctx, v); err != nil {
			return nil, err
		}
		text, in = st.parsed.Text, st.source(st.parsed.Text)
	}
	q, err := s.planQuery(ctx, in, v)
	if err != nil {
		return nil, err
	}
	q.Names, q.typed, q.said = q.meanings(v), st.postgres, st.grounds.Relations
	if q.lasts && !always && !q.Own {
		q.key = text
	}
	q.origins = s.origins(text, in.Tree, v, q.schema)
	return q, nil
}

// withLiterals is a text whose literals are written as DuckDB reads them: by their casts, or as the columns beside them say.
func (s *Session) withLiterals(ctx context.Context, in dialect.Source, v *snapshot.View) (dialect.Source, error) {
	in, err := dialect.Literals(in)
	if err != nil {
		return in, err
	}
	return s.typeLiterals(ctx, in, v)
}

// planDuck plans a text for DuckDB, whatever backend the session prefers.
func (s *Session) planDuck(ctx context.Context, in dialect.Source, v *snapshot.View) (*query, error) {
	return s.withTypes(ctx, in, v, func(in dialect.Source) (*query, error) {
		in, err := s.withLiterals(ctx, in, v)
		if err != nil {
			return nil, err
		}
		return s.planDuckFor(ctx, s.read(in, v), v, nil)
	})
}

// planDuckFor plans a text that several nodes run as parts say: here it only finds the result's columns.
func (s *Session) planDuckFor(ctx context.Context, in reading, v *snapshot.View, parts *split.Plan) (*query, error) {
	q := s.newQuery(in.Source, v)
	q.read, q.split = v.Read, parts
	err := q.read.Blame(ctx, q.planDuckDB(ctx, in.names, v))
	q.tokens = nil
	if err = cmp.Or(v.Refused, err); err == nil { // the keys of small tables that are part of the plan
		err = q.read.Confirm(ctx)
	}
	if err != nil {
		q.close()
		return nil, v.Lease.ErrorOr(err, q.read)
	}
	return q, nil
}

// fresh reports whether the plan still stands for what v shows.
func (q *query) fresh(v *snapshot.View) bool {
	s := q.session
	if q.split != nil && s.block != nil && s.block.Changes != nil { // distribute says why
		return false
	}
	now := s.basis(v)
	return q.Stands(&now, s.engine.split.Nodes, s.temporary, v)
}

func (q *query) close() {
	if q.Duck != nil {
		q.Duck.Close()
		q.Duck = nil
	}
	for _, t := range q.scans {
		q.session.conn.Forget(t.Number)
	}
	q.scans = nil
	if q.final != nil {
		q.final.close()
		q.final = nil
	}
}

// planCompute plans the query for the Arrow kernels if they can run it and should.
func (q *query) planCompute(sql *plan.Statement, v *snapshot.View) (bool, error) {
	planned, err := kernel.Choice{Settings: &q.session.settings, Without: q.Without}.Plan(sql, v.Find)
	if planned == nil || err != nil {
		return false, err
	}
	q.compute, q.schema, q.Params = planned, ingest.LogicalSchema(planned.Schema()), kernel.Parameters(planned)
	q.named, q.lasts = true, true // the kernels know no function and no view
	if planned.Table != nil {
		q.source = q.session.engine.facts.Of(v.Find(planned.Table.Relation.Schema, planned.Table.Relation.Name))
	}
	return true, nil
}

// planDuckDB splices the tables that exec/plan found into the text and prepares it; tables that it did not find are
// resolved by DuckDB through the views that mirror the catalog.
func (q *query) planDuckDB(ctx context.Context, sql *plan.Statement, v *snapshot.View) error {
	q.Given = q.text
	if sql.Tree == nil {
		return q.planForeign(ctx, sql, v)
	}
	if ok, err := q.planCatalog(ctx, sql.Tree, v); ok || err != nil {
		return err
	}
	return q.planHints(ctx, sql, v)
}

// planForeign plans a text that PostgreSQL's parser does not read. The tables are found if that is for EXCLUDE alone.
func (q *query) planForeign(ctx context.Context, sql *plan.Statement, v *snapshot.View) error {
	if readable, ok := bind.WithoutExclude(q.text); ok {
		known := plan.Read(q.text, dialect.TreeOf(readable), q.session.resolver(v))
		if known.ReadsOnly() {
			sql = known
		}
	}
	return q.planHints(ctx, sql, v)
}

// planHints has DuckDB plan the text with its tables spliced in as scans.
func (q *query) planHints(ctx context.Context, sql *plan.Statement, v *snapshot.View) error {
	s := q.session
	var hints []plan.Scan
	if sql.Tree != nil {
		scans, err := sql.Scans()
		if err != nil {
			return err
		}
		hints = scan.Hints(scans, q.Without)
		if err := q.splice(ctx, hints, v); err != nil {
			return err
		}
	}
	spliced := sql.Tree != nil && sql.ReadsOnly() && len(sql.Names().Top) > 0 // not SHOW TABLES
	if err := q.followNames(sql.Tree, hints, spliced, v); err != nil {
		return err
	}
	if err := s.describeForViews(sql.Tree, hints, v); err != nil {
		return err
	}
	if sql.Tree == nil {
		v.Reads.Everything() // DuckDB looks its names up
		q.Given, q.Edits = s.withOwnDatabase(q.text)
	}
	if err := q.prepare(q.Given, q.Edits, v); err != nil {
		return err
	}
	if q.found(sql); q.lasts && len(q.Params) == 0 {
		q.Duck.Steady()
	}
	return nil
}

// prepare lets DuckDB plan the text that was made of the user's.
func (q *query) prepare(given string, made edit.List, v *snapshot.View) error {
	s := q.session
	if given == q.text && q.tokens != nil {
		given = dialect.OperatorsIn(q.tokens)
	} else {
		given = dialect.Operators(given)
	}
	given, former := past.Calls(given)
	q.Given, q.Edits = given, made.Then(former)
	s.yield()
	s.visible, s.looked = v, false
	defer func() { s.visible = nil }()
	duck, err := s.conn.Prepare(given)
	if err != nil {
		return q.explain(err)
	}
	q.viewed, q.Momentary = s.looked, planned.Momentary(given, v)
	q.Duck, q.Params, q.users = duck, duck.Parameters(), duck.UserTypes()
	if q.viewed || s.temporary {
		duck.Hides()
	}
	if !duck.Resolved() {
		if err := q.Resolve(s.conn, q.text); err != nil {
			return err
		}
		duck = q.Duck
	}
	if kind := duck.Kind(); kind != duckdb.KindSelect && kind != duckdb.KindExplain {
		return sqlerror.New("42501", "this statement is not allowed here")
	}
	schema, err := duck.Schema()
	if err != nil {
		return err
	}
	q.schema = planned.UserNames(conform.Schema(schema), q.scans)
	return nil
}

// explain turns an error of DuckDB into one about the user's text.
func (q *query) explain(err error) error {
	if !q.catalog {
		return dialect.FromDuckDB(err, q.Given, q.text, q.Edits)
	}
	err = dialect.WithoutPosition(dialect.FromDuckDB(err, q.Given, q.text, nil))
	if e, ok := err.(*Error); ok {
		if state, ours := pgcatalog.ErrorState(e.Message); ours {
			e.State = state
		}
	}
	return err
}

// splice registers a scan for every hint and puts it in place of the table's name. Occurrences that read the same rows
// share a scan: DuckDB then computes equal parts of the statement once.
func (q *query) splice(ctx context.Context, hints []plan.Scan, v *snapshot.View) error {
	made := make([]*scan.Scan, len(hints))
	for i := range hints {
		h := &hints[i]
		made[i] = q.session.newScan(ctx, v, v.Find(h.Relation.Schema, h.Relation.Name), h)
		made[i].Without = q.Without
		if err := made[i].Restrict(ctx, v.Parts[h.Start]); err != nil {
			return err
		}
	}
	if q.split == nil { // else the nodes do it, each for its part: here nothing is read
		if err := scan.Transfer(ctx, &q.session.engine.scans, hints, made, q.Without); err != nil {
			return err
		}
	}
	calls := make([]string, len(made))
	known := map[string]*scan.Scan{}
	for i, t := range made {
		signature := t.Signature()
		if twin := known[signature]; twin != nil && !q.Without.Has(optimization.SharedScans) {
			t = twin
		} else {
			known[signature] = t
			t.Number = q.session.conn.Register(t.Duck)
			q.scans = append(q.scans, t)
		}
		calls[i] = duckdb.ScanCall(t.Number)
	}
	q.Given, q.Edits = plan.Splice(q.text, hints, func(i int, _ *plan.Scan) string { return calls[i] })
	return nil
}

// execute runs the plan. v is held until the rows are closed.
func (q *query) execute(ctx context.Context, v *snapshot.View, args []any) (*Rows, error) {
	q.session.readsAgain(q)
	if q.compute != nil {
		rows, err := q.executeCompute(ctx, v, args)
		if !errors.Is(err, compute.ErrArgument) || q.session.settings.Backend == configuration.BackendCompute {
			return rows, err
		}
		if err := q.leaveKernels(ctx, v); err != nil {
			return nil, err
		}
	}
	if q.split != nil {
		return q.executeDistributed(ctx, v, args)
	}
	s := q.session
	s.yield() // also confirms what an earlier execution has read
	if err := s.joinDuck(); err != nil {
		return nil, err
	}
	read := q.read.Begin()
	bound := argument.Constants(args)
	for _, t := range q.scans {
		if err := t.Start(ctx, bound); err != nil {
			return nil, err
		}
	}
	duck, err := q.bound(args, v)
	if err != nil {
		return nil, q.explain(err)
	}
	running, err := q.run(ctx, duck, v)
	if err != nil {
		return nil, v.Lease.ErrorOr(q.explain(q.read.Blame(ctx, err)), q.read)
	}
	rows := &Rows{schema: q.schema, volume: read}
	held := v.Lease.Hold()
	rows.fetch = func(context.Context) (arrow.RecordBatch, error) {
		batch, err := running.Next()
		if err != nil && err != io.EOF {
			err = q.read.Blame(ctx, err)
		} else if lost := s.engine.trustworthy(ctx, q.Faults, q.read, held); lost != nil {
			err = lost
		}
		if err != nil {
			if batch != nil {
				batch.Release()
			}
			return nil, held.ErrorOr(q.explain(err), q.read)
		}
		return batch, nil
	}
	rows.onClose(held.Release)
	rows.onClose(func() {
		running.Close()
		if duck != q.Duck {
			duck.Close()
		}
		if s.running == rows {
			s.running = nil
		}
	})
	s.running = rows
	return rows, nil
}

// run starts the statement. DuckDB may replan it first (a parameter has another type than it assumed, or another
// session's commit has changed its names): then the views ask for their tables again.
func (q *query) run(ctx context.Context, duck *duckdb.Statement, v *snapshot.View) (*duckdb.Rows, error) {
	s := q.session
	v.Read = q.read
	s.visible = v
	defer func() { s.visible = nil }()
	rows, err := duck.Execute(ctx)
	if err != nil && duck != q.Duck {
		duck.Close()
	}
	return rows, err
}

// leaveKernels has DuckDB run a query of a value that the kernels do not know as one of the parameter's type.
func (q *query) leaveKernels(ctx context.Context, v *snapshot.View) error {
	s := q.session
	other, err := s.planTables(ctx, s.read(dialect.SourceOf(q.text), v), v)
	if err != nil {
		return err
	}
	other.key, other.typed, other.origins, other.schema = q.key, q.typed, q.origins, q.schema
	other.Names, other.kept, other.bytes = q.Names, q.kept, q.bytes
	*q = *other
	return nil
}

func (q *query) executeCompute(ctx context.Context, v *snapshot.View, args []any) (*Rows, error) {
	e, s := q.session.engine, q.session
	read := s.readings() // several results of one plan may be open
	read.Begin()
	held := lease.NewBatches(e.reader, v.Lease.Hold())
	l := held.Lease
	trustworthy := func() error { return e.trustworthy(ctx, q.Faults, read, l) }
	inPlace := l.Check == nil && !q.Own && (q.source == nil || !q.compute.Table.Relation.Numbered) // those are kept
	table := &kernel.Table{
		Node: e.node, Reader: e.reader, Read: read, Held: held, Facts: q.source, Zones: &e.zonemaps, Without: q.Without, Threads: e.config.Threads,
		Memory: s.account.Allocator(account.Computed), Copied: !inPlace, Schema: q.schema, Trust: trustworthy,
	}
	run, err := table.Open(ctx, q.compute, args)
	if err != nil {
		return nil, err
	}
	rows := &Rows{schema: q.schema, volume: read.Volume(), changes: q.Own, fetch: run.Next}
	if inPlace {
		rows.inPlace = trustworthy
	}
	rows.onClose(run.Close)
	return rows, nil
}

// bound is the statement with its values; the caller closes it if it is not the query's own.
func (q *query) bound(args []any, v *snapshot.View) (*duckdb.Statement, error) {
	if !q.Late {
		return q.Duck, q.Duck.Bind(args)
	}
	text, err := q.WithValues(args)
	if err != nil {
		return nil, err
	}
	s := q.session
	labelled, _, err := s.types(context.Background(), v).Text(context.Background(), dialect.SourceOf(text))
	if err != nil {
		return nil, dialect.WithoutPosition(err)
	}
	text = labelled.Text()
	v.Read = q.read
	s.visible = v
	defer func() { s.visible = nil }()
	duck, err := s.conn.Prepare(text)
	if err != nil {
		return nil, dialect.WithoutPosition(dialect.FromDuckDB(err, text, q.text, nil))
	}
	schema, err := duck.Schema()
	if err == nil && !conform.SameTypes(conform.Schema(schema), q.schema) {
		err = sqlerror.New("0A000", "cached plan must not change result type").WithHint("Say of what type the parameters are: $1::bigint.")
	}
	if err != nil {
		duck.Close()
		return nil, err
	}
	return duck, nil
}

// yield frees the DuckDB connection: a result that is still streaming is read into memory.
func (s *Session) yield() {
	if s.running != nil {
		running := s.running
		s.running = nil
		running.park(&s.parked)
	}
}

// typeLiterals writes literals that DuckDB takes for bytes, or for points in time, in its spelling.
func (s *Session) typeLiterals(ctx context.Context, in dialect.Source, v *snapshot.View) (dialect.Source, error) {
	untyped, some := dialect.UntypedIn(in)
	if !some {
		return in, nil
	}
	q, err := s.planDuckFor(ctx, s.read(dialect.SourceOf(untyped.Asked()), v), v, nil)
	if err != nil && s.conn.Aborted() {
		return in, dialect.WithoutPosition(err) // a constant without a value: nothing more runs in this transaction
	}
	if err != nil {
		return in, nil // nothing is known of them; the statement says itself what is wrong with it
	}
	defer q.close()
	if q.Late || q.AsText {
		return in, nil
	}
	return untyped.Spelled(q.Params)
}

// PIVOT t ON x USING … has a column for every value of x. DuckDB makes two statements of it, the first of which finds the
// values; a statement that is planned has to be one. So the values are asked for in the snapshot of the statement, and
// written into its text: ON x IN ('a', 'b'). Under another snapshot the statement is replanned, with new values.

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
