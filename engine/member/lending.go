package member

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/cluster/noderpc"
	"github.com/csmsql/csmsql/cluster/noderpc/lending"
	"github.com/csmsql/csmsql/coherence"
	"github.com/csmsql/csmsql/engine/fabric"
	"github.com/csmsql/csmsql/memregion"
)

// Memory of any node: this node lends its own to the others (package lending), and writes into theirs (package
// borrowing). The catalog's transactions publish what they wrote wherever it lies.

// openJournal reads what the node's former process had granted to others: that must not be lent again while they may
// still store into it. live are the extents that the catalog has.
func (n *Node) openJournal(live map[memregion.RegionID][]catalog.LiveExtent) (err error) {
	if n.Self == nil {
		return nil
	}
	has := func(id catalog.ExtentID) bool {
		return slices.ContainsFunc(live[id.Region], func(x catalog.LiveExtent) bool { return x.ExtentID == id })
	}
	n.journal, err = lending.OpenJournal(filepath.Join(n.config.Directory, "grants.journal"), has)
	return err
}

// startLending lets the other nodes write into this one's memory.
func (n *Node) startLending() (err error) {
	if n.Self == nil {
		return nil
	}
	n.Lending, err = lending.New(n.Homes, lending.Options{
		Lines: n.Fabric.LinesFor(fabric.Lending), Journal: n.journal, Memories: map[memregion.RegionID]coherence.Memory{n.Region.ID: n.Lent},
		NodeOf: n.nodeOf, Restarted: n.restarted, TrustSeals: n.config.SkipChecksums,
		Confirmations: true, Refusals: n.Refusals, Log: n.config.Log, Fault: n.config.Fault,
	})
	return err
}

// nodeOf names the node of a peer by its data directory, which it holds locked as long as it runs. The membership
// may not know the incarnation any more, of which it says itself whose it is: a certificate says that, too.
func (n *Node) nodeOf(p noderpc.Peer, says noderpc.Membership) noderpc.Membership {
	members := n.Catalog.Members()
	for _, m := range members {
		if m.Incarnation == p.Incarnation.String() {
			return membershipOf(m)
		}
	}
	known := p.Identity.Name == "" || slices.ContainsFunc(members, func(m catalog.Member) bool {
		return m.Directory == says.Node && m.Name == p.Identity.Name
	})
	if says.Node == "" || says.Registered == 0 || !known {
		return noderpc.Membership{}
	}
	return says
}

func membershipOf(m catalog.Member) noderpc.Membership {
	return noderpc.Membership{Node: m.Directory, Registered: m.Registered}
}

// Membership is this node's own.
func (n *Node) Membership() noderpc.Membership {
	return noderpc.Membership{Node: n.Self.Directory, Registered: n.Catalog.Registered()}
}

// restarted reports whether a later incarnation has the lock of the directory now.
func (n *Node) restarted(former noderpc.Membership, incarnation noderpc.Incarnation) bool {
	for _, m := range n.Catalog.Members() {
		if m.Directory == former.Node && m.Incarnation != incarnation.String() && m.Registered > former.Registered {
			return true
		}
	}
	return false
}

// gone cleans up after an incarnation of another node that is over. All that it committed is visible here by now.
func (n *Node) gone(m catalog.Member) {
	if n.peers != nil {
		n.peers.drop(m)
	}
	if n.Lending == nil {
		return
	}
	var incarnation noderpc.Incarnation
	if err := incarnation.UnmarshalText([]byte(m.Incarnation)); err != nil {
		n.config.Log.Error("the membership has an incarnation that is none", "node", m.Name, "error", err)
		return
	}
	n.Lending.Over(incarnation, membershipOf(m))
	living := n.Catalog.Living(n.Region.ID)
	lost := slices.DeleteFunc(n.Lending.UnconfirmedOf(m.Incarnation), func(id catalog.ExtentID) bool { return living[id] })
	n.Lending.Disown(lost...)
	if len(lost) > 0 {
		n.config.Log.Info("a node died between publishing and committing; its memory is taken back", "node", m.Name, "extents", len(lost))
	}
}

