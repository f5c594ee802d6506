package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/csmsql/csmsql/cluster/noderpc"
	"github.com/csmsql/csmsql/cmd/csmsql/internal/progress"
	"github.com/csmsql/csmsql/engine/member"
)

// forgetPatience bounds how long etcd is asked to take a member out.
const forgetPatience = 30 * time.Second

func newClusterForget() *cobra.Command {
	var to target
	c := &cobra.Command{
		Use:   "forget NODE",
		Short: "Take a node that is lost for good out of the cluster, with its member of etcd",
		Long: `Take a node that is lost for good, with its data directory, out of the cluster: its memory is taken from the record, its member
of etcd is taken out, and its name is free for another node.

Its tables come first: "csmsql cluster drain NODE" makes what it had at other nodes. A node that is there, or that tables still
need, is refused. etcd needs a majority of its members, the lost one counted.`,
		Example: "  csmsql cluster drain c --to /srv/a && csmsql cluster forget c --to /srv/a",
		Args:    usage(oneNode),
		RunE: interruptible(func(ctx context.Context, c *cobra.Command, args []string) error {
			ctx, cancel := context.WithTimeout(ctx, forgetPatience)
			defer cancel()
			client, err := to.dial(ctx)
			if err != nil {
				return err
			}
			defer client.Close() // only calls that have ended
			status, err := client.ClusterStatus(ctx)
			if err != nil {
				return err
			}
			endpoints, err := withoutNode(status, args[0])
			if err != nil {
				return err
			}
			credentials, err := to.credentials()
			if err != nil {
				return err
			}
			found, err := member.Forget(ctx, args[0], endpoints, credentials)
			if err != nil {
				return err
			}
			text := "Node " + args[0] + " is forgotten."
			if found.Member {
				left := slices.DeleteFunc(status.Etcd, func(m noderpc.EtcdMember) bool { return m.Name == args[0] })
				text += fmt.Sprintf(" Its member of etcd is out: there are %d.", len(left))
			}
			_, err = fmt.Fprintln(c.OutOrStdout(), text)
			return err
		}),
	}
	to.flags(c)
	return c
}

// withoutNode is where etcd is reached without the node, if the node may be forgotten.
func withoutNode(s noderpc.ClusterStatus, name string) (endpoints []string, err error) {
	for _, n := range s.Nodes {
		switch {
		case n.Name == name && n.State != "gone":
			return nil, fmt.Errorf("node %s is there (%s): stop it first, if it is to go for good; that one was killed is known after some seconds", name, n.State)
		case n.Name == name && n.Chunks > 0:
			return nil, fmt.Errorf("tables still need node %s, for %s: run “csmsql cluster drain %s” first", name, progress.Counted(int64(n.Chunks), "chunk"), name)
		}
	}
	for _, m := range s.Etcd {
		if m.Name != name {
			endpoints = append(endpoints, m.Clients...)
		}
	}
	if len(endpoints) == 0 {
		return nil, fmt.Errorf("node %s does not know where etcd is: %s", s.Node, strings.TrimSpace(s.Trouble))
	}
	return endpoints, nil
}
