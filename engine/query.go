package engine

import (
	"context"
	"io"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	pg "github.com/pganalyze/pg_query_go/v6"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/engine/argument"
	"github.com/csmsql/csmsql/engine/configuration"
	"github.com/csmsql/csmsql/engine/conform"
	"github.com/csmsql/csmsql/engine/facts"
	"github.com/csmsql/csmsql/engine/ingest"
	"github.com/csmsql/csmsql/engine/lease"
	"github.com/csmsql/csmsql/engine/lookup"
	"github.com/csmsql/csmsql/engine/member"
	"github.com/csmsql/csmsql/engine/reader"
	"github.com/csmsql/csmsql/engine/scan"
	"github.com/csmsql/csmsql/engine/snapshot"
	"github.com/csmsql/csmsql/engine/split"
	"github.com/csmsql/csmsql/exec/compute"
	"github.com/csmsql/csmsql/exec/duckdb"
	"github.com/csmsql/csmsql/exec/plan"
	"github.com/csmsql/csmsql/sql/bind"
	"github.com/csmsql/csmsql/sql/dialect"
	"github.com/csmsql/csmsql/sql/edit"
	"github.com/csmsql/csmsql/sql/optimization"
	"github.com/csmsql/csmsql/sql/pgcatalog"
	"github.com/csmsql/csmsql/sql/setting"
	"github.com/csmsql/csmsql/sql/sqlerror"
)

// query is a planned statement that reads: for DuckDB, with its tables spliced in as scans, or for the Arrow kernels. It
// belongs to the versions of its tables where they are known, or else to one revision of the catalog (fresh).
type query struct {
	session  *Session
	text     string // the user's
	revision catalog.Revision
	names    lookup.Meanings // what planning has looked up; nil: nobody knows
	own      bool            // it was planned over a block's own changes, which have no revision
	path     []string        // where its names were looked for
	meaning  string          // the session's

	given   string // what DuckDB was given
	edits   edit.List
	duck    *duckdb.Statement
	scans   []*scan.Scan
	compute *plan.Query
	source  *facts.Facts // of compute's table
	schema  *arrow.Schema
	origins []pgcatalog.Origin // of schema's columns, of a user's query; nil: of none
	faults  uint64             // pages that had been found gone when planning, which reads too, began
	read    *reader.Readings
	// verification is how what planning read was compared.
	verification Verification
	reads        *lookup.Names    // what planning looked up
	without      optimization.Set // what planning and running it leave out (csm.disable)
	split        *split.Plan      // how several nodes run it; nil: it runs here
	whole        string           // why not
	nodes        []string         // that were there
	catalog      bool             // it reads PostgreSQL's system catalogs, which this connection has its own copy of

	key    string // under which the session keeps the plan when its statement is closed; empty: it does not
	lasts  bool   // to plan the text again, over the same versions, would give the same
	viewed bool   // planning it looked tables up that stand in no text of its user's
	kept   int64  // what it counts for while it is kept
	bytes  int64  // charged for it meanwhile
	final  *query // of a split one: what its results were finished with last, to be used again

	params         []duckdb.ParameterType
	castParameters bool // all parameters are text, because one of them has no type
	late           bool // duck only describes: it is planned once more when the parameters have values
}

// planQuery plans text, whose tree is nil when only DuckDB's parser understands it.
func (s *Session) planQuery(ctx context.Context, text string, tree *pg.ParseResult, v *snapshot.View) (*query, error) {
	q, err := s.planNamed(ctx, text, tree, v)
	if err == nil && tree != nil {
		q.clientNames(tree)
	}
	return q, err
}

func (s *Session) planNamed(ctx context.Context, text string, tree *pg.ParseResult, v *snapshot.View) (*query, error) {
	if tree == nil {
		expanded, moved, err := s.expandPivots(ctx, text, v)
		if err != nil {
			return nil, err
		}
		if moved != nil {
			return s.planPivots(ctx, text, expanded, moved, v)
		}
	}
	text, tree, err := s.withLiterals(ctx, text, tree, v)
	if err != nil {
		return nil, err
	}
	if formatted, ok := dialect.Formats(text, tree); ok {
		if q, err := s.planText(ctx, formatted, dialect.TreeOf(formatted), v); err == nil {
			return q, nil
		} // what is formatted is no time
	}
	return s.planText(ctx, text, tree, v)
}

