package engine

import (
	"context"
	"os"
	"time"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/catalog/descriptor"
	"github.com/csmsql/csmsql/cluster/noderpc"
	"github.com/csmsql/csmsql/coherence"
	"github.com/csmsql/csmsql/engine/member"
	"github.com/csmsql/csmsql/engine/upkeep"
)

// Version of the product.
const Version = "0.1.0"

// Service is what the engine offers to other processes: noderpc.Node. Frontend is where the PostgreSQL frontend listens.
func (e *Engine) Service(frontend noderpc.Frontend) noderpc.Node {
	return &service{engine: e, frontend: frontend}
}

// ServerOptions are those to serve the Service with: who this node is, and what it does for the other nodes of its cluster.
func (e *Engine) ServerOptions() noderpc.ServerOptions {
	options := noderpc.ServerOptions{Name: e.config.Node, Log: e.config.Log}
	if e.node != nil {
		options.Refusals = e.node.Refusals
	}
	if e.node != nil && e.node.Self != nil {
		options.Certificate = e.node.Credentials
		options.Incarnation = e.node.Incarnation
		options.FragmentTTL = e.config.Cluster.SessionTTL // 0: as long as a session's
		options.Lender, options.Fragments, options.Operations = lender{e.node.Lending, e.life}, fragments{e}, operations{e}
		options.Administration = administration{e}
	}
	return options
}

type service struct {
	engine   *Engine
	frontend noderpc.Frontend
}

func (s *service) Describe(context.Context) (noderpc.Description, error) {
	e := s.engine
	if err := e.life.Enter(); err != nil {
		return noderpc.Description{}, err
	}
	defer e.life.Leave()
	return noderpc.Description{
		Node: e.config.Node, Catalog: e.catalog.Identity(), Domain: member.LocalDomain,
		Regions:  []noderpc.Region{{Spec: e.node.Region, Trusted: e.reader.Trusted(e.node.Region.ID)}},
		LeaseTTL: e.config.LeaseTTL, Frontend: s.frontend, Version: Version, Started: e.started,
	}, nil
}

