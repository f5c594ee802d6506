package memregion_test

import (
	"errors"
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/csmsql/csmsql/memregion"
)

const page = memregion.PageSize

// naiveAllocator is the twin: one flag per page, extents in a map, nothing clever.
type naiveAllocator struct {
	pages   []bool // true: taken
	extents map[memregion.Range]string
	quotas  map[string]int64
}

func newNaive(pages int) *naiveAllocator {
	return &naiveAllocator{pages: make([]bool, pages), extents: map[memregion.Range]string{}, quotas: map[string]int64{}}
}

func (n *naiveAllocator) used(owner string) (sum int64) {
	for r, holder := range n.extents {
		if holder == owner {
			sum += r.Length
		}
	}
	return sum
}

func (n *naiveAllocator) longestFree() int64 {
	longest, run := 0, 0
	for _, taken := range n.pages {
		run++
		if taken {
			run = 0
		}
		longest = max(longest, run)
	}
	return int64(longest) * page
}

func (n *naiveAllocator) freeIn(r memregion.Range) bool {
	for i := r.Offset / page; i < r.End()/page; i++ {
		if n.pages[i] {
			return false
		}
	}
	return true
}

func (n *naiveAllocator) mark(r memregion.Range, taken bool) {
	for i := r.Offset / page; i < r.End()/page; i++ {
		n.pages[i] = taken
	}
}

func (n *naiveAllocator) inside(r memregion.Range) bool {
	return r.Offset >= 0 && r.Length > 0 && r.Offset%page == 0 && r.Length%page == 0 && r.Offset <= int64(len(n.pages))*page-r.Length
}

// expectAllocate is the error that the twin wants, or nil.
func (n *naiveAllocator) expectAllocate(owner string, size int64) error {
	rounded := (size + page - 1) / page * page
	quota, limited := n.quotas[owner]
	switch {
	case size <= 0:
		return memregion.ErrBadSize
	case limited && n.used(owner)+rounded > quota:
		return memregion.ErrQuota
	case n.longestFree() < rounded:
		return memregion.ErrRegionFull
	}
	return nil
}

func (n *naiveAllocator) expectHolds(owner string, r memregion.Range) error {
	holder, live := n.extents[r]
	switch {
	case !live:
		return memregion.ErrNotAllocated
	case holder != owner:
		return memregion.ErrNotOwner
	}
	return nil
}

// twins runs one step on both and compares everything that can be seen.
type twins struct {
	real  *memregion.Allocator
	naive *naiveAllocator
}

func newTwins(pages int) *twins {
	return &twins{memregion.NewAllocator(int64(pages) * page), newNaive(pages)}
}

func sameError(got, want error) error {
	if (want == nil && got != nil) || !errors.Is(got, want) {
		return fmt.Errorf("got error %v, want %v", got, want)
	}
	return nil
}

func (w *twins) allocate(owner string, size int64) error {
	want := w.naive.expectAllocate(owner, size)
	r, err := w.real.Allocate(owner, size)
	if err := sameError(err, want); err != nil || want != nil {
		return err
	}
	if !w.naive.inside(r) || r.Length != (size+page-1)/page*page || !w.naive.freeIn(r) {
		return fmt.Errorf("M1: allocate %d gave %v", size, r)
	}
	w.naive.mark(r, true)
	w.naive.extents[r] = owner
	return nil
}

func (w *twins) free(owner string, r memregion.Range) error {
	want := w.naive.expectHolds(owner, r)
	if err := sameError(w.real.Free(owner, r), want); err != nil || want != nil {
		return err
	}
	w.naive.mark(r, false)
	delete(w.naive.extents, r)
	return nil
}

func (w *twins) shrink(owner string, r memregion.Range, size int64) error {
	want := w.naive.expectHolds(owner, r)
	if want == nil && (size <= 0 || size > r.Length) {
		want = memregion.ErrBadSize
	}
	kept, err := w.real.Shrink(owner, r, size)
	if err := sameError(err, want); err != nil || want != nil {
		return err
	}
	if kept != (memregion.Range{Offset: r.Offset, Length: (size + page - 1) / page * page}) {
		return fmt.Errorf("shrink %v to %d kept %v", r, size, kept)
	}
	w.naive.mark(r, false)
	delete(w.naive.extents, r)
	w.naive.mark(kept, true)
	w.naive.extents[kept] = owner
	return nil
}

func (w *twins) adopt(owner string, r memregion.Range) error {
	var want error
	if !w.naive.inside(r) {
		want = memregion.ErrOutOfRange
	} else if !w.naive.freeIn(r) {
		want = memregion.ErrOverlap
	}
	if err := sameError(w.real.Adopt(owner, r), want); err != nil || want != nil {
		return err
	}
	w.naive.mark(r, true)
	w.naive.extents[r] = owner
	return nil
}

