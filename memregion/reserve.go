package memregion

import (
	"errors"
	"fmt"

	"github.com/csmsql/csmsql/internal/invariants"
)

// How pages move between unbacked, idle and live. Everything here runs under Lent.mu, the system calls included: a
// page must not be handed out while it is being punched (M5), and the calls are bounded by systemCallBytes each.

// backLocked makes every page of r backed and not idle. When the fabric is full it first gives back what is idle
// elsewhere, and on failure leaves nothing reserved that was not before (M6).
func (l *Lent) backLocked(r Range) error {
	low, high := pageSpan(r)
	l.mu.idle.remove(low, high) // r's own pages must not be punched to make room for r
	for at := l.mu.backed.next(low, high, false); at < high; at = l.mu.backed.next(at, high, false) {
		end := l.mu.backed.next(at, high, true)
		if err := l.reserveLocked(at, end); err != nil {
			l.idleLocked(low, high)
			_ = l.punchLocked(0) // the fabric is full: others need the memory more than we need it warm
			return reserveError(l.spec, r, err)
		}
		at = end
	}
	return nil
}

// reserveLocked backs the unbacked pages [low, high), and beyond the frontier a whole growth step if the fabric has it.
func (l *Lent) reserveLocked(low, high int64) error {
	if ahead := l.growthEnd(high); ahead > high && l.tryLocked(low, ahead) == nil {
		l.mu.idle.add(high, ahead)
		l.becameIdleLocked(high, ahead)
		return nil
	}
	err := l.tryLocked(low, high)
	if err != nil && l.mu.idle.count > 0 {
		_ = l.punchLocked(0)
		err = l.tryLocked(low, high)
	}
	return err
}

// growthEnd is where reserving should end when it has to reach high: at the next multiple of the growth step beyond
// the frontier. Steps are powers of two times the first.
func (l *Lent) growthEnd(high int64) int64 {
	if high <= l.mu.frontier {
		return high
	}
	step := l.firstPages
	for step < l.stepPages && 2*step <= l.mu.frontier {
		step *= 2
	}
	return min((high+step-1)/step*step, l.spec.Capacity/PageSize)
}

// tryLocked reserves [low, high), none of which is backed, wholly or not at all.
func (l *Lent) tryLocked(low, high int64) error {
	r := Range{low * PageSize, (high - low) * PageSize}
	if err := l.backing.reserve(r); err != nil {
		if undo := l.backing.punch(r); undo != nil {
			l.mu.counts.punchFailures++
		}
		return err
	}
	l.mu.backed.add(low, high)
	l.mu.untouched.remove(low, high) // the kernel zeroes them, now or at the first store
	l.mu.frontier = max(l.mu.frontier, high)
	l.mu.fileSize = max(l.mu.fileSize, r.End())
	l.mu.counts.reservedBytes += r.Length
	return nil
}

// writableLocked prepares r, which owner wants to free: it must be writable before it can be handed out again.
func (l *Lent) writableLocked(owner string, r Range) error {
	if err := l.mu.allocator.Holds(owner, r); err != nil {
		return err
	}
	return l.unprotectLocked(pageSpan(r))
}

// releaseLocked makes r, which has just been freed, idle, and punches when too much is idle (M10).
func (l *Lent) releaseLocked(r Range) {
	if invariants.Enabled {
		// Guarded: the file may have been truncated, which must not end the process.
		_ = Guarded(func() { poison(l.mapping.memory[r.Offset:r.End()]) })
		l.mu.untouched.remove(pageSpan(r))
	}
	l.mu.idle.add(pageSpan(r))
	if l.mu.idle.count > l.recyclePages {
		// Down to half, so that the next punch is a while away. What the file system refuses is counted and stays idle.
		_ = l.punchLocked(l.recyclePages / 2)
	}
	l.becameIdleLocked(pageSpan(r))
}

// intactLocked detects a backing that was truncated or removed, before memory is handed out that would fault at the
// first store.
func (l *Lent) intactLocked() error {
	if err := l.openLocked(); err != nil {
		return err
	}
	st, err := l.spec.status(l.mapping.file)
	switch {
	case err != nil:
		return fmt.Errorf("memregion: region %d: ask for the size of %s: %w", l.spec.ID, l.spec.Path, err)
	case st.Nlink == 0:
		return fmt.Errorf("memregion: region %d: %w: %s was removed", l.spec.ID, ErrRegionGone, l.spec.Path)
	case st.Size < l.mu.fileSize:
		return fmt.Errorf("memregion: region %d: %w: %s has %d bytes and had %d", l.spec.ID, ErrRegionShort, l.spec.Path, st.Size, l.mu.fileSize)
	}
	return nil
}

