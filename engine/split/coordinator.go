package split

import (
	"context"
	"log/slog"
	"slices"
	"sync/atomic"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/cluster/noderpc"
	"github.com/csmsql/csmsql/engine/facts"
	"github.com/csmsql/csmsql/engine/lifetime"
	"github.com/csmsql/csmsql/engine/member"
	"github.com/csmsql/csmsql/engine/placement"
	"github.com/csmsql/csmsql/exec/plan"
	"github.com/csmsql/csmsql/exec/plan/distribute"
	"github.com/csmsql/csmsql/internal/faults"
	"github.com/csmsql/csmsql/sql/optimization"
)

// Config is the node that splits statements.
type Config struct {
	Name  string
	Node  *member.Node
	Facts *facts.Cache
	Life  *lifetime.Lifetime
	// Here runs a fragment in this process.
	Here func(context.Context, noderpc.FragmentRequest) (noderpc.FragmentResult, error)
	// Retried is called for each fragment that is run here because its node cannot be reached.
	Retried func()
	Log     *slog.Logger
	Fault   faults.Hook
}

// Coordinator splits statements. Safe for concurrent use.
type Coordinator struct {
	Config
	later pending
}

// New makes one.
func New(c Config) *Coordinator { return &Coordinator{Config: c} }

// Plan is how a statement is run by several nodes. Immutable, except requests.
type Plan struct {
	*distribute.Distributed
	Versions map[*plan.Relation]*catalog.TableVersion
	requests keptRequests
}

// What a session may say of splitting, and of shuffling; anything else leaves it to the planner.
const (
	Off    = "off"
	Always = "always" // however small it is
)

// Wishes are how a session wants its statements planned.
type Wishes struct {
	Split, Shuffle string // Off, Always or anything else
	Threads        int
	Without        optimization.Set
	// CutOffs and Guess are of tests; nil: there are none.
	CutOffs func(*distribute.Settings)
	Guess   func(int64) int64
}

// Nodes lists those that can run a fragment; none, if this node is alone.
func (c *Coordinator) Nodes() []string {
	if c == nil || c.Node.Self == nil {
		return nil
	}
	return c.Node.Online()
}

// Plan plans a statement for several nodes; nil: it runs whole here, for a reason. find gives the version of a table in
// it.
func (c *Coordinator) Plan(sql *plan.Statement, find func(schema, name string) *catalog.TableVersion,
	w Wishes) (*Plan, string) {
	nodes := c.Node.Online()
	if len(nodes) < 2 {
		return nil, "there is no other node"
	}
	if !slices.Contains(nodes, c.Name) {
		return nil, "this node is drained"
	}
	versions := map[*plan.Relation]*catalog.TableVersion{}
	placement := distribute.PlacementFunc(func(r *plan.Relation) *distribute.Layout {
		versions[r] = find(r.Schema, r.Name)
		layout, err := c.Layout(versions[r])
		if err != nil {
			return nil // read whole
		}
		if w.Without.Has(optimization.Colocation) {
			layout.Split = distribute.Split{}
		}
		return layout
	})
	d, single := distribute.Plan(sql, placement, w.settings(c.Name, nodes))
	if single != nil {
		return nil, single.Reason
	}
	return &Plan{Distributed: d, Versions: versions}, ""
}

// anyGain has whatever can be shuffled shuffled.
const anyGain = 1e-6

func (w *Wishes) settings(name string, nodes []string) distribute.Settings {
	settings := distribute.DefaultSettings(name, nodes, w.Threads)
	if w.Split == Always {
		settings.MinRows, settings.MinBytes, settings.MinGain = 0, 0, 0
	}
	switch w.Shuffle {
	case Off:
		settings.ShuffleBytes = 0
	case Always:
		settings.ShuffleBytes, settings.ShuffleGain = 1, anyGain
	}
	if w.CutOffs != nil {
		w.CutOffs(&settings)
	}
	if w.Without.Has(optimization.Shuffle) {
		settings.ShuffleBytes = 0
	}
	settings.NoReducers = settings.NoReducers || w.Without.Has(optimization.Keys)
	settings.Guess = w.Guess
	return settings
}

