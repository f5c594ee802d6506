package catalog_test

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/catalog/positions"
)

// formerTwin is a table that remembers everything: its versions, oldest first, the last of which is the present one.
type formerTwin struct {
	retention catalog.Retention
	versions  []formerVersion
}

type formerVersion struct {
	since, number uint64 // the numbers that it stands for
	at            time.Time
	rows          []int64
	wide          bool // it has a second column
}

func (f *formerTwin) now() *formerVersion { return &f.versions[len(f.versions)-1] }

// became is what a commit made of it; same: rows and columns are what they were.
func (f *formerTwin) became(number uint64, at time.Time, same bool, rows []int64, wide bool) {
	last := f.now()
	if same {
		last.number = number
		return
	}
	if !at.After(last.at) {
		at = last.at.Add(time.Microsecond)
	}
	f.versions = append(f.versions, formerVersion{number, number, at, rows, wide})
}

// expire forgets what need not be kept.
func (f *formerTwin) expire(now time.Time) {
	keep := f.versions[len(f.versions)-1:]
	for i := len(f.versions) - 2; i >= 0; i-- {
		until := f.versions[i+1].at
		if len(f.versions)-1-i > f.retention.Versions || f.retention.Age > 0 && now.Sub(until) > f.retention.Age {
			break
		}
		keep = f.versions[i:]
	}
	f.versions = keep
}

// TestFormerVersions changes tables at random and holds every version that is kept to a twin that remembers all of
// them: rows, numbers, times; through restarts, folds, moves and restores. Nothing else is kept: not a byte more.
func TestFormerVersions(t *testing.T) {
	for seed := range uint64(150) {
		formerHistory(t, rand.New(rand.NewPCG(seed, 9)), 60)
	}
}

func formerHistory(t *testing.T, rng *rand.Rand, steps int) {
	w := newWorld(t, storeLimits(rng))
	defer delete(openSnapshots, w)
	names := []catalog.TableName{{Schema: "public", Name: "a"}, {Schema: "public", Name: "b"}}
	twins := map[catalog.TableName]*formerTwin{}
	for range steps {
		w.later += time.Duration(rng.IntN(3)) * time.Second
		name := pick(rng, names)
		other := names[0]
		if name == other {
			other = names[1]
		}
		switch op := rng.IntN(20); {
		case twins[name] == nil && twins[other] != nil && op < 15:
			twins[name] = w.formerClone(t, rng, twins[other], other, name)
		case twins[name] == nil:
			r := catalog.Retention{Versions: 1 + rng.IntN(6), Age: time.Duration(rng.IntN(3)) * 5 * time.Second}
			w.change(func(tx *catalog.Transaction, _ *catalog.Contents) {
				_, err := tx.CreateTable(ctx, name, columnsOf(name), catalog.TableOptions{Retention: r})
				require.NoError(t, err)
			})
			twins[name] = &formerTwin{retention: r, versions: []formerVersion{
				{1, 1, epoch.Add(w.later), []int64{}, false},
			}}
		case op == 0:
			w.restart()
			openSnapshots[w] = nil
		case op == 1:
			s, err := w.catalog.Snapshot(ctx, catalog.Holder{Domain: "far"})
			require.NoError(t, err)
			openSnapshots[w] = append(openSnapshots[w], openSnapshot{snapshot: s})
		case op == 2 && len(openSnapshots[w]) > 0:
			openSnapshots[w][0].snapshot.Close()
			openSnapshots[w] = openSnapshots[w][1:]
		case op == 3 && rng.IntN(3) == 0:
			w.change(func(tx *catalog.Transaction, _ *catalog.Contents) { require.NoError(t, tx.DropTable(name)) })
			delete(twins, name)
		case op == 4:
			r := catalog.Retention{Versions: 1 + rng.IntN(6)}
			w.formerChange(t, twins[name], name, func(tx *catalog.Transaction, v *catalog.TableVersion) (bool, []int64, bool) {
				require.NoError(t, tx.SetRetention(name, r))
				return true, nil, false
			})
			twins[name].retention = r
		default:
			w.formerChange(t, twins[name], name, w.formerStep(t, rng, name, twins[name]))
		}
		_, err := w.catalog.Expire(ctx, 0, epoch.Add(w.later))
		require.NoError(t, err)
		current := w.catalog.Applied()
		for name, f := range twins {
			f.expire(epoch.Add(w.later))
			w.requireFormer(f, current, name)
		}
		w.requireNoLeak(current)
	}
	for _, s := range openSnapshots[w] {
		s.snapshot.Close()
	}
	openSnapshots[w] = nil
	w.restart()
	require.NoError(t, w.catalog.Sweep(ctx))
	w.requirePages(w.catalog.Applied())
	for name := range twins {
		w.change(func(tx *catalog.Transaction, _ *catalog.Contents) { require.NoError(t, tx.DropTable(name)) })
	}
	_, err := w.catalog.Expire(ctx, 0, epoch.Add(w.later))
	require.NoError(t, err)
	require.Zero(t, w.memory.Live(), "every byte came back")
	require.NoError(t, w.catalog.Sweep(ctx))
	w.requirePages(w.catalog.Applied())
}

