package wire_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgproto3"
	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/engine/account"
	"github.com/csmsql/csmsql/wire"
)

// W8: what a client makes a connection keep is charged before, and given back to the byte when the connection ends (testServer.end).

// startCounting starts a server whose clients may keep so much together.
func startCounting(t testing.TB, most int64) *testServer {
	s := startServer(t, wire.Options{})
	s.account = account.NewNode(most)
	return s
}

// talk is a client by hand, that has begun its session.
func (s *testServer) talk(t testing.TB) (net.Conn, *pgproto3.Frontend) {
	network := s.dial(t)
	frontend := pgproto3.NewFrontend(network, network)
	frontend.Send(&pgproto3.StartupMessage{ProtocolVersion: pgproto3.ProtocolVersion30, Parameters: map[string]string{"user": "a"}})
	require.NoError(t, frontend.Flush())
	answers(t, frontend)
	return network, frontend
}

// answers reads to ReadyForQuery: what came, errors by their SQLSTATE.
func answers(t testing.TB, frontend *pgproto3.Frontend) (heard []string) {
	t.Helper()
	for {
		message, err := frontend.Receive()
		require.NoError(t, err)
		switch message := message.(type) {
		case *pgproto3.ReadyForQuery:
			return heard
		case *pgproto3.ErrorResponse:
			heard = append(heard, message.Code)
		case *pgproto3.DataRow, *pgproto3.CommandComplete, *pgproto3.BindComplete, *pgproto3.CopyInResponse:
			heard = append(heard, strings.TrimPrefix(fmt.Sprintf("%T", message), "*pgproto3."))
		}
	}
}

// A message of any kind that is too long for what is free is read to its end and refused; the session goes on.
func TestMessagesAreCharged(t *testing.T) {
	s := startCounting(t, 4<<20)
	_, frontend := s.talk(t)
	long := "SELECT 1" + strings.Repeat(" ", 3<<20)

	frontend.Send(&pgproto3.Query{String: long})
	frontend.Send(&pgproto3.Query{String: "SELECT 1"})
	require.NoError(t, frontend.Flush())
	require.Equal(t, []string{"54000"}, answers(t, frontend))
	require.Equal(t, []string{"DataRow", "CommandComplete"}, answers(t, frontend))

	frontend.Send(&pgproto3.Parse{Query: long})
	frontend.Send(&pgproto3.Bind{})
	frontend.Send(&pgproto3.Execute{})
	frontend.Send(&pgproto3.Sync{})
	require.NoError(t, frontend.Flush())
	require.Equal(t, []string{"54000"}, answers(t, frontend))

	frontend.Send(&pgproto3.Query{String: "COPYIN text"})
	frontend.Send(&pgproto3.CopyData{Data: bytes.Repeat([]byte("x"), 3<<20)})
	frontend.Send(&pgproto3.CopyData{Data: []byte("a\tb\n")})
	frontend.Send(&pgproto3.CopyDone{})
	frontend.Send(&pgproto3.Query{String: "SELECT 1"})
	require.NoError(t, frontend.Flush())
	require.Equal(t, []string{"CopyInResponse", "54000"}, answers(t, frontend))
	require.Equal(t, []string{"DataRow", "CommandComplete"}, answers(t, frontend))
	require.Empty(t, s.copied)
}

