package hugetable

import (
	"context"
	"fmt"
	"slices"

	"github.com/csmsql/csmsql/catalog/chunk"
	"github.com/csmsql/csmsql/catalog/descriptor"
	"github.com/csmsql/csmsql/catalog/positions"
)

// A fold puts other chunks with the same rows in the place of a run of chunks that follow each other:
//
//	numbers  0   1 2 3 4 5   6                           0   1   2
//	       ┌───┬─┬─┬─┬─┬─┬─────┐   Fold(1, 5 chunks)    ┌───┬───┬─────┐
//	rows   0   9 10      14    30                       0   9   14    30
//
// What lies behind it has other numbers then, and the same rows. The pages that list the run are rewritten, with
// what else they list, and small ones beside them are packed with them. One that leaves deleted rows out is a purge.

// fold is what a transaction folded.
type fold struct {
	first      int // chunk number, before it
	olds, news []*chunk.Chunk
	left       []*positions.Set // of the rows of olds, those that are not in news; nil: none
	purge      *purge           // what is remembered of that, or nil
	made       []NewPage
	pages      map[PageID]*loaded // made, to be read before they are stored
}

// foldPageChunks is how many chunks a page may have to be packed with a neighbour that a fold rewrites.
const foldPageChunks = 16

// Fold returns the version with news in the place of olds, which are its chunks from number first on (H7).
// Preconditions: the same rows lie in both, in the same order, and none of either is all rows of one of the other. It
// is all that a transaction does to a table.
func (v *Version) Fold(ctx context.Context, first int, olds, news []*chunk.Chunk) (*Version, error) {
	return v.Purge(ctx, first, olds, news, nil)
}

// Purge is Fold without those rows of each of olds, if left has any, which are deleted (H8). Where the rows of such chunks
// came from is forgotten, with all others that came with them: it would give the rows that were left out.
func (v *Version) Purge(ctx context.Context, first int, olds, news []*chunk.Chunk,
	left []*positions.Set) (*Version, error) {
	if err := v.checkFold(ctx, first, olds, news, left); err != nil {
		return nil, err
	}
	next := *v
	out := leftOut(left)
	next.rows -= out
	next.deleted -= out
	for _, c := range olds {
		next.bytes -= c.Bytes()
	}
	for _, c := range news {
		next.bytes += c.Bytes()
	}
	fewer := len(olds) - len(news)
	next.chunks -= fewer
	next.numbering++
	next.origins = nil
	for _, o := range v.origins {
		if o.meets(first, len(olds)) {
			continue
		}
		if o.First > first {
			o.First -= fewer
		}
		next.origins = append(next.origins, o)
	}
	from, to := v.foldedPages(first, len(olds), len(news))
	b, err := v.refold(ctx, &next, from, to, first, olds, news, left)
	if err != nil {
		return nil, err
	}
	for _, ref := range v.pages[to:] {
		ref.firstChunk -= fewer
		ref.FirstRow -= out
		ref.behind += out
		next.pages = append(next.pages, ref)
	}
	next.fold = &fold{
		first: first, olds: olds, news: news, left: left, made: b.made, pages: map[PageID]*loaded{},
	}
	for _, p := range b.made {
		decoded, err := decodePage(p.Data, p.Ref)
		if err != nil {
			return nil, err
		}
		next.fold.pages[p.Ref.ID] = newLoaded(p.Ref.ID, decoded, len(p.Data))
	}
	if out == 0 {
		return &next, nil
	}
	begin, err := v.At(ctx, first)
	if err != nil {
		return nil, err
	}
	rows := make([]int64, len(olds))
	for i, c := range olds {
		rows[i] = c.Rows()
	}
	next.fold.purge = purgeOf(begin.FirstRow, rows, left)
	return &next, next.summarize(ctx)
}

