package catalog_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/catalog/hugetable"
	"github.com/csmsql/csmsql/catalog/store"
	"github.com/csmsql/csmsql/coherence"
	"github.com/csmsql/csmsql/internal/faults"
	"github.com/csmsql/csmsql/memregion"
)

var tableA = catalog.TableName{Schema: "public", Name: "a"}

func (w *world) snapshot(holder catalog.Holder) *catalog.Snapshot {
	s, err := w.catalog.Snapshot(ctx, holder)
	require.NoError(w.t, err)
	return s
}

// do runs one transaction of its own.
func (w *world) do(change func(*catalog.Transaction) error) error {
	s := w.snapshot(catalog.Holder{})
	defer s.Close()
	tx := w.catalog.Begin(s)
	defer tx.Rollback()
	if err := change(tx); err != nil {
		return err
	}
	return tx.Commit(ctx)
}

func (w *world) must(change func(*catalog.Transaction) error) { require.NoError(w.t, w.do(change)) }

// fill makes table a with n chunks of one row.
func (w *world) fill(n int) {
	w.must(func(tx *catalog.Transaction) error {
		if _, err := tx.CreateTable(ctx, tableA, columns, catalog.TableOptions{}); err != nil {
			return err
		}
		var chunks []*catalog.Chunk
		for range n {
			chunks = append(chunks, w.chunk(1))
		}
		return tx.Append(tableA, chunks)
	})
}

func requireState(t require.TestingT, err error, want string) {
	var state interface{ SQLState() string }
	require.True(t, errors.As(err, &state), "%v", err)
	require.Equal(t, want, state.SQLState(), "%v", err)
}

func TestErrorsSayWhatSQLWants(t *testing.T) {
	w := newWorld(t, store.Limits{})
	w.fill(1)
	view := catalog.TableName{Schema: "public", Name: "v"}
	w.must(func(tx *catalog.Transaction) error {
		_, err := tx.CreateView(ctx, view, "SELECT 1", nil)
		return err
	})
	missing, nowhere := catalog.TableName{Schema: "public", Name: "x"}, catalog.TableName{Schema: "nowhere", Name: "x"}
	create := func(n catalog.TableName, s *arrow.Schema) func(*catalog.Transaction) error {
		return func(tx *catalog.Transaction) error {
			_, err := tx.CreateTable(ctx, n, s, catalog.TableOptions{})
			return err
		}
	}
	twice := arrow.NewSchema([]arrow.Field{columns.Field(0), columns.Field(0)}, nil)
	other := arrow.NewSchema([]arrow.Field{{Name: "v", Type: arrow.BinaryTypes.String}}, nil)
	for name, c := range map[string]struct {
		state  string
		change func(*catalog.Transaction) error
	}{
		"no table":         {"42P01", func(tx *catalog.Transaction) error { return tx.DropTable(missing) }},
		"no schema":        {"3F000", create(nowhere, columns)},
		"no schema drop":   {"3F000", func(tx *catalog.Transaction) error { return tx.DropSchema("nowhere", true) }},
		"table twice":      {"42P07", create(tableA, columns)},
		"table like view":  {"42P07", create(view, columns)},
		"schema twice":     {"42P06", func(tx *catalog.Transaction) error { return tx.CreateSchema("public") }},
		"schema not empty": {"2BP01", func(tx *catalog.Transaction) error { return tx.DropSchema("public", false) }},
		"view as table":    {"42809", func(tx *catalog.Transaction) error { return tx.Truncate(view) }},
		"table as view":    {"42809", func(tx *catalog.Transaction) error { return tx.DropView(tableA) }},
		"empty name":       {"42602", create(catalog.TableName{Schema: "public"}, columns)},
		"long name":        {"42602", create(catalog.TableName{Schema: "public", Name: strings.Repeat("n", 300)}, columns)},
		"column twice":     {"42701", create(missing, twice)},
		"wrong columns": {"42804", func(tx *catalog.Transaction) error {
			if err := create(missing, other)(tx); err != nil {
				return err
			}
			return tx.Append(missing, []*catalog.Chunk{w.chunk(1)})
		}},
		"chunk twice": {"42804", func(tx *catalog.Transaction) error {
			c := w.chunk(1)
			return tx.Append(tableA, []*catalog.Chunk{c, c})
		}},
		"after the end": {"25000", func(tx *catalog.Transaction) error {
			tx.Rollback()
			return tx.Truncate(tableA)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			before, live := w.catalog.Revision(), w.memory.Live()
			requireState(t, w.do(c.change), c.state)
			require.Equal(t, before, w.catalog.Revision())
			require.Equal(t, live, w.memory.Live(), "no space is lost")
		})
	}
	require.Empty(t, w.faults)
}

