package catalog_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/csmsql/csmsql/catalog/store"
)

// doubt is a commit whose answer is lost.
type doubt struct {
	happens bool   // the store did it
	silent  bool   // the store does not answer for a while: the outcome is unknown
	between func() // what others do before this node asks
	met     atomic.Bool
}

// doubtfulStore loses the answer to the next commit of rows, or falls silent.
type doubtfulStore struct {
	*store.Memory
	doubt   atomic.Pointer[doubt]
	silence atomic.Pointer[chan struct{}] // no change is delivered before it is closed
	short   atomic.Int64                  // what is left of the session; 0: enough
	lag     atomic.Int64                  // of the watch, as the session states it
}

// Session lasts for as long as short leaves it.
func (s *doubtfulStore) Session() store.Session {
	return shortSession{s.Memory.Session(), &s.short, &s.lag}
}

type shortSession struct {
	store.Session
	left, lag *atomic.Int64
}

func (s shortSession) Lag() time.Duration { return time.Duration(s.lag.Load()) }

func (s shortSession) Lasts(d time.Duration) error {
	if left := s.left.Load(); left > 0 && d >= time.Duration(left) {
		return store.ErrSessionUnsure
	}
	return s.Session.Lasts(d)
}

func (s *doubtfulStore) Watch(ctx context.Context, prefixes []string, after store.Revision, apply func(store.Change) error) error {
	return s.Memory.Watch(ctx, prefixes, after, func(c store.Change) error {
		if silence := s.silence.Load(); silence != nil {
			select {
			case <-*silence:
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		return apply(c)
	})
}

func (s *doubtfulStore) Commit(ctx context.Context, t store.Transaction) (revision store.Revision, err error) {
	d := s.doubt.Load()
	if d == nil || d.met.Load() || !slices.ContainsFunc(t.Puts, func(i store.Item) bool { return i.Key == "meta/commit" }) {
		return s.Memory.Commit(ctx, t)
	}
	d.met.Store(true)
	if d.happens {
		if revision, err = s.Memory.Commit(ctx, t); err != nil {
			return revision, err
		}
	}
	d.between()
	return 0, fmt.Errorf("%w: no answer", store.ErrUnknown)
}

func (s *doubtfulStore) Get(ctx context.Context, key string) (store.Item, bool, error) {
	if d := s.doubt.Load(); d != nil && d.met.Load() && d.silent {
		return store.Item{}, false, errors.New("the store does not answer")
	}
	return s.Memory.Get(ctx, key)
}
