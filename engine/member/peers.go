package member

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/cluster/noderpc"
	"github.com/csmsql/csmsql/memregion"
	"github.com/csmsql/csmsql/sql/sqlerror"
)

// peers are the connections to the other nodes of a cluster, one for each, made when they are first needed. Safe for
// concurrent use.
type peers struct {
	node *Node

	mu     sync.Mutex // guards the rest; above nothing: no call is made under it
	open   map[string]peer
	closed bool
}

type peer struct {
	client     *noderpc.Client
	registered catalog.Revision // the incarnation that it belongs to
}

// get gives the connection to a node's present incarnation.
func (p *peers) get(ctx context.Context, name string) (*noderpc.Client, error) {
	member, ok := p.node.MemberNamed(name)
	if !ok {
		return nil, fmt.Errorf("%w: node %q", catalog.ErrLenderGone, name)
	}
	p.mu.Lock()
	have, ok := p.open[name]
	p.mu.Unlock()
	if ok && have.registered == member.Registered {
		return have.client, nil
	}
	options := []noderpc.DialOption{noderpc.WithIncarnation(p.node.Incarnation)}
	if p.node.Credentials != nil {
		options = append(options, noderpc.WithTLS(p.node.Credentials, name))
	}
	client, err := noderpc.Dial(ctx, member.Address, options...)
	if err != nil {
		return nil, notReached(name, err)
	}
	return p.keep(name, peer{client, member.Registered})
}

// notReached is for a node that is on record as online and does not answer: to the client, the connection between the
// two nodes has broken. That a connection cannot be made (08001) would mean the client's own.
func notReached(name string, err error) error {
	if !errors.Is(err, noderpc.ErrNodeGone) {
		return fmt.Errorf("node %q: %w", name, err)
	}
	e := sqlerror.New("08006", "node %q cannot be reached: %v", name, err)
	e.Cause = err
	return e
}

// keep makes a connection the one to use, unless another goroutine made one meanwhile.
func (p *peers) keep(name string, made peer) (*noderpc.Client, error) {
	p.mu.Lock()
	have, ok := p.open[name]
	if !p.closed && (!ok || have.registered < made.registered) {
		p.open[name] = made
		p.mu.Unlock()
		if ok {
			_ = have.client.Close() // its node is gone
		}
		return made.client, nil
	}
	p.mu.Unlock()
	if err := made.client.Close(); err != nil || !ok {
		return nil, errors.Join(p.node.config.Closed, err)
	}
	return have.client, nil
}

// drop ends the calls to an incarnation that is over. One that is stopped would not answer them, and nothing that it
// says counts.
func (p *peers) drop(m catalog.Member) {
	p.mu.Lock()
	have, ok := p.open[m.Name]
	if ok = ok && have.registered == m.Registered; ok {
		delete(p.open, m.Name)
	}
	p.mu.Unlock()
	if ok {
		_ = have.client.Close() // its node is gone
	}
}

func (p *peers) close() (err error) {
	p.mu.Lock()
	open := p.open
	p.open, p.closed = nil, true
	p.mu.Unlock()
	for _, peer := range open {
		err = errors.Join(err, peer.client.Close())
	}
	return err
}

func (n *Node) MemberNamed(name string) (catalog.Member, bool) {
	for _, m := range n.Catalog.Members() {
		if m.Name == name {
			return m, true
		}
	}
	return catalog.Member{}, false
}

// Lends reports whether a region is the named node's: where its results may lie.
func (n *Node) Lends(name string) noderpc.Lends {
	return func(id memregion.RegionID) (int64, bool) {
		record, ok := n.Catalog.Region(id)
		return record.Capacity, ok && record.Node == name
	}
}

// lenderNamed gives the way to another node, and the region in which it takes new chunks. A nil client: it lends
// nothing yet.
func (n *Node) lenderNamed(ctx context.Context, name string) (*noderpc.Client, memregion.RegionID, error) {
	region, err := n.RegionOf(name)
	if err != nil {
		return nil, 0, nil
	}
	client, err := n.peers.get(ctx, name)
	return client, region, err
}
