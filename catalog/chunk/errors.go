package chunk

import "errors"

var (
	// ErrGrant marks a lender that granted something else than it was asked for.
	ErrGrant = errors.New("the lender granted a malformed extent")
	// ErrClosed marks a writer that was sealed or aborted already.
	ErrClosed = errors.New("the chunk writer was sealed or aborted already")
	// ErrDiffers marks rows that are not those of the chunk that is rebuilt from them.
	ErrDiffers = errors.New("the rows are others than they were")
)
