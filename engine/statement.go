package engine

import (
	"cmp"
	"context"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/engine/configuration"
	"github.com/csmsql/csmsql/engine/conform"
	"github.com/csmsql/csmsql/engine/function"
	"github.com/csmsql/csmsql/engine/history"
	"github.com/csmsql/csmsql/engine/namedtype"
	"github.com/csmsql/csmsql/engine/outcome"
	"github.com/csmsql/csmsql/engine/overdue"
	"github.com/csmsql/csmsql/engine/part"
	"github.com/csmsql/csmsql/engine/revalidation"
	"github.com/csmsql/csmsql/engine/rewrite"
	"github.com/csmsql/csmsql/engine/snapshot"
	"github.com/csmsql/csmsql/engine/workforce"
	"github.com/csmsql/csmsql/exec/duckdb"
	"github.com/csmsql/csmsql/sql/dialect"
	"github.com/csmsql/csmsql/sql/lex"
	"github.com/csmsql/csmsql/sql/setting"
	"github.com/csmsql/csmsql/sql/sqlerror"
	"github.com/csmsql/csmsql/sql/statement"
	"github.com/csmsql/csmsql/sql/typing"
)

// Statement is a prepared statement of a session. It may be executed again; when the catalog has changed meanwhile it
// is replanned.
type Statement struct {
	session   *Session
	parsed    *statement.Statement
	plan      *query // of a statement that reads, or of the query that a writing statement takes its rows from
	run       func(ctx context.Context, args []any) (*Rows, error)
	schema    *arrow.Schema
	origins   []typing.Origin // of schema's columns; nil: of none
	params    []duckdb.ParameterType
	inBlock   bool                 // may run in a failed transaction block
	returning *rewrite.Returning   // what a writing statement returns of its rows; nil: nothing
	inner     *Statement           // the query of a DECLARE that has not opened its cursor yet, the statement that EXECUTE runs
	failed    bool                 // its plan is not to be used again
	unplanned bool                 // it needs none, and its parameters are known
	constant  bool                 // its rows need neither DuckDB nor a look for keys
	written   dialect.Written      // how the user wrote its text
	grounds   revalidation.Grounds // for which its text was written so
	postgres  bool                 // which is PostgreSQL's
	elsewhere *elsewhere           // of a query that a worker runs; nil: it runs here
	locks     string               // what PostgreSQL calls it if it locks rows
	parts     *part.Parts          // which run before it, and which it reads
	part      bool                 // it is one
	args      []any                // of the statement that it is made of, for them
	nothing   bool                 // dialect.NamesNothing, which looks at the whole text
	planned   *snapshot.View       // what the plan was made for, for its first execution, if that comes at once

	planText  string // from which a dropped plan is made again; empty: it is not dropped
	used      uint64 // when, of its session's statements
	bytes     int64  // charged for it without its plan
	beside    int    // bytes of a text that is kept beside its own
	planBytes int64  // charged for its plan
}

// Prepare parses and plans one statement.
func (s *Session) Prepare(ctx context.Context, sql string) (*Statement, error) {
	return s.PrepareIn(ctx, sql, "")
}

// PrepareIn is Prepare of a text that means what a dialect says, whatever the session's is: DialectDuckDB for one that
// Statement.Text or NamedStatement.Query gave; empty: what the session's does.
func (s *Session) PrepareIn(ctx context.Context, sql, in string) (*Statement, error) {
	return s.PrepareText(ctx, lex.Client.Text(sql), in)
}

// PrepareText is PrepareIn of a text of which others have found tokens, in the dialect lex.Client.
func (s *Session) PrepareText(ctx context.Context, text *lex.Text, in string) (*Statement, error) {
	if err := s.life.Enter(); err != nil {
		return nil, err
	}
	defer s.life.Leave()
	st, err := s.probe(ctx, text, in)
	if err != nil {
		s.fail()
	}
	return st, err
}

