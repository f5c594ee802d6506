package coherence_test

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"

	"github.com/csmsql/csmsql/coherence"
	"github.com/csmsql/csmsql/coherence/model"
	"github.com/csmsql/csmsql/memregion"
)

// replay plays a trace of the model on the real cores and on the emulated machine, and compares after each step what the
// cores ordered, in which states they are, and what lies in memory and in every cache (X1, X2).
type replay struct {
	*machine
	trace   *model.Trace
	class   coherence.Class
	core    *coherence.Core
	names   [model.Nodes]coherence.Domain
	readers [model.Nodes]*coherence.ReaderCore
	writers map[int]*coherence.WriterCore // by slot
	numbers [model.Addresses + 1]coherence.Generation
	ordered map[thread][]coherence.Action // by the cores, and not done yet
	orphans map[int]model.Node            // by slot, with the writer: a former process of the lender granted it, and its journal, not the core, has it
}

// thread is whose actions: a generation's lender and writer, or a reader of it.
type thread struct {
	slot   int
	reader int // -1: the lender or the writer
}

const (
	everySlot = -1
	freeSlot  = -2 // memory that is free
)

func newReplay(class coherence.Class, trace *model.Trace, line int) *replay {
	r := &replay{trace: trace, class: class, writers: map[int]*coherence.WriterCore{}, ordered: map[thread][]coherence.Action{}, orphans: map[int]model.Node{}}
	for n := range model.Node(model.Nodes) {
		r.names[n] = coherence.Domain(n.String())
		r.readers[n] = coherence.NewReaderCore(class)
	}
	r.machine = newMachine(class, line, model.Addresses, nil, r.names[:]...)
	var err error
	r.core, err = coherence.NewCore(coherence.CoreConfig{Class: class, Home: "home", Unreserved: true, Capacity: int64(len(r.memory))})
	if err != nil {
		panic(err)
	}
	return r
}

// run plays the whole trace on cores and machine.
func (r *replay) run() error {
	for i, moment := range r.trace.Moments {
		err := r.step(moment)
		r.touch(moment)
		if err == nil {
			err = r.compare(&moment.After)
		}
		if err == nil {
			err = r.compareBytes(&moment.After)
		}
		if err != nil {
			return fmt.Errorf("step %d, %v: %w\n%v", i+1, moment.Step, err, (&model.Trace{Model: r.trace.Model, Moments: r.trace.Moments[:i+1]}))
		}
	}
	return nil
}

func pages(first, count int) memregion.Range {
	return memregion.Range{Offset: int64(first) * memregion.PageSize, Length: int64(count) * memregion.PageSize}
}

// places are pages as a set of bits.
func places(set uint8) (list []memregion.Range) {
	for a := range model.Addresses {
		if set>>a&1 == 1 {
			list = append(list, pages(a, 1))
		}
	}
	return list
}

// step offers the cores the events and compares their actions with the model's operations.
func (r *replay) step(moment model.Moment) error {
	step := moment.Step
	slot, n := int(step.Slot), step.Node
	w := thread{slot, -1}
	switch step.Kind {
	case model.Acquire, model.Acquired, model.Mismatch, model.Fail, model.Unpin, model.Release:
		w.reader = int(n)
	case model.FenceOff, model.Expire, model.Restart:
		w.slot = everySlot
	case model.Zero, model.DropAhead, model.DroppedAhead:
		w.slot = freeSlot
	}
	if err := r.begin(w, step); err != nil {
		return err
	}
	want := moment.Effect.Operations
	if w.slot == everySlot { // several generations at once, in an order that means nothing
		slices.SortFunc(want, func(a, b model.Operation) int { return cmp.Compare(a.First, b.First) })
		slices.SortFunc(r.ordered[w], func(a, b coherence.Action) int { return cmp.Compare(a.Range.Offset, b.Range.Offset) })
	}
	for _, o := range want {
		if len(r.ordered[w]) == 0 {
			return fmt.Errorf("the cores order nothing, the model %v", o.Kind)
		}
		a := r.ordered[w][0]
		r.ordered[w] = r.ordered[w][1:]
		if err := r.same(a, o); err != nil {
			return err
		}
		if err := r.done(w, a, step.Kind); err != nil {
			return err
		}
	}
	return r.rest(w, &moment.After)
}

