package node

import (
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/cluster/noderpc"
	"github.com/csmsql/csmsql/cmd/csmsql/internal/place"
)

// shortDirectory is one for sockets, whose names are bounded.
func shortDirectory(t *testing.T) string {
	dir, err := os.MkdirTemp("", "csm")
	require.NoError(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// waysTo lists how PostgreSQL's clients reach a node.
func waysTo(dir, address string) map[string]string {
	host, port, _ := net.SplitHostPort(address)
	const who = " user=postgres dbname=csmsql sslmode=disable"
	return map[string]string{
		"socket": "host=" + dir + " port=5432" + who, "twin": "host=" + dir + " port=" + port + who, "tcp": "host=" + host + " port=" + port + who,
	}
}

// A client that connects while the node is not up is refused at every door with the reason, at once. A client that
// connects to the node itself, at the same door, is answered.
func TestDoorsStayOpen(t *testing.T) {
	dir := shortDirectory(t)
	options := Options{Data: dir, Node: "n0", PostgreSQL: "127.0.0.1:0", HTTP: "127.0.0.1:0", Log: slog.New(slog.DiscardHandler)}
	d, err := openDoors(options)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, d.close()) })
	l := &life{doors: d}
	socket := filepath.Join(dir, place.SocketName)
	requireAway := func(message, detail string) {
		t.Helper()
		_, err := noderpc.Dial(t.Context(), socket)
		var refused *noderpc.Error
		require.ErrorAs(t, err, &refused)
		require.Equal(t, []string{"57P03", detail}, []string{refused.State, refused.DetailText})
		require.Contains(t, refused.Message, message)
		require.NotErrorIs(t, err, noderpc.ErrNodeGone)
		for way, address := range waysTo(dir, d.tcp.listener.Addr().String()) {
			_, err := pgx.Connect(t.Context(), address)
			var pgError *pgconn.PgError
			require.ErrorAs(t, err, &pgError, way)
			require.Equal(t, []string{"57P03", "FATAL", detail, "Ask another node, or ask again."}, []string{pgError.Code, pgError.Severity, pgError.Detail, pgError.Hint}, way)
			require.Contains(t, pgError.Message, message)
		}
		answer, err := http.Get("http://" + d.http.listener.Addr().String() + "/healthz")
		require.NoError(t, err)
		text, err := io.ReadAll(answer.Body)
		require.NoError(t, err)
		require.NoError(t, answer.Body.Close())
		require.Equal(t, http.StatusServiceUnavailable, answer.StatusCode)
		require.Contains(t, string(text), message)
	}
	for range 3 {
		stop := d.refuse(options, l.away("n0"))
		requireAway("node n0 starts", "")
		requireAway("node n0 starts", "")
		stop()
		stop()
		ctx, end := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		visit := d.rpc.open()
		go func() {
			ended <- noderpc.NewServer(nil, noderpc.ServerOptions{Name: "n0", Log: slog.New(slog.DiscardHandler)}).Serve(ctx, visit)
		}()
		client, err := noderpc.Dial(t.Context(), socket)
		require.NoError(t, err)
		require.NoError(t, client.Close())
		end()
		require.NoError(t, <-ended)
	}
	l.out, l.waitsFor, l.knew = context.Canceled, context.DeadlineExceeded, []string{"n0 (online)", "n1 (draining)"}
	stop := d.refuse(options, l.away("n0"))
	requireAway("is restarting, and answers when it is up again: context canceled; it waits: context deadline exceeded",
		"When it was last up it knew of n0 (online), n1 (draining).")
	stop()
	require.NoError(t, d.close())
	require.NoError(t, d.close())
	_, err = noderpc.Dial(t.Context(), socket)
	require.ErrorIs(t, err, noderpc.ErrNodeGone)
	left, err := filepath.Glob(filepath.Join(dir, ".s.PGSQL.*[0-9]"))
	require.NoError(t, err)
	require.Empty(t, left)
}

// Either all doors are opened or none: when another process has one of them, the others are closed again, and there is
// an error.
func TestDoorsOpenAllOrNone(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer taken.Close()
	options := Options{Data: shortDirectory(t), Node: "n0", PostgreSQL: "127.0.0.1:0", HTTP: taken.Addr().String()}
	_, err = openDoors(options)
	require.ErrorContains(t, err, "--http: something else listens on")
	options.HTTP = ""
	d, err := openDoors(options)
	require.NoError(t, err)
	_, err = openDoors(options)
	require.ErrorIs(t, err, noderpc.ErrAddressInUse)
	require.NoError(t, d.close())
}

// A client that connects between two servers is not disconnected: it waits for the next one.
func TestDoorKeepsConnectionsForTheNext(t *testing.T) {
	listener, err := noderpc.ListenUnix(filepath.Join(shortDirectory(t), "s"))
	require.NoError(t, err)
	d := newDoor(listener)
	dial := func() net.Conn {
		conn, err := net.Dial("unix", listener.Addr().String())
		require.NoError(t, err)
		t.Cleanup(func() { conn.Close() })
		return conn
	}
	before := d.open()
	accepted := make(chan error, 1)
	go func() {
		_, err := before.Accept()
		accepted <- err
	}()
	require.NoError(t, before.Close())
	require.ErrorIs(t, <-accepted, net.ErrClosed)
	waiting := []net.Conn{dial(), dial(), dial()}
	_, err = before.Accept()
	require.ErrorIs(t, err, net.ErrClosed)
	next := d.open()
	require.NoError(t, before.Close()) // again, late: the door is another server's now
	for _, client := range waiting {
		conn, err := next.Accept()
		require.NoError(t, err)
		_, err = conn.Write([]byte("yes"))
		require.NoError(t, err)
		require.NoError(t, conn.Close())
		require.NoError(t, client.SetDeadline(time.Now().Add(time.Minute)))
		text, err := io.ReadAll(client)
		require.NoError(t, err)
		require.Equal(t, "yes", string(text))
	}
	held := dial()
	require.NoError(t, d.close())
	_, err = next.Accept()
	require.ErrorIs(t, err, net.ErrClosed)
	require.NoError(t, held.SetDeadline(time.Now().Add(time.Minute)))
	_, err = held.Read(make([]byte, 1))
	require.Error(t, err)
	require.NotErrorIs(t, err, os.ErrDeadlineExceeded)
}
