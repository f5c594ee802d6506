package enginetest

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/cluster/noderpc"
	"github.com/csmsql/csmsql/engine"
)

const (
	// workersVariable has engines that are alone run their queries in so many workers.
	workersVariable = "CSMSQL_TEST_WORKERS"
	// isWorker is what TestMain knows one of them by.
	isWorker = "CSMSQL_TEST_IS_WORKER=1"
)

// withWorkers gives an engine the workers that the environment asks for. Once it is open, they are to be served.
func withWorkers(t testing.TB, c *engine.Config) (serve func(*engine.Engine)) {
	t.Helper()
	count, _ := strconv.Atoi(os.Getenv(workersVariable))
	if count == 0 || c.Cluster != nil || c.Workers.Count > 0 {
		return func(*engine.Engine) {}
	}
	dir, err := os.MkdirTemp("", "csm") // short, for the names of sockets are bounded
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(dir)) })
	socket := filepath.Join(dir, "s")
	c.Workers = engine.Workers{Count: count, Command: []string{"/proc/self/exe"}, Environment: []string{isWorker}, Socket: socket}
	return func(e *engine.Engine) {
		listener, err := noderpc.ListenUnix(socket)
		require.NoError(t, err)
		ctx, cancel := context.WithCancel(context.Background())
		ended := make(chan error, 1)
		go func() {
			ended <- noderpc.NewServer(e.Service(noderpc.Frontend{}), e.ServerOptions()).Serve(ctx, listener)
		}()
		t.Cleanup(func() {
			cancel()
			require.NoError(t, <-ended)
		})
	}
}
