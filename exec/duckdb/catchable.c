// Whether an exception that is thrown here is caught (D8): not everything of DuckDB is ready for one.
//
// Functions of its C API that only make a value, or store into a vector, catch nothing, and where Go called them there is no C++
// above them; functions that are declared noexcept, destructors among them, end the process. So code that would throw,
// or make DuckDB throw by refusing it memory, looks first, and goes on where it would end the process:
//
//	frame, from the innermost out          the call is in …
//	───────────────────────────────────    ─────────────────────────────────────────────────────────
//	a function of C++                      no entry of its table: noexcept      → ends the process
//	                                       an entry that catches std::exception → is caught
//	                                       another entry, catch (...) too, which often throws on → look further
//	a function of C                        look further
//	no more frames                         Go, or the thread's first function   → ends the process
//
// It does not see a noexcept function that has something to clean up at that place. The tables are those of
// the Itanium C++ ABI's exception handling, level II ("The language-specific data area"); only what throws pays for this.
#include "memory.h"
#include <string.h>
#include <unwind.h>

enum { OMITTED = 0xff, FORMAT = 0x0f, RELATIVE = 0x70, TO_ITSELF = 0x10, INDIRECT = 0x80 }; // DW_EH_PE_…

static uint64_t unsigned_leb(const uint8_t **at) {
	uint64_t value = 0;
	for (int shift = 0;; shift += 7) {
		uint8_t byte = *(*at)++;
		if (shift < 64) value |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80)) return value;
	}
}

static int64_t signed_leb(const uint8_t **at) {
	int64_t value = 0;
	for (int shift = 0;;) {
		uint8_t byte = *(*at)++;
		if (shift < 64) value |= (int64_t)((uint64_t)(byte & 0x7f) << shift);
		shift += 7;
		if (!(byte & 0x80)) return byte & 0x40 && shift < 64 ? value | (int64_t)(~(uint64_t)0 << shift) : value;
	}
}

// width is how many bytes a number takes, 0 if that depends on it, -1 if the format is not known here.
static int width(uint8_t encoding) {
	switch (encoding & FORMAT) {
	case 0x00: return sizeof(uintptr_t);
	case 0x01: return 0;
	case 0x02: case 0x0a: return 2;
	case 0x03: case 0x0b: return 4;
	case 0x04: case 0x0c: return 8;
	default: return -1;
	}
}

// number reads a number whose width is known.
static uint64_t number(const uint8_t **at, uint8_t encoding) {
	int bytes = width(encoding);
	if (bytes == 0) return unsigned_leb(at);
	uint64_t value = 0;
	memcpy(&value, *at, (size_t)bytes); // little-endian, as both architectures are
	*at += bytes;
	if (encoding & 0x08 && bytes < 8 && value >> (bytes * 8 - 1)) value |= ~(uint64_t)0 << bytes * 8;
	return value;
}

// A type_info is a pointer to a table of functions, and the type's name.
static bool is_std_exception(const uint8_t *types, uint8_t encoding, int64_t filter) {
	int bytes = width(encoding);
	if (bytes <= 0) return false;
	const uint8_t *entry = types - filter * bytes, *at = entry;
	uintptr_t value = (uintptr_t)number(&at, encoding);
	if (!value) return false; // catch (...)
	if ((encoding & RELATIVE) == TO_ITSELF) value += (uintptr_t)entry;
	else if (encoding & RELATIVE) return false;
	if (encoding & INDIRECT) value = *(const uintptr_t *)value;
	const char *name = ((const char *const *)value)[1];
	return strcmp(name[0] == '*' ? name + 1 : name, "St9exception") == 0;
}

static bool actions_catch(const uint8_t *action, const uint8_t *types, uint8_t encoding) {
	for (;;) {
		int64_t filter = signed_leb(&action);
		const uint8_t *from = action;
		int64_t next = signed_leb(&action);
		if (filter > 0 && types && is_std_exception(types, encoding, filter)) return true;
		if (next == 0) return false;
		action = from + next;
	}
}

static _Unwind_Reason_Code step(struct _Unwind_Context *frame, void *argument) {
	bool *caught = argument;
	const uint8_t *at = (const uint8_t *)_Unwind_GetLanguageSpecificData(frame);
	if (!at) return _URC_NO_REASON;
	int before = 0;
	uintptr_t function = _Unwind_GetRegionStart(frame);
	uintptr_t offset = _Unwind_GetIPInfo(frame, &before) - !before - function; // within the call, not behind it
	uint8_t pads = *at++;
	if (pads != OMITTED) {
		if (width(pads) < 0) return _URC_END_OF_STACK;
		number(&at, pads); // where pads are counted from does not matter: only whether there is one
	}
	uint8_t encoding = *at++;
	const uint8_t *types = NULL;
	if (encoding != OMITTED) {
		uint64_t distance = unsigned_leb(&at);
		types = at + distance;
	}
	uint8_t calls = *at++;
	if (width(calls) < 0) return _URC_END_OF_STACK;
	uint64_t length = unsigned_leb(&at);
	const uint8_t *actions = at + length;
	while (at < actions) {
		uint64_t start = number(&at, calls), bytes = number(&at, calls), pad = number(&at, calls), action = unsigned_leb(&at);
		if (offset < start) break;
		if (offset >= start + bytes) continue;
		*caught = pad && action && actions_catch(actions + action - 1, types, encoding);
		return *caught ? _URC_END_OF_STACK : _URC_NO_REASON;
	}
	return _URC_END_OF_STACK; // noexcept
}

bool csm_catchable(void) {
	bool caught = false;
	_Unwind_Backtrace(step, &caught);
	return caught;
}
