package member

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/zeebo/xxh3"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/catalog/store"
	"github.com/csmsql/csmsql/cluster/certificate"
	"github.com/csmsql/csmsql/cluster/etcd"
	"github.com/csmsql/csmsql/cluster/noderpc"
	"github.com/csmsql/csmsql/cluster/noderpc/lending"
	"github.com/csmsql/csmsql/cluster/noderpc/refusal"
	"github.com/csmsql/csmsql/coherence"
	"github.com/csmsql/csmsql/engine/custody"
	"github.com/csmsql/csmsql/engine/fabric"
	"github.com/csmsql/csmsql/engine/placement/replicas"
	"github.com/csmsql/csmsql/engine/reader"
	"github.com/csmsql/csmsql/internal/faults"
	"github.com/csmsql/csmsql/memregion"
	"github.com/csmsql/csmsql/sql/sqlerror"
)

// Node is the lender's side of an engine: the catalog's store, the region, the protocol's home for it, and in a
// cluster the other nodes. What is exported is set by Open and does not change.
type Node struct {
	config     Config
	temporary  string      // a directory to remove at the end
	local      *store.Bolt // locks the data directory; keeps the catalog of a node that is alone
	stop       context.CancelFunc
	background sync.WaitGroup // the janitor, and cleaning memory ahead; they end with stop
	holdings   holdings
	promises   *promises

	Fabric   fabric.Fabric
	Store    store.Store // the catalog's
	Catalog  *catalog.Catalog
	Reader   *reader.Reader
	Lender   catalog.Lender // of this node's regions, and by message of the others'
	Homes    catalog.Homes  // of this node's regions
	Space    catalog.Space  // this node's region
	Lent     *memregion.Lent
	Region   memregion.Spec
	Refusals *refusal.Counters // by the node's RPC

	// Of a node in a cluster.
	joined  bool              // its directory was a node's of this cluster before
	member  *etcd.Server      // nil unless it runs a member of etcd
	views   []*memregion.View // of other nodes' regions; guarded by the reader, which borrows one at a time
	peers   *peers
	spaces  remoteSpaces
	journal *lending.Journal
	leave   context.CancelFunc
	left    chan struct{} // the goroutine that follows the cluster has ended
	out     chan struct{} // closed when the cluster has given this node up

	Self        *catalog.NodeRecord      // nil: the node is alone
	Credentials *certificate.Credentials // nil: only nodes of this machine and user
	Lending     *lending.Lender
	Incarnation noderpc.Incarnation
	Absence     *replicas.Absence
}

// Config says what node it is to be. All fields but Cluster, Intercept, Clock and Explain must be set.
type Config struct {
	Directory       string // empty: a temporary one
	Node            string
	Fabric          memregion.FabricKind // as memregion.ParseFabric reads it
	RegionDirectory string               // empty: Directory
	RegionBytes     int64
	HugePages       bool
	Quotas          map[catalog.TableName]int64 // bytes of the region, see memregion.Allocator.SetQuota
	Verify          reader.Verification
	LeaseTTL        time.Duration
	Cluster         *Cluster // nil: the node is alone
	Log             *slog.Logger
	Fault           faults.Hook
	Closed          error // of calls that come after Close
	// Deltas are of rows on record, see catalog.Options.
	Deltas catalog.Deltas
	// Agree is asked of tables that are committed, see catalog.Options.
	Agree func(ctx context.Context, base, own, result *catalog.TableVersion) error
	// Relate is asked of transactions that are committed, see catalog.Options.
	Relate func(ctx context.Context, c *catalog.Commitment) ([]catalog.TableID, error)
	// Set is called with counters that may have been set, see catalog.Options.
	Set func(id catalog.CounterID)
	// Explain says what is known of a damaged chunk's table.
	Explain func(*reader.DamagedError) reader.Loss
	// Intercept stands between the protocol and this process' caches, and SkipChecksums has none compared, so that
	// tests see what a step that is left out leads to, and not that it is noticed. Clock is what ways to copy are
	// measured by; nil: time.Now.
	Intercept     func(use fabric.Use, lines coherence.Lines) coherence.Lines
	SkipChecksums bool
	Clock         func() time.Time
}

