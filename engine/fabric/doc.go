// Package fabric says how the memory of a node, and of those that it shares it with, reaches this process, and what
// this process has to do about caches.
//
//	               coherent caches      other caches
//	a node         nothing to flush     flushes for itself          OfNode
//	attached, here nothing to flush     its node flushes for both   OfGuest
//	attached, else nothing to flush     flushes for itself          OfBorrower
//
// A Fabric is a value that does not change once its process is up. A caller that orders flushes names itself by a Use,
// so that tests can stand between one user and the caches.
//
// # What it does not do
//
// It maps nothing (memregion) and does not decide when to flush (coherence).
package fabric
