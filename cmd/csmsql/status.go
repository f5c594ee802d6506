package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/csmsql/csmsql/cluster/noderpc"
	"github.com/csmsql/csmsql/cmd/csmsql/internal/progress"
	"github.com/csmsql/csmsql/engine/member"
	"github.com/csmsql/csmsql/internal/bytesize"
)

func newStatus() *cobra.Command {
	var to target
	var asJSON bool
	c := &cobra.Command{
		Use:   "status",
		Short: "Show a node's regions, tables and leases",
		Long: `Show how a running node is: how to reach it, what its regions hold, its tables, and who holds snapshots of them
(leases: sessions, and other processes that read the lent memory). --json also has the coherence protocol's counters.

Regions beside the node's own that no node can use any more, because their data directories are gone, are listed with the command
that gives their memory back.`,
		Example: "  csmsql status\n  csmsql status --json | jq '.tables[] | {name, rows, bytes}'",
		Args:    noArguments,
		RunE: interruptible(func(ctx context.Context, c *cobra.Command, _ []string) error {
			client, err := to.dial(ctx)
			if err != nil {
				return err
			}
			defer client.Close() // only calls that have ended
			status, err := client.Status(ctx)
			if err != nil {
				return err
			}
			lost := abandoned(status)
			if asJSON {
				encoder := json.NewEncoder(c.OutOrStdout())
				encoder.SetIndent("", "  ")
				return encoder.Encode(struct {
					noderpc.Status
					Abandoned []abandonedFile `json:"abandoned"`
				}{status, lost})
			}
			return printStatus(c.OutOrStdout(), status, lost, time.Now())
		}),
	}
	to.flags(c)
	c.Flags().BoolVar(&asJSON, "json", false, "everything, for programs; sizes in bytes")
	return c
}

// abandonedFile is a region's file that takes memory and has no owner.
type abandonedFile struct {
	Path      string   `json:"path"`
	Caches    []string `json:"caches,omitempty"` // of an emulated fabric; they go with it
	Bytes     int64    `json:"bytes"`
	Directory string   `json:"directory"` // the data directory that is gone
}

// abandoned looks beside the node's regions, if they are on this machine.
func abandoned(s noderpc.Status) []abandonedFile {
	lost, looked := []abandonedFile{}, map[string]bool{}
	for _, r := range s.Regions {
		directory := filepath.Dir(r.Path)
		if _, err := os.Stat(r.Path); err != nil || looked[directory] {
			continue
		}
		looked[directory] = true
		found, err := member.Abandoned(directory, s.Node.Frontend.SocketDirectory, s.Node.Catalog)
		if err != nil {
			continue // the status is complete without it
		}
		for _, f := range found {
			lost = append(lost, abandonedFile{f.Path, f.Caches, f.Bytes, f.Directory})
		}
	}
	return lost
}

// oneLine is the beginning of a client's text, as a table can show it.
func oneLine(text string) string {
	const most = 60
	printable := func(r rune) rune {
		if unicode.IsPrint(r) || unicode.IsSpace(r) {
			return r
		}
		return utf8.RuneError
	}
	runes := []rune(strings.Join(strings.Fields(strings.Map(printable, text)), " "))
	if len(runes) > most {
		runes = append(runes[:most-1], '…')
	}
	return string(runes)
}

