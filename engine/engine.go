package engine

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/catalog/store"
	"github.com/csmsql/csmsql/coherence"
	"github.com/csmsql/csmsql/engine/account"
	"github.com/csmsql/csmsql/engine/borrower"
	"github.com/csmsql/csmsql/engine/budget"
	"github.com/csmsql/csmsql/engine/check"
	"github.com/csmsql/csmsql/engine/collector"
	"github.com/csmsql/csmsql/engine/configuration"
	"github.com/csmsql/csmsql/engine/delta"
	"github.com/csmsql/csmsql/engine/facts"
	"github.com/csmsql/csmsql/engine/follow"
	"github.com/csmsql/csmsql/engine/fragment"
	"github.com/csmsql/csmsql/engine/history"
	"github.com/csmsql/csmsql/engine/lease"
	"github.com/csmsql/csmsql/engine/lifetime"
	"github.com/csmsql/csmsql/engine/load"
	"github.com/csmsql/csmsql/engine/member"
	"github.com/csmsql/csmsql/engine/namedtype"
	"github.com/csmsql/csmsql/engine/names"
	"github.com/csmsql/csmsql/engine/overdue"
	"github.com/csmsql/csmsql/engine/planned"
	"github.com/csmsql/csmsql/engine/reader"
	"github.com/csmsql/csmsql/engine/reference"
	"github.com/csmsql/csmsql/engine/rowlock"
	"github.com/csmsql/csmsql/engine/scan"
	"github.com/csmsql/csmsql/engine/sequence"
	"github.com/csmsql/csmsql/engine/service"
	"github.com/csmsql/csmsql/engine/split"
	"github.com/csmsql/csmsql/engine/systemtable"
	"github.com/csmsql/csmsql/engine/transaction"
	"github.com/csmsql/csmsql/engine/turn"
	"github.com/csmsql/csmsql/engine/upkeep"
	"github.com/csmsql/csmsql/engine/workforce"
	"github.com/csmsql/csmsql/engine/zone"
	"github.com/csmsql/csmsql/engine/zonemap"
	"github.com/csmsql/csmsql/exec/duckdb"
	"github.com/csmsql/csmsql/sql/dialect"
	"github.com/csmsql/csmsql/sql/sqlerror"
)

// Engine answers SQL over HugeTables: as a node that lends memory (Open), or as a borrower of a running one (Attach).
// Safe for concurrent use.
type Engine struct {
	config   Config
	db       *duckdb.Database
	reader   *reader.Reader
	memory   budget.Shares
	account  *account.Node // nil before the database is open
	turns    *turn.Queue   // to plan; likewise
	overdue  *overdue.Places
	room     *budget.Room // nil before the database is open
	parking  budget.Parking
	facts    facts.Cache
	zonemaps zonemap.Cache
	scans    scan.Tables          // of no use before the database is open
	upkeep   *upkeep.Keeper       // nil before the database is open
	inserts  *collector.Collector // nil before the database is open
	deltas   delta.Store
	loader   *load.Loader // likewise; of a node
	// sequences keeps what the node has reserved of them; of no use in a borrower.
	sequences *sequence.Keeper
	kept      planned.Share
	history   history.History
	mirror    names.Mirror
	// transactions is what those of all sessions have in common.
	transactions *transaction.Node
	zones        *zone.Zones // nil before the database is open
	// settings are the defaults of sessions; of no use before the database is open.
	settings configuration.Node

	checks  *check.Checker   // nil before the database is open
	keys    reference.Keeper // of no use before the database is open
	blocks  atomic.Uint64    // numbers the databases in which blocks show names of their own
	started time.Time

	fragments        *fragment.Server // nil before the database is open; of a node
	fragmentSessions fragmentSessions
	split            *split.Coordinator // nil before the database is open, and in a borrower
	counts           service.Counts
	follows          follow.Source

	workers  *workforce.Workforce // nil: there are none
	catalog  *catalog.Catalog     // nil in a borrower
	node     *member.Node         // nil in a borrower
	borrower *borrower.Borrower   // nil in a node

	life  *lifetime.Lifetime
	ended error // what Close said; written before life.gone is closed

	mu       sync.Mutex // guards sessions
	sessions map[*Session]struct{}
}

