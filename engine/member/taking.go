package member

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/engine/placement"
	"github.com/csmsql/csmsql/engine/placement/replicas"
	"github.com/csmsql/csmsql/memregion"
	"github.com/csmsql/csmsql/sql/sqlerror"
)

// Online lists the nodes that can run a fragment.
func (n *Node) Online() (names []string) {
	for _, m := range n.Catalog.Members() {
		if m.State == catalog.Online {
			names = append(names, m.Name)
		}
	}
	return names
}

// Steward is which of the nodes that are there, in order, looks after a table: the one that folds its chunks, and that
// commits the rows of those that meet at it. All agree without asking, and tables spread. "": there is none.
func Steward(table catalog.TableID, online []string) string {
	if len(online) == 0 {
		return ""
	}
	return online[uint64(table)%uint64(len(online))]
}

// OnlineBut lists the nodes that take rows when one takes none.
func (n *Node) OnlineBut(name string) []string {
	return slices.DeleteFunc(n.Online(), func(other string) bool { return other == name })
}

// Takers are the nodes that new chunks of a placement go to, in order. All of them are there and take new chunks.
func (n *Node) Takers(p placement.Placement) ([]string, error) {
	if n.Self == nil {
		return []string{n.config.Node}, nil // a table of a cluster cannot be here
	}
	names := p.Nodes
	if p.Kind == placement.Local && n.Takes(n.config.Node) == nil {
		return []string{n.config.Node}, nil
	}
	if len(names) == 0 {
		if names = n.Online(); len(names) == 0 {
			return nil, noTaker(p, n.Catalog.Members())
		}
	}
	for _, name := range names {
		if err := n.Takes(name); err != nil {
			return nil, err
		}
	}
	return names, nil
}

// noTaker says why none of the members, which are those that are there, takes new rows.
func noTaker(p placement.Placement, members []catalog.Member) error {
	if len(members) > 0 {
		return sqlerror.New("55000", "placement %s: no node takes new rows, all are drained", p).
			WithHint("Let one take rows again: csmsql cluster undrain.")
	}
	e := sqlerror.New(catalog.ErrLenderGone.SQLState(), "placement %s: no node of the cluster is there to take new rows", p).
		WithHint("Their sessions have lapsed; nodes that live come back by themselves. Try again.")
	e.Cause = catalog.ErrLenderGone
	return e
}

// Takes is an error unless new chunks may be put into a node's memory.
func (n *Node) Takes(name string) error {
	member, there := n.MemberNamed(name)
	switch {
	case there && member.State == catalog.Online:
		return nil
	case there && member.State == catalog.Draining:
		return sqlerror.New("55000", "node %q is drained and takes no new rows", name).WithHint("Change the table's placement: ALTER TABLE … SET PLACEMENT '…'.")
	case there || n.Known(name):
		e := sqlerror.New(catalog.ErrLenderGone.SQLState(), "node %q is not there", name).WithHint("Start it, or change the table's placement: ALTER TABLE … SET PLACEMENT '…'.")
		e.Cause = catalog.ErrLenderGone
		return e
	}
	return sqlerror.New("42704", "node %q does not exist", name).WithHint("The nodes are " + strings.Join(n.Online(), ", ") + ".")
}

// Known reports whether a node that is not there has been there.
func (n *Node) Known(name string) bool {
	return slices.ContainsFunc(n.Catalog.Regions(), func(r catalog.RegionRecord) bool { return r.Node == name })
}

// CanReplicate is an error unless k replicas find a node each.
func (n *Node) CanReplicate(k int, nodes []string) error {
	if k <= len(nodes) {
		return nil
	}
	return sqlerror.New("55000", "replicas = %d: each is for another node, and %d of the cluster's nodes take rows: %s", k, len(nodes), strings.Join(nodes, ", ")).
		WithHint("Start more nodes, or have fewer replicas: ALTER TABLE … SET (replicas = " + strconv.Itoa(max(len(nodes), 1)) + ").")
}

// Holder says what a replica in a region is worth.
func (n *Node) Holder(region memregion.RegionID) replicas.Holder {
	name, there := n.Catalog.Reachable(region)
	if member, _ := n.MemberNamed(name); n.Self != nil && member.State == catalog.Joining {
		there = false // it takes its regions over, or makes another one
	}
	lent, err := n.RegionOf(name)
	switch {
	case name == "" || there && (err != nil || lent != region): // the node lends another one since
		return replicas.Holder{Node: name, State: replicas.Lost}
	case there:
		return replicas.Holder{Node: name, State: replicas.Whole}
	}
	if n.Absence != nil && n.Absence.Long(name) {
		return replicas.Holder{Node: name, State: replicas.Gone}
	}
	return replicas.Holder{Node: name, State: replicas.Away}
}

// AtNode says in an error at which node it happened.
func AtNode(name string, err error) error {
	if err == nil {
		return nil
	}
	var pgError interface{ SQLState() string }
	if errors.As(err, &pgError) && strings.Contains(err.Error(), fmt.Sprintf("node %q", name)) {
		return err
	}
	return fmt.Errorf("node %q: %w", name, err)
}

// Discard gives back chunks that will not be published, wherever they lie.
func (n *Node) Discard(chunks []*catalog.Chunk) error {
	return n.Lender.Discard(ExtentsOf(chunks)...)
}

// ExtentsOf lists where chunks lie.
func ExtentsOf(chunks []*catalog.Chunk) (ids []catalog.ExtentID) {
	for _, c := range chunks {
		ids = append(ids, c.Extents()...)
	}
	return ids
}

// Holds reports whether a chunk is read in a node's own memory, if nothing is wrong with that. n may be nil: a borrower
// has none.
func Holds(n *Node, c *catalog.Chunk) bool {
	d := c.Descriptor()
	for i := range d.Replicas() {
		extents := d.ExtentsOf(i)
		if len(extents) == 0 || n != nil && n.Homes[extents[0].Region] != nil {
			return true
		}
	}
	return false
}
