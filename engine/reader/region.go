package reader

import (
	"sync"
	"sync/atomic"

	"github.com/csmsql/csmsql/coherence"
	"github.com/csmsql/csmsql/exec/duckdb"
	"github.com/csmsql/csmsql/memregion"
)

// Region is one region in this process.
type Region struct {
	view  *memregion.View
	guard *duckdb.Guard
	// trusted: generations from here on were written by this process, or by the node that lends to it; older ones
	// are verified when first acquired, and all of them once another process was found to have altered the region.
	trusted atomic.Uint64
	// verifiedAt is how many alterations were known when the reader's memory of the region was last empty: it counts as
	// long as there are no more.
	verifiedAt   atomic.Uint64
	invalidation sync.Mutex // one at a time forgets; above the reader's locks
	// shared: other nodes of a cluster write into the region, as they may, and the file's events do not say who it was.
	// Then chunks that were not written since the lender began are verified when they are first acquired, and that is
	// all.
	shared atomic.Bool
	// owner is the node that lends the region to a borrower, if it is another one than it is attached to.
	owner string

	life struct { // a leaf, above memregion's locks
		sync.Mutex
		holders int
		over    bool
		unmap   func() error // what the last holder does when it is over
	}
}

// Hold keeps the region mapped, and guarded, until release. Preconditions: it is not closed.
func (m *Region) Hold() {
	m.life.Lock()
	defer m.life.Unlock()
	m.life.holders++
}

func (m *Region) Release() {
	m.life.Lock()
	defer m.life.Unlock()
	if m.life.holders--; m.life.holders == 0 && m.life.over {
		m.guard.Close()
		_ = m.life.unmap() // there is no caller left to return it to
	}
}

// close comes before the view's: it ends the guard, or leaves guard and map to the last holder.
func (m *Region) close() (held bool) {
	m.life.Lock()
	defer m.life.Unlock()
	if m.life.over {
		return false
	}
	m.life.over = true
	if m.life.holders > 0 {
		var err error
		if m.life.unmap, err = m.view.Hold(); err == nil {
			return true
		}
	}
	m.guard.Close()
	return false
}

// alterations counts what makes everything doubtful that was read before: what others did to the file, and pages
// that were found gone. Those read as zeros from then on, also when the file is made long again.
func (m *Region) alterations() uint64 { return m.altered() + m.guard.Faults() }

// altered counts what others did to the file, as far as that is known.
func (m *Region) altered() uint64 {
	if m.shared.Load() {
		return 0
	}
	return m.view.Alterations()
}

// Look asks the kernel first.
func (m *Region) Look() uint64 {
	if m.shared.Load() {
		return 0
	}
	return m.view.Look()
}

// View is the region's map.
func (m *Region) View() *memregion.View { return m.view }

// Trust sets the first generation that needs no verification, as the region's lender says.
func (m *Region) Trust(first coherence.Generation) { m.trusted.Store(uint64(first)) }

// TrustLess is Trust if that is a later generation.
func (m *Region) TrustLess(first coherence.Generation) {
	m.trusted.Store(max(m.trusted.Load(), uint64(first)))
}
