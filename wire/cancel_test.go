package wire_test

import (
	"net"
	"testing"

	"github.com/jackc/pgx/v5/pgproto3"
	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/wire"
)

const (
	cancelled = "57014 canceling statement due to user request"
	tooLate   = "TOOLATE" // of the fake: succeeds when it was cancelled
)

// A cancel request ends all that a message, or a pipeline, would run, though it comes when nothing runs, or too late for the statement that does.
// What the client says later it does not touch. W4.
func TestACancelRequestIsNotLost(t *testing.T) {
	s := startServer(t, wire.Options{})
	network, key := s.knock(t)
	frontend := pgproto3.NewFrontend(network, network)
	cancel := func() chan struct{} {
		done := make(chan struct{})
		go func() {
			defer close(done)
			<-s.waiting
			s.cancel(t, key)
		}()
		return done
	}
	query := func(text string) pgproto3.FrontendMessage { return &pgproto3.Query{String: text} }
	run := func(text string) []pgproto3.FrontendMessage {
		return []pgproto3.FrontendMessage{&pgproto3.Parse{Query: text}, &pgproto3.Bind{}, &pgproto3.Execute{}}
	}
	after := func(t *testing.T) {
		require.Equal(t, []string{"SELECT 1"}, talk(t, frontend, query("SELECT")))
		require.Equal(t, []string{"SELECT 1"}, talk(t, frontend, append(run("SELECT"), &pgproto3.Sync{})...))
	}
	t.Run("of several statements", func(t *testing.T) {
		done := cancel()
		require.Equal(t, []string{tooLate, cancelled}, talk(t, frontend, query(tooLate+"; SELECT; INSERT 1")))
		<-done
		after(t)
	})
	t.Run("of a pipeline", func(t *testing.T) {
		done := cancel()
		messages := append(append(run(tooLate), run("SELECT")...), &pgproto3.Sync{})
		require.Equal(t, []string{tooLate, cancelled}, talk(t, frontend, messages...))
		<-done
		after(t)
	})
	t.Run("the last one", func(t *testing.T) {
		done := cancel()
		require.Equal(t, []string{tooLate}, talk(t, frontend, query("INSERT 1; "+tooLate))[1:])
		<-done
		after(t)
	})
	t.Run("of a pipeline that the client has waited in", func(t *testing.T) {
		done := cancel()
		for _, message := range append(run(tooLate), &pgproto3.Flush{}) {
			frontend.Send(message)
		}
		require.NoError(t, frontend.Flush())
		for {
			message, err := frontend.Receive()
			require.NoError(t, err)
			if _, completed := message.(*pgproto3.CommandComplete); completed {
				break
			}
		}
		<-done
		require.Equal(t, []string{"SELECT 1"}, talk(t, frontend, append(run("SELECT"), &pgproto3.Sync{})...))
	})
	t.Run("before the first statement", func(t *testing.T) {
		go func() {
			<-s.waiting
			s.cancel(t, key)
			close(s.split)
		}()
		require.Equal(t, []string{cancelled}, talk(t, frontend, query("SPLIT; SELECT")))
		after(t)
	})
}

// knock opens a connection, and gives the key of its cancel requests.
func (s *testServer) knock(t *testing.T) (net.Conn, *pgproto3.CancelRequest) {
	t.Helper()
	network := s.dial(t)
	t.Cleanup(func() { network.Close() })
	frontend := pgproto3.NewFrontend(network, network)
	frontend.Send(&pgproto3.StartupMessage{ProtocolVersion: pgproto3.ProtocolVersion30, Parameters: map[string]string{"user": "a"}})
	require.NoError(t, frontend.Flush())
	key := &pgproto3.CancelRequest{}
	for {
		message, err := frontend.Receive()
		require.NoError(t, err)
		switch message := message.(type) {
		case *pgproto3.BackendKeyData:
			key.ProcessID, key.SecretKey = message.ProcessID, message.SecretKey
		case *pgproto3.ReadyForQuery:
			return network, key
		}
	}
}

// cancel sends a cancel request, and returns when it was heard: then the server hangs up.
func (s *testServer) cancel(t *testing.T, key *pgproto3.CancelRequest) {
	network := s.dial(t)
	defer network.Close()
	frontend := pgproto3.NewFrontend(network, network)
	frontend.Send(key)
	if err := frontend.Flush(); err != nil {
		t.Errorf("cancel request: %v", err)
	}
	_, err := frontend.Receive()
	if err == nil {
		t.Errorf("a cancel request has an answer")
	}
}
