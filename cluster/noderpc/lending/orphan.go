package lending

import (
	"errors"
	"fmt"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/cluster/noderpc"
)

// takeOrphans takes over what the former process had granted. The caller of New has kept it out of the allocators.
func (l *Lender) takeOrphans() error {
	for _, o := range l.options.Journal.Orphans() {
		if l.options.Memories[o.Extent.Region] == nil {
			return fmt.Errorf("lending: %v is an orphan, and Options.Memories has no allocator of its region", o.Extent)
		}
	}
	l.mu.orphans = append(l.mu.orphans, l.options.Journal.Orphans()...)
	return nil
}

// orphanOf finds an orphan of a borrower that gives it back: it has heard that its lender was started again, and has no
// window any more. Requires mu.
func (l *Lender) orphanOf(a *account, id catalog.ExtentID) (Orphan, bool) {
	for _, o := range l.mu.orphans {
		if o.Extent == id && o.Borrower == a.Borrower {
			return o, true
		}
	}
	return Orphan{}, false
}

// orphanWith finds one whose borrower never heard of its grant. Requires mu.
func (l *Lender) orphanWith(a *account, ticket noderpc.Ticket) (Orphan, bool) {
	for _, o := range l.mu.orphans {
		if o.Ticket == ticket && o.Borrower == a.Borrower {
			return o, true
		}
	}
	return Orphan{}, false
}

// freeOrphans gives back orphans that no process stores into any more; what went back meanwhile is left out.
func (l *Lender) freeOrphans(list []Orphan) (failed error) {
	for _, o := range list {
		if !l.forgetOrphan(o.Extent) {
			continue
		}
		err := l.options.Memories[o.Extent.Region].Free(OrphanOwner, o.Range)
		failed = errors.Join(failed, err, l.options.Journal.ended(o.Extent))
	}
	return failed
}

func (l *Lender) forgetOrphan(id catalog.ExtentID) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i, o := range l.mu.orphans {
		if o.Extent == id {
			l.mu.orphans = append(l.mu.orphans[:i], l.mu.orphans[i+1:]...)
			return true
		}
	}
	return false
}

// Orphans are extents of the former process that may still be written.
func (l *Lender) Orphans() []Orphan {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]Orphan(nil), l.mu.orphans...)
}
