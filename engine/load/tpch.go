package load

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"sync/atomic"

	"github.com/apache/arrow-go/v18/arrow"
	"golang.org/x/sync/errgroup"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/cluster/noderpc"
	"github.com/csmsql/csmsql/engine/check"
	"github.com/csmsql/csmsql/engine/custody"
	"github.com/csmsql/csmsql/engine/ingest"
	"github.com/csmsql/csmsql/engine/lineage"
	"github.com/csmsql/csmsql/engine/member"
	"github.com/csmsql/csmsql/engine/upkeep"
	"github.com/csmsql/csmsql/internal/faults"
	"github.com/csmsql/csmsql/queries/dbgen"
	"github.com/csmsql/csmsql/sql/sqlerror"
)

// TPCH generates the eight TPC-H tables straight into the region: every buffer is made where it will stay. All tables
// appear in one commit. progress may be nil; it is called from several goroutines.
func (l *Loader) TPCH(ctx context.Context, request noderpc.TPCHRequest, progress func(noderpc.Progress)) error {
	g, err := dbgen.New(request.ScaleFactor)
	if err != nil {
		return err
	}
	if request.Schema == "" {
		request.Schema = "public"
	}
	if progress == nil {
		progress = func(noderpc.Progress) {}
	}
	snapshot, err := l.Node.Catalog.Snapshot(ctx, catalog.Holder{Description: "tpch load"})
	if err != nil {
		return err
	}
	defer snapshot.Close()
	holder := l.Node.Hold("load of TPC-H")
	defer l.Node.LetGo(holder)
	ctx = custody.With(ctx, holder)
	tx := l.Node.Catalog.Begin(snapshot)
	defer tx.Rollback()
	if !tx.Contents().HasSchema(request.Schema) {
		if err := tx.CreateSchema(request.Schema); err != nil {
			return err
		}
	}
	for _, table := range dbgen.Tables() {
		if err := l.generate(ctx, tx, g, table, request, progress); err != nil {
			l.Node.Settle(ctx)
			return member.ExplainFull(err)
		}
		l.Fault.At(faults.TPCHTable)
	}
	if err := tx.Commit(ctx); err != nil {
		return err
	}
	return nil
}

func (l *Loader) generate(ctx context.Context, tx *catalog.Transaction, g *dbgen.Generator, table dbgen.Table,
	request noderpc.TPCHRequest,
	progress func(noderpc.Progress)) error {
	name := catalog.TableName{Schema: request.Schema, Name: table.String()}
	if _, exists := tx.Contents().Table(name); exists {
		if !request.Replace {
			return sqlerror.New("42P07", "relation %q already exists", name.String()).WithHint("Say --replace to generate it again, or --schema to load into another schema.")
		}
		if err := tx.DropTable(name); err != nil {
			return err
		}
	}
	options := catalog.TableOptions{}
	var err error
	if options.Placement, err = l.Keeper.ResolvePlacement(tpchPlacement(request.Placement, table), dbgen.Schema(table)); err != nil {
		return err
	}
	if options.Replicas, err = l.Keeper.ResolveReplicas(request.Replicas); err != nil {
		return err
	}
	if _, err := tx.CreateTable(ctx, name, dbgen.Schema(table), options); err != nil {
		return err
	}
	version, _ := tx.Contents().Table(name)
	target, err := l.Keeper.TargetFor(ctx, version, check.UTC)
	if err != nil {
		return err
	}
	var chunks []*catalog.Chunk
	var parts []int
	origin := &lineage.Origin{Generated: &lineage.Generated{Table: table.String(), ScaleFactor: request.ScaleFactor}, Rows: g.Rows(table)}
	if target.Hash != nil {
		chunks, parts, err = l.generateRows(ctx, g, table, target, progress)
	} else {
		origin.Generated.Step = unitsOfChunks(g, table, target)
		chunks, err = l.generateChunks(ctx, g, table, name, target, origin.Generated.Step, progress)
	}
	if err != nil {
		return err
	}
	return tx.AppendFrom(name, chunks, upkeep.LaidOut(origin, target, parts).Encode())
}

// tpchKeys are the columns by which “hash” splits the tables: those of orders and their lines, and of parts and their
// suppliers, lie together. The others are small and stay where they are made.
var tpchKeys = map[dbgen.Table]string{
	dbgen.LineItem: "l_orderkey", dbgen.Orders: "o_orderkey", dbgen.PartSupp: "ps_partkey", dbgen.Part: "p_partkey",
	dbgen.Customer: "c_custkey", dbgen.Supplier: "s_suppkey",
}

