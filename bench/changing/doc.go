// Package changing has sides take a table by COPY and change its rows, one after the other and by the same statements.
//
//	Table ─ rows ─► a file ─► Copies ─► a table ─► Keyed ─┬─► Asked: SELECT 1, a row by its key
//	                                                      └─► Changes: UPDATE, DELETE (of a row), UPDATE of 1 %
//	                          after each, all sides have the same sum
//
// # Words
//
// A side is one of the servers that are compared, over one connection. Its sum is what differs if a row does.
//
// # Locks
//
// It has none: a side is for one goroutine.
//
// # What it does not do
//
// It starts no server, and compares no times.
package changing
