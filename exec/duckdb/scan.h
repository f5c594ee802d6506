// The in-place table function: shapes shared by scan.c and the Go side (scan_unsafe.go).
#ifndef CSMSQL_SCAN_H
#define CSMSQL_SCAN_H

#include "duckdb_api.h"

// How a column's Arrow buffers become a DuckDB vector.
enum csm_kind {
	CSM_CONVERT = 0, // DuckDB's own Arrow conversion: references fixed-width buffers, never copies them
	CSM_VIEW,        // utf8_view or binary_view → string_t: 16 bytes in, 16 bytes out, string bytes untouched
	CSM_UTF8,        // utf8 or binary, 32-bit offsets → string_t
	CSM_LARGE_UTF8,  // utf8 or binary, 64-bit offsets → string_t
	CSM_DICTIONARY,  // dictionary<uint8, utf8> shown as VARCHAR: one string_t per code, prepared once per chunk
	CSM_ENUM,        // dictionary<uint8, utf8> shown as ENUM: the code itself, mapped to the scan's own domain
};

// One projected column of one open chunk. All pointers stay valid until the scan ends.
struct csm_column {
	int32_t kind;
	int32_t convert_position;  // CSM_CONVERT: its place among the converted columns
	struct ArrowArray *array;  // borrowed from the chunk's export
	const uint8_t *codes;      // CSM_ENUM: 256 entries, chunk code → domain code
	duckdb_string_t *strings;  // CSM_DICTIONARY: 256 entries
	const int64_t *view_sizes; // CSM_VIEW: length in bytes of each data buffer
	int64_t data_size;         // CSM_UTF8, CSM_LARGE_UTF8: length in bytes of the data buffer
};

// One open chunk: the exported record batch and what was prepared for it.
struct csm_chunk {
	int64_t rows;
	struct ArrowArray *batch; // released with the scan
	struct csm_column *columns;
};

// The bind data of one occurrence of a table in one plan.
struct csm_bind {
	uint64_t scan; // names the Go side's Scan
	duckdb_connection connection;
	int64_t column_count;
	int64_t rows;
};

void csm_scan_init(duckdb_init_info info);
void csm_scan_local_init(duckdb_init_info info);
void csm_scan_run(duckdb_function_info info, duckdb_data_chunk output);
void csm_bind_destroy(void *bind);

// Addresses of the callbacks, as the bindings want them.
void *csm_scan_init_address(void);
void *csm_scan_local_init_address(void);
void *csm_scan_run_address(void);
void *csm_scan_bind_address(void);
void *csm_bind_destroy_address(void);

// A running statement's result, streamed. Functions that can fail return -1 with *error, which the caller frees.
struct csm_result {
	duckdb_result result;
	duckdb_arrow_options options;
};
int csm_execute(duckdb_prepared_statement statement, struct csm_result **out, char **error);
// Fetches the next chunk and converts it: 1 with a batch, 0 at the end.
int csm_fetch(struct csm_result *result, struct ArrowArray *out, char **error);
idx_t csm_rows_changed(struct csm_result *result);
void csm_result_destroy(struct csm_result *result);
int csm_schema(duckdb_arrow_options options, void **types, const char **names, idx_t count, struct ArrowSchema *out,
               char **error);
// The DuckDB types of an Arrow schema's columns, found by converting an empty batch. types has room for n_children.
int csm_types_from_arrow(duckdb_connection connection, struct ArrowSchema *schema, struct ArrowArray *empty, void **types,
                         char **error);

#endif
