// Package pgcopy converts between rows and the three formats of PostgreSQL's COPY: text, CSV and binary.
//
//	text    1⇥a\tb⇥\N⏎            escapes, \N is NULL, "\." alone on a line ends the data
//	CSV     1,"a,""b""",⏎          quotes, the unquoted empty string is NULL, values may span lines
//	binary  PGCOPY\n\xff\r\n\0 │ flags 4 │ extension 4 │ { columns 2 │ { length 4 │ bytes } … } … │ -1
//
// Encoder writes record batches; its caller puts every row into a CopyData message. Reader takes a stream apart into
// fields, or cuts blocks off it that other goroutines take apart; what fields mean is its caller's: pgformat.Decode
// reads them, with TextFormat for text and CSV.
//
// # Invariants
//
//   - PC1: what Encoder writes Reader reads back, with the same options, unless the null string equals a value in text
//     format.
//   - PC2: Reader holds one row, or one block, and never more than FieldBytesMax of a line or field; memory for a length is allocated
//     only as its bytes arrive.
//   - PC3: every error of the data has SQLSTATE 22P04 and the line; errors of the stream are passed on as they are.
//   - PC4: blocks have the rows, the lines and the errors that reading row by row has.
//
// # What it does not do
//
// No encodings other than UTF-8, no FREEZE, no HEADER MATCH, no ON_ERROR.
package pgcopy
