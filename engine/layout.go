package engine

import (
	"context"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/engine/placement"
	"github.com/csmsql/csmsql/exec/plan/distribute"
	"github.com/csmsql/csmsql/memregion"
)

// Where the chunks of a table version lie: every chunk in the regions of one node. It is looked at once per version.

// located is where one chunk lies.
type located struct {
	region memregion.RegionID
	rows   int64
	bytes  int64
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
			for _, x := range h.Extents {
				l.region, l.bytes = x.Region, l.bytes+x.Range.Length
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
	err := f.locate(ctx)
	return f.chunks, err
}

// lendsItself tells whether a region is this node's own.
func (e *Engine) lendsItself(id memregion.RegionID) bool {
	return e.node != nil && e.node.homes[id] != nil
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
		name, _ := e.catalog.Reachable(c.region)
		i, ok := index[name]
		if !ok {
			i = len(layout.Parts)
			index[name] = i
			layout.Parts = append(layout.Parts, distribute.Part{Node: name})
		}
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
		if name, _ := e.catalog.Reachable(c.region); name == node {
			list = append(list, i)
		}
	}
	return list, err
}
