// Package driver is the database/sql driver "csmsql": Go's standard interface over an embedded node or a borrowed one.
//
//	import _ "github.com/csmsql/csmsql/engine/driver"
//
//	sql.Open("csmsql", "/var/lib/csmsql")              embeds a node on that directory
//	sql.Open("csmsql", "")                             embeds a node that is gone when the DB is closed
//	sql.Open("csmsql", "attach:/var/lib/csmsql/csmsql.sock")   borrows a running node's memory, read-only
//	sql.OpenDB(driver.NewConnector(engine))            uses an engine that the program opened itself
//
// A name has no options: what looks like some, or like another kind of address, is an error. Isolation levels up to
// serializable are kept. One statement is one result: several in one text are refused where rows are wanted.
//
// One engine serves all connections of a DB; each connection is a session. Values arrive as int64, float64, bool,
// string, []byte and time.Time; decimals, everything else, and dates and timestamps that are infinite as strings in
// PostgreSQL's spelling. The text of statements means what it means in PostgreSQL (engine.Config.Dialect); SET
// csm.dialect = 'duckdb' changes that for one connection. Parameters are $1, $2, …, and their values what
// engine/argument says; names are refused.
//
// # Invariants
//
//   - V1: the engine that Open made is closed with the DB; one that the program gave is not.
//   - V2: what Scan gets is a copy: it stays valid when the rows are closed.
package driver