// idleLocked makes the backed pages of [low, high) idle.
func (l *Lent) idleLocked(low, high int64) {
	for at := l.mu.backed.next(low, high, true); at < high; at = l.mu.backed.next(at, high, true) {
		end := l.mu.backed.next(at, high, false)
		l.mu.idle.add(at, end)
		l.becameIdleLocked(at, end)
		at = end
	}
}

// punchLocked returns idle memory to the system, from the highest address down, until at most keep pages are idle:
// the allocator prefers low addresses, so what stays is what will be used next. It skips what the file system
// refuses to punch, counts it, and returns the first such error.
func (l *Lent) punchLocked(keep int64) error {
	var first error
	for at := l.mu.frontier; l.mu.idle.count > keep; {
		low, high := l.mu.idle.lastRun(at)
		if low == high {
			break
		}
		low = max(low, high-(l.mu.idle.count-keep))
		r := Range{low * PageSize, (high - low) * PageSize}
		at = low
		l.mu.untouched.remove(low, high) // also if it is refused: half of it may be gone
		if err := l.backing.punch(r); err != nil {
			l.mu.counts.punchFailures++
			l.becameIdleLocked(low, high)
			if first == nil {
				first = fmt.Errorf("memregion: give back %v of %s: %w", r, l.spec.Path, err)
			}
			continue
		}
		l.mu.backed.remove(low, high)
		l.mu.idle.remove(low, high)
		l.mu.counts.punchedBytes += r.Length
	}
	l.mu.frontier = l.mu.backed.previous(l.mu.frontier, true)
	return first
}

// Trim returns all idle memory to the system: what was freed and kept for recycling, and what was reserved ahead. It is
// for callers that will write nothing for a while. A node keeps RecycleLimit instead, and calls Rest.
func (l *Lent) Trim() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.openLocked(); err != nil {
		return err
	}
	return l.punchLocked(0)
}

// Rest returns half of the idle memory to the system, but keeps a first growth step, if nothing was allocated since the
// last call. Called periodically, it gives back in the end what was recycled once and is not needed any more. It does
// so on shm only: a file's idle pages are its disk's, and elsewhere lines of what is punched have to be dropped again.
func (l *Lent) Rest() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.openLocked(); err != nil {
		return err
	}
	quiet := l.mu.rested == l.mu.counts.allocated
	l.mu.rested = l.mu.counts.allocated
	if keep := max(l.mu.idle.count/2, l.firstPages); quiet && l.spec.Fabric == FabricShm && l.mu.idle.count > keep {
		return l.punchLocked(keep)
	}
	return nil
}

// poison fills freed memory, in `-tags invariants` builds, with a pattern that no test mistakes for its data.
func poison(memory []byte) {
	const pattern = 0xDB
	for i := range memory {
		memory[i] = pattern
	}
}

// Verify checks M1 to M6, and of M13 that untouched pages are backed, over the whole state. Tests and a server that
// shuts down call it. It costs O(extents + pages/64).
func (l *Lent) Verify() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.mu.allocator.Verify(); err != nil {
		return err
	}
	var live int64
	var broken error
	l.mu.allocator.Extents(func(o Owned) bool {
		live += o.Range.Length / PageSize
		broken = l.heldLocked(o.Range)
		return broken == nil
	})
	if broken != nil {
		return fmt.Errorf("M5: a live extent is not backed: %w", broken)
	}
	if live+l.mu.idle.count != l.mu.backed.count {
		return fmt.Errorf("M6: %d pages backed, %d live, %d idle", l.mu.backed.count, live, l.mu.idle.count)
	}
	for at := l.mu.untouched.next(0, l.spec.Capacity/PageSize, true); at < l.spec.Capacity/PageSize; at = l.mu.untouched.next(at+1, l.spec.Capacity/PageSize, true) {
		if l.mu.backed.countIn(at, at+1) == 0 {
			return fmt.Errorf("M13: page %d is not backed, and is taken for one that was not stored into", at)
		}
	}
	if l.mu.backed.previous(l.spec.Capacity/PageSize, true) != l.mu.frontier {
		return errors.New("M6: the frontier is not the highest backed page")
	}
	return nil
}
