package etcd

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"sync"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/csmsql/csmsql/catalog/store"
	"github.com/csmsql/csmsql/internal/faults"
)

// session keeps a handle's lease alive. Its goroutine does a round every second, or third of the TTL:
//
//	sent := now ─▶ renew the lease ─▶ linearizable read of the fence ─┬▶ same term, fence there: alive until sent + TTL − margin
//	                                                                 ├▶ no fence: over
//	                                                                 └▶ else: nothing is proved, soon again
//
// The read proves that the lease lived, that the leader which renewed it was one (a leader that was paused renews in
// its own memory only), and which revision a watch must have reached to be no older than sent.
type session struct {
	store *Store
	lease clientv3.LeaseID // immutable after begin
	done  chan struct{}
	runs  sync.WaitGroup

	mu      sync.RWMutex
	core    sessionCore        // guarded by mu
	reached point              // guarded by mu; the newest
	opened  instant            // guarded by mu
	watches map[*watching]bool // guarded by mu
}

// point says that every transaction acknowledged before at has a revision no larger than revision.
type point struct {
	revision int64
	at       instant
}

var _ store.Session = (*session)(nil)

func newSession(s *Store) *session {
	return &session{store: s, done: make(chan struct{}), watches: map[*watching]bool{}}
}

func (n *session) now() instant { return n.store.options.clock() }

// begin takes a lease and writes the fence. If this process, or etcd, stood still for so long that the lease has ended
// meanwhile, it takes another one, as long as there is time.
func (n *session) begin(ctx context.Context) error {
	for {
		if err := n.take(ctx); !errors.Is(err, rpctypes.ErrLeaseNotFound) {
			return err
		}
	}
}

func (n *session) take(ctx context.Context) error {
	sent := n.now()
	lease, err := n.store.client.Grant(ctx, int64(n.store.options.SessionTTL/time.Second))
	if err != nil {
		return err
	}
	n.lease = lease.ID
	if n.store.options.beforeFence != nil {
		n.store.options.beforeFence(lease.ID)
	}
	key := sessionKey(n.store.options.Prefix, lease.ID)
	answer, err := n.store.client.Put(ctx, key, n.description(), clientv3.WithLease(lease.ID))
	if err != nil {
		return err // the lease ends by itself
	}
	n.store.fence.key, n.store.fence.settling, n.store.fence.revision = key, make(chan struct{}, 1), answer.Header.Revision
	n.core = sessionCore{ttl: time.Duration(lease.TTL) * time.Second, sent: sent}
	n.opened, n.reached = sent, point{answer.Header.Revision, sent}
	return nil
}

// description is for operators that look into etcd.
func (n *session) description() string {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown host"
	}
	return fmt.Sprintf("%s process %d %s", host, os.Getpid(), n.store.options.Description)
}

// Check implements store.Session (E2).
func (n *session) Check() error {
	n.mu.RLock()
	defer n.mu.RUnlock()
	return n.core.check(n.now())
}

// Lasts implements store.Session (E2).
func (n *session) Lasts(d time.Duration) error {
	n.mu.RLock()
	defer n.mu.RUnlock()
	return n.core.lasts(n.now(), d)
}

// Done implements store.Session.
func (n *session) Done() <-chan struct{} { return n.done }

// Lag implements store.Session.
func (n *session) Lag() time.Duration {
	n.mu.RLock()
	defer n.mu.RUnlock()
	oldest := n.reached.at
	for w := range n.watches {
		oldest = min(oldest, w.seen())
	}
	return n.now().sub(oldest)
}

// inTrouble reports whether the last round failed.
func (n *session) inTrouble() bool {
	n.mu.RLock()
	defer n.mu.RUnlock()
	return n.core.failure != nil
}

// end is final (E2).
func (n *session) end(why error) {
	n.mu.Lock()
	ended := n.core.end(why)
	n.mu.Unlock()
	if ended {
		close(n.done)
	}
}

// lost is called when etcd says that the fence is gone. It returns the session's error.
func (n *session) lost() error {
	n.end(sessionOver("etcd ended it, because it did not hear of this process for too long", nil))
	n.mu.RLock()
	defer n.mu.RUnlock()
	return n.core.over
}

