package compaction

import "slices"

// Chunk is one that a table has, as far as folding it is concerned.
type Chunk struct {
	// Number is the chunk's in its version. What is not listed is not folded.
	Number int
	Rows   int64 // that live
	Dead   int64 // that are deleted, which a fold leaves out
	Bytes  int64 // of one replica, with those
	// Key says with which chunks it may be folded; empty: with none.
	Key string
}

// Limits bound a run: what lives of it, and its chunks.
type Limits struct {
	Rows, Bytes int64
	Chunks      int
}

// deadMost bounds the rows of a run that are deleted, in times of those that may live.
const deadMost = 8

// fits reports whether a chunk or run keeps within the limits.
func (l Limits) fits(r Run) bool {
	return r.Rows <= l.Rows && r.Dead <= deadMost*l.Rows && r.living() <= l.Bytes && r.Chunks <= l.Chunks
}

// Run is chunks that are to be folded to one, or to none if no row lives.
type Run struct {
	First, Chunks     int
	Rows, Dead, Bytes int64
}

// living is what the rows that live take, about.
func (r Run) living() int64 {
	if r.Dead == 0 {
		return r.Bytes
	}
	return int64(float64(r.Bytes) * float64(r.Rows) / float64(r.Rows+r.Dead))
}

// wasteful reports whether a chunk is to be rewritten without its deleted rows, by itself if need be.
func (r Run) wasteful(all bool) bool {
	share := r.Dead > 0 && r.Dead*DeadShare >= r.Rows+r.Dead
	return share && (all || r.Bytes-r.living() >= deadBytes)
}

// DeadShare: a chunk is rewritten if one in so many of its rows is deleted, even if it is full; deadBytes is what that
// must give back at least, to be worth a commit.
const DeadShare, deadBytes = 4, 64 << 10

// next is the number of the chunk behind it.
func (r Run) next() int { return r.First + r.Chunks }

func (r Run) with(o Run) Run {
	return Run{r.First, r.Chunks + o.Chunks, r.Rows + o.Rows, r.Dead + o.Dead, r.Bytes + o.Bytes}
}

// SpareChunks is how many chunks that are not full a table may keep: they are not worth a commit.
const SpareChunks = 16

// Due reports whether there is something to fold that is worth it.
func Due(chunks []Chunk, limits Limits) bool {
	return Small(chunks, limits) > SpareChunks ||
		slices.ContainsFunc(chunks, func(c Chunk) bool { return c.Key != "" && c.Wasteful(false) })
}

// Small counts the chunks that are not full: those that may be in a run.
func Small(chunks []Chunk, limits Limits) (n int) {
	for _, c := range chunks {
		if c.small(limits) {
			n++
		}
	}
	return n
}

// Wasteful reports whether a chunk is to be rewritten without its deleted rows, by itself if need be.
func (c Chunk) Wasteful(all bool) bool { return c.run().wasteful(all) }

func (c Chunk) run() Run { return Run{c.Number, 1, c.Rows, c.Dead, c.Bytes} }

func (c Chunk) small(limits Limits) bool {
	return c.Key != "" && c.Rows <= limits.Rows/2 && c.run().living() <= limits.Bytes/2
}

// Plan lists the runs, in the order of their chunks, which is that of their numbers. With all, whatever fits is folded,
// at any cost; otherwise a run grows to the left while what is there has at most twice its rows (CP2, CP3), as a binary
// counter carries. Rows are those that live. A chunk that is wasteful is a run by itself if it is in no other (CP4).
func Plan(chunks []Chunk, limits Limits, all bool) (runs []Run) {
	var stack []Run
	key := ""
	done := func() {
		for _, r := range stack {
			if r.Chunks > 1 || r.wasteful(all) {
				runs = append(runs, r)
			}
		}
		stack = stack[:0]
	}
	for _, c := range chunks {
		if len(stack) > 0 && (c.Key != key || c.Number != stack[len(stack)-1].next() || !c.small(limits)) {
			done()
		}
		top := c.run()
		if key = c.Key; !c.small(limits) {
			if c.Key != "" && top.wasteful(all) {
				runs = append(runs, top)
			}
			continue
		}
		for len(stack) > 0 {
			before := stack[len(stack)-1]
			both := before.with(top)
			if !limits.fits(both) || !all && before.Rows > 2*top.Rows {
				break
			}
			top, stack = both, stack[:len(stack)-1]
		}
		stack = append(stack, top)
	}
	done()
	return runs
}
