// Package lineage says where the rows of a table's chunks came from, and whether that is still what it was.
//
//	csmsql load, COPY … FROM 'file' ──► files: how each was read, its size and time, how many rows it gave
//	csmsql tpch load                ──► generated: scale factor, table, and which part of it each chunk is
//	CREATE TABLE … AS               ──► a query: its text, the tables it read and in which version, and a sum of its rows
//	                                         │
//	           catalog.Origin.Words ◄────────┘ Encode          Decode ──► engine: rebuilds lost chunks
//
// # Words
//
// An origin is where the rows of a run of chunks came from, and how they were laid over the chunks. A part is the
// chunks of one bucket of a hash, in their order; rows that nothing divided are one part.
//
// # Invariants
//
//   - LG1: an origin says everything that is needed to make the rows again, and nothing about where chunks lie: they
//     move.
//   - LG2: Decode of Encode is the same origin; what this program does not understand is an error, and not another
//     origin.
//   - LG3: a file is never assumed to be unchanged because of its time: rows are compared with the checksums of what is
//     lost. Its size only saves the reading.
//
// # What it does not do
//
// It reads no file but its size and time, runs no query, and knows neither catalog nor chunks.
package lineage
