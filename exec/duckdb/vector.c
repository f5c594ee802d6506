// From Arrow buffers to DuckDB vectors: whole slices, and the rows that a selection names.
//
// Nothing here writes to a region, and every offset read from a region is checked before it is followed (D3): a chunk
// that was damaged behind our back is an error, never a crash.
#include "scan.h"
#include <string.h>

static const char *DAMAGED = "XX001: a string of the chunk points outside of its buffers: the chunk is damaged";

static inline bool bit_is_set(const uint8_t *bitmap, int64_t i) { return (bitmap[i >> 3] >> (i & 7)) & 1; }

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

// gather_validity clears the bits of the selected rows that are NULL; the vector's own mask starts with all rows valid.
static void gather_validity(duckdb_vector vector, const uint8_t *bitmap, int64_t offset, const uint32_t *selection, int64_t count,
                            int64_t at) {
	duckdb_vector_ensure_validity_writable(vector);
	uint64_t *mask = duckdb_vector_get_validity(vector);
	for (int64_t i = 0; i < count; i++)
		if (!bit_is_set(bitmap, offset + selection[i])) mask[(at + i) >> 6] &= ~((uint64_t)1 << ((at + i) & 63));
}

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

// Every fill function is written once and inlined twice: with a selection and without.
#define ROW(i) (selection ? (int64_t)selection[i] : (i))

static inline const char *fill_view(const struct csm_column *column, int64_t first, const uint32_t *selection, int64_t count,
                                    duckdb_string_t *out) {
	const struct ArrowArray *array = column->array;
	const struct csm_view *views = (const struct csm_view *)array->buffers[1] + array->offset + first;
	const int64_t buffers = array->n_buffers - 3; // validity, views, …data…, sizes
	const uint8_t *bitmap = array->null_count ? array->buffers[0] : NULL;
	for (int64_t i = 0; i < count; i++) {
		struct csm_view view = views[ROW(i)];
		if (view.length <= 12 && view.length >= 0) { // the layouts agree: inline bytes with a zero tail
			memcpy(&out[i], &view, sizeof view);
			continue;
		}
		if (bitmap && !bit_is_set(bitmap, array->offset + first + ROW(i))) { // what lies under a NULL means nothing
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

static inline const char *fill_utf8(const struct csm_column *column, int64_t first, const uint32_t *selection, int64_t count,
                                    duckdb_string_t *out) {
	const struct ArrowArray *array = column->array;
	const char *data = array->buffers[2];
	for (int64_t i = 0; i < count; i++) {
		int64_t row = array->offset + first + ROW(i), start, end;
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

// The tables of codes have 256 entries, so that no code leads outside of them (D3).
static inline void fill_dictionary(const struct csm_column *column, int64_t first, const uint32_t *selection, int64_t count,
                                   duckdb_string_t *out) {
	const uint8_t *codes = (const uint8_t *)column->array->buffers[1] + column->array->offset + first;
	for (int64_t i = 0; i < count; i++) out[i] = column->strings[codes[ROW(i)]];
}

static inline void fill_enum(const struct csm_column *column, int64_t first, const uint32_t *selection, int64_t count, uint8_t *out) {
	const uint8_t *codes = (const uint8_t *)column->array->buffers[1] + column->array->offset + first;
	for (int64_t i = 0; i < count; i++) out[i] = column->codes[codes[ROW(i)]];
}

static inline void fill_bool(const struct csm_column *column, int64_t first, const uint32_t *selection, int64_t count, uint8_t *out) {
	const uint8_t *bits = column->array->buffers[1];
	const int64_t offset = column->array->offset + first;
	for (int64_t i = 0; i < count; i++) out[i] = bit_is_set(bits, offset + ROW(i));
}

struct wide { uint64_t low, high; };

#define GATHER(type) \
	for (int64_t i = 0; i < count; i++) ((type *)out)[i] = ((const type *)from)[selection[i]]

static void fill_fixed(const struct csm_column *column, int64_t first, const uint32_t *selection, int64_t count, char *out) {
	const char *from = (const char *)column->array->buffers[1] + (column->array->offset + first) * column->width;
	if (!selection) {
		// A copy of 2,048 values into a vector that is warm in the cache costs less than DuckDB's conversion, which
		// references the buffer but allocates a vector for every column of every slice: see BenchmarkScan.
		memcpy(out, from, (size_t)(count * column->width));
		return;
	}
	switch (column->width) {
	case 1: GATHER(uint8_t); break;
	case 2: GATHER(uint16_t); break;
	case 4: GATHER(uint32_t); break;
	case 8: GATHER(uint64_t); break;
	default: GATHER(struct wide);
	}
}

static inline void fill_number(const struct csm_column *column, int64_t first, const uint32_t *selection, int64_t count, int64_t *out) {
	for (int64_t i = 0; i < count; i++) out[i] = column->number + first + ROW(i);
}

static inline const char *put(const struct csm_column *column, int64_t first, const uint32_t *selection, int64_t count, char *data,
                              int64_t at) {
	switch (column->kind) {
	case CSM_FIXED: fill_fixed(column, first, selection, count, data + at * column->width); return NULL;
	case CSM_BOOL: fill_bool(column, first, selection, count, (uint8_t *)data + at); return NULL;
	case CSM_VIEW: return fill_view(column, first, selection, count, (duckdb_string_t *)data + at);
	case CSM_UTF8:
	case CSM_LARGE_UTF8: return fill_utf8(column, first, selection, count, (duckdb_string_t *)data + at);
	case CSM_DICTIONARY: fill_dictionary(column, first, selection, count, (duckdb_string_t *)data + at); return NULL;
	default: fill_enum(column, first, selection, count, (uint8_t *)data + at); return NULL;
	}
}

const char *csm_vector_put(const struct csm_column *column, int64_t first, const uint32_t *selection, int64_t count,
                           duckdb_vector vector, int64_t at) {
	char *data = duckdb_vector_get_data(vector);
	if (column->kind == CSM_NUMBER) {
		fill_number(column, first, selection, count, (int64_t *)data + at);
		return NULL;
	}
	const struct ArrowArray *array = column->array;
	const uint8_t *bitmap = array->null_count ? array->buffers[0] : NULL;
	if (selection) {
		if (bitmap) gather_validity(vector, bitmap, array->offset + first, selection, count, at);
		return put(column, first, selection, count, data, at);
	}
	if (bitmap) copy_validity(vector, bitmap, array->offset + first, count);
	return put(column, first, NULL, count, data, 0);
}