// Where the chunks of a table version lie: every replica of one in the region of one node. It is looked at once per
// version (package facts).

// nodesOf says where a chunk's first replica lies, which says whose part of the table the chunk is, whichever node
// reads it, and which nodes have it, too.
func (c *Coordinator) nodesOf(l *facts.Located) (first string, also []string) {
	first, _ = c.Node.Catalog.Reachable(l.First.Region)
	for _, x := range l.Others {
		if name, there := c.Node.Catalog.Reachable(x.Region); there {
			also = append(also, name)
		}
	}
	return first, also
}

// Layout is what the planner wants to know of a table; the caller's own.
func (c *Coordinator) Layout(v *catalog.TableVersion) (*distribute.Layout, error) {
	chunks, err := c.Facts.Chunks(context.Background(), v)
	if err != nil {
		return nil, err
	}
	layout := &distribute.Layout{Split: splitOf(v)}
	index := map[string]int{}
	for _, l := range chunks {
		name, also := c.nodesOf(&l)
		i, ok := index[name]
		if !ok {
			i = len(layout.Parts)
			index[name] = i
			layout.Parts = append(layout.Parts, distribute.Part{Node: name, Also: also})
		}
		p := &layout.Parts[i]
		p.Also = slices.DeleteFunc(p.Also, func(name string) bool { return !slices.Contains(also, name) })
		p.Rows += l.Living()
		p.Bytes += l.Bytes
	}
	return layout, nil
}

// splitOf is a table's placement in the planner's terms. That of a hash can be relied on (D4): what is appended to a
// version was divided by the placement on its record, or the commit is a conflict, and a table that is being divided
// becomes one that is when all rows lie so. Chunks at nodes that are not in the list are the planner's to see.
func splitOf(v *catalog.TableVersion) distribute.Split {
	p, err := placement.Parse(v.Table().Placement)
	switch {
	case err != nil:
	case p.Kind == placement.Rows:
		return distribute.Split{By: distribute.ByRows, Nodes: p.Nodes}
	case p.ByHash():
		return distribute.Split{By: distribute.ByHash, Columns: p.Columns, Nodes: p.Nodes}
	}
	return distribute.Split{}
}

// chunksAt lists the chunks of a version that lie at a node.
func (c *Coordinator) chunksAt(ctx context.Context, v *catalog.TableVersion, node string) ([]int, error) {
	chunks, err := c.Facts.Chunks(ctx, v)
	list := []int{}
	for i, l := range chunks {
		if name, _ := c.Node.Catalog.Reachable(l.First.Region); name == node {
			list = append(list, i)
		}
	}
	return list, err
}

// has reports whether a node has a chunk in its own memory.
func (c *Coordinator) has(node string, chunk *catalog.Chunk) bool {
	d := chunk.Descriptor()
	for i := range d.Replicas() {
		if extents := d.ExtentsOf(i); len(extents) == 0 && node == c.Name {
			return true
		} else if len(extents) > 0 {
			if name, there := c.Node.Catalog.Reachable(extents[0].Region); there && name == node {
				return true
			}
		}
	}
	return false
}

const (
	laterBytes = 1 << 20 // a statement's results that are let go in the background
	// LaterMost bounds the statements whose results are, at a time.
	LaterMost = 16
)

// pending counts the statements whose results are let go in the background. Safe for concurrent use.
type pending struct{ n atomic.Int32 }

func (p *pending) begin() bool {
	if p.n.Add(1) > LaterMost {
		p.n.Add(-1)
		return false
	}
	return true
}

func (p *pending) done() { p.n.Add(-1) }

// LettingGo counts the statements whose results are let go in the background.
func (c *Coordinator) LettingGo() int { return int(c.later.n.Load()) }
