package engine

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

// drainPasses bounds how often a drain begins again because somebody wrote to a table meanwhile.
const drainPasses = 100

// Drain empties a node of the cluster: from now on it takes no new rows and runs no parts of queries, and what it holds of tables
// moves to the other nodes. Placements that name it get lists without it. When Drain returns the node may be stopped for good, but
// for transactions that wrote before and commit later: to drain it again is cheap. progress may be nil.
//
// A node that is not there is drained of what it had: other replicas are copied, and what has none is the error (reload brings it back first). When
// the node comes back, it holds nothing.
func (e *Engine) Drain(ctx context.Context, name string, progress func(noderpc.Progress)) error {
	ctx, leave, err := e.life.call(ctx)
	if err != nil {
		return err
	}
	defer leave()
	return e.life.told(e.drain(ctx, name, progress))
}

func (e *Engine) drain(ctx context.Context, name string, progress func(noderpc.Progress)) error {
	if progress == nil {
		progress = func(noderpc.Progress) {}
	}
	there, err := e.mayDrain(name)
	if err == nil && there {
		err = e.tellDraining(ctx, name, true)
	}
	if err != nil {
		return err
	}
	for pass := 0; ; pass++ {
		changed, err := e.drainOnce(ctx, name, progress)
		switch {
		case err == nil && !changed:
			return nil
		case err != nil && (!errors.Is(err, catalog.ErrConflict) || pass >= drainPasses):
			return advise(err)
		}
	}
}

// Undrain lets a node take rows and run parts of queries again. Nothing moves back.
func (e *Engine) Undrain(ctx context.Context, name string) error {
	if e.node == nil || e.node.Self == nil {
		return errAlone
	}
	ctx, leave, err := e.life.call(ctx)
	if err != nil {
		return err
	}
	defer leave()
	if _, there := e.node.MemberNamed(name); !there {
		return e.node.Takes(name) // says how it is
	}
	return e.life.told(e.tellDraining(ctx, name, false))
}

var errAlone = sqlerror.New("55000", "this node is alone, it belongs to no cluster")

// mayDrain tells, too, whether the node is there.
func (e *Engine) mayDrain(name string) (there bool, err error) {
	if e.node == nil || e.node.Self == nil {
		return false, errAlone
	}
	member, there := e.node.MemberNamed(name)
	if there && member.State == catalog.Joining || !there && !e.node.Known(name) {
		return there, e.node.Takes(name) // says how it is
	}
	if !slices.ContainsFunc(e.node.Online(), func(other string) bool { return other != name }) {
		return there, sqlerror.New("55000", "there is no other node that could take what node %q holds", name).WithHint("Start another node, or let one that is drained take rows again (csmsql cluster undrain).")
	}
	return there, nil
}

