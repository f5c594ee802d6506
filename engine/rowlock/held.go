package rowlock

import (
	"context"
	"errors"
	"fmt"

	"github.com/csmsql/csmsql/catalog/hugetable"
	"github.com/csmsql/csmsql/catalog/positions"
)

// Held are those of some rows that the owner cannot have now, because others have them (RK6); Chunks nil: of all rows
// of the version. Of all rows some may be left out: those that are only known by a later version's chunks.
func (o *Owner) Held(ctx context.Context, rows Rows) (map[int]*positions.Set, error) {
	l := o.locks
	l.mu.Lock()
	claims := l.claims[rows.Version.Table().ID]
	l.mu.Unlock()
	held := map[int]*positions.Set{}
	for _, other := range claims {
		if other.owner == o || !other.rows.Mode.excludes(rows.Mode) {
			continue
		}
		err := rows.common(ctx, other.rows, held)
		if err != nil && ctx.Err() == nil && !l.has(other) {
			err = nil // it has moved meanwhile, or ended: a transaction that finds its rows claimed asks again
		}
		if err != nil {
			return nil, fmt.Errorf("find the rows that another transaction holds: %w", err)
		}
	}
	return held, nil
}

// common adds the rows that are in both to held, by the chunks of r's version.
func (r Rows) common(ctx context.Context, other Rows, held map[int]*positions.Set) error {
	if r.Version.Version() < other.Version.Version() && !r.Version.NumbersChunksAs(other.Version) {
		return r.commonLater(ctx, other, held)
	}
	now, err := r.Version.RowsNow(ctx, other.Version, other.Chunks)
	if errors.Is(err, hugetable.ErrDiverged) {
		return nil // what was claimed is no row any more
	}
	if err != nil {
		return err
	}
	for i, set := range now {
		if r.Chunks != nil {
			set = positions.Intersection(set, r.Chunks[i])
		}
		if set.Count() > 0 {
			held[i] = positions.Union(held[i], set)
		}
	}
	return nil
}

// commonLater is common with rows by the chunks of a later version, which have other numbers: rows are found in those,
// and not the other way around, so each is looked for by itself. It is never called for all rows of a table.
func (r Rows) commonLater(ctx context.Context, other Rows, held map[int]*positions.Set) error {
	for i, set := range r.Chunks {
		for at := range set.All() {
			one := positions.Of(set.Rows(), at)
			meets, err := Rows{Version: r.Version, Chunks: map[int]*positions.Set{i: one}}.meet(ctx, other)
			if err != nil {
				return err
			}
			if meets {
				held[i] = positions.Union(held[i], one)
			}
		}
	}
	return nil
}
