package memregion

// On memory that is not coherent a lender must write its own modified lines back before another machine writes there (package coherence, step
// prepare). It need not where it has none, and that is what is kept here, page by page: which pages nobody of the lender's domain, its kernel included,
// has stored into since the domain dropped their lines. The kernel stores when it zeroes pages, which it does only after they were reserved (M13).

// Dropped notes that the lender's domain has dropped every line of r, flush and fence included, and has stored nothing there since. Preconditions: the caller
// holds r. What is outside the region, or was freed meanwhile, is not noted.
func (l *Lent) Dropped(r Range) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.mu.closed || l.heldLocked(r) != nil || r.Offset%PageSize != 0 || r.Length%PageSize != 0 {
		return
	}
	l.mu.untouched.add(pageSpan(r))
}

// Touch notes that somebody of the lender's domain is about to store into r. It comes before the first store.
func (l *Lent) Touch(r Range) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.mu.closed || l.mapping.checkBounds(r) != nil {
		return
	}
	low, high := pageSpan(r)
	for at := l.mu.untouched.next(low, high, true); at < high; at = l.mu.untouched.next(at, high, true) {
		end := l.mu.untouched.next(at, high, false)
		l.mapping.cached.zeroed(Range{at * PageSize, (end - at) * PageSize})
		l.mu.untouched.remove(at, end)
		at = end
	}
}

// Untouched tells whether the lender's domain has stored nothing into r since it dropped every line of it.
func (l *Lent) Untouched(r Range) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.mu.closed || r.Length <= 0 || l.mapping.checkBounds(r) != nil {
		return false
	}
	low, high := pageSpan(r)
	return l.mu.untouched.countIn(low, high) == high-low
}
