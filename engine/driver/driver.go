package driver

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"math/big"
	"strings"
	"sync"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/csmsql/csmsql/engine"
	"github.com/csmsql/csmsql/exec/duckdb"
	"github.com/csmsql/csmsql/internal/spelling"
)

// Name is what sql.Open wants.
const Name = "csmsql"

func init() { sql.Register(Name, &sqlDriver{}) }

type sqlDriver struct{}

// Open is the old way in; database/sql prefers OpenConnector.
func (d *sqlDriver) Open(name string) (driver.Conn, error) {
	c, err := d.OpenConnector(name)
	if err != nil {
		return nil, err
	}
	return c.Connect(context.Background())
}

// OpenConnector opens the engine with the first connection.
func (d *sqlDriver) OpenConnector(name string) (driver.Connector, error) {
	if err := checkName(name); err != nil {
		return nil, err
	}
	return &connector{name: name, owned: true}, nil
}

// attachWord begins the names of running nodes.
const attachWord = "attach:"

// checkName refuses what would be made a directory of that name, or asked for a socket of that name, and means
// something else.
func checkName(name string) error {
	if strings.Contains(name, "?") {
		return fmt.Errorf("csmsql: %q: options behind ? are not known here; engine.Config has them: sql.OpenDB(driver.NewConnector(engine))", name)
	}
	target, attach := strings.CutPrefix(name, attachWord)
	if attach && target == "" {
		return errors.New("csmsql: attach: which node? Name its socket, its data directory or host:port")
	}
	if word, _, ok := strings.Cut(name, ":"); ok && !attach && !strings.ContainsAny(word, `./\`) {
		word += ":"
		meant := ""
		if spelling.Distance(word, attachWord) <= spelling.Near(word) {
			meant = "; did you mean attach:?"
		}
		return fmt.Errorf("csmsql: %q is nothing that can be opened%s (a directory of that name is ./%s)", word, meant, name)
	}
	return nil
}

// NewConnector serves database/sql from an engine that stays the caller's.
func NewConnector(e *engine.Engine) driver.Connector { return &connector{engine: e} }

type connector struct {
	name  string
	owned bool

	mu     sync.Mutex // guards engine
	engine *engine.Engine
}

func (c *connector) Driver() driver.Driver { return &sqlDriver{} }

func (c *connector) open(ctx context.Context) (*engine.Engine, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.engine != nil {
		return c.engine, nil
	}
	var err error
	if target, ok := strings.CutPrefix(c.name, attachWord); ok {
		c.engine, err = engine.Attach(context.WithoutCancel(ctx), target)
	} else {
		c.engine, err = engine.Open(context.WithoutCancel(ctx), engine.Config{Directory: c.name, Files: engine.FileAccess{All: true}})
	}
	return c.engine, err
}

func (c *connector) Connect(ctx context.Context) (driver.Conn, error) {
	e, err := c.open(ctx)
	if err != nil {
		return nil, err
	}
	s, err := e.Session(engine.SessionOptions{})
	if err != nil {
		return nil, err
	}
	return &conn{session: s}, nil
}

// Close closes the engine that Open made (V1). database/sql calls it from DB.Close.
func (c *connector) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.owned || c.engine == nil {
		return nil
	}
	e := c.engine
	c.engine = nil
	return e.Close()
}

type conn struct{ session *engine.Session }

func (c *conn) Close() error              { return c.session.Close() }
func (c *conn) Begin() (driver.Tx, error) { return c.BeginTx(context.Background(), driver.TxOptions{}) }
func (c *conn) Prepare(query string) (driver.Stmt, error) {
	return c.PrepareContext(context.Background(), query)
}

func (c *conn) PrepareContext(ctx context.Context, query string) (driver.Stmt, error) {
	st, err := c.session.Prepare(ctx, query)
	if err != nil {
		return nil, err
	}
	return &stmt{c.session, st}, nil
}

// BeginTx begins a block of the isolation level that is asked for.
func (c *conn) BeginTx(ctx context.Context, o driver.TxOptions) (driver.Tx, error) {
	text := "BEGIN"
	switch level := sql.IsolationLevel(o.Isolation); level {
	case sql.LevelDefault:
	case sql.LevelReadUncommitted:
		text += " ISOLATION LEVEL READ UNCOMMITTED"
	case sql.LevelReadCommitted, sql.LevelWriteCommitted:
		text += " ISOLATION LEVEL READ COMMITTED"
	case sql.LevelRepeatableRead, sql.LevelSnapshot:
		text += " ISOLATION LEVEL REPEATABLE READ"
	case sql.LevelSerializable:
		text += " ISOLATION LEVEL SERIALIZABLE"
	default:
		return nil, fmt.Errorf("csmsql: there is no isolation level %s; the strongest is %s", level, sql.LevelSerializable)
	}
	if o.ReadOnly {
		text += " READ ONLY"
	}
	if _, err := c.session.Exec(ctx, text); err != nil {
		return nil, err
	}
	return &transaction{c.session}, nil
}

func (c *conn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	r, err := c.session.Exec(ctx, query, values(args)...)
	return driver.RowsAffected(r.RowsAffected), err
}

func (c *conn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	r, err := c.session.Query(ctx, query, values(args)...)
	if err != nil {
		return nil, err
	}
	return newRows(c.session, r)
}

// ResetSession ends a block that the last user of the connection forgot.
func (c *conn) ResetSession(ctx context.Context) error {
	if c.session.Status() != engine.Idle {
		_, err := c.session.Exec(ctx, "ROLLBACK")
		return err
	}
	return nil
}

type transaction struct{ session *engine.Session }

func (t *transaction) Commit() error {
	if t.session.Status() == engine.Failed {
		_, err := t.session.Exec(context.Background(), "ROLLBACK")
		return errors.Join(errors.New("csmsql: the transaction had failed and was rolled back"), err)
	}
	_, err := t.session.Exec(context.Background(), "COMMIT")
	return err
}

func (t *transaction) Rollback() error {
	_, err := t.session.Exec(context.Background(), "ROLLBACK")
	return err
}

type stmt struct {
	session   *engine.Session
	statement *engine.Statement
}

func (s *stmt) Close() error  { return s.statement.Close() }
func (s *stmt) NumInput() int { return len(s.statement.Parameters()) }

func (s *stmt) Exec(args []driver.Value) (driver.Result, error) {
	return s.ExecContext(context.Background(), named(args))
}
func (s *stmt) Query(args []driver.Value) (driver.Rows, error) {
	return s.QueryContext(context.Background(), named(args))
}

func (s *stmt) ExecContext(ctx context.Context, args []driver.NamedValue) (driver.Result, error) {
	r, err := s.statement.Exec(ctx, values(args)...)
	return driver.RowsAffected(r.RowsAffected), err
}

func (s *stmt) QueryContext(ctx context.Context, args []driver.NamedValue) (driver.Rows, error) {
	r, err := s.statement.Query(ctx, values(args)...)
	if err != nil {
		return nil, err
	}
	return newRows(s.session, r)
}

// CheckNamedValue implements driver.NamedValueChecker.
func (c *conn) CheckNamedValue(v *driver.NamedValue) error { return checkValue(v) }

// CheckNamedValue implements driver.NamedValueChecker.
func (s *stmt) CheckNamedValue(v *driver.NamedValue) error { return checkValue(v) }

// checkValue lets values through that the engine takes and database/sql does not know.
func checkValue(v *driver.NamedValue) error {
	if v.Name != "" {
		return errors.New("csmsql: parameters have no names: write $1, $2, … and give the values in their order")
	}
	switch v.Value.(type) {
	case uint64, *big.Int, arrow.MonthDayNanoInterval, duckdb.Date, duckdb.TimeOfDay, duckdb.TimestampTZ:
		return nil
	}
	value, err := driver.DefaultParameterConverter.ConvertValue(v.Value)
	if err == nil {
		v.Value = value
	}
	return err
}

func named(args []driver.Value) []driver.NamedValue {
	out := make([]driver.NamedValue, len(args))
	for i, a := range args {
		out[i] = driver.NamedValue{Ordinal: i + 1, Value: a}
	}
	return out
}

func values(args []driver.NamedValue) []any {
	out := make([]any, len(args))
	for i, a := range args {
		out[i] = a.Value
	}
	return out
}
