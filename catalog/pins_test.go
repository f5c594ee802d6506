package catalog_test

import (
	"testing"
	"time"

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

// K2: a lease that ends takes nothing with it that an older lease has, too.
func TestOlderLeasesKeepWhatLaterOnesHad(t *testing.T) {
	w := newWorld(t, store.Limits{})
	w.fill(3)
	whole := w.memory.Live()
	older := w.snapshot(catalog.Holder{Domain: "far", TTL: time.Second})
	w.must(func(tx *catalog.Transaction) error { // another table
		_, err := tx.CreateTable(t.Context(), catalog.TableName{Schema: "public", Name: "b"}, columns, catalog.TableOptions{})
		return err
	})
	later := w.snapshot(catalog.Holder{Domain: "far", TTL: time.Second})
	w.must(func(tx *catalog.Transaction) error { return tx.DropTable(tableA) })
	later.Close()
	require.Equal(t, whole, w.memory.Live())
	require.EqualValues(t, 3, w.lender.Stats().Pins, "those of the older lease")
	older.Close()
	require.Zero(t, w.memory.Live())
	require.Zero(t, w.lender.Stats().Pins)
}
