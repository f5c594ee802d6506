package coherence

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/csmsql/csmsql/memregion"
)

// Path is a way in which a writer brings bytes into memory whose caches are not coherent. All of them end in step 3
// as it is: they differ in when lines are written back, and in what Clean is left to flush.
//
//	WriteBack     store …………………………………………………………… store │ Clean: flush every line
//	Streaming     store past the cache, fence, flush │ the next piece … │ Clean: what is left, fence
//	OnePass       store, flush while it is near       │ the next piece … │ Clean: what is left, fence
//	WriteThrough  store, write back │ the next line …………………………… │ Clean: flush every line (they are clean already)
type Path uint8

const (
	// WriteBack stores as always; Clean does the rest.
	WriteBack Path = iota
	// Streaming stores past the caches. What these held of the memory before may have stayed there (what a
	// non-temporal store does to a line that is cached differs between processors), so each piece is flushed all
	// the same, after a store fence. Where the processor can, that goes on line by line while the next piece is
	// stored: the flush of absent lines waits for nothing that the stores need.
	Streaming
	// OnePass flushes each piece right after it was stored, while its lines are in the nearest cache.
	OnePass
	// WriteThrough emulates memory that is mapped write-through (thesis §6.1): each line is written back when it is
	// stored, and kept.
	WriteThrough
)

// Paths are all of them, the ordinary one first.
func Paths() []Path { return []Path{WriteBack, Streaming, OnePass, WriteThrough} }

func (p Path) String() string {
	switch p {
	case WriteBack:
		return "write back, then flush"
	case Streaming:
		return "streaming stores"
	case OnePass:
		return "copy and flush in one pass"
	case WriteThrough:
		return "write through, emulated"
	}
	return fmt.Sprintf("path(%d)", uint8(p))
}

// copyPiece is how many bytes are copied between two looks at what comes next: they and their source fit the nearest
// cache.
const copyPiece = 16 << 10

// streamPiece is how far the flushes stay behind the stores of a long copy where the two go on together. A shorter way
// makes them wait for each other more often (a fence ends each piece), a longer one leaves more to flush in the end.
const streamPiece = 64 << 10

// Copier copies into a region by one path. Immutable; safe for concurrent use on disjoint memory.
type Copier struct {
	path   Path
	lines  Lines
	unit   int                             // bytes, a power of two: whole ones are copied by the path, what is left at both ends as always
	kernel func(to, from *byte, steps int) // nil: copy
	step   int                             // bytes of one step of the kernel; divides unit
	piece  int                             // bytes, as copyPiece, and ahead, as streamPiece; whole units
	ahead  int
	// behind is the kernel of Streaming that also flushes as many bytes elsewhere, a line for each step; nil: this
	// processor has none.
	behind func(to, from, flushed *byte, steps int)
}

// Copier returns the copier for a path, or ErrUnsupported where this processor has no instruction for it.
func (l *CPULines) Copier(p Path) (*Copier, error) {
	unit, stream, through, behind := probeCopies()
	c := newCopier(p, l, max(unit, l.features.LineSize))
	switch p {
	case WriteBack, OnePass:
		return c, nil
	case Streaming:
		c.kernel = stream
		if l.features.LineSize == unit {
			c.behind = behind
		}
	case WriteThrough:
		c.kernel = through
	}
	if c.kernel == nil || c.unit > copyPiece {
		return nil, fmt.Errorf("%w: %v", ErrUnsupported, p)
	}
	c.step = unit
	return c, nil
}

// newCopier is one that has only ordinary stores so far.
func newCopier(p Path, lines Lines, unit int) *Copier {
	return &Copier{path: p, lines: lines, unit: unit, piece: copyPiece, ahead: streamPiece}
}

// Path is what it copies by.
func (c *Copier) Path() Path { return c.path }

// Copied says which part of the target Clean need not flush any more: [From, To), whole lines, which the writer
// must not store into again. Empty if From equals To.
type Copied struct {
	From, To int
	Lines    int // that were flushed, as Lines.Flush counts
}

// Copy stores from into the first len(from) bytes of to. The two do not overlap. Lines that to has in part are left to
// Clean, since others of their bytes may still be stored.
func (c *Copier) Copy(to, from []byte) (done Copied) {
	to = to[:len(from)]
	if c.path == WriteBack || len(from) < 2*c.unit {
		copy(to, from)
		return Copied{}
	}
	head := int(-addressOf(to) & uintptr(c.unit-1))
	end := head + (len(to)-head)/c.unit*c.unit
	copy(to[:head], from[:head])
	if c.behind != nil {
		done.Lines = c.stream(to[head:end], from[head:end])
	} else {
		for at := head; at < end; {
			next := min(at+c.piece, end)
			done.Lines += c.onePiece(to[at:next], from[at:next])
			at = next
		}
	}
	copy(to[end:], from[end:])
	if c.path != WriteThrough {
		done.From, done.To = head, end
	}
	return done
}

// stream copies whole units past the caches and flushes each a piece later, so that the two go on together.
func (c *Copier) stream(to, from []byte) (flushed int) {
	ahead := c.ahead
	if len(to) < 4*c.ahead {
		ahead = c.piece
	}
	at := min(ahead, len(to))
	c.kernel(&to[0], &from[0], at/c.step)
	gone := 0
	for at < len(to) {
		n := min(ahead, len(to)-at)
		c.behind(&to[at], &from[at], &to[gone], n/c.step)
		flushed += n / c.step
		at, gone = at+n, gone+n
	}
	return flushed + c.lines.Flush(to[gone:])
}

