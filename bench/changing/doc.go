// Package changing has sides take a table by COPY and change its rows, one after the other and by the same statements.
//
//	file ─► Side.Copy ─► a table ─► Keyed ─► Update, Delete (of a row), UpdateSome ─► Sum: equal on all sides
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
// It starts no server, makes no rows and compares no times.
package changing