// formerClone makes a table of a version of another one, the present one or one that is kept.
func (w *world) formerClone(t *testing.T, rng *rand.Rand, f *formerTwin, of, name catalog.TableName) *formerTwin {
	r := catalog.Retention{Versions: 1 + rng.IntN(6)}
	from := f.versions[rng.IntN(len(f.versions))]
	w.change(func(tx *catalog.Transaction, c *catalog.Contents) {
		now, _ := c.Table(of)
		v, err := c.VersionNumbered(now, from.number)
		require.NoError(t, err)
		require.NoError(t, tx.Clone(ctx, v.TableVersion, name, v.Table().Columns, catalog.TableOptions{Retention: r}))
	})
	return &formerTwin{retention: r, versions: []formerVersion{
		{1, 1, epoch.Add(w.later), slices.Clone(from.rows), from.wide},
	}}
}

func (w *world) change(do func(*catalog.Transaction, *catalog.Contents)) {
	s, err := w.catalog.Snapshot(ctx, catalog.Holder{})
	require.NoError(w.t, err)
	defer s.Close()
	tx := w.catalog.Begin(s)
	do(tx, s.Contents)
	require.NoError(w.t, tx.Commit(ctx))
}

// formerChange does one to both; change reports whether the contents stay, and which they are otherwise.
func (w *world) formerChange(t *testing.T, f *formerTwin, name catalog.TableName,
	change func(*catalog.Transaction, *catalog.TableVersion) (bool, []int64, bool)) {
	var same, wide bool
	var rows []int64
	before, _ := w.catalog.Applied().Table(name)
	w.change(func(tx *catalog.Transaction, c *catalog.Contents) {
		v, _ := c.Table(name)
		same, rows, wide = change(tx, v)
	})
	after, _ := w.catalog.Applied().Table(name)
	if after != before {
		f.became(after.Version(), epoch.Add(w.later), same, rows, wide)
	}
}

// formerStep is a random change of a table.
func (w *world) formerStep(t *testing.T, rng *rand.Rand, name catalog.TableName,
	f *formerTwin) func(*catalog.Transaction, *catalog.TableVersion) (bool, []int64, bool) {
	is := *f.now()
	return func(tx *catalog.Transaction, v *catalog.TableVersion) (bool, []int64, bool) {
		switch op := rng.IntN(12); {
		case op < 2 && len(f.versions) > 1:
			to := f.versions[rng.IntN(len(f.versions))]
			old, err := w.catalog.Applied().VersionNumbered(v, to.since+uint64(rng.IntN(int(to.number-to.since)+1)))
			require.NoError(t, err)
			require.NoError(t, tx.Restore(name, old.TableVersion))
			return false, to.rows, to.wide
		case op == 2 && v.NumChunks() > 1:
			first := rng.IntN(v.NumChunks() - 1)
			w.foldSome(t, tx, name, v, first, 2+rng.IntN(v.NumChunks()-first-1))
			return true, nil, false
		case op == 3 && v.NumChunks() > 0:
			moved := map[int]catalog.Replacement{}
			for p, err := range v.Chunks(ctx) {
				require.NoError(t, err)
				if rng.IntN(2) == 0 {
					moved[p.Index] = w.rearranged(rng, p.Chunk)
				}
			}
			require.NoError(t, tx.ReplaceChunks(ctx, name, moved))
			return true, nil, false
		case op == 4:
			require.NoError(t, tx.Truncate(name))
			return false, []int64{}, is.wide
		case op < 8 && v.Rows() > 0:
			return w.deleteSome(t, rng, tx, name, v, is)
		default:
			var chunks []*catalog.Chunk
			rows := slices.Clone(is.rows)
			for range 1 + rng.IntN(3) {
				first := w.next
				chunks = append(chunks, w.chunk(1+rng.IntN(5)))
				for value := first; value < w.next; value++ {
					rows = append(rows, value)
				}
			}
			require.NoError(t, tx.Append(name, chunks))
			return false, rows, is.wide
		}
	}
}

