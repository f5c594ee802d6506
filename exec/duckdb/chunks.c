// An empty chunk that a window must not get.
//
// A window without PARTITION BY and ORDER BY reads the rows of all threads one behind the other. DuckDB 1.5.5 begins with what the thread that
// ends first has, also if that is a chunk without rows (NaturalSort::Combine; of later ones such a chunk is left out), and the window's
// threads take a chunk each. The window goes on to its next stage when the thread with the rows has seen all of them,
// although the thread with the empty chunk may have prepared nothing for it: "Attempted to access index 0 within vector
// of size 0", which is fatal to the database, in some of a hundred runs of count(*) OVER () over few rows
// (duckdb/duckdb#22846 and #25713). So the linker leads the call here, and the empty chunk goes before others come
// behind it.
//
// A DuckDB in which the call is another one has the fault again, or none: TestWindowOverFewRows shows which.
#include <stddef.h>
#include <unwind.h>

extern void __real__ZN6duckdb20ColumnDataCollection7CombineERS0_(void *collection, void *other) __attribute__((weak));
extern size_t _ZNK6duckdb20ColumnDataCollection10ChunkCountEv(const void *collection) __attribute__((weak));
extern void _ZN6duckdb20ColumnDataCollection5ResetEv(void *collection) __attribute__((weak));
extern void _ZN6duckdb20ColumnDataCollectionC1ERS0_(void *collection, void *parent) __attribute__((weak));
extern void _ZN6duckdb20ColumnDataCollectionD1Ev(void *collection) __attribute__((weak));

// Only its address is used.
extern void _ZNK6duckdb11NaturalSort7CombineERNS_16ExecutionContextERNS_24OperatorSinkCombineInputE(void) __attribute__((weak));

// struct collection is larger than DuckDB's, which has 112 bytes.
struct collection {
	_Alignas(16) char bytes[512];
};

static void destroy(struct collection **c) { _ZN6duckdb20ColumnDataCollectionD1Ev(*c); }

// without_empty_chunk: what has rows goes to another collection and comes back; what has none stays, and is dropped.
static void without_empty_chunk(void *collection) {
	struct collection kept;
	_ZN6duckdb20ColumnDataCollectionC1ERS0_(&kept, collection);
	struct collection *owned __attribute__((cleanup(destroy))) = &kept;
	__real__ZN6duckdb20ColumnDataCollection7CombineERS0_(owned, collection);
	_ZN6duckdb20ColumnDataCollection5ResetEv(collection);
	__real__ZN6duckdb20ColumnDataCollection7CombineERS0_(collection, owned);
}

void __wrap__ZN6duckdb20ColumnDataCollection7CombineERS0_(void *collection, void *other) {
	void *caller = _Unwind_FindEnclosingFunction((char *)__builtin_return_address(0) - 1);
	if (caller && caller == (void *)_ZNK6duckdb11NaturalSort7CombineERNS_16ExecutionContextERNS_24OperatorSinkCombineInputE &&
	    _ZNK6duckdb20ColumnDataCollection10ChunkCountEv(collection) == 1)
		without_empty_chunk(collection);
	__real__ZN6duckdb20ColumnDataCollection7CombineERS0_(collection, other);
}
