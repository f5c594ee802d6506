// The part of DuckDB's documented C API that this package's own C code calls, written down by hand from the
// documentation of DuckDB 1.5: the library's header lies in another module, where a C include cannot reach it,
// and the Go bindings hide the Arrow functions behind a build tag that a program embedding csmsql must not need.
#ifndef CSMSQL_DUCKDB_API_H
#define CSMSQL_DUCKDB_API_H

#include <stdbool.h>
#include <stdint.h>

// The Arrow C data interface: https://arrow.apache.org/docs/format/CDataInterface.html
#ifndef ARROW_C_DATA_INTERFACE
#define ARROW_C_DATA_INTERFACE
struct ArrowSchema {
	const char *format;
	const char *name;
	const char *metadata;
	int64_t flags;
	int64_t n_children;
	struct ArrowSchema **children;
	struct ArrowSchema *dictionary;
	void (*release)(struct ArrowSchema *);
	void *private_data;
};
struct ArrowArray {
	int64_t length;
	int64_t null_count;
	int64_t offset;
	int64_t n_buffers;
	int64_t n_children;
	const void **buffers;
	struct ArrowArray **children;
	struct ArrowArray *dictionary;
	void (*release)(struct ArrowArray *);
	void *private_data;
};
#endif

typedef uint64_t idx_t;
typedef enum { DuckDBSuccess = 0, DuckDBError = 1 } duckdb_state;

typedef struct _duckdb_connection *duckdb_connection;
typedef struct _duckdb_prepared_statement *duckdb_prepared_statement;
typedef struct _duckdb_data_chunk *duckdb_data_chunk;
typedef struct _duckdb_vector *duckdb_vector;
typedef struct _duckdb_logical_type *duckdb_logical_type;
typedef struct _duckdb_arrow_options *duckdb_arrow_options;
typedef struct _duckdb_arrow_converted_schema *duckdb_arrow_converted_schema;
typedef struct _duckdb_error_data *duckdb_error_data;
typedef struct _duckdb_function_info *duckdb_function_info;
typedef struct _duckdb_bind_info *duckdb_bind_info;
typedef struct _duckdb_init_info *duckdb_init_info;
typedef struct _duckdb_table_function *duckdb_table_function;
typedef void (*duckdb_delete_callback_t)(void *data);

typedef struct {
	idx_t deprecated_column_count;
	idx_t deprecated_row_count;
	idx_t deprecated_rows_changed;
	void *deprecated_columns;
	char *deprecated_error_message;
	void *internal_data;
} duckdb_result;

// A VARCHAR or BLOB in a vector: non-owning; up to 12 bytes lie inline.
typedef struct {
	union {
		struct {
			uint32_t length;
			char prefix[4];
			const char *ptr;
		} pointer;
		struct {
			uint32_t length;
			char inlined[12];
		} inlined;
	} value;
} duckdb_string_t;

bool duckdb_error_data_has_error(duckdb_error_data error_data);
const char *duckdb_error_data_message(duckdb_error_data error_data);
void duckdb_destroy_error_data(duckdb_error_data *error_data);

typedef struct _duckdb_pending_result *duckdb_pending_result;
duckdb_state duckdb_query(duckdb_connection connection, const char *query, duckdb_result *out_result);
duckdb_state duckdb_prepare(duckdb_connection connection, const char *query, duckdb_prepared_statement *out_prepared_statement);
duckdb_state duckdb_pending_prepared_streaming(duckdb_prepared_statement statement, duckdb_pending_result *out_result);
const char *duckdb_pending_error(duckdb_pending_result pending_result);
typedef enum {
	DUCKDB_PENDING_RESULT_READY = 0,
	DUCKDB_PENDING_RESULT_NOT_READY = 1,
	DUCKDB_PENDING_ERROR = 2,
	DUCKDB_PENDING_NO_TASKS_AVAILABLE = 3
} duckdb_pending_state;
duckdb_pending_state duckdb_pending_execute_task(duckdb_pending_result pending_result);
duckdb_state duckdb_execute_pending(duckdb_pending_result pending_result, duckdb_result *out_result);
void duckdb_destroy_pending(duckdb_pending_result *pending_result);
void duckdb_destroy_result(duckdb_result *result);
idx_t duckdb_rows_changed(duckdb_result *result);
duckdb_data_chunk duckdb_fetch_chunk(duckdb_result result);
const char *duckdb_result_error(duckdb_result *result);
duckdb_arrow_options duckdb_result_get_arrow_options(duckdb_result *result);
void duckdb_destroy_arrow_options(duckdb_arrow_options *arrow_options);
duckdb_error_data duckdb_to_arrow_schema(duckdb_arrow_options options, duckdb_logical_type *types, const char **names,
                                         idx_t column_count, struct ArrowSchema *out_schema);
