package memregion

import (
	"context"
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// prefaultBytes is how much is made present between two looks at the context: some milliseconds of first touch.
const prefaultBytes = 16 << 20

// Prefault makes the pages of r present in this process, so that the cost of the first touch is paid here and not
// by the first query. It reads only, and can be cancelled between pieces. A kernel before 5.14 cannot do it, and
// does nothing. Errors: as Check, and the context's.
func (v *View) Prefault(ctx context.Context, r Range) error {
	if err := v.Check(r); err != nil {
		return err
	}
	for done := int64(0); done < r.Length; done += prefaultBytes {
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("memregion: prefault %v of region %d: %w", r, v.mapping.spec.ID, err)
		}
		piece := Range{r.Offset + done, min(prefaultBytes, r.Length-done)}
		if err := v.mapping.during(piece, populate); err != nil {
			if errors.Is(err, unix.EFAULT) {
				err = fmt.Errorf("%w: %s was truncated", ErrRegionShort, v.mapping.spec.Path)
			}
			return fmt.Errorf("memregion: prefault %v of region %d: %w", piece, v.mapping.spec.ID, err)
		}
	}
	return nil
}

func populate(memory []byte) error {
	for {
		switch err := unix.Madvise(memory, unix.MADV_POPULATE_READ); {
		case errors.Is(err, unix.EINTR), errors.Is(err, unix.EAGAIN):
		case errors.Is(err, unix.EINVAL):
			return nil // the old kernel
		default:
			return err
		}
	}
}
