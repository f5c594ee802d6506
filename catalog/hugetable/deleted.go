package hugetable

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/csmsql/csmsql/catalog/positions"
)

// Deleted rows (H6). Sealed bytes never change: a row is deleted by its position in its chunk, which stays what it is,
// and is on record in the chunk's entry. Everything that is said of a chunk, and its statistics, is said of all of its
// rows: of those that live they are bounds.

// DeletedRows is how many rows of the chunks are deleted.
func (v *Version) DeletedRows() int64 { return v.deleted }

// Deleted is which rows of chunk i are deleted: nil if none is. Nothing is read for it of a page without such rows.
func (v *Version) Deleted(ctx context.Context, i int) (*positions.Set, error) {
	data, rows, err := v.storedDeleted(ctx, i)
	if err != nil || data == nil {
		return v.dead[i], err
	}
	stored, err := positions.Decode(data, rows)
	if err != nil {
		return nil, v.corruptDeleted(i, err)
	}
	return positions.Union(stored, v.dead[i]), nil
}

// Gone reports whether all rows of chunk i are deleted. It decodes no positions.
func (v *Version) Gone(ctx context.Context, i int) (bool, error) {
	count, rows, err := v.deletedOf(ctx, i)
	return count > 0 && count >= rows, err
}

// deletedOf is how many rows of chunk i are deleted, and if some are, of how many.
func (v *Version) deletedOf(ctx context.Context, i int) (count, rows int64, err error) {
	data, rows, err := v.storedDeleted(ctx, i)
	dead := v.dead[i] // none of them is deleted twice
	if err != nil || data == nil {
		return dead.Count(), dead.Rows(), err
	}
	stored, err := positions.CountOf(data, rows)
	if err != nil {
		return 0, 0, v.corruptDeleted(i, err)
	}
	return stored + dead.Count(), rows, nil
}

// storedDeleted is what the page of chunk i says of its deleted rows; nil: nothing.
func (v *Version) storedDeleted(ctx context.Context, i int) (data []byte, rows int64, err error) {
	if v.deleted == 0 || i < 0 || i >= v.chunks {
		return nil, 0, nil
	}
	ref := v.pages[v.pageOf(i)]
	if ref.Deleted == 0 {
		return nil, 0, nil
	}
	l, err := v.load(ctx, ref)
	if err != nil {
		return nil, 0, fmt.Errorf("table %v, chunk %d: %w", v.table.Name, i, err)
	}
	e := &l.page.entries[i-ref.firstChunk]
	return e.deleted, e.rows, nil
}

func (v *Version) corruptDeleted(i int, err error) error {
	return fmt.Errorf("%w: table %v, chunk %d: %w", ErrCorrupt, v.table.Name, i, err)
}

// Delete returns the version without some rows, by chunk. One that is deleted already is ErrDeleted.
func (v *Version) Delete(ctx context.Context, rows map[int]*positions.Set) (*Version, error) {
	if v.fold != nil && len(rows) > 0 {
		return nil, v.foldIsAlone()
	}
	next := *v
	next.dead = maps.Clone(v.dead)
	if next.dead == nil {
		next.dead = map[int]*positions.Set{}
	}
	for i, gone := range rows {
		if gone.Count() == 0 {
			continue
		}
		c, err := v.Chunk(ctx, i)
		if err != nil {
			return nil, err
		}
		if gone.Rows() != c.Rows() {
			return nil, fmt.Errorf("%w: chunk %d of table %v has %d rows, not %d", ErrMismatch, i, v.table.Name,
				c.Rows(), gone.Rows())
		}
		before, err := v.Deleted(ctx, i)
		if err != nil {
			return nil, err
		}
		if positions.Meets(before, gone) {
			return nil, fmt.Errorf("%w: chunk %d of table %v", ErrDeleted, i, v.table.Name)
		}
		next.dead[i] = positions.Union(v.dead[i], gone)
		next.deleted += gone.Count()
	}
	return &next, nil
}

