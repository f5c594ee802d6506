package ingest_test

import (
	"fmt"
	"sync"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/coherence"
	"github.com/csmsql/csmsql/memregion"
)

// space is a region of Go memory that accounts for every grant and holds it to the protocol's order.
type space struct {
	mu       sync.Mutex
	capacity int64
	offset   int64
	next     coherence.Generation
	grants   map[coherence.Generation]*grant // alive: granted or sealed
	fault    func(step string) error         // injected
	spare    map[int64][]byte                // for benchmarks: memory by size, which is not soiled
}

func newSpace(capacity int64) *space {
	return &space{capacity: capacity, next: 1, grants: map[coherence.Generation]*grant{}}
}

type fullError struct{ wanted int64 }

func (e *fullError) Error() string {
	return fmt.Sprintf("the region is full: %d bytes wanted", e.wanted)
}
func (e *fullError) SQLState() string { return "53200" }

type grant struct {
	space      *space
	generation coherence.Generation
	place      memregion.Range
	data       []byte
	clean      bool
	sealed     bool
}

func (s *space) Region() memregion.RegionID { return 7 }

func (s *space) live() (n int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, g := range s.grants {
		n += g.place.Length
	}
	return n
}

func (s *space) step(name string) error {
	if s.fault == nil {
		return nil
	}
	return s.fault(name)
}

func (s *space) Grant(_ string, size int64) (catalog.Grant, error) {
	if err := s.step("grant"); err != nil {
		return nil, err
	}
	if s.live()+size > s.capacity {
		return nil, &fullError{size}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	data := s.spare[size]
	if data == nil {
		data = make([]byte, max(size, 64<<10))[:size] // the runtime aligns what is so large to pages
		for i := range data {
			data[i] = 0xEE // a former owner's bytes
		}
	}
	if s.spare != nil {
		s.spare[size] = data
	}
	g := &grant{space: s, generation: s.next, place: memregion.Range{Offset: s.offset, Length: size}, data: data}
	s.next++
	s.offset += size
	s.grants[g.generation] = g
	return g, nil
}

func (s *space) Discard(generations ...coherence.Generation) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, g := range generations {
		if s.grants[g] == nil || !s.grants[g].sealed {
			return fmt.Errorf("generation %d is not sealed", g)
		}
		delete(s.grants, g)
	}
	return nil
}

// discard is a Target's.
func (s *space) discard(chunks []*catalog.Chunk) error {
	for _, c := range chunks {
		for _, id := range c.Extents() {
			if err := s.Discard(id.Generation); err != nil {
				return err
			}
		}
	}
	return nil
}

// resolve is a descriptor's way to its bytes.
func (s *space) resolve(_ memregion.RegionID, r memregion.Range) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, g := range s.grants {
		if g.sealed && g.place.Contains(r) {
			from := r.Offset - g.place.Offset
			return g.data[from : from+r.Length], nil
		}
	}
	return nil, fmt.Errorf("%v is not sealed", r)
}

func (g *grant) Bytes() []byte                    { return g.data }
func (g *grant) Range() memregion.Range           { return g.place }
func (g *grant) Generation() coherence.Generation { return g.generation }

func (g *grant) Copy(at int64, from []byte) (near bool, err error) {
	copy(g.data[at:], from)
	return true, nil
}

func (g *grant) Shrink(length int64) error {
	g.place.Length = length
	g.data = g.data[:length]
	return g.space.step("shrink")
}

func (g *grant) Clean() error {
	g.clean = true
	return g.space.step("clean")
}

func (g *grant) Seal(coherence.Seal) error {
	if !g.clean || g.sealed {
		return fmt.Errorf("generation %d is sealed out of turn", g.generation)
	}
	if err := g.space.step("seal"); err != nil {
		return err
	}
	g.sealed = true
	return nil
}

func (g *grant) Abort() error {
	g.space.mu.Lock()
	defer g.space.mu.Unlock()
	if g.sealed || g.space.grants[g.generation] == nil {
		return fmt.Errorf("generation %d is aborted out of turn", g.generation)
	}
	delete(g.space.grants, g.generation)
	return nil
}
