package model

import "github.com/csmsql/csmsql/coherence"

// Node is one domain: a host with one cache.
type Node uint8

// Home lends the memory; the other two borrow it and are alike.
const (
	Home Node = iota
	Alpha
	Beta

	// Nodes is how many there are.
	Nodes = 3
)

func (n Node) String() string { return [Nodes]string{"home", "alpha", "beta"}[n] }

// other returns the node that n changes places with when the borrowers are swapped.
func (n Node) other() Node {
	if n == Home {
		return n
	}
	return Alpha + Beta - n
}

const (
	// Addresses is how many places of memory there are; a place is as large as a line, or half of one.
	Addresses = 2
	// slots is how many generations the model distinguishes: one begins at each address, and one that is over may still
	// be read if the protocol is broken.
	slots = Addresses + 1
	ghost = Addresses
	// attempts is the most that a reader makes (coherence.MaxAttempts, which the replay holds it against).
	attempts = 3
)

// value is what a place holds: 0 is anything older or foreign that no reader may see, s+1 the bytes of the
// generation in slot s.
type value uint8

// presence is what a cache knows of a line.
type presence uint8

const (
	absent presence = iota
	clean
	dirty
)

// cache is one node's.
type cache struct {
	lines  [Addresses]presence // by line
	values [Addresses]value    // by address
	// evicted are lines that were modified when they were evicted, and have not arrived in the memory; outgoing is what
	// they bring, by address.
	evicted  uint8
	outgoing [Addresses]value
	// waiting are addresses into which this node's writer has stored past the cache: what it stored waits in a buffer
	// of its processor.
	waiting  uint8
	buffered [Addresses]value
}

// phase is what the writer of a granted extent, or the lender on its behalf, is doing.
type phase uint8

const (
	resting   phase = iota
	preparing       // the lender drops its own lines before the hand-over
	writing
	shrinking
	cleaning
	growing  // the writer flushes what its lender is to copy
	flushed  // and it has
	aborting // of an orphan: its writer gives it back
)

// generation is one writing of one extent, as its lender and its writer see it.
type generation struct {
	state        coherence.State
	phase        phase
	first, count uint8 // addresses
	writer       Node
	stored       uint8 // addresses that the writer has stored, from the first on
	flushing     uint8 // lines whose flush the writer (the lender while preparing) has issued and that is not done
	homeFlushing uint8 // the same, of the lender's home clean
	passed       uint8 // addresses that were flushed when they were stored, and are left out by the clean; of a generation that is granted
}

// orphan reports whether a former process of the lender granted it, and its writer goes on.
func (g *generation) orphan() bool { return g.state == coherence.Quarantined && g.phase != resting }

func (g *generation) live() bool { return g.state != coherence.Free }

func (g *generation) holds(address uint8) bool {
	return address >= g.first && address < g.first+g.count
}

// readerState is what one node knows of one generation.
type readerState uint8

const (
	stranger  readerState = iota
	acquiring             // pinned, flushes issued
	reading               // pinned, loads may happen at any time
	held                  // acquired and not released, but not pinned
)

type reader struct {
	state    readerState
	flushing uint8 // lines
	attempts uint8
}

func (r reader) pinned() bool { return r.state == acquiring || r.state == reading }

// State is one state of the whole: memory, caches, the lender's generations, and where every script stands.
type State struct {
	memory      [Addresses]value
	caches      [Nodes]cache
	generations [slots]generation
	readers     [Nodes][slots]reader
	remembered  [Nodes]uint8 // by address (a mutation)
	untouched   uint8        // by address: untouched, as far as the lender knows
	// ahead are the addresses of free memory whose lines the lender is dropping before it is granted, and aheadFlushing
	// the lines whose flush is not done.
	ahead, aheadFlushing uint8
}

// Key is a State in few bytes.
type Key [3]uint64

// packer writes and reads bits, from the lowest.
type packer struct {
	key Key
	at  uint
}

func (p *packer) put(v uint64, bits uint) {
	word, shift := p.at/64, p.at%64
	p.key[word] |= v << shift
	if shift+bits > 64 {
		p.key[word+1] |= v >> (64 - shift)
	}
	p.at += bits
}

func (p *packer) take(bits uint) uint64 {
	word, shift := p.at/64, p.at%64
	v := p.key[word] >> shift
	if shift+bits > 64 {
		v |= p.key[word+1] << (64 - shift)
	}
	p.at += bits
	return v & (1<<bits - 1)
}

// Bits of what is packed as one number.
const (
	memoryBits     = 2 * Addresses
	lineBits       = 4
	readerBits     = 6
	nodeBits       = lineBits*Addresses + readerBits*slots + Addresses
	underWayBits   = 3 * Addresses // of evicted lines, and of buffered stores
	generationBits = 18
)

func (c *cache) bits(a int) uint64 { return uint64(c.lines[a]) | uint64(c.values[a])<<2 }

