package engine

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/catalog/descriptor"
	"github.com/csmsql/csmsql/catalog/hugetable"
	"github.com/csmsql/csmsql/cluster/certificate"
	"github.com/csmsql/csmsql/cluster/noderpc"
	"github.com/csmsql/csmsql/coherence"
	"github.com/csmsql/csmsql/engine/fabric"
	"github.com/csmsql/csmsql/engine/lease"
	"github.com/csmsql/csmsql/engine/lifetime"
	"github.com/csmsql/csmsql/engine/member"
	"github.com/csmsql/csmsql/engine/reader"
	"github.com/csmsql/csmsql/memregion"
	"github.com/csmsql/csmsql/sql/dialect"
	"github.com/csmsql/csmsql/sql/sqlerror"
)

// Attach borrows the memory of a running node: its tables are asked in this process, by this process' own DuckDB, over the
// very bytes that the node wrote. target is the node's unix socket. The engine reads only; writing is the node's.
func Attach(ctx context.Context, target string) (*Engine, error) {
	return AttachWith(ctx, target, Config{})
}

// AttachWith is Attach with the settings of config that concern queries: MemoryBytes, SpillBytes, Threads, Files, Verify, Log, and
// Directory for spilling; and Credentials, with which target may be the host:port of a cluster's node.
func AttachWith(ctx context.Context, target string, config Config) (*Engine, error) {
	if err := errors.Join(config.Verify.Check(), config.disable(), dialect.Check(config.Dialect)); err != nil {
		return nil, err
	}
	if config.Workers.Count > 0 {
		return nil, sqlerror.New("0A000", "a process that is attached to a node has no workers").WithHint("The node may have some.")
	}
	e := newEngine(config)
	if err := e.attach(ctx, target); err != nil {
		return nil, errors.Join(err, e.Close())
	}
	return e, nil
}

func (e *Engine) attach(ctx context.Context, target string) error {
	e.remote = &remote{
		target: target, credentials: e.config.Credentials, log: e.config.Log.Warn,
		domain: coherence.Domain(fmt.Sprintf("borrower-%d-%s", os.Getpid(), rand.Text()[:8])),
	}
	description, err := e.remote.dial(ctx)
	if err != nil {
		return err
	}
	e.config.Node = description.Node
	var kind memregion.FabricKind = memregion.FabricShm
	if len(description.Regions) > 0 {
		kind = description.Regions[0].Fabric
	}
	reach := fabric.OfGuest(description.Node, kind)
	if !e.remote.client.Local() {
		if reach, err = fabric.OfBorrower(string(e.remote.domain), kind); err != nil {
			return err
		}
		e.remote.elsewhere = true
	}
	config := reader.Config{Node: description.Node, Fabric: reach, Verification: e.config.Verify, Log: e.config.Log}
	if reach.Guest() {
		config.ForDomain = e.remote.acquire
	}
	e.reader = reader.New(config)
	e.remote.reader = e.reader
	var capacity int64
	for _, r := range description.Regions {
		capacity += r.Capacity
	}
	if err := e.remote.borrow(ctx, description.Regions...); err != nil {
		return err
	}
	if err := e.openDatabase(capacity); err != nil {
		return err
	}
	if e.config.worker {
		return nil // its first statement comes with a snapshot
	}
	if err := e.follow(ctx); err != nil || !e.config.Prefault {
		return err
	}
	return e.prefault(ctx)
}

// dial reaches the node's present process. Requires mu, or that nobody else knows r yet.
func (r *remote) dial(ctx context.Context) (noderpc.Description, error) {
	var options []noderpc.DialOption
	if r.credentials != nil {
		options = append(options, noderpc.WithTLS(r.credentials, ""))
	}
	client, err := noderpc.Dial(ctx, r.target, options...)
	if err != nil {
		return noderpc.Description{}, err
	}
	description, err := client.Describe(ctx)
	if err != nil {
		return description, errors.Join(err, client.Close())
	}
	if r.catalog != "" && r.catalog != description.Catalog {
		err := sqlerror.New("08006", "at %s there is another node now, with other tables: its catalog is %s, it was %s", r.target, description.Catalog, r.catalog).
			WithHint("Attach again.")
		return description, errors.Join(err, client.Close())
	}
	r.catalog = description.Catalog
	r.client = client
	r.keeper = noderpc.NewKeeper(client, noderpc.KeeperOptions{Log: func(m string, err error) { r.log(m, "error", err) }})
	return description, nil
}