// ProbeIn is PrepareIn, but an error leaves an open transaction block as it is: for questions that the user did not ask.
func (s *Session) ProbeIn(ctx context.Context, sql, in string) (*Statement, error) {
	return s.probe(ctx, lex.Client.Text(sql), in)
}

func (s *Session) probe(ctx context.Context, read *lex.Text, in string) (*Statement, error) {
	st := &Statement{session: s}
	if err := st.prepareText(ctx, read, in); err != nil {
		return nil, err
	}
	return st, nil
}

// prepareText has the statement be the one of a text.
func (st *Statement) prepareText(ctx context.Context, read *lex.Text, in string) error {
	s := st.session
	ctx, leave, err := s.life.Call(ctx)
	if err != nil {
		return err
	}
	defer leave()
	if in == "" {
		in = s.dialect()
	}
	over, err := s.takeTurn(ctx, read.SQL)
	if err != nil {
		return s.life.CauseOf(outcome.Ended(ctx, err))
	}
	defer over()
	users, parsed := dialect.Written{}, (*statement.Statement)(nil)
	if in == DialectDuckDB {
		parsed = s.keptText(read.SQL, in)
	}
	if parsed == nil {
		done, err := s.parsing(ctx, read)
		if err != nil {
			return s.life.CauseOf(outcome.Ended(ctx, err))
		}
		defer done()
		if read, users, err = dialect.Given(read, in); err != nil {
			return err
		}
		if read, users, err = s.sequences.Read(ctx, read, users); err != nil {
			return err
		}
		if in != DialectDuckDB {
			parsed = s.keptText(read.SQL, in)
		}
		if parsed == nil && s.parsed != nil && s.parsed.Text == read.SQL {
			parsed = s.parsed
		}
		if parsed == nil {
			if parsed, err = statement.ParseText(read); err != nil {
				return users.Place(err)
			}
		}
	}
	*st = Statement{session: s, written: users}
	listens := s.conn.Hear(ctx)
	err = s.functions().Prepare(ctx, parsed, users, in, func(parsed *statement.Statement, users dialect.Written,
		uses *function.Uses) error {
		*st = Statement{session: s, parsed: parsed, written: users, postgres: in == DialectPostgres,
			nothing: dialect.NamesNothing(parsed), grounds: revalidation.Grounds{Functions: uses}}
		return st.prepare(ctx)
	})
	listens()
	if ended := cmp.Or(ctx.Err(), s.seen.Err()); err == nil && ended != nil { // DuckDB had planned to the end
		st.close()
		err = ended
	}
	if err != nil {
		return st.written.Place(s.cause(ctx, err))
	}
	if len(st.parsed.Text) > dialect.TreeMax {
		st.parsed.Tree = nil // it may be a hundred times the text
	}
	if err := st.charge(); err != nil {
		st.close()
		return err
	}
	if st.plan != nil || st.inner != nil {
		s.statements[st] = struct{}{}
	}
	return nil
}

// Fail makes an open transaction block a failed one: PostgreSQL's clients rely on it. The server between the session
// and its client calls it for its own errors.
func (s *Session) Fail() { s.life.Do(s.fail) }

func (s *Session) fail() {
	if s.block != nil && !s.block.implicit {
		s.block.failed = true
		s.block.Fail()
	}
}

var errFailedBlock = sqlerror.New("25P02", "current transaction is aborted, commands ignored until end of transaction block")

func (st *Statement) prepare(ctx context.Context) error {
	s := st.session
	switch st.parsed.Head.(type) {
	case *statement.Commit, *statement.Rollback, *statement.RollbackTo:
		st.inBlock = true
	default:
		if s.block != nil && s.block.failed {
			return errFailedBlock
		}
		s.block.sees()
	}
	if err := dialect.RefuseReserved(st.parsed); err != nil {
		return err
	}
	return st.prepareWhole(ctx)
}

