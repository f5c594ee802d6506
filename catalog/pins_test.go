package catalog_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/catalog/store"
	"github.com/csmsql/csmsql/coherence"
)

// countingLender counts the pins that are asked for.
type countingLender struct {
	catalog.Lender
	pins int
}

func (l *countingLender) Pin(d coherence.Domain, ids ...catalog.ExtentID) error {
	l.pins += len(ids)
	return l.Lender.Pin(d, ids...)
}

// A commit between two snapshots pins what it wrote, and not all chunks of all tables again.
func TestACommitPinsWhatIsNew(t *testing.T) {
	w := newWorld(t, store.Limits{})
	const chunks = 600
	w.fill(chunks)
	lender := &countingLender{Lender: catalog.Homes{region: w.lender.Home.Home}}
	c, err := catalog.Open(t.Context(), w.store.Copy(), lender, catalog.Options{})
	require.NoError(t, err)
	w.catalog = c
	w.snapshot(catalog.Holder{}).Close()
	require.Equal(t, chunks, lender.pins)
	for _, open := range []bool{false, true} { // while a transaction ends, or none
		lender.pins = 0
		const commits = 20
		for range commits {
			s := w.snapshot(catalog.Holder{})
			tx := w.catalog.Begin(s)
			require.NoError(t, tx.Append(tableA, []*catalog.Chunk{w.chunk(1)}))
			if !open {
				s.Close()
			}
			require.NoError(t, tx.Commit(t.Context()))
			s.Close()
		}
		require.Less(t, lender.pins, commits*chunks/4)
	}
	s := w.snapshot(catalog.Holder{})
	v, _ := s.Table(tableA)
	require.Equal(t, int64(chunks+40), v.Rows())
	s.Close()
	require.Empty(t, w.faults)
}
