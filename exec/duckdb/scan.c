// The in-place table function: DuckDB's scan threads read Arrow buffers where they lie in lent memory.
//
// Every thread takes a morsel (a run of rows of one chunk) and looks at it in slices of at most 2,048 rows. A slice whose rows
// all matter is handed over as it lies there; of others the rows that pass the filters are gathered until a vector is full. Invariants
// D1–D6 are explained in doc.go.
#include "scan.h"
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define MAX_SCAN_THREADS 64
// Gathering pays when it leaves out at least an eighth of the rows; otherwise the whole slice goes, and SQL's WHERE sorts it out.
#define NEARLY_ALL(n, count) ((n) * 8 > (count) * 7)

// Implemented in Go (open_unsafe.go). Texts that they return are freed here.
extern void csmGoBind(void *info);
extern char *csmGoOpenScan(uint64_t scan, int64_t *projected, int64_t count, struct csm_open *out);
extern char *csmGoOpenChunk(uint64_t scan, int64_t chunk, int64_t *columns, int64_t count, struct csm_chunk *out);
extern void csmGoReleaseScan(uint64_t scan);

struct csm_session {
	_Atomic int64_t references;
	_Atomic int interrupted;
	_Atomic int64_t planned; // bytes, in small blocks
	char *_Atomic failure; // what the first scan of the running statement that failed said
};

struct csm_session *csm_session_new(void) {
	struct csm_session *session = calloc(1, sizeof *session);
	atomic_store(&session->references, 1);
	return session;
}

void csm_session_hold(struct csm_session *session) { atomic_fetch_add(&session->references, 1); }

void csm_session_drop(struct csm_session *session) {
	if (atomic_fetch_sub(&session->references, 1) != 1) return;
	free(atomic_load(&session->failure));
	free(session);
}

void csm_session_hear(struct csm_session *session) {
	atomic_store(&session->interrupted, 0);
	atomic_store(&session->planned, 0);
}

void csm_session_count(struct csm_session *session, int64_t bytes) { atomic_fetch_add(&session->planned, bytes); }

int64_t csm_session_planned(struct csm_session *session) { return atomic_load(&session->planned); }

void csm_session_start(struct csm_session *session) {
	csm_session_hear(session);
	free(csm_session_take_failure(session));
}

void csm_session_interrupt(struct csm_session *session) { atomic_store(&session->interrupted, 1); }

int csm_session_interrupted(struct csm_session *session) { return atomic_load(&session->interrupted); }

char *csm_session_take_failure(struct csm_session *session) { return atomic_exchange(&session->failure, NULL); }

static void note_failure(struct csm_session *session, const char *failure) {
	char *none = NULL, *copy = strdup(failure);
	if (copy && !atomic_compare_exchange_strong(&session->failure, &none, copy)) free(copy);
}

struct scan_state {
	struct csm_bind *bind;
	struct csm_open open;   // columns to open and filters
	int64_t projected;      // how many of the columns are handed over; 0 for count(*)
	int64_t *positions;     // output vector of each: a projection may hold a virtual column that we do not fill
	duckdb_arrow_converted_schema schema;
	pthread_mutex_t lock;   // guards everything below
	int64_t next_chunk;     // the next chunk to open
	int64_t opened, opened_capacity;
	struct csm_chunk **chunks; // every chunk opened so far, released with the scan
	struct csm_chunk *current;
	int64_t offset;         // the first row of current that no thread has taken
};

struct thread_state {
	struct csm_chunk *chunk;
	int64_t offset, end;
	int64_t selected;       // how many rows of the slice at offset pass, -1: not looked at yet
	uint32_t selection[CSM_SLICE_ROWS];
	struct csm_filter_use *use; // of each filter
	struct csm_convert convert;
};

void csm_chunk_release(struct csm_chunk *chunk, int64_t columns) {
	for (int64_t i = 0; i < columns; i++) {
		free((void *)chunk->columns[i].codes);
		free((void *)chunk->columns[i].keep);
		free(chunk->columns[i].strings);
		free(chunk->columns[i].shape);
		free((void *)chunk->columns[i].view_sizes);
	}
	if (chunk->batch) {
		if (chunk->batch->release) chunk->batch->release(chunk->batch);
		free(chunk->batch);
	}
	free(chunk->columns);
	free(chunk->deleted);
	free(chunk);
}

