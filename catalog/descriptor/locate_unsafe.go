package descriptor

import "unsafe"

// locator finds the extent in which a buffer lies by its address. Addresses are compared and never turned back into
// pointers, so that the collector and the race detector have nothing to say about them.
type locator struct{ spans []span }

type span struct{ from, to uintptr }

func newLocator(extents []Mapped) *locator {
	l := &locator{spans: make([]span, len(extents))}
	for i, x := range extents {
		// SAFETY: only the number is used; the caller's slice keeps the memory alive for the locator's short life.
		from := uintptr(unsafe.Pointer(unsafe.SliceData(x.Data)))
		l.spans[i] = span{from, from + uintptr(len(x.Data))}
	}
	return l
}

// find returns the extent that holds all of data and data's offset in it.
func (l *locator) find(data []byte) (extent int, offset int64, ok bool) {
	// SAFETY: as in newLocator.
	from := uintptr(unsafe.Pointer(unsafe.SliceData(data)))
	for i, s := range l.spans {
		if from >= s.from && from+uintptr(len(data)) <= s.to {
			return i, int64(from - s.from), true
		}
	}
	return 0, 0, false
}
