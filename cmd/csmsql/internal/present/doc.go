// Package present writes results and errors of SQL for people and for other programs.
//
//	table   aligned columns as psql draws them; a long result's widths are those of its first WidthRows rows
//	csv     RFC 4180 with a heading; NULL is an empty field, an empty string is ""
//	tsv     PostgreSQL's COPY text format with a heading; NULL is \N
//	json    one array of objects per result; numbers, booleans and JSON stay what they are
//	jsonl   one object per line
//
// Every format streams: memory does not grow with the result. A table keeps WidthRows rows, to find its widths.
package present
