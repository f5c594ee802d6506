package chunk

import (
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"
	"sync"

	"github.com/csmsql/csmsql/internal/invariants"
	"github.com/csmsql/csmsql/memregion"
)

// arena is an Arrow allocator over granted extents. It is for one writer and has no lock.
//
//	piece 0 (first grant)                       piece 1
//	┌──────┬──────┬┄┄┄┄┄┄┬──────┬────────────┐ ┌──────┬────────────┐
//	│ live │ live │ hole │ live │  never used │ │ live │            │
//	└──────┴──────┴┄┄┄┄┄┄┴──────┴────────────┘ └──────┴────────────┘
//	                            ↑ top                  ↑ top
//
// Allocations are LineSize-aligned and zeroed (K1: no byte of a former owner survives in padding or null slots).
// Allocate cannot return an error through Arrow's interface: when the region is full the arena remembers the error,
// goes on with ordinary memory, and Seal returns it.
type arena struct {
	space    Space
	owner    string
	pieces   []*piece
	nextSize int64
	fault    error
	closed   bool
}

// maximumStep bounds the growth of the arena's grants; a single larger allocation gets a grant of its own size.
const maximumStep = 64 << 20

type piece struct {
	grant Grant
	data  []byte
	base  uintptr
	top   int64
	sizes map[int64]int64 // live allocations: offset → length, whole lines
	holes []hole          // below top, sorted, never adjacent
}

type hole struct{ offset, length int64 }

func (h hole) end() int64 { return h.offset + h.length }

func newArena(space Space, owner string, firstBytes int64) *arena {
	return &arena{space: space, owner: owner, nextSize: min(roundUp(max(firstBytes, memregion.PageSize), memregion.PageSize), longest(0))}
}

// ExtentsVariable is the environment variable with which tests have chunks of several extents: how many bytes a
// writer asks for at a time where that is enough. Only builds that check invariants look at it.
const ExtentsVariable = "CSMSQL_EXTENT_BYTES"

// shortExtents is for how many of a chunk it counts; a descriptor has only so many.
const shortExtents = 64

var extentBytes = sync.OnceValue(func() int64 {
	n, _ := strconv.ParseInt(os.Getenv(ExtentsVariable), 10, 64) // unset is 0
	return roundUp(n, memregion.PageSize)
})

// longest bounds how much is asked for beyond what an allocation needs, for a chunk that has some pieces.
func longest(pieces int) int64 {
	if !invariants.Enabled || pieces >= shortExtents || extentBytes() <= 0 {
		return math.MaxInt64
	}
	return extentBytes()
}

// Allocate implements memory.Allocator.
func (a *arena) Allocate(size int) []byte {
	if size <= 0 || a.fault != nil || a.closed {
		return make([]byte, max(size, 0))
	}
	need := roundUp(int64(size), memregion.LineSize)
	if b := a.room(need, size); b != nil {
		return b
	}
	p, err := a.grow(need)
	if err != nil {
		a.fault = err
		return make([]byte, size)
	}
	offset, _ := p.take(need)
	return p.slice(offset, size)
}

// room finds space in the pieces that are there.
func (a *arena) room(need int64, size int) []byte {
	for _, p := range a.pieces {
		if offset, ok := p.take(need); ok {
			return p.slice(offset, size)
		}
	}
	return nil
}

// Reallocate implements memory.Allocator: in place when b is the last allocation of its piece or shrinks; where the
// lender copies, in a longer extent that takes the place of the piece.
func (a *arena) Reallocate(size int, b []byte) []byte {
	p, offset := a.find(b)
	if p == nil || size <= 0 {
		fresh := a.Allocate(size)
		copy(fresh, b)
		a.Free(b)
		return fresh
	}
	need := roundUp(int64(size), memregion.LineSize)
	if p.resize(offset, need) {
		return p.slice(offset, size)
	}
	fresh := a.room(need, size)
	if fresh == nil && a.fault == nil && p.move(offset, need) {
		return p.slice(offset, size)
	}
	if fresh == nil {
		fresh = a.Allocate(size)
	}
	copy(fresh, b)
	a.Free(b)
	return fresh
}

// move has the lender put the piece's only allocation into a longer extent; others would lose their address. The only
// one ends at the top, since free memory there lowers the top.
func (p *piece) move(offset, need int64) bool {
	growing, ok := p.grant.(Growing)
	if !ok || len(p.sizes) != 1 {
		return false
	}
	if growing.Grow(roundUp(offset+need, memregion.PageSize), p.top) != nil {
		return false // a full region will say so again when a new piece is asked for
	}
	p.data = p.grant.Bytes()
	p.base = address(p.data)
	return p.resize(offset, need)
}