func newEngine(config Config) *Engine {
	e := &Engine{config: config.withDefaults(), sessions: map[*Session]struct{}{}, started: time.Now(), life: lifetime.New(context.Background())}
	e.follows = follow.NewHub(e.deltas.Moved(func() *catalog.Catalog { return e.catalog }))
	e.facts.Guess, e.sequences = config.Guesses, sequence.NewKeeper()
	e.transactions = &transaction.Node{Rows: rowlock.New(), Snapshot: e.snapshot, Begin: e.begin}
	return e
}

// Open starts a node: its catalog, its lent region, its queries. Every table of an earlier life is there again at its
// last committed version.
func Open(ctx context.Context, config Config) (*Engine, error) {
	e := newEngine(config)
	if err := e.open(ctx); err != nil {
		return nil, errors.Join(e.node.Away(err), e.Close())
	}
	return e, nil
}

func (e *Engine) open(ctx context.Context) error {
	wrong := errors.Join(e.config.disable(), dialect.Check(e.config.Dialect))
	if err := errors.Join(wrong, e.config.Workers.Check(e.config.Cluster != nil)); err != nil {
		return err
	}
	n, err := member.Open(ctx, e.memberConfig())
	e.node, e.config.Directory, e.config.RegionDirectory, e.config.Fabric = n, n.Directory(), n.RegionDirectory(), n.Fabric.Kind
	if errors.Is(err, store.ErrSessionOver) && !errors.Is(err, catalog.ErrFenced) { // while it came up
		err = fmt.Errorf("%w: %w", catalog.ErrFenced, err)
	}
	if err != nil {
		return err
	}
	e.catalog, e.reader = n.Catalog, n.Reader
	e.sequences.Over(n.Catalog)
	if err := e.openDatabase(n.Region.Capacity); err != nil {
		return err
	}
	if e.config.VerifyAtStart {
		if err := e.VerifyChecksums(ctx); err != nil {
			return err
		}
	}
	if e.config.Prefault {
		if err := e.inspector().Prefault(ctx, e.config.Progress); err != nil {
			return err
		}
	}
	if err := e.startUpkeep(); err != nil {
		return err
	}
	e.startWorkers()
	return nil
}

// openDatabase starts DuckDB within what memory the region leaves.
func (e *Engine) openDatabase(regionBytes int64) error {
	spill := ""
	if e.config.Directory != "" {
		spill = filepath.Join(e.config.Directory, "spill")
		if err := os.MkdirAll(spill, 0o700); err != nil {
			return fmt.Errorf("make the spill directory: %w", err)
		}
	}
	limit := e.config.MemoryBytes
	if limit == 0 {
		var err error
		if limit, err = budget.Default(regionBytes); err != nil {
			return err
		}
	}
	limit, each, err := e.config.Workers.Shared(limit)
	if err != nil {
		return err
	}
	e.memory = budget.Of(limit)
	e.memory.Worker = each
	spillBytes, _ := e.config.Workers.Spill(e.config.SpillBytes)
	if e.config.ProcessBytes != 0 {
		e.memory.Process = max(e.config.ProcessBytes, 0)
	}
	e.parking.Most = e.memory.Parked
	e.account = account.NewNode(e.memory.Clients)
	e.turns = turn.OfPlans(e.threads())
	e.overdue = overdue.New(overdue.Most)
	e.kept.Plans, e.kept.Most = keptOfEngine, e.memory.Whole/keptPart
	db, err := duckdb.Open(duckdb.Options{
		PostgresText: true,
		MemoryBytes:  e.memory.Counted, ProcessBytes: e.memory.Process,
		SpillDirectory: spill, SpillBytes: spillBytes, Threads: e.config.Threads, Files: e.config.Files,
	})
	if err != nil {
		return err
	}
	db.NameTypes(namedtype.Newest(e.catalog))
	e.db, e.checks, e.zones, e.keys.Reader = db, check.New(db), zone.New(db), e.reader
	e.settings = configuration.Node{
		Verification: e.reader.Verification(), Disable: e.config.Disable, Dialect: e.config.Dialect, Zones: e.zones,
	}
	e.room = budget.NewRoom(db, e.account, e.config.Heap, e.threadsWanted)
	e.account.From(e.room.Source(e.memory.Clients))
	e.facts.Account = e.account.Open(0, "")
	e.facts.Account.SetShare(e.memory.Clients / facts.Part)
	e.zonemaps.Account = e.facts.Account
	e.room.Follow()
	e.scans = scan.Tables{Facts: &e.facts, Reader: e.reader, Ours: func(c *catalog.Chunk) bool { return member.Holds(e.node, c) }, Threads: e.threads, KeysMost: min(e.memory.Keys, scan.KeysMost)}
	e.upkeep = e.newKeeper()
	e.deltas.Target, e.deltas.Followed = e.upkeep.TargetFor, e.follows.Watched
	e.inserts, e.keys.Store = collector.New(e.node, e.upkeep, &e.deltas), e.upkeep.ChangeOfItself
	e.loader = e.newLoader()
	e.startFragments()
	return e.mirror.Open(e.db, systemtable.Columns(), e.config.Log)
}

