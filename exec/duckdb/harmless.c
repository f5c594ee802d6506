// An internal error of a statement that only reads costs that statement, and not the database.
//
// DuckDB takes no statement any more after an internal error: what lies in the database may have been left half-changed.
// A statement that reads changes nothing there: its tables lie in lent memory, and what it made for itself is destroyed as
// after any other error. So the linker leads the question here of what type an error is, and while such a statement runs an
// internal error is one of the executor's. The error itself is reported as it was. Fatal errors, which say that
// something is broken and not that a bug was found, invalidate the database as ever (decision 0029).
//
// A DuckDB that asks otherwise takes no statements again: TestInternalErrorOfAReader shows that.
#include "scan.h"

// Values of duckdb::ExceptionType.
static const uint8_t executor = 17, internal = 31;

// harmless: the thread runs a statement that only reads. It is the thread that receives the errors of all threads.
static _Thread_local bool harmless;

bool csm_harmless(bool now) {
	bool before = harmless;
	harmless = now;
	return before;
}

extern const uint8_t *__real__ZNK6duckdb9ErrorData4TypeEv(const void *error);

const uint8_t *__wrap__ZNK6duckdb9ErrorData4TypeEv(const void *error) {
	const uint8_t *type = __real__ZNK6duckdb9ErrorData4TypeEv(error);
	return harmless && *type == internal ? &executor : type;
}
