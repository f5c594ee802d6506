package traffic

import (
	"context"
	"net"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
)

// TF2: a stream gives the same count, whole and byte by byte.
func TestFrames(t *testing.T) {
	frame := func(kind byte, length int) []byte {
		return append([]byte{byte(length >> 16), byte(length >> 8), byte(length), kind, 0, 0, 0, 0, 1}, make([]byte, length)...)
	}
	var stream []byte
	for _, f := range [][]byte{make([]byte, preface), frame(4, 6), frame(1, 40), frame(0, 300), frame(8, 4), frame(0, 70_000), frame(0, 0), frame(6, 8), frame(0, 1)} {
		stream = append(stream, f...)
	}
	want := Count{Messages: 3, Bytes: 70_301}
	for _, piece := range []int{1, 7, 1000, len(stream)} {
		f, got := frames{skip: preface}, Count{}
		for rest := stream; len(rest) > 0; {
			n := min(piece, len(rest))
			got = got.Plus(f.pass(rest[:n]))
			rest = rest[n:]
		}
		require.Equal(t, want, got, "pieces of %d bytes", piece)
	}
}

// TF1: calls go through, each message is counted once in its direction, and an end is an end.
func TestProxy(t *testing.T) {
	dir := t.TempDir()
	listener, err := net.Listen("unix", filepath.Join(dir, "server"))
	require.NoError(t, err)
	server := grpc.NewServer()
	healthpb.RegisterHealthServer(server, health.NewServer())
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	p, err := Listen(filepath.Join(dir, "proxy"))
	require.NoError(t, err)
	p.SetTarget(filepath.Join(dir, "server"))
	conn, err := grpc.NewClient("unix://"+filepath.Join(dir, "proxy"), grpc.WithTransportCredentials(insecure.NewCredentials()))
	require.NoError(t, err)
	defer conn.Close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	const calls = 10
	for range calls {
		answer, err := healthpb.NewHealthClient(conn).Check(ctx, &healthpb.HealthCheckRequest{})
		require.NoError(t, err)
		require.Equal(t, healthpb.HealthCheckResponse_SERVING, answer.GetStatus())
	}
	counts, last := p.Counts()
	require.Equal(t, Counts{ToServer: Count{calls, 5 * calls}, ToClient: Count{calls, 7 * calls}}, counts, "5 bytes of gRPC's before each")
	require.WithinDuration(t, time.Now(), last, time.Minute)
	require.NoError(t, p.Close())
	_, err = healthpb.NewHealthClient(conn).Check(ctx, &healthpb.HealthCheckRequest{})
	require.Error(t, err)
	server.Stop()
	require.NoError(t, <-ended)
}

// What is not seen has not grown, and what is seen where nothing was has.
func TestGrown(t *testing.T) {
	for _, c := range []struct {
		name        string
		first, last float64
		grown       float64
	}{
		{"messages", 2, 5, 2.5}, {"messages", -0.01, -0.1, 1}, {"messages", 0, 1, 4}, {"messages", 1, 0, 0.25}, {"bytes", -0.1, 9, 1}, {"bytes", 1, 40, 4},
	} {
		require.InDelta(t, c.grown, Line{Name: c.name, Values: []float64{c.first, 77, c.last}}.Grown(), 1e-9, "%v", c)
	}
}