// Open brings a node up. On error the part that is up is returned too, to be closed.
func Open(ctx context.Context, c Config) (*Node, error) {
	n := &Node{config: c, Homes: catalog.Homes{}, Refusals: refusal.New(c.Log), out: make(chan struct{})}
	config := &n.config
	var err error
	if err := config.Verify.Check(); err != nil {
		return n, err
	}
	if n.Fabric, err = fabric.OfNode(config.Node, config.Fabric); err != nil {
		return n, sqlerror.New("22023", "%v", err)
	}
	if n.Fabric.Device, err = deviceOf(config.Fabric); err != nil {
		return n, sqlerror.New("22023", "%v", err)
	}
	config.Fabric, n.Fabric.Intercept = n.Fabric.Kind, config.Intercept
	if config.Clock != nil {
		n.Fabric.Clock = config.Clock
	}
	if config.Directory == "" {
		dir, err := os.MkdirTemp("", "csmsql-")
		if err != nil {
			return n, fmt.Errorf("make a temporary directory: %w", err)
		}
		n.temporary, config.Directory = dir, dir
	}
	if err := os.MkdirAll(config.Directory, 0o700); err != nil {
		return n, fmt.Errorf("make the data directory: %w", err)
	}
	if config.RegionDirectory == "" {
		config.RegionDirectory = config.Directory
	}
	if err := n.openStore(ctx); err != nil {
		return n, err
	}
	gone := map[memregion.RegionID]error{}
	n.holdings.book.Fault = config.Fault
	n.holdings.doubt = n.Hold("commits of unknown outcome")
	n.holdings.own = n.Hold("this node's own work")
	n.Lender = heldLenders{lenders{n.Homes, gone, n.Self != nil}, &n.holdings.book}
	if n.Self != nil {
		n.Lender = heldLenders{clusterLenders{lenders{n.Homes, gone, true}, n}, &n.holdings.book}
	}
	var logged func(...catalog.ExtentID) ([]store.Redo, error)
	if n.Self == nil && config.Fabric.Durable() {
		logged = n.Homes.PublishLogged
		n.local.Beside(n.Homes.SyncLogged)
	}
	boot := ""
	if config.Fabric.EndsWithBoot() {
		if boot, err = memregion.BootID(); err != nil {
			return n, err
		}
	}
	n.Catalog, err = catalog.Open(ctx, n.Store, n.Lender, catalog.Options{
		Domain: LocalDomain, InitialSchemas: []string{"public"}, Self: n.Self, Gone: n.gone, Agree: config.Agree,
		Relate:    config.Relate,
		Set:       config.Set,
		Committed: func(ids []catalog.ExtentID) { n.holdings.book.Committed(ids...) },
		Doubted:   func(ids []catalog.ExtentID) { n.holdings.book.Pass(n.holdings.doubt, ids...) }, Fault: config.Fault,
		Log:          func(message string, err error) { config.Log.Warn(message, "error", err) },
		EndsWithBoot: config.Fabric.EndsWithBoot(), Boot: boot, PublishLogged: logged, Deltas: config.Deltas,
	})
	if err != nil {
		return n, err
	}
	reading := reader.Config{
		Node: config.Node, Fabric: n.Fabric, Verification: config.Verify, Log: config.Log, Lost: gone, Explain: config.Explain, SkipChecksums: config.SkipChecksums,
	}
	if n.Self != nil {
		reading.Borrow, reading.Published = n.borrow, n.isPublished
		reading.Lender, reading.Standing = n.Catalog.Reachable, n.Catalog.Standing
	}
	n.Reader = reader.New(reading)
	if n.Self != nil {
		n.peers = &peers{node: n, open: map[string]peer{}}
		n.Absence = replicas.NewAbsence(config.Cluster.RepairAfter)
	}
	config.Fault.At(faults.NodeRegistered)
	if err := n.Catalog.AwaitSeen(ctx); err != nil {
		return n, err
	}
	if n.promises, err = newPromises(config.Directory, config.Fabric.Fixed()); err != nil {
		return n, err
	}
	if err := n.promises.await(ctx); err != nil { // before the region is adopted, which gives memory back
		return n, err
	}
	if err := n.openRegion(ctx); err != nil {
		return n, regionError(err)
	}
	if err := n.startLending(); err != nil {
		return n, err
	}
	n.startJanitor()
	return n, n.follow(ctx)
}

