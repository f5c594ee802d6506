package catalog_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/catalog/descriptor"
	"github.com/csmsql/csmsql/catalog/internal/lendertest"
	"github.com/csmsql/csmsql/catalog/store"
	"github.com/csmsql/csmsql/coherence"
	"github.com/csmsql/csmsql/internal/faults"
)

// world is a catalog over the real protocol, so that a step out of order is an error of the lender.
type world struct {
	t       require.TestingT
	store   *store.Memory
	memory  *lendertest.Memory
	lender  *lendertest.Lender
	catalog *catalog.Catalog
	next    int64
	drawn   int64
	first   coherence.Generation
	faults  []error
	fault   faults.Hook
	later   time.Duration // than the epoch it is now
	flaw    flaw          // of the store
	deltas  *deltas
	most    int               // rows of a delta; 0: any number
	several int               // tables may have one; 0: all
	events  []func(now *twin) // what has become of notes, and the twin does not know
	calm    bool              // of a model: tables are seldom dropped, emptied or recreated
}

const region = 5

func newWorld(t require.TestingT, limits store.Limits) *world {
	w := &world{t: t, store: &store.Memory{Bounds: limits}, memory: lendertest.NewMemory(8 << 20)}
	w.open(0)
	return w
}

// open starts a catalog on what the store and the memory hold; first is the generation to go on with.
func (w *world) open(first coherence.Generation) {
	w.lender = lendertest.New(w.t, region, w.memory, first)
	w.deltas = &deltas{w: w, most: w.most, tablesMost: w.several}
	c, err := catalog.Open(ctx, &flawed{w.store, w}, catalog.Homes{region: w.lender.Home.Home}, catalog.Options{
		Deltas:         w.deltas,
		InitialSchemas: []string{"public"},
		Now:            func() time.Time { return epoch.Add(w.later) },
		Log:            func(message string, err error) { w.faults = append(w.faults, fmt.Errorf("%s: %w", message, err)) },
		Fault:          func(point faults.Point) { w.fault.At(point) },
	})
	require.NoError(w.t, err)
	w.catalog = c
}

// restart is what SIGKILL leaves: the store's content and the region's bytes.
func (w *world) restart() {
	w.deltas.crashed()
	w.reopen()
	require.NoError(w.t, w.catalog.LiveExtents(ctx, func(x catalog.LiveExtent) error {
		w.memory.Take(x.Range)
		return w.lender.Adopt(x.Owner, x.Generation, x.Range, x.Seal)
	}))
}

// reopen is restart before anything of what was published is adopted.
func (w *world) reopen() {
	w.store = w.store.Copy()
	w.memory.Forget()
	w.first += 1 << 20 // above every generation so far; the registry is tested elsewhere
	w.open(w.first)
}

// chunk seals one chunk of a few rows that are found nowhere else.
func (w *world) chunk(rows int) *catalog.Chunk {
	values := make([]int64, rows)
	for i := range values {
		values[i] = w.next
		w.next++
	}
	return w.chunkOf(values)
}

// chunkOf seals one chunk of these rows.
func (w *world) chunkOf(values []int64) *catalog.Chunk {
	b := array.NewInt64Builder(memory.NewGoAllocator())
	defer b.Release()
	b.AppendValues(values, nil)
	batch := array.NewRecordBatch(columns, []arrow.Array{b.NewArray()}, int64(len(values)))
	c, err := catalog.NewChunkWriter(w.lender, "test", 4096).Seal(ctx, batch, catalog.SealOptions{})
	require.NoError(w.t, err)
	return c
}

// copy makes a replica of a chunk from one that it has.
func (w *world) copy(c *catalog.Chunk, from int) []descriptor.Extent {
	made, err := catalog.CopyChunk(w.lender, c.Descriptor().Replica(from), func(x *descriptor.Extent) ([]byte, error) { return w.lender.Resolve(x.Region, x.Range) })
	require.NoError(w.t, err)
	return made
}

