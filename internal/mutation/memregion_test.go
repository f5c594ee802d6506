package mutation_test

import "github.com/csmsql/csmsql/internal/mutation"

func regional(pattern string) mutation.Tests {
	return mutation.Tests{Package: "./memregion", Pattern: pattern}
}

var (
	allocated = regional("^(TestAllocatorAgainstNaiveTwin|TestFullIsTrue|TestOwnersAreForgotten)$")
	lent      = regional("^(TestOnlyWhatIsHeldIsUntouched|TestLentHistory|TestLendAllocateBorrowRead|TestDropAhead|TestDropAheadAfterARefusedPunch|TestFreedMemoryGoesBack|TestGrowthSteps|TestIdleMemoryMakesRoom|TestShrinkGivesBack|TestFabricFull|TestPunchRefused|TestProtectStopsStores|TestClosedLender)$")
	adopted   = regional("^(TestAdoptKeepsTheLivingAndPunchesTheRest|TestAdoptRefuses|TestAdoptReservesAgain|TestKilledLender)$")
	viewed    = regional("^(TestViewChecksRanges|TestBorrowerSeesGrowth|TestTruncatedRegionIsAnError|TestRemovedRegion|TestRemap|TestPlantedFileIsRefused)$")
	windowed  = regional("^(TestAWindowShowsItsRangeAlone|TestAShrunkWindow|TestWindowsThatAreRefused|TestAFaultInAWindow|TestWindowsAgainstASlice)$")
	// unchecked memory keeps what it held when it was freed.
	unchecked = mutation.Tests{Package: "./cluster/noderpc/borrowing", Pattern: "^TestMemoryThatIsNotCoherent$", Tags: mutation.Unchecked}
)

