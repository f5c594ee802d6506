// Package arraytest makes random Arrow arrays of every type, for property tests.
//
//	seed ─► Type(depth) ─► Array(type, n): buffers, null slots with garbage, children with offsets, slices
//
// Arrays are put together from raw buffers rather than with builders, so that they have what builders never make:
// offsets that do not start at zero, unused bytes, garbage behind nulls, sliced children.
package arraytest
