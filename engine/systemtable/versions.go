package systemtable

import (
	"context"
	"time"

	"github.com/csmsql/csmsql/catalog"
)

// versions are the versions of tables that can be asked for; own_bytes are those that would come free if a version were
// not kept.
func versions(ctx context.Context, a *Asked, add func(...any)) error {
	for _, t := range a.Tables() {
		list := a.Versions(t)
		own, err := ownBytes(ctx, list)
		if err != nil {
			return err
		}
		name := t.Table().Name
		for i, v := range list {
			since := any(nil)
			if n := v.SinceNumber(); n > 0 {
				since = int64(n)
			}
			add(name.Schema, name.Name, int64(v.Version()), since, timeOrNull(v.CommittedAt()), timeOrNull(v.Until),
				v.Cause(),
				v.Rows(), int64(v.NumChunks()), v.Bytes(), own[i])
		}
	}
	return nil
}

func timeOrNull(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t
}

// ownBytes are the bytes of the extents that each version has alone.
func ownBytes(ctx context.Context, list []catalog.Kept) ([]int64, error) {
	const several = -1
	own := make([]int64, len(list))
	of := map[catalog.ExtentID]int{} // which version has an extent
	in := map[catalog.PageID]int{}   // likewise a page
	for i, v := range list {
		for _, ref := range v.Pages() {
			before, seen := in[ref.ID]
			if in[ref.ID] = i; seen && before == several {
				in[ref.ID] = several
				continue
			}
			if seen {
				in[ref.ID] = several
			}
			headers, err := v.PageExtents(ctx, ref)
			if err != nil {
				return nil, err
			}
			for _, h := range headers {
				for x := range h.All() {
					switch at, had := of[x.ExtentID]; {
					case !had:
						of[x.ExtentID] = i
						own[i] += x.Range.Length
					case at != several && at != i:
						own[at] -= x.Range.Length
						of[x.ExtentID] = several
					}
				}
			}
		}
	}
	return own, nil
}