func (w *twins) setQuota(owner string, bytes int64) {
	w.real.SetQuota(owner, bytes)
	delete(w.naive.quotas, owner)
	if bytes > 0 {
		w.naive.quotas[owner] = bytes / page * page
	}
}

// check compares the states (M1 to M4).
func (w *twins) check() error {
	if err := w.real.Verify(); err != nil {
		return err
	}
	stats := w.real.Stats()
	var used int64
	owners := map[string]int64{}
	for r, owner := range w.naive.extents {
		used += r.Length
		owners[owner] += r.Length
	}
	want := memregion.AllocatorStats{
		Capacity: int64(len(w.naive.pages)) * page, Used: used, Free: int64(len(w.naive.pages))*page - used,
		LargestFree: w.naive.longestFree(), Extents: len(w.naive.extents), Owners: owners,
	}
	if fmt.Sprint(stats) != fmt.Sprint(want) { // maps print sorted
		return fmt.Errorf("stats %+v, want %+v", stats, want)
	}
	previous, count := int64(-1), 0
	var broken error
	w.real.Extents(func(o memregion.Owned) bool {
		if w.naive.extents[o.Range] != o.Owner || o.Range.Offset <= previous {
			broken = fmt.Errorf("M1: extent %+v is not the twin's, or out of order", o)
		}
		previous, count = o.Range.Offset, count+1
		return broken == nil
	})
	if broken == nil && count != len(w.naive.extents) {
		broken = fmt.Errorf("%d extents, want %d", count, len(w.naive.extents))
	}
	return broken
}

// liveRange picks one of the live extents, deterministically.
func (w *twins) liveRange(pick int) (memregion.Owned, bool) {
	var all []memregion.Owned
	w.real.Extents(func(o memregion.Owned) bool { all = append(all, o); return true })
	if len(all) == 0 {
		return memregion.Owned{}, false
	}
	return all[pick%len(all)], true
}

func TestAllocatorAgainstNaiveTwin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newTwins(rapid.IntRange(0, 600).Draw(t, "pages"))
		owners := rapid.SampledFrom([]string{"lineitem", "orders", "part", ""})
		sizes := rapid.OneOf(rapid.Int64Range(-1, 3*page), rapid.Int64Range(1, 300*page),
			rapid.SampledFrom([]int64{page - 1, page, page + 1, math.MaxInt64, math.MinInt64, 32 * page, 64 * page}))
		pick := rapid.IntRange(0, 1000)
		extent := func(t *rapid.T) memregion.Owned {
			o, ok := w.liveRange(pick.Draw(t, "pick"))
			if !ok {
				t.Skip("nothing is live")
			}
			return o
		}
		anyRange := func(t *rapid.T) memregion.Range {
			return memregion.Range{Offset: rapid.Int64Range(-2, 620).Draw(t, "start") * page, Length: rapid.Int64Range(-1, 40).Draw(t, "pages") * page}
		}
		t.Repeat(map[string]func(*rapid.T){
			"allocate": func(t *rapid.T) {
				size := sizes.Draw(t, "size")
				if size > math.MaxInt64-page {
					_, err := w.real.Allocate("big", size)
					require.ErrorIs(t, err, memregion.ErrRegionFull)
					return
				}
				require.NoError(t, w.allocate(owners.Draw(t, "owner"), size))
			},
			"free":        func(t *rapid.T) { o := extent(t); require.NoError(t, w.free(o.Owner, o.Range)) },
			"freeForeign": func(t *rapid.T) { require.NoError(t, w.free(owners.Draw(t, "owner"), extent(t).Range)) },
			"freeAny":     func(t *rapid.T) { require.NoError(t, w.free(owners.Draw(t, "owner"), anyRange(t))) },
			"shrink": func(t *rapid.T) {
				o := extent(t)
				require.NoError(t, w.shrink(o.Owner, o.Range, rapid.Int64Range(-1, o.Range.Length+1).Draw(t, "size")))
			},
			"adopt": func(t *rapid.T) { require.NoError(t, w.adopt(owners.Draw(t, "owner"), anyRange(t))) },
			"quota": func(t *rapid.T) {
				w.setQuota(owners.Draw(t, "owner"), rapid.Int64Range(-1, 200).Draw(t, "pages")*page)
			},
			"": func(t *rapid.T) { require.NoError(t, w.check()) },
		})
	})
}

// FuzzAllocator runs bytes as a program of two-byte instructions on both twins.
func FuzzAllocator(f *testing.F) {
	f.Add([]byte{0, 10, 0, 20, 0, 30, 1, 1, 0, 5, 2, 0})
	f.Add([]byte{3, 9, 3, 200, 0, 255, 5, 3, 0, 9, 4, 30, 1, 0, 1, 0, 1, 0})
	f.Fuzz(func(t *testing.T, program []byte) {
		const steps = 256 // the naive twin is slow
		w := newTwins(300)
		for i := 0; i+1 < min(len(program), 2*steps); i += 2 {
			if err := w.execute(program[i], program[i+1]); err != nil {
				t.Fatalf("step %d (%d, %d): %v", i/2, program[i], program[i+1], err)
			}
			if err := w.check(); err != nil {
				t.Fatalf("after step %d (%d, %d): %v", i/2, program[i], program[i+1], err)
			}
		}
	})
}

