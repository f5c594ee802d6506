package lending

import (
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/csmsql/csmsql/coherence"
)

// counters only grow.
type counters struct {
	grants, grantedBytes, movedBytes, seals, publishes, frees, departures, disclaimed atomic.Uint64
}

// Each visits every counter in a fixed order.
func (l *Lender) Each(visit func(coherence.Sample)) {
	for _, s := range []struct {
		name, help string
		value      *atomic.Uint64
	}{
		{"lent_grants_total", "Extents granted to other processes.", &l.count.grants},
		{"lent_granted_bytes_total", "Bytes of extents granted to other processes.", &l.count.grantedBytes},
		{"lent_moved_bytes_total", "Bytes copied for other processes' reallocations.", &l.count.movedBytes},
		{"lent_seals_total", "Extents sealed by other processes.", &l.count.seals},
		{"lent_publishes_total", "Extents published by other processes.", &l.count.publishes},
		{"lent_frees_total", "Extents that other processes gave back.", &l.count.frees},
		{"lent_disclaimed_total", "Extents that were on record as a borrower's, which did not hold them any more.", &l.count.disclaimed},
		{"lent_departures_total", "Borrowers that were declared dead, or whose process ended.", &l.count.departures},
	} {
		visit(coherence.Sample{Name: s.name, Help: s.help, Value: s.value.Load()})
	}
}

// BorrowerStatus is what a status command shows of one borrower.
type BorrowerStatus struct {
	Borrower
	// Peer is how it last called.
	Peer  string
	Since time.Time
	// Extents and Bytes are what it holds and has not published, quarantined ones included.
	Extents, Quarantined int
	Bytes                int64
	Gone                 bool
}

// Borrowers lists those that hold something, by name.
func (l *Lender) Borrowers() []BorrowerStatus {
	l.mu.Lock()
	defer l.mu.Unlock()
	list := make([]BorrowerStatus, 0, len(l.mu.ledger.accounts))
	for _, a := range l.mu.ledger.accounts {
		s := BorrowerStatus{Borrower: a.Borrower, Peer: a.peer.String(), Since: a.since, Extents: len(a.grants), Gone: a.gone}
		for g := range a.grants {
			s.Bytes += g.bytes
			if g.stage == quarantined {
				s.Quarantined++
			}
		}
		list = append(list, s)
	}
	slices.SortFunc(list, func(a, b BorrowerStatus) int { return strings.Compare(a.String(), b.String()) })
	return list
}
