// The in-place table function: DuckDB's scan threads read Arrow buffers where they lie in lent memory.
//
// Every thread takes a morsel (a run of rows of one chunk) and hands it over in slices of at most 2,048 rows. Invariants
// D1–D4 are explained in doc.go. Nothing here writes to a region, and every offset read from a region is checked before it
// is followed (D3): a chunk that somebody damaged behind our back is an error, never a crash.
#include "scan.h"
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define SLICE_ROWS 2048
#define MORSEL_ROWS (SLICE_ROWS * 60)
#define MAX_SCAN_THREADS 64

// Implemented in Go (scan_unsafe.go).
extern void csmGoBind(void *info);
extern char *csmGoOpenChunk(uint64_t scan, int64_t chunk, int64_t *columns, int64_t count, struct csm_chunk *out);
extern int64_t csmGoChunkCount(uint64_t scan);
extern char *csmGoConvertedSchema(uint64_t scan, int64_t *columns, int64_t count, struct ArrowSchema *out, int64_t *out_converted);
extern void csmGoReleaseScan(uint64_t scan);

struct scan_state {
	struct csm_bind *bind;
	int64_t column_count;   // projected columns; 0 for count(*)
	int64_t *columns;       // their indexes in the table
	int64_t *positions;     // output vector of each: a projection may hold a virtual column that we do not fill
	int64_t converted;      // how many of them DuckDB converts
	duckdb_arrow_converted_schema schema;
	pthread_mutex_t lock;   // guards everything below
	int64_t chunk_count;
	int64_t next_chunk;     // the next chunk to open
	int64_t opened, opened_capacity;
	struct csm_chunk **chunks; // every chunk opened so far, released with the scan
	struct csm_chunk *current;
	int64_t offset;         // the first row of current that no thread has taken
};

struct thread_state {
	struct csm_chunk *chunk;
	int64_t offset, end;
};

static void release_chunk(struct csm_chunk *chunk, int64_t columns) {
	for (int64_t i = 0; i < columns; i++) {
		free((void *)chunk->columns[i].codes);
		free(chunk->columns[i].strings);
		free((void *)chunk->columns[i].view_sizes);
	}
	if (chunk->batch) {
		if (chunk->batch->release) chunk->batch->release(chunk->batch);
		free(chunk->batch);
	}
	free(chunk->columns);
	free(chunk);
}

static void scan_state_destroy(void *data) {
	struct scan_state *state = data;
	for (int64_t i = 0; i < state->opened; i++) release_chunk(state->chunks[i], state->column_count);
	if (state->schema) duckdb_destroy_arrow_converted_schema(&state->schema);
	pthread_mutex_destroy(&state->lock);
	free(state->chunks);
	free(state->columns);
	free(state->positions);
	free(state);
}

void csm_bind_destroy(void *data) {
	struct csm_bind *bind = data;
	csmGoReleaseScan(bind->scan);
	free(bind);
}

static char *convert_schema(struct scan_state *state) {
	struct ArrowSchema schema;
	memset(&schema, 0, sizeof schema);
	char *failure = csmGoConvertedSchema(state->bind->scan, state->columns, state->column_count, &schema, &state->converted);
	if (failure) return failure;
	if (state->converted > 0) {
		duckdb_error_data error = duckdb_schema_from_arrow(state->bind->connection, &schema, &state->schema);
		if (error) {
			if (duckdb_error_data_has_error(error)) failure = strdup(duckdb_error_data_message(error));
			duckdb_destroy_error_data(&error);
		}
	}
	if (schema.release) schema.release(&schema);
	return failure;
}

