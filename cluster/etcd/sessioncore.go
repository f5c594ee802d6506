package etcd

import (
	"errors"
	"fmt"
	"time"

	"github.com/csmsql/csmsql/catalog/store"
)

// The parts of a TTL. A renewal may fail twice, and more than that if it fails at once, before the session is unsure.
const (
	renewals     = 3  // a renewal is sent when 1/renewals of the TTL is over, and has that long
	retries      = 12 // after a failure the next one is sent after 1/retries
	marginPart   = 10 // the margin is 1/marginPart: for clocks that do not run equally fast, by far more than any do
	renewAtLeast = time.Second
)

// sessionCore decides when to renew and what is certain. It has no clock, no lock and no I/O: what happened and when
// comes in, what is to be done goes out.
//
//	sure ──▶ sent + TTL − margin is over ──▶ unsure ──▶ a renewal came back ──▶ sure
//	sure, unsure ──▶ the fence is gone, or Close ──▶ over, for ever
type sessionCore struct {
	ttl time.Duration
	// sent is when the last renewal that succeeded left this process. etcd received it later, and lets the lease live
	// for the TTL from then on, at least.
	sent instant
	// retry is the earliest time of the next renewal after one failed; failure is why it did, nil after a success.
	retry   instant
	failure error
	over    error // final
}

// check is nil only if etcd has not ended the session by now, whatever it thinks of this process (E2).
func (c *sessionCore) check(now instant) error {
	silent := now.sub(c.sent).Round(time.Millisecond)
	switch {
	case c.over != nil:
		return c.over
	case now < c.sent.add(c.ttl-c.ttl/marginPart):
		return nil
	case c.failure != nil:
		return &Error{
			State: stateUnavailable, Cause: errors.Join(store.ErrSessionUnsure, c.failure),
			Message:  fmt.Sprintf("%v: it could not be renewed for %v: %s", store.ErrSessionUnsure, silent, describe(c.failure)),
			HintText: "It may still live. Try again when a majority of etcd's members answers.",
		}
	}
	return &Error{
		State: stateUnavailable, Cause: store.ErrSessionUnsure,
		Message:  fmt.Sprintf("%v: this process did not run, or its machine was suspended, for %v", store.ErrSessionUnsure, silent),
		HintText: "It may still live. Try again.",
	}
}

// lasts is nil only if check is nil until now + d, even if no renewal succeeds any more.
func (c *sessionCore) lasts(now instant, d time.Duration) error {
	if err := c.check(now); err != nil {
		return err
	}
	if c.check(now.add(d)) == nil {
		return nil
	}
	return &Error{
		State: stateUnavailable, Cause: store.ErrSessionUnsure,
		Message:  fmt.Sprintf("%v: nothing can be promised for %v", store.ErrSessionUnsure, d),
		HintText: "Try again when the session was renewed.",
	}
}

// due is when the next renewal is to be sent, and how long it has.
func (c *sessionCore) due() (at instant, timeout time.Duration) {
	every := min(c.ttl/renewals, renewAtLeast)
	return max(c.sent.add(every), c.retry), c.ttl / renewals
}

// renewed: a renewal that was sent at sent came back.
func (c *sessionCore) renewed(sent instant) {
	c.sent, c.retry, c.failure = max(c.sent, sent), 0, nil
}

// failed: a renewal did not come back, or proved nothing. It reports whether that is news.
func (c *sessionCore) failed(now instant, err error) (news bool) {
	news = c.failure == nil
	c.failure, c.retry = err, now.add(c.ttl/retries)
	return news
}

// end is final; the first reason stays. It reports whether it was this call that ended it.
func (c *sessionCore) end(why error) (ended bool) {
	if c.over != nil {
		return false
	}
	c.over = why
	return true
}
