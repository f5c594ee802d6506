// Package layout holds the table of packages: who may import whom. Its test reads every import of the module and fails
// with the rule that was broken. Invariant L1: imports point downward; cgo lives in exec/duckdb, assembly in coherence,
// unsafe in files named for it.
package layout
