package engine

import (
	"context"
	"errors"

	"github.com/csmsql/csmsql/engine/borrower"
	"github.com/csmsql/csmsql/sql/dialect"
	"github.com/csmsql/csmsql/sql/sqlerror"
)

// Attach borrows the memory of a running node: its tables are asked in this process, by this process' own DuckDB, over the
// very bytes that the node wrote. target is the node's unix socket. The engine reads only; writing is the node's.
func Attach(ctx context.Context, target string) (*Engine, error) {
	return AttachWith(ctx, target, Config{})
}

// AttachWith is Attach with the settings of config that concern queries: MemoryBytes, SpillBytes, Threads, Files, Verify, Log, and
// Directory for spilling; and Credentials, with which target may be the host:port of a cluster's node.
func AttachWith(ctx context.Context, target string, config Config) (*Engine, error) {
	if err := errors.Join(config.Verify.Check(), config.disable(), dialect.Check(config.Dialect)); err != nil {
		return nil, err
	}
	if config.Workers.Count > 0 {
		return nil, sqlerror.New("0A000", "a process that is attached to a node has no workers").WithHint("The node may have some.")
	}
	e := newEngine(config)
	if err := e.attach(ctx, target); err != nil {
		return nil, errors.Join(err, e.Close())
	}
	return e, nil
}

func (e *Engine) attach(ctx context.Context, target string) error {
	e.borrower = borrower.New(borrower.Config{
		Target: target, Credentials: e.config.Credentials, Verify: e.config.Verify, Log: e.config.Log,
	})
	attached, err := e.borrower.Attach(ctx)
	if err != nil {
		return err
	}
	e.config.Node, e.reader = attached.Node, attached.Reader
	if err := e.openDatabase(attached.RegionBytes); err != nil {
		return err
	}
	if e.config.worker {
		return nil // its first statement comes with a snapshot
	}
	if err := e.follow(ctx); err != nil || !e.config.Prefault {
		return err
	}
	return e.inspector().Prefault(ctx, e.config.Progress)
}
