package memregion

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Each run of read-only pages splits the region's map: the kernel keeps up to two more entries, of the 65,530 that
// a process may have by default. Protection is a seat belt and not what makes reading correct, so it stops well
// before the limit and counts what it skipped.
const (
	defaultMapEntries = 65530
	protectRunsMax    = 8192
	entriesPerRun     = 2
	entriesShare      = 4 // at most a quarter of the process' map entries
)

func protectRunsLimit() int {
	entries := defaultMapEntries
	if text, err := os.ReadFile("/proc/sys/vm/max_map_count"); err == nil {
		if n, err := strconv.Atoi(strings.TrimSpace(string(text))); err == nil {
			entries = n
		}
	}
	return min(protectRunsMax, entries/entriesShare/entriesPerRun)
}

// Protect makes sealed extents read-only for this process, so that a stray store faults instead of changing a
// table. Ranges that touch are protected in one call and cost one map entry. When too many separate runs are
// protected already, the rest stays writable and is counted in Stats. Freeing unprotects. Errors: ErrNotAllocated,
// ErrOutOfRange, ErrClosed.
func (l *Lent) Protect(ranges ...Range) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.openLocked(); err != nil {
		return err
	}
	for _, r := range mergeTouching(ranges) {
		if err := l.heldLocked(r); err != nil {
			return err
		}
		if err := l.protectLocked(pageSpan(r)); err != nil {
			return err
		}
	}
	return nil
}

// mergeTouching sorts the ranges and joins those without a gap.
func mergeTouching(ranges []Range) []Range {
	sorted := slices.SortedFunc(slices.Values(ranges), func(a, b Range) int { return cmp.Compare(a.Offset, b.Offset) })
	var merged []Range
	for _, r := range sorted {
		if n := len(merged); n > 0 && merged[n-1].End() == r.Offset {
			merged[n-1].Length += r.Length
			continue
		}
		merged = append(merged, r)
	}
	return merged
}

func (l *Lent) protectLocked(low, high int64) error {
	// The kernel's pages may be larger than ours: protect only those that lie wholly inside.
	kernel := l.mapping.unit / PageSize
	low, high = (low+kernel-1)/kernel*kernel, high/kernel*kernel
	if low >= high {
		l.mu.counts.protectSkipped++
		return nil
	}
	joined := l.protectedRunsAround(low, high)
	if l.mu.runs+1-joined > l.protectRuns {
		l.mu.counts.protectSkipped++
		return nil
	}
	if err := l.changeProtection(low, high, unix.PROT_READ); err != nil {
		return err
	}
	l.mu.runs += 1 - joined
	l.mu.protected.add(low, high)
	return nil
}

func (l *Lent) unprotectLocked(low, high int64) error {
	kernel := l.mapping.unit / PageSize
	low = low / kernel * kernel
	high = min((high+kernel-1)/kernel*kernel, l.spec.Capacity/PageSize)
	if l.mu.protected.countIn(low, high) == 0 {
		return nil
	}
	before := l.protectedRunsAround(low, high)
	if err := l.changeProtection(low, high, unix.PROT_READ|unix.PROT_WRITE); err != nil {
		return err
	}
	l.mu.protected.remove(low, high)
	l.mu.runs += l.protectedRunsAround(low, high) - before
	return nil
}

// protectedRunsAround counts the protected runs that touch [low, high) or its neighbours.
func (l *Lent) protectedRunsAround(low, high int64) int {
	low, high = max(low-1, 0), min(high+1, l.spec.Capacity/PageSize)
	runs := 0
	for at := l.mu.protected.next(low, high, true); at < high; at = l.mu.protected.next(at, high, true) {
		runs++
		at = l.mu.protected.next(at, high, false)
	}
	return runs
}

// remap keeps what is protected protected.
func (l *Lent) remap(r Range) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.openLocked(); err != nil {
		return err
	}
	kernel := l.mapping.unit / PageSize
	low, high := pageSpan(r)
	low, high = low/kernel*kernel, min((high+kernel-1)/kernel*kernel, l.spec.Capacity/PageSize)
	for low < high { // protected runs are whole pages of the kernel
		protected := l.mu.protected.countIn(low, low+1) > 0
		end, protection := l.mu.protected.next(low, high, !protected), unix.PROT_READ|unix.PROT_WRITE
		if protected {
			protection = unix.PROT_READ
		}
		if err := l.mapping.remap(Range{low * PageSize, (end - low) * PageSize}, protection); err != nil {
			return err
		}
		low = end
	}
	return nil
}

func (l *Lent) changeProtection(low, high int64, protection int) error {
	if l.mapping.cached.onHeap() != nil {
		return nil // Go's heap is Go's
	}
	r := Range{low * PageSize, (high - low) * PageSize}
	err := l.mapping.during(r, func(memory []byte) error { return unix.Mprotect(memory, protection) })
	if err != nil {
		return fmt.Errorf("memregion: change the protection of %v of region %d: %w", r, l.spec.ID, err)
	}
	return nil
}
