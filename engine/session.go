package engine

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/engine/account"
	"github.com/csmsql/csmsql/engine/budget"
	"github.com/csmsql/csmsql/engine/configuration"
	"github.com/csmsql/csmsql/engine/delta"
	"github.com/csmsql/csmsql/engine/follow"
	"github.com/csmsql/csmsql/engine/lease"
	"github.com/csmsql/csmsql/engine/lifetime"
	"github.com/csmsql/csmsql/engine/lookup"
	"github.com/csmsql/csmsql/engine/namedtype"
	"github.com/csmsql/csmsql/engine/names"
	"github.com/csmsql/csmsql/engine/outcome"
	"github.com/csmsql/csmsql/engine/prepared"
	"github.com/csmsql/csmsql/engine/sequence"
	"github.com/csmsql/csmsql/engine/snapshot"
	"github.com/csmsql/csmsql/engine/turn"
	"github.com/csmsql/csmsql/exec/duckdb"
	"github.com/csmsql/csmsql/sql/lex"
	"github.com/csmsql/csmsql/sql/pgcatalog"
	"github.com/csmsql/csmsql/sql/setting"
	"github.com/csmsql/csmsql/sql/sqlerror"
	"github.com/csmsql/csmsql/sql/statement"
)

// SessionOptions of one session.
type SessionOptions struct {
	// User is the session's user, for status output; empty means "postgres".
	User string
	// Notice receives warnings of statements; nil: they are dropped.
	Notice func(Notice)
	// ProcessID is what pg_backend_pid() shows.
	ProcessID uint32
	// Settings are what the client begins the session with, by name, as text: what RESET brings back. Errors are those of SET.
	Settings map[string]string
	// Guest: csm.queries shows the session no texts of other users' statements. Programs that embed the engine, and
	// users who may open the node's own socket, see all.
	Guest bool
	// Notified says that there may be something for Session.Heard. It does not block, and calls nothing of the session.
	// Nil: LISTEN is 0A000.
	Notified func()
	// Statements are the prepared statements that the client named through a protocol; nil: there are none.
	Statements ProtocolStatements
}

// Notice is a warning or a remark of a statement that succeeded.
type Notice struct {
	Severity string // WARNING, NOTICE
	State    string // SQLSTATE
	Message  string
	Detail   string
	Hint     string
}

// Session is one user's conversation with the engine: a transaction, settings, temporary objects. One goroutine uses it
// at a time, except for Close, which any goroutine may call at any time.
type Session struct {
	engine         *Engine
	life           *lifetime.Lifetime
	options        SessionOptions
	conn           *duckdb.Connection
	account        *account.Session     // what its client makes the node keep
	prepaid        int64                // charged by Parse for what is about to be planned
	parsed         *statement.Statement // by Parse; nil: nothing
	turn           *turn.Flow           // in which it plans
	settingsCharge configuration.Charge
	parked         budget.Lot
	settings       configuration.Session
	// meaning identifies the settings that DuckDB has: a plan is made for one meaning.
	meaning string
	block   *block            // the open transaction block, nil between transactions
	seen    *catalog.Contents // by its last statement, of a borrower
	inside  *snapshot.View    // of the statement of which a part is running; nil: none is
	named   prepared.Registry
	// looksIn is where conn looks for bare names.
	looksIn names.SearchPath
	// visible is what names mean while a statement is planned; csm_table asks it.
	visible *snapshot.View
	// sequences is what it has had of them.
	sequences *sequence.Conversation
	listening *follow.Listening
	// running is the streamed result that holds the DuckDB connection, if any.
	running *Rows
	// temporary: the session may have temporary objects, which hide tables of the same name.
	temporary, onCommit bool // onCommit: some of them may have to be dropped or emptied at a COMMIT
	// described is what this connection's copy of PostgreSQL's catalogs shows; nil: it must be filled again.
	described *catalog.Contents
	// seeded: it may have called setseed(), which says what random() gives it from then on.
	seeded bool
	// catalogViews: a temporary view reads PostgreSQL's catalogs.
	catalogViews bool
	// variables are the connection's.
	variables pgcatalog.Variables
	kept      keptPlans
	// looked: csm_table was asked since this was cleared.
	looked bool
	// atOnce: what is being prepared is executed right afterwards, so that a query may read what it was planned for. In a cluster
	// that is one question to etcd instead of two.
	atOnce bool
	// asDeclared: what is planned has no text shown as ENUM.
	asDeclared bool
	// fragment: the session runs a part of another node's query, and never splits it again.
	fragment bool
	// open are the results, and statements the statements, that are not closed: they go with the session.
	open       map[*Rows]struct{}
	statements map[*Statement]struct{}
	// clock counts the uses of statements.
	clock uint64
}