func (s *Session) newQuery(text string, v *snapshot.View) *query {
	return &query{
		session: s, text: text, revision: v.Contents.Revision(), own: s.block != nil && s.block.tx != nil, path: s.settings.SearchPath,
		meaning: s.meaning, faults: s.engine.reader.Faults(), verification: s.settings.Verification(), without: s.without(), reads: v.Reads,
	}
}

func (s *Session) planText(ctx context.Context, text string, tree *pg.ParseResult, v *snapshot.View) (*query, error) {
	if tree != nil {
		q := s.newQuery(text, v)
		if ok, err := q.planCompute(tree, v); ok || err != nil {
			return q, err
		}
	}
	if tables, made := s.withViews(text, tree, v); made != nil {
		if q, err := s.planTables(ctx, tables, dialect.TreeOf(tables), v); err == nil && !q.late {
			q.text, q.edits = text, made.Then(q.edits)
			return q, nil
		} else if err == nil {
			q.close()
		} else if s.conn.Spoilt() {
			return nil, dialect.WithoutPosition(err)
		}
	}
	return s.planTables(ctx, text, tree, v)
}

// planTables plans a text for DuckDB, on this node or on several.
func (s *Session) planTables(ctx context.Context, text string, tree *pg.ParseResult, v *snapshot.View) (*query, error) {
	parts, whole := s.distribute(text, tree, v)
	q, err := s.planDuckFor(ctx, text, tree, v, parts)
	if err == nil && parts != nil && (q.late || q.castParameters) {
		q.close()
		whole = "it has a parameter whose type is not certain"
		q, err = s.planDuckFor(ctx, text, tree, v, nil)
	}
	if err == nil {
		q.whole = whole
		if len(q.params) == 0 {
			q.nodes = s.engine.split.Nodes()
		}
	}
	return q, err
}

// planOnce gives the plan that is kept for the statement's text, or makes one that is to be kept.
func (s *Session) planOnce(ctx context.Context, st *Statement, v *snapshot.View) (*query, error) {
	text := st.parsed.Text
	anew := s.plansAnew()
	if !anew {
		if q := s.takePlan(text, v); q != nil {
			return q, nil
		}
	}
	tree := st.treeOf(text)
	q, err := s.planQuery(ctx, text, tree, v)
	if err != nil {
		return nil, err
	}
	q.names = q.meanings(v)
	if q.lasts && !anew {
		q.key = text
	}
	if origins := pgcatalog.Origins(text, tree, s.relations(v)); len(origins) == q.schema.NumFields() {
		q.origins = origins
	}
	return q, nil
}

// withLiterals is a text whose literals are written as DuckDB reads them: by their casts, or as the columns beside them say.
func (s *Session) withLiterals(ctx context.Context, text string, tree *pg.ParseResult,
	v *snapshot.View) (string, *pg.ParseResult, error) {
	translated, ok, err := dialect.Literals(text, tree)
	if err != nil {
		return "", nil, err
	}
	if ok {
		text, tree = translated, dialect.TreeOf(translated)
	}
	if translated, ok, err = s.typeLiterals(ctx, text, tree, v); err != nil {
		return "", nil, err
	}
	if ok {
		text, tree = translated, dialect.TreeOf(translated)
	}
	return text, tree, nil
}

// planDuck plans text for DuckDB, whatever backend the session prefers.
func (s *Session) planDuck(ctx context.Context, text string, tree *pg.ParseResult, v *snapshot.View) (*query, error) {
	text, tree, err := s.withLiterals(ctx, text, tree, v)
	if err != nil {
		return nil, err
	}
	return s.planDuckFor(ctx, text, tree, v, nil)
}

// planDuckFor plans text that several nodes run as parts say: here it only tells what the result's columns are.
func (s *Session) planDuckFor(ctx context.Context, text string, tree *pg.ParseResult, v *snapshot.View, parts *split.Plan) (*query, error) {
	q := s.newQuery(text, v)
	q.read, q.split = v.Read, parts
	err := q.read.Blame(ctx, q.planDuckDB(ctx, tree, v))
	if err == nil { // the keys of small tables that are part of the plan
		err = q.read.Confirm(ctx)
	}
	if err != nil {
		q.close()
		return nil, v.Lease.ErrorOr(err, q.read)
	}
	return q, nil
}

