package memregion

import (
	"errors"
	"fmt"
)

// The moves that keep the blocks tiling the region (M2). Each leaves lists and neighbours consistent, except where its
// name says otherwise.

// newBlock returns a slot of the slab, a spare one if there is.
func (a *Allocator) newBlock(b block) int32 {
	if i := a.spare; i != none {
		a.spare = a.blocks[i].next
		a.blocks[i] = b
		return i
	}
	a.blocks = append(a.blocks, b)
	return int32(len(a.blocks) - 1)
}

func (a *Allocator) dropBlock(i int32) {
	a.blocks[i] = block{unused: true, next: a.spare, owner: none}
	a.spare = i
	if a.cursor == i {
		a.cursor = none
	}
}

// list hangs a free block into its class; the top block stays outside, so that it is used last.
func (a *Allocator) list(i int32) {
	if i != a.last {
		a.free.push(a.blocks, i)
	}
}

func (a *Allocator) unlist(i int32) {
	if i != a.last {
		a.free.remove(a.blocks, i)
	}
}

// take makes the first pages of free block i live.
func (a *Allocator) take(i int32, pages int64, owner string) {
	a.unlist(i)
	a.takeUnlisted(i, pages, owner)
}

// takeUnlisted is take for a block that is already out of its list.
func (a *Allocator) takeUnlisted(i int32, pages int64, owner string) {
	if a.blocks[i].pages > pages {
		a.list(a.split(i, pages))
	}
	a.blocks[i].owner = a.owners.acquire(owner, pages)
	a.live[a.blocks[i].start] = i
	a.used += pages
}

// split cuts block i after the pages and returns the upper part: free, in no list, and joined with nothing yet.
func (a *Allocator) split(i int32, pages int64) int32 {
	b := a.blocks[i]
	rest := a.newBlock(block{start: b.start + pages, pages: b.pages - pages, below: i, above: b.above, prev: none, next: none, owner: none})
	a.blocks[i].pages, a.blocks[i].above = pages, rest
	if b.above == none {
		a.last = rest
	} else {
		a.blocks[b.above].below = rest
	}
	return rest
}

// release makes block i free, joins it with free neighbours and lists the result (M2: two free blocks never touch).
func (a *Allocator) release(i int32) {
	a.blocks[i].owner = none
	if above := a.blocks[i].above; above != none && a.blocks[above].owner == none {
		a.unlist(above)
		a.join(i, above)
	}
	if below := a.blocks[i].below; below != none && a.blocks[below].owner == none {
		a.unlist(below)
		a.join(below, i)
		i = below
	}
	a.list(i)
}

// join appends upper to lower. Preconditions: they touch, both are in no list.
func (a *Allocator) join(lower, upper int32) {
	above := a.blocks[upper].above
	a.blocks[lower].pages += a.blocks[upper].pages
	a.blocks[lower].above = above
	if above == none {
		a.last = lower
	} else {
		a.blocks[above].below = lower
	}
	a.dropBlock(upper)
}

// seek returns the block that holds the page, walking from where the last adoption ended.
func (a *Allocator) seek(page int64) int32 {
	i := a.cursor
	if i == none {
		i = a.first
	}
	for a.blocks[i].start > page {
		i = a.blocks[i].below
	}
	for a.blocks[i].start+a.blocks[i].pages <= page {
		i = a.blocks[i].above
	}
	return i
}

// Verify checks M1, M2 and M4 over the whole state and returns the first thing that does not hold. It costs
// O(extents); tests and `-tags invariants` builds call it.
func (a *Allocator) Verify() error {
	var at, used int64
	var live, listed int
	previousFree := false
	for i, below := a.first, none; i != none; below, i = i, a.blocks[i].above {
		b := a.blocks[i]
		switch {
		case b.unused || b.start != at || b.pages <= 0 || b.below != below:
			return fmt.Errorf("M2: block %d at page %d does not tile: %+v", i, at, b)
		case b.owner == none && previousFree:
			return fmt.Errorf("M2: two free blocks touch at page %d", at)
		case b.owner == none && i != a.last:
			listed++
		case b.owner != none:
			if found, ok := a.live[b.start]; !ok || found != i {
				return fmt.Errorf("M1: live block at page %d is not indexed", b.start)
			}
			live, used = live+1, used+b.pages
		}
		previousFree = b.owner == none
		at += b.pages
		if b.above == none && a.last != i {
			return errors.New("M2: the last block is not the last")
		}
	}
	if at != a.capacity || used != a.used || live != len(a.live) {
		return fmt.Errorf("M2: blocks end at %d of %d pages, %d of %d used, %d of %d live", at, a.capacity, used, a.used, live, len(a.live))
	}
	if count, err := a.free.verify(a.blocks); err != nil || count != listed {
		return fmt.Errorf("M2: %d blocks listed, %d free: %w", count, listed, err)
	}
	return a.owners.verify(a.used)
}

func (f *freeLists) verify(blocks []block) (count int, err error) {
	for level := range f.heads {
		for step, head := range f.heads[level] {
			if marked := f.steps[level]&(1<<step) != 0; marked != (head != none) || (marked && f.levels&(1<<level) == 0) {
				return count, fmt.Errorf("class %d/%d: bitmap and list disagree", level, step)
			}
			for i := head; i != none; i = blocks[i].next {
				if blocks[i].owner != none || blocks[i].unused || classOf(blocks[i].pages) != (sizeClass{level, step}) {
					return count, fmt.Errorf("class %d/%d lists a foreign block %+v", level, step, blocks[i])
				}
				count++
			}
		}
	}
	return count, nil
}
