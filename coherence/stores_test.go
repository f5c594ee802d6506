package coherence_test

import (
	"bytes"
	"slices"
	"unsafe"

	"github.com/csmsql/csmsql/coherence"
	"github.com/csmsql/csmsql/memregion"
)

// The machine sees stores of three kinds: those that a script makes by cpu.store; those that production code makes into a cpu's view by itself, which
// observe finds afterwards; and those past the cache, by kernels that the machine plays.

// aligned is n bytes that begin where every length of line does.
func aligned(n int) []byte {
	const most = 2 * memregion.PageSize
	b := make([]byte, n+most)
	skip := int(-uintptr(unsafe.Pointer(unsafe.SliceData(b))) & (most - 1))
	return b[skip : skip+n : skip+n]
}

// note takes the view of a line for what the machine knows of it.
func (c *cpu) note(line int) {
	from, to := c.machine.span(line)
	copy(c.noted[from:to], c.view[from:to])
}

// storing is what production code is storing into while its script runs.
type storing struct {
	cpu    *cpu
	memory memregion.Range
	value  func(from, to int) []byte // what it stores
}

// arm is before production code runs: in lines that are not there the view has what it will certainly not store, so that observe finds every byte.
func (s storing) arm() {
	s.lines(func(line, from, to int) {
		if s.cpu.present[line] {
			return
		}
		for i, v := range s.value(from, to) {
			s.cpu.view[from+i] = ^v
		}
		s.cpu.note(line)
	})
}

// observe is after it ran: what it stored is modified, and the rest of a line that was not there is fetched.
func (s storing) observe() {
	c := s.cpu
	s.lines(func(line, from, to int) {
		view, noted := c.view[from:to], c.noted[from:to]
		if bytes.Equal(view, noted) {
			return
		}
		if !c.present[line] {
			first, _ := c.machine.span(line)
			source := c.source(line)[from-first:]
			for i := range view {
				if view[i] == noted[i] {
					view[i] = source[i]
				}
			}
		}
		c.present[line], c.dirty[line] = true, true
		c.note(line)
	})
}

// lines visits those of the memory, as far as they lie in it.
func (s storing) lines(visit func(line, from, to int)) {
	for at := int(s.memory.Offset); at < int(s.memory.End()); {
		line := at / s.cpu.machine.line
		_, to := s.cpu.machine.span(line)
		to = min(to, int(s.memory.End()))
		visit(line, at, to)
		at = to
	}
}

// combined is a store past a cache, of one line, that waits in a buffer of its processor.
type combined struct {
	by   *script
	cpu  *cpu
	at   int
	data []byte
}

// drain does one of them. Where the line is in the cache it depends on the processor whether the store goes there, or the line leaves first.
func (m *machine) drain(s combined) {
	line := s.at / m.line
	if s.cpu.present[line] && m.random.IntN(2) == 0 {
		s.cpu.store(s.at, s.data)
		return
	}
	s.cpu.drop(line)
	copy(m.memory[s.at:], s.data)
}

// drainOne does any of them: they are in no order.
func (m *machine) drainOne() {
	if len(m.combining) == 0 {
		return
	}
	at := m.random.IntN(len(m.combining))
	s := m.combining[at]
	m.combining = slices.Delete(m.combining, at, at+1)
	m.drain(s)
}

// fenceStore waits for the stores of a script that went past the cache.
func (m *machine) fenceStore(by *script) {
	var own []combined
	m.combining = slices.DeleteFunc(m.combining, func(s combined) bool {
		if s.by == by {
			own = append(own, s)
		}
		return s.by == by
	})
	for _, s := range own {
		m.drain(s)
	}
}