// fresh tells whether the plan still stands for what v shows.
func (q *query) fresh(v *snapshot.View) bool {
	s := q.session
	return !q.own && (s.block == nil || s.block.tx == nil) &&
		(q.nodes == nil || slices.Equal(q.nodes, s.engine.split.Nodes())) && q.faults == s.engine.reader.Faults() &&
		slices.Equal(q.path, s.settings.SearchPath) && q.meaning == s.meaning &&
		q.verification == s.settings.Verification() && q.without == s.without() && q.means(v)
}

func (q *query) close() {
	if q.duck != nil {
		q.duck.Close()
		q.duck = nil
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
func (q *query) planCompute(tree *pg.ParseResult, v *snapshot.View) (bool, error) {
	backend := q.session.settings.Backend
	if backend == configuration.BackendDuckDB || backend == configuration.BackendAuto && q.without.Has(optimization.Compute) {
		return false, nil
	}
	planned, unsupported := plan.Compute(q.text, tree, q.session.resolver(v))
	if other := setting.Meaning(q.session.settings.Given); other != "" && unsupported == nil {
		name, _, _ := strings.Cut(other, "=")
		unsupported = &plan.Unsupported{Reason: name + " is not what it is by default", Position: -1}
	}
	if unsupported != nil {
		if backend == configuration.BackendCompute {
			return false, sqlerror.New("0A000", "the Arrow-kernel backend cannot run this: %s", unsupported).WithHint("SET csm.backend = 'auto' lets DuckDB run it.")
		}
		return false, nil
	}
	if planned.Table != nil && marked(planned.Table, v) {
		if backend == configuration.BackendCompute {
			return false, sqlerror.New("0A000", "the Arrow-kernel backend cannot run this: columns of types that Arrow lacks (UUID, JSON)").WithHint("SET csm.backend = 'auto' lets DuckDB run it.")
		}
		return false, nil
	}
	// DuckDB knows what types parameters have; clients ask.
	if backend == configuration.BackendAuto && (!planned.Trivial() || planned.Parameters > 0) {
		return false, nil
	}
	q.compute, q.schema = planned, ingest.LogicalSchema(planned.Schema())
	q.lasts = !q.own && planned.Parameters == 0 // the kernels know no function and no view
	if planned.Table != nil {
		q.source = q.session.engine.facts.Of(v.Find(planned.Table.Relation.Schema, planned.Table.Relation.Name))
	}
	return true, nil
}

// marked tells whether a scan reads columns whose type is in the field's metadata: the kernels would lose it.
func marked(scan *plan.TableScan, v *snapshot.View) bool {
	schema := v.Find(scan.Relation.Schema, scan.Relation.Name).Table().Columns
	return slices.ContainsFunc(scan.Project, func(i int) bool { return schema.Field(i).Metadata.FindKey("ARROW:extension:name") >= 0 })
}

// planDuckDB splices the tables that exec/plan found into the text and prepares it; tables that it did not find are
// resolved by DuckDB through the views that mirror the catalog.
func (q *query) planDuckDB(ctx context.Context, tree *pg.ParseResult, v *snapshot.View) error {
	q.given = q.text
	if tree == nil {
		return q.planForeign(ctx, v)
	}
	if ok, err := q.planCatalog(ctx, tree, v); ok || err != nil {
		return err
	}
	hints, err := plan.Scans(q.text, tree, q.session.resolver(v))
	if err != nil {
		return err
	}
	return q.planHints(ctx, tree, hints, v)
}

// planForeign plans a text that PostgreSQL's parser does not read. The tables are found if that is for EXCLUDE alone.
func (q *query) planForeign(ctx context.Context, v *snapshot.View) error {
	if readable, ok := bind.WithoutExclude(q.text); ok {
		tree := dialect.TreeOf(readable) // without one there are no scans
		if hints, err := plan.Scans(q.text, tree, q.session.resolver(v)); err == nil && plan.ReadsOnly(tree, hints) {
			return q.planHints(ctx, tree, hints, v)
		}
	}
	return q.planHints(ctx, nil, nil, v)
}

// planHints has DuckDB plan the text with its tables spliced in as scans.
func (q *query) planHints(ctx context.Context, tree *pg.ParseResult, hints []plan.Scan, v *snapshot.View) error {
	s := q.session
	if tree != nil {
		withoutHints(hints, q.without)
		if err := q.splice(ctx, hints, v); err != nil {
			return err
		}
	}
	if err := q.followNames(tree, hints, v); err != nil {
		return err
	}
	if err := s.describeForViews(tree, hints, v); err != nil {
		return err
	}
	if tree == nil {
		v.Reads.Everything() // DuckDB looks its names up
		q.given, q.edits = s.withOwnDatabase(q.text)
	}
	if err := q.prepare(q.given, q.edits, v); err != nil {
		return err
	}
	if q.lasts = q.lasting(tree, hints); q.lasts && len(q.params) == 0 {
		q.duck.Steady()
	}
	return nil
}

// prepare lets DuckDB plan the text that was made of the user's.
func (q *query) prepare(given string, made edit.List, v *snapshot.View) error {
	s := q.session
	given = dialect.Operators(given)
	q.given, q.edits = given, made
	s.yield()
	s.visible, s.looked = v, false
	defer func() { s.visible = nil }()
	duck, err := s.conn.Prepare(given)
	if err != nil {
		return q.explain(err)
	}
	q.viewed = s.looked
	q.duck, q.params = duck, duck.Parameters()
	if q.viewed || s.temporary {
		duck.Hides()
	}
	if !duck.Resolved() {
		if err := q.resolve(given); err != nil {
			return err
		}
		duck = q.duck
	}
	if kind := duck.Kind(); kind != duckdb.KindSelect && kind != duckdb.KindExplain {
		return sqlerror.New("42501", "this statement is not allowed here")
	}
	schema, err := duck.Schema()
	if err != nil {
		return err
	}
	q.schema = q.userNames(conform.Schema(schema))
	return nil
}

// explain turns an error of DuckDB into one about the user's text.
func (q *query) explain(err error) error {
	if !q.catalog {
		return dialect.FromDuckDB(err, q.given, q.text, q.edits)
	}
	err = dialect.WithoutPosition(dialect.FromDuckDB(err, q.given, q.text, nil))
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
		made[i].Without = q.without
		if err := made[i].Restrict(ctx, v.Parts[h.Start]); err != nil {
			return err
		}
	}
	if q.split == nil { // else the nodes do it, each for its part: here nothing is read
		if err := scan.Transfer(ctx, &q.session.engine.scans, hints, made, q.without); err != nil {
			return err
		}
	}
	calls := make([]string, len(made))
	known := map[string]*scan.Scan{}
	for i, t := range made {
		signature := t.Signature()
		if twin := known[signature]; twin != nil && !q.without.Has(optimization.SharedScans) {
			t = twin
		} else {
			known[signature] = t
			t.Number = q.session.conn.Register(t.Duck)
			q.scans = append(q.scans, t)
		}
		calls[i] = duckdb.ScanCall(t.Number)
	}
	q.given, q.edits = plan.Splice(q.text, hints, func(i int, _ *plan.Scan) string { return calls[i] })
	return nil
}

// execute runs the plan. v is held until the rows are closed.
func (q *query) execute(ctx context.Context, v *snapshot.View, args []any) (*Rows, error) {
	q.session.readsAgain(q)
	if q.compute != nil {
		return q.executeCompute(ctx, v, args)
	}
	if q.split != nil {
		return q.executeDistributed(ctx, v, args)
	}
	s := q.session
	s.yield() // also confirms what an earlier execution has read
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
		} else if lost := s.engine.trustworthy(ctx, q.faults, q.read, held); lost != nil {
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
		if duck != q.duck {
			duck.Close()
		}
		if s.running == rows {
			s.running = nil
		}
	})
	s.running = rows
	return rows, nil
}

