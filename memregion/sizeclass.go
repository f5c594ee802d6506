package memregion

import "math/bits"

// Free blocks hang in lists by size class, as in TLSF: `level` is the power of two of the size, `step` one of 32 equal
// steps inside it. Two bitmaps find the next non-empty class in two instructions, whatever the number of blocks.
//
//	pages   0 … 31      → level 0, one class per size (exact fit below 128 KiB)
//	pages  32 … 63      → level 1, one class per size
//	pages  64 … 127     → level 2, classes of 2 sizes
//	pages 2^k … 2^(k+1) → level k-4, classes of 2^(k-5) sizes: a class is never wider than 3 %
const (
	stepBits   = 5
	stepCount  = 1 << stepBits
	levelCount = 64 - stepBits
	// scanLimit bounds how many blocks of one list are looked at to find the lowest address: enough to keep a
	// region compact, few enough to stay far below a microsecond.
	scanLimit = 8
	none      = int32(-1)
)

type sizeClass struct{ level, step int }

func classOf(pages int64) sizeClass {
	if pages < stepCount {
		return sizeClass{0, int(pages)}
	}
	top := bits.Len64(uint64(pages)) - 1
	return sizeClass{top - stepBits + 1, int(pages>>(top-stepBits)) & (stepCount - 1)}
}

// freeLists indexes free blocks by class. The blocks themselves live in the allocator's slab; lists link them by
// number, so that the garbage collector sees no pointers.
type freeLists struct {
	levels uint64             // bit l is set while steps[l] != 0
	steps  [levelCount]uint32 // bit s of steps[l] is set while heads[l][s] has blocks
	heads  [levelCount][stepCount]int32
}

func (f *freeLists) init() {
	for level := range f.heads {
		for step := range f.heads[level] {
			f.heads[level][step] = none
		}
	}
}

func (f *freeLists) push(blocks []block, i int32) {
	class := classOf(blocks[i].pages)
	head := f.heads[class.level][class.step]
	blocks[i].prev, blocks[i].next = none, head
	if head != none {
		blocks[head].prev = i
	}
	f.heads[class.level][class.step] = i
	f.steps[class.level] |= 1 << class.step
	f.levels |= 1 << class.level
}

func (f *freeLists) remove(blocks []block, i int32) {
	class := classOf(blocks[i].pages)
	prev, next := blocks[i].prev, blocks[i].next
	if next != none {
		blocks[next].prev = prev
	}
	if prev != none {
		blocks[prev].next = next
		return
	}
	f.heads[class.level][class.step] = next
	if next != none {
		return
	}
	f.steps[class.level] &^= 1 << class.step
	if f.steps[class.level] == 0 {
		f.levels &^= 1 << class.level
	}
}

// above is the head of the first non-empty class whose every block is longer than any of class, or none.
func (f *freeLists) above(class sizeClass) int32 {
	if steps := f.steps[class.level] &^ (1<<(class.step+1) - 1); steps != 0 {
		return f.heads[class.level][bits.TrailingZeros32(steps)]
	}
	levels := f.levels &^ (1<<(class.level+1) - 1)
	if levels == 0 {
		return none
	}
	level := bits.TrailingZeros64(levels)
	return f.heads[level][bits.TrailingZeros32(f.steps[level])]
}

// lowest looks at up to limit blocks from head on and returns the one with the lowest address that has the pages, or
// none.
func lowest(blocks []block, head int32, pages int64, limit int) int32 {
	best := none
	for i := head; i != none && limit > 0; i, limit = blocks[i].next, limit-1 {
		if blocks[i].pages >= pages && (best == none || blocks[i].start < blocks[best].start) {
			best = i
		}
	}
	return best
}

// find returns a listed block of at least the pages, or none. It misses a fitting block only when that sits deeper than
// scanLimit in the request's own class; the allocator then looks at the top block before it calls again with exhaustive
// set (M3).
func (f *freeLists) find(blocks []block, pages int64, exhaustive bool) int32 {
	class := classOf(pages)
	limit := scanLimit
	if exhaustive {
		limit = len(blocks)
	}
	if i := lowest(blocks, f.heads[class.level][class.step], pages, limit); i != none {
		return i
	}
	return lowest(blocks, f.above(class), pages, scanLimit)
}

// largest is the longest listed block in pages; it walks the one list of the highest class.
func (f *freeLists) largest(blocks []block) int64 {
	if f.levels == 0 {
		return 0
	}
	level := bits.Len64(f.levels) - 1
	step := bits.Len32(f.steps[level]) - 1
	longest := int64(0)
	for i := f.heads[level][step]; i != none; i = blocks[i].next {
		longest = max(longest, blocks[i].pages)
	}
	return longest
}
