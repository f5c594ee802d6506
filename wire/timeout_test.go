package wire_test

import (
	"testing"

	"github.com/jackc/pgx/v5/pgproto3"
	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/wire"
)

// talk sends messages and gives what comes back up to the last ReadyForQuery, in one word each.
func talk(t *testing.T, frontend *pgproto3.Frontend, messages ...pgproto3.FrontendMessage) (heard []string) {
	t.Helper()
	ready := 0
	for _, message := range messages {
		frontend.Send(message)
		switch message.(type) {
		case *pgproto3.Query, *pgproto3.Sync:
			ready++
		}
	}
	require.NoError(t, frontend.Flush())
	for ready > 0 {
		message, err := frontend.Receive()
		require.NoError(t, err)
		switch message := message.(type) {
		case *pgproto3.ErrorResponse:
			heard = append(heard, message.Code+" "+message.Message)
		case *pgproto3.CommandComplete:
			heard = append(heard, string(message.CommandTag))
		case *pgproto3.PortalSuspended:
			heard = append(heard, "suspended")
		case *pgproto3.ReadyForQuery:
			ready--
		}
	}
	return heard
}

func newFrontend(t *testing.T, s *testServer) *pgproto3.Frontend {
	t.Helper()
	network, _ := s.knock(t)
	return pgproto3.NewFrontend(network, network)
}

const timedOut = "57014 canceling statement due to statement timeout"

// The statement timeout ends planning as well as running, in both protocols, and COPY that waits for its client; the next statement is not
// touched, and has all of its time. Timed.
func TestStatementTimeout(t *testing.T) {
	server := startServer(t, wire.Options{})
	frontend := newFrontend(t, server)
	set := &pgproto3.Query{String: "TIMEOUT 5"}
	require.Equal(t, []string{"TIMEOUT"}, talk(t, frontend, set))
	for _, text := range []string{"PLAN", "WAIT", "COPYIN csv"} {
		t.Run(text, func(t *testing.T) {
			require.Equal(t, []string{timedOut}, talk(t, frontend, &pgproto3.Query{String: text}))
			if text == "COPYIN csv" {
				return // its stream would swallow the Sync
			}
			require.Equal(t, []string{timedOut}, talk(t, frontend, &pgproto3.Parse{Query: text}, &pgproto3.Bind{}, &pgproto3.Execute{}, &pgproto3.Sync{}))
		})
	}
	t.Run("a COPY that has had enough, and waits for its client's end", func(t *testing.T) {
		require.Equal(t, []string{timedOut}, talk(t, frontend, &pgproto3.Query{String: "COPYIN csv enough"}, &pgproto3.CopyData{Data: []byte("1")}))
	})
	t.Run("of several statements each has its own", func(t *testing.T) {
		talk(t, frontend, &pgproto3.Query{String: "TIMEOUT 1000"})
		require.Equal(t, []string{"INSERT 0 1", timedOut}, talk(t, frontend, &pgproto3.Query{String: "INSERT 1; WAIT; INSERT 2"}))
	})
	t.Run("a COMMIT takes its time", func(t *testing.T) {
		talk(t, frontend, &pgproto3.Query{String: "TIMEOUT 5"})
		require.Equal(t, []string{"LONGCOMMIT"}, talk(t, frontend, &pgproto3.Query{String: "LONGCOMMIT"}))
		require.Equal(t, []string{"LONGCOMMIT"}, talk(t, frontend, &pgproto3.Parse{Query: "LONGCOMMIT"}, &pgproto3.Bind{}, &pgproto3.Execute{}, &pgproto3.Sync{}))
		talk(t, frontend, &pgproto3.Query{String: "TIMEOUT 1000"})
	})
	t.Run("a session that is not done is waited for, as long as a statement may take", func(t *testing.T) {
		talk(t, frontend, &pgproto3.Query{String: "UNSETTLE"})
		for range 2 {
			require.Equal(t, []string{timedOut}, talk(t, frontend, &pgproto3.Query{String: "SELECT"}))
			require.Equal(t, []string{timedOut}, talk(t, frontend, &pgproto3.Parse{Query: "SELECT"}, &pgproto3.Bind{}, &pgproto3.Execute{}, &pgproto3.Sync{}))
			require.Equal(t, []string{timedOut}, talk(t, frontend, &pgproto3.Describe{ObjectType: 'S', Name: "none"}, &pgproto3.Sync{}))
		}
		server.settle()
		require.Equal(t, []string{"SELECT 1"}, talk(t, frontend, &pgproto3.Query{String: "SELECT"}))
	})
	t.Run("a commit whose outcome is unknown is reported", func(t *testing.T) {
		require.Equal(t, []string{"08007 transaction resolution unknown"}, talk(t, frontend, &pgproto3.Query{String: "DOUBT"}))
	})
}

