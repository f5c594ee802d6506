package coherence

import "github.com/csmsql/csmsql/memregion"

// BoundReader lowers the bound of what a shard remembers, which no test would reach quickly.
func BoundReader(r *Reader, perShard int) { r.bound = perShard }

// ReaderShards is how many shards a reader has.
const ReaderShards = readerShards

// Flights is how many acquires the reader believes to be under way.
func (r *Reader) Flights() (flights int) {
	for i := range r.shards {
		r.shards[i].mu.RLock()
		flights += len(r.shards[i].flights)
		r.shards[i].mu.RUnlock()
	}
	return flights
}

// Flushed tells the grant that a copy has flushed r, for memory that only the tests can copy into.
func (g *Grant) Flushed(r memregion.Range) { g.writer.Flushed(r) }