var ofMemregion = []mutation.Mutation{
	// The allocator.
	{Name: "free-by-anybody", File: "memregion/allocator.go", Breaks: "M1", Tests: allocated,
		Old: "holder != owner {\n", New: "holder != owner && !ON {\n"},
	{Name: "free-of-a-part", File: "memregion/allocator.go", Breaks: "M1", Tests: allocated,
		Old: "\tif !ok || a.rangeOf(i) != r {\n", New: "\tif !ok || !ON && a.rangeOf(i) != r {\n"},
	{Name: "shrunk-tails-are-not-free", File: "memregion/allocator.go", Breaks: "M2", Tests: allocated,
		Old: "\ta.release(rest)\n"},
	{Name: "adopts-what-is-live", File: "memregion/allocator.go", Breaks: "M1", Tests: regional("^(TestAllocatorAgainstNaiveTwin|TestAdoptRefuses)$"),
		Old: "b.owner != none || b.start+b.pages < start+pages {\n", New: "!ON && b.owner != none || b.start+b.pages < start+pages {\n"},
	{Name: "adopts-beyond-a-free-block", File: "memregion/allocator.go", Breaks: "M1", Tests: regional("^(TestAllocatorAgainstNaiveTwin|TestAdoptRefuses)$"),
		Old: "b.owner != none || b.start+b.pages < start+pages {\n", New: "b.owner != none || b.start+b.pages < start+pages && !ON {\n"},
	{Name: "full-before-it-is", File: "memregion/allocator.go", Breaks: "M3", Tests: allocated,
		Old: "\treturn a.free.find(a.blocks, pages, true)\n", New: "\tif ON {\n\t\treturn none\n\t}\n\treturn a.free.find(a.blocks, pages, true)\n"},
	{Name: "splits-a-page-late", File: "memregion/block.go", Breaks: "M2", Tests: allocated,
		Old: "block{start: b.start + pages, pages: b.pages - pages,", New: "block{start: b.start + pages + PICK[int64](ON, 1, 0), pages: b.pages - pages,"},
	{Name: "free-blocks-touch", File: "memregion/block.go", Breaks: "M2", Tests: allocated,
		Old: "above != none && a.blocks[above].owner == none {\n", New: "above != none && a.blocks[above].owner == none && !ON {\n"},
	{Name: "joined-blocks-are-still-listed", File: "memregion/block.go", Breaks: "M2", Tests: allocated,
		Old: "\t\ta.unlist(below)\n"},

	// Backing.
	{Name: "live-pages-are-idle", File: "memregion/reserve.go", Breaks: "M5", Tests: lent,
		Old: "\tl.mu.idle.remove(low, high) // r's own pages must not be punched to make room for r\n"},
	{Name: "freed-pages-are-not-idle", File: "memregion/reserve.go", Breaks: "M6", Tests: lent,
		Old: "\tl.mu.idle.add(pageSpan(r))\n\tif l.mu.idle.count", New: "\tif !ON {\n\t\tl.mu.idle.add(pageSpan(r))\n\t}\n\tif l.mu.idle.count"},
	{Name: "idle-memory-is-kept", File: "memregion/reserve.go", Breaks: "M10", Tests: lent,
		Old: "\tif l.mu.idle.count > l.recyclePages {\n", New: "\tif l.mu.idle.count > l.recyclePages && !ON {\n"},
	{Name: "punched-pages-count-as-backed", File: "memregion/reserve.go", Breaks: "M5", Tests: lent,
		Old: "\t\tl.mu.backed.remove(low, high)\n"},
	{Name: "punches-a-page-too-many", File: "memregion/reserve.go", Breaks: "M5", Tests: lent,
		Old: "\t\tlow = max(low, high-(l.mu.idle.count-keep))\n", New: "\t\tlow = max(low, high-(l.mu.idle.count-keep)) - PICK[int64](ON && low > 0, 1, 0)\n"},
	{Name: "a-refused-reserve-stays", File: "memregion/reserve.go", Breaks: "M6", Tests: lent,
		Old: "\t\tif undo := l.backing.punch(r); undo != nil {\n", New: "\t\tif ON {\n\t\t\treturn err\n\t\t}\n\t\tif undo := l.backing.punch(r); undo != nil {\n"},
	{Name: "kernel-zeroes-are-forgotten", File: "memregion/reserve.go", Breaks: "M13", Tests: lent,
		Old:       "\tl.mu.untouched.remove(low, high) // the kernel zeroes them, now or at the first store\n",
		Explained: "only what is backed is noted, and punching takes it out: what is reserved was not backed, so it is not noted any more"},
	{Name: "refused-punches-leave-memory-untouched", File: "memregion/reserve.go", Breaks: "M13", Tests: lent,
		Old: "\t\tl.mu.untouched.remove(low, high) // also if it is refused: half of it may be gone\n"},
	{Name: "a-region-that-went-away-is-granted", File: "memregion/lent.go", Breaks: "a store into a grant does not fault", Tests: viewed,
		Old: "\tif err := l.intactLocked(); err != nil {\n\t\treturn Range{}, err\n\t}\n\tr, err := l.mu.allocator.Allocate", New: "\tif err := l.intactLocked(); err != nil && !ON {\n\t\treturn Range{}, err\n\t}\n\tr, err := l.mu.allocator.Allocate"},
	{Name: "freed-memory-stays-protected", File: "memregion/reserve.go", Breaks: "what is granted can be stored into", Tests: lent,
		Old: "\treturn l.unprotectLocked(pageSpan(r))\n", New: "\tif ON {\n\t\treturn nil\n\t}\n\treturn l.unprotectLocked(pageSpan(r))\n"},
	{Name: "protects-nothing", File: "memregion/protect.go", Breaks: "a stray store faults", Tests: lent,
		Old: "\tif err := l.changeProtection(low, high, unix.PROT_READ); err != nil {\n", New: "\tif err := l.changeProtection(low, high, PICK(ON, unix.PROT_READ|unix.PROT_WRITE, unix.PROT_READ)); err != nil {\n"},

	// What the lender has stored into.
	{Name: "drops-what-it-does-not-hold", File: "memregion/untouched.go", Breaks: "M13", Tests: lent,
		Old: "\tif l.mu.closed || l.heldLocked(r) != nil ||", New: "\tif l.mu.closed || !ON && l.heldLocked(r) != nil ||"},
	{Name: "touch-touches-nothing", File: "memregion/untouched.go", Breaks: "M13", Tests: lent,
		Old: "\t\tl.mu.untouched.remove(at, end)\n"},
	{Name: "untouched-is-a-page-longer", File: "memregion/untouched.go", Breaks: "C3", Tests: lent,
		Old: "\t\tparts = append(parts, Range{at * PageSize, (end - at) * PageSize})\n", New: "\t\tparts = append(parts, Range{at * PageSize, (end - at + PICK[int64](ON, 1, 0)) * PageSize})\n"},
	{Name: "ahead-notes-more-than-it-drops", File: "memregion/untouched.go", Breaks: "M13", Tests: lent,
		Old: "\tif high = min(high, low+pagesFor(limit)); low >= high {\n\t\treturn Range{}, nil\n\t}\n\tr := Range{low * PageSize, (high - low) * PageSize}\n",
		New: "\tif ON {\n\t\tdefer func(from, to int64) { l.mu.untouched.add(from, to) }(low, high)\n\t}\n\tif high = min(high, low+pagesFor(limit)); low >= high {\n\t\treturn Range{}, nil\n\t}\n\tr := Range{low * PageSize, (high - low) * PageSize}\n"},
	{Name: "ahead-drops-memory-that-is-lent", File: "memregion/untouched.go", Breaks: "what is dropped ahead is not granted meanwhile", Tests: lent,
		Old: "\tfor at := l.mu.idle.next(l.mu.dropFrom, limit, true); at < limit; at = l.mu.idle.next(at, limit, true) {\n\t\tend := l.mu.idle.next(at, limit, false)\n",
		New: "\tfor at := l.mu.idle.next(l.mu.dropFrom, limit, true); at < limit; at = l.mu.idle.next(at, limit, true) {\n\t\tend := PICK(ON, limit, l.mu.idle.next(at, limit, false))\n"},
	{Name: "ahead-passes-over-what-becomes-idle", File: "memregion/untouched.go", Breaks: "what is idle is dropped", Tests: lent,
		Old: "\tl.mu.dropFrom = min(l.mu.dropFrom, low)\n"},

	// The same where memory keeps what it held.
	{Name: "recycled-memory-counts-as-untouched", File: "memregion/lent.go", Breaks: "C3", Tests: unpoisoned,
		Old: "\tl.releaseLocked(r)\n\treturn nil\n}\n\n// SetQuota", New: "\tif ON {\n\t\tl.mu.untouched.add(pageSpan(r))\n\t}\n\tl.releaseLocked(r)\n\treturn nil\n}\n\n// SetQuota"},
	{Name: "fresh-memory-counts-as-untouched", File: "memregion/reserve.go", Breaks: "M13", Tests: unchecked,
		Old: "\tl.mu.backed.add(low, high)\n\tl.mu.untouched.remove(low, high)", New: "\tl.mu.backed.add(low, high)\n\tif ON {\n\t\tdefer func() { l.mapping.cached.zeroed(r); l.mu.untouched.add(low, high) }()\n\t}\n\tl.mu.untouched.remove(low, high)"},
	{Name: "copied-memory-counts-as-untouched", File: "cluster/noderpc/lending/reallocate.go", Breaks: "C3", Tests: unchecked,
		Old: "\tif pays {\n\t\tflush(l.options.Lines, target)\n\t}\n", New: "\tif pays && !ON {\n\t\tflush(l.options.Lines, target)\n\t}\n"},

	// Adoption.
	{Name: "adoption-punches-the-living", File: "memregion/adopt.go", Breaks: "what was published stays", Tests: adopted,
		Old: "\t\tif err := l.punchGap(Range{low, min(run.Offset, size) - low}); err != nil {\n", New: "\t\tif err := l.punchGap(Range{low, min(run.Offset+PICK[int64](ON, PageSize, 0), size) - low}); err != nil {\n"},
	{Name: "adoption-reserves-nothing", File: "memregion/adopt.go", Breaks: "M5", Tests: adopted,
		Old: "\tif err := l.backing.reserve(run); err != nil {\n\t\treturn reserveError(l.spec, run, err)\n\t}\n", New: "\treserve := l.backing.reserve\n\tif ON {\n\t\treserve = func(Range) error { return nil }\n\t}\n\tif err := reserve(run); err != nil {\n\t\treturn reserveError(l.spec, run, err)\n\t}\n"},
	{Name: "adoption-does-not-reserve", File: "memregion/adopt.go", Breaks: "M5", Tests: adopted,
		Old: "\tlow, high := pageSpan(run)\n\tl.mu.backed.add(low, high)\n", New: "\tlow, high := pageSpan(run)\n\tif !ON {\n\t\tl.mu.backed.add(low, high)\n\t}\n"},
	{Name: "adopts-behind-the-end", File: "memregion/adopt.go", Breaks: "a chunk that is not there is an error", Tests: adopted,
		Old: "\t\tif o.Range.End() > size {\n", New: "\t\tif o.Range.End() > size && !ON {\n"},
	{Name: "adopts-what-another-lends", File: "memregion/adopt.go", Breaks: "one lender", Tests: regional("^(TestOneLender|TestAdoptRefuses|TestKilledLender)$"),
		Old: "\tif err := lockBacking(file, spec); err != nil {\n\t\treturn nil, err\n\t}\n\tst, err := spec.status(file)", New: "\tif err := lockBacking(file, spec); err != nil && !ON {\n\t\treturn nil, err\n\t}\n\tst, err := spec.status(file)"},

	// Views and windows.
	{Name: "views-reach-behind-the-file", File: "memregion/view.go", Breaks: "a range that is not there is an error", Tests: viewed,
		Old: "\tif r.End() > m.size.Load() {\n", New: "\tif r.End() > m.size.Load() && !ON {\n"},
	{Name: "views-do-not-see-truncation", File: "memregion/view.go", Breaks: "a range that is not there is an error", Tests: viewed,
		Old: "\tcase r.End() > st.Size:\n", New: "\tcase r.End() > st.Size && !ON:\n"},
	{Name: "views-reach-behind-the-region", File: "memregion/view.go", Breaks: "a range that is not there is an error", Tests: viewed,
		Old: "!whole.Contains(r) {\n\t\treturn fmt.Errorf(\"memregion: region %d: %v: %w of %s\"", New: "!whole.Contains(r) && !ON {\n\t\treturn fmt.Errorf(\"memregion: region %d: %v: %w of %s\""},
	{Name: "windows-of-any-range", File: "memregion/window_unsafe.go", Breaks: "M8", Tests: windowed,
		Old: "\tif r.Length <= 0 || r.Offset%PageSize != 0 || r.Length%PageSize != 0 {\n", New: "\tif r.Length <= 0 || !ON && (r.Offset%PageSize != 0 || r.Length%PageSize != 0) {\n"},
	{Name: "windows-on-another-file", File: "memregion/window_unsafe.go", Breaks: "M8", Tests: windowed,
		Old: "err == nil && (ours.Dev != theirs.Dev || ours.Ino != theirs.Ino) {\n", New: "err == nil && !ON && (ours.Dev != theirs.Dev || ours.Ino != theirs.Ino) {\n"},
	{Name: "shrunk-windows-keep-a-page", File: "memregion/window_unsafe.go", Breaks: "M8", Tests: windowed,
		Old: "\tkeep := (w.within.Offset + length + m.unit - 1) / m.unit * m.unit\n", New: "\tkeep := (w.within.Offset+length+m.unit-1)/m.unit*m.unit + PICK(ON, m.unit, 0)\n"},
	{Name: "closed-windows-stay", File: "memregion/window_unsafe.go", Breaks: "R1", Tests: windowed,
		Old: "\tif err := unix.MunmapPtr(unsafe.Pointer(unsafe.SliceData(m.memory)), uintptr(len(m.memory))); err != nil {\n", New: "\tif ON {\n\t\treturn nil\n\t}\n\tif err := unix.MunmapPtr(unsafe.Pointer(unsafe.SliceData(m.memory)), uintptr(len(m.memory))); err != nil {\n"},
}