// redial reaches a node that was started again. What was leased from its former process is lost; what was acquired from
// its memory stays right, because generations never come again. Requires mu.
func (r *remote) redial(ctx context.Context) error {
	r.forget()
	old, keeper := r.client, r.keeper
	description, err := r.dial(ctx)
	if err != nil {
		return err
	}
	// Statements under way keep the old keeper, which tells them that their leases are over.
	if err := keeper.Close(ctx); err != nil {
		r.log("leases of the node's former process are gone", "error", err)
	}
	if err := old.Close(); err != nil {
		r.log("closing the connection to the node's former process", "error", err)
	}
	var unknown []noderpc.Region
	for _, region := range description.Regions {
		if m := r.reader.Find(region.ID); m != nil {
			m.Trust(region.Trusted)
			continue
		}
		unknown = append(unknown, region)
	}
	return r.borrow(ctx, unknown...)
}

// idleLease is how long a borrower that asks nothing keeps its last snapshot, in case the next question comes soon.
const idleLease = time.Second

// remote is a borrower's way to its node.
type remote struct {
	target      string
	credentials *certificate.Credentials // nil: target needs none
	domain      coherence.Domain
	reader      *reader.Reader
	log         func(string, ...any)
	elsewhere   bool // its caches are not the node's; immutable once it is attached

	mu      sync.Mutex // guards everything below
	client  *noderpc.Client
	catalog string // the identity of the node's catalog: what is mapped belongs to it
	keeper  *noderpc.Keeper
	current *lease.Lease // the newest snapshot that was taken; the remote itself is one of its users
	used    time.Time    // when it was last handed out
	views   []*memregion.View
	timer   *time.Timer
	closed  bool

	// Of a worker: the snapshot that its node has given, and what it is made of.
	given    *lease.Lease
	source   *hugetable.Source
	versions map[string]*catalog.TableVersion // by their records
}

// borrow maps regions of the node. Requires mu, or that nobody else knows r yet.
func (r *remote) borrow(ctx context.Context, regions ...noderpc.Region) error {
	for _, region := range regions {
		if err := r.mapRegion("", region.Spec, region.Trusted); err != nil {
			return err
		}
	}
	if len(regions) == 0 {
		return nil
	}
	// What somebody altered before the map was there to notice it, the node has noticed, and then trusts nothing itself: so it is asked once
	// more, afterwards.
	again, err := r.client.Describe(ctx)
	if err != nil {
		return err
	}
	for _, region := range again.Regions {
		if m := r.reader.Find(region.ID); m != nil {
			m.Trust(region.Trusted)
		}
	}
	return nil
}

// mapRegion maps a region of the node, or of the owner named. Requires mu, or that nobody else knows r yet.
func (r *remote) mapRegion(owner string, spec memregion.Spec, trusted coherence.Generation) error {
	if err := r.reader.Fabric().Accepts(spec, cmp.Or(owner, r.reader.Node())); err != nil {
		return err
	}
	view, err := memregion.BorrowIn(r.reader.Fabric().Domain, owner == "" && !r.elsewhere, spec)
	if err != nil {
		return fmt.Errorf("engine: borrow region %d of node %s: %w", spec.ID, cmp.Or(owner, r.reader.Node()), err)
	}
	if view.Relocated() {
		r.log("a region could not be mapped at its planned address; it is read elsewhere", "region", spec.ID, "planned", fmt.Sprintf("%#x", spec.Base), "mapped", fmt.Sprintf("%#x", view.Base()))
	}
	r.views = append(r.views, view)
	return r.reader.AddOf(owner, view, trusted)
}

// snapshot leases the tables as they are at the node now. While nothing was committed there, statements share one lease.
func (r *remote) snapshot(ctx context.Context) (*lease.Lease, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return nil, lifetime.Closed
	}
	taken, err := r.take(ctx)
	if err != nil {
		return nil, err
	}
	r.used = time.Now()
	keeper, id := r.keeper, taken.ID()
	if r.current != nil && r.current.Snapshot.Revision() == taken.Record.Revision && keeper.Valid(r.current.Snapshot.Lease()) {
		keeper.Release(id)
		return r.current.Hold(), nil
	}
	if err := r.knowRegions(ctx, taken.Record.Regions); err != nil {
		keeper.Release(id)
		return nil, err
	}
	snapshot, err := catalog.NewRemoteSnapshot(taken.Record, r.client, catalog.RemoteOptions{Release: func() { keeper.Release(id) }})
	if err != nil {
		keeper.Release(id)
		return nil, err
	}
	r.forget()
	r.current = lease.New(snapshot, func() error { return keeper.Check(id) })
	r.timer = time.AfterFunc(idleLease, r.forgetIdle)
	return r.current.Hold(), nil
}

