package duckdb

/*
#include "guard.h"
*/
import "C"

import "fmt"

// Guard catches loads from a mapping whose backing went away (D4): such a load reads zeros and is counted, and the
// query that made it must compare Faults before and after, and fail when they differ.
type Guard struct{ base uintptr }

// NewGuard watches the mapping [base, base+length). At most 256 mappings can be watched at once.
func NewGuard(base uintptr, length int64) (*Guard, error) {
	if C.csm_guard_add(C.uintptr_t(base), C.uintptr_t(length)) != 0 {
		return nil, fmt.Errorf("cannot guard the mapping at %#x: %d mappings are guarded already", base, int(C.CSM_GUARD_MAX))
	}
	return &Guard{base: base}, nil
}

// Faults counts the pages of the mapping that were found gone.
func (g *Guard) Faults() uint64 { return uint64(C.csm_guard_faults(C.uintptr_t(g.base))) }

// Close ends the watch; call it before the mapping is taken away.
func (g *Guard) Close() { C.csm_guard_remove(C.uintptr_t(g.base)) }
