// The scalar function csm_json(value), of any type: Go writes a value as PostgreSQL's to_json does.
#include "scan.h"

extern void csmGoJSON(void *info, void *input, void *output);

static void json_trampoline(duckdb_function_info info, duckdb_data_chunk input, duckdb_vector output) {
	csmGoJSON(info, input, output);
}

void *csm_json_address(void) { return (void *)json_trampoline; }

int csm_chunk_to_arrow(duckdb_arrow_options options, duckdb_data_chunk chunk, struct ArrowArray *out, char **error) {
	*error = csm_failed(duckdb_data_chunk_to_arrow(options, chunk, out));
	return *error ? -1 : 0;
}
