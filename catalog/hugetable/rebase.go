package hugetable

import (
	"context"
	"errors"
	"fmt"

	"github.com/csmsql/csmsql/catalog/chunk"
	"github.com/csmsql/csmsql/internal/enumeration"
)

// ErrDiverged: two changes of one version exclude each other.
var ErrDiverged = errors.New("the table was changed in another way since")

// ByRows reports whether all that was done to a committed version to get this one was to append chunks and to delete
// rows.
func (v *Version) ByRows(base *Version) bool {
	return v.commutes(base) && len(v.moved) == 0 && v.fold == nil
}

// commutes reports whether the version is base with chunks appended, or in the place of others with the same rows, and
// with rows deleted, or with a run of them folded.
func (v *Version) commutes(base *Version) bool {
	return !v.truncated && v.table.same(&base.table)
}

// onlyPlaces reports whether the version is base with another placement on record, and current has all of base's chunks
// where they were: to say where rows lie goes with rows that others append, as the placement before tells them, and
// with rows that they delete.
func (v *Version) onlyPlaces(base, current *Version) bool {
	declared := v.table
	declared.Placement = base.table.Placement
	return v.committed() && v.numbering == base.numbering && current.numbering == base.numbering &&
		declared.same(&base.table)
}

// Rebase does to current what was done to base to get this version (H5). Base is a committed version, current a later
// one, which may have chunks that are in no page yet. What does not go together is ErrDiverged: all rows taken away or
// replaced, another declaration of the table on either side (except onlyPlaces), the same chunk in other places on both,
// the same row deleted by both, and a fold of what is not there as it was. Chunks that were to move and are folded by now
// are not moved: FreshExtents has no copies of them. Rows that were deleted are, wherever they lie by then.
//
//	base ──── append x, move 2 ───► v           chunks 0 1 2' x
//	 └─────── append y ───► current             chunks 0 1 2  y
//	                           └─► v.Rebase     chunks 0 1 2' y x
func (v *Version) Rebase(ctx context.Context, base, current *Version) (*Version, error) {
	switch {
	case current == base:
		return v, nil
	case !current.table.same(&base.table), !v.commutes(base) && !v.onlyPlaces(base, current) && !current.SameRows(base):
		return nil, fmt.Errorf("%w: table %v", ErrDiverged, v.table.Name)
	case v.truncated:
		next := *v
		next.number, next.numbering = current.number, current.numbering+1
		return &next, nil
	}
	declared, err := v.declaring(current)
	if err != nil {
		return nil, diverged(err)
	}
	find := &finder{from: base, in: declared}
	if v.fold != nil {
		next, err := v.foldAgain(ctx, find)
		return next, diverged(err)
	}
	next, err := v.moveAgain(ctx, find)
	if err != nil {
		return nil, err
	}
	tail := next.NumChunks()
	for first := 0; first < len(v.tail); {
		run, words := v.tailFrom(first)
		if next, err = next.appended(run, words); err != nil {
			return nil, err
		}
		first += len(run)
	}
	return v.deleteAgain(ctx, base, next, tail)
}

// declaring returns the later version with this one's declarations, which may have other columns.
func (v *Version) declaring(current *Version) (*Version, error) {
	next := *current
	if !SameNumbers(v, current) {
		altered, err := current.Alter(v.table.Columns)
		if err != nil {
			return nil, err
		}
		next = *altered
	}
	next.table, next.display = v.table, v.display
	return &next, nil
}

// moveAgain puts the version's replacements into the later one, except those of chunks that were folded since.
func (v *Version) moveAgain(ctx context.Context, find *finder) (*Version, error) {
	if len(v.moved) == 0 {
		return find.in, nil
	}
	replaced := map[int]Replacement{}
	for i, m := range v.moved {
		old, err := find.from.At(ctx, i)
		if err != nil {
			return nil, err
		}
		number, found, err := find.chunk(ctx, i, old.Extents())
		if err == nil && !found {
			if found, err = find.folded(ctx, old.FirstRow, old.Rows()); found {
				continue
			}
			if err == nil {
				err = fmt.Errorf("%w: chunk %d of table %v is not there any more", ErrDiverged, i, v.table.Name)
			}
		}
		if err != nil {
			return nil, err
		}
		replaced[number] = Replacement{Old: old.Chunk, New: m.chunk}
	}
	next, err := find.in.ReplaceChunks(ctx, replaced)
	return next, diverged(err)
}

// diverged makes an error of applying a change to a later version ErrDiverged.
func diverged(err error) error {
	if errors.Is(err, ErrMismatch) || errors.Is(err, ErrRange) || errors.Is(err, ErrDeleted) {
		return fmt.Errorf("%w: %w", ErrDiverged, err)
	}
	return err
}

// tailFrom is a run of the tail's chunks that have one origin, or none.
func (v *Version) tailFrom(first int) ([]*chunk.Chunk, string) {
	end, words := len(v.tail), ""
	for _, o := range v.origins {
		switch from := o.First - v.chunks; {
		case from == first:
			return v.tail[first : first+o.Chunks], o.Words
		case from > first:
			end = min(end, from)
		}
	}
	return v.tail[first:end], words
}

// same reports whether two versions are of one table, declared in the same way.
func (t *Table) same(other *Table) bool {
	return t.ID == other.ID && t.Name == other.Name && t.Placement == other.Placement && t.Replicas == other.Replicas &&
		t.Retention == other.Retention && t.Family == other.Family &&
		t.Columns.Equal(other.Columns) && t.Columns.Metadata().Equal(other.Columns.Metadata()) &&
		enumeration.SameStates(t.Columns, other.Columns)
}
