package hugetable

// The faults of stored pages and records. For SQL they are XX001 (data_corrupted).
var (
	// ErrCorrupt marks a page or record whose bytes are not what was written.
	ErrCorrupt = &fault{"corrupt table metadata", "XX001"}
	// ErrRows marks a version whose chunks do not cover contiguous rows from 0; the text names the gap or overlap.
	ErrRows = &fault{"rows of the table's chunks are not contiguous", "XX001"}
	// ErrLost marks a page that the store does not have.
	ErrLost = &fault{"table metadata is missing", "58030"}
)

// The faults of callers.
var (
	// ErrRange marks a chunk number that the version does not have.
	ErrRange = &fault{"no such chunk", "22003"}
	// ErrMismatch marks a chunk whose columns are not the table's (datatype_mismatch).
	ErrMismatch = &fault{"chunk does not fit the table", "42804"}
	// ErrDeleted marks a row that is to be deleted and is already.
	ErrDeleted = &fault{"row is deleted already", "XX000"}
	// ErrNull marks a null in a column that allows none (not_null_violation).
	ErrNull = &fault{"null value in a column that is NOT NULL", "23502"}
)

type fault struct{ text, state string }

func (f *fault) Error() string    { return f.text }
func (f *fault) SQLState() string { return f.state }