func TestViews(t *testing.T) {
	w := newWorld(t, store.Limits{})
	name := catalog.TableName{Schema: "public", Name: "v"}
	w.must(func(tx *catalog.Transaction) error {
		_, err := tx.CreateView(ctx, name, "SELECT 1 AS v", columns)
		return err
	})
	w.restart()
	s := w.snapshot(catalog.Holder{})
	v, ok := s.View(name)
	require.True(t, ok)
	require.Equal(t, "SELECT 1 AS v", v.SQL)
	require.True(t, columns.Equal(v.Columns))
	require.Len(t, s.Views(), 1)
	s.Close()
	w.must(func(tx *catalog.Transaction) error { return tx.DropView(name) })
	s = w.snapshot(catalog.Holder{})
	require.Empty(t, s.Views())
	s.Close()
}

// commitPoints are those of a commit that a node makes alone.
var commitPoints = []faults.Point{
	faults.CommitBegin, faults.CommitPublished, faults.CommitPagesStored, faults.CommitStored, faults.CommitVisible, faults.CommitDone,
}

// K4: every fault point is a place where the process may die. What is found afterwards is the state before or after the
// commit, whole, and nothing is lost in the region.
func TestCrashAtEveryPoint(t *testing.T) {
	for _, limits := range []store.Limits{{}, {Operations: 24, Bytes: 550}} {
		for _, point := range commitPoints {
			t.Run(fmt.Sprint(point, limits), func(t *testing.T) {
				w := newWorld(t, limits)
				w.fill(5)
				type died struct{}
				hit := false
				w.fault = func(at faults.Point) {
					if at == point {
						hit = true
						panic(died{})
					}
				}
				s := w.snapshot(catalog.Holder{})
				tx := w.catalog.Begin(s)
				require.NoError(t, tx.Append(tableA, []*catalog.Chunk{w.chunk(2), w.chunk(3), w.chunk(1)}))
				func() {
					defer func() {
						if r := recover(); r != nil && r != (died{}) {
							panic(r)
						}
					}()
					require.NoError(t, tx.Commit(ctx))
				}()
				if point == faults.CommitPagesStored && limits.Bytes == 0 {
					require.False(t, hit, "one transaction is enough")
					return
				}
				require.True(t, hit)
				w.fault = nil
				w.restart()
				after := w.snapshot(catalog.Holder{})
				v, ok := after.Table(tableA)
				require.True(t, ok)
				want := int64(5)
				if point == faults.CommitStored || point == faults.CommitVisible || point == faults.CommitDone {
					want = 11
				}
				require.Len(t, w.rows(v), int(want))
				w.requireNoLeak(after.Contents)
				require.NoError(t, w.catalog.Sweep(ctx))
				w.requirePages(after.Contents)
				after.Close()
			})
		}
	}
}

// flaky is a store whose commits fail, before or after they happened.
type flaky struct {
	*store.Memory
	before, after error
}

func (f *flaky) Commit(ctx context.Context, t store.Transaction) (store.Revision, error) {
	if f.before != nil {
		return 0, f.before
	}
	r, err := f.Memory.Commit(ctx, t)
	if err == nil && f.after != nil {
		return 0, f.after
	}
	return r, err
}

