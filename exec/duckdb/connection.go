package duckdb

import (
	"context"
	"fmt"
	"time"

	bindings "github.com/duckdb/duckdb-go-bindings"
)

// Connection is one session's way into a Database: its transaction, its temporary objects. Not safe for concurrent use,
// except Interrupt.
type Connection struct {
	db      *Database
	handle  bindings.Connection
	id      uint64
	resolve Resolver
	settler Settler // nil: no statement sets anything
	counter Counter // nil: there are no sequences
	types   TypesOf // nil: those of the database
	session session
	work    work
	plain   bool            // DuckDB's optimizer is off
	ours    bool            // it runs no client's statements
	heard   context.Context // ends what Prepare plans; nil: nothing does
}

// Connect opens a connection whose unqualified names mean CatalogName.SchemaName; resolve may be nil.
func (db *Database) Connect(resolve Resolver) (*Connection, error) {
	c, err := db.connect()
	if err != nil {
		return nil, err
	}
	if err := c.Exec("USE " + CatalogName + "." + SchemaName); err != nil {
		c.Close()
		return nil, err
	}
	c.resolve = resolve
	return c, nil
}

func (db *Database) connect() (*Connection, error) {
	c := &Connection{db: db, session: newSession()}
	if bindings.Connect(db.handle, &c.handle) == bindings.StateError {
		dropSession(c.session)
		return nil, fmt.Errorf("DuckDB refused a new connection")
	}
	var client bindings.ClientContext
	bindings.ConnectionGetClientContext(c.handle, &client)
	c.id = uint64(bindings.ClientContextGetConnectionId(client))
	bindings.DestroyClientContext(&client)
	db.connections.Store(c.id, c)
	return c, nil
}

// Close ends the connection: its transaction is rolled back, its temporary objects are gone.
func (c *Connection) Close() {
	c.db.connections.Delete(c.id)
	bindings.Disconnect(&c.handle)
	dropSession(c.session)
}

// Interrupt makes the running statement fail soon with ErrCanceled. Safe from any goroutine until Close.
func (c *Connection) Interrupt() {
	interruptSession(c.session)
	bindings.Interrupt(c.handle)
}

// Exec runs statements that return nothing of interest.
func (c *Connection) Exec(sql string) error {
	if err := c.check(sql); err != nil {
		return err
	}
	c.begin()
	defer c.end()
	startSession(c.session)
	c.optimize(true)
	sql, made := c.withTypes(sql)
	Parsed.Tell(sql)
	if failure, failed := c.queryIn(sql); failed {
		return inGiven(labelError(c.orExhausted(parseError(failure)), sql), made)
	}
	return nil
}

// Hear ends what is planned from now on soon after ctx, where DuckDB checks for interrupts: not within one value, nor
// while its parser reads a text. The caller calls done.
func (c *Connection) Hear(ctx context.Context) (done func()) {
	before := c.heard
	c.heard = ctx
	return func() { c.heard = before }
}

// Heard is the context that ends what is planned now (Hear).
func (c *Connection) Heard() context.Context {
	if c.heard == nil {
		return context.Background()
	}
	return c.heard
}

// EndWith interrupts what the connection runs when ctx ends, also a statement that has a context of its own, until the
// returned function is called.
func (c *Connection) EndWith(ctx context.Context) (stop func()) { return c.watch(ctx) }

// settle makes DuckDB clean up after the previous statement, by running an empty one.
func (c *Connection) settle() {
	var result bindings.Result
	bindings.Query(c.handle, "", &result)
	bindings.DestroyResult(&result)
}

// interruptEvery is how often an interrupt is repeated: DuckDB forgets an interrupt that comes while it reads a text,
// or between the beginning of a statement and its first work.
const interruptEvery = 5 * time.Millisecond

// watch interrupts the connection when ctx ends and, until the returned function is called, again and again. That
// function waits until a begun interrupt is over, so that it can never hit the next statement.
func (c *Connection) watch(ctx context.Context) (stop func()) {
	if ctx.Done() == nil {
		return func() {}
	}
	over, done := make(chan struct{}), make(chan struct{})
	cancel := context.AfterFunc(ctx, func() {
		defer close(done)
		again := time.NewTicker(interruptEvery)
		defer again.Stop()
		for {
			c.Interrupt()
			select {
			case <-over:
				return
			case <-again.C:
			}
		}
	})
	return func() {
		if !cancel() {
			close(over)
			<-done
		}
	}
}
