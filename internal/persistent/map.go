package persistent

import (
	"hash/maphash"
	"iter"
	"slices"
)

// Map is an immutable map, in the order of its keys. Safe for concurrent use.
type Map[K, V comparable] struct {
	compare func(a, b K) int
	root    *node[K, V]
	length  int
}

// New makes an empty map whose keys are in the order of compare, which is 0 for equal keys only.
func New[K, V comparable](compare func(a, b K) int) Map[K, V] { return Map[K, V]{compare: compare} }

// Entry is a key with its value.
type Entry[K, V comparable] struct {
	Key   K
	Value V
}

// Collect makes a map of entries, which it sorts. Of entries with the same key the last one counts. It makes each node
// once, whereas each With copies the nodes above the one that it adds.
func Collect[K, V comparable](compare func(a, b K) int, entries []Entry[K, V]) Map[K, V] {
	m := New[K, V](compare)
	slices.SortStableFunc(entries, func(a, b Entry[K, V]) int { return compare(a.Key, b.Key) })
	var spine []*node[K, V] // from the root to the last key, always on the right
	for i, e := range entries {
		if i+1 < len(entries) && compare(e.Key, entries[i+1].Key) == 0 {
			continue
		}
		m.length++
		n := &node[K, V]{key: e.Key, value: e.Value, priority: maphash.Comparable(seed, e.Key)}
		for len(spine) > 0 && m.above(n, spine[len(spine)-1]) {
			n.left = spine[len(spine)-1]
			spine = spine[:len(spine)-1]
		}
		if len(spine) > 0 {
			spine[len(spine)-1].right = n
		}
		spine = append(spine, n)
	}
	if len(spine) > 0 {
		m.root = spine[0]
	}
	return m
}

type node[K, V comparable] struct {
	key         K
	value       V
	priority    uint64
	left, right *node[K, V]
}

// seed differs from process to process, so that a client cannot choose keys that degrade the tree to a list.
var seed = maphash.MakeSeed()

// Len is the number of keys.
func (m Map[K, V]) Len() int { return m.length }

// Get finds the value of a key.
func (m Map[K, V]) Get(key K) (value V, ok bool) {
	for n := m.root; n != nil; {
		switch order := m.compare(key, n.key); {
		case order == 0:
			return n.value, true
		case order < 0:
			n = n.left
		default:
			n = n.right
		}
	}
	return value, false
}

// Of is the value of a key, or the zero value.
func (m Map[K, V]) Of(key K) V {
	value, _ := m.Get(key)
	return value
}

// Has reports whether there is a key.
func (m Map[K, V]) Has(key K) bool {
	_, ok := m.Get(key)
	return ok
}

// With is the map with another value of a key.
func (m Map[K, V]) With(key K, value V) Map[K, V] {
	if had, ok := m.Get(key); !ok {
		m.length++
	} else if had == value {
		return m
	}
	m.root = m.put(m.root, &node[K, V]{key: key, value: value, priority: maphash.Comparable(seed, key)})
	return m
}

// Without is the map without a key.
func (m Map[K, V]) Without(key K) Map[K, V] {
	if m.Has(key) {
		m.root = m.remove(m.root, key)
		m.length--
	}
	return m
}

// All are the keys with their values, in order.
func (m Map[K, V]) All() iter.Seq2[K, V] {
	return func(yield func(K, V) bool) { m.root.each(yield) }
}

// From are the keys from one on, in order.
func (m Map[K, V]) From(first K) iter.Seq2[K, V] {
	return func(yield func(K, V) bool) { m.from(m.root, first, yield) }
}

// While are the keys from one on, in order, up to the first that is not inside.
func (m Map[K, V]) While(first K, inside func(K) bool) iter.Seq2[K, V] {
	return func(yield func(K, V) bool) {
		m.from(m.root, first, func(key K, value V) bool { return inside(key) && yield(key, value) })
	}
}

// Is reports whether two maps are one, without looking into them: if not they may still have the same values.
func (m Map[K, V]) Is(other Map[K, V]) bool { return m.root == other.root }

// Change is a key that has different values in two maps, or that only one of them has.
type Change[K, V comparable] struct {
	Key           K
	Before, After V
	Was, Is       bool
}

// Difference lists what is different in after, by key. It is cheap where one map was made from the other.
func Difference[K, V comparable](before, after Map[K, V]) iter.Seq[Change[K, V]] {
	return func(yield func(Change[K, V]) bool) { after.difference(before.root, after.root, yield) }
}

