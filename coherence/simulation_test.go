package coherence_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"

	"github.com/csmsql/csmsql/coherence"
	"github.com/csmsql/csmsql/coherence/model"
	"github.com/csmsql/csmsql/memregion"
)

// simulation runs the real Home, WriterCore and Reader over a machine. Every node has its own scripts; a seeded
// scheduler switches between them at every line stored, loaded or flushed and at every message, and the adversary acts
// in between. One global script would miss interleavings (docs/coherence.md).
type simulation struct {
	*machine
	lender    *coherence.Home
	allocator *recyclingMemory
	chooser   *coherence.Chooser // of the lender
	counters  *coherence.Counters
	mutation  model.Mutation
	effects   effects             // of mutation
	readers   []*coherence.Reader // by cpu
	published []publishedExtent
	holders   map[coherence.Generation]*cpu // writers between hand-over and the end of their clean
	current   *script
	writing   int   // writers that are not done
	scans     int   // complete scans by readers
	lost      int   // writings that the lender rejected
	wrong     error // the first wrong value that a reader returned
	broken    error // the first broken invariant, or a call that should not have failed
}

type publishedExtent struct {
	generation coherence.Generation
	memory     memregion.Range
}

// script is one node's program, stopped at its last yield.
type script struct {
	phase  phase
	resume func() (struct{}, bool)
	stop   func()
	pause  func()
	// storing is set while production code stores into a view.
	storing *storing
}

// phase says on whose behalf a script flushes, so that a mutation can leave it out.
type phase string

const (
	prepare   phase = "prepare"
	clean     phase = "clean"
	homeClean phase = "home clean"
	acquire   phase = "acquire"
	abort     phase = "abort"
	shrink    phase = "shrink"
	ahead     phase = "ahead"
)

// lines is what a domain's code sees of its CPU: real flushes, unless the mutation changes them.
type lines struct {
	simulation *simulation
	cpu        *cpu
}

func (l lines) Flush(b []byte) int {
	l.simulation.yield()
	from := l.cpu.offsetOf(b)
	from, to := l.simulation.effects.flush(l.simulation, l.cpu, from, from+len(b))
	if l.simulation.effects.evicted && l.simulation.current.phase == clean {
		return l.cpu.flushPresent(l.simulation.current, from, to)
	}
	return l.cpu.flush(l.simulation.current, from, to)
}

func (l lines) FenceStore() {
	l.simulation.yield()
	l.simulation.fenceStore(l.simulation.current)
}

func (l lines) FenceFull() {
	l.simulation.yield()
	if !l.simulation.effects.dropFence(l.simulation.current.phase) {
		l.simulation.fenceStore(l.simulation.current)
		l.cpu.fence(l.simulation.current)
	}
	l.simulation.yield()
}

func newSimulation(class coherence.Class, line int, seed uint64, mutation model.Mutation) *simulation {
	random := rand.New(rand.NewPCG(seed, 0))
	s := &simulation{
		machine:  newMachine(class, line, 4, random, "home", "alpha", "beta"),
		mutation: mutation, effects: effectsOf[mutation], holders: map[coherence.Generation]*cpu{},
		chooser: coherence.Always(nil), counters: &coherence.Counters{},
	}
	s.allocator = newRecyclingMemory(s.home)
	s.allocator.forgets, s.allocator.notHeld, s.allocator.wait = s.effects.forgets, s.effects.notHeld, s.yield
	var err error
	s.lender, err = coherence.NewHome(coherence.HomeConfig{
		Region: 1, Memory: s.allocator, Lines: lines{s, s.home}, Domain: "home", Class: class, Capacity: int64(len(s.memory)), Verify: s.look, Chooser: s.chooser,
	})
	if err != nil {
		panic(err)
	}
	for _, c := range s.cpus {
		s.readers = append(s.readers, coherence.NewReader(class, lines{s, c}, nil))
	}
	return s
}

