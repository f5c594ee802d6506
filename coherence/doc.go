// Package coherence keeps readers of lent memory right, also where caches of different machines know nothing of each
// other: the protocol of grant, write, clean, seal, publish, acquire, release, with flush and fence in assembly.
package coherence
