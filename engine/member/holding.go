package member

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/cluster/noderpc"
	"github.com/csmsql/csmsql/cluster/noderpc/lending"
	"github.com/csmsql/csmsql/coherence"
	"github.com/csmsql/csmsql/engine/custody"
	"github.com/csmsql/csmsql/internal/faults"
	"github.com/csmsql/csmsql/memregion"
)

// Every extent of a node's region that no version has has a holder (package custody): a session, a load, the result of
// a fragment, another node by the ledger of package lending, or the former process' borrower, by the journal. The
// janitor looks for unowned ones, reports them, and takes them back. It also disclaims to the other nodes what is
// unowned here of their memory.

// holdings is a node's part of that.
type holdings struct {
	book    custody.Book
	own     *custody.Holder // of calls whose context names no holder
	doubt   *custody.Holder // has what commits have published that may come still, when their session has ended
	strays  atomic.Int64    // that were found
	back    atomic.Int64    // of them, those that were taken back
	left    atomic.Int64    // extents that holders held when they ended
	present atomic.Int64    // strays that there are now
	bytes   atomic.Int64    // that those have

	mu     sync.Mutex // guards what follows: one round at a time
	audit  custody.Audit
	logged map[coherence.Generation]bool // strays that the log has
	due    int                           // extents that may be looked at, since the last round
}

// roundExtents is how many extents the janitor looks at for each of its turns: with more in the region, rounds are
// rarer.
const roundExtents = 1 << 14

// Hold opens a holder; letGo ends it.
func (n *Node) Hold(name string) *custody.Holder { return n.holdings.book.Open(name) }

// LetGo ends a holder. What it held then is a mistake of this program: it is logged, and found by the janitor, which
// takes it back.
func (n *Node) LetGo(h *custody.Holder) {
	if left := h.Close(); len(left) > 0 {
		n.holdings.left.Add(int64(len(left)))
		n.config.Log.Error("memory was held beyond its holder's end", "holder", h.Name(), "extents", len(left), "one", left[0].String())
	}
}

// Held is a space whose grants are for the holder of ctx.
func (n *Node) Held(ctx context.Context, space catalog.Space) catalog.Space {
	return n.holderOf(ctx).Space(space)
}

func (n *Node) holderOf(ctx context.Context) *custody.Holder {
	if h := custody.From(ctx); h != nil {
		return h
	}
	return n.holdings.own
}

// heldLenders keeps the book when the catalog gives extents back.
type heldLenders struct {
	catalog.Lender
	book *custody.Book
}

// Discard implements catalog.Lender.
func (l heldLenders) Discard(ids ...catalog.ExtentID) error {
	err := l.Lender.Discard(ids...)
	l.book.GivenBack(ids...) // also if it failed: what lives all the same is found by the janitor
	return err
}

// Retire implements catalog.Lender.
func (l heldLenders) Retire(ids ...catalog.ExtentID) error {
	err := l.Lender.Retire(ids...)
	l.book.GivenBack(ids...)
	return err
}

// whoHolds asks all possible holders. The region's extents were listed before.
func (n *Node) whoHolds() func(custody.Extent, coherence.Domain) string {
	region := n.Region.ID
	var of map[coherence.Generation]lending.Holding
	var asking map[coherence.Domain]lending.Holding
	// In this order: a holder that passes something on has it until the next one here has it.
	granting := n.holdings.book.Calling()
	book := n.holdings.book.Held(region)
	names := map[string]string{}
	if n.Lending != nil {
		of, asking = n.Lending.Holders(region)
		for _, m := range n.Catalog.Members() {
			names[m.Incarnation] = m.Name
		}
	}
	living := n.Catalog.Living(region)
	return func(x custody.Extent, writer coherence.Domain) string {
		switch h, ours := book[x.Generation]; {
		case ours:
			return h
		case living[catalog.ExtentID{Region: region, Generation: x.Generation}]:
			return versions
		case x.State == coherence.Retired:
			return "readers of what was dropped"
		case x.Own && x.State == coherence.Granted && granting:
			return "being granted"
		}
		if h, ok := of[x.Generation]; ok {
			return ofNode(h, names)
		}
		if h, ok := asking[writer]; ok && x.State == coherence.Granted {
			return ofNode(h, names)
		}
		return ""
	}
}

// versions is the holder of what tables consist of, of versions that have a reader, and of those that another node may
// still read.
const versions = "versions of tables"

