// Package lendertest is a lender for tests: the real protocol (coherence.Home) over ordinary memory, with accounts.
//
//	chunk.Home ─► coherence.Home ─► Memory: a Go slice, first fit, every byte accounted for
//
// It is not for production: no other process can map a Go slice.
package lendertest
