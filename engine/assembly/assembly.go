package assembly

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/engine/cast"
	"github.com/csmsql/csmsql/engine/check"
	"github.com/csmsql/csmsql/engine/columntype"
	"github.com/csmsql/csmsql/engine/custody"
	"github.com/csmsql/csmsql/engine/ingest"
	"github.com/csmsql/csmsql/engine/lifetime"
	"github.com/csmsql/csmsql/engine/materialized"
	"github.com/csmsql/csmsql/engine/member"
	"github.com/csmsql/csmsql/engine/placement"
	"github.com/csmsql/csmsql/engine/reference"
	"github.com/csmsql/csmsql/engine/upkeep"
	"github.com/csmsql/csmsql/exec/duckdb"
	"github.com/csmsql/csmsql/exec/duckdb/normal"
	"github.com/csmsql/csmsql/internal/counted"
	"github.com/csmsql/csmsql/sql/sqlerror"
)

// Assembly makes a table, or more rows of one, of parts.
//
// Parts say which rows they have, counted from 0 in this assembly: Commit refuses a gap or an overlap and names it,
// whatever the order in which parts were begun and filled.
//
// Exactly one of Commit and Abort ends it; Abort after Commit does nothing, so that it can be deferred. What builders
// have of it is the engine's memory: it is not to be touched any more when the assembly, or the engine, has ended. Its
// methods may be called from several goroutines, those of a Part from one.
type Assembly struct {
	on      On
	holder  *custody.Holder // of its parts' memory
	options Options
	schema  *arrow.Schema // the table's
	table   uint64        // the table that is appended to; 0: it is to be made
	target  ingest.Target

	mu    sync.Mutex // guards what follows; above Part.mu
	parts []*Part
	over  error // why nothing is taken any more
}

// On is the node on which an assembly is begun.
type On struct {
	// Name is the node's.
	Name   string
	Node   *member.Node
	Keeper *upkeep.Keeper
	Checks *check.Checker
	Keys   *reference.Keeper
	Life   *lifetime.Lifetime
}

// Options say which table.
type Options struct {
	// Table is the table's name; no Schema: public.
	Table catalog.TableName
	// Columns are those of the table, which must not exist; nil: rows are put after those of one that exists.
	Columns *arrow.Schema
}

// ErrOver is what errors.Is finds when an assembly is used after Commit or Abort.
var ErrOver = errors.New("the assembly has ended")

// Begin begins one, in a call that is inside of the node's lifetime. Errors have the states that CREATE TABLE and
// INSERT have: 42P07, 42P01, 3F000; 0A000 for a table whose rows are placed by their hash: INSERT puts those where they
// belong.
func Begin(ctx context.Context, on On, options Options) (*Assembly, error) {
	options.Table.Schema = cmp.Or(options.Table.Schema, duckdb.SchemaName)
	snapshot, err := on.Node.Catalog.Snapshot(ctx, catalog.Holder{Description: "assembly"})
	if err != nil {
		return nil, err
	}
	defer snapshot.Close()
	a := &Assembly{on: on, holder: on.Node.Hold("assembly of table " + options.Table.String()), options: options}
	version, exists := snapshot.Table(options.Table)
	switch name := options.Table.String(); {
	case !snapshot.HasSchema(options.Table.Schema):
		return nil, sqlerror.New("3F000", "schema %q does not exist", options.Table.Schema)
	case options.Columns == nil && !exists:
		return nil, sqlerror.New("42P01", "relation %q does not exist", name).WithHint("Say which Columns it is to have, to make it.")
	case options.Columns != nil && exists:
		return nil, sqlerror.New("42P07", "relation %q already exists", name).WithHint("Leave Columns out to add to it.")
	case options.Columns != nil:
		if a.schema, err = tableOf(options.Columns); err != nil {
			return nil, err
		}
		a.target = on.Keeper.Target(ctx, options.Table, a.schema)
	default:
		a.table, a.schema = uint64(version.Table().ID), version.Table().Columns
		if err := materialized.Refuse(version.Table()); err != nil {
			return nil, err
		}
		if cast.Generates(a.schema) {
			return nil, sqlerror.New("0A000", "table %v has generated columns: parts cannot be put into it", name)
		}
		a.target = on.Keeper.Target(ctx, options.Table, a.schema)
		p, err := placement.Parse(version.Table().Placement)
		if err != nil {
			return nil, err
		}
		if p.Kind == placement.Hash {
			return nil, sqlerror.New("0A000", "rows of %s are placed by %s: a part cannot have them all", name, p).WithHint("INSERT and COPY put rows where they belong.")
		}
		if a.target.Check, err = on.Checks.OfChunks(version.Table(), check.UTC); err != nil {
			return nil, err
		}
		if a.target.Replicate, err = on.Keeper.Replicator(version.Table(), p); err != nil {
			return nil, err
		}
	}
	if normal.HasOpaque(a.schema) {
		return nil, sqlerror.New("0A000", "table %v has columns of types that Arrow lacks: parts cannot be put into it",
			options.Table).WithHint("INSERT, COPY and load take their values as text and numbers.")
	}
	return a, nil
}

