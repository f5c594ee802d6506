package node

import (
	"context"
	"log/slog"
	"path/filepath"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/cluster/etcd"
)

// A node that comes back before its cluster's etcd does waits for that, as after a boot of the machine, and says so. A
// node that joins for the first time ends, because its address of etcd may be wrong.
func TestNodeWaitsForItsCluster(t *testing.T) {
	dir := shortDirectory(t)
	member := etcd.ServerOptions{Directory: filepath.Join(dir, "etcd"), Name: "e"}
	options := Options{
		Data: filepath.Join(dir, "n0"), PostgreSQL: Off, Fabric: "file", RegionBytes: 64 << 20, MemoryBytes: 256 << 20, Node: "n0", Threads: 1,
		Etcd: []string{"unix://" + filepath.Join(dir, "etcd", etcd.ClientSocket)}, SessionTTL: 2 * time.Second, Log: slog.New(slog.DiscardHandler),
	}
	run := func() (ready chan Ready, ended chan error, end context.CancelFunc) {
		ready, ended = make(chan Ready, 1), make(chan error, 1)
		ctx, end := context.WithCancel(t.Context())
		go func() { ended <- Run(ctx, options, func(r Ready) { ready <- r }) }()
		return ready, ended, end
	}
	elsewhere := options
	elsewhere.Data, elsewhere.Node = filepath.Join(dir, "n1"), "n1"
	require.ErrorContains(t, Run(t.Context(), elsewhere, nil), "cannot be reached")

	server, err := etcd.Serve(t.Context(), member)
	require.NoError(t, err)
	ready, ended, end := run()
	<-ready
	end()
	require.NoError(t, <-ended)
	require.NoError(t, server.Close())

	ready, ended, end = run()
	defer end()
	var pgError *pgconn.PgError
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond) // before it has tried once they wait
		defer cancel()
		_, err := pgx.Connect(ctx, waysTo(options.Data, "")["socket"])
		assert.ErrorAs(c, err, &pgError)
	}, time.Minute, 10*time.Millisecond)
	require.Equal(t, "57P03", pgError.Code)
	require.Contains(t, pgError.Message, "node n0 starts, and answers when it is up; it waits: the node's cluster cannot be asked now")
	select {
	case err := <-ended:
		t.Fatal("the node has ended: ", err)
	default:
	}
	server, err = etcd.Serve(t.Context(), member)
	require.NoError(t, err)
	defer func() { require.NoError(t, server.Close()) }()
	select {
	case <-ready:
	case err := <-ended:
		t.Fatal("the node has ended: ", err)
	}
	end()
	require.NoError(t, <-ended)
}