// A message that has not arrived holds what has arrived of it, not what it announces; one that is done holds nothing.
func TestUnfinishedMessagesHoldWhatArrived(t *testing.T) {
	s := startCounting(t, 1<<30)
	var clients []net.Conn
	for range 20 {
		network, _ := s.talk(t)
		message := binary.BigEndian.AppendUint32([]byte{'Q'}, 31<<20)
		_, err := network.Write(append(message, bytes.Repeat([]byte(" "), 100_000)...))
		require.NoError(t, err)
		clients = append(clients, network)
	}
	require.Eventually(t, func() bool { return len(s.account.List()) == 20 }, patience, time.Millisecond, "all of them have begun")
	require.LessOrEqual(t, s.account.Usage().Used, int64(20*2*2*100_000+20*2*16<<10), "620 MB were announced")
	for _, network := range clients {
		network.Close()
	}
	require.Eventually(t, func() bool { return s.account.Usage().Used == 0 }, patience, time.Millisecond)

	_, frontend := s.talk(t)
	frontend.Send(&pgproto3.Query{String: "SELECT 1" + strings.Repeat(" ", 1<<20)})
	require.NoError(t, frontend.Flush())
	require.Equal(t, []string{"DataRow", "CommandComplete"}, answers(t, frontend))
	require.Eventually(t, func() bool { return s.account.Usage().Used == 0 }, patience, time.Millisecond)
}

// Portals hold their arguments until they are closed.
func TestPortalsAreCharged(t *testing.T) {
	s := startCounting(t, 8<<20)
	_, frontend := s.talk(t)
	argument := [][]byte{bytes.Repeat([]byte("x"), 1<<20)}
	ask := func(messages ...pgproto3.FrontendMessage) []string {
		for _, m := range messages {
			frontend.Send(m)
		}
		frontend.Send(&pgproto3.Sync{})
		require.NoError(t, frontend.Flush())
		return answers(t, frontend)
	}
	bind := func(name string) *pgproto3.Bind {
		return &pgproto3.Bind{DestinationPortal: name, PreparedStatement: "s", Parameters: argument}
	}
	require.Empty(t, ask(&pgproto3.Parse{Name: "s", Query: "ECHO 25"}))
	require.Equal(t, []string{"BindComplete", "BindComplete", "53200"}, ask(bind("a"), bind("b"), bind("c"), bind("d")))
	require.Equal(t, []string{"BindComplete", "BindComplete", "BindComplete"},
		ask(bind("a"), &pgproto3.Close{ObjectType: 'P', Name: "a"}, bind("b"), &pgproto3.Close{ObjectType: 'P', Name: "b"}, bind("c")))
	require.Zero(t, s.account.Usage().Used, "they went with their transaction")
}

// W5: answers of a pipeline without Sync or Flush are sent when the buffer is full, however long the pipeline is.
func TestAnswersDoNotPileUp(t *testing.T) {
	s := startServer(t, wire.Options{})
	network, frontend := s.talk(t)
	frontend.Send(&pgproto3.Parse{Name: "s", Query: "SELECT 1"})
	describe, err := (&pgproto3.Describe{ObjectType: 'S', Name: "s"}).Encode(nil)
	require.NoError(t, err)
	require.NoError(t, frontend.Flush())
	done := make(chan error, 1)
	go func() {
		_, err := network.Write(bytes.Repeat(describe, 20_000))
		done <- err
	}()
	for range 20_000 { // no Sync and no Flush was sent
		message, err := frontend.Receive()
		require.NoError(t, err)
		if _, is := message.(*pgproto3.RowDescription); is && len(done) > 0 {
			break
		}
	}
	require.NoError(t, <-done)
}

// A row that is larger than what is free ends its statement, because it would lie there for as long as the client does not read.
func TestLargeRowsAreCharged(t *testing.T) {
	s := startCounting(t, 4<<20)
	_, frontend := s.talk(t)
	frontend.Send(&pgproto3.Query{String: "HEAVY 10 1000000"})
	frontend.Send(&pgproto3.Query{String: "HEAVY 10 4000000"})
	frontend.Send(&pgproto3.Query{String: "SELECT 1"})
	require.NoError(t, frontend.Flush())
	require.Len(t, answers(t, frontend), 11)
	require.Equal(t, []string{"54000"}, answers(t, frontend))
	require.Equal(t, []string{"DataRow", "CommandComplete"}, answers(t, frontend))
	require.Eventually(t, func() bool { return s.account.Usage().Used == 0 }, patience, time.Millisecond)
}
