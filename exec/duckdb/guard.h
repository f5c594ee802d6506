#ifndef CSMSQL_GUARD_H
#define CSMSQL_GUARD_H
#include <stdint.h>

#define CSM_GUARD_MAX 256

// Both return 0, or -1 when the table is full or the range unknown.
int csm_guard_add(uintptr_t base, uintptr_t length);
int csm_guard_remove(uintptr_t base);
// How many pages under [base, …) were found gone since csm_guard_add.
uint64_t csm_guard_faults(uintptr_t base);
#endif
