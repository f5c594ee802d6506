package engine

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/cluster/noderpc"
	"github.com/csmsql/csmsql/engine/assembly"
	"github.com/csmsql/csmsql/engine/fragment"
	"github.com/csmsql/csmsql/engine/lease"
	"github.com/csmsql/csmsql/engine/lineage"
	"github.com/csmsql/csmsql/engine/load"
	"github.com/csmsql/csmsql/engine/member"
	"github.com/csmsql/csmsql/engine/reader"
	"github.com/csmsql/csmsql/engine/split"
	"github.com/csmsql/csmsql/engine/upkeep"
	"github.com/csmsql/csmsql/sql/sqlerror"
	"github.com/csmsql/csmsql/sql/statement"
)

// What the engine and its keeper ask each other. The keeper knows where chunks lie and should lie (package upkeep).

// newKeeper requires the node, or the attachment, and what memory there is.
func (e *Engine) newKeeper() *upkeep.Keeper {
	c := upkeep.Config{
		Name: e.config.Node, Node: e.node, Reader: e.reader, Facts: &e.facts, Engine: caretaker{e}, Threads: e.threads,
		HoldBytes: e.memory.Chunk, Compacts: !e.config.NoCompaction, Log: e.config.Log, Fault: e.config.Fault,
	}
	if e.config.Cluster != nil {
		c.RepairAfter = e.config.Cluster.RepairAfter
	}
	return upkeep.New(c)
}

// newLoader requires the node and the database.
func (e *Engine) newLoader() *load.Loader {
	return load.New(load.Config{
		Name: e.config.Node, Node: e.node, Keeper: e.upkeep, Keys: &e.keys,
		Database: e.db, FileMemory: e.memory.Counted / 2, SpillDirectory: filepath.Join(e.config.Directory, "spill"),
		BatchBytes: e.memory.Whole, Threads: e.threads, DatabaseThreads: e.config.Threads,
		Files: e.config.Files, Fault: e.config.Fault, Sequences: e.sequences.Counter(e.life.Context, e.catalog.Applied),
	})
}

// loading lets a load in; a borrower has no tables to load.
func (e *Engine) loading(ctx context.Context) (_ context.Context, leave func(), err error) {
	ctx, leave, err = e.life.Call(ctx)
	if err == nil && e.catalog == nil {
		leave()
		err = sqlerror.New("25006", "a borrower cannot load tables").WithHint("Load through the node itself.")
	}
	return ctx, leave, err
}

// Load reads Parquet, CSV, JSON or Arrow IPC files into a table, all or nothing. It reads with the process' own rights: it is
// for the program that embeds the engine and for the owner of the node, never for SQL. progress may be nil.
func (e *Engine) Load(ctx context.Context, request noderpc.LoadRequest,
	progress func(noderpc.Progress)) (noderpc.LoadResult, error) {
	ctx, leave, err := e.loading(ctx)
	if err != nil {
		return noderpc.LoadResult{}, err
	}
	defer leave()
	result, err := e.loader.Load(ctx, request, progress)
	return result, e.life.CauseOf(err)
}

// LoadTPCH generates the eight TPC-H tables straight into the region: every buffer is made where it will stay. All tables
// appear in one commit. progress may be nil; it is called from several goroutines.
func (e *Engine) LoadTPCH(ctx context.Context, request noderpc.TPCHRequest, progress func(noderpc.Progress)) error {
	ctx, leave, err := e.loading(ctx)
	if err != nil {
		return err
	}
	defer leave()
	return e.life.CauseOf(e.loader.TPCH(ctx, request, progress))
}

// startUpkeep has the keeper look after the tables. It ends with the engine, which waits for it.
func (e *Engine) startUpkeep() error {
	ctx, leave, err := e.life.Call(context.Background())
	if err != nil {
		return err
	}
	go func() {
		defer leave()
		e.upkeep.Keep(ctx)
	}()
	return nil
}

// sourceFile takes notice of a file that is about to be read into a table, see lineage.Open.
func (e *Engine) sourceFile(path string, sql bool, columns []string, call func(file string) (string, error)) *lineage.Source {
	if e.node == nil {
		return lineage.Unknown()
	}
	return lineage.Open(e.config.Node, path, sql, columns, call)
}

