package duckdb

import (
	"context"
	"fmt"
	"math"
	"sync"
)

// Groups are the groups of a table by one column whose sum of another column is above a bound.
type Groups struct {
	Key int // index into Scan.Schema of an integer column: see Filter.Low
	Sum int // of another one, whose stored values are summed, NULL as 0; -1 counts rows
	// Above is a bound on the sum of stored values. A group is found when its sum is greater.
	Above int64
	Also  *KeySet // keys that are found whatever their sums; nil: there are none
}

// BuildGroupKeySet collects the keys of groups in one pass and without memory for them, where the table lies sorted by
// the key. It returns nil without an error where it does not (which it finds out early), where a sum does not fit 64
// bits, and where there are more than limit keys. NULL is no key. KeySet.Rows is the number of rows in the groups that
// were found.
//
// The scan has no filters: they let more rows pass than they say. s need not be registered; s.Open is called by one
// goroutine at a time.
func BuildGroupKeySet(ctx context.Context, s *Scan, groups Groups, limit int64) (*KeySet, error) {
	b := &groupBuilder{above: groups.Above, ends: map[int]ends{}}
	b.scan, b.limit, b.columns = s, limit, []int{groups.Key}
	if groups.Sum >= 0 {
		b.columns = append(b.columns, groups.Sum)
	}
	for i, column := range b.columns {
		if column < 0 || column >= s.Schema.NumFields() {
			return nil, fmt.Errorf("groups by column %d: the table has %d columns", column, s.Schema.NumFields())
		}
		t, ok := integerOf(s.Schema.Field(column).Type)
		if !ok || i > 0 && t == (integer{8, false}) {
			return nil, fmt.Errorf("groups of column %q: values of type %s cannot be summed", s.Schema.Field(column).Name, s.Schema.Field(column).Type)
		}
		if i == 0 {
			b.key = t
		} else {
			b.value = t
		}
	}
	if len(s.Filters) > 0 {
		return nil, fmt.Errorf("groups of a scan with filters are not complete")
	}
	sets, err := b.collect(ctx, b.work)
	if err != nil || sets == nil {
		return nil, err
	}
	if sorted, err := b.join(sets[0]); !sorted || err != nil {
		return nil, err
	}
	if groups.Also != nil {
		sets = append(sets, groups.Also)
	}
	return united(sets, limit)
}

// groupBuilder takes morsels as keyBuilder does; exceeded also means that the table is not sorted.
type groupBuilder struct {
	keyBuilder
	value integer // width 0: rows are counted
	above int64

	endsMu sync.Mutex // guards ends; leaf lock
	ends   map[int]ends
}

func (b *groupBuilder) work(ctx context.Context, set *KeySet) error {
	for !b.exceeded.Load() {
		if err := ctx.Err(); err != nil {
			return canceled(err)
		}
		m, err := b.take()
		if m.chunk == nil || err != nil {
			return err
		}
		e, ok, err := set.addGroups(m, b)
		b.leave(m.chunk)
		if err != nil {
			return err
		}
		if !ok {
			b.exceeded.Store(true)
		}
		b.endsMu.Lock()
		b.ends[m.number] = e
		b.endsMu.Unlock()
	}
	return nil
}

// join puts runs that go on in the next morsel together and adds the groups above the bound. False: the table is not
// sorted, or a sum does not fit.
func (b *groupBuilder) join(set *KeySet) (bool, error) {
	var open run // the group that may go on
	for i := range len(b.ends) {
		e := b.ends[i]
		if e.runs == 0 {
			continue
		}
		switch first := e.first; {
		case open.rows == 0:
			open = first
		case first.key < open.key:
			return false, nil
		case first.key == open.key:
			if first.sum > 0 && open.sum > math.MaxInt64-first.sum || first.sum < 0 && open.sum < math.MinInt64-first.sum {
				return false, nil
			}
			open = run{open.key, open.sum + first.sum, open.rows + first.rows}
		default:
			if err := b.close(set, open); err != nil {
				return false, err
			}
			open = first
		}
		if e.runs > 1 {
			if err := b.close(set, open); err != nil {
				return false, err
			}
			open = e.last
		}
	}
	return true, b.close(set, open)
}

func (b *groupBuilder) close(set *KeySet, r run) error {
	if r.rows == 0 || r.sum <= b.above {
		return nil
	}
	return set.addRun(r)
}
