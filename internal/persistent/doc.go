// Package persistent has maps that never change: one with another value, or without one, is a new map, which shares
// all but a path with the old one.
//
//	    m ── d:4                 m.With("f", 9) ── d:4
//	       ╱     ╲                               ╱     ╲
//	    b:2       e:5           (b:2 is shared) ┘       e:5
//	   ╱   ╲                                               ╲
//	a:1     c:3                                             f:9
//
// A map is a treap: a search tree by key, and a heap by a hash of the key. So its shape depends on its keys alone,
// whatever order they came in, and of two maps that share most of their nodes the difference is found without looking
// at what they share.
//
// # Words
//
// A path is the nodes from the root to a key, about two for each doubling of the keys. A priority is a node's place in
// the heap.
//
// # Invariants
//
//   - PM1: keys are in order, and no node has a lower priority than those below it.
//   - PM2: a map that was handed out stays as it is.
//   - PM3: Difference looks at no node that both maps share, but for the paths to what they do not.
//
// # What it does not do
//
// It locks nothing: nobody writes to a map. Nothing is added in place, also not by one who alone has the map; who has
// many entries from the beginning calls Collect.
package persistent