// alterOnline changes where a table's rows lie.
func (st *Statement) alterOnline(ctx context.Context, change *upkeep.Online) (*Rows, error) {
	s, table := st.session, change.Name
	switch {
	case s.engine.catalog == nil:
		return nil, sqlerror.New("25006", "this session reads the lent memory of another process and cannot write").WithHint("Write through the node itself: csmsql sql without --attach.")
	case s.block != nil && (!s.block.implicit || s.block.Changes != nil || s.block.rows != nil):
		return nil, sqlerror.New("25001", "ALTER TABLE … %s cannot run inside a transaction block", change.Words).WithHint("It commits more than once, so that a large table does not need twice its space.")
	}
	name, err := s.tableNamed(ctx, table)
	if change.IfExists && sqlerror.State(err) == "42P01" {
		s.noticed(fmt.Sprintf("relation %q does not exist, skipping", table.String()), "")
		return done("ALTER TABLE", 0), nil
	}
	if err != nil {
		return nil, st.parsed.PointAt(err, table.Name)
	}
	if err := change.Do(ctx, s.engine.upkeep, name, s.noticed); err != nil {
		return nil, member.ExplainFull(err)
	}
	return done("ALTER TABLE", 0), nil
}

// tableNamed finds a table for a statement that holds no snapshot of its own.
func (s *Session) tableNamed(ctx context.Context, name statement.Name) (catalog.TableName, error) {
	own, err := s.temporaryNames(ctx)
	if err != nil {
		return catalog.TableName{}, err
	}
	l, _, err := s.engine.snapshot(ctx, 0)
	if err != nil {
		return catalog.TableName{}, err
	}
	v := s.seeing(l.Snapshot.Contents, l, own)
	defer v.Release()
	version, err := v.Stored(name)
	if err != nil {
		return catalog.TableName{}, err
	}
	return version.Table().Name, nil
}

// caretaker is the engine as its keeper sees it: upkeep.Engine.
type caretaker struct{ engine *Engine }

// Check implements upkeep.Engine.
func (c caretaker) Check(table catalog.Table, zone string) (func(context.Context, arrow.RecordBatch) error, error) {
	return c.engine.checks.OfChunks(table, zone)
}

// Trustworthy implements upkeep.Engine.
func (c caretaker) Trustworthy(ctx context.Context, faults uint64, by *reader.Readings, snapshot *catalog.Snapshot) error {
	return c.engine.trustworthy(ctx, faults, by, lease.New(snapshot, nil))
}

// Derive implements upkeep.Engine.
func (c caretaker) Derive(ctx context.Context, table catalog.Table, words string) (int, error) {
	return c.engine.rederive(ctx, table, words)
}

// Files implements upkeep.Engine.
func (c caretaker) Files() upkeep.Files { return c.engine.loader.Reread() }

// startFragments requires the keeper: parts of statements are run, and had run by other nodes.
func (e *Engine) startFragments() {
	if e.node == nil {
		return
	}
	e.fragmentSessions.engine = e
	e.fragments = fragment.New(fragment.Config{
		Node: e.node, Keeper: e.upkeep, Facts: &e.facts, Life: e.life, Texts: &e.fragmentSessions, Count: e.counts.Fragment,
		Log: e.config.Log, Fault: e.config.Fault,
	})
	e.split = split.New(split.Config{
		Name: e.config.Node, Node: e.node, Facts: &e.facts, Life: e.life, Here: e.fragments.Here,
		Retried: e.counts.Retry, Log: e.config.Log, Fault: e.config.Fault,
	})
}

// Assembly makes a table, or more rows of one, of parts that Arrow builders write straight into the memory of nodes.
type Assembly = assembly.Assembly

// Part is some of an assembly's rows, in one node's memory.
type Part = assembly.Part

// AssembleOptions say which table.
type AssembleOptions = assembly.Options

// ErrAssemblyOver is what errors.Is finds when an assembly is used after Commit or Abort.
var ErrAssemblyOver = assembly.ErrOver

// Assemble begins. Errors have the states that CREATE TABLE and INSERT have: 42P07, 42P01, 3F000, 25006 for a borrower;
// 0A000 for a table whose rows are placed by their hash: INSERT puts those where they belong.
func (e *Engine) Assemble(ctx context.Context, options AssembleOptions) (*Assembly, error) {
	ctx, leave, err := e.life.Call(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	if e.catalog == nil {
		return nil, sqlerror.New("25006", "a borrower cannot make tables").WithHint("Make them through the node itself.")
	}
	on := assembly.On{Name: e.config.Node, Node: e.node, Keeper: e.upkeep, Checks: e.checks, Life: e.life}
	on.Keys = &e.keys
	a, err := assembly.Begin(ctx, on, options)
	return a, e.life.CauseOf(err)
}
