package worker

import "slices"

// Recent keeps the things of a kind that were used last, so many at most.
type Recent[T any] struct {
	Most int
	list []T // the one that was used last at the end
}

// Use gives the first of which is is true, which is the one that was used last from now on.
func (r *Recent[T]) Use(is func(T) bool) (used T, found bool) {
	at := slices.IndexFunc(r.list, is)
	if at < 0 {
		return used, false
	}
	used = r.list[at]
	r.list = append(slices.Delete(r.list, at, at+1), used)
	return used, true
}

// Drop takes out what Use gave last.
func (r *Recent[T]) Drop() { r.list = slices.Delete(r.list, len(r.list)-1, len(r.list)) }

// Add keeps one more, and gives the one that goes for it.
func (r *Recent[T]) Add(one T) (gone T, goes bool) {
	if goes = len(r.list) >= r.Most; goes {
		gone = r.list[0]
		r.list = slices.Delete(r.list, 0, 1)
	}
	r.list = append(r.list, one)
	return gone, goes
}
