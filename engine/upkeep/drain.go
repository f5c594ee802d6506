package upkeep

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/cluster/noderpc"
	"github.com/csmsql/csmsql/engine/member"
	"github.com/csmsql/csmsql/engine/placement"
	"github.com/csmsql/csmsql/engine/placement/replicas"
	"github.com/csmsql/csmsql/internal/faults"
	"github.com/csmsql/csmsql/sql/sqlerror"
)

// drainPasses bounds how often a drain begins again because a table was written meanwhile.
const drainPasses = 100

// Drain empties a node of the cluster: it takes no new rows and runs no parts of queries, and what it holds of
// tables moves to the others. A node that is not there is drained of what it had. progress may be nil.
func (k *Keeper) Drain(ctx context.Context, name string, progress func(noderpc.Progress)) error {
	if progress == nil {
		progress = func(noderpc.Progress) {}
	}
	there, err := k.mayDrain(name)
	if err == nil && there {
		err = k.tellDraining(ctx, name, true)
	}
	if err != nil {
		return err
	}
	for pass := 0; ; pass++ {
		changed, err := k.drainOnce(ctx, name, progress)
		switch {
		case err == nil && !changed:
			return k.giveUpFormer(ctx, name, progress)
		case err != nil && (!errors.Is(err, catalog.ErrConflict) || pass >= drainPasses):
			return err
		}
	}
}

// giveUpFormer gives up the former versions that lie at a node, in part: they do not move. It says which.
func (k *Keeper) giveUpFormer(ctx context.Context, node string, progress func(noderpc.Progress)) error {
	gone, err := k.catalog.GiveUpAt(ctx, node)
	for table, n := range gone {
		text := fmt.Sprintf("%v: %d former versions lay at node %s and are kept no longer", table, n, node)
		progress(noderpc.Progress{Step: text})
		k.log.Warn(text)
	}
	return err
}

// Undrain lets a node take rows and run parts of queries again. Nothing moves back. Preconditions: the node is one
// of a cluster.
func (k *Keeper) Undrain(ctx context.Context, name string) error {
	if _, there := k.node.MemberNamed(name); !there {
		return k.node.Takes(name) // says how it is
	}
	return k.tellDraining(ctx, name, false)
}

// ErrAlone refuses what only a node of a cluster can do.
var ErrAlone = sqlerror.New("55000", "this node is alone, it belongs to no cluster")

// mayDrain is an error if the node cannot be drained. It also reports whether the node is there.
func (k *Keeper) mayDrain(name string) (there bool, err error) {
	if k.node == nil || k.node.Self == nil {
		return false, ErrAlone
	}
	member, there := k.node.MemberNamed(name)
	if there && member.State == catalog.Joining || !there && !k.node.Known(name) {
		return there, k.node.Takes(name) // says how it is
	}
	if !slices.ContainsFunc(k.node.Online(), func(other string) bool { return other != name }) {
		return there, sqlerror.New("55000", "there is no other node that could take what node %q holds", name).WithHint("Start another node, or let one that is drained take rows again (csmsql cluster undrain).")
	}
	return there, nil
}

// tellDraining sets the state at the node, and returns when this one has read it from the catalog.
func (k *Keeper) tellDraining(ctx context.Context, name string, on bool) error {
	if name == k.name {
		if err := k.SetDraining(ctx, on); err != nil {
			return err
		}
	} else {
		client, err := k.node.Peer(ctx, name)
		if err == nil {
			err = client.Drain(ctx, on)
		}
		if err != nil {
			return member.AtNode(name, err)
		}
	}
	const poll = 5 * time.Millisecond
	for {
		member, there := k.node.MemberNamed(name)
		if !there {
			return k.node.Takes(name)
		}
		if (member.State == catalog.Draining) == on {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait for node %q to be drained: %w", name, ctx.Err())
		case <-time.After(poll):
		}
	}
}

// SetDraining is the node's own part.
func (k *Keeper) SetDraining(ctx context.Context, on bool) error {
	state := catalog.Online
	if on {
		state = catalog.Draining
	}
	if err := k.catalog.SetState(ctx, state); err != nil {
		return err
	}
	k.node.Lending.Drain(on)
	if on {
		k.fault.At(faults.NodeDraining)
	}
	return nil
}

// drainOnce goes over all tables as they are now.
func (k *Keeper) drainOnce(ctx context.Context, name string,
	progress func(noderpc.Progress)) (changed bool, err error) {
	tables, err := k.tableNames(ctx)
	if err != nil {
		return false, err
	}
	for _, table := range tables {
		did, err := k.drainTable(ctx, table, name, progress)
		if e, ok := err.(*sqlerror.Error); ok && e.State == "42P01" {
			continue // dropped
		}
		if err != nil {
			return changed, fmt.Errorf("table %v: %w", table, err)
		}
		changed = changed || did
	}
	return changed, nil
}

