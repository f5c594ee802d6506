package borrower

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/catalog/descriptor"
	"github.com/csmsql/csmsql/catalog/record"
	"github.com/csmsql/csmsql/cluster/certificate"
	"github.com/csmsql/csmsql/cluster/noderpc"
	"github.com/csmsql/csmsql/cluster/noderpc/keeper"
	"github.com/csmsql/csmsql/coherence"
	"github.com/csmsql/csmsql/engine/fabric"
	"github.com/csmsql/csmsql/engine/lease"
	"github.com/csmsql/csmsql/engine/lifetime"
	"github.com/csmsql/csmsql/engine/member"
	"github.com/csmsql/csmsql/engine/reader"
	"github.com/csmsql/csmsql/memregion"
	"github.com/csmsql/csmsql/sql/sqlerror"
)

// New is a borrower that is not attached yet; Close ends it, attached or not.
func New(c Config) *Borrower {
	return &Borrower{
		target: c.Target, credentials: c.Credentials, config: c,
		domain: coherence.Domain(fmt.Sprintf("borrower-%d-%s", os.Getpid(), rand.Text()[:8])),
	}
}

// Attach reaches the node and maps its regions. It comes once, before everything else.
func (r *Borrower) Attach(ctx context.Context) (Attached, error) {
	description, err := r.dial(ctx)
	if err != nil {
		return Attached{}, err
	}
	var kind memregion.FabricKind = memregion.FabricShm
	if len(description.Regions) > 0 {
		kind = description.Regions[0].Fabric
	}
	reach := fabric.OfGuest(description.Node, kind)
	if !r.client.Local() {
		if reach, err = fabric.OfBorrower(string(r.domain), kind); err != nil {
			return Attached{}, err
		}
		r.elsewhere = true
	}
	config := reader.Config{Node: description.Node, Fabric: reach, Verification: r.config.Verify, Log: r.config.Log}
	if reach.Guest() {
		config.ForDomain = r.acquire
	}
	r.reader = reader.New(config)
	attached := Attached{Node: description.Node, Reader: r.reader}
	for _, region := range description.Regions {
		attached.RegionBytes += region.Capacity
	}
	return attached, r.borrow(ctx, description.Regions...)
}

// Attached is what a borrower has found: the node's name, the way to the bytes of its chunks, how large its regions
// are.
type Attached struct {
	Node        string
	Reader      *reader.Reader
	RegionBytes int64
}

// dial reaches the node's present process. Requires mu, or that r is not attached yet.
func (r *Borrower) dial(ctx context.Context) (noderpc.Description, error) {
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
	r.client, r.known = client, newKnown(client)
	r.keeper = keeper.New(client, keeper.Options{Log: func(m string, err error) { r.config.Log.Warn(m, "error", err) }})
	return description, nil
}

