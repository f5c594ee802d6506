package service

import (
	"context"
	"log/slog"
	"time"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/catalog/descriptor"
	"github.com/csmsql/csmsql/catalog/record"
	"github.com/csmsql/csmsql/cluster/noderpc"
	"github.com/csmsql/csmsql/engine/facts"
	"github.com/csmsql/csmsql/engine/follow"
	"github.com/csmsql/csmsql/engine/lifetime"
	"github.com/csmsql/csmsql/engine/member"
	"github.com/csmsql/csmsql/engine/upkeep"
)

// Version of the product.
const Version = "0.1.0"

// Loads fill and compare tables.
type Loads interface {
	Load(ctx context.Context, request noderpc.LoadRequest, progress func(noderpc.Progress)) (noderpc.LoadResult, error)
	LoadTPCH(ctx context.Context, request noderpc.TPCHRequest, progress func(noderpc.Progress)) error
	Verify(ctx context.Context, request noderpc.VerifyRequest, progress func(noderpc.Progress)) (noderpc.VerifyResult, error)
}

// Statements are what runs statements.
type Statements interface {
	// AddWork adds statements that are overdue, and workers, to a status.
	AddWork(status *noderpc.Status)
}

// Config says whose service it is.
type Config struct {
	// Name is the node's, which has run since Started, and Node the node itself; nil: the engine borrows, and serves
	// nothing.
	Name       string
	Started    time.Time
	Node       *member.Node
	Keeper     *upkeep.Keeper
	Facts      *facts.Cache
	Life       *lifetime.Lifetime
	Loads      Loads
	Statements Statements
	// Collector commits rows for other nodes.
	Collector noderpc.Collector
	// Followed says when tables change.
	Followed follow.Source
	// LeaseTTL is for borrowers that name none.
	LeaseTTL time.Duration
	Log      *slog.Logger
}

// Service is a node as other processes, other nodes and operators ask it. Safe for concurrent use.
type Service struct{ Config }

// New is a service.
func New(c Config) *Service { return &Service{c} }

// Serve is what the node offers to other processes. frontend is where the PostgreSQL frontend listens.
func (s *Service) Serve(frontend noderpc.Frontend) noderpc.Node { return &node{s, frontend} }

// AddTo sets what the node does for the other nodes of its cluster; of a node that is alone, nothing.
func (s *Service) AddTo(options *noderpc.ServerOptions) {
	if s.Node == nil {
		return
	}
	options.Refusals = s.Node.Refusals
	if s.Node.Self == nil {
		return
	}
	options.Certificate = s.Node.Credentials
	options.Incarnation = s.Node.Incarnation
	options.Lender, options.Operations = lender{s.Node.Lending, s.Life}, operations{s}
	options.Administration, options.Collector = administration{s}, operations{s}
}

// node answers other processes: noderpc.Node.
type node struct {
	*Service
	frontend noderpc.Frontend
}

func (s *node) Describe(context.Context) (noderpc.Description, error) {
	if err := s.Life.Enter(); err != nil {
		return noderpc.Description{}, err
	}
	defer s.Life.Leave()
	return noderpc.Description{
		Node: s.Name, Catalog: s.Node.Catalog.Identity(), Domain: member.LocalDomain,
		Regions:  []noderpc.Region{{Spec: s.Node.Region, Trusted: s.Node.Reader.Trusted(s.Node.Region.ID)}},
		LeaseTTL: s.LeaseTTL, Frontend: s.frontend, Version: Version, Started: s.Started,
	}, nil
}

// Lease pins a snapshot for a borrower until it is released or its lease runs out.
func (s *node) Lease(ctx context.Context, holder catalog.Holder) (*catalog.SnapshotRecord, error) {
	ctx, leave, err := s.Life.Call(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	if holder.TTL <= 0 || holder.TTL > noderpc.MaxTTL {
		holder.TTL = s.LeaseTTL
	}
	if s.Node.Self != nil { // what is promised must be over before the cluster can give this node up
		holder.TTL = min(holder.TTL, s.Node.SessionTTL()/member.LeaseParts)
	}
	snapshot, err := s.Node.Catalog.Snapshot(ctx, holder)
	if err != nil {
		return nil, err
	}
	record, err := s.Node.Catalog.Record(snapshot)
	if err == nil {
		err = s.Node.Promise(holder.TTL)
	}
	if err != nil {
		snapshot.Close()
		return nil, err
	}
	return record, nil // the lease is the borrower's now
}

// Tables gives a borrower tables of the snapshot that it holds.
func (s *node) Tables(_ context.Context, lease catalog.LeaseID, asked record.TablesAsked) (record.TablesAnswer, error) {
	if err := s.Life.Enter(); err != nil {
		return record.TablesAnswer{}, err
	}
	defer s.Life.Leave()
	return s.Node.Catalog.LeasedTables(lease, asked)
}

// Acquire flushes for the processes that are attached, and remembers it as for this one.
func (s *node) Acquire(ctx context.Context, extents []descriptor.Extent) error {
	ctx, leave, err := s.Life.Call(ctx)
	if err != nil {
		return err
	}
	defer leave()
	for i := range extents {
		if err := s.Node.Reader.AcquireExtent(ctx, &extents[i], s.Node.Reader.Verification()); err != nil {
			return err
		}
	}
	return nil
}

func (s *node) Page(ctx context.Context, id catalog.PageID) ([]byte, error) {
	ctx, leave, err := s.Life.Call(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	return s.Node.Catalog.Page(ctx, id)
}

func (s *node) Renew(_ context.Context, leases []catalog.LeaseID) (over []catalog.LeaseID, err error) {
	if err := s.Life.Enter(); err != nil {
		return nil, err
	}
	defer s.Life.Leave()
	if err := s.Node.Promise(0); err != nil {
		return nil, err
	}
	now := time.Now()
	for _, id := range leases {
		if s.Node.Catalog.RenewLease(id, now) != nil {
			over = append(over, id)
		}
	}
	return over, nil
}

func (s *node) Release(_ context.Context, lease catalog.LeaseID) error {
	if !s.Life.EnterToClose() {
		return nil // it went with the engine
	}
	defer s.Life.Leave()
	return s.Node.Catalog.ReleaseLease(lease)
}

// Await implements noderpc.Node.
func (s *node) Await(ctx context.Context, seen map[catalog.TableID]uint64) ([]catalog.TableID, error) {
	ctx, leave, err := s.Life.Call(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	changed, err := s.Followed.Await(ctx, seen)
	return changed, s.Life.CauseOf(err)
}

// Status implements noderpc.Node.
func (s *node) Status(context.Context) (noderpc.Status, error) {
	return s.Service.Status(s.frontend), nil
}

// Load implements noderpc.Node.
func (s *node) Load(ctx context.Context, request noderpc.LoadRequest,
	progress func(noderpc.Progress)) (noderpc.LoadResult, error) {
	return s.Loads.Load(ctx, request, progress)
}

// Verify implements noderpc.Node.
func (s *node) Verify(ctx context.Context, request noderpc.VerifyRequest,
	progress func(noderpc.Progress)) (noderpc.VerifyResult, error) {
	return s.Loads.Verify(ctx, request, progress)
}

// LoadTPCH implements noderpc.Node.
func (s *node) LoadTPCH(ctx context.Context, request noderpc.TPCHRequest, progress func(noderpc.Progress)) error {
	return s.Loads.LoadTPCH(ctx, request, progress)
}