// same compares one action of the cores with one operation of the model.
func (r *replay) same(a coherence.Action, o model.Operation) error {
	if a.Kind != o.Kind || a.Step != o.Step {
		return fmt.Errorf("the cores order %v, the model %v (%v)", a, o.Kind, o.Step)
	}
	if (a.Kind == coherence.ActionFenceStore || a.Kind == coherence.ActionFenceFull || a.Kind == coherence.ActionFlush) && !a.Paid {
		return fmt.Errorf("%v is not paid", a)
	}
	place := a.Kind == coherence.ActionFlush && a.Step != coherence.StepAcquire || // a reader flushes its caller's data
		a.Kind == coherence.ActionHandOver || a.Kind == coherence.ActionReleaseMemory
	if want := pages(int(o.First), int(o.Count)); place && a.Range != want {
		return fmt.Errorf("the cores order %v, the model %v", a, want)
	}
	return nil
}

// rest looks at what the cores ordered and the model did not: it must be waiting for a flush, or there is nothing.
func (r *replay) rest(w thread, after *model.State) error {
	waits := r.waits(w, after)
	if left := r.ordered[w]; (len(left) > 0) != waits {
		return fmt.Errorf("the cores have still ordered %v; the model waits for a flush: %v", left, waits)
	}
	return nil
}

func (r *replay) waits(w thread, after *model.State) bool {
	switch {
	case w.slot == everySlot:
		return false
	case w.slot == freeSlot:
		return after.DroppingAhead()
	case w.reader >= 0:
		return after.Acquiring(model.Node(w.reader), w.slot)
	}
	return after.Flushing(w.slot) && !after.Writing(w.slot) // a copy waits for its flushes at the clean
}

func (r *replay) writing(n model.Node, slot int) coherence.Writing {
	return coherence.Writing{Region: 1, Generation: r.numbers[slot]}
}

// tell offers the lender an event and keeps its actions.
func (r *replay) tell(w thread, e coherence.Event) error {
	if _, orphan := r.orphans[w.slot]; orphan { // the core knows nothing of it
		return nil
	}
	list, err := r.core.Step(e)
	r.ordered[w] = append(r.ordered[w], list...)
	return err
}

// begin is what a step means to the cores.
func (r *replay) begin(w thread, step model.Step) error {
	g, n := r.numbers[step.Slot], step.Node
	gens := []coherence.Generation{g}
	simple := map[model.Kind]coherence.Event{
		model.Seal:    {Kind: coherence.EventSeal, Generation: g},
		model.Reject:  {Kind: coherence.EventSeal, Generation: g},
		model.Publish: {Kind: coherence.EventPublish, Generations: gens},
		model.Discard: {Kind: coherence.EventDiscard, Generations: gens},
		model.Retire:  {Kind: coherence.EventRetire, Generations: gens},
		model.Lift:    {Kind: coherence.EventLift, Generations: gens},
		model.Unpin:   {Kind: coherence.EventUnpin, Domain: r.names[n], Generations: gens},
		model.Expire:  {Kind: coherence.EventExpire, Domain: r.names[n]},
		model.Grant:   {Kind: coherence.EventGrant, Owner: "t", Domain: r.names[n], Range: pages(int(step.First), int(step.Count)), Untouched: places(step.Untouched)},
	}
	if e, ok := simple[step.Kind]; ok {
		if step.Kind == model.Expire {
			r.readers[n] = coherence.NewReaderCore(r.class) // its process is gone
			r.forget(n)
		}
		return r.tell(w, e)
	}
	return r.beginMore(w, step)
}