// Confirm settles what others published here and the catalog has by now, or will never have.
func (n *Node) Confirm(ctx context.Context) {
	if n.Lending == nil {
		return
	}
	n.Lending.Sweep()
	n.Settle(ctx)
	n.disowned(ctx)
	if open := n.Lending.Unconfirmed(); len(open) > 0 {
		living := n.Catalog.Living(n.Region.ID)
		n.Lending.Confirm(slices.DeleteFunc(open, func(id catalog.ExtentID) bool { return !living[id] })...)
	}
}

// RegionOf is the region in which a node takes new chunks.
func (n *Node) RegionOf(name string) (memregion.RegionID, error) {
	for _, r := range slices.Backward(n.Catalog.Regions()) { // the latest, if a former one is gone
		if r.Node == name {
			return r.ID, nil
		}
	}
	return 0, fmt.Errorf("%w: node %q lends no region", catalog.ErrLenderGone, name)
}

// clusterLenders is the catalog's Lender of a node in a cluster: what lies in other nodes' regions is published and
// given back by message; they do their own pinning and retiring.
type clusterLenders struct {
	lenders
	node *Node
}

// split separates extents of this node's regions from those of others, by node.
func (l clusterLenders) split(ids []catalog.ExtentID) (own []catalog.ExtentID, others map[string][]catalog.ExtentID) {
	for _, id := range ids {
		record, ok := l.node.Catalog.Region(id.Region)
		if !ok || record.Node == l.node.config.Node {
			own = append(own, id)
			continue
		}
		if others == nil {
			others = map[string][]catalog.ExtentID{}
		}
		others[record.Node] = append(others[record.Node], id)
	}
	return own, others
}

// Publish implements catalog.Lender. What other nodes lend comes first, in whose stead an error may be: this node's own
// is not published then.
func (l clusterLenders) Publish(ids ...catalog.ExtentID) error {
	own, others := l.split(ids)
	var done []catalog.ExtentID
	for name, theirs := range others {
		client, err := l.node.peers.get(context.Background(), name)
		if err == nil {
			err = client.Publish(context.Background(), false, theirs...)
		}
		if err != nil {
			return partly(done, fmt.Errorf("publish at node %q: %w", name, err))
		}
		done = append(done, theirs...)
	}
	return partly(done, l.Homes.Publish(own...))
}

func partly(done []catalog.ExtentID, err error) error {
	if err == nil || len(done) == 0 {
		return err
	}
	return &catalog.PartlyPublishedError{Published: done, Cause: err}
}

// Discard implements catalog.Lender.
func (l clusterLenders) Discard(ids ...catalog.ExtentID) error {
	own, others := l.split(ids)
	var err error
	if len(own) > 0 {
		err = l.Homes.Discard(own...)
	}
	return errors.Join(err, l.free(others))
}

// Retire implements catalog.Lender. Of other nodes' regions only what a commit published that failed comes here.
func (l clusterLenders) Retire(ids ...catalog.ExtentID) error {
	own, others := l.split(ids)
	var err error
	if own = l.there(own); len(own) > 0 {
		err = l.Homes.Retire(own...)
	}
	return errors.Join(err, l.free(others))
}

func (l clusterLenders) free(others map[string][]catalog.ExtentID) (failed error) {
	for name, theirs := range others {
		client, err := l.node.peers.get(context.Background(), name)
		if err == nil {
			err = client.Free(context.Background(), noderpc.FreeRequest{Extents: theirs, Settling: true})
		}
		if err != nil { // a lender that was stopped still has them, and so has the next process of one that is gone, by its journal
			l.node.spaces.owe(name, theirs)
			failed = errors.Join(failed, fmt.Errorf("give memory back to node %q: %w", name, err))
		}
	}
	return failed
}
