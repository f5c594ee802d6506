// Package thesis does the work of the thesis' evaluation (P. Groet, Zero-serialization, Zero-copy memory pooling in
// compute clusters, TU Delft 2023, chapter 5) with this system, on one machine.
//
//	this process                              another process (Serve)
//	  own region, "local" ◀─ stores, flushes    own region, "remote": mapped here,
//	                                            granted, sealed and published by node RPC
//	  one home for each class of fabric and     one home for each class
//	  each write path
//
// Flush is Table 5.2, Descriptor 5.3, Allocate 5.4, Create 5.5 (and the HCDS paper's Table 1), Widths Figure 5.2,
// Strides Figure 5.3. Figure 5.1 is package bench's own, because it needs a whole node. Published has their figures.
//
// # What is the same and what is not
//
// The sizes of the tables are theirs: 1 GiB to flush and to create, three columns to describe, 0 to 5000 bytes to
// allocate, 500 million elements to read and write. Their machines were two POWER9 servers with a ThymesisFlow link of
// 100 Gbit/s between them. Here "remote" is memory of another process of the same host: all the steps are taken as if
// it were another host's, flushes with real instructions on memory that is called incoherent, but no link is passed. So
// times are to be compared with care, and shares of a whole are what means something.
//
// What a table in coherent memory of another process costs beside the write is four messages, whatever its size: grant,
// seal, publish, and the descriptor to a third party. Each finds a process that has slept while the table was written,
// and waking it up takes most of the time: on a machine of two virtual processors half a millisecond for each, where
// one tenth is enough among messages that follow each other. Of that half, measured with package noderpc's client after
// 40 ms of sleep, of counting and of copying, 0.10 ms are two processes that wake each other (an echo over a unix
// socket), and the rest is a call over gRPC, which hands what it has from goroutine to goroutine on both sides: 0.47 ms
// in all, and 0.38 with one processor for each process; stream workers and other buffers change less than the runs
// differ. Nothing of it depends on the size. So the share depends on how long the write takes: it was 0.04 to 0.13 s
// here and 0.18 s theirs.
//
// # Words
//
//   - write itself: storing all bytes of a table, by an ordinary copy from a block that lies in the cache, into memory
//     that is coherent
//   - overhead: all that creating a table takes beside that: allocating, the lender's and the writer's flushes and
//     fences, sealing, the descriptor and sending it to another process; as a share of the write itself. Without the
//     checksum and the mapping, which the thesis has not and which do not depend on coherence; they are shown beside it
//
// # Invariants
//
//   - TH1: nothing is returned of work whose result was not compared: bytes by checksum or sum with what a formula or
//     the source says, lines by count, extents by their places (B1 of package bench)
//   - TH2: what is compared with each other is measured in turns
//
// It prints nothing and knows no goals.
package thesis
