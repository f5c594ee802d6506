package catalog_test

import (
	"fmt"
	"testing"
	"time"

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

// appendOne commits a chunk beside others that do: none is in the way of another (K5).
func appendOne(w *world, c *catalog.Chunk) error {
	s, err := w.catalog.Snapshot(ctx, catalog.Holder{})
	if err != nil {
		return err
	}
	defer s.Close()
	tx := w.catalog.Begin(s)
	if err := tx.Append(tableA, []*catalog.Chunk{c}); err != nil {
		return err
	}
	return tx.Commit(ctx)
}