void csm_scan_init(duckdb_init_info info) {
	struct scan_state *state = calloc(1, sizeof *state);
	state->bind = duckdb_init_get_bind_data(info);
	pthread_mutex_init(&state->lock, NULL);
	idx_t projected = duckdb_init_get_column_count(info);
	state->columns = calloc(projected + 1, sizeof *state->columns);
	state->positions = calloc(projected + 1, sizeof *state->positions);
	for (idx_t i = 0; i < projected; i++) {
		idx_t column = duckdb_init_get_column_index(info, i);
		if (column >= (idx_t)state->bind->column_count) continue; // a virtual column, projected when no real one is asked for
		state->columns[state->column_count] = (int64_t)column;
		state->positions[state->column_count++] = (int64_t)i;
	}
	state->chunk_count = csmGoChunkCount(state->bind->scan);
	char *failure = convert_schema(state);
	if (failure) {
		duckdb_init_set_error(info, failure);
		free(failure);
	}
	int64_t threads = state->bind->rows / MORSEL_ROWS + 1;
	duckdb_init_set_max_threads(info, threads > MAX_SCAN_THREADS ? MAX_SCAN_THREADS : (idx_t)threads);
	duckdb_init_set_init_data(info, state, scan_state_destroy);
}

void csm_scan_local_init(duckdb_init_info info) {
	duckdb_init_set_init_data(info, calloc(1, sizeof(struct thread_state)), free);
}

// open_next opens the next chunk; 0 at the end, -1 with *failure. Requires state->lock.
static int open_next(struct scan_state *state, char **failure) {
	while (state->next_chunk < state->chunk_count) {
		if (state->opened == state->opened_capacity) {
			state->opened_capacity = state->opened_capacity ? 2 * state->opened_capacity : 16;
			state->chunks = realloc(state->chunks, sizeof(void *) * state->opened_capacity);
		}
		struct csm_chunk *chunk = calloc(1, sizeof *chunk);
		chunk->columns = calloc(state->column_count + 1, sizeof *chunk->columns);
		*failure = csmGoOpenChunk(state->bind->scan, state->next_chunk++, state->columns, state->column_count, chunk);
		state->chunks[state->opened++] = chunk;
		if (*failure) return -1;
		if (chunk->rows == 0) continue;
		state->current = chunk;
		state->offset = 0;
		return 1;
	}
	return 0;
}

// take_morsel gives the thread its next run of rows; 0 at the end, -1 with *failure.
static int take_morsel(struct scan_state *state, struct thread_state *thread, char **failure) {
	int got = 1;
	pthread_mutex_lock(&state->lock);
	if (!state->current || state->offset >= state->current->rows) got = open_next(state, failure);
	if (got == 1) {
		thread->chunk = state->current;
		thread->offset = state->offset;
		thread->end = state->offset + MORSEL_ROWS;
		if (thread->end > state->current->rows) thread->end = state->current->rows;
		state->offset = thread->end;
	}
	pthread_mutex_unlock(&state->lock);
	return got;
}

// copy_validity moves count bits starting at bit offset of an Arrow bitmap into a vector's validity mask.
static void copy_validity(duckdb_vector vector, const uint8_t *bitmap, int64_t offset, int64_t count) {
	duckdb_vector_ensure_validity_writable(vector);
	uint64_t *mask = duckdb_vector_get_validity(vector);
	const uint8_t *from = bitmap + offset / 8;
	int shift = (int)(offset % 8);
	int64_t bytes = (shift + count + 7) / 8; // how many bytes of the bitmap may be read
	for (int64_t word = 0; word * 64 < count; word++) {
		uint8_t raw[9] = {0};
		int64_t left = bytes - word * 8;
		memcpy(raw, from + word * 8, left > 9 ? 9 : left);
		uint64_t bits;
		memcpy(&bits, raw, 8);
		mask[word] = shift ? (bits >> shift) | ((uint64_t)raw[8] << (64 - shift)) : bits;
	}
}

static inline bool bit_is_set(const uint8_t *bitmap, int64_t i) { return (bitmap[i >> 3] >> (i & 7)) & 1; }

struct arrow_view {
	int32_t length;
	char prefix[4];
	int32_t buffer;
	int32_t offset;
};

static const char *DAMAGED = "XX001: a string of the chunk points outside of its buffers: the chunk is damaged";

static inline void put_string(duckdb_string_t *out, const char *data, uint32_t length) {
	out->value.pointer.length = length;
	if (length <= 12) {
		memset(out->value.inlined.inlined, 0, 12);
		memcpy(out->value.inlined.inlined, data, length);
		return;
	}
	memcpy(out->value.pointer.prefix, data, 4);
	out->value.pointer.ptr = data;
}

