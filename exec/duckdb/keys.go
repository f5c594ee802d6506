package duckdb

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	"golang.org/x/sync/errgroup"
)

// BuildKeySet collects the distinct values of an integer column in the rows that pass s.Filters, without DuckDB, so
// that the scan of another table can be filtered by them (Filter.Keys). Every row that a filter would leave out is left
// out.
//
// It returns nil without an error when there are more than limit keys. s need not be registered; s.Open is called by
// one goroutine at a time, several chunks may be open at once.
func BuildKeySet(ctx context.Context, s *Scan, column int, limit int64) (*KeySet, error) {
	if column < 0 || column >= s.Schema.NumFields() {
		return nil, fmt.Errorf("key set of column %d: the table has %d columns", column, s.Schema.NumFields())
	}
	key, ok := integerOf(s.Schema.Field(column).Type)
	if !ok {
		return nil, fmt.Errorf("key set of column %q: values of type %s are no keys", s.Schema.Field(column).Name, s.Schema.Field(column).Type)
	}
	if err := s.checkFilters(); err != nil {
		return nil, err
	}
	b := &keyBuilder{scan: s, columns: s.filterColumns([]int{column}), key: key, limit: limit}
	sets, err := b.collect(ctx, b.work)
	if err != nil || sets == nil {
		return nil, err
	}
	return united(sets, limit)
}

// united is all keys of sets, in the first of them; nil when there are more than limit.
func united(sets []*KeySet, limit int64) (*KeySet, error) {
	for _, other := range sets[1:] {
		if err := sets[0].merge(other); err != nil {
			return nil, err
		}
	}
	if int64(sets[0].Len()) > limit {
		return nil, nil
	}
	return sets[0], sets[0].finish()
}

type keyBuilder struct {
	scan     *Scan
	columns  []int // to open; the key first
	key      integer
	limit    int64
	exceeded atomic.Bool

	mu      sync.Mutex   // guards everything below, and calls of scan.Open
	next    int          // the next chunk to open
	current *openedChunk // the last one that was opened; the builder is one of its users
	offset  int64        // the first row of current that is not taken
	taken   int          // how many morsels were taken
}

// collect has as many goroutines as there are builders work, each on a set of its own; nil: the limit was exceeded.
func (b *keyBuilder) collect(ctx context.Context, work func(context.Context, *KeySet) error) ([]*KeySet, error) {
	sets := make([]*KeySet, b.scan.builders())
	group, ctx := errgroup.WithContext(ctx)
	for i := range sets {
		sets[i] = newKeySet()
		group.Go(func() error { return work(ctx, sets[i]) })
	}
	err := group.Wait()
	b.leave(b.current)
	if err != nil || b.exceeded.Load() {
		return nil, err
	}
	return sets, nil
}

// morsel is a run of rows of a chunk that one goroutine has taken.
type morsel struct {
	number     int // in the order in which they lie
	chunk      *openedChunk
	first, end int64
}

// work adds morsel after morsel to set.
func (b *keyBuilder) work(ctx context.Context, set *KeySet) error {
	tests := b.scan.tests(b.columns)
	for !b.exceeded.Load() {
		if err := ctx.Err(); err != nil {
			return canceled(err)
		}
		m, err := b.take()
		if m.chunk == nil || err != nil {
			return err
		}
		fits, err := set.addRows(m, tests, b)
		b.leave(m.chunk)
		if err != nil {
			return err
		}
		if !fits {
			b.exceeded.Store(true)
		}
	}
	return nil
}

// take gives the next morsel; one without a chunk after the last. The caller leaves its chunk.
func (b *keyBuilder) take() (m morsel, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for b.current == nil || b.offset >= b.current.rows() {
		b.unuse(b.current)
		b.current, b.offset = nil, 0
		if b.next >= b.scan.Chunks {
			return m, nil
		}
		b.next++
		if b.current, err = openForKeys(b.scan, b.next-1, b.columns); err != nil {
			return m, err
		}
		b.current.users = 1
	}
	m = morsel{b.taken, b.current, b.offset, min(b.offset+morselRows, b.current.rows())}
	b.current.users++
	b.offset = m.end
	b.taken++
	return m, nil
}

func (b *keyBuilder) leave(chunk *openedChunk) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.unuse(chunk)
}

// unuse requires mu.
func (b *keyBuilder) unuse(chunk *openedChunk) {
	if chunk == nil {
		return
	}
	if chunk.users--; chunk.users == 0 {
		chunk.close(len(b.columns))
	}
}
