package duckdb

/*
#include "scan.h"
*/
import "C"

// session is what a connection shares with the plans bound by it, in C memory: a flag that scan threads look at, because a
// scan whose filters let nothing through does not come back to DuckDB for long, and only DuckDB knows of its own interrupt.
type session = *C.struct_csm_session

func newSession() session { return C.csm_session_new() }

func interruptSession(s session, on bool) {
	var flag C.int
	if on {
		flag = 1
	}
	C.csm_session_interrupt(s, flag)
}

// dropSession gives back the connection's reference; plans that outlive it keep theirs.
func dropSession(s session) { C.csm_session_drop(s) }
