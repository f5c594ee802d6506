package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/csmsql/csmsql/cmd/csmsql/internal/node"
	"github.com/csmsql/csmsql/cmd/csmsql/internal/place"
	"github.com/csmsql/csmsql/cmd/csmsql/internal/progress"
	"github.com/csmsql/csmsql/engine"
	"github.com/csmsql/csmsql/internal/bytesize"
	"github.com/csmsql/csmsql/internal/faults"
)

const serveLong = `Start a node: it lends a region of memory, keeps tables there and answers SQL over the PostgreSQL protocol.

The data directory keeps the catalog and the node's sockets. Its default is $CSMSQL_DATA, or else
$XDG_DATA_HOME/csmsql, which usually means ~/.local/share/csmsql. The tables themselves lie in the region:

  --fabric shm    in /dev/shm (memory): tables survive the node, even its kill -9, but not a reboot of the machine
  --fabric file   in a file of the data directory (or --region-dir): tables survive a reboot, too
  --fabric device:PATH[@OFFSET][,incoherent|,home-snoop]
                  in a range of a device that is there already and that other machines may map: DAX, a PCI BAR, a disk, or a file that
                  stands for one; docs/hardware.md says what the properties mean. It begins at OFFSET, or where there is room
  --fabric emulated[:SEED][,home-snoop][,64|128]
                  for tests: as shm, but each node sees every region through a cache of its own, as machines do that share memory
                  which is not coherent; an adversary with this seed moves lines of 64 or 128 bytes. All nodes of a cluster are
                  on one kind of fabric

The region grows as tables need it, up to --region; it keeps the cap that it was made with. When you remove the data
directory, remove the region's file as well (the banner names it); a node that starts, and csmsql status, report
forgotten ones.

Queries have --memory beside it: sorts, joins and groups spill to the data directory beyond 7/8 of it, and a statement that
needs more of what cannot be spilled fails (53200). What clients make the node keep (messages, prepared statements and their
plans, portals, answers, rows of COPY, settings) may be a quarter of --memory, and 32MiB in any case; queries have so much less
then, and who asks for too much is refused (53200, 54000). The node's own memory stays below --memory + 150MiB, and 256MiB more
in a cluster, for etcd: leave the machine, or the container, that beside --region, and 1/512 of --region for the page tables of
each process that maps it (the node, and each worker). csm.memory shows who has what, and a session can bound itself
(SET csm.session_memory).

With --workers N, queries outside of transaction blocks run in N processes, each over the same lent memory: one that crashes fails its
query (58000) and is replaced, and the node, its sessions and their other statements go on. Each takes one query at a time, the
others wait. The node and the workers share --memory in equal parts, so that a query has 1/(N+1) of it. What asks the session or
the system catalogs, or writes, and what is in a transaction block runs in the node. csmsql status shows the workers.

Clients on this machine are trusted and no others can connect: --pg and --http take loopback addresses only. The unix
sockets in the data directory are for its owner alone. SQL reaches the server's files only below the directories
given with --files; there are none by default.

What “csmsql cluster init” and “join” wrote to serve.json in the data directory counts as flags that were given; those on the
command line come first.

SIGINT (Ctrl-C) or SIGTERM stops the node in order; another one, more than a second later, stops it at once, which is safe. What
runs has three seconds to end and is cancelled then; four seconds later the process ends at once by itself, if DuckDB has not come back.`

const serveExample = `  csmsql serve
  csmsql serve --data /srv/csmsql --region 16GiB --memory 4GiB
  csmsql serve --pg 127.0.0.1:0                  any free port; the banner says which
  csmsql serve --pg off                          only the unix sockets in the data directory
  csmsql serve --fabric file --files /data/in    tables on disk; COPY may read and write below /data/in
  csmsql serve --http 127.0.0.1:9187             Prometheus metrics and a health check`

// fault is called at fault points in nodes that tests start as processes: they set it before anything runs.
var fault faults.Hook

// serving are the flags of serve.
type serving struct {
	options                   node.Options
	region, memory, etcdQuota bytesize.Size
	level                     slog.LevelVar
}

func newServe() *cobra.Command {
	s := &serving{options: node.Options{Fault: fault}}
	c := &cobra.Command{
		Use:     "serve",
		Short:   "Start a node",
		Long:    serveLong,
		Example: serveExample,
		Args:    noArguments,
		RunE:    interruptible(s.run),
	}
	c.Flags().SortFlags = false
	s.flags(c.Flags())
	return c
}

