package compaction

// Chunk is one that a table has, as far as folding it is concerned.
type Chunk struct {
	// Number is the chunk's in its version. What is not listed is not folded.
	Number int
	Rows   int64
	Bytes  int64 // of one replica
	// Key says with which chunks it may be folded; empty: with none.
	Key string
}

// Limits bound a run.
type Limits struct {
	Rows, Bytes int64
	Chunks      int
}

// fits tells whether a chunk or run keeps within the limits.
func (l Limits) fits(r Run) bool {
	return r.Rows <= l.Rows && r.Bytes <= l.Bytes && r.Chunks <= l.Chunks
}

// Run is chunks that are to be folded to one.
type Run struct {
	First, Chunks int
	Rows, Bytes   int64
}

// next is the number of the chunk behind it.
func (r Run) next() int { return r.First + r.Chunks }

func (r Run) with(o Run) Run {
	return Run{r.First, r.Chunks + o.Chunks, r.Rows + o.Rows, r.Bytes + o.Bytes}
}

// SpareChunks is how many chunks that are not full a table may keep: they are not worth a commit.
const SpareChunks = 16

// Small counts the chunks that are not full: those that may be in a run.
func Small(chunks []Chunk, limits Limits) (n int) {
	for _, c := range chunks {
		if c.small(limits) {
			n++
		}
	}
	return n
}

func (c Chunk) small(limits Limits) bool {
	return c.Key != "" && c.Rows <= limits.Rows/2 && c.Bytes <= limits.Bytes/2
}

// Plan lists the runs, in the order of their chunks, which is that of their numbers. With all, whatever fits is folded,
// at any cost; otherwise a run grows to the left while what is there has at most twice its rows (CP2, CP3), as a binary
// counter carries.
func Plan(chunks []Chunk, limits Limits, all bool) (runs []Run) {
	var stack []Run
	key := ""
	done := func() {
		for _, r := range stack {
			if r.Chunks > 1 {
				runs = append(runs, r)
			}
		}
		stack = stack[:0]
	}
	for _, c := range chunks {
		if len(stack) > 0 && (c.Key != key || c.Number != stack[len(stack)-1].next() || !c.small(limits)) {
			done()
		}
		if key = c.Key; !c.small(limits) {
			continue
		}
		top := Run{c.Number, 1, c.Rows, c.Bytes}
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
