package wire

import (
	"context"
	"errors"
	"io"
	"strconv"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/csmsql/csmsql/wire/pgformat"
)

// portal is an execution that can stop after some rows and go on later. It moves new → open → done and never back.
type portal struct {
	prepared  *prepared
	arguments []Value
	formats   []pgformat.Format
	ctx       context.Context // of the execution; ends with the portal
	cancel    context.CancelCauseFunc

	state   portalState
	result  Result            // open: not nil
	columns *pgformat.Columns // open: encodes batch
	batch   arrow.RecordBatch // open: the batch that rows are taken from, or nil; belongs to result
	row     int               // first row of batch that was not sent
	charge  charge            // of arguments
}

type portalState uint8

const (
	portalNew portalState = iota
	portalOpen
	portalDone
)

// returnsRows reports whether RowDescription describes this statement. A COPY TO STDOUT has columns but no rows.
func (p *prepared) returnsRows() bool {
	_, copies := p.statement.(CopyOutStatement)
	return p.fields != nil && !copies
}

func (c *connection) portal(name string) (*portal, error) {
	p, ok := c.portals[name]
	if !ok {
		return nil, &Error{State: "34000", Message: "portal \"" + name + "\" does not exist"}
	}
	return p, nil
}

// run executes a portal, or resumes it, until limit rows were sent (0: all).
func (c *connection) run(p *portal, limit int) error {
	switch {
	case p.prepared.statement == nil:
		c.out.send(&pgproto3.EmptyQueryResponse{})
		return nil
	case p.state != portalNew && c.session.Status() == TxFailed: // the session says it of those that begin
		return &Error{"25P02", "current transaction is aborted, commands ignored until end of transaction block", "Send ROLLBACK."}
	case p.state == portalDone:
		return c.runAgain(p)
	}
	if statement, ok := p.prepared.statement.(CopyInStatement); ok {
		p.state = portalDone
		return c.copyIn(p, statement)
	}
	if p.state == portalNew {
		if err := c.open(p); err != nil {
			p.state = portalDone
			return err
		}
	}
	if statement, ok := p.prepared.statement.(CopyOutStatement); ok {
		return errors.Join(c.copyOut(p, statement), p.close())
	}
	return c.sendRows(p, limit)
}

// runAgain answers Execute on a finished portal as PostgreSQL does: no more rows, or an error if there never were any.
func (c *connection) runAgain(p *portal) error {
	if !p.prepared.returnsRows() {
		return &Error{"55000", "portal has already been run and cannot be run again", "Bind the statement again."}
	}
	c.complete("SELECT 0")
	return nil
}

func (c *connection) open(p *portal) (err error) {
	p.columns, err = pgformat.NewColumns(p.prepared.types, p.formats, c.zone)
	if err != nil {
		return err
	}
	if s, ok := p.prepared.statement.(Untimed); ok && s.Untimed() {
		c.running.untime()
	}
	p.result, err = p.prepared.statement.Execute(p.ctx, p.arguments)
	if err != nil {
		return err
	}
	p.state = portalOpen
	return nil
}

// sendRows streams rows until limit or the end. Encoding happens in this goroutine and producing wherever the result
// does it: a goroutine here that fetched ahead would have to hold two batches, against Result's contract.
func (c *connection) sendRows(p *portal, limit int) error {
	if r, doubts := p.result.(Rechecker); doubts && p.batch != nil { // it has lain there since the portal was suspended
		if err := r.Recheck(); err != nil {
			return errors.Join(err, p.close())
		}
	}
	sent := 0
	for limit == 0 || sent < limit {
		more, err := p.nextBatch()
		if err != nil {
			return errors.Join(err, p.close())
		}
		if !more {
			tag := completeTag(p.result.CommandTag(), sent)
			if err := p.close(); err != nil {
				return err
			}
			c.complete(tag)
			return nil
		}
		to := int(p.batch.NumRows())
		if limit > 0 {
			to = min(to, p.row+limit-sent)
		}
		count, err := c.sendBatch(p, to)
		if sent += count; err != nil {
			return errors.Join(err, p.close())
		}
	}
	c.out.send(&pgproto3.PortalSuspended{})
	return nil
}

// nextBatch makes sure that there is a row to send; false at the end.
func (p *portal) nextBatch() (more bool, err error) {
	for p.batch == nil || p.row >= int(p.batch.NumRows()) {
		p.batch, p.row = nil, 0
		p.columns.Unbind()
		batch, err := p.result.Next(p.ctx)
		if errors.Is(err, io.EOF) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		if p.prepared.fields == nil || batch == nil {
			continue // a statement without rows has nothing to show
		}
		if err := p.columns.Bind(batch); err != nil {
			return false, err
		}
		p.batch = batch
	}
	return true, nil
}

// manyRows are as many as are worth a whole buffer.
const manyRows = 100

// sendBatch encodes the batch's rows up to a row, and sends whenever the buffer is full: what a slow client has not
// taken yet holds the producer back, and memory stays bounded (W5).
func (c *connection) sendBatch(p *portal, to int) (sent int, err error) {
	if to-p.row >= manyRows {
		c.out.makeRoom()
	}
	for p.row < to {
		from, complete := p.row, len(c.out.buffer)
		c.out.buffer, p.row, err = p.columns.AppendDataRows(c.out.buffer, from, to, OutputBufferBytes)
		sent += p.row - from
		if err != nil {
			return sent, err
		}
		if c.out.full() {
			if err := c.out.flushRows(complete); err != nil {
				return sent, err
			}
			if err := p.ctx.Err(); err != nil {
				return sent, err
			}
		}
	}
	return sent, nil
}

// complete ends a statement that succeeded.
func (c *connection) complete(tag string) {
	c.sendNotices()
	c.out.send(&pgproto3.CommandComplete{CommandTag: []byte(withoutNUL(tag))})
}

// completeTag adds the number of rows to tags that end with it.
func completeTag(tag string, rows int) string {
	switch tag {
	case "SELECT", "FETCH", "COPY":
		return tag + " " + strconv.Itoa(rows)
	}
	return tag
}

// close ends the execution. It may be called more than once.
func (p *portal) close() error {
	p.cancel(errPortalClosed)
	p.state = portalDone
	p.batch = nil
	if p.result == nil {
		return nil
	}
	result := p.result
	p.result = nil
	return result.Close()
}

// closePortal forgets a portal, if it exists. Errors of closing its result are ignored.
func (c *connection) closePortal(name string) {
	p, ok := c.portals[name]
	if !ok {
		return
	}
	delete(c.portals, name)
	if err := p.close(); err != nil {
		c.log.Debug("closing a portal failed", "error", err)
	}
	p.charge.shrink(0)
	c.statements.drop(p.prepared)
}

func (c *connection) closePortals() {
	for name := range c.portals {
		c.closePortal(name)
	}
}