// openRegion adopts the region of an earlier life, or lends a new one.
func (n *Node) openRegion(ctx context.Context) error {
	live := map[memregion.RegionID][]catalog.LiveExtent{}
	err := n.Catalog.LiveExtents(ctx, func(x catalog.LiveExtent) error {
		if r, ok := n.Catalog.Region(x.Region); n.Self == nil || !ok || r.Node == n.config.Node {
			live[x.Region] = append(live[x.Region], x)
		}
		return nil
	})
	if err != nil {
		return err
	}
	if err := n.checkOwners(live); err != nil {
		return err
	}
	if err := n.openJournal(live); err != nil {
		return err
	}
	if err := n.redo(live); err != nil {
		return err
	}
	for _, record := range n.Catalog.Regions() {
		if record.Node != n.config.Node {
			continue
		}
		if err := n.Fabric.Accepts(record.Spec, record.Node); err != nil {
			return err
		}
		lent, err := n.adopt(ctx, record, live[record.ID])
		switch {
		case err == nil:
			n.config.Fault.At(faults.RegionAdopted)
			return n.lend(ctx, lent, record.Generations, live[record.ID])
		case !errors.Is(err, memregion.ErrRegionGone):
			return fmt.Errorf("adopt region %d: %w", record.ID, err)
		case len(live[record.ID]) > 0:
			n.Reader.Lose(record.ID, err)
			n.config.Log.Error("a region is gone; tables that lay in it need their source: ALTER TABLE … RELOAD, where one is on record", "region", record.ID, "extents", len(live[record.ID]), "error", err)
		default:
			if err := n.Catalog.DropRegion(ctx, record.ID); err != nil {
				return err
			}
		}
	}
	return n.newRegion(ctx)
}

// regionError says whose fault it is that there is no region (E5): a record that makes no sense is a damaged one.
func regionError(err error) error {
	var known interface{ SQLState() string }
	if errors.As(err, &known) {
		return err
	}
	state := "58030"
	for _, nonsense := range []error{memregion.ErrBadSpec, memregion.ErrBadSize, memregion.ErrOutOfRange, memregion.ErrOverlap} {
		if errors.Is(err, nonsense) {
			state = "XX001"
		}
	}
	e := sqlerror.New(state, "%v", err)
	e.Cause = err
	return e
}

// adopt maps an existing region, with a higher cap if the configuration asks for one. When its address is taken in this
// process it gets another one: offsets stay valid.
func (n *Node) adopt(ctx context.Context, record catalog.RegionRecord,
	live []catalog.LiveExtent) (*memregion.Lent, error) {
	owned := make([]memregion.Owned, len(live))
	for i, x := range live {
		owned[i] = memregion.Owned{Owner: x.Owner, Range: x.Range}
	}
	owned = append(owned, n.journal.Owned(record.ID)...)
	if err := liesThere(n.Fabric, record); err != nil {
		return nil, err
	}
	if wanted := n.config.RegionBytes / memregion.PageSize * memregion.PageSize; wanted > record.Capacity {
		if record.Fabric.Fixed() {
			return nil, sqlerror.New("55000", "region %d on device %s has %d bytes and does not grow to %d", record.ID, record.Path, record.Capacity, wanted).
				WithHint("Start the node with the --region that it had, or without.")
		}
		if err := memregion.CheckCapacity(n.config.RegionDirectory, wanted); err != nil {
			return nil, err
		}
		record.Capacity = wanted // the region grows, with the address space behind it
		if err := n.Catalog.PutRegion(ctx, record); err != nil {
			return nil, err
		}
	}
	lent, err := n.adoptMended(ctx, record.Spec, owned)
	if !errors.Is(err, memregion.ErrAddressTaken) {
		return lent, err
	}
	n.config.Log.Warn("the region's address is taken in this process; it moves", "region", record.ID, "error", err)
	if record.Base, err = memregion.ChooseBase(placements(n.Catalog.Regions()), record.Capacity, record.Path+"/moved"); err != nil {
		return nil, err
	}
	if err := n.Catalog.PutRegion(ctx, record); err != nil {
		return nil, err
	}
	return n.adoptMended(ctx, record.Spec, owned)
}

