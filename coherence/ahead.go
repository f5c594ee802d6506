package coherence

import (
	"context"
	"time"

	"github.com/csmsql/csmsql/memregion"
)

const (
	// aheadPiece is how much is dropped at a time, in bytes: a grant that comes meanwhile waits for 15 to 40 µs, or
	// for some hundred where the kernel has to zero the pages.
	aheadPiece = 1 << 20
	// CleanAhead rests aheadShare times as long as it works: it takes one part in aheadShare + 1 of a processor's time.
	aheadShare = 4
	// aheadRest is the shortest rest.
	aheadRest = 50 * time.Microsecond
)

// DropAhead drops the lender's lines of some free memory into which its domain has stored, of at most limit bytes,
// so that a later grant of it to another domain has nothing to prepare. It returns how many bytes these were. 0:
// there is nothing to be dropped now; on fabrics that are coherent, or whose lender's cache is snooped, there never
// is. Grants wait for it, so the limit is to be small.
func (h *Home) DropAhead(limit int64) (bytes int64, err error) {
	if h.tracked == nil || h.class != Incoherent {
		return 0, nil
	}
	r, err := h.tracked.DropAhead(limit, func(r memregion.Range, data []byte) {
		begin := time.Now()
		for _, a := range DropAhead(h.class, r) {
			h.ahead.Do(a, data)
		}
		h.count.AheadTime.Add(uint64(time.Since(begin)))
	})
	h.count.AheadBytes.Add(uint64(r.Length))
	return r.Length, err
}

// CleanAhead drops lines ahead until ctx ends, on the caller's goroutine: piece by piece, a fifth of the time at most,
// and as soon as memory becomes free that its domain has stored into. It begins with the first grant to another domain
// for which there was something to prepare: the memory of a lender without foreign writers is left alone. An error is
// the memory's: it is not there any more, and nothing is dropped ahead then.
func (h *Home) CleanAhead(ctx context.Context) error {
	if h.tracked == nil || h.class != Incoherent {
		return nil
	}
	select {
	case <-ctx.Done():
		return nil
	case <-h.lends:
	}
	rest := time.NewTimer(0)
	defer rest.Stop()
	for {
		begin := time.Now()
		bytes, err := h.DropAhead(aheadPiece)
		if err != nil {
			return err
		}
		more := h.tracked.MoreToDrop()
		if bytes > 0 {
			more = nil
			rest.Reset(max(aheadShare*time.Since(begin), aheadRest))
		} else {
			rest.Stop()
		}
		select {
		case <-ctx.Done():
			return nil
		case <-more:
		case <-rest.C:
		}
	}
}