// tpchPlacement is the placement of one of the tables, of all of which the user wrote text.
func tpchPlacement(text string, table dbgen.Table) string {
	rest, hash := strings.CutPrefix(strings.ToLower(strings.TrimSpace(text)), "hash")
	if rest = strings.TrimSpace(rest); !hash || strings.HasPrefix(rest, "(") {
		return text
	}
	key, ok := tpchKeys[table]
	if !ok {
		return ""
	}
	return "hash(" + key + ")" + strings.TrimSpace(text)[len("hash"):]
}

// unitsOfChunks is how many units each chunk of a table has that nothing divides.
func unitsOfChunks(g *dbgen.Generator, table dbgen.Table, target ingest.Target) int64 {
	step := min(unitsPerChunk(table), dbgen.MaxBatchUnits(table))
	if target.Spread > 1 { // every node gets a part of what is worth it
		step = max(min(step, (g.Units(table)+int64(target.Spread)-1)/int64(target.Spread)), unitsWorthSpreading)
	}
	return step
}

// generateChunks makes a table's chunks, of so many units each, as many at a time as there are threads. On error no
// memory is held.
func (l *Loader) generateChunks(ctx context.Context, g *dbgen.Generator, table dbgen.Table, name catalog.TableName,
	target ingest.Target, step int64,
	progress func(noderpc.Progress)) ([]*catalog.Chunk, error) {
	units := g.Units(table)
	chunks := make([]*catalog.Chunk, (units+step-1)/step)
	total := g.Rows(table)
	var rows, bytes atomic.Int64
	progress(noderpc.Progress{Step: table.String(), RowsTotal: total})
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(l.Threads())
	var err error // of the choice of a node
	for i := range chunks {
		space := target.Space
		if target.Next != nil {
			if space, err = target.Next(ctx); err != nil {
				break
			}
		}
		group.Go(func() error {
			first := int64(i) * step
			c, err := l.generateChunk(ctx, g, table, name, space, first, min(step, units-first))
			if err != nil {
				return err
			}
			chunks[i] = c
			if target.Replicate != nil {
				if c, err = target.Replicate(ctx, c); err != nil {
					return err
				}
				chunks[i] = c
			}
			progress(noderpc.Progress{Step: table.String(), Rows: rows.Add(c.Rows()), RowsTotal: total, Bytes: bytes.Add(c.Bytes())})
			return nil
		})
	}
	if failed := group.Wait(); failed != nil {
		err = failed
	}
	if err != nil {
		made := chunks[:0]
		for _, c := range chunks {
			if c != nil {
				made = append(made, c)
			}
		}
		if len(made) > 0 {
			err = errors.Join(err, target.Discard(made))
		}
		return nil, err
	}
	return chunks, nil
}

// unitsWorthSpreading is how many units a chunk has at least, however many nodes there are.
const unitsWorthSpreading = 500

// unitsPerChunk: a unit of lineitem is an order of four lines on average.
func unitsPerChunk(t dbgen.Table) int64 {
	if t == dbgen.LineItem {
		return ingest.RowsPerChunk / 4
	}
	return ingest.RowsPerChunk
}

func (l *Loader) generateChunk(ctx context.Context, g *dbgen.Generator, table dbgen.Table, name catalog.TableName,
	space catalog.Space, first, count int64) (*catalog.Chunk, error) {
	const bytesPerUnit = 512 // of lineitem, the widest; what is not used goes back
	w := catalog.NewChunkWriter(space, name.String(), count*bytesPerUnit)
	batch, err := g.Batch(ctx, w.Allocator(), table, first, count)
	if err == nil {
		err = w.Err()
	}
	if err != nil {
		if batch != nil {
			batch.Release()
		}
		return nil, errors.Join(cmp.Or(w.Err(), err), w.Abort())
	}
	defer batch.Release()
	c, err := w.Seal(ctx, batch, catalog.SealOptions{SkipValidation: true})
	l.Fault.At(faults.TPCHChunk)
	return c, err
}

// generateRows makes a table's rows and lets a writer divide them.
// On error no memory of a region is held.
func (l *Loader) generateRows(ctx context.Context, g *dbgen.Generator, table dbgen.Table, target ingest.Target,
	progress func(noderpc.Progress)) (chunks []*catalog.Chunk, parts []int, err error) {
	w := ingest.NewWriter(target)
	defer w.Abort()
	total := g.Rows(table)
	progress(noderpc.Progress{Step: table.String(), RowsTotal: total})
	err = g.EachBatch(ctx, table, l.Threads(), func(batch arrow.RecordBatch) error {
		err := w.Add(ctx, batch)
		progress(noderpc.Progress{Step: table.String(), Rows: w.Rows(), RowsTotal: total})
		return err
	})
	if err != nil {
		return nil, nil, err
	}
	return w.FinishParts(ctx)
}