// adoptWhenFree waits a moment for a former process that was killed and is not quite gone.
func (n *Node) adoptWhenFree(ctx context.Context, spec memregion.Spec,
	owned []memregion.Owned) (*memregion.Lent, error) {
	const patience, poll = 2 * time.Second, 20 * time.Millisecond
	for end := time.Now().Add(patience); ; {
		lent, err := memregion.Adopt(ctx, spec, owned, n.lendOptions())
		if !errors.Is(err, memregion.ErrLentElsewhere) || time.Now().After(end) {
			return lent, err
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(poll):
		}
	}
}

func placements(regions []catalog.RegionRecord) (taken []memregion.Placement) {
	for _, r := range regions {
		taken = append(taken, memregion.Placement{Base: r.Base, Length: r.Capacity})
	}
	return taken
}

func (n *Node) lendOptions() memregion.LendOptions {
	quotas := map[string]int64{} // extents of a table's chunks are owned by its name
	for table, bytes := range n.config.Quotas {
		quotas[table.String()] = bytes
	}
	return memregion.LendOptions{
		HugePages: n.config.HugePages, Quotas: quotas, Origin: n.origin(), Domain: n.Fabric.Domain,
	}
}

// newRegion records a region and lends it; in this order, so that a crash between leaves a record without a file
// and not a file without a record.
func (n *Node) newRegion(ctx context.Context) error {
	capacity, device := n.config.RegionBytes/memregion.PageSize*memregion.PageSize, n.Fabric.Device
	var size, unit int64
	var err error
	if device != nil {
		if size, unit, err = memregion.DeviceSize(device.Path); err != nil {
			return err
		}
	} else {
		if capacity == 0 {
			if capacity, err = memregion.DefaultCapacity(n.config.RegionDirectory); err != nil {
				return err
			}
		}
		if err := memregion.CheckCapacity(n.config.RegionDirectory, capacity); err != nil {
			return err
		}
	}
	id, err := n.Catalog.NewRegionID(ctx)
	if err != nil {
		return err
	}
	boot, err := memregion.BootID()
	if err != nil {
		return err
	}
	path := filepath.Join(n.config.RegionDirectory, regionFile(n.Catalog.Identity(), id))
	record, err := n.Catalog.AddRegion(ctx, func(taken []catalog.RegionRecord) (catalog.RegionRecord, error) {
		spec := memregion.Spec{ID: id, Capacity: capacity, Fabric: n.config.Fabric, Path: path, BootID: boot}
		if device != nil {
			spec.Path = device.Path
			var err error
			if spec.Start, spec.Capacity, err = roomOn(*device, size, unit, capacity, taken); err != nil {
				return catalog.RegionRecord{}, err
			}
		}
		var err error
		spec.Base, err = memregion.ChooseBase(placements(taken), spec.Capacity, path)
		return catalog.RegionRecord{Spec: spec, Node: n.config.Node}, err
	})
	if err != nil {
		return err
	}
	n.config.Fault.At(faults.RegionRecorded)
	lent, err := memregion.Lend(ctx, record.Spec, n.lendOptions())
	if err != nil {
		return errors.Join(fmt.Errorf("lend a region: %w", err), n.Catalog.DropRegion(ctx, id))
	}
	n.config.Fault.At(faults.RegionLent)
	return n.lend(ctx, lent, 0, nil)
}

