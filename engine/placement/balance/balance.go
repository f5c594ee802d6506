package balance

import (
	"cmp"
	"math"
	"slices"
)

const (
	// Tolerance is by how much of the average fill two nodes may differ.
	Tolerance = 0.05
	// Most is how many moves a plan has.
	Most = 10_000
)

// Table says to which nodes, by number, its replicas may go: the first ones, and the others. Empty: they stay.
type Table struct{ First, Others []int }

// Chunk is one of a table. Nodes are where its replicas lie, by number; below 0 is none of the nodes.
type Chunk struct {
	Table int
	Bytes int64 // of one replica
	Nodes []int
	Stays bool
}

// Move takes a replica of a chunk to a node.
type Move struct{ Chunk, Replica, To int }

// Plan lists moves that make the nodes of these capacities, which are above 0, even.
func Plan(capacities []int64, tables []Table, chunks []Chunk) (moves []Move) {
	p := newPlan(capacities, tables, chunks)
	for len(moves) < Most {
		m, found := p.next()
		if !found {
			break
		}
		p.do(m)
		moves = append(moves, m)
	}
	return moves
}

type plan struct {
	tables []Table
	chunks []Chunk
	nodes  []node
	// gap is by how much the fill of two nodes has to differ for something to move.
	gap float64
}

type node struct {
	capacity, bytes float64
	tables          []int              // that have something there that may move, ascending
	of              map[int]*partition // by table
}

// partition is what a node has of a table and may move.
type partition struct {
	bytes float64
	has   []place
}

type place struct{ chunk, replica int }

func newPlan(capacities []int64, tables []Table, chunks []Chunk) *plan {
	p := &plan{tables: tables, chunks: slices.Clone(chunks), nodes: make([]node, len(capacities))}
	var capacity, bytes float64
	for i, c := range capacities {
		p.nodes[i] = node{capacity: float64(c), of: map[int]*partition{}}
		capacity += float64(c)
	}
	for i := range p.chunks {
		c := &p.chunks[i]
		c.Nodes = slices.Clone(c.Nodes)
		for replica, at := range c.Nodes {
			if at >= 0 {
				p.add(at, place{i, replica})
				bytes += float64(c.Bytes)
			}
		}
	}
	p.gap = Tolerance * bytes / capacity
	return p
}

func (p *plan) add(at int, x place) {
	n, c := &p.nodes[at], &p.chunks[x.chunk]
	n.bytes += float64(c.Bytes)
	if t := &p.tables[c.Table]; c.Stays || len(t.First)+len(t.Others) == 0 {
		return
	}
	part := n.of[c.Table]
	if part == nil {
		part = &partition{}
		n.of[c.Table] = part
		i, _ := slices.BinarySearch(n.tables, c.Table)
		n.tables = slices.Insert(n.tables, i, c.Table)
	}
	part.has = append(part.has, x)
	part.bytes += float64(c.Bytes)
}

func (p *plan) do(m Move) {
	c := &p.chunks[m.Chunk]
	from := &p.nodes[c.Nodes[m.Replica]]
	part := from.of[c.Table]
	part.has = slices.DeleteFunc(part.has, func(x place) bool { return x == place{m.Chunk, m.Replica} })
	part.bytes -= float64(c.Bytes)
	from.bytes -= float64(c.Bytes)
	c.Nodes[m.Replica] = m.To
	p.add(m.To, place{m.Chunk, m.Replica})
}

func (n *node) fill() float64 { return n.bytes / n.capacity }

// next is a move from the fullest node from which one can go to the emptiest to which one can.
func (p *plan) next() (Move, bool) {
	order := make([]int, len(p.nodes)) // by fill
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(p.nodes[a].fill(), p.nodes[b].fill()) })
	for _, from := range slices.Backward(order) {
		for _, to := range order {
			if p.nodes[from].fill()-p.nodes[to].fill() <= p.gap {
				break
			}
			if m, found := p.between(from, to); found {
				return m, true
			}
		}
	}
	return Move{}, false
}

// between is a move from one node to another: of the table of which the one has most beside the other, the chunk that
// makes their fill most alike.
func (p *plan) between(from, to int) (best Move, found bool) {
	a, b := &p.nodes[from], &p.nodes[to]
	even := (a.fill() - b.fill()) / (1/a.capacity + 1/b.capacity) // so many bytes make them alike
	most := math.Inf(-1)
	for _, t := range a.tables {
		excess := a.of[t].bytes
		if there := b.of[t]; there != nil {
			excess -= there.bytes
		}
		if excess <= most {
			continue
		}
		if m, ok := p.nearest(t, from, to, even); ok {
			best, found, most = m, true, excess
		}
	}
	return best, found
}

// worth is how many times the bytes that would make two nodes even a chunk may have to move between them. Below 2 they
// are more alike afterwards (BL2); at 1.5 half as different.
const worth = 1.5

// nearest is the chunk of a table whose bytes are nearest to even.
func (p *plan) nearest(table, from, to int, even float64) (best Move, found bool) {
	const rounding = 1e-9 // what floating-point numbers get wrong must not move chunks to and fro
	least := even * (1 - rounding)
	allowed := &p.tables[table]
	first, others := slices.Contains(allowed.First, to), slices.Contains(allowed.Others, to)
	if !first && !others {
		return best, false
	}
	for _, x := range p.nodes[from].of[table].has {
		c := &p.chunks[x.chunk]
		if x.replica == 0 && !first || x.replica > 0 && !others || slices.Contains(c.Nodes, to) {
			continue
		}
		if off := math.Abs(float64(c.Bytes) - even); off < least && float64(c.Bytes) <= worth*even {
			best, found, least = Move{x.chunk, x.replica, to}, true, off
		}
	}
	return best, found
}
