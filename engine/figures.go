package engine

import (
	"sync/atomic"
	"time"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/cluster/etcd"
	"github.com/csmsql/csmsql/cluster/noderpc"
	"github.com/csmsql/csmsql/engine/history"
)

// Figures are what a node has counted since it began, for monitors.
type Figures struct {
	// BytesLocal and BytesRemote are what this node has read of chunks in its own memory and in that of others, for its own
	// statements and for fragments of others'.
	BytesLocal, BytesRemote int64
	// FragmentsRun and FragmentsFailed count parts of queries, of whichever node, that this one ran; FragmentsRetried those that
	// it ran because the node that should have could not be reached.
	FragmentsRun, FragmentsFailed, FragmentsRetried int64
	// ReplicasPassedOver counts replicas that could not be read where another one was tried; ReplicasRepaired chunks whose replicas this
	// node has put right.
	ReplicasPassedOver, ReplicasRepaired int64
	// ChunksReloaded counts lost chunks that this node has made anew from where their rows came.
	ChunksReloaded int64
	// Strays counts extents of the node's region that nobody held, StraysTakenBack those of them that went back; StraysNow and StrayBytes are those
	// that there are. HeldTooLong counts extents that their holders still held when they ended.
	Strays, StraysTakenBack, StraysNow, StrayBytes, HeldTooLong int64
	// Refusals count who was refused what by the node's RPC.
	Refusals *noderpc.Refusals
	// Cluster is nil of a node that is alone.
	Cluster *ClusterFigures
}

// ClusterFigures are those of a node in a cluster.
type ClusterFigures struct {
	Members []catalog.Member // as this node sees them now
	Etcd    etcd.Stats       // what it did there
}

// counts are the engine's own part of Figures.
type counts struct {
	local, remote, run, failed, retried atomic.Int64
}

func (c *counts) read(p noderpc.FragmentProgress) {
	c.local.Add(p.BytesLocal)
	c.remote.Add(p.BytesRemote)
}

func (c *counts) fragment(p noderpc.FragmentProgress, err error) {
	c.run.Add(1)
	if err != nil {
		c.failed.Add(1)
		return
	}
	c.read(p)
}

// Figures says what the node has counted.
func (e *Engine) Figures() Figures {
	c := &e.counts
	f := Figures{
		BytesLocal: c.local.Load(), BytesRemote: c.remote.Load(),
		FragmentsRun: c.run.Load(), FragmentsFailed: c.failed.Load(), FragmentsRetried: c.retried.Load(),
		ReplicasPassedOver: e.reader.Damage().PassedOver(), ReplicasRepaired: e.upkeep.Repaired(), ChunksReloaded: e.upkeep.Reloaded(),
	}
	if e.node == nil {
		return f
	}
	f.Refusals = e.node.Refusals
	h := e.node.Strays()
	f.Strays, f.StraysTakenBack, f.StraysNow, f.StrayBytes, f.HeldTooLong = h.Found, h.TakenBack, h.Now, h.Bytes, h.HeldTooLong
	if shared, ok := e.node.Store.(*etcd.Store); ok {
		f.Cluster = &ClusterFigures{Members: e.catalog.Members(), Etcd: shared.Stats()}
	}
	return f
}

// remember keeps a query for csm.queries once it has ended.
func (s *Session) remember(text string, started time.Time, rows *Rows, err error) {
	past := history.Query{Started: started, User: s.options.User, Text: text}
	if err != nil {
		past.Took, past.Failure = time.Since(started), err.Error()
		s.engine.history.Add(past)
		return
	}
	rows.onClose(func() {
		past.Took, past.Rows = time.Since(started), rows.count
		if rows.err != nil {
			past.Failure = rows.err.Error()
		}
		if read := rows.volume; read != nil {
			past.Local, past.Remote = read.Local.Load(), read.Remote.Load()
			s.engine.counts.read(noderpc.FragmentProgress{BytesLocal: past.Local, BytesRemote: past.Remote})
		}
		if rows.split != nil {
			read, fragments := rows.split.Read()
			past.Local, past.Remote, past.Fragments = past.Local+read.BytesLocal, past.Remote+read.BytesRemote, fragments
		}
		s.engine.history.Add(past)
	})
}