// prepareWhole is prepare of a statement, or a part of one, with the parts that are in it.
func (st *Statement) prepareWhole(ctx context.Context) error {
	s := st.session
	s.seeded = s.seeded || workforce.Mentions(st.parsed.Text, "setseed")
	typed := func() (*statement.Statement, error) { err := st.typed(ctx, nil); return st.parsed, err }
	if parts, err := part.Find(st.parsed, typed); err != nil {
		return err
	} else if parts != nil {
		return parts.CloseFor(st.prepareParts(ctx, parts))
	}
	return st.prepareKind(ctx)
}

func (st *Statement) prepareKind(ctx context.Context) error {
	s := st.session
	if _, reads := st.parsed.Head.(*statement.Select); reads {
		return st.prepareRead(ctx)
	}
	if err := st.typed(ctx, nil); err != nil {
		return err
	}
	switch head := st.parsed.Head.(type) {
	case *statement.Explain:
		return st.prepareExplain(ctx, head)
	case *statement.Show:
		return st.prepareShow(ctx, head)
	}
	s.forgetPlans()
	switch head := st.parsed.Head.(type) {
	case *statement.Insert:
		return st.prepareInsert(ctx, head)
	case *statement.CreateTableAs:
		return st.prepareCreateTableAs(ctx, head)
	case *statement.Copy:
		return st.prepareCopy(ctx, head)
	case *statement.Delete, *statement.Update, *statement.Merge:
		return st.prepareRewrite(ctx)
	case *statement.Private:
		return st.preparePrivate(ctx, head)
	case *statement.Declare:
		return st.prepareDeclare(ctx, head)
	case *statement.Fetch:
		return st.prepareFetch(head)
	case *statement.Execute:
		return st.prepareExecute(ctx, head)
	default:
		st.run = st.command(head)
	}
	return nil
}

// Parameters are the types of $1, $2, … as far as they are known.
func (st *Statement) Parameters() []duckdb.ParameterType { return st.params }

// Text is the statement's text as it is planned. It means the same in every session that prepares it as DialectDuckDB.
func (st *Statement) Text() string { return st.parsed.Text }

// Schema describes the rows, nil when the statement returns none.
func (st *Statement) Schema() *arrow.Schema { return st.schema }

// Origins says which columns of tables and views those of Schema are, as the system catalogs name them; nil: none.
func (st *Statement) Origins() []typing.Origin { return st.origins }

// Close forgets the statement. Without Close it goes with its session.
func (st *Statement) Close() error {
	if s := st.session; s.life.EnterToClose() {
		defer s.life.Leave()
		st.close()
	}
	return nil
}

func (st *Statement) close() {
	delete(st.session.statements, st)
	if b := st.session.block; b != nil && b.sole != nil && b.sole.statement == st {
		b.sole = nil
	}
	st.discharge()
	st.parts.Close()
	if st.inner != nil {
		st.inner.close() // of a DECLARE it never ran, around parts
		st.inner = nil
	}
	if st.plan != nil {
		if st.failed {
			st.plan.close()
		} else {
			st.session.keepPlan(st.plan)
		}
		st.plan = nil
	}
	st.planned.Release()
	st.planned = nil
}

// Execute runs the statement. Close the rows before the session runs another one, or let it keep them. ctx is theirs, too.
func (st *Statement) Execute(ctx context.Context, args []any) (*Rows, error) {
	s := st.session
	if err := s.life.Enter(); err != nil {
		return nil, err
	}
	defer s.life.Leave()
	ctx, done := s.life.Within(ctx)
	listens := s.conn.Hear(ctx)
	rows, err := st.execute(ctx, args)
	listens()
	if err != nil {
		err = s.cause(ctx, err)
		done()
		return nil, err
	}
	rows.session = s
	written := st.written // it may be prepared again meanwhile
	rows.causeOf = func(err error) error { return written.Place(s.cause(ctx, err)) }
	if rows.fetch == nil { // many do not close a result without rows
		done()
		return rows, nil
	}
	fetch := rows.fetch
	rows.fetch = func(reader context.Context) (arrow.RecordBatch, error) {
		defer s.conn.Hear(ctx)() // something may have to be planned after all
		if reader.Done() == nil {
			reader = ctx
		}
		return fetch(reader)
	}
	rows.closers = append([]func(){done}, rows.closers...)
	s.open[rows] = struct{}{}
	return rows, nil
}