func (w *world) deleteSome(t *testing.T, rng *rand.Rand, tx *catalog.Transaction, name catalog.TableName,
	v *catalog.TableVersion, is formerVersion) (bool, []int64, bool) {
	gone := map[int]*positions.Set{}
	rows, at := []int64{}, 0
	for p, err := range v.Chunks(ctx) {
		require.NoError(t, err)
		dead, err := v.Deleted(ctx, p.Index)
		require.NoError(t, err)
		set := positions.New(p.Rows())
		for k := range p.Rows() {
			if dead.Has(k) {
				continue
			}
			if rng.IntN(3) == 0 {
				set.Add(k)
			} else {
				rows = append(rows, is.rows[at])
			}
			at++
		}
		if set.Count() > 0 {
			gone[p.Index] = set
		}
	}
	require.NoError(t, tx.DeleteRows(ctx, name, gone))
	return len(gone) == 0, rows, is.wide
}

// foldSome makes one chunk of some, without the rows of them that are deleted.
func (w *world) foldSome(t *testing.T, tx *catalog.Transaction, name catalog.TableName, v *catalog.TableVersion,
	first, n int) {
	var olds, news []*catalog.Chunk
	var left []*positions.Set
	var values []int64
	out := int64(0)
	for i := first; i < first+n; i++ {
		c, err := v.Chunk(ctx, i)
		require.NoError(t, err)
		dead, err := v.Deleted(ctx, i)
		require.NoError(t, err)
		batch, err := c.Descriptor().Replica(0).Record(w.lender.Resolve)
		require.NoError(t, err)
		set := positions.New(c.Rows())
		for k, value := range batch.Column(0).(interface{ Int64Values() []int64 }).Int64Values() {
			if dead.Has(int64(k)) {
				set.Add(int64(k))
				out++
			} else {
				values = append(values, value)
			}
		}
		olds, left = append(olds, c), append(left, set)
	}
	if len(values) > 0 {
		news = append(news, w.chunkOf(values))
	}
	if out == 0 {
		left = nil
	}
	require.NoError(t, tx.Purge(ctx, name, first, olds, news, left))
}

// requireFormer compares all versions that can be asked for, and what numbers and times mean.
func (w *world) requireFormer(f *formerTwin, c *catalog.Contents, name catalog.TableName) {
	t := w.t
	now, ok := c.Table(name)
	require.True(t, ok)
	list := c.Versions(now)
	require.Len(t, list, len(f.versions))
	for i, want := range f.versions {
		got := list[i]
		require.Equal(t, want.rows, w.rows(got.TableVersion), "%v version %d", name, want.number)
		require.Equal(t, want.number, got.Version())
		require.Equal(t, want.since, got.SinceNumber())
		require.Equal(t, want.at, got.CommittedAt())
		for number := want.since; number <= want.number; number++ {
			found, err := c.VersionNumbered(now, number)
			require.NoError(t, err)
			require.Same(t, got.TableVersion, found.TableVersion)
		}
		until := want.at.Add(time.Hour)
		if i+1 < len(f.versions) {
			until = f.versions[i+1].at.Add(-time.Microsecond)
			require.Equal(t, f.versions[i+1].at, got.Until)
		}
		for _, at := range []time.Time{want.at, until} {
			found, err := c.VersionAt(now, at)
			require.NoError(t, err)
			require.Same(t, got.TableVersion, found.TableVersion)
		}
	}
	for _, number := range []uint64{f.versions[0].since - 1, now.Version() + 1} {
		_, err := c.VersionNumbered(now, number)
		require.ErrorIs(t, err, catalog.ErrNoVersion)
	}
	_, err := c.VersionAt(now, f.versions[0].at.Add(-time.Microsecond))
	require.ErrorIs(t, err, catalog.ErrNoVersion)
}
