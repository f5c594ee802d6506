// The bound on the process' own memory (D8): an allocation that would pass it fails, as if the machine had no more.
//
// DuckDB's memory_limit counts buffers, hash tables and sorted runs, and holds. It does not count vectors, lists and strings in
// the making, the states of median, mode or histogram, or what the allocators keep of what was freed, and each of these may be many
// times the limit. So the linker leads DuckDB's calls of its allocators through here (--wrap, see memory_unsafe.go):
//
//	DuckDB ──► duckdb_je_malloc, duckdb_je_realloc   a NULL becomes OutOfMemoryException
//	      └──► operator new, of LARGE and more       throws std::bad_alloc
//
// Both end the statement with 53200. Small allocations are not looked at; the warden (warden.go) finds out what they add up to.
// Rejected: RLIMIT_DATA, which takes Go's heap with it, and ends the process; jemalloc's extent hooks, which do not see that memory is used again.
#define _GNU_SOURCE
#include "memory.h"
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <unistd.h>

#define LARGE ((size_t)1 << 20)   // what is looked at by itself, and what a thread may allocate between two looks: a look costs 1 µs
#define COUNTED ((size_t)64 << 10) // blocks that count towards that

// DuckDB's bundled jemalloc: absent where DuckDB was built without it. There its allocator is malloc, which is not wrapped.
extern int duckdb_je_mallctl(const char *name, void *old, size_t *old_length, void *new, size_t new_length) __attribute__((weak));
extern void *__real_duckdb_je_malloc(size_t size) __attribute__((weak));
extern void *__real_duckdb_je_realloc(void *pointer, size_t size) __attribute__((weak));
extern void *__real__Znwm(size_t size) __attribute__((weak));

static _Atomic int64_t bound = INT64_MAX;
static _Atomic int64_t others, refusals;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_mutex_t giving_back = PTHREAD_MUTEX_INITIALIZER;
static int statm = -1;        // /proc/self/statm; written once, before bound
static int64_t page_bytes;    // likewise

static void prepare(void) {
	page_bytes = sysconf(_SC_PAGESIZE);
	statm = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
}

bool csm_memory_bound(int64_t bytes) {
	pthread_once(&once, prepare);
	if (statm < 0) return false;
	atomic_store(&bound, bytes);
	return true;
}

void csm_memory_others(int64_t bytes) { atomic_store(&others, bytes); }

int64_t csm_memory_refusals(void) { return atomic_load(&refusals); }

// A region's pages are shared ones and do not count: size resident shared …, in pages.
int64_t csm_memory_own(void) {
	char text[128];
	ssize_t length = pread(statm, text, sizeof text - 1, 0);
	if (length <= 0) return 0;
	text[length] = 0;
	char *at = text;
	strtoll(at, &at, 10);
	int64_t resident = strtoll(at, &at, 10), shared = strtoll(at, &at, 10);
	return (resident - shared) * page_bytes - atomic_load_explicit(&others, memory_order_relaxed);
}

// Requires giving_back.
static void give_back(void) {
	if (duckdb_je_mallctl) {
		duckdb_je_mallctl("thread.tcache.flush", NULL, NULL, NULL, 0);
		duckdb_je_mallctl("arena.4096.purge", NULL, NULL, NULL, 0); // MALLCTL_ARENAS_ALL
	}
#ifdef __GLIBC__
	malloc_trim(0);
#endif
}

void csm_memory_give_back(void) {
	pthread_mutex_lock(&giving_back);
	give_back();
	pthread_mutex_unlock(&giving_back);
}

bool csm_memory_admit(int64_t size) {
	int64_t most = atomic_load_explicit(&bound, memory_order_acquire);
	if (most == INT64_MAX || csm_memory_own() + size <= most) return true;
	pthread_mutex_lock(&giving_back);
	bool fits = csm_memory_own() + size <= most; // another thread may have given back meanwhile
	if (!fits) {
		give_back();
		fits = csm_memory_own() + size <= most;
	}
	pthread_mutex_unlock(&giving_back);
	if (!fits) atomic_fetch_add(&refusals, 1);
	return fits;
}

static _Thread_local size_t unseen; // what this thread has allocated since the last look

static inline bool admit_block(size_t size) {
	if (size < COUNTED) return true;
	unseen += size;
	if (unseen < LARGE) return true;
	unseen = 0;
	return csm_memory_admit((int64_t)(size < INT64_MAX / 2 ? size : INT64_MAX / 2));
}

void *__wrap_duckdb_je_malloc(size_t size) { return admit_block(size) ? __real_duckdb_je_malloc(size) : NULL; }

void *__wrap_duckdb_je_realloc(void *pointer, size_t size) { return admit_block(size) ? __real_duckdb_je_realloc(pointer, size) : NULL; }

// C cannot throw std::bad_alloc, but operator new does when it is asked for what nobody has.
void *__wrap__Znwm(size_t size) {
	if (size >= LARGE && !csm_memory_admit((int64_t)(size < INT64_MAX / 2 ? size : INT64_MAX / 2))) size = SIZE_MAX / 4;
	return __real__Znwm(size);
}
