package duckdb

/*
#include "scan.h"
*/
import "C"

import "runtime"

// run is a part of a group: rows with one key that lie together.
type run struct{ key, sum, rows int64 }

// ends are the runs at both ends of a morsel; whether they go on is not known yet. runs: 0 when no row has a key, 1
// when first is last.
type ends struct {
	runs        int64
	first, last run
}

func runOf(c C.struct_csm_run) run { return run{int64(c.key), int64(c.sum), int64(c.rows)} }

func asFlag(b bool) C.int32_t {
	if b {
		return 1
	}
	return 0
}

// addGroups adds the keys of the groups that begin and end in the morsel. Not ok: the rows are not sorted, a sum does
// not fit, or there are more keys than the limit.
func (k *KeySet) addGroups(m morsel, b *groupBuilder) (e ends, ok bool, err error) {
	var c C.struct_csm_ends
	// SAFETY: C fills in the ends during the call and keeps no pointer.
	result := C.csm_groups_add_rows(k.c, m.chunk.c, C.int64_t(m.first), C.int64_t(m.end), C.int32_t(b.key.width), asFlag(b.key.signed),
		C.int32_t(b.value.width), asFlag(b.value.signed), C.int64_t(b.above), C.int64_t(b.limit), &c)
	runtime.KeepAlive(k)
	if result < 0 && int64(k.c.count) <= b.limit {
		return e, false, errKeysMemory
	}
	return ends{int64(c.runs), runOf(c.first), runOf(c.last)}, result == 0, nil
}

// addRun adds the key of a whole group.
func (k *KeySet) addRun(r run) error {
	if err := k.add([]int64{r.key}); err != nil {
		return err
	}
	k.c.rows += C.int64_t(r.rows - 1)
	return nil
}
