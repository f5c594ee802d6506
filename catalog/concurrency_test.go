package catalog_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/catalog/store"
)

// Readers, writers and a janitor at once; the race detector watches. In the end nothing is left but the last version.
func TestConcurrentSessions(t *testing.T) {
	w := newWorld(t, store.Limits{})
	w.fill(1)
	chunks := make(chan *catalog.Chunk, 60)
	for range cap(chunks) {
		chunks <- w.chunk(1)
	}
	close(chunks)
	var sessions errgroup.Group
	for range 3 {
		sessions.Go(func() error {
			for c := range chunks {
				if err := appendOne(w, c); err != nil {
					return err
				}
			}
			return nil
		})
		sessions.Go(func() error {
			for range 100 {
				s, err := w.catalog.Snapshot(ctx, catalog.Holder{Domain: "far", TTL: time.Hour})
				if err != nil {
					return err
				}
				v, _ := s.Table(tableA)
				n := int64(0)
				for p, err := range v.Chunks(ctx) {
					if err == nil {
						err = p.Descriptor().Verify(w.lender.Resolve, nil)
					}
					if err != nil {
						return err
					}
					n += p.Rows()
				}
				if n != v.Rows() {
					return fmt.Errorf("%d rows of %d", n, v.Rows())
				}
				s.Close()
				w.catalog.ExpireLeases(epoch)
			}
			return nil
		})
	}
	require.NoError(t, sessions.Wait())
	s := w.snapshot(catalog.Holder{})
	v, _ := s.Table(tableA)
	require.Equal(t, int64(1+cap(chunks)), v.Rows(), "every acknowledged commit is there")
	w.requireNoLeak(s.Contents)
	s.Close()
}

// appendOne retries until no other session is in the way. A chunk belongs to the transaction that lost, so it is
// sealed anew.
func appendOne(w *world, c *catalog.Chunk) error {
	for {
		s, err := w.catalog.Snapshot(ctx, catalog.Holder{})
		if err != nil {
			return err
		}
		tx := w.catalog.Begin(s)
		err = tx.Append(tableA, []*catalog.Chunk{c})
		if err == nil {
			err = tx.Commit(ctx)
		}
		s.Close()
		if !errors.Is(err, catalog.ErrConflict) {
			return err
		}
		c = copyChunk(w, c)
	}
}

func copyChunk(w *world, like *catalog.Chunk) *catalog.Chunk {
	b := array.NewInt64Builder(memory.NewGoAllocator())
	b.Append(like.Statistics(0).Min.Int())
	batch := array.NewRecordBatch(columns, []arrow.Array{b.NewArray()}, 1)
	c, err := catalog.NewChunkWriter(w.lender, "test", 4096).Seal(ctx, batch, catalog.SealOptions{})
	if err != nil {
		panic(err)
	}
	return c
}
