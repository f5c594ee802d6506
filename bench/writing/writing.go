// Package writing has clients insert rows one by one into a table, and checks what is there then.
//
//	                   ┌─ connection ─► a server ─┐
//	Load.Run ─ draws ──┼─ connection ─► a server ─┼─ one table ─► Load.Check: all that was acknowledged, each once
//	                   └─ connection ─► …        ─┘
//
// # Lock order
//
// Load.mu is a leaf.
//
// # What it does not do
//
// It starts no server and compares no rates.
package writing

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// Table makes the table, which Run empties first.
const Table = "CREATE TABLE readings (id bigint NOT NULL, sensor text NOT NULL, value double precision)"

const insertOne = "INSERT INTO readings VALUES ($1, $2, $3)"

// Load is what clients insert: for a time, or a number of rows.
type Load struct {
	// Servers are the connection strings that clients take in turn. All show the same table.
	Servers []string
	Window  time.Duration
	Most    int64 // rows in all; 0: as many as there is time for

	Took time.Duration // what all clients together took

	mu        sync.Mutex
	next      int64   // guarded by mu; the id that the next row gets
	rows      int64   // guarded by mu; acknowledged
	ids       int64   // guarded by mu; their sum
	values    float64 // guarded by mu; of value, too: whole numbers, exact
	conflicts int     // guarded by mu
}

// Rows is how many were acknowledged, and Conflicts how many transactions were refused as conflicts. After Run.
func (l *Load) Rows() int64    { return l.rows }
func (l *Load) Conflicts() int { return l.conflicts }

// Run returns when all clients have ended.
func (l *Load) Run(ctx context.Context, clients int) error {
	conns := make([]*pgx.Conn, clients)
	defer func() {
		for _, c := range conns {
			if c != nil {
				_ = c.Close(context.WithoutCancel(ctx))
			}
		}
	}()
	for i := range conns {
		var err error
		if conns[i], err = pgx.Connect(ctx, l.Servers[i%len(l.Servers)]); err != nil {
			return err
		}
		if i == 0 {
			if _, err := conns[i].Exec(ctx, "TRUNCATE readings"); err != nil {
				return err
			}
		}
		if _, err := conns[i].Prepare(ctx, "insert", insertOne); err != nil {
			return err
		}
	}
	begin := time.Now()
	failed := make(chan error, clients)
	for _, conn := range conns {
		go func() { failed <- l.insert(ctx, conn, begin) }()
	}
	var err error
	for range conns {
		err = errors.Join(err, <-failed)
	}
	l.Took = time.Since(begin)
	return err
}

// insert is one client.
func (l *Load) insert(ctx context.Context, conn *pgx.Conn, begin time.Time) error {
	for {
		id, ok := l.draw(begin)
		if !ok {
			return nil
		}
		value := float64(id % 1000)
		_, err := conn.Exec(ctx, "insert", id, fmt.Sprintf("sensor %d", id%100), value)
		var refused *pgconn.PgError
		switch {
		case err == nil:
			l.acknowledge(id, value)
		case errors.As(err, &refused) && refused.Code == "40001":
			l.conflict()
		default:
			return err
		}
	}
}

func (l *Load) draw(begin time.Time) (id int64, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.Most > 0 && l.next >= l.Most || l.Most == 0 && time.Since(begin) >= l.Window {
		return 0, false
	}
	l.next++
	return l.next, true
}

func (l *Load) acknowledge(id int64, value float64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.rows, l.ids, l.values = l.rows+1, l.ids+id, l.values+value
}

func (l *Load) conflict() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.conflicts++
}

// Check compares the table, as each server shows it, with what was acknowledged.
func (l *Load) Check(ctx context.Context) error {
	for _, server := range l.Servers {
		if err := l.check(ctx, server); err != nil {
			return err
		}
	}
	return nil
}

func (l *Load) check(ctx context.Context, server string) error {
	conn, err := pgx.Connect(ctx, server)
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	var rows, distinct, ids int64
	var values float64
	const question = "SELECT count(*), count(DISTINCT id), coalesce(sum(id), 0)::bigint, coalesce(sum(value), 0)" +
		" FROM readings WHERE sensor = 'sensor ' || (id % 100)"
	if err := conn.QueryRow(ctx, question).Scan(&rows, &distinct, &ids, &values); err != nil {
		return err
	}
	if rows != l.rows || distinct != l.rows || ids != l.ids || values != l.values {
		return fmt.Errorf("a wrong answer: %d rows with %d different ids, sums %d and %g; acknowledged: %d rows, sums %d and %g",
			rows, distinct, ids, values, l.rows, l.ids, l.values)
	}
	return nil
}
