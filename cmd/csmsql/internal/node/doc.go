// Package node runs a node as a program: an engine, and the listeners through which others reach it.
//
//	DIR/                            0700
//	  catalog.db …                  the engine's
//	  csmsql.sock                   node RPC (cluster/noderpc)          ─┐
//	  .s.PGSQL.5432                 PostgreSQL protocol: psql -h DIR     ├─ one process, one engine
//	127.0.0.1:5433                  the same over TCP (--pg)             │
//	127.0.0.1:PORT                  /metrics, /healthz (--http)         ─┘
//
// Order of start: sockets are bound first, so that trouble with them shows before a region is lent; they answer when the engine
// is open; on the RPC's socket, which stays open all the time (door), whoever comes before is told so at once. Order of stop: listeners end and join what they run, then the engine is closed. Killed at any point, the node
// comes back with its tables: stopping in order only saves clients a broken connection. A node that its cluster gave up, or whose DuckDB
// has failed inside, is stopped in order and started again, in the same process.
//
// Invariants:
//
//   - R1: nothing listens where another machine could reach it: every address is loopback or a socket with mode 0600.
//   - R2: Run returns only when every goroutine that it started has ended.
package node
