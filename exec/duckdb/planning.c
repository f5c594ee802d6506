// Planning that ends when it is interrupted (D7): DuckDB looks for interrupts while it runs a plan, and not while it
// makes one.
//
// A plan may take hours and any amount of memory: views that name each other twice, thirty deep, have a milliard tables. So the linker
// leads the calls of functions that planning comes through over and over through planning_amd64.S:
//
//	DuckDB's planner ──► __wrap_… ──► csm_planning_look ──► the function itself
//	                                       └─ the thread's session was interrupted: throws InterruptException
//
// They are functions that throw by themselves, whose callers expect it, and that no destructor calls. The same exception
// comes from DuckDB's own looks. What catches it on the way, to try a name as something else, comes to the next look.
#include "memory.h"
#include "scan.h"
#include <stdlib.h>
#include <string.h>

#define EXCEPTION_BYTES 64 // duckdb::InterruptException has the 16 of std::runtime_error

extern void *__cxa_allocate_exception(size_t size);
extern void __cxa_throw(void *exception, void *type, void (*destroy)(void *)) __attribute__((noreturn));
extern void _ZN6duckdb18InterruptExceptionC1Ev(void *exception);
extern void _ZN6duckdb18InterruptExceptionD1Ev(void *exception);
extern char _ZTIN6duckdb18InterruptExceptionE[];

// planning is the session whose statement this thread plans, or begins to run, which may replan it.
static _Thread_local struct csm_session *planning;
static _Thread_local struct csm_session *preparing; // whose statement it plans, and does not run

static __attribute__((noinline, noreturn, cold)) void interrupt(void) {
	void *exception = __cxa_allocate_exception(EXCEPTION_BYTES);
	_ZN6duckdb18InterruptExceptionC1Ev(exception);
	__cxa_throw(exception, _ZTIN6duckdb18InterruptExceptionE, _ZN6duckdb18InterruptExceptionD1Ev);
}

void csm_planning_look(void) {
	struct csm_session *session = planning;
	if (__builtin_expect(session != NULL && csm_session_interrupted(session), 0) && csm_catchable()) interrupt();
}

bool csm_planning_ended(void) {
	struct csm_session *session = planning;
	return __builtin_expect(session != NULL && session == preparing && csm_session_interrupted(session), 0);
}

void csm_planning_count(int64_t bytes) {
	if (planning) csm_session_count(planning, bytes);
}

struct csm_session *csm_planning(struct csm_session *now) {
	struct csm_session *before = planning;
	planning = now;
	return before;
}

bool csm_prepare(struct csm_session *session, duckdb_connection connection, const char *sql, duckdb_prepared_statement *out) {
	csm_session_hear(session);
	struct csm_session *before = csm_planning(session);
	struct csm_session *outer = preparing;
	preparing = session;
	bool done = duckdb_prepare(connection, sql, out) == DuckDBSuccess;
	preparing = outer;
	csm_planning(before);
	return done;
}

char *csm_query(struct csm_session *session, duckdb_connection connection, const char *sql) {
	duckdb_result result;
	struct csm_session *before = csm_planning(session);
	duckdb_state state = duckdb_query(connection, sql, &result);
	csm_planning(before);
	char *failure = NULL;
	if (state == DuckDBError) {
		const char *message = duckdb_result_error(&result);
		failure = strdup(message && *message ? message : "the statement failed");
	}
	duckdb_destroy_result(&result);
	return failure;
}
