package keeper

import (
	"errors"
	"fmt"
	"time"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/cluster/noderpc"
)

// core decides when to renew and what is valid. It has no clock, no lock and no I/O: what happened and when comes
// in, what is to be done goes out.
type core struct {
	held map[catalog.LeaseID]*heldLease
	// releases are those that the node is to be notified of.
	releases []catalog.LeaseID
	// retry is the earliest time of the next renewal after one failed; failure is why it did, nil after a success.
	retry   noderpc.Instant
	failure error
}

// The SQLSTATEs that this package gives.
const (
	stateGone        = "08006" // connection_failure
	stateShutdown    = "57P01" // admin_shutdown
	stateSnapshotOld = "72000" // snapshot_too_old
	stateArgument    = "22023" // invalid_parameter_value
)

func badArgument(format string, args ...any) *noderpc.Error {
	return &noderpc.Error{State: stateArgument, Message: fmt.Sprintf(format, args...)}
}

type heldLease struct {
	ttl time.Duration
	// sent is when the last request that gave or renewed the lease left this process. The node received it later and
	// lets the lease live for the TTL from then on, at least.
	sent noderpc.Instant
	// over: the node said so; final (N2).
	over error
}

const (
	retryParts = 12 // after a failure the next renewal is sent after 1/retryParts of the TTL
	// releaseBatch is how many releases go in one call.
	releaseBatch = 1024
)

// validUntil is when this process stops to trust the lease (N1).
func (h *heldLease) validUntil() noderpc.Instant {
	return h.sent.Add(h.ttl - h.ttl/noderpc.MarginParts)
}

func newCore() core { return core{held: map[catalog.LeaseID]*heldLease{}} }

func (c *core) hold(id catalog.LeaseID, ttl time.Duration, sent noderpc.Instant) error {
	if ttl < noderpc.MinTTL || ttl > noderpc.MaxTTL {
		return badArgument("lease %d: its time %v is not between %v and %v", id, ttl, noderpc.MinTTL, noderpc.MaxTTL)
	}
	if c.held[id] != nil {
		return badArgument("lease %d is held already", id)
	}
	if len(c.held)+len(c.releases) >= noderpc.MaxLeases {
		return noderpc.TooManyLeases()
	}
	c.held[id] = &heldLease{ttl: ttl, sent: sent}
	return nil
}

// drop forgets a lease; if it was held and not over, the node is to be notified.
func (c *core) drop(id catalog.LeaseID) {
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
func (c *core) check(id catalog.LeaseID, now noderpc.Instant) error {
	h := c.held[id]
	switch {
	case h == nil:
		return &noderpc.Error{State: stateSnapshotOld, Message: fmt.Sprintf("lease %d is not held", id), Cause: catalog.ErrLeaseOver}
	case h.over != nil:
		return &noderpc.Error{
			State: stateSnapshotOld, Message: fmt.Sprintf("the node ended lease %d: %v", id, h.over), Cause: errors.Join(catalog.ErrLeaseOver, h.over),
			HintText: "Run the query again: it takes a new snapshot.",
		}
	case now < h.validUntil():
		return nil
	case c.failure != nil:
		return &noderpc.Error{
			State: stateGone, Cause: errors.Join(catalog.ErrLeaseOver, c.failure),
			Message:  fmt.Sprintf("lease %d could not be renewed for %v, so what was read under it may have been overwritten: %v", id, now.Sub(h.sent).Round(time.Millisecond), c.failure),
			HintText: "Run the query again when the node answers.",
		}
	}
	return &noderpc.Error{
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
	until   noderpc.Instant
	timed   bool
	timeout time.Duration // of the call
}

func (c *core) next(now noderpc.Instant) plan {
	due, shortest, living := c.due()
	if living && now >= due {
		p := plan{timeout: shortest / noderpc.RenewalParts}
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
			p.timeout = min(p.timeout, shortest/noderpc.RenewalParts) // a node that hangs must not cost the next renewal its time
		}
		c.releases = c.releases[n:]
		return p
	}
	return plan{until: due, timed: living}
}

// due is when the next renewal of all leases is to be sent, and the shortest TTL.
func (c *core) due() (due noderpc.Instant, shortest time.Duration, living bool) {
	for _, h := range c.held {
		if h.over != nil {
			continue
		}
		at := h.sent.Add(h.ttl / noderpc.RenewalParts)
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
func (c *core) renewed(asked []catalog.LeaseID, sent noderpc.Instant, over []catalog.LeaseID) {
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
func (c *core) failed(now noderpc.Instant, err error) {
	c.failure = err
	_, shortest, living := c.due()
	if living {
		c.retry = now.Add(max(shortest/retryParts, time.Millisecond))
	}
	if !errors.Is(err, noderpc.ErrRestarted) {
		return
	}
	for _, h := range c.held {
		if h.over == nil {
			h.over = err
		}
	}
}