func (st *Statement) execute(ctx context.Context, args []any) (*Rows, error) {
	s := st.session
	if s.block != nil && s.block.failed && !st.inBlock {
		return nil, errFailedBlock
	}
	args, err := st.arguments(args)
	if err != nil {
		return nil, st.written.Place(err)
	}
	st.touch()
	st.makeRoom()
	if s.block != nil {
		s.block.executed, s.block.sole = s.block.executed+1, nil
		s.block.sees()
	}
	var rows *Rows
	if err = s.refuseWrite(ctx, st); err == nil {
		rows, err = st.runRevalidated(ctx, args)
	}
	if err != nil {
		st.failed = true
		if !st.inBlock {
			s.fail()
		}
		return nil, err
	}
	if inPlace := rows.inPlace; inPlace != nil {
		rows.inPlace = func() error {
			err := inPlace()
			if err != nil {
				s.fail()
			}
			return err
		}
	}
	fetch := rows.fetch
	if fetch != nil {
		rows.fetch = func(ctx context.Context) (arrow.RecordBatch, error) {
			b, err := fetch(ctx)
			if err != nil && b == nil && !isEnd(err) {
				st.failed = true
				s.fail()
			}
			return b, err
		}
		s.block.began(rows)
	}
	return rows, nil
}

func (st *Statement) prepareRead(ctx context.Context) error {
	s := st.session
	if configuration.CallsSetConfig(st.parsed.Text) {
		if err := configuration.RefuseAsking(st.parsed.Text); err != nil {
			return err
		}
		_, disarm := s.settings.Arm()
		defer disarm()
	}
	v, err := s.pinRead(ctx, st.nothing, nil)
	if err != nil {
		return err
	}
	defer v.Release()
	if st.parsed.Tree != nil { // otherwise its plan is kept, and stands for the most part
		if err := s.show(v); err != nil {
			return err
		}
	}
	if err := st.typed(ctx, v); err != nil {
		return err
	}
	if done, err := st.prepareLocking(ctx, v); done || err != nil {
		return err
	}
	plan, gone, err := st.planElsewhere(ctx, v)
	if gone || err != nil {
		return err
	}
	if plan == nil {
		plan, err = s.planOnce(ctx, st, v)
	}
	if err != nil {
		return st.parsed.PreferSyntax(err)
	}
	st.setPlan(plan)
	st.schema, st.origins = plan.schema, plan.origins
	st.run, st.planText = st.read, plan.Original(plan.text)
	if s.settings.Armed() {
		st.run, st.planText = st.readAndSet, ""
	}
	if s.atOnce {
		st.planned = s.seeing(v.Contents, v.Lease.Hold(), v.Own)
	}
	return nil
}

// typed has the statement mean what its types say, if its text is PostgreSQL's. One whose plan is kept has no tree: it
// was looked at before. v is nil: what the session sees is looked up if there is a query in it.
func (st *Statement) typed(ctx context.Context, v *snapshot.View) (err error) {
	if err := st.nameTypes(ctx); err != nil {
		return err
	}
	if !st.postgres || !dialect.NeedsTypes(st.parsed) {
		return nil
	}
	if v == nil {
		if v, err = st.session.see(ctx); err != nil {
			return err
		}
		defer v.Release()
	}
	names := st.session.relations(v)
	st.parsed, st.written, err = st.written.Typed(st.parsed, names.Find)
	st.grounds.Relations = append(st.grounds.Relations, names.Meanings()...)
	return err
}

