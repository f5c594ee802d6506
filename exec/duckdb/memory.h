// What this process keeps for itself, and the bound on it: shared by memory.c, keys.c and the Go side.
#ifndef CSMSQL_MEMORY_H
#define CSMSQL_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

// csm_memory_bound sets how many bytes of its own the process' C code may have; INT64_MAX: no bound. False when the
// system does not say how much it has, and nothing will be refused.
bool csm_memory_bound(int64_t bytes);
// csm_memory_large is what of it large blocks may make full; the rest is for small ones.
int64_t csm_memory_large(void);
// csm_memory_others says how many bytes of the process' own memory are not C code's: Go's.
void csm_memory_others(int64_t bytes);
// csm_memory_own is how much C code has: what was allocated and touched, and what allocators keep of what was freed.
int64_t csm_memory_own(void);
// csm_memory_give_back returns to the system what allocators keep.
void csm_memory_give_back(void);
// csm_memory_give_back_thread returns what is kept for the calling thread: jemalloc's cache of blocks, to its arena,
// and the part of the stack that is not in use, to the system. It reports whether there may have been anything for an
// arena.
bool csm_memory_give_back_thread(void);
// csm_memory_admit reports whether size bytes more stay within csm_memory_large, if need be after giving back.
bool csm_memory_admit(int64_t size);
// csm_memory_beyond is what C code was handed out, touched or not, if that is more than its bound; otherwise 0.
int64_t csm_memory_beyond(void);
// csm_memory_asked is how often the allocators were asked what they have handed out, which makes all threads wait.
int64_t csm_memory_asked(void);
// csm_memory_new_is_jemalloc reports whether operator new takes memory from jemalloc.
bool csm_memory_new_is_jemalloc(void);
// csm_catchable reports whether an exception of the standard library's, or DuckDB's, that is thrown here is caught
// (catchable.c). Where it is not, there is no refusing.
bool csm_catchable(void);

#endif