// lend puts the protocol in front of a mapped region; live extents are published already.
func (n *Node) lend(ctx context.Context, lent *memregion.Lent, first coherence.Generation,
	live []catalog.LiveExtent) error {
	n.Lent, n.Region = lent, lent.Spec()
	if kind := lent.View().Watch(); kind != memregion.WatchProcess && kind != memregion.WatchNothing {
		n.config.Log.Info("the kernel does not say who alters the region's file; checksums are compared again when it grows, too", "watch", string(kind))
	}
	id := n.Region.ID
	home, err := coherence.NewHome(coherence.HomeConfig{
		Region: id, Memory: lent, Lines: n.Fabric.LinesFor(fabric.Home), AheadLines: n.Fabric.LinesFor(fabric.Ahead), Chooser: n.Fabric.Chooser(fabric.Home), Domain: LocalDomain, Class: n.Fabric.Class, Capacity: n.Region.Capacity,
		FirstGeneration: first, Protect: protecting(lent.Protect, protectLeast), Verify: n.verifySeal, Reader: n.Reader.Acquired(), Counters: n.Reader.Counters(),
		ReserveGenerations: func(upTo coherence.Generation) error {
			return n.Catalog.ReserveGenerations(context.WithoutCancel(ctx), id, upTo)
		},
	})
	if err != nil {
		return err
	}
	for _, x := range live {
		if err := home.Adopt(x.Owner, x.Generation, x.Range, x.Seal); err != nil {
			return fmt.Errorf("adopt chunk %d of table %s: %w", x.Chunk, x.Table, err)
		}
	}
	n.Homes[id] = home
	space, err := n.Homes.Space(id)
	if err != nil {
		return err
	}
	if err := n.Reader.Add(lent.View(), first); err != nil {
		return err
	}
	n.Space = guardedSpace{space, n.Reader, n.Reader.Find(id)}
	if n.Self != nil { // the other nodes read it, too
		record, _ := n.Catalog.Region(id)
		if record.Trusted = first; first > 0 || record.Generations > 0 {
			if err := n.Catalog.PutRegion(ctx, record); err != nil {
				return err
			}
		}
	}
	return nil
}

// startJanitor starts what goes on in the background: it ends the leases of borrowers that went silent, and cleans
// memory ahead.
func (n *Node) startJanitor() {
	ctx, stop := context.WithCancel(context.Background())
	n.stop = stop
	n.background.Go(func() { n.cleanAhead(ctx) })
	n.background.Go(func() { n.renew(ctx) })
	n.background.Go(func() {
		tick := time.NewTicker(n.config.LeaseTTL / 4)
		defer tick.Stop()
		for turn := 1; ; turn++ {
			select {
			case <-ctx.Done():
				return
			case now := <-tick.C:
				if turn%restTurns == 0 {
					n.rest()
				}
				n.Confirm(ctx)
				n.Sweep(ctx)
				if err := n.flushLeft(ctx); err != nil {
					n.config.Log.Debug("another node could not be asked what is left to be flushed", "error", err)
				}
				for _, l := range n.Catalog.ExpireLeases(now) {
					n.config.Log.Warn("a lease ran out", "lease", l.String())
				}
				if err := n.promises.settle(n.lentOut); err != nil {
					n.config.Log.Warn("leases on record", "error", err)
				}
			}
		}
	})
}

// restTurns is for how many turns of the janitor nothing is allocated before half of the region's free memory goes
// back.
const restTurns = 32

func (n *Node) rest() {
	if err := n.Lent.Rest(); err != nil {
		n.config.Log.Debug("the region's free memory does not go back", "region", n.Region.ID, "error", err)
	}
}