// tableOf are the columns of a table of rows of this schema. Unlike those of a query, they may be NOT NULL.
func tableOf(columns *arrow.Schema) (*arrow.Schema, error) {
	schema, err := columntype.Table(ingest.LogicalSchema(columns), nil)
	if err != nil {
		return nil, err
	}
	fields := schema.Fields()
	for i := range fields {
		fields[i].Nullable = columns.Field(i).Nullable
	}
	return arrow.NewSchema(fields, nil), nil
}

// Schema is the table's: what batches must have, or layouts of the same types.
func (a *Assembly) Schema() *arrow.Schema { return a.schema }

// Part begins a part in a node's memory; empty: this node's. Its rows are those from first on.
func (a *Assembly) Part(ctx context.Context, node string, first int64) (*Part, error) {
	on := &a.on
	ctx, leave, err := on.Life.Call(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	if first < 0 {
		return nil, sqlerror.New("22023", "a part cannot begin at row %d", first)
	}
	node = cmp.Or(node, on.Name)
	if on.Node.Self != nil {
		if err := on.Node.Takes(node); err != nil {
			return nil, err
		}
	} else if node != on.Name {
		return nil, sqlerror.New("42704", "node %q does not exist", node).WithHint("This node is alone: it belongs to no cluster.")
	}
	// Allocators have no context of their own: what a part asks of its node ends with the part, or with the engine.
	long, done := on.Life.Within(custody.With(context.WithoutCancel(ctx), a.holder))
	space, err := on.Node.SpaceOf(long, node)
	if err != nil {
		done()
		return nil, on.Life.CauseOf(err)
	}
	p := &Part{assembly: a, node: node, first: first, space: space, done: done}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.over != nil {
		done()
		return nil, a.over
	}
	a.parts = append(a.parts, p)
	return p, nil
}

// Commit makes the parts one version of the table. After an error nothing of them is left: 22023 names a gap or an
// overlap, 40001 says that another session has changed the table meanwhile.
func (a *Assembly) Commit(ctx context.Context) error {
	on := &a.on
	ctx, leave, err := on.Life.Call(ctx)
	if err != nil {
		return err
	}
	defer leave()
	parts, err := a.end(sqlerror.New("55000", "the assembly was committed").WithCause(ErrOver))
	if err != nil {
		return err
	}
	defer on.Node.LetGo(a.holder)
	chunks, err := inOrder(a.options.Table, parts)
	if err != nil {
		return errors.Join(err, on.Node.Discard(allOf(parts)))
	}
	if err := a.commit(ctx, chunks); err != nil {
		on.Node.Settle(ctx)
		return on.Life.CauseOf(err)
	}
	return nil
}

func (a *Assembly) commit(ctx context.Context, chunks []*catalog.Chunk) (err error) {
	on, name := &a.on, a.options.Table
	taken := false
	defer func() {
		if err != nil && !taken {
			err = errors.Join(err, on.Node.Discard(chunks))
		}
	}()
	snapshot, err := on.Node.Catalog.Snapshot(ctx, catalog.Holder{Description: "assembly"})
	if err != nil {
		return err
	}
	defer snapshot.Close()
	tx := on.Node.Catalog.Begin(snapshot)
	defer tx.Rollback()
	if a.table == 0 {
		if _, err := tx.CreateTable(ctx, name, a.schema, catalog.TableOptions{}); err != nil {
			return err
		}
	} else if version, exists := tx.Contents().Table(name); !exists || uint64(version.Table().ID) != a.table || !version.Table().Columns.Equal(a.schema) {
		return sqlerror.New("40001", "table %s was changed while rows for it were assembled", name)
	}
	taken = true // the transaction gives them back
	if err := tx.Append(name, chunks); err != nil {
		return err
	}
	if err := on.Keys.Changed(ctx, tx, snapshot.Contents, nil); err != nil {
		return err
	}
	return tx.Commit(ctx)
}

// inOrder gives the chunks of parts whose rows follow each other from 0 on.
func inOrder(table catalog.TableName, parts []*Part) (chunks []*catalog.Chunk, err error) {
	parts = slices.DeleteFunc(slices.Clone(parts), func(p *Part) bool { return p.rows == 0 })
	slices.SortStableFunc(parts, func(a, b *Part) int { return cmp.Compare(a.first, b.first) })
	next, before := int64(0), "the beginning"
	for _, p := range parts {
		switch {
		case p.first > next:
			return nil, sqlerror.New("22023", "rows %d to %d of %s are missing: they lie between %s and the part of node %q", next, p.first-1, table, before, p.node)
		case p.first < next:
			return nil, sqlerror.New("22023", "rows %d to %d of %s are there twice: in %s and in the part of node %q", p.first, min(next, p.first+p.rows)-1, table, before, p.node)
		}
		chunks = append(chunks, p.chunks...)
		next, before = p.first+p.rows, "the part of node \""+p.node+"\""
	}
	return chunks, nil
}

func allOf(parts []*Part) (chunks []*catalog.Chunk) {
	for _, p := range parts {
		chunks = append(chunks, p.chunks...)
	}
	return chunks
}

// Abort gives all memory back.
func (a *Assembly) Abort() error {
	on := &a.on
	if !on.Life.EnterToClose() {
		return nil // it went with the engine
	}
	defer on.Life.Leave()
	parts, err := a.end(sqlerror.New("55000", "the assembly was aborted").WithCause(ErrOver))
	if err != nil {
		return nil //nolint:nilerr // it has ended
	}
	defer on.Node.LetGo(a.holder)
	return on.Node.Discard(allOf(parts))
}

// end takes the parts away; an error says that they are gone.
func (a *Assembly) end(why error) (parts []*Part, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.over != nil {
		return nil, a.over
	}
	a.over, parts = why, a.parts
	for _, p := range parts {
		err = errors.Join(err, p.end(why))
	}
	if err != nil {
		err = errors.Join(err, a.on.Node.Discard(allOf(parts)))
	}
	return parts, err
}

// Part is some of an assembly's rows, in one node's memory. For one goroutine.
type Part struct {
	assembly *Assembly
	node     string
	first    int64
	space    catalog.Space
	done     func() // ends the space's context

	mu     sync.Mutex // guards what follows
	writer *catalog.ChunkWriter
	chunks []*catalog.Chunk
	rows   int64
	copied int64
	over   error
}

// Rows that were added.
func (p *Part) Rows() int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.rows
}

