//go:build race

package emulated

import "runtime"

// hide keeps what follows from the race detector until reveal: a prefetch is no access of the program's, and orders
// nothing either. No lock may be taken meanwhile.
func hide()   { runtime.RaceDisable() }
func reveal() { runtime.RaceEnable() }
