// The bound on the process' own memory (D8): an allocation that would pass it fails, as if the machine had no more.
//
// DuckDB's memory_limit counts buffers, hash tables and sorted runs, and holds. It does not count vectors, lists and strings in
// the making, the states of median, mode or histogram, or what the allocators keep of what was freed, and each of these may be many
// times the limit. So the linker leads DuckDB's calls of its allocators through here (--wrap, see memory_unsafe.go):
//
//	DuckDB ──► duckdb_je_malloc, duckdb_je_realloc   a NULL becomes OutOfMemoryException
//	      └──► operator new, operator new[]          throws std::bad_alloc; its blocks are jemalloc's, too (new.c)
//
// What was allocated and is not touched yet will be: near the bound the allocators are asked what they have handed out,
// and the kernel's word on what is resident is enough only far below it. The allocators take a millisecond to answer, and
// make all threads wait meanwhile. So an answer stands for KNOWN_MS, and what is admitted then is added to it. What is
// wrong with it is what was freed, which a new look finds before anything is refused, and small blocks that were
// allocated and not touched. Beyond the bound the statement ends with 53200. Small allocations always succeed, for
// DuckDB makes them where nothing may fail: the warden (warden.go) finds out what they add up to and ends a statement.
// Until that has happened they are slow, from where all that is handed out, touched or not, has filled the bound.
// Rejected: RLIMIT_DATA, which takes Go's heap with it, and ends the process; jemalloc's extent hooks, which do not see
// that memory is used again.
#define _GNU_SOURCE
#include "memory.h"
#include "scan.h"
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define LARGE ((size_t)1 << 20)   // what is looked at by itself, and what a thread may allocate between two looks: a look costs 1 µs
#define COUNTED ((size_t)64 << 10) // blocks that count towards that
#define LEEWAY ((int64_t)16 << 20) // of the bound, for blocks below LARGE: small queries go on until the large one ends
#define FAR ((int64_t)512 << 20)   // how far below the bound, or half of it, what is resident is enough to know
#define KNOWN_MS 50                // how long an answer of the allocators stands
#define KEPT (1 << 20)             // what an arena of malloc keeps at its end
#define ARENAS 2                   // of malloc, for each processor
#define STACK_LEFT ((uintptr_t)64 << 10) // of a thread's stack, below what it uses

// DuckDB's bundled jemalloc: absent where DuckDB was built without it. There its allocator is malloc, which is not wrapped.
extern int duckdb_je_mallctl(const char *name, void *old, size_t *old_length, void *new, size_t new_length) __attribute__((weak));
extern void *__real_duckdb_je_malloc(size_t size) __attribute__((weak));
extern void *__real_duckdb_je_realloc(void *pointer, size_t size) __attribute__((weak));
extern void *__real__Znwm(size_t size) __attribute__((weak));
extern void *__real__Znam(size_t size) __attribute__((weak));

static _Atomic int64_t bound = INT64_MAX;
static _Atomic int64_t others;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_mutex_t giving_back = PTHREAD_MUTEX_INITIALIZER;
static int statm = -1;        // /proc/self/statm; written once, before bound
static int64_t page_bytes;    // likewise

