package engine

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/zeebo/xxh3"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/coherence"
	"github.com/csmsql/csmsql/engine/account"
	"github.com/csmsql/csmsql/engine/budget"
	"github.com/csmsql/csmsql/engine/custody"
	"github.com/csmsql/csmsql/engine/definition"
	"github.com/csmsql/csmsql/engine/lease"
	"github.com/csmsql/csmsql/engine/rewrite"
	"github.com/csmsql/csmsql/engine/snapshot"
	"github.com/csmsql/csmsql/engine/workforce"
	"github.com/csmsql/csmsql/exec/duckdb"
	"github.com/csmsql/csmsql/memregion"
	"github.com/csmsql/csmsql/sql/dialect"
	"github.com/csmsql/csmsql/sql/statement"
)

// What tests may look at: the account of a node's memory.

// SetDefaultFabric is for all engines whose configuration names none.
func SetDefaultFabric(text memregion.FabricKind) { defaultFabric = text }

// Mutate has the node compare no checksums, and lines stand between the protocol and its caches; use says who orders
// it.
func (c *Config) Mutate(lines func(use string, lines coherence.Lines) coherence.Lines) {
	c.mutate = mutations{lines: lines, skipChecksums: true}
}

// OnePass has copies flush each piece when it was stored, as if that had been the fastest way: time passes only while
// much is flushed at once, which what is measured of the other way ends with.
func (c *Config) OnePass() {
	var now atomic.Int64
	before := c.mutate.lines
	c.mutate.lines = func(use string, lines coherence.Lines) coherence.Lines {
		if before != nil {
			lines = before(use, lines)
		}
		return slowFlushes{lines, &now}
	}
	c.mutate.clock = func() time.Time { return time.Unix(0, now.Load()) }
}

type slowFlushes struct {
	coherence.Lines
	now *atomic.Int64
}

func (l slowFlushes) Flush(b []byte) int {
	const measured = 256 << 10 // coherence.Chooser
	if len(b) >= measured {
		l.now.Add(int64(time.Millisecond))
	}
	return l.Lines.Flush(b)
}

// MovedBytes is what this node has copied of other nodes' extents into longer ones.
func (e *Engine) MovedBytes() (n uint64) {
	e.node.Lending.Each(func(s coherence.Sample) {
		if s.Name == "lent_moved_bytes_total" {
			n = s.Value
		}
	})
	return n
}

// Contents are what the catalog has.
func (e *Engine) Contents() *catalog.Contents { return e.catalog.Applied() }

// RegionSpec is the node's region.
func (e *Engine) RegionSpec() memregion.Spec { return e.node.Region }

// RegionStats are the counters of the node's region.
func (e *Engine) RegionStats() memregion.RegionStats { return e.node.Lent.Stats() }

// SetQuota limits what a table may hold of the region.
func (e *Engine) SetQuota(table string, bytes int64) { e.node.Lent.SetQuota(table, bytes) }

// CheckSpace compares what the region holds with what the catalog needs: exactly the extents of the current versions,
// nothing more (a leak) and nothing less (a loss). No statement may be at work and no lease may hold an older version.
// Chunks that are folded or moved in the background have extents that no version has yet, or has any longer: it waits
// for them, for as long as spaceSettles.
func (e *Engine) CheckSpace(ctx context.Context) error {
	for began := time.Now(); ; time.Sleep(20 * time.Millisecond) {
		if err := e.compareSpace(ctx); err == nil || time.Since(began) > spaceSettles {
			return err
		}
	}
}

const spaceSettles = 20 * time.Second

func (e *Engine) compareSpace(ctx context.Context) error {
	if err := e.node.Lent.Verify(); err != nil {
		return err
	}
	var wanted []memregion.Owned
	var bytes int64
	err := e.catalog.LiveExtents(ctx, func(x catalog.LiveExtent) error {
		if x.Region == e.node.Region.ID {
			wanted = append(wanted, memregion.Owned{Owner: x.Owner, Range: x.Range})
			bytes += x.Range.Length
		}
		return nil
	})
	if err != nil {
		return err
	}
	slices.SortFunc(wanted, func(a, b memregion.Owned) int { return int(a.Range.Offset - b.Range.Offset) })
	held := e.node.Lent.Extents()
	if !slices.Equal(wanted, held) {
		return fmt.Errorf("the catalog needs %d extents and the region holds %d; first difference: %v", len(wanted), len(held), firstDifference(wanted, held))
	}
	if used := e.node.Lent.Stats().Used; used != bytes {
		return fmt.Errorf("the region says that %d bytes are used, its extents have %d", used, bytes)
	}
	return nil
}