func (v *Version) checkFold(ctx context.Context, first int, olds, news []*chunk.Chunk, left []*positions.Set) error {
	switch {
	case !v.committed():
		return v.foldIsAlone()
	case first < 0 || len(olds) == 0 || first+len(olds) > v.chunks || left != nil && len(left) != len(olds):
		return fmt.Errorf("%w: chunks %d to %d of table %v, which has %d", ErrRange, first,
			first+len(olds)-1, v.table.Name, v.chunks)
	}
	for _, o := range v.origins {
		if o.meets(first, len(olds)) && leftOut(left) == 0 {
			return fmt.Errorf("%w: chunks %d to %d of table %v came from where they could be rebuilt", ErrMismatch,
				o.First, o.First+o.Chunks-1, v.table.Name)
		}
	}
	rows := int64(0)
	for i, c := range olds {
		have, err := v.Chunk(ctx, first+i)
		if err != nil {
			return err
		}
		if len(have.Extents()) == 0 || !slices.Equal(have.Extents(), c.Extents()) {
			return fmt.Errorf("%w: chunk %d of table %v is another one than is to be folded", ErrMismatch,
				first+i, v.table.Name)
		}
		rows += c.Rows()
		if left != nil {
			if err := v.checkLeft(ctx, first+i, c.Rows(), left[i]); err != nil {
				return err
			}
		}
	}
	rows -= leftOut(left)
	for i, c := range news {
		if err := v.fits(c); err != nil {
			return fmt.Errorf("chunk %d for table %v: %w", i, v.table.Name, err)
		}
		rows -= c.Rows()
	}
	if k := sameRange(olds, news); k >= 0 && leftOut(left) == 0 { // which folded would take for one that moved
		return fmt.Errorf("%w: chunk %d of table %v is not folded but moved", ErrMismatch, first+k, v.table.Name)
	}
	if rows != 0 {
		return fmt.Errorf("%w: the fold of chunks %d to %d of table %v has %d rows less", ErrMismatch, first,
			first+len(olds)-1, v.table.Name, rows)
	}
	return nil
}

// sameRange is the first of the old chunks whose rows are those of one new chunk, or -1.
func sameRange(olds, news []*chunk.Chunk) int {
	k, row, end := 0, int64(0), int64(0) // end: of the new chunks before k
	for i, c := range olds {
		for k < len(news) && end < row {
			end += news[k].Rows()
			k++
		}
		if k < len(news) && end == row && news[k].Rows() == c.Rows() {
			return i
		}
		row += c.Rows()
	}
	return -1
}

// Folds reports whether a fold is what a transaction did to get this version.
func (v *Version) Folds() bool { return v.fold != nil }

func (v *Version) foldIsAlone() error {
	return fmt.Errorf("%w: a fold of table %v is all that a transaction does to it", ErrMismatch, v.table.Name)
}

// foldedPages says which pages are rewritten: those of the run, and small ones beside them as long as all is one
// page.
func (v *Version) foldedPages(first, olds, news int) (from, to int) {
	from, to = v.pageOf(first), v.pageOf(first+olds-1)+1
	chunks := news - olds
	for _, ref := range v.pages[from:to] {
		chunks += ref.Chunks
	}
	packs := func(ref PageRef) bool {
		fits := ref.Chunks <= max(chunks, foldPageChunks) && chunks+ref.Chunks <= PageChunks
		if fits {
			chunks += ref.Chunks
		}
		return fits
	}
	for from > 0 && packs(v.pages[from-1]) {
		from--
	}
	for to < len(v.pages) && packs(v.pages[to]) {
		to++
	}
	return from, to
}

// refold packs what pages [from, to) list, with news in the place of olds. Rows that are deleted are deleted in news,
// too, except those that are left out.
func (v *Version) refold(ctx context.Context, next *Version, from, to, first int,
	olds, news []*chunk.Chunk, left []*positions.Set) (*packer, error) {
	dead, err := v.foldDeleted(ctx, first, olds, news, left)
	if err != nil {
		return nil, err
	}
	next.pages = slices.Clone(v.pages[:from])
	b := &packer{version: next}
	b.reset(v.pages[from].firstChunk, v.pages[from].FirstRow)
	for _, ref := range v.pages[from:to] {
		o, err := v.reopen(ctx, ref)
		if err != nil {
			return nil, err
		}
		start, end := first-ref.firstChunk, first+len(olds)-ref.firstChunk // of the run, in the page
		if end <= 0 || start >= ref.Chunks {
			err = b.take(ctx, v, o)
		} else {
			err = b.takeEach(ctx, v, o, 0, max(start, 0))
			if start >= 0 {
				for k, c := range news {
					b.add(c, dead[k])
				}
			}
			if err == nil {
				err = b.takeEach(ctx, v, o, min(end, ref.Chunks), ref.Chunks)
			}
		}
		if err != nil {
			return nil, err
		}
	}
	b.flush()
	return b, nil
}

