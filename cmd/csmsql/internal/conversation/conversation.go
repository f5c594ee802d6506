package conversation

import (
	"context"
	"errors"
	"io"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/csmsql/csmsql/sql/lex"
	"github.com/csmsql/csmsql/sql/statement"
)

// Conversation answers statements, one at a time. Not for concurrent use.
type Conversation interface {
	// Run runs one statement. Its rows go to sink, its notices to the function that the conversation was opened with.
	// An error of SQL is a *Failure. When ctx ends, the statement is cancelled and the conversation stays usable.
	Run(ctx context.Context, sql string, sink Sink) error
	// Copy runs a COPY … FROM STDIN or TO STDOUT with in or out as the client's end, and returns its command tag.
	Copy(ctx context.Context, sql string, in io.Reader, out io.Writer) (tag string, err error)
	Close() error
}

// Column of a result.
type Column struct {
	Name string
	OID  uint32 // of its PostgreSQL type
}

// Sink takes results.
type Sink interface {
	// Begin is called once for a statement that returns rows.
	Begin(columns []Column) error
	// Row gives one row's values as text, nil for NULL. They are valid until Row returns.
	Row(values [][]byte) error
	// End is called when the statement has succeeded.
	End(tag string) error
}

// Notice is a remark of the server on a statement that does not fail by it.
type Notice struct {
	Severity, Message, Detail, Hint string
}

// Failure is an error of SQL with what its author should know.
type Failure struct {
	Severity, State, Message string
	DetailText, HintText     string
	ContextText              string // where in what was being done: COPY t, line 3, column b
	At                       int    // position in the statement in characters from 1; 0: unknown
	Cause                    error
}

func (f *Failure) Error() string { return f.Message }

// SQLState is PostgreSQL's code.
func (f *Failure) SQLState() string { return f.State }

// Detail is more about the error, or "".
func (f *Failure) Detail() string { return f.DetailText }

// Hint says what to do, or "".
func (f *Failure) Hint() string { return f.HintText }

// Position is where in the statement, in characters from 1; 0 is unknown.
func (f *Failure) Position() int { return f.At }

// Unwrap gives the cause.
func (f *Failure) Unwrap() error { return f.Cause }

// failureOf makes a Failure of any error that has an SQLSTATE; others stay what they are.
func failureOf(err error) error {
	var fromServer *pgconn.PgError
	if errors.As(err, &fromServer) {
		return &Failure{
			Severity: fromServer.Severity, State: fromServer.Code, Message: fromServer.Message, DetailText: fromServer.Detail,
			HintText: fromServer.Hint, ContextText: fromServer.Where, At: int(fromServer.Position), Cause: err,
		}
	}
	var stated interface{ SQLState() string }
	if !errors.As(err, &stated) {
		return err
	}
	f := &Failure{Severity: "ERROR", State: stated.SQLState(), Message: err.Error(), Cause: err}
	var detailed interface{ Detail() string }
	if errors.As(err, &detailed) {
		f.DetailText = detailed.Detail()
	}
	var hinted interface{ Hint() string }
	if errors.As(err, &hinted) {
		f.HintText = hinted.Hint()
	}
	var placed interface{ Position() int }
	if errors.As(err, &placed) {
		f.At = placed.Position()
	}
	var located interface{ Context() string }
	if errors.As(err, &located) {
		f.ContextText = located.Context()
	}
	return f
}

// Split cuts a text into its statements.
func Split(sql string) (texts []string) {
	for _, text := range lex.Split(lex.Client.Text(sql)) {
		texts = append(texts, text.SQL)
	}
	return texts
}

// ClientCopy reports whether a statement is a COPY that moves rows from the client, or to it.
func ClientCopy(sql string) (fromClient, toClient bool) {
	parsed, err := statement.Parse(sql)
	if err != nil {
		return false, false // running it will return the error
	}
	head, ok := parsed.Head.(*statement.Copy)
	if !ok || !head.Client {
		return false, false
	}
	return head.From, !head.From
}
