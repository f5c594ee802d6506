package engine

import (
	"cmp"
	"log/slog"
	"time"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/cluster/certificate"
	"github.com/csmsql/csmsql/cluster/noderpc"
	"github.com/csmsql/csmsql/coherence"
	"github.com/csmsql/csmsql/engine/configuration"
	"github.com/csmsql/csmsql/engine/lifetime"
	"github.com/csmsql/csmsql/engine/member"
	"github.com/csmsql/csmsql/engine/reader"
	"github.com/csmsql/csmsql/exec/duckdb"
	"github.com/csmsql/csmsql/exec/plan/distribute"
	"github.com/csmsql/csmsql/internal/faults"
	"github.com/csmsql/csmsql/memregion"
)

// Config of a node. The zero value keeps its catalog in a directory of its own, and forgets it when it is closed.
type Config struct {
	// Directory keeps the catalog, and the region of a file fabric. Empty: a temporary one, removed by Close. To remove
	// a directory, remove its region's file, too: in shared memory it would stay (see Abandoned).
	Directory string
	// Node is the node's name in status output and errors; empty means "local".
	Node string
	// Fabric is how the region reaches other processes, as memregion.ParseFabric reads it; empty means memregion.FabricShm.
	Fabric memregion.FabricKind
	// RegionDirectory is where the region's file lies: a tmpfs for shm (/dev/shm), any file system for file (Directory).
	RegionDirectory string
	// RegionBytes is the hard cap of the lent region; 0: half of what RegionDirectory and the machine's memory allow. An existing
	// region keeps its cap, unless this one is higher.
	RegionBytes int64
	// Quotas bound how many bytes of the region tables hold, by schema and name. What a table holds counts under the name
	// that it had when it was written. A statement that needs more fails (53200); less than there is takes nothing away.
	Quotas map[catalog.TableName]int64
	// HugePages asks the kernel for huge pages.
	HugePages bool
	// MemoryBytes is what queries may have outside of the region. DuckDB counts up to 7/8 of it and spills beyond; what it does not count
	// has the rest, and 100 MiB. A statement that needs more fails (53200); its process goes on. What the process has of its own,
	// with what clients make it keep (decision 0024) and Go's heap (Heap), stays below
	//
	//	MemoryBytes + 150 MiB
	//
	// except for single values of a hundred MiB, which may be copied some times while they are computed. Engines in one
	// process share the sum of theirs. 0: half of the memory that the region leaves to this process, at least 128 MiB.
	MemoryBytes int64
	// Heap receives how much of that Go may have, when the engine is opened and whenever it changes: it grows as
	// clients make the engine keep more, and the share of queries shrinks. csmsql serve sets Go's memory limit by it
	// (debug.SetMemoryLimit); nil: the program bounds Go's heap itself.
	Heap func(bytes int64)
	// Sessions receives how many are open whenever one begins or ends. It must not call the engine; nil: not reported.
	Sessions func(open int)
	// ProcessBytes is for programs with other C code, which allocates from the same heaps: what all C code of the process may have,
	// beside what it has when the first engine is opened. 0: MemoryBytes + 100 MiB. Negative: no bound but DuckDB's own.
	ProcessBytes int64
	// SpillBytes bounds what queries spill to Directory; 0: 16 GiB.
	SpillBytes int64
	// Threads of queries; 0: one per CPU.
	Threads int
	// Files says which files SQL may read and write (COPY, read_parquet, …). The zero value: none.
	Files duckdb.FileAccess
	// Verify says when chunks are compared with their checksums while they are read; of a process that is attached, by it. A session can be
	// stricter (SET csm.verify).
	Verify Verification
	// Disable lists optimizations that queries do without (SET csm.disable), unless a session says otherwise: "enum, keys". Names are those of
	// package sql/optimization. No answer changes by it.
	Disable string
	// Dialect is what the text of sessions means that do not say (SET csm.dialect): DialectPostgres, which it is if it
	// is empty, or DialectDuckDB.
	Dialect string
	// VerifyAtStart compares the whole region before Open returns.
	VerifyAtStart bool
	// NoCompaction leaves small chunks as they are, except in VACUUM.
	NoCompaction bool
	// Prefault makes the pages of all tables present in this process before Open or AttachWith returns, so that no query is the first to touch them.
	Prefault bool
	// Progress receives how far Prefault is, on the goroutine that opens; nil: not reported.
	Progress func(noderpc.Progress)
	// LeaseTTL is how long a borrower that went silent keeps its snapshot; 0: 3 s.
	LeaseTTL time.Duration
	// Credentials are what AttachWith shows to a node that it reaches by host:port; nil: the target is a socket, or on this machine.
	Credentials *certificate.Credentials
	// Cluster makes the node one of several; nil: it is alone.
	Cluster *Cluster
	// Workers are processes that run queries in this one's place, of a node that is alone.
	Workers Workers
	// Log receives what an operator should know; nil: slog.Default().
	Log *slog.Logger
	// Fault is called at every fault point that the node reaches, so that tests can end it there; nil in production.
	Fault faults.Hook
	// CutOffs changes the sizes from which queries are split over nodes, for tests with small ones; nil in production.
	CutOffs func(*distribute.Settings)
	// Guesses changes every estimate (rows, distinct values, selectivity): no answer may depend on one; nil in
	// production.
	Guesses func(estimate int64) int64
	// mutate is set by tests only.
	mutate mutations
	// worker: the engine is a worker's, and its node gives it the snapshots.
	worker bool
}

