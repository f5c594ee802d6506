package member

import (
	"errors"
	"regexp"

	"github.com/csmsql/csmsql/memregion"
	"github.com/csmsql/csmsql/sql/sqlerror"
)

// ExplainFull says of an error that a region is full what to do about it (53200); others stay as they are.
func ExplainFull(err error) error {
	var advised interface{ Hint() string }
	if !errors.Is(err, memregion.ErrRegionFull) || errors.As(err, &advised) {
		return err
	}
	return sqlerror.New("53200", "%s", grantOf.ReplaceAllString(err.Error(), "")).WithCause(err).
		WithHint("Nothing was stored. Drop or truncate tables, or start the node again with a larger --region: its tables stay.")
}

// grantOf says once more what the allocator says.
var grantOf = regexp.MustCompile(`grant \d+ bytes to "[^"]*": memregion: `)