// above reports whether a is above b in the heap. Their keys are different.
func (m Map[K, V]) above(a, b *node[K, V]) bool {
	return a.priority > b.priority || a.priority == b.priority && m.compare(a.key, b.key) < 0
}

// put changes made in place: the caller alone has it.
func (m Map[K, V]) put(n, made *node[K, V]) *node[K, V] {
	if n == nil {
		return made
	}
	order := m.compare(made.key, n.key)
	switch {
	case order == 0:
		made.left, made.right = n.left, n.right
		return made
	case m.above(made, n): // then its key is not below n, which it would be above
		made.left, made.right = m.split(n, made.key)
		return made
	case order < 0:
		return n.with(m.put(n.left, made), n.right)
	}
	return n.with(n.left, m.put(n.right, made))
}

func (m Map[K, V]) remove(n *node[K, V], key K) *node[K, V] {
	switch order := m.compare(key, n.key); {
	case order == 0:
		return m.join(n.left, n.right)
	case order < 0:
		return n.with(m.remove(n.left, key), n.right)
	}
	return n.with(n.left, m.remove(n.right, key))
}

// split divides what is below n by a key that is not there.
func (m Map[K, V]) split(n *node[K, V], key K) (less, more *node[K, V]) {
	if n == nil {
		return nil, nil
	}
	if m.compare(n.key, key) < 0 {
		less, more = m.split(n.right, key)
		return n.with(n.left, less), more
	}
	less, more = m.split(n.left, key)
	return less, n.with(more, n.right)
}

// join is the inverse of split: all keys of a are less than those of b.
func (m Map[K, V]) join(a, b *node[K, V]) *node[K, V] {
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	case m.above(a, b):
		return a.with(a.left, m.join(a.right, b))
	}
	return b.with(m.join(a, b.left), b.right)
}

// with is the node with other ones below it: itself, if they are the same.
func (n *node[K, V]) with(left, right *node[K, V]) *node[K, V] {
	if left == n.left && right == n.right {
		return n
	}
	return &node[K, V]{n.key, n.value, n.priority, left, right}
}

func (n *node[K, V]) each(yield func(K, V) bool) bool {
	return n == nil || n.left.each(yield) && yield(n.key, n.value) && n.right.each(yield)
}

func (m Map[K, V]) from(n *node[K, V], first K, yield func(K, V) bool) bool {
	if n == nil {
		return true
	}
	if m.compare(n.key, first) < 0 {
		return m.from(n.right, first, yield)
	}
	return m.from(n.left, first, yield) && yield(n.key, n.value) && n.right.each(yield)
}

// difference divides the tree with the lower root by the key of the other's, which it does not have (PM1).
func (m Map[K, V]) difference(a, b *node[K, V], yield func(Change[K, V]) bool) bool {
	switch {
	case a == b:
		return true
	case a == nil:
		return b.each(func(key K, v V) bool { return yield(Change[K, V]{Key: key, After: v, Is: true}) })
	case b == nil:
		return a.each(func(key K, v V) bool { return yield(Change[K, V]{Key: key, Before: v, Was: true}) })
	case m.compare(a.key, b.key) == 0:
		return m.difference(a.left, b.left, yield) &&
			(a.value == b.value || yield(Change[K, V]{a.key, a.value, b.value, true, true})) &&
			m.difference(a.right, b.right, yield)
	case m.above(a, b):
		less, more := m.split(b, a.key)
		return m.difference(a.left, less, yield) &&
			yield(Change[K, V]{Key: a.key, Before: a.value, Was: true}) && m.difference(a.right, more, yield)
	}
	less, more := m.split(a, b.key)
	return m.difference(less, b.left, yield) &&
		yield(Change[K, V]{Key: b.key, After: b.value, Is: true}) && m.difference(more, b.right, yield)
}

// List is what value makes of each entry, in order.
func List[K, E comparable, V any](of Map[K, E], value func(K, E) V) []V {
	list := make([]V, 0, of.Len())
	for k, e := range of.All() {
		list = append(list, value(k, e))
	}
	return list
}

// Changes is Difference of what of makes of the entries, where that differs.
func Changes[K, E, V comparable](before, after Map[K, E], of func(E) V) iter.Seq2[V, V] {
	return func(yield func(was, is V) bool) {
		for d := range Difference(before, after) {
			if was, is := of(d.Before), of(d.After); was != is && !yield(was, is) {
				return
			}
		}
	}
}
