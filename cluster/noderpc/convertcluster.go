package noderpc

import (
	"fmt"

	"github.com/csmsql/csmsql/cluster/noderpc/nodepb"
	"github.com/csmsql/csmsql/memregion"
)

func encodeCluster(s ClusterStatus) *nodepb.ClusterStatusResponse {
	m := &nodepb.ClusterStatusResponse{Node: text(s.Node, maxNameBytes), Trouble: text(s.Trouble, maxTextBytes)}
	for _, n := range s.Nodes {
		e := &nodepb.ClusterNode{
			Name: text(n.Name, maxNameBytes), State: text(n.State, maxNameBytes), Address: text(n.Address, maxTextBytes), Frontend: text(n.Frontend, maxTextBytes),
			Started: encodeTime(n.Started), Trouble: text(n.Trouble, maxTextBytes), Chunks: n.Chunks, Bytes: n.Bytes,
		}
		for _, r := range n.Regions {
			e.Regions = append(e.Regions, encodeRegionStatus(r))
		}
		m.Nodes = append(m.Nodes, e)
	}
	for _, t := range s.Tables {
		e := &nodepb.ClusterTable{
			Schema: text(t.Schema, maxNameBytes), Name: text(t.Name, maxNameBytes), Rows: t.Rows, Bytes: t.Bytes, Chunks: t.Chunks, Placement: text(t.Placement, maxTextBytes),
			Replicas: t.Replicas, Incomplete: t.Incomplete,
		}
		for _, p := range t.Parts {
			e.Parts = append(e.Parts, &nodepb.ClusterPart{Node: text(p.Node, maxNameBytes), Rows: p.Rows, Bytes: p.Bytes, Chunks: p.Chunks})
		}
		m.Tables = append(m.Tables, e)
	}
	for _, x := range s.Etcd {
		m.Etcd = append(m.Etcd, &nodepb.EtcdMember{
			Name: text(x.Name, maxNameBytes), Clients: texts(x.Clients), Peers: texts(x.Peers), Leader: x.Leader, Learner: x.Learner,
			Version: text(x.Version, maxNameBytes), Bytes: x.Bytes, Trouble: text(x.Trouble, maxTextBytes),
		})
	}
	return m
}

func texts(list []string) []string {
	out := make([]string, len(list))
	for i, s := range list {
		out[i] = text(s, maxTextBytes)
	}
	return out
}

func encodeRegionStatus(r RegionStatus) *nodepb.RegionStatus {
	spec := memregion.Spec{ID: r.ID, Base: r.Base, Capacity: r.Capacity, Fabric: r.Fabric, Path: r.Path, Start: r.Start}
	return &nodepb.RegionStatus{
		Region: encodeRegion(Region{Spec: spec}), Node: text(r.Node, maxNameBytes), Used: r.Used, Reserved: r.Reserved, Extents: r.Extents,
		Gone: text(r.Gone, maxTextBytes),
	}
}

// maxMembers bounds nodes, members of etcd, and addresses of either.
const maxMembers = 1 << 12

// Lists are never nil, so that JSON has [] and not null.
func decodeCluster(m *nodepb.ClusterStatusResponse) (s ClusterStatus, err error) {
	if len(m.GetNodes()) > maxMembers || len(m.GetEtcd()) > maxMembers || len(m.GetTables()) > maxStatusItems {
		return s, fmt.Errorf("%d nodes, %d members of etcd, %d tables are too many", len(m.GetNodes()), len(m.GetEtcd()), len(m.GetTables()))
	}
	if err := checkLabels(m.GetNode()); err != nil {
		return s, err
	}
	if err := checkText("trouble", m.GetTrouble(), maxTextBytes); err != nil {
		return s, err
	}
	s = ClusterStatus{Node: m.GetNode(), Trouble: m.GetTrouble(), Nodes: []ClusterNode{}, Tables: []ClusterTable{}, Etcd: []EtcdMember{}}
	for _, e := range m.GetNodes() {
		n, err := decodeClusterNode(e)
		if err != nil {
			return s, fmt.Errorf("node: %w", err)
		}
		s.Nodes = append(s.Nodes, n)
	}
	for _, e := range m.GetTables() {
		t, err := decodeClusterTable(e)
		if err != nil {
			return s, fmt.Errorf("table: %w", err)
		}
		s.Tables = append(s.Tables, t)
	}
	for _, e := range m.GetEtcd() {
		x, err := decodeEtcdMember(e)
		if err != nil {
			return s, fmt.Errorf("member of etcd: %w", err)
		}
		s.Etcd = append(s.Etcd, x)
	}
	return s, nil
}

