package coherence

import (
	"cmp"
	"slices"

	"github.com/csmsql/csmsql/memregion"
)

// Small extents of a durable region, whose bytes the caller keeps on a disk until they are synced where they lie.
//
//	PublishLogged ─► the caller's log, with the descriptors, one sync ─► … ─► SyncLogged: those that are still needed

// Logged is a published extent whose bytes are not on the disk where they lie.
type Logged struct {
	Generation Generation
	Range      memregion.Range
	Bytes      int64 // of its seal: what follows in Range is zeroes
}

// PublishLogged is Publish, but does not sync small extents, of at most most bytes altogether. The caller puts the
// bytes of what is returned on a disk, before it hands a descriptor on, and keeps them until SyncLogged.
func (h *Home) PublishLogged(most int64, gens ...Generation) ([]Logged, error) {
	if h.durable == nil {
		return nil, h.Publish(gens...)
	}
	logged, synced := h.small(most, gens)
	if len(logged) > 0 {
		if _, err := h.step(Event{Kind: EventSynced, Generations: synced}); err != nil {
			return nil, err
		}
	}
	if err := h.Publish(gens...); err != nil {
		return nil, err
	}
	return logged, nil
}

func (h *Home) small(most int64, gens []Generation) (list []Logged, their []Generation) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, g := range gens {
		v := h.mu.core.View(g)
		if v.State != Sealed || v.Seal.Length > most {
			continue
		}
		most -= v.Seal.Length
		list = append(list, Logged{g, v.Range, v.Seal.Length})
		their = append(their, g)
	}
	return list, their
}

// syncGap is how much lies between two extents that are synced by one call: to find a page clean is cheaper than to
// wait for a disk twice.
const syncGap = 256 << 10

// SyncLogged returns when the bytes of all that are still published are on the disk. What was retired is in no version
// that was acknowledged, and never will be.
func (h *Home) SyncLogged(list []Logged) error {
	if h.durable == nil {
		return nil
	}
	for _, r := range h.unsynced(list) {
		if err := h.do([]Action{{Kind: ActionSync, Range: r}}); err != nil {
			return err
		}
	}
	return nil
}

func (h *Home) unsynced(list []Logged) (ranges []memregion.Range) {
	list = slices.Clone(list)
	slices.SortFunc(list, func(a, b Logged) int { return cmp.Compare(a.Range.Offset, b.Range.Offset) })
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, x := range list {
		if h.mu.core.View(x.Generation).State != Published {
			continue
		}
		if n := len(ranges); n > 0 && x.Range.Offset-ranges[n-1].End() < syncGap {
			ranges[n-1].Length = max(ranges[n-1].End(), x.Range.End()) - ranges[n-1].Offset
			continue
		}
		ranges = append(ranges, x.Range)
	}
	return ranges
}