// prepare also has malloc return what is freed. By itself glibc makes its thresholds as high as the largest block that was ever freed, 64 MiB at most, and keeps as
// much at the end of each thread's arena, where malloc_trim does not look: a node that had parsed some long texts kept 160 MiB of which 2 were in use. And it has eight
// arenas for each processor, which a hundred clients' threads fill with holes: 29 MiB of which 14 were in use.
static void prepare(void) {
#ifdef __GLIBC__
	mallopt(M_TRIM_THRESHOLD, KEPT);
	mallopt(M_MMAP_THRESHOLD, KEPT);
	long processors = sysconf(_SC_NPROCESSORS_ONLN);
	mallopt(M_ARENA_MAX, ARENAS * (int)(processors > 0 ? processors : 1));
#endif
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

// A stack keeps what was ever used of it. Below what this thread uses now nothing is needed, but some room for signals.
static void give_back_stack(void) {
#ifdef __linux__
	if (getpid() == (pid_t)syscall(SYS_gettid)) return; // the first thread's stack is the kernel's, and grows
	pthread_attr_t attributes;
	void *low;
	size_t size;
	if (pthread_getattr_np(pthread_self(), &attributes) != 0) return;
	bool known = pthread_attr_getstack(&attributes, &low, &size) == 0;
	pthread_attr_destroy(&attributes);
	uintptr_t page = (uintptr_t)page_bytes, here = (uintptr_t)__builtin_frame_address(0);
	uintptr_t from = ((uintptr_t)low + page - 1) & ~(page - 1), to = (here - STACK_LEFT) & ~(page - 1);
	if (known && here - (uintptr_t)low < size && to > from) madvise((void *)from, to - from, MADV_DONTNEED);
#endif
}

bool csm_memory_give_back_thread(void) {
	static _Thread_local uint64_t given_back; // what it had allocated and freed then
	pthread_once(&once, prepare);
	give_back_stack();
	if (!duckdb_je_mallctl) return false;
	uint64_t allocated = 0, freed = 0;
	size_t length = sizeof allocated;
	duckdb_je_mallctl("thread.allocated", &allocated, &length, NULL, 0);
	duckdb_je_mallctl("thread.deallocated", &freed, &length, NULL, 0);
	if (allocated + freed == given_back) return false;
	given_back = allocated + freed;
	duckdb_je_mallctl("thread.tcache.flush", NULL, NULL, NULL, 0);
	return true;
}

int64_t csm_memory_large(void) {
	int64_t most = atomic_load_explicit(&bound, memory_order_acquire);
	if (most == INT64_MAX) return most;
	return most - (most / 8 < LEEWAY ? most / 8 : LEEWAY);
}

static _Atomic int64_t admitted; // what threads were just admitted, and have not allocated yet

// handed_out is what C code will have when it has touched all that it has.
static int64_t handed_out(void) {
	int64_t own = csm_memory_own(), bytes = 0;
	if (duckdb_je_mallctl) {
		uint64_t epoch = 1;
		size_t resident = 0, length = sizeof resident;
		duckdb_je_mallctl("epoch", NULL, NULL, &epoch, sizeof epoch);
		if (duckdb_je_mallctl("stats.resident", &resident, &length, NULL, 0) == 0) bytes += (int64_t)resident;
	}
#ifdef __GLIBC__
	struct mallinfo2 m = mallinfo2();
	bytes += (int64_t)(m.uordblks + m.hblkhd);
#endif
	return bytes > own ? bytes : own;
}

static _Atomic int64_t seen;    // what was handed out when the allocators were asked, and what was admitted since
static _Atomic int64_t seen_at; // when that was, in ms; 0: never
static _Atomic int64_t asked;   // how often they were

int64_t csm_memory_asked(void) { return atomic_load(&asked); }

static int64_t now_ms(void) {
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

// fits_known adds size to what was seen, if that is known and within most.
static bool fits_known(int64_t size, int64_t most) {
	if (now_ms() - atomic_load(&seen_at) >= KNOWN_MS) return false;
	int64_t before = atomic_load(&seen);
	while (before + size <= most) {
		if (atomic_compare_exchange_weak(&seen, &before, before + size)) return true;
	}
	return false;
}

// fits_now asks the allocators. Requires giving_back.
static bool fits_now(int64_t size, int64_t most) {
	int64_t now = handed_out() + atomic_load(&admitted);
	bool fits = now + size <= most;
	atomic_store(&seen, fits ? now + size : now);
	atomic_store(&seen_at, now_ms());
	atomic_fetch_add(&asked, 1);
	return fits;
}

// admit_within reports whether size bytes more stay within most. A caller that allocates calls allocated afterwards.
static bool admit_within(int64_t size, int64_t most) {
	int64_t far = most / 2 < FAR ? most / 2 : FAR;
	int64_t sure = most == INT64_MAX ? 0 : csm_memory_own() + atomic_load(&admitted) + size;
	bool fits = most == INT64_MAX || sure <= most - far || (sure <= most && fits_known(size, most));
	if (!fits) {
		pthread_mutex_lock(&giving_back);
		fits = sure <= most && fits_known(size, most); // another thread may have asked meanwhile
		if (!fits && !(fits = fits_now(size, most))) {
			give_back();
			fits = fits_now(size, most);
		}
		pthread_mutex_unlock(&giving_back);
	}
	if (fits) atomic_fetch_add(&admitted, size);
	return fits;
}

static void allocated(int64_t size) { atomic_fetch_sub(&admitted, size); }

bool csm_memory_admit(int64_t size) {
	if (!admit_within(size, csm_memory_large())) return false;
	allocated(size);
	return true;
}

// What is allocated and not touched may be twice what is resident, where plans are made; small blocks add up to it as well.
int64_t csm_memory_beyond(void) {
	int64_t most = atomic_load_explicit(&bound, memory_order_acquire);
	if (most == INT64_MAX || admit_within(0, most)) return 0;
	return atomic_load(&seen);
}

static _Thread_local size_t unseen; // what this thread has allocated since the last look

static int64_t bytes_of(size_t size) { return size < INT64_MAX / 2 ? (int64_t)size : INT64_MAX / 2; }

// admit_block looks at large blocks, and at others now and then. *looked is the argument for allocated.
static inline bool admit_block(size_t size, int64_t *looked) {
	*looked = 0;
	if (size < COUNTED) return true;
	unseen += size;
	if (unseen < LARGE) return true;
	unseen = 0;
	int64_t bytes = bytes_of(size);
	int64_t most = size < LARGE ? atomic_load_explicit(&bound, memory_order_acquire) : csm_memory_large();
	if (!admit_within(bytes, most)) return false;
	*looked = bytes;
	return true;
}

static _Thread_local size_t crumbs; // small allocations of this thread since its last look, with their headers

// slow_down keeps a thread that makes many small allocations from running away from the warden, which needs a few ticks.
static void slow_down(void) {
	int64_t most = atomic_load_explicit(&bound, memory_order_acquire);
	if (most == INT64_MAX) return;
	if (csm_memory_own() <= csm_memory_large() && admit_within(LARGE, most)) {
		allocated(LARGE);
		return;
	}
	struct timespec pause = {.tv_nsec = 10 * 1000 * 1000};
	nanosleep(&pause, NULL);
}

// count_small counts what is too small for admit_block until there is a reason to slow down.
static inline void count_small(size_t size) {
	crumbs += size + 16;
	if (crumbs < LARGE) return;
	csm_planning_count((int64_t)crumbs);
	crumbs = 0;
	slow_down();
}

// admit_buffer is admit_block, but small blocks are counted as well, and refused to an interrupted statement that is
// planned: to fold a constant DuckDB allocates a vector for each call in it, before it works out any, and looks for no
// interrupt.
static inline bool admit_buffer(size_t size, int64_t *looked) {
	if (size >= COUNTED) return admit_block(size, looked);
	*looked = 0;
	count_small(size);
	return !csm_planning_ended();
}

void *__wrap_duckdb_je_malloc(size_t size) {
	int64_t looked;
	if (!admit_buffer(size, &looked) && csm_catchable()) return NULL;
	void *block = __real_duckdb_je_malloc(size);
	if (looked) allocated(looked);
	return block;
}

void *__wrap_duckdb_je_realloc(void *pointer, size_t size) {
	int64_t looked;
	if (!admit_block(size, &looked) && csm_catchable()) return NULL;
	void *block = __real_duckdb_je_realloc(pointer, size);
	if (looked) allocated(looked);
	return block;
}

// admit_new is admit_block, but blocks that are too small for it are counted.
static bool admit_new(size_t size) {
	if (size < COUNTED) {
		count_small(size);
		return true;
	}
	int64_t looked;
	if (!admit_block(size, &looked)) return false;
	if (looked) allocated(looked); // before, because what comes next may throw
	return true;
}

// C cannot throw std::bad_alloc, but operator new does when it is asked for more than there can be.
static size_t granted(size_t size) { return admit_new(size) || !csm_catchable() ? size : SIZE_MAX / 4; }

void *__wrap__Znwm(size_t size) { return __real__Znwm(granted(size)); }

void *__wrap__Znam(size_t size) { return __real__Znam(granted(size)); }
