package coherence

import "fmt"

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

// Features is what the processor can do for us. A zero Features can do nothing.
type Features struct {
	LineSize    int    // bytes per line that one instruction flushes, a power of two
	Instruction string // the instruction, as the manuals spell it
}

// HaveFlush tells whether user space can flush lines here.
func (f Features) HaveFlush() bool { return f.Instruction != "" }

// CPULines flushes with this processor's instructions. Use NewCPULines; the zero value flushes nothing and panics.
type CPULines struct {
	features Features
	flush    func(b *byte, size int, line int) int
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
	return &CPULines{features: features, flush: flush}, nil
}

// Features says what was found.
func (l *CPULines) Features() Features { return l.features }

// LineSize is the size in bytes of what one instruction flushes.
func (l *CPULines) LineSize() int { return l.features.LineSize }

// Flush implements Lines.
func (l *CPULines) Flush(b []byte) (lines int) {
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
func (l *CPULines) FenceFull() { fenceFull() }

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
