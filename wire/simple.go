package wire

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/csmsql/csmsql/sql/lex"
	"github.com/csmsql/csmsql/wire/pgformat"
)

// simpleQuery runs a string of statements one after the other; the first error skips the rest.
func (c *connection) simpleQuery(sql string) error {
	c.pipeline = c.pipeline.next(eventSync)
	c.closePortal("")
	c.statements.forget("", false)

	c.since = time.Time{}
	ctx, err := c.settle()
	var texts []*lex.Text
	if err == nil {
		texts, err = c.split(sql)
	}
	if err == nil && len(texts) == 0 {
		c.out.send(&pgproto3.EmptyQueryResponse{})
	}
	rest := sql
	for i := 0; i < len(texts) && err == nil; i++ {
		// An error's position counts from the start of its statement; the client counts from the start of the string.
		at := max(strings.Index(rest, texts[i].SQL), 0)
		rest = rest[at:]
		prefix := sql[:len(sql)-len(rest)]
		ctx, err = c.simpleStatement(texts[i], len(texts) > 1)
		err = shift(err, prefix)
		rest = rest[min(len(texts[i].SQL), len(rest)):]
		if c.out.failure != nil {
			return c.out.failure
		}
	}
	if ended := c.endImplicit(err != nil); err == nil {
		err = ended
	}
	if err = interrupted(ctx, err); endsConnection(err) {
		return err
	}
	if err != nil {
		c.sendError(ctx, err)
	}
	return c.ready()
}

func (c *connection) split(sql string) ([]*lex.Text, error) {
	if err := pgformat.CheckText(sql); err != nil {
		return nil, err
	}
	text := lex.Client.Text(sql)
	if isBlank(text) {
		return nil, nil
	}
	return c.session.Split(text)
}

// simpleStatement prepares and runs one statement to its end. The context it ran under is returned for the error's
// sake.
func (c *connection) simpleStatement(text *lex.Text, oneOfMany bool) (_ context.Context, err error) {
	ctx, cancel := context.WithCancelCause(c.ctx)
	c.since = time.Time{}
	err = c.running.begin(cancel, c.remaining())
	defer func() {
		c.running.end()
		c.since = time.Time{}
		cancel(errPortalClosed)
	}()
	if err != nil {
		return ctx, err
	}
	if oneOfMany {
		if err := c.beginImplicit(ctx); err != nil {
			return ctx, err
		}
	}
	statement, err := c.session.Prepare(ctx, text, nil)
	if err != nil {
		return ctx, err
	}
	// Deferred, so that a panic leaves nothing open either.
	defer func() { err = errors.Join(err, statement.Close()) }()
	if len(statement.Parameters()) > 0 {
		return ctx, &Error{"42P02", "there is no parameter $1", "Parameters need the extended protocol: use a prepared statement."}
	}
	p := &portal{prepared: newPrepared(statement), ctx: ctx, cancel: cancel}
	defer func() { err = errors.Join(err, p.close()) }()
	if p.prepared.returnsRows() {
		c.out.send(&pgproto3.RowDescription{Fields: p.prepared.fields})
	}
	return ctx, c.run(p, 0)
}

// isBlank reports whether a query string has no statement: only white space, semicolons and comments.
func isBlank(text *lex.Text) bool {
	t := text.Next(0)
	for t.Is(";") {
		t = text.Next(t.End())
	}
	return t.Kind == lex.End // what does not end is the parser's to complain of
}
