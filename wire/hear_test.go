package wire_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgproto3"
	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/wire"
)

// session is the last one that was opened.
func (s *testServer) session() *fakeSession {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sessions[len(s.sessions)-1]
}

// hears receives messages up to one of a kind, and gives them in a word each.
func hears(t *testing.T, frontend *pgproto3.Frontend, until string) (list []string) {
	t.Helper()
	for {
		message, err := frontend.Receive()
		require.NoError(t, err)
		word := strings.TrimPrefix(fmt.Sprintf("%T", message), "*pgproto3.")
		switch message := message.(type) {
		case *pgproto3.NotificationResponse:
			require.NotZero(t, message.PID)
			word = message.Channel + "=" + message.Payload
		case *pgproto3.CommandComplete:
			word = string(message.CommandTag)
		case *pgproto3.ReadyForQuery:
			word = string(message.TxStatus)
		}
		list = append(list, word)
		if word == until {
			return list
		}
	}
}

func query(t *testing.T, frontend *pgproto3.Frontend, sql string) {
	t.Helper()
	frontend.Send(&pgproto3.Query{String: sql})
	require.NoError(t, frontend.Flush())
}

// W9: a client that waits hears at once, in a transaction afterwards and before it is its turn, and of each channel the
// last. What it is saying meanwhile is not lost.
func TestHeard(t *testing.T) {
	s := startServer(t, wire.Options{})
	network, _ := s.knock(t)
	frontend := pgproto3.NewFrontend(network, network)
	session := s.session()
	session.hear("a", "1")
	require.Equal(t, []string{"a=1"}, hears(t, frontend, "a=1"))

	query(t, frontend, "BEGIN")
	hears(t, frontend, "T")
	session.hear("a", "2")
	session.hear("b", "7")
	session.hear("a", "3")
	query(t, frontend, "INSERT 1")
	require.Equal(t, []string{"INSERT 0 1", "T"}, hears(t, frontend, "T"))
	query(t, frontend, "COMMIT")
	require.Equal(t, []string{"COMMIT", "b=7", "a=3", "I"}, hears(t, frontend, "I"))

	frontend.Send(&pgproto3.Parse{Query: "INSERT 1"})
	frontend.Send(&pgproto3.Bind{})
	frontend.Send(&pgproto3.Execute{})
	frontend.Send(&pgproto3.Flush{})
	require.NoError(t, frontend.Flush())
	hears(t, frontend, "INSERT 0 1")
	session.hear("a", "4")
	frontend.Send(&pgproto3.Sync{})
	require.NoError(t, frontend.Flush())
	require.Equal(t, []string{"a=4", "I"}, hears(t, frontend, "I"), "and not within a pipeline")

	message, err := (&pgproto3.Query{String: "INSERT 1"}).Encode(nil)
	require.NoError(t, err)
	for i := range message {
		_, err := network.Write(message[i : i+1])
		require.NoError(t, err)
		if i < len(message)-1 {
			payload := fmt.Sprint(5 + i)
			session.hear("a", payload)
			require.Equal(t, []string{"a=" + payload}, hears(t, frontend, "a="+payload))
		}
	}
	require.Equal(t, []string{"INSERT 0 1", "I"}, hears(t, frontend, "I"))
	many := 3000
	for i := range many {
		session.hear(fmt.Sprint("c", i), "1")
	}
	require.Len(t, hears(t, frontend, fmt.Sprintf("c%d=1", many-1)), many)
}

// W9: notifications do not prolong the patience with a client that says nothing.
func TestHeardDoesNotMakePatient(t *testing.T) {
	s := startServer(t, wire.Options{})
	frontend := newFrontend(t, s)
	session := s.session()
	for i := range 100 {
		session.hear(fmt.Sprint("c", i), "1")
	}
	query(t, frontend, "HURRY")
	hears(t, frontend, "ErrorResponse")
}

// W9: for a client that does not read only the last notification of each channel is kept. It gets that when it reads
// again, and may leave without reading.
func TestNotifiedClientDoesNotRead(t *testing.T) {
	for _, ends := range []string{"reads again", "says that it leaves", "hangs up", "asks"} {
		t.Run(ends, func(t *testing.T) {
			s := startServer(t, wire.Options{})
			network, _ := s.knock(t)
			frontend := pgproto3.NewFrontend(network, network)
			session := s.session()
			payload := strings.Repeat("x", 1000)
			sent := func() int {
				session.hearing.Lock()
				defer session.hearing.Unlock()
				return session.taken
			}
			for before, n := -1, 0; before != sent(); { // until nothing is taken any more
				before = sent()
				for range 20_000 {
					session.hear("a", fmt.Sprint(n, payload))
					n++
				}
			}
			session.hear("a", "last")
			switch ends {
			case "reads again":
				hears(t, frontend, "a=last")
				return
			case "asks":
				query(t, frontend, "INSERT 1")
				list := hears(t, frontend, "I")
				require.Contains(t, list, "a=last")
				require.Contains(t, list, "INSERT 0 1")
				return
			case "says that it leaves":
				frontend.Send(&pgproto3.Terminate{})
				require.NoError(t, frontend.Flush())
			default:
				require.NoError(t, network.Close())
			}
			require.Eventually(t, func() bool { return s.open.Load() == 0 }, patience, time.Millisecond)
		})
	}
}