// take leases from the node; from its next process, if it was started again. Requires mu.
func (r *remote) take(ctx context.Context) (noderpc.Lease, error) {
	holder := catalog.Holder{Domain: r.domain, Description: fmt.Sprintf("%s (process %d)", os.Args[0], os.Getpid())}
	taken, err := r.client.Lease(ctx, holder)
	if lost(err) {
		if failed := r.redial(ctx); failed != nil {
			return taken, failed
		}
		taken, err = r.client.Lease(ctx, holder)
	}
	if err != nil {
		return taken, err
	}
	return taken, r.keeper.Hold(taken)
}

// lost tells whether the node's process is another one now, or none.
func lost(err error) bool {
	var state interface{ SQLState() string }
	return errors.Is(err, noderpc.ErrRestarted) || errors.As(err, &state) && state.SQLState() == "08006"
}

// acquire has the node do it, whose caches are this process' as well.
func (r *remote) acquire(ctx context.Context, x *descriptor.Extent) error {
	r.mu.Lock()
	client := r.client
	r.mu.Unlock()
	return aboutBytes(client.Acquire(ctx, *x))
}

// aboutBytes tells what a node found wrong with a chunk from that it could not be asked.
func aboutBytes(err error) error {
	var answer *noderpc.Error
	if err == nil || errors.As(err, &answer) && answer.Answered && (answer.State == "XX001" || answer.State == "58030") {
		return err
	}
	return &reader.Unanswered{Err: err}
}

// knowRegions maps regions that the node made since, and those of the other nodes of its cluster: their chunks stay in place as
// long as the node's lease does. Requires mu.
func (r *remote) knowRegions(ctx context.Context, records []catalog.RegionRecord) error {
	for _, record := range records {
		if record.Node != r.reader.Node() {
			r.knowForeign(record)
			continue
		}
		if r.reader.Has(record.ID) {
			continue
		}
		description, err := r.client.Describe(ctx)
		if err != nil {
			return err
		}
		at := slices.IndexFunc(description.Regions, func(region noderpc.Region) bool { return region.ID == record.ID })
		if at < 0 {
			continue
		}
		if err := r.borrow(ctx, description.Regions[at]); err != nil {
			return err
		}
	}
	return nil
}

// knowForeign maps another node's region. One that cannot be mapped is missing only to those who ask for what lies there. Requires mu.
func (r *remote) knowForeign(record catalog.RegionRecord) {
	r.reader.BecomeShared()
	if m := r.reader.Find(record.ID); m != nil {
		m.TrustLess(record.Trusted) // once its lender began anew
		return
	}
	if err := r.mapRegion(record.Node, record.Spec, record.Trusted); err != nil {
		r.log("another node's memory is not there", "error", err)
	}
}

// forget gives the shared snapshot up; running statements keep theirs. Requires mu.
func (r *remote) forget() {
	if r.current != nil {
		r.timer.Stop()
		r.current.Release()
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
	if rest := idleLease - time.Since(r.used); rest > 0 || r.current.Shared() {
		r.timer.Reset(max(rest, idleLease/4))
		return
	}
	r.forget()
}

func (r *remote) close() error {
	r.mu.Lock()
	r.closed = true
	r.forget()
	if r.given != nil {
		r.given.Release()
		r.given = nil
	}
	views := r.views
	r.views = nil
	r.mu.Unlock()
	if r.client == nil {
		return nil // it was never reached
	}
	if err := r.keeper.Close(context.Background()); err != nil {
		r.log("the node did not hear that the leases are given up; they run out by themselves", "error", err)
	}
	if r.reader != nil && r.reader.Close() > 0 {
		r.log(member.StillMapped)
	}
	var err error
	for _, v := range views {
		err = errors.Join(err, v.Close())
	}
	return errors.Join(err, r.client.Close())
}
