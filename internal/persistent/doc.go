// Package persistent has immutable maps: setting or removing a key makes a new map, which shares all nodes but one
// path with the old one.
//
//	    m ── d:4                 m.With("f", 9) ── d:4
//	       ╱     ╲                               ╱     ╲
//	    b:2       e:5           (b:2 is shared) ┘       e:5
//	   ╱   ╲                                               ╲
//	a:1     c:3                                             f:9
//
// A map is a treap: a search tree by key, and a heap by a hash of the key. So its shape depends on its keys alone, not
// on the order in which they were added, and the difference of two maps is found without visiting the nodes that they
// share.
//
// # Words
//
// A path is the nodes from the root to a key, about two for each doubling of the keys. A priority is a node's place in
// the heap.
//
// # Invariants
//
//   - PM1: keys are in order, and no node has a lower priority than those below it.
//   - PM2: a map that was handed out never changes.
//   - PM3: Difference visits no node that both maps share, except on the paths to those that they do not share.
//
// # What it does not do
//
// It has no lock, since maps are never written to. Nothing is added in place, not even to a map with a single owner. To
// make a map of many entries, call Collect.
package persistent
