// Sums of the groups of a table that lies sorted by its group key: a group is a run of rows, so that one pass and no memory
// do. Morsels are summed by themselves; the run at either end of one may go on in the next, which the Go side puts together.
#include "scan.h"
#include <string.h>

struct found {
	struct csm_keys *keys;
	int64_t limit, values[CSM_SLICE_ROWS], count, rows;
};

static int flush(struct found *f) {
	int failed = csm_keys_add(f->keys, f->values, f->count);
	f->keys->rows += f->rows - f->count;
	f->count = f->rows = 0;
	return failed != 0 || f->keys->count > f->limit ? -1 : 0;
}

// close_run takes a run that has ended: the first is kept for the Go side, of others only the key, and only of those above the bound.
static inline int close_run(struct csm_ends *ends, const struct csm_run *run, int64_t above, struct found *f) {
	if (ends->runs++ == 0) {
		ends->first = *run;
		return 0;
	}
	if (run->sum <= above) return 0;
	f->values[f->count++] = run->key;
	f->rows += run->rows;
	return f->count == CSM_SLICE_ROWS ? flush(f) : 0;
}

static inline bool is_null(const uint8_t *bitmap, int64_t bit) { return bitmap && !((bitmap[bit >> 3] >> (bit & 7)) & 1); }

// runs_of is written once and inlined for the common widths. sum_width 0 counts rows.
static inline int runs_of(const struct csm_chunk *chunk, int64_t first, int64_t end, int32_t width, int32_t is_signed, int32_t sum_width,
                          int32_t sum_signed, int64_t above, struct csm_ends *ends, struct found *f) {
	const struct csm_column *columns = chunk->columns;
	const struct ArrowArray *key = columns[0].array, *sum = columns[sum_width ? 1 : 0].array;
	const uint8_t *no_key = key->null_count ? key->buffers[0] : NULL, *no_value = sum_width && sum->null_count ? sum->buffers[0] : NULL;
	struct csm_run run = {0};
	bool open = false;
	for (int64_t i = first; i < end; i++) {
		if (is_null(no_key, key->offset + i) || csm_is_deleted(chunk, i)) continue;
		int64_t k = csm_load(key->buffers[1], width, is_signed, key->offset + i), v = 1;
		if (sum_width) v = is_null(no_value, sum->offset + i) ? 0 : csm_load(sum->buffers[1], sum_width, sum_signed, sum->offset + i);
		if (open && k == run.key) {
			if (__builtin_add_overflow(run.sum, v, &run.sum)) return 1;
			run.rows++;
			continue;
		}
		if (open && k < run.key) return 1;
		if (open && close_run(ends, &run, above, f) != 0) return -1;
		run = (struct csm_run){.key = k, .sum = v, .rows = 1};
		open = true;
	}
	if (open) {
		if (ends->runs++ == 0) ends->first = run;
		ends->last = run;
	}
	return flush(f);
}

int csm_groups_add_rows(struct csm_keys *keys, const struct csm_chunk *chunk, int64_t first, int64_t end, int32_t width, int32_t is_signed,
                        int32_t sum_width, int32_t sum_signed, int64_t above, int64_t limit, struct csm_ends *ends) {
	struct found f;
	f.keys = keys;
	f.limit = limit;
	f.count = f.rows = 0;
	memset(ends, 0, sizeof *ends);
	if (width == 8 && sum_width == 8) return runs_of(chunk, first, end, 8, 1, 8, 1, above, ends, &f);
	if (width == 4 && is_signed && sum_width == 8) return runs_of(chunk, first, end, 4, 1, 8, 1, above, ends, &f);
	return runs_of(chunk, first, end, width, is_signed, sum_width, sum_signed, above, ends, &f);
}
