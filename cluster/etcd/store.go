package etcd

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"

	"github.com/csmsql/csmsql/catalog/store"
)

// pingEvery and pingWait find connections that lead nowhere; etcd allows no more than a ping in five seconds.
const (
	pingEvery = 5 * time.Second
	pingWait  = 3 * time.Second
	// redialEvery is how long it takes at most, about, until an etcd that is back is tried again.
	redialEvery = 500 * time.Millisecond
	// closeWait bounds how long Close tries to notify etcd.
	closeWait = 2 * time.Second
)

// Store is a handle on the catalog in etcd, with a session of its own. It has one goroutine, which Close joins. Safe
// for concurrent use.
type Store struct {
	options Options
	client  *clientv3.Client
	keys    string // what all keys begin with
	fence   fence
	session *session
	counts  counts
	members atomic.Pointer[[]Member] // as they last answered

	living  context.Context // done when Close begins
	die     context.CancelFunc
	closing sync.Once
}

var _ store.Store = (*Store)(nil)

// Open connects to an etcd and begins a session there. It fails when that does not work within Options.Timeout, and
// leaves nothing behind that does not end by itself.
func Open(ctx context.Context, options Options) (*Store, error) {
	options, err := options.withDefaults()
	if err != nil {
		return nil, err
	}
	client, err := connect(options)
	if err != nil {
		return nil, badOption("cannot make a client of %s: %v", strings.Join(options.Endpoints, ", "), err)
	}
	s := &Store{options: options, client: client, keys: options.Prefix + "keys/"}
	s.living, s.die = context.WithCancel(context.Background()) // the handle outlives the call that made it
	s.session = newSession(s)
	call, done, err := s.call(ctx)
	if err == nil {
		err = s.session.begin(call)
		done()
	}
	if err != nil {
		err = s.failure(ctx, "open the catalog", err)
		s.die()
		return nil, errors.Join(err, client.Close())
	}
	s.session.run()
	return s, nil
}

func connect(o Options) (*clientv3.Client, error) {
	return clientv3.New(clientv3.Config{
		Endpoints: o.Endpoints, TLS: o.TLS, DialTimeout: o.Timeout, DialKeepAliveTime: pingEvery, DialKeepAliveTimeout: pingWait,
		Logger: zapLogger(o.Log, quietClient),
		DialOptions: []grpc.DialOption{
			grpc.WithStatsHandler(sentHandler{o.Fault}),
			// gRPC's own waits grow to minutes: a node would not be heard of long after etcd is back.
			grpc.WithConnectParams(grpc.ConnectParams{
				Backoff:           backoff.Config{BaseDelay: 50 * time.Millisecond, Multiplier: 1.6, Jitter: 0.2, MaxDelay: redialEvery},
				MinConnectTimeout: pingWait,
			}),
		},
	})
}

// call bounds a call: by the caller, by Options.Timeout and by the handle's life. A member that knows no leader is to
// say so at once, so that another one is asked. Call what is returned when the call is over.
func (s *Store) call(ctx context.Context) (context.Context, func(), error) {
	if err := s.usable(ctx); err != nil {
		return nil, nil, err
	}
	call, cancel := context.WithTimeout(ctx, s.options.Timeout)
	stop := context.AfterFunc(s.living, cancel)
	return clientv3.WithRequireLeader(call), func() { stop(); cancel() }, nil
}

func (s *Store) usable(ctx context.Context) error {
	if s.living.Err() != nil {
		return store.ErrClosed
	}
	return ctx.Err()
}

// Get implements store.Store.
func (s *Store) Get(ctx context.Context, key string) (store.Item, bool, error) {
	call, done, err := s.call(ctx)
	if err != nil {
		return store.Item{}, false, err
	}
	defer done()
	what := fmt.Sprintf("read %q", key)
	if _, err := s.settled(call); err != nil && !errors.Is(err, store.ErrSessionOver) {
		return store.Item{}, false, s.failure(ctx, what, err)
	}
	found, here := s.askHere(call, s.keys+key)
	if !here {
		answer, err := s.ask(call, s.keys+key)
		if err != nil {
			return store.Item{}, false, s.failure(ctx, what, err)
		}
		found = answer.Kvs
	}
	if len(found) == 0 {
		return store.Item{}, false, nil
	}
	return s.item(found[0]), true, nil
}

// askHere reads a key linearizably from the member of this process; false: that cannot answer, and any member that can
// be reached is to be asked.
func (s *Store) askHere(ctx context.Context, key string) (found []*mvccpb.KeyValue, ok bool) {
	if s.options.Member == nil {
		return nil, false
	}
	try, cancel := context.WithTimeout(ctx, s.options.Timeout/tries)
	defer cancel()
	return s.options.Member.read(try, key)
}

// GetLocal implements store.Local: any member answers, also one that has no leader.
func (s *Store) GetLocal(ctx context.Context, key string) (store.Item, bool) {
	if s.usable(ctx) != nil {
		return store.Item{}, false
	}
	try, cancel := context.WithTimeout(ctx, s.options.Timeout/tries)
	defer cancel()
	stop := context.AfterFunc(s.living, cancel)
	defer stop()
	answer, err := s.client.Get(try, s.keys+key, clientv3.WithSerializable())
	if err != nil || len(answer.Kvs) == 0 {
		return store.Item{}, false
	}
	return s.item(answer.Kvs[0]), true
}

// tries is how many members a read can ask in its time: one that does not answer at all must not cost all of it.
const tries = 3

// ask reads linearizably.
func (s *Store) ask(ctx context.Context, key string, how ...clientv3.OpOption) (*clientv3.GetResponse, error) {
	for {
		try, cancel := context.WithTimeout(ctx, s.options.Timeout/tries)
		answer, err := s.client.Get(try, key, how...)
		late := try.Err() != nil && ctx.Err() == nil
		cancel()
		if err == nil || !late {
			return answer, err
		}
	}
}

// Session implements store.Store.
func (s *Store) Session() store.Session { return s.session }

// Limits implements store.Store.
func (s *Store) Limits() store.Limits { return limits() }

// Close implements store.Store. If etcd does not hear of it, the session's ephemeral keys go with its TTL.
func (s *Store) Close() (err error) {
	s.closing.Do(func() {
		s.die()
		s.session.join()
		s.session.revoke()
		err = s.client.Close()
		if errors.Is(err, context.Canceled) {
			err = nil
		}
	})
	return err
}