// foldDeleted is which rows of news are deleted: those that are in olds, and not left out.
func (v *Version) foldDeleted(ctx context.Context, first int, olds, news []*chunk.Chunk,
	left []*positions.Set) ([]*positions.Set, error) {
	dead := make([]*positions.Set, len(news))
	k, begin, row := 0, int64(0), int64(0) // begin: first row of news[k]; row: of the old chunk, less what was left out
	for i, c := range olds {
		gone, err := v.Deleted(ctx, first+i)
		if err != nil {
			return nil, err
		}
		for at := range gone.All() {
			if left != nil && left[i].Has(at) {
				row--
				continue
			}
			for row+at >= begin+news[k].Rows() {
				begin += news[k].Rows()
				k++
			}
			if dead[k] == nil {
				dead[k] = positions.New(news[k].Rows())
			}
			dead[k].Add(row + at - begin)
		}
		row += c.Rows()
	}
	return dead, nil
}

// foldAgain does the version's fold to the later one, if the run is there as it was. Rows of it may be deleted since.
func (v *Version) foldAgain(ctx context.Context, find *finder) (*Version, error) {
	first, found, err := find.chunk(ctx, v.fold.first, v.fold.olds[0].Extents())
	if err != nil {
		return nil, err
	}
	if !found {
		return nil, fmt.Errorf("%w: chunk %d of table %v is not there any more", ErrDiverged,
			v.fold.first, v.table.Name)
	}
	return find.in.Purge(ctx, first, v.fold.olds, v.fold.news, v.fold.left)
}

// finder finds the chunks of a version in a later one: in pages that both have, and else by their extents. Their
// numbers may be others, because what lies before them was folded.
type finder struct {
	from, in *Version
	pages    map[PageID]int              // number of the first chunk, of the later version's pages
	others   map[descriptor.ExtentID]int // number of a chunk, by its first extent, in pages that only that one has
}

func (f *finder) prepare(ctx context.Context) error {
	if f.pages != nil {
		return nil
	}
	f.pages, f.others = map[PageID]int{}, map[descriptor.ExtentID]int{}
	had := map[PageID]bool{}
	for _, ref := range f.from.pages {
		had[ref.ID] = true
	}
	for _, ref := range f.in.pages {
		f.pages[ref.ID] = ref.firstChunk
		if had[ref.ID] {
			continue
		}
		headers, err := f.in.PageExtents(ctx, ref)
		if err != nil {
			return err
		}
		for i, h := range headers {
			for x := range h.All() {
				f.others[x.ExtentID] = ref.firstChunk + i
				break
			}
		}
	}
	return nil
}

// chunk is the number that the earlier version's chunk i, of these extents, has in the later one. Another one may have
// its first extent by now: the caller compares.
func (f *finder) chunk(ctx context.Context, i int, ids []descriptor.ExtentID) (number int, found bool, err error) {
	if err := f.prepare(ctx); err != nil || len(ids) == 0 {
		return 0, false, err
	}
	ref := f.from.pages[f.from.pageOf(i)]
	if first, same := f.pages[ref.ID]; same {
		return first + i - ref.firstChunk, true, nil
	}
	number, found = f.others[ids[0]]
	return number, found, nil
}

// folded reports whether rows of the earlier version, which make one chunk there, lie in the later one in chunks that
// were folded: they are the same rows, or less, and not one chunk.
func (f *finder) folded(ctx context.Context, firstRow, rows int64) (bool, error) {
	if !f.in.knows(f.from) {
		return false, nil // those rows are not there any more
	}
	for _, p := range f.in.purges {
		switch {
		case p.version <= f.from.number || firstRow < p.first:
		case firstRow < p.first+p.rows:
			return true, nil
		default:
			firstRow -= p.leftOut()
		}
	}
	p, found, err := f.in.atRow(ctx, firstRow)
	return found && (p.FirstRow != firstRow || p.Rows() != rows), err
}

// atRow finds the chunk that a row lies in; false if that is in no page.
func (v *Version) atRow(ctx context.Context, row int64) (Position, bool, error) {
	k, found := slices.BinarySearchFunc(v.pages, row, func(ref PageRef, row int64) int {
		switch {
		case row < ref.FirstRow:
			return 1
		case row >= ref.FirstRow+ref.Rows:
			return -1
		}
		return 0
	})
	if !found {
		return Position{}, false, nil
	}
	l, err := v.load(ctx, v.pages[k])
	if err != nil {
		return Position{}, false, fmt.Errorf("table %v: %w", v.table.Name, err)
	}
	for in, e := range l.page.entries {
		if row < e.firstRow-v.pages[k].behind+e.rows {
			p, err := v.position(l, v.pages[k], in, nil)
			return p, true, err
		}
	}
	return Position{}, false, nil
}
