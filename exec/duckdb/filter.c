// Filters inside the scan: which rows of a slice may matter. Deleted ones never do, which is no filter's to say (D14).
//
// A filter only ever takes away rows that SQL's own WHERE or join would take away later, so every one of them may be left
// out at any time (D6). Tests are loops without branches over a byte per row; sets of keys are asked last.
#include "scan.h"
#include <string.h>

#define USELESS_SLICES 8 // a filter that thinned out none of so many slices …
#define REST_SLICES 56   // … is left out for so many
#define THINS_OUT(in, out) ((out) * 16 < (in) * 15)

#define RANGE_LOOP(name, type)                                                                            \
	CSM_WIDE static void name(const type *values, int64_t count, type low, type span, uint8_t *pass) {     \
		for (int64_t i = 0; i < count; i++) pass[i] &= (type)(values[i] - low) <= span;                      \
	}
RANGE_LOOP(range8, uint8_t)
RANGE_LOOP(range16, uint16_t)
RANGE_LOOP(range32, uint32_t)
RANGE_LOOP(range64, uint64_t)

#define FLOAT_LOOP(name, type)                                                                            \
	CSM_WIDE static void name(const type *values, int64_t count, double low, double high, uint8_t *pass) { \
		for (int64_t i = 0; i < count; i++) pass[i] &= !(values[i] < low) & !(values[i] > high);             \
	}
FLOAT_LOOP(float32, float)
FLOAT_LOOP(float64, double)

#define COMPARE_LOOP(name, type)                                                                                                   \
	CSM_WIDE static void name(const type *a, const type *b, int64_t count, int32_t comparison, uint8_t *pass) {                     \
		switch (comparison) {                                                                                                       \
		case CSM_LESS: for (int64_t i = 0; i < count; i++) pass[i] &= a[i] < b[i]; break;                                           \
		case CSM_LESS_EQUAL: for (int64_t i = 0; i < count; i++) pass[i] &= a[i] <= b[i]; break;                                    \
		case CSM_EQUAL: for (int64_t i = 0; i < count; i++) pass[i] &= a[i] == b[i]; break;                                         \
		case CSM_NOT_EQUAL: for (int64_t i = 0; i < count; i++) pass[i] &= a[i] != b[i]; break;                                     \
		}                                                                                                                           \
	}
COMPARE_LOOP(compare32, int32_t)
COMPARE_LOOP(compare64, int64_t)

static const void *values_of(const struct csm_filter *f, const struct ArrowArray *array, int64_t first) {
	return (const char *)array->buffers[1] + (array->offset + first) * f->width;
}

static void test_range(const struct csm_filter *f, const struct ArrowArray *array, int64_t first, int64_t count, uint8_t *pass) {
	const void *values = values_of(f, array, first);
	switch (f->width) {
	case 1: range8(values, count, (uint8_t)f->low, (uint8_t)f->span, pass); break;
	case 2: range16(values, count, (uint16_t)f->low, (uint16_t)f->span, pass); break;
	case 4: range32(values, count, (uint32_t)f->low, (uint32_t)f->span, pass); break;
	default: range64(values, count, (uint64_t)f->low, f->span, pass);
	}
}

static void test_float(const struct csm_filter *f, const struct ArrowArray *array, int64_t first, int64_t count, uint8_t *pass) {
	const void *values = values_of(f, array, first);
	if (f->width == 4) float32(values, count, f->low_float, f->high_float, pass);
	else float64(values, count, f->low_float, f->high_float, pass);
}

static void test_compare(const struct csm_filter *f, const struct ArrowArray *array, const struct ArrowArray *other, int64_t first,
                         int64_t count, uint8_t *pass) {
	const void *a = values_of(f, array, first), *b = values_of(f, other, first);
	if (f->width == 4) compare32(a, b, count, f->comparison, pass);
	else compare64(a, b, count, f->comparison, pass);
}

static void test_codes(const uint8_t *keep, const struct ArrowArray *array, int64_t first, int64_t count, uint8_t *pass) {
	const uint8_t *codes = (const uint8_t *)array->buffers[1] + array->offset + first;
	for (int64_t i = 0; i < count; i++) pass[i] &= keep[codes[i]];
}

// test_validity keeps rows whose validity bit is as wanted.
static void test_validity(const struct ArrowArray *array, int64_t first, int64_t count, uint8_t wanted, uint8_t *pass) {
	const uint8_t *bitmap = array->null_count ? array->buffers[0] : NULL;
	if (!bitmap) {
		if (!wanted) memset(pass, 0, (size_t)count);
		return;
	}
	for (int64_t i = 0; i < count; i++) {
		int64_t bit = array->offset + first + i;
		pass[i] &= ((bitmap[bit >> 3] >> (bit & 7)) & 1) == wanted;
	}
}