// run starts the statement. DuckDB may plan it anew first (a parameter has another type than it thought, or its names have moved
// on with another session's commit): then the views ask for their tables again.
func (q *query) run(ctx context.Context, duck *duckdb.Statement, v *snapshot.View) (*duckdb.Rows, error) {
	s := q.session
	v.Read = q.read
	s.visible = v
	defer func() { s.visible = nil }()
	rows, err := duck.Execute(ctx)
	if err != nil && duck != q.duck {
		duck.Close()
	}
	return rows, err
}

func (q *query) executeCompute(ctx context.Context, v *snapshot.View, args []any) (*Rows, error) {
	e := q.session.engine
	read := q.session.readings() // several results of one plan may be open
	read.Begin()
	held := lease.NewBatches(e.reader, v.Lease.Hold())
	open := func(ctx context.Context, scan plan.TableScan) (compute.Source, error) {
		keep, err := facts.Pruned(ctx, q.source, scan.Bind(argument.Constants(args)), q.without)
		if err != nil {
			return nil, err
		}
		schema, err := q.source.Stored(ctx, scan.Project)
		if err != nil {
			return nil, err
		}
		return &chunkSource{engine: e, read: read, held: held, facts: q.source, columns: scan.Project, keep: keep, schema: schema}, nil
	}
	reader, err := compute.Run(ctx, q.compute, open, argument.ForKernels(args), nil)
	if err != nil {
		held.Close()
		return nil, v.Lease.ErrorOr(read.Blame(ctx, err), read)
	}
	rows := &Rows{schema: q.schema, volume: read.Volume(), changes: q.own}
	l := held.Lease
	trustworthy := func() error { return e.trustworthy(ctx, q.faults, read, l) }
	inPlace := l.Check == nil && !q.own
	if inPlace {
		rows.inPlace = trustworthy
	}
	rows.fetch = func(context.Context) (arrow.RecordBatch, error) {
		if !reader.Next() {
			if err := reader.Err(); err != nil {
				return nil, l.ErrorOr(read.Blame(ctx, err), read)
			}
			if lost := trustworthy(); lost != nil {
				return nil, lost
			}
			return nil, io.EOF
		}
		narrow := conform.Decimals(reader.RecordBatch(), q.schema)
		batch, err := narrow, error(nil)
		if !inPlace {
			batch, err = conform.Detach(ctx, narrow, q.schema)
		}
		if err != nil {
			return nil, l.ErrorOr(err, read)
		}
		if lost := trustworthy(); lost != nil {
			batch.Release()
			return nil, lost
		}
		return batch, nil
	}
	rows.onClose(held.Close)
	rows.onClose(reader.Release)
	return rows, nil
}

