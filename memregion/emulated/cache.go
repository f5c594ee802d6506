package emulated

import (
	"fmt"
	"slices"
)

// Options of Attach: where a domain's cache of one region is mapped. All are as long as the region, except Shadow,
// which has IntentBytes more. They stay mapped until Detach.
type Options struct {
	Line   int64  // bytes per line: 64 or 128
	Copy   []byte // what the domain's programs see
	Shadow []byte
	Memory []byte
	// Home is the lender's copy, on a home-snoop fabric, for another domain than the lender's; nil: the memory answers
	// fetches.
	Home []byte
	// Size is how many bytes of Memory there are at present; a file may be shorter than its map.
	Size func() int64
}

// IntentBytes is what the shadow has behind the region: the note of a fetch that is under way.
const IntentBytes = 4096

// Cache is a domain's copy of one region. Safe for concurrent use; its domain's lock guards it.
type Cache struct {
	domain               *Domain
	line, lines, perLine int64
	copy, shadow, memory []uint64
	home                 []uint64 // nil: the memory answers
	size                 func() int64

	modified []part // what may be modified: extents that are being written, and what was found after a process had died
	recent   []part // what was flushed last; a ring
	oldest   int    // in recent
}

const (
	modifiedMost = 4096
	recentMost   = 64
)

// Attach takes a region's cache into the domain. It panics if the slices do not fit, which is a bug of ours.
func (d *Domain) Attach(o Options) *Cache {
	n := int64(len(o.Copy))
	if o.Line != 64 && o.Line != 128 || n%o.Line != 0 || int64(len(o.Memory)) != n || int64(len(o.Shadow)) != n+IntentBytes || o.Home != nil && int64(len(o.Home)) != n {
		panic(fmt.Sprintf("emulated: %d bytes of copy, %d of shadow, %d of memory, %d of the lender's copy in lines of %d", n, len(o.Shadow), len(o.Memory), len(o.Home), o.Line))
	}
	c := &Cache{
		domain: d, line: o.Line, lines: n / o.Line, perLine: o.Line / wordBytes, size: o.Size,
		copy: words(o.Copy), shadow: words(o.Shadow), memory: words(o.Memory), home: words(o.Home),
	}
	c.forgetIntent()
	return c
}

// Detach ends the play for this process, with all flushes done that it has asked for. What is modified stays modified
// (EM5).
func (c *Cache) Detach() {
	d := c.domain
	d.mu.Lock()
	defer d.mu.Unlock()
	d.pending = slices.DeleteFunc(d.pending, func(p part) bool {
		if p.cache != c {
			return false
		}
		d.complete(p)
		return true
	})
	d.shown = slices.DeleteFunc(d.shown, func(s shown) bool { return s.cache == c })
}

// Show says where a program has a part of the copy mapped, from the region's offset on, so that flushes of it are
// understood. Call hide before it is unmapped.
func (c *Cache) Show(memory []byte, offset int64) (hide func()) {
	d := c.domain
	s := shown{addressOf(memory), int64(len(memory)), c, offset}
	d.mu.Lock()
	defer d.mu.Unlock()
	at, _ := slices.BinarySearchFunc(d.shown, s.base, func(o shown, base uintptr) int {
		if o.base < base {
			return -1
		}
		return 1
	})
	d.shown = slices.Insert(d.shown, at, s)
	return func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		if at := slices.Index(d.shown, s); at >= 0 {
			d.shown = slices.Delete(d.shown, at, at+1)
		}
	}
}

// Zeroed says that the lender's kernel zeroed pages before they are handed out, or that they were used before: all of
// their lines are modified in this cache, with whatever they hold.
func (c *Cache) Zeroed(offset, length int64) {
	c.domain.mu.Lock()
	defer c.domain.mu.Unlock()
	p, ok := c.part(offset, length)
	if !ok {
		return
	}
	c.moves(p, func(first, last int64) {
		for i := first; i < last; i++ {
			// Not what a program may well store over it, such as all ones over zeros: that would look as if nothing had
			// been stored.
			store(&c.shadow[i], load(&c.copy[i])^(uint64(i)+1)*0x9e37_79b9_7f4a_7c15)
		}
	})
	c.hold(p)
	c.domain.disturb(c)
}

// Open says that a program of this domain begins to write an extent of another one's memory: lines of it that are
// not modified are fetched, so that a store which changes nothing makes no difference.
func (c *Cache) Open(offset, length int64) {
	c.domain.mu.Lock()
	defer c.domain.mu.Unlock()
	if p, ok := c.part(offset, length); ok {
		c.fetch(p)
		c.hold(p)
		c.domain.disturb(c)
	}
}

// Left says that a range may be modified because a former process of the domain stored there.
func (c *Cache) Left(offset, length int64) {
	c.domain.mu.Lock()
	defer c.domain.mu.Unlock()
	if p, ok := c.part(offset, length); ok {
		c.hold(p)
	}
}