func (k *Keeper) tableNames(ctx context.Context) (names []catalog.TableName, err error) {
	snapshot, err := k.catalog.Snapshot(ctx, catalog.Holder{Description: "drain"})
	if err != nil {
		return nil, err
	}
	defer snapshot.Close()
	for _, v := range snapshot.Tables() {
		names = append(names, v.Table().Name)
	}
	return names, nil
}

// drainTable takes a node out of a table's placement, and the table's chunks out of the node.
func (k *Keeper) drainTable(ctx context.Context, table catalog.TableName, name string,
	progress func(noderpc.Progress)) (changed bool, err error) {
	var moves *moves
	var divides *division
	err = k.changeTable(ctx, table, func(ctx context.Context, c *tableChange) error {
		v := c.v
		p, err := placement.Parse(v.Table().Placement)
		if err != nil {
			return err
		}
		if named := p.Names(name); named || p.Dividing {
			changed = true
			if named {
				if p, err = k.placementWithout(p, name); err != nil {
					return err
				}
			}
			if p.Kind == placement.Hash {
				p.Dividing = false
				divides, err = k.beginDivision(c, p)
				return err
			}
			if err := c.record(p); err != nil {
				return err
			}
		}
		names := p.Nodes
		if len(names) == 0 || p.Kind == placement.Hash {
			names = k.node.Online()
		}
		names = slices.DeleteFunc(slices.Clone(names), func(n string) bool { return n == name || k.node.Takes(n) != nil })
		if len(names) == 0 {
			return sqlerror.New("55000", "placement %s leaves no node that could take its rows", p).WithHint("ALTER TABLE … SET PLACEMENT '…' first.")
		}
		if err := k.node.CanReplicate(v.Table().Replicas, k.node.OnlineBut(name)); err != nil {
			return err
		}
		moves, err = k.leaving(ctx, v, p, names, name)
		return err
	})
	switch {
	case err != nil:
		return changed, err
	case divides != nil:
		return true, divides.run(ctx, reporting(table, divides.all, &amount{}, progress))
	case moves == nil || len(moves.list) == 0:
		return changed, nil
	}
	_, err = k.moveAndReport(ctx, moves, progress)
	return true, err
}

// moveAndReport moves them with a report of progress for each step. It returns what moved, also beside an error.
func (k *Keeper) moveAndReport(ctx context.Context, m *moves,
	progress func(noderpc.Progress)) (all amount, err error) {
	err = k.move(ctx, m, reporting(m.table, m.amount, &all, progress))
	return all, err
}

// reporting reports the progress of a table, now and with each step, which it adds to all.
func reporting(table catalog.TableName, total amount, all *amount, progress func(noderpc.Progress)) func(amount) {
	moved := func(done amount) {
		all.add(done)
		progress(noderpc.Progress{
			Step: table.String(), Rows: all.rows, RowsTotal: total.rows, Bytes: all.bytes, BytesTotal: total.bytes,
		})
	}
	moved(amount{})
	return moved
}

// placementWithout is a placement without a node; if it was the only one, another takes its place.
func (k *Keeper) placementWithout(p placement.Placement, name string) (placement.Placement, error) {
	q, left := p.Without(name)
	if left {
		return q, nil
	}
	others := k.node.OnlineBut(name)
	if len(others) == 0 {
		return q, sqlerror.New("55000", "there is no other node that could take what node %q holds", name)
	}
	q.Nodes = others[:1]
	return q, nil
}

// PlacementOfThoseThere is a table's placement without the nodes that take no rows.
func (k *Keeper) PlacementOfThoseThere(table catalog.Table) (placement.Placement, error) {
	p, err := placement.Parse(table.Placement)
	if err != nil || k.node.Self == nil {
		return p, err
	}
	for _, name := range append([]string(nil), p.Nodes...) {
		if k.node.Takes(name) != nil {
			if p, err = k.placementWithout(p, name); err != nil {
				return p, err
			}
		}
	}
	return p, nil
}

// leaving lists the chunks that a node has, each with one of names that has least of the table by then, or with
// another node for its replica.
func (k *Keeper) leaving(ctx context.Context, v *catalog.TableVersion, p placement.Placement, names []string,
	node string) (*moves, error) {
	chunks, err := k.facts.Chunks(ctx, v)
	if err != nil {
		return nil, err
	}
	w := &replicas.Plan{Placement: p, Replicas: max(v.Table().Replicas, 1), Online: k.node.OnlineBut(node), Load: map[string]int64{}}
	at := k.holders(chunks)
	for i, c := range chunks {
		w.Load[at[i][0].Node] += c.Bytes
	}
	return k.movesOf(ctx, v, chunks, func(i int) []replicas.Place {
		first := at[i][0].Node
		if !slices.ContainsFunc(at[i], func(h replicas.Holder) bool { return h.Node == node }) {
			return replicas.AsTheyAre(at[i])
		}
		if first == node {
			first = w.Least(names, at[i], chunks[i].Bytes)
		}
		for n := range at[i] {
			if at[i][n].Node == node {
				at[i][n].State = replicas.Lost // to this plan
			}
		}
		return w.Places(first, at[i])
	})
}
