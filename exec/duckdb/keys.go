package duckdb

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"

	"golang.org/x/sync/errgroup"
)

// BuildKeySet collects the distinct values of an integer column in the rows that pass s.Filters, without DuckDB, so that the
// scan of another table can be filtered by them (Filter.Keys). Every row that a filter would leave out is left out.
//
// It returns nil without an error when there are more than limit keys. s need not be registered; s.Open is called by one
// goroutine at a time, several chunks may be open at once.
func BuildKeySet(ctx context.Context, s *Scan, column int, limit int64) (*KeySet, error) {
	if column < 0 || column >= s.Schema.NumFields() {
		return nil, fmt.Errorf("exec/duckdb: key set of column %d: the table has %d columns", column, s.Schema.NumFields())
	}
	key, ok := integerOf(s.Schema.Field(column).Type)
	if !ok {
		return nil, fmt.Errorf("exec/duckdb: key set of column %q: values of type %s are no keys", s.Schema.Field(column).Name, s.Schema.Field(column).Type)
	}
	if err := s.checkFilters(); err != nil {
		return nil, err
	}
	b := &keyBuilder{scan: s, columns: s.filterColumns([]int{column}), key: key, limit: limit}
	workers := min(runtime.GOMAXPROCS(0), s.Chunks)
	sets := make([]*KeySet, max(workers, 1))
	group, ctx := errgroup.WithContext(ctx)
	for i := range sets {
		sets[i] = newKeySet()
		group.Go(func() error { return b.work(ctx, sets[i]) })
	}
	if err := group.Wait(); err != nil || b.exceeded.Load() {
		return nil, err
	}
	for _, other := range sets[1:] {
		if err := sets[0].merge(other); err != nil {
			return nil, err
		}
		if int64(sets[0].Len()) > limit {
			return nil, nil
		}
	}
	return sets[0], sets[0].finish()
}

type keyBuilder struct {
	scan     *Scan
	columns  []int // to open; the key first
	key      integer
	limit    int64
	mu       sync.Mutex // guards next and calls of scan.Open
	next     int
	exceeded atomic.Bool
}

// work adds chunk after chunk to set.
func (b *keyBuilder) work(ctx context.Context, set *KeySet) error {
	tests := b.scan.tests(b.columns)
	for !b.exceeded.Load() {
		if err := ctx.Err(); err != nil {
			return canceled(err)
		}
		chunk, err := b.open()
		if chunk == nil || err != nil {
			return err
		}
		fits, err := set.addChunk(chunk, tests, b)
		chunk.close(len(b.columns))
		if err != nil {
			return err
		}
		if !fits {
			b.exceeded.Store(true)
		}
	}
	return nil
}

// open opens the next chunk; nil after the last.
func (b *keyBuilder) open() (*openedChunk, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.next >= b.scan.Chunks {
		return nil, nil
	}
	b.next++
	return openForKeys(b.scan, b.next-1, b.columns)
}
