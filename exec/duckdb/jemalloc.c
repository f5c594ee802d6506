// The settings of DuckDB's bundled jemalloc.
//
// DuckDB has settings of its own, which a constructor of its library writes down. operator new is jemalloc's (new.c),
// so that the first constructor of any C++ library begins jemalloc, which reads them before they are there. A
// variable that is initialised is read whenever that is, and after DuckDB's:
//
//	narenas_ratio:1      an arena for each processor, as DuckDB has it, and not four. What an arena keeps for itself is
//	                     never given back: address space, records of extents, slabs of which a block is in use.
//	dirty_decay_ms:1000  as DuckDB has it, and not ten seconds.
//	muzzy_decay_ms:0     what goes back goes back at once, and is not resident any more.
//	oversize_threshold   as DuckDB has it, and not 8 MiB: larger blocks have an arena of their own that keeps nothing, and
//	                     so the kernel would clear hash tables and runs again and again.
//
// Rejected: retain:false, which gives address space back, and page tables with it. It leaves thousands of holes between
// maps, of which the kernel allows a process some 65,000.
#include "memory.h"

const char *duckdb_je_malloc_conf_2_conf_harder =
	"narenas_ratio:1,dirty_decay_ms:1000,muzzy_decay_ms:0,oversize_threshold:268435456";
