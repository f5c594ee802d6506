package account_test

import (
	"context"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/engine/account"
)

// queries are the source of a node whose account takes from them.
type queries struct {
	mu    sync.Mutex
	node  *account.Node
	given int64 // beyond what is free
	least int64 // that they do not give
	whole int64
	asked int
}

func (q *queries) ask(bytes int64) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.asked++
	if bytes > q.whole-q.least {
		return false
	}
	q.given = bytes
	return true
}

func (q *queries) has() int64 {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.given
}

func from(most, free, step, whole int64) (*account.Node, *queries) {
	q := &queries{whole: whole}
	q.node = account.NewNode(most)
	q.node.From(account.Source{Free: free, Step: step, Ask: q.ask})
	return q.node, q
}

// A5: what is used beyond what is free has been given by queries, in steps, and goes back.
func TestRoomComesFromQueries(t *testing.T) {
	node, q := from(1000, 100, 50, 1000)
	s := node.Open(1, "u")
	require.NoError(t, s.Take(account.Copy, 100))
	require.Zero(t, q.asked, "that was free")
	require.NoError(t, s.Take(account.Copy, 1))
	require.EqualValues(t, 50, q.has())
	require.NoError(t, s.Take(account.Copy, 49))
	require.Equal(t, 1, q.asked)
	require.NoError(t, s.Take(account.Copy, 300))
	require.EqualValues(t, 350, q.has())
	s.Give(account.Copy, 90)
	require.True(t, node.Settle())
	require.EqualValues(t, 350, q.has(), "what comes and goes does not ask each time")
	s.Give(account.Copy, 100)
	require.True(t, node.Settle())
	require.EqualValues(t, 200, q.has())
	s.Give(account.Copy, 260)
	require.True(t, node.Settle())
	require.Zero(t, q.has())

	q.least = 900
	require.Equal(t, "53200", state(t, s.Take(account.Copy, 250)))
	require.Zero(t, s.Used())
	require.NoError(t, s.Take(account.Copy, 200))
}

// What is brief may be twice of what may be kept, and does not count towards it; the others wait for it.
func TestBrief(t *testing.T) {
	node, q := from(1000, 100, 50, 2000)
	a, b := node.Open(1, "u"), node.Open(2, "u")
	require.Equal(t, "54000", state(t, a.TakeBriefly(t.Context(), 1001)))
	require.NoError(t, a.TakeBriefly(t.Context(), 1000))
	require.EqualValues(t, 900, q.has())
	require.NoError(t, b.Take(account.Copy, 250), "what is kept is not refused for it")
	require.Equal(t, "53200", state(t, a.TakeBriefly(t.Context(), 500)), "who has some does not wait for more")

	done := make(chan error)
	go func() { done <- b.TakeBriefly(t.Context(), 600) }()
	select {
	case err := <-done:
		require.Fail(t, "it did not wait", err)
	case <-time.After(10 * time.Millisecond): // it cannot show before; without waiting it would have been refused at once
	}
	a.Give(account.Parsing, 1000)
	require.NoError(t, <-done)
	b.Give(account.Parsing, 600)

	require.NoError(t, a.TakeBriefly(t.Context(), 800))
	ctx, cancel := context.WithCancel(t.Context())
	go func() { done <- b.TakeBriefly(ctx, 600) }()
	cancel()
	require.ErrorIs(t, <-done, context.Canceled)
	go func() { done <- b.TakeBriefly(t.Context(), 600) }()
	a.Close()
	require.NoError(t, <-done, "what a session had goes with it")
	b.Close()
	require.Zero(t, node.Usage().Used)
}

// A2: what is brief leaves less for what is kept, once both are more than the node has for what is brief; and even then
// something stays free for the next.
func TestBriefAndKeptTogether(t *testing.T) {
	node := account.NewNode(1000)
	a, b := node.Open(1, "u"), node.Open(2, "u")
	require.NoError(t, a.TakeBriefly(t.Context(), 1000))
	require.NoError(t, b.TakeBriefly(t.Context(), 500))
	for i := range uint32(4) {
		greedy := node.Open(10+i, "u")
		for greedy.Take(account.Copy, 1) == nil {
		}
		require.Positive(t, greedy.Used())
	}
	require.Less(t, node.Usage().Used, int64(2000))
	c := node.Open(3, "u")
	require.NoError(t, c.Take(account.Copy, 10))
	require.Equal(t, "53200", state(t, c.Take(account.Copy, 50)))
	b.Give(account.Parsing, 500)
	require.NoError(t, c.Take(account.Copy, 50))
}

// A1 to A5, by sessions at once. The account checks itself at each step.
func TestRoomBetweenSessions(t *testing.T) {
	node, q := from(10_000, 500, 100, 15_000)
	var group sync.WaitGroup
	for i := range 8 {
		group.Go(func() {
			random := rand.New(rand.NewPCG(1, uint64(i)))
			s := node.Open(uint32(i), "u")
			defer s.Close()
			for range 2000 {
				bytes := random.Int64N(1500)
				if random.IntN(3) == 0 {
					if s.TakeBriefly(t.Context(), bytes) == nil {
						s.Give(account.Parsing, bytes)
					}
					continue
				}
				if s.Take(account.Copy, bytes) == nil {
					s.Give(account.Copy, bytes)
				}
			}
		})
	}
	group.Wait()
	require.Zero(t, node.Usage().Used)
	require.True(t, node.Settle())
	require.LessOrEqual(t, q.has(), int64(200), "all but what is kept in hand went back")
}

// Fallen receives one value when there is much memory to return to the system.
func TestFallIsReportedOnce(t *testing.T) {
	node, _ := from(1000, 100, 50, 1000)
	fallen := func() bool {
		select {
		case <-node.Fallen():
			return true
		default:
			return false
		}
	}
	s := node.Open(1, "u")
	require.NoError(t, s.Take(account.Copy, 60))
	s.Give(account.Copy, 40)
	require.False(t, fallen(), "that was little")
	require.NoError(t, s.Take(account.Copy, 50))
	s.Give(account.Copy, 60)
	require.True(t, fallen(), "from 70 to 10")
	require.True(t, node.Settle())
	require.NoError(t, s.Take(account.Copy, 10))
	s.Give(account.Copy, 10)
	require.False(t, fallen(), "Settle has reset the peak")
	require.NoError(t, s.Take(account.Copy, 400))
	s.Close()
	require.True(t, fallen())
}

// What a session takes in any case is the node's, and none of its share.
func TestBase(t *testing.T) {
	node, q := from(1000, 100, 50, 1000)
	a := node.Open(1, "u")
	a.SetShare(50)
	require.NoError(t, a.Begin(40))
	require.NoError(t, a.Take(account.Copy, 50))
	require.EqualValues(t, 50, a.Used())
	require.Equal(t, account.Usage{Used: 90, Base: 40, Most: 1000}, node.Usage())
	require.Equal(t, []account.Charge{{Session: 1, User: "u", Kind: account.Copy, Bytes: 50}, {Session: 1, User: "u", Kind: account.Connected, Bytes: 40}}, node.List())
	var more []*account.Session
	var err error
	for err == nil && len(more) < 100 {
		s := node.Open(2, "u")
		if err = s.Begin(40); err == nil {
			more = append(more, s)
		}
	}
	require.Equal(t, "53200", state(t, err))
	require.Len(t, more, 11, "half is for what they do")
	require.Positive(t, q.has())
	for _, s := range append(more, a) {
		s.Close()
	}
	require.Zero(t, node.Usage().Base)
	require.Zero(t, node.Usage().Used)
}