// nameTypes has a statement of which more is kept than a plan name the users' types by their numbers.
func (st *Statement) nameTypes(ctx context.Context) error {
	s := st.session
	_, reads := st.parsed.Head.(*statement.Select) // what is planned is looked at then
	heard := s.heard()
	if reads || !namedtype.Concerns(st.parsed, s.temporary, heard == nil || heard.HasTypes()) {
		return nil
	}
	v, err := s.see(ctx)
	if err != nil {
		return err
	}
	defer v.Release()
	st.parsed, st.written, err = s.types(ctx, v).Statement(ctx, st.parsed, st.written)
	return err
}

// heard is what the session knows without asking; nil: nothing.
func (s *Session) heard() *catalog.Contents {
	switch {
	case s.block != nil && s.block.Lease != nil:
		return s.block.Contents()
	case s.engine.catalog == nil:
		return nil
	}
	return s.engine.catalog.Applied()
}

func (st *Statement) setPlan(plan *query) { st.plan, st.params = plan, plan.Params }

var unplanned = &query{}

// replan makes the plan again when the catalog has moved on, and returns what it sees; the caller releases that, unless
// there is an error.
func (st *Statement) replan(ctx context.Context) (v *snapshot.View, err error) {
	atOnce := st.planned != nil
	if v, st.planned = st.planned, nil; !atOnce {
		if v, err = st.session.pinRead(ctx, st.nothing, cmp.Or(st.plan, unplanned).Names); err != nil {
			return nil, err
		}
	}
	defer func() { v, err = v.Unless(err) }()
	fresh := st.plan != nil && st.plan.fresh(v)
	if !fresh && !st.nothing && v.Unsealed() { // it was of what the former plan reads
		v.Release()
		v, err = st.session.pinRead(ctx, false, nil)
	}
	if err == nil && (!fresh || !atOnce && st.grounds.Relations.Own()) {
		err = st.means(v)
	}
	if fresh || err != nil {
		return v, err
	}
	old, text := st.plan, st.planText
	if old != nil {
		text = old.Original(old.text)
	}
	plan, err := st.planAgain(ctx, text, v)
	if err != nil {
		return v, err
	}
	if old != nil {
		old.close()
	}
	plan.Names, st.plan = plan.meanings(v), plan
	if err = st.chargePlan(); err != nil {
		st.dropPlan()
	}
	return v, err
}

func (st *Statement) planAgain(ctx context.Context, text string, v *snapshot.View) (*query, error) {
	over, err := st.session.takeTurn(ctx, text)
	if err != nil {
		return nil, err
	}
	defer over()
	if err := st.session.show(v); err != nil {
		return nil, err
	}
	return st.session.planQuery(ctx, st.source(text), v)
}

func (st *Statement) readOnce(ctx context.Context, args []any) (*Rows, error) {
	v, err := st.replan(ctx)
	if err != nil {
		return nil, err
	}
	defer v.Release()
	if st.schema != nil && !st.plan.schema.Equal(st.schema) {
		return nil, revalidation.Outdated()
	}
	started := time.Now()
	st.session.noticeAge(v)
	rows, err := st.plan.execute(ctx, v, args)
	st.session.remember(st.plan.text, started, rows, err)
	return rows, err
}

// textRows is a result of text lines under one column name.
func textRows(name string, lines []string, tag string) *Rows {
	batch := conform.Texts(name, lines)
	return &Rows{schema: batch.Schema(), tag: func(int64) string { return tag }, fetch: conform.Once(batch)}
}

func (st *Statement) prepareShow(ctx context.Context, head *statement.Show) error {
	if head.Name == "all" {
		return st.prepareShowAll(ctx)
	}
	if _, err := st.session.Setting(head.Name); err != nil {
		return err
	}
	name := setting.Shown(head.Name)
	st.schema = conform.TextSchema(name)
	st.run = func(context.Context, []any) (*Rows, error) {
		value, err := st.session.Setting(head.Name)
		if err != nil {
			return nil, err
		}
		return textRows(name, []string{value}, "SHOW"), nil
	}
	return nil
}

