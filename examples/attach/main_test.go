package main

import (
	"bytes"
	"context"
	"log/slog"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/cluster/noderpc"
	"github.com/csmsql/csmsql/engine"
)

func TestRun(t *testing.T) {
	log := slog.New(slog.DiscardHandler)
	e, err := engine.Open(t.Context(), engine.Config{RegionBytes: 64 << 20, MemoryBytes: 128 << 20, Log: log})
	require.NoError(t, err)
	defer e.Close()
	s, err := e.Session(engine.SessionOptions{})
	require.NoError(t, err)
	defer s.Close()
	_, err = s.Exec(t.Context(), "CREATE TABLE t AS SELECT i, 'word ' || i AS word FROM range(3) r(i)")
	require.NoError(t, err)

	socket := filepath.Join(t.TempDir(), "csmsql.sock")
	listener, err := noderpc.ListenUnix(socket)
	require.NoError(t, err)
	serving, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	server := noderpc.NewServer(e.Service(noderpc.Frontend{}), noderpc.ServerOptions{Name: "local", Log: log})
	go func() { ended <- server.Serve(serving, listener) }()

	var out bytes.Buffer
	require.NoError(t, run(t.Context(), &out, socket, "SELECT i, word FROM t ORDER BY i DESC LIMIT 2"))
	require.Equal(t, "2|word 2\n1|word 1\n", out.String())
	require.ErrorContains(t, run(t.Context(), &out, socket, "SELECT * FROM u"), `relation "u" does not exist`)
	stop()
	require.NoError(t, <-ended)
}
