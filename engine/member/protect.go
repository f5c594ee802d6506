package member

import (
	"slices"

	"github.com/csmsql/csmsql/internal/invariants"
	"github.com/csmsql/csmsql/memregion"
)

// protectLeast is from how many bytes on a sealed extent is made read-only in this process. It guards against mistakes
// of this program, and costs two system calls and two entries of the kernel's map: a tenth of a one-row INSERT, whose
// chunk is folded soon. Builds that check invariants guard all.
const protectLeast = 64 << 10

// protecting has those of ranges protected that are worth it.
func protecting(protect func(...memregion.Range) error, least int64) func(...memregion.Range) error {
	if invariants.Enabled {
		least = 0
	}
	return func(ranges ...memregion.Range) error {
		large := slices.DeleteFunc(slices.Clone(ranges), func(r memregion.Range) bool { return r.Length < least })
		if len(large) == 0 {
			return nil
		}
		return protect(large...)
	}
}
