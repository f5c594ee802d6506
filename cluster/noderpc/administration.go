package noderpc

import (
	"context"
	"fmt"
	"time"

	"google.golang.org/grpc"

	"github.com/csmsql/csmsql/cluster/noderpc/nodepb"
)

// Administration is what an operator asks one node about all nodes of its cluster; the engine implements it. The rules
// are those of Node.
type Administration interface {
	// Cluster says how the cluster is, as far as this node knows: what it cannot learn it names in Trouble.
	Cluster(ctx context.Context) (ClusterStatus, error)
	// DrainNode moves what a node holds to the others; progress may be called from several goroutines.
	DrainNode(ctx context.Context, node string, progress func(Progress)) error
	// UndrainNode lets it take rows again.
	UndrainNode(ctx context.Context, node string) error
	// Rebalance moves chunks from full nodes to empty ones; progress as with DrainNode. It returns what moved.
	Rebalance(ctx context.Context, progress func(Progress)) (LoadResult, error)
}

// ClusterStatus is how a cluster is, for people and (as JSON) for programs. Sizes are bytes.
type ClusterStatus struct {
	// Node answered.
	Node string `json:"node"`
	// Trouble is why it does not know more; empty: it does.
	Trouble string         `json:"trouble,omitempty"`
	Nodes   []ClusterNode  `json:"nodes"`
	Tables  []ClusterTable `json:"tables"`
	Etcd    []EtcdMember   `json:"etcd"`
}

// ClusterNode is one node.
type ClusterNode struct {
	Name     string    `json:"name"`
	State    string    `json:"state"`
	Address  string    `json:"address"`
	Frontend string    `json:"frontend"`
	Started  time.Time `json:"started,omitzero"`
	// Trouble is why the node that answered does not reach it; empty: it does.
	Trouble string `json:"trouble,omitempty"`
	// Chunks and Bytes lie there, of all tables.
	Chunks  int64          `json:"chunks"`
	Bytes   int64          `json:"bytes"`
	Regions []RegionStatus `json:"regions"`
}

// ClusterTable is one table in its current version.
type ClusterTable struct {
	Schema    string        `json:"schema"`
	Name      string        `json:"name"`
	Rows      int64         `json:"rows"`
	Bytes     int64         `json:"bytes"`
	Chunks    int64         `json:"chunks"`
	Placement string        `json:"placement,omitempty"`
	Parts     []ClusterPart `json:"parts"` // all replicas
	// Replicas is how many the chunks are to have; Incomplete is how many chunks have fewer that can be read.
	Replicas   int64 `json:"replicas"`
	Incomplete int64 `json:"incomplete"`
}

// ClusterPart is what of a table lies at one node.
type ClusterPart struct {
	Node   string `json:"node"`
	Rows   int64  `json:"rows"`
	Bytes  int64  `json:"bytes"`
	Chunks int64  `json:"chunks"`
}

// EtcdMember is a member of the cluster's etcd.
type EtcdMember struct {
	Name    string   `json:"name"`
	Clients []string `json:"clients"`
	Peers   []string `json:"peers"`
	Leader  bool     `json:"leader"`
	Learner bool     `json:"learner,omitempty"`
	Version string   `json:"version,omitempty"`
	Bytes   int64    `json:"bytes"` // of its database
	// Trouble is why it does not answer; empty: it does.
	Trouble string `json:"trouble,omitempty"`
}

// administrationHandlers are those of the service Administration.
type administrationHandlers struct {
	nodepb.UnimplementedAdministrationServer
	server *Server
}

func (h administrationHandlers) administration() (Administration, error) {
	if h.server.options.Administration == nil {
		return nil, &Error{
			State: stateFeature, Cause: errNotOffered, Message: fmt.Sprintf("node %s belongs to no cluster", h.server.options.Name),
			HintText: "“csmsql status” says how a node is that is alone.",
		}
	}
	return h.server.options.Administration, nil
}

func (h administrationHandlers) ClusterStatus(ctx context.Context,
	_ *nodepb.ClusterStatusRequest) (*nodepb.ClusterStatusResponse, error) {
	administration, err := h.administration()
	if err != nil {
		return nil, err
	}
	s, err := administration.Cluster(ctx)
	if err != nil {
		return nil, err
	}
	return encodeCluster(s), nil
}

func (h administrationHandlers) DrainNode(m *nodepb.DrainNodeRequest,
	stream grpc.ServerStreamingServer[nodepb.LoadEvent]) error {
	administration, err := h.administration()
	if err != nil {
		return err
	}
	if err := checkLabel("node", m.GetNode()); err != nil || m.GetNode() == "" {
		return badArgument("drain: which node? %v", err)
	}
	return reporting(stream, encodeResult, func(ctx context.Context, progress func(Progress)) (LoadResult, error) {
		if m.GetOff() {
			return LoadResult{}, administration.UndrainNode(ctx, m.GetNode())
		}
		return LoadResult{}, administration.DrainNode(ctx, m.GetNode(), progress)
	})
}

func (h administrationHandlers) Rebalance(_ *nodepb.RebalanceRequest,
	stream grpc.ServerStreamingServer[nodepb.LoadEvent]) error {
	administration, err := h.administration()
	if err != nil {
		return err
	}
	return reporting(stream, encodeResult, administration.Rebalance)
}

// ClusterStatus says how the cluster is, as the node sees it.
func (c *Client) ClusterStatus(ctx context.Context) (ClusterStatus, error) {
	call, cancel := c.call(ctx)
	defer cancel()
	m, err := c.administration.ClusterStatus(call, &nodepb.ClusterStatusRequest{})
	if err != nil {
		return ClusterStatus{}, c.failed(ctx, "cluster status", err)
	}
	s, err := decodeCluster(m)
	if err != nil {
		return ClusterStatus{}, badMessage("%s: cluster status: %v", c.name, err)
	}
	return s, nil
}

// DrainNode moves what a node holds to the others. progress (nil: not reported) is called on this goroutine. When the
// context ends, no more is moved. It has no time limit but the context's.
func (c *Client) DrainNode(ctx context.Context, node string, progress func(Progress)) error {
	return c.drainNode(ctx, &nodepb.DrainNodeRequest{Node: node}, progress)
}

// Rebalance moves chunks from full nodes to empty ones, and returns what moved. progress (nil: not reported) is called
// on this goroutine. When the context ends, no more is moved. It has no time limit but the context's.
func (c *Client) Rebalance(ctx context.Context, progress func(Progress)) (result LoadResult, err error) {
	call, cancel := context.WithCancel(c.outgoing(ctx))
	defer cancel()
	stream, err := c.administration.Rebalance(call, &nodepb.RebalanceRequest{})
	if err == nil {
		result, err = followLoad(stream, progress)
	}
	return result, c.failed(ctx, "rebalance", err)
}

// UndrainNode lets a node take rows again.
func (c *Client) UndrainNode(ctx context.Context, node string) error {
	return c.drainNode(ctx, &nodepb.DrainNodeRequest{Node: node, Off: true}, nil)
}

func (c *Client) drainNode(ctx context.Context, m *nodepb.DrainNodeRequest, progress func(Progress)) error {
	call, cancel := context.WithCancel(c.outgoing(ctx))
	defer cancel()
	stream, err := c.administration.DrainNode(call, m)
	if err == nil {
		_, err = followLoad(stream, progress)
	}
	return c.failed(ctx, "drain node "+m.GetNode(), err)
}
