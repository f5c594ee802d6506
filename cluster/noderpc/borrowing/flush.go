package borrowing

import (
	"github.com/csmsql/csmsql/coherence"
	"github.com/csmsql/csmsql/memregion"
)

// flusher does a writer's flushes and fences, or counts them where they need not be done.
type flusher struct {
	lines    coherence.Lines
	counters *coherence.Counters
}

// do executes a list of actions about an extent, whose bytes are mapped here.
func (f flusher) do(list []coherence.Action, extent memregion.Range, bytes []byte) {
	for _, a := range list {
		switch {
		case a.Kind == coherence.ActionFlush:
			from := a.Range.Offset - extent.Offset
			f.flush(a, bytes[from:min(from+a.Range.Length, int64(len(bytes)))])
		case a.Kind != coherence.ActionFenceStore && a.Kind != coherence.ActionFenceFull: // a report, which is a call
		case !a.Paid:
			f.counters.SkippedFencesByStep[a.Step].Add(1)
		case a.Kind == coherence.ActionFenceStore:
			f.lines.FenceStore()
			f.counters.StoreFences.Add(1)
		default:
			f.lines.FenceFull()
			f.counters.FullFences.Add(1)
		}
	}
}

func (f flusher) flush(a coherence.Action, b []byte) {
	if !a.Paid {
		f.counters.SkippedFlushesByStep[a.Step].Add(1)
		f.counters.SkippedBytesByStep[a.Step].Add(uint64(len(b)))
		return
	}
	f.counters.FlushedLines.Add(uint64(f.lines.Flush(b)))
	f.counters.FlushedBytes.Add(uint64(len(b)))
	f.counters.FlushesByStep[a.Step].Add(1)
}

// fresh drops whatever this processor has of memory into which another one copied: the order is an acquire's.
func (f flusher) fresh(class coherence.Class, b []byte) {
	paid := class != coherence.Coherent
	full := coherence.Action{Kind: coherence.ActionFenceFull, Step: coherence.StepAcquire, Paid: paid}
	flush := coherence.Action{Kind: coherence.ActionFlush, Step: coherence.StepAcquire, Paid: paid, Range: memregion.Range{Length: int64(len(b))}}
	f.do([]coherence.Action{full, flush, full}, memregion.Range{}, b)
}
