package model

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"text/tabwriter"

	"github.com/csmsql/csmsql/coherence"
)

// Moment is one step of a trace, with what it did and where it led. No prefetch is left out.
type Moment struct {
	Step   Step
	Effect Effect
	After  State
}

// Trace is a run of the model.
type Trace struct {
	Model     *Model
	Moments   []Moment
	Violation *Violation // what is broken at its end, or nil
}

// take appends one step.
func (t *Trace) take(step Step) {
	after := t.Last()
	step.Before, step.Varied = 0, 0
	var effect Effect
	t.Model.apply(&after, step, &effect)
	t.Moments = append(t.Moments, Moment{Step: step, Effect: effect, After: after})
}

// Last returns the state at the end.
func (t *Trace) Last() State {
	if len(t.Moments) == 0 {
		return State{}
	}
	return t.Moments[len(t.Moments)-1].After
}

// Trace makes a run of the path of a search: it finds the steps between the states and puts the prefetches and
// evictions back that the search left out. It panics if there is no such run: the reductions of the search would be
// wrong.
func (m *Model) Trace(r Result) *Trace {
	t := &Trace{Model: m, Violation: r.Violation}
	var at State
	for _, key := range r.Path[1:] {
		step, next := m.step(&at, key)
		t.restore(step)
		t.take(step)
		after := t.Last()
		if m.canonicalize(&after); !m.explicit && after != next {
			panic(fmt.Sprintf("coherence/model: the trace leads elsewhere after %v", step))
		}
		at = next
	}
	if v := r.Violation; v != nil && v.Invariant != C6 {
		t.Violation = m.broken(&at, v.Invariant) // the borrowers may have changed places
	}
	return t
}

// step finds the one that leads from s to a state named key.
func (m *Model) step(s *State, key Key) (found Step, next State) {
	m.successors(s, func(step Step, to State) {
		if found == (Step{}) && m.Key(&to) == key {
			found, next = step, to
		}
	})
	if found == (Step{}) {
		panic("coherence/model: a path with a hole")
	}
	return found, next
}

// restore does before step what the search took for granted: the lines that it chose are fetched, others that are as
// fresh as can be are gone.
func (t *Trace) restore(step Step) {
	for n := range Node(Nodes) {
		for line := range t.Model.lines() {
			last := t.Last()
			is := last.caches[n].lines[line]
			switch {
			case step.Varied>>line&1 == 0:
			case step.Before&beforeBit(n, line) != 0 && is == absent:
				t.take(Step{Kind: Prefetch, Node: n, Line: line})
			case step.Before&beforeBit(n, line) == 0 && t.Model.fresh(&last, n, line):
				t.take(Step{Kind: Evict, Node: n, Line: line})
			}
		}
	}
}

// Walk is a run of length steps at random: a third of them are anything, a third are no doing of the hardware, and
// a third go on with what was begun, without which hardly anything would ever be read.
func (m *Model) Walk(random *rand.Rand, length int) *Trace {
	t := &Trace{Model: m}
	for range length {
		last := t.Last()
		steps := m.enabled(&last)
		switch random.IntN(3) {
		case 0:
			steps = scripts(steps)
		case 1:
			steps = onward(steps)
		}
		t.take(steps[random.IntN(len(steps))])
	}
	return t
}

// scripts returns the steps that are no doing of the hardware, if there are any.
func scripts(steps []Step) []Step {
	return only(steps, func(k Kind) bool { return k < Prefetch })
}

// onward returns the steps that give nothing up, if there are any.
func onward(steps []Step) []Step {
	return only(steps, func(k Kind) bool {
		switch k {
		case Abort, Discard, Forsake, FenceOff, Mismatch, Fail, Expire, Restart, Prefetch, WriteBack, Evict, Land:
			return false
		}
		return true
	})
}

func only(steps []Step, wanted func(Kind) bool) []Step {
	kept := make([]Step, 0, len(steps))
	for _, s := range steps {
		if wanted(s.Kind) {
			kept = append(kept, s)
		}
	}
	if len(kept) == 0 {
		return steps
	}
	return kept
}

// String prints the run: one line for each step, with what is in memory and in the caches afterwards. Generations are
// numbered as they come, "old" is anything older or foreign, and * marks a modified line.
func (t *Trace) String() string {
	var out strings.Builder
	table := tabwriter.NewWriter(&out, 0, 0, 2, ' ', 0)
	fmt.Fprint(table, "step\twho\twhat\tmemory")
	for n := range Node(Nodes) {
		fmt.Fprintf(table, "\t%v", n)
	}
	fmt.Fprintln(table)
	names := numbering{}
	for i, moment := range t.Moments {
		who, what := t.describe(i, &names)
		fmt.Fprintf(table, "%d\t%s\t%s\t%s", i+1, who, what, names.memory(t.Model, &moment.After))
		for n := range Node(Nodes) {
			fmt.Fprintf(table, "\t%s", names.cache(t.Model, &moment.After, n))
		}
		fmt.Fprintln(table)
	}
	if v := t.Violation; v != nil {
		last := t.Last()
		fmt.Fprintf(table, "%d\t%s", len(t.Moments)+1, names.violation(t.Model, &last, v))
		fmt.Fprintln(table)
	}
	table.Flush()
	return trimLines(out.String())
}