func (r *replay) beginMore(w thread, step model.Step) (err error) {
	g, n := r.numbers[step.Slot], step.Node
	var list []coherence.Action
	switch step.Kind {
	case model.DropAhead:
		list = coherence.DropAhead(r.class, pages(int(step.First), int(step.Count)))
	case model.Clean:
		list, err = r.writers[w.slot].Clean()
	case model.Abort:
		if err = r.tell(w, coherence.Event{Kind: coherence.EventAbort, Generation: g}); err == nil {
			list, err = r.writers[w.slot].Abort()
		}
	case model.Shrink:
		list, err = r.writers[w.slot].Shrink(memregion.PageSize)
	case model.Forsake:
		homeCleaning := len(r.ordered[w]) > 0
		r.ordered[w] = nil
		if err = r.tell(w, coherence.Event{Kind: coherence.EventAbort, Generation: g}); homeCleaning && err == nil {
			if _, late := r.core.Step(coherence.Event{Kind: coherence.EventHomeCleaned, Generation: g}); late == nil {
				return fmt.Errorf("a late home clean of generation %d is taken", g)
			}
		}
	case model.FenceOff:
		return r.fenceOff(w, n)
	case model.Restart:
		return r.restart()
	case model.Grow: // as borrowing.Grant.Grow: what it has is flushed as for a clean, and nothing is reported
		stored := coherence.NewWriterCore(r.class, g, r.writers[w.slot].Range())
		if list, err = stored.Clean(); err == nil {
			list = list[:len(list)-1]
		}
	case model.Reallocate:
		return r.reallocate(w, step)
	case model.Pass: // as CopyInto: a copier flushes by itself
		place := pages(int(step.First), 1)
		r.writers[w.slot].Flushed(place)
		list = []coherence.Action{{Kind: coherence.ActionFlush, Step: coherence.StepClean, Paid: true, Generation: g, Range: place}}
	case model.Acquire:
		if err = r.tell(w, coherence.Event{Kind: coherence.EventPin, Domain: r.names[n], Generations: []coherence.Generation{g}}); err == nil {
			list = r.readers[n].Acquire(r.writing(n, w.slot))
		}
	case model.Fail:
		r.ordered[w] = nil
		r.readers[n].Failed(r.writing(n, w.slot))
		return r.tell(w, r.unpin(n, g))
	case model.Release:
		r.readers[n].Release(r.writing(n, w.slot))
		return r.tell(w, r.unpin(n, g))
	}
	r.ordered[w] = append(r.ordered[w], list...)
	return err
}

func (r *replay) unpin(n model.Node, g coherence.Generation) coherence.Event {
	return coherence.Event{Kind: coherence.EventUnpin, Domain: r.names[n], Generations: []coherence.Generation{g}}
}

// fenceOff takes a host away, which comes back as another domain.
func (r *replay) fenceOff(w thread, n model.Node) error {
	for slot := range model.Addresses {
		if writer, orphan := r.orphans[slot]; orphan && writer == n {
			r.ordered[thread{slot, -1}] = nil
		}
		if view := r.core.View(r.numbers[slot]); view.Writer == r.names[n] && (view.State < coherence.Sealed || view.State == coherence.Aborting) {
			r.ordered[thread{slot, -1}] = nil
		}
	}
	if err := r.tell(w, coherence.Event{Kind: coherence.EventFenceOff, Domain: r.names[n]}); err != nil {
		return err
	}
	err := r.tell(w, coherence.Event{Kind: coherence.EventExpire, Domain: r.names[n]})
	r.names[n] += "'"
	r.readers[n] = coherence.NewReaderCore(r.class)
	r.forget(n)
	return err
}

// restart is the next process of the lender: it adopts what was published, and keeps what others may still write away from its core.
func (r *replay) restart() (err error) {
	next := r.core.Census().Next
	former := r.core
	r.core, err = coherence.NewCore(coherence.CoreConfig{Class: r.class, Home: "home", First: next, Unreserved: true, Capacity: int64(len(r.memory))})
	if err != nil {
		return err
	}
	r.readers[model.Home] = coherence.NewReaderCore(r.class)
	r.forget(model.Home)
	for slot := range model.Addresses {
		w, view := thread{slot, -1}, former.View(r.numbers[slot])
		if _, orphan := r.orphans[slot]; orphan {
			continue
		}
		switch {
		case view.State == coherence.Published:
			_, err = r.core.Step(coherence.Event{Kind: coherence.EventAdopt, Owner: "t", Generation: r.numbers[slot], Range: view.Range})
		case (view.State == coherence.Granted || view.State == coherence.Aborting) && view.Writer != "home" && r.handedOver(slot):
			r.orphans[slot] = model.Node(slices.Index(r.names[:], view.Writer))
		default:
			r.ordered[w] = nil
		}
		if err != nil {
			return err
		}
	}
	delete(r.ordered, thread{freeSlot, -1})
	return nil
}

// handedOver reports whether a grant reached its writer: the lender that prepares has still ordered it.
func (r *replay) handedOver(slot int) bool {
	return !slices.ContainsFunc(r.ordered[thread{slot, -1}], func(a coherence.Action) bool { return a.Kind == coherence.ActionHandOver })
}