// chunkSource gives the compute backend a table's chunks in place.
type chunkSource struct {
	engine  *Engine
	read    *reader.Readings
	held    *lease.Batches
	facts   *facts.Facts
	columns []int
	keep    []int
	schema  *arrow.Schema // what all chunks can be brought to
}

// Schema makes it a compute.Described: chunks of one table may be laid out differently.
func (c *chunkSource) Schema() *arrow.Schema { return c.schema }

func (c *chunkSource) Next(ctx context.Context) (arrow.RecordBatch, error) {
	if len(c.keep) == 0 {
		return nil, io.EOF
	}
	i := c.keep[0]
	c.keep = c.keep[1:]
	chunk, err := c.facts.Version.Chunk(ctx, i)
	if err != nil {
		return nil, err
	}
	batch, err := c.engine.reader.ReadHeld(ctx, c.read, c.held.Retain, c.facts.Version.Table().Name.String(), i, chunk, c.columns)
	if err == nil {
		c.read.Volume().Count(member.Holds(c.engine.node, chunk), chunk, c.columns, false)
	}
	return batch, err
}

// yield frees the DuckDB connection: a result that is still streaming is read into memory.
func (s *Session) yield() {
	if s.running != nil {
		running := s.running
		s.running = nil
		running.park(&s.parked)
	}
}

// typeLiterals writes literals that DuckDB takes for bytes, or for points in time, in its spelling, and tells whether there were any.
func (s *Session) typeLiterals(ctx context.Context, text string, tree *pg.ParseResult, v *snapshot.View) (string, bool, error) {
	untyped, some := dialect.UntypedIn(text, tree)
	if !some {
		return text, false, nil
	}
	asked := untyped.Asked()
	q, err := s.planDuckFor(ctx, asked, dialect.TreeOf(asked), v, nil)
	if err != nil && s.conn.Spoilt() {
		return text, false, dialect.WithoutPosition(err) // a constant without a value: nothing more runs in this transaction
	}
	if err != nil {
		return text, false, nil // nothing is known of them; the statement says itself what is wrong with it
	}
	defer q.close()
	if q.late || q.castParameters {
		return text, false, nil
	}
	return untyped.Spelled(q.params)
}

// withoutHints takes out of hints what planning is to do without.
func withoutHints(hints []plan.Scan, without optimization.Set) {
	for i := range hints {
		if without.Has(optimization.Keys) {
			hints[i].Joins = nil
		}
		if without.Has(optimization.Groups) {
			hints[i].Group = nil
		}
		if without.Has(optimization.Enum) {
			hints[i].EnumSafe = nil
		}
	}
}
