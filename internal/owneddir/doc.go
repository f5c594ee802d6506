// Package owneddir makes temporary directories whose names say whose they are, and removes those whose owners were
// killed.
//
//	ROOT/<prefix><namespace>-<process>-<start>-<random>
//	             ╰──────── whose it is ─────╯
//	Sweep ─► those of a prefix are removed whose processes have ended
//	Make  ─► a new one
//
// Processes that are killed cannot remove what they have made, and in shared memory that takes memory until the machine
// boots. The next one that starts does it for them. A process is known by its number, when it began, and the namespace
// of numbers, so that neither a process that has got the number of one that has ended nor a container that shares the
// file system is taken for the owner, or for none.
//
// # Words
//
//   - owner: the process that made a directory; what it starts is to end with it
//
// # Invariants
//
//   - SD1: a directory whose owner lives is never removed by another process, nor is one of which it cannot be said
//     whether it does.
//   - SD2: whoever removes does not mind others who do.
//
// # What it does not do
//
// Directories of other names it leaves alone, whoever made them. It removes nothing by itself.
package owneddir
