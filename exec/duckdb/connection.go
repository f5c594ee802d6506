package duckdb

import (
	"context"
	"fmt"
	"strings"
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
	path    string          // where it looks for bare names (LookIn)
	also    string          // and then (LookAlso)
}

// Connect opens a connection whose unqualified names mean CatalogName.SchemaName; resolve may be nil.
func (db *Database) Connect(resolve Resolver) (*Connection, error) {
	c, err := db.connect()
	if err != nil {
		return nil, err
	}
	if err := c.LookIn(CatalogName + "." + SchemaName); err != nil {
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

// LookIn has the connection look for bare names in schemas, as search_path lists them, and then where LookAlso says.
func (c *Connection) LookIn(schemas string) error { return c.look(schemas, c.also) }

// LookAlso has the connection look for bare names in one more schema, behind those of LookIn, from now on.
func (c *Connection) LookAlso(schema string) error {
	if c.also == schema {
		return nil
	}
	return c.look(c.path, schema)
}

func (c *Connection) look(path, also string) error {
	both := strings.Trim(path+","+also, ",")
	if err := c.tell("SET search_path = " + QuoteLiteral(both)); err != nil {
		return err
	}
	c.path, c.also = path, also
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

// settle makes DuckDB clean up after the previous statement, by running an empty one.
func (c *Connection) settle() { _ = c.tell("") }

// tell has DuckDB run a text of ours that takes no time, whether the session was interrupted or not.
func (c *Connection) tell(text string) error {
	var result bindings.Result
	defer bindings.DestroyResult(&result)
	if bindings.Query(c.handle, text, &result) == bindings.StateError {
		return parseError(bindings.ResultError(&result))
	}
	return nil
}

// interruptEvery is how often an interrupt is repeated: DuckDB forgets an interrupt that comes while it reads a text,
// or between the beginning of a statement and its first work.
const interruptEvery = 5 * time.Millisecond

// EndWith interrupts the connection when ctx ends, whatever it runs then, and again and again until the returned
// function is called. That one waits until a begun interrupt is over, so that it can never hit the next statement.
func (c *Connection) EndWith(ctx context.Context) (stop func()) {
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
