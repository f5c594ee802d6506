// Package bench measures every figure that the README claims, each against its peer in one run.
//
//	prepare both sides ─► check the answers ─► repeat: ours, theirs, ours, theirs, … ─► medians, ratios, machine
//
//	tpch     22 queries: HugeTables           against DuckDB's own tables, in one process
//	refresh  22 queries beside RF1 and RF2:   against the same tables at rest, in one node
//	cluster  TPC-H split over two nodes:      against one node, and a cluster of one; attach over three; plans of up to 64
//	attach   another process gets at a table: its descriptors against a whole Arrow IPC copy and Arrow Flight
//	readers  eight processes scan a table:    their memory against the table once
//	steps    what a node does again and again: allocating, messages, adopting a region, tables of many chunks
//	thesis   the evaluation of the thesis, table by table and figure by figure, against the numbers that it published
//	egress   rows over the PostgreSQL protocol: csmsql serve against PostgreSQL
//	workers  short statements and TPC-H:      a node with workers against one without
//	cancel   statements that are cancelled:   how long they go on, in either of those nodes
//	writes   one-row INSERTs, durable:        csmsql serve, on file and on shm, against PostgreSQL
//	changes  COPY, rows by keys, UPDATE, DELETE: csmsql serve, on file, against PostgreSQL
//	growth   what statements take:            with 10, 1,000 and 10,000 tables, and chunks, against the fewest
//	         what they send:                  in clusters of 3, 8 and 16 nodes, against the fewest
//
// Run is the way in. What belongs in a process of its own (the nodes, the readers) is this program again: it starts
// itself with arguments that Child knows, exchanges JSON with the child over its standard input and output, and ends it
// with itself. egress, workers, cancel, writes and changes serve with the command “csmsql serve” itself.
//
// Words: a *side* is one of the things that are compared, a *run* times every side once (or a cheap one several times),
// a *goal* is a figure that the README claims with its limit.
//
// Invariants:
//
//   - B1: no time is reported of a side whose answer was not compared before: a wrong answer is an error, not a figure.
//   - B2: both sides run in the same run, interleaved, which one goes first changes, with the same number of threads:
//     the machine may be shared and noisy, so ratios mean something and absolute times little. The report names the
//     machine and its load. The published numbers that thesis stands beside are another machine's: its goals are shares
//     of what is measured here, or far from the limit.
//   - B3: a goal that is missed is printed as missed. Tests check answers and counters, never times.
//   - B4: nothing outlives a benchmark: processes, regions and directories go with it, also when it is cancelled. What
//     SIGKILL leaves, directories csmsql-bench-* in the temporary directory and /dev/shm, the next benchmark removes.
//
// It does not profile, keeps no history and compares no machines. It knows no flags: cmd/csmsql wires them.
package bench
