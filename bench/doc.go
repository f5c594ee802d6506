// Package bench measures every figure that the README claims, each against its peer in one run.
//
//	prepare both sides ─► check the answers ─► repeat: ours, theirs, ours, theirs, … ─► medians, ratios, machine
//
// A benchmark never reports a time of a side whose answer was not compared before (B1). Both sides run in the same run,
// interleaved, with the same number of threads, because the machine may be shared and noisy: ratios mean something, absolute times
// do not (B2). A goal that is missed is printed as missed (B3).
//
// It is a library: cmd/csmsql only wires flags to it.
package bench
