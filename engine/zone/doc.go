// Package zone says which time zones there are: those that DuckDB, which computes with them, and Go, in which times are
// shown, both know.
//
//	SET TimeZone = 'europe/berlin' ─► Named ─► Europe/Berlin
//	SET TimeZone = 2               ─► Named ─► Etc/GMT-2: in such names the sign is the other way round
//
// # What it does not do
//
// It knows no session's zone: the engine does. Zones.once is a leaf.
package zone