func TestStoreFailures(t *testing.T) {
	w := newWorld(t, store.Limits{})
	w.fill(2)
	f := &flaky{Memory: w.store.Copy()}
	c, err := catalog.Open(ctx, f, catalog.Homes{region: w.lender.Home.Home}, catalog.Options{})
	require.NoError(t, err)
	w.catalog = c
	live := w.memory.Live()
	add := func(tx *catalog.Transaction) error { return tx.Append(tableA, []*catalog.Chunk{w.chunk(1)}) }

	f.before = errors.New("no space left on device")
	require.ErrorContains(t, w.do(add), "no space left")
	require.Equal(t, live, w.memory.Live(), "a failed commit gives its chunks back")
	f.before = fmt.Errorf("%w: timeout", store.ErrUnknown)
	failed := w.do(add)
	require.ErrorIs(t, failed, store.ErrUnknown)
	require.ErrorIs(t, failed, catalog.ErrNotCommitted)
	require.Equal(t, live, w.memory.Live(), "the store says that it did not happen")
	require.NotContains(t, failed.Error(), "not known", "by now it is")
	f.before = fmt.Errorf("%w: write catalog: %w", store.ErrUnknown, syscall.ENOSPC)
	failed = w.do(add)
	require.ErrorIs(t, failed, catalog.ErrDiskFull)
	require.ErrorContains(t, failed, "nothing has changed: write catalog: no space left on device")
	require.Equal(t, live, w.memory.Live())
	f.before, f.after = nil, fmt.Errorf("%w: timeout", store.ErrUnknown)
	require.NoError(t, w.do(add), "the store says that it happened")
	require.Greater(t, w.memory.Live(), live)
	s := w.snapshot(catalog.Holder{})
	v, _ := s.Table(tableA)
	require.Equal(t, int64(3), v.Rows())
	s.Close()
}

func TestLeases(t *testing.T) {
	w := newWorld(t, store.Limits{})
	w.fill(3)
	far := catalog.Holder{Domain: "far", Description: "borrower", TTL: 5 * time.Second}
	s := w.snapshot(far)
	require.Len(t, w.catalog.Leases(), 1)
	require.Equal(t, "borrower", w.catalog.Leases()[0].Holder.Description)
	whole := w.memory.Live()
	w.must(func(tx *catalog.Transaction) error { return tx.DropTable(tableA) })
	require.Equal(t, whole, w.memory.Live(), "the lease keeps the dropped table's chunks")

	require.NoError(t, w.catalog.RenewLease(s.Lease(), epoch.Add(4*time.Second)))
	require.Empty(t, w.catalog.ExpireLeases(epoch.Add(8*time.Second)))
	require.Equal(t, whole, w.memory.Live())
	require.ErrorIs(t, w.catalog.RenewLease(s.Lease(), epoch.Add(9*time.Second)), catalog.ErrLeaseOver, "too late is too late, also before the janitor came")
	expired := w.catalog.ExpireLeases(epoch.Add(9 * time.Second))
	require.Len(t, expired, 1)
	require.Equal(t, s.Lease(), expired[0].ID)
	require.Zero(t, w.memory.Live(), "the memory is back")
	require.Zero(t, w.lender.Stats().Pins)
	require.ErrorIs(t, w.catalog.ReleaseLease(s.Lease()), catalog.ErrLeaseOver)
	s.Close()
	require.Empty(t, w.faults)
}

// A domain that died with several leases, one of them on the current revision, leaves no pin behind.
func TestExpiredDomainLeavesNoPin(t *testing.T) {
	w := newWorld(t, store.Limits{})
	w.fill(3)
	far := catalog.Holder{Domain: "far", TTL: time.Second}
	w.snapshot(far)
	w.must(func(tx *catalog.Transaction) error { return tx.Append(tableA, []*catalog.Chunk{w.chunk(1)}) })
	w.snapshot(far)
	require.Len(t, w.catalog.ExpireLeases(epoch.Add(2*time.Second)), 2)
	again := w.snapshot(far)
	again.Close()
	s := w.snapshot(catalog.Holder{})
	w.requireNoLeak(s.Contents)
	s.Close()
	w.must(func(tx *catalog.Transaction) error { return tx.DropTable(tableA) })
	require.Zero(t, w.memory.Live())
	require.Zero(t, w.lender.Stats().Pins)
}