// cleanAhead drops this machine's lines of free memory, so that other nodes do not wait for that when it is granted to
// them.
func (n *Node) cleanAhead(ctx context.Context) {
	if n.Self == nil {
		return
	}
	if err := n.Homes[n.Region.ID].CleanAhead(ctx); err != nil {
		n.config.Log.Warn("free memory is not cleaned ahead any more", "region", n.Region.ID, "error", err)
	}
}

// StillMapped is what Close says of E7. A program that forgets batches keeps address space, and the memory of files
// that are removed.
const StillMapped = "batches of a closed engine are in use; the memory that they lie in stays mapped until they are released"

func (n *Node) Close() error {
	if n.stop != nil {
		n.stop()
		n.background.Wait()
	}
	if n.leave != nil {
		n.leave()
		<-n.left
	}
	var err error
	if n.peers != nil {
		err = errors.Join(err, n.peers.close())
	}
	if n.promises != nil { // what is still lent out stays on record
		err = errors.Join(err, n.promises.settle(n.lentOut))
	}
	if n.Catalog != nil {
		err = errors.Join(err, n.Catalog.Close())
	}
	if n.local != nil && n.Lent != nil { // while it can be synced
		err = errors.Join(err, n.local.Settle())
	}
	if n.Reader != nil && n.Reader.Close() > 0 {
		n.config.Log.Warn(StillMapped)
	}
	if n.Lent != nil {
		if n.temporary != "" {
			err = errors.Join(err, n.Lent.Remove())
		} else {
			err = errors.Join(err, n.Lent.Close())
		}
	}
	for _, v := range n.views {
		err = errors.Join(err, v.Close())
	}
	if n.Store != nil && n.Self != nil {
		err = errors.Join(err, n.Store.Close())
	}
	if n.member != nil {
		err = errors.Join(err, n.member.Close())
	}
	if n.local != nil {
		err = errors.Join(err, n.local.Close())
	}
	err = errors.Join(err, n.journal.Close())
	if n.temporary != "" {
		err = errors.Join(err, os.RemoveAll(n.temporary))
	}
	return err
}

// verifySeal compares what a writer of another domain wrote with the checksum that it reports
// (coherence.HomeConfig.Verify).
func (n *Node) verifySeal(data []byte, s coherence.Seal) error {
	if n.config.SkipChecksums {
		return nil
	}
	if got := xxh3.Hash(data); got != s.Checksum {
		return fmt.Errorf("%w: %d bytes have checksum %016x, their writer reports %016x", coherence.ErrChecksum, len(data), got, s.Checksum)
	}
	return nil
}

// Directory is where the node keeps its catalog: a temporary one if none was configured.
func (n *Node) Directory() string { return n.config.Directory }

// RegionDirectory is where the region's file lies.
func (n *Node) RegionDirectory() string { return n.config.RegionDirectory }

// Fenced is closed when the cluster has given this node up.
func (n *Node) Fenced() <-chan struct{} { return n.out }

// Promise puts on record that a lease, which is taken already, may be trusted for ttl from now on.
func (n *Node) Promise(ttl time.Duration) error { return n.promises.give(ttl) }

// Peer gives the connection to another node's present incarnation.
func (n *Node) Peer(ctx context.Context, name string) (*noderpc.Client, error) {
	return n.peers.get(ctx, name)
}

// Book has the holders of the node's region.
func (n *Node) Book() *custody.Book { return &n.holdings.book }

// Strays counts extents that had no holder.
type Strays struct {
	Found, TakenBack int64 // since the node began
	Now, Bytes       int64 // that there are
	HeldTooLong      int64 // that their holders still held when they ended
}

// Strays are those of the node's region.
func (n *Node) Strays() Strays {
	h := &n.holdings
	return Strays{Found: h.strays.Load(), TakenBack: h.back.Load(), Now: h.present.Load(), Bytes: h.bytes.Load(), HeldTooLong: h.left.Load()}
}
