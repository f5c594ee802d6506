package engine

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/csmsql/csmsql/engine/cursor"
	"github.com/csmsql/csmsql/engine/outcome"
	"github.com/csmsql/csmsql/engine/revalidation"
	"github.com/csmsql/csmsql/sql/sqlerror"
	"github.com/csmsql/csmsql/sql/statement"
)

// sqlCursor is what DECLARE opens: a running query that FETCH takes rows from (package cursor). It belongs to an explicit
// transaction block and ends with it.
//
// DECLARE lets the query run up to its first rows, so that it sees what it would see in PostgreSQL: nothing that the block
// writes later. No more is read ahead unless another statement needs DuckDB's connection meanwhile; see Rows.park.
type sqlCursor struct {
	*cursor.Cursor
	statement *Statement // the query; the cursor's own
	rows      *Rows
	fetching  *Rows // the FETCH that is not finished, or nil
}

// prepareDeclare plans the cursor's query now, so that its errors and parameters are known; executing opens the cursor.
func (st *Statement) prepareDeclare(ctx context.Context, head *statement.Declare) error {
	query, err := st.session.PrepareIn(ctx, head.QueryIn(st.parsed.Text), DialectDuckDB)
	if err != nil {
		return err
	}
	if query.inner != nil && query.inner.parts.Changes() {
		query.close()
		return sqlerror.New("0A000", "DECLARE CURSOR must not contain data-modifying statements in WITH")
	}
	if _, reads := query.parsed.Head.(*statement.Select); !reads {
		query.close() // nothing ran
		return sqlerror.New("42601", "a cursor is declared for a query").WithHint("Use SELECT or VALUES behind FOR.")
	}
	st.params, st.inner = query.params, query
	st.run = func(ctx context.Context, args []any) (*Rows, error) { return st.declare(ctx, head, args) }
	return nil
}

func (st *Statement) declare(ctx context.Context, head *statement.Declare, args []any) (*Rows, error) {
	b := st.session.block
	switch {
	case b == nil || b.implicit:
		return nil, sqlerror.New("25P01", "DECLARE CURSOR can only be used in transaction blocks").WithHint("Send BEGIN first.")
	case b.cursors[head.Name] != nil:
		return nil, sqlerror.New("42P03", "cursor %q already exists", head.Name).WithHint("CLOSE it first, or use another name.")
	case len(b.cursors) >= cursorsMax:
		return nil, sqlerror.New("53400", "too many open cursors in this transaction").WithHint("CLOSE those that are no longer needed.")
	}
	query := st.inner
	if st.inner = nil; query == nil { // it went with the cursor that the last execution opened
		var err error
		if query, err = st.session.PrepareIn(ctx, head.QueryIn(st.parsed.Text), DialectDuckDB); err != nil {
			return nil, err
		}
	}
	c, err := openCursor(ctx, query, args)
	if err != nil {
		query.close()
		return nil, err
	}
	if !outcome.Commits(ctx) {
		c.close()
		return nil, outcome.ErrUserRequest
	}
	if b.cursors == nil {
		b.cursors = map[string]*sqlCursor{}
	}
	b.cursors[head.Name] = c
	return done("DECLARE CURSOR", 0), nil
}

// cursorsMax bounds the open cursors of a transaction, each of which may have its rows parked in memory.
const cursorsMax = 64

func openCursor(ctx context.Context, query *Statement, args []any) (*sqlCursor, error) {
	c, rows, err := cursor.Open(ctx, func(ctx context.Context) (*Rows, error) { return query.Execute(ctx, args) })
	if err != nil {
		return nil, err
	}
	return &sqlCursor{Cursor: c, statement: query, rows: rows}, nil
}

func (c *sqlCursor) close() {
	if c.fetching != nil {
		c.fetching.close()
	}
	c.Close(func() {
		c.rows.close()
		c.statement.close()
	})
}

// cursor finds an open cursor.
func (s *Session) cursor(name string) (*sqlCursor, error) {
	if s.block != nil {
		if c := s.block.cursors[name]; c != nil {
			return c, nil
		}
	}
	return nil, sqlerror.New("34000", "cursor %q does not exist", name).WithHint("DECLARE it; a cursor ends with its transaction.")
}

// CursorSchema describes the rows of an open SQL cursor; ok is false when there is none of that name.
func (s *Session) CursorSchema(name string) (schema *arrow.Schema, ok bool) {
	if s.life.Enter() != nil {
		return nil, false
	}
	defer s.life.Leave()
	c, err := s.cursor(name)
	if err != nil {
		return nil, false
	}
	return c.rows.schema, true
}

func (st *Statement) prepareFetch(head *statement.Fetch) error {
	if head.Backward {
		return sqlerror.New("55000", "cursor can only scan forward").WithHint("Cursors read forward: FETCH NEXT, FETCH n, FETCH ALL.")
	}
	c, err := st.session.cursor(head.Name)
	if err != nil {
		return err
	}
	if !head.Move {
		st.schema, st.origins = c.rows.schema, c.statement.origins
	}
	st.run = func(ctx context.Context, args []any) (*Rows, error) {
		if len(args) > 0 {
			return nil, sqlerror.New("42P02", "this statement takes no parameters")
		}
		return st.fetch(ctx, head)
	}
	return nil
}

func (st *Statement) fetch(ctx context.Context, head *statement.Fetch) (*Rows, error) {
	c, err := st.session.cursor(head.Name)
	if err != nil {
		return nil, err
	}
	if st.schema != nil && !st.schema.Equal(c.rows.schema) {
		return nil, revalidation.Outdated()
	}
	rows := c.fetch(head)
	if head.Move {
		_, err := rows.drain(ctx)
		return &Rows{tag: func(int64) string { return head.Tag(rows.count) }}, err
	}
	return rows, nil
}

// fetch gives the cursor's next rows as a result of their own. One that another FETCH finds unfinished is read into
// memory first: the rows it was asked for are its, as in PostgreSQL.
func (c *sqlCursor) fetch(head *statement.Fetch) *Rows {
	if c.fetching != nil {
		c.fetching.park(&c.statement.session.parked)
	}
	rows := &Rows{schema: c.rows.schema, tag: head.Tag, fetch: c.Fetch(head.Count)}
	rows.onClose(func() {
		if c.fetching == rows {
			c.fetching = nil
		}
	})
	c.fetching = rows
	return rows
}

func (s *Session) closeCursor(head *statement.CloseCursor) (*Rows, error) {
	if head.Name == "" {
		if s.block != nil {
			s.block.closeCursors()
		}
		return done("CLOSE CURSOR ALL", 0), nil
	}
	c, err := s.cursor(head.Name)
	if err != nil {
		return nil, err
	}
	delete(s.block.cursors, head.Name)
	c.close()
	return done("CLOSE CURSOR", 0), nil
}

// closeCursors must come before the session yields at the end of a block: results that can no longer be
// fetched are not worth reading into memory.
func (b *block) closeCursors() {
	for name, c := range b.cursors {
		delete(b.cursors, name)
		c.close()
	}
}
