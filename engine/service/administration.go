package service

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
type administration struct{ *Service }

// DrainNode implements noderpc.Administration.
func (a administration) DrainNode(ctx context.Context, node string, progress func(noderpc.Progress)) error {
	return a.Drain(ctx, node, progress)
}

// UndrainNode implements noderpc.Administration.
func (a administration) UndrainNode(ctx context.Context, node string) error {
	return a.Undrain(ctx, node)
}

// Rebalance implements noderpc.Administration.
func (a administration) Rebalance(ctx context.Context,
	progress func(noderpc.Progress)) (noderpc.LoadResult, error) {
	return a.Service.Rebalance(ctx, progress)
}

// Cluster implements noderpc.Administration.
func (a administration) Cluster(ctx context.Context) (noderpc.ClusterStatus, error) {
	return a.ClusterStatus(ctx)
}

// Drain empties a node of the cluster, see Engine.Drain. progress may be nil.
func (s *Service) Drain(ctx context.Context, name string, progress func(noderpc.Progress)) error {
	ctx, leave, err := s.Life.Call(ctx)
	if err != nil {
		return err
	}
	defer leave()
	return s.Life.CauseOf(member.ExplainFull(s.Keeper.Drain(ctx, name, progress)))
}

// Rebalance makes the nodes of the cluster even, see Engine.Rebalance. progress may be nil.
func (s *Service) Rebalance(ctx context.Context,
	progress func(noderpc.Progress)) (result noderpc.LoadResult, err error) {
	ctx, leave, err := s.Life.Call(ctx)
	if err != nil {
		return result, err
	}
	defer leave()
	result, err = s.Keeper.Rebalance(ctx, progress)
	return result, s.Life.CauseOf(member.ExplainFull(err))
}

// Undrain lets a node take rows and run parts of queries again. Nothing moves back.
func (s *Service) Undrain(ctx context.Context, name string) error {
	if s.Node == nil || s.Node.Self == nil {
		return upkeep.ErrAlone
	}
	ctx, leave, err := s.Life.Call(ctx)
	if err != nil {
		return err
	}
	defer leave()
	return s.Life.CauseOf(s.Keeper.Undrain(ctx, name))
}

// ClusterStatus says how the cluster is, as far as this node knows. It asks every node and every member of etcd how it
// is, all at once, and waits a moment for them; without etcd's majority it says what was last heard.
func (s *Service) ClusterStatus(ctx context.Context) (noderpc.ClusterStatus, error) {
	if s.Node == nil || s.Node.Self == nil {
		return noderpc.ClusterStatus{}, upkeep.ErrAlone
	}
	ctx, leave, err := s.Life.Call(ctx)
	if err != nil {
		return noderpc.ClusterStatus{}, err
	}
	defer leave()
	st := noderpc.ClusterStatus{Node: s.Name, Nodes: []noderpc.ClusterNode{}, Tables: []noderpc.ClusterTable{}, Etcd: []noderpc.EtcdMember{}}
	var etcdTrouble, tableTrouble error
	var group errgroup.Group
	if shared, ok := s.Node.Store.(*etcd.Store); ok {
		group.Go(func() error {
			st.Etcd, etcdTrouble = etcdMembers(ctx, shared)
			return nil
		})
	}
	group.Go(func() error {
		soon, cancel := context.WithTimeout(ctx, member.Patience)
		defer cancel()
		var tables []noderpc.ClusterTable
		tables, tableTrouble = s.clusterTables(soon)
		st.Tables = append(st.Tables, tables...)
		st.Nodes = append(st.Nodes, s.clusterNodes(ctx, st.Tables)...)
		return nil
	})
	_ = group.Wait() // what went wrong is in Trouble
	if err := errors.Join(etcdTrouble, tableTrouble); err != nil {
		st.Trouble = err.Error()
	}
	return st, ctx.Err()
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

// clusterTables are the tables as this node last heard of them. No other node is asked for news: a status is wanted
// most when none answers.
func (s *Service) clusterTables(ctx context.Context) (list []noderpc.ClusterTable, failed error) {
	for _, v := range s.Node.Catalog.Applied().Tables() {
		name := v.Table().Name
		t := noderpc.ClusterTable{
			Schema: name.Schema, Name: name.Name, Rows: v.Rows(), Bytes: v.Bytes(), Chunks: int64(v.NumChunks()), Placement: v.Table().Placement,
		}
		chunks, err := s.Facts.Chunks(ctx, v)
		failed = errors.Join(failed, err)
		t.Replicas = int64(max(v.Table().Replicas, 1))
		if err == nil {
			t.Incomplete = s.Keeper.IncompleteOf(chunks, v)
		}
		for _, c := range chunks {
			for k := range c.Replicas() {
				node, _ := s.Node.Catalog.Reachable(c.Extent(k).Region)
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
func (s *Service) clusterNodes(ctx context.Context, tables []noderpc.ClusterTable) []noderpc.ClusterNode {
	nodes := map[string]*noderpc.ClusterNode{}
	for _, m := range s.Node.Catalog.Members() {
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
			group.Go(func() error { s.look(ctx, n); return nil })
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
func (s *Service) look(ctx context.Context, n *noderpc.ClusterNode) {
	if n.Name == s.Name {
		n.Regions = sound(s.Status(noderpc.Frontend{}).Regions)
		return
	}
	ctx, cancel := context.WithTimeout(ctx, member.Patience)
	defer cancel()
	client, err := s.Node.Peer(ctx, n.Name)
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
