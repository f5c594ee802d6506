package changing

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/jackc/pgx/v5"
)

// Side is a server.
type Side struct {
	Name string
	// Afterwards begins a statement that it is given when a table has its key, and that ends with the table's name;
	// empty: none.
	Afterwards string

	conn  *pgx.Conn
	table *Table
}

// Connect is what comes first.
func (s *Side) Connect(ctx context.Context, conninfo string) (err error) {
	s.conn, err = pgx.Connect(ctx, conninfo)
	return err
}

// Take makes a table, empty, which all else is then about. The one before goes.
func (s *Side) Take(ctx context.Context, table *Table) error {
	if s.table != nil {
		if err := s.exec(ctx, "DROP TABLE "+s.table.Name); err != nil {
			return err
		}
	}
	s.table = table
	return s.exec(ctx, table.create)
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
	if err := s.exec(ctx, "TRUNCATE "+s.table.Name); err != nil {
		return 0, err
	}
	f, err := os.Open(file)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	begin := time.Now()
	tag, err := s.conn.PgConn().CopyFrom(ctx, f, "COPY "+s.table.Name+" FROM STDIN")
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
	if err := s.conn.QueryRow(ctx, s.table.sum).Scan(&text); err != nil {
		return "", fmt.Errorf("%s: %w", s.Name, err)
	}
	return text, nil
}

// corrupt makes a row wrong.
func (s *Side) corrupt(ctx context.Context) error {
	return s.exec(ctx, s.table.corrupt)
}

// Keyed gives the table its key.
func (s *Side) Keyed(ctx context.Context) error {
	err := s.exec(ctx, "ALTER TABLE "+s.table.Name+" ADD PRIMARY KEY (id)")
	if err == nil && s.Afterwards != "" {
		err = s.exec(ctx, s.Afterwards+" "+s.table.Name)
	}
	return err
}

// row is what a point query gives.
type row struct {
	order   int64
	comment string
}

// Point asks for the row of a key.
func (s *Side) Point(ctx context.Context, key int64) (r row, took time.Duration, err error) {
	begin := time.Now()
	err = s.conn.QueryRow(ctx, s.table.point, key).Scan(&r.order, &r.comment)
	took = time.Since(begin)
	if err != nil {
		err = fmt.Errorf("%s: %s: %w", s.Name, s.table.point, err)
	}
	return r, took, err
}

// One asks the shortest question.
func (s *Side) One(ctx context.Context) (took time.Duration, err error) {
	var one int
	begin := time.Now()
	err = s.conn.QueryRow(ctx, "SELECT 1").Scan(&one)
	took = time.Since(begin)
	if err == nil && one != 1 {
		err = fmt.Errorf("a wrong answer: %d", one)
	}
	if err != nil {
		err = fmt.Errorf("%s: SELECT 1: %w", s.Name, err)
	}
	return took, err
}

// Update changes the row of a key.
func (s *Side) Update(ctx context.Context, key int64) (time.Duration, error) {
	return s.change(ctx, s.table.update, key, 1)
}

// Delete deletes the row of a key.
func (s *Side) Delete(ctx context.Context, key int64) (time.Duration, error) {
	return s.change(ctx, s.table.remove, key, 1)
}

// UpdateSome changes one of a hundred rows, so many in all: those whose id has a remainder.
func (s *Side) UpdateSome(ctx context.Context, remainder, rows int64) (time.Duration, error) {
	return s.change(ctx, s.table.some, remainder, rows)
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
