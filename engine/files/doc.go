// Package files reads rows out of files, and writes rows into files, that COPY and loads name.
//
//	COPY t FROM 'f' ─► Open or DuckDB's guard: may SQL reach it? ─► Check: is it whole, has it the columns?
//	   csv, text, json, parquet ─► Call: the table function of DuckDB's that reads it ─┐
//	   arrow, arrows            ─► Arrow: batch by batch, in place                     ─┴► rows (package cast) or Culprit
//	COPY … TO 'f' ─► WriteOptions, for DuckDB; WriteArrow
//
// # Words
//
// A reading is one file with the call that reads it and the columns of a table that it fills. The culprit is the first
// value of a file that the table does not take: an error names its file, row and column, which DuckDB does not.
//
// # Invariants
//
//   - FI1: nothing outside of the directories that SQL may reach is opened for it, whatever links there are; and only
//     regular files, because a FIFO or a device would hold the session.
//   - FI2: an option is done, or refused by its name.
//   - FI3: what an Arrow file says of itself is looked at before arrow-go, or DuckDB, relies on it.
//
// # What it does not do
//
// It takes no statement apart and writes no table: the engine does, and package load. There are no locks.
package files