// Copied counts the bytes that Add had to copy, because they were not made with Allocator or left too much unused
// between them.
func (p *Part) Copied() int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.copied
}

// Allocator gives memory of the part's node. What builders make with it is not copied when it is added; what was made
// elsewhere is, once. Every batch is to be added before the next is begun: its memory belongs to one chunk.
func (p *Part) Allocator() memory.Allocator { return partMemory{p} }

// Add seals a batch as one chunk of the part, where it was built. The batch stays the caller's to release, and is not
// to be read any more if it was made with Allocator. It has the assembly's columns in their order: other types are
// 42804, other numbers of columns 42601, NULL where none may be 23502, and a node without room 53200. After an error
// the part is as it was before the batch.
func (p *Part) Add(ctx context.Context, batch arrow.RecordBatch) error {
	on := &p.assembly.on
	ctx, leave, err := on.Life.Call(ctx)
	if err != nil {
		return err
	}
	defer leave()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.over != nil {
		return p.over
	}
	return on.Life.CauseOf(p.add(ctx, batch))
}

func (p *Part) add(ctx context.Context, batch arrow.RecordBatch) error {
	batch, err := p.assembly.conform(batch)
	if err != nil {
		return err
	}
	defer batch.Release()
	if batch.NumRows() == 0 {
		return nil
	}
	fit, err := ingest.Fit(ctx, batch, p.assembly.target.Limits) // with spaces that are cut, a column is copied
	if err != nil {
		return err
	}
	defer fit.Release()
	batch = fit
	if hold := p.assembly.target.Check; hold != nil {
		rows, err := check.Outside(batch)
		if err != nil {
			return err
		}
		defer rows.Release()
		if err := hold(ctx, rows); err != nil {
			return err
		}
	}
	w := p.current()
	p.writer = nil
	c, err := w.Seal(ctx, batch, catalog.SealOptions{})
	if err != nil {
		return err
	}
	if replicate := p.assembly.target.Replicate; replicate != nil {
		whole, err := replicate(custody.With(ctx, p.assembly.holder), c)
		if err != nil {
			return errors.Join(err, p.assembly.on.Node.Discard([]*catalog.Chunk{c}))
		}
		c = whole
	}
	p.copied += w.Copied()
	p.chunks = append(p.chunks, c)
	p.rows += c.Rows()
	return nil
}

