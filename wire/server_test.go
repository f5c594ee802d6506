package wire_test

import (
	"context"
	"net"
	"path/filepath"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/wire"
)

// patience bounds what tests wait for; only failures take that long.
const patience = 20 * time.Second

// testServer runs a server on a unix socket for one test, and checks at the end that all was given back.
type testServer struct {
	*fakeBackend
	directory string
	stop      context.CancelFunc
	done      chan error
}

func startServer(t testing.TB, options wire.Options) *testServer {
	t.Helper()
	s := &testServer{fakeBackend: newFake(), directory: t.TempDir(), done: make(chan error, 1)}
	listener, err := net.Listen("unix", filepath.Join(s.directory, ".s.PGSQL.5432"))
	require.NoError(t, err)
	ctx, stop := context.WithCancel(context.Background())
	s.stop = stop
	server := wire.NewServer(s.fakeBackend, options)
	go func() { s.done <- server.Serve(ctx, listener) }()
	t.Cleanup(func() { s.end(t) })
	return s
}

// end stops the server and checks W3: nothing is left open.
func (s *testServer) end(t testing.TB) {
	s.stop()
	select {
	case err := <-s.done:
		require.NoError(t, err)
	case <-time.After(patience):
		t.Fatal("the server did not stop")
	}
	s.done <- nil
	require.Zero(t, s.kept.Load(), "W8: connections did not give back what they took")
	require.Zero(t, s.open.Load(), "sessions, statements or results were not closed")
}

func (s *testServer) connect(t testing.TB, more string) *pgx.Conn {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	conn, err := pgx.Connect(ctx, "host="+s.directory+" user=postgres database=csmsql sslmode=disable "+more)
	require.NoError(t, err)
	t.Cleanup(func() { conn.Close(context.Background()) })
	return conn
}

func background(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	return ctx
}

func TestSelectOne(t *testing.T) {
	s := startServer(t, wire.Options{})
	conn := s.connect(t, "")
	var one int
	require.NoError(t, conn.QueryRow(background(t), "SELECT 1").Scan(&one))
	require.Equal(t, 1, one)
	require.NoError(t, conn.QueryRow(background(t), "SELECT 1", pgx.QueryExecModeSimpleProtocol).Scan(&one))
	require.NoError(t, conn.Ping(background(t)))
}
