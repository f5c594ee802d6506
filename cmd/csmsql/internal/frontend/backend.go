package frontend

import (
	"context"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"

	"github.com/csmsql/csmsql/engine"
	"github.com/csmsql/csmsql/wire"
)

// Database is the one database of a node.
const Database = "csmsql"

// Backend opens engine sessions for clients. Safe for concurrent use.
type Backend struct {
	engine *engine.Engine // immutable
	log    *slog.Logger   // immutable
	behind sync.WaitGroup // sessions that stay when their connections have ended: they are overdue

	open     atomic.Int64
	opened   atomic.Uint64
	executed atomic.Uint64
	failed   atomic.Uint64
}

// New makes the backend of a node.
func New(e *engine.Engine, log *slog.Logger) *Backend { return &Backend{engine: e, log: log} }

// Wait returns when nothing is left of sessions that were closed. Their servers have returned.
func (b *Backend) Wait() { b.behind.Wait() }

// Counts are what the backend has seen since it was made.
type Counts struct {
	// Open sessions now, and Opened since the start.
	Open   int64
	Opened uint64
	// Executed statements, and how many of them failed (those that failed to be prepared included).
	Executed, Failed uint64
}

// Counts reads the counters.
func (b *Backend) Counts() Counts {
	return Counts{Open: b.open.Load(), Opened: b.opened.Load(), Executed: b.executed.Load(), Failed: b.failed.Load()}
}

// Open implements wire.Backend.
func (b *Backend) Open(ctx context.Context, start wire.Startup) (wire.Session, error) {
	if err := checkDatabase(start); err != nil {
		return nil, err
	}
	client := start.Client
	inner, err := b.engine.Session(engine.SessionOptions{
		User: start.User, Guest: !overOwnSocket(start), ProcessID: start.ProcessID, Statements: statements{client}, Settings: beginning(start),
		Notified: client.Heard,
		Notice: func(n engine.Notice) {
			client.Notice(wire.Notice{Severity: n.Severity, SQLState: n.State, Message: n.Message, Detail: n.Detail, Hint: n.Hint})
		},
	})
	if err != nil {
		return nil, err
	}
	s := &session{backend: b, engine: inner, client: client, announced: map[string]string{}, calls: calls{places: b.engine.Overdue()}}
	s.greet()
	b.open.Add(1)
	b.opened.Add(1)
	return s, nil
}

// overOwnSocket reports whether the client is connected by a unix socket: those are in the data directory, which only
// its owner can open. Names of users are not checked, so they hide texts only from clients that give their own name.
func overOwnSocket(start wire.Startup) bool {
	_, local := start.RemoteAddr.(*net.UnixAddr)
	return local
}

// checkDatabase accepts clients that ask for the database, or for none: then they send the user's name. "postgres" is
// what tools connect to before they know other names.
func checkDatabase(start wire.Startup) error {
	switch start.Database {
	case Database, "postgres", start.User:
		return nil
	}
	return &wire.Error{
		State: "3D000", Message: "database \"" + start.Database + "\" does not exist",
		Help: "A node has one database, csmsql: connect with dbname=csmsql (psql -d csmsql).",
	}
}
