// Package pgcopy writes and reads the three formats of PostgreSQL's COPY: text, CSV and binary.
package pgcopy
