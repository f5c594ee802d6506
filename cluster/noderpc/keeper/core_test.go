package keeper

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/cluster/noderpc"
)

// world has the true time, a node whose clock runs at another speed, and a borrower with a core. Messages take
// arbitrary time and get lost; the borrower is stopped at arbitrary places.
type world struct {
	t     *rapid.T
	now   time.Duration // true time, which is the borrower's clock
	speed float64       // of the node's clock
	node  map[catalog.LeaseID]*nodeLease
	core  core
	next  catalog.LeaseID
	// gone are leases that the core learned are over, or that were dropped.
	gone map[catalog.LeaseID]bool
	// flight is the renewal under way, at most one.
	flight *flight
}

type nodeLease struct {
	ttl, expires time.Duration // by the node's clock
	ended        bool
}

type flight struct {
	asked     []catalog.LeaseID
	sent      noderpc.Instant
	delivered bool
	over      []catalog.LeaseID
}

func (w *world) nodeNow() time.Duration { return time.Duration(float64(w.now) * w.speed) }

// expire is what the node does with its own clock.
func (w *world) expire() {
	for _, l := range w.node {
		l.ended = l.ended || w.nodeNow() >= l.expires
	}
}

func (w *world) advance(d time.Duration) {
	w.now += d
	w.expire()
}

func (w *world) delay(label string) {
	longest := rapid.SampledFrom([]time.Duration{0, time.Millisecond, 2 * time.Second}).Draw(w.t, "longest "+label)
	w.advance(time.Duration(rapid.Int64Range(0, int64(longest)).Draw(w.t, label)))
}

// brink advances to the last instant at which some lease counts as valid: where it is most likely to be wrong.
func (w *world) brink() {
	for _, h := range w.core.held {
		if last := h.validUntil() - 1; last > noderpc.Instant(w.now) {
			w.advance(last.Sub(noderpc.Instant(w.now)))
			return
		}
	}
}

// lease is a call that gives one.
func (w *world) lease() {
	sent := noderpc.Instant(w.now)
	w.delay("request")
	w.next++
	ttl := time.Duration(rapid.Int64Range(int64(noderpc.MinTTL), int64(5*time.Second)).Draw(w.t, "ttl"))
	w.node[w.next] = &nodeLease{ttl: ttl, expires: w.nodeNow() + ttl}
	w.delay("answer")
	require.NoError(w.t, w.core.hold(w.next, ttl, sent))
}

func (w *world) step() {
	switch p := w.core.next(noderpc.Instant(w.now)); {
	case w.flight == nil && len(p.renew) > 0:
		w.flight = &flight{asked: p.renew, sent: noderpc.Instant(w.now)}
	case len(p.release) > 0:
		for _, id := range p.release {
			w.node[id].ended = true
		}
	}
}

func (w *world) deliver() {
	if w.flight == nil || w.flight.delivered {
		return
	}
	w.flight.delivered = true
	for _, id := range w.flight.asked {
		if l := w.node[id]; l.ended {
			w.flight.over = append(w.flight.over, id)
		} else {
			l.expires = w.nodeNow() + l.ttl
		}
	}
}

func (w *world) answer() {
	if w.flight == nil {
		return
	}
	if w.flight.delivered && rapid.Bool().Draw(w.t, "arrives") {
		w.core.renewed(w.flight.asked, w.flight.sent, w.flight.over)
		for _, id := range w.flight.over {
			w.gone[id] = true
		}
	} else {
		w.core.failed(noderpc.Instant(w.now), errors.New("lost"))
	}
	w.flight = nil
}

// N1 and N2, in every world that rapid finds.
func TestValidNeverOutlivesTheNodesPromise(t *testing.T) {
	validSeen := 0
	rapid.Check(t, func(t *rapid.T) {
		w := &world{t: t, speed: rapid.Float64Range(0.95, 1.05).Draw(t, "speed"), node: map[catalog.LeaseID]*nodeLease{}, core: newCore(), gone: map[catalog.LeaseID]bool{}}
		t.Repeat(map[string]func(*rapid.T){
			"lease":   func(*rapid.T) { w.lease() },
			"advance": func(*rapid.T) { w.delay("time") },
			"brink":   func(*rapid.T) { w.brink() },
			"step":    func(*rapid.T) { w.step() },
			"deliver": func(*rapid.T) { w.deliver() },
			"answer":  func(*rapid.T) { w.answer() },
			"drop": func(t *rapid.T) {
				if w.next > 0 {
					id := catalog.LeaseID(rapid.Uint64Range(1, uint64(w.next)).Draw(t, "id"))
					w.core.drop(id)
					w.gone[id] = true
				}
			},
			"": func(t *rapid.T) {
				for id, l := range w.node {
					valid := w.core.check(id, noderpc.Instant(w.now)) == nil
					if valid {
						validSeen++
					}
					require.False(t, valid && l.ended, "N1: lease %d is over at the node", id)
					require.False(t, valid && w.gone[id], "N2: lease %d was over", id)
				}
			},
		})
	})
	require.NotZero(t, validSeen, "a core that trusts nothing would pass, too")
}

