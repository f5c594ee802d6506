// The scalar function csm_clock(), which reads the clock for each row: DuckDB's now() is when the transaction began.
#include "scan.h"
#include <time.h>

static void clock_of_rows(duckdb_function_info info, duckdb_data_chunk input, duckdb_vector output) {
	(void)info;
	int64_t *micros = duckdb_vector_get_data(output);
	idx_t count = duckdb_data_chunk_get_size(input);
	for (idx_t row = 0; row < count; row++) {
		struct timespec now;
		clock_gettime(CLOCK_REALTIME, &now);
		micros[row] = (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
	}
}

void *csm_clock_address(void) { return (void *)clock_of_rows; }