// Free implements memory.Allocator. After the chunk is sealed or aborted it does nothing: builders and batches are
// released whenever their owners like.
func (a *arena) Free(b []byte) {
	if a.closed {
		return
	}
	if p, offset := a.find(b); p != nil {
		p.free(offset)
	}
}

// find returns the piece of a live allocation, or nil.
func (a *arena) find(b []byte) (*piece, int64) {
	if p, offset := a.locate(b); p != nil {
		if _, live := p.sizes[offset]; live {
			return p, offset
		}
	}
	return nil, 0
}

// locate returns the piece in which all of b lies, or nil.
func (a *arena) locate(b []byte) (*piece, int64) {
	if cap(b) == 0 {
		return nil, 0
	}
	from := address(b)
	for _, p := range a.pieces {
		if from >= p.base && from+uintptr(len(b)) <= p.base+uintptr(len(p.data)) {
			return p, int64(from - p.base)
		}
	}
	return nil, 0
}

func (a *arena) grow(need int64) (*piece, error) {
	size := max(roundUp(need, memregion.PageSize), a.nextSize)
	grant, err := a.space.Grant(a.owner, size)
	if err != nil {
		return nil, fmt.Errorf("grant %d bytes to %q: %w", size, a.owner, err)
	}
	p := &piece{grant: grant, data: grant.Bytes(), sizes: map[int64]int64{}}
	p.base = address(p.data)
	if p.base%memregion.LineSize != 0 || int64(len(p.data)) < size {
		return nil, fmt.Errorf("grant of %d bytes is %d bytes at %#x: %w", size, len(p.data), p.base, grantFault(grant))
	}
	a.pieces = append(a.pieces, p)
	a.nextSize = min(max(2*size, a.nextSize), maximumStep, longest(len(a.pieces)))
	return p, nil
}

func grantFault(grant Grant) error {
	if err := grant.Abort(); err != nil {
		return fmt.Errorf("%w; giving it back failed too: %w", ErrGrant, err)
	}
	return ErrGrant
}

// abort gives every grant back.
func (a *arena) abort() error {
	a.closed = true
	var first error
	for _, p := range a.pieces {
		if err := p.grant.Abort(); err != nil && first == nil {
			first = err
		}
	}
	a.pieces = nil
	return first
}

func (p *piece) slice(offset int64, size int) []byte {
	end := offset + p.sizes[offset]
	return p.data[offset : offset+int64(size) : end]
}

// take finds room: the first hole that fits, else the top.
func (p *piece) take(need int64) (int64, bool) {
	for i, h := range p.holes {
		if h.length < need {
			continue
		}
		if h.length == need {
			p.holes = slices.Delete(p.holes, i, i+1)
		} else {
			p.holes[i] = hole{h.offset + need, h.length - need}
		}
		p.occupy(h.offset, need)
		return h.offset, true
	}
	if int64(len(p.data))-p.top < need {
		return 0, false
	}
	offset := p.top
	p.top += need
	p.occupy(offset, need)
	return offset, true
}

func (p *piece) occupy(offset, length int64) {
	p.sizes[offset] = length
	clear(p.data[offset : offset+length])
}

// resize changes an allocation in place, or returns false.
func (p *piece) resize(offset, need int64) bool {
	old := p.sizes[offset]
	last := offset+old == p.top
	switch {
	case need == old:
	case last && offset+need <= int64(len(p.data)):
		if need > old {
			clear(p.data[p.top : offset+need])
		}
		p.top = offset + need
	case need < old:
		p.addHole(hole{offset + need, old - need})
	default:
		return false
	}
	p.sizes[offset] = need
	return true
}

func (p *piece) free(offset int64) {
	h := hole{offset, p.sizes[offset]}
	delete(p.sizes, offset)
	p.addHole(h)
}

// addHole keeps holes sorted and joined; a hole at the top lowers the top.
func (p *piece) addHole(h hole) {
	i, _ := slices.BinarySearchFunc(p.holes, h, func(a, b hole) int { return int(a.offset - b.offset) })
	if i < len(p.holes) && h.end() == p.holes[i].offset {
		h.length += p.holes[i].length
		p.holes = slices.Delete(p.holes, i, i+1)
	}
	if i > 0 && p.holes[i-1].end() == h.offset {
		i--
		h = hole{p.holes[i].offset, p.holes[i].length + h.length}
		p.holes = slices.Delete(p.holes, i, i+1)
	}
	if h.end() == p.top {
		p.top = h.offset
		return
	}
	p.holes = slices.Insert(p.holes, i, h)
}

func roundUp(n, unit int64) int64 { return (n + unit - 1) / unit * unit }