// reallocate is what lending and borrowing have the cores do: a grant, a copy, and the end of the former one. The copy's own flushes are the model's.
func (r *replay) reallocate(w thread, step model.Step) error {
	if int(step.First) == w.slot {
		return nil
	}
	list, err := r.core.Step(coherence.Event{Kind: coherence.EventGrant, Owner: "t", Domain: r.names[step.Node], Range: pages(int(step.First), 1)})
	if err != nil {
		return err
	}
	flushed := false
	for _, a := range list {
		flushed = flushed || a.Kind == coherence.ActionFlush && a.Step == coherence.StepPrepare && a.Paid && a.Range == pages(int(step.First), 1)
		if a.Kind == coherence.ActionHandOver {
			if err := r.done(thread{int(step.First), -1}, a, model.Grant); err != nil {
				return err
			}
		}
	}
	if !flushed {
		return fmt.Errorf("the cores do not prepare the place that a writer is moved to: %v", list)
	}
	if _, err := r.core.Step(coherence.Event{Kind: coherence.EventAbort, Generation: r.numbers[w.slot]}); err != nil {
		return err
	}
	if _, err := r.writers[w.slot].Abort(); err != nil {
		return err
	}
	_, err = r.core.Step(coherence.Event{Kind: coherence.EventCleaned, Generation: r.numbers[w.slot]})
	return err
}

// forget drops what the readers of a dead process still had to do.
func (r *replay) forget(n model.Node) {
	for slot := range len(r.numbers) {
		delete(r.ordered, thread{slot, int(n)})
	}
}

// done is what follows an action that was done: a message, or an outcome.
func (r *replay) done(w thread, a coherence.Action, kind model.Kind) error {
	if w.slot < 0 {
		return nil
	}
	g := r.numbers[w.slot]
	switch {
	case a.Kind == coherence.ActionHandOver:
		r.numbers[w.slot] = a.Generation
		writer := coherence.NewWriterCore(r.class, a.Generation, a.Range)
		r.writers[w.slot] = &writer
	case a.Kind == coherence.ActionFenceFull && a.Step == coherence.StepPrepare && kind == model.Grant:
		r.numbers[w.slot] = a.Generation
	case a.Kind == coherence.ActionReport && r.writers[w.slot].Writing(): // it shrinks, and an orphan's lender does not hear of it
		left := r.writers[w.slot].Range()
		left.Length = memregion.PageSize
		r.writers[w.slot].Shrunk(left)
		return r.tell(w, coherence.Event{Kind: coherence.EventShrunk, Generation: g, Range: left})
	case a.Kind == coherence.ActionReport:
		return r.tell(w, coherence.Event{Kind: coherence.EventCleaned, Generation: g})
	case a.Kind == coherence.ActionFenceFull && a.Step == coherence.StepHomeClean && len(r.ordered[w]) == 0:
		return r.tell(w, coherence.Event{Kind: coherence.EventHomeCleaned, Generation: g})
	case a.Kind == coherence.ActionVerify && kind == model.Reject:
		return r.tell(w, coherence.Event{Kind: coherence.EventAbort, Generation: g})
	case a.Kind == coherence.ActionVerify && kind == model.Seal:
		if err := r.tell(w, coherence.Event{Kind: coherence.EventVerified, Generation: g}); err != nil {
			return err
		}
		return r.tell(w, coherence.Event{Kind: coherence.EventSeal, Generation: g})
	case a.Kind == coherence.ActionVerify && kind == model.Mismatch:
		list := r.readers[w.reader].Mismatched(r.writing(model.Node(w.reader), w.slot))
		r.ordered[w] = append(r.ordered[w], list...)
	case a.Kind == coherence.ActionVerify:
		r.readers[w.reader].Verified(r.writing(model.Node(w.reader), w.slot))
	case a.Kind == coherence.ActionGiveUp:
		return r.tell(w, r.unpin(model.Node(w.reader), g))
	}
	return nil
}

