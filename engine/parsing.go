package engine

import (
	"context"

	"github.com/csmsql/csmsql/engine/account"
	"github.com/csmsql/csmsql/engine/outcome"
	"github.com/csmsql/csmsql/engine/turn"
	"github.com/csmsql/csmsql/sql/dialect"
	"github.com/csmsql/csmsql/sql/setting"
	"github.com/csmsql/csmsql/sql/sqlerror"
)

// parsedFree is how long a text may be that is not worth counting.
const parsedFree = 256

// parsing charges what a text takes while it is planned, before it is parsed. Call done when nothing refers to its tree any
// more. Preconditions: it is the session's turn.
func (s *Session) parsing(ctx context.Context, sql string) (done func(), err error) {
	if err := s.Fits(sql); err != nil {
		return nil, err
	}
	if len(sql) <= parsedFree {
		return func() {}, nil
	}
	bytes := account.OfText(sql)
	if bytes <= s.prepaid {
		return func() {}, nil
	}
	if err := s.takeBriefly(ctx, bytes); err != nil {
		return nil, err
	}
	return func() { s.account.Give(account.Parsing, bytes) }, nil
}

// takeBriefly waits for others without a turn: they may need one to be done.
func (s *Session) takeBriefly(ctx context.Context, bytes int64) error {
	s.turn.Pause()
	defer s.turn.Resume()
	return s.account.TakeBriefly(ctx, bytes)
}

// takeTurn waits for the session's turn to plan a text, until leave. It comes before the account is asked: who waits has
// nothing. Fragments do not wait, because the node that waits for them may plan here.
func (s *Session) takeTurn(ctx context.Context, sql string) (leave func(), err error) {
	if s.fragment {
		return func() {}, nil
	}
	if err := s.turn.Enter(ctx, turn.Expected(sql)); err != nil {
		return nil, err
	}
	return s.turn.Leave, nil
}

// Parsing is for who parses a text before the session does: it charges what both trees take, until done is called. Errors: 53200, 54000.
func (s *Session) Parsing(ctx context.Context, sql string) (done func(), err error) {
	ctx, out, err := s.life.Call(ctx)
	if err != nil {
		return nil, err
	}
	defer out()
	if err := s.Fits(sql); err != nil || len(sql) <= parsedFree {
		return func() {}, err
	}
	bytes := account.OfText(sql)
	leave, err := s.takeTurn(ctx, sql)
	if err != nil {
		return nil, s.life.CauseOf(outcome.Ended(ctx, err))
	}
	if err := s.takeBriefly(ctx, 2*bytes); err != nil {
		leave()
		return nil, s.life.CauseOf(outcome.Ended(ctx, err))
	}
	s.prepaid = bytes
	return func() {
		s.prepaid = 0
		s.account.Give(account.Parsing, 2*bytes)
		leave()
	}, nil
}

// The dialects of a session's text (Config.Dialect, SET csm.dialect).
const (
	DialectDuckDB   = dialect.DuckDBName
	DialectPostgres = dialect.PostgresName
)

// dialect is what the session's text means now.
func (s *Session) dialect() string {
	value, _, _ := s.settings.Value(setting.Dialect) // it is known
	return value
}

// Fits tells whether there is memory to parse a text of that length (54000). Prepare and Execute ask, too; whoever parses a text before
// them asks first.
func (s *Session) Fits(sql string) error {
	if most := s.engine.memory.Text; int64(len(sql)) > most {
		return sqlerror.New("54000", "a statement of %d bytes is too long: it may have %d", len(sql), most).
			WithHint("COPY takes any number of rows, several statements take some each; or start the node with more --memory, of which a text may have 1/256.")
	}
	return nil
}
