package wire

import (
	"context"
	"errors"
	"strings"
	"unicode/utf8"

	"github.com/jackc/pgx/v5/pgproto3"
)

// The behaviour that an error may have. wire imports no error type of others.
type (
	withState    interface{ SQLState() string }
	withPosition interface{ Position() int } // from 1, in characters; 0 means unknown
	withDetail   interface{ Detail() string }
	withHint     interface{ Hint() string }
	withContext  interface{ Context() string }
	withRoutine  interface{ Routine() string } // by which drivers know some errors of PostgreSQL's
	withObjects  interface {
		Objects() (schema, table, column, constraint string)
	}
)

// explain turns any error into an ErrorResponse: XX000 with its message unless it says otherwise.
func explain(err error, severity string) *pgproto3.ErrorResponse {
	response := &pgproto3.ErrorResponse{Severity: severity, SeverityUnlocalized: severity, Code: "XX000", Message: err.Error()}
	var state withState
	if errors.As(err, &state) && len(state.SQLState()) == 5 {
		response.Code = state.SQLState()
	}
	var position withPosition
	if errors.As(err, &position) && position.Position() > 0 {
		response.Position = int32(position.Position())
	}
	var detail withDetail
	if errors.As(err, &detail) {
		response.Detail = detail.Detail()
	}
	var hint withHint
	if errors.As(err, &hint) {
		response.Hint = hint.Hint()
	}
	var where withContext
	if errors.As(err, &where) {
		response.Where = where.Context()
	}
	var routine withRoutine
	if errors.As(err, &routine) {
		response.Routine = routine.Routine()
	}
	var objects withObjects
	if errors.As(err, &objects) {
		response.SchemaName, response.TableName, response.ColumnName, response.ConstraintName = objects.Objects()
	}
	return response
}

// interrupted replaces an error by the cause of ctx: whatever error a cancelled statement returns, the client gets the
// cause. An unknown outcome of a commit (08007) is reported in any case.
func interrupted(ctx context.Context, err error) error {
	if err == nil || ctx.Err() == nil {
		return err
	}
	var doubt withState
	if errors.As(err, &doubt) && doubt.SQLState() == "08007" {
		return err
	}
	switch cause := context.Cause(ctx); cause {
	case ErrCanceled, ErrShutdown, ErrConnectionLost, ErrStatementTimeout:
		return cause
	}
	return err
}

// shifted moves an error's position: the statement began after prefix in what the client sent.
type shifted struct {
	error
	position int
}

func (e *shifted) Position() int { return e.position }
func (e *shifted) Unwrap() error { return e.error }

func shift(err error, prefix string) error {
	var position withPosition
	if prefix == "" || err == nil || !errors.As(err, &position) || position.Position() <= 0 {
		return err
	}
	return &shifted{err, position.Position() + utf8.RuneCountInString(prefix)}
}

// withoutNUL makes text safe for the protocol, whose strings end at a zero byte.
func withoutNUL(text string) string { return strings.ReplaceAll(text, "\x00", "\uFFFD") }
