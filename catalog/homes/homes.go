package homes

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/csmsql/csmsql/catalog/chunk"
	"github.com/csmsql/csmsql/catalog/descriptor"
	"github.com/csmsql/csmsql/catalog/store"
	"github.com/csmsql/csmsql/coherence"
	"github.com/csmsql/csmsql/memregion"
)

// Homes is the Lender of a process that lends some regions itself. It must not change while a catalog uses it.
type Homes map[memregion.RegionID]*coherence.Home

// Space is where chunks of a region are written.
func (h Homes) Space(region memregion.RegionID) (chunk.Space, error) {
	home, err := h.home(region)
	if err != nil {
		return nil, err
	}
	return chunk.Home{Home: home}, nil
}

func (h Homes) home(region memregion.RegionID) (*coherence.Home, error) {
	home := h[region]
	if home == nil {
		return nil, fmt.Errorf("%w: region %d is not lent by this process", coherence.ErrUnknown, region)
	}
	return home, nil
}

// Publish implements Lender. Regions are published one after the other; if one refuses, those before it are retired, so
// that all or nothing holds over all of them.
func (h Homes) Publish(ids ...descriptor.ExtentID) error {
	return h.publish(ids, func(home *coherence.Home, gens []coherence.Generation) error { return home.Publish(gens...) })
}

// loggedBytes bounds what one commit has of chunks' bytes, and so what it writes twice: a commit of more has no sync to
// spare.
const loggedBytes = 64 << 10

// PublishLogged is Publish, but the bytes of small extents are returned for the commit and not synced.
func (h Homes) PublishLogged(ids ...descriptor.ExtentID) (redos []store.Redo, err error) {
	err = h.publish(ids, func(home *coherence.Home, gens []coherence.Generation) error {
		list, err := home.PublishLogged(loggedBytes, gens...)
		for _, x := range list {
			redos = append(redos, store.Redo{
				Region: uint64(home.Region()), Generation: uint64(x.Generation), Offset: x.Range.Offset, Length: x.Range.Length,
				Data: home.Bytes(x.Range)[:x.Bytes],
			})
		}
		return err
	})
	return redos, err
}

// SyncLogged returns when those bytes are on the disk where they lie, as far as a version needs them. No version
// needs those of regions that are not here.
func (h Homes) SyncLogged(redos []store.Redo) error {
	of := map[memregion.RegionID][]coherence.Logged{}
	for _, r := range redos {
		id := memregion.RegionID(r.Region)
		of[id] = append(of[id], coherence.Logged{
			Generation: coherence.Generation(r.Generation), Range: memregion.Range{Offset: r.Offset, Length: r.Length},
		})
	}
	for id, list := range of {
		if home := h[id]; home != nil {
			if err := home.SyncLogged(list); err != nil {
				return err
			}
		}
	}
	return nil
}

func (h Homes) publish(ids []descriptor.ExtentID, do func(*coherence.Home, []coherence.Generation) error) error {
	done := 0
	err := h.perRegion(ids, func(home *coherence.Home, gens []coherence.Generation) error {
		if err := do(home, gens); err != nil {
			return err
		}
		done += len(gens)
		return nil
	})
	if err != nil && done > 0 {
		published := ordered(ids)[:done]
		return errors.Join(err, h.Retire(published...))
	}
	return err
}

// Discard implements Lender.
func (h Homes) Discard(ids ...descriptor.ExtentID) error {
	return h.everyRegion(ids, func(home *coherence.Home, gens []coherence.Generation) error { return home.Discard(gens...) })
}

// Retire implements Lender.
func (h Homes) Retire(ids ...descriptor.ExtentID) error {
	return h.everyRegion(ids, func(home *coherence.Home, gens []coherence.Generation) error { return home.Retire(gens...) })
}

// Pin implements Lender; a refusal undoes what was pinned before it.
func (h Homes) Pin(domain coherence.Domain, ids ...descriptor.ExtentID) error {
	done := 0
	err := h.perRegion(ids, func(home *coherence.Home, gens []coherence.Generation) error {
		if err := home.Pin(domain, gens); err != nil {
			return err
		}
		done += len(gens)
		return nil
	})
	if err != nil && done > 0 {
		return errors.Join(err, h.Unpin(domain, ordered(ids)[:done]...))
	}
	return err
}

// Unpin implements Lender.
func (h Homes) Unpin(domain coherence.Domain, ids ...descriptor.ExtentID) error {
	return h.everyRegion(ids, func(home *coherence.Home, gens []coherence.Generation) error { return home.Unpin(domain, gens) })
}

// ExpireDomain implements Lender.
func (h Homes) ExpireDomain(domain coherence.Domain) error {
	for _, home := range h {
		home.ExpireDomain(domain)
	}
	return nil
}

// perRegion calls do for each region's generations and stops at the first error.
func (h Homes) perRegion(ids []descriptor.ExtentID, do func(*coherence.Home, []coherence.Generation) error) error {
	sorted := ordered(ids)
	for first := 0; first < len(sorted); {
		region := sorted[first].Region
		var gens []coherence.Generation
		for ; first < len(sorted) && sorted[first].Region == region; first++ {
			gens = append(gens, sorted[first].Generation)
		}
		home, err := h.home(region)
		if err == nil {
			err = do(home, gens)
		}
		if err != nil {
			return fmt.Errorf("region %d: %w", region, err)
		}
	}
	return nil
}

// everyRegion is perRegion without the stop: giving back goes as far as it can.
func (h Homes) everyRegion(ids []descriptor.ExtentID, do func(*coherence.Home, []coherence.Generation) error) error {
	var failed error
	err := h.perRegion(ids, func(home *coherence.Home, gens []coherence.Generation) error {
		if err := do(home, gens); err != nil {
			failed = errors.Join(failed, fmt.Errorf("region %d: %w", home.Region(), err))
		}
		return nil
	})
	return errors.Join(failed, err)
}

// ordered returns the identifiers grouped by region, in their order within each.
func ordered(ids []descriptor.ExtentID) []descriptor.ExtentID {
	for i := 1; i < len(ids); i++ {
		if ids[i].Region < ids[i-1].Region {
			sorted := slices.Clone(ids)
			slices.SortStableFunc(sorted, func(a, b descriptor.ExtentID) int { return cmp.Compare(a.Region, b.Region) })
			return sorted
		}
	}
	return ids // one region, nearly always
}
