package engine

import (
	"context"
	"errors"
	"fmt"
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
	"github.com/csmsql/csmsql/coherence"
	"github.com/csmsql/csmsql/engine/fabric"
	"github.com/csmsql/csmsql/engine/placement/replicas"
	"github.com/csmsql/csmsql/engine/reader"
	"github.com/csmsql/csmsql/internal/faults"
	"github.com/csmsql/csmsql/memregion"
	"github.com/csmsql/csmsql/sql/sqlerror"
)

// node is the lender's side of an engine: the catalog's store, the region, the protocol's home for it.
type node struct {
	config     *Config
	fabric     fabric.Fabric
	temporary  string      // a directory to remove at the end
	local      *store.Bolt // locks the data directory; keeps the catalog of a node that is alone
	store      store.Store // the catalog's
	catalog    *catalog.Catalog
	reader     *reader.Reader
	homes      catalog.Homes
	lender     catalog.Lender // of this node's regions, and by message of the others'
	space      catalog.Space
	lent       *memregion.Lent
	region     memregion.Spec
	stop       context.CancelFunc
	background sync.WaitGroup // the janitor, and who cleans memory ahead; they end with stop
	holdings   holdings
	promises   *promises
	refusals   *noderpc.Refusals // by the node's RPC

	// Of a node in a cluster.
	self        *catalog.NodeRecord
	joined      bool                     // its directory was a node's of this cluster before
	member      *etcd.Server             // nil unless it runs a member of etcd
	credentials *certificate.Credentials // nil: only nodes of this machine and user
	views       []*memregion.View        // of other nodes' regions; guarded by regions.borrowing
	peers       *peers
	spaces      remoteSpaces
	lending     *lending.Lender
	journal     *lending.Journal
	incarnation noderpc.Incarnation
	absence     *replicas.Absence
	leave       context.CancelFunc
	left        chan struct{} // the goroutine that follows the cluster has ended
	out         chan struct{} // closed when the cluster has given the node up
	fenced      error         // why; written before out is closed
}