// rearranged is a chunk with other replicas: one more, one less, or in other places.
func (w *world) rearranged(rng *rand.Rand, c *catalog.Chunk) catalog.Replacement {
	replicas := make([][]descriptor.Extent, c.Replicas())
	for i := range replicas {
		replicas[i] = c.Descriptor().ExtentsOf(i)
	}
	switch k := rng.IntN(len(replicas)); {
	case rng.IntN(2) == 0 && len(replicas) < 4:
		replicas = append(replicas, w.copy(c, k))
	case rng.IntN(2) == 0 && len(replicas) > 1:
		replicas = slices.Delete(replicas, k, k+1)
	default:
		replicas[k] = w.copy(c, rng.IntN(len(replicas)))
	}
	made, err := c.In(replicas...)
	require.NoError(w.t, err)
	return catalog.Replacement{Old: c, New: made}
}

// rows reads a whole version through its descriptors.
func (w *world) rows(v *catalog.TableVersion) []int64 {
	got, stored := []int64{}, []int64{}
	for p, err := range v.Chunks(ctx) {
		require.NoError(w.t, err)
		require.Equal(w.t, int64(len(stored)), p.FirstRow)
		d := p.Descriptor()
		for i := range p.Replicas() {
			one := d.Replica(i)
			require.NoError(w.t, one.Verify(w.lender.Resolve, nil), "table %v chunk %d replica %d", v.Table().Name, p.Index, i)
			batch, err := one.Record(w.lender.Resolve)
			require.NoError(w.t, err)
			if values := batch.Column(0).(*array.Int64).Int64Values(); i == 0 {
				stored = append(stored, values...)
			} else {
				require.Equal(w.t, stored[p.FirstRow:], values)
			}
		}
		again, err := v.At(ctx, p.Index)
		require.NoError(w.t, err)
		require.Equal(w.t, p.FirstRow, again.FirstRow)
		deleted, err := v.Deleted(ctx, p.Index)
		require.NoError(w.t, err)
		for at := range p.Rows() {
			if !deleted.Has(at) {
				got = append(got, stored[p.FirstRow+at])
			}
		}
	}
	require.Equal(w.t, v.Rows(), int64(len(got)))
	require.Equal(w.t, int64(len(stored)), v.StoredRows())
	require.Equal(w.t, int64(len(stored)-len(got)), v.DeletedRows())
	return got
}

// requireContents compares everything that can be seen.
func (w *world) requireContents(want *twin, got *catalog.Contents) {
	names := []string{}
	for name := range want.schemas {
		names = append(names, name)
	}
	slices.Sort(names)
	require.Equal(w.t, names, append([]string{}, got.Schemas()...))
	require.Len(w.t, got.Tables(), len(want.tables))
	for name, table := range want.tables {
		v, ok := got.Table(name)
		rows := table.rows()
		require.True(w.t, ok, "%v", name)
		require.Equal(w.t, rows, w.rows(v), "%v", name)
		if len(rows) > 0 {
			s := v.Statistics(0)
			if v.DeletedRows() == 0 {
				require.Equal(w.t, slices.Min(rows), s.Min.Int())
				require.Equal(w.t, slices.Max(rows), s.Max.Int())
			}
			require.GreaterOrEqual(w.t, slices.Min(rows), s.Min.Int(), "bounds of rows that live")
			require.LessOrEqual(w.t, slices.Max(rows), s.Max.Int())
			require.Zero(w.t, s.NullCount)
		}
	}
}

// requireNoLeak: what is allocated is what the current state and the open snapshots hold, byte for byte (K2, K3).
func (w *world) requireNoLeak(current *catalog.Contents) {
	want := map[catalog.ExtentID]int64{}
	collect(w, want, current)
	for _, s := range openSnapshots[w] {
		collect(w, want, s.snapshot.Contents)
	}
	var bytes int64
	for _, n := range want {
		bytes += n
	}
	require.Equal(w.t, bytes, w.memory.Live(), "bytes in the region against bytes of living versions")
	require.Empty(w.t, w.faults)
}

func collect(w *world, into map[catalog.ExtentID]int64, c *catalog.Contents) {
	for _, v := range c.EveryVersion() {
		for p, err := range v.Chunks(ctx) {
			require.NoError(w.t, err)
			for i := range p.Replicas() {
				for _, x := range p.Descriptor().ExtentsOf(i) {
					into[x.ExtentID] = x.Range.Length
				}
			}
		}
	}
}
