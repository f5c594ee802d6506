// The in-place table function: shapes shared by scan.c, vector.c, filter.c, keys.c and the Go side.
#ifndef CSMSQL_SCAN_H
#define CSMSQL_SCAN_H

#include "duckdb_api.h"
#include <stddef.h>

#define CSM_SLICE_ROWS 2048 // what a thread hands over in one call, and what fits a DuckDB vector
#define CSM_MORSEL_ROWS (CSM_SLICE_ROWS * 60) // what a thread takes at once, whatever the size of chunks

// Loops that gain from wide vectors are compiled several times; the loader picks what the CPU can do.
#if defined(__x86_64__) && defined(__gnu_linux__) && defined(__GNUC__) && !defined(__clang__)
#define CSM_WIDE __attribute__((target_clones("arch=x86-64-v4", "avx2", "default")))
#else
#define CSM_WIDE
#endif

// How a column's Arrow buffers become a DuckDB vector.
enum csm_kind {
	CSM_CONVERT = 0, // DuckDB's own Arrow conversion
	CSM_FIXED,       // one layout in Arrow and DuckDB, width bytes each
	CSM_BOOL,        // bits → bytes
	CSM_VIEW,        // utf8_view or binary_view → string_t: 16 bytes in, 16 bytes out, string bytes untouched
	CSM_UTF8,        // utf8 or binary, 32-bit offsets → string_t
	CSM_LARGE_UTF8,  // utf8 or binary, 64-bit offsets → string_t
	CSM_DICTIONARY,  // dictionary<uint8, utf8> shown as VARCHAR: one string_t per code, prepared once per chunk
	CSM_ENUM,        // dictionary<uint8, utf8> shown as ENUM: the code itself, mapped to the scan's own domain
	CSM_NUMBER,      // no buffer: the number of the row, from csm_column.number on
};

// One column of one open chunk. All pointers stay valid until the scan ends.
struct csm_column {
	int32_t kind;
	int32_t width;             // CSM_FIXED: bytes per value
	int32_t convert_position;  // CSM_CONVERT: its place among the converted columns
	char *shape;               // CSM_CONVERT: its structs and unions, parents first, a letter each; NULL when it has none
	struct ArrowArray *array;  // borrowed from the chunk's export
	int64_t number;            // CSM_NUMBER: of the chunk's first row
	const uint8_t *codes;      // CSM_ENUM: 256 entries, chunk code → domain code
	duckdb_string_t *strings;  // CSM_DICTIONARY: 256 entries
	const uint8_t *keep;       // dictionary with a filter: 256 entries, chunk code → 1 if it passes; else NULL
	const int64_t *view_sizes; // CSM_VIEW: length in bytes of each data buffer
	int64_t data_size;         // CSM_UTF8, CSM_LARGE_UTF8: length in bytes of the data buffer
};

// One open chunk: the exported record batch and what was prepared for it.
struct csm_chunk {
	int64_t rows;             // 0 also when the chunk's dictionaries prove that no row passes the filters
	struct ArrowArray *batch; // released with the scan
	uint64_t *deleted;        // a bit for each row, set where it is deleted; NULL: none is
	struct csm_column *columns;
};
void csm_chunk_release(struct csm_chunk *chunk, int64_t columns);

// A set of integers, immutable once built: a bitmap over [min, min+64*words) or an open-addressing table.
struct csm_keys {
	int64_t min;       // bitmap: a multiple of 64
	uint64_t words;    // bitmap: 0 when it is a table
	uint64_t *bits;
	int64_t *slots;    // table: 0 marks a free slot, zero itself is in has_zero
	uint64_t slot_mask;
	int32_t has_zero;
	uint32_t *sieve;   // table: a bit for the hash of each key, NULL where there are too many
	int32_t sieve_shift;
	int64_t count;     // distinct keys
	int64_t rows;      // how many values were added
};

enum csm_test {
	CSM_TEST_RANGE = 0, // low <= value <= low+span, modulo the width, NULL fails
	CSM_TEST_FLOAT,     // not below, not above: a NaN passes
	CSM_TEST_KEYS,
	CSM_TEST_CODES,     // csm_column.keep
	CSM_TEST_NOT_NULL,
	CSM_TEST_NULL,
	CSM_TEST_NOTHING,   // no value passes
	CSM_TEST_WORDS,     // is one of some words, or begins with one; csm_column.keep where the chunk has a dictionary
	CSM_TEST_COMPARE,   // two columns of the row, both signed, 4 or 8 bytes wide
};

