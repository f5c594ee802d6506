// The scalar functions csm_set_config(name, value, is_local) and those of sequences: DuckDB calls them for every row,
// and Go decides what they do.
#include "scan.h"
#include <stdlib.h>

extern void csmGoSetConfigBind(void *info);
extern void csmGoSetConfig(void *info, void *input, void *output);

static void bind_trampoline(duckdb_bind_info info) { csmGoSetConfigBind(info); }

static void run_trampoline(duckdb_function_info info, duckdb_data_chunk input, duckdb_vector output) {
	csmGoSetConfig(info, input, output);
}

void *csm_set_config_bind_address(void) { return (void *)bind_trampoline; }
void *csm_set_config_run_address(void) { return (void *)run_trampoline; }

extern void csmGoSequence(void *info, void *input, void *output);

static void sequence_trampoline(duckdb_function_info info, duckdb_data_chunk input, duckdb_vector output) {
	csmGoSequence(info, input, output);
}

void *csm_sequence_address(void) { return (void *)sequence_trampoline; }

static void *copy_number(void *number) {
	uint64_t *copy = malloc(sizeof *copy);
	*copy = *(uint64_t *)number;
	return copy;
}

void *csm_copy_number_address(void) { return (void *)copy_number; }