// run starts the goroutine, which ends with the handle or the session; join waits for it.
func (n *session) run() {
	n.runs.Go(func() {
		for {
			n.mu.RLock()
			due, timeout := n.core.due()
			n.mu.RUnlock()
			if wait(n.store.living, max(due.sub(n.now()), 0)) != nil {
				return
			}
			if !n.round(timeout) {
				n.store.options.Log.Error("the session in etcd is over", "error", n.Check())
				return
			}
		}
	})
}

func (n *session) join() { n.runs.Wait() }

// errUnproved: another leader came while the lease was renewed.
var errUnproved = errors.New("etcd's leader changed while the session was renewed")

// round renews once. False: the session is over.
func (n *session) round(timeout time.Duration) bool {
	ctx, cancel := context.WithTimeout(clientv3.WithRequireLeader(n.store.living), timeout)
	defer cancel()
	n.store.options.Fault.At(faults.SessionRenewal)
	sent := n.now()
	renewal, err := n.renew(ctx)
	if err != nil {
		n.failed(err)
		return true
	}
	fence, err := n.store.client.Get(ctx, n.store.fence.key, clientv3.WithCountOnly())
	switch {
	case err != nil:
		n.failed(err)
	case fence.Count == 0:
		_ = n.lost()
		return false
	case !proved(renewal, fence):
		n.failed(errUnproved)
	default:
		n.renewed(point{fence.Header.Revision, sent})
	}
	return true
}

// proved reports whether a renewal counts, given a linearizable read that was begun after it and found the fence. The
// term of the renewal's answer was taken before the lease was renewed; if it is still the newest term afterwards, then
// the member that renewed it led the cluster, and its successor extends all leases by their whole TTL.
func proved(renewal *etcdserverpb.LeaseKeepAliveResponse, fence *clientv3.GetResponse) bool {
	return renewal.TTL > 0 && renewal.Header.RaftTerm == fence.Header.RaftTerm
}

// renew asks once, unlike the client's KeepAliveOnce, which asks again without a pause while there is no connection.
func (n *session) renew(ctx context.Context) (*etcdserverpb.LeaseKeepAliveResponse, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // ends the stream
	stream, err := etcdserverpb.NewLeaseClient(n.store.client.ActiveConnection()).LeaseKeepAlive(ctx)
	if err != nil {
		return nil, rpctypes.Error(err)
	}
	if err := stream.Send(&etcdserverpb.LeaseKeepAliveRequest{ID: int64(n.lease)}); err != nil {
		return nil, rpctypes.Error(err)
	}
	answer, err := stream.Recv()
	return answer, rpctypes.Error(err)
}

func (n *session) renewed(p point) {
	n.store.counts.renewals.Add(1)
	n.mu.Lock()
	n.core.renewed(p.at)
	n.reached = p
	watches := slices.Collect(maps.Keys(n.watches))
	n.mu.Unlock()
	for _, w := range watches { // not under mu: it sends, and Check must not wait
		w.expect(p, n.now())
	}
}

func (n *session) failed(err error) {
	if n.store.living.Err() != nil { // Close
		return
	}
	n.store.counts.failedRenewals.Add(1)
	n.mu.Lock()
	news := n.core.failed(n.now(), err)
	n.mu.Unlock()
	if news { // not every try of an etcd that is gone
		n.store.options.Log.Warn("the session in etcd could not be renewed; trying again", "error", describe(err))
	}
}

// revoke ends the session from this side: etcd deletes its keys at once if it can be reached.
func (n *session) revoke() {
	over := n.Check() != nil && isSessionOver(n.Check())
	n.end(sessionOver("this process closed it", store.ErrClosed))
	if over {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), closeWait) // the handle's own context is over
	defer cancel()
	if _, err := n.store.client.Revoke(ctx, n.lease); err != nil && !errors.Is(err, rpctypes.ErrLeaseNotFound) {
		n.store.options.Log.Warn("etcd did not hear that the session ends; its keys go later", "ttl", n.store.options.SessionTTL, "error", describe(err))
	}
}

// attach and detach let the session give a watch points to reach.
func (n *session) attach(w *watching) {
	n.mu.Lock()
	defer n.mu.Unlock()
	at := n.opened
	if w.position >= n.reached.revision {
		at = n.reached.at
	}
	w.shown = at
	n.watches[w] = true
}

func (n *session) detach(w *watching) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.watches, w)
}
