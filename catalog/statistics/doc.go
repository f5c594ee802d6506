// Package statistics measures columns: null count, bounds, and how many distinct values.
//
//	array ─ Of ─► Statistics + Sketch ─► Summary ─ Add ─► Summary of a page ─ Add ─► Summary of a table
//
// The sketch is a HyperLogLog of 256 one-byte registers (6.5 % standard error); it merges, which a count does not.
// Narrow ranges and dictionaries are counted exactly. Bounds of strings are cut to 64 bytes, always outwards, and then
// not exact.
//
//	T1  Min ≤ every value that is neither null nor NaN ≤ Max, whenever the bounds are known.
//	T2  the summary of parts is the summary of the whole: same bounds, nulls and registers.
//
// It does not estimate selectivities; planners do.
package statistics