func (s *serving) run(ctx context.Context, c *cobra.Command, _ []string) error {
	if err := readServeFile(c.Flags(), s.options.Data); err != nil {
		return usageError{err}
	}
	if err := s.check(c.Flags()); err != nil {
		return usageError{err}
	}
	options := s.options
	options.Log = slog.New(slog.NewTextHandler(c.ErrOrStderr(), &slog.HandlerOptions{Level: &s.level}))
	options.Stuck = func() {
		options.Log.Error("statements do not end: the process ends without them, as if it was killed; tables stay")
		os.Exit(exitKilled)
	}
	finish := func(bool) {}
	if options.Prefault {
		display := progress.New(c.ErrOrStderr())
		options.Progress, finish = display.Report, display.Finish
	}
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(-1))
	options.Heap = func(bytes int64) { limitHeap(bytes, len(options.Etcd) > 0 || options.ClusterInit) }
	if options.Threads == 0 { // before GOMAXPROCS is raised
		options.Threads = runtime.GOMAXPROCS(0)
	}
	options.Sessions = new(processors).follow
	err := node.Run(ctx, options, func(r node.Ready) {
		finish(false)
		finish = func(bool) {}
		banner(c.OutOrStdout(), r)
	})
	finish(err != nil)
	if err == nil {
		options.Log.Info("stopped")
	}
	return err
}

// limitHeap sets Go's memory limit to the engine's bound, in a cluster with etcd's part added. It is a soft limit:
// nothing fails by it. If GOMEMLIMIT is set, limitHeap does nothing.
func limitHeap(bytes int64, cluster bool) {
	const etcd = 256 << 20
	if os.Getenv("GOMEMLIMIT") != "" {
		return
	}
	if cluster {
		bytes += etcd
	}
	debug.SetMemoryLimit(bytes)
}

// check finds what is wrong with the flags as they were given, those of serve.json among them, before anything is
// touched.
func (s *serving) check(given *pflag.FlagSet) error {
	s.options.RegionBytes, s.options.MemoryBytes, s.options.EtcdQuota = int64(s.region), int64(s.memory), int64(s.etcdQuota)
	for _, name := range []string{"data", "node", "etcd", "region-dir", "certs", "http", "etcd-listen", "etcd-peer", "rpc", "verify", "dialect", "region", "memory", "session-ttl", "etcd-quota", "etcd-history"} {
		if f := given.Lookup(name); f.Changed && isNothing(f.Value.String()) {
			return fmt.Errorf("--%s %q: leave it out, or say something", name, f.Value)
		}
	}
	if !s.options.ClusterInit && len(s.options.Etcd) == 0 && (given.Changed("session-ttl") || given.Changed("repair-after")) {
		return errors.New("--session-ttl and --repair-after are for nodes of a cluster: give --cluster-init or --etcd, too")
	}
	return s.options.Check()
}

// isNothing reports whether the text of a flag's value is empty or zero: such a flag would be taken for one that was
// not given.
func isNothing(value string) bool { return slices.Contains([]string{"", "0 B", "0s", "[]"}, value) }

