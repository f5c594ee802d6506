package function

import (
	"context"
	"errors"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/engine/snapshot"
	"github.com/csmsql/csmsql/sql/dialect"
	"github.com/csmsql/csmsql/sql/lex"
	"github.com/csmsql/csmsql/sql/sqlerror"
	"github.com/csmsql/csmsql/sql/statement"
)

// Session runs statements that call functions.
type Session struct {
	// Heard is what the session knows without asking; nil: nothing.
	Heard func() *catalog.Contents
	// Path are the schemas that names are looked up in.
	Path []string
	// Pin is what the next statement sees; the caller releases it.
	Pin func(ctx context.Context) (*snapshot.View, error)
	// Own are the session's own macros, which hide functions.
	Own func(ctx context.Context) (snapshot.Temporary, error)
	// Read is as in Host.
	Read func(ctx context.Context, read *lex.Text, users dialect.Written) (*lex.Text, dialect.Written, error)
}

// Prepare prepares a statement of a dialect that computes what the functions compute that it calls. Another node may
// have made the first one of a name just now: the session has heard of it when prepare has looked for it in vain.
func (s Session) Prepare(ctx context.Context, parsed *statement.Statement, users dialect.Written, of string,
	prepare func(*statement.Statement, dialect.Written, *Uses) error) error {
	if s.mayCall(parsed) {
		inlined, written, uses, err := s.inline(ctx, parsed, users, of)
		if err != nil {
			return err
		}
		return prepare(inlined, written, uses)
	}
	failed := prepare(parsed, users, nil)
	var e *sqlerror.Error
	if !errors.As(failed, &e) || e.State != "42883" || !s.mayCall(parsed) {
		return failed
	}
	inlined, written, uses, err := s.inline(ctx, parsed, users, of)
	if err != nil || uses == nil {
		return failed
	}
	return prepare(inlined, written, uses)
}

// mayCall reports whether a statement may call a function. Definitions do not look for them in vain when they are
// prepared.
func (s Session) mayCall(parsed *statement.Statement) bool {
	return Calls(parsed, s.Heard(), s.Path) || defines(parsed)
}

func (s Session) inline(ctx context.Context, parsed *statement.Statement, users dialect.Written, of string) (
	*statement.Statement, dialect.Written, *Uses, error) {
	v, err := s.Pin(ctx)
	if err != nil {
		return parsed, users, nil, err
	}
	defer v.Release()
	own, err := s.Own(ctx)
	if err != nil {
		return parsed, users, nil, err
	}
	return Host{View: v, Own: own, Dialect: of, Read: s.Read}.Statement(ctx, parsed, users)
}
