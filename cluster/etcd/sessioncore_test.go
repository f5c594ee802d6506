package etcd

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"pgregory.net/rapid"

	"github.com/csmsql/csmsql/catalog/store"
)

var errLost = errors.New("the connection was lost")

// E2 against a lease that is as short as etcd may make it: whatever is delayed or lost, and however long this process is
// stopped anywhere, the session does not count as alive when etcd may have ended it.
func TestNeverSureOfADeadSession(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		const ttl = 2 * time.Second
		pause := func(what string) time.Duration {
			return time.Duration(rapid.Int64Range(0, int64(ttl)).Draw(rt, what)) / time.Duration(rapid.SampledFrom([]int{1, 20}).Draw(rt, "scale"))
		}
		var now instant
		granted := now
		now = now.add(pause("grant"))
		expires := granted.add(ttl) // had etcd received the request at once
		core := sessionCore{ttl: ttl, sent: granted}
		check := func() {
			if core.check(now) == nil {
				require.Less(rt, now, expires)
			}
			if d := pause("promise"); core.lasts(now, d) == nil {
				require.Less(rt, now.add(d), expires)
			}
		}
		for range 30 {
			check()
			due, timeout := core.due()
			now = max(now, due).add(pause("stopped before"))
			sent := now
			received := sent.add(pause("to etcd"))
			lost := rapid.Bool().Draw(rt, "lost")
			if received >= expires { // the fence is gone
				now = received
				check()
				core.end(store.ErrSessionOver)
				require.ErrorIs(rt, core.check(now), store.ErrSessionOver)
				core.renewed(now) // a late answer revives no session
				require.ErrorIs(rt, core.check(now), store.ErrSessionOver)
				return
			}
			if !rapid.Bool().Draw(rt, "lost on the way there") {
				expires = received.add(ttl)
			} else {
				lost = true
			}
			now = received.add(pause("back"))
			check()
			if lost || now.sub(sent) > timeout {
				core.failed(now, errLost)
			} else {
				core.renewed(sent)
			}
			check()
		}
	})
}

func TestSessionCore(t *testing.T) {
	core := sessionCore{ttl: 10 * time.Second, sent: 100}
	require.NoError(t, core.check(100))
	require.NoError(t, core.check(instant(100+9*time.Second-1)))
	require.NoError(t, core.lasts(100, 9*time.Second-1))
	require.ErrorIs(t, core.lasts(100, 9*time.Second), store.ErrSessionUnsure)
	err := core.check(instant(100 + 9*time.Second))
	require.ErrorIs(t, err, store.ErrSessionUnsure)
	require.ErrorContains(t, err, "did not run")
	require.True(t, core.failed(instant(100+9*time.Second), errLost), "the first failure is news")
	require.False(t, core.failed(instant(100+9*time.Second), errLost))
	due, timeout := core.due()
	require.Equal(t, instant(100+9*time.Second+10*time.Second/12), due)
	require.Equal(t, 10*time.Second/3, timeout)
	err = core.check(instant(100 + 10*time.Second))
	require.ErrorIs(t, err, store.ErrSessionUnsure)
	require.ErrorIs(t, err, errLost)
	require.NotErrorIs(t, err, store.ErrSessionOver)
	var e *Error
	require.ErrorAs(t, err, &e)
	require.Equal(t, "57P03", e.SQLState())
	require.NotEmpty(t, e.Hint())

	core.renewed(instant(11 * time.Second))
	require.NoError(t, core.check(instant(11*time.Second)), "unsure is not over")
	due, _ = core.due()
	require.Equal(t, instant(12*time.Second), due, "every second, though a third of the TTL would do")
	core.renewed(instant(5 * time.Second))
	require.Equal(t, instant(11*time.Second), core.sent, "an answer that comes late takes nothing away")
	require.True(t, core.end(store.ErrSessionOver))
	require.False(t, core.end(store.ErrClosed), "the first reason stays")
	require.Equal(t, store.ErrSessionOver, core.check(0))
}

// A leader that was stopped while another was elected renews a lease in its own memory only, and says that it did.
func TestRenewalOfAFormerLeaderProvesNothing(t *testing.T) {
	renewal := func(ttl int64, term uint64) *etcdserverpb.LeaseKeepAliveResponse {
		return &etcdserverpb.LeaseKeepAliveResponse{TTL: ttl, Header: &etcdserverpb.ResponseHeader{RaftTerm: term}}
	}
	read := &clientv3.GetResponse{Header: &etcdserverpb.ResponseHeader{RaftTerm: 7}, Count: 1}
	require.True(t, proved(renewal(2, 7), read))
	require.False(t, proved(renewal(2, 6), read), "the leader of term 6 is none any more")
	require.False(t, proved(renewal(0, 7), read), "the lease was not found, though the fence was there: ask again")
}
