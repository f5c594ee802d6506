package compaction_test

import (
	"errors"
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/engine/compaction"
)

var limits = compaction.Limits{Rows: 1000, Bytes: 1 << 20, Chunks: 400}

// table is chunks, of which each knows how often its rows were folded.
type table struct {
	chunks []compaction.Chunk
	folds  []int
}

func (x *table) append(rows int64, key string) {
	x.chunks = append(x.chunks, compaction.Chunk{Rows: rows, Bytes: rows * 10, Key: key})
	x.folds = append(x.folds, 0)
	x.number()
}

func (x *table) number() {
	for i := range x.chunks {
		x.chunks[i].Number = i
	}
}

// fold does a plan, the last run first, so that the others have their numbers.
func (x *table) fold(t *testing.T, runs []compaction.Run) {
	for i := len(runs) - 1; i >= 0; i-- {
		r := runs[i]
		require.Greater(t, r.Chunks, 1)
		sum, folds := compaction.Chunk{Key: x.chunks[r.First].Key}, 0
		for k := r.First; k < r.First+r.Chunks; k++ {
			require.Equal(t, sum.Key, x.chunks[k].Key)
			require.NotEmpty(t, sum.Key)
			sum.Rows += x.chunks[k].Rows
			sum.Bytes += x.chunks[k].Bytes
			folds = max(folds, x.folds[k])
		}
		require.Equal(t, sum.Rows, r.Rows)
		require.Equal(t, sum.Bytes, r.Bytes)
		require.True(t, r.Rows <= limits.Rows && r.Bytes <= limits.Bytes && r.Chunks <= limits.Chunks, "CP1")
		x.chunks = slices.Replace(x.chunks, r.First, r.First+r.Chunks, sum)
		x.folds = slices.Replace(x.folds, r.First, r.First+r.Chunks, folds+1)
	}
	x.number()
}

// However many rows come, and however many at once, a table has few chunks after its plans were folded, and no row was
// folded often.
func TestPlansOfAppends(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for _, most := range []int{1, 3, 50} {
		x := &table{}
		for range 300 {
			for range 1 + rng.IntN(60) {
				x.append(int64(1+rng.IntN(most)), "k")
			}
			before := rows(x)
			x.fold(t, compaction.Plan(x.chunks, limits, false))
			require.Equal(t, before, rows(x))
			require.Empty(t, compaction.Plan(x.chunks, limits, false), "a plan that was folded leaves nothing to do")
			small := compaction.Small(x.chunks, limits)
			require.LessOrEqual(t, len(x.chunks), int(3*rows(x)/limits.Rows)+2*bits.Len64(uint64(limits.Rows)), "CP3")
			require.LessOrEqual(t, small, len(x.chunks))
		}
		for _, n := range x.folds {
			require.LessOrEqual(t, n, 2*bits.Len64(uint64(limits.Rows)), "CP2")
		}
		x.fold(t, compaction.Plan(x.chunks, limits, true))
		require.LessOrEqual(t, len(x.chunks), int(3*rows(x)/limits.Rows)+1)
	}
}

func rows(x *table) (n int64) {
	for _, c := range x.chunks {
		n += c.Rows
	}
	return n
}

// Rows that are deleted count for what they take, and not for what they become: a chunk of which a fourth is deleted is
// rewritten even if it is full, one of which no row lives is in any run, and what it gives back is worth it (CP4).
func TestPlansOfDeletedRows(t *testing.T) {
	chunk := func(number int, rows, dead, bytes int64) compaction.Chunk {
		return compaction.Chunk{Number: number, Rows: rows, Dead: dead, Bytes: bytes, Key: "k"}
	}
	of := func(first, chunks int, rows, dead, bytes int64) compaction.Run {
		return compaction.Run{First: first, Chunks: chunks, Rows: rows, Dead: dead, Bytes: bytes}
	}
	for what, c := range map[string]struct {
		chunks    []compaction.Chunk
		runs, all []compaction.Run
		due       bool
	}{
		"a fourth": {
			[]compaction.Chunk{chunk(0, 750, 250, 1<<20), chunk(1, 751, 249, 1<<20)},
			[]compaction.Run{of(0, 1, 750, 250, 1<<20)}, []compaction.Run{of(0, 1, 750, 250, 1<<20)}, true,
		},
		"few bytes": {
			[]compaction.Chunk{chunk(4, 700, 300, 200<<10)}, nil, []compaction.Run{of(4, 1, 700, 300, 200<<10)}, false,
		},
		"small, and alone": {
			[]compaction.Chunk{chunk(0, 900, 0, 1<<19), chunk(1, 100, 300, 1<<18), chunk(2, 900, 0, 1<<19)},
			[]compaction.Run{of(1, 1, 100, 300, 1<<18)}, []compaction.Run{of(1, 1, 100, 300, 1<<18)}, true,
		},
		"of another key": {
			[]compaction.Chunk{{Number: 0, Rows: 1, Dead: 999, Bytes: 1 << 20}}, nil, nil, false,
		},
		"none lives": {
			[]compaction.Chunk{chunk(0, 0, 1000, 1<<20), chunk(1, 0, 1000, 1<<20)},
			[]compaction.Run{of(0, 2, 0, 2000, 1<<21)}, []compaction.Run{of(0, 2, 0, 2000, 1<<21)}, true,
		},
		"too many that do not": {
			[]compaction.Chunk{chunk(0, 1, 7999, 1<<20), chunk(1, 1, 7999, 1<<20)},
			[]compaction.Run{of(0, 1, 1, 7999, 1<<20), of(1, 1, 1, 7999, 1<<20)},
			[]compaction.Run{of(0, 1, 1, 7999, 1<<20), of(1, 1, 1, 7999, 1<<20)}, true,
		},
		"between": {
			[]compaction.Chunk{chunk(0, 10, 0, 100), chunk(1, 0, 10, 100), chunk(2, 10, 0, 100)},
			[]compaction.Run{of(0, 3, 20, 10, 300)}, []compaction.Run{of(0, 3, 20, 10, 300)}, false,
		},
	} {
		require.Equal(t, c.runs, compaction.Plan(c.chunks, limits, false), what)
		require.Equal(t, c.all, compaction.Plan(c.chunks, limits, true), what)
		require.Equal(t, c.due, compaction.Due(c.chunks, limits), what)
	}
	var many []compaction.Chunk
	for i := range compaction.SpareChunks + 1 {
		require.False(t, compaction.Due(many, limits))
		many = append(many, chunk(i, 1, 0, 10))
	}
	require.True(t, compaction.Due(many, limits))
}

