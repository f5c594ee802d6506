package engine

import (
	"context"
	"slices"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/engine/facts"
	"github.com/csmsql/csmsql/engine/placement"
	"github.com/csmsql/csmsql/exec/plan/distribute"
	"github.com/csmsql/csmsql/memregion"
)

// Where the chunks of a table version lie: every replica of one in the region of one node. It is looked at once per version.

// nodesOf says where a chunk's first replica lies, which is whose part of the table the chunk is whoever reads it, and which nodes have
// it, too. The former does not depend on who is there: parts of one statement are told apart by it from beginning to end (the planner's D4).
func (e *Engine) nodesOf(l *facts.Located) (first string, also []string) {
	first, _ = e.catalog.Reachable(l.First.Region)
	for _, x := range l.Others {
		if name, there := e.catalog.Reachable(x.Region); there {
			also = append(also, name)
		}
	}
	return first, also
}

// lendsItself tells whether a region is this node's own.
func (e *Engine) lendsItself(id memregion.RegionID) bool {
	return e.node != nil && e.node.Homes[id] != nil
}

// layout is what the planner wants to know of a table.
func (e *Engine) layout(v *catalog.TableVersion) (*distribute.Layout, error) {
	chunks, err := e.facts.Chunks(context.Background(), v)
	if err != nil {
		return nil, err
	}
	layout := &distribute.Layout{Split: splitOf(v)}
	index := map[string]int{}
	for _, c := range chunks {
		name, also := e.nodesOf(&c)
		i, ok := index[name]
		if !ok {
			i = len(layout.Parts)
			index[name] = i
			layout.Parts = append(layout.Parts, distribute.Part{Node: name, Also: also})
		}
		layout.Parts[i].Also = slices.DeleteFunc(layout.Parts[i].Also, func(name string) bool { return !slices.Contains(also, name) })
		layout.Parts[i].Rows += c.Rows
		layout.Parts[i].Bytes += c.Bytes
	}
	return layout, nil
}

// splitOf is a table's placement in the planner's terms. That of a hash can be relied on (D4): what is appended to a version was
// divided by the placement on its record, or the commit is a conflict, and the placement becomes a hash only together with all
// rows written anew. Chunks at nodes that are not in the list are the planner's to see.
func splitOf(v *catalog.TableVersion) distribute.Split {
	p, err := placement.Parse(v.Table().Placement)
	switch {
	case err != nil:
	case p.Kind == placement.Rows:
		return distribute.Split{By: distribute.ByRows, Nodes: p.Nodes}
	case p.Kind == placement.Hash:
		return distribute.Split{By: distribute.ByHash, Columns: p.Columns, Nodes: p.Nodes}
	}
	return distribute.Split{}
}

// chunksAt lists the chunks of a version that lie at a node.
func (e *Engine) chunksAt(ctx context.Context, v *catalog.TableVersion, node string) ([]int, error) {
	chunks, err := e.facts.Chunks(ctx, v)
	list := []int{}
	for i, c := range chunks {
		if name, _ := e.catalog.Reachable(c.First.Region); name == node {
			list = append(list, i)
		}
	}
	return list, err
}

// ours tells whether a chunk is read in this node's own memory, if nothing is wrong with that.
func (e *Engine) ours(c *catalog.Chunk) bool {
	d := c.Descriptor()
	for i := range d.Replicas() {
		if extents := d.ExtentsOf(i); len(extents) == 0 || e.lendsItself(extents[0].Region) {
			return true
		}
	}
	return false
}
