// Columns that DuckDB's own Arrow conversion makes into vectors: nested and rare types.
//
// duckdb_data_chunk_from_arrow knows a slice only by the offsets of the arrays. In 1.5 it forgets them below a struct inside a
// struct and inside a union, and then reads other rows. So offsets of structs and unions are pushed down to where they
// are not forgotten: a struct gets offset 0, a copy of its validity bits, and children that start later.
#include "scan.h"
#include <stdlib.h>
#include <string.h>

// failed takes an error value apart; NULL when there was none.
char *csm_failed(duckdb_error_data error) {
	if (!error) return NULL;
	char *message = duckdb_error_data_has_error(error) ? strdup(duckdb_error_data_message(error)) : NULL;
	duckdb_destroy_error_data(&error);
	return message;
}

// lend allocates memory that lasts until the slice was converted.
static void *lend(struct csm_convert *c, size_t size) {
	struct csm_lent *block = calloc(1, sizeof *block + size);
	block->next = c->lent;
	c->lent = block;
	return block + 1;
}

static void take_back(struct csm_convert *c) {
	while (c->lent) {
		struct csm_lent *next = c->lent->next;
		free(c->lent);
		c->lent = next;
	}
}

// The arrays belong to the thread, their buffers to the chunk: there is nothing to release.
static void release_nothing(struct ArrowArray *array) { array->release = NULL; }

static const void *shifted_bits(struct csm_convert *c, const uint8_t *bitmap, int64_t offset, int64_t count) {
	uint8_t *out = lend(c, (size_t)(count + 7) / 8 + 8);
	for (int64_t i = 0; i < count; i++)
		out[i >> 3] |= (uint8_t)(((bitmap[(offset + i) >> 3] >> ((offset + i) & 7)) & 1) << (i & 7));
	return out;
}

// push_down moves the offset of a struct or union in our own copy of an array to its children. shape has a letter for each
// node, parents first: see csm_column. Returns the shape behind this node.
static const char *push_down(struct csm_convert *c, struct ArrowArray *array, int64_t count, const char *shape) {
	char kind = *shape++;
	if (kind == CSM_SHAPE_LEAF) return shape;
	struct ArrowArray *copies = lend(c, sizeof *copies * (size_t)array->n_children);
	struct ArrowArray **children = lend(c, sizeof *children * (size_t)array->n_children);
	for (int64_t i = 0; i < array->n_children; i++) {
		copies[i] = *array->children[i];
		copies[i].offset += array->offset;
		copies[i].release = release_nothing;
		children[i] = &copies[i];
		shape = push_down(c, &copies[i], count, shape);
	}
	array->children = children;
	if (kind == CSM_SHAPE_STRUCT) {
		const void **buffers = lend(c, sizeof *buffers);
		if (array->null_count && array->buffers[0]) buffers[0] = shifted_bits(c, array->buffers[0], array->offset, count);
		array->buffers = buffers;
		array->offset = 0;
	}
	return shape;
}

void csm_convert_init(struct csm_convert *c, int64_t columns) {
	c->arrays = calloc((size_t)columns + 1, sizeof *c->arrays);
	c->children = calloc((size_t)columns + 1, sizeof *c->children);
}

void csm_convert_free(struct csm_convert *c) {
	free(c->arrays);
	free(c->children);
}

char *csm_convert_slice(struct csm_convert *c, duckdb_connection connection, duckdb_arrow_converted_schema schema,
                        const struct csm_column *columns, int64_t column_count, int64_t first, int64_t count, duckdb_data_chunk *out) {
	int64_t converted = 0;
	for (int64_t i = 0; i < column_count; i++) {
		const struct csm_column *column = &columns[i];
		if (column->kind != CSM_CONVERT) continue;
		struct ArrowArray *array = &c->arrays[column->convert_position];
		*array = *column->array;
		array->offset += first;
		array->length = count;
		// null_count stays that of the chunk: DuckDB asks only whether it is zero or above, and takes -1 for neither.
		array->release = release_nothing;
		c->children[column->convert_position] = array;
		if (column->shape) push_down(c, array, count, column->shape);
		converted++;
	}
	struct ArrowArray root = {.length = count, .n_buffers = 1, .n_children = converted, .buffers = c->no_validity,
	                          .children = c->children, .release = release_nothing};
	char *failure = csm_failed(duckdb_data_chunk_from_arrow(connection, &root, schema, out));
	take_back(c);
	return failure;
}

duckdb_logical_type csm_enum_type(const char *words, uint64_t count) {
	const char **names = malloc((count ? count : 1) * sizeof *names);
	if (!names) return NULL;
	for (uint64_t i = 0; i < count; i++) {
		names[i] = words;
		words += strlen(words) + 1;
	}
	duckdb_logical_type type = duckdb_create_enum_type(names, count);
	free(names);
	return type;
}
