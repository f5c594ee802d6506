package coherence

import (
	"fmt"

	"github.com/csmsql/csmsql/memregion"
)

// writerState is where a writer stands with its one grant.
type writerState uint8

const (
	writing  writerState = iota
	cleaned              // written back; the bytes are no longer the writer's
	returned             // given back unfinished
)

// WriterCore is the writer's side of one grant: what to do before the report to the lender. It runs in the writer's
// domain, which need not be the lender's. Not safe for concurrent use.
type WriterCore struct {
	class      Class
	generation Generation
	memory     memregion.Range
	state      writerState
	// flushed are ranges of the region that a copy has stored and flushed already: ascending, never adjacent.
	flushed []memregion.Range
}

// flushedRanges bounds what a writer remembers. What it does not remember is flushed once more.
const flushedRanges = 64

// NewWriterCore begins at the hand-over of g.
func NewWriterCore(class Class, g Generation, memory memregion.Range) WriterCore {
	return WriterCore{class: class, generation: g, memory: memory}
}

// Writing reports whether the writer may still store.
func (w *WriterCore) Writing() bool { return w.state == writing }

// Range is what the writer holds.
func (w *WriterCore) Range() memregion.Range { return w.memory }

// Flushed takes the report that every line of r, which is whole lines of the grant, was stored and then flushed, and is
// not stored into any more. Clean leaves it out: no line of r is modified (C3), its full fence waits for these flushes
// as for its own, and a clean line that came back since is what any prefetch may bring after Clean, too.
func (w *WriterCore) Flushed(r memregion.Range) {
	n := len(w.flushed)
	switch {
	case r.Length == 0:
	case n > 0 && w.flushed[n-1].End() == r.Offset:
		w.flushed[n-1].Length += r.Length
	case n < flushedRanges && (n == 0 || w.flushed[n-1].End() < r.Offset):
		w.flushed = append(w.flushed, r)
	}
}

// Clean is step 3: afterwards no byte of the grant is in this domain's caches, and the writer must not store again.
// The full fence is after the flushes: a report that overtook them would publish bytes that are still on their way.
func (w *WriterCore) Clean() ([]Action, error) {
	if w.state != writing {
		return nil, w.wrong(EventCleaned)
	}
	w.state = cleaned
	if len(w.flushed) == 0 {
		return w.flush(StepClean, w.memory), nil
	}
	paid := w.class.pays()
	list := []Action{{Kind: ActionFenceStore, Step: StepClean, Paid: paid, Generation: w.generation}}
	for _, gap := range w.gaps() {
		list = append(list, Action{Kind: ActionFlush, Step: StepClean, Paid: paid, Generation: w.generation, Range: gap})
	}
	return append(list, Action{Kind: ActionFenceFull, Step: StepClean, Paid: paid, Generation: w.generation},
		Action{Kind: ActionReport, Generation: w.generation}), nil
}

// gaps are what of the grant was not flushed.
func (w *WriterCore) gaps() (gaps []memregion.Range) {
	at := w.memory.Offset
	for _, r := range append(w.flushed, memregion.Range{Offset: w.memory.End()}) {
		if end := min(r.Offset, w.memory.End()); at < end {
			gaps = append(gaps, memregion.Range{Offset: at, Length: end - at})
		}
		at = max(at, r.End())
	}
	return gaps
}

// Abort is step 9: a grant goes back as clean as a finished one, else its dirty lines would be written over the next
// generation's bytes (C3).
func (w *WriterCore) Abort() ([]Action, error) {
	if w.state != writing {
		return nil, w.wrong(EventAbort)
	}
	w.state = returned
	return w.flush(StepAbort, w.memory), nil
}

// Shrink gives the tail beyond size back. The tail is an aborted grant in small (C3). It begins with the line of the
// last byte kept, so that no rounding of the allocator can hand out a line that was not flushed.
func (w *WriterCore) Shrink(size int64) ([]Action, error) {
	if w.state != writing {
		return nil, w.wrong(EventShrunk)
	}
	if size <= 0 || size > w.memory.Length {
		return nil, fmt.Errorf("%w: generation %d has %d bytes and cannot shrink to %d", ErrInput, w.generation, w.memory.Length, size)
	}
	start := w.memory.Offset + size/memregion.LineSize*memregion.LineSize
	return w.flush(StepAbort, memregion.Range{Offset: start, Length: w.memory.End() - start}), nil
}

// Shrunk takes over what the lender says is left.
func (w *WriterCore) Shrunk(memory memregion.Range) { w.memory = memory }

func (w *WriterCore) flush(step Step, r memregion.Range) []Action {
	list := fenceFlushFence(make([]Action, 0, 4), w.class, step, ActionFenceStore, w.generation, r)
	return append(list, Action{Kind: ActionReport, Generation: w.generation})
}

func (w *WriterCore) wrong(kind EventKind) error {
	state := Cleaned
	if w.state == returned {
		state = Aborting
	}
	return &StateError{Generation: w.generation, State: state, Event: kind}
}
