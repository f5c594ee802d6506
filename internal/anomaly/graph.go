package anomaly

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// dependency is the kind of an edge: why one event is before another.
type dependency uint8

const (
	within        dependency = iota // both are of one transaction, in its order
	writeWrite                      // ww
	writeRead                       // wr
	readWrite                       // rw
	sessionOrder                    // the transactions are of one session
	realTimeOrder                   // the former was answered before the latter was asked
)

func (d dependency) String() string { return [...]string{"", "ww", "wr", "rw", "session", "rt"}[d] }

// event is a moment at which a transaction meets the database. One of no transaction is a moment of the clock.
type event struct {
	transaction int
	what        string
	begin, end  Moment // between which it happens
	edges       []edge
}

const (
	noTransaction = -1
	never         = Moment(math.MaxInt64)
)

type edge struct {
	to    int
	kind  dependency
	key   Key
	value Value // the former's, in an rw edge the latter's
	next  Value // of a ww edge, the latter's
}

// graph has the events, and where those of each transaction are.
type graph struct {
	*checker
	events []event
	reads  [][]int // by transaction and statement; -1: it has none
	writes []int   // by transaction: its commit; -1: it did not, or has changed nothing
	starts []int   // by transaction: what a version that it writes must be behind; -1
}

// graph makes events of transactions, and edges of what was read.
func (c *checker) graph() *graph {
	g := &graph{checker: c}
	for number := range c.history {
		g.add(number)
	}
	for _, key := range c.keys {
		g.relate(key)
	}
	switch {
	case c.options.RealTime:
		g.realTime()
	case c.options.Session:
		g.sessions()
	}
	return g
}

func (g *graph) event(number int, what string, begin, end Moment) int {
	g.events = append(g.events, event{transaction: number, what: what, begin: begin, end: end})
	return len(g.events) - 1
}

func (g *graph) edge(from int, e edge) {
	if from >= 0 && e.to >= 0 && from != e.to {
		g.events[from].edges = append(g.events[from].edges, e)
	}
}

// add makes the events of a transaction.
func (g *graph) add(number int) {
	t := &g.history[number]
	commits, reads := g.effective(number), t.Outcome == Committed || g.options.EveryRead
	writes := commits && slices.ContainsFunc(t.Statements, func(s Statement) bool {
		return slices.ContainsFunc(s.Operations, func(o Operation) bool { return o.Append && !o.Undone })
	})
	end := t.End
	if t.Outcome == Unknown {
		end = never
	}
	statements := make([]int, len(t.Statements))
	for i := range statements {
		statements[i] = -1
	}
	start, commit := -1, -1
	switch {
	case len(t.Statements) == 0 || !writes && !reads:
	case t.Level == Serializable && writes:
		start = g.event(number, fmt.Sprintf("T%d", number), t.Statements[0].Begin, end)
		commit = start
	case t.Level == ReadCommitted:
		last := -1
		for i, s := range t.Statements {
			if slices.ContainsFunc(s.Operations, func(o Operation) bool { return !o.Append }) && reads {
				statements[i] = g.event(number, fmt.Sprintf("statement %d of T%d", i+1, number), s.Begin, s.End)
				g.edge(last, edge{to: statements[i]})
				last = statements[i]
			}
		}
		if writes {
			commit = g.event(number, fmt.Sprintf("the commit of T%d", number), t.ending(), end)
			g.edge(last, edge{to: commit})
		}
		start = commit
	default:
		taken := t.Statements[0].End
		if t.Outcome == Unknown && t.Ending == 0 {
			taken = never // it is unknown whether the server received it
		}
		start = g.event(number, fmt.Sprintf("the snapshot of T%d", number), t.Statements[0].Begin, taken)
		if writes {
			commit = g.event(number, fmt.Sprintf("the commit of T%d", number), t.ending(), end)
			g.edge(start, edge{to: commit})
		}
	}
	if t.Level != ReadCommitted && reads {
		for i := range statements {
			statements[i] = start
		}
	}
	g.reads, g.starts, g.writes = append(g.reads, statements), append(g.starts, start), append(g.writes, commit)
}

