package wire_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"
	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/wire"
)

func (s *testServer) dial(t testing.TB) net.Conn {
	network, err := net.Dial("unix", filepath.Join(s.directory, ".s.PGSQL.5432"))
	require.NoError(t, err)
	require.NoError(t, network.SetDeadline(time.Now().Add(patience)))
	t.Cleanup(func() { network.Close() })
	return network
}

func requireState(t testing.TB, err error, state string) {
	t.Helper()
	var failure *pgconn.PgError
	require.ErrorAs(t, err, &failure)
	require.Equal(t, state, failure.Code, failure.Message)
}

// W1: an address that other hosts can reach is not bound without authentication.
func TestCheckListen(t *testing.T) {
	for _, good := range []string{"127.0.0.1:5433", "127.8.9.1:1", "[::1]:5433", "localhost:5433", "/run/csmsql/socket", "unix:socket", "@abstract"} {
		require.NoError(t, wire.CheckListen(good, false), good)
	}
	for _, bad := range []string{":5433", "0.0.0.0:5433", "[::]:5433", "192.168.1.2:5433", "example.org:5433", "localhost.evil.org:1", "[fe80::1%lo]:5433"} {
		require.ErrorIs(t, wire.CheckListen(bad, false), wire.ErrNotLoopback, bad)
		require.NoError(t, wire.CheckListen(bad, true), bad)
	}
	require.ErrorContains(t, wire.CheckListen("5433", false), "HOST:PORT")
}

// W2: sessions are bounded; a client over the limit gets an error, and a slot that becomes free is used again.
func TestTooManyConnections(t *testing.T) {
	s := startServer(t, wire.Options{MaxConnections: 2})
	first, _ := s.connect(t, ""), s.connect(t, "")
	_, err := pgx.Connect(background(t), "host="+s.directory+" user=postgres sslmode=disable")
	requireState(t, err, "53300")
	require.NoError(t, first.Close(background(t)))
	require.Eventually(t, func() bool {
		conn, err := pgx.Connect(background(t), "host="+s.directory+" user=postgres sslmode=disable")
		return err == nil && conn.Close(context.Background()) == nil
	}, patience, time.Millisecond)
}

// W2: clients that connect and send nothing hold neither sessions nor, beyond the lobby, goroutines; the start-up
// timeout removes them and others get in.
func TestFloodOfHalfOpenConnections(t *testing.T) {
	before := runtime.NumGoroutine()
	s := startServer(t, wire.Options{MaxConnections: 4, StartupTimeout: 2 * time.Second}) // which the last one has, too
	var silent []net.Conn
	for i := range 200 {
		network := s.dial(t)
		silent = append(silent, network)
		if i%2 == 0 { // half a start-up packet
			network.Write([]byte{0, 0, 0})
		}
	}
	for _, network := range silent {
		_, err := network.Read(make([]byte, 1))
		require.Error(t, err, "no client gets an answer")
	}
	require.Less(t, runtime.NumGoroutine(), before+100)
	var one int
	require.NoError(t, s.connect(t, "").QueryRow(background(t), "SELECT 1").Scan(&one))
}

// Many clients at once, each with its own answers.
func TestConcurrentClients(t *testing.T) {
	s := startServer(t, wire.Options{MaxConnections: 50})
	var clients sync.WaitGroup
	failures := make(chan error, 50)
	for range 50 {
		clients.Go(func() {
			conn, err := pgx.Connect(background(t), "host="+s.directory+" user=postgres sslmode=disable")
			if err != nil {
				failures <- err
				return
			}
			defer conn.Close(context.Background())
			for range 20 {
				rows, _ := conn.Query(background(t), "ROWS 2500")
				count := 0
				for rows.Next() {
					count++
				}
				if rows.Err() != nil || count != 2500 {
					failures <- fmt.Errorf("%d rows, %w", count, rows.Err())
				}
			}
		})
	}
	clients.Wait()
	close(failures)
	for err := range failures {
		require.NoError(t, err)
	}
}

