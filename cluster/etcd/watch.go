package etcd

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc"

	"github.com/csmsql/csmsql/catalog/store"
)

const (
	// watchBytes bounds one message of a watch. etcd cuts them at its request limit, between keys.
	watchBytes = 64 << 20
	// resumeAtMost bounds the wait before a watch tries again.
	resumeAtMost = time.Second
	// maxExpected bounds how many points a watch that lags remembers.
	maxExpected = 64
	// stuckAfter is how long a watch may be silent while there are changes, before it is restarted at another member.
	stuckAfter = 4 * time.Second
)

// Watch implements store.Store (S6): one etcd watch over the range in which the prefixes are, so that one stream has one
// order; etcd sends what lies between them, too. It reads the stream itself and not through the client's Watcher, whose
// queue has no bound: while apply works, etcd waits.
func (s *Store) Watch(ctx context.Context, prefixes []string, after store.Revision,
	apply func(store.Change) error) error {
	if err := s.usable(ctx); err != nil {
		return err
	}
	w := &watching{store: s, prefixes: prefixes, apply: apply, position: int64(after)}
	s.session.attach(w)
	defer s.session.detach(w)
	for pause := retryEvery; ; pause = min(2*pause, resumeAtMost) {
		before := w.position
		err := w.follow(ctx)
		var applied applyError
		switch {
		case errors.As(err, &applied):
			return applied.error
		case s.living.Err() != nil:
			return store.ErrClosed
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, store.ErrCompacted):
			return err
		case final(err):
			return s.refused("watch the catalog", err)
		}
		s.counts.resumes.Add(1)
		if w.position > before {
			pause = retryEvery
		}
		_ = wait(ctx, pause) // the next round looks why
	}
}

// applyError is what the caller's function returned.
type applyError struct{ error }

// watching is a Watch that runs. Its goroutine alone moves the position; others may look.
type watching struct {
	store    *Store
	prefixes []string
	apply    func(store.Change) error
	change   store.Change // being put together; Revision 0: none

	mu       sync.Mutex
	position int64   // guarded by mu for others; everything up to this revision was applied
	shown    instant // guarded by mu; what was acknowledged before this was applied
	expected []point // guarded by mu; what there is to reach, in order
	heard    instant // guarded by mu; when the stream last brought something, or began
	busy     bool    // guarded by mu; apply works
	stream   etcdserverpb.Watch_WatchClient
	cancel   context.CancelFunc // guarded by mu, as stream; nil while there is none
}

// follow reads one stream until it breaks.
func (w *watching) follow(ctx context.Context) error {
	ctx, cancel := context.WithCancel(clientv3.WithRequireLeader(ctx)) // a member without a leader says so
	defer cancel()
	stop := context.AfterFunc(w.store.living, cancel)
	defer stop()
	stream, err := etcdserverpb.NewWatchClient(w.store.client.ActiveConnection()).
		Watch(ctx, grpc.WaitForReady(true), grpc.MaxCallRecvMsgSize(watchBytes))
	if err != nil {
		return rpctypes.Error(err)
	}
	first, end := span(w.store.keys, w.prefixes)
	err = stream.Send(&etcdserverpb.WatchRequest{RequestUnion: &etcdserverpb.WatchRequest_CreateRequest{CreateRequest: &etcdserverpb.WatchCreateRequest{
		Key: []byte(first), RangeEnd: []byte(end), StartRevision: w.position + 1, Fragment: true,
	}}})
	if err != nil {
		return rpctypes.Error(err)
	}
	w.change = store.Change{}
	w.begun(stream, cancel)
	defer w.begun(nil, nil)
	for {
		message, err := stream.Recv()
		if err != nil {
			return rpctypes.Error(err)
		}
		if err := w.take(ctx, message); err != nil {
			return err
		}
	}
}

// span is the smallest range of keys below root that has all prefixes: from the first key to the one behind the last.
func span(root string, prefixes []string) (first, end string) {
	for i, p := range prefixes {
		key, behind := root+p, clientv3.GetPrefixRangeEnd(root+p)
		if i == 0 || key < first {
			first = key
		}
		end = max(end, behind)
	}
	return first, end
}

// take deals with a message: events in the order of revisions, of which one may begin in a message and end in the next
// if the message is a fragment; or the news that everything up to a revision was sent.
func (w *watching) take(ctx context.Context, message *etcdserverpb.WatchResponse) error {
	w.hear(true)
	defer w.hear(false)
	switch {
	case message.CompactRevision != 0:
		return fmt.Errorf("%w: etcd begins at revision %d, not after %d", store.ErrCompacted, message.CompactRevision, w.position)
	case message.Canceled:
		return rpctypes.Error(errors.New(message.CancelReason))
	case message.Created:
		return nil
	}
	for _, event := range message.Events {
		if w.change.Revision != store.Revision(event.Kv.ModRevision) {
			if err := w.flush(ctx); err != nil {
				return err
			}
			w.change.Revision = store.Revision(event.Kv.ModRevision)
		}
		w.add(event)
	}
	if message.Fragment {
		return nil
	}
	if err := w.flush(ctx); err != nil {
		return err
	}
	if len(message.Events) == 0 { // progress
		w.reach(message.Header.Revision)
	}
	return nil
}

func (w *watching) add(event *mvccpb.Event) {
	key := string(event.Kv.Key[len(w.store.keys):])
	switch {
	case !store.Below(key, w.prefixes):
		w.store.counts.unfollowed.Add(1)
	case event.Type == mvccpb.Event_DELETE:
		w.change.Deletes = append(w.change.Deletes, key)
	default:
		w.change.Puts = append(w.change.Puts, w.store.item(event.Kv))
	}
}

// flush applies the change that is complete now.
func (w *watching) flush(ctx context.Context) error {
	change := w.change
	w.change = store.Change{}
	if change.Revision == 0 {
		return nil
	}
	if len(change.Puts)+len(change.Deletes) > 0 {
		if w.store.living.Err() != nil || ctx.Err() != nil {
			return ctx.Err()
		}
		change.Sort()
		w.store.counts.changes.Add(1)
		if err := w.apply(change); err != nil {
			return applyError{err}
		}
	}
	w.reach(int64(change.Revision))
	return nil
}

// reach: everything up to the revision was applied.
func (w *watching) reach(revision int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.position = max(w.position, revision)
	w.update()
}

// update requires mu.
func (w *watching) update() {
	for len(w.expected) > 0 && w.expected[0].revision <= w.position {
		w.shown = max(w.shown, w.expected[0].at)
		w.expected = w.expected[1:]
	}
}

// expect gives the watch a point to reach. If it is not there yet, etcd is asked whether there are changes; a
// stream that stays silent for too long is given up.
func (w *watching) expect(p point, now instant) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.expected = append(w.expected, p)
	if len(w.expected) > maxExpected {
		w.expected = w.expected[1:]
	}
	w.update()
	if len(w.expected) == 0 || w.cancel == nil || w.busy {
		return
	}
	if now.sub(w.heard) > stuckAfter {
		w.cancel()
		return
	}
	ask := &etcdserverpb.WatchRequest_ProgressRequest{ProgressRequest: &etcdserverpb.WatchProgressRequest{}}
	_ = w.stream.Send(&etcdserverpb.WatchRequest{RequestUnion: ask}) // if it fails, Recv does
}

func (w *watching) seen() instant {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.shown
}

func (w *watching) begun(stream etcdserverpb.Watch_WatchClient, cancel context.CancelFunc) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.stream, w.cancel, w.heard = stream, cancel, w.store.options.clock()
}

func (w *watching) hear(busy bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.heard, w.busy = w.store.options.clock(), busy
}
