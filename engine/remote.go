package engine

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/cluster/noderpc"
	"github.com/csmsql/csmsql/coherence"
	"github.com/csmsql/csmsql/memregion"
)

// Attach borrows the memory of a running node: its tables are asked in this process, by this process' own DuckDB, over the
// very bytes that the node wrote. target is the node's unix socket. The engine reads only; writing is the node's.
func Attach(ctx context.Context, target string) (*Engine, error) {
	return AttachWith(ctx, target, Config{})
}

// AttachWith is Attach with the settings of config that concern queries: MemoryBytes, SpillBytes, Threads, Files, Log, and
// Directory for spilling.
func AttachWith(ctx context.Context, target string, config Config) (*Engine, error) {
	config = config.withDefaults()
	e := &Engine{config: config, sessions: map[*Session]struct{}{}, started: time.Now()}
	if err := e.attach(ctx, target); err != nil {
		return nil, errors.Join(err, e.Close())
	}
	return e, nil
}

func (e *Engine) attach(ctx context.Context, target string) error {
	client, err := noderpc.Dial(ctx, target)
	if err != nil {
		return err
	}
	e.remote = &remote{
		client: client, log: e.config.Log.Warn,
		keeper: noderpc.NewKeeper(client, noderpc.KeeperOptions{Log: func(m string, err error) { e.config.Log.Warn(m, "error", err) }}),
		domain: coherence.Domain(fmt.Sprintf("borrower-%d-%s", os.Getpid(), rand.Text()[:8])),
	}
	description, err := client.Describe(ctx)
	if err != nil {
		return err
	}
	e.config.Node = description.Node
	e.regions = newRegions(description.Node)
	e.remote.regions = e.regions
	var capacity int64
	for _, r := range description.Regions {
		if err := e.remote.borrow(r.Spec, r.Trusted); err != nil {
			return err
		}
		capacity += r.Capacity
	}
	if err := e.openDatabase(capacity); err != nil {
		return err
	}
	return e.follow(ctx)
}

// idleLease is how long a borrower that asks nothing keeps its last snapshot, in case the next question comes soon.
const idleLease = time.Second

// remote is a borrower's way to its node.
type remote struct {
	client  *noderpc.Client
	keeper  *noderpc.Keeper
	domain  coherence.Domain
	regions *regions
	log     func(string, ...any)

	mu      sync.Mutex // guards everything below
	current *lease     // the newest snapshot that was taken; the remote itself is one of its users
	used    time.Time  // when it was last handed out
	views   []*memregion.View
	timer   *time.Timer
	closed  bool
}

// borrow maps a region of the node. Requires mu, or that nobody else knows r yet.
func (r *remote) borrow(spec memregion.Spec, trusted coherence.Generation) error {
	view, err := memregion.Borrow(spec)
	if err != nil {
		return fmt.Errorf("engine: borrow region %d of node %s: %w", spec.ID, r.regions.node, err)
	}
	if view.Relocated() {
		r.log("a region could not be mapped at its planned address; it is read elsewhere", "region", spec.ID, "planned", fmt.Sprintf("%#x", spec.Base), "mapped", fmt.Sprintf("%#x", view.Base()))
	}
	r.views = append(r.views, view)
	return r.regions.add(view, trusted)
}

// snapshot leases the tables as they are at the node now. While nothing was committed there, statements share one lease.
func (r *remote) snapshot(ctx context.Context) (*lease, error) {
	taken, err := r.client.Lease(ctx, catalog.Holder{Domain: r.domain, Description: fmt.Sprintf("%s (process %d)", os.Args[0], os.Getpid())})
	if err != nil {
		return nil, err
	}
	if err := r.keeper.Hold(taken); err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		r.keeper.Release(taken.ID())
		return nil, failure("57P03", "the engine is closing")
	}
	r.used = time.Now()
	if r.current != nil && r.current.snapshot.Revision() == taken.Record.Revision && r.keeper.Valid(r.current.snapshot.Lease()) {
		r.keeper.Release(taken.ID())
		return r.current.hold(), nil
	}
	if err := r.knowRegions(ctx, taken.Record.Regions); err != nil {
		r.keeper.Release(taken.ID())
		return nil, err
	}
	snapshot, err := catalog.NewRemoteSnapshot(taken.Record, r.client, catalog.RemoteOptions{Release: func() { r.keeper.Release(taken.ID()) }})
	if err != nil {
		r.keeper.Release(taken.ID())
		return nil, err
	}
	r.forget()
	r.current = newLease(snapshot)
	r.timer = time.AfterFunc(idleLease, r.forgetIdle)
	return r.current.hold(), nil
}

// knowRegions maps regions that the node made since. Requires mu.
func (r *remote) knowRegions(ctx context.Context, records []catalog.RegionRecord) error {
	for _, record := range records {
		if r.regions.has(record.ID) {
			continue
		}
		description, err := r.client.Describe(ctx)
		if err != nil {
			return err
		}
		for _, region := range description.Regions {
			if region.ID == record.ID {
				if err := r.borrow(region.Spec, region.Trusted); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// forget gives the shared snapshot up; running statements keep theirs. Requires mu.
func (r *remote) forget() {
	if r.current != nil {
		r.timer.Stop()
		r.current.release()
		r.current = nil
	}
}

// forgetIdle lets a silent borrower hold nothing: the node may need the memory.
func (r *remote) forgetIdle() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.current == nil {
		return
	}
	if rest := idleLease - time.Since(r.used); rest > 0 || r.current.users.Load() > 1 {
		r.timer.Reset(max(rest, idleLease/4))
		return
	}
	r.forget()
}

func (r *remote) close() error {
	r.mu.Lock()
	r.closed = true
	r.forget()
	views := r.views
	r.views = nil
	r.mu.Unlock()
	if err := r.keeper.Close(context.Background()); err != nil {
		r.log("the node did not hear that the leases are given up; they run out by themselves", "error", err)
	}
	if r.regions != nil {
		r.regions.close()
	}
	var err error
	for _, v := range views {
		err = errors.Join(err, v.Close())
	}
	return errors.Join(err, r.client.Close())
}
