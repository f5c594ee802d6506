package upkeep

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/catalog/descriptor"
	"github.com/csmsql/csmsql/catalog/hugetable"
	"github.com/csmsql/csmsql/engine/ingest"
	"github.com/csmsql/csmsql/engine/lineage"
	"github.com/csmsql/csmsql/engine/placement"
	"github.com/csmsql/csmsql/engine/placement/replicas"
	"github.com/csmsql/csmsql/internal/counted"
	"github.com/csmsql/csmsql/internal/faults"
	"github.com/csmsql/csmsql/sql/sqlerror"
)

// Chunks of which no replica can be read come back from where their rows came (package lineage):
//
// (a table of CREATE TABLE AS from its query: see rederive)
//
//	files, generator ─► all rows, in their order ─► those of the lost chunks ─► the same buffers? ─► one more replica of the chunk
//	                                                                                 ✗ nothing has changed, an error says what differs
//
// A chunk that was rebuilt is the chunk that was lost, byte by byte: its checksums say so, and its number, its
// statistics and its other replicas stay. If its node comes back with the original, that is one replica more, and one
// of them is let go (see repair).

// Chunk is one of which no replica can be read.
type Chunk struct {
	number int
	rows   int64
	at     []replicas.Holder
}

// Lost lists those of a table, of which no replica is more than what lost holds for lost.
func (k *Keeper) Lost(ctx context.Context, v *catalog.TableVersion, lost func(replicas.State) bool) ([]Chunk, error) {
	chunks, err := k.facts.Chunks(ctx, v)
	if err != nil {
		return nil, err
	}
	var list []Chunk
	for i, at := range k.holders(chunks) {
		if chunks[i].First.Region != 0 && !slices.ContainsFunc(at, func(h replicas.Holder) bool { return !lost(h.State) }) {
			list = append(list, Chunk{i, chunks[i].Rows, at})
		}
	}
	return list, nil
}

// Unreadable is what counts as lost when an operator asks for it. In the background it is what is not waited for
// (givenUp).
func Unreadable(s replicas.State) bool { return s != replicas.Whole }
func givenUp(s replicas.State) bool    { return s == replicas.Gone || s == replicas.Lost }

// OriginOf is the origin of a new table's rows, which a query gave of versions; nil: one of them is of what the table
// was before, which is gone.
func OriginOf(q *lineage.Query, rows int64, name catalog.TableName, of []*catalog.TableVersion) *lineage.Origin {
	for _, v := range of {
		t := v.Table()
		if t.Name == name {
			return nil
		}
		q.Tables = append(q.Tables, lineage.Table{ID: uint64(t.ID), Name: t.Name.String(), Version: v.Version()})
	}
	return &lineage.Origin{Rows: rows, Query: q}
}

// Derived reports whether all rows of a table are those of one query.
func Derived(v *catalog.TableVersion, words string) bool {
	list := v.Origins()
	return len(list) == 1 && list[0].Chunks == v.NumChunks() && list[0].Words == words && v.DeletedRows() == 0
}

// Reload rebuilds the lost chunks of a table, all in one commit, and returns how many. A chunk without an origin on
// record stays lost, which is an error.
func (k *Keeper) Reload(ctx context.Context, name catalog.TableName,
	lost func(replicas.State) bool) (made int, err error) {
	var orphans []Chunk
	var missing int
	var table catalog.Table
	query := "" // the origin of a table that comes from one
	err = k.changeTable(ctx, name, func(ctx context.Context, c *tableChange) error {
		list, err := k.Lost(ctx, c.v, lost)
		if err != nil {
			return err
		}
		missing, table = len(list), c.v.Table()
		if len(list) > 0 && len(c.v.Origins()) == 1 && Derived(c.v, c.v.Origins()[0].Words) {
			if o, err := lineage.Decode(c.v.Origins()[0].Words); err == nil && o.Query != nil {
				query = c.v.Origins()[0].Words
				return nil
			}
		}
		r := &reloading{keeper: k, change: c, lost: map[int]*Chunk{}, made: map[int]catalog.Replacement{}}
		for i := range list {
			if _, known := c.v.Origin(list[i].number); known {
				r.lost[list[i].number] = &list[i]
			} else {
				orphans = append(orphans, list[i])
			}
		}
		if len(r.lost) == 0 {
			return nil
		}
		if err := r.run(ctx); err != nil {
			return errors.Join(err, k.discardAdded(r.made))
		}
		made = len(r.made)
		k.fault.At(faults.MoveCopied)
		return r.replace(ctx)
	})
	switch {
	case err != nil:
		return 0, err
	case query != "":
		if made, err = k.engine.Derive(ctx, table, query); err != nil {
			return 0, err
		}
		k.reloaded.Add(int64(made))
		k.log.Info("a table that had lost chunks was rebuilt from its query", "table", table.Name.String(), "chunks", made)
		return made, nil
	case made > 0:
		k.reloaded.Add(int64(made))
		k.log.Info("lost chunks were rebuilt from where their rows came", "table", name.String(), "chunks", made)
	}
	if len(orphans) > 0 {
		e := sqlerror.New("58000", "%s of table %v, on %s, cannot be reloaded: no source is on record", chunksOf(orphans), name, nodesOf(orphans)).
			WithHint("Rows of INSERT, UPDATE, DELETE and COPY FROM STDIN, and rows that were divided again by a placement, have none. They are back when the node is; or load the table again.")
		if made > 0 {
			e.DetailText = fmt.Sprintf("%d of %s were reloaded.", made, counted.Of(missing, "lost chunk"))
		}
		return made, e
	}
	return made, nil
}