// Session opens a session. Errors: ErrClosed.
func (e *Engine) Session(options SessionOptions) (*Session, error) {
	if err := e.life.Enter(); err != nil {
		return nil, err
	}
	defer e.life.Leave()
	if options.User == "" {
		options.User = "postgres"
	}
	s := &Session{
		engine: e, life: lifetime.New(e.life.Context), options: options,
		open: map[*Rows]struct{}{}, statements: map[*Statement]struct{}{},
	}
	if e.node != nil {
		s.life.Holder = e.node.Hold(fmt.Sprintf("session %d of %s", options.ProcessID, options.User))
	}
	s.parked.Of = &e.parking
	s.named = prepared.Registry{Client: options.Statements, Take: s.Take, Give: s.Give}
	s.settings = configuration.New(&e.settings, options.User, s.modes)
	conn, err := e.db.Connect(s.resolveTable)
	if err != nil {
		return nil, err
	}
	s.conn, s.account = conn, e.account.Open(options.ProcessID, options.User)
	s.turn, s.listening = e.turns.Flow(), follow.NewListening(e.follows, s.account, options.Notified)
	conn.OnSetConfig(s.settings.Called)
	readOnly := func() bool { return s.modes().ReadOnly }
	own := s.temporaryUnlisted(statement.Sequence)
	s.sequences = sequence.Converse(s.life.Context, e.sequences, e.catalog, readOnly, own)
	conn.OnSequence(s.sequences.Answer)
	conn.NameTypes(s.typeCalled)
	err = s.account.Begin(account.SessionBytes)
	if err == nil {
		err = s.lookInShared()
	}
	if err == nil {
		err = s.identify()
	}
	if err == nil {
		err = s.beginSettings(options.Settings)
	}
	if err != nil {
		s.life.Stop(nil)
		conn.Close()
		s.account.Close()
		return nil, err
	}
	e.enter(s)
	return s, nil
}

// Close ends the session: an open transaction is rolled back, temporary objects are gone. It may be called while another goroutine uses the
// session: what runs is cancelled and waited for, and results that are open end with ErrSessionClosed. It waits for what the session has
// called, too (CopyIn's rows, Notice), so none of that may call it.
func (s *Session) Close() error {
	s.end(lifetime.SessionClosed)
	return nil
}

// end returns when the session is gone, also when another call ends it.
func (s *Session) end(why error) {
	if !s.life.End(why) {
		<-s.life.Gone
		return
	}
	defer close(s.life.Gone)
	s.life.Await()
	for rows := range s.open {
		rows.close()
	}
	s.rollback()
	s.listening.Close()
	for st := range s.statements {
		st.close()
	}
	s.forgetPlans()
	s.conn.Close()
	s.account.Close()
	if s.life.Holder != nil {
		s.engine.node.LetGo(s.life.Holder)
	}
	s.engine.leave(s)
}

// Query runs one statement and streams its rows. Release the reader, finished or not; the session can run no other
// statement before. Strings are utf8 and decimals of up to 18 digits decimal64 in the reader's schema; see Rows for layouts, and for how
// long a batch is there.
func (s *Session) Query(ctx context.Context, sql string, args ...any) (array.RecordReader, error) {
	rows, err := s.query(ctx, lex.Client.Text(sql), "", args)
	if err != nil {
		return nil, err
	}
	return newRecordReader(rows), nil
}

// Result is what a statement without rows did.
type Result struct {
	// Tag is PostgreSQL's command tag: "INSERT 0 5", "CREATE TABLE".
	Tag string
	// RowsAffected counts rows that were written or returned.
	RowsAffected int64
}

// Exec runs one or more statements and drops their rows; the result is the last one's.
func (s *Session) Exec(ctx context.Context, sql string, args ...any) (Result, error) {
	if err := s.life.Enter(); err != nil {
		return Result{}, err
	}
	defer s.life.Leave()
	texts := lex.Split(lex.Client.Text(sql))
	if len(texts) > 1 && len(args) > 0 {
		return Result{}, sqlerror.New("42601", "cannot insert multiple commands into a prepared statement")
	}
	var result Result
	for _, text := range texts {
		rows, err := s.query(ctx, text, "", args)
		if err != nil {
			return result, err
		}
		result, err = rows.drain(ctx)
		if err != nil {
			return result, err
		}
	}
	return result, nil
}

func (s *Session) query(ctx context.Context, text *lex.Text, in string, args []any) (*Rows, error) {
	if err := s.life.Enter(); err != nil {
		return nil, err
	}
	defer s.life.Leave()
	whole := ctx
	ctx, stop := s.hurried(ctx)
	s.atOnce = s.block == nil
	st, err := s.PrepareText(ctx, text, in)
	s.atOnce = false
	if err != nil {
		stop()
		return nil, err
	}
	if st.EndsBlock() {
		ctx = whole // as in Statement.hurried
	}
	rows, err := st.Execute(ctx, args)
	if err != nil {
		st.close()
		stop()
		return nil, err
	}
	rows.onClose(stop)
	rows.onClose(st.close)
	return rows, nil
}