func ofNode(h lending.Holding, names map[string]string) string {
	name := h.Name
	if member := names[h.Incarnation.String()]; member != "" {
		name = "node " + member
	}
	if h.What != "" {
		name += ", " + h.What
	}
	return name
}

// extents lists what lives in the region.
func (n *Node) extents() (list []custody.Extent, writers map[coherence.Generation]coherence.Domain) {
	writers = map[coherence.Generation]coherence.Domain{}
	home := n.Homes[n.Region.ID]
	home.Each(func(g coherence.Generation, v coherence.View) {
		x := custody.Extent{Generation: g, State: v.State, Bytes: v.Range.Length, Own: v.Writer == home.Domain()}
		if list = append(list, x); !x.Own {
			writers[g] = v.Writer
		}
	})
	return list, writers
}

// look is one round of an audit.
func (n *Node) look(audit *custody.Audit) custody.Report {
	list, writers := n.extents()
	who := n.whoHolds()
	return audit.Round(list, func(x custody.Extent) string { return who(x, writers[x.Generation]) })
}

// Sweep looks for strays, and takes them back. The janitor calls it; it does nothing until as many extents may be
// looked at as there are. Nor does it if the node does not hear from the cluster: its view may be outdated, and a
// commit of its own in no version that it sees.
func (n *Node) Sweep(ctx context.Context) {
	h := &n.holdings
	h.mu.Lock()
	defer h.mu.Unlock()
	if n.Self != nil && n.Catalog.Standing() != nil {
		h.audit = custody.Audit{}
		return
	}
	alive := 0
	for _, count := range n.Homes[n.Region.ID].Stats().Extents {
		alive += count
	}
	if h.due += roundExtents; h.due < alive {
		return
	}
	h.due = 0
	report := n.look(&h.audit)
	logged, bytes := map[coherence.Generation]bool{}, int64(0)
	for _, x := range n.surely(ctx, report.Strays) {
		if logged[x.Generation] = true; !h.logged[x.Generation] {
			h.strays.Add(1)
			n.config.Log.Error("memory is unowned", "region", n.Region.ID, "generation", x.Generation, "state", x.State.String(), "bytes", x.Bytes,
				"own", x.Own, "it is", custody.RemedyOf(x).String())
		}
		bytes += x.Bytes
	}
	h.logged = logged
	h.present.Store(int64(len(logged)))
	h.bytes.Store(bytes)
}

// surely takes back what it may, and returns what is certainly unowned. Of published extents the store is asked first:
// it knows versions that this node has not seen yet.
func (n *Node) surely(ctx context.Context, strays []custody.Extent) []custody.Extent {
	home := n.Homes[n.Region.ID]
	var published []catalog.ExtentID
	for _, x := range strays {
		switch custody.RemedyOf(x) {
		case custody.Discard:
			if err := home.Discard(x.Generation); err != nil {
				n.config.Log.Warn("take back unowned memory", "generation", x.Generation, "error", err)
				continue
			}
			n.holdings.back.Add(1)
		case custody.Abandon:
			published = append(published, catalog.ExtentID{Region: n.Region.ID, Generation: x.Generation})
		}
	}
	taken, err := n.abandon(ctx, published)
	if err != nil {
		n.config.Log.Debug("it cannot be asked whether a version has the unowned memory", "error", err)
	}
	n.holdings.back.Add(int64(len(taken)))
	return slices.DeleteFunc(strays, func(x custody.Extent) bool {
		return custody.RemedyOf(x) == custody.Abandon && !slices.Contains(taken, catalog.ExtentID{Region: n.Region.ID, Generation: x.Generation})
	})
}

// abandon has published extents retired that no version has. Those that are over are left out.
func (n *Node) abandon(ctx context.Context, ids []catalog.ExtentID) (taken []catalog.ExtentID, err error) {
	home := n.Homes[n.Region.ID]
	ids = slices.DeleteFunc(slices.Clone(ids), func(id catalog.ExtentID) bool { return home.Generation(id.Generation).State != coherence.Published })
	if len(ids) == 0 {
		return nil, nil
	}
	return n.Catalog.Abandon(ctx, n.Region.ID, ids)
}

// isPublished reports whether an extent of this node's memory is published. One that was never granted in this life, or
// went back, is not.
func (n *Node) isPublished(id catalog.ExtentID) bool {
	home := n.Homes[id.Region]
	return home != nil && home.Generation(id.Generation).State == coherence.Published
}