// run plays the scripts to their end and returns the first wrong value that a reader returned.
func (s *simulation) run(rounds int) error {
	var scripts []*script
	s.writing = len(s.cpus)
	for i, c := range s.cpus {
		scripts = append(scripts, s.script(func() { s.write(c, rounds) }), s.script(func() { s.read(c, s.readers[i]) }))
	}
	scripts = append(scripts, s.script(s.dropAhead), s.script(s.zero))
	defer func() {
		for _, one := range scripts {
			one.stop()
		}
	}()
	for len(scripts) > 0 && s.wrong == nil && s.broken == nil {
		at := s.random.IntN(len(scripts))
		s.current = scripts[at]
		if _, more := s.current.resume(); !more {
			scripts = slices.Delete(scripts, at, at+1)
		}
		s.adversary()
		if s.random.IntN(8) == 0 {
			s.check()
		}
	}
	return s.wrong
}

// stopped unwinds a script that is not played to its end.
var errStopped = errors.New("stopped")

func (s *simulation) script(body func()) *script {
	one := &script{}
	one.resume, one.stop = iter.Pull(func(yield func(struct{}) bool) {
		defer func() {
			if r := recover(); r != nil && r != any(errStopped) {
				panic(r)
			}
		}()
		one.yieldTo(yield)
		body()
	})
	return one
}

// yields maps a running script to its way out; only the script that runs uses it.
func (one *script) yieldTo(yield func(struct{}) bool) {
	one.pause = func() {
		if one.storing != nil {
			one.storing.observe()
		}
		if !yield(struct{}{}) {
			panic(errStopped)
		}
		if one.storing != nil {
			one.storing.arm()
		}
	}
}

func (s *simulation) yield() { s.current.pause() }

// in runs f as one phase of the current script.
func (s *simulation) in(p phase, f func() error) error {
	script := s.current
	script.phase = p
	err := f()
	script.phase = ""
	return err
}

// ramp is byte(11*k) for every k: any content of value is a piece of it.
var ramp = func() (b [8 * memregion.PageSize]byte) {
	for k := range b {
		b[k] = byte(11 * k)
	}
	return b
}()

// value is the content of generation g at addresses [from, to): byte(37*g + 11*address + 1). No two generations that
// live near each other agree in any byte. Not to be written to.
func value(g coherence.Generation, from, to int) []byte {
	const inverse = 163 // of 11 modulo 256
	start := from + inverse*(37*int(g%256)+1)
	return ramp[start%256:][:to-from]
}

// write is the script of a writer in c's domain: grant after grant, some given back.
func (s *simulation) write(c *cpu, rounds int) {
	for range rounds {
		for !s.writeOne(c) && s.broken == nil {
			s.retireOne()
			s.yield()
		}
		for range s.random.IntN(40) { // so that another domain gets the memory that went back last
			s.yield()
		}
	}
	s.writing--
}

// writeOne writes one generation; false if the region is full.
func (s *simulation) writeOne(c *cpu) bool {
	var grant *coherence.Grant
	err := s.in(prepare, func() (err error) {
		size := int64(memregion.PageSize) * int64(1+s.random.IntN(4)/3)
		grant, err = s.lender.Grant("t", c.name, size)
		return err
	})
	if errors.Is(err, errFull) {
		return false
	}
	s.must(err)
	g := grant.Generation()
	s.holders[g] = c
	writer := coherence.NewWriterCore(s.class, g, grant.Range())
	s.effects.granted(s, grant.Range())
	if c != s.home && s.random.IntN(6) == 0 {
		s.storeAll(c, g, writer.Range(), 1<<30)
		s.cutOff(c, g)
		return true
	}
	if s.random.IntN(4) == 0 {
		s.storeAll(c, g, writer.Range(), s.random.IntN(8)) // some lines only
		s.giveBack(c, grant, &writer)
		delete(s.holders, g)
		return true
	}
	if (s.mutation == model.None || s.effects.storesAgain || s.effects.unfenced) && s.random.IntN(2) == 0 {
		s.copyAll(c, grant, &writer)
	} else {
		s.storeAll(c, g, writer.Range(), 1<<30)
	}
	if writer.Range().Length > memregion.PageSize {
		s.must(s.in(shrink, func() error { return s.shrink(c, grant, &writer) }))
	}
	s.finish(c, grant, &writer)
	return true
}