func (s *Session) notice(n Notice) {
	if s.options.Notice != nil && s.Wants(n.Severity) {
		s.options.Notice(n)
	}
}

// Wants reports whether the session's client wants to hear of notices of a severity, by client_min_messages; INFO it
// always does.
func (s *Session) Wants(severity string) bool {
	least, _, _ := s.settings.Value("client_min_messages") // it is known
	return configuration.Wants(least, severity)
}

// typeCalled is the type that a text for DuckDB names, as what runs now sees it.
func (s *Session) typeCalled(number uint64) (string, bool) {
	switch v := s.visible; {
	case v != nil:
		return namedtype.Called(v, number)
	case s.block != nil && s.block.Lease != nil:
		return namedtype.SQL(s.block.Contents())(number)
	}
	return namedtype.Newest(s.engine.catalog)(number)
}

// see pins what the next statement reads: the block's snapshot, or a fresh one; and has DuckDB look for names there. The caller releases it.
func (s *Session) see(ctx context.Context) (*snapshot.View, error) { return s.shown(s.pin(ctx)) }

// seeRead is see for what only reads, as pinRead, and is run with it.
func (s *Session) seeRead(ctx context.Context) (*snapshot.View, error) {
	v, err := s.shown(s.pinRead(ctx, false, nil))
	if err == nil {
		s.noticeAge(v)
	}
	return v, err
}

func (s *Session) shown(v *snapshot.View, err error) (*snapshot.View, error) {
	if err == nil {
		err = s.show(v)
	}
	return v.Unless(err)
}

// pin is see without the names: a plan that still stands needs none, and its caller does not wait for them.
func (s *Session) pin(ctx context.Context) (*snapshot.View, error) { return s.pinWithin(ctx, 0) }

// pinRead is pin for a statement that only reads: what it sees may be as old as setting.MaxStaleness allows, or
// as is usual if its answer depends on nothing that is committed. reads is what it reads, if that is known.
func (s *Session) pinRead(ctx context.Context, constant bool, reads lookup.Meanings) (*snapshot.View, error) {
	maxAge := s.settings.Milliseconds(setting.MaxStaleness)
	switch {
	case s.block == nil && s.engine.catalog != nil && s.engine.deltas.Spare(constant, reads):
		maxAge = delta.Unsealed
	case s.block == nil && constant:
		maxAge = max(maxAge, snapshot.UsualAge)
	}
	return s.pinWithin(ctx, maxAge)
}

func (s *Session) pinWithin(ctx context.Context, maxAge time.Duration) (*snapshot.View, error) {
	v, err := s.pinShared(ctx, maxAge)
	if err == nil {
		v.Own, err = s.temporaryNames(ctx)
	}
	return v.Unless(err)
}

// pinShared is pin of what all sessions see.
func (s *Session) pinShared(ctx context.Context, maxAge time.Duration) (*snapshot.View, error) {
	if s.block != nil {
		if err := s.settleRows(ctx); err != nil {
			return nil, err
		}
		if s.block.MaxAge = maxAge; !s.block.modes.ReadOnly {
			s.block.MaxAge = 0
		}
		if err := s.block.Start(ctx); err != nil {
			return nil, err
		}
		if err := s.joinDuck(); err != nil {
			return nil, err
		}
		v := s.seeing(s.block.Contents(), s.block.Lease.Hold(), nil)
		v.Age = s.block.Age
		return v, nil
	}
	if s.engine.node != nil && s.engine.node.Self != nil { // it may have to ask the cluster's store
		s.turn.Pause()
		defer s.turn.Resume()
	}
	l, age, err := s.engine.snapshot(ctx, maxAge)
	if err != nil {
		return nil, err
	}
	v := s.seeing(l.Snapshot.Contents, l, nil)
	v.Age = age
	return v, nil
}

// noticeAge tells the client if what it reads may be older than usual.
func (s *Session) noticeAge(v *snapshot.View) {
	if message := v.AgeNotice(); message != "" {
		s.noticed(message, "")
	}
}

// seeing is what a statement of the session sees of contents, and beside them; the lease is its.
func (s *Session) seeing(contents *catalog.Contents, l *lease.Lease, own snapshot.Temporary) *snapshot.View {
	v := &snapshot.View{
		Contents: contents, Lease: l, Path: s.settings.SearchPath, Read: s.readings(), Reads: s.reads(), Own: own,
		Zone: s.settings.Zone(),
	}
	if s.engine.borrower != nil {
		s.seen = contents
	}
	s.sequences.See(v)
	return v
}

// cause is what an error of a statement says: that tables could not be looked up, and not that they are not there.
func (s *Session) cause(ctx context.Context, err error) error {
	if err != nil {
		err = cmp.Or(s.seen.Err(), err)
	}
	return s.life.CauseOf(outcome.Ended(ctx, err))
}
