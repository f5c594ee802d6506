package coherence

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"sync"
)

// Lines is the processor's side of the protocol: flush and fence. CPULines is the real one; emulated fabrics bring
// their own.
type Lines interface {
	// Flush writes back what is modified of every line that b touches, the first and the last one whole, and drops
	// those lines from every cache of this domain. It returns how many lines it was. It does not wait: FenceFull does.
	Flush(b []byte) (lines int)
	// FenceStore orders earlier stores, non-temporal ones included, before later stores and flushes.
	FenceStore()
	// FenceFull waits for earlier loads, stores and flushes, and lets nothing later begin before.
	FenceFull()
}

// maxPiece bounds one call into assembly, in bytes. Assembly cannot be preempted: a garbage collection would wait for
// a whole GiB (11–18 ms) where it now waits for some microseconds.
const maxPiece = 1 << 20

const (
	// flushShare is how many bytes make it worth while that one more processor flushes: about 0.3 ms of work, where
	// waking it takes 0.05.
	flushShare = 16 << 20
	// maxFlushers bounds the processors that one flush takes. Two halve its time where there are two; more were not
	// measured.
	maxFlushers = 8
)

// Features is what the processor can do for us. A zero Features can do nothing.
type Features struct {
	LineSize    int    // bytes per line that one instruction flushes, a power of two
	Instruction string // the instruction, as the manuals spell it
}

// HaveFlush reports whether user space can flush lines here.
func (f Features) HaveFlush() bool { return f.Instruction != "" }

// CPULines flushes with this processor's instructions. Use NewCPULines; the zero value flushes nothing and panics.
type CPULines struct {
	features Features
	flush    func(b *byte, size int, line int) int
	fence    func() // a full one
}

var _ Lines = (*CPULines)(nil)

// NewCPULines probes the processor. The error is ErrUnsupported where user space cannot flush.
func NewCPULines() (*CPULines, error) { return newCPULines(probe()) }

func newCPULines(features Features, flush func(b *byte, size int, line int) int) (*CPULines, error) {
	if !features.HaveFlush() {
		return nil, ErrUnsupported
	}
	if features.LineSize <= 0 || features.LineSize&(features.LineSize-1) != 0 || features.LineSize > maxPiece {
		return nil, fmt.Errorf("%w: it claims lines of %d bytes", ErrUnsupported, features.LineSize)
	}
	return &CPULines{features: features, flush: flush, fence: fenceFull}, nil
}

// Features says what was found.
func (l *CPULines) Features() Features { return l.features }

// LineSize is the size in bytes of what one instruction flushes.
func (l *CPULines) LineSize() int { return l.features.LineSize }

// Flush implements Lines. Much memory is flushed by several processors at once. For the caches it makes no difference
// which of them does it, but only the one that flushed can wait for it. So the others have fenced when Flush returns
// (decision 0023).
func (l *CPULines) Flush(b []byte) (lines int) {
	helpers := min(len(b)/flushShare, runtime.GOMAXPROCS(0), maxFlushers) - 1
	if helpers < 1 {
		return l.flushHere(b)
	}
	results := make([]flushed, helpers)
	var group sync.WaitGroup
	defer group.Wait() // also when a flush here faults
	for i := range results {
		// A share ends on a line's end, so that no line is flushed twice.
		n := len(b) / (len(results) - i + 1)
		n -= int((addressOf(b) + uintptr(n)) & uintptr(l.features.LineSize-1))
		share := b[:n]
		group.Go(func() { results[i] = l.flushElsewhere(share) })
		b = b[n:]
	}
	lines = l.flushHere(b)
	group.Wait()
	for _, r := range results {
		if r.fault != nil {
			panic(r.fault) // where the caller's guard, if it has one, sees it
		}
		lines += r.lines
	}
	return lines
}

// flushed is what a helper of Flush did.
type flushed struct {
	lines int
	fault any // of memory that is not there
}

// flushElsewhere flushes b on behalf of a goroutine that has fenced and will fence again, on another processor: hence
// the fences.
func (l *CPULines) flushElsewhere(b []byte) (done flushed) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true)) // this goroutine's; the caller's guard does not reach here
	defer func() { done.fault = recover() }()
	l.FenceFull()
	done.lines = l.flushHere(b)
	l.FenceFull()
	return done
}

func (l *CPULines) flushHere(b []byte) (lines int) {
	for len(b) > 0 {
		n := piece(addressOf(b), len(b), l.features.LineSize)
		lines += l.flush(&b[0], n, l.features.LineSize)
		b = b[n:]
	}
	return lines
}

// FenceStore implements Lines.
func (l *CPULines) FenceStore() { fenceStore() }

// FenceFull implements Lines.
func (l *CPULines) FenceFull() { l.fence() }

// piece is how many of the next size bytes at address go into one call: up to maxPiece, ending on a line's end, so
// that no line is flushed twice.
func piece(address uintptr, size, line int) int {
	return min(size, maxPiece-int(address&uintptr(line-1)))
}

// lineSpan is the arithmetic that the assembly does: the first line that [address, address+size) touches, and how many
// lines it touches. Tests hold the two against each other.
func lineSpan(address uintptr, size, line int) (first uintptr, count int) {
	first = address &^ uintptr(line-1)
	if size <= 0 {
		return first, 0
	}
	return first, int((address+uintptr(size)-1)&^uintptr(line-1)-first)/line + 1
}
