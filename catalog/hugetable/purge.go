package hugetable

import (
	"context"
	"fmt"
	"slices"

	"github.com/csmsql/csmsql/catalog/internal/message"
	"github.com/csmsql/csmsql/catalog/positions"
	"github.com/csmsql/csmsql/catalog/statistics"
)

// A purge is a fold that leaves out rows that are deleted. The rows behind them have lower numbers then; a version
// remembers its last purges, so that rows of an older one are found by the numbers that they had (H8):
//
//	before   0 1 2 3 4 5 6 7        purge: first 2, gone 1 and 2 of its rows
//	         a b c x x d e f        c is 2 in both, d was 5 and is 3
//	after    0 1 2     3 4 5

// purge is one that a version came by, or an earlier one.
type purge struct {
	version uint64 // that came by it
	first   int64  // number of the run's first row
	rows    int64  // of the run, before
	gone    []byte // which of them were left out, as positions writes it
}

// purgesMost bounds the purges that a version remembers, PurgeBytes what is said in them of rows: they are in the
// table's record, which every commit writes. Rows of what was purged before are found only if their chunk is still
// there.
const purgesMost, PurgeBytes = 64, 1 << 10

// remember adds a purge, and forgets older ones beyond the bounds, or all of them.
func (v *Version) remember(p purge) {
	v.purges = append(slices.Clone(v.purges), p)
	size := 0
	for i := len(v.purges) - 1; i >= 0; i-- {
		if size += len(v.purges[i].gone); size > PurgeBytes || len(v.purges)-i > purgesMost {
			v.renumbered = max(v.renumbered, v.purges[i].version)
			v.purges = v.purges[i+1:]
			return
		}
	}
}

// knows reports whether rows are found by the numbers that they had in an earlier version.
func (v *Version) knows(earlier *Version) bool { return v.renumbered <= earlier.number }

// numbersNow returns the present numbers of rows, given those of an earlier version; both ascend. False: one of the
// rows was left out meanwhile. Preconditions: the version knows the earlier one.
func (v *Version) numbersNow(earlier *Version, rows []int64) (now []int64, all bool, err error) {
	for _, p := range v.purges {
		if p.version <= earlier.number {
			continue
		}
		gone, err := positions.Decode(p.gone, p.rows)
		if err != nil {
			return nil, false, fmt.Errorf("%w: a purge of table %v: %w", ErrCorrupt, v.table.Name, err)
		}
		if now == nil {
			now = slices.Clone(rows)
			rows = now
		}
		if !p.renumber(gone, now) {
			return nil, false, nil
		}
	}
	return rows, true, nil
}

// renumber gives rows the numbers that they have behind the purge; false if it left one of them out.
func (p purge) renumber(gone *positions.Set, rows []int64) bool {
	i, before := 0, int64(0) // before: rows left out so far
	for from, to := range gone.Runs() {
		for ; i < len(rows) && rows[i] < p.first+from; i++ {
			rows[i] -= before
		}
		if i < len(rows) && rows[i] < p.first+to {
			return false
		}
		before += to - from
	}
	for ; i < len(rows); i++ {
		rows[i] -= before
	}
	return true
}

// leftOut counts rows.
func (p purge) leftOut() int64 {
	n, _ := positions.CountOf(p.gone, p.rows)
	return n
}

// leftOut counts rows.
func leftOut(left []*positions.Set) (rows int64) {
	for _, s := range left {
		rows += s.Count()
	}
	return rows
}

// checkLeft: what is to be left out of a chunk is deleted.
func (v *Version) checkLeft(ctx context.Context, chunk int, rows int64, left *positions.Set) error {
	if left.Count() == 0 {
		return nil
	}
	gone, err := v.Deleted(ctx, chunk)
	if err != nil {
		return err
	}
	if left.Rows() != rows || positions.Union(gone, left).Count() != gone.Count() {
		return fmt.Errorf("%w: rows of chunk %d of table %v that are to be left out are not deleted", ErrMismatch,
			chunk, v.table.Name)
	}
	return nil
}

// purgeOf says of a run which of its rows are left out.
func purgeOf(first int64, rows []int64, left []*positions.Set) *purge {
	p := &purge{first: first}
	for _, n := range rows {
		p.rows += n
	}
	gone, before := positions.New(p.rows), int64(0)
	for i, n := range rows {
		for at := range left[i].All() {
			gone.Add(before + at)
		}
		before += n
	}
	p.gone = gone.Encode()
	return p
}

// summarize computes the columns' summaries again from those of the pages: bounds of rows that were left out hold no
// more. A sketch cannot forget, and stays.
func (v *Version) summarize(ctx context.Context) error {
	columns := make([]statistics.Summary, len(v.columns))
	for _, ref := range v.pages {
		l, err := v.load(ctx, ref)
		if err != nil {
			return fmt.Errorf("table %v: %w", v.table.Name, err)
		}
		list, err := v.summaries(l.page, ref.Rows)
		if err != nil {
			return fmt.Errorf("table %v, page %v: %w", v.table.Name, ref.ID, err)
		}
		for k := range columns {
			columns[k] = columns[k].Add(list[k])
		}
	}
	for k := range columns {
		if s := &columns[k]; s.Rows > 0 {
			s.Sketch, s.Distinct = v.columns[k].Sketch, min(v.columns[k].Distinct, s.Rows)
		}
	}
	v.columns = columns
	return nil
}

// Field numbers of Purge in catalog.proto.
const purgeVersion, purgeFirst, purgeRows, purgeGone = 1, 2, 3, 4

func (v *Version) encodePurges(w *message.Writer) {
	for _, p := range v.purges {
		start := w.Begin(recordPurges)
		w.Uint(purgeVersion, p.version)
		w.Int(purgeFirst, p.first)
		w.Int(purgeRows, p.rows)
		w.Bytes(purgeGone, p.gone)
		w.End(start)
	}
}

func (v *Version) readPurge(r message.Reader) error {
	var p purge
	for r.Next() {
		switch r.Field() {
		case purgeVersion:
			p.version = r.Uint()
		case purgeFirst:
			p.first = r.Int()
		case purgeRows:
			p.rows = r.Int()
		case purgeGone:
			p.gone = slices.Clone(r.Bytes())
		default:
			r.Skip()
		}
	}
	if err := r.Err(); err != nil {
		return err
	}
	n, err := positions.CountOf(p.gone, p.rows)
	switch {
	case err != nil:
		return err
	case n == 0 || p.first < 0 || len(v.purges) >= purgesMost || len(v.purges) > 0 && v.purges[len(v.purges)-1].version >= p.version:
		return fmt.Errorf("a purge of %d of %d rows from %d on by version %d", n, p.rows, p.first, p.version)
	}
	v.purges = append(v.purges, p)
	return nil
}