// dropAhead is the lender's script about free memory.
func (s *simulation) dropAhead() {
	for s.writing > 0 {
		s.must(s.in(ahead, func() error {
			_, err := s.lender.DropAhead(memregion.PageSize * int64(1+s.random.IntN(3)))
			return err
		}))
		for range s.random.IntN(20) {
			s.yield()
		}
		s.yield()
	}
}

// zero is the lender's kernel: now and then it has free memory back, and zeroes it when it is reserved again.
func (s *simulation) zero() {
	for s.writing > 0 {
		for range s.random.IntN(20) {
			s.yield()
		}
		s.yield()
		s.allocator.zeroSome()
	}
}

func (s *simulation) shrink(c *cpu, grant *coherence.Grant, writer *coherence.WriterCore) error {
	if c == s.home {
		return grant.Shrink(memregion.PageSize)
	}
	list, err := writer.Shrink(memregion.PageSize)
	s.must(err)
	s.do(c, list)
	s.yield() // the message travels
	left, err := s.lender.ShrinkGeneration(grant.Generation(), memregion.PageSize)
	writer.Shrunk(left)
	return err
}

// finish does clean, home clean, seal and publish.
func (s *simulation) finish(c *cpu, grant *coherence.Grant, writer *coherence.WriterCore) {
	g, memory := grant.Generation(), s.lender.Generation(grant.Generation()).Range
	s.effects.beforeClean(s, memory)
	if c == s.home {
		s.must(s.in(clean, grant.Clean))
	} else {
		list, err := writer.Clean()
		s.must(err)
		s.must(s.in(clean, func() error { s.do(c, list); return nil }))
		s.yield() // the message travels
		s.must(s.in(homeClean, func() error { return s.lender.Cleaned(g) }))
	}
	delete(s.holders, g)
	if err := grant.Seal(coherence.Seal{Length: memory.Length, Checksum: uint64(g)}); errors.Is(err, coherence.ErrChecksum) && c != s.home && s.class == coherence.IncoherentHomeSnoop {
		s.lost++
		if from, to := int(memory.Offset), int(memory.End()); s.mutation == model.None && bytes.Equal(s.memory[from:to], value(g, from, to)) {
			s.must(fmt.Errorf("C1: the lender rejects generation %d, which lies in the memory", g))
		}
		return // it is over; the next round writes again
	} else {
		s.must(err)
	}
	s.yield()
	s.must(s.lender.Publish(g))
	s.published = append(s.published, publishedExtent{g, memory})
	s.yield()
	s.effects.afterPublish(s, c, memory)
}

func (s *simulation) giveBack(c *cpu, grant *coherence.Grant, writer *coherence.WriterCore) {
	if c == s.home {
		s.must(s.in(abort, grant.Abort))
		return
	}
	list, err := writer.Abort()
	s.must(err)
	s.must(s.lender.AbortGeneration(grant.Generation()))
	s.must(s.in(abort, func() error { s.do(c, list); return nil }))
	s.yield()
	s.must(s.lender.Cleaned(grant.Generation()))
}

// cutOff is the death of a host in the middle of a writing: what its caches held is lost with them. The host is back at
// once; its reader goes on as another one would.
func (s *simulation) cutOff(c *cpu, g coherence.Generation) {
	if !s.effects.leaks {
		c.lose()
	}
	delete(s.holders, g)
	_, err := s.lender.FenceOff(c.name)
	s.must(err)
	s.yield()
	s.must(s.lender.Lift(g))
}

// do is the driver of a writer in another domain.
func (s *simulation) do(c *cpu, list []coherence.Action) {
	l := lines{s, c}
	for _, a := range list {
		switch {
		case !a.Paid:
		case a.Kind == coherence.ActionFenceStore:
			l.FenceStore()
		case a.Kind == coherence.ActionFlush:
			l.Flush(c.view[a.Range.Offset:a.Range.End()])
		case a.Kind == coherence.ActionFenceFull:
			l.FenceFull()
		}
	}
}

