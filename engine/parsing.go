package engine

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/engine/account"
	"github.com/csmsql/csmsql/engine/function"
	"github.com/csmsql/csmsql/engine/outcome"
	"github.com/csmsql/csmsql/engine/snapshot"
	"github.com/csmsql/csmsql/engine/turn"
	"github.com/csmsql/csmsql/sql/dialect"
	"github.com/csmsql/csmsql/sql/lex"
	"github.com/csmsql/csmsql/sql/setting"
	"github.com/csmsql/csmsql/sql/sqlerror"
	"github.com/csmsql/csmsql/sql/statement"
)

// parsing charges what a text takes while it is planned, before it is parsed. Call done when nothing refers to its tree any
// more. Preconditions: it is the session's turn.
func (s *Session) parsing(ctx context.Context, read *lex.Text) (done func(), err error) {
	if err := s.Fits(read.SQL); err != nil {
		return nil, err
	}
	bytes := account.OfText(read)
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

// takeTurn waits for the session's turn to plan a text, until leave. It comes before the account is charged: what
// waits has nothing. Fragments do not wait, because the node that waits for them may plan here.
func (s *Session) takeTurn(ctx context.Context, sql string) (leave func(), err error) {
	if s.fragment {
		return func() {}, nil
	}
	if err := s.turn.Enter(ctx, turn.Expected(sql)); err != nil {
		return nil, err
	}
	return s.turn.Leave, nil
}

// Parse is for a server that reads a text's tree before the session plans it. The session does not parse it again until
// done is called. It charges two trees, as another text may be planned. parsed nil: not parsed. Errors: 53200, 54000.
func (s *Session) Parse(ctx context.Context, read *lex.Text) (parsed *statement.Statement, done func(), err error) {
	ctx, out, err := s.life.Call(ctx)
	if err != nil {
		return nil, nil, err
	}
	defer out()
	if err := s.Fits(read.SQL); err != nil {
		return nil, nil, err
	}
	leave := func() {}
	bytes := account.OfText(read)
	if bytes > 0 {
		if leave, err = s.takeTurn(ctx, read.SQL); err != nil {
			return nil, nil, s.life.CauseOf(outcome.Ended(ctx, err))
		}
		if err := s.takeBriefly(ctx, 2*bytes); err != nil {
			leave()
			return nil, nil, s.life.CauseOf(outcome.Ended(ctx, err))
		}
	}
	parsed, _ = statement.ParseText(read)
	s.prepaid, s.parsed = bytes, parsed
	return parsed, func() {
		s.prepaid, s.parsed = 0, nil
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

// functions are those that the session's statements may call.
func (s *Session) functions() function.Session {
	return function.Session{Heard: s.heard, Path: s.settings.SearchPath, Pin: s.pin, Read: s.sequences.Read,
		Own: s.temporaryUnlisted(statement.Macro)}
}

// Named is what SQL's EXECUTE needs of the statement.
func (st *Statement) Named() *NamedStatement {
	return &NamedStatement{Query: st.parsed.Text, Grounds: st.grounds}
}

// createFunction is CREATE FUNCTION, and CREATE MACRO.
func (st *Statement) createFunction(ctx context.Context) error {
	s := st.session
	maker := function.Maker{Dialect: dialect.Name(st.postgres)}
	maker.Plan = func(ctx context.Context, query string) (*arrow.Schema, error) {
		planned, err := s.ProbeIn(ctx, query, maker.Dialect)
		if err != nil {
			return nil, err
		}
		defer planned.Close()
		return planned.schema, nil
	}
	made, err := maker.Read(ctx, st.written.Original(st.parsed.Text))
	if err != nil {
		return err
	}
	return s.write(ctx, func(tx *catalog.Transaction, v *snapshot.View) error {
		s.yield()
		followers := function.Followers{Derive: s.derive, Asked: s.viewsAsked(ctx, tx, v), Host: s.definitions(v)}
		return made.Make(ctx, tx, v, s.conn, s.noticed, followers)
	})
}

// derive is function.Derive.
func (s *Session) derive(ctx context.Context, tx *catalog.Transaction, before *snapshot.View, calls *statement.Statement,
	in string) (parsed *statement.Statement, uses *function.Uses, err error) {
	v := s.seeing(tx.Contents(), before.Lease.Hold(), before.Own)
	defer v.Release()
	st := &Statement{session: s, postgres: in == DialectPostgres}
	host := function.Host{View: v, Dialect: in, Read: s.sequences.Read}
	if st.parsed, st.written, uses, err = host.Statement(ctx, calls, dialect.Written{}); err == nil {
		err = st.typed(ctx, v)
	}
	return st.parsed, uses, err
}

// Fits reports whether there is memory to parse a text of that length (54000).
func (s *Session) Fits(sql string) error {
	if most := s.engine.memory.Text; int64(len(sql)) > most {
		return sqlerror.New("54000", "a statement of %d bytes is too long: it may have %d", len(sql), most).
			WithHint("COPY takes any number of rows, several statements take some each; or start the node with more --memory, of which a text may have 1/256.")
	}
	return nil
}