// chunksOf names some chunks and counts their rows.
func chunksOf(list []Chunk) string {
	var runs []string
	var rows int64
	for i := 0; i < len(list); {
		end := i
		for end+1 < len(list) && list[end+1].number == list[end].number+1 {
			end++
		}
		if run := fmt.Sprint(list[i].number); end == i {
			runs = append(runs, run)
		} else {
			runs = append(runs, fmt.Sprintf("%s–%d", run, list[end].number))
		}
		i = end + 1
	}
	const most = 8
	if len(runs) > most {
		runs = append(runs[:most], "…")
	}
	for i := range list {
		rows += list[i].rows
	}
	return fmt.Sprintf("%s %s (%s)", counted.Noun(len(list), "chunk"), strings.Join(runs, ", "), counted.Of(rows, "row"))
}

// nodesOf names the nodes where chunks lay.
func nodesOf(list []Chunk) string {
	var names []string
	for _, x := range list {
		for _, h := range x.at {
			if !slices.Contains(names, h.Node) {
				names = append(names, h.Node)
			}
		}
	}
	return "node " + strings.Join(names, ", ")
}

// reloading is one reload of a table under way. Its chunks are made at the nodes where they will lie.
type reloading struct {
	keeper *Keeper
	change *tableChange
	lost   map[int]*Chunk // by number; all have an origin
	made   map[int]catalog.Replacement
	plan   replicas.Plan
	source string // what is being read, for errors
	files  Files  // nil until one is read
}

func (r *reloading) table() catalog.Table { return r.change.v.Table() }

// run makes all chunks.
func (r *reloading) run(ctx context.Context) error {
	p, err := placement.Parse(r.table().Placement)
	if err != nil {
		return err
	}
	r.plan = replicas.Plan{Placement: p, Replicas: max(r.table().Replicas, 1), Online: r.keeper.TakersOfCopies()}
	defer func() {
		if r.files != nil {
			r.files.Close()
		}
	}()
	for _, o := range r.change.v.Origins() {
		any := false
		for number := range r.lost {
			any = any || number >= o.First && number < o.First+o.Chunks
		}
		if !any {
			continue
		}
		origin, err := lineage.Decode(o.Words)
		if err != nil {
			return sqlerror.New("58000", "table %v cannot be reloaded: %v", r.table().Name, err).WithHint("Another version of csmsql wrote it.")
		}
		r.source = origin.String()
		if err := r.from(ctx, o, origin); err != nil {
			return r.refused(err)
		}
	}
	return nil
}

// TakersOfCopies are the nodes that take replicas.
func (k *Keeper) TakersOfCopies() []string {
	if k.node.Self == nil {
		return []string{k.name}
	}
	return k.node.Online()
}

// refused says what became of the table: nothing. Errors about what is not as it was are 58000 and name it.
func (r *reloading) refused(err error) error {
	var changed *lineage.ChangedError
	table := r.table().Name
	switch {
	case errors.As(err, &changed) || errors.Is(err, catalog.ErrDiffers):
		e := sqlerror.New("58000", "table %v cannot be reloaded: %v", table, err).WithHint("Nothing was changed. Put the source back as it was, or load the table again.")
		e.Cause = err
		return e
	case errors.Is(err, fs.ErrNotExist):
		e := sqlerror.New("58000", "table %v cannot be reloaded: its source %s is not there", table, r.source).WithHint("Nothing was changed. Put the source back, or load the table again.")
		e.Cause = err
		return e
	}
	return err
}

