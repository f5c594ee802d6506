package engine

import (
	"context"
	"errors"
	"iter"

	"github.com/csmsql/csmsql/engine/follow"
	"github.com/csmsql/csmsql/engine/snapshot"
	"github.com/csmsql/csmsql/sql/pgcatalog"
	"github.com/csmsql/csmsql/sql/statement"
)

// TableVersion is one version of a table that is followed.
type TableVersion = follow.Version

// Follow gives the versions of a table from now on, the present one first, one in each turn of a loop, in which it
// stays in place and can be asked: see follow.Versions.
func (e *Engine) Follow(ctx context.Context, table string) iter.Seq2[*TableVersion, error] {
	return follow.Versions(ctx, table, e.follows, func() (follow.Session, error) {
		s, err := e.Session(SessionOptions{})
		return follower{s}, err
	})
}

// follower is a session in which versions are read: follow.Session.
type follower struct{ *Session }

// See implements follow.Session.
func (f follower) See(ctx context.Context) (*snapshot.View, error) {
	ctx, leave, err := f.life.Call(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	v, err := f.see(ctx)
	return v, f.life.CauseOf(err)
}

// Transaction implements follow.Session.
func (f follower) Transaction() byte { return byte(f.Status()) }

// listen is LISTEN, which counts when the transaction is committed.
func (s *Session) listen(ctx context.Context, head *statement.Listen) error {
	v, err := s.see(ctx)
	if err != nil {
		return err
	}
	defer v.Release()
	return errors.Join(s.listening.Listen(v, head.Channel), s.listened())
}

// listened has what LISTEN and UNLISTEN said count if no transaction is open, and shows it to pg_listening_channels().
func (s *Session) listened() error {
	if s.block != nil {
		return nil
	}
	changed, err := s.listening.Commit()
	if !changed {
		return err
	}
	s.yield()
	return errors.Join(err, pgcatalog.SetListening(s.conn.Exec, s.listening.Channels()))
}

// Heard takes at most so many notifications of the channels that the session listens to, the last of each. It may be
// called from any goroutine, for a client that waits between transactions.
func (s *Session) Heard(most int) []follow.Notification { return s.listening.Heard(most) }