static void test(const struct csm_filter *f, const struct csm_column *columns, int64_t first, int64_t count, uint8_t *pass) {
	const struct csm_column *column = &columns[f->column];
	const struct ArrowArray *array = column->array;
	switch (f->test) {
	case CSM_TEST_RANGE: test_range(f, array, first, count, pass); break;
	case CSM_TEST_FLOAT: test_float(f, array, first, count, pass); break;
	case CSM_TEST_CODES:
		if (column->keep) test_codes(column->keep, array, first, count, pass);
		break;
	case CSM_TEST_WORDS:
		if (column->keep) test_codes(column->keep, array, first, count, pass);
		else if (column->kind == CSM_VIEW) csm_test_words(f, column, first, count, pass);
		break;
	case CSM_TEST_COMPARE:
		test_compare(f, array, columns[f->other].array, first, count, pass);
		test_validity(columns[f->other].array, first, count, 1, pass);
		break;
	case CSM_TEST_KEYS: csm_test_keys(f, values_of(f, array, first), count, pass); break;
	case CSM_TEST_NULL: test_validity(array, first, count, 0, pass); return;
	case CSM_TEST_NOTHING: memset(pass, 0, (size_t)count); return;
	}
	test_validity(array, first, count, 1, pass);
}

CSM_WIDE uint8_t csm_greatest(const uint8_t *bytes, int64_t count) {
	uint8_t greatest = 0;
	for (int64_t i = 0; i < count; i++) greatest = bytes[i] > greatest ? bytes[i] : greatest;
	return greatest;
}

CSM_WIDE static int64_t count_passing(const uint8_t *pass, int64_t count) {
	int64_t n = 0;
	for (int64_t i = 0; i < count; i++) n += pass[i];
	return n;
}

int64_t csm_count_deleted(const struct csm_chunk *chunk, int64_t first, int64_t count) {
	if (!chunk->deleted) return 0;
	int64_t n = 0, end = first + count;
	for (int64_t word = first >> 6; word << 6 < end; word++) {
		uint64_t bits = chunk->deleted[word];
		if (word == first >> 6) bits &= ~(uint64_t)0 << (first & 63);
		if ((word + 1) << 6 > end) bits &= ~(uint64_t)0 >> (((word + 1) << 6) - end);
		n += __builtin_popcountll(bits);
	}
	return n;
}

// mark_living fills pass with whether each row lives.
static void mark_living(const struct csm_chunk *chunk, int64_t first, int64_t count, uint8_t *pass) {
	for (int64_t i = 0; i < count; i++) pass[i] = !csm_is_deleted(chunk, first + i);
}

static int64_t select_passing(const uint8_t *pass, int64_t count, uint32_t *selection) {
	int64_t n = 0, i = 0;
	for (; i + 8 <= count; i += 8) {
		uint64_t eight;
		memcpy(&eight, pass + i, 8);
		if (!eight) continue;
		for (int k = 0; k < 8; k++) {
			selection[n] = (uint32_t)(i + k);
			n += pass[i + k];
		}
	}
	for (; i < count; i++) {
		selection[n] = (uint32_t)i;
		n += pass[i];
	}
	return n;
}

static inline int in_bitmap(const struct csm_keys *keys, int64_t key) {
	uint64_t bit = (uint64_t)key - (uint64_t)keys->min;
	uint64_t inside = bit < keys->words * 64;
	uint64_t word = inside ? bit >> 6 : 0;
	return (int)((keys->bits[word] >> (bit & 63)) & inside);
}

// keep_keys thins out a selection. Written once, inlined for the common widths and forms.
static inline int64_t keep_keys(const struct csm_filter *f, const void *values, int32_t width, int32_t is_signed, bool bitmap,
                                uint32_t *selection, int64_t n) {
	int64_t kept = 0;
	for (int64_t i = 0; i < n; i++) {
		uint32_t row = selection[i];
		int64_t key = csm_load(values, width, is_signed, row);
		selection[kept] = row;
		kept += bitmap ? in_bitmap(f->keys, key) : csm_keys_contain(f->keys, key);
	}
	return kept;
}