// ErrFailed is why an engine is closed and opened again when Failed says so.
var ErrFailed = errors.New("DuckDB has failed inside")

// Failed is closed when DuckDB takes no statements any more, after a fatal error of its own: all fail with 57P02 until the engine is closed
// and opened again. Tables stay.
func (e *Engine) Failed() <-chan struct{} { return e.db.Failed() }

// Close ends all sessions and the node, or the attachment. The region of a node with a directory stays, for its next life.
//
// It may be called while others use the engine. Statements, loads and fragments that run are cancelled, and Close waits for them; what is
// open (rows, record readers, cursors, transactions) ends with its session. All of that, and whatever is asked later, fails with an error
// in which errors.Is finds ErrClosed. Batches that are not released stay readable, see Rows; the region stays mapped
// for them. Close also waits for functions that the engine calls (Notice, progress, CopyIn's rows): none may call it.
func (e *Engine) Close() error {
	if !e.life.End(lifetime.Closing) {
		<-e.life.Gone
		return e.ended
	}
	defer close(e.life.Gone)
	e.follows.Close(lifetime.Closing) // calls wait for it
	e.life.Await()                    // from here on there are no new sessions
	for _, s := range e.openSessions() {
		s.end(lifetime.Closing)
	}
	e.room.Close()
	e.workers.Close() // they read what the node lends
	e.mirror.Close()
	e.checks.Close()
	if e.db != nil {
		e.db.Close()
	}
	if e.borrower != nil {
		e.ended = e.borrower.Close()
	}
	if e.node != nil {
		e.deltas.Close(e.catalog, e.config.Log)
		e.sequences.Close(e.config.Log)
		e.ended = errors.Join(e.ended, e.node.Close())
	}
	return e.ended
}

// MakeFunctions makes what the first text that calls one of PostgreSQL's functions waits for otherwise.
func (e *Engine) MakeFunctions() error { return e.mirror.MakeFunctions() }

// threadsWanted is how many threads the sessions and DuckDB may need.
func (e *Engine) threadsWanted() int {
	e.mu.Lock()
	sessions := len(e.sessions)
	e.mu.Unlock()
	return threadsOfSession*sessions + e.overdue.Usage().Now + e.config.Threads
}

// threadsOfSession is how many a session may need.
const threadsOfSession = 2

func (e *Engine) openSessions() []*Session {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Collect(maps.Keys(e.sessions))
}

// enter requires a call inside of the engine.
func (e *Engine) enter(s *Session) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.sessions[s] = struct{}{}
	e.config.Sessions(len(e.sessions))
}

func (e *Engine) leave(s *Session) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.sessions, s)
	e.config.Sessions(len(e.sessions))
}

// RowLocks counts the claims of rows that transactions have changed, and the sessions that wait for them.
func (e *Engine) RowLocks() rowlock.Usage { return e.transactions.Rows.Usage() }

// begin starts changes on a snapshot.
func (e *Engine) begin(s *catalog.Snapshot) *catalog.Transaction { return e.catalog.Begin(s) }