// openNode brings a node up. explain is asked about damaged chunks once it is up. On error the part that is up is returned too, to be closed.
func openNode(ctx context.Context, config *Config, explain func(*DamagedError) reader.Loss) (*node, error) {
	n := &node{config: config, homes: catalog.Homes{}, refusals: noderpc.NewRefusals(config.Log), out: make(chan struct{})}
	var err error
	if err := errors.Join(config.Verify.Check(), config.disable()); err != nil {
		return n, err
	}
	if n.fabric, err = fabric.OfNode(config.Node, config.Fabric); err != nil {
		return n, sqlerror.New("22023", "%v", err)
	}
	if n.fabric.Device, err = deviceOf(config.Fabric); err != nil {
		return n, sqlerror.New("22023", "%v", err)
	}
	config.Fabric, n.fabric.Intercept = n.fabric.Kind, config.spoil.lines
	if config.spoil.clock != nil {
		n.fabric.Clock = config.spoil.clock
	}
	if config.Directory == "" {
		dir, err := os.MkdirTemp("", "csmsql-")
		if err != nil {
			return n, fmt.Errorf("engine: make a temporary directory: %w", err)
		}
		n.temporary, config.Directory = dir, dir
	}
	if err := os.MkdirAll(config.Directory, 0o700); err != nil {
		return n, fmt.Errorf("engine: make the data directory: %w", err)
	}
	if config.RegionDirectory == "" {
		config.RegionDirectory = config.Directory
	}
	if err := n.openStore(ctx); err != nil {
		return n, err
	}
	gone := map[memregion.RegionID]error{}
	n.holdings.book.Fault = config.Fault
	n.holdings.doubt = n.hold("commits of which it is not known whether they happened")
	n.holdings.nobody = n.hold("this node's own work")
	n.lender = heldLenders{lenders{n.homes, gone, n.self != nil}, &n.holdings.book}
	if n.self != nil {
		n.lender = heldLenders{clusterLenders{lenders{n.homes, gone, true}, n}, &n.holdings.book}
	}
	n.catalog, err = catalog.Open(ctx, n.store, n.lender, catalog.Options{
		Domain: localDomain, InitialSchemas: []string{"public"}, Self: n.self, Gone: n.gone, Committed: func(ids []catalog.ExtentID) { n.holdings.book.Committed(ids...) },
		Doubted: func(ids []catalog.ExtentID) { n.holdings.book.Pass(n.holdings.doubt, ids...) }, Fault: config.Fault,
		Log: func(message string, err error) { config.Log.Warn(message, "error", err) },
	})
	if err != nil {
		return n, err
	}
	reading := reader.Config{
		Node: config.Node, Fabric: n.fabric, Verification: config.Verify, Log: config.Log, Lost: gone, Explain: explain, SkipChecksums: config.spoil.credulous,
	}
	if n.self != nil {
		reading.Borrow, reading.Lender, reading.Standing = n.borrow, n.catalog.Reachable, n.catalog.Standing
	}
	n.reader = reader.New(reading)
	if n.self != nil {
		n.peers = &peers{node: n, open: map[string]peer{}}
		n.absence = replicas.NewAbsence(config.Cluster.RepairAfter)
	}
	config.Fault.At(faults.NodeRegistered)
	if err := n.catalog.AwaitSeen(ctx); err != nil {
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
func (n *node) openRegion(ctx context.Context) error {
	live := map[memregion.RegionID][]catalog.LiveExtent{}
	err := n.catalog.LiveExtents(ctx, func(x catalog.LiveExtent) error {
		if r, ok := n.catalog.Region(x.Region); n.self == nil || !ok || r.Node == n.config.Node {
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
	for _, record := range n.catalog.Regions() {
		if record.Node != n.config.Node {
			continue
		}
		if err := n.fabric.Accepts(record.Spec, record.Node); err != nil {
			return err
		}
		lent, err := n.adopt(ctx, record, live[record.ID])
		switch {
		case err == nil:
			n.config.Fault.At(faults.RegionAdopted)
			return n.lend(ctx, lent, record.Generations, live[record.ID])
		case !errors.Is(err, memregion.ErrRegionGone):
			return fmt.Errorf("engine: adopt region %d: %w", record.ID, err)
		case len(live[record.ID]) > 0:
			n.reader.Lose(record.ID, err)
			n.config.Log.Error("a region is gone; tables that lay in it need their source: ALTER TABLE … RELOAD, where one is on record", "region", record.ID, "extents", len(live[record.ID]), "error", err)
		default:
			if err := n.catalog.DropRegion(ctx, record.ID); err != nil {
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

// adopt maps an existing region, with a higher cap if the configuration asks for one. When its address is taken in this process it gets another one: offsets stay valid.
func (n *node) adopt(ctx context.Context, record catalog.RegionRecord, live []catalog.LiveExtent) (*memregion.Lent, error) {
	owned := make([]memregion.Owned, len(live))
	for i, x := range live {
		owned[i] = memregion.Owned{Owner: x.Owner, Range: x.Range}
	}
	owned = append(owned, n.journal.Owned(record.ID)...)
	if err := liesThere(n.fabric, record); err != nil {
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
		if err := n.catalog.PutRegion(ctx, record); err != nil {
			return nil, err
		}
	}
	lent, err := n.adoptMended(ctx, record.Spec, owned)
	if !errors.Is(err, memregion.ErrAddressTaken) {
		return lent, err
	}
	n.config.Log.Warn("the region's address is taken in this process; it moves", "region", record.ID, "error", err)
	if record.Base, err = memregion.ChooseBase(placements(n.catalog.Regions()), record.Capacity, record.Path+"/moved"); err != nil {
		return nil, err
	}
	if err := n.catalog.PutRegion(ctx, record); err != nil {
		return nil, err
	}
	return n.adoptMended(ctx, record.Spec, owned)
}

// adoptWhenFree waits a moment for a former process that was killed and is not quite gone.
func (n *node) adoptWhenFree(ctx context.Context, spec memregion.Spec, owned []memregion.Owned) (*memregion.Lent, error) {
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

func (n *node) lendOptions() memregion.LendOptions {
	return memregion.LendOptions{HugePages: n.config.HugePages, Origin: n.origin(), Domain: n.fabric.Domain}
}

// newRegion records a region and lends it; in this order, so that a crash between leaves a record without a file and not
// a file that nobody knows.
func (n *node) newRegion(ctx context.Context) error {
	capacity, device := n.config.RegionBytes/memregion.PageSize*memregion.PageSize, n.fabric.Device
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
	id, err := n.catalog.NewRegionID(ctx)
	if err != nil {
		return err
	}
	boot, err := memregion.BootID()
	if err != nil {
		return err
	}
	path := filepath.Join(n.config.RegionDirectory, regionFile(n.catalog.Identity(), id))
	record, err := n.catalog.AddRegion(ctx, func(taken []catalog.RegionRecord) (catalog.RegionRecord, error) {
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
		return errors.Join(fmt.Errorf("engine: lend a region: %w", err), n.catalog.DropRegion(ctx, id))
	}
	n.config.Fault.At(faults.RegionLent)
	return n.lend(ctx, lent, 0, nil)
}

// lend puts the protocol in front of a mapped region; live extents are published already.
func (n *node) lend(ctx context.Context, lent *memregion.Lent, first coherence.Generation, live []catalog.LiveExtent) error {
	n.lent, n.region = lent, lent.Spec()
	if kind := lent.View().Watch(); kind != memregion.WatchProcess && kind != memregion.WatchNothing {
		n.config.Log.Info("the kernel does not say who alters the region's file; checksums are compared again when it grows, too", "watch", string(kind))
	}
	id := n.region.ID
	home, err := coherence.NewHome(coherence.HomeConfig{
		Region: id, Memory: lent, Lines: n.fabric.LinesFor(fabric.Home), AheadLines: n.fabric.LinesFor(fabric.Ahead), Chooser: n.fabric.Chooser(fabric.Home), Domain: localDomain, Class: n.fabric.Class, Capacity: n.region.Capacity,
		FirstGeneration: first, Protect: lent.Protect, Verify: n.verifySeal, Reader: n.reader.Acquired(), Counters: n.reader.Counters(),
		ReserveGenerations: func(upTo coherence.Generation) error {
			return n.catalog.ReserveGenerations(context.WithoutCancel(ctx), id, upTo)
		},
	})
	if err != nil {
		return err
	}
	for _, x := range live {
		if err := home.Adopt(x.Owner, x.Generation, x.Range, x.Seal); err != nil {
			return fmt.Errorf("engine: adopt chunk %d of table %s: %w", x.Chunk, x.Table, err)
		}
	}
	n.homes[id] = home
	space, err := n.homes.Space(id)
	if err != nil {
		return err
	}
	if err := n.reader.Add(lent.View(), first); err != nil {
		return err
	}
	n.space = guardedSpace{space, n.reader, n.reader.Find(id)}
	if n.self != nil { // the other nodes read it, too
		record, _ := n.catalog.Region(id)
		if record.Trusted = first; first > 0 || record.Generations > 0 {
			if err := n.catalog.PutRegion(ctx, record); err != nil {
				return err
			}
		}
	}
	return nil
}

// startJanitor starts what goes on in the background: it ends the leases of borrowers that went silent, and cleans memory ahead.
func (n *node) startJanitor() {
	ctx, stop := context.WithCancel(context.Background())
	n.stop = stop
	n.background.Go(func() { n.cleanAhead(ctx) })
	n.background.Go(func() { n.renew(ctx) })
	n.background.Go(func() {
		tick := time.NewTicker(n.config.LeaseTTL / 4)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case now := <-tick.C:
				n.confirm(ctx)
				n.sweep(ctx)
				if err := n.flushLeft(ctx); err != nil {
					n.config.Log.Debug("another node could not be asked what is left to be flushed", "error", err)
				}
				for _, l := range n.catalog.ExpireLeases(now) {
					n.config.Log.Warn("a lease ran out", "lease", l.String())
				}
				if err := n.promises.settle(n.lentOut); err != nil {
					n.config.Log.Warn("leases on record", "error", err)
				}
			}
		}
	})
}

// cleanAhead drops this machine's lines of free memory, so that other nodes do not wait for that when it is granted to them.
func (n *node) cleanAhead(ctx context.Context) {
	if n.self == nil {
		return
	}
	if err := n.homes[n.region.ID].CleanAhead(ctx); err != nil {
		n.config.Log.Warn("free memory is not cleaned ahead any more", "region", n.region.ID, "error", err)
	}
}

// stillMapped is what Close says of E7. A program that forgets batches keeps address space, and the memory of files that are removed.
const stillMapped = "batches of a closed engine are in use; the memory that they lie in stays mapped until they are released"

func (n *node) close() error {
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
	if n.catalog != nil {
		err = errors.Join(err, n.catalog.Close())
	}
	if n.reader != nil && n.reader.Close() > 0 {
		n.config.Log.Warn(stillMapped)
	}
	if n.lent != nil {
		if n.temporary != "" {
			err = errors.Join(err, n.lent.Remove())
		} else {
			err = errors.Join(err, n.lent.Close())
		}
	}
	for _, v := range n.views {
		err = errors.Join(err, v.Close())
	}
	if n.store != nil && n.self != nil {
		err = errors.Join(err, n.store.Close())
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

// verifySeal compares what a writer of another domain wrote with the checksum that it reports (coherence.HomeConfig.Verify).
func (n *node) verifySeal(data []byte, s coherence.Seal) error {
	if n.config.spoil.credulous {
		return nil
	}
	if got := xxh3.Hash(data); got != s.Checksum {
		return fmt.Errorf("%w: %d bytes have checksum %016x, their writer reports %016x", coherence.ErrChecksum, len(data), got, s.Checksum)
	}
	return nil
}
