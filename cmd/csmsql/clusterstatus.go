package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/csmsql/csmsql/cluster/noderpc"
	"github.com/csmsql/csmsql/cmd/csmsql/internal/progress"
	"github.com/csmsql/csmsql/internal/bytesize"
)

func newClusterStatus() *cobra.Command {
	var to target
	var asJSON bool
	c := &cobra.Command{
		Use:   "status",
		Short: "Show the cluster's nodes, what lies where, and its etcd, as one of them sees it",
		Long: `Show how a cluster is, as one of its nodes sees it: the nodes, whether it reaches them, and what lies in their memory; the
members of etcd and which of them leads; the tables and where their rows lie.

It answers also when etcd has lost its majority: then it shows what the node last heard of, and says so.`,
		Example: "  csmsql cluster status\n  csmsql cluster status --to /srv/a --json\n  csmsql cluster status --to 10.0.0.1:7101 --certs ~/.config/csmsql",
		Args:    noArguments,
		RunE: interruptible(func(ctx context.Context, c *cobra.Command, _ []string) error {
			client, err := to.dial(ctx)
			if err != nil {
				return err
			}
			defer client.Close() // only calls that have ended
			status, err := client.ClusterStatus(ctx)
			if err != nil {
				return err
			}
			if asJSON {
				encoder := json.NewEncoder(c.OutOrStdout())
				encoder.SetIndent("", "  ")
				return encoder.Encode(status)
			}
			return printCluster(c.OutOrStdout(), status, time.Now())
		}),
	}
	to.flags(c)
	c.Flags().BoolVar(&asJSON, "json", false, "for programs; sizes in bytes")
	return c
}

func printCluster(out io.Writer, s noderpc.ClusterStatus, now time.Time) error {
	var text strings.Builder
	fmt.Fprintf(&text, "as node %s sees it\n", s.Node)
	if s.Trouble != "" {
		fmt.Fprintf(&text, "it does not know all, and shows what it last heard: %s\n", s.Trouble)
	}
	table(&text, "node\tstate\thealth\tup\tchunks\tsize\tused\tof\tpsql\trpc", len(s.Nodes), func(i int) []any {
		n := s.Nodes[i]
		up := "-"
		if !n.Started.IsZero() {
			up = now.Sub(n.Started).Round(time.Second).String()
		}
		var used, capacity int64
		for _, r := range n.Regions {
			used, capacity = used+r.Used, capacity+r.Capacity
		}
		return []any{n.Name, n.State, health(n.Trouble), up, n.Chunks, bytesize.Size(n.Bytes), bytesize.Size(used), bytesize.Size(capacity), n.Frontend, n.Address}
	})
	for _, n := range s.Nodes {
		trouble(&text, "node "+n.Name, n.Trouble)
	}
	table(&text, "etcd member\trole\thealth\tdatabase\tversion\tclients at\tpeers at", len(s.Etcd), func(i int) []any {
		m := s.Etcd[i]
		return []any{m.Name, role(m), health(m.Trouble), bytesize.Size(m.Bytes), m.Version, strings.Join(m.Clients, ","), strings.Join(m.Peers, ",")}
	})
	for _, m := range s.Etcd {
		trouble(&text, "etcd member "+m.Name, m.Trouble)
	}
	table(&text, "table\trows\tsize\tchunks\tplacement\treplicas\tlies at", len(s.Tables), func(i int) []any {
		t := s.Tables[i]
		var parts []string
		for _, p := range t.Parts {
			parts = append(parts, fmt.Sprintf("%s: %s", p.Node, progress.Counted(p.Rows, "row")))
		}
		return []any{t.Schema + "." + t.Name, progress.Count(t.Rows), bytesize.Size(t.Bytes), t.Chunks, t.Placement, replicas(t), strings.Join(parts, ", ")}
	})
	_, err := io.WriteString(out, text.String())
	return err
}

func replicas(t noderpc.ClusterTable) string {
	if t.Incomplete > 0 {
		fewer := progress.Counted(int64(t.Incomplete), "chunk") + " with"
		return fmt.Sprintf("%d (%s fewer)", t.Replicas, fewer)
	}
	return fmt.Sprint(t.Replicas)
}

func health(trouble string) string {
	if trouble == "" {
		return "ok"
	}
	return "TROUBLE"
}

// trouble says in a line of its own what a cell has no room for.
func trouble(text *strings.Builder, what, trouble string) {
	if trouble != "" {
		fmt.Fprintf(text, "%s: %s\n", what, trouble)
	}
}

func role(m noderpc.EtcdMember) string {
	switch {
	case m.Trouble != "":
		return "unknown"
	case m.Leader:
		return "leader"
	case m.Learner:
		return "learner, without a vote"
	}
	return "follower"
}
