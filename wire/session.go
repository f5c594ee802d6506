package wire

import (
	"context"
	"io"
	"net"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/csmsql/csmsql/sql/lex"
	"github.com/csmsql/csmsql/wire/pgcopy"
)

// Backend opens the sessions that a Server hands its clients' statements to. The program that wires them implements it
// with the engine; tests implement it with a fake.
type Backend interface {
	// Open starts a session for a client that finished its start-up message. ctx ends with the connection and covers
	// the whole life of the session. An error is sent as FATAL (3D000 unknown database, 28000 unknown role, …).
	Open(ctx context.Context, start Startup) (Session, error)
}

// Startup is what a client said when it connected.
type Startup struct {
	User            string
	Database        string // the user's name when the client named none, as PostgreSQL does
	ApplicationName string
	// Parameters are the other run-time parameters (search_path, DateStyle, options, …); names as the client wrote
	// them.
	Parameters map[string]string
	RemoteAddr net.Addr
	// ProcessID is the number that BackendKeyData shows; pg_backend_pid() should return it.
	ProcessID uint32
	// Client lets the session talk back outside of results. Valid as long as the session.
	Client Client
}

// Client is how a session reaches its client outside of results. All methods may be called from any goroutine.
type Client interface {
	// Notice queues a NoticeResponse. It leaves before the running statement's completion. The queue is bounded: when a
	// statement raises more than NoticesMax, the rest is counted and one notice says how many were dropped.
	Notice(notice Notice)
	// SetParameter reports a changed run-time parameter. Names that PostgreSQL reports (client_encoding, TimeZone,
	// application_name, DateStyle, …) reach the client as ParameterStatus before the next ReadyForQuery; others are
	// ignored. TimeZone also decides how timestamptz values are printed.
	SetParameter(name, value string)
	// Heard says that there may be something for the session's own Heard (Hearing). It does not block.
	Heard()
	// Untime lets the statement that runs take the time that it takes from now on (Timed): it has begun to commit.
	Untime()
	// Deallocate forgets the prepared statement that was named by Parse, or all of them when name is empty; it reports
	// whether the name existed. SQL's DEALLOCATE and DISCARD ALL use it, since drivers mix them with protocol names.
	Deallocate(name string) bool
	// Prepared finds the statement that was named by Parse: SQL's PREPARE must not take its name, and EXECUTE may
	// run it. nil is an empty query string.
	Prepared(name string) (Statement, bool)
	// PreparedNames lists the names that Parse gave, in order.
	PreparedNames() []string
}

// Notice is a message that is not an error. Severity is NOTICE, WARNING, INFO, LOG or DEBUG; empty means NOTICE.
type Notice struct {
	Severity string
	SQLState string // empty means 00000
	Message  string
	Detail   string
	Hint     string
}

// TxStatus is the transaction status that ReadyForQuery shows.
type TxStatus byte

// The three states of a session between statements.
const (
	TxIdle   TxStatus = 'I' // no transaction block
	TxActive TxStatus = 'T' // inside a transaction block
	TxFailed TxStatus = 'E' // inside a failed block: only ROLLBACK helps
)

// Session is one client's conversation with the database. One goroutine uses it at a time; a running call is
// interrupted only through its context. A session may also implement ImplicitTransaction, Failing, Named, Cursors,
// Patient, Timed, Hearing and Settling.
type Session interface {
	// Split cuts a simple-query string into its statements. Every statement must be a substring of it, in order, so
	// that error positions can be counted from the start of the string. No statement at all is an empty query.
	Split(text *lex.Text) ([]*lex.Text, error)
	// Prepare parses and plans one statement, a text in the dialect lex.Client. paramTypes are OIDs of the first
	// parameters, 0 where the client left the type open; it may be shorter than the number of parameters.
	Prepare(ctx context.Context, text *lex.Text, paramTypes []uint32) (Statement, error)
	Status() TxStatus
	Close() error
}

// ImplicitTransaction is implemented by sessions that make all statements of a simple-query string, or of an
// extended-protocol pipeline up to Sync, one atomic unit, as PostgreSQL does. Without it every statement commits by
// itself.
type ImplicitTransaction interface {
	// BeginImplicit is called before the first statement of a query string that has several statements, and before the
	// first Execute after a Sync, unless the next Sync has come with it. It is not called inside an explicit
	// transaction block.
	BeginImplicit(ctx context.Context) error
	// EndImplicit is called once for every BeginImplicit, at the end of the string or at Sync. failed says that a
	// statement failed: roll back. Otherwise commit, unless the statements opened an explicit block meanwhile. An
	// error (40001, …) reaches the client after the completions of the statements and before ReadyForQuery, as
	// PostgreSQL's do at Sync: drivers report it as the failure of the whole.
	EndImplicit(ctx context.Context, failed bool) error
}

// Failing is implemented by sessions that have to learn of errors which they did not return themselves (a parameter
// that cannot be decoded, a name that is taken): every error that is sent to the client fails its transaction block.
type Failing interface {
	// Fail makes an open transaction block a failed one; without a block it does nothing.
	Fail()
}

// Patient is implemented by sessions that do not wait for their clients for ever.
type Patient interface {
	// Patience is how long the client may be silent now, and the error that then ends the connection; 0: for ever. It is
	// called once after each ReadyForQuery, before the next message is read.
	Patience() (time.Duration, error)
}

// Timed is implemented by sessions whose statements may take so long and no longer (statement_timeout). As in
// PostgreSQL the time begins with each statement of a simple query, and otherwise with the first Parse, Bind or
// Execute after a Sync or after the last Execute that ran to its end. It passes only while the server works, or
// waits for a COPY's rows, and a commit at the end is not part of it (Untimed, Client.Untime). Then the statement's
// context ends, and its cause is ErrStatementTimeout.
type Timed interface {
	// Timeout is asked whenever something begins to run; 0: for ever.
	Timeout() time.Duration
}

