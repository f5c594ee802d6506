package memregion

import "os"

// OwnerSlots is how many slots the owner table has.
func OwnerSlots(a *Allocator) int { return len(a.owners.slots) }

// Faults replaces what a lender's backing does; a nil function leaves the real one.
type Faults struct {
	Reserve, Punch func(r Range, real func(Range) error) error
}

type faultyBacking struct {
	real   backing
	faults Faults
}

func (b faultyBacking) reserve(r Range) error {
	if b.faults.Reserve == nil {
		return b.real.reserve(r)
	}
	return b.faults.Reserve(r, b.real.reserve)
}

func (b faultyBacking) punch(r Range) error {
	if b.faults.Punch == nil {
		return b.real.punch(r)
	}
	return b.faults.Punch(r, b.real.punch)
}

// InjectFaults puts faults between a lender and its file.
func InjectFaults(l *Lent, faults Faults) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.backing = faultyBacking{l.backing, faults}
}

// LimitProtectedRuns lowers the bound, which no test could reach quickly.
func LimitProtectedRuns(l *Lent, runs int) { l.protectRuns = runs }

// WatchBy lets a lender notice alterations by the first of kinds that the kernel grants. The lender must not be in use
// yet.
func WatchBy(l *Lent, kinds ...WatchKind) {
	_ = l.mapping.watch.close() // another one takes its place
	l.mapping.watch = newWatch(l.mapping.file, kinds...)
	l.backing = fileBacking{l.mapping.file, l.mapping.watch, l.spec.Start}
}

// BorrowBy is WatchBy of a borrower.
func BorrowBy(v *View, kinds ...WatchKind) {
	_ = v.mapping.watch.close() // another one takes its place
	v.mapping.watch = newWatch(v.mapping.file, kinds...)
}

// DuringOwnCall runs call where a lender's system call on its file would run.
func DuringOwnCall(l *Lent, call func(file *os.File) error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.mapping.watch.ours(func() error { return call(l.mapping.file) })
}

// Whose lets a test make up events.
func Whose(buffer []byte, process int) (ours, others bool) { return whose(buffer, process) }

// PageSet lets the model test reach the set.
type PageSet struct{ pageSet }

func NewPageSet(pages int64) *PageSet { return &PageSet{newPageSet(pages)} }

func (s *PageSet) Add(low, high int64)                   { s.add(low, high) }
func (s *PageSet) Remove(low, high int64)                { s.remove(low, high) }
func (s *PageSet) Count() int64                          { return s.count }
func (s *PageSet) CountIn(low, high int64) int64         { return s.countIn(low, high) }
func (s *PageSet) Common(other *PageSet) int64           { return s.common(&other.pageSet) }
func (s *PageSet) Next(from, limit int64, in bool) int64 { return s.next(from, limit, in) }
func (s *PageSet) Previous(before int64, in bool) int64  { return s.previous(before, in) }

// ParseMaps lists the names found in text of /proc/self/maps' form.
func ParseMaps(text string) (placements []Placement, names []string) {
	for _, o := range parseMaps([]byte(text)) {
		placements, names = append(placements, o.Placement), append(names, o.name)
	}
	return placements, names
}

// CachesOnHeap is true in race builds.
const CachesOnHeap = heapCaches