static void scan_state_destroy(void *data) {
	struct scan_state *state = data;
	for (int64_t i = 0; i < state->opened; i++) csm_chunk_release(state->chunks[i], state->open.column_count);
	if (state->schema) duckdb_destroy_arrow_converted_schema(&state->schema);
	if (state->open.schema.release) state->open.schema.release(&state->open.schema);
	pthread_mutex_destroy(&state->lock);
	free(state->chunks);
	free(state->open.columns);
	free(state->open.filters);
	free(state->positions);
	free(state);
}

static void bind_destroy(void *data) {
	struct csm_bind *bind = data;
	csmGoReleaseScan(bind->scan);
	csm_session_drop(bind->session);
	free(bind);
}

static void scan_init(duckdb_init_info info) {
	struct scan_state *state = calloc(1, sizeof *state);
	state->bind = duckdb_init_get_bind_data(info);
	pthread_mutex_init(&state->lock, NULL);
	idx_t columns = duckdb_init_get_column_count(info);
	int64_t *projected = calloc(columns + 1, sizeof *projected);
	state->positions = calloc(columns + 1, sizeof *state->positions);
	for (idx_t i = 0; i < columns; i++) {
		idx_t column = duckdb_init_get_column_index(info, i);
		if (column >= (idx_t)state->bind->column_count) continue; // a virtual column, projected when no real one is asked for
		projected[state->projected] = (int64_t)column;
		state->positions[state->projected++] = (int64_t)i;
	}
	char *failure = csmGoOpenScan(state->bind->scan, projected, state->projected, &state->open);
	free(projected);
	if (!failure && state->open.converted > 0)
		failure = csm_failed(duckdb_schema_from_arrow(state->bind->connection, &state->open.schema, &state->schema));
	if (failure) {
		duckdb_init_set_error(info, failure);
		free(failure);
	}
	int64_t threads = state->bind->rows / CSM_MORSEL_ROWS + 1;
	duckdb_init_set_max_threads(info, threads > MAX_SCAN_THREADS ? MAX_SCAN_THREADS : (idx_t)threads);
	duckdb_init_set_init_data(info, state, scan_state_destroy);
}

static void thread_state_destroy(void *data) {
	struct thread_state *thread = data;
	free(thread->use);
	csm_convert_free(&thread->convert);
	free(thread);
}

static void scan_local_init(duckdb_init_info info) {
	struct thread_state *thread = calloc(1, sizeof *thread);
	thread->selected = -1;
	duckdb_init_set_init_data(info, thread, thread_state_destroy);
}

// prepare_thread allocates what depends on the scan, which local init cannot see.
static void prepare_thread(struct scan_state *state, struct thread_state *thread) {
	if (thread->use) return;
	thread->use = calloc((size_t)state->open.filter_count + 1, sizeof *thread->use);
	csm_convert_init(&thread->convert, state->open.converted);
}

// open_next opens the next chunk; 0 at the end, -1 with *failure. Requires state->lock.
static int open_next(struct scan_state *state, char **failure) {
	while (state->next_chunk < state->open.chunk_count) {
		if (atomic_load_explicit(&state->bind->session->interrupted, memory_order_relaxed)) return 0;
		if (state->opened == state->opened_capacity) {
			state->opened_capacity = state->opened_capacity ? 2 * state->opened_capacity : 16;
			state->chunks = realloc(state->chunks, sizeof(void *) * state->opened_capacity);
		}
		struct csm_chunk *chunk = calloc(1, sizeof *chunk);
		chunk->columns = calloc(state->open.column_count + 1, sizeof *chunk->columns);
		state->chunks[state->opened++] = chunk;
		*failure = csmGoOpenChunk(state->bind->scan, state->next_chunk++, state->open.columns, state->open.column_count, chunk);
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
		thread->end = state->offset + CSM_MORSEL_ROWS;
		if (thread->end > state->current->rows) thread->end = state->current->rows;
		state->offset = thread->end;
	}
	pthread_mutex_unlock(&state->lock);
	return got;
}