// W2: silent sockets keep neither new clients out nor cancel requests.
func TestSilentSocketsDoNotBlockNewClients(t *testing.T) {
	s := startServer(t, wire.Options{MaxConnections: 3, StartupTimeout: time.Hour})
	busy := s.connect(t, "")
	failed := make(chan error, 1)
	go func() {
		_, err := busy.Exec(context.Background(), "WAIT")
		failed <- err
	}()
	<-s.waiting
	var silent []net.Conn
	for range 100 { // three times as many as the lobby takes
		silent = append(silent, s.dial(t))
	}
	_, err := s.connect(t, "").Exec(background(t), "SELECT 1")
	require.NoError(t, err, "a newcomer")
	for range 100 {
		silent = append(silent, s.dial(t))
	}
	require.NoError(t, busy.PgConn().CancelRequest(background(t)))
	requireState(t, <-failed, "57014")
	closed := 0
	for _, network := range silent {
		network.SetReadDeadline(time.Now().Add(time.Millisecond))
		if _, err := network.Read(make([]byte, 1)); errors.Is(err, io.EOF) {
			closed++
		}
	}
	require.Greater(t, closed, 100, "the oldest of them made room")
}

// A message over the limit is refused before its body is read or room for it is made.
func TestOversizedMessage(t *testing.T) {
	s := startServer(t, wire.Options{MaxMessageBytes: 1000})
	conn := s.connect(t, "")
	_, err := conn.Exec(background(t), "SELECT 1"+strings.Repeat(" ", 2000))
	requireState(t, err, "54000")
	_, err = s.connect(t, "").Exec(background(t), "SELECT 1"+strings.Repeat(" ", 900))
	require.NoError(t, err)
}

// The reason arrives although the client is still sending when the server gives up.
func TestReasonOvertakesReset(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	server := wire.NewServer(newFake(), wire.Options{MaxMessageBytes: 1000})
	go func() { done <- server.Serve(ctx, listener) }()
	conn, err := pgx.Connect(background(t), "postgres://postgres@"+listener.Addr().String()+"/csmsql?sslmode=disable")
	require.NoError(t, err)
	_, err = conn.Exec(background(t), "SELECT 1"+strings.Repeat(" ", 8<<20))
	requireState(t, err, "54000")
	conn.Close(context.Background())
	stop()
	require.NoError(t, <-done)
}

// W5: a client that reads slowly holds the producer back; nothing piles up in the server.
func TestSlowReaderBoundsMemory(t *testing.T) {
	s := startServer(t, wire.Options{})
	network := s.dial(t)
	frontend := pgproto3.NewFrontend(network, network)
	frontend.Send(&pgproto3.StartupMessage{ProtocolVersion: pgproto3.ProtocolVersion30, Parameters: map[string]string{"user": "a"}})
	frontend.Send(&pgproto3.Query{String: "HEAVY 1000000 1000"})
	require.NoError(t, frontend.Flush())

	// The client does not read: the producer must come to rest although a gigabyte waits. At rest, the count stays the
	// same.
	last, calm := int64(-1), 0
	require.Eventually(t, func() bool {
		if now := s.batches.Load(); now == last {
			calm++
		} else {
			last, calm = now, 0
		}
		return calm > 20
	}, patience, 5*time.Millisecond)
	require.Less(t, last, int64(10), "batches produced for a client that does not read")

	// Then it reads 20 MB, and the server keeps about one batch and one buffer.
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	_, err := io.CopyN(io.Discard, network, 20<<20)
	require.NoError(t, err)
	runtime.GC()
	runtime.ReadMemStats(&after)
	require.Less(t, int64(after.HeapAlloc)-int64(before.HeapAlloc), int64(8<<20))
}

// A million rows arrive, in order, through an output buffer of a fixed size.
func TestMillionRows(t *testing.T) {
	s := startServer(t, wire.Options{})
	rows, err := s.connect(t, "").Query(background(t), "ROWS 1000000")
	require.NoError(t, err)
	count := int64(0)
	for rows.Next() {
		count++
		if got := int64(binary.BigEndian.Uint64(rows.RawValues()[0])); got != count {
			t.Fatalf("row %d holds %d", count, got)
		}
	}
	require.NoError(t, rows.Err())
	require.EqualValues(t, 1_000_000, count)
	require.Equal(t, "SELECT 1000000", rows.CommandTag().String())
}