// However rows are appended and deleted, no plan is left over when one was folded, and few rows are kept that are deleted.
func TestPlansOfChangedRows(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 1))
	x, written, changed := &table{}, int64(0), int64(0)
	for range 400 {
		for range 1 + rng.IntN(40) {
			n := int64(1 + rng.IntN(20))
			x.append(n, "k")
			x.chunks[len(x.chunks)-1].Bytes = n * 1000
			changed += n
		}
		for i := range x.chunks {
			if c := &x.chunks[i]; rng.IntN(3) > 0 && c.Rows > 0 {
				n := rng.Int64N(c.Rows/3 + 2)
				n = min(n, c.Rows)
				c.Rows, c.Dead = c.Rows-n, c.Dead+n
				changed += n
			}
		}
		runs := compaction.Plan(x.chunks, limits, false)
		for i := len(runs) - 1; i >= 0; i-- {
			r := runs[i]
			require.True(t, r.Chunks > 1 || r.Dead*compaction.DeadShare >= r.Rows+r.Dead)
			var made []compaction.Chunk
			if r.Rows > 0 {
				made = []compaction.Chunk{{Rows: r.Rows, Bytes: r.Rows * 1000, Key: "k"}}
			}
			written += r.Rows
			x.chunks = slices.Replace(x.chunks, r.First, r.First+r.Chunks, made...)
		}
		x.number()
		require.Empty(t, compaction.Plan(x.chunks, limits, false), "a plan that was folded leaves nothing to do")
		dead := int64(0)
		for _, c := range x.chunks {
			dead += c.Dead
		}
		require.Less(t, dead, rows(x)/3+200)
	}
	require.Less(t, written, changed*10, "what is written is in proportion to what was changed")
}

func run(first, chunks int, rows int64) compaction.Run {
	return compaction.Run{First: first, Chunks: chunks, Rows: rows, Bytes: rows * 10}
}

// What has another key, or none, or is full, stays apart; and so does what is not listed.
func TestPlansKeepApart(t *testing.T) {
	x := &table{}
	for _, key := range []string{"a", "a", "b", "b", "", "", "b", "a"} {
		x.append(1, key)
	}
	require.Equal(t, []compaction.Run{run(0, 2, 2), run(2, 2, 2)},
		compaction.Plan(x.chunks, limits, true))
	x = &table{}
	for _, n := range []int64{1, 1, 501, 1, 1, 400, 1} {
		x.append(n, "a")
	}
	require.Equal(t, 6, compaction.Small(x.chunks, limits))
	require.Equal(t, []compaction.Run{run(0, 2, 2), run(3, 3, 402)},
		compaction.Plan(x.chunks, limits, false))
	require.Equal(t, 4, compaction.Plan(x.chunks, limits, true)[1].Chunks)
	listed := append(x.chunks[:3:3], x.chunks[4:]...)
	require.Equal(t, 4, compaction.Plan(listed, limits, false)[1].First)
	for range 500 {
		x.append(1, "a")
	}
	for _, r := range compaction.Plan(x.chunks, limits, true) {
		require.LessOrEqual(t, r.Chunks, limits.Chunks)
	}
}

func TestLog(t *testing.T) {
	var log compaction.Log
	now := time.Unix(100, 0)
	name := catalog.TableName{Schema: "s", Name: "t"}
	log.Begin(name, false, now).End(nil, now)
	require.Empty(t, log.List(now), "nothing was done")
	r := log.Begin(name, true, now)
	r.Folded(compaction.Run{Chunks: 9, Rows: 20, Bytes: 200}, 1)
	r.Folded(compaction.Run{Chunks: 3, Rows: 30, Dead: 7, Bytes: 300}, 1)
	want := compaction.Record{Table: name, Started: now, Took: time.Second, Running: true, Asked: true,
		Folded: 12, Made: 2, Rows: 50, LeftOut: 7, Bytes: 500}
	require.Equal(t, []compaction.Record{want}, log.List(now.Add(time.Second)))
	r.End(errors.New("no"), now.Add(time.Minute))
	want.Took, want.Running, want.Failure = time.Minute, false, "no"
	require.Equal(t, []compaction.Record{want}, log.List(now.Add(time.Hour)))
	require.Equal(t, compaction.Totals{Folds: 2, Chunks: 12, Rows: 50, LeftOut: 7, Bytes: 500, Failures: 1}, log.Totals())
	for range 300 {
		log.Begin(name, false, now).End(errors.New("no"), now)
	}
	require.Len(t, log.List(now), 128)
}
