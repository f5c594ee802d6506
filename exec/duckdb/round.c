// Numbers with a floating point cast to integers. DuckDB looks whether a value fits before it rounds it, so that 32767.6 becomes -32768.
// These casts take the place of DuckDB's own for the whole database: they round half to even, as its own and PostgreSQL's do, and look then.
#include "scan.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static bool is_valid(const uint64_t *validity, idx_t row) { return !validity || validity[row / 64] >> (row % 64) & 1; }

// refused says that a value does not fit, as DuckDB does; true: the whole cast ends by it.
static bool refused(duckdb_function_info info, const char *from, double value, const char *to, duckdb_vector output, idx_t row) {
	char shown[32], message[160];
	bool single = *from == 'F';
	for (int digits = 6; digits < 18; digits++) { // as few as say which value it is
		snprintf(shown, sizeof shown, "%.*g", digits, value);
		double same = strtod(shown, NULL);
		if (single ? (float)same == (float)value : same == value) break;
	}
	snprintf(message, sizeof message, "Type %s with value %s can't be cast because the value is out of range for the destination type %s", from, shown, to);
	if (duckdb_cast_function_get_cast_mode(info) == DUCKDB_CAST_NORMAL) {
		duckdb_cast_function_set_error(info, message);
		return true;
	}
	duckdb_cast_function_set_row_error(info, message, row, output);
	return false;
}

// least is the smallest value that fits, beyond the first that does not: both are exact in a double.
#define ROUND(name, from, from_name, to, to_name, least, beyond)                                                           \
	static bool name(duckdb_function_info info, idx_t count, duckdb_vector input, duckdb_vector output) {                 \
		const from *values = duckdb_vector_get_data(input);                                                                \
		const uint64_t *validity = duckdb_vector_get_validity(input);                                                      \
		to *integers = duckdb_vector_get_data(output);                                                                     \
		bool good = true;                                                                                                  \
		for (idx_t row = 0; row < count; row++) {                                                                          \
			if (!is_valid(validity, row)) {                                                                                \
				duckdb_vector_ensure_validity_writable(output);                                                            \
				duckdb_validity_set_row_invalid(duckdb_vector_get_validity(output), row);                                  \
				continue;                                                                                                  \
			}                                                                                                              \
			double rounded = rint(values[row]);                                                                            \
			if (rounded >= (least) && rounded < (beyond)) {                                                                \
				integers[row] = (to)rounded;                                                                               \
				continue;                                                                                                  \
			}                                                                                                              \
			good = false;                                                                                                  \
			if (refused(info, from_name, values[row], to_name, output, row)) return false;                                 \
		}                                                                                                                  \
		return good;                                                                                                       \
	}

#define ROUND_BOTH(suffix, to, to_name, least, beyond)                         \
	ROUND(float_##suffix, float, "FLOAT", to, to_name, least, beyond)          \
	ROUND(double_##suffix, double, "DOUBLE", to, to_name, least, beyond)

ROUND_BOTH(i8, int8_t, "INT8", -0x1p7, 0x1p7)
ROUND_BOTH(i16, int16_t, "INT16", -0x1p15, 0x1p15)
ROUND_BOTH(i32, int32_t, "INT32", -0x1p31, 0x1p31)
ROUND_BOTH(i64, int64_t, "INT64", -0x1p63, 0x1p63)
ROUND_BOTH(u8, uint8_t, "UINT8", 0.0, 0x1p8)
ROUND_BOTH(u16, uint16_t, "UINT16", 0.0, 0x1p16)
ROUND_BOTH(u32, uint32_t, "UINT32", 0.0, 0x1p32)
ROUND_BOTH(u64, uint64_t, "UINT64", 0.0, 0x1p64)

int csm_register_rounding(duckdb_connection connection) {
	static const struct {
		duckdb_type to;
		duckdb_cast_function_t of_float, of_double;
	} casts[] = {
		{DUCKDB_TYPE_TINYINT, float_i8, double_i8},    {DUCKDB_TYPE_SMALLINT, float_i16, double_i16},
		{DUCKDB_TYPE_INTEGER, float_i32, double_i32},  {DUCKDB_TYPE_BIGINT, float_i64, double_i64},
		{DUCKDB_TYPE_UTINYINT, float_u8, double_u8},   {DUCKDB_TYPE_USMALLINT, float_u16, double_u16},
		{DUCKDB_TYPE_UINTEGER, float_u32, double_u32}, {DUCKDB_TYPE_UBIGINT, float_u64, double_u64},
	};
	for (unsigned i = 0; i < sizeof casts / sizeof *casts; i++) {
		if (csm_register_cast(connection, DUCKDB_TYPE_FLOAT, casts[i].to, casts[i].of_float) < 0) return -1;
		if (csm_register_cast(connection, DUCKDB_TYPE_DOUBLE, casts[i].to, casts[i].of_double) < 0) return -1;
	}
	return 0;
}