// prepareShowAll is SHOW ALL, which is a query with another tag.
func (st *Statement) prepareShowAll(ctx context.Context) error {
	inner, err := st.session.PrepareIn(ctx, "SELECT name, current_setting(name) AS setting, short_desc AS description "+
		"FROM pg_catalog.pg_settings ORDER BY lower(name) ASC", DialectDuckDB)
	if err != nil {
		return err
	}
	st.inner, st.schema = inner, inner.schema
	st.run = func(ctx context.Context, args []any) (*Rows, error) {
		rows, err := inner.Execute(ctx, args)
		if err == nil {
			rows.tag = func(int64) string { return "SHOW" }
		}
		return rows, err
	}
	return nil
}

// Query runs the statement and streams its rows, as Session.Query does.
func (st *Statement) Query(ctx context.Context, args ...any) (array.RecordReader, error) {
	ctx, stop := st.hurried(ctx)
	rows, err := st.Execute(ctx, args)
	if err != nil {
		stop()
		return nil, err
	}
	rows.onClose(stop)
	return newRecordReader(rows), nil
}

// Exec runs the statement and drops its rows.
func (st *Statement) Exec(ctx context.Context, args ...any) (Result, error) {
	ctx, stop := st.hurried(ctx)
	defer stop()
	rows, err := st.Execute(ctx, args)
	if err != nil {
		return Result{}, err
	}
	return rows.drain(ctx)
}

// hurried is ctx with an end by the session's statement_timeout, for callers in the same process. A server keeps the
// time itself, because in the protocol it begins with a message.
func (s *Session) hurried(ctx context.Context) (context.Context, context.CancelFunc) {
	return outcome.Within(ctx, s.Timeout("statement_timeout"))
}

// hurried is the session's, but none of a COMMIT's time counts.
func (st *Statement) hurried(ctx context.Context) (context.Context, context.CancelFunc) {
	if st.EndsBlock() {
		return ctx, func() {}
	}
	return st.session.hurried(ctx)
}

// EndsBlock reports whether the statement is COMMIT or ROLLBACK, which statement_timeout does not bound.
func (st *Statement) EndsBlock() bool { return statement.EndsBlock(st.parsed.Head) }

// MayBeGivenUp reports whether the statement leaves nothing behind but a failed block when its Outcome is to fail: it
// reads, writes tables, or makes a cursor or a prepared statement.
func (st *Statement) MayBeGivenUp() bool {
	if _, runs := st.parsed.Head.(*statement.Execute); runs {
		return st.inner != nil && st.inner.MayBeGivenUp()
	}
	_, declares := st.parsed.Head.(*statement.Declare)
	return statement.MayBeGivenUp(st.parsed.Head) && (declares || !st.Sets())
}

// Prompt reports whether an execution of the statement does not call DuckDB, unless it is to be replanned: Arrow's
// kernels look between chunks whether their context has ended, and an INSERT looks while it waits for others.
func (st *Statement) Prompt() bool {
	_, reads := st.parsed.Head.(*statement.Select)
	return st.plan == nil && st.constant || reads && st.plan != nil && st.plan.compute != nil
}

// Overdue are the places of statements that were left behind (LeaveBehind), for the server.
func (e *Engine) Overdue() *overdue.Places { return e.overdue }

// LeaveBehind is for the server that answers the session's client while a call of the session does not return: sql,
// which began at since, is listed at a place that was taken before (Engine.Overdue). Other sessions' statements are
// planned without waiting for it. over is called when the call has returned; both may be called from any goroutine.
func (s *Session) LeaveBehind(sql string, since time.Time, reason error) (over func()) {
	s.turn.Abandon()
	return s.engine.overdue.Put(overdue.Statement{
		Session: s.options.ProcessID, User: s.options.User, Text: history.Shown(sql), Since: since, Reason: reason.Error(),
	})
}
