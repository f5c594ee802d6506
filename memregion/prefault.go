package memregion

import (
	"context"
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// prefaultBytes is how much is made present between two looks at the context and two reports: some milliseconds of first touch.
const prefaultBytes = 16 << 20

// Prefault makes the pages of r present, so that first-touch cost is paid here and not by the first query. It changes no byte, reports to
// LendOptions.Progress and can be cancelled between pieces. Preconditions: the caller holds r until it returns.
// Errors: ErrNotAllocated, ErrOutOfRange, ErrRegionShort (truncated meanwhile), ErrClosed, and the context's.
func (l *Lent) Prefault(ctx context.Context, r Range) error {
	advice, err := l.populateAdvice(r)
	if err != nil {
		return err
	}
	return l.mapping.populate(ctx, r, advice, l.options.Progress)
}

// populateAdvice says how the pages of r are made present. Read-only ones were written before they were sealed, so reading is enough.
func (l *Lent) populateAdvice(r Range) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.openLocked(); err != nil {
		return 0, err
	}
	if err := l.heldLocked(r); err != nil {
		return 0, err
	}
	if l.mu.protected.countIn(pageSpan(r)) > 0 {
		return unix.MADV_POPULATE_READ, nil
	}
	l.mu.untouched.remove(pageSpan(r)) // the kernel may zero them
	return unix.MADV_POPULATE_WRITE, nil
}

// Prefault makes the pages of r present in this process, for a borrower that would rather wait now than in its first query.
// Errors: as Check, and the context's.
func (v *View) Prefault(ctx context.Context, r Range) error {
	if err := v.Check(r); err != nil {
		return err
	}
	return v.mapping.populate(ctx, r, unix.MADV_POPULATE_READ, nil)
}

func (m *mapping) populate(ctx context.Context, r Range, advice int, progress func(done, total int64)) error {
	for done := int64(0); done < r.Length; {
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("memregion: prefault %v of region %d: %w", r, m.spec.ID, err)
		}
		piece := Range{r.Offset + done, min(prefaultBytes, r.Length-done)}
		if err := m.during(piece, func(memory []byte) error { return populatePiece(memory, advice) }); err != nil {
			return m.populateError(piece, err)
		}
		done += piece.Length
		if progress != nil {
			progress(done, r.Length)
		}
	}
	return nil
}

func populatePiece(memory []byte, advice int) error {
	for {
		err := unix.Madvise(memory, advice)
		switch {
		case errors.Is(err, unix.EINTR), errors.Is(err, unix.EAGAIN):
			continue
		case errors.Is(err, unix.EINVAL) && advice == unix.MADV_POPULATE_WRITE:
			return Guarded(func() { touchPages(memory) })
		case errors.Is(err, unix.EINVAL):
			return nil // a kernel before 5.14; reading will fault the pages in
		}
		return err
	}
}

func (m *mapping) populateError(r Range, err error) error {
	if errors.Is(err, unix.EFAULT) {
		return fmt.Errorf("memregion: prefault %v of region %d: %w: %s was truncated", r, m.spec.ID, ErrRegionShort, m.spec.Path)
	}
	return fmt.Errorf("memregion: prefault %v of region %d: %w", r, m.spec.ID, err)
}
