package engine

import (
	"context"
	"iter"

	"github.com/csmsql/csmsql/engine/follow"
	"github.com/csmsql/csmsql/engine/snapshot"
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
