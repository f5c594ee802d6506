package service

import (
	"sync/atomic"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/cluster/etcd"
	"github.com/csmsql/csmsql/cluster/noderpc"
	"github.com/csmsql/csmsql/cluster/noderpc/refusal"
	"github.com/csmsql/csmsql/engine/collector"
	"github.com/csmsql/csmsql/engine/compaction"
	"github.com/csmsql/csmsql/engine/member"
	"github.com/csmsql/csmsql/engine/reader"
	"github.com/csmsql/csmsql/engine/upkeep"
	"github.com/csmsql/csmsql/internal/tally"
)

// Figures are what a node has counted since it began, for monitors.
type Figures struct {
	// BytesLocal and BytesRemote are what this node has read of chunks in its own memory and in that of others, for its
	// own statements and for fragments of others'.
	BytesLocal, BytesRemote int64
	// FragmentsRun and FragmentsFailed count parts of queries, of whichever node, that this one ran; FragmentsRetried
	// those that it ran because the node that should have could not be reached.
	FragmentsRun, FragmentsFailed, FragmentsRetried int64
	// ReplicasPassedOver counts replicas that could not be read where another one was tried; ReplicasRepaired chunks
	// whose replicas this node has put right.
	ReplicasPassedOver, ReplicasRepaired int64
	// ChunksReloaded counts lost chunks that this node has rebuilt from where their rows came.
	ChunksReloaded int64
	// Compactions count folds of small chunks.
	Compactions compaction.Totals
	// Strays counts extents of the node's region that had no holder, StraysTakenBack those of them that went back;
	// StraysNow and StrayBytes are those that there are. HeldTooLong counts extents that their holders still held when
	// they ended.
	Strays, StraysTakenBack, StraysNow, StrayBytes, HeldTooLong int64
	// Commits counts groups of transactions that the node has committed together, Inserts those whose rows became one
	// chunk; nil of a borrower.
	Commits, Inserts *tally.Sizes
	// HandedOver counts INSERTs that another node has committed for this one, Settled those of which that had to be
	// found out.
	HandedOver, Settled int64
	// Refusals count what the node's RPC has refused, and to whom.
	Refusals *refusal.Counters
	// Cluster is nil of a node that is alone.
	Cluster *ClusterFigures
}

// ClusterFigures are those of a node in a cluster.
type ClusterFigures struct {
	Members []catalog.Member // as this node sees them now
	Etcd    etcd.Stats       // what it did there
}

// Counts are the part of Figures that statements have. Safe for concurrent use.
type Counts struct {
	local, remote, run, failed, retried atomic.Int64
}

// Read counts what was read of chunks.
func (c *Counts) Read(p noderpc.FragmentProgress) {
	c.local.Add(p.BytesLocal)
	c.remote.Add(p.BytesRemote)
}

// Fragment counts one that was run, or failed.
func (c *Counts) Fragment(p noderpc.FragmentProgress, err error) {
	c.run.Add(1)
	if err != nil {
		c.failed.Add(1)
		return
	}
	c.Read(p)
}

// Retry counts a fragment that is run here because its node cannot be reached.
func (c *Counts) Retry() { c.retried.Add(1) }

// Figures says what a node has counted, and a process that reads chunks; node is nil of a borrower.
func (c *Counts) Figures(r *reader.Reader, keeper *upkeep.Keeper, node *member.Node,
	inserts *collector.Collector) Figures {
	f := Figures{
		BytesLocal: c.local.Load(), BytesRemote: c.remote.Load(),
		FragmentsRun: c.run.Load(), FragmentsFailed: c.failed.Load(), FragmentsRetried: c.retried.Load(),
		ReplicasPassedOver: r.Damage().PassedOver(), ReplicasRepaired: keeper.Repaired(), ChunksReloaded: keeper.Reloaded(),
		Compactions: keeper.Compactions().Totals(),
	}
	if node == nil {
		return f
	}
	f.Refusals, f.Commits, f.Inserts = node.Refusals, node.Catalog.Groups(), &inserts.Sizes
	f.HandedOver, f.Settled = inserts.HandedOver.Load(), inserts.Settled.Load()
	h := node.Strays()
	f.Strays, f.StraysTakenBack, f.StraysNow, f.StrayBytes, f.HeldTooLong = h.Found, h.TakenBack, h.Now, h.Bytes, h.HeldTooLong
	if shared, ok := node.Store.(*etcd.Store); ok {
		f.Cluster = &ClusterFigures{Members: node.Catalog.Members(), Etcd: shared.Stats()}
	}
	return f
}
