package noderpc

import (
	"errors"
	"fmt"
	"time"

	"github.com/csmsql/csmsql/catalog"
)

// keeperCore decides when to renew and what is valid. It has no clock, no lock and no I/O: what happened and when comes
// in, what is to be done goes out.
type keeperCore struct {
	held map[catalog.LeaseID]*heldLease
	// releases are those to be told to the node.
	releases []catalog.LeaseID
	// retry is the earliest time of the next renewal after one failed; failure is why it did, nil after a success.
	retry   Instant
	failure error
}

type heldLease struct {
	ttl time.Duration
	// sent is when the last request that gave or renewed the lease left this process. The node received it later and
	// lets the lease live for the TTL from then on, at least.
	sent Instant
	// over: the node said so; final (N2).
	over error
}

// The parts of a TTL. A renewal may fail twice before the lease is not valid any more.
const (
	renewals   = 3  // a renewal is sent when 1/renewals of the TTL is over
	retries    = 12 // after a failure the next one is sent after 1/retries
	marginPart = 10 // the margin is 1/marginPart
	// releaseBatch is how many releases go in one call.
	releaseBatch = 1024
)

// validUntil is when this process stops to trust the lease (N1). The margin is for clocks that do not run equally fast,
// by far more than any do.
func (h *heldLease) validUntil() Instant { return h.sent.Add(h.ttl - h.ttl/marginPart) }

func newKeeperCore() keeperCore { return keeperCore{held: map[catalog.LeaseID]*heldLease{}} }

func (c *keeperCore) hold(id catalog.LeaseID, ttl time.Duration, sent Instant) error {
	if err := checkTTL(ttl); err != nil {
		return badArgument("lease %d: %v", id, err)
	}
	if c.held[id] != nil {
		return badArgument("lease %d is held already", id)
	}
	if len(c.held)+len(c.releases) >= MaxLeases {
		return tooManyLeases()
	}
	c.held[id] = &heldLease{ttl: ttl, sent: sent}
	return nil
}

// drop forgets a lease; if it was held and not over, the node is to be told.
func (c *keeperCore) drop(id catalog.LeaseID) {
	h := c.held[id]
	if h == nil {
		return
	}
	delete(c.held, id)
	if h.over == nil {
		c.releases = append(c.releases, id)
	}
}

// check is nil only if the node has not ended the lease by now, whatever it thinks of this process (N1, N2).
func (c *keeperCore) check(id catalog.LeaseID, now Instant) error {
	h := c.held[id]
	switch {
	case h == nil:
		return &Error{State: stateSnapshotOld, Message: fmt.Sprintf("lease %d is not held", id), Cause: catalog.ErrLeaseOver}
	case h.over != nil:
		return &Error{
			State: stateSnapshotOld, Message: fmt.Sprintf("the node ended lease %d: %v", id, h.over), Cause: errors.Join(catalog.ErrLeaseOver, h.over),
			HintText: "Run the query again: it takes a new snapshot.",
		}
	case now < h.validUntil():
		return nil
	case c.failure != nil:
		return &Error{
			State: stateGone, Cause: errors.Join(catalog.ErrLeaseOver, c.failure),
			Message:  fmt.Sprintf("lease %d could not be renewed for %v, so what was read under it may have been overwritten: %v", id, now.Sub(h.sent).Round(time.Millisecond), c.failure),
			HintText: "Run the query again when the node answers.",
		}
	}
	return &Error{
		State: stateSnapshotOld, Cause: catalog.ErrLeaseOver,
		Message:  fmt.Sprintf("this process did not run, or its machine was suspended: lease %d was last renewed %v ago, so what was read under it may have been overwritten", id, now.Sub(h.sent).Round(time.Millisecond)),
		HintText: "Run the query again: it takes a new snapshot.",
	}
}

// plan is what the driver does next: a renewal if it is due, else a release if there is one, else it waits until until
// (if timed) or until something changes.
type plan struct {
	renew   []catalog.LeaseID
	release []catalog.LeaseID
	until   Instant
	timed   bool
	timeout time.Duration // of the call
}

func (c *keeperCore) next(now Instant) plan {
	due, shortest, living := c.due()
	if living && now >= due {
		p := plan{timeout: shortest / renewals}
		for id, h := range c.held {
			if h.over == nil {
				p.renew = append(p.renew, id)
			}
		}
		return p
	}
	if len(c.releases) > 0 {
		n := min(len(c.releases), releaseBatch)
		p := plan{release: c.releases[:n:n], timeout: time.Second}
		if living {
			p.timeout = min(p.timeout, shortest/renewals) // a node that hangs must not cost the next renewal its time
		}
		c.releases = c.releases[n:]
		return p
	}
	return plan{until: due, timed: living}
}

// due is when the next renewal of all leases is to be sent, and the shortest TTL.
func (c *keeperCore) due() (due Instant, shortest time.Duration, living bool) {
	for _, h := range c.held {
		if h.over != nil {
			continue
		}
		at := h.sent.Add(h.ttl / renewals)
		if !living || at < due {
			due = at
		}
		if !living || h.ttl < shortest {
			shortest = h.ttl
		}
		living = true
	}
	return max(due, c.retry), shortest, living
}

// renewed: a renewal of the asked, sent at sent, came back, and the node says that some are over. The others lived all
// the time, so that also what was read while they did not count as valid was right.
func (c *keeperCore) renewed(asked []catalog.LeaseID, sent Instant, over []catalog.LeaseID) {
	c.retry, c.failure = 0, nil
	ended := make(map[catalog.LeaseID]bool, len(over))
	for _, id := range over {
		ended[id] = true
	}
	for _, id := range asked {
		h := c.held[id]
		switch {
		case h == nil || h.over != nil: // dropped meanwhile, or final (N2)
		case ended[id]:
			h.over = catalog.ErrLeaseOver
		default:
			h.sent = max(h.sent, sent)
		}
	}
}

// failed: a renewal did not come back. Nothing is known of the leases, unless the process that gave them is gone.
func (c *keeperCore) failed(now Instant, err error) {
	c.failure = err
	_, shortest, living := c.due()
	if living {
		c.retry = now.Add(max(shortest/retries, time.Millisecond))
	}
	if !errors.Is(err, ErrRestarted) {
		return
	}
	for _, h := range c.held {
		if h.over == nil {
			h.over = err
		}
	}
}
