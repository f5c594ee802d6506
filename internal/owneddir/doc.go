// Package owneddir makes temporary directories whose names identify their owners, and removes those whose owners were
// killed.
//
//	ROOT/<prefix><namespace>-<process>-<start>-<random>
//	             ╰──────── whose it is ─────╯
//	Sweep ─► those of a prefix are removed whose processes have ended
//	Make  ─► a new one
//
// A process that is killed cannot remove its directories, and in shared memory they take memory until the machine
// boots. The next process that starts removes them. A process is identified by its number, its start time and its PID
// namespace. So a later process with the same number is not taken for the owner, nor is an owner in another container
// that shares the file system taken for dead.
//
// # Words
//
//   - owner: the process that made a directory; what it starts is to end with it
//
// # Invariants
//
//   - SD1: a directory whose owner lives is never removed by another process, nor is one of which it cannot be said
//     whether it does.
//   - SD2: several processes may remove directories at the same time.
//
// # What it does not do
//
// It leaves directories with other names alone. It removes nothing by itself.
package owneddir
