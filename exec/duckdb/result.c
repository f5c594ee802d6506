// Results and types between DuckDB and the Arrow C data interface.
#include "scan.h"
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define SPIN_NS 50000    // how long to look again and again: another thread's task may be over in a moment
#define SLEEP_NS 1000000 // how long to sleep at most

static int64_t now_ns(void) {
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

// run has the statement executed up to its first rows, as duckdb_execute_pending does. But while other threads have its
// last tasks, DuckDB 1.5 looks again and again whether they are done, on a processor that those threads, or other
// statements, may be waiting for. This sleeps for an eighth of what it has waited. False: the statement has failed.
static bool run(duckdb_pending_result pending) {
	int64_t since = 0;
	for (;;) {
		duckdb_pending_state state = duckdb_pending_execute_task(pending);
		if (state != DUCKDB_PENDING_NO_TASKS_AVAILABLE) {
			if (state != DUCKDB_PENDING_RESULT_NOT_READY) return state != DUCKDB_PENDING_ERROR;
			since = 0;
			continue;
		}
		int64_t now = now_ns();
		if (since == 0) since = now;
		if (now - since < SPIN_NS) continue;
		int64_t pause = (now - since) / 8;
		nanosleep(&(struct timespec){.tv_nsec = pause < SLEEP_NS ? pause : SLEEP_NS}, NULL);
	}
}

static int execute(duckdb_prepared_statement statement, struct csm_result **out, char **error) {
	duckdb_pending_result pending = NULL;
	if (duckdb_pending_prepared_streaming(statement, &pending) == DuckDBError || !run(pending)) {
		*error = strdup(pending && duckdb_pending_error(pending) ? duckdb_pending_error(pending) : "the statement could not be started");
		duckdb_destroy_pending(&pending);
		return -1;
	}
	struct csm_result *result = calloc(1, sizeof *result);
	duckdb_state state = duckdb_execute_pending(pending, &result->result);
	duckdb_destroy_pending(&pending);
	if (state == DuckDBError) {
		const char *message = duckdb_result_error(&result->result);
		*error = strdup(message ? message : "the statement failed");
		duckdb_destroy_result(&result->result);
		free(result);
		return -1;
	}
	result->options = duckdb_result_get_arrow_options(&result->result);
	for (idx_t i = 0; i < duckdb_column_count(&result->result); i++)
		result->intervals |= duckdb_column_type(&result->result, i) == DUCKDB_TYPE_INTERVAL;
	*out = result;
	return 0;
}

int csm_execute(struct csm_session *session, duckdb_prepared_statement statement, bool reads, struct csm_result **out, char **error) {
	bool before = csm_harmless(reads);
	struct csm_session *outer = csm_planning(session);
	int failed = execute(statement, out, error);
	csm_planning(outer);
	csm_harmless(before);
	if (!failed) (*out)->reads = reads;
	return failed;
}

void csm_result_destroy(struct csm_result *result) {
	duckdb_destroy_arrow_options(&result->options);
	duckdb_destroy_result(&result->result);
	free(result);
}

idx_t csm_rows_changed(struct csm_result *result) { return duckdb_rows_changed(&result->result); }

// too_long reports whether the time of an interval is beyond Arrow's, which counts nanoseconds: DuckDB multiplies
// without a check.
static bool too_long(struct csm_result *result, duckdb_data_chunk chunk) {
	idx_t rows = duckdb_data_chunk_get_size(chunk);
	for (idx_t i = 0; result->intervals && i < duckdb_column_count(&result->result); i++) {
		if (duckdb_column_type(&result->result, i) != DUCKDB_TYPE_INTERVAL) continue;
		duckdb_vector vector = duckdb_data_chunk_get_vector(chunk, i);
		const struct { int32_t months, days; int64_t micros; } *values = duckdb_vector_get_data(vector);
		uint64_t *valid = duckdb_vector_get_validity(vector);
		for (idx_t row = 0; row < rows; row++)
			if ((values[row].micros > INT64_MAX / 1000 || values[row].micros < INT64_MIN / 1000) &&
			    (!valid || valid[row >> 6] >> (row & 63) & 1))
				return true;
	}
	return false;
}

#define TOO_LONG "22008: interval out of range: its hours, minutes and seconds may be 2562047:47:16.854775 at most\n" \
	"Have days in it, or cast it to text."

int csm_fetch(struct csm_result *result, struct ArrowArray *out, char **error) {
	bool before = csm_harmless(result->reads);
	duckdb_data_chunk chunk = duckdb_fetch_chunk(result->result);
	csm_harmless(before);
	if (!chunk) {
		const char *message = duckdb_result_error(&result->result);
		if (!message || !*message) return 0;
		*error = strdup(message);
		return -1;
	}
	if (duckdb_data_chunk_get_size(chunk) == 0) {
		duckdb_destroy_data_chunk(&chunk);
		return 0;
	}
	*error = too_long(result, chunk) ? strdup(TOO_LONG) : csm_failed(duckdb_data_chunk_to_arrow(result->options, chunk, out));
	duckdb_destroy_data_chunk(&chunk);
	return *error ? -1 : 1;
}

// maps_as_lists calls maps what they are in memory: arrow-go's import forgets what the fields of a map say of their types.
static void maps_as_lists(struct ArrowSchema *schema) {
	if (schema->format[0] == '+' && schema->format[1] == 'm') schema->format = "+l";
	for (int64_t i = 0; i < schema->n_children; i++) maps_as_lists(schema->children[i]);
	if (schema->dictionary) maps_as_lists(schema->dictionary);
}

int csm_schema(duckdb_arrow_options options, void **types, const char **names, idx_t count, struct ArrowSchema *out, char **error) {
	*error = csm_failed(duckdb_to_arrow_schema(options, (duckdb_logical_type *)types, names, count, out));
	if (*error) return -1;
	maps_as_lists(out);
	return 0;
}

int csm_types_from_arrow(duckdb_connection connection, struct ArrowSchema *schema, struct ArrowArray *empty, void **types, char **error) {
	duckdb_arrow_converted_schema converted = NULL;
	*error = csm_failed(duckdb_schema_from_arrow(connection, schema, &converted));
	if (*error) return -1;
	duckdb_data_chunk chunk = NULL;
	*error = csm_failed(duckdb_data_chunk_from_arrow(connection, empty, converted, &chunk));
	if (!*error) {
		for (int64_t i = 0; i < schema->n_children; i++)
			types[i] = duckdb_vector_get_column_type(duckdb_data_chunk_get_vector(chunk, (idx_t)i));
		duckdb_destroy_data_chunk(&chunk);
	}
	duckdb_destroy_arrow_converted_schema(&converted);
	return *error ? -1 : 0;
}
