package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/csmsql/csmsql/cluster/noderpc"
	"github.com/csmsql/csmsql/cmd/csmsql/internal/progress"
	"github.com/csmsql/csmsql/internal/bytesize"
)

func newClusterDrain() *cobra.Command {
	var to target
	c := &cobra.Command{
		Use:   "drain NODE",
		Short: "Move everything off a node, so that it can be stopped for good",
		Long: `Move what a node holds of tables to the other nodes, while they are read and written. From the first moment on the node takes
no new rows and runs no parts of queries; it still answers clients. Placements that name it get lists without it.

The moved memory is given back when the last statement that read it there has ended. Then the node can be stopped. If it
runs a member of etcd, its end takes that away, too: "csmsql cluster status" shows how many are left.

A node that is lost is drained, too: what it had is made at the other nodes, from other replicas. What has none stays, and is named:
ALTER TABLE … RELOAD brings it back if its source is on record. Then "csmsql cluster forget NODE" takes the node out.

Interrupted or repeated, drain goes on where it was. "csmsql cluster undrain NODE" lets the node take rows again.`,
		Example: "  csmsql cluster drain c --to /srv/a\n  csmsql cluster drain c --to 10.0.0.1:7101 --certs ~/.config/csmsql",
		Args:    usage(oneNode),
		RunE: interruptible(func(ctx context.Context, c *cobra.Command, args []string) error {
			client, err := to.dial(ctx)
			if err != nil {
				return err
			}
			defer client.Close() // only calls that have ended
			return drain(ctx, c, client, args[0])
		}),
	}
	to.flags(c)
	return c
}

func newClusterUndrain() *cobra.Command {
	var to target
	c := &cobra.Command{
		Use:     "undrain NODE",
		Short:   "Let a drained node take rows and run parts of queries again",
		Long:    `Let a drained node take rows and run parts of queries again. Nothing moves back: "csmsql cluster rebalance" does that.`,
		Example: "  csmsql cluster undrain c --to /srv/a",
		Args:    usage(oneNode),
		RunE: interruptible(func(ctx context.Context, c *cobra.Command, args []string) error {
			client, err := to.dial(ctx)
			if err != nil {
				return err
			}
			defer client.Close() // only calls that have ended
			if err := client.UndrainNode(ctx, args[0]); err != nil {
				return err
			}
			_, err = fmt.Fprintf(c.OutOrStdout(), "Node %s takes rows and parts of queries again.\n", args[0])
			return err
		}),
	}
	to.flags(c)
	return c
}

func oneNode(_ *cobra.Command, args []string) error {
	switch len(args) {
	case 0:
		return errors.New("which node? Give its name; “csmsql cluster status” lists them")
	case 1:
		return nil
	}
	return fmt.Errorf("one node at a time: what is %q?", args[1])
}

func drain(ctx context.Context, c *cobra.Command, client *noderpc.Client, name string) error {
	display := progress.New(c.ErrOrStderr())
	start := time.Now()
	err := client.DrainNode(ctx, name, display.Report)
	display.Finish(err != nil)
	if err != nil {
		still(context.WithoutCancel(ctx), c.ErrOrStderr(), client, name)
		return err
	}
	fmt.Fprintf(c.OutOrStdout(), "Node %s is drained, in %s.\n", name, time.Since(start).Round(time.Millisecond))
	return remains(ctx, c.OutOrStdout(), client, name)
}

// still prints what a node still holds that could not be drained, if the cluster's status is available. The error of
// the drain is returned already.
func still(ctx context.Context, out io.Writer, client *noderpc.Client, name string) {
	status, err := client.ClusterStatus(ctx)
	if err != nil {
		return
	}
	for _, n := range status.Nodes {
		if n.Name == name && n.Chunks > 0 {
			fmt.Fprintf(out, "Node %s still holds %s, %s.\n", name, progress.Counted(int64(n.Chunks), "chunk"), bytesize.Size(n.Bytes))
		}
		if n.Name == name && n.State == "draining" {
			fmt.Fprintf(out, "It takes no new rows, until “csmsql cluster undrain %s”. Run drain again to go on.\n", name)
		}
	}
}

// remains says what a node still holds.
func remains(ctx context.Context, out io.Writer, client *noderpc.Client, name string) error {
	status, err := client.ClusterStatus(ctx)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(status.Nodes, func(n noderpc.ClusterNode) bool { return n.Name == name })
	if i < 0 {
		return nil // it went meanwhile, or was not there
	}
	n := status.Nodes[i]
	var used int64
	for _, r := range n.Regions {
		used += r.Used
	}
	switch {
	case n.State == "gone":
		fmt.Fprintf(out, "It is not there, and had %s that lie nowhere else, %s.\n", progress.Counted(int64(n.Chunks), "chunk"), bytesize.Size(n.Bytes))
		return nil
	case n.Chunks > 0:
		fmt.Fprintf(out, "It still holds %s, %s. Run drain again to go on.\n", progress.Counted(int64(n.Chunks), "chunk"), bytesize.Size(n.Bytes))
	case used > 0:
		fmt.Fprintf(out, "It holds no rows of any table. %s are given back when the statements end that still read there; then it can be stopped.\n", bytesize.Size(used))
	default:
		fmt.Fprintln(out, "It holds nothing any more and can be stopped.")
	}
	members := 0
	for _, m := range status.Etcd {
		if !m.Learner {
			members++
		}
	}
	if slices.ContainsFunc(status.Etcd, func(m noderpc.EtcdMember) bool { return m.Name == name }) {
		fmt.Fprintf(out, "It runs one of etcd's %d members, %d of which must be up for commits.\n", members, members/2+1)
	}
	return nil
}
