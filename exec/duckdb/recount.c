// DuckDB's count of its memory, put right where an allocation fails (D8).
//
// What goes through the buffer allocator (arenas of aggregates, hash tables, results that are kept) is counted before it is
// allocated. When the allocation then fails, which memory.c sees to near the bound, DuckDB 1.5.5 forgets to take it off the
// count again (StandardBufferManager::BufferAllocatorAllocate and BufferAllocatorRealloc). What is counted and not there stays
// for the life of the database: up to sixteen megabytes with each refusal, until memory_limit is full of nothing and no query
// has any. So the linker leads the calls of its allocators through here:
//
//	a query ──► AllocateData(buffer allocator) ──► BufferAllocatorAllocate: counts ──► AllocateData(default allocator) ──► malloc: fails
//	            here: takes it off the count  ◄────────────────────────────────────── here: notices who had counted
//
// The linker leads only calls that leave their object file. All that matter do: the buffer manager and those who ask it are
// in other files than Allocator (which only its Allocate, inline everywhere, calls). A DuckDB that is built otherwise, or that
// takes the failure off the count by itself, leaves the count too high or too low: TestRefusedMemoryIsNotCounted is red then.
//
// Rejected: a higher memory_limit for what is missing, which cannot be distinguished from what is in use; refusing
// before DuckDB counts, for which the only way is a failing allocation.
#define _GNU_SOURCE
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <unwind.h>

extern void *__real__ZN6duckdb9Allocator12AllocateDataEm(void *allocator, size_t size) __attribute__((weak));
extern void *__real__ZN6duckdb9Allocator14ReallocateDataEPhmm(void *allocator, void *block, size_t old_size, size_t size)
    __attribute__((weak));
extern void *__real_duckdb_je_malloc(size_t size) __attribute__((weak));
extern void _ZN6duckdb9Allocator8FreeDataEPhm(void *allocator, void *block, size_t size) __attribute__((weak));

// The functions that count. They are only compared with.
extern void _ZN6duckdb21StandardBufferManager23BufferAllocatorAllocateEPNS_20PrivateAllocatorDataEm(void) __attribute__((weak));
extern void _ZN6duckdb21StandardBufferManager22BufferAllocatorReallocEPNS_20PrivateAllocatorDataEPhmm(void) __attribute__((weak));

// struct call is one call of an allocator, of which one may make another.
struct call {
	void *allocator;
	size_t more;        // bytes than there were: of a shorter block modulo 2^64, as DuckDB counts them
	void *caller;       // an address in the calling function
	struct call *outer; // the call that this one is made in
	bool done;          // it did not throw
	bool uncount;       // it was counted, and failed afterwards
};

static _Thread_local struct call *innermost;

static bool counts(void *address) {
	void *function = _Unwind_FindEnclosingFunction(address);
	return function && (function == (void *)_ZN6duckdb21StandardBufferManager23BufferAllocatorAllocateEPNS_20PrivateAllocatorDataEm ||
	                    function == (void *)_ZN6duckdb21StandardBufferManager22BufferAllocatorReallocEPNS_20PrivateAllocatorDataEPhmm);
}

// leave runs also when an exception passes. FreeData takes the size off the count, and frees a block that is there for that.
static void leave(struct call *c) {
	innermost = c->outer;
	if (c->done) return;
	if (c->outer && counts((char *)c->caller - 1)) c->outer->uncount = true;
	if (!c->uncount) return;
	void *block = __real_duckdb_je_malloc ? __real_duckdb_je_malloc(1) : malloc(1); // as DuckDB's own allocator makes it
	_ZN6duckdb9Allocator8FreeDataEPhm(c->allocator, block, c->more);
}

void *__wrap__ZN6duckdb9Allocator12AllocateDataEm(void *allocator, size_t size) {
	struct call c __attribute__((cleanup(leave))) = {allocator, size, __builtin_return_address(0), innermost, false, false};
	innermost = &c;
	void *block = __real__ZN6duckdb9Allocator12AllocateDataEm(allocator, size);
	c.done = true;
	return block;
}

void *__wrap__ZN6duckdb9Allocator14ReallocateDataEPhmm(void *allocator, void *block, size_t old_size, size_t size) {
	struct call c __attribute__((cleanup(leave))) = {allocator, size - old_size, __builtin_return_address(0), innermost, false, false};
	innermost = &c;
	void *moved = __real__ZN6duckdb9Allocator14ReallocateDataEPhmm(allocator, block, old_size, size);
	c.done = true;
	return moved;
}
