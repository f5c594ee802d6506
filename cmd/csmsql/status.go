package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/csmsql/csmsql/cluster/noderpc"
	"github.com/csmsql/csmsql/cmd/csmsql/internal/bytesize"
	"github.com/csmsql/csmsql/cmd/csmsql/internal/progress"
)

func newStatus() *cobra.Command {
	var to string
	var asJSON bool
	c := &cobra.Command{
		Use:   "status",
		Short: "Show a node's regions, tables and leases",
		Long: `Show how a running node is: how to reach it, what its regions hold, its tables, and who holds snapshots of them
(leases: sessions, and other processes that read the lent memory). --json also has the coherence protocol's counters.`,
		Example: "  csmsql status\n  csmsql status --json | jq '.tables[] | {name, rows, bytes}'",
		Args:    noArguments,
		RunE: interruptible(func(ctx context.Context, c *cobra.Command, _ []string) error {
			client, err := dial(ctx, to)
			if err != nil {
				return err
			}
			defer client.Close() // only calls that have ended
			status, err := client.Status(ctx)
			if err != nil {
				return err
			}
			if asJSON {
				encoder := json.NewEncoder(c.OutOrStdout())
				encoder.SetIndent("", "  ")
				return encoder.Encode(status)
			}
			return printStatus(c.OutOrStdout(), status, time.Now())
		}),
	}
	targetFlag(c, &to)
	c.Flags().BoolVar(&asJSON, "json", false, "everything, for programs; sizes in bytes")
	return c
}

// printStatus shows a status to people.
func printStatus(out io.Writer, s noderpc.Status, now time.Time) error {
	var text strings.Builder
	ways := strings.Join(strings.Fields(s.Node.Frontend.Address+" "+s.Node.Frontend.SocketDirectory), ", ")
	fmt.Fprintf(&text, "node %s, csmsql %s, up %s, process %d\nPostgreSQL protocol at %s\ncatalog %s, revision %d\n",
		s.Node.Name, s.Node.Version, now.Sub(s.Node.Started).Round(time.Second), s.Node.Process, ways, s.Node.Catalog, s.Node.Revision)
	table(&text, "region\tfabric\tused\tof\treserved\textents\tbase\tfile", len(s.Regions), func(i int) []any {
		r := s.Regions[i]
		return []any{r.ID, r.Fabric, bytesize.Size(r.Used), bytesize.Size(r.Capacity), bytesize.Size(r.Reserved), r.Extents, fmt.Sprintf("%#x", uint64(r.Base)), r.Path}
	})
	table(&text, "table\trows\tsize\tchunks\tversion", len(s.Tables), func(i int) []any {
		t := s.Tables[i]
		return []any{t.Schema + "." + t.Name, progress.Count(t.Rows), bytesize.Size(t.Bytes), t.Chunks, t.Version}
	})
	table(&text, "lease\tholder\tdomain\tage\texpires\trevision", len(s.Leases), func(i int) []any {
		l := s.Leases[i]
		expires := "with its process"
		if !l.Expires.IsZero() {
			expires = "in " + l.Expires.Sub(now).Round(100*time.Millisecond).String()
		}
		return []any{l.ID, l.Holder, l.Domain, now.Sub(l.Since).Round(time.Second), expires, l.Revision}
	})
	_, err := io.WriteString(out, text.String())
	return err
}

// table writes lines under a heading, or that there are none.
func table(text *strings.Builder, heading string, lines int, line func(int) []any) {
	name, _, _ := strings.Cut(heading, "\t")
	if lines == 0 {
		fmt.Fprintf(text, "\nno %ss\n", name)
		return
	}
	text.WriteByte('\n')
	w := tabwriter.NewWriter(text, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, strings.ToUpper(heading))
	for i := range lines {
		cells := make([]string, 0, 8)
		for _, cell := range line(i) {
			cells = append(cells, fmt.Sprint(cell))
		}
		fmt.Fprintln(w, strings.Join(cells, "\t"))
	}
	w.Flush() // a strings.Builder takes everything
}