// trimLines takes the blanks away that end the lines of a table.
func trimLines(s string) string {
	lines := strings.Split(s, "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return strings.Join(lines, "\n")
}

// numbering knows which generation is in which slot, as a trace is read from its beginning.
type numbering struct {
	last  int
	slots [slots]int
}

func (n *numbering) value(v value) string {
	if v == 0 {
		return "old"
	}
	return fmt.Sprintf("g%d", n.slots[v-1])
}

func (n *numbering) memory(m *Model, s *State) string {
	var parts []string
	for a := range m.addresses {
		parts = append(parts, n.value(s.memory[a]))
	}
	return strings.Join(parts, " ")
}

func (n *numbering) cache(m *Model, s *State, node Node) string {
	var parts []string
	c := &s.caches[node]
	for a := range m.addresses {
		switch c.lines[m.lineOf(a)] {
		case absent:
			parts = append(parts, "-")
		case clean:
			parts = append(parts, n.value(c.values[a]))
		case dirty:
			parts = append(parts, n.value(c.values[a])+"*")
		}
	}
	return strings.Join(parts, " ")
}

func (n *numbering) violation(m *Model, s *State, v *Violation) string {
	if v.Invariant != C1 {
		return "\t" + v.String()
	}
	got := n.value(m.load(s, v.Node, v.Address))
	return fmt.Sprintf("%v\tloads place %d of g%d and gets %s", v.Node, v.Address, n.slots[v.Slot], got)
}

// describe says in words what step i of the trace is.
func (t *Trace) describe(i int, names *numbering) (who, what string) {
	step, before := t.Moments[i].Step, State{}
	if i > 0 {
		before = t.Moments[i-1].After
	}
	after := &t.Moments[i].After
	g := before.generations[step.Slot]
	if step.Kind == Reallocate && step.First != step.Slot {
		names.last++
		names.slots[step.First] = names.last
	}
	if step.Kind == Grant {
		names.last++
		names.slots[step.Slot] = names.last
		g = after.generations[step.Slot]
	}
	if before.generations[ghost] == (generation{}) && after.generations[ghost] != (generation{}) {
		names.slots[ghost] = names.slots[step.Slot]
	}
	d := description{step: step, g: &g, name: fmt.Sprintf("g%d", names.slots[step.Slot]), after: after, everyCache: t.Model.effects.earlyFlush}
	d.looks, d.reads = t.Model.looks(&g), t.Model.effects.readsBeside
	switch {
	case step.Kind == Restart:
		return "lender", []string{"is started again", "is started again, its machine, too"}[step.Line]
	case step.Kind >= Prefetch || step.Kind == Acquire || step.Kind == Acquired || step.Kind > Lift && step.Kind < Restart || step.Kind == Beside:
		return step.Node.String(), d.reader()
	case step.Kind == Zero || step.Kind == DropAhead || step.Kind == DroppedAhead:
		return "home", d.idle()
	case step.Kind == FenceOff:
		return "lender", fmt.Sprintf("cuts %v off: its caches are lost", step.Node)
	}
	return d.writer()
}

type description struct {
	step  Step
	g     *generation // before the step
	name  string
	after *State

	everyCache bool // flushes when an extent is handed over
	looks      bool // the lender, before it seals
	reads      bool // a process before another one has acquired
}

// then names what follows the last of several flushes.
func then(more uint8, what string) string {
	if more != 0 {
		return ""
	}
	return "; fence; " + what
}

func (d *description) places() string {
	if d.g.count == 1 {
		return fmt.Sprintf("place %d", d.g.first)
	}
	return fmt.Sprintf("places %d and %d", d.g.first, d.g.first+1)
}

// idle is what happens to memory that is free.
func (d *description) idle() string {
	places := (&description{g: &generation{first: d.step.First, count: d.step.Count}}).places()
	switch {
	case d.step.Kind == Zero:
		return "zeroes " + places + ", which is free"
	case d.step.Kind == DroppedAhead && d.after.ahead == 0:
		return fmt.Sprintf("flush of line %d done; fence; takes the places for untouched", d.step.Line)
	case d.step.Kind == DroppedAhead:
		return fmt.Sprintf("flush of line %d done", d.step.Line)
	case d.after.ahead == 0:
		return "flushes " + places + " ahead, does not wait"
	}
	return "flushes " + places + " ahead"
}

func (d *description) writer() (who, what string) {
	writer, now := d.g.writer.String(), &d.after.generations[d.step.Slot]
	switch d.step.Kind {
	case Grant:
		then := ""
		switch {
		case now.phase == preparing:
			then = ", flushes its own lines first"
		case d.everyCache:
			then = "; every cache flushes"
		}
		untouched := d.step.Untouched
		switch {
		case untouched == 0:
			return "lender", fmt.Sprintf("zeroes %s, grants %s to %v%s", d.places(), d.name, writer, then)
		case now.phase == writing:
			return "lender", fmt.Sprintf("grants %s, whose lines it dropped, as %s to %v", d.places(), d.name, writer)
		}
		return "lender", fmt.Sprintf("grants %s, places %0*b of which it dropped, as %s to %v%s", d.places(), Addresses, untouched, d.name, writer, then)
	case Store:
		return writer, fmt.Sprintf("stores %s at place %d", d.name, d.g.first+d.g.stored)
	case Clean:
		return writer, "has stored all; flushes" + d.withoutFlush(now)
	case Abort:
		return writer, "gives " + d.name + " up; flushes" + d.withoutFlush(now)
	case Shrink:
		return writer, "gives the tail of " + d.name + " back; flushes" + d.withoutFlush(now)
	case Seal:
		if d.looks {
			return "lender", "reads right bytes, seals " + d.name
		}
		return "lender", "seals " + d.name
	case Flushed:
		if d.g.phase == preparing {
			return "home", fmt.Sprintf("flush of line %d done%s", d.step.Line, then(now.flushing, "hands over"))
		}
		if d.g.phase == writing {
			return writer, fmt.Sprintf("flush of line %d done", d.step.Line)
		}
		if d.g.phase == resting && d.g.state != coherence.Aborting {
			return writer, fmt.Sprintf("flush of line %d done, late", d.step.Line)
		}
		return writer, fmt.Sprintf("flush of line %d done%s", d.step.Line, then(now.flushing, "reports"))
	case HomeFlushed:
		return "home", fmt.Sprintf("flush of line %d done%s", d.step.Line, then(now.homeFlushing, "home is clean"))
	case Grow:
		return writer, "wants " + d.name + " moved to a longer extent; flushes" + d.withoutFlush(now)
	case Reallocate:
		if d.step.First == d.g.first {
			return "lender", "has no room for " + d.name
		}
		return "lender", fmt.Sprintf("copies %s to place %d, which is %s's then", d.name, d.step.First, writer)
	case Replicate:
		return writer, fmt.Sprintf("stores in %s what it loads at place %d", d.name, 1-d.g.first)
	case Stream:
		return writer, fmt.Sprintf("stores %s at place %d, past its cache", d.name, d.g.first+d.g.stored)
	case Pass:
		return writer, fmt.Sprintf("flushes place %d, which its clean leaves out", d.step.First)
	case LateStore:
		if d.g.state == coherence.Granted {
			return writer, fmt.Sprintf("stores into place %d again", d.step.First)
		}
		return writer, fmt.Sprintf("stores into %s, which is published", d.name)
	}
	verbs := map[Kind]string{Reject: "reads wrong bytes and rejects", Publish: "publishes", Discard: "discards", Forsake: "forsakes", Retire: "retires", Lift: "lifts the quarantine of"}
	return "lender", verbs[d.step.Kind] + " " + d.name
}

// withoutFlush says that a flush is missing, or that it is not waited for.
func (d *description) withoutFlush(now *generation) string {
	switch {
	case now.phase == cleaning || now.phase == shrinking || now.phase == growing || now.phase == aborting || now.state == coherence.Aborting:
		return ""
	case now.flushing != 0:
		return ", does not wait, reports"
	}
	return " nothing; reports"
}

func (d *description) reader() string {
	r := &d.after.readers[d.step.Node][d.step.Slot]
	switch d.step.Kind {
	case Acquire:
		switch {
		case r.state == acquiring:
			return "pins " + d.name + "; flushes"
		case r.flushing != 0:
			return "pins " + d.name + "; flushes, does not wait, reads"
		}
		return "pins " + d.name + "; reads without a flush"
	case Acquired:
		if r.state == acquiring {
			return fmt.Sprintf("flush of line %d done", d.step.Line)
		}
		return fmt.Sprintf("flush of line %d done; fence; reads", d.step.Line)
	case Beside:
		if r.flushing == 0 || r.state == reading && d.reads {
			return "another process reads " + d.name + ", which is being acquired"
		}
		return "another process acquires " + d.name + ", too; flushes"
	case Mismatch:
		return "fence; finds a wrong checksum"
	case Fail:
		return "gives up acquiring " + d.name
	case Unpin:
		return "unpins " + d.name + ", remembers it"
	case Release:
		return "releases and unpins " + d.name
	case Expire:
		return "dies; its lease ends"
	case Prefetch:
		return fmt.Sprintf("prefetches line %d", d.step.Line)
	case WriteBack:
		return fmt.Sprintf("writes line %d back", d.step.Line)
	case Land:
		return fmt.Sprintf("line %d, which it had evicted, arrives in memory", d.step.Line)
	case Drain:
		return fmt.Sprintf("its store past the cache into place %d is done, %s", d.step.Line, [...]string{"in memory", "in the cache"}[d.step.Lines])
	}
	return fmt.Sprintf("evicts line %d", d.step.Line)
}