// How CSM_TEST_COMPARE compares a column with the other one.
enum csm_comparison { CSM_LESS = 1, CSM_LESS_EQUAL, CSM_EQUAL, CSM_NOT_EQUAL };

// A word that strings are compared with. text has at least four bytes, zeros behind its end.
struct csm_word {
	const char *text;
	uint32_t length;
	int32_t form;
};

// What strings a word means: itself; all that begin with it; those that fit it as a pattern, which begins with % and has no other wildcard.
enum csm_form { CSM_WHOLE = 0, CSM_PREFIX, CSM_LIKE };

// A string of a utf8_view or binary_view column. Up to 12 bytes it holds the string itself from prefix on, zeros behind.
struct csm_view {
	int32_t length;
	char prefix[4];
	int32_t buffer;
	int32_t offset;
};

// One test of a scan's rows; all must pass. It may be left out anywhere: SQL's own WHERE is still to come.
struct csm_filter {
	int32_t test;
	int32_t column; // position among the opened columns
	int32_t width;  // 1, 2, 4, 8
	int32_t is_signed;
	int64_t low;
	uint64_t span;
	double low_float, high_float;
	const struct csm_keys *keys;
	const struct csm_word *words; // CSM_TEST_WORDS
	int64_t word_count;
	int32_t other;                // CSM_TEST_COMPARE: the other column's position
	int32_t comparison;           // CSM_TEST_COMPARE: column comparison other
};

// What one thread learned of one filter: a filter that lets nearly everything through rests for a while.
struct csm_filter_use {
	int32_t useless; // slices in a row that it hardly thinned out
	int32_t rest;    // slices for which it is left out
};

// What a scan needs before its first chunk is opened; the arrays are malloc'ed.
struct csm_open {
	int64_t column_count;  // columns to open: first the projected ones, then those that only filters look at
	int64_t *columns;
	int64_t converted;     // how many of the projected columns DuckDB converts
	struct ArrowSchema schema; // of those
	int64_t filter_count;  // at most CSM_MAX_FILTERS
	struct csm_filter *filters;
	int64_t chunk_count;
};
#define CSM_MAX_FILTERS 64

// Whether a row is deleted, and how many of count rows from first are.
static inline bool csm_is_deleted(const struct csm_chunk *chunk, int64_t row) {
	return chunk->deleted && ((chunk->deleted[row >> 6] >> (row & 63)) & 1);
}
int64_t csm_count_deleted(const struct csm_chunk *chunk, int64_t first, int64_t count);

// csm_greatest is the greatest of bytes; 0 if there is none.
uint8_t csm_greatest(const uint8_t *bytes, int64_t count);

// Evaluates filters over count rows from first. Deleted ones never pass (D14). Returns how many pass, their offsets from first in selection, ascending;
// count when all pass, and then selection is not filled.
int64_t csm_filter_slice(const struct csm_filter *filters, int64_t filter_count, struct csm_filter_use *use,
                         const struct csm_chunk *chunk, int64_t first, int64_t count, uint32_t *selection);

// Clears pass for strings of a CSM_VIEW column that are none of the filter's words. A string that lies outside of its
// buffers passes: its reader finds the damage. NULLs are not looked for.
void csm_test_words(const struct csm_filter *f, const struct csm_column *column, int64_t first, int64_t count, uint8_t *pass);

// Puts rows of a column into a vector from position at: rows first+selection[0…count), or first…first+count when selection
// is NULL (then at must be 0). Not for CSM_CONVERT. Returns an error text that is not to be freed, or NULL.
const char *csm_vector_put(const struct csm_column *column, int64_t first, const uint32_t *selection, int64_t count,
                           duckdb_vector vector, int64_t at);

// The letters of csm_column.shape. What lies below a leaf has no letters.
#define CSM_SHAPE_LEAF '-'
#define CSM_SHAPE_STRUCT 's'
#define CSM_SHAPE_UNION 'u'