duckdb_error_data duckdb_data_chunk_to_arrow(duckdb_arrow_options options, duckdb_data_chunk chunk,
                                             struct ArrowArray *out_array);
duckdb_error_data duckdb_schema_from_arrow(duckdb_connection connection, struct ArrowSchema *schema,
                                           duckdb_arrow_converted_schema *out_schema);
duckdb_error_data duckdb_data_chunk_from_arrow(duckdb_connection connection, struct ArrowArray *array,
                                               duckdb_arrow_converted_schema schema, duckdb_data_chunk *out_chunk);
void duckdb_destroy_arrow_converted_schema(duckdb_arrow_converted_schema *schema);

void duckdb_destroy_data_chunk(duckdb_data_chunk *chunk);
duckdb_vector duckdb_data_chunk_get_vector(duckdb_data_chunk chunk, idx_t index);
idx_t duckdb_data_chunk_get_size(duckdb_data_chunk chunk);
void duckdb_data_chunk_set_size(duckdb_data_chunk chunk, idx_t size);
duckdb_logical_type duckdb_vector_get_column_type(duckdb_vector vector);
void *duckdb_vector_get_data(duckdb_vector vector);
uint64_t *duckdb_vector_get_validity(duckdb_vector vector);
void duckdb_vector_ensure_validity_writable(duckdb_vector vector);
void duckdb_vector_reference_vector(duckdb_vector to_vector, duckdb_vector from_vector);

typedef struct _duckdb_selection_vector *duckdb_selection_vector;
duckdb_selection_vector duckdb_create_selection_vector(idx_t size);
void duckdb_destroy_selection_vector(duckdb_selection_vector sel);
uint32_t *duckdb_selection_vector_get_data_ptr(duckdb_selection_vector sel);
void duckdb_slice_vector(duckdb_vector vector, duckdb_selection_vector sel, idx_t len);

void *duckdb_init_get_bind_data(duckdb_init_info info);
idx_t duckdb_init_get_column_count(duckdb_init_info info);
idx_t duckdb_init_get_column_index(duckdb_init_info info, idx_t column_index);
void duckdb_init_set_init_data(duckdb_init_info info, void *data, duckdb_delete_callback_t destroy);
void duckdb_init_set_max_threads(duckdb_init_info info, idx_t max_threads);
void duckdb_init_set_error(duckdb_init_info info, const char *error);
void *duckdb_function_get_bind_data(duckdb_function_info info);
void *duckdb_function_get_init_data(duckdb_function_info info);
void *duckdb_function_get_local_init_data(duckdb_function_info info);
void duckdb_function_set_error(duckdb_function_info info, const char *error);
void duckdb_scalar_function_set_error(duckdb_function_info info, const char *error);