// conform gives the batch under the names of the table's columns.
func (a *Assembly) conform(batch arrow.RecordBatch) (arrow.RecordBatch, error) {
	if have, want := int(batch.NumCols()), a.schema.NumFields(); have != want {
		return nil, sqlerror.New("42601", "a batch has %s and its table has %d", counted.Of(have, "column"), want)
	}
	fields := a.schema.Fields()
	for i, column := range batch.Columns() {
		f := &fields[i]
		switch column.DataType().ID() {
		case arrow.DICTIONARY, arrow.RUN_END_ENCODED: // those of chunks have rules that only this package's writer keeps
			return nil, sqlerror.New("0A000", "column %q is %v: only plain layouts can be built in place", f.Name, column.DataType())
		}
		if !arrow.TypeEqual(ingest.Logical(column.DataType()), f.Type) {
			return nil, sqlerror.New("42804", "column %q is of type %v and is given as %v", f.Name, f.Type, column.DataType())
		}
		if !f.Nullable && column.NullN() > 0 {
			return nil, ingest.NotNull(a.options.Table, f.Name)
		}
		f.Type = column.DataType()
	}
	return array.NewRecordBatch(arrow.NewSchema(fields, nil), batch.Columns(), batch.NumRows()), nil
}

// current requires mu.
func (p *Part) current() *catalog.ChunkWriter {
	if p.writer == nil {
		p.writer = catalog.NewChunkWriter(p.space, p.assembly.options.Table.String(), 0)
	}
	return p.writer
}

func (p *Part) end(why error) (err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.writer != nil {
		err = p.writer.Abort()
	}
	p.writer, p.over = nil, why
	p.done()
	return err
}

// partMemory is the memory of the part's present chunk.
type partMemory struct{ part *Part }

// Allocate implements memory.Allocator. When the part is over, or its node has no room, it is ordinary memory: Add says
// why.
func (m partMemory) Allocate(size int) []byte {
	return m.with(func(to memory.Allocator) []byte { return to.Allocate(size) })
}

// Reallocate implements memory.Allocator.
func (m partMemory) Reallocate(size int, b []byte) []byte {
	return m.with(func(to memory.Allocator) []byte { return to.Reallocate(size, b) })
}

// Free implements memory.Allocator. What belongs to a chunk that was sealed stays.
func (m partMemory) Free(b []byte) {
	m.with(func(to memory.Allocator) []byte { to.Free(b); return nil })
}

func (m partMemory) with(use func(memory.Allocator) []byte) []byte {
	m.part.mu.Lock()
	defer m.part.mu.Unlock()
	life := m.part.assembly.on.Life
	if m.part.over != nil || !life.EnterToClose() { // its memory is not mapped any more
		return use(memory.DefaultAllocator)
	}
	defer life.Leave()
	return use(m.part.current().Allocator())
}
