// Package service is a node as other processes, the other nodes of its cluster and operators ask it: the calls of
// package noderpc, let in while the node is open.
//
//	noderpc.Server ─┬ Node            borrowers: leases, pages, acquire; loads; Status
//	                ├ Lender          other nodes write here (package lending)
//	                ├ Operations      other nodes' operators: drain here
//	                └ Administration  operators of the cluster: drain a node, ClusterStatus
//	                        │
//	                        └► member, upkeep, facts; what runs statements is asked by two interfaces
//
// # Words
//
// A status says how the node is, a cluster status how the cluster is as far as the node knows.
//
// # Invariants
//
//   - SV1: every call is inside of the node's lifetime, and one that comes too late is refused (the engine's E6).
//   - SV2: a status waits for nothing: it says what was heard last, because it is wanted most when etcd does not
//     answer.
//   - SV3: no lease outlives what the cluster allows the node to promise.
//
// # Lock order
//
// A service has no lock of its own.
//
// # What it does not do
//
// It listens at no socket (noderpc.Server does) and runs no statement and no fragment.
package service