// During runs a system call that changes copy or shadow, with no move meanwhile.
func (c *Cache) During(call func() error) error {
	c.domain.mu.Lock()
	defer c.domain.mu.Unlock()
	return call()
}

func (c *Cache) part(offset, length int64) (part, bool) {
	if length <= 0 {
		return part{}, false
	}
	return part{c, offset / c.line, min((offset+length-1)/c.line, c.lines-1)}, true
}

// hold notes what may be modified, use what was flushed, settled that a flush is done. All require mu.
func (c *Cache) hold(p part) {
	if len(c.modified) >= modifiedMost {
		c.modified = slices.Delete(c.modified, 0, 1)
	}
	c.modified = append(c.modified, p)
}

func (c *Cache) use(p part) {
	if len(c.recent) < recentMost {
		c.recent = append(c.recent, p)
		return
	}
	c.recent[c.oldest] = p
	c.oldest = (c.oldest + 1) % recentMost
}

// settled takes what was flushed out of what may be modified: all of it, or one of its ends; of two ends that are left
// the longer one is kept.
func (c *Cache) settled(p part) {
	c.modified = slices.DeleteFunc(c.modified, func(m part) bool { return m.first >= p.first && m.last <= p.last })
	for i := range c.modified {
		m := &c.modified[i]
		if m.last < p.first || m.first > p.last {
			continue
		}
		before, after := p.first-m.first, m.last-p.last
		if before >= after {
			m.last = p.first - 1
		} else {
			m.first = p.last + 1
		}
	}
}

// loses reports whether a line that is evicted while it is written may come back older than it went: another domain's
// cache answers. The adversary does not evict there; decision 0016 is about what happens if it does, and the emulation
// in package coherence shows it.
func (c *Cache) loses() bool { return c.home != nil }

func (c *Cache) held(p part) bool {
	return slices.ContainsFunc(c.modified, func(m part) bool { return m.first <= p.last && p.first <= m.last })
}

// drop, writeBack and fetch work on whole lines that the memory has. They require mu.
func (c *Cache) drop(p part) {
	c.writeBack(p)
	c.fetch(p)
}

// writeBack brings modified lines to the memory (EM1). What is stored meanwhile leaves its line modified (EM2).
func (c *Cache) writeBack(p part) {
	c.moves(p, func(first, last int64) {
		for ; first < last; first += c.perLine {
			if !c.isModified(first) {
				continue
			}
			for i := first; i < first+c.perLine; i++ {
				v := load(&c.copy[i])
				store(&c.memory[i], v)
				store(&c.shadow[i], v)
			}
			c.domain.moves.WrittenBack++
		}
	})
}

func (c *Cache) isModified(first int64) bool {
	for i := first; i < first+c.perLine; i++ {
		if load(&c.copy[i]) != load(&c.shadow[i]) {
			return true
		}
	}
	return false
}

// fetch brings lines that are not modified from the memory, or from the lender's cache.
func (c *Cache) fetch(p part) {
	source := c.memory
	if c.home != nil {
		source = c.home
	}
	c.moves(p, func(first, last int64) {
		for ; first < last; first += c.perLine {
			if !c.differs(source, first) || c.isModified(first) {
				continue
			}
			// A process that is killed within the line would leave words of which the shadow knows nothing, as if they
			// were stored.
			intent := &c.shadow[int64(len(c.copy))]
			store(intent, uint64(first+1))
			for i := first; i < first+c.perLine; i++ {
				v, old := load(&source[i]), load(&c.shadow[i])
				if v != old && swap(&c.copy[i], old, v) { // EM2
					store(&c.shadow[i], v)
				}
			}
			store(intent, 0)
			c.domain.moves.Fetched++
		}
	})
}

func (c *Cache) differs(source []uint64, first int64) bool {
	for i := first; i < first+c.perLine; i++ {
		if load(&source[i]) != load(&c.shadow[i]) {
			return true
		}
	}
	return false
}

// forgetIntent takes the line in which a process was killed while it fetched it for not modified, as it was.
func (c *Cache) forgetIntent() {
	intent := &c.shadow[len(c.copy)]
	first := int64(load(intent)) - 1
	if first < 0 || first+c.perLine > int64(len(c.copy)) {
		return
	}
	for i := first; i < first+c.perLine; i++ {
		store(&c.shadow[i], load(&c.copy[i]))
	}
	store(intent, 0)
}

// moves runs do over the words of a part, as far as the memory reaches, in pieces between which the runtime may
// interrupt. A memory that goes away meanwhile ends it: its readers notice that themselves.
func (c *Cache) moves(p part, do func(first, last int64)) {
	const piece = 1024 // lines
	last := min(p.last, c.size()/c.line-1)
	for at := p.first; at <= last; at += piece {
		end := min(at+piece-1, last)
		if !guarded(func() { do(at*c.perLine, (end+1)*c.perLine) }) {
			return
		}
	}
}