typedef struct _duckdb_cast_function *duckdb_cast_function;
typedef struct _duckdb_value *duckdb_value;
typedef struct { int32_t days; } duckdb_date;
typedef enum { DUCKDB_CAST_NORMAL = 0, DUCKDB_CAST_TRY = 1 } duckdb_cast_mode;
typedef enum {
	DUCKDB_TYPE_TINYINT = 2, DUCKDB_TYPE_SMALLINT = 3, DUCKDB_TYPE_INTEGER = 4, DUCKDB_TYPE_BIGINT = 5, DUCKDB_TYPE_UTINYINT = 6,
	DUCKDB_TYPE_USMALLINT = 7, DUCKDB_TYPE_UINTEGER = 8, DUCKDB_TYPE_UBIGINT = 9, DUCKDB_TYPE_FLOAT = 10, DUCKDB_TYPE_DOUBLE = 11,
	DUCKDB_TYPE_DATE = 13, DUCKDB_TYPE_INTERVAL = 15, DUCKDB_TYPE_VARCHAR = 17, DUCKDB_TYPE_BLOB = 18, DUCKDB_TYPE_DECIMAL = 19,
	DUCKDB_TYPE_ENUM = 23, DUCKDB_TYPE_LIST = 24, DUCKDB_TYPE_STRUCT = 25, DUCKDB_TYPE_MAP = 26, DUCKDB_TYPE_UNION = 28, DUCKDB_TYPE_ARRAY = 33
} duckdb_type;
typedef bool (*duckdb_cast_function_t)(duckdb_function_info info, idx_t count, duckdb_vector input, duckdb_vector output);
duckdb_cast_function duckdb_create_cast_function();
void duckdb_cast_function_set_source_type(duckdb_cast_function cast_function, duckdb_logical_type source_type);
void duckdb_cast_function_set_target_type(duckdb_cast_function cast_function, duckdb_logical_type target_type);
void duckdb_cast_function_set_implicit_cast_cost(duckdb_cast_function cast_function, int64_t cost);
void duckdb_cast_function_set_function(duckdb_cast_function cast_function, duckdb_cast_function_t function);
duckdb_cast_mode duckdb_cast_function_get_cast_mode(duckdb_function_info info);
void duckdb_cast_function_set_error(duckdb_function_info info, const char *error);
void duckdb_cast_function_set_row_error(duckdb_function_info info, const char *error, idx_t row, duckdb_vector output);
duckdb_state duckdb_register_cast_function(duckdb_connection con, duckdb_cast_function cast_function);
void duckdb_destroy_cast_function(duckdb_cast_function *cast_function);
duckdb_logical_type duckdb_create_logical_type(duckdb_type type);
duckdb_logical_type duckdb_create_enum_type(const char **member_names, idx_t member_count);
void duckdb_destroy_logical_type(duckdb_logical_type *type);
void duckdb_vector_assign_string_element_len(duckdb_vector vector, idx_t index, const char *str, idx_t str_len);
void duckdb_validity_set_row_invalid(uint64_t *validity, idx_t row);
duckdb_value duckdb_create_varchar_length(const char *text, idx_t length);
duckdb_date duckdb_get_date(duckdb_value val);
duckdb_logical_type duckdb_get_value_type(duckdb_value val);
duckdb_type duckdb_get_type_id(duckdb_logical_type type);
void duckdb_destroy_value(duckdb_value *value);
char *duckdb_value_to_string(duckdb_value value);
duckdb_value duckdb_create_list_value(duckdb_logical_type type, duckdb_value *values, idx_t value_count);
duckdb_value duckdb_get_list_child(duckdb_value value, idx_t index);
void duckdb_free(void *ptr);

idx_t duckdb_column_count(duckdb_result *result);
duckdb_type duckdb_column_type(duckdb_result *result, idx_t col);
duckdb_logical_type duckdb_column_logical_type(duckdb_result *result, idx_t col);
char *duckdb_logical_type_get_alias(duckdb_logical_type type);
uint8_t duckdb_decimal_width(duckdb_logical_type type);
uint8_t duckdb_decimal_scale(duckdb_logical_type type);
uint32_t duckdb_enum_dictionary_size(duckdb_logical_type type);
duckdb_logical_type duckdb_list_type_child_type(duckdb_logical_type type);
duckdb_logical_type duckdb_array_type_child_type(duckdb_logical_type type);
idx_t duckdb_array_type_array_size(duckdb_logical_type type);
duckdb_logical_type duckdb_map_type_key_type(duckdb_logical_type type);
duckdb_logical_type duckdb_map_type_value_type(duckdb_logical_type type);
idx_t duckdb_struct_type_child_count(duckdb_logical_type type);
char *duckdb_struct_type_child_name(duckdb_logical_type type, idx_t index);
duckdb_logical_type duckdb_struct_type_child_type(duckdb_logical_type type, idx_t index);
idx_t duckdb_union_type_member_count(duckdb_logical_type type);
char *duckdb_union_type_member_name(duckdb_logical_type type, idx_t index);
duckdb_logical_type duckdb_union_type_member_type(duckdb_logical_type type, idx_t index);

#endif
