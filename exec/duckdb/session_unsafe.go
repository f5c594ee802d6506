package duckdb

/*
#include "scan.h"
*/
import "C"

// session is what a connection shares with the plans bound by it, in C memory: a flag that scan threads look at,
// because a scan whose filters let nothing through does not come back to DuckDB for long, and only DuckDB knows of its
// own interrupt; and what the first scan that failed said, because DuckDB may lose it (Statement.lost).
type session = *C.struct_csm_session

func newSession() session { return C.csm_session_new() }

// startSession resets the session: a statement begins.
func startSession(s session) { C.csm_session_start(s) }

// interruptSession has the scans of the running statement end.
func interruptSession(s session) { C.csm_session_interrupt(s) }

// interrupted reports whether that was done since the statement began.
func interrupted(s session) bool { return C.csm_session_interrupted(s) != 0 }

// plannedBytes is what was allocated in small blocks to make the session's last plan, and may be free again.
func plannedBytes(s session) int64 { return int64(C.csm_session_planned(s)) }

// scanFailure is the error of the first scan of the statement that failed, nil if none did. It is given once.
func scanFailure(s session) error {
	text := C.csm_session_take_failure(s)
	if text == nil {
		return nil
	}
	return takeError(text)
}

// dropSession gives back the connection's reference; plans that outlive it keep theirs.
func dropSession(s session) { C.csm_session_drop(s) }