// W3: a shutdown ends idle clients' connections with an error, interrupts busy ones after the grace, and leaves nothing
// behind.
func TestShutdown(t *testing.T) {
	s := startServer(t, wire.Options{ShutdownGrace: 50 * time.Millisecond})
	idle, busy := s.connect(t, ""), s.connect(t, "")
	stuck := s.dial(t) // reads nothing of what it asks for
	frontend := pgproto3.NewFrontend(stuck, stuck)
	frontend.Send(&pgproto3.StartupMessage{ProtocolVersion: pgproto3.ProtocolVersion30, Parameters: map[string]string{"user": "a"}})
	frontend.Send(&pgproto3.Query{String: "HEAVY 1000000 1000"})
	require.NoError(t, frontend.Flush())
	failed := make(chan error, 1)
	go func() {
		_, err := busy.Exec(context.Background(), "WAIT")
		failed <- err
	}()
	<-s.waiting
	s.end(t)
	requireState(t, <-failed, "57P01")
	_, err := idle.Exec(background(t), "SELECT 1")
	require.Error(t, err)
	idle.Close(background(t))
	busy.Close(background(t))
	stacks := make([]byte, 1<<20)
	stacks = stacks[:runtime.Stack(stacks, true)]
	require.NotContains(t, string(stacks), "wire.(*connection)", "goroutines left behind")
	require.NotContains(t, string(stacks), "wire.(*Server)", "goroutines left behind")
}

// A statement whose client is gone is cancelled, although it never writes, and whatever the client has left behind it.
func TestDisconnectCancels(t *testing.T) {
	many := make([]pgproto3.FrontendMessage, 10_000)
	for i := range many {
		many[i] = &pgproto3.Query{String: "WAIT"}
	}
	for name, behind := range map[string][]pgproto3.FrontendMessage{"nothing": nil, "a farewell": {&pgproto3.Terminate{}}, "more than is read ahead": many} {
		t.Run(name, func(t *testing.T) {
			s := startServer(t, wire.Options{})
			network := s.dial(t)
			frontend := pgproto3.NewFrontend(network, network)
			frontend.Send(&pgproto3.StartupMessage{ProtocolVersion: pgproto3.ProtocolVersion30, Parameters: map[string]string{"user": "a"}})
			frontend.Send(&pgproto3.Query{String: "WAIT"})
			require.NoError(t, frontend.Flush())
			<-s.waiting
			require.NotZero(t, s.open.Load())
			for _, message := range behind {
				frontend.Send(message)
			}
			require.NoError(t, frontend.Flush())
			network.Close()
			require.Eventually(t, func() bool { return s.open.Load() == 0 }, patience, 10*time.Millisecond)
			require.Empty(t, s.waiting, "the statements behind it do not run")
		})
	}
}

// endsAtAccept is a listener whose server is shut down while a client connects.
type endsAtAccept struct {
	net.Listener
	end context.CancelFunc
}

func (l endsAtAccept) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	l.end()
	return conn, err
}

// A client that connects while the server shuts down gets an error, and is not cut off without one.
func TestClientThatConnectsDuringShutdownGetsError(t *testing.T) {
	directory := t.TempDir()
	listener, err := net.Listen("unix", filepath.Join(directory, ".s.PGSQL.5432"))
	require.NoError(t, err)
	ctx, end := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() {
		served <- wire.NewServer(newFake(), wire.Options{ShutdownGrace: patience}).Serve(ctx, endsAtAccept{listener, end})
	}()
	conn, err := pgx.Connect(t.Context(), "host="+directory+" user=postgres database=csmsql sslmode=disable")
	if err == nil { // it got in, and hears it then
		_, err = conn.PgConn().ReceiveMessage(t.Context())
	}
	requireState(t, err, "57P01")
	require.NoError(t, <-served)
}
