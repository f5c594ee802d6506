package duckdb

/*
#include <stdlib.h>
#include "scan.h"
*/
import "C"

import (
	"unsafe"

	bindings "github.com/duckdb/duckdb-go-bindings"
)

// prepareIn has DuckDB plan a text, until the session is interrupted (planning.c). False: the handle says why.
func (c *Connection) prepareIn(sql string, handle *bindings.PreparedStatement) bool {
	text := C.CString(sql)
	defer C.free(unsafe.Pointer(text))
	var statement C.duckdb_prepared_statement
	done := C.csm_prepare(c.session, C.duckdb_connection(c.handle.Ptr), text, &statement)
	handle.Ptr = unsafe.Pointer(statement)
	return bool(done)
}

// queryIn has DuckDB run a text likewise, and gives the error's.
func (c *Connection) queryIn(sql string) (failure string, failed bool) {
	text := C.CString(sql)
	defer C.free(unsafe.Pointer(text))
	said := C.csm_query(c.session, C.duckdb_connection(c.handle.Ptr), text)
	if said == nil {
		return "", false
	}
	defer C.free(unsafe.Pointer(said))
	return C.GoString(said), true
}
