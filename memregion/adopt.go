package memregion

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/csmsql/csmsql/internal/filelock"
)

// Adopt takes over the backing of a region that an earlier process lent, after a crash or an orderly end. live is
// every extent that still matters, in any order; what else the file holds is given back to the system. No page is
// touched, so the time depends on the number of extents, and little on their size.
//
// Errors: ErrRegionGone, ErrRegionShort (naming the extent), ErrLentElsewhere, ErrAddressTaken, ErrOverlap,
// ErrOutOfRange, ErrBadSpec; up to and including these the file is unchanged. ErrRegionFull when the fabric cannot back
// a live extent that was punched meanwhile.
func Adopt(ctx context.Context, spec Spec, live []Owned, opts LendOptions) (*Lent, error) {
	if err := errors.Join(ctx.Err(), spec.validate()); err != nil {
		return nil, err
	}
	file, err := openBacking(spec, os.O_RDWR)
	if err != nil {
		return nil, err
	}
	l, err := adoptFile(ctx, file, spec, live, opts)
	if err != nil {
		_ = filelock.Give(file) // also lets go of the lock; closed already when settling failed
		return nil, err
	}
	return l, nil
}

// adoptFile checks everything before it changes anything.
func adoptFile(ctx context.Context, file *os.File, spec Spec, live []Owned, opts LendOptions) (*Lent, error) {
	if err := lockBacking(file, spec); err != nil {
		return nil, err
	}
	st, err := spec.status(file)
	if err != nil {
		return nil, fmt.Errorf("memregion: adopt region %d: %w", spec.ID, err)
	}
	live = slices.SortedFunc(slices.Values(live), func(a, b Owned) int { return cmp.Compare(a.Range.Offset, b.Range.Offset) })
	allocator, err := rebuild(spec, live, st.Size)
	if err != nil {
		return nil, err
	}
	l, err := newLent(file, spec, allocator, opts)
	if err != nil {
		return nil, err
	}
	if err := l.settle(ctx, live, st.Size); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

// rebuild makes the allocator of the live extents, which are sorted.
func rebuild(spec Spec, live []Owned, size int64) (*Allocator, error) {
	allocator := NewAllocator(spec.Capacity)
	for _, o := range live {
		if err := allocator.Adopt(o.Owner, o.Range); err != nil {
			return nil, fmt.Errorf("memregion: adopt region %d: %w", spec.ID, err)
		}
		if o.Range.End() > size {
			return nil, fmt.Errorf("memregion: adopt region %d: %w: extent %v of %q ends after %s, which has %d bytes", spec.ID, ErrRegionShort,
				o.Range, o.Owner, spec.Path, size)
		}
	}
	return allocator, nil
}

// settle makes the file agree with the allocator: gaps between live extents are punched, live extents reserved. An
// extent's memory is there already unless another process punched it. Reserving it again costs little and restores M5.
func (l *Lent) settle(ctx context.Context, live []Owned, size int64) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.mu.fileSize = size
	end := max(size, l.spec.Capacity)
	for low := int64(0); low < end; {
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("memregion: adopt region %d: %w", l.spec.ID, err)
		}
		run, rest := nextRun(live)
		if run.Length == 0 {
			run.Offset = end
		}
		if err := l.punchGap(Range{low, min(run.Offset, size) - low}); err != nil {
			return err
		}
		if err := l.reserveRun(run); err != nil {
			return err
		}
		low, live = run.End(), rest
	}
	return nil
}

// nextRun is the first extents of live as far as they touch each other, and the others.
func nextRun(live []Owned) (run Range, rest []Owned) {
	for i, o := range live {
		switch {
		case i == 0:
			run = o.Range
		case o.Range.Offset == run.End():
			run.Length += o.Range.Length
		default:
			return run, live[i:]
		}
	}
	return run, nil
}

// punchGap gives back bytes that no extent uses. A file system that cannot punch keeps them: more memory, but not
// wrong.
func (l *Lent) punchGap(gap Range) error {
	if gap.Length <= 0 {
		return nil
	}
	if err := l.backing.punch(gap); err != nil {
		l.mu.counts.punchFailures++
		if reserved := reserveError(l.spec, gap, err); !errors.Is(reserved, ErrUnsupported) {
			return fmt.Errorf("memregion: adopt region %d: give back %v: %w", l.spec.ID, gap, err)
		}
	}
	return nil
}

func (l *Lent) reserveRun(run Range) error {
	if run.Length == 0 {
		return nil
	}
	if err := l.backing.reserve(run); err != nil {
		return reserveError(l.spec, run, err)
	}
	low, high := pageSpan(run)
	l.mu.backed.add(low, high)
	l.mu.frontier = max(l.mu.frontier, high)
	return nil
}
