package keeper

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/cluster/noderpc"
)

// Lessor is what a Keeper needs of a node; noderpc.Client has it.
type Lessor interface {
	// Renew lets leases live for their TTL and returns those that are over.
	Renew(ctx context.Context, leases []catalog.LeaseID) (over []catalog.LeaseID, err error)
	// Release ends leases.
	Release(ctx context.Context, leases ...catalog.LeaseID) error
}

// Options of New. The zero value serves.
type Options struct {
	// Clock replaces noderpc.Now in tests.
	Clock func() noderpc.Instant
	// Log is called when renewals begin to fail and when leases ended; nil: not reported.
	Log func(message string, err error)
}

// Keeper keeps a borrower's leases alive and knows, without a request, which of them can be trusted (N1). It has
// one goroutine, which Close joins (N8). Safe for concurrent use.
//
// A borrower reads so: Hold the lease; load from the region; Check the lease; only then hand on what was made of the
// bytes. A check before the load proves nothing: the process may be stopped right after it.
type Keeper struct {
	lessor  Lessor
	options Options
	cancel  context.CancelFunc // ends the goroutine and its call
	changed chan struct{}      // holds one token: the plan may be another one
	done    chan struct{}
	closing sync.Once

	mu struct {
		sync.RWMutex
		core   core
		closed bool
	}
}

// New starts a keeper.
func New(lessor Lessor, options Options) *Keeper {
	if options.Clock == nil {
		options.Clock = noderpc.Now
	}
	if options.Log == nil {
		options.Log = func(string, error) {}
	}
	ctx, cancel := context.WithCancel(context.Background()) // Close ends it: the keeper outlives the call that made it
	k := &Keeper{lessor: lessor, options: options, cancel: cancel, changed: make(chan struct{}, 1), done: make(chan struct{})}
	k.mu.core = newCore()
	go k.run(ctx)
	return k
}

// Hold takes a lease into care until Release or Close.
func (k *Keeper) Hold(l noderpc.Lease) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.mu.closed {
		return &noderpc.Error{State: stateShutdown, Message: "the keeper of leases is closed"}
	}
	if err := k.mu.core.hold(l.Record.Lease, l.Record.TTL, l.Sent); err != nil {
		return err
	}
	k.wake()
	return nil
}

// Valid reports whether everything that was loaded under the lease before the call was what the snapshot has. It costs
// a reading of the clock. Not valid now may be valid later: if the node turns out to have kept the lease.
func (k *Keeper) Valid(id catalog.LeaseID) bool { return k.Check(id) == nil }

// Check is Valid with the reason: SQLSTATE 72000 when the snapshot is lost, 08006 when the node is; both are
// catalog.ErrLeaseOver, and a new snapshot may work.
func (k *Keeper) Check(id catalog.LeaseID) error {
	k.mu.RLock()
	defer k.mu.RUnlock()
	return k.mu.core.check(id, k.options.Clock())
}

// Release gives a lease up: it is not valid from now on, and the node hears of it soon. It does not block. Releasing
// what is not held does nothing.
func (k *Keeper) Release(id catalog.LeaseID) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.mu.core.drop(id)
	k.wake()
}

// closeTimeout bounds how long Close tries to notify the node; what it did not hear of ends with its TTL.
const closeTimeout = 3 * time.Second

// Close joins the goroutine and releases all leases; none is valid afterwards. The error says that the node did not
// hear of it. Closing twice is harmless.
func (k *Keeper) Close(ctx context.Context) (err error) {
	k.closing.Do(func() {
		k.mu.Lock()
		k.mu.closed = true
		for id := range k.mu.core.held {
			k.mu.core.drop(id)
		}
		k.mu.Unlock()
		k.cancel()
		<-k.done
		err = k.releaseAll(ctx)
	})
	return err
}

func (k *Keeper) releaseAll(ctx context.Context) error {
	k.mu.Lock()
	releases := k.mu.core.releases
	k.mu.core.releases = nil
	k.mu.Unlock()
	if len(releases) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, closeTimeout)
	defer cancel()
	err := k.lessor.Release(ctx, releases...)
	if errors.Is(err, catalog.ErrLeaseOver) {
		return nil // which is what was wanted
	}
	return err
}

// wake requires mu.
func (k *Keeper) wake() {
	select {
	case k.changed <- struct{}{}:
	default: // run will look anyway
	}
}

func (k *Keeper) run(ctx context.Context) {
	defer close(k.done)
	for ctx.Err() == nil {
		k.mu.Lock()
		p := k.mu.core.next(k.options.Clock())
		k.mu.Unlock()
		switch {
		case len(p.renew) > 0:
			k.renew(ctx, p)
		case len(p.release) > 0:
			k.release(ctx, p)
		default:
			k.wait(ctx, p)
		}
	}
}

func (k *Keeper) renew(ctx context.Context, p plan) {
	call, cancel := context.WithTimeout(ctx, p.timeout)
	defer cancel()
	sent := k.options.Clock() // before anything is sent (N1)
	over, err := k.lessor.Renew(call, p.renew)
	k.mu.Lock()
	news := k.mu.core.failure == nil
	if err == nil {
		k.mu.core.renewed(p.renew, sent, over)
	} else {
		k.mu.core.failed(k.options.Clock(), err)
	}
	k.mu.Unlock()
	switch {
	case ctx.Err() != nil: // Close
	case err != nil && news: // not every try of a node that is gone
		k.options.Log("renew leases", err)
	case len(over) > 0:
		k.options.Log("the node ended leases of this process", catalog.ErrLeaseOver)
	}
}

// release forgets leases whose release was not sent: they end with their TTL.
func (k *Keeper) release(ctx context.Context, p plan) {
	call, cancel := context.WithTimeout(ctx, p.timeout)
	defer cancel()
	if err := k.lessor.Release(call, p.release...); err != nil && ctx.Err() == nil && !errors.Is(err, catalog.ErrLeaseOver) {
		k.options.Log("release leases", err)
	}
}

func (k *Keeper) wait(ctx context.Context, p plan) {
	var due <-chan time.Time
	if p.timed {
		timer := time.NewTimer(max(p.until.Sub(k.options.Clock()), 0))
		defer timer.Stop()
		due = timer.C
	}
	select {
	case <-due:
	case <-k.changed:
	case <-ctx.Done():
	}
}
