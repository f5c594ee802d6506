package engine

import (
	"context"

	"github.com/csmsql/csmsql/cluster/noderpc"
	"github.com/csmsql/csmsql/engine/inspection"
	"github.com/csmsql/csmsql/engine/service"
	"github.com/csmsql/csmsql/engine/systemtable"
)

// Version of the product.
const Version = service.Version

// newService requires the keeper, or that there is none.
func (e *Engine) newService() *service.Service {
	return service.New(service.Config{
		Name: e.config.Node, Started: e.started, Node: e.node, Keeper: e.upkeep, Facts: &e.facts, Life: e.life, Loads: e, Statements: served{e},
		Followed: e.follows, LeaseTTL: e.config.LeaseTTL, Log: e.config.Log, Collector: e.inserts,
	})
}

// Service is what the engine offers to other processes: noderpc.Node. Frontend is where the PostgreSQL frontend listens.
func (e *Engine) Service(frontend noderpc.Frontend) noderpc.Node {
	return e.newService().Serve(frontend)
}

// ServerOptions are for serving the Service: the node's identity, and what it does for other nodes of its cluster.
func (e *Engine) ServerOptions() noderpc.ServerOptions {
	options := noderpc.ServerOptions{Name: e.config.Node, Log: e.config.Log}
	e.newService().AddTo(&options)
	if e.node != nil && e.node.Self != nil {
		options.FragmentTTL = e.config.Cluster.SessionTTL // 0: as long as a session's
		options.Fragments = e.fragments
	}
	return options
}

// Status says how the node is; of one that is closed, only which it was.
func (e *Engine) Status(frontend noderpc.Frontend) noderpc.Status {
	return e.newService().Status(frontend)
}

// ClusterStatus says how the cluster is, as far as this node knows. It waits a moment for nodes and members of etcd.
func (e *Engine) ClusterStatus(ctx context.Context) (noderpc.ClusterStatus, error) {
	return e.newService().ClusterStatus(ctx)
}

// Drain empties a node of the cluster: from now on it takes no new rows and runs no parts of queries, and what it
// holds of tables moves to the other nodes. Placements that name it get lists without it. When Drain returns the
// node may be stopped, except for transactions that wrote before and commit later: drain it again. progress may be nil.
//
// Of a node that is not there other replicas are copied; what has none is the error: reload that first.
func (e *Engine) Drain(ctx context.Context, name string, progress func(noderpc.Progress)) error {
	return e.newService().Drain(ctx, name, progress)
}

// Rebalance moves chunks from full nodes to empty ones, as far as placements let it, and returns what moved.
func (e *Engine) Rebalance(ctx context.Context, progress func(noderpc.Progress)) (noderpc.LoadResult, error) {
	return e.newService().Rebalance(ctx, progress)
}

// Undrain lets a node take rows and run parts of queries again. Nothing moves back.
func (e *Engine) Undrain(ctx context.Context, name string) error {
	return e.newService().Undrain(ctx, name)
}

// served is the engine as its service asks it: service.Statements.
type served struct{ engine *Engine }

// AddWork implements service.Statements.
func (a served) AddWork(status *noderpc.Status) {
	service.AddWork(status, a.engine.overdue.List(), a.engine.Workers())
}

// inspector visits the chunks of all tables.
func (e *Engine) inspector() *inspection.Inspector {
	return &inspection.Inspector{Reader: e.reader, Snapshot: e.snapshot, Log: e.config.Log}
}

// VerifyChecksums compares every chunk with the checksums it was sealed with. The error, XX001, names the first of which
// no replica is whole.
func (e *Engine) VerifyChecksums(ctx context.Context) error {
	ctx, leave, err := e.life.Call(ctx)
	if err != nil {
		return err
	}
	defer leave()
	return e.life.CauseOf(e.inspector().Check(ctx))
}

// Verify compares all replicas of tables' chunks (none named: of all tables) with the checksums they were sealed with,
// and lists those that are damaged or cannot be read. They are remembered, as if a query had found them: read last, and
// rebuilt if the node rebuilds replicas. progress (nil: not reported) is called on this goroutine.
func (e *Engine) Verify(ctx context.Context, request noderpc.VerifyRequest,
	progress func(noderpc.Progress)) (noderpc.VerifyResult, error) {
	ctx, leave, err := e.life.Call(ctx)
	if err != nil {
		return noderpc.VerifyResult{Damaged: []noderpc.DamagedReplica{}}, err
	}
	defer leave()
	result, err := e.inspector().Verify(ctx, request.Tables, progress)
	return result, e.life.CauseOf(err)
}

// systemNode is what the tables of the schema csm show.
func (e *Engine) systemNode() *systemtable.Node {
	return &systemtable.Node{
		Name: e.config.Node, Started: e.started, Member: e.node, Reader: e.reader, Facts: &e.facts, Keeper: e.upkeep, Split: e.split,
		Account: e.account, History: &e.history, Overdue: e.overdue, Parked: e.parked,
	}
}

func (e *Engine) parked() (list []systemtable.Parked) {
	for _, s := range e.openSessions() {
		if bytes := s.parked.Bytes(); bytes > 0 {
			list = append(list, systemtable.Parked{Session: s.options.ProcessID, User: s.options.User, Bytes: bytes})
		}
	}
	return list
}

// Figures says what the node has counted since it began, for monitors.
func (e *Engine) Figures() service.Figures {
	return e.counts.Figures(e.reader, e.upkeep, e.node, e.inserts)
}