// What a thread lends to DuckDB while it converts one slice.
struct csm_lent { struct csm_lent *next; };
struct csm_convert {
	const void *no_validity[1];
	struct ArrowArray *arrays;
	struct ArrowArray **children;
	struct csm_lent *lent;
};
void csm_convert_init(struct csm_convert *c, int64_t columns);
void csm_convert_free(struct csm_convert *c);
// Makes vectors of the CSM_CONVERT columns for count rows from first; the caller destroys *out. An error text is to be freed.
char *csm_convert_slice(struct csm_convert *c, duckdb_connection connection, duckdb_arrow_converted_schema schema,
                        const struct csm_column *columns, int64_t column_count, int64_t first, int64_t count, duckdb_data_chunk *out);
char *csm_failed(duckdb_error_data error);

// csm_load reads value i of an array of integers.
static inline int64_t csm_load(const void *values, int32_t width, int32_t is_signed, int64_t i) {
	switch (width) {
	case 1: return is_signed ? (int64_t)((const int8_t *)values)[i] : (int64_t)((const uint8_t *)values)[i];
	case 2: return is_signed ? (int64_t)((const int16_t *)values)[i] : (int64_t)((const uint16_t *)values)[i];
	case 4: return is_signed ? (int64_t)((const int32_t *)values)[i] : (int64_t)((const uint32_t *)values)[i];
	default: return ((const int64_t *)values)[i];
	}
}

struct csm_keys *csm_keys_new(void);
void csm_keys_free(struct csm_keys *keys);
// Makes the sieve of a table.
void csm_keys_make_sieve(struct csm_keys *keys);
// Whether csm_test_keys can ask a filter's keys, and that: it clears pass for values that are not among them, exactly in a bitmap, and
// not all of them in a table. NULLs are not looked for.
bool csm_keys_dense(const struct csm_filter *f);
void csm_test_keys(const struct csm_filter *f, const void *values, int64_t count, uint8_t *pass);
bool csm_keys_contain(const struct csm_keys *keys, int64_t key);
// Both return 0, or -1 when memory is short.
int csm_keys_add(struct csm_keys *keys, const int64_t *values, int64_t count);
int csm_keys_merge(struct csm_keys *into, const struct csm_keys *from);
// Chooses the form that is fastest to ask.
int csm_keys_finish(struct csm_keys *keys);
// Adds the values of one column of the rows from first to end of a chunk that pass the filters; 0, or -1 when memory is short
// or more than limit keys are in the set.
int csm_keys_add_rows(struct csm_keys *keys, const struct csm_filter *filters, int64_t filter_count, const struct csm_chunk *chunk,
                      int64_t first, int64_t end, int64_t column, int32_t width, int32_t is_signed, int64_t limit);

// A run of rows with one key, and both ends of a run of rows. runs counts all runs between them, ends included.
struct csm_run { int64_t key, sum, rows; };
struct csm_ends { int64_t runs; struct csm_run first, last; };
// Adds to keys those of the runs of equal keys in column 0, other than the first and the last run, whose sum of column 1 is above a bound.
// sum_width 0 counts rows. 0; 1 when the keys are not in ascending order or a sum does not fit; -1 when memory is short or more
// than limit keys are in the set.
int csm_groups_add_rows(struct csm_keys *keys, const struct csm_chunk *chunk, int64_t first, int64_t end, int32_t width, int32_t is_signed,
                        int32_t sum_width, int32_t sum_signed, int64_t above, int64_t limit, struct csm_ends *ends);

// What a connection and the plans bound by it share.
struct csm_session;
struct csm_session *csm_session_new(void);
void csm_session_hold(struct csm_session *session);
void csm_session_drop(struct csm_session *session);
void csm_session_start(struct csm_session *session);     // a statement begins: nothing was interrupted, nothing failed
void csm_session_hear(struct csm_session *session);      // planning begins: nothing was interrupted
void csm_session_interrupt(struct csm_session *session);
int csm_session_interrupted(struct csm_session *session);
char *csm_session_take_failure(struct csm_session *session); // the caller frees it; NULL: no scan failed