// from makes the chunks of one origin.
func (r *reloading) from(ctx context.Context, o catalog.Origin, origin *lineage.Origin) error {
	pieces, err := r.pieces(ctx, o)
	if err != nil {
		return err
	}
	if g := origin.Generated; g != nil && g.Step > 0 {
		return r.generateChunks(ctx, o, g)
	}
	columns := make([]int, len(origin.Columns))
	for i, name := range origin.Columns {
		if columns[i] = ingest.Index(r.table().Columns, name); columns[i] < 0 {
			return sqlerror.New("XX001", "the rows of table %v were divided by %q, and it has no such column", r.table().Name, name)
		}
	}
	parts, err := partsOf(pieces, origin.Parts)
	if err != nil {
		return fmt.Errorf("table %v: %w", r.table().Name, err)
	}
	again := ingest.NewAgain(r.table().Columns, columns, parts, r.remake)
	defer again.Close()
	switch {
	case origin.Generated != nil:
		err = r.generateRows(ctx, again, origin.Generated)
	case origin.Query != nil:
		err = sqlerror.New("58000", "table %v cannot be reloaded: chunks of its query are lost, and it was written since it was made", r.table().Name).
			WithHint("A query brings back whole tables only. Nothing was changed. The chunks are back when their node is; or recreate the table.")
	default:
		err = r.readFiles(ctx, again, origin.Files)
	}
	if err == nil && again.Missing() > 0 {
		err = &lineage.ChangedError{Path: r.source, What: fmt.Sprintf("it has fewer rows than the %d that it had", origin.Rows)}
	}
	if errors.Is(err, ingest.ErrEnough) {
		return nil
	}
	return err
}

// pieces lists an origin's chunks; the lost ones are wanted.
func (r *reloading) pieces(ctx context.Context, o catalog.Origin) ([]ingest.Piece, error) {
	chunks, err := r.keeper.facts.Chunks(ctx, r.change.v)
	if err != nil {
		return nil, err
	}
	pieces := make([]ingest.Piece, o.Chunks)
	for i := range pieces {
		pieces[i] = ingest.Piece{Number: o.First + i, Rows: chunks[o.First+i].Rows}
		if r.lost[o.First+i] == nil {
			continue
		}
		c, err := r.change.v.Chunk(ctx, o.First+i)
		if err != nil {
			return nil, err
		}
		pieces[i].Stored = c.Descriptor().Schema
	}
	return pieces, nil
}

func partsOf(pieces []ingest.Piece, counts []int) (parts [][]ingest.Piece, err error) {
	if len(counts) == 0 {
		return [][]ingest.Piece{pieces}, nil
	}
	for _, n := range counts {
		if n < 0 || n > len(pieces) {
			return nil, sqlerror.New("XX001", "parts of %v chunks, and there are others", counts)
		}
		parts, pieces = append(parts, pieces[:n]), pieces[n:]
	}
	if len(pieces) > 0 {
		return nil, sqlerror.New("XX001", "parts of %v chunks, and %d more", counts, len(pieces))
	}
	return parts, nil
}

// remake puts a chunk's rows where they belong, if they are what they were.
func (r *reloading) remake(ctx context.Context, number int, batch arrow.RecordBatch) error {
	old, err := r.change.v.Chunk(ctx, number)
	if err != nil {
		return err
	}
	plain, err := hugetable.WithoutOrders(old) // which are rebuilt in the background
	if err != nil {
		return err
	}
	d := plain.Descriptor().Replica(0)
	images, err := catalog.ChunkImage(ctx, d, batch)
	if err != nil {
		return fmt.Errorf("%s, chunk %d: %w", r.source, number, err)
	}
	to := r.plan.Remade(r.lost[number].at)
	if !slices.ContainsFunc(to, func(p replicas.Place) bool { return p.Have < 0 }) {
		return sqlerror.New("55000", "no node takes the rows of chunk %d of table %v", number, r.table().Name)
	}
	made, err := r.keeper.laid(plain, to, func(node string) ([]descriptor.Extent, error) {
		space, err := r.keeper.node.SpaceOf(ctx, node)
		if err != nil {
			return nil, err
		}
		made, err := catalog.CopyChunk(space, d, func(x *descriptor.Extent) ([]byte, error) {
			return images[slices.IndexFunc(d.Extents, func(own descriptor.Extent) bool { return own.ExtentID == x.ExtentID })], nil
		})
		return made, spaceError(node, err)
	})
	if err != nil {
		return err
	}
	r.made[number] = catalog.Replacement{Old: old, New: made}
	return nil
}

// replace commits them, as far as this transaction is concerned.
func (r *reloading) replace(ctx context.Context) error {
	t := r.table()
	if t.Replicas == 0 && slices.ContainsFunc(slices.Collect(maps.Values(r.made)), func(x catalog.Replacement) bool { return x.New.Replicas() > 1 }) {
		if err := r.change.tx.SetReplicas(t.Name, 1); err != nil { // what it says, too, is that there are some to let go
			return errors.Join(err, r.keeper.discardAdded(r.made))
		}
	}
	return r.change.tx.ReplaceChunks(ctx, t.Name, r.made)
}

// anyLost reports whether memory of the cluster is held for lost, so that tables may lack chunks: a look that costs
// nothing.
func (k *Keeper) anyLost() bool {
	if k.reader.Damage().Any() {
		return true
	}
	return slices.ContainsFunc(k.catalog.Regions(), func(r catalog.RegionRecord) bool { return givenUp(k.node.Holder(r.ID).State) })
}