static const char *fill_view(const struct csm_column *column, int64_t first, int64_t count, duckdb_string_t *out) {
	const struct ArrowArray *array = column->array;
	const struct arrow_view *views = (const struct arrow_view *)array->buffers[1] + array->offset + first;
	const int64_t buffers = array->n_buffers - 3; // validity, views, …data…, sizes
	const uint8_t *bitmap = array->null_count ? array->buffers[0] : NULL;
	for (int64_t i = 0; i < count; i++) {
		struct arrow_view view = views[i];
		if (view.length <= 12 && view.length >= 0) { // the layouts agree: inline bytes with a zero tail
			memcpy(&out[i], &view, sizeof view);
			continue;
		}
		if (bitmap && !bit_is_set(bitmap, array->offset + first + i)) { // what lies under a NULL means nothing
			memset(&out[i], 0, sizeof out[i]);
			continue;
		}
		if (view.length < 0 || view.buffer < 0 || view.buffer >= buffers || view.offset < 0 ||
		    (int64_t)view.offset + view.length > column->view_sizes[view.buffer])
			return DAMAGED;
		out[i].value.pointer.length = (uint32_t)view.length;
		memcpy(out[i].value.pointer.prefix, view.prefix, 4);
		out[i].value.pointer.ptr = (const char *)array->buffers[2 + view.buffer] + view.offset;
	}
	return NULL;
}

static const char *fill_utf8(const struct csm_column *column, int64_t first, int64_t count, duckdb_string_t *out) {
	const struct ArrowArray *array = column->array;
	const char *data = array->buffers[2];
	for (int64_t i = 0; i < count; i++) {
		int64_t row = array->offset + first + i, start, end;
		if (column->kind == CSM_UTF8) {
			start = ((const int32_t *)array->buffers[1])[row];
			end = ((const int32_t *)array->buffers[1])[row + 1];
		} else {
			start = ((const int64_t *)array->buffers[1])[row];
			end = ((const int64_t *)array->buffers[1])[row + 1];
		}
		if (start < 0 || end < start || end > column->data_size || end - start > UINT32_MAX) return DAMAGED;
		put_string(&out[i], data + start, (uint32_t)(end - start));
	}
	return NULL;
}

static void fill_dictionary(const struct csm_column *column, int64_t first, int64_t count, duckdb_string_t *out) {
	const uint8_t *codes = (const uint8_t *)column->array->buffers[1] + column->array->offset + first;
	for (int64_t i = 0; i < count; i++) out[i] = column->strings[codes[i]]; // 256 entries: no code leads outside (D3)
}

static void fill_enum(const struct csm_column *column, int64_t first, int64_t count, uint8_t *out) {
	const uint8_t *codes = (const uint8_t *)column->array->buffers[1] + column->array->offset + first;
	// The map has 256 entries that all name a member of the domain, so a damaged code cannot lead outside (D3).
	for (int64_t i = 0; i < count; i++) out[i] = column->codes[codes[i]];
}

static const char *fill(const struct csm_column *column, int64_t first, int64_t count, duckdb_vector vector) {
	const char *failure = NULL;
	void *data = duckdb_vector_get_data(vector);
	switch (column->kind) {
	case CSM_VIEW: failure = fill_view(column, first, count, data); break;
	case CSM_UTF8:
	case CSM_LARGE_UTF8: failure = fill_utf8(column, first, count, data); break;
	case CSM_DICTIONARY: fill_dictionary(column, first, count, data); break;
	default: fill_enum(column, first, count, data);
	}
	const struct ArrowArray *array = column->array;
	if (array->null_count && array->buffers[0])
		copy_validity(vector, array->buffers[0], array->offset + first, count);
	return failure;
}

// The slice that DuckDB converts: it owns the small structures, never the buffers.
struct slice {
	struct ArrowArray root;
	const void *no_validity[1];
};

static void release_child(struct ArrowArray *array) { array->release = NULL; }