// Lease pins a snapshot for a borrower until it is released or its lease runs out.
func (s *service) Lease(ctx context.Context, holder catalog.Holder) (*catalog.SnapshotRecord, error) {
	ctx, leave, err := s.engine.life.Call(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	if holder.TTL <= 0 || holder.TTL > noderpc.MaxTTL {
		holder.TTL = s.engine.config.LeaseTTL
	}
	if s.engine.node.Self != nil { // what is promised must be over before the cluster can give this node up
		holder.TTL = min(holder.TTL, s.engine.node.SessionTTL()/member.LeaseParts)
	}
	snapshot, err := s.engine.catalog.Snapshot(ctx, holder)
	if err != nil {
		return nil, err
	}
	record, err := s.engine.catalog.Record(snapshot)
	if err == nil {
		err = s.engine.node.Promise(holder.TTL)
	}
	if err != nil {
		snapshot.Close()
		return nil, err
	}
	return record, nil // the lease is the borrower's now
}

// Acquire flushes for the processes that are attached, and remembers it as for this one.
func (s *service) Acquire(ctx context.Context, extents []descriptor.Extent) error {
	ctx, leave, err := s.engine.life.Call(ctx)
	if err != nil {
		return err
	}
	defer leave()
	for i := range extents {
		if err := s.engine.reader.AcquireExtent(ctx, &extents[i], s.engine.reader.Verification()); err != nil {
			return err
		}
	}
	return nil
}

func (s *service) Page(ctx context.Context, id catalog.PageID) ([]byte, error) {
	ctx, leave, err := s.engine.life.Call(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	return s.engine.catalog.Page(ctx, id)
}

func (s *service) Renew(_ context.Context, leases []catalog.LeaseID) (over []catalog.LeaseID, err error) {
	if err := s.engine.life.Enter(); err != nil {
		return nil, err
	}
	defer s.engine.life.Leave()
	if err := s.engine.node.Promise(0); err != nil {
		return nil, err
	}
	now := time.Now()
	for _, id := range leases {
		if s.engine.catalog.RenewLease(id, now) != nil {
			over = append(over, id)
		}
	}
	return over, nil
}

func (s *service) Release(_ context.Context, lease catalog.LeaseID) error {
	if !s.engine.life.EnterToClose() {
		return nil // it went with the engine
	}
	defer s.engine.life.Leave()
	return s.engine.catalog.ReleaseLease(lease)
}

func (s *service) Status(context.Context) (noderpc.Status, error) {
	return s.engine.Status(s.frontend), nil
}

// Status says how the node is; of one that is closed, only which it was.
func (e *Engine) Status(frontend noderpc.Frontend) noderpc.Status {
	st := noderpc.Status{Node: noderpc.NodeStatus{
		Name: e.config.Node, Version: Version, Started: e.started, Process: os.Getpid(), Domain: member.LocalDomain, Frontend: frontend,
	}}
	if e.catalog == nil || e.life.Enter() != nil {
		return st
	}
	defer e.life.Leave()
	st.Node.Catalog, st.Node.Revision = e.catalog.Identity(), e.catalog.Revision()
	region, spec := e.node.Lent.Stats(), e.node.Region
	st.Regions = []noderpc.RegionStatus{{
		ID: spec.ID, Node: e.config.Node, Fabric: spec.Fabric, Path: spec.Path, Base: spec.Base, Capacity: spec.Capacity, Start: spec.Start,
		Used: region.Used, Reserved: region.Backed, Extents: int64(region.Extents),
	}}
	st.Holders = e.node.Holders()
	for _, record := range e.catalog.Regions() {
		if reason := e.reader.Lost(record.ID); reason != nil {
			st.Regions = append(st.Regions, noderpc.RegionStatus{
				ID: record.ID, Node: record.Node, Fabric: record.Fabric, Path: record.Path, Base: record.Base, Capacity: record.Capacity, Start: record.Start,
				Gone: reason.Error(),
			})
		}
	}
	st.Tables = e.tableStatus()
	for _, l := range e.catalog.Leases() {
		st.Leases = append(st.Leases, noderpc.LeaseStatus{
			ID: l.ID, Domain: l.Holder.Domain, Holder: l.Holder.Description, Since: l.Since, Expires: l.Expires, Revision: l.Revision,
		})
	}
	e.reader.Counters().Each(func(c coherence.Sample) {
		st.Counters = append(st.Counters, noderpc.Counter{Name: c.Name, Step: c.Step, Value: c.Value})
	})
	st.Overdue = e.overdueStatus()
	for _, w := range e.Workers() {
		st.Workers = append(st.Workers, noderpc.WorkerStatus{
			Process: w.Process, Started: w.Started, Busy: w.Busy, Statements: w.Statements, Crashes: w.Crashes, Kills: w.Kills,
		})
	}
	return st
}

// tableStatus are the tables as this node last heard of them: a status is wanted most when etcd does not answer, and must not wait for it.
func (e *Engine) tableStatus() (list []noderpc.TableStatus) {
	patience := 5 * time.Second
	if e.node.Self != nil && e.catalog.Standing() != nil {
		patience = member.Patience / 2
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	for _, v := range e.catalog.Applied().Tables() {
		name := v.Table().Name
		lost, err := e.upkeep.Lost(ctx, v, upkeep.Unreadable)
		if err != nil {
			lost = nil // whoever asks the table hears of it
		}
		list = append(list, noderpc.TableStatus{
			Schema: name.Schema, Name: name.Name, Rows: v.Rows(), Bytes: v.Bytes(), Chunks: int64(v.NumChunks()), Version: v.Version(),
			Missing: int64(len(lost)), Source: upkeep.SourcesOf(v),
		})
	}
	return list
}

func (s *service) Load(ctx context.Context, request noderpc.LoadRequest, progress func(noderpc.Progress)) (noderpc.LoadResult, error) {
	return s.engine.Load(ctx, request, progress)
}

func (s *service) Verify(ctx context.Context, request noderpc.VerifyRequest, progress func(noderpc.Progress)) (noderpc.VerifyResult, error) {
	return s.engine.Verify(ctx, request, progress)
}

func (s *service) LoadTPCH(ctx context.Context, request noderpc.TPCHRequest, progress func(noderpc.Progress)) error {
	return s.engine.LoadTPCH(ctx, request, progress)
}
