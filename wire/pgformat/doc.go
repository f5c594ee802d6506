// Package pgformat knows how PostgreSQL writes a value, in text and in binary.
package pgformat