// emit puts the slice's rows into the output from position at: those in selection, or all count when it is NULL.
static char *emit(struct scan_state *state, struct thread_state *thread, int64_t slice, const uint32_t *selection, int64_t count,
                  duckdb_data_chunk output, int64_t at) {
	duckdb_data_chunk converted = NULL;
	duckdb_selection_vector kept = NULL;
	if (state->open.converted > 0) {
		char *failure = csm_convert_slice(&thread->convert, state->bind->connection, state->schema, thread->chunk->columns,
		                                  state->projected, thread->offset, slice, &converted);
		if (failure) return failure;
		if (selection) {
			kept = duckdb_create_selection_vector((idx_t)count);
			memcpy(duckdb_selection_vector_get_data_ptr(kept), selection, (size_t)count * sizeof *selection);
		}
	}
	const char *failure = NULL;
	for (int64_t i = 0; i < state->projected && !failure; i++) {
		const struct csm_column *column = &thread->chunk->columns[i];
		duckdb_vector vector = duckdb_data_chunk_get_vector(output, (idx_t)state->positions[i]);
		if (column->kind != CSM_CONVERT) {
			failure = csm_vector_put(column, thread->offset, selection, count, vector, at);
			continue;
		}
		duckdb_vector_reference_vector(vector, duckdb_data_chunk_get_vector(converted, (idx_t)column->convert_position));
		if (kept) duckdb_slice_vector(vector, kept, (idx_t)count);
	}
	if (kept) duckdb_destroy_selection_vector(kept);
	if (converted) duckdb_destroy_data_chunk(&converted);
	return failure ? strdup(failure) : NULL;
}

static bool interrupted(struct scan_state *state) {
	return atomic_load_explicit(&state->bind->session->interrupted, memory_order_relaxed);
}

// fill makes one output chunk: its rows, 0 at the end of all morsels, -1 with *failure. DuckDB takes 0 for the end of
// this thread's work, so that slices without any row that matters are passed over in here; an interrupt is looked for at each.
static int64_t fill(struct scan_state *state, struct thread_state *thread, duckdb_data_chunk output, char **failure) {
	int64_t out = 0;
	for (;;) {
		if (interrupted(state)) {
			*failure = strdup("57014: canceling statement due to user request");
			return -1;
		}
		if (thread->offset >= thread->end) {
			int got = take_morsel(state, thread, failure);
			if (got < 0) return -1;
			if (got == 0 && !interrupted(state)) return out;
			if (got == 0) continue;
		}
		int64_t slice = thread->end - thread->offset;
		if (slice > CSM_SLICE_ROWS) slice = CSM_SLICE_ROWS;
		if (thread->selected < 0)
			thread->selected = csm_filter_slice(state->open.filters, state->open.filter_count, thread->use, thread->chunk,
			                                    thread->offset, slice, thread->selection);
		int64_t n = thread->selected;
		bool whole = NEARLY_ALL(n, slice) && csm_count_deleted(thread->chunk, thread->offset, slice) == 0;
		if (out > 0 && (whole || out + n > CSM_SLICE_ROWS)) return out; // the slice stays for the next call
		if (n > 0) {
			*failure = whole ? emit(state, thread, slice, NULL, slice, output, 0)
			                 : emit(state, thread, slice, thread->selection, n, output, out);
			if (*failure) return -1;
			out += whole ? slice : n;
		}
		thread->offset += slice;
		thread->selected = -1;
		// What DuckDB converted cannot be added to.
		if (out > 0 && (whole || state->open.converted > 0)) return out;
	}
}

static void scan_run(duckdb_function_info info, duckdb_data_chunk output) {
	struct scan_state *state = duckdb_function_get_init_data(info);
	struct thread_state *thread = duckdb_function_get_local_init_data(info);
	prepare_thread(state, thread);
	char *failure = NULL;
	int64_t rows = fill(state, thread, output, &failure);
	if (rows < 0) {
		note_failure(state->bind->session, failure);
		duckdb_function_set_error(info, failure);
		free(failure);
		rows = 0;
	}
	duckdb_data_chunk_set_size(output, (idx_t)rows);
}

static void bind_trampoline(duckdb_bind_info info) { csmGoBind(info); }

void *csm_scan_bind_address(void) { return (void *)bind_trampoline; }
void *csm_scan_init_address(void) { return (void *)scan_init; }
void *csm_scan_local_init_address(void) { return (void *)scan_local_init; }
void *csm_scan_run_address(void) { return (void *)scan_run; }
void *csm_bind_destroy_address(void) { return (void *)bind_destroy; }
