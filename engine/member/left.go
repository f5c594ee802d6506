package member

import (
	"context"
	"errors"
	"time"

	"github.com/csmsql/csmsql/cluster/noderpc"
	"github.com/csmsql/csmsql/coherence"
	"github.com/csmsql/csmsql/engine/reader"
	"github.com/csmsql/csmsql/memregion"
)

// Where caches are not coherent, what a killed process of this machine stored into other nodes' memory may still lie in
// this machine's caches. Those nodes keep the memory away until a process of this machine has flushed it, which is this
// process' duty (docs/coherence.md, step 9).

// flushLeft does it, for all nodes that are there. It costs one call for each, and nothing where caches are coherent.
func (n *Node) flushLeft(ctx context.Context) (err error) {
	if n.Fabric.Lines == nil || n.peers == nil {
		return nil
	}
	for _, name := range n.OnlineBut(n.config.Node) {
		err = errors.Join(err, n.flushLeftAt(ctx, name))
	}
	return err
}

func (n *Node) flushLeftAt(ctx context.Context, name string) error {
	const patience = 2 * time.Second
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	client, id, err := n.lenderNamed(ctx, name)
	if err != nil || client == nil {
		return err
	}
	request := noderpc.LeftRequest{Region: id, Domain: n.Fabric.Machine}
	left, err := client.Left(ctx, request)
	if err != nil || len(left) == 0 {
		return err
	}
	m, err := n.Reader.Reach(id)
	if err != nil {
		return err
	}
	for _, x := range left {
		if err := n.flushed(m, x.Range); err != nil {
			return err
		}
		request.Flushed = append(request.Flushed, x.Generation)
	}
	_, err = client.Left(ctx, request)
	n.config.Log.Info("flushed what a former process of this node was writing when it died", "node", name, "extents", len(left))
	return err
}

func (n *Node) flushed(m *reader.Region, r memregion.Range) error {
	data, err := m.View().Bytes(r)
	if err != nil {
		return err
	}
	n.Reader.Drop(coherence.StepAbort, data)
	return nil
}
