package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/csmsql/csmsql/cluster/noderpc"
	"github.com/csmsql/csmsql/cmd/csmsql/internal/progress"
	"github.com/csmsql/csmsql/internal/bytesize"
)

func newClusterRebalance() *cobra.Command {
	var to target
	c := &cobra.Command{
		Use:   "rebalance",
		Short: "Move chunks from full nodes to empty ones, such as one that has joined",
		Long: `Move chunks of tables from full nodes to empty ones, while they are read and written, in many small commits, until the nodes
are even: the shares of their memory that tables take differ by 5 % of the average at most, or no chunk would leave half of that.

Placements are kept: rows(a, b) stays on a and b, the parts of a hash and the table of node(a) stay where they are. Nodes that
are drained, or not there, neither give nor take. The moved memory is given back when the last statement that read it there
has ended, and the last former version of a table that is kept there.

Interrupted or repeated, rebalance goes on where it was.`,
		Example: "  csmsql cluster rebalance --to /srv/a\n  csmsql cluster rebalance --to 10.0.0.1:7101 --certs ~/.config/csmsql",
		Args:    noArguments,
		RunE: interruptible(func(ctx context.Context, c *cobra.Command, _ []string) error {
			client, err := to.dial(ctx)
			if err != nil {
				return err
			}
			defer client.Close() // only calls that have ended
			return rebalance(ctx, c, client)
		}),
	}
	to.flags(c)
	return c
}

func rebalance(ctx context.Context, c *cobra.Command, client *noderpc.Client) error {
	display := progress.New(c.ErrOrStderr())
	start := time.Now()
	moved, err := client.Rebalance(ctx, display.Report)
	display.Finish(err != nil)
	if err != nil {
		return err
	}
	if moved.Chunks == 0 {
		fmt.Fprintln(c.OutOrStdout(), "There is nothing to move.")
	} else {
		took := time.Since(start).Round(time.Millisecond)
		fmt.Fprintf(c.OutOrStdout(), "Moved %s, %s, in %s.\n", progress.Counted(moved.Chunks, "chunk"), bytesize.Size(moved.Bytes), took)
	}
	status, err := client.ClusterStatus(ctx)
	if err != nil {
		return err
	}
	return printBalance(c.OutOrStdout(), status)
}

// printBalance shows what each node has, and why that may not be even.
func printBalance(out io.Writer, s noderpc.ClusterStatus) error {
	var text strings.Builder
	table(&text, "node\tstate\tchunks\tsize", len(s.Nodes), func(i int) []any {
		n := s.Nodes[i]
		return []any{n.Name, n.State, n.Chunks, bytesize.Size(n.Bytes)}
	})
	var online []string
	for _, n := range s.Nodes {
		switch {
		case n.State == "online":
			online = append(online, n.Name)
		case n.State == "draining":
			fmt.Fprintf(&text, "Node %s takes no rows until “csmsql cluster undrain %s”, and gives none but to “csmsql cluster drain %s”.\n", n.Name, n.Name, n.Name)
		default:
			fmt.Fprintf(&text, "Node %s is %s: nothing moved to it, or from it.\n", n.Name, n.State)
		}
	}
	for _, f := range fixed(s.Tables, online) {
		stay := "stay"
		if f.tables == 1 {
			stay = "stays"
		}
		fmt.Fprintf(&text, "%s, %s, %s where the placement %s says.\n", progress.Counted(f.tables, "table"), bytesize.Size(f.bytes), stay, f.placement)
	}
	_, err := io.WriteString(out, text.String())
	return err
}

// fixedPlacement keeps tables off some nodes.
type fixedPlacement struct {
	placement     string
	tables, bytes int64
}

// fixed lists the placements that name nodes, of tables that lie at some of the online ones only; the largest first.
func fixed(tables []noderpc.ClusterTable, online []string) (list []fixedPlacement) {
	for _, t := range tables {
		elsewhere := slices.ContainsFunc(online, func(name string) bool {
			return !slices.ContainsFunc(t.Parts, func(p noderpc.ClusterPart) bool { return p.Node == name })
		})
		if !elsewhere || !strings.Contains(t.Placement, "(") || t.Bytes == 0 {
			continue
		}
		i := slices.IndexFunc(list, func(f fixedPlacement) bool { return f.placement == t.Placement })
		if i < 0 {
			i, list = len(list), append(list, fixedPlacement{placement: t.Placement})
		}
		list[i].tables++
		list[i].bytes += t.Bytes
	}
	slices.SortStableFunc(list, func(a, b fixedPlacement) int { return cmp.Compare(b.bytes, a.bytes) })
	return list
}
