package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/csmsql/csmsql/cluster/noderpc"
	"github.com/csmsql/csmsql/cmd/csmsql/internal/place"
)

// targetFlag adds --to.
func targetFlag(c *cobra.Command, to *string) {
	c.Flags().StringVar(to, "to", "", "`target`: the node's socket, its data directory or host:port (default "+place.Target("")+")")
}

// dial connects to the node behind --to.
func dial(ctx context.Context, to string) (*noderpc.Client, error) {
	return noderpc.Dial(ctx, place.Target(to))
}
