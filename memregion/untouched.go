package memregion

// On memory that is not coherent a lender must write its own modified lines back before another machine writes there
// (package coherence, step prepare). It need not where it has none. So the pages are kept here that the lender's
// domain, its kernel included, has not stored into since it dropped their lines. The kernel stores when it zeroes
// pages, which it does only after they were reserved (M13). Lines of idle pages are dropped ahead, so that a writer
// that is granted them does not wait for it (DropAhead).

// Dropped notes that the lender's domain has dropped every line of r, flush and fence included, and has stored nothing
// there since. Preconditions: the caller holds r. What is outside the region, or was freed meanwhile, is not noted.
func (l *Lent) Dropped(r Range) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.mu.closed || l.heldLocked(r) != nil || r.Offset%PageSize != 0 || r.Length%PageSize != 0 {
		return
	}
	l.mu.untouched.add(pageSpan(r))
}

// Touch notes that a process of the lender's domain is about to store into r. Call it before the first store.
func (l *Lent) Touch(r Range) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.mu.closed || l.mapping.checkBounds(r) != nil {
		return
	}
	low, high := pageSpan(r)
	for at := l.mu.untouched.next(low, high, true); at < high; at = l.mu.untouched.next(at, high, true) {
		end := l.mu.untouched.next(at, high, false)
		first, last := max(at*PageSize, r.Offset), min(end*PageSize, r.End()) // the lines beside r are not flushed: they stay as they are
		l.mapping.cached.zeroed(Range{first, last - first})
		l.mu.untouched.remove(at, end)
		at = end
	}
}

// Untouched lists the parts of r, in whole pages, that the lender's domain has stored nothing into since it dropped
// every line of them: in ascending order, and no two of them touch.
func (l *Lent) Untouched(r Range) (parts []Range) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.mu.closed || r.Length <= 0 || l.mapping.checkBounds(r) != nil {
		return nil
	}
	low, high := pageSpan(r)
	for at := l.mu.untouched.next(low, high, true); at < high; at = l.mu.untouched.next(at, high, true) {
		end := l.mu.untouched.next(at, high, false)
		parts = append(parts, Range{at * PageSize, (end - at) * PageSize})
		at = end
	}
	return parts
}

// DropAhead calls drop to flush, fences included, the lowest range of idle memory that is not untouched, of at most
// limit bytes. The range is untouched then. It is returned, and is empty if there is none. Meanwhile no memory is
// granted, reserved or punched, so a small limit keeps that wait short (M13). drop must not call l. Errors: ErrClosed,
// and ErrRegionGone if the backing was truncated; nothing is noted then.
func (l *Lent) DropAhead(limit int64, drop func(r Range, memory []byte)) (Range, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.openLocked(); err != nil {
		return Range{}, err
	}
	low, high := l.touchedIdleLocked()
	if high = min(high, low+pagesFor(limit)); low >= high {
		return Range{}, nil
	}
	r := Range{low * PageSize, (high - low) * PageSize}
	if err := Guarded(func() { drop(r, l.mapping.memory[r.Offset:r.End():r.End()]) }); err != nil {
		return Range{}, err
	}
	l.mu.untouched.add(low, high)
	return r, nil
}

// touchedIdleLocked is the lowest run of idle pages that are not untouched; low == high if there is none.
func (l *Lent) touchedIdleLocked() (low, high int64) {
	limit := l.mu.frontier
	for at := l.mu.idle.next(l.mu.dropFrom, limit, true); at < limit; at = l.mu.idle.next(at, limit, true) {
		end := l.mu.idle.next(at, limit, false)
		if low = l.mu.untouched.next(at, end, false); low < end {
			l.mu.dropFrom = low
			return low, l.mu.untouched.next(low, end, true)
		}
		at = end
	}
	l.mu.dropFrom = limit
	return 0, 0
}

// ToDrop is how many bytes DropAhead would find now.
func (l *Lent) ToDrop() (bytes int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return (l.mu.idle.count - l.mu.idle.common(&l.mu.untouched)) * PageSize
}

// MoreToDrop returns a channel on which a value says that DropAhead may find something where it found nothing before.
// It is one channel, for one receiver.
func (l *Lent) MoreToDrop() <-chan struct{} { return l.moreToDrop }

// becameIdleLocked is called after pages have become idle, or idle ones were touched.
func (l *Lent) becameIdleLocked(low, high int64) {
	if l.mu.untouched.countIn(low, high) == high-low {
		return
	}
	l.mu.dropFrom = min(l.mu.dropFrom, low)
	select {
	case l.moreToDrop <- struct{}{}:
	default: // signaled already
	}
}
