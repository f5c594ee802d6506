package noderpc_test

import (
	"context"
	"io"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"

	"github.com/csmsql/csmsql/cluster/noderpc"
	"github.com/csmsql/csmsql/cluster/noderpc/nodepb"
)

var copyAll = io.Copy

// aligned cuts a slice to a page's boundary.
func aligned(b []byte) []byte {
	const page = 4096
	skip := (page - int(uintptr(unsafe.Pointer(&b[0]))%page)) % page
	return b[skip:]
}

// raw is a connection without our client: it says what it likes. The context has the incarnations that calls need.
func raw(t *testing.T, path string) (*grpc.ClientConn, context.Context) {
	conn, err := grpc.NewClient("unix:"+path, grpc.WithTransportCredentials(insecure.NewCredentials()))
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	hello, err := nodepb.NewNodeClient(conn).Hello(ctx, &nodepb.HelloRequest{Protocol: noderpc.ProtocolVersion})
	require.NoError(t, err)
	return conn, metadata.AppendToOutgoingContext(ctx,
		"csmsql-incarnation-bin", string(hello.GetIncarnation()), "csmsql-caller-bin", "0123456789abcdef")
}

func rawFragment(t *testing.T, path string) grpc.BidiStreamingClient[nodepb.FragmentControl, nodepb.FragmentEvent] {
	conn, ctx := raw(t, path)
	stream, err := nodepb.NewFragmentsClient(conn).Run(ctx)
	require.NoError(t, err)
	return stream
}

func rawRequest() *nodepb.FragmentControl {
	return &nodepb.FragmentControl{Control: &nodepb.FragmentControl_Request{Request: &nodepb.FragmentRequest{Query: "q"}}}
}

func rawAlive(sequence uint64) *nodepb.FragmentControl {
	return &nodepb.FragmentControl{Control: &nodepb.FragmentControl_Alive{Alive: &nodepb.Alive{Sequence: sequence}}}
}