// kernels are those of a cpu, for the script that runs. unfenced: they end without their store fence, which is a mutation.
func (s *simulation) kernels(c *cpu, unfenced bool) coherence.Kernels {
	offset := func(p *byte) int {
		return int(uintptr(unsafe.Pointer(p)) - uintptr(unsafe.Pointer(unsafe.SliceData(c.view))))
	}
	each := func(to, from *byte, units int, do func(at int, data []byte)) {
		data := unsafe.Slice(from, units*s.line)
		for i := range units {
			do(offset(to)+i*s.line, data[i*s.line:(i+1)*s.line])
			s.yield()
		}
	}
	combine := func(at int, data []byte) {
		s.combining = append(s.combining, combined{s.current, c, at, bytes.Clone(data)})
	}
	fence := func() {
		if !unfenced {
			s.fenceStore(s.current)
		}
	}
	return coherence.Kernels{
		Stream: func(to, from *byte, units int) {
			each(to, from, units, combine)
			fence()
		},
		Behind: func(to, from, flushed *byte, units int) {
			behind := offset(flushed)
			each(to, from, units, func(at int, data []byte) {
				combine(at, data)
				c.flush(s.current, behind, behind+s.line)
				behind += s.line
			})
			fence()
		},
		Through: func(to, from *byte, units int) {
			each(to, from, units, func(at int, data []byte) {
				c.store(at, data)
				c.writeBack(at / s.line)
			})
		},
	}
}

// copiers are all that a cpu's processor has, and one that cannot flush while it streams.
func (s *simulation) copiers(c *cpu, unfenced bool) (list []*coherence.Copier) {
	kernels := s.kernels(c, unfenced)
	older := kernels
	older.Behind = nil
	for _, p := range coherence.Paths() {
		list = append(list, coherence.NewCopier(p, lines{s, c}, s.line, 2*s.line, 3*s.line, kernels))
	}
	return append(list, coherence.NewCopier(coherence.Streaming, lines{s, c}, s.line, 2*s.line, 3*s.line, older))
}

// copyAll stores a generation by CopyInto, in parts that begin and end anywhere, by any path, and some parts as always.
// A line that was passed is not stored into again, unless that is the mutation.
func (s *simulation) copyAll(c *cpu, grant *coherence.Grant, writer *coherence.WriterCore) {
	g, r := grant.Generation(), writer.Range()
	copiers := s.copiers(c, s.effects.unfenced)
	for at := r.Offset; at < r.End(); {
		end := min(at+1+s.random.Int64N(int64(12*s.line)), r.End())
		part := memregion.Range{Offset: at, Length: end - at}
		at = end
		if s.random.IntN(8) == 0 {
			s.storeAll(c, g, part, 1<<30)
			continue
		}
		from := slices.Clone(value(g, int(part.Offset), int(part.End())))
		again := -1
		if first := (part.Offset + int64(s.line) - 1) / int64(s.line) * int64(s.line); s.effects.storesAgain && first+int64(s.line) <= part.End() {
			again = int(first)
			from[again-int(part.Offset)] ^= 0x55
		}
		s.must(s.in(clean, func() error { return s.copyPart(c, grant, writer, copiers[s.random.IntN(len(copiers))], part, from) }))
		s.yield()
		if again >= 0 {
			c.store(again, value(g, again, again+1))
		}
	}
}

// copyPart has production code store into the view, and reports to the machine what it stored whenever others may look.
func (s *simulation) copyPart(c *cpu, grant *coherence.Grant, writer *coherence.WriterCore, copier *coherence.Copier, part memregion.Range, from []byte) (err error) {
	script := s.current
	script.storing = &storing{c, writer.Range(), func(from, to int) []byte { return value(grant.Generation(), from, to) }}
	script.storing.arm()
	defer func() {
		script.storing.observe()
		script.storing = nil
	}()
	at := part.Offset - writer.Range().Offset
	if c == s.home {
		s.chooser.Choose(copier)
		_, err = grant.Copy(at, from)
		return err
	}
	bytes := c.view[writer.Range().Offset:writer.Range().End()]
	coherence.CopyInto(writer, coherence.Always(copier), s.counters, bytes, at, from)
	return nil
}
