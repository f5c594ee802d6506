// csm_divide(a, b) is a / b as PostgreSQL has it: of integers it is one, and by zero, or beyond the type, it is an error.
#include "scan.h"
#include <math.h>

typedef __int128 csm_int128;

static bool valid(const uint64_t *mask, idx_t row) { return !mask || mask[row >> 6] >> (row & 63) & 1; }

// Rows without a value have none in the result; the first error ends the call.
#define DIVIDE(name, type, divisor, refuse, quotient)                                                                          \
	static void name(duckdb_function_info info, duckdb_data_chunk input, duckdb_vector output) {                   \
		duckdb_vector left = duckdb_data_chunk_get_vector(input, 0), right = duckdb_data_chunk_get_vector(input, 1); \
		const uint64_t *some = duckdb_vector_get_validity(left), *others = duckdb_vector_get_validity(right);  \
		const type *a = duckdb_vector_get_data(left);                                                          \
		const divisor *b = duckdb_vector_get_data(right);                                                      \
		type *out = duckdb_vector_get_data(output);                                                            \
		uint64_t *none = 0;                                                                                    \
		idx_t rows = duckdb_data_chunk_get_size(input);                                                        \
		for (idx_t i = 0; i < rows; i++) {                                                                     \
			if (!valid(some, i) || !valid(others, i)) {                                                    \
				if (!none) {                                                                           \
					duckdb_vector_ensure_validity_writable(output);                                \
					none = duckdb_vector_get_validity(output);                                     \
				}                                                                                      \
				duckdb_validity_set_row_invalid(none, i);                                              \
				continue;                                                                              \
			}                                                                                              \
			const char *error = refuse(a[i], b[i]);                                                        \
			if (error) {                                                                                   \
				duckdb_scalar_function_set_error(info, error);                                         \
				return;                                                                                \
			}                                                                                              \
			out[i] = quotient(a[i], b[i]);                                                                 \
		}                                                                                                      \
	}

#define BY_ZERO "22012: division by zero"
#define QUOTIENT(a, b) ((a) / (b))
// The least number divided by -1 is more than the greatest; of narrow types C computes it in int.
#define SIGNED(bits, name)                                                                                             \
	static const char *refuse##bits(int##bits##_t a, int##bits##_t b) {                                            \
		if (b == 0) return BY_ZERO;                                                                            \
		return b == -1 && a == INT##bits##_MIN ? "22003: " name " out of range" : 0;                           \
	}                                                                                                              \
	DIVIDE(divide##bits, int##bits##_t, int##bits##_t, refuse##bits, QUOTIENT)

SIGNED(16, "smallint")
SIGNED(32, "integer")
SIGNED(64, "bigint")

struct huge { uint64_t low; int64_t high; }; // DuckDB's HUGEINT, which need not lie where an __int128 has to

static csm_int128 wide(struct huge x) { return (csm_int128)x.high << 64 | x.low; }

static const char *refuse128(struct huge a, struct huge b) {
	if (b.low == 0 && b.high == 0) return BY_ZERO;
	return b.high == -1 && b.low == UINT64_MAX && a.high == INT64_MIN && a.low == 0 ? "22003: value out of range: overflow" : 0;
}

static struct huge quotient128(struct huge a, struct huge b) {
	csm_int128 q = wide(a) / wide(b);
	return (struct huge){(uint64_t)q, (int64_t)(q >> 64)};
}

DIVIDE(divide128, struct huge, struct huge, refuse128, quotient128)

static const char *refuse_float(double a, double b) { return b == 0 && a == a ? BY_ZERO : 0; } // NaN / 0 is NaN

DIVIDE(divide_float, float, float, refuse_float, QUOTIENT)
DIVIDE(divide_double, double, double, refuse_float, QUOTIENT)

struct interval { int32_t months, days; int64_t micros; };

static double micro(double seconds) { return rint(seconds * 1e6) / 1e6; }

// quotient_of has fractions of months as days, and those of days as time, as PostgreSQL does (interval_div); false: it is
// beyond the type. Numbers are compared as doubles before they are cast: what does not fit has no defined cast.
static bool quotient_of(struct interval a, double b, struct interval *q) {
	double months = trunc(a.months / b), whole = trunc(a.days / b);
	if (!(fabs(months) <= INT32_MAX && fabs(whole) <= INT32_MAX)) return false;
	double days = micro((a.months / b - months) * 30);
	double seconds = micro((a.days / b - whole + days - trunc(days)) * 86400);
	if (fabs(seconds) >= 86400) {
		whole += trunc(seconds / 86400);
		seconds -= trunc(seconds / 86400) * 86400.0;
	}
	whole += trunc(days);
	double micros = rint(a.micros / b + seconds * 1e6);
	if (!(fabs(whole) <= INT32_MAX && fabs(micros) < 0x1p63)) return false;
	*q = (struct interval){(int32_t)months, (int32_t)whole, (int64_t)micros};
	return true;
}

static const char *refuse_interval(struct interval a, double b) {
	struct interval q;
	return b == 0 ? BY_ZERO : quotient_of(a, b, &q) ? 0 : "22008: interval out of range";
}

static struct interval quotient_interval(struct interval a, double b) {
	struct interval q = {0, 0, 0};
	quotient_of(a, b, &q);
	return q;
}

DIVIDE(divide_interval, struct interval, double, refuse_interval, quotient_interval)

void *csm_divide_address(int32_t kind) {
	switch (kind) {
	case 0: return (void *)divide16;
	case 1: return (void *)divide32;
	case 2: return (void *)divide64;
	case 3: return (void *)divide128;
	case 4: return (void *)divide_float;
	case 5: return (void *)divide_double;
	default: return (void *)divide_interval;
	}
}
