package coherence

// countersPerPage is how many generations' pin counts share one allocation.
const countersPerPage = 64

type pinPage struct {
	used   int // counters that are not zero
	counts [countersPerPage]uint32
}

// pinSet is what one domain holds: how often it pinned which generation. The sum over all domains is extent.pins.
type pinSet struct {
	pages   map[Generation]*pinPage
	last    *pinPage
	lastKey Generation
	held    int // generations with at least one pin
}

func newPinSet() *pinSet { return &pinSet{pages: map[Generation]*pinPage{}} }

func (s *pinSet) page(g Generation) *pinPage {
	key := g / countersPerPage
	if s.last != nil && s.lastKey == key {
		return s.last
	}
	p := s.pages[key]
	if p != nil {
		s.last, s.lastKey = p, key
	}
	return p
}

func (s *pinSet) holds(g Generation) bool {
	p := s.page(g)
	return p != nil && p.counts[g%countersPerPage] > 0
}

func (s *pinSet) add(g Generation) {
	p := s.page(g)
	if p == nil {
		p = &pinPage{}
		s.pages[g/countersPerPage] = p
		s.last, s.lastKey = p, g/countersPerPage
	}
	count := &p.counts[g%countersPerPage]
	if *count == 0 {
		p.used++
		s.held++
	}
	*count++
}

// drop takes one pin of g away and says whether there was one.
func (s *pinSet) drop(g Generation) bool {
	p := s.page(g)
	if p == nil || p.counts[g%countersPerPage] == 0 {
		return false
	}
	count := &p.counts[g%countersPerPage]
	if *count--; *count == 0 {
		s.held--
		if p.used--; p.used == 0 {
			delete(s.pages, g/countersPerPage)
			s.last = nil
		}
	}
	return true
}

// each visits every generation held, with its count, in no order.
func (s *pinSet) each(visit func(g Generation, count uint32)) {
	for key, p := range s.pages {
		for i, count := range p.counts {
			if count > 0 {
				visit(key*countersPerPage+Generation(i), count)
			}
		}
	}
}