// snapshot pins the tables as they are now. The caller releases the lease.
func (e *Engine) snapshot(ctx context.Context, maxAge time.Duration) (l *lease.Lease, age time.Duration, err error) {
	if e.config.worker {
		if l := e.borrower.Given(); l != nil {
			return l, 0, nil
		}
		return nil, 0, sqlerror.New("XX000", "the node has given the worker no snapshot")
	}
	if e.borrower != nil {
		return e.borrower.Snapshot(ctx, maxAge)
	}
	holder := catalog.Holder{Description: "session", MaxAge: maxAge, Unsealed: maxAge == delta.Unsealed}
	s, err := e.catalog.Snapshot(ctx, holder)
	if err != nil {
		return nil, 0, err
	}
	return lease.New(s, nil), s.Age, nil
}

// trustworthy is lease.Trustworthy in this engine (E3).
func (e *Engine) trustworthy(ctx context.Context, faults uint64, by *reader.Readings, l *lease.Lease) error {
	return l.Trustworthy(ctx, e.reader, faults, by, e.node != nil && e.node.Self != nil)
}

// Counters are the protocol's, by name.
func (e *Engine) Counters() *coherence.Counters { return e.reader.Counters() }

// threads is how many goroutines work on one statement.
func (e *Engine) threads() int {
	if e.config.Threads > 0 {
		return e.config.Threads
	}
	return runtime.GOMAXPROCS(0)
}

// Fenced is closed when the cluster has given this node up: its tables are still there, but this engine cannot know what
// the others do with them. Close it and open it again.
func (e *Engine) Fenced() <-chan struct{} {
	if e.node == nil {
		return nil
	}
	return e.node.Fenced()
}

// MemoryBytes is what queries may use outside of the region: Config.MemoryBytes, or what was chosen in its place.
func (e *Engine) MemoryBytes() int64 { return e.memory.Whole }

// Error is an error of a statement with what SQL clients want to know of it.
type Error = sqlerror.Error

// ErrClosed is what errors.Is finds in the errors of everything that is asked of an engine after Close began (57P03),
// or that Close ended (57P01); ErrSessionClosed is the same of a session (08003).
var (
	ErrClosed        = lifetime.ErrClosed
	ErrSessionClosed = lifetime.ErrSessionClosed
)

// Attach borrows the memory of a running node: its tables are asked in this process, by this process' own DuckDB, over the
// very bytes that the node wrote. target is the node's unix socket. The engine reads only; writing is the node's.
func Attach(ctx context.Context, target string) (*Engine, error) {
	return AttachWith(ctx, target, Config{})
}

// AttachWith is Attach with the settings of config that concern queries: MemoryBytes, SpillBytes, Threads, Files, Verify, Log, and
// Directory for spilling; and Credentials, with which target may be the host:port of a cluster's node.
func AttachWith(ctx context.Context, target string, config Config) (*Engine, error) {
	if err := errors.Join(config.Verify.Check(), config.disable(), dialect.Check(config.Dialect)); err != nil {
		return nil, err
	}
	if config.Workers.Count > 0 {
		return nil, sqlerror.New("0A000", "a process that is attached to a node has no workers").WithHint("The node may have some.")
	}
	e := newEngine(config)
	if err := e.attach(ctx, target); err != nil {
		return nil, errors.Join(err, e.Close())
	}
	return e, nil
}

func (e *Engine) attach(ctx context.Context, target string) error {
	e.borrower = borrower.New(borrower.Config{
		Target: target, Credentials: e.config.Credentials, Verify: e.config.Verify, Log: e.config.Log,
	})
	attached, err := e.borrower.Attach(ctx)
	if err != nil {
		return err
	}
	e.config.Node, e.reader = attached.Node, attached.Reader
	e.follows = follow.NewRemote(e.borrower.Await)
	if err := e.openDatabase(attached.RegionBytes); err != nil {
		return err
	}
	if e.config.worker {
		return nil // its first statement comes with a snapshot
	}
	l, _, err := e.snapshot(ctx, 0) // trouble shows at the start
	if err != nil {
		return err
	}
	l.Release()
	if !e.config.Prefault {
		return nil
	}
	return e.inspector().Prefault(ctx, e.config.Progress)
}
