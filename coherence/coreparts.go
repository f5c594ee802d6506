package coherence

import (
	"fmt"
	"math"
	"slices"

	"github.com/csmsql/csmsql/memregion"
)

// pin is the promise behind C1 and C5: while it stands the bytes stay. A retired generation can be pinned again by a
// domain that holds it: its bytes stay anyway, and a second query over the same snapshot needs no newer one.
func (c *Core) pin(e Event) ([]Action, error) {
	if e.Domain == "" {
		return nil, fmt.Errorf("%w: a pin without a domain", ErrInput)
	}
	set := c.pins[e.Domain]
	if set == nil {
		set = newPinSet()
	}
	for i, g := range e.Generations {
		if err := c.pinOne(set, g, e.Kind); err != nil {
			c.unpinAgain(set, e.Generations[:i])
			return nil, err
		}
	}
	c.pinned += len(e.Generations)
	c.keep(e.Domain, set)
	return nil, nil
}

func (c *Core) pinOne(set *pinSet, g Generation, kind EventKind) error {
	x, err := c.find(g)
	switch {
	case err != nil:
		return err
	case x.state == Retired && !set.holds(g):
		return fmt.Errorf("%w: generation %d", ErrRetired, g)
	case x.state != Published && x.state != Retired:
		return &StateError{Generation: g, State: x.state, Event: kind}
	case x.pins == math.MaxUint32:
		return fmt.Errorf("%w: generation %d has %d pins", ErrInput, g, x.pins)
	}
	x.pins++
	set.add(g)
	return nil
}

// unpinAgain undoes a pin step that failed half way.
func (c *Core) unpinAgain(set *pinSet, gens []Generation) {
	for _, g := range gens {
		set.drop(g)
		c.extents.find(g).pins--
	}
}

// unpin is step 8.
func (c *Core) unpin(e Event) ([]Action, error) {
	set := c.pins[e.Domain]
	if set == nil && len(e.Generations) > 0 {
		return nil, fmt.Errorf("%w: domain %q holds no pin", ErrNotPinned, e.Domain)
	}
	for i, g := range e.Generations {
		if !set.drop(g) {
			for _, done := range e.Generations[:i] {
				set.add(done)
			}
			return nil, fmt.Errorf("%w: generation %d, domain %q", ErrNotPinned, g, e.Domain)
		}
	}
	var list []Action
	for _, g := range e.Generations {
		list = c.unpinned(list, g, 1)
	}
	c.keep(e.Domain, set)
	return list, nil
}

// unpinned counts pins down that a domain's set has lost already.
func (c *Core) unpinned(list []Action, g Generation, pins uint32) []Action {
	x := c.extents.find(g)
	x.pins -= pins
	c.pinned -= int(pins)
	if x.pins == 0 && x.state == Retired {
		list = append(list, c.reclaim(x))
	}
	return list
}

func (c *Core) expire(e Event) ([]Action, error) {
	set := c.pins[e.Domain]
	if set == nil {
		return nil, nil
	}
	delete(c.pins, e.Domain)
	held := make([]Generation, 0, set.held)
	set.each(func(g Generation, _ uint32) { held = append(held, g) })
	slices.Sort(held)
	var list []Action
	for _, g := range held {
		list = c.unpinned(list, g, set.page(g).counts[g%countersPerPage])
	}
	return list, nil
}

// keep remembers a domain exactly while it holds something.
func (c *Core) keep(d Domain, set *pinSet) {
	if set == nil {
		return
	}
	if set.held == 0 {
		delete(c.pins, d)
		return
	}
	c.pins[d] = set
}

// find returns the living extent of g or an error that says which kind of dead it is.
func (c *Core) find(g Generation) (*extent, error) {
	if x := c.extents.find(g); x != nil {
		return x, nil
	}
	if g == 0 || g >= c.next {
		return nil, fmt.Errorf("%w: %d was never granted", ErrUnknown, g)
	}
	return nil, fmt.Errorf("%w: %d is over, its memory went back", ErrUnknown, g)
}

// at returns the extent of e.Generation if t is legal for it.
func (c *Core) at(e Event, t transition) (*extent, error) {
	x, err := c.find(e.Generation)
	if err != nil {
		return nil, err
	}
	if _, ok := x.state.next(t); !ok {
		return nil, &StateError{Generation: e.Generation, State: x.state, Event: e.Kind}
	}
	return x, nil
}

// all checks every generation of a bulk event and that none is named twice.
func (c *Core) all(e Event, check func(*extent) error) (err error) {
	seen := 0
	for _, g := range e.Generations {
		x, missing := c.find(g)
		if err = missing; err == nil && x.marked {
			err = fmt.Errorf("%w: generation %d is named twice", ErrInput, g)
		}
		if err == nil {
			err = check(x)
		}
		if err != nil {
			break
		}
		x.marked = true
		seen++
	}
	for _, g := range e.Generations[:seen] {
		c.extents.find(g).marked = false
	}
	return err
}

// move takes x along t and keeps the census.
func (c *Core) move(x *extent, t transition) {
	if x.state != Free {
		c.count[x.state]--
		c.bytes[x.state] -= x.memory.Length
	}
	x.move(t)
	if x.state != Free {
		c.count[x.state]++
		c.bytes[x.state] += x.memory.Length
	}
}

// reclaim ends a generation: afterwards nothing of it is known but that its number is spent.
func (c *Core) reclaim(x *extent) Action {
	done := Action{Kind: ActionReleaseMemory, Generation: x.identity, Range: x.memory, Owner: x.owner}
	c.move(x, toReclaim)
	c.pages.free(done.Range)
	c.extents.remove(done.Generation, x)
	return done
}

// View is what may be known about one generation.
type View struct {
	State  State
	Owner  string
	Writer Domain
	Range  memregion.Range
	Seal   Seal
	Pins   int // over all domains
}

// View returns the state of g; Free means that it is not alive.
func (c *Core) View(g Generation) View {
	x := c.extents.find(g)
	if x == nil {
		return View{}
	}
	return View{State: x.state, Owner: x.owner, Writer: x.writer, Range: x.memory, Seal: x.seal, Pins: int(x.pins)}
}

// Each visits every generation that is alive, in no order.
func (c *Core) Each(visit func(Generation, View)) {
	c.extents.each(func(g Generation, x *extent) {
		visit(g, View{State: x.state, Owner: x.owner, Writer: x.writer, Range: x.memory, Seal: x.seal, Pins: int(x.pins)})
	})
}

// Census counts what is alive.
type Census struct {
	Extents [stateCount]int   // by State
	Bytes   [stateCount]int64 // by State
	Pins    int               // over all domains and generations
	Domains int               // that hold at least one pin
	Next    Generation        // the next grant's
}

// Census returns the present counts.
func (c *Core) Census() Census {
	return Census{Extents: c.count, Bytes: c.bytes, Pins: c.pinned, Domains: len(c.pins), Next: c.next}
}

// Held is how many generations d holds.
func (c *Core) Held(d Domain) int {
	if set := c.pins[d]; set != nil {
		return set.held
	}
	return 0
}