// mutations leave steps of the protocol out. Only this package's tests can set them: no program can turn them on.
type mutations struct {
	// lines stands between the protocol and caches that are not coherent; use says who orders (fabric.Fabric.LinesFor).
	lines func(use string, lines coherence.Lines) coherence.Lines
	// skipChecksums leaves checksums out at the first read and at the seal, so that the effect of a missing step shows.
	skipChecksums bool
	// clock is what ways to copy are measured by, so that tests say which is the fastest; nil: time.Now.
	clock func() time.Time
}

// defaultFabric is another one where tests say so.
var defaultFabric = memregion.FabricShm

// FileAccess says which files SQL may reach.
type FileAccess = duckdb.FileAccess

func (c Config) withDefaults() Config {
	c.Node, c.Fabric = cmp.Or(c.Node, "local"), cmp.Or(c.Fabric, defaultFabric)
	c.LeaseTTL, c.SpillBytes = cmp.Or(c.LeaseTTL, 3*time.Second), cmp.Or(c.SpillBytes, 16<<30)
	c.Log = cmp.Or(c.Log, slog.Default())
	if c.Sessions == nil {
		c.Sessions = func(int) {}
	}
	if c.RegionDirectory == "" {
		c.RegionDirectory = "/dev/shm"
		if c.Fabric.Durable() {
			c.RegionDirectory = c.Directory
		}
	}
	if c.Cluster != nil && c.Cluster.RepairAfter == 0 {
		cluster := *c.Cluster
		cluster.RepairAfter = time.Minute
		c.Cluster = &cluster
	}
	if c.Progress == nil {
		c.Progress = func(noderpc.Progress) {}
	}
	return c
}

// Cluster makes a node one of several that share a catalog in etcd and each other's memory.
type Cluster = member.Cluster

// ErrClusterAway: the node has been in its cluster, which cannot be asked now. Open it again later: nothing has changed.
var ErrClusterAway = member.ErrClusterAway

// memberConfig is the node's part of the configuration.
func (e *Engine) memberConfig() member.Config {
	c := &e.config
	return member.Config{
		Directory: c.Directory, Node: c.Node, Fabric: c.Fabric, RegionDirectory: c.RegionDirectory, RegionBytes: c.RegionBytes, HugePages: c.HugePages, Quotas: c.Quotas,
		Verify: c.Verify, LeaseTTL: c.LeaseTTL, Cluster: c.Cluster, Log: c.Log, Fault: c.Fault, Closed: lifetime.Closed, Explain: func(err *DamagedError) reader.Loss { return e.upkeep.ExplainLoss(err) },
		Agree: e.keys.Commit, Relate: e.keys.Relate, Set: e.sequences.Set, Deltas: &e.deltas,
		Intercept: c.mutate.lines, SkipChecksums: c.mutate.skipChecksums, Clock: c.mutate.clock,
	}
}

// disable brings Config.Disable into the form that SHOW shows.
func (c *Config) disable() error {
	set, err := configuration.Disabled(c.Disable)
	c.Disable = set.String()
	return err
}

// Verification says when a chunk's bytes are compared with the checksums that it was sealed with.
type Verification = reader.Verification

// The verifications.
const (
	VerifyDefault = reader.VerifyDefault
	VerifyOff     = reader.VerifyOff
	VerifyFirst   = reader.VerifyFirst
	VerifyAlways  = reader.VerifyAlways
)

// DamagedError says that bytes of a sealed chunk are not there or not what was sealed.
type DamagedError = reader.DamagedError
