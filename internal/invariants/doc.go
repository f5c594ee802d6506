// Package invariants says whether this build checks what must always hold.
//
// Code writes
//
//	if invariants.Enabled && !holds { panic("memregion: M2 broken: …") }
//
// and `make test` builds with `-tags invariants`; in ordinary builds the constant is false and the check vanishes.
// A panic here is a bug of ours, never a reaction to input.
package invariants
