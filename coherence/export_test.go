package coherence

// Flights is how many acquires the reader believes to be under way.
func (r *Reader) Flights() (flights int) {
	for i := range r.shards {
		r.shards[i].mu.RLock()
		flights += len(r.shards[i].flights)
		r.shards[i].mu.RUnlock()
	}
	return flights
}