// C5: chunks of a leased state are pinned at the lender for the lease's domain, also those of pages that were
// not read since the start, until the last lease of the domain ends that has them; whatever becomes of its others, and
// of other versions of the table.
func TestPinsFollowLeases(t *testing.T) {
	w := newWorld(t, store.Limits{})
	w.fill(hugetable.PageChunks + 3) // a full page, which later versions share, and another one
	w.restart()
	var generations []coherence.Generation
	require.NoError(t, w.catalog.LiveExtents(ctx, func(x catalog.LiveExtent) error {
		generations = append(generations, x.Generation)
		return nil
	}))
	pins := 1
	requirePinned := func(why string) {
		for _, g := range generations {
			view := w.lender.Generation(g)
			require.Equal(t, coherence.Published, view.State, why)
			require.Equal(t, pins, view.Pins, why)
		}
	}
	far := func(ttl time.Duration) *catalog.Snapshot { return w.snapshot(catalog.Holder{Domain: "far", TTL: ttl}) }
	far(time.Second)
	requirePinned("by the first lease")
	second := far(time.Hour)
	require.Len(t, w.catalog.ExpireLeases(epoch.Add(2*time.Second)), 1)
	requirePinned("another lease of the domain is alive")
	w.must(func(tx *catalog.Transaction) error { return tx.Append(tableA, []*catalog.Chunk{w.chunk(1)}) })
	pins = 2 // and the lender's own domain keeps those of the current version
	requirePinned("a newer version is none of its business")
	third := far(time.Hour)
	second.Close()
	requirePinned("they are in the newer version, too")
	third.Close()
	require.Empty(t, w.faults)
}

// C5: a catalog that has listed nothing since it was opened learns which extents a snapshot has before it pins them.
func TestTheFirstSnapshotPins(t *testing.T) {
	w := newWorld(t, store.Limits{})
	w.fill(hugetable.PageChunks + 3)
	var live []catalog.LiveExtent
	require.NoError(t, w.catalog.LiveExtents(ctx, func(x catalog.LiveExtent) error {
		live = append(live, x)
		return nil
	}))
	w.reopen()
	for _, x := range live {
		w.memory.Take(x.Range)
		require.NoError(t, w.lender.Adopt(x.Owner, x.Generation, x.Range, x.Seal))
	}
	w.snapshot(catalog.Holder{Domain: "far"})
	for _, x := range live {
		require.Equal(t, 1, w.lender.Generation(x.Generation).Pins)
	}
	require.Empty(t, w.faults)
}

func TestManySmallAppendsSharePages(t *testing.T) {
	w := newWorld(t, store.Limits{})
	w.fill(hugetable.PageChunks + 10)
	s := w.snapshot(catalog.Holder{})
	before, _ := s.Table(tableA)
	for range 20 {
		w.must(func(tx *catalog.Transaction) error { return tx.Append(tableA, []*catalog.Chunk{w.chunk(1)}) })
	}
	now := w.snapshot(catalog.Holder{})
	after, _ := now.Table(tableA)
	require.Equal(t, before.Pages()[0], after.Pages()[0], "the full page is shared")
	require.LessOrEqual(t, len(after.Pages()), 5, "pages of 256, and then of ever fewer chunks")
	require.Equal(t, uint64(21), after.Version())
	require.Len(t, w.rows(after), hugetable.PageChunks+30)
	require.Len(t, w.rows(before), hugetable.PageChunks+10)
	w.requireNoLeak(now.Contents)
	s.Close()
	now.Close()
}

