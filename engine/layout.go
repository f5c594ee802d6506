package engine

import (
	"context"
	"slices"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/engine/placement"
	"github.com/csmsql/csmsql/exec/plan/distribute"
	"github.com/csmsql/csmsql/memregion"
)

// Where the chunks of a table version lie: every replica of one in the region of one node. It is looked at once per version.

// located is where one chunk lies.
type located struct {
	rows   int64
	bytes  int64              // of one replica
	first  catalog.ExtentID   // of the first replica; zero if the chunk has no bytes
	others []catalog.ExtentID // of each other one
}

func (l *located) replicas() int { return 1 + len(l.others) }

// extent is the first of replica i.
func (l *located) extent(i int) catalog.ExtentID {
	if i == 0 {
		return l.first
	}
	return l.others[i-1]
}

// locate fills in chunks and regions. Preconditions: f.mu is held.
func (f *facts) locate(ctx context.Context) error {
	if f.regions != nil {
		return nil
	}
	chunks, regions := []located{}, map[memregion.RegionID]bool{}
	for _, ref := range f.version.Pages() {
		headers, err := f.version.PageExtents(ctx, ref)
		if err != nil {
			return err
		}
		for _, h := range headers {
			l := located{rows: h.Rows}
			for i, x := range h.Extents {
				l.bytes += x.Range.Length
				if i == 0 {
					l.first = x.ExtentID
				}
			}
			for _, other := range h.Others {
				l.others = append(l.others, other[0].ExtentID)
			}
			for x := range h.All() {
				regions[x.Region] = true
			}
			chunks = append(chunks, l)
		}
	}
	f.chunks, f.regions = chunks, regions
	return nil
}

// locations are where the chunks of a version lie.
func (e *Engine) locations(ctx context.Context, v *catalog.TableVersion) ([]located, error) {
	f := e.facts.of(v)
	f.mu.Lock()
	defer f.mu.Unlock()
	known := f.regions != nil
	if err := f.locate(ctx); err != nil || known {
		return f.chunks, err
	}
	bytes := int64(0)
	for i := range f.chunks {
		bytes += locatedBytes + locatedReplica*int64(len(f.chunks[i].others))
	}
	e.facts.grew(f, bytes)
	return f.chunks, nil
}

// nodesOf says where a chunk's first replica lies, which is whose part of the table the chunk is whoever reads it, and which nodes have
// it, too. The former does not depend on who is there: parts of one statement are told apart by it from beginning to end (the planner's D4).
func (e *Engine) nodesOf(l *located) (first string, also []string) {
	first, _ = e.catalog.Reachable(l.first.Region)
	for _, x := range l.others {
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
	chunks, err := e.locations(context.Background(), v)
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
		layout.Parts[i].Rows += c.rows
		layout.Parts[i].Bytes += c.bytes
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
	chunks, err := e.locations(ctx, v)
	list := []int{}
	for i, c := range chunks {
		if name, _ := e.catalog.Reachable(c.first.Region); name == node {
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
