package coherence

// BoundReader lowers the bound of what a shard remembers, which no test would reach quickly.
func BoundReader(r *Reader, perShard int) { r.bound = perShard }

// ReaderShards is how many shards a reader has.
const ReaderShards = readerShards

// Flights is how many acquires are under way as the reader sees it.
func (r *Reader) Flights() (flights int) {
	for i := range r.shards {
		r.shards[i].mu.RLock()
		flights += len(r.shards[i].flights)
		r.shards[i].mu.RUnlock()
	}
	return flights
}

// Kernels are a processor's ways to store that Go has not, as assembly has them; nil: it has none.
type Kernels struct {
	Stream, Through func(to, from *byte, units int)
	Behind          func(to, from, flushed *byte, units int)
}

// NewCopier is the Copier of a processor that tests play, whose lines are one unit long, with pieces of so many bytes.
func NewCopier(p Path, lines Lines, unit, piece, ahead int, kernels Kernels) *Copier {
	c := newCopier(p, lines, unit)
	c.step, c.piece, c.ahead = unit, piece, ahead
	switch p {
	case Streaming:
		c.kernel, c.behind = kernels.Stream, kernels.Behind
	case WriteThrough:
		c.kernel = kernels.Through
	}
	return c
}

// Choose has the chooser have chosen.
func (c *Chooser) Choose(copier *Copier) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.chosen = copier
}
