// Comparing types, and casting values to a type.
#include "scan.h"
#include <string.h>

static bool same_texts(char *a, char *b) {
	bool same = a && b ? strcmp(a, b) == 0 : a == b;
	duckdb_free(a);
	duckdb_free(b);
	return same;
}

// same_types compares two types that it destroys.
static bool same_types(duckdb_logical_type a, duckdb_logical_type b) {
	bool same = csm_same_type(a, b);
	duckdb_destroy_logical_type(&a);
	duckdb_destroy_logical_type(&b);
	return same;
}

static bool same_fields(duckdb_logical_type a, duckdb_logical_type b) {
	idx_t count = duckdb_struct_type_child_count(a);
	if (count != duckdb_struct_type_child_count(b)) return false;
	for (idx_t i = 0; i < count; i++)
		if (!same_texts(duckdb_struct_type_child_name(a, i), duckdb_struct_type_child_name(b, i)) ||
		    !same_types(duckdb_struct_type_child_type(a, i), duckdb_struct_type_child_type(b, i)))
			return false;
	return true;
}

static bool same_members(duckdb_logical_type a, duckdb_logical_type b) {
	idx_t count = duckdb_union_type_member_count(a);
	if (count != duckdb_union_type_member_count(b)) return false;
	for (idx_t i = 0; i < count; i++)
		if (!same_texts(duckdb_union_type_member_name(a, i), duckdb_union_type_member_name(b, i)) ||
		    !same_types(duckdb_union_type_member_type(a, i), duckdb_union_type_member_type(b, i)))
			return false;
	return true;
}

bool csm_same_type(duckdb_logical_type a, duckdb_logical_type b) {
	duckdb_type id = duckdb_get_type_id(a);
	if (id != duckdb_get_type_id(b) || !same_texts(duckdb_logical_type_get_alias(a), duckdb_logical_type_get_alias(b))) return false;
	switch (id) {
	case DUCKDB_TYPE_DECIMAL: return duckdb_decimal_width(a) == duckdb_decimal_width(b) && duckdb_decimal_scale(a) == duckdb_decimal_scale(b);
	// Every batch brings its words along: what has to be known before is how wide the codes are.
	case DUCKDB_TYPE_ENUM: return duckdb_enum_dictionary_size(a) == duckdb_enum_dictionary_size(b);
	case DUCKDB_TYPE_LIST: return same_types(duckdb_list_type_child_type(a), duckdb_list_type_child_type(b));
	case DUCKDB_TYPE_ARRAY:
		return duckdb_array_type_array_size(a) == duckdb_array_type_array_size(b) &&
		       same_types(duckdb_array_type_child_type(a), duckdb_array_type_child_type(b));
	case DUCKDB_TYPE_MAP:
		return same_types(duckdb_map_type_key_type(a), duckdb_map_type_key_type(b)) &&
		       same_types(duckdb_map_type_value_type(a), duckdb_map_type_value_type(b));
	case DUCKDB_TYPE_STRUCT: return same_fields(a, b);
	case DUCKDB_TYPE_UNION: return same_members(a, b);
	default: return true;
	}
}

idx_t csm_column_count(struct csm_result *result) { return duckdb_column_count(&result->result); }

duckdb_logical_type csm_column_type(struct csm_result *result, idx_t column) { return duckdb_column_logical_type(&result->result, column); }

bool csm_same_columns(struct csm_result *result, void **types, idx_t count) {
	if (duckdb_column_count(&result->result) != count) return false;
	for (idx_t i = 0; i < count; i++) {
		duckdb_logical_type type = csm_column_type(result, i);
		bool same = csm_same_type(type, types[i]);
		duckdb_destroy_logical_type(&type);
		if (!same) return false;
	}
	return true;
}

// The C API casts a value only on its way into a list.
duckdb_value csm_cast_value(duckdb_value value, duckdb_logical_type type) {
	duckdb_value list = duckdb_create_list_value(type, &value, 1);
	if (!list) return NULL;
	duckdb_value cast = duckdb_get_list_child(list, 0);
	duckdb_destroy_value(&list);
	return cast;
}

bool csm_same_value(duckdb_value a, duckdb_value b) { return same_texts(duckdb_value_to_string(a), duckdb_value_to_string(b)); }