func held(t *testing.T, ttl time.Duration, ids ...catalog.LeaseID) *core {
	c := newCore()
	for _, id := range ids {
		require.NoError(t, c.hold(id, ttl, 0))
	}
	return &c
}

func at(d time.Duration) noderpc.Instant { return noderpc.Instant(d) }

func TestRenewalsInTime(t *testing.T) {
	c := held(t, 3*time.Second, 1, 2)
	require.NoError(t, c.hold(3, 30*time.Second, 0))
	require.Equal(t, plan{until: at(time.Second), timed: true}, c.next(at(999*time.Millisecond)))
	p := c.next(at(time.Second))
	require.ElementsMatch(t, []catalog.LeaseID{1, 2, 3}, p.renew, "one call for all")
	require.Equal(t, time.Second, p.timeout)
	c.renewed(p.renew, at(time.Second), nil)
	require.Equal(t, at(2*time.Second), c.next(at(time.Second)).until)

	c.failed(at(2*time.Second), errors.New("x"))
	require.Equal(t, at(2250*time.Millisecond), c.next(at(2*time.Second)).until, "a failure is soon followed by another try")
	require.NotEmpty(t, c.next(at(2250*time.Millisecond)).renew)
	require.Equal(t, plan{}, (&core{}).next(at(time.Hour)), "nothing to do")
}

// A paused process: nothing ran, and yet the answer is right.
func TestAPausedProcessKnows(t *testing.T) {
	c := held(t, 3*time.Second, 1)
	require.NoError(t, c.check(1, at(2699*time.Millisecond)))
	err := c.check(1, at(2700*time.Millisecond)) // TTL − margin
	require.ErrorIs(t, err, catalog.ErrLeaseOver)
	require.Equal(t, "72000", err.(*noderpc.Error).SQLState())
	require.ErrorContains(t, err, "did not run")
	require.Error(t, c.check(1, at(100*365*24*time.Hour)))

	// The node, it turns out, kept the lease all the time: then what was read was right.
	c.renewed([]catalog.LeaseID{1}, at(2900*time.Millisecond), nil)
	require.NoError(t, c.check(1, at(5*time.Second)))
}

// An answer that comes late counts from when the question was sent.
func TestALateAnswerProvesLittle(t *testing.T) {
	c := held(t, 3*time.Second, 1)
	c.renewed([]catalog.LeaseID{1}, at(time.Second), nil) // and it is 3.9 s now
	require.Error(t, c.check(1, at(3900*time.Millisecond)))
	c.renewed([]catalog.LeaseID{1}, at(500*time.Millisecond), nil) // older ones never move it back
	require.NoError(t, c.check(1, at(3600*time.Millisecond)))
}

func TestOverIsFinal(t *testing.T) {
	c := held(t, 3*time.Second, 1, 2)
	c.renewed([]catalog.LeaseID{1, 2}, at(time.Second), []catalog.LeaseID{1})
	require.ErrorIs(t, c.check(1, at(time.Second)), catalog.ErrLeaseOver)
	require.NoError(t, c.check(2, at(time.Second)))
	c.renewed([]catalog.LeaseID{1, 2}, at(2*time.Second), nil)
	require.Error(t, c.check(1, at(2*time.Second)), "N2")
	c.drop(1)
	require.Empty(t, c.releases, "the node knows")
	c.drop(2)
	require.Error(t, c.check(2, at(2*time.Second)))
	require.Equal(t, []catalog.LeaseID{2}, c.next(at(2*time.Second)).release)
	require.Equal(t, plan{}, c.next(at(2*time.Second)))
}

func TestANodeThatIsGone(t *testing.T) {
	c := held(t, 3*time.Second, 1)
	c.failed(at(time.Second), &noderpc.Error{State: stateGone, Message: "node x is gone", Cause: noderpc.ErrNodeGone})
	require.NoError(t, c.check(1, at(2*time.Second)), "it promised")
	err := c.check(1, at(3*time.Second))
	require.Equal(t, "08006", err.(*noderpc.Error).SQLState())
	require.ErrorIs(t, err, noderpc.ErrNodeGone)
	require.ErrorContains(t, err, "node x is gone")

	c.failed(at(time.Second), &noderpc.Error{State: stateGone, Message: "restarted", Cause: noderpc.ErrRestarted})
	require.ErrorIs(t, c.check(1, at(time.Second)), noderpc.ErrRestarted, "the process that promised is no more")
	require.False(t, c.next(at(time.Hour)).timed)
}

func TestBoundsOfTheKeeper(t *testing.T) {
	c := newCore()
	for _, ttl := range []time.Duration{-1, 0, 1, noderpc.MaxTTL + 1} {
		require.Error(t, c.hold(1, ttl, 0))
	}
	for id := range catalog.LeaseID(noderpc.MaxLeases) {
		require.NoError(t, c.hold(id, time.Second, 0))
	}
	require.Error(t, c.hold(5, time.Second, 0), "twice")
	c.drop(5)
	require.ErrorIs(t, c.hold(noderpc.MaxLeases, time.Second, 0), noderpc.ErrTooManyLeases, "the release is still to be sent")
	require.Len(t, c.next(0).release, 1)
	require.NoError(t, c.hold(noderpc.MaxLeases, time.Second, 0))
}
