package wire

import (
	"errors"
	"io"
	"net"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// pair is both ends of a connection.
func pair(t *testing.T) (ours, theirs net.Conn) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer listener.Close()
	theirs, err = net.Dial("tcp", listener.Addr().String())
	require.NoError(t, err)
	ours, err = listener.Accept()
	require.NoError(t, err)
	t.Cleanup(func() { theirs.Close(); ours.Close() })
	return ours, theirs
}

// counting counts the reads that wait at once.
type counting struct {
	net.Conn
	reads int
}

func (c *counting) Read(b []byte) (int, error) {
	c.reads++
	return c.Conn.Read(b)
}

// A connection that looks before it sleeps reads what one reads that only sleeps: all bytes, also those that come late,
// the end, a reset, and the deadline that others set while it waits.
func TestEagerReads(t *testing.T) {
	ours, theirs := pair(t)
	e := newEager(ours, &calm{})
	slept := &counting{Conn: ours}
	e.network = slept
	e.calm.last.Store(e)
	e.calm.runs.Store(lookAfter)
	b := make([]byte, 16)
	for i := range 200 {
		pause := []time.Duration{0, lookFor / 2, 3 * lookFor, 2 * time.Millisecond}[i%4]
		sent := make(chan error, 1)
		go func() {
			time.Sleep(pause) // it is to be looked for, or slept for
			_, err := theirs.Write([]byte{byte(i), 1, 2})
			sent <- err
		}()
		n, err := io.ReadFull(e, b[:3])
		require.NoError(t, err)
		require.NoError(t, <-sent)
		require.Equal(t, []byte{byte(i), 1, 2}, b[:n])
	}
	require.Zero(t, slept.reads, "it was alone, and looked each time")
	e.calm.alone(&eager{})
	_, err := theirs.Write([]byte{1})
	require.NoError(t, err)
	_, err = e.Read(b)
	require.NoError(t, err)
	require.Equal(t, 1, slept.reads, "another one has read")
	e.calm.runs.Store(lookAfter)
	require.NoError(t, ours.SetReadDeadline(time.Now().Add(time.Millisecond)))
	_, err = e.Read(b)
	require.ErrorIs(t, err, os.ErrDeadlineExceeded)
	require.True(t, isTimeout(err))
	require.NoError(t, ours.SetReadDeadline(time.Time{}))
	stopped := make(chan error, 1)
	go func() {
		_, err := e.Read(make([]byte, 1))
		stopped <- err
	}()
	time.Sleep(2 * time.Millisecond) // it sleeps by now
	require.NoError(t, ours.SetReadDeadline(time.Unix(1, 0)))
	require.True(t, isTimeout(<-stopped))
	require.NoError(t, ours.SetReadDeadline(time.Time{}))

	require.NoError(t, theirs.Close())
	_, err = e.Read(b)
	require.Equal(t, io.EOF, err)

	ours, theirs = pair(t)
	e = newEager(ours, e.calm)
	require.NoError(t, theirs.(*net.TCPConn).SetLinger(0))
	require.NoError(t, theirs.Close())
	for range lookAfter + 2 {
		_, err = e.Read(b)
		require.Error(t, err)
	}
	var failed *net.OpError
	require.True(t, errors.Is(err, io.EOF) || errors.As(err, &failed), "%v", err)
	require.NoError(t, ours.Close())
	_, err = e.Read(b)
	require.True(t, isClosed(err), "%v", err)
}

// It looks only if no other connection of the server has read for a while.
func TestEagerAlone(t *testing.T) {
	c, a, b := &calm{}, &eager{}, &eager{}
	for range lookAfter {
		require.False(t, c.alone(a))
	}
	require.True(t, c.alone(a))
	require.False(t, c.alone(b))
	for range lookAfter {
		require.False(t, c.alone(a))
	}
	require.True(t, c.alone(a))
	for range 3 * lookAfter {
		require.False(t, c.alone(b))
		require.False(t, c.alone(a))
	}
}

// What has no descriptor is waited for.
func TestEagerWithoutSocket(t *testing.T) {
	ours, theirs := net.Pipe()
	defer ours.Close()
	_, is := ours.(syscall.Conn)
	require.False(t, is)
	e := newEager(ours, &calm{})
	go theirs.Write([]byte("abc"))
	b := make([]byte, 3)
	n, err := e.Read(b)
	require.NoError(t, err)
	require.Equal(t, "abc", string(b[:n]))
	require.NoError(t, theirs.Close())
	_, err = e.Read(b)
	require.Equal(t, io.EOF, err)
}
