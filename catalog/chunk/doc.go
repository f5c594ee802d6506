// Package chunk makes chunks: it gives Arrow builders memory that lies in granted extents and seals what they built.
//
//	Space.Grant ─► extent ─► Writer.Allocator ─► Arrow builders ─► record batch
//	                                                                   │ Seal
//	   validate ► place (copy only what lies elsewhere) ► measure ► describe ► zero gaps ► shrink ► clean ► seal
//	                                                                   │
//	                                                                 Chunk: sealed, unpublished; the catalog publishes it
//
// Words: arena, the allocator over one chunk's extents; piece, one granted extent of it; hole, freed memory below the
// top; place, bring an array into the arena with offset zero.
//
// The invariant K1 (package catalog) is made here: allocations are zeroed, padding and holes are zero when the seal is
// taken, and the seal's checksum covers them. A writer is for one goroutine; there is no lock.
//
// It does not publish and it does not know tables.
package chunk