static int64_t select_keys(const struct csm_filter *f, const struct ArrowArray *array, int64_t first, uint32_t *selection, int64_t n) {
	const void *values = values_of(f, array, first);
	const uint8_t *bitmap = array->null_count ? array->buffers[0] : NULL;
	if (bitmap) {
		int64_t kept = 0;
		for (int64_t i = 0; i < n; i++) {
			int64_t bit = array->offset + first + selection[i];
			uint32_t row = selection[i];
			selection[kept] = row;
			kept += (bitmap[bit >> 3] >> (bit & 7)) & 1;
		}
		n = kept;
	}
	bool bits = f->keys->words > 0;
	if (bits && f->width == 8) return keep_keys(f, values, 8, 1, true, selection, n);
	if (bits && f->width == 4 && f->is_signed) return keep_keys(f, values, 4, 1, true, selection, n);
	return keep_keys(f, values, f->width, f->is_signed, bits, selection, n);
}

// resting reports whether a filter is left out of this slice.
static bool resting(struct csm_filter_use *use) {
	if (use->rest == 0) return false;
	use->rest--;
	return true;
}

static void learn(struct csm_filter_use *use, int64_t in, int64_t out) {
	if (THINS_OUT(in, out)) {
		use->useless = 0;
	} else if (++use->useless >= USELESS_SLICES) {
		use->useless = USELESS_SLICES - 1; // one more useless slice after the rest sends it to rest again
		use->rest = REST_SLICES;
	}
}

#define MOST_OF(n, count) ((n) * 4 > (count))

enum asked { ASKED, SIEVED, UNASKED }; // what was done of a key set: all; what is left must be asked again; nothing yet

// Key sets come last, and while most rows are left, they are asked for all rows of the slice: that is cheaper than for each row
// that is left. A sieve lets some through, for which the set itself is asked in the end.
int64_t csm_filter_slice(const struct csm_filter *filters, int64_t filter_count, struct csm_filter_use *use,
                         const struct csm_chunk *chunk, int64_t first, int64_t count, uint32_t *selection) {
	uint8_t pass[CSM_SLICE_ROWS], asked[CSM_MAX_FILTERS] = {ASKED};
	int64_t n = count - csm_count_deleted(chunk, first, count);
	bool selected = n < count, more = false;
	if (n == 0) return 0;
	if (selected) mark_living(chunk, first, count, pass);
	for (int64_t i = 0; i < filter_count; i++) {
		const struct csm_filter *f = &filters[i];
		if (resting(&use[i])) continue;
		if (f->test == CSM_TEST_KEYS) {
			bool dense = MOST_OF(n, count) && csm_keys_dense(f);
			asked[i] = !dense ? UNASKED : f->keys->words > 0 ? ASKED : SIEVED;
			more |= asked[i] != ASKED;
			if (!dense) continue;
		}
		if (!selected) memset(pass, 1, (size_t)count);
		selected = true;
		test(f, chunk->columns, first, count, pass);
		int64_t left = count_passing(pass, count);
		learn(&use[i], n, left);
		n = left;
		if (n == 0) return 0;
	}
	if (selected && n < count) select_passing(pass, count, selection);
	else if (more)
		for (int64_t i = 0; i < count; i++) selection[i] = (uint32_t)i;
	for (int64_t i = 0; more && i < filter_count && n > 0; i++) {
		if (asked[i] == ASKED) continue;
		int64_t left = select_keys(&filters[i], chunk->columns[filters[i].column].array, first, selection, n);
		if (asked[i] == UNASKED) learn(&use[i], n, left);
		n = left;
	}
	return n;
}

int csm_keys_add_rows(struct csm_keys *keys, const struct csm_filter *filters, int64_t filter_count, const struct csm_chunk *chunk,
                      int64_t first, int64_t end, int64_t column, int32_t width, int32_t is_signed, int64_t limit) {
	uint32_t selection[CSM_SLICE_ROWS];
	int64_t values[CSM_SLICE_ROWS];
	struct csm_filter_use use[CSM_MAX_FILTERS];
	const struct ArrowArray *array = chunk->columns[column].array;
	const uint8_t *bitmap = array->null_count ? array->buffers[0] : NULL;
	for (; first < end; first += CSM_SLICE_ROWS) {
		int64_t count = end - first < CSM_SLICE_ROWS ? end - first : CSM_SLICE_ROWS;
		memset(use, 0, sizeof use); // here every row that is left out counts: no filter rests
		int64_t n = csm_filter_slice(filters, filter_count, use, chunk, first, count, selection);
		const char *from = (const char *)array->buffers[1] + (array->offset + first) * width;
		int64_t kept = 0;
		for (int64_t i = 0; i < n; i++) {
			int64_t row = n == count ? i : selection[i], bit = array->offset + first + row;
			if (bitmap && !((bitmap[bit >> 3] >> (bit & 7)) & 1)) continue;
			values[kept++] = csm_load(from, width, is_signed, row);
		}
		if (csm_keys_add(keys, values, kept) != 0 || keys->count > limit) return -1;
	}
	return 0;
}
