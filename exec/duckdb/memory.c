// The bound on the process' own memory (D8): an allocation that would pass it fails, as if the machine had no more.
//
// DuckDB's memory_limit counts buffers, hash tables and sorted runs, and holds. It does not count vectors, lists and strings in
// the making, the states of median, mode or histogram, or what the allocators keep of what was freed, and each of these may be many
// times the limit. So the linker leads DuckDB's calls of its allocators through here (--wrap, see memory_unsafe.go):
//
//	DuckDB ──► duckdb_je_malloc, duckdb_je_realloc   a NULL becomes OutOfMemoryException
//	      └──► operator new                          throws std::bad_alloc
//
// Both end the statement with 53200. Small allocations always succeed, for DuckDB makes them where nothing may fail: the warden (warden.go)
// finds out what they add up to and ends a statement. Until that has happened they are slow.
// Rejected: RLIMIT_DATA, which takes Go's heap with it, and ends the process; jemalloc's extent hooks, which do not see that memory is used again.
#define _GNU_SOURCE
#include "memory.h"
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define LARGE ((size_t)1 << 20)   // what is looked at by itself, and what a thread may allocate between two looks: a look costs 1 µs
#define COUNTED ((size_t)64 << 10) // blocks that count towards that
#define LEEWAY ((int64_t)16 << 20) // what blocks below LARGE may go beyond the bound, so that whoever needs little goes on until the one who needs much is ended

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

static int64_t bytes_of(size_t size) { return size < INT64_MAX / 2 ? (int64_t)size : INT64_MAX / 2; }

static inline bool admit_block(size_t size) {
	if (size < COUNTED) return true;
	unseen += size;
	if (unseen < LARGE) return true;
	unseen = 0;
	return csm_memory_admit(size < LARGE ? (int64_t)size - LEEWAY : bytes_of(size));
}

void *__wrap_duckdb_je_malloc(size_t size) { return admit_block(size) ? __real_duckdb_je_malloc(size) : NULL; }

void *__wrap_duckdb_je_realloc(void *pointer, size_t size) { return admit_block(size) ? __real_duckdb_je_realloc(pointer, size) : NULL; }

static _Thread_local size_t crumbs; // small allocations of this thread since its last look, with their headers

// slow_down keeps a thread that makes many small allocations from running away from the warden, which needs a few ticks.
static void slow_down(void) {
	int64_t most = atomic_load_explicit(&bound, memory_order_acquire);
	if (most == INT64_MAX || csm_memory_own() <= most) return;
	struct timespec pause = {.tv_nsec = 10 * 1000 * 1000};
	nanosleep(&pause, NULL);
}

// C cannot throw std::bad_alloc, but operator new does when it is asked for what nobody has.
void *__wrap__Znwm(size_t size) {
	if (size < COUNTED) {
		crumbs += size + 16;
		if (crumbs >= LARGE) {
			crumbs = 0;
			slow_down();
		}
	} else if (!admit_block(size)) {
		size = SIZE_MAX / 4;
	}
	return __real__Znwm(size);
}