// disowned settles what other nodes have published here and will not commit.
func (n *Node) disowned(ctx context.Context) {
	ids := n.Lending.Disowned()
	if len(ids) == 0 {
		return
	}
	taken, err := n.abandon(ctx, ids)
	if err != nil {
		n.config.Log.Debug("what others will not commit cannot be settled yet", "error", err)
		return
	}
	n.config.Fault.At(faults.LendDisowned)
	n.Lending.Confirm(ids...) // in a version, or on its way out
	n.config.Log.Warn("other nodes do not hold what they had published here; it is taken back", "extents", len(ids), "retired", len(taken))
}

// renew goes on until ctx is done: it renews the lease on what this node holds in others' memory, and disclaims what
// they have on record as this node's and has no holder here. A node that does not answer must not keep the janitor.
func (n *Node) renew(ctx context.Context) {
	if n.peers == nil {
		return
	}
	tick := time.NewTicker(n.config.LeaseTTL / LeaseParts)
	defer tick.Stop()
	disclaimers := map[memregion.RegionID]*custody.Disclaimer{}
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if n.Catalog.Standing() != nil {
			continue
		}
		for _, name := range n.OnlineBut(n.config.Node) {
			if err := n.RenewAt(ctx, name, disclaimers); err != nil {
				n.config.Log.Debug("the lease on what this node holds in another's memory could not be renewed", "node", name, "error", err)
			}
		}
	}
}

// RenewAt is one turn of the renewals, with one other node. disclaimers are what earlier turns have found, by region.
func (n *Node) RenewAt(ctx context.Context, name string, disclaimers map[memregion.RegionID]*custody.Disclaimer) error {
	ctx, cancel := context.WithTimeout(ctx, Patience)
	defer cancel()
	client, id, err := n.lenderNamed(ctx, name)
	if err != nil || client == nil {
		return err
	}
	n.config.Fault.At(faults.HoldRenewing)
	request := noderpc.HeldRequest{Region: id}
	onRecord, err := client.Held(ctx, request)
	if err != nil {
		return err
	}
	ranges := map[catalog.ExtentID]memregion.Range{}
	ids := make([]catalog.ExtentID, len(onRecord))
	for i, x := range onRecord {
		ids[i] = catalog.ExtentID{Region: id, Generation: x.Generation}
		ranges[ids[i]] = x.Range
	}
	d := disclaimers[id]
	if d == nil {
		d = &custody.Disclaimer{}
		disclaimers[id] = d
	}
	for _, x := range d.Answer(&n.holdings.book, ids) {
		if n.Fabric.Lines != nil {
			m, err := n.Reader.Reach(id)
			if err == nil {
				err = n.flushed(m, ranges[x])
			}
			if err != nil {
				return err
			}
		}
		request.Disclaimed = append(request.Disclaimed, x.Generation)
	}
	if len(request.Disclaimed) == 0 {
		return nil
	}
	n.config.Log.Warn("another node has on record as this node's what has no holder here", "node", name, "extents", fmt.Sprint(request.Disclaimed))
	_, err = client.Held(ctx, request)
	return err
}

// Holders lists the holders of the region's memory now, for status output: versions first, what is unowned last.
func (n *Node) Holders() (list []noderpc.HolderStatus) {
	report := n.look(&custody.Audit{})
	for _, a := range report.Accounts {
		s := noderpc.HolderStatus{Holder: a.Holder, Extents: int64(a.Extents), Bytes: a.Bytes}
		if a.Holder == versions {
			list = append([]noderpc.HolderStatus{s}, list...)
		} else {
			list = append(list, s)
		}
	}
	if n.Lending != nil {
		list = append(list, n.orphans()...)
	}
	if report.Suspects.Extents > 0 {
		list = append(list, noderpc.HolderStatus{Extents: int64(report.Suspects.Extents), Bytes: report.Suspects.Bytes})
	}
	return list
}

// orphans are what the former process of this node had granted to others.
func (n *Node) orphans() (list []noderpc.HolderStatus) {
	of := map[string]*noderpc.HolderStatus{}
	for _, o := range n.Lending.Orphans() {
		name := o.Borrower.Name + ", of this node's former process"
		if of[name] == nil {
			of[name] = &noderpc.HolderStatus{Holder: name}
		}
		of[name].Extents++
		of[name].Bytes += o.Range.Length
	}
	for _, s := range of {
		list = append(list, *s)
	}
	slices.SortFunc(list, func(a, b noderpc.HolderStatus) int { return strings.Compare(a.Holder, b.Holder) })
	return list
}
