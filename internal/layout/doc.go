// Package layout holds the table of which package may import which. Its test reads every import of the module and fails
// with the rule that was broken. Invariant L1: imports point downward; cgo lives in exec/duckdb, assembly in coherence,
// unsafe in files named for it. L3: packages are rooms that one can look over. L4: the errors that SQL clients read
// begin with no package's name. L5: an invariant's label identifies its package. L6: comments, names and messages name
// roles.
package layout