// storeAll stores every byte of a generation, line by line, or the first few lines.
func (s *simulation) storeAll(c *cpu, g coherence.Generation, r memregion.Range, lines int) {
	for at := int(r.Offset); at < int(r.End()) && lines > 0; lines-- {
		_, to := s.span(at / s.line)
		to = min(to, int(r.End()))
		if (s.effects.halves || s.mutation == model.None) && s.random.IntN(4) == 0 { // not every program stores a line at once
			half := at + (to-at)/2
			c.store(at, value(g, at, half))
			at = half
			s.yield()
		}
		c.store(at, value(g, at, to))
		at = to
		s.yield()
	}
}

// look is the lender's, before it seals what a foreign writer wrote: through its own cache. The checksum is the generation,
// from which the bytes follow.
func (s *simulation) look(data []byte, seal coherence.Seal) error {
	from := s.home.offsetOf(data)
	if s.mutation != model.None {
		return nil // it would find some of what mutations damage, as readers' checksums would
	}
	for at := from; at < from+len(data); {
		_, to := s.span(at / s.line)
		to = min(to, from+len(data))
		if !bytes.Equal(s.home.load(at, to), value(coherence.Generation(seal.Checksum), at, to)) {
			return coherence.ErrChecksum
		}
		at = to
		s.yield()
	}
	return nil
}

// retireOne makes room: the oldest table version goes.
func (s *simulation) retireOne() {
	if len(s.published) == 0 {
		return
	}
	g := s.published[0].generation
	s.published = s.published[1:]
	s.must(s.lender.Retire(g))
}

// read is the script of a reader in c's domain: it reads as long as there are writers.
func (s *simulation) read(c *cpu, reader *coherence.Reader) {
	for s.writing > 0 {
		s.yield()
		s.effects.beforeLooking(s, c)
		if len(s.published) == 0 {
			continue
		}
		x := s.published[s.random.IntN(len(s.published))]
		gens := []coherence.Generation{x.generation}
		s.must(s.lender.Pin(c.name, gens))
		s.yield() // the descriptor travels
		key := s.effects.remember(x)
		s.must(s.in(acquire, func() error {
			return reader.Acquire(context.Background(), 1, key, c.view[x.memory.Offset:x.memory.End()], nil)
		}))
		early := s.effects.releaseEarly()
		if early {
			s.must(s.lender.Unpin(c.name, gens))
		}
		for range 1 + s.random.IntN(2) {
			s.scan(c, x)
		}
		if s.random.IntN(2) == 0 && key == x.generation {
			reader.Release(1, key)
		}
		if !early {
			s.must(s.lender.Unpin(c.name, gens))
		}
	}
}

// scan loads every line of a generation: C1.
func (s *simulation) scan(c *cpu, x publishedExtent) {
	for at := int(x.memory.Offset); at < int(x.memory.End()) && s.wrong == nil; {
		_, to := s.span(at / s.line)
		to = min(to, int(x.memory.End()))
		if got, want := c.load(at, to), value(x.generation, at, to); !bytes.Equal(got, want) {
			s.wrong = fmt.Errorf("C1: domain %s loads generation %d at %#x and gets %#x…, not %#x…", c.name, x.generation, at, got[:8], want[:8])
		}
		at = to
		s.yield()
	}
	s.scans++
}

// check looks at what no reader has to see for it to be broken: C2 and C3.
func (s *simulation) check() {
	if s.mutation != model.None || s.broken != nil {
		return // a mutation must be seen as a wrong value, nothing less
	}
	for _, x := range s.published {
		from, to := int(x.memory.Offset), int(x.memory.End())
		if !bytes.Equal(s.memory[from:to], value(x.generation, from, to)) {
			s.broken = fmt.Errorf("C2: memory does not hold published generation %d", x.generation)
		}
	}
	for g, holder := range s.holders {
		r := s.lender.Generation(g).Range
		for _, c := range s.cpus {
			for line := int(r.Offset) / s.line; c != holder && line < int(r.End())/s.line; line++ {
				if c.dirty[line] || c.flying[line] != nil {
					s.broken = fmt.Errorf("C3: line %d of generation %d is dirty in %s", line, g, c.name)
				}
			}
		}
	}
}

func (s *simulation) must(err error) {
	if err != nil && s.broken == nil {
		s.broken = err
		panic(errStopped)
	}
}