// Sets the session whose interrupts end what this thread plans (planning.c), NULL: none; and returns the one before.
struct csm_session *csm_planning(struct csm_session *now);
// Reports whether this thread plans a statement, and does not run it, whose session was interrupted.
bool csm_planning_ended(void);
// Counts small blocks that this thread allocates for what it plans; how much that was for the session's last plan.
void csm_planning_count(int64_t bytes);
void csm_session_count(struct csm_session *session, int64_t bytes);
int64_t csm_session_planned(struct csm_session *session);
// duckdb_prepare and duckdb_query, which the session's interrupts end. csm_query gives the error, which the caller
// frees, or NULL.
bool csm_prepare(struct csm_session *session, duckdb_connection connection, const char *sql, duckdb_prepared_statement *out);
char *csm_query(struct csm_session *session, duckdb_connection connection, const char *sql);

// The bind data of one occurrence of a table in one plan.
struct csm_bind {
	uint64_t scan; // names the Go side's Scan
	duckdb_connection connection;
	struct csm_session *session;
	int64_t column_count;
	int64_t rows;
};

// Addresses of the callbacks, as the bindings want them.
void *csm_scan_init_address(void);
void *csm_scan_local_init_address(void);
void *csm_scan_run_address(void);
void *csm_scan_bind_address(void);
void *csm_bind_destroy_address(void);
void *csm_set_config_bind_address(void);
void *csm_set_config_run_address(void);
void *csm_divide_address(int32_t kind);
void *csm_copy_number_address(void);
void *csm_sequence_address(void);
void *csm_clock_address(void);
void *csm_json_address(void);
int csm_chunk_to_arrow(duckdb_arrow_options options, duckdb_data_chunk chunk, struct ArrowArray *out, char **error);

// Makes PostgreSQL's spellings of bytes and of dates before Christ known to every cast of text; -1 when DuckDB refuses.
int csm_register_casts(duckdb_connection connection);
// Makes a cast known that takes the place of DuckDB's; likewise.
int csm_register_cast(duckdb_connection connection, duckdb_type from, duckdb_type to, duckdb_cast_function_t function);
// Makes casts of FLOAT and DOUBLE to integers fail where DuckDB's would wrap; likewise.
int csm_register_rounding(duckdb_connection connection);

// csm_enum_type is ENUM of words that end with zero and stand behind each other.
duckdb_logical_type csm_enum_type(const char *words, uint64_t count);

// Whether two types are the same one.
bool csm_same_type(duckdb_logical_type a, duckdb_logical_type b);
// The value as one of a type, by DuckDB's own casts, which know no session; NULL: there is none. The caller destroys it.
duckdb_value csm_cast_value(duckdb_value value, duckdb_logical_type type);
// Whether two values of one type have one text.
bool csm_same_value(duckdb_value a, duckdb_value b);

// A running statement's result, streamed. Functions that can fail return -1 with *error, which the caller frees.
struct csm_result {
	duckdb_result result;
	duckdb_arrow_options options;
	bool reads;
	bool intervals; // among the columns
};
// Starts a statement; reads promises that it changes nothing in DuckDB's database.
int csm_execute(struct csm_session *session, duckdb_prepared_statement statement, bool reads, struct csm_result **out, char **error);
// Says whether this thread runs a statement whose internal errors harm nothing but it, and gives what it said before.
bool csm_harmless(bool now);
// Fetches the next chunk and converts it: 1 with a batch, 0 at the end.
int csm_fetch(struct csm_result *result, struct ArrowArray *out, char **error);
idx_t csm_rows_changed(struct csm_result *result);
idx_t csm_column_count(struct csm_result *result);
// The type of a column, which the caller destroys, and whether the columns are of just these types.
duckdb_logical_type csm_column_type(struct csm_result *result, idx_t column);
bool csm_same_columns(struct csm_result *result, void **types, idx_t count);
void csm_result_destroy(struct csm_result *result);
int csm_schema(duckdb_arrow_options options, void **types, const char **names, idx_t count, struct ArrowSchema *out,
               char **error);
// The DuckDB types of an Arrow schema's columns, found by converting an empty batch. types has room for n_children.
int csm_types_from_arrow(duckdb_connection connection, struct ArrowSchema *schema, struct ArrowArray *empty, void **types,
                         char **error);

#endif
