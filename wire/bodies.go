package wire

import (
	"math/bits"
	"sync"
)

// bodies pools the buffers of long messages that are no longer read, for the next long messages of any connection. A
// body grows through buffers of half its length, and of a quarter. Left to Go's collector, they were four fifths of all
// that a node allocated whose clients sent long messages, and it collected sixteen times a second. Pooled buffers are
// charged to no account, like garbage that is not collected yet.
var bodies bodyPool

const (
	// bodyPooledLeast and bodyPooledMost are the lengths, as powers of two, of buffers that are worth keeping.
	bodyPooledLeast, bodyPooledMost = 14, 26
	// bodySteps is how many lengths there are between two powers of two, as a power of two: a buffer is longer than
	// what was asked for by an eighth at most.
	bodySteps = 3
)

// bodyPool keeps buffers by their lengths. Safe for concurrent use; the zero value is ready.
type bodyPool struct {
	classes [(bodyPooledMost - bodyPooledLeast) << bodySteps]sync.Pool
}

// room is how long a buffer for size bytes is.
func (p *bodyPool) room(size int) int {
	_, length := p.class(size)
	return length
}

// class is the shortest length of at least size that buffers of the pool have, and its place; -1: it is kept nowhere.
func (p *bodyPool) class(size int) (place, length int) {
	power := bits.Len(uint(size-1)) - 1 // the least is size-1 or less
	if power < bodyPooledLeast || power >= bodyPooledMost {
		return -1, size
	}
	step := 1 << (power - bodySteps)
	length = (size + step - 1) &^ (step - 1)
	return (power-bodyPooledLeast)<<bodySteps + (length-(1<<power))/step - 1, length
}

// take gives a buffer of at least size bytes, in which anything may be.
func (p *bodyPool) take(size int) []byte {
	place, length := p.class(size)
	if place < 0 {
		return make([]byte, size)
	}
	if kept, _ := p.classes[place].Get().(*[]byte); kept != nil {
		return *kept
	}
	return make([]byte, length)
}

// give returns a buffer that is no longer used; the pool keeps only buffers that it has made.
func (p *bodyPool) give(buffer []byte) {
	buffer = buffer[:cap(buffer)]
	if len(buffer) == 0 {
		return
	}
	if place, length := p.class(len(buffer)); place >= 0 && length == len(buffer) {
		p.classes[place].Put(&buffer)
	}
}