// underWay packs a set of addresses, or lines, and a value for each address.
func underWay(set uint8, values [Addresses]value) (bits uint64) {
	for _, v := range values {
		bits = bits<<2 | uint64(v)
	}
	return bits<<Addresses | uint64(set)
}

func takeUnderWay(bits uint64) (set uint8, values [Addresses]value) {
	set = uint8(bits & (1<<Addresses - 1))
	for a := Addresses - 1; a >= 0; a-- {
		values[a] = value(bits >> (Addresses + 2*(Addresses-1-a)) & 3)
	}
	return set, values
}

func (r *reader) bits() uint64 {
	return uint64(r.state) | uint64(r.flushing)<<2 | uint64(r.attempts)<<4
}

func (g *generation) bits(writer Node) uint64 {
	return uint64(g.state) | uint64(g.phase)<<4 | uint64(g.first)<<7 | uint64(g.count)<<8 | uint64(writer)<<10 | uint64(g.stored)<<12 |
		uint64(g.flushing)<<14 | uint64(g.homeFlushing)<<16
}

// pack writes s with the borrowers in their places, or swapped.
func (s *State) pack(swapped bool) Key {
	var p packer
	for _, v := range s.memory {
		p.put(uint64(v), memoryBits/Addresses)
	}
	p.put(uint64(s.untouched)|uint64(s.ahead)<<Addresses|uint64(s.aheadFlushing)<<(2*Addresses), 3*Addresses)
	for n := range Node(Nodes) {
		if swapped {
			n = n.other()
		}
		var bits uint64
		for a := range Addresses {
			bits = bits<<lineBits | s.caches[n].bits(a)
		}
		for i := range slots {
			bits = bits<<readerBits | s.readers[n][i].bits()
		}
		p.put(bits<<Addresses|uint64(s.remembered[n]), nodeBits)
		c := &s.caches[n]
		p.put(underWay(c.evicted, c.outgoing)|underWay(c.waiting, c.buffered)<<underWayBits, 2*underWayBits)
	}
	for i := range slots {
		writer := s.generations[i].writer
		if swapped {
			writer = writer.other()
		}
		p.put(s.generations[i].bits(writer), generationBits)
	}
	for i := range Addresses {
		p.put(uint64(s.generations[i].passed), Addresses)
	}
	return p.key
}

// unpack is the inverse of pack.
func unpack(k Key) (s State) {
	p := packer{key: k}
	for a := range s.memory {
		s.memory[a] = value(p.take(memoryBits / Addresses))
	}
	s.untouched, s.ahead, s.aheadFlushing = uint8(p.take(Addresses)), uint8(p.take(Addresses)), uint8(p.take(Addresses))
	for n := range Nodes {
		bits := p.take(nodeBits)
		s.remembered[n] = uint8(bits & (1<<Addresses - 1))
		bits >>= Addresses
		for i := slots - 1; i >= 0; i-- {
			s.readers[n][i] = reader{state: readerState(bits & 3), flushing: uint8(bits >> 2 & 3), attempts: uint8(bits >> 4 & 3)}
			bits >>= readerBits
		}
		for a := Addresses - 1; a >= 0; a-- {
			s.caches[n].lines[a], s.caches[n].values[a] = presence(bits&3), value(bits>>2&3)
			bits >>= lineBits
		}
		c, under := &s.caches[n], p.take(2*underWayBits)
		c.evicted, c.outgoing = takeUnderWay(under)
		c.waiting, c.buffered = takeUnderWay(under >> underWayBits)
	}
	for i := range slots {
		b := p.take(generationBits)
		s.generations[i] = generation{
			state: coherence.State(b & 15), phase: phase(b >> 4 & 7), first: uint8(b >> 7 & 1), count: uint8(b >> 8 & 3), writer: Node(b >> 10 & 3),
			stored: uint8(b >> 12 & 3), flushing: uint8(b >> 14 & 3), homeFlushing: uint8(b >> 16 & 3),
		}
	}
	for i := range Addresses {
		s.generations[i].passed = uint8(p.take(Addresses))
	}
	return s
}

// key is the name of s and of every state that differs from it only in which borrower is which.
func (s *State) key() Key {
	a, b := s.pack(false), s.pack(true)
	for i := range a {
		if a[i] != b[i] {
			if a[i] < b[i] {
				return a
			}
			return b
		}
	}
	return a
}

// pins reports whether any node holds slot i.
func (s *State) pins(i int) bool {
	for n := range Nodes {
		if s.readers[n][i].pinned() {
			return true
		}
	}
	return false
}

// quiescent reports whether nothing is under way: no generation lives and no node reads.
func (s *State) quiescent() bool {
	if s.ahead|s.aheadFlushing != 0 {
		return false
	}
	for i := range slots {
		if s.generations[i].live() || s.pins(i) {
			return false
		}
	}
	return true
}