// K6: whatever is said of a region later, the generations on record stay the highest.
func TestRegions(t *testing.T) {
	w := newWorld(t, store.Limits{})
	id, err := w.catalog.NewRegionID(ctx)
	require.NoError(t, err)
	record := catalog.RegionRecord{Node: "n1", Generations: 100}
	record.Spec = memregion.Spec{ID: id, Base: 0x100000000000, Capacity: 1 << 30, Fabric: memregion.FabricShm, Path: "/dev/shm/x", BootID: "b"}
	require.ErrorContains(t, w.catalog.ReserveGenerations(ctx, id, 5), "PutRegion")
	require.NoError(t, w.catalog.PutRegion(ctx, record))
	require.NoError(t, w.catalog.ReserveGenerations(ctx, id, 5000))
	require.NoError(t, w.catalog.ReserveGenerations(ctx, id, 70))
	require.NoError(t, w.catalog.PutRegion(ctx, record))
	w.restart()
	record.Generations = coherence.Generation(5000)
	require.Equal(t, []catalog.RegionRecord{record}, w.catalog.Regions(), "the high-water mark never goes down")
	other, err := w.catalog.NewRegionID(ctx)
	require.NoError(t, err)
	require.NotEqual(t, id, other)
	require.NoError(t, w.catalog.DropRegion(ctx, id))
	require.Empty(t, w.catalog.Regions())
}

func TestRemoteSnapshot(t *testing.T) {
	w := newWorld(t, store.Limits{})
	w.fill(hugetable.PageChunks + 3)
	local := w.snapshot(catalog.Holder{Domain: "far", TTL: time.Minute})
	record, err := w.catalog.Record(local)
	require.NoError(t, err)
	received, err := catalog.DecodeSnapshotRecord(record.Encode())
	require.NoError(t, err)
	require.Equal(t, record.Encode(), received.Encode())
	require.Equal(t, time.Minute, received.TTL)
	released := 0
	remote, err := catalog.NewRemoteSnapshot(received, w.catalog, catalog.RemoteOptions{Release: func() {
		released++
		require.NoError(t, w.catalog.ReleaseLease(received.Lease))
	}})
	require.NoError(t, err)
	require.Equal(t, local.Revision(), remote.Revision())
	require.Equal(t, local.Schemas(), remote.Schemas())
	v, ok := remote.Table(tableA)
	require.True(t, ok)
	here, _ := local.Table(tableA)
	require.Equal(t, w.rows(here), w.rows(v))
	require.Equal(t, here.Statistics(0), v.Statistics(0))
	remote.Close()
	remote.Close()
	require.Equal(t, 1, released)
	require.Empty(t, w.catalog.Leases())
}

// altered is a lender that sends wrong pages.
type altered struct {
	catalog.Pages
	change func([]byte) []byte
}

func (a altered) Page(ctx context.Context, id catalog.PageID) ([]byte, error) {
	data, err := a.Pages.Page(ctx, id)
	return a.change(data), err
}

// A page whose bytes are not those that its name was made of is refused (H2 of hugetable).
func TestAlteredPagesAreNoticed(t *testing.T) {
	w := newWorld(t, store.Limits{})
	w.fill(10)
	local := w.snapshot(catalog.Holder{})
	defer local.Close()
	record, err := w.catalog.Record(local)
	require.NoError(t, err)
	for name, change := range map[string]func([]byte) []byte{
		"a bit":     func(b []byte) []byte { b[len(b)/2] ^= 1; return b },
		"truncated": func(b []byte) []byte { return b[:len(b)-1] },
		"empty":     func([]byte) []byte { return nil },
	} {
		remote, err := catalog.NewRemoteSnapshot(record, altered{w.catalog, change}, catalog.RemoteOptions{})
		require.NoError(t, err)
		v, _ := remote.Table(tableA)
		_, err = v.Chunk(ctx, 0)
		require.ErrorIs(t, err, hugetable.ErrCorrupt, name)
		require.ErrorContains(t, err, "public.a")
		requireState(t, err, "XX001")
	}
}

