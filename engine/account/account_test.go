package account_test

import (
	"errors"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/engine/account"
	"github.com/csmsql/csmsql/sql/sqlerror"
)

func state(t testing.TB, err error) string {
	t.Helper()
	var e *sqlerror.Error
	require.ErrorAs(t, err, &e)
	require.NotEmpty(t, e.HintText)
	return e.State
}

// n greedy sessions get 1/(n+1) each, and as much stays free for the next.
func TestGreedySessionsLeaveRoomForTheNext(t *testing.T) {
	const most = 1 << 13
	for n := 1; n <= 20; n++ {
		node := account.NewNode(most)
		var sessions []*account.Session
		for i := range n {
			sessions = append(sessions, node.Open(uint32(i), "u"))
		}
		for more := true; more; {
			more = false
			for _, s := range sessions {
				more = s.Take(account.Copy, 1) == nil || more
			}
		}
		fair := int64(most / (n + 1))
		for _, s := range sessions {
			require.InDelta(t, fair, s.Used(), 2)
		}
		require.NoError(t, node.Open(99, "u").Take("message", fair/2-2), "the next one is served")
	}
}

// Whether it can ever be, or not now.
func TestRefusalsSayWhose(t *testing.T) {
	node := account.NewNode(1000)
	a, b := node.Open(1, "u"), node.Open(2, "u")
	require.Equal(t, "54000", state(t, a.Take("message", 501)))
	require.NoError(t, a.Take("message", 500))
	require.Equal(t, "53200", state(t, a.Take("message", 1)))
	require.Equal(t, "53200", state(t, b.Take("message", 300)))
	require.NoError(t, b.Take("message", 250))
	b.SetShare(251)
	require.Equal(t, "54000", state(t, b.Take("plan", 252)))
	require.Equal(t, "53200", state(t, b.Take("plan", 2)))
	require.NoError(t, b.Take("plan", 0))
	a.Close()
	require.Error(t, a.Take("message", 1))
	a.Give("message", 500) // of what Close gave back already
	require.Equal(t, account.Usage{Used: 250, Most: 1000, Refused: 6}, node.Usage())
	require.Equal(t, []account.Charge{{Session: 2, User: "u", Kind: "message", Bytes: 250}}, node.List())
}

// twin is the account without sums: every charge by itself.
type twin struct {
	most    int64
	charges []charge
	shares  map[int]int64
}

type charge struct {
	session int
	kind    string
	bytes   int64
}

func (w *twin) sum(counts func(charge) bool) (sum int64) {
	for _, c := range w.charges {
		if counts(c) {
			sum += c.bytes
		}
	}
	return sum
}

// take is the rule in other words: what a session has afterwards is within its share, and no more than what is free then.
func (w *twin) take(session int, kind string, bytes int64) bool {
	own := w.sum(func(c charge) bool { return c.session == session }) + bytes
	free := w.most - w.sum(func(charge) bool { return true }) - bytes
	if share := w.shares[session]; own > free || share > 0 && own > share {
		return false
	}
	w.charges = append(w.charges, charge{session, kind, bytes})
	return true
}

// A1 to A4, by random steps beside the twin.
func TestAgainstTwin(t *testing.T) {
	for seed := range uint64(200) {
		random := rand.New(rand.NewPCG(seed, 1))
		most := 1 + random.Int64N(10_000)
		node, model := account.NewNode(most), &twin{most: most, shares: map[int]int64{}}
		kinds := []string{account.Statement, account.Plan, "message"}
		sessions := map[int]*account.Session{}
		for range 300 {
			id := random.IntN(6)
			s, open := sessions[id]
			switch step := random.IntN(10); {
			case !open:
				sessions[id] = node.Open(uint32(id), "u")
			case step < 6:
				kind, bytes := kinds[random.IntN(3)], random.Int64N(1+random.Int64N(most))
				err := s.Take(kind, bytes)
				require.Equal(t, model.take(id, kind, bytes), err == nil, "seed %d: %v", seed, err)
			case step < 8 && len(model.charges) > 0:
				i := random.IntN(len(model.charges))
				c := model.charges[i]
				sessions[c.session].Give(c.kind, c.bytes)
				model.charges = slices.Delete(model.charges, i, i+1)
			case step == 8:
				model.shares[id] = random.Int64N(most)
				s.SetShare(model.shares[id])
			case step == 9:
				s.Close()
				delete(sessions, id)
				delete(model.shares, id)
				model.charges = slices.DeleteFunc(model.charges, func(c charge) bool { return c.session == id })
			}
			require.Equal(t, model.sum(func(charge) bool { return true }), node.Usage().Used, "seed %d", seed)
			for _, c := range node.List() {
				held := model.sum(func(m charge) bool { return m.session == int(c.Session) && m.kind == c.Kind })
				require.Equal(t, held, c.Bytes, "seed %d", seed)
			}
		}
	}
}

// A4: giving back what was not taken is a bug of ours, which test builds find.
func TestGivingBackTooMuch(t *testing.T) {
	s := account.NewNode(100).Open(1, "u")
	require.NoError(t, s.Take("message", 10))
	require.Panics(t, func() { s.Give("message", 11) })
	require.Panics(t, func() { s.Give("plan", 1) })
	require.True(t, errors.As(s.Take("message", 1000), new(*sqlerror.Error)))
}

// A session that waits for what another one has for a moment goes on when that one ends.
func TestACloseWakesWaitingSessions(t *testing.T) {
	node := account.NewNode(1000)
	a, b := node.Open(1, "u"), node.Open(2, "u")
	require.NoError(t, a.TakeBriefly(t.Context(), 1000))
	require.NoError(t, a.Take(account.Copy, 400))
	taken := make(chan error, 1)
	began := time.Now()
	go func() { taken <- b.TakeBriefly(t.Context(), 900) }()
	require.Eventually(t, func() bool { return node.Waiting() }, 5*time.Second, time.Millisecond)
	a.Close()
	require.NoError(t, <-taken)
	require.Less(t, time.Since(began), 8*time.Second, "it was not its patience that ended")
}
