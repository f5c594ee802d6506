package duckdb

/*
#include "scan.h"
*/
import "C"

import "fmt"

// registerCasts makes text of bytes and of dates mean to every cast what it means to PostgreSQL's clients (cast.c).
func registerCasts(c *Connection) error {
	// SAFETY: the handle is an open connection's.
	if C.csm_register_casts(C.duckdb_connection(c.handle.Ptr)) != 0 {
		return fmt.Errorf("DuckDB refused the casts of text")
	}
	return nil
}

// registerRounding makes casts of numbers with a floating point to integers fail where DuckDB's would wrap (round.c).
func registerRounding(c *Connection) error {
	// SAFETY: the handle is an open connection's.
	if C.csm_register_rounding(C.duckdb_connection(c.handle.Ptr)) != 0 {
		return fmt.Errorf("DuckDB refused the casts to integers")
	}
	return nil
}