// printStatus shows a status to people.
func printStatus(out io.Writer, s noderpc.Status, lost []abandonedFile, now time.Time) error {
	var text strings.Builder
	ways := strings.Join(strings.Fields(s.Node.Frontend.Address+" "+s.Node.Frontend.SocketDirectory), ", ")
	fmt.Fprintf(&text, "node %s, csmsql %s, up %s, process %d\nPostgreSQL protocol at %s\ncatalog %s, revision %d\n",
		s.Node.Name, s.Node.Version, now.Sub(s.Node.Started).Round(time.Second), s.Node.Process, ways, s.Node.Catalog, s.Node.Revision)
	table(&text, "region\tfabric\tused\tof\treserved\textents\tbase\tfile", len(s.Regions), func(i int) []any {
		r := s.Regions[i]
		return []any{r.ID, r.Fabric, bytesize.Size(r.Used), bytesize.Size(r.Capacity), bytesize.Size(r.Reserved), r.Extents, fmt.Sprintf("%#x", uint64(r.Base)), placeOf(r)}
	})
	table(&text, "memory holder\textents\tsize", len(s.Holders), func(i int) []any {
		h := s.Holders[i]
		return []any{cmp.Or(h.Holder, "none, at this moment"), h.Extents, bytesize.Size(h.Bytes)}
	})
	for _, r := range s.Regions {
		if r.Gone != "" {
			fmt.Fprintf(&text, "\nREGION %d IS GONE: %s\nTables that lay in it need their source, see below; chunks of theirs are errors until then.\n", r.ID, r.Gone)
		}
	}
	table(&text, "table\trows\tsize\tchunks\tversion", len(s.Tables), func(i int) []any {
		t := s.Tables[i]
		return []any{t.Schema + "." + t.Name, progress.Count(t.Rows), bytesize.Size(t.Bytes), t.Chunks, t.Version}
	})
	needy := slices.DeleteFunc(slices.Clone(s.Tables), func(t noderpc.TableStatus) bool { return t.Missing == 0 })
	if len(needy) > 0 {
		table(&text, "table needs its source\tchunks missing\tof\tsource", len(needy), func(i int) []any {
			t := needy[i]
			return []any{t.Schema + "." + t.Name, t.Missing, t.Chunks, cmp.Or(t.Source, "none on record: load it again")}
		})
		text.WriteString("To bring back what has a source on record: csmsql sql -c 'ALTER TABLE … RELOAD'\n")
	}
	if len(s.Workers) > 0 {
		table(&text, "worker\tstate\tage\tstatements\tcrashes\tkills", len(s.Workers), func(i int) []any {
			w := s.Workers[i]
			if w.Process == 0 {
				return []any{"-", "starting", "-", w.Statements, w.Crashes, w.Kills}
			}
			state := "idle"
			if w.Busy {
				state = "busy"
			}
			return []any{w.Process, state, now.Sub(w.Started).Round(time.Second), w.Statements, w.Crashes, w.Kills}
		})
	}
	if len(s.Overdue) > 0 {
		table(&text, "overdue statement\tsession\tuser\tage\tanswered with", len(s.Overdue), func(i int) []any {
			o := s.Overdue[i]
			return []any{oneLine(o.Text), o.Session, oneLine(o.User), now.Sub(o.Since).Round(100 * time.Millisecond), oneLine(o.Reason)}
		})
	}
	flushed := slices.DeleteFunc(slices.Clone(s.Counters), func(c noderpc.Counter) bool { return c.Name != "flushes_total" || c.Value == 0 })
	if len(flushed) > 0 { // where caches are not coherent
		table(&text, "step\tranges flushed", len(flushed), func(i int) []any { return []any{flushed[i].Step, progress.Count(int64(flushed[i].Value))} })
	}
	table(&text, "lease\tholder\tdomain\tage\texpires\trevision", len(s.Leases), func(i int) []any {
		l := s.Leases[i]
		expires := "with its process"
		if !l.Expires.IsZero() {
			expires = "in " + l.Expires.Sub(now).Round(100*time.Millisecond).String()
		}
		return []any{l.ID, l.Holder, l.Domain, now.Sub(l.Since).Round(time.Second), expires, l.Revision}
	})
	if len(lost) > 0 {
		table(&text, "abandoned region\tsize\tdata directory, gone", len(lost), func(i int) []any {
			return []any{lost[i].Path, bytesize.Size(lost[i].Bytes), strconv.Quote(lost[i].Directory)}
		})
		text.WriteString("No node can use these, unless their directories are on another mount or in another container. To give the memory back:\n")
		for _, f := range lost {
			fmt.Fprintf(&text, "  rm %s\n", strings.Join(append([]string{f.Path}, f.Caches...), " "))
		}
	}
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

// placeOf is the file of a region, or the device, and where on it.
func placeOf(r noderpc.RegionStatus) string {
	if r.Start == 0 {
		return r.Path
	}
	return fmt.Sprintf("%s@%d", r.Path, r.Start)
}
