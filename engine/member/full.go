package member

import (
	"errors"
	"regexp"

	"github.com/csmsql/csmsql/memregion"
	"github.com/csmsql/csmsql/sql/sqlerror"
)

// ExplainFull says of an error that a region is full, or a table's quota used up, what to do about it (53200); others
// stay as they are.
func ExplainFull(err error) error {
	var advised interface{ Hint() string }
	hint := "Nothing was stored. Drop or truncate tables, or start the node again with a larger --region: its tables stay."
	switch {
	case errors.As(err, &advised):
		return err
	case errors.Is(err, memregion.ErrQuota):
		hint = "Nothing was stored. Truncate the table, or start the node again with a larger --quota of it: its tables stay."
	case !errors.Is(err, memregion.ErrRegionFull):
		return err
	}
	return sqlerror.New("53200", "%s", grantOf.ReplaceAllString(err.Error(), "")).WithCause(err).WithHint(hint)
}

// grantOf says once more what the allocator says.
var grantOf = regexp.MustCompile(`grant \d+ bytes to "[^"]*": memregion: `)