// Hearing is implemented by sessions that have asynchronous notifications for their clients (LISTEN). They are sent
// between transactions: before ReadyForQuery, or while the client is silent.
type Hearing interface {
	// Heard takes at most so many notifications; what there is more of stays. It is called while the session settles,
	// too.
	Heard(most int) []Notification
}

// Notification is a NotificationResponse.
type Notification struct{ Channel, Payload string }

// Settling is implemented by sessions that answer for a statement which was cancelled, or took too long, before they
// are done with it.
// Meanwhile they take Status, Fail, Timeout, Patience, Take, Give, an EndImplicit that rolls back, Close of what they
// gave, and Close, which does not wait:
// the connection's slot is free then, and the session goes on by itself, using its Client.
type Settling interface {
	// Settle returns when the session takes everything again; it is called before anything else. ctx ends as a
	// statement's would.
	Settle(ctx context.Context) error
}

// Untimed is a Statement that Timed does not bound when it is executed.
type Untimed interface {
	// Untimed is true of a COMMIT: what it has begun it brings to an end.
	Untimed() bool
}

// Named is implemented by sessions whose SQL names prepared statements (PREPARE). PostgreSQL has one set of names:
// Parse cannot take
// one of these, but Bind, Describe and Close may be about it.
type Named interface {
	// HasNamed reports whether SQL has prepared a statement under the name.
	HasNamed(name string) bool
	// PrepareNamed readies it once more, as the server's own. ok is false when there is none of the name.
	PrepareNamed(ctx context.Context, name string) (statement Statement, ok bool, err error)
	// ForgetNamed is Close: it is no error if there is none.
	ForgetNamed(name string)
}

// Cursors is implemented by sessions whose SQL has cursors (DECLARE). In PostgreSQL a cursor is a portal, and
// drivers ask Describe for its columns. Execute does not reach it: FETCH does.
type Cursors interface {
	// CursorFields are the columns of an open cursor; false when there is none of that name.
	CursorFields(name string) (fields *arrow.Schema, ok bool)
}

// Statement is a prepared statement. It may also implement CopyInStatement or CopyOutStatement. Its methods are
// called by one goroutine at a time, but several Results of it may be open at once (portals).
type Statement interface {
	// Parameters are the OIDs of all parameters, in order. 0 or pgformat.Unknown is decoded as text.
	Parameters() []uint32
	// Fields describes the rows, nil when the statement returns none (DDL, INSERT without RETURNING, …). The
	// client sees the type pgformat.TypeOf(field); metadata pgformat.MetadataOID overrides it.
	Fields() *arrow.Schema
	// Execute runs the statement. ctx stays valid until the Result is closed and is cancelled by a cancel request,
	// by the end of the connection or when the portal is closed; context.Cause returns which (ErrCanceled,
	// ErrStatementTimeout, ErrConnectionLost, ErrShutdown). Whatever error is returned then, the client gets the cause.
	// A statement that implements CopyInStatement is not executed: CopyIn is called instead. Arguments are decoded
	// before; COPY gets none.
	Execute(ctx context.Context, args []Value) (Result, error)
	Close() error
}

// Result streams the rows of one execution.
type Result interface {
	// Next returns the next batch, io.EOF at the end. The batch belongs to the result and is valid until the next
	// Next or Close; its columns may be laid out otherwise than Fields says (dictionary, view) as long as the
	// values mean the same. A statement without rows returns io.EOF at once.
	Next(ctx context.Context) (arrow.RecordBatch, error)
	// CommandTag is valid after io.EOF: "INSERT 0 5", "CREATE TABLE". To the bare words "SELECT", "FETCH" and
	// "COPY" the server adds the number of rows that it sent.
	CommandTag() string
	Close() error
}

// Rechecker is a Result that may find out later that the batch which Next gave is not to be trusted any more. A
// portal that was suspended in the middle of one asks before it goes on; an error ends it.
type Rechecker interface {
	Recheck() error
}

// CopyInStream is the client's stream as CopyIn gets it. Interrupt makes its Read fail from then on, and one that waits
// for the client; another goroutine may call it.
type CopyInStream interface {
	io.Reader
	Interrupt()
}

// CopyInStatement is a COPY … FROM STDIN.
type CopyInStatement interface {
	Statement
	// CopyInFormat says what to announce in CopyInResponse: whether the stream is binary, and the number of columns.
	CopyInFormat() (binary bool, columns int)
	// CopyIn reads the client's stream, message boundaries removed, to io.EOF and returns the command tag ("COPY 5").
	// A read error means that the client gave up or died: return it (wrapped or not) and keep nothing. When CopyIn
	// returns early with an error the server swallows the rest of the stream. pgcopy.Reader decodes the three formats.
	CopyIn(ctx context.Context, stream io.Reader) (tag string, err error)
}

// CopyOutStatement is a COPY … TO STDOUT. Execute returns the rows, which the server encodes; Fields are the columns.
// The tag "COPY" gets the number of rows appended.
type CopyOutStatement interface {
	Statement
	CopyOut() pgcopy.Options
}

// Value is a decoded parameter. Data is one of
//
//	nil · bool · int64 · float64 · string (text, json, enum, unknown, …) · []byte (bytea) · pgformat.Numeric ·
//	pgformat.Date · pgformat.Timestamp (timestamp and timestamptz: see OID) · pgformat.TimeOfDay ·
//	pgformat.Interval · pgformat.UUID · *pgformat.Array
//
// and owned by the receiver. Dates, times, timestamps and intervals that came as text which is not ISO are a
// string, for the database to interpret; OID is still the type.
type Value struct {
	OID  uint32
	Data any
}
