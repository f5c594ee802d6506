package engine

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/csmsql/csmsql/cluster/etcd"
	"github.com/csmsql/csmsql/cluster/noderpc"
	"github.com/csmsql/csmsql/engine/member"
	"github.com/csmsql/csmsql/engine/upkeep"
)

// administration answers operators for the whole cluster: noderpc.Administration.
type administration struct{ engine *Engine }

// DrainNode implements noderpc.Administration.
func (a administration) DrainNode(ctx context.Context, node string, progress func(noderpc.Progress)) error {
	return a.engine.Drain(ctx, node, progress)
}

// UndrainNode implements noderpc.Administration.
func (a administration) UndrainNode(ctx context.Context, node string) error {
	return a.engine.Undrain(ctx, node)
}

// Cluster implements noderpc.Administration.
func (a administration) Cluster(ctx context.Context) (noderpc.ClusterStatus, error) {
	return a.engine.ClusterStatus(ctx)
}

// ClusterStatus says how the cluster is, as far as this node knows. It asks every node and every member of etcd how it is, all at once, and
// waits a moment for them; without etcd's majority it says what was last heard.
func (e *Engine) ClusterStatus(ctx context.Context) (noderpc.ClusterStatus, error) {
	if e.node == nil || e.node.Self == nil {
		return noderpc.ClusterStatus{}, upkeep.ErrAlone
	}
	ctx, leave, err := e.life.Call(ctx)
	if err != nil {
		return noderpc.ClusterStatus{}, err
	}
	defer leave()
	s := noderpc.ClusterStatus{Node: e.config.Node, Nodes: []noderpc.ClusterNode{}, Tables: []noderpc.ClusterTable{}, Etcd: []noderpc.EtcdMember{}}
	var etcdTrouble, tableTrouble error
	var group errgroup.Group
	if shared, ok := e.node.Store.(*etcd.Store); ok {
		group.Go(func() error {
			s.Etcd, etcdTrouble = etcdMembers(ctx, shared)
			return nil
		})
	}
	group.Go(func() error {
		soon, cancel := context.WithTimeout(ctx, member.Patience)
		defer cancel()
		var tables []noderpc.ClusterTable
		tables, tableTrouble = e.clusterTables(soon)
		s.Tables = append(s.Tables, tables...)
		s.Nodes = append(s.Nodes, e.clusterNodes(ctx, s.Tables)...)
		return nil
	})
	_ = group.Wait() // what went wrong is told
	if err := errors.Join(etcdTrouble, tableTrouble); err != nil {
		s.Trouble = err.Error()
	}
	return s, ctx.Err()
}

func etcdMembers(ctx context.Context, shared *etcd.Store) (list []noderpc.EtcdMember, err error) {
	members, err := shared.Members(ctx)
	list = []noderpc.EtcdMember{}
	for _, m := range members {
		list = append(list, noderpc.EtcdMember{
			Name: m.Name, Clients: m.Clients, Peers: m.Peers, Leader: m.Leader, Learner: m.Learner, Version: m.Version, Bytes: m.Bytes, Trouble: m.Trouble,
		})
	}
	return list, err
}

// clusterTables are the tables as this node last heard of them: nobody is asked for news, because a status is wanted most when
// nobody answers.
func (e *Engine) clusterTables(ctx context.Context) (list []noderpc.ClusterTable, failed error) {
	for _, v := range e.catalog.Applied().Tables() {
		name := v.Table().Name
		t := noderpc.ClusterTable{
			Schema: name.Schema, Name: name.Name, Rows: v.Rows(), Bytes: v.Bytes(), Chunks: int64(v.NumChunks()), Placement: v.Table().Placement,
		}
		chunks, err := e.facts.Chunks(ctx, v)
		failed = errors.Join(failed, err)
		t.Replicas = int64(max(v.Table().Replicas, 1))
		if err == nil {
			t.Incomplete = e.upkeep.IncompleteOf(chunks, v)
		}
		for _, c := range chunks {
			for k := range c.Replicas() {
				node, _ := e.catalog.Reachable(c.Extent(k).Region)
				i := slices.IndexFunc(t.Parts, func(p noderpc.ClusterPart) bool { return p.Node == node })
				if i < 0 {
					i, t.Parts = len(t.Parts), append(t.Parts, noderpc.ClusterPart{Node: node})
				}
				t.Parts[i].Rows += c.Rows
				t.Parts[i].Bytes += c.Bytes
				t.Parts[i].Chunks++
			}
		}
		list = append(list, t)
	}
	return list, failed
}

// clusterNodes are the members, and nodes that are gone and whose memory tables still lie in.
func (e *Engine) clusterNodes(ctx context.Context, tables []noderpc.ClusterTable) []noderpc.ClusterNode {
	nodes := map[string]*noderpc.ClusterNode{}
	for _, m := range e.catalog.Members() {
		nodes[m.Name] = &noderpc.ClusterNode{Name: m.Name, State: m.State.String(), Address: m.Address, Frontend: m.Frontend, Started: m.Started}
	}
	for _, t := range tables {
		for _, p := range t.Parts {
			if nodes[p.Node] == nil {
				nodes[p.Node] = &noderpc.ClusterNode{Name: p.Node, State: "gone", Trouble: "it is not there, and tables lie in its memory"}
			}
			nodes[p.Node].Chunks += p.Chunks
			nodes[p.Node].Bytes += p.Bytes
		}
	}
	var group errgroup.Group
	for _, n := range nodes {
		if n.State != "gone" {
			group.Go(func() error { e.look(ctx, n); return nil })
		}
	}
	_ = group.Wait() // what went wrong is in the nodes
	list := make([]noderpc.ClusterNode, 0, len(nodes))
	for _, n := range nodes {
		list = append(list, *n)
	}
	slices.SortFunc(list, func(a, b noderpc.ClusterNode) int { return cmp.Compare(a.Name, b.Name) })
	return list
}

// look asks a node how its regions are.
func (e *Engine) look(ctx context.Context, n *noderpc.ClusterNode) {
	if n.Name == e.config.Node {
		n.Regions = sound(e.Status(noderpc.Frontend{}).Regions)
		return
	}
	ctx, cancel := context.WithTimeout(ctx, member.Patience)
	defer cancel()
	client, err := e.node.Peer(ctx, n.Name)
	if err == nil {
		var status noderpc.Status
		if status, err = client.Status(ctx); err == nil {
			n.Regions = sound(status.Regions)
			return
		}
	}
	n.Trouble = err.Error()
}

// sound leaves out regions whose bytes are gone.
func sound(regions []noderpc.RegionStatus) []noderpc.RegionStatus {
	return slices.DeleteFunc(slices.Clone(regions), func(r noderpc.RegionStatus) bool { return r.Gone != "" })
}
