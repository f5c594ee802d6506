package lease

import (
	"context"
	"sync/atomic"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/engine/reader"
	"github.com/csmsql/csmsql/sql/sqlerror"
)

// Lease counts the users of a snapshot; the last one gives it back. Safe for concurrent use.
type Lease struct {
	Snapshot *catalog.Snapshot
	users    atomic.Int32
	// Check reports whether what was read under the lease so far may be trusted; nil: it always may.
	Check func() error
}

// New takes the snapshot over for one user. check may be nil.
func New(snapshot *catalog.Snapshot, check func() error) *Lease {
	l := &Lease{Snapshot: snapshot, Check: check}
	l.users.Store(1)
	return l
}

// Shared reports whether there is more than one user.
func (l *Lease) Shared() bool { return l.users.Load() > 1 }

// Hold adds one user, which calls Release.
func (l *Lease) Hold() *Lease {
	l.users.Add(1)
	return l
}

// Release ends one use.
func (l *Lease) Release() {
	if l.users.Add(-1) == 0 {
		l.Snapshot.Close()
	}
}

// ErrorOr gives the error of the lease if it is over, in the place of one of a statement that has read by: the bytes
// that the latter complains about may be another table's.
func (l *Lease) ErrorOr(err error, by *reader.Readings) error {
	if err == nil {
		return nil
	}
	if l.Check != nil {
		if over := l.Check(); over != nil {
			return over
		}
	}
	return reader.OfAnother(err, by, l.Snapshot.Trust)
}

// Trustworthy reports whether what was read since faults were counted may be handed out: no page was gone, what by has
// read was not altered, and a borrower still has its lease. shared: the bytes may be other nodes'.
func (l *Lease) Trustworthy(ctx context.Context, r *reader.Reader, faults uint64, by *reader.Readings,
	shared bool) error {
	if r.Faults() != faults {
		return sqlerror.New("58030", "the backing of lent memory on node %s disappeared while it was read: "+
			"the region's file was truncated", r.Node()).
			WithHint("No row of this result can be trusted. Load the tables again.")
	}
	if err := by.Confirm(ctx); err != nil {
		return l.ErrorOr(err, by)
	}
	if shared {
		if err := l.Snapshot.Trust(by.InRegions()...); err != nil {
			return err
		}
	}
	if l.Check != nil {
		return l.Check()
	}
	return nil
}