func (s *serving) flags(flags *pflag.FlagSet) {
	flags.StringVar(&s.options.Data, "data", place.DefaultData(), "data `directory`: catalog and sockets")
	flags.StringVar(&s.options.PostgreSQL, "pg", "127.0.0.1:5433", "loopback `address` for the PostgreSQL protocol, or off")
	flags.Var(&s.region, "region", "hard cap of the lent region (default: half of what memory allows)")
	flags.StringArrayVar(&s.options.Quotas, "quota", nil, "how much of this node's region a table may hold, as `table=size` (may be repeated; default: all)")
	flags.StringVar(&s.options.RegionDirectory, "region-dir", "", "`directory` of the region's file (default /dev/shm, or the data directory for file)")
	flags.StringVar(&s.options.Fabric, "fabric", "shm", "`fabric`: where the region lies: shm (memory), file (disk), device:PATH[@OFFSET][,incoherent|,home-snoop], or emulated[:SEED] (memory that is not coherent, for tests)")
	flags.StringVar(&s.options.Node, "node", "local", "the node's `name` in status output and errors")
	flags.BoolVar(&s.options.ClusterInit, "cluster-init", false, "begin a cluster: this node runs its etcd; others join with --etcd")
	flags.StringSliceVar(&s.options.Etcd, "etcd", nil, "join the cluster of the etcd at these `addresses`: host:port or unix:///path, separated by commas")
	flags.BoolVar(&s.options.EtcdMember, "etcd-member", false, "with --etcd: run a member of etcd here, too; three members bear the loss of one")
	flags.StringVar(&s.options.EtcdListen, "etcd-listen", "", "of a node that runs etcd: loopback or, with --certs, any `address` for its clients (default: a socket in the data directory)")
	flags.StringVar(&s.options.EtcdPeer, "etcd-peer", "", "of a node that runs etcd: `address` for its other members (default: a port of 127.0.0.1)")
	flags.Var(&s.etcdQuota, "etcd-quota", "of a node that runs etcd: how large its database may become (default 4GiB)")
	flags.DurationVar(&s.options.EtcdHistory, "etcd-history", 0, "of a node that runs etcd: how long it remembers changes (default 10m)")
	flags.StringVar(&s.options.RPC, "rpc", "", "`address` where the cluster's other nodes reach this one; needs --certs (default: its socket, for nodes on this machine)")
	flags.StringVar(&s.options.Certificates, "certs", "", "`directory` with ca.crt, node.crt and node.key, as “csmsql cluster cert” makes them")
	flags.DurationVar(&s.options.SessionTTL, "session-ttl", 0, "how long the cluster waits for this node before it holds it for dead (default 10s)")
	flags.DurationVar(&s.options.RepairAfter, "repair-after", time.Minute, "how long another node may be gone before the replicas that it had are rebuilt; 0: for ever")
	flags.StringVar(&s.options.HTTP, "http", "", "loopback `address` for /metrics and /healthz (default: off)")
	flags.StringArrayVar(&s.options.Files, "files", nil, "`directory` that SQL may read and write (may be repeated; default: none)")
	flags.Var(&s.memory, "memory", "memory of queries outside of the region; the node has up to 150MiB more, and workers share it with the node (default: half of what the region leaves)")
	flags.IntVar(&s.options.Workers, "workers", 0, "`processes` that run queries in the node's place, so that a crash costs one query (default: none)")
	flags.IntVar(&s.options.Threads, "threads", 0, "`threads` of queries (default: one per CPU)")
	flags.StringVar(&s.options.Verify, "verify", "", "`when` chunks that are read are compared with their checksums: off, first or always (default: first, but not, on coherent memory, what the node wrote itself)")
	flags.StringVar(&s.options.Dialect, "dialect", "",
		"what the text of sessions means that do not say (SET csm.dialect): in `postgres`, or in duckdb (default: postgres)")
	flags.BoolVar(&s.options.VerifyAtStart, "verify-at-start", false, "check every table against its checksums before the node is ready")
	flags.BoolVar(&s.options.Prefault, "prefault", false, "make the memory of every table present before the node is ready, so that no query is the first to touch it")
	flags.TextVar(&s.level, "log-level", &s.level, "`level` of what is logged: debug, info, warn or error (default info)")
	for _, name := range []string{"region", "memory", "etcd-quota", "log-level"} {
		flags.Lookup(name).DefValue = "" // the text says it better
	}
}

// banner says once how the node is reached and what it has.
func banner(out io.Writer, r node.Ready) {
	var text strings.Builder
	fmt.Fprintf(&text, "csmsql %s is ready. Ctrl-C stops it; tables stay.\n\n", engine.Version)
	w := tabwriter.NewWriter(&text, 0, 0, 3, ' ', 0)
	if host, port, err := net.SplitHostPort(r.Frontend.Address); err == nil {
		fmt.Fprintf(w, "  ask\tpsql -h %s -p %s -U postgres csmsql\n", host, port)
		fmt.Fprintf(w, "  \tpostgres://postgres@%s/csmsql\n", r.Frontend.Address)
	}
	fmt.Fprintf(w, "  ask here\tpsql -h %s csmsql\n", r.Frontend.SocketDirectory)
	to := ""
	if r.Data != place.DefaultData() {
		to = " --to " + r.Data
	}
	fmt.Fprintf(w, "  or\tcsmsql sql%s\n", to)
	fmt.Fprintf(w, "  data\t%s, %s\n", r.Data, tableSummary(r))
	for _, region := range r.Status.Regions {
		if region.Gone != "" {
			fmt.Fprintf(w, "  region\t%s is gone: “csmsql status” says more\n", region.Path)
			continue
		}
		fmt.Fprintf(w, "  region\t%s (%s), %s of %s used\n", placeOf(region), region.Fabric, bytesize.Size(region.Used), bytesize.Size(region.Capacity))
	}
	if r.HTTP != "" {
		fmt.Fprintf(w, "  metrics\thttp://%s/metrics\n", r.HTTP)
	}
	if len(r.Status.Tables) == 0 {
		fmt.Fprintf(w, "  try\tcsmsql tpch load --sf 0.1%s && csmsql tpch run%s\n", to, to)
	}
	w.Flush() // a strings.Builder takes everything
	fmt.Fprintln(out, text.String())
}

func tableSummary(r node.Ready) string {
	var bytes int64
	for _, t := range r.Status.Tables {
		bytes += t.Bytes
	}
	if n := len(r.Status.Tables); n > 0 {
		return progress.Counted(int64(n), "table") + ", " + bytesize.Size(bytes).String()
	}
	return "no tables yet"
}