// tellDraining tells the node, and returns when this one has heard of it from the catalog.
func (e *Engine) tellDraining(ctx context.Context, name string, on bool) error {
	if name == e.config.Node {
		if err := e.setDraining(ctx, on); err != nil {
			return err
		}
	} else {
		client, err := e.node.Peer(ctx, name)
		if err == nil {
			err = client.Drain(ctx, on)
		}
		if err != nil {
			return member.AtNode(name, err)
		}
	}
	const poll = 5 * time.Millisecond
	for {
		member, there := e.node.MemberNamed(name)
		if !there {
			return e.node.Takes(name)
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

// setDraining is the node's own part.
func (e *Engine) setDraining(ctx context.Context, on bool) error {
	state := catalog.Online
	if on {
		state = catalog.Draining
	}
	if err := e.catalog.SetState(ctx, state); err != nil {
		return err
	}
	e.node.Lending.Drain(on)
	if on {
		e.config.Fault.At(faults.NodeDraining)
	}
	return nil
}

// drainOnce goes over all tables as they are now.
func (e *Engine) drainOnce(ctx context.Context, name string, progress func(noderpc.Progress)) (changed bool, err error) {
	tables, err := e.tableNames(ctx)
	if err != nil {
		return false, err
	}
	for _, table := range tables {
		did, err := e.drainTable(ctx, table, name, progress)
		if told, ok := err.(*Error); ok && told.State == "42P01" {
			continue // dropped
		}
		if err != nil {
			return changed, fmt.Errorf("table %v: %w", table, err)
		}
		changed = changed || did
	}
	return changed, nil
}

func (e *Engine) tableNames(ctx context.Context) (names []catalog.TableName, err error) {
	snapshot, err := e.catalog.Snapshot(ctx, catalog.Holder{Description: "drain"})
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
func (e *Engine) drainTable(ctx context.Context, table catalog.TableName, name string, progress func(noderpc.Progress)) (changed bool, err error) {
	var moves *moves
	var rows int64
	err = e.changeTable(ctx, table, func(ctx context.Context, c *tableChange) error {
		v := c.v
		rows = v.Rows()
		p, err := placement.Parse(v.Table().Placement)
		if err != nil {
			return err
		}
		if p.Names(name) {
			changed = true
			if p, err = e.placementWithout(p, name); err != nil {
				return err
			}
			if p.Kind == placement.Hash {
				return e.divideAnew(ctx, c, p)
			}
			if err := c.record(p); err != nil {
				return err
			}
		}
		names := p.Nodes
		if len(names) == 0 || p.Kind == placement.Hash {
			names = e.node.Online()
		}
		names = slices.DeleteFunc(slices.Clone(names), func(n string) bool { return n == name || e.node.Takes(n) != nil })
		if len(names) == 0 {
			return sqlerror.New("55000", "placement %s leaves no node that could take its rows", p).WithHint("ALTER TABLE … SET PLACEMENT '…' first.")
		}
		if err := e.node.CanReplicate(v.Table().Replicas, e.node.OnlineBut(name)); err != nil {
			return err
		}
		moves, err = e.leaving(ctx, v, p, names, name)
		return err
	})
	if err != nil || moves == nil || len(moves.list) == 0 {
		return changed, err
	}
	step := noderpc.Progress{Step: table.String(), RowsTotal: rows, BytesTotal: moves.bytes}
	progress(step)
	return true, e.move(ctx, moves, func(bytes int64) {
		step.Bytes += bytes
		progress(step)
	})
}

// placementWithout is a placement without a node; if it was the only one, another takes its place.
func (e *Engine) placementWithout(p placement.Placement, name string) (placement.Placement, error) {
	q, left := p.Without(name)
	if left {
		return q, nil
	}
	others := e.node.OnlineBut(name)
	if len(others) == 0 {
		return q, sqlerror.New("55000", "there is no other node that could take what node %q holds", name)
	}
	q.Nodes = others[:1]
	return q, nil
}

// leaving lists the chunks that a node has, each with one of names that has least of the table by then, or with another node for its replica.
func (e *Engine) leaving(ctx context.Context, v *catalog.TableVersion, p placement.Placement, names []string, node string) (*moves, error) {
	chunks, err := e.facts.Chunks(ctx, v)
	if err != nil {
		return nil, err
	}
	w := &replicas.Plan{Placement: p, Replicas: max(v.Table().Replicas, 1), Online: e.node.OnlineBut(node), Load: map[string]int64{}}
	at := e.holders(chunks)
	for i, c := range chunks {
		w.Load[at[i][0].Node] += c.Bytes
	}
	return e.movesOf(ctx, v, chunks, func(i int) []replicas.Place {
		first := at[i][0].Node
		if !slices.ContainsFunc(at[i], func(h replicas.Holder) bool { return h.Node == node }) {
			return replicas.AsTheyAre(at[i])
		}
		if first == node {
			first = w.Least(names, at[i], chunks[i].Bytes)
		}
		for k := range at[i] {
			if at[i][k].Node == node {
				at[i][k].State = replicas.Lost // to this plan
			}
		}
		return w.Places(first, at[i])
	})
}
