package main_test

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
)

// What the tables of a soak must be. A batch is some rows that were inserted at once; everything about a row follows from the
// number of its batch, its position there, and how often the batch was updated.

// batch is its rows and its updates.
type batch struct{ rows, updates int64 }

// label is the text of row i, of which there are few.
func label(i int64) string { return fmt.Sprintf("s%d", i%13) }

// value is row i of a batch.
func (b batch) value(number, i int64) int64 { return number*1_000_000 + i + b.updates*7 }

// rowsSQL selects the rows of a new batch.
func rowsSQL(number, rows int64) string {
	return fmt.Sprintf("SELECT %d::INTEGER AS b, range::INTEGER AS i, (%d + range)::BIGINT AS v, 's' || (range %% 13) AS s FROM range(%d)", number, number*1_000_000, rows)
}

// table is the batches of a table; nil: there is no such table. Immutable.
type table map[int64]batch

func (t table) with(number int64, b batch) table {
	next := table{}
	maps.Copy(next, t)
	next[number] = b
	return next
}

func (t table) without(number int64) table {
	next := table{}
	maps.Copy(next, t)
	delete(next, number)
	return next
}

func (t table) rows() (n int64) {
	for _, b := range t {
		n += b.rows
	}
	return n
}

// world is the tables of one group by name, changed by one writer in transactions. Immutable.
type world map[string]table

func (w world) with(name string, t table) world {
	next := world{}
	maps.Copy(next, w)
	next[name] = t
	return next
}

func (w world) equals(other *candidate) bool {
	return maps.EqualFunc(w, other.world, func(a, b table) bool { return maps.Equal(a, b) })
}

// candidate is a world that a group may be in.
type candidate struct {
	world
	from      *candidate // the world before the change that made it, while that is not settled
	operation int        // the change
}

// group is some tables with what is known of them. Its log has the candidates from the beginning on: a reader sees one
// that was there between the beginning and the end of its query. Safe for concurrent use.
type group struct {
	name   string
	tables []string

	mu         sync.Mutex
	log        [][]*candidate // guarded by mu
	operations int            // guarded by mu
}

func newGroup(name string) *group {
	g := &group{name: name, tables: []string{name + "_a", name + "_b"}}
	g.log = [][]*candidate{{{world: world{}}}}
	return g
}

func (g *group) now() []*candidate { return g.log[len(g.log)-1] }

// worlds lists what the tables may be.
func (g *group) worlds() []world {
	g.mu.Lock()
	defer g.mu.Unlock()
	var list []world
	for _, c := range g.now() {
		list = append(list, c.world)
	}
	return list
}

// begin says that a change is about to be committed: from now on both outcomes can be seen.
func (g *group) begin(change func(world) world) (operation int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.operations++
	next := slices.Clone(g.now())
	for _, c := range g.now() {
		next = append(next, &candidate{change(c.world), c, g.operations})
	}
	g.log = append(g.log, next)
	return g.operations
}

// committed says that it was acknowledged. Whatever was in doubt before is settled with it, for every change after one in doubt
// conflicts with that: it either was there before or never will be.
func (g *group) committed(operation int) error {
	return g.change(fmt.Sprintf("%s: change %d was acknowledged, and nodes have shown before that it cannot come", g.name, operation), func(c *candidate) *candidate {
		if c.operation != operation {
			return nil
		}
		return &candidate{world: c.world}
	})
}

// failed says that it certainly did not happen.
func (g *group) failed(operation int) error {
	return g.change(fmt.Sprintf("%s: change %d is said not to have happened, and a node has shown it", g.name, operation), func(c *candidate) *candidate {
		if c.operation == operation {
			return nil
		}
		return c
	})
}

func (g *group) change(impossible string, to func(*candidate) *candidate) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	var next []*candidate
	for _, c := range g.now() {
		changed := to(c)
		if changed != nil && (changed.from != nil || !slices.ContainsFunc(next, changed.world.equals)) { // a change may change nothing
			next = append(next, changed)
		}
	}
	if len(next) == 0 {
		return errors.New(impossible)
	}
	g.log = append(g.log, next)
	return nil
}

// settled says that nothing which is in doubt can come any more, because all nodes are back: it is there, or never will be.
func (g *group) settled() {
	g.mu.Lock()
	defer g.mu.Unlock()
	var next []*candidate
	for _, c := range g.now() {
		if !slices.ContainsFunc(next, c.world.equals) {
			next = append(next, &candidate{world: c.world})
		}
	}
	g.log = append(g.log, next)
}

// moment is when a question began.
func (g *group) moment() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.log) - 1
}

// check demands that an answer is that of a world which was possible since the question began. If nothing changed meanwhile and the
// answer distinguishes worlds, it settles which one it is: a later answer must agree.
func (g *group) check(since int, answer string, of func(world) string, tellsApart bool) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	var wanted []string
	seen, looked := false, map[*candidate]bool{}
	for _, moment := range g.log[since:] {
		for _, c := range moment {
			if looked[c] {
				continue
			}
			looked[c] = true
			want := of(c.world)
			if seen = seen || want == answer; !slices.Contains(wanted, want) {
				wanted = append(wanted, want)
			}
		}
	}
	if !seen {
		return fmt.Errorf("the answer is\n%s\nand not\n%s", answer, strings.Join(wanted, "\nnor\n"))
	}
	if since == len(g.log)-1 && tellsApart {
		g.narrow(answer, of)
	}
	return nil
}

// narrow leaves what gives the answer, and what may still become of that. Requires mu.
func (g *group) narrow(answer string, of func(world) string) {
	is := map[*candidate]bool{}
	var next []*candidate
	for _, c := range g.now() { // whatever comes from another comes behind it
		if of(c.world) == answer || is[c.from] {
			is[c] = true
			next = append(next, c)
		}
	}
	if len(next) < len(g.now()) {
		g.log = append(g.log, next)
	}
}