// compare holds the states of the cores against the model's.
func (r *replay) compare(s *model.State) error {
	pins, live := 0, 0
	for slot := range model.Addresses {
		state, first, count, writer := s.Generation(slot)
		view := r.core.View(r.numbers[slot])
		if _, orphan := r.orphans[slot]; orphan && state == coherence.Quarantined {
			if s.Writing(slot) && !r.writers[slot].Writing() {
				return fmt.Errorf("orphan %d may not be written, the model says it may", r.numbers[slot])
			}
			continue
		}
		delete(r.orphans, slot) // it went back
		if view.State != state {
			return fmt.Errorf("generation %d is %v, the model says %v", r.numbers[slot], view.State, state)
		}
		if state == coherence.Free {
			continue
		}
		live++
		held := 0
		for n := range model.Node(model.Nodes) {
			pinned, loads, remembered := s.Reader(n, slot)
			if pinned {
				held++
			}
			if got := r.readers[n].Held(r.writing(n, slot)); got != remembered || loads && !got {
				return fmt.Errorf("%v has acquired generation %d: %v, the model says %v", n, r.numbers[slot], got, remembered)
			}
		}
		if view.Range != pages(first, count) || view.Pins != held {
			return fmt.Errorf("generation %d has %v and %d pins, the model says %v and %d", r.numbers[slot], view.Range, view.Pins, pages(first, count), held)
		}
		if s.Writing(slot) && (!r.writers[slot].Writing() || view.Writer != r.names[writer]) {
			return fmt.Errorf("generation %d may not be written by %v, the model says it may", r.numbers[slot], writer)
		}
		pins += held
	}
	census := r.core.Census()
	alive := 0
	for _, count := range census.Extents {
		alive += count
	}
	if alive != live || census.Pins != pins {
		return fmt.Errorf("%d extents and %d pins, the model says %d and %d", alive, census.Pins, live, pins)
	}
	return nil
}

// touch does to the machine what the model did to its caches.
func (r *replay) touch(moment model.Moment) {
	for _, a := range moment.Effect.Accesses {
		c := r.cpus[a.Node]
		switch a.Kind {
		case model.AccessFetch:
			c.fetch(int(a.Place))
		case model.AccessStore:
			at := int(a.Place) * memregion.PageSize
			c.store(at, r.content(int(a.Slot), int(a.Place)))
		case model.AccessWriteBack:
			c.writeBack(int(a.Place))
		case model.AccessDrop:
			c.drop(int(a.Place))
		case model.AccessLose:
			c.lose()
		case model.AccessEvict:
			c.evict(int(a.Place))
		case model.AccessLand:
			c.land(int(a.Place))
		case model.AccessPass:
			copy(r.memory[int(a.Place)*memregion.PageSize:], r.content(int(a.Slot), int(a.Place)))
		}
	}
}

// content is what the generation in a slot has at a place, or zeroes.
func (r *replay) content(slot, place int) []byte {
	if slot < 0 {
		return make([]byte, memregion.PageSize)
	}
	from := place * memregion.PageSize
	return value(r.numbers[slot], from, from+memregion.PageSize)
}

// compareBytes holds memory and caches against the model's.
func (r *replay) compareBytes(s *model.State) error {
	for place := range model.Addresses {
		from, to := place*memregion.PageSize, (place+1)*memregion.PageSize
		if err := r.holds(r.memory[from:to], s, s.Memory(place), place); err != nil {
			return fmt.Errorf("memory, place %d: %w", place, err)
		}
		for n, c := range r.cpus {
			slot, present, modified := r.trace.Model.Cached(s, model.Node(n), place)
			line := from / r.line
			if c.present[line] != present || c.dirty[line] != modified {
				return fmt.Errorf("line %d of %s: there %v, modified %v; the model says %v, %v", line, c.name, c.present[line], c.dirty[line], present, modified)
			}
			if present {
				if err := r.holds(c.view[from:to], s, slot, place); err != nil {
					return fmt.Errorf("cache of %s, place %d: %w", c.name, place, err)
				}
			}
		}
	}
	return nil
}

// holds reports whether b is what the model says: the bytes of the generation in a slot, or of none that lives.
func (r *replay) holds(b []byte, s *model.State, slot, place int) error {
	for i := range len(r.numbers) {
		if _, first, count, _ := s.Generation(i); i != slot && (place < first || place >= first+count) {
			continue
		}
		if is := bytes.Equal(b, r.content(i, place)); is != (i == slot) {
			return fmt.Errorf("it holds generation %d: %v, the model says %v", r.numbers[i], is, i == slot)
		}
	}
	return nil
}
