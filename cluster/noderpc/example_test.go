package noderpc_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/cluster/noderpc"
	"github.com/csmsql/csmsql/cluster/noderpc/keeper"
)

// A borrower takes a snapshot, reads, and checks that what it read was the snapshot's before it uses it.
func Example() {
	directory, err := os.MkdirTemp("", "")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(directory) //nolint:errcheck // an example's
	socket := filepath.Join(directory, "csmsql.sock")

	// The node's side; the engine is a Node.
	listener, err := noderpc.ListenUnix(socket)
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx, stop := context.WithCancel(context.Background())
	served := make(chan error)
	go func() {
		served <- noderpc.NewServer(&fakeNode{}, noderpc.ServerOptions{Name: "local"}).Serve(ctx, listener)
	}()

	// The borrower's.
	if err := borrow(ctx, socket); err != nil {
		fmt.Println(err)
	}
	stop()
	fmt.Println("served:", <-served)
	// Output:
	// node local lends 1 region
	// what was read may be used: true
	// served: <nil>
}

func borrow(ctx context.Context, socket string) error {
	client, err := noderpc.Dial(ctx, socket)
	if err != nil {
		return err
	}
	defer client.Close() //nolint:errcheck // nothing is left to be done
	description, err := client.Describe(ctx)
	if err != nil {
		return err
	}
	fmt.Println("node", description.Node, "lends", len(description.Regions), "region")

	leases := keeper.New(client, keeper.Options{})
	defer leases.Close(ctx) //nolint:errcheck // a lease that the node did not hear of ends by itself
	lease, err := client.Lease(ctx, catalog.Holder{Domain: "this process", Description: "an example"})
	if err != nil {
		return err
	}
	if err := leases.Hold(lease); err != nil {
		return err
	}
	defer leases.Release(lease.ID())
	// … catalog.NewRemoteSnapshot(lease.Record, client, …), load from the regions …
	fmt.Println("what was read may be used:", leases.Valid(lease.ID()))
	return nil
}
