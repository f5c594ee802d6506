package hugetable

import (
	"context"

	"github.com/csmsql/csmsql/catalog/positions"
)

// Removed are the rows that live in base, an earlier version, and are deleted in this one, by their chunk in base. Not
// exact: chunks have other numbers since, by a fold or because all rows were taken away, and any row may be gone.
func (v *Version) Removed(ctx context.Context, base *Version) (rows map[int]*positions.Set, exact bool, err error) {
	rows = map[int]*positions.Set{}
	switch {
	case v == base:
		return rows, true, nil
	case v.numbering != base.numbering || v.fold != nil || v.NumChunks() < base.NumChunks():
		return nil, false, nil
	case v.deleted == base.deleted:
		return rows, true, nil
	}
	same := v.untouched()
	for _, ref := range base.pages {
		if same[ref.ID] && !base.touches(ref) {
			continue
		}
		for i := range ref.Chunks {
			if err := v.removed(ctx, base, ref.firstChunk+i, rows); err != nil {
				return nil, false, err
			}
		}
	}
	for i := base.chunks; i < base.NumChunks(); i++ {
		if err := v.removed(ctx, base, i, rows); err != nil {
			return nil, false, err
		}
	}
	return rows, true, nil
}

// removed finds those of one chunk.
func (v *Version) removed(ctx context.Context, base *Version, i int, rows map[int]*positions.Set) error {
	count, _, err := v.deletedOf(ctx, i)
	if err != nil || count == 0 {
		return err
	}
	if former, _, err := base.deletedOf(ctx, i); err != nil || former == count { // of most, nothing is decoded
		return err
	}
	now, err := v.Deleted(ctx, i)
	if err != nil {
		return err
	}
	before, err := base.Deleted(ctx, i)
	if err != nil {
		return err
	}
	gone := positions.New(now.Rows())
	for at := range now.All() {
		if !before.Has(at) {
			gone.Add(at)
		}
	}
	rows[i] = gone
	return nil
}