func firstDifference(wanted, held []memregion.Owned) string {
	for i := range max(len(wanted), len(held)) {
		switch {
		case i >= len(wanted):
			return fmt.Sprintf("leaked %v", held[i])
		case i >= len(held):
			return fmt.Sprintf("lost %v", wanted[i])
		case wanted[i] != held[i]:
			return fmt.Sprintf("needed %v, held %v", wanted[i], held[i])
		}
	}
	return "none"
}

// Directory is the node's data directory.
func (e *Engine) Directory() string { return e.config.Directory }

// LiveExtents lists what the current versions need, those that other nodes have committed by now among them.
func (e *Engine) LiveExtents(ctx context.Context) (list []catalog.LiveExtent, err error) {
	s, err := e.catalog.Snapshot(ctx, catalog.Holder{})
	if err != nil {
		return nil, err
	}
	defer s.Close()
	err = e.catalog.LiveExtents(ctx, func(x catalog.LiveExtent) error {
		list = append(list, x)
		return nil
	})
	return list, err
}

// VerifiedBytes is how many bytes were compared with their checksums.
func (e *Engine) VerifiedBytes() int64 { return e.reader.VerifiedBytes() }

// WriteExtent grants an extent, stores, lets during happen, and seals.
func (e *Engine) WriteExtent(during func()) error {
	holder := e.node.Hold("test")
	defer holder.Close()
	g, err := holder.Space(e.node.Space).Grant("test", memregion.PageSize)
	if err != nil {
		return err
	}
	clear(g.Bytes())
	during()
	if err := errors.Join(g.Clean(), g.Seal(coherence.Seal{Length: memregion.PageSize, Checksum: 1})); err != nil {
		return errors.Join(err, g.Abort())
	}
	return e.node.Homes.Discard(catalog.ExtentID{Region: e.node.Region.ID, Generation: g.Generation()})
}

// ParkedBytes is what results that were read ahead take.
func (e *Engine) ParkedBytes() int64 { return e.parking.Bytes() }

// HeapAndKernelBytes are Go's and the kernel's part of a node's memory beside C code's.
const HeapAndKernelBytes = budget.HeapBytes + budget.KernelBytes

// SessionBytes is what a session is charged in any case.
const SessionBytes = account.SessionBytes

// SharesOf returns the parts of a memory limit.
func SharesOf(memoryBytes int64) (counted, process, chunk, parked, keys, text int64) {
	s := budget.Of(memoryBytes)
	return s.Counted, s.Process, s.Chunk, s.Parked, s.Keys, s.Text
}

// StoreView makes a view with the text as it is.
func (s *Session) StoreView(ctx context.Context, schema, name, sql string) error {
	return s.write(ctx, func(tx *catalog.Transaction, _ *snapshot.View) error {
		_, err := tx.CreateView(ctx, catalog.TableName{Schema: schema, Name: name}, sql, nil)
		return err
	})
}

// What travels of parameters.
var ()

// PivotItems counts the items of PIVOTs in a text that have no values.
func PivotItems(text string) int { return len(dialect.PivotItems(text)) }

// KeptPlans counts the plans that a session keeps, and those that all of the engine's do, with the bytes of their key
// sets.
func KeptPlans(s *Session) (session, engine int, bytes int64) {
	engine, bytes = s.engine.kept.Kept()
	return len(s.kept.list), engine, bytes
}

// PlanOf identifies the plan of a prepared statement.
func PlanOf(st *Statement) any { return st.plan }

// FinalOf is the plan that a split statement keeps of what its results are finished with; nil: none.
func FinalOf(st *Statement) *query { return st.plan.final }

// FragmentPlans counts the plans that sessions of fragments keep.
func (e *Engine) FragmentPlans() (n int) {
	e.fragmentSessions.mu.Lock()
	defer e.fragmentSessions.mu.Unlock()
	for _, s := range e.fragmentSessions.idle {
		n += len(s.kept.list)
	}
	return n
}