// relate makes the edges over one object.
func (g *graph) relate(key Key) {
	v := g.versions[key]
	if !v.set && !v.unknown {
		g.follow(key, v)
	}
	for _, i := range v.readings {
		r := g.readings[i]
		at := g.reads[r.transaction][r.statement]
		shown := map[Value]bool{}
		for _, value := range r.values {
			shown[value] = true
		}
		for _, value := range r.values {
			if w, ok := g.writers[key][value]; ok && !w.undone {
				g.edge(g.writes[w.transaction], edge{to: at, kind: writeRead, key: key, value: value})
			}
		}
		if v.unknown {
			continue
		}
		// Values that a list's read does not show were appended after it. Edges to the next one are enough, and to
		// those that no read has shown.
		for _, value := range v.appended {
			w := g.writers[key][value]
			if place, ordered := v.place[value]; ordered && place > len(r.values) {
				continue
			}
			if shown[value] || w.undone || v.lost[value] || w.transaction == r.transaction {
				continue
			}
			g.edge(at, edge{to: g.writes[w.transaction], kind: readWrite, key: key, value: value})
		}
	}
}

// follow has each version of a list behind the one before.
func (g *graph) follow(key Key, v *versions) {
	for i := range len(v.order) - 1 {
		one, known := g.writers[key][v.order[i]]
		other, also := g.writers[key][v.order[i+1]]
		if known && also && one.transaction != other.transaction && !one.undone && !other.undone {
			g.edge(g.writes[one.transaction], edge{
				to: g.starts[other.transaction], kind: writeWrite, key: key, value: v.order[i], next: v.order[i+1],
			})
		}
	}
}

// sessions has each transaction of a session behind the one before, as far as that was answered.
func (g *graph) sessions() {
	last := map[int]int{}
	numbers := make([]int, 0, len(g.history))
	for number := range g.history {
		if len(g.history[number].Statements) > 0 {
			numbers = append(numbers, number)
		}
	}
	slices.SortStableFunc(numbers, func(a, b int) int {
		return cmp.Compare(g.history[a].Statements[0].Begin, g.history[b].Statements[0].Begin)
	})
	for _, number := range numbers {
		t := &g.history[number]
		own := append(slices.Clone(g.reads[number]), g.writes[number])
		own = slices.DeleteFunc(own, func(e int) bool { return e < 0 })
		if len(own) == 0 {
			continue
		}
		if before, ok := last[t.Session]; ok {
			g.edge(before, edge{to: own[0], kind: sessionOrder})
		}
		for _, e := range own {
			if g.events[e].end != never {
				last[t.Session] = e
			}
		}
	}
}

// realTime puts events behind those that were over before they began. Moments are events of no transaction, in their
// order. They keep the edges few: to the moment of an event's end, and from the last one before an event's beginning.
func (g *graph) realTime() {
	var ends []int
	for i, e := range g.events {
		if e.end != never {
			ends = append(ends, i)
		}
	}
	slices.SortStableFunc(ends, func(a, b int) int { return cmp.Compare(g.events[a].end, g.events[b].end) })
	first, known := len(g.events), len(g.events)
	for i, e := range ends {
		at := g.event(noTransaction, "", g.events[e].end, g.events[e].end)
		g.edge(e, edge{to: at, kind: realTimeOrder})
		if i > 0 {
			g.edge(at-1, edge{to: at, kind: realTimeOrder})
		}
	}
	for i := range known {
		after, _ := slices.BinarySearchFunc(g.events[first:], g.events[i].begin,
			func(e event, m Moment) int { return cmp.Compare(e.end, m) })
		if after > 0 { // those before it have ended before begin
			g.edge(first+after-1, edge{to: i, kind: realTimeOrder})
		}
	}
}