func decodeClusterNode(m *nodepb.ClusterNode) (n ClusterNode, err error) {
	if err := checkLabels(m.GetName(), m.GetState()); err != nil {
		return n, err
	}
	for _, t := range []string{m.GetAddress(), m.GetFrontend(), m.GetTrouble()} {
		if err := checkText("text", t, maxTextBytes); err != nil {
			return n, err
		}
	}
	if err := checkCounts(m.GetChunks(), m.GetBytes()); err != nil {
		return n, err
	}
	n = ClusterNode{
		Name: m.GetName(), State: m.GetState(), Address: m.GetAddress(), Frontend: m.GetFrontend(), Started: decodeTime(m.GetStarted()),
		Trouble: m.GetTrouble(), Chunks: m.GetChunks(), Bytes: m.GetBytes(),
	}
	n.Regions, err = decodeRegionStatuses(m.GetRegions())
	return n, err
}

func decodeClusterTable(m *nodepb.ClusterTable) (t ClusterTable, err error) {
	if err := checkNames(m.GetSchema(), m.GetName()); err != nil {
		return t, err
	}
	if err := checkText("placement", m.GetPlacement(), maxTextBytes); err != nil {
		return t, err
	}
	if err := checkCounts(m.GetRows(), m.GetBytes(), m.GetChunks()); err != nil {
		return t, err
	}
	if m.GetReplicas() < 0 || m.GetReplicas() > maxReplicas || m.GetIncomplete() < 0 || m.GetIncomplete() > m.GetChunks() {
		return t, fmt.Errorf("%d replicas, and %d of %d chunks have fewer", m.GetReplicas(), m.GetIncomplete(), m.GetChunks())
	}
	if len(m.GetParts()) > maxMembers {
		return t, fmt.Errorf("it lies at %d nodes", len(m.GetParts()))
	}
	t = ClusterTable{
		Schema: m.GetSchema(), Name: m.GetName(), Rows: m.GetRows(), Bytes: m.GetBytes(), Chunks: m.GetChunks(), Placement: m.GetPlacement(), Parts: []ClusterPart{},
		Replicas: m.GetReplicas(), Incomplete: m.GetIncomplete(),
	}
	for _, p := range m.GetParts() {
		if err := checkLabels(p.GetNode()); err != nil {
			return t, err
		}
		if err := checkCounts(p.GetRows(), p.GetBytes(), p.GetChunks()); err != nil {
			return t, err
		}
		t.Parts = append(t.Parts, ClusterPart{Node: p.GetNode(), Rows: p.GetRows(), Bytes: p.GetBytes(), Chunks: p.GetChunks()})
	}
	return t, nil
}

func decodeEtcdMember(m *nodepb.EtcdMember) (x EtcdMember, err error) {
	if err := checkLabels(m.GetName(), m.GetVersion()); err != nil {
		return x, err
	}
	if len(m.GetClients()) > maxMembers || len(m.GetPeers()) > maxMembers {
		return x, fmt.Errorf("it has %d addresses", len(m.GetClients())+len(m.GetPeers()))
	}
	for _, list := range [][]string{m.GetClients(), m.GetPeers(), {m.GetTrouble()}} {
		for _, t := range list {
			if err := checkText("text", t, maxTextBytes); err != nil {
				return x, err
			}
		}
	}
	if err := checkCounts(m.GetBytes()); err != nil {
		return x, err
	}
	return EtcdMember{
		Name: m.GetName(), Clients: append([]string{}, m.GetClients()...), Peers: append([]string{}, m.GetPeers()...), Leader: m.GetLeader(), Learner: m.GetLearner(),
		Version: m.GetVersion(), Bytes: m.GetBytes(), Trouble: m.GetTrouble(),
	}, nil
}
