package memregion

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

// PageSet lets the model test reach the set.
type PageSet struct{ pageSet }

func NewPageSet(pages int64) *PageSet { return &PageSet{newPageSet(pages)} }

func (s *PageSet) Add(low, high int64)                    { s.add(low, high) }
func (s *PageSet) Remove(low, high int64)                 { s.remove(low, high) }
func (s *PageSet) Count() int64                           { return s.count }
func (s *PageSet) CountIn(low, high int64) int64          { return s.countIn(low, high) }
func (s *PageSet) Next(from, limit int64, in bool) int64  { return s.next(from, limit, in) }
func (s *PageSet) Previous(before int64, in bool) int64   { return s.previous(before, in) }
func (s *PageSet) LastRun(before int64) (low, high int64) { return s.lastRun(before) }

// ParseMaps lists the names found in text of /proc/self/maps' form.
func ParseMaps(text string) (placements []Placement, names []string) {
	for _, o := range parseMaps([]byte(text)) {
		placements, names = append(placements, o.Placement), append(names, o.name)
	}
	return placements, names
}