// onePiece copies whole units.
func (c *Copier) onePiece(to, from []byte) (flushed int) {
	if c.kernel == nil {
		copy(to, from)
	} else {
		c.kernel(&to[0], &from[0], len(to)/c.step)
	}
	if c.path == WriteThrough {
		return 0
	}
	return c.lines.Flush(to)
}

// PathTime is how long a path took for a piece of memory, with all flushes and fences that it and Clean do.
type PathTime struct {
	Path Path
	Time time.Duration
}

// Fastest is the path to take. WriteBack, which must come first, stays unless another one needs a twentieth less:
// differences below that are noise. Without any time it is WriteBack.
func Fastest(times []PathTime) Path {
	best := PathTime{Path: WriteBack}
	for i, t := range times {
		if i == 0 || t.Time < best.Time && t.Time <= times[0].Time-times[0].Time/20 {
			best = t
		}
	}
	return best.Path
}

const (
	// measuredBytes are copied by each path in each round of a measurement.
	measuredBytes = 256 << 10
	// measuredRounds bounds the rounds, of which each path's shortest time counts: what disturbs only ever adds.
	measuredRounds = 4
	// measuredLimit is when no further copy is begun. Where one takes 5 ms (50 MB/s) a measurement is over after 20 ms.
	measuredLimit = 15 * time.Millisecond
)

// Chooser finds the fastest path of one fabric by measuring, once, in memory that is about to be written anyway.
// Safe for concurrent use. Only grants on fabrics that are not coherent ask it.
type Chooser struct {
	copiers []*Copier
	clock   func() time.Time

	mu     sync.Mutex // guards what follows; held while it measures
	chosen *Copier
	times  []PathTime
}

// NewChooser chooses among the paths that lines have: those of a processor as many as it has instructions for,
// others the two that need none. The clock is time.Now in production.
func NewChooser(lines Lines, clock func() time.Time) *Chooser {
	c := &Chooser{clock: clock}
	cpu, real := lines.(*CPULines)
	if !real {
		for _, p := range []Path{WriteBack, OnePass} {
			c.copiers = append(c.copiers, newCopier(p, lines, memregion.LineSize))
		}
		return c
	}
	for _, p := range Paths() {
		if copier, err := cpu.Copier(p); err == nil {
			c.copiers = append(c.copiers, copier)
		}
	}
	return c
}

// Always is a Chooser that has chosen.
func Always(copier *Copier) *Chooser { return &Chooser{chosen: copier} }

// For returns the fabric's copier. scratch is memory of that fabric, to be written by the caller: the first one
// that is long enough to measure in is written over several times. Before, WriteBack is the answer.
func (c *Chooser) For(scratch []byte) *Copier {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.chosen == nil {
		if len(scratch) < measuredBytes {
			return c.copiers[0]
		}
		c.times = c.measure(scratch[:measuredBytes])
		path := Fastest(c.times)
		c.chosen = c.copiers[slices.IndexFunc(c.copiers, func(one *Copier) bool { return one.path == path })]
	}
	return c.chosen
}

// Times are what was measured; nil before.
func (c *Chooser) Times() []PathTime {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.times)
}

func (c *Chooser) measure(scratch []byte) (times []PathTime) {
	source := make([]byte, len(scratch))
	for i := range source { // pages that were never stored into would all be one
		source[i] = byte(i)
	}
	begin := c.clock()
	for round := range measuredRounds {
		for i, copier := range c.copiers {
			if c.clock().Sub(begin) >= measuredLimit {
				return times
			}
			t := PathTime{copier.path, copier.time(scratch, source, c.clock)}
			if round == 0 {
				times = append(times, t)
			} else {
				times[i].Time = min(times[i].Time, t.Time)
			}
		}
	}
	return times
}

// time copies and does what Clean does.
func (c *Copier) time(to, from []byte, clock func() time.Time) time.Duration {
	begin := clock()
	done := c.Copy(to, from)
	c.lines.FenceStore()
	c.lines.Flush(to[:done.From])
	c.lines.Flush(to[done.To:])
	c.lines.FenceFull()
	return clock().Sub(begin)
}

// CopyInto is how grants copy: from goes to offset at of bytes, which are the writer's grant, mapped here. Where the
// fabric is coherent, or without a chooser, it is an ordinary copy. near reports whether what was stored may be in the
// caches.
func CopyInto(w *WriterCore, chooser *Chooser, count *Counters, bytes []byte, at int64, from []byte) (near bool) {
	to := bytes[at : at+int64(len(from))]
	if !w.class.pays() || chooser == nil {
		copy(to, from)
		return true
	}
	done := chooser.For(to).Copy(to, from)
	w.Flushed(memregion.Range{Offset: w.memory.Offset + at + int64(done.From), Length: int64(done.To - done.From)})
	if done.To > done.From {
		count.FlushedLines.Add(uint64(done.Lines))
		count.FlushedBytes.Add(uint64(done.To - done.From))
		count.FlushesByStep[StepClean].Add(1)
	}
	return done.To == done.From
}
