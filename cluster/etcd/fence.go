package etcd

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc/stats"

	"github.com/csmsql/csmsql/catalog/store"
	"github.com/csmsql/csmsql/internal/faults"
)

// fence is the key of a session, under its lease. Every transaction of the handle compares it: so nothing is committed
// after the session's end (E3), and what was sent and not answered can be kept from happening later by rewriting the
// fence (E4).
//
//	settled ──▶ a transaction was not answered ──▶ unsettled ──▶ the fence was written ──▶ settled
type fence struct {
	key string // immutable

	// settling holds a token while a goroutine writes the fence.
	settling chan struct{}

	mu        sync.Mutex
	revision  int64 // guarded by mu; what transactions compare
	unsettled bool  // guarded by mu; a transaction that compares revision may be under way, unknown to this handle
}

func (f *fence) state() (revision int64, settled bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.revision, !f.unsettled
}

// doubt says that a transaction which compares the revision was not answered.
func (f *fence) doubt(revision int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.revision == revision { // else it cannot happen any more
		f.unsettled = true
	}
}

func (f *fence) moved(revision int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.revision, f.unsettled = revision, false
}

// retryEvery is how long to wait before a call is tried again.
const retryEvery = 50 * time.Millisecond

// settled returns the fence's revision when no transaction of this handle is under way unknown to it; if one may be, it
// sees to it that it never happens, or has happened.
func (s *Store) settled(ctx context.Context) (int64, error) {
	if revision, ok := s.fence.state(); ok {
		return revision, nil
	}
	select {
	case s.fence.settling <- struct{}{}:
		defer func() { <-s.fence.settling }()
	case <-ctx.Done():
		return 0, ctx.Err()
	}
	for {
		revision, ok := s.fence.state()
		if ok {
			return revision, nil
		}
		err := s.moveFence(ctx, revision)
		switch {
		case err == nil:
			s.counts.settled.Add(1)
		case isSessionOver(err) || final(err):
			return 0, err
		default:
			if wait(ctx, retryEvery) != nil {
				return 0, err
			}
		}
	}
}

// moveFence writes the fence, whose revision was the given one when this process last knew.
func (s *Store) moveFence(ctx context.Context, known int64) error {
	ctx, cancel := context.WithTimeout(ctx, s.options.Timeout/tries)
	defer cancel()
	answer, err := s.client.Txn(ctx).
		If(clientv3.Compare(clientv3.ModRevision(s.fence.key), "=", known)).
		Then(clientv3.OpPut(s.fence.key, s.session.description(), clientv3.WithLease(s.session.lease))).
		Else(clientv3.OpGet(s.fence.key, clientv3.WithKeysOnly())).
		Commit()
	if err != nil {
		return err
	}
	if answer.Succeeded {
		s.fence.moved(answer.Header.Revision)
		return nil
	}
	found := answer.Responses[0].GetResponseRange().Kvs
	if len(found) == 0 {
		return s.session.lost()
	}
	s.fence.moved(found[0].ModRevision) // an earlier try was not answered, and happened
	return nil
}

func wait(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func isSessionOver(err error) bool { return errors.Is(err, store.ErrSessionOver) }

// sentKey is of an *atomic.Bool in a call's context, which is set when anything of the call was sent.
type sentKey struct{}

func watchSending(ctx context.Context) (context.Context, *atomic.Bool) {
	sent := &atomic.Bool{}
	return context.WithValue(ctx, sentKey{}, sent), sent
}

// sentHandler lets a call know whether it was sent: what was not has not happened.
type sentHandler struct{ fault faults.Hook }

func (sentHandler) TagRPC(ctx context.Context, _ *stats.RPCTagInfo) context.Context { return ctx }

func (h sentHandler) HandleRPC(ctx context.Context, event stats.RPCStats) {
	sent, ok := ctx.Value(sentKey{}).(*atomic.Bool)
	if !ok {
		return
	}
	switch event.(type) {
	case *stats.OutHeader:
		sent.Store(true)
	case *stats.OutPayload:
		h.fault.At(faults.CommitSent)
	}
}

func (sentHandler) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context { return ctx }

func (sentHandler) HandleConn(context.Context, stats.ConnStats) {}

func sessionKey(prefix string, lease clientv3.LeaseID) string {
	return fmt.Sprintf("%ssessions/%016x", prefix, int64(lease))
}