// redial reaches a node that was started again. What was leased from its former process is lost; what was acquired from
// its memory stays right, because generations never come again. Requires mu.
func (r *Borrower) redial(ctx context.Context) error {
	r.forget()
	old, keeper := r.client, r.keeper
	description, err := r.dial(ctx)
	if err != nil {
		return err
	}
	// Statements under way keep the old keeper, by which they learn that their leases are over.
	if err := keeper.Close(ctx); err != nil {
		r.config.Log.Warn("leases of the node's former process are gone", "error", err)
	}
	if err := old.Close(); err != nil {
		r.config.Log.Warn("closing the connection to the node's former process", "error", err)
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

// Config says to which node a borrower is attached, and how.
type Config struct {
	// Target is the node's unix socket, or the host:port of a cluster's node, which needs Credentials.
	Target      string
	Credentials *certificate.Credentials
	// Verify says when bytes are compared with their checksums.
	Verify reader.Verification
	Log    *slog.Logger
}

// Borrower is a process' way to a running node. Safe for concurrent use once it is attached.
type Borrower struct {
	target      string
	credentials *certificate.Credentials // nil: target needs none
	domain      coherence.Domain
	config      Config
	reader      *reader.Reader // immutable once it is attached, as is
	elsewhere   bool           // its caches are not the node's

	mu      sync.Mutex // guards everything below
	client  *noderpc.Client
	catalog string // the identity of the node's catalog: what is mapped belongs to it
	keeper  *keeper.Keeper
	current *lease.Lease // the newest snapshot that was taken; the borrower itself is one of its users
	used    time.Time    // when it was last handed out
	views   []*memregion.View
	timer   *time.Timer
	closed  bool
	known   *known
	sought  []catalog.TableName // names of tables that were looked for in the last snapshot
	given   *lease.Lease        // of a worker: the snapshot that its node has given
}

// borrow maps regions of the node. Requires mu, or that r is not attached yet.
func (r *Borrower) borrow(ctx context.Context, regions ...noderpc.Region) error {
	for _, region := range regions {
		if err := r.mapRegion("", region.Spec, region.Trusted); err != nil {
			return err
		}
	}
	if len(regions) == 0 {
		return nil
	}
	// What was altered before the map was there to notice it, the node has noticed, and then trusts nothing
	// itself: so it is asked once more, afterwards.
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

// mapRegion maps a region of the node, or of the owner named. Requires mu, or that r is not attached yet.
func (r *Borrower) mapRegion(owner string, spec memregion.Spec, trusted coherence.Generation) error {
	if err := r.reader.Fabric().Accepts(spec, cmp.Or(owner, r.reader.Node())); err != nil {
		return err
	}
	view, err := memregion.BorrowIn(r.reader.Fabric().Domain, owner == "" && !r.elsewhere, spec)
	if err != nil {
		return fmt.Errorf("map region %d of node %s: %w", spec.ID, cmp.Or(owner, r.reader.Node()), err)
	}
	if view.Relocated() {
		r.config.Log.Warn("a region could not be mapped at its planned address; it is read elsewhere", "region", spec.ID, "planned", fmt.Sprintf("%#x", spec.Base), "mapped", fmt.Sprintf("%#x", view.Base()))
	}
	r.views = append(r.views, view)
	return r.reader.AddOf(owner, view, trusted)
}

// Snapshot leases the tables as they are at the node now, or were at most maxAge ago; it returns how old they may be.
// While nothing was committed there, statements share one lease.
func (r *Borrower) Snapshot(ctx context.Context, maxAge time.Duration) (*lease.Lease, time.Duration, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return nil, 0, lifetime.Closed
	}
	taken, err := r.take(ctx, maxAge)
	if err != nil {
		return nil, 0, err
	}
	r.used = time.Now()
	keeper, id := r.keeper, taken.ID()
	if r.current != nil && r.current.Snapshot.Revision() == taken.Record.Revision && r.current.Snapshot.Err() == nil &&
		keeper.Valid(r.current.Snapshot.Lease()) {
		keeper.Release(id)
		return r.current.Hold(), taken.Record.Age, nil
	}
	if err := r.knowRegions(ctx, taken.Record.Regions); err != nil {
		keeper.Release(id)
		return nil, 0, err
	}
	if r.current != nil {
		r.sought = r.current.Snapshot.Sought()
	}
	client := r.client
	r.known.next()
	options := catalog.RemoteOptions{
		Release: func() { keeper.Release(id) }, Version: r.known.version, Expected: r.sought,
		Tables: func(asked record.TablesAsked) (record.TablesAnswer, error) {
			return client.Tables(context.Background(), id, asked)
		},
	}
	snapshot, err := catalog.NewRemoteSnapshot(taken.Record, client, options)
	if err != nil {
		keeper.Release(id)
		return nil, 0, err
	}
	r.forget()
	r.current = lease.New(snapshot, func() error { return cmp.Or(snapshot.Err(), keeper.Check(id)) })
	r.timer = time.AfterFunc(idleLease, r.forgetIdle)
	return r.current.Hold(), taken.Record.Age, nil
}

// take leases from the node; from its next process, if it was started again. Requires mu.
func (r *Borrower) take(ctx context.Context, maxAge time.Duration) (noderpc.Lease, error) {
	holder := catalog.Holder{
		Domain: r.domain, Description: fmt.Sprintf("%s (process %d)", os.Args[0], os.Getpid()), Partial: true,
		MaxAge: maxAge,
	}
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

// lost reports whether the node's process is another one now, or none.
func lost(err error) bool {
	var state interface{ SQLState() string }
	return errors.Is(err, noderpc.ErrRestarted) || errors.As(err, &state) && state.SQLState() == "08006"
}

// Await is asked of the node's present process: which of the tables are not the versions any more that were seen last.
func (r *Borrower) Await(ctx context.Context, seen map[catalog.TableID]uint64) ([]catalog.TableID, error) {
	r.mu.Lock()
	client := r.client
	r.mu.Unlock()
	return client.Await(ctx, seen)
}

// acquire has the node do it, whose caches are this process' as well.
func (r *Borrower) acquire(ctx context.Context, x *descriptor.Extent) error {
	r.mu.Lock()
	client := r.client
	r.mu.Unlock()
	return aboutBytes(client.Acquire(ctx, *x))
}

// aboutBytes returns what a node found wrong with a chunk, and a reader.Unanswered if it could not be asked.
func aboutBytes(err error) error {
	var answer *noderpc.Error
	if err == nil || errors.As(err, &answer) && answer.Answered && (answer.State == "XX001" || answer.State == "58030") {
		return err
	}
	return &reader.Unanswered{Err: err}
}

// knowRegions maps regions that the node made since, and those of the other nodes of its cluster: their chunks stay in
// place as long as the node's lease does. Requires mu.
func (r *Borrower) knowRegions(ctx context.Context, records []catalog.RegionRecord) error {
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

// knowForeign maps another node's region. One that cannot be mapped is missing only to statements that read what lies
// there. Requires mu.
func (r *Borrower) knowForeign(record catalog.RegionRecord) {
	r.reader.BecomeShared()
	if m := r.reader.Find(record.ID); m != nil {
		m.TrustLess(record.Trusted) // once its lender has restarted
		return
	}
	if err := r.mapRegion(record.Node, record.Spec, record.Trusted); err != nil {
		r.config.Log.Warn("another node's memory is not there", "error", err)
	}
}

// forget gives the shared snapshot up; running statements keep theirs. Requires mu.
func (r *Borrower) forget() {
	if r.current != nil {
		r.sought = r.current.Snapshot.Sought()
		r.timer.Stop()
		r.current.Release()
		r.current = nil
	}
}

// forgetIdle lets a silent borrower hold nothing: the node may need the memory.
func (r *Borrower) forgetIdle() {
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

func (r *Borrower) Close() error {
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
		r.config.Log.Warn("the node did not hear that the leases are given up; they run out by themselves", "error", err)
	}
	if r.reader != nil && r.reader.Close() > 0 {
		r.config.Log.Warn(member.StillMapped)
	}
	var err error
	for _, v := range views {
		err = errors.Join(err, v.Close())
	}
	return errors.Join(err, r.client.Close())
}