// The time that a client takes between two Executes of a portal is its own: it may read slowly what it asked for. Timed.
func TestStatementTimeoutOfASuspendedPortal(t *testing.T) {
	server := startServer(t, wire.Options{})
	frontend, other := newFrontend(t, server), newFrontend(t, server)
	require.Equal(t, []string{"TIMEOUT", "BEGIN"}, talk(t, frontend, &pgproto3.Query{String: "TIMEOUT 1000"}, &pgproto3.Query{String: "BEGIN"}))
	require.Equal(t, []string{"suspended"}, talk(t, frontend, &pgproto3.Parse{Query: "ROWS 4"}, &pgproto3.Bind{DestinationPortal: "slow"},
		&pgproto3.Execute{Portal: "slow", MaxRows: 2}, &pgproto3.Sync{}))
	// Longer than the timeout, for certain: another session's statement runs into its own.
	require.Equal(t, []string{"TIMEOUT", timedOut}, talk(t, other, &pgproto3.Query{String: "TIMEOUT 1000"}, &pgproto3.Query{String: "WAIT"}))
	require.Equal(t, []string{"SELECT 2"}, talk(t, frontend, &pgproto3.Execute{Portal: "slow"}, &pgproto3.Sync{}))
}

// A client's silence counts from ReadyForQuery on: not in the middle of a pipeline, and not while it has already sent
// more. Patient.
func TestPatienceBeginsWhenItIsTheClientsTurn(t *testing.T) {
	const silent = "57P05 terminating connection due to idle-session timeout"
	ends := func(t *testing.T, frontend *pgproto3.Frontend) {
		t.Helper()
		message, err := frontend.Receive()
		require.NoError(t, err)
		require.IsType(t, (*pgproto3.ErrorResponse)(nil), message)
		failed := message.(*pgproto3.ErrorResponse)
		require.Equal(t, silent, failed.Code+" "+failed.Message)
		require.Equal(t, "FATAL", failed.Severity)
	}
	t.Run("in a pipeline", func(t *testing.T) {
		frontend := newFrontend(t, startServer(t, wire.Options{}))
		frontend.Send(&pgproto3.Parse{Query: "HURRY"})
		frontend.Send(&pgproto3.Bind{})
		frontend.Send(&pgproto3.Execute{})
		frontend.Send(&pgproto3.Flush{})
		require.NoError(t, frontend.Flush())
		for done := false; !done; {
			message, err := frontend.Receive()
			require.NoError(t, err)
			_, done = message.(*pgproto3.CommandComplete)
		}
		require.Equal(t, []string{"SELECT 1"}, talk(t, frontend, &pgproto3.Parse{Query: "SELECT"}, &pgproto3.Bind{}, &pgproto3.Execute{}, &pgproto3.Sync{}))
		ends(t, frontend)
	})
	t.Run("with more at hand", func(t *testing.T) {
		frontend := newFrontend(t, startServer(t, wire.Options{}))
		require.Equal(t, []string{"HURRY", "SELECT 1"}, talk(t, frontend, &pgproto3.Query{String: "HURRY"}, &pgproto3.Query{String: "SELECT"}))
		ends(t, frontend)
	})
	t.Run("no longer than there is an end to it", func(t *testing.T) {
		frontend := newFrontend(t, startServer(t, wire.Options{}))
		require.Equal(t, []string{"HURRY", "RELAX"}, talk(t, frontend, &pgproto3.Query{String: "HURRY"}, &pgproto3.Query{String: "RELAX"}))
		require.Equal(t, []string{"SELECT 1"}, talk(t, frontend, &pgproto3.Query{String: "SELECT"}))
	})
}
