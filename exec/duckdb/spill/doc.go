// Package spill gives each database a directory of its own to spill to.
//
//	Options.SpillDirectory
//	  database-1234567   locked: its database lives ── Remove, when it is closed
//	  database-7654321   not locked: its process was killed ── removed by the next Make
//
// # Words
//
// To spill is to write rows to files that memory has no room for. A directory is abandoned when its lock is not held.
//
// # Invariants
//
//   - SPD1: no two databases spill to one directory, and what a killed one has spilled goes when the next one begins.
//
// # What it does not do
//
// It bounds nothing and reads no files: DuckDB does. Directories are not those of internal/owneddir, which are known by
// their process: a data directory outlives the container whose processes they were, and a lock does not.
package spill