// SharesOfWorkers divides memory and what may be spilled among a node and its workers.
func SharesOfWorkers(w Workers, memory, spill int64) (own, each, ownSpill, eachSpill int64, err error) {
	own, each, err = w.Shared(memory)
	ownSpill, eachSpill = w.Spill(spill)
	return own, each, ownSpill, eachSpill, err
}

// WorkerBeside is what a worker may take beside what its statements have.
const WorkerBeside = workforce.Beside

// StartOf is the first message to a worker in a slot.
func (e *Engine) StartOf(slot int) (memory, spill int64, err error) {
	payload, err := e.workers.Start(slot)
	var start workforce.Start
	err = errors.Join(err, json.Unmarshal(payload, &start))
	return start.MemoryBytes, start.SpillBytes, err
}

// RecordFor is the snapshot of now as workers receive it.
func (s *Session) RecordFor(ctx context.Context) ([]byte, error) {
	v, err := s.see(ctx)
	if err != nil {
		return nil, err
	}
	defer v.Release()
	return s.engine.workers.Snapshot(v.Lease.Snapshot).Record()
}

// Quarantined counts the extents of the node's region whose writers died and may be heard of.
func (e *Engine) Quarantined() int {
	return e.node.Homes[e.node.Region.ID].Stats().Extents[coherence.Quarantined]
}

// LiftAll takes an operator's word that no borrower that is gone can reach the memory any more.
func (e *Engine) LiftAll() {
	for _, b := range e.node.Lending.Borrowers() {
		e.node.Lending.Lift(b.Name, b.Incarnation)
	}
}

// Disturb lets the adversary of the node's caches do something.
func (e *Engine) Disturb() { e.node.Fabric.Lines.FenceStore() }

// Reuse writes the byte all over an extent of the node's memory, seals it and looks at the memory behind all caches,
// after others did something. Then the extent goes back.
func (e *Engine) Reuse(length int64, value byte, meanwhile func()) (at memregion.Range, foreign int, err error) {
	holder := e.node.Hold("reuse")
	defer holder.Close()
	g, err := holder.Space(e.node.Space).Grant("reuse", length)
	if err != nil {
		return at, 0, err
	}
	home := e.node.Homes[e.node.Region.ID]
	at = home.Generation(g.Generation()).Range
	for i := range g.Bytes() {
		g.Bytes()[i] = value
	}
	if err := errors.Join(g.Clean(), g.Seal(coherence.Seal{Length: length})); err != nil {
		return at, 0, err
	}
	meanwhile()
	found := make([]byte, at.Length)
	file, err := os.Open(e.node.Region.Path)
	if err != nil {
		return at, 0, err
	}
	defer file.Close()
	if _, err := file.ReadAt(found, at.Offset); err != nil {
		return at, 0, err
	}
	return at, len(found) - bytes.Count(found, []byte{value}), home.Discard(g.Generation())
}

// QuarantinedRange is one of the extents in quarantine.
func (e *Engine) QuarantinedRange() (at memregion.Range) {
	home := e.node.Homes[e.node.Region.ID]
	for gen := coherence.Generation(1); gen < 10_000; gen++ {
		if v := home.Generation(gen); v.State == coherence.Quarantined {
			return v.Range
		}
	}
	return at
}

// Drop lets the node's caches have the range no more.
func (e *Engine) Drop(r memregion.Range) {
	e.reader.Drop(coherence.StepAcquire, e.node.Lent.Bytes(r))
}

// ExtentsOf is how many extents of this node's memory the chunks of a table have.
func (e *Engine) ExtentsOf(ctx context.Context, owner string) (n int, err error) {
	err = e.catalog.LiveExtents(ctx, func(x catalog.LiveExtent) error {
		if x.Region == e.node.Region.ID && x.Owner == owner {
			n++
		}
		return nil
	})
	return n, err
}

