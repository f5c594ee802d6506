package dbgen

// requestError is an error that SQL can see, with its SQLSTATE.
type requestError struct {
	message string
	state   string
}

func (e *requestError) Error() string { return e.message }

// SQLState returns the five character code of the SQL standard.
func (e *requestError) SQLState() string { return e.state }

// The sentinels of this package; errors wrap them with what was asked for.
var (
	// ErrScaleFactor: New was asked for a scale factor that the official
	// generator does not make.
	ErrScaleFactor error = &requestError{"scale factor that the official generator does not make", "22023"}
	// ErrUnknownTable: no TPC-H table has this number.
	ErrUnknownTable error = &requestError{"unknown TPC-H table", "42P01"}
	// ErrUnitRange: a range reaches outside 0 … Units(table).
	ErrUnitRange error = &requestError{"unit range outside the table", "22023"}
	// ErrBatchTooLarge: a batch was asked for more units than MaxBatchUnits.
	ErrBatchTooLarge error = &requestError{"record batch too large", "54000"}
	// ErrNoMemory: the allocator returned fewer bytes than asked for.
	ErrNoMemory error = &requestError{"allocator is out of memory", "53200"}
)