func (w *twins) execute(operation, operand byte) error {
	owner := []string{"a", "b", "c", "d"}[operation>>6]
	amount := int64(operand)
	live, ok := w.liveRange(int(operand))
	switch operation & 7 {
	case 0:
		return w.allocate(owner, amount*page-1)
	case 1:
		if ok {
			return w.free(live.Owner, live.Range)
		}
	case 2:
		return w.free(owner, live.Range)
	case 3:
		return w.adopt(owner, memregion.Range{Offset: amount * 2 * page, Length: int64(operation>>3&7) * page})
	case 4:
		if ok {
			return w.shrink(live.Owner, live.Range, live.Range.Length*amount/255)
		}
	case 5:
		w.setQuota(owner, amount*page)
	case 6, 7:
		return w.allocate(owner, amount*37)
	}
	return nil
}

// TestFullIsTrue attacks M3: the one block that fits hides behind many of its class that do not.
func TestFullIsTrue(t *testing.T) {
	const small, wanted = 1024, 1031 // pages; both in the class of 1024…1055
	a := memregion.NewAllocator((64*(small+1) + wanted) * page)
	var holes []memregion.Range
	allocate := func(pages int64) memregion.Range {
		r, err := a.Allocate("t", pages*page)
		require.NoError(t, err)
		return r
	}
	fitting := allocate(wanted)
	for range 64 {
		allocate(1) // keeps the holes apart
		holes = append(holes, allocate(small))
	}
	require.NoError(t, a.Free("t", fitting))
	for _, r := range holes {
		require.NoError(t, a.Free("t", r))
	}
	require.EqualValues(t, 0, a.Stats().Capacity-a.Stats().Free-64*page)
	r, err := a.Allocate("t", wanted*page)
	require.NoError(t, err)
	require.Equal(t, fitting, r)
	_, err = a.Allocate("t", (small+1)*page)
	require.ErrorIs(t, err, memregion.ErrRegionFull)
	require.NoError(t, a.Verify())
}

// TestCompact: holes are used before the top, and freeing everything leaves one block (M2).
func TestCompact(t *testing.T) {
	a := memregion.NewAllocator(1 << 30)
	first, err := a.Allocate("t", 100*page)
	require.NoError(t, err)
	second, err := a.Allocate("t", page)
	require.NoError(t, err)
	require.NoError(t, a.Free("t", first))
	again, err := a.Allocate("t", 7*page)
	require.NoError(t, err)
	require.Equal(t, first.Offset, again.Offset)
	require.NoError(t, a.Free("t", second))
	require.NoError(t, a.Free("t", again))
	require.EqualValues(t, 1<<30, a.Stats().LargestFree)
}

// TestOwnersAreForgotten: a million tables that came and went leave nothing behind (M4).
func TestOwnersAreForgotten(t *testing.T) {
	a := memregion.NewAllocator(1 << 20)
	for i := range 10000 {
		owner := fmt.Sprint("table ", i)
		a.SetQuota(owner, page)
		r, err := a.Allocate(owner, 1)
		require.NoError(t, err)
		_, err = a.Allocate(owner, 1)
		require.ErrorIs(t, err, memregion.ErrQuota)
		require.NoError(t, a.Free(owner, r))
		a.SetQuota(owner, 0)
	}
	require.Empty(t, a.Stats().Owners)
	require.LessOrEqual(t, memregion.OwnerSlots(a), 1)
}

// TestErrorsTellSQLState: the frontend finds the code without importing us.
func TestErrorsTellSQLState(t *testing.T) {
	a := memregion.NewAllocator(page)
	a.SetQuota("limited", 1)
	for owner, size := range map[string]int64{"limited": 1, "free": 2 * page} {
		_, err := a.Allocate(owner, size)
		var state interface{ SQLState() string }
		require.ErrorAs(t, err, &state)
		require.Equal(t, "53200", state.SQLState())
	}
}

// TestLowAddressFirst: of two holes of one class the lower is used, whichever was freed last.
func TestLowAddressFirst(t *testing.T) {
	for _, order := range [][]int{{0, 2}, {2, 0}} {
		a := memregion.NewAllocator(1 << 30)
		var ranges []memregion.Range
		for range 4 {
			r, err := a.Allocate("t", 9*page)
			require.NoError(t, err)
			ranges = append(ranges, r)
		}
		for _, i := range order {
			require.NoError(t, a.Free("t", ranges[i]))
		}
		r, err := a.Allocate("t", 9*page)
		require.NoError(t, err)
		require.Equal(t, ranges[0], r)
	}
}