static void release_slice(struct ArrowArray *array) {
	array->release = NULL;
	free(array->private_data);
}

// convert hands the slice's other columns to DuckDB's own conversion, which references fixed-width buffers in place.
static char *convert(struct scan_state *state, struct csm_chunk *chunk, int64_t first, int64_t count, duckdb_data_chunk *out) {
	size_t n = (size_t)state->converted;
	char *block = malloc(sizeof(void *) * (1 + n) + sizeof(struct ArrowArray) * n);
	const void **buffers = (const void **)block;
	struct ArrowArray **children = (struct ArrowArray **)(block + sizeof(void *));
	struct ArrowArray *arrays = (struct ArrowArray *)(block + sizeof(void *) * (1 + n));
	buffers[0] = NULL;
	for (int64_t i = 0; i < state->column_count; i++) {
		struct csm_column *column = &chunk->columns[i];
		if (column->kind != CSM_CONVERT) continue;
		struct ArrowArray *array = &arrays[column->convert_position];
		*array = *column->array;
		array->offset += first;
		array->length = count;
		if (array->null_count) array->null_count = -1; // of the slice: unknown
		array->release = release_child;
		children[column->convert_position] = array;
	}
	struct ArrowArray root = {.length = count, .n_buffers = 1, .n_children = (int64_t)n, .buffers = buffers,
	                          .children = children, .release = release_slice, .private_data = block};
	duckdb_error_data error = duckdb_data_chunk_from_arrow(state->bind->connection, &root, state->schema, out);
	char *failure = NULL;
	if (error) {
		if (duckdb_error_data_has_error(error)) failure = strdup(duckdb_error_data_message(error));
		duckdb_destroy_error_data(&error);
	}
	return failure;
}

static char *scan_slice(struct scan_state *state, struct csm_chunk *chunk, int64_t first, int64_t count, duckdb_data_chunk output) {
	duckdb_data_chunk converted = NULL;
	if (state->converted > 0) {
		char *failure = convert(state, chunk, first, count, &converted);
		if (failure) return failure;
	}
	const char *failure = NULL;
	for (int64_t i = 0; i < state->column_count && !failure; i++) {
		struct csm_column *column = &chunk->columns[i];
		duckdb_vector vector = duckdb_data_chunk_get_vector(output, (idx_t)state->positions[i]);
		if (column->kind == CSM_CONVERT)
			duckdb_vector_reference_vector(vector, duckdb_data_chunk_get_vector(converted, (idx_t)column->convert_position));
		else
			failure = fill(column, first, count, vector);
	}
	if (converted) duckdb_destroy_data_chunk(&converted);
	return failure ? strdup(failure) : NULL;
}

void csm_scan_run(duckdb_function_info info, duckdb_data_chunk output) {
	struct scan_state *state = duckdb_function_get_init_data(info);
	struct thread_state *thread = duckdb_function_get_local_init_data(info);
	char *failure = NULL;
	if (thread->offset >= thread->end) {
		int got = take_morsel(state, thread, &failure);
		if (got <= 0) {
			if (failure) {
				duckdb_function_set_error(info, failure);
				free(failure);
			}
			duckdb_data_chunk_set_size(output, 0);
			return;
		}
	}
	int64_t count = thread->end - thread->offset;
	if (count > SLICE_ROWS) count = SLICE_ROWS;
	failure = scan_slice(state, thread->chunk, thread->offset, count, output);
	if (failure) {
		duckdb_function_set_error(info, failure);
		free(failure);
		return;
	}
	duckdb_data_chunk_set_size(output, (idx_t)count);
	thread->offset += count;
}

static void bind_trampoline(duckdb_bind_info info) { csmGoBind(info); }

void *csm_scan_bind_address(void) { return (void *)bind_trampoline; }
void *csm_scan_init_address(void) { return (void *)csm_scan_init; }
void *csm_scan_local_init_address(void) { return (void *)csm_scan_local_init; }
void *csm_scan_run_address(void) { return (void *)csm_scan_run; }
void *csm_bind_destroy_address(void) { return (void *)csm_bind_destroy; }