// Whatever is done to the stored records, opening ends in a catalog or in a clear error.
func TestAlteredRecords(t *testing.T) {
	w := newWorld(t, store.Limits{})
	w.fill(3)
	var items []store.Item
	_, err := w.store.Scan(ctx, []string{"table/", "name/", "meta/format"}, func(i store.Item) error {
		items = append(items, i)
		return nil
	})
	require.NoError(t, err)
	for _, item := range items {
		for at := range item.Value {
			for _, flip := range []byte{1, 0x80, 0xff} {
				c := w.store.Copy()
				value := append([]byte(nil), item.Value...)
				value[at] ^= flip
				_, err := c.Commit(ctx, store.Transaction{Puts: []store.Item{{Key: item.Key, Value: value}}})
				require.NoError(t, err)
				opened, err := catalog.Open(ctx, c, catalog.Homes{}, catalog.Options{})
				if err != nil {
					continue
				}
				_ = opened.LiveExtents(ctx, func(catalog.LiveExtent) error { return nil })
			}
		}
		c := w.store.Copy()
		_, err := c.Commit(ctx, store.Transaction{Deletes: []string{item.Key}})
		require.NoError(t, err)
		if !strings.HasPrefix(item.Key, "meta/") {
			_, err = catalog.Open(ctx, c, catalog.Homes{}, catalog.Options{})
			require.ErrorIs(t, err, catalog.ErrCorrupt, item.Key)
		}
	}
}

func TestCloseRefusesEverything(t *testing.T) {
	w := newWorld(t, store.Limits{})
	w.fill(1)
	s := w.snapshot(catalog.Holder{})
	tx := w.catalog.Begin(s)
	require.NoError(t, tx.Append(tableA, []*catalog.Chunk{w.chunk(1)}))
	require.NoError(t, w.catalog.Close())
	require.ErrorIs(t, tx.Commit(ctx), catalog.ErrClosed)
	_, err := w.catalog.Snapshot(ctx, catalog.Holder{})
	require.ErrorIs(t, err, catalog.ErrClosed)
}

// A catalog that was opened again, and read no page so far, gives the memory of all replicas back when their table
// goes.
func TestReplicasOfUnreadPages(t *testing.T) {
	w := newWorld(t, store.Limits{})
	name := catalog.TableName{Schema: "public", Name: "t"}
	change := func(do func(tx *catalog.Transaction)) {
		s, err := w.catalog.Snapshot(ctx, catalog.Holder{})
		require.NoError(t, err)
		defer s.Close()
		tx := w.catalog.Begin(s)
		do(tx)
		require.NoError(t, tx.Commit(ctx))
	}
	change(func(tx *catalog.Transaction) {
		_, err := tx.CreateTable(ctx, name, columns, catalog.TableOptions{Replicas: 2})
		require.NoError(t, err)
		c := w.chunk(3)
		both, err := c.In(c.Descriptor().Extents, w.copy(c, 0))
		require.NoError(t, err)
		require.NoError(t, tx.Append(name, []*catalog.Chunk{both}))
	})
	require.Positive(t, w.memory.Live())
	w.lender.Home.Home.ExpireDomain("local") // which restarts
	again, err := catalog.Open(ctx, w.store, catalog.Homes{region: w.lender.Home.Home}, catalog.Options{})
	require.NoError(t, err)
	w.catalog = again
	change(func(tx *catalog.Transaction) {
		v, ok := tx.Contents().Table(name)
		require.True(t, ok)
		require.Equal(t, 2, v.Table().Replicas)
		require.NoError(t, tx.DropTable(name))
	})
	require.Zero(t, w.memory.Live())
}

// A region is much larger than the two bytes that an empty one comes in.
func TestSnapshotRecordsOfManyRegionsAreRefused(t *testing.T) {
	for n, refused := range map[int]bool{1 << 12: false, 1<<12 + 1: true} {
		_, err := catalog.DecodeSnapshotRecord((&catalog.SnapshotRecord{Regions: make([]catalog.RegionRecord, n)}).Encode())
		require.Equal(t, refused, errors.Is(err, catalog.ErrCorrupt), "%d regions: %v", n, err)
	}
}
