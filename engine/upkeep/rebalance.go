package upkeep

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/cluster/noderpc"
	"github.com/csmsql/csmsql/engine/facts"
	"github.com/csmsql/csmsql/engine/member"
	"github.com/csmsql/csmsql/engine/placement"
	"github.com/csmsql/csmsql/engine/placement/balance"
	"github.com/csmsql/csmsql/engine/placement/replicas"
	"github.com/csmsql/csmsql/sql/sqlerror"
)

// rebalancePasses bounds how often what moves is planned, because a plan was long or tables were written meanwhile.
const rebalancePasses = 100

// Rebalance moves chunks from full nodes to empty ones, of those that take rows, as far as placements let it. It
// returns what moved. To repeat it goes on from where it ended. progress may be nil.
func (k *Keeper) Rebalance(ctx context.Context,
	progress func(noderpc.Progress)) (result noderpc.LoadResult, err error) {
	if progress == nil {
		progress = func(noderpc.Progress) {}
	}
	if err := k.mayRebalance(ctx); err != nil {
		return result, err
	}
	for range rebalancePasses {
		list, err := k.uneven(ctx)
		if err != nil || len(list) == 0 {
			return result, err
		}
		for _, m := range list {
			done, err := k.moveAndReport(ctx, m, progress)
			result.Chunks += done.chunks
			result.Rows += done.rows
			result.Bytes += done.bytes
			if e, ok := err.(*sqlerror.Error); ok && e.State == "42P01" || errors.Is(err, catalog.ErrConflict) {
				continue // dropped, or written: the next pass sees what is there
			}
			if err != nil {
				return result, fmt.Errorf("table %v: %w", m.table, err)
			}
		}
	}
	return result, nil
}

// mayRebalance is an error unless there are nodes to move chunks between, and all of them answer.
func (k *Keeper) mayRebalance(ctx context.Context) error {
	if k.node == nil || k.node.Self == nil {
		return ErrAlone
	}
	online := k.node.Online()
	if len(online) < 2 {
		takes := "no node takes"
		if len(online) == 1 {
			takes = fmt.Sprintf("only node %q takes", online[0])
		}
		return sqlerror.New("55000", "%s rows: there are no two nodes to move chunks between%s", takes, k.others()).
			WithHint("Start another node, or let one that is drained take rows again (csmsql cluster undrain).")
	}
	ctx, cancel := context.WithTimeout(ctx, member.Patience)
	defer cancel()
	var group errgroup.Group
	for _, name := range online {
		if name == k.name {
			continue
		}
		group.Go(func() error {
			client, err := k.node.Peer(ctx, name)
			if err == nil {
				err = client.Ping(ctx)
			}
			return member.AtNode(name, err)
		})
	}
	return group.Wait()
}

// others lists the members that take no rows, with their states.
func (k *Keeper) others() string {
	var list []string
	for _, m := range k.node.Catalog.Members() {
		if m.State != catalog.Online {
			list = append(list, fmt.Sprintf("%q is %v", m.Name, m.State))
		}
	}
	if len(list) == 0 {
		return ""
	}
	return " (node " + strings.Join(list, ", node ") + ")"
}

// uneven lists what has to move, by table, for nodes to be even.
func (k *Keeper) uneven(ctx context.Context) ([]*moves, error) {
	snapshot, err := k.catalog.Snapshot(ctx, catalog.Holder{Description: "rebalance"})
	if err != nil {
		return nil, err
	}
	defer snapshot.Close()
	nodes := k.node.Online()
	capacities := make([]int64, len(nodes))
	for i, name := range nodes {
		region, err := k.node.RegionOf(name)
		if err != nil {
			return nil, err
		}
		record, _ := k.catalog.Region(region)
		capacities[i] = max(record.Capacity, 1)
	}
	versions := snapshot.Tables()
	tables := make([]balance.Table, len(versions))
	located := make([][]facts.Located, len(versions))
	holders := make([][][]replicas.Holder, len(versions))
	begins := make([]int, len(versions)+1) // where a table's chunks begin
	var chunks []balance.Chunk
	for t, v := range versions {
		if tables[t], err = mayGo(v.Table(), nodes); err != nil {
			return nil, err
		}
		if located[t], err = k.facts.Chunks(ctx, v); err != nil {
			return nil, err
		}
		holders[t] = k.holders(located[t])
		for i, c := range located[t] {
			chunks = append(chunks, balanced(t, c, holders[t][i], nodes))
		}
		begins[t+1] = len(chunks)
	}
	to := map[int][]replicas.Place{} // by chunk
	for _, m := range balance.Plan(capacities, tables, chunks) {
		t := chunks[m.Chunk].Table
		at := holders[t][m.Chunk-begins[t]]
		if to[m.Chunk] == nil {
			to[m.Chunk] = replicas.AsTheyAre(at)
		}
		node := nodes[m.To] // which may have had a replica that was to move before
		have := slices.IndexFunc(at, func(h replicas.Holder) bool { return h.Node == node })
		to[m.Chunk][m.Replica] = replicas.Place{Node: node, Have: have}
	}
	var list []*moves
	for t, v := range versions {
		m, err := k.movesOf(ctx, v, located[t], func(i int) []replicas.Place {
			if places := to[begins[t]+i]; places != nil {
				return places
			}
			return replicas.AsTheyAre(holders[t][i])
		})
		if err != nil {
			return nil, err
		}
		if len(m.list) > 0 {
			list = append(list, m)
		}
	}
	return list, nil
}

// balanced is a chunk as the plan sees it. One of which a replica cannot be read stays: that is mended first.
func balanced(table int, c facts.Located, at []replicas.Holder, nodes []string) balance.Chunk {
	b := balance.Chunk{Table: table, Bytes: c.Bytes, Stays: c.First.Region == 0}
	for _, h := range at {
		b.Nodes = append(b.Nodes, slices.Index(nodes, h.Node))
		b.Stays = b.Stays || h.State != replicas.Whole
	}
	return b
}

// mayGo says to which of the nodes a table's replicas may go, by its placement. Parts of a hash stay where they are.
func mayGo(table catalog.Table, nodes []string) (may balance.Table, err error) {
	p, err := placement.Parse(table.Placement)
	if err != nil || p.Kind == placement.Hash {
		return may, err
	}
	var all, listed []int
	for i, name := range nodes {
		if all = append(all, i); p.Names(name) {
			listed = append(listed, i)
		}
	}
	switch {
	case p.Kind == placement.Node: // its first replicas stay
	case len(p.Nodes) > 0:
		may.First = listed
	default:
		may.First = all
	}
	if may.Others = all; len(p.Nodes) >= max(table.Replicas, 2) {
		may.Others = listed
	}
	return may, nil
}