// deleteAgain deletes in next, a later version of base, the rows that v deleted of base: they have the numbers that
// they had, whatever chunks they lie in by now. tail is where v's own chunks begin in next.
func (v *Version) deleteAgain(ctx context.Context, base, next *Version, tail int) (*Version, error) {
	if len(v.dead) == 0 {
		return next, nil
	}
	gone, find := map[int]*positions.Set{}, &finder{from: base, in: next}
	for _, i := range slices.Sorted(maps.Keys(v.dead)) {
		var err error
		switch {
		case i >= v.chunks:
			gone[tail+i-v.chunks] = v.dead[i]
		case next.numbering == base.numbering:
			gone[i] = v.dead[i]
		default:
			err = next.rowsNow(ctx, find, i, v.dead[i], gone)
		}
		if err != nil {
			return nil, err
		}
	}
	next, err := next.Delete(ctx, gone)
	return next, diverged(err)
}

// findRows finds rows of chunk i of base in the chunks that they lie in now.
func (v *Version) findRows(ctx context.Context, base *Version, i int, rows *positions.Set,
	into map[int]*positions.Set) error {
	was, err := base.At(ctx, i)
	if err != nil {
		return err
	}
	numbers := make([]int64, 0, rows.Count())
	for at := range rows.All() {
		numbers = append(numbers, was.FirstRow+at)
	}
	numbers, all, err := v.numbersNow(base, numbers)
	if err == nil && !all {
		err = fmt.Errorf("%w: chunk %d of table %v", ErrDeleted, i, v.table.Name) // by another, and left out since
	}
	if err != nil {
		return diverged(err)
	}
	var now Position
	found := false
	for _, row := range numbers {
		if !found || row >= now.FirstRow+now.Rows() {
			if now, found, err = v.atRow(ctx, row); err != nil {
				return err
			}
			if !found {
				return fmt.Errorf("%w: row %d of table %v is not there any more", ErrDiverged, row, v.table.Name)
			}
			if into[now.Index] == nil {
				into[now.Index] = positions.New(now.Rows())
			}
		}
		into[now.Index].Add(row - now.FirstRow)
	}
	return nil
}

// rowsOfChunk are rows of chunk i of the earlier version in the later one, which does not know that version's numbers:
// they are where they were if the chunk is there as it was.
func (f *finder) rowsOfChunk(ctx context.Context, i int, rows *positions.Set, into map[int]*positions.Set) error {
	was, err := f.from.Chunk(ctx, i)
	if err != nil {
		return err
	}
	number, found, err := f.chunk(ctx, i, was.Extents())
	if err != nil {
		return err
	}
	if found {
		now, err := f.in.Chunk(ctx, number)
		if err != nil {
			return err
		}
		if found = slices.Equal(now.Extents(), was.Extents()); found {
			into[number] = rows
			return nil
		}
	}
	return fmt.Errorf("%w: chunk %d of table %v was rewritten", ErrDiverged, i, f.in.table.Name)
}

// isOver reports whether no row lives, and no chunk is uncommitted: then the version needs no chunks, and their memory
// comes free.
func (v *Version) isOver() bool {
	return v.rows > 0 && v.deleted == v.rows && len(v.tail)+len(v.moved) == 0 && v.fold == nil
}

// NumbersChunksAs reports whether chunks that are in both versions have the same numbers there.
func (v *Version) NumbersChunksAs(other *Version) bool { return v.numbering == other.numbering }

// RowsNow takes rows of an earlier version, by chunk, and returns them by the chunks that they lie in now. One that is
// not there any more is ErrDiverged.
func (v *Version) RowsNow(ctx context.Context, base *Version,
	rows map[int]*positions.Set) (map[int]*positions.Set, error) {
	if v.numbering == base.numbering {
		return rows, nil
	}
	now, find := map[int]*positions.Set{}, &finder{from: base, in: v}
	for _, i := range slices.Sorted(maps.Keys(rows)) {
		if err := v.rowsNow(ctx, find, i, rows[i], now); err != nil {
			return nil, err
		}
	}
	return now, nil
}

// rowsNow is RowsNow for one chunk.
func (v *Version) rowsNow(ctx context.Context, find *finder, i int, rows *positions.Set,
	into map[int]*positions.Set) error {
	if !v.knows(find.from) {
		return find.rowsOfChunk(ctx, i, rows, into)
	}
	return v.findRows(ctx, find.from, i, rows, into)
}
