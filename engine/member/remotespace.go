package member

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/catalog/chunk"
	"github.com/csmsql/csmsql/cluster/noderpc"
	"github.com/csmsql/csmsql/cluster/noderpc/borrowing"
	"github.com/csmsql/csmsql/coherence"
	"github.com/csmsql/csmsql/engine/fabric"
	"github.com/csmsql/csmsql/memregion"
	"github.com/csmsql/csmsql/sql/sqlerror"
)

// remoteSpaces are the other nodes' memory as this one writes into it: one space for each process of a node, which
// remembers what its lender has yet to receive. Safe for concurrent use.
type remoteSpaces struct {
	mu     sync.Mutex // guards the rest; no call is made under it
	open   map[string]remoteSpace
	former []remoteSpace // of processes that are over: their nodes' next ones keep what may still be stored into
}

type remoteSpace struct {
	*borrowing.Space
	name   string
	client *noderpc.Client
	region memregion.RegionID
}

// formerMax bounds the spaces of processes that are over. The oldest go first, which costs memory of their lenders
// until this process ends.
const formerMax = 64

// get gives the space of a node's present process.
func (r *remoteSpaces) get(name string, client *noderpc.Client, region memregion.RegionID,
	open func() *borrowing.Space) *borrowing.Space {
	r.mu.Lock()
	defer r.mu.Unlock()
	have, ok := r.open[name]
	if ok && have.client == client && have.region == region {
		return have.Space
	}
	if r.open == nil {
		r.open = map[string]remoteSpace{}
	}
	if ok { // a statement may still be about to give something back
		r.former = append(r.former[max(0, len(r.former)+1-formerMax):], have)
	}
	made := remoteSpace{open(), name, client, region}
	r.open[name] = made
	return made.Space
}

// owe has settle give up extents in a node's memory. They were granted by a space that is open still, or was followed
// by one that is.
func (r *remoteSpaces) owe(name string, ids []catalog.ExtentID) {
	r.mu.Lock()
	space, ok := r.open[name]
	r.mu.Unlock()
	if ok {
		space.Owe(ids...)
	}
}

// settle sends lenders what they have not received, after a statement that was cancelled or calls that timed out. What
// a lender's former process did not receive, its next one does.
func (r *remoteSpaces) settle(ctx context.Context,
	client func(ctx context.Context, name string) (*noderpc.Client, error)) (err error) {
	r.mu.Lock()
	list := slices.Clone(r.former)
	for _, s := range r.open {
		list = append(list, s)
	}
	r.mu.Unlock()
	for _, s := range list {
		if !s.Owes() {
			continue
		}
		to, failed := client(ctx, s.name)
		if failed == nil {
			failed = s.SettleWith(ctx, to)
		}
		err = errors.Join(err, failed)
	}
	return err
}

// Settle does so after a statement that failed. A lender that does not answer receives it later, from the janitor.
func (n *Node) Settle(ctx context.Context) {
	const patience = time.Second
	soon, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	if err := n.spaces.settle(soon, n.peers.get); err != nil {
		n.config.Log.Debug("a lender has not heard yet what it gets back", "error", err)
	}
}

// SpaceOf is where chunks in the memory of a node are written: this node's own, or another's. Its errors name the node.
func (n *Node) SpaceOf(ctx context.Context, name string) (catalog.Space, error) {
	if name == n.config.Node {
		return n.Held(ctx, n.Space), nil
	}
	client, err := n.peers.get(ctx, name)
	if err != nil {
		return nil, AtNode(name, err)
	}
	region, err := n.RegionOf(name)
	if err != nil {
		return nil, AtNode(name, err)
	}
	m, err := n.Reader.Reach(region)
	if err != nil {
		return nil, AtNode(name, err)
	}
	space := n.spaces.get(name, client, region, func() *borrowing.Space {
		return borrowing.NewSpace(client, m.View(), borrowing.Options{
			Lines: n.Fabric.LinesFor(fabric.Borrowing), Chooser: n.Fabric.Chooser(fabric.Borrowing), Domain: n.Fabric.Machine, Member: n.Membership(),
			Counters: n.Reader.Counters(), Fault: n.config.Fault,
		})
	})
	return namedSpace{n.Held(ctx, space.WithContext(ctx).For(n.holderOf(ctx).Name())), name}, nil
}

// namedSpace says in every error which node's memory it is.
type namedSpace struct {
	catalog.Space
	node string
}

// Grant implements catalog.Space.
func (s namedSpace) Grant(owner string, size int64) (catalog.Grant, error) {
	g, err := s.Space.Grant(owner, size)
	if err != nil {
		return nil, AtNode(s.node, err)
	}
	return namedGrant{g, s.node}, nil
}

// Discard implements catalog.Space.
func (s namedSpace) Discard(generations ...coherence.Generation) error {
	return AtNode(s.node, s.Space.Discard(generations...))
}

type namedGrant struct {
	catalog.Grant
	node string
}

var _ chunk.Growing = namedGrant{}

func (g namedGrant) Shrink(length int64) error      { return AtNode(g.node, g.Grant.Shrink(length)) }
func (g namedGrant) Clean() error                   { return AtNode(g.node, g.Grant.Clean()) }
func (g namedGrant) Seal(seal coherence.Seal) error { return AtNode(g.node, g.Grant.Seal(seal)) }
func (g namedGrant) Abort() error                   { return AtNode(g.node, g.Grant.Abort()) }

// Copy implements catalog.Grant.
func (g namedGrant) Copy(at int64, from []byte) (near bool, err error) {
	near, err = g.Grant.Copy(at, from)
	return near, AtNode(g.node, err)
}

// Grow implements chunk.Growing, which other nodes' grants do.
func (g namedGrant) Grow(length, used int64) error {
	growing, ok := g.Grant.(chunk.Growing)
	if !ok {
		return sqlerror.New("0A000", "memory of node %q does not grow", g.node)
	}
	return AtNode(g.node, growing.Grow(length, used))
}
