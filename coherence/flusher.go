package coherence

import "github.com/csmsql/csmsql/memregion"

// Flusher does the flushes and fences that the cores want, or counts them where the fabric needs none. Safe for
// concurrent use if its Lines are.
type Flusher struct {
	Lines    Lines // may be nil if nothing is paid
	Counters *Counters
}

// Do executes a; data are the bytes of a.Range as this process maps them. Other kinds of action are not its business.
func (f Flusher) Do(a Action, data []byte) {
	switch {
	case a.Kind == ActionFlush && !a.Paid:
		f.Counters.SkippedFlushesByStep[a.Step].Add(1)
		f.Counters.SkippedBytesByStep[a.Step].Add(uint64(len(data)))
	case a.Kind == ActionFlush:
		f.Counters.FlushedLines.Add(uint64(f.Lines.Flush(data)))
		f.Counters.FlushedBytes.Add(uint64(len(data)))
		f.Counters.FlushesByStep[a.Step].Add(1)
	case a.Kind != ActionFenceStore && a.Kind != ActionFenceFull:
	case !a.Paid:
		f.Counters.SkippedFencesByStep[a.Step].Add(1)
	case a.Kind == ActionFenceStore:
		f.Lines.FenceStore()
		f.Counters.StoreFences.Add(1)
	default:
		f.Lines.FenceFull()
		f.Counters.FullFences.Add(1)
	}
}

// DoAll executes a list about an extent of which this process has mapped the beginning, data.
func (f Flusher) DoAll(list []Action, extent memregion.Range, data []byte) {
	for _, a := range list {
		var bytes []byte
		if a.Kind == ActionFlush {
			from := a.Range.Offset - extent.Offset
			bytes = data[from:min(from+a.Range.Length, int64(len(data)))]
		}
		f.Do(a, bytes)
	}
}

// Drop has this domain forget what its caches hold of data, for a step that no core lists: fence, flush and fence.
func (f Flusher) Drop(class Class, step Step, data []byte) {
	for _, a := range fenceFlushFence(nil, class, step, ActionFenceFull, 0, memregion.Range{}) {
		f.Do(a, data)
	}
}
