package outline

import (
	"errors"
	"fmt"
)

// ErrOutline: a part of the query has no outline, or the tree does not belong to the text.
var ErrOutline = errors.New("the text's clauses do not stand as the tree says")

func mismatch(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{ErrOutline}, args...)...)
}
