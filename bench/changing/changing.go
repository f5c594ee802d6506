package changing

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/csmsql/csmsql/bench/mixed"
)

const (
	update = "UPDATE mixed SET price = price + 1, status = 'changed' WHERE id = $1"
	remove = "DELETE FROM mixed WHERE id = $1"
	some   = "UPDATE mixed SET price = price + 1 WHERE id % 100 = $1"
	sum    = "SELECT concat_ws(' ', count(*), sum(id), sum(price), sum(customer), sum(line), count(remark)," +
		" count(referrer)," +
		" sum(length(remark)), min(shipped), max(changed AT TIME ZONE 'UTC'), max(name), min(mode)," +
		" count(*) FILTER (WHERE status = 'changed'), count(*) FILTER (WHERE paid)) FROM mixed"
)

// Side is a server.
type Side struct {
	Name string
	// Afterwards is a statement that it is given when the table has its key, empty: none.
	Afterwards string
	conn       *pgx.Conn
}

// Connect makes the table, empty.
func (s *Side) Connect(ctx context.Context, conninfo string) (err error) {
	if s.conn, err = pgx.Connect(ctx, conninfo); err == nil {
		err = s.exec(ctx, mixed.Definition())
	}
	return err
}

// Close ends the connection, if there is one.
func (s *Side) Close(ctx context.Context) {
	if s.conn != nil {
		_ = s.conn.Close(ctx)
	}
}

func (s *Side) exec(ctx context.Context, sql string) error {
	if _, err := s.conn.Exec(ctx, sql); err != nil {
		return fmt.Errorf("%s: %s: %w", s.Name, sql, err)
	}
	return nil
}

// Copy empties the table, copies a file of so many rows into it, and gives the time that the COPY took.
func (s *Side) Copy(ctx context.Context, file string, rows int64) (took time.Duration, err error) {
	if err := s.exec(ctx, "TRUNCATE mixed"); err != nil {
		return 0, err
	}
	f, err := os.Open(file)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	begin := time.Now()
	tag, err := s.conn.PgConn().CopyFrom(ctx, f, "COPY mixed FROM STDIN")
	took = time.Since(begin)
	if err == nil && tag.RowsAffected() != rows {
		err = fmt.Errorf("it took %d of %d rows", tag.RowsAffected(), rows)
	}
	if err != nil {
		return 0, fmt.Errorf("%s: COPY: %w", s.Name, err)
	}
	return took, nil
}

// Sum is that of the table.
func (s *Side) Sum(ctx context.Context) (text string, err error) {
	if err := s.conn.QueryRow(ctx, sum).Scan(&text); err != nil {
		return "", fmt.Errorf("%s: %w", s.Name, err)
	}
	return text, nil
}

// corrupt makes a row wrong.
func (s *Side) corrupt(ctx context.Context) error {
	return s.exec(ctx, "UPDATE mixed SET price = price + 1 WHERE id = 7")
}

// Keyed gives the table its key.
func (s *Side) Keyed(ctx context.Context) error {
	err := s.exec(ctx, "ALTER TABLE mixed ADD PRIMARY KEY (id)")
	if err == nil && s.Afterwards != "" {
		err = s.exec(ctx, s.Afterwards)
	}
	return err
}

// Update changes the row of a key.
func (s *Side) Update(ctx context.Context, key int64) (time.Duration, error) {
	return s.change(ctx, update, key, 1)
}

// Delete deletes the row of a key.
func (s *Side) Delete(ctx context.Context, key int64) (time.Duration, error) {
	return s.change(ctx, remove, key, 1)
}

// UpdateSome changes one of a hundred rows, so many in all: those whose id has a remainder.
func (s *Side) UpdateSome(ctx context.Context, remainder, rows int64) (time.Duration, error) {
	return s.change(ctx, some, remainder, rows)
}

func (s *Side) change(ctx context.Context, sql string, argument, rows int64) (took time.Duration, err error) {
	begin := time.Now()
	tag, err := s.conn.Exec(ctx, sql, argument)
	took = time.Since(begin)
	if err == nil && tag.RowsAffected() != rows {
		err = fmt.Errorf("a wrong answer: %d rows instead of %d", tag.RowsAffected(), rows)
	}
	if err != nil {
		return 0, fmt.Errorf("%s: %s: %w", s.Name, sql, err)
	}
	return took, nil
}
