// C++'s operator new and delete, from the allocator that DuckDB's buffers come from: the bundled jemalloc (decision 0032).
//
//	DuckDB ──► __wrap__Znwm (memory.c: does it fit?) ──► operator new ──► jemalloc
//	libstdc++.so, other C++ libraries ─────────────────────────┘
//
// C++ lets a program replace these functions (ISO C++ [replacement.functions]), for its shared libraries as well; the linker
// exports them for that. A program that embeds the engine may have done so itself: these are weak and give way. What they
// are asked for on behalf of other libraries is not held against the bound of memory.c.
#define _GNU_SOURCE
#include "memory.h"
#include <dlfcn.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>

// DuckDB's bundled jemalloc: absent where DuckDB was built without it.
extern void *__real_duckdb_je_malloc(size_t size) __attribute__((weak));
extern void duckdb_je_free(void *block) __attribute__((weak));

extern void _ZSt17__throw_bad_allocv(void) __attribute__((noreturn)); // std::__throw_bad_alloc()

#define REPLACES __attribute__((weak, visibility("default")))

REPLACES void *_Znwm(size_t size);

static _Atomic int source;
enum { UNKNOWN, JEMALLOC, MALLOC };

static int find_source(void) {
	bool everywhere = dlsym(RTLD_DEFAULT, "_Znwm") == (void *)_Znwm;
	int found = everywhere && __real_duckdb_je_malloc && duckdb_je_free ? JEMALLOC : MALLOC;
	atomic_store_explicit(&source, found, memory_order_relaxed);
	return found;
}

// from_jemalloc: a shared library may free what another one has allocated, so it is jemalloc's only where all of them
// come here.
static inline bool from_jemalloc(void) {
	int known = atomic_load_explicit(&source, memory_order_relaxed);
	return (__builtin_expect(known == UNKNOWN, 0) ? find_source() : known) == JEMALLOC;
}

bool csm_memory_new_is_jemalloc(void) { return from_jemalloc(); }

static inline void *allocate(size_t size) {
	if (size == 0) size = 1;
	return from_jemalloc() ? __real_duckdb_je_malloc(size) : malloc(size);
}

// deallocate ignores the size that C++ may pass: malloc never needed it, so that a wrong one was never noticed.
static inline void deallocate(void *block) {
	if (from_jemalloc()) {
		if (block) duckdb_je_free(block);
	} else {
		free(block);
	}
}

// operator new(unsigned long)
REPLACES void *_Znwm(size_t size) {
	void *block = allocate(size);
	if (__builtin_expect(block == NULL, 0)) _ZSt17__throw_bad_allocv();
	return block;
}

// operator new[](unsigned long)
REPLACES void *_Znam(size_t size) {
	void *block = allocate(size);
	if (__builtin_expect(block == NULL, 0)) _ZSt17__throw_bad_allocv();
	return block;
}

// The same, with std::nothrow_t const&.
REPLACES void *_ZnwmRKSt9nothrow_t(size_t size, const void *tag) { (void)tag; return allocate(size); }
REPLACES void *_ZnamRKSt9nothrow_t(size_t size, const void *tag) { (void)tag; return allocate(size); }

// operator delete(void*), operator delete[](void*); with the size; with std::nothrow_t const&
REPLACES void _ZdlPv(void *block) { deallocate(block); }
REPLACES void _ZdaPv(void *block) { deallocate(block); }
REPLACES void _ZdlPvm(void *block, size_t size) { (void)size; deallocate(block); }
REPLACES void _ZdaPvm(void *block, size_t size) { (void)size; deallocate(block); }
REPLACES void _ZdlPvRKSt9nothrow_t(void *block, const void *tag) { (void)tag; deallocate(block); }
REPLACES void _ZdaPvRKSt9nothrow_t(void *block, const void *tag) { (void)tag; deallocate(block); }