// WriteBackBeside writes the page before and the one behind some bytes of the node's memory back, as its caches have
// them: as if they lay in one line with these bytes, of which a processor writes back all.
func (e *Engine) WriteBackBeside(b []byte) error {
	spec := e.node.Region
	memory, err := os.OpenFile(spec.Path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	base, _ := e.node.Lent.View().Mapping()
	at := int64(uintptr(unsafe.Pointer(unsafe.SliceData(b))) - uintptr(base))
	end := (at + int64(len(b)) + memregion.PageSize - 1) / memregion.PageSize * memregion.PageSize
	for _, page := range []int64{at/memregion.PageSize*memregion.PageSize - memregion.PageSize, end} {
		if page < 0 || page+memregion.PageSize > e.node.Lent.Stats().Backed {
			continue
		}
		beside, failed := e.node.Lent.View().Bytes(memregion.Range{Offset: page, Length: memregion.PageSize}) // also unowned
		if failed == nil {
			_, failed = memory.WriteAt(beside, spec.Start+page)
		}
		err = errors.Join(err, failed)
	}
	return errors.Join(err, memory.Close())
}

// Scribble stores into a line of each of a table's extents in this node's memory, as a program of its machine would
// that no protection stops: into the emulated cache.
func (e *Engine) Scribble(ctx context.Context, owner string) error {
	cache, err := os.OpenFile(e.node.Region.Path+".cache", os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	err = e.catalog.LiveExtents(ctx, func(x catalog.LiveExtent) error {
		if x.Region != e.node.Region.ID || x.Owner != owner {
			return nil
		}
		_, err := cache.WriteAt(bytes.Repeat([]byte{0x5a}, 64), x.Range.Offset)
		return err
	})
	return errors.Join(err, cache.Close())
}

// DropAll lets the node's caches have nothing of any region any more: what is modified is written back. Where caches
// are coherent it does nothing.
func (e *Engine) DropAll() {
	if e.reader.Fabric().Lines == nil {
		return
	}
	for _, m := range e.reader.Mapped() {
		info, err := os.Stat(m.View().Spec().Path)
		if err != nil {
			continue
		}
		if data, err := m.View().Bytes(memregion.Range{Length: min(info.Size(), m.View().Spec().Capacity)}); err == nil {
			e.reader.Drop(coherence.StepAcquire, data)
		}
	}
}

// ReadFirstChunk has a session read a table's first column as DuckDB's threads do, under ctx.
func (s *Session) ReadFirstChunk(ctx context.Context, table string) error {
	v, err := s.see(context.Background())
	if err != nil {
		return err
	}
	defer v.Release()
	v.Read.Begin()
	batch, err := s.newScan(ctx, v, v.Find("public", table), nil).Open(0, []int{0})
	if err == nil {
		batch.Release()
	}
	return err
}

// RegionsOf are those that an answer is made of which reads a table's first chunk.
func (e *Engine) RegionsOf(ctx context.Context, table string) ([]memregion.RegionID, error) {
	s, err := e.Session(SessionOptions{})
	if err != nil {
		return nil, err
	}
	defer s.Close()
	v, err := s.see(ctx)
	if err != nil {
		return nil, err
	}
	defer v.Release()
	v.Read.Begin()
	batch, err := s.newScan(ctx, v, v.Find("public", table), nil).Open(0, []int{0})
	if err != nil {
		return nil, err
	}
	batch.Release()
	return v.Read.InRegions(), nil
}

// Touch loads a byte of each page of a table's extents in this node's memory, as a statement would that does not know
// that they are gone.
func (e *Engine) Touch(ctx context.Context, owner string) (sum int, err error) {
	err = e.catalog.LiveExtents(ctx, func(x catalog.LiveExtent) error {
		if x.Region == e.node.Region.ID && x.Owner == owner {
			for at, b := 0, e.node.Lent.Bytes(x.Range); at < len(b); at += memregion.PageSize {
				sum += int(b[at])
			}
		}
		return nil
	})
	return sum, err
}

// Faults counts the pages that were found gone.
func (e *Engine) Faults() uint64 { return e.reader.Faults() }

// ReadChunks reads the first column of every chunk, as a statement does.
func (e *Engine) ReadChunks(ctx context.Context) error {
	return e.inspector().Each(context.WithoutCancel(ctx), nil, func(_ *lease.Lease, t *catalog.TableVersion, p catalog.Position) error {
		batch, err := e.reader.Read(ctx, e.reader.Readings(e.reader.Verification()), t.Table().Name.String(), p.Index, p.Chunk, []int{0})
		if err == nil {
			batch.Release()
		}
		return err
	}, nil)
}

// LettingGo counts the statements whose results are let go in the background; there are split.LaterMost at the most.
func (e *Engine) LettingGo() int { return e.split.LettingGo() }

// Volatile reports whether DELETE … USING refuses the function.
func Volatile(name string) bool { return dialect.VolatileIn(name+"(") != "" }

// Stray makes an extent in the node's memory that has no holder, at a stage of its life.
func (e *Engine) Stray(stage string) (catalog.Grant, error) {
	return stray(e.node.Space, stage, e.node.Lender.Publish)
}

func stray(space catalog.Space, stage string, publish func(...catalog.ExtentID) error) (catalog.Grant, error) {
	g, err := space.Grant("test", memregion.PageSize)
	if err != nil || stage == "granted" {
		return g, err
	}
	clear(g.Bytes())
	seal := coherence.Seal{Length: memregion.PageSize, Checksum: xxh3.Hash(g.Bytes())}
	if err := errors.Join(g.Clean(), g.Seal(seal)); err != nil || stage == "sealed" {
		return g, err
	}
	return g, publish(catalog.ExtentID{Region: space.Region(), Generation: g.Generation()})
}

// Lose has an extent granted in another node's memory and forgets it.
func (e *Engine) Lose(ctx context.Context, node, stage string) (catalog.ExtentID, error) {
	space, err := e.node.SpaceOf(ctx, node)
	if err != nil {
		return catalog.ExtentID{}, err
	}
	g, err := stray(space, stage, e.node.Lender.Publish)
	if err != nil {
		return catalog.ExtentID{}, err
	}
	id := catalog.ExtentID{Region: space.Region(), Generation: g.Generation()}
	e.node.Book().Over(id)
	return id, nil
}

// What the janitor does.
func (e *Engine) Sweep(ctx context.Context)   { e.node.Sweep(ctx) }
func (e *Engine) Confirm(ctx context.Context) { e.node.Confirm(ctx) }

// RenewAt is one turn of the renewals.
func (e *Engine) RenewAt(ctx context.Context, node string) error {
	return e.node.RenewAt(ctx, node, renewals)
}

var renewals = map[memregion.RegionID]*custody.Disclaimer{}

// Standing reports whether the node is a member of its cluster, as far as it knows.
func (e *Engine) Standing() error { return e.catalog.Standing() }

// FactsBytes is what is charged for facts.
func FactsBytes(e *Engine) int64 { return e.facts.Account.Used() }

// OutsideBytes is what rows of COPY take that are gathered.
func OutsideBytes() int64 { return int64(duckdb.Outside.AllocatedBytes()) }

// Shortage is what it says of DuckDB's memory, and nil of what it says of words.
func Shortage(err error) *Error { return definition.Shortage(err) }

// InsertsGathered is how many transactions have put their rows into commits together with others', or could have.
func (e *Engine) InsertsGathered() int64 { return e.inserts.Sizes.Members() }

// InsertCommits is in how many commits.
func (e *Engine) InsertCommits() int64 { return e.inserts.Sizes.Groups() }

// PlansLookup reports whether the Arrow kernels find the rows that an UPDATE or a DELETE is about.
func (s *Session) PlansLookup(ctx context.Context, sql string) (bool, error) {
	parsed, err := statement.Parse(sql)
	if err != nil {
		return false, err
	}
	var r rewrite.Rewrite
	switch head := parsed.Head.(type) {
	case *statement.Update:
		r, err = rewrite.OfUpdate(head)
	case *statement.Delete:
		r, err = rewrite.OfDelete(head)
	}
	if err != nil {
		return false, err
	}
	v, err := s.see(ctx)
	if err != nil {
		return false, err
	}
	defer v.Release()
	version, err := v.Target(r.Name)
	return err == nil && s.planLookup(v, version, r, nil) != nil, err
}

// ByKernels reports whether the Arrow kernels run the statement.
func (st *Statement) ByKernels() bool { return st.plan != nil && st.plan.compute != nil }

// NamesReached is the revision that DuckDB's names have been brought to.
func NamesReached(e *Engine) catalog.Revision { return e.mirror.Reached() }

// FunctionsMade reports whether DuckDB has PostgreSQL's functions.
func FunctionsMade(e *Engine) bool { return e.mirror.HasFunctions() }

// HandedOver is how many insertions another node has committed for this one, and how many of them had to be settled.
func (e *Engine) HandedOver() (handed, settled int64) {
	return e.inserts.HandedOver.Load(), e.inserts.Settled.Load()
}
