// Package node runs a node as a program: an engine, and the listeners through which clients and other nodes reach it.
//
//	DIR/                            0700
//	  catalog.db …                  the engine's
//	  csmsql.sock                   node RPC (cluster/noderpc)          ─┐
//	  .s.PGSQL.5432                 PostgreSQL protocol: psql -h DIR     ├─ one process, one engine
//	127.0.0.1:5433                  the same over TCP (--pg)             │
//	127.0.0.1:PORT                  /metrics, /healthz (--http)         ─┘
//
// Order of start: sockets are bound first, so that their errors show before a region is lent; they answer when the
// engine is open. Order of stop: listeners end and join what they run, then the engine is closed. Killed at any point,
// the node comes back with its tables: stopping in order only saves clients a broken connection. A node that its
// cluster gave up, or whose DuckDB has failed inside, is stopped in order and restarted, in the same process.
//
//	Run   ├── doors are open ─────────────────────────────────────────────────────────────┤
//	life  ├ starts ┼ serves ┼ closes ┤        ├ starts ┼ serves … ┼ closes ┤
//	else  (wait)            ├ “restarting” 57P03, 503 ─┤            ├ “shutting down” ────┤
//
// Invariants:
//
//   - R1: nothing listens where another machine could reach it: every address is loopback or a socket with mode 0600.
//   - R2: Run returns only when every goroutine that it started has ended.
//   - R3: from before the first start to the end every socket is there and every port is the node's (door). A client
//     that connects while it is not up is refused at once, with an error of its protocol. Only before the first start
//     clients wait, since commands often follow the start of a node at once.
package node
