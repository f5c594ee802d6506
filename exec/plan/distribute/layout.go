package distribute

import (
	"slices"
	"strings"

	"github.com/csmsql/csmsql/exec/plan"
	"github.com/csmsql/csmsql/sql/lex"
)

// Placement says where the rows of base tables lie in the snapshot of the statement.
type Placement interface {
	// Layout returns nil if it does not know: then the table is read whole and never split. The caller keeps ownership
	// and must not change the result while a plan is made.
	Layout(r *plan.Relation) *Layout
}

// PlacementFunc makes a function a [Placement].
type PlacementFunc func(r *plan.Relation) *Layout

// Layout calls the function.
func (f PlacementFunc) Layout(r *plan.Relation) *Layout { return f(r) }

// Layout is how a table's rows lie over the nodes. Every row belongs to exactly one part.
type Layout struct {
	Parts []Part // one for each node that is nearest to any of the chunks, in the order of the first of them
	Split Split
}

// Part is what of a table lies nearest to one node.
type Part struct {
	Node        string
	Rows, Bytes int64
	Also        []string // nodes that have all of it in their own memory, too
}

// at reports whether a node has the part in its own memory.
func (p *Part) at(node string) bool { return p.Node == node || slices.Contains(p.Also, node) }

// SplitKind is the choice by which rows came to their nodes.
type SplitKind uint8

// The choices. ByRows promises nothing about which row lies where; ByHash does (D4).
const (
	NotSplit SplitKind = iota
	ByRows
	ByHash
)

// Split is a table's placement. With ByHash all rows whose Columns have equal values (as = compares them, and NULL
// with NULL) lie on one node, and two tables with the same Nodes and the same types of Columns put equal values on
// the same node. Nothing is concluded from a hash of floating point numbers or intervals.
type Split struct {
	By      SplitKind
	Columns []string // of the hash, in order
	Nodes   []string // bucket i lies on Nodes[i]
}

// Settings are what the decision depends on besides the statement and its tables.
type Settings struct {
	Nodes       []string // that can run a fragment now
	Coordinator string   // the node that was asked; one of Nodes
	Threads     int      // of one node's query

	MinRows, MinBytes int64   // a statement whose tables hold less is run whole
	MinGain           float64 // the estimated time of the single node over that of the plan must be at least this; 0: any plan will do
	RemoteFactor      float64 // what reading a remote byte in place costs, in local bytes
	StageBytes        int64   // what a stage costs that does nothing, in bytes that one thread reads meanwhile
	ShuffleBytes      int64   // what of a table is read must be this much for it to be shuffled and not read whole in place; 0: never
	ShuffleGain       float64 // the estimated time of reading in place over that of a plan that shuffles must be at least this
	NoReducers        bool    // a shuffled table brings all its rows, also where those of a smaller one say which of them matter
	// Guess changes estimates of rows and shares, as plan.Relation.Guess does; nil in production.
	Guess      func(int64) int64
	GatherRows int64 // so many filtered rows may be collected at the coordinator when nothing better can be split off
}

// DefaultSettings suit nodes that share memory in a rack.
func DefaultSettings(coordinator string, nodes []string, threads int) Settings {
	return Settings{
		Nodes: nodes, Coordinator: coordinator, Threads: threads,
		MinRows: 100_000, MinBytes: 4 << 20, MinGain: 1.2, RemoteFactor: 1.25, StageBytes: 80 << 20,
		ShuffleBytes: 64 << 20, ShuffleGain: 1 / preferWhole, GatherRows: 1_000_000,
	}
}

func (s *Settings) overhead() float64 { return float64(s.StageBytes) * float64(max(s.Threads, 1)) }

// total returns the rows and bytes of the whole table.
func (l *Layout) total() (rows, bytes int64) {
	for _, p := range l.Parts {
		rows += p.Rows
		bytes += p.Bytes
	}
	return rows, bytes
}

// only reports whether the whole table lies on one node.
func (l *Layout) only(node string) bool {
	return !slices.ContainsFunc(l.Parts, func(p Part) bool { return p.Node != node && p.Rows > 0 })
}

// hashing identifies a way to split by hash: tables and stages that share it have equal keys on the same node.
type hashing struct {
	nodes string // the node list; of a shuffle, a name of its own
	types string // of the columns
}

// hashing of a table, with the columns' positions; ok=false if it is not split by hash in a way that can be relied on
// (D4).
func (l *Layout) hashing(r *plan.Relation) (h hashing, columns []int, ok bool) {
	if l.Split.By != ByHash || len(l.Split.Columns) == 0 {
		return hashing{}, nil, false
	}
	for _, p := range l.Parts {
		if p.Rows > 0 && !slices.Contains(l.Split.Nodes, p.Node) {
			return hashing{}, nil, false
		}
	}
	var types []string
	for _, name := range l.Split.Columns {
		i := slices.IndexFunc(r.Columns, func(c plan.Column) bool { return lex.Same(c.Name, name) })
		if i < 0 || !hashable(typeName(&r.Columns[i])) { // 0.0 and -0.0 are equal, and may be hashed differently
			return hashing{}, nil, false
		}
		columns = append(columns, i)
		types = append(types, typeName(&r.Columns[i]))
	}
	return hashing{strings.Join(l.Split.Nodes, "\x00"), strings.Join(types, "\x00")}, columns, true
}
