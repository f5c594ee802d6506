// Package ingest turns a stream of record batches into sealed chunks in the layout that scans like best.
//
//	batches (any size, any layout) ──► Writer ──► chunk, chunk, …      each sealed, none published
//	                                      │
//	               collects RowsPerChunk rows (more if they are narrow) or BytesPerChunk bytes, then per column:
//	                 strings   ≤ 255 distinct values → dictionary<uint8, utf8>, sorted bytewise
//	                           otherwise             → utf8_view, one data buffer
//	                 blobs     → binary_view
//	                 decimals  up to 18 digits → decimal64
//	                 the rest  → as it is
//	               written once, straight into the extents of a chunk writer
//
// # Words
//
// logical type: what users see, whatever the layout. layout: how values lie in memory. part: one pending batch's piece
// of a column. cells: a part of strings or bytes, read without knowing its layout. word: a value of a dictionary.
// vocabulary: the words of a dictionary in the making.
//
// # Invariants
//
//   - G1: what a chunk holds equals what was added, value for value, NULL for NULL; only the layout differs.
//   - G2: dictionaries are sorted bytewise and have no duplicate and no NULL, so that codes compare as their strings
//     do.
//   - G3: strings are valid UTF-8, also inside of lists, structs and maps: what is not is refused (22021), because
//     every reader may rely on it.
//   - G4: after Abort, or after any error, no memory of the region is held, and the writer takes no more rows.
//   - G5: a field that is not nullable has no NULL (23502), and a decimal no more digits than its type (22003).
//     A string of a column with a limit no more characters (22001).
//   - G6: a chunk has RowsPerChunk rows, fewer if it is the last one or if BytesPerChunk ended it; more, up to
//     RowsPerChunkMax, if it was below GrowthBytes before its last batch. It ends where a morsel does unless bytes
//     ended it.
//   - G7: a writer that goes round over spaces fills RowsPerChunk rows per chunk, and what remains is divided evenly
//     among the spaces that have got no chunk, so that each has a part of whatever is larger than a few thousand rows.
//   - G8: equal values of one type, NULL with NULL, have equal hashes in every layout, process and version of the
//     program: tables on record rely on it. 0.0 equals -0.0, and every NaN every other.
//   - G9: chunks of the same rows in the same order and types have the same buffers, byte by byte: of NULLs, zeros.
//     Lost rows are rebuilt by it (Again).
//
// # What it does not do
//
// It does not know tables, versions or SQL, it publishes nothing, and it starts no goroutine: a caller that fills
// chunks in parallel uses several writers.
package ingest
