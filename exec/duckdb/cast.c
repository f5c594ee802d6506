// Text cast to BLOB and to DATE, and BLOB to text. DuckDB takes '\xDEAD' for one byte and the text AD, and forgets the BC of '0044-03-15 BC': what PostgreSQL's
// clients write would become other values in silence, wherever a cast stands, in a CASE, beside a parameter, in a view, in a file. These casts
// take the place of DuckDB's own for the whole database. They read its spellings, too, where the two do not contradict each other. Bytes are
// written as PostgreSQL does, \xdead44, where DuckDB has \xDE\xADD, so that their text is read as the same bytes.
#include "scan.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const char *bytes_of(const duckdb_string_t *s, uint32_t *length) {
	*length = s->value.inlined.length;
	return *length <= sizeof s->value.inlined.inlined ? s->value.inlined.inlined : s->value.pointer.ptr;
}

static bool is_valid(const uint64_t *validity, idx_t row) { return !validity || validity[row / 64] >> (row % 64) & 1; }

static bool is_blank(char c) { return c == ' ' || c >= '\t' && c <= '\r'; }

static int hex(char c) {
	if (c >= '0' && c <= '9') return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

// A cast of one type: it puts the value of a row into output, or says what is wrong with it, as a format of the text's length and the text.
typedef const char *(*cast_one)(const char *text, uint32_t length, duckdb_vector output, idx_t row);

// shown is how much of a text an error shows, up to the end of a character.
static int shown(const char *text, uint32_t length) {
	uint32_t end = length < 100 ? length : 100;
	while (end > 0 && end < length && (text[end] & 0xC0) == 0x80) end--;
	return (int)end;
}

static bool cast_rows(duckdb_function_info info, idx_t count, duckdb_vector input, duckdb_vector output, cast_one cast) {
	const duckdb_string_t *texts = duckdb_vector_get_data(input);
	const uint64_t *validity = duckdb_vector_get_validity(input);
	bool good = true;
	for (idx_t row = 0; row < count; row++) {
		if (!is_valid(validity, row)) {
			duckdb_vector_ensure_validity_writable(output);
			duckdb_validity_set_row_invalid(duckdb_vector_get_validity(output), row);
			continue;
		}
		uint32_t length;
		const char *text = bytes_of(&texts[row], &length);
		const char *wrong = cast(text, length, output, row);
		if (!wrong) continue;
		good = false;
		char message[256];
		snprintf(message, sizeof message, wrong, shown(text, length), text);
		if (duckdb_cast_function_get_cast_mode(info) == DUCKDB_CAST_NORMAL) {
			duckdb_cast_function_set_error(info, message);
			return false;
		}
		duckdb_cast_function_set_row_error(info, message, row, output);
	}
	return good;
}

// hexadecimal reads what stands behind \x; pairs of digits may stand apart.
static const char *hexadecimal(const char *text, uint32_t length, char *out, uint32_t *size) {
	for (uint32_t i = 0; i < length;) {
		if (is_blank(text[i])) {
			i++;
			continue;
		}
		if (hex(text[i]) < 0) return "invalid hexadecimal digit: \"%.*s\"";
		if (i + 1 == length || hex(text[i + 1]) < 0) return "invalid hexadecimal data: odd number of digits: \"%.*s\"";
		out[(*size)++] = (char)(hex(text[i]) << 4 | hex(text[i + 1]));
		i += 2;
	}
	return NULL;
}

static bool is_octal(const char *digits) {
	return digits[0] >= '0' && digits[0] <= '3' && digits[1] >= '0' && digits[1] <= '7' && digits[2] >= '0' && digits[2] <= '7';
}

// escaped reads \\ and \ooo, and DuckDB's \xHH.
static const char *escaped(const char *text, uint32_t length, char *out, uint32_t *size) {
	for (uint32_t i = 0; i < length; i++) {
		uint32_t left = length - i;
		if (text[i] != '\\') {
			out[(*size)++] = text[i];
		} else if (left > 1 && text[i + 1] == '\\') {
			out[(*size)++] = '\\';
			i++;
		} else if (left > 3 && is_octal(text + i + 1)) {
			out[(*size)++] = (char)((text[i + 1] - '0') << 6 | (text[i + 2] - '0') << 3 | (text[i + 3] - '0'));
			i += 3;
		} else if (left > 3 && text[i + 1] == 'x' && hex(text[i + 2]) >= 0 && hex(text[i + 3]) >= 0) {
			out[(*size)++] = (char)(hex(text[i + 2]) << 4 | hex(text[i + 3]));
			i += 3;
		} else {
			return "invalid input syntax for type bytea: \"%.*s\"";
		}
	}
	return NULL;
}

static const char *bytes_from(const char *text, uint32_t length, duckdb_vector output, idx_t row) {
	const char *slash = memchr(text, '\\', length);
	if (!slash) {
		duckdb_vector_assign_string_element_len(output, row, text, length);
		return NULL;
	}
	char *out = malloc(length);
	if (!out) return "out of memory: \"%.*s\"";
	uint32_t size = 0;
	bool plain = slash == text && length > 1 && text[1] == 'x' && !memchr(text + 2, '\\', length - 2);
	const char *wrong = plain ? hexadecimal(text + 2, length - 2, out, &size) : escaped(text, length, out, &size);
	if (!wrong) duckdb_vector_assign_string_element_len(output, row, out, size);
	free(out);
	return wrong;
}

static bool cast_bytes(duckdb_function_info info, idx_t count, duckdb_vector input, duckdb_vector output) {
	return cast_rows(info, count, input, output, bytes_from);
}

static const char *text_from(const char *bytes, uint32_t length, duckdb_vector output, idx_t row) {
	static const char digits[] = "0123456789abcdef";
	size_t size = 2 * (size_t)length + 2;
	char *text = size < UINT32_MAX ? malloc(size) : NULL;
	if (!text) return "out of memory: the text of a BLOB has two digits for each byte";
	text[0] = '\\', text[1] = 'x';
	for (uint32_t i = 0; i < length; i++) {
		text[2 * (size_t)i + 2] = digits[(uint8_t)bytes[i] >> 4];
		text[2 * (size_t)i + 3] = digits[bytes[i] & 15];
	}
	duckdb_vector_assign_string_element_len(output, row, text, size);
	free(text);
	return NULL;
}

static bool cast_text(duckdb_function_info info, idx_t count, duckdb_vector input, duckdb_vector output) {
	return cast_rows(info, count, input, output, text_from);
}

static int digits(const char *text, int count) {
	int value = 0;
	for (int i = 0; i < count; i++) {
		if (text[i] < '0' || text[i] > '9') return -1;
		value = value * 10 + text[i] - '0';
	}
	return value;
}

// days_of counts the days of a Gregorian date of the years 1 to 9999 from 1970-01-01; false: there is no such day.
static bool days_of(const char *text, int32_t *days) {
	static const int lengths[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31}, before[] = {0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334};
	int year = digits(text, 4), month = digits(text + 5, 2), day = digits(text + 8, 2);
	if (text[4] != '-' || text[7] != '-' || year < 1 || month < 1 || month > 12 || day < 1) return false;
	bool leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
	if (day > lengths[month - 1] + (leap && month == 2)) return false;
	int past = year - 1;
	*days = past * 365 + past / 4 - past / 100 + past / 400 + before[month - 1] + (leap && month > 2) + day - 1 - 719162;
	return true;
}

// before_christ writes the era behind the date, where DuckDB has it in parentheses; 0: the text says none.
static size_t before_christ(const char *text, size_t length, char *out, size_t room) {
	while (length > 0 && is_blank(text[length - 1])) length--;
	if (length < 3 || length + 4 > room || strncasecmp(text + length - 2, "BC", 2) != 0) return 0;
	length -= 2;
	while (length > 0 && is_blank(text[length - 1])) length--;
	while (length > 0 && is_blank(*text)) text++, length--;
	size_t stop = 0;
	while (stop < length && (digits(text + stop, 1) >= 0 || text[stop] == '-' || text[stop] == '/')) stop++;
	if (stop < 5) return 0;
	memcpy(out, text, stop);
	memcpy(out + stop, " (BC)", 5);
	memcpy(out + stop + 5, text + stop, length - stop);
	return length + 5;
}

// short_year reports whether a date begins with one digit or two, which DuckDB takes for a year of the first century.
// To PostgreSQL it is a month or a day, as DateStyle says, and the year comes last.
static bool short_year(const char *text, uint32_t length) {
	while (length > 0 && is_blank(*text)) text++, length--;
	uint32_t count = 0;
	while (count < length && digits(text + count, 1) >= 0) count++;
	return count > 0 && count < 3 && count < length;
}

static const char *date_from(const char *text, uint32_t length, duckdb_vector output, idx_t row) {
	int32_t *days = (int32_t *)duckdb_vector_get_data(output) + row;
	if (length == 10 && days_of(text, days)) return NULL;
	char turned[64];
	size_t size = before_christ(text, length, turned, sizeof turned);
	duckdb_value value = size ? duckdb_create_varchar_length(turned, size) : duckdb_create_varchar_length(text, length);
	*days = duckdb_get_date(value).days; // by DuckDB's own cast, which makes the value itself a date, or 0 and leaves it
	bool good = duckdb_get_type_id(duckdb_get_value_type(value)) == DUCKDB_TYPE_DATE;
	duckdb_destroy_value(&value);
	if (good && !size && short_year(text, length)) return "invalid date field format: \"%.*s\", the year comes first and has four digits";
	if (good) return NULL;
	bool shaped = length >= 8 && digits(text, 4) >= 0 && digits(text + 4, 1) < 0 && digits(text + 5, 1) >= 0;
	if (shaped) return "date field value out of range: \"%.*s\"";
	return "invalid date field format: \"%.*s\", expected format is (YYYY-MM-DD)";
}

static bool cast_date(duckdb_function_info info, idx_t count, duckdb_vector input, duckdb_vector output) {
	return cast_rows(info, count, input, output, date_from);
}

int csm_register_cast(duckdb_connection connection, duckdb_type from, duckdb_type to, duckdb_cast_function_t function) {
	duckdb_cast_function cast = duckdb_create_cast_function();
	duckdb_logical_type source = duckdb_create_logical_type(from), target = duckdb_create_logical_type(to);
	duckdb_cast_function_set_source_type(cast, source);
	duckdb_cast_function_set_target_type(cast, target);
	duckdb_cast_function_set_implicit_cast_cost(cast, -1); // none is implicit, as with DuckDB's own
	duckdb_cast_function_set_function(cast, function);
	duckdb_state state = duckdb_register_cast_function(connection, cast);
	duckdb_destroy_logical_type(&source);
	duckdb_destroy_logical_type(&target);
	duckdb_destroy_cast_function(&cast);
	return state == DuckDBSuccess ? 0 : -1;
}

int csm_register_casts(duckdb_connection connection) {
	if (csm_register_cast(connection, DUCKDB_TYPE_VARCHAR, DUCKDB_TYPE_BLOB, cast_bytes) < 0) return -1;
	if (csm_register_cast(connection, DUCKDB_TYPE_BLOB, DUCKDB_TYPE_VARCHAR, cast_text) < 0) return -1;
	return csm_register_cast(connection, DUCKDB_TYPE_VARCHAR, DUCKDB_TYPE_DATE, cast_date);
}
