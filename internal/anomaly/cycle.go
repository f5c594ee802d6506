package anomaly

import (
	"fmt"
	"slices"
)

// cycles looks for events that cannot be put into an order, over few kinds of edges first. So an anomaly has the name
// of the fewest kinds that show it.
func (c *checker) cycles() {
	g := c.graph()
	var seen [][]int
	for _, most := range []dependency{writeWrite, writeRead, readWrite, realTimeOrder} {
		for _, component := range g.components(most) {
			in := map[int]bool{}
			for _, e := range component {
				in[e] = true
			}
			if slices.ContainsFunc(seen, func(cycle []int) bool { return in[cycle[0]] }) {
				continue // a knot is shown once
			}
			path := g.shortest(component, in, most)
			cycle := make([]int, len(path))
			for i, s := range path {
				cycle[i] = s.from
			}
			seen = append(seen, cycle)
			c.cycle(g, path)
		}
	}
}

// components are the strongly connected parts of more than one event (Tarjan 1972), over edges up to a kind.
func (g *graph) components(most dependency) (list [][]int) {
	number, low := make([]int, len(g.events)), make([]int, len(g.events))
	inside := make([]bool, len(g.events))
	var stack []int
	count := 0
	var visit func(at int)
	visit = func(at int) {
		count++
		number[at], low[at] = count, count
		stack, inside[at] = append(stack, at), true
		for _, e := range g.events[at].edges {
			switch {
			case e.kind > most:
			case number[e.to] == 0:
				visit(e.to)
				low[at] = min(low[at], low[e.to])
			case inside[e.to]:
				low[at] = min(low[at], number[e.to])
			}
		}
		if low[at] != number[at] {
			return
		}
		var component []int
		for len(component) == 0 || component[len(component)-1] != at {
			last := stack[len(stack)-1]
			stack, inside[last] = stack[:len(stack)-1], false
			component = append(component, last)
		}
		if len(component) > 1 {
			slices.Sort(component)
			list = append(list, component)
		}
	}
	for at := range g.events {
		if number[at] == 0 {
			visit(at)
		}
	}
	return list
}

// step is an edge with where it comes from.
type step struct {
	from int
	edge
}

// sourcesMost bounds from how many events of a knot a cycle is looked for.
const sourcesMost = 200

// shortest is a cycle of few edges between transactions.
func (g *graph) shortest(component []int, in map[int]bool, most dependency) (best []step) {
	length := -1
	for _, source := range component[:min(len(component), sourcesMost)] {
		if g.events[source].transaction == noTransaction {
			continue
		}
		if path, n := g.around(source, in, most); path != nil && (length < 0 || n < length) {
			best, length = path, n
		}
	}
	if best == nil { // the first ones are all moments: any other will do
		for _, source := range component {
			if best, _ = g.around(source, in, most); best != nil {
				break
			}
		}
	}
	return best
}

// around is the shortest way from an event back to it. Steps within a transaction, and from moment to moment, are free.
func (g *graph) around(source int, in map[int]bool, most dependency) (path []step, length int) {
	came := map[int]step{}
	distance := map[int]int{source: 0}
	ring := [2][]int{{source}, nil} // of this distance, and of the next
	for length = 0; len(ring[0]) > 0; length++ {
		for len(ring[0]) > 0 {
			at := ring[0][len(ring[0])-1]
			ring[0] = ring[0][:len(ring[0])-1]
			if distance[at] != length {
				continue
			}
			for _, e := range g.events[at].edges {
				if e.kind > most || !in[e.to] {
					continue
				}
				cost := 1
				if e.kind == within || g.events[at].transaction == noTransaction {
					cost = 0
				}
				if e.to == source {
					for path = []step{{at, e}}; at != source; at = path[len(path)-1].from {
						path = append(path, came[at])
					}
					slices.Reverse(path)
					return path, length + cost
				}
				if d, known := distance[e.to]; known && d <= length+cost {
					continue
				}
				distance[e.to] = length + cost
				came[e.to] = step{at, e}
				ring[cost] = append(ring[cost], e.to)
			}
		}
		ring = [2][]int{ring[1], nil}
	}
	return nil, 0
}

// cycle reports a cycle.
func (c *checker) cycle(g *graph, path []step) {
	path = g.joined(path)
	count := map[dependency]int{}
	var transactions []int
	keys := map[Key]bool{}
	adjacent := false
	for i, s := range path {
		count[s.kind]++
		if t := g.events[s.from].transaction; !slices.Contains(transactions, t) {
			transactions = append(transactions, t)
		}
		if s.kind >= writeWrite && s.kind <= readWrite {
			keys[s.key] = true
		}
		adjacent = adjacent || s.kind == readWrite && path[(i+1)%len(path)].kind == readWrite
	}
	var kind Kind
	switch rw := count[readWrite]; {
	case rw == 0 && count[writeRead] == 0:
		kind = G0
	case rw == 0:
		kind = G1c
	case rw == 1 && count[writeWrite] == 1 && len(transactions) == 2 && len(keys) == 1:
		kind = LostUpdate
	case rw == 1:
		kind = GSingle
	case adjacent:
		kind = G2
	default:
		kind = GNonadjacent
	}
	switch {
	case count[realTimeOrder] > 0:
		kind += realTime
	case count[sessionOrder] > 0:
		kind += session
	}
	if kind == LostUpdate && slices.ContainsFunc(c.found, func(a Anomaly) bool {
		return a.Kind == LostUpdate && slices.Contains(a.Transactions, transactions[0]) &&
			slices.Contains(a.Transactions, transactions[1])
	}) {
		return
	}
	var why []string
	for _, s := range path {
		if line := g.why(s); line != "" {
			why = append(why, line)
		}
	}
	c.report(kind, transactions, why...)
}

// joined is a cycle that begins at a transaction's event, with one step over all moments in a row, and over all events
// of one transaction in a row.
func (g *graph) joined(path []step) (list []step) {
	first := slices.IndexFunc(path, func(s step) bool { return g.events[s.from].transaction != noTransaction })
	for _, s := range slices.Concat(path[first:], path[:first]) {
		if g.events[s.from].transaction == noTransaction {
			list[len(list)-1].to = s.to
			continue
		}
		if n := len(list); s.kind == within && n > 0 && list[n-1].kind == within {
			list[n-1].to = s.to
			continue
		}
		list = append(list, s)
	}
	return list
}

// why says in words that an event is before another.
func (g *graph) why(s step) string {
	from, to := g.events[s.from], g.events[s.to]
	a, b := from.transaction, to.transaction
	switch s.kind {
	case writeWrite:
		return fmt.Sprintf("T%d ─ww─► T%d: T%[2]d appended %d to %s right behind %d of T%[1]d",
			a, b, s.next, s.key, s.value)
	case writeRead:
		return fmt.Sprintf("T%d ─wr─► T%d: T%[2]d read %d in %s, which T%[1]d appended", a, b, s.value, s.key)
	case readWrite:
		return fmt.Sprintf("T%d ─rw─► T%d: T%[1]d read %[3]s without %[4]d, which T%[2]d appended",
			a, b, s.key, s.value)
	case sessionOrder:
		return fmt.Sprintf("T%d ─session─► T%d: both are of session %d", a, b, g.history[a].Session)
	case realTimeOrder:
		return fmt.Sprintf("T%d ─rt─► T%d: %s was answered at %d, before %s was asked for at %d", a, b,
			from.what, from.end, to.what, to.begin)
	}
	if g.history[a].Level == ReadCommitted {
		return fmt.Sprintf("%s is before %s", from.what, to.what)
	}
	return ""
}
